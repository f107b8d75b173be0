//! Activities: names for the steps of a program, shown in traces.

use crate::spe::core::SpeCore;

/// A named activity of a thread of an SPE, which ends when this value is dropped: see
/// [`Spe::activity`](crate::Spe::activity).
#[must_use = "an activity ends when this is dropped"]
pub struct Activity<'a, S: SpeCore>(&'a S);

impl<'a, S: SpeCore> Activity<'a, S> {
    #[inline(always)]
    pub(crate) fn begin(spe: &'a S, name: &str) -> Self {
        spe.activity_begins(name);
        Self(spe)
    }
}

impl<S: SpeCore> Drop for Activity<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.activity_ends();
    }
}
