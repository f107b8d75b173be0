//! The views of a result.

/// The views of a result, besides its JSON, which follows from its type.
pub trait Views {
    /// Returns the result as tables of at most `width` columns. Titles contain ANSI styles.
    fn table(&self, width: usize) -> String;

    /// Returns the result as CSV: a header and lines. docs/csv.md describes the columns.
    fn csv(&self) -> String;

    /// Returns the result as an HTML page that needs no other file and no network.
    fn html(&self) -> String;
}

/// Implements [`Views`] by a function for each view, and `AsRef<Envelope>` by the field that has
/// the envelope.
macro_rules! views {
    ($($report:ty: $table:path, $csv:path, $html:path $(, $($envelope:ident).+)?;)*) => {$(
        impl Views for $report {
            fn table(&self, width: usize) -> String {
                $table(self, width)
            }

            fn csv(&self) -> String {
                $csv(self)
            }

            fn html(&self) -> String {
                $html(self)
            }
        }

        $(impl AsRef<Envelope> for $report {
            fn as_ref(&self) -> &Envelope {
                &self.$($envelope).+
            }
        })?
    )*};
}

pub(crate) use views;
