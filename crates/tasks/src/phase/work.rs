//! The work of a task: its data and its body. `dyn Work` erases their types.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cellworks_machine::{Payload, Spe, StageError};

use crate::error::DiceError;
use crate::phase::block_use::BlockUse;
use crate::phase::data::{Data, SharedData};
use crate::worker::Worker;

/// The work of a task, as a trait object without the types of the data and the body.
pub(crate) trait Work<S: Spe>: Send {
    fn bytes(&self) -> usize;

    /// Returns the number of pieces of each element of the data, without elements that cannot be
    /// split.
    fn pieces(&self) -> Vec<usize>;

    fn blocks(&self, named: &mut dyn FnMut(BlockUse));

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

    /// Splits the task into about `parts` parts, and returns at least two. Returns `None` if the
    /// task is not split. Fails if the task's own dice fails.
    ///
    /// # Safety
    ///
    /// If this call returns parts, the whole task is not used afterwards.
    unsafe fn dice<'t>(&self, parts: usize) -> Result<Option<Parts<'t, S>>, DiceError>
    where
        Self: 't;
}

/// The parts of a task.
pub(crate) type Parts<'t, S> = Vec<Box<dyn Work<S> + 't>>;

/// The work of a task whose data is on its way to the local store.
pub(crate) trait Begun<S: Spe> {
    /// Waits for the data, calls `arrived`, runs the body, and begins to put back the written data.
    fn run(
        self: Box<Self>,
        worker: &Worker<'_, S>,
        arrived: &mut dyn FnMut(),
    ) -> Result<(), Payload>;
}

/// The number of parts into which a task is split at most, if they are equal. A pool that keeps
/// `n` tasks waiting splits its last tasks into single pieces if `n` is some hundreds. With `2^60`
/// pieces this would never end.
const MOST_PARTS: usize = 1 << 16;

pub(crate) struct Whole<D, F, G> {
    data: D,
    /// The number of the first piece of `data` in the data of the submitted task.
    first: usize,
    /// Whether the dice has refused to split this task, and is not asked again.
    stays_whole: Cell<bool>,
    how: Arc<How<F, G>>,
}

impl<D: Data, F, G> Whole<D, F, G> {
    pub(crate) fn new(data: D, body: F, split: G) -> Self {
        let fewest = pieces_of(&data)
            .first()
            .map_or(0, |count| count / MOST_PARTS);
        let how = Arc::new(How {
            body,
            split,
            fewest,
        });
        Self::of(data, 0, how)
    }

    fn of(data: D, first: usize, how: Arc<How<F, G>>) -> Self {
        Self {
            data,
            first,
            stays_whole: Cell::new(false),
            how,
        }
    }
}

// Rejected: a dice that is given data which tasks change, and returns the data of the parts. It
// could keep the data, and return data of another task.

/// The body of a task, and the way in which it is split. All parts share this value.
struct How<F, G> {
    body: F,
    split: G,
    /// A part with this number of pieces or fewer is not split again.
    fewest: usize,
}

/// A way to split a task.
pub(crate) trait Split<D>: Send + Sync {
    /// Splits data into about `parts` parts, which together are the data. Returns the parts, each
    /// with the number of its first piece, or nothing if the data is not split. `pieces` has the
    /// numbers of the pieces of the data.
    ///
    /// # Safety
    ///
    /// If this call returns parts, the data is not used afterwards.
    unsafe fn split(
        &self,
        data: &D,
        pieces: &Range<usize>,
        parts: usize,
    ) -> Result<Vec<(usize, D)>, DiceError>;
}

/// Splits data into parts with about the same number of pieces.
pub(crate) struct Evenly;

impl<D: Data> Split<D> for Evenly {
    unsafe fn split(
        &self,
        data: &D,
        pieces: &Range<usize>,
        parts: usize,
    ) -> Result<Vec<(usize, D)>, DiceError> {
        let cut = |part| pieces.start + share(pieces.len(), part, parts);
        // SAFETY: by the contract of this function. There are not more parts than pieces, so the
        // cuts rise.
        Ok(unsafe { split_at(data, pieces, (1..parts).map(cut).collect()) })
    }
}

/// Splits data at the pieces that a function of the program returns.
pub(crate) struct AtCuts<G>(pub(crate) G);

impl<D, G> Split<D> for AtCuts<G>
where
    D: Data,
    G: Fn(Range<usize>, usize) -> Vec<usize> + Send + Sync,
{
    unsafe fn split(
        &self,
        data: &D,
        pieces: &Range<usize>,
        parts: usize,
    ) -> Result<Vec<(usize, D)>, DiceError> {
        let cuts = asked(|| (self.0)(pieces.clone(), parts))?;
        let mut before = None;
        for &cut in &cuts {
            if cut <= before.unwrap_or(pieces.start) || cut >= pieces.end {
                let pieces = pieces.clone();
                return Err(DiceError::Cut {
                    pieces,
                    cut,
                    before,
                });
            }
            before = Some(cut);
        }
        // SAFETY: by the contract of this function. The loop has checked the cuts.
        Ok(unsafe { split_at(data, pieces, cuts) })
    }
}

