//! The work of a task: its data and its body. `dyn Work` erases their types.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cellworks_machine::{Payload, Spe, StageError};

use crate::block_use::BlockUse;
use crate::data::Data;
use crate::error::DiceError;
use crate::worker::Worker;

/// The work of a task, as a trait object without the types of the data and the body.
pub(crate) trait Work<S: Spe>: Send {
    fn bytes(&self) -> usize;

    /// Returns the number of pieces of each element of the data, without elements that cannot be
    /// split.
    fn pieces(&self) -> Vec<usize>;

    fn blocks(&self, named: &mut dyn FnMut(BlockUse));

    /// Returns whether the task has its own function that splits it (a dice).
    fn has_dice(&self) -> bool;

    /// Begins to stage the data, or returns [`StageError`] if the local store has no room.
    ///
    /// # Safety
    ///
    /// See [`Data::begin`].
    unsafe fn begin<'s>(&self, spe: &'s S) -> Result<Box<dyn Begun<S> + 's>, StageError>
    where
        Self: 's;

    /// Gets the data, calls `arrived`, runs the body, and puts back the written data. Fails if the
    /// local store has no room. If the body panicked, the inner error is the payload.
    ///
    /// # Safety
    ///
    /// See [`Data::begin`].
    unsafe fn run(
        &self,
        worker: &Worker<'_, S>,
        arrived: &mut dyn FnMut(),
    ) -> Result<Result<(), Payload>, StageError>;

    /// Splits the task into about `parts` parts. Fails if the parts together are not the whole
    /// task.
    ///
    /// # Safety
    ///
    /// The whole task is not used afterwards.
    unsafe fn dice<'t>(&self, parts: usize) -> Result<Vec<Box<dyn Work<S> + 't>>, DiceError>
    where
        Self: 't;
}

/// The work of a task whose data is on its way to the local store.
pub(crate) trait Begun<S: Spe> {
    /// Waits for the data, calls `arrived`, runs the body, and begins to put back the written data.
    fn run(
        self: Box<Self>,
        worker: &Worker<'_, S>,
        arrived: &mut dyn FnMut(),
    ) -> Result<(), Payload>;
}

pub(crate) struct Whole<D, F, G> {
    data: D,
    how: Arc<How<F, G>>,
}

impl<D, F, G> Whole<D, F, G> {
    pub(crate) fn new(data: D, body: F, dice: Option<G>) -> Self {
        let how = Arc::new(How { body, dice });
        Self { data, how }
    }
}

/// The body of a task, and the function that splits it (dice). All parts share this value.
struct How<F, G> {
    body: F,
    dice: Option<G>,
}

struct OnItsWay<'s, S: Spe, D: Data + 's, F, G> {
    ahead: D::Ahead<'s, S>,
    how: Arc<How<F, G>>,
}

fn run_with<'s, S, D, F>(
    ahead: D::Ahead<'s, S>,
    body: &F,
    worker: &Worker<'_, S>,
    arrived: &mut dyn FnMut(),
) -> Result<(), Payload>
where
    S: Spe,
    D: Data + 's,
    F: Fn(&Worker<'_, S>, D::View<'_>),
{
    catch_unwind(AssertUnwindSafe(|| {
        let mut staged = D::arrive::<S>(ahead);
        arrived();
        body(worker, D::view::<S>(&mut staged));
    }))
}

impl<'s, S, D, F, G> Begun<S> for OnItsWay<'s, S, D, F, G>
where
    S: Spe,
    D: Data + 's,
    F: Fn(&Worker<'_, S>, D::View<'_>),
{
    fn run(
        self: Box<Self>,
        worker: &Worker<'_, S>,
        arrived: &mut dyn FnMut(),
    ) -> Result<(), Payload> {
        let Self { ahead, how } = *self;
        run_with::<S, D, F>(ahead, &how.body, worker, arrived)
    }
}

impl<S, D, F, G> Work<S> for Whole<D, F, G>
where
    S: Spe,
    D: Data,
    F: Fn(&Worker<'_, S>, D::View<'_>) + Send + Sync,
    G: Fn(D, usize) -> Vec<D> + Send + Sync,
{
    fn bytes(&self) -> usize {
        self.data.bytes()
    }

    fn pieces(&self) -> Vec<usize> {
        pieces_of(&self.data)
    }

    fn blocks(&self, named: &mut dyn FnMut(BlockUse)) {
        self.data.blocks(named);
    }

    fn has_dice(&self) -> bool {
        self.how.dice.is_some()
    }

    unsafe fn begin<'s>(&self, spe: &'s S) -> Result<Box<dyn Begun<S> + 's>, StageError>
    where
        Self: 's,
    {
        Ok(Box::new(OnItsWay {
            // SAFETY: by the contract of this function.
            ahead: unsafe { self.data.begin(spe) }?,
            how: Arc::clone(&self.how),
        }))
    }

    unsafe fn run(
        &self,
        worker: &Worker<'_, S>,
        arrived: &mut dyn FnMut(),
    ) -> Result<Result<(), Payload>, StageError> {
        // SAFETY: by the contract of this function.
        let ahead = unsafe { self.data.begin(worker.spe()) }?;
        Ok(run_with::<S, D, F>(ahead, &self.how.body, worker, arrived))
    }

    unsafe fn dice<'t>(&self, parts: usize) -> Result<Vec<Box<dyn Work<S> + 't>>, DiceError>
    where
        Self: 't,
    {
        let pieces = self.pieces();
        let least = pieces.iter().copied().min().unwrap_or(0);
        // SAFETY: the parts replace the whole, and do not overlap.
        let part = |range| unsafe { self.data.part(range) };
        let datas = match &self.how.dice {
            // SAFETY: the parts of `dice` replace the whole.
            Some(dice) => dice(unsafe { self.data.whole() }, parts),
            None => {
                let parts = parts.min(least).max(1);
                let begin = |part: usize| least * part / parts;
                let range = |number| begin(number)..begin(number + 1);
                (0..parts).map(range).map(part).collect()
            }
        };
        let mut in_parts = vec![0; pieces.len()];
        for data in &datas {
            let pieces = pieces_of(data);
            in_parts
                .iter_mut()
                .zip(pieces)
                .for_each(|(sum, n)| *sum += n);
        }
        if in_parts != pieces {
            return Err(DiceError { pieces, in_parts });
        }
        let whole = |data| -> Box<dyn Work<S> + 't> {
            Box::new(Self {
                data,
                how: Arc::clone(&self.how),
            })
        };
        Ok(datas.into_iter().map(whole).collect())
    }
}

fn pieces_of(data: &impl Data) -> Vec<usize> {
    let mut pieces = Vec::new();
    data.pieces(&mut |count| pieces.push(count));
    pieces
}
