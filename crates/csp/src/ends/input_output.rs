//! Traits for the ends of channels, for processes that work with ends of any type.

use cellworks_machine::Time;

use super::alternation::Alternation;
use super::alternation::tokens::{ReadGuard, WriteGuard};
use super::ended::{Ended, Refused, Unsent};
use super::item::Item;
use super::{Reach, Reader, Writer};
use crate::process::Process;
use crate::process::error::ProcessError;
use crate::process::place::Place;

/// An end of a channel, or a tuple, array or vector of ends. `poison_all` poisons all channels.
pub trait Ends {
    /// Poisons the channels of these ends, and drops the items in their buffers.
    fn poison_all<P: Place>(&mut self, process: &Process<'_, P>);
}

/// A [`Reader`] of any kind, for a local or shared channel, or a mutable reference to a reader.
pub trait Input<T: Item>: Ends {
    /// See [`Reader::read`].
    ///
    /// # Errors
    ///
    /// Returns [`Ended`] if the channel has ended.
    #[track_caller]
    fn read<P: Place>(&mut self, process: &Process<'_, P>) -> Result<T, Ended>;

    /// See [`Reader::try_read`].
    ///
    /// # Errors
    ///
    /// Returns [`Ended`] if the channel has ended.
    #[track_caller]
    fn try_read<P: Place>(&mut self, process: &Process<'_, P>) -> Result<Option<T>, Ended>;

    /// See [`Reader::read_until`].
    ///
    /// # Errors
    ///
    /// Returns [`Ended`] if the channel has ended.
    #[track_caller]
    fn read_until<P: Place>(
        &mut self,
        process: &Process<'_, P>,
        deadline: Time,
    ) -> Result<Option<T>, Ended>;

    /// See [`Alternation::read`].
    fn list<'a>(&'a mut self, alternation: &mut Alternation<'a>) -> ReadGuard<T>
    where
        T: 'a;
}

/// A [`Writer`] of any kind, for a local or shared channel, or a mutable reference to a writer.
pub trait Output<T: Item>: Ends {
    /// See [`Writer::write`].
    ///
    /// # Errors
    ///
    /// Returns [`Unsent`] with the item if the channel has ended.
    #[track_caller]
    fn write<P: Place>(&mut self, process: &Process<'_, P>, item: T) -> Result<(), Unsent<T>>;

    /// See [`Writer::try_write`].
    ///
    /// # Errors
    ///
    /// Returns [`Refused`] with the item if no process took the item, or if the channel has ended.
    #[track_caller]
    fn try_write<P: Place>(&mut self, process: &Process<'_, P>, item: T) -> Result<(), Refused<T>>;

    /// See [`Writer::write_until`].
    ///
    /// # Errors
    ///
    /// Returns [`Refused`] with the item if the deadline has passed, or if the channel has ended.
    #[track_caller]
    fn write_until<P: Place>(
        &mut self,
        process: &Process<'_, P>,
        item: T,
        deadline: Time,
    ) -> Result<(), Refused<T>>;

    /// See [`Alternation::write`].
    fn list<'a>(&'a mut self, alternation: &mut Alternation<'a>) -> WriteGuard<T>
    where
        T: 'a;
}

impl<T: Item, E, R: Reach> Input<T> for Reader<T, E, R> {
    #[track_caller]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read<P: Place>(&mut self, process: &Process<'_, P>) -> Result<T, Ended> {
        Reader::read(self, process)
    }

    #[track_caller]
    fn try_read<P: Place>(&mut self, process: &Process<'_, P>) -> Result<Option<T>, Ended> {
        Reader::try_read(self, process)
    }

    #[track_caller]
    fn read_until<P: Place>(
        &mut self,
        process: &Process<'_, P>,
        deadline: Time,
    ) -> Result<Option<T>, Ended> {
        Reader::read_until(self, process, deadline)
    }

    fn list<'a>(&'a mut self, alternation: &mut Alternation<'a>) -> ReadGuard<T>
    where
        T: 'a,
    {
        alternation.read(self)
    }
}

impl<T: Item, E, R: Reach> Output<T> for Writer<T, E, R> {
    #[track_caller]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn write<P: Place>(&mut self, process: &Process<'_, P>, item: T) -> Result<(), Unsent<T>> {
        Writer::write(self, process, item)
    }

    #[track_caller]
    fn try_write<P: Place>(&mut self, process: &Process<'_, P>, item: T) -> Result<(), Refused<T>> {
        Writer::try_write(self, process, item)
    }

    #[track_caller]
    fn write_until<P: Place>(
        &mut self,
        process: &Process<'_, P>,
        item: T,
        deadline: Time,
    ) -> Result<(), Refused<T>> {
        Writer::write_until(self, process, item, deadline)
    }

    fn list<'a>(&'a mut self, alternation: &mut Alternation<'a>) -> WriteGuard<T>
    where
        T: 'a,
    {
        alternation.write(self)
    }
}

impl<T: Item, I: Input<T>> Input<T> for &mut I {
    #[track_caller]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn read<P: Place>(&mut self, process: &Process<'_, P>) -> Result<T, Ended> {
        (**self).read(process)
    }

    #[track_caller]
    fn try_read<P: Place>(&mut self, process: &Process<'_, P>) -> Result<Option<T>, Ended> {
        (**self).try_read(process)
    }

    #[track_caller]
    fn read_until<P: Place>(
        &mut self,
        process: &Process<'_, P>,
        deadline: Time,
    ) -> Result<Option<T>, Ended> {
        (**self).read_until(process, deadline)
    }

    fn list<'a>(&'a mut self, alternation: &mut Alternation<'a>) -> ReadGuard<T>
    where
        T: 'a,
    {
        (**self).list(alternation)
    }
}

impl<T: Item, O: Output<T>> Output<T> for &mut O {
    #[track_caller]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn write<P: Place>(&mut self, process: &Process<'_, P>, item: T) -> Result<(), Unsent<T>> {
        (**self).write(process, item)
    }