/// Splits data that no task changes into the parts that a function of the program returns.
pub(crate) struct IntoParts<G>(pub(crate) G);

impl<D, G> Split<D> for IntoParts<G>
where
    D: SharedData,
    G: Fn(D, usize) -> Vec<D> + Send + Sync,
{
    unsafe fn split(
        &self,
        data: &D,
        _: &Range<usize>,
        parts: usize,
    ) -> Result<Vec<(usize, D)>, DiceError> {
        let parts = asked(|| (self.0)(data.copy(), parts))?;
        let blocks = |data: &D| {
            let mut blocks = Vec::new();
            data.blocks(&mut |usage| blocks.push(usage));
            blocks
        };
        let declared = blocks(data);
        let mut used = parts.iter().flat_map(blocks);
        if let Some(BlockUse { block, .. }) = used.find(|usage| !declared.contains(usage)) {
            return Err(DiceError::Block { block });
        }
        let ranges = |data: &D| {
            let mut ranges = Vec::new();
            data.ranges(&mut |range| ranges.push(range));
            ranges
        };
        for (element, whole) in ranges(data).into_iter().enumerate() {
            let mut parts: Vec<_> = parts
                .iter()
                .map(|part| ranges(part)[element].clone())
                .collect();
            parts.sort_by_key(|part| (part.start, part.end));
            let mut covered = whole.start;
            for part in parts {
                if part.start != covered || part.is_empty() {
                    let part = Some(part);
                    return Err(DiceError::Parts {
                        whole,
                        covered,
                        part,
                    });
                }
                covered = part.end;
            }
            if covered != whole.end {
                let part = None;
                return Err(DiceError::Parts {
                    whole,
                    covered,
                    part,
                });
            }
        }
        if parts.len() < 2 {
            return Ok(Vec::new());
        }
        Ok(parts.into_iter().map(|part| (0, part)).collect())
    }
}

/// Calls the dice of a program.
fn asked<R>(dice: impl FnOnce() -> R) -> Result<R, DiceError> {
    catch_unwind(AssertUnwindSafe(dice)).map_err(DiceError::Panicked)
}

/// Splits data at some of its pieces. Returns nothing if there are no cuts.
///
/// # Safety
///
/// The cuts rise, and are in `pieces` without its first piece. If there are cuts, the data is not
/// used afterwards.
unsafe fn split_at<D: Data>(data: &D, pieces: &Range<usize>, cuts: Vec<usize>) -> Vec<(usize, D)> {
    if cuts.is_empty() {
        return Vec::new();
    }
    let mut begin = pieces.start;
    let ends = cuts.into_iter().chain([pieces.end]);
    ends.map(|end| {
        // SAFETY: the parts replace the whole. They do not overlap, because the cuts rise.
        let part = unsafe { data.part(begin - pieces.start..end - pieces.start) };
        (std::mem::replace(&mut begin, end), part)
    })
    .collect()
}

/// Returns `pieces * part / parts`. The product may be larger than a `usize`.
fn share(pieces: usize, part: usize, parts: usize) -> usize {
    (pieces as u128 * part as u128 / parts as u128) as usize
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
    G: Split<D>,
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

    unsafe fn dice<'t>(&self, parts: usize) -> Result<Option<Parts<'t, S>>, DiceError>
    where
        Self: 't,
    {
        // The phase has refused data of which the elements have different numbers of pieces.
        let count = self.pieces().first().copied().unwrap_or(0);
        if count < 2 || count <= self.how.fewest || self.stays_whole.get() {
            return Ok(None);
        }
        let pieces = self.first..self.first + count;
        let parts = parts.clamp(2, count.min(MOST_PARTS));
        // SAFETY: by the contract of this function.
        let parts = unsafe { self.how.split.split(&self.data, &pieces, parts) }?;
        if parts.is_empty() {
            self.stays_whole.set(true);
            return Ok(None);
        }
        let work = |(first, data)| -> Box<dyn Work<S> + 't> {
            Box::new(Self::of(data, first, Arc::clone(&self.how)))
        };
        Ok(Some(parts.into_iter().map(work).collect()))
    }
}

fn pieces_of(data: &impl Data) -> Vec<usize> {
    let mut pieces = Vec::new();
    data.pieces(&mut |count| pieces.push(count));
    pieces
}
