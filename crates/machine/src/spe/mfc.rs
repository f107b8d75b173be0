//! The programs' interface of the Memory Flow Controller. [`crate::mfc`] has the rules of commands.

use std::fmt;

use crate::atomic::{AtomicError, AtomicOp};
use crate::local_store::LocalStore;
use crate::memory::LINE_BYTES;
use crate::mfc::{CommandFault, EffectiveAddress, LsAddr, RawCommand, Tag, TagMask};
use crate::wake::{Wait, wait_for_some};

/// The Memory Flow Controller of an SPE, for its program. The machine checks local-store addresses
/// and effective addresses: a wrong address returns a [`CommandFault`] without any access, and the
/// refused command takes no queue entry.
pub trait Mfc: Wait {
    /// Enqueues a command.
    ///
    /// # Errors
    ///
    /// Returns [`TryIssueError::Full`] if the queue has no free entry, or [`TryIssueError::Fault`]
    /// if the command is not legal.
    ///
    /// # Panics
    ///
    /// Panics if an enqueued command has become illegal. All methods that use the queue panic then,
    /// unless the program calls [`take_late_fault`](Self::take_late_fault).
    fn try_issue(&self, command: RawCommand) -> Result<(), TryIssueError>;

    /// Returns the number of free entries in the queue, 0 to 16 (the count of channel 21).
    fn free_entries(&self) -> usize;

    /// Returns the tag groups with incomplete commands.
    fn incomplete_tags(&self) -> TagMask;

    /// Returns and clears the tag groups in which a list has stalled (channel 25).
    fn take_stall_notifications(&self) -> TagMask;

    /// Resumes the stalled lists of a tag group (channel 26).
    ///
    /// # Errors
    ///
    /// Returns [`LateFault`] if the rest of a list, or a command that waited for the list, is
    /// illegal. If an illegal command is executed later, a later use of the queue panics.
    fn acknowledge_stall(&self, tag: Tag) -> Result<(), LateFault>;

    /// Returns the fault of an enqueued command that has become illegal, if there is one. A late
    /// fault is that of a command that waited in the queue, such as a list that an earlier command
    /// has changed. The rest of the command was dropped, and its tag group is complete.
    ///
    /// A program that calls this method takes its late faults itself: from its first call to its
    /// end, its other calls do not panic for a late fault. Of several faults, the first is kept. If
    /// the program ends, or no program of the run can go on, before the fault was taken, the
    /// program panics with the fault. The call takes no simulated time.
    fn take_late_fault(&self) -> Option<LateFault>;

