//! The order of commands: the order of issue, and the order that the architecture guarantees.

use cellworks_machine::mfc::{Order, Tag};

use crate::issuer::Issuer;

/// The position of a command in the order of issue, and the barriers before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issue {
    pub issuer: Issuer,
    pub tag: Option<Tag>,
    /// The sequence number of the command in its queue, from 1.
    pub number: u64,
    /// Whether a fence or barrier orders the command after the earlier commands of its tag group.
    pub comes_after_group: bool,
    /// The sequence number of the last earlier barrier of the tag group, or 0 if there is none.
    group_barrier: u64,
    queue_barrier: u64,
    /// The place in foreign source where the command was issued.
    pub place: Option<&'static str>,
}

impl Issue {
    pub fn at(self, place: Option<&'static str>) -> Self {
        Self { place, ..self }
    }

    /// Returns whether the architecture orders two commands of the same MFC.
    pub fn is_ordered_with(&self, other: &Self) -> bool {
        let (first, second) = if self.number < other.number {
            (self, other)
        } else {
            (other, self)
        };
        let same_group = first.tag.is_some() && first.tag == second.tag;
        let after_first = |number: u64| number >= first.number;
        // All elements of a list have the sequence number of the list command, and are not ordered.
        first.issuer == second.issuer
            && first.number != second.number
            && (after_first(second.queue_barrier)
                || same_group && (second.comes_after_group || after_first(second.group_barrier)))
    }
}

/// The commands that were issued to a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Issued {
    commands: u64,
    /// The sequence number of the last barrier of the whole queue, or 0 if there is none.
    queue_barrier: u64,
    /// The sequence number of the last barrier of each tag group, or 0 if there is none.
    group_barriers: [u64; Tag::COUNT as usize],
}

impl Issued {
    /// Records that a command with a transfer is issued. A typed transfer has no tag.
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
            place: None,
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

    /// Records that `barrier` is issued: all later commands come after all earlier ones.
    pub fn order_all(&mut self) {
        self.commands += 1;
        self.queue_barrier = self.commands;
    }

    /// Records that a command that orders a tag group is issued: all later commands of the group
    /// come after all earlier ones.
    pub fn order_group(&mut self, tag: Tag) {
        self.commands += 1;
        self.group_barriers[tag.number() as usize] = self.commands;
    }
}
