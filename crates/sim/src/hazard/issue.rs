//! The order in which commands were issued, and the order that the architecture defines.

use cellworks_machine::mfc::{Order, Tag};

use crate::issuer::Issuer;

/// The place of a command in the order of issue, and the earlier commands that the architecture
/// puts before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issue {
    pub issuer: Issuer,
    pub tag: Option<Tag>,
    /// The number of the command among the commands of its queue, from 1.
    pub number: u64,
    /// Whether the command comes after all earlier commands of its tag group.
    pub comes_after_group: bool,
    /// The number of the last barrier before the command in its tag group, or 0. `queue_barrier` is
    /// the number of the last barrier before the command in the whole queue, or 0.
    group_barrier: u64,
    queue_barrier: u64,
}

impl Issue {
    /// Whether the architecture orders the two commands of one MFC.
    pub fn is_ordered_with(&self, other: &Self) -> bool {
        let (first, second) = match self.number < other.number {
            true => (self, other),
            false => (other, self),
        };
        let same_group = first.tag.is_some() && first.tag == second.tag;
        let after_first = |number: u64| number >= first.number;
        // The elements of one list have the same number, and are not ordered with each other.
        first.issuer == second.issuer
            && first.number != second.number
            && (after_first(second.queue_barrier)
                || same_group && (second.comes_after_group || after_first(second.group_barrier)))
    }
}

/// The commands of one queue, up to now.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Issued {
    commands: u64,
    /// The number of the last barrier for the whole queue, or 0.
    queue_barrier: u64,
    /// The number of the last barrier of each tag group, or 0.
    group_barriers: [u64; Tag::COUNT as usize],
}

impl Issued {
    /// Records the issue of a command with a transfer. A typed transfer has no tag.
    #[inline]
    pub fn issue(&mut self, issuer: Issuer, tag: Option<Tag>, order: Order) -> Issue {
        self.commands += 1;
        let mut issue = Issue {
            issuer,
            tag,
            number: self.commands,
            comes_after_group: order != Order::None,
            group_barrier: 0,
            queue_barrier: self.queue_barrier,
        };
        if let Some(tag) = tag {
            let last = &mut self.group_barriers[tag.number() as usize];
            issue.group_barrier = *last;
            if order == Order::Barrier {
                *last = issue.number;
            }
        }
        issue
    }

    /// Records the issue of `barrier`: all later commands come after all earlier commands.
    pub fn order_all(&mut self) {
        self.commands += 1;
        self.queue_barrier = self.commands;
    }

    /// Records the issue of a command that orders a tag group: all later commands of the group come
    /// after all earlier commands of the group.
    pub fn order_group(&mut self, tag: Tag) {
        self.commands += 1;
        self.group_barriers[tag.number() as usize] = self.commands;
    }
}