    /// Reads the 128-byte line at `ea` to `lsa`, and reserves the line. Ends any other reservation.
    ///
    /// # Errors
    ///
    /// Returns [`CommandFault`] if no region covers the line.
    fn getllar(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<(), CommandFault>;

    /// Stores the line at `lsa` to `ea` if this SPE's reservation of `ea` still holds. Ends the
    /// reservation, and returns whether the line was stored.
    ///
    /// # Errors
    ///
    /// Returns [`CommandFault`] if no region covers the line.
    fn putllc(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<bool, CommandFault>;

    /// Stores the line at `lsa` to `ea`, regardless of reservations.
    ///
    /// # Errors
    ///
    /// Returns [`CommandFault`] if no region covers the line.
    fn putlluc(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<(), CommandFault>;

    /// Returns whether this SPE has no reservation (the LR event, CBEA page 148).
    fn reservation_lost(&self) -> bool;

    /// Enqueues a command. Waits while the queue is full.
    ///
    /// # Errors
    ///
    /// Returns [`CommandFault`] if the command is not legal.
    #[track_caller]
    fn issue(&self, command: RawCommand) -> Result<(), CommandFault> {
        let why = "a free entry in its MFC command queue";
        issue_when_there_is_room(self, &why, || self.try_issue(command))
    }

    /// Waits until all commands of the tag groups in `tags` are complete.
    #[track_caller]
    fn wait_all(&self, tags: TagMask) {
        let mut complete = || (self.incomplete_tags() & tags).is_empty();
        if !complete() {
            self.wait_until(
                &format_args!("DMA of all tag groups in {tags}"),
                &mut complete,
            );
        }
    }

    /// Waits until one of the tag groups in `tags` is complete, and returns the complete groups.
    #[track_caller]
    fn wait_any(&self, tags: TagMask) -> TagMask {
        wait_for_some(
            self,
            &format_args!("DMA of any tag group in {tags}"),
            || {
                let complete = tags & !self.incomplete_tags();
                (!complete.is_empty() || tags.is_empty()).then_some(complete)
            },
        )
    }

    /// Waits until a list stalls, and returns the tag groups of the stalled lists (channel 25).
    #[track_caller]
    fn wait_stalled(&self) -> TagMask {
        wait_for_some(self, &"a list to stop at stall-and-notify", || {
            let stalled = self.take_stall_notifications();
            (!stalled.is_empty()).then_some(stalled)
        })
    }
}

/// The fault of an enqueued command that has become illegal: see [`Mfc::take_late_fault`].
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{fault}{}", place.map(|place| format!(" (issued at {place})")).unwrap_or_default())]
pub struct LateFault {
    /// The fault.
    pub fault: CommandFault,
    /// The [place](crate::Spe::at) in foreign source where the command was issued.
    pub place: Option<&'static str>,
}

crate::debug_by_display!(LateFault);

/// The reason why a command was not enqueued.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum TryIssueError {
    /// The queue has no free entry. A later call can succeed.
    #[error(
        "the MFC command queue is full; wait for a tag group, or use `issue` (for the PPE, `issue_proxy`), which waits \
         for an entry"
    )]
    Full,
    /// The command is not legal.
    #[error(transparent)]
    Fault(#[from] CommandFault),
}

crate::debug_by_display!(TryIssueError);

/// Calls `attempt` until it does not return [`TryIssueError::Full`].
#[track_caller]
#[inline]
pub(crate) fn issue_when_there_is_room<W: Wait + ?Sized>(
    waiter: &W,
    why: &dyn fmt::Display,
    mut attempt: impl FnMut() -> Result<(), TryIssueError>,
) -> Result<(), CommandFault> {
    let mut outcome = Ok(());
    let mut is_done = || match attempt() {
        Err(TryIssueError::Full) => false,
        Err(TryIssueError::Fault(fault)) => {
            outcome = Err(fault);
            true
        }
        Ok(()) => true,
    };
    if !is_done() {
        waiter.wait_until(why, &mut is_done);
    }
    outcome
}

/// Applies `op` atomically to each of the `words` 32-bit words from `ea` on, and returns the old
/// value of the first word. `scratch` is the local-store address of a line to overwrite.
///
/// The function repeats `getllar` and `putllc` until the store succeeds. A compare-and-swap stores
/// nothing if no word has the expected value.
///
/// # Errors
///
/// Returns [`AtomicError`] if `ea` is not a multiple of 4, `words` is 0, the words leave their
/// 128-byte line, or no region covers the line.
///
/// # Panics
///
/// Panics if `scratch` is not a multiple of 128, or leaves the local store.
pub fn fetch_update_words<M: Mfc>(
    mfc: &M,
    local_store: &LocalStore,
    scratch: LsAddr,
    ea: EffectiveAddress,
    words: usize,
    op: AtomicOp,
) -> Result<u32, AtomicError> {
    assert!(
        scratch.0.is_multiple_of(LINE_BYTES as u32),
        "a line of local store starts at a multiple of {LINE_BYTES}, not at {scratch}"
    );
    let within = ea.0 as usize % LINE_BYTES;
    if !ea.0.is_multiple_of(4) {
        return Err(AtomicError::Misaligned { ea });
    }
    if words == 0 || words > (LINE_BYTES - within) / 4 {
        return Err(AtomicError::LeavesLine { ea, words });
    }
    let line = EffectiveAddress(ea.0 - within as u64);
    loop {
        mfc.getllar(scratch, line)?;
        let mut before = None;
        let mut stores = false;
        for word in 0..words {
            let at = LsAddr(scratch.0 + (within + 4 * word) as u32);
            let value = local_store.read_word(at);
            before.get_or_insert(value);
            stores |= op.stores(value);
            local_store.write_word(at, op.apply(value));
        }
        if !stores || mfc.putllc(scratch, line)? {
            return Ok(before.expect("there is at least one word"));
        }
    }
}
