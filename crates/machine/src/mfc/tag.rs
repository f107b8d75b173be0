//! Tag groups, by which a program waits for its commands.

use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

/// The tag group of an MFC command, 0 to 31. Fences, barriers and waits apply to tag groups.
///
/// ```
/// # use cellworks_machine::mfc::Tag;
/// const INPUT: Tag = Tag::of::<3>();
/// assert_eq!(Tag::new(3), Some(INPUT));
/// assert_eq!(Tag::new(32), None);
/// ```
///
/// A constant tag that does not exist is a compile error:
///
/// ```compile_fail,E0080
/// # use cellworks_machine::mfc::Tag;
/// let tag = Tag::of::<32>();
/// ```
///
/// Source: CBEA p.57 table 7-6 (five bits, all others reserved).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(u8);

impl Tag {
    /// The number of tag groups of an MFC command queue.
    pub const COUNT: u32 = 32;

    /// Returns the tag with this number, or `None` if the number is above 31.
    pub const fn new(number: u32) -> Option<Tag> {
        if number < Self::COUNT {
            Some(Tag(number as u8))
        } else {
            None
        }
    }

    /// Returns the tag `NUMBER`, checked at compile time.
    pub const fn of<const NUMBER: u32>() -> Tag {
        const { assert!(NUMBER < Self::COUNT, "an MFC tag is 0 to 31") };
        Tag(NUMBER as u8)
    }

    /// Returns the number of this tag, 0 to 31.
    pub const fn number(self) -> u32 {
        self.0 as u32
    }

    /// Returns the set that contains only this tag.
    pub const fn mask(self) -> TagMask {
        TagMask(1 << self.0)
    }

    /// Returns all 32 tags, ascending.
    pub fn all() -> impl Iterator<Item = Tag> {
        TagMask::ALL.iter()
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of tag groups, as in the channels `MFC_WrTagMask` and `MFC_RdTagStat`: bit `n` is tag `n`.
///
/// ```
/// # use cellworks_machine::mfc::{Tag, TagMask};
/// let both = Tag::of::<0>().mask() | Tag::of::<5>().mask();
/// assert_eq!(both.bits(), 0b10_0001);
/// assert_eq!(both.to_string(), "{0, 5}");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TagMask(u32);

impl TagMask {
    /// The empty set.
    pub const NONE: TagMask = TagMask(0);
    /// The set of all 32 tag groups.
    pub const ALL: TagMask = TagMask(u32::MAX);

    /// Returns the set of all tags `n` for which bit `n` is 1. Every word is a legal set.
    pub const fn from_bits(bits: u32) -> TagMask {
        TagMask(bits)
    }

    /// Returns the set as a word, in which bit `n` is 1 if the set contains tag `n`.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns whether the set contains `tag`.
    pub const fn contains(self, tag: Tag) -> bool {
        self.0 & tag.mask().0 != 0
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the tags of the set, ascending.
    pub fn iter(self) -> impl Iterator<Item = Tag> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let tag = Tag::new(rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(tag)
        })
    }
}

impl From<Tag> for TagMask {
    fn from(tag: Tag) -> TagMask {
        tag.mask()
    }
}

impl FromIterator<Tag> for TagMask {
    fn from_iter<I: IntoIterator<Item = Tag>>(tags: I) -> TagMask {
        tags.into_iter()
            .fold(TagMask::NONE, |set, tag| set | tag.mask())
    }
}

impl BitOr for TagMask {
    type Output = TagMask;
    fn bitor(self, other: TagMask) -> TagMask {
        TagMask(self.0 | other.0)
    }
}

impl BitOrAssign for TagMask {
    fn bitor_assign(&mut self, other: TagMask) {
        self.0 |= other.0;
    }
}

impl BitAnd for TagMask {
    type Output = TagMask;
    fn bitand(self, other: TagMask) -> TagMask {
        TagMask(self.0 & other.0)
    }
}

impl BitAndAssign for TagMask {
    fn bitand_assign(&mut self, other: TagMask) {
        self.0 &= other.0;
    }
}

impl Not for TagMask {
    type Output = TagMask;
    fn not(self) -> TagMask {
        TagMask(!self.0)
    }
}

/// Writes the tags in braces, ascending: `{0, 5}`.
impl fmt::Display for TagMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, tag) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            tag.fmt(f)?;
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_0_to_31() {
        assert_eq!(Tag::new(0).map(Tag::number), Some(0));
        assert_eq!(Tag::new(31).map(Tag::number), Some(31));
        assert_eq!(Tag::new(32), None);
        assert_eq!(Tag::new(u32::MAX), None);
        assert_eq!(Tag::of::<31>(), Tag::new(31).unwrap());
        assert_eq!(Tag::all().count(), 32);
        assert_eq!(Tag::of::<7>().to_string(), "7");
    }

    #[test]
    fn a_mask_has_one_bit_for_each_tag() {
        let set: TagMask = [Tag::of::<0>(), Tag::of::<31>(), Tag::of::<5>()]
            .into_iter()
            .collect();
        assert_eq!(set.bits(), 0x8000_0021);
        assert!(set.contains(Tag::of::<31>()) && !set.contains(Tag::of::<1>()));
        assert_eq!(set.iter().map(Tag::number).collect::<Vec<_>>(), [0, 5, 31]);
        assert_eq!(set.to_string(), "{0, 5, 31}");
        assert_eq!(TagMask::NONE.to_string(), "{}");
        assert!(TagMask::NONE.is_empty() && !set.is_empty());
    }

    #[test]
    fn masks_combine_as_sets() {
        let low = TagMask::from_bits(0xFFFF);
        let mut set = low & Tag::of::<3>().into();
        assert_eq!(set, Tag::of::<3>().mask());
        set |= Tag::of::<20>().mask();
        assert_eq!(set & !low, Tag::of::<20>().mask());
        set &= low;
        assert_eq!(set.bits(), 8);
    }
}
