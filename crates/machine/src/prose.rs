//! Errors read the same wherever they are printed.

/// Implements `Debug` for errors by their `Display`. A `main` that returns an error prints its
/// `Debug`, and so does `unwrap`.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_by_display {
    ($error:ty) => {
        impl ::std::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }
    };
}
