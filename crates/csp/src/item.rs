//! What channels carry.

use cellworks_machine::{Span, Time};

/// What can be written to a channel: it moves, and belongs to the reader afterwards.
///
/// # Large items
///
/// An item moves by value: on its way from one process to another it is on the stack of each of the
/// two, in a build without optimisation more than forty times at once. The stack of a process has
/// 256 KiB if no other size was asked for, so items of more than 4 KiB belong in a `Box` or a
/// `Vec`, of which only the pointer moves. ([`bytes`](Self::bytes) counts what they point to, so
/// what a simulated machine charges for them stays the same.) A larger stack is the other way: see
/// [`Network::process_with_stack`](crate::Network::process_with_stack). A stack that overflows ends
/// the program, with a message that names the process.
///
/// # Types of your own
///
/// ```
/// struct Task { first: u32, points: Vec<f32> }
///
/// impl cellworks_csp::Item for Task {
///     fn bytes(&self) -> usize {
///         4 + self.points.bytes()
///     }
/// }
/// ```
pub trait Item: Send {
    /// How many bytes have to be moved between local stores, on machines where they are: what it
    /// owns, too.
    fn bytes(&self) -> usize {
        std::mem::size_of_val(self)
    }
}

macro_rules! plain {
    ($($type:ty),*) => { $(impl Item for $type {})* };
}
plain!(
    (),
    bool,
    char,
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    f32,
    f64,
    Time,
    Span,
    &'static str
);

impl<T: Item, const N: usize> Item for [T; N] {
    fn bytes(&self) -> usize {
        self.iter().map(Item::bytes).sum()
    }
}

impl<T: Item> Item for [T] {
    fn bytes(&self) -> usize {
        self.iter().map(Item::bytes).sum()
    }
}

impl<T: Item + ?Sized> Item for Box<T> {
    fn bytes(&self) -> usize {
        (**self).bytes()
    }
}

impl<T: Item> Item for Vec<T> {
    fn bytes(&self) -> usize {
        self.as_slice().bytes()
    }
}

impl Item for String {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl<T: Item> Item for Option<T> {
    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, Item::bytes)
    }
}

impl<T: Item, E: Item> Item for Result<T, E> {
    fn bytes(&self) -> usize {
        match self {
            Ok(item) => item.bytes(),
            Err(item) => item.bytes(),
        }
    }
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Item),*> Item for ($($name,)*) {
            fn bytes(&self) -> usize {
                #[allow(non_snake_case, reason = "a variable for each type")]
                let ($($name,)*) = self;
                0 $(+ $name.bytes())*
            }
        }
    };
}
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