    #[track_caller]
    fn try_write<P: Place>(&mut self, process: &Process<'_, P>, item: T) -> Result<(), Refused<T>> {
        (**self).try_write(process, item)
    }

    #[track_caller]
    fn write_until<P: Place>(
        &mut self,
        process: &Process<'_, P>,
        item: T,
        deadline: Time,
    ) -> Result<(), Refused<T>> {
        (**self).write_until(process, item, deadline)
    }

    fn list<'a>(&'a mut self, alternation: &mut Alternation<'a>) -> WriteGuard<T>
    where
        T: 'a,
    {
        (**self).list(alternation)
    }
}

impl<T: Item, E, R: Reach> Ends for Reader<T, E, R> {
    fn poison_all<P: Place>(&mut self, process: &Process<'_, P>) {
        drop(self.poison(process));
    }
}

impl<T: Item, E, R: Reach> Ends for Writer<T, E, R> {
    fn poison_all<P: Place>(&mut self, process: &Process<'_, P>) {
        drop(self.poison(process));
    }
}

impl<E: Ends + ?Sized> Ends for &mut E {
    fn poison_all<P: Place>(&mut self, process: &Process<'_, P>) {
        (**self).poison_all(process);
    }
}

impl<E: Ends> Ends for [E] {
    fn poison_all<P: Place>(&mut self, process: &Process<'_, P>) {
        self.iter_mut().for_each(|end| end.poison_all(process));
    }
}

impl<E: Ends, const N: usize> Ends for [E; N] {
    fn poison_all<P: Place>(&mut self, process: &Process<'_, P>) {
        self.as_mut_slice().poison_all(process);
    }
}

impl<E: Ends> Ends for Vec<E> {
    fn poison_all<P: Place>(&mut self, process: &Process<'_, P>) {
        self.as_mut_slice().poison_all(process);
    }
}

macro_rules! tuples {
    ($($end:ident)*) => {
        impl<$($end: Ends),*> Ends for ($($end,)*) {
            fn poison_all<P: Place>(&mut self, process: &Process<'_, P>) {
                #[allow(non_snake_case, reason = "a variable for each type")]
                let ($($end,)*) = self;
                $($end.poison_all(process);)*
            }
        }
    };
}
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);

impl<P: Place> Process<'_, P> {
    /// Runs `body` with `ends`. If `body` returns [`Ended::Poisoned`] as its error, poisons all
    /// channels of `ends`, and drops the items in their buffers. Then drops `ends`.
    ///
    /// ```
    /// use cellworks_csp::{Place, Process, ProcessError, Reader, Writer};
    ///
    /// fn halves(
    ///     process: &Process<impl Place>,
    ///     numbers: Reader<u64>,
    ///     results: Writer<u64>,
    /// ) -> Result<(), ProcessError> {
    ///     process.spread_poison((numbers, results), |(numbers, results)| {
    ///         loop {
    ///             let number = numbers.read(process)?;
    ///             results.write(process, number / 2)?;
    ///         }
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of `body`.
    pub fn spread_poison<E: Ends, R>(
        &self,
        mut ends: E,
        body: impl FnOnce(&mut E) -> Result<R, ProcessError>,
    ) -> Result<R, ProcessError> {
        let result = body(&mut ends);
        let ended = result.as_ref().err().and_then(ProcessError::ended);
        if ended == Some(Ended::Poisoned) {
            ends.poison_all(self);
        }
        result
    }
}
