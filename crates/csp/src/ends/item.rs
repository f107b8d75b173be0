//! Items: the values that channels carry.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use cellworks_machine::{Span, Time};

/// A type of values that channels carry. Writing a value moves the value to the reading process.
///
/// # Large items
///
/// The stacks of the writer and the reader hold copies of an item, more than forty without
/// optimisation. The default stack has 256 KiB. Put items of more than 4 KiB in a `Box` or a `Vec`,
/// or give the process a larger stack: see
/// [`Network::process_with_stack`](crate::Network::process_with_stack). A simulated machine takes
/// the same time with and without a box, because [`bytes`](Self::bytes) counts data on the heap. A
/// stack overflow ends the program with a message that names the process.
///
/// # Types of your own
///
/// For a type that owns nothing on the heap, write an empty `impl`:
///
/// ```
/// struct Point { x: f32, y: f32 }
///
/// impl cellworks_csp::Item for Point {}
/// ```
///
/// For other types, use [`item!`](crate::item) with the fields or variants of the type.
///
/// # Types of other crates
///
/// Rust allows no `impl Item` for a type of another crate. Write the value in a [`Foreign`].
///
/// # Shared values
///
/// An [`Arc`] of an item is itself an item. Use an `Arc` for values that no process changes. If
/// processors share no memory, a simulated machine takes the time of copying the value.
///
/// # Ends of channels
///
/// An end of a channel is an item, unless the channel is [local](crate::Local). For example, a
/// request can carry the writer for its answer.
///
/// ```
/// use cellworks_csp::{Channel, Place, Process, ProcessError, Reader, Writer};
///
/// /// Writes each answer to the process that asked the question.
/// fn server(
///     process: &Process<impl Place>,
///     mut questions: Reader<(u64, Writer<u64>)>,
/// ) -> Result<(), ProcessError> {
///     loop {
///         let (number, mut answer) = questions.read(process)?;
///         // The process that asked may have ended.
///         let _ = answer.write(process, number * number);
///     }
/// }
///
/// fn ask(
///     process: &Process<impl Place>,
///     questions: &mut Writer<(u64, Writer<u64>), cellworks_csp::Any>,
///     number: u64,
/// ) -> Result<u64, ProcessError> {
///     let (answer, mut answered) = Channel::new().one_to_one();
///     questions.write(process, (number, answer))?;
///     Ok(answered.read(process)?)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no item, so it cannot be written to a channel",
    label = "not an `Item`",
    note = "a type that your crate defines becomes an item by `item!` with its fields or variants, or, if it owns nothing on the heap, by an empty `impl Item`",
    note = "a type of another crate that is `Send` is written in a `Foreign`, as in `writer.write(process, Foreign(value))`, or as a field: `name: Foreign<{Self}>`",
    note = "in place of an `Rc` use an `Arc`, and in place of a `Cell` or a `RefCell` the value that it holds",
    note = "`Item`, `item!` and `Foreign` are in `cellworks::prelude`, and in `cellworks_csp`"
)]
pub trait Item: Send {
    /// Returns how many bytes must be moved between local stores, including bytes on the heap.
    fn bytes(&self) -> usize {
        std::mem::size_of_val(self)
    }
}

/// Implements [`Item`] for a struct or an enum. `bytes` returns the sum over all fields.
///
/// The compiler reports a field that is left out. The fields of a tuple struct are given names. A
/// type with parameters needs an `impl` in place of the macro, as below.
///
/// ```
/// use cellworks_csp::{Item, item};
///
/// struct Task { first: u32, points: Vec<f32> }
/// item!(struct Task { first, points });
///
/// struct Name(String);
/// item!(struct Name(text));
///
/// enum Request { Stop, Run(Task), Rename { from: Name, to: Name } }
/// item!(enum Request { Stop, Run(task), Rename { from, to } });
///
/// let task = Task { first: 0, points: vec![0.0; 10] };
/// assert_eq!(Request::Run(task).bytes(), 44);
/// ```
///
/// # Types with parameters
///
/// ```
/// use cellworks_csp::Item;
///
/// struct Pair<T> { left: T, right: Vec<T> }
///
/// impl<T: Item> Item for Pair<T> {
///     fn bytes(&self) -> usize {
///         self.left.bytes() + self.right.bytes()
///     }
/// }
///
/// assert_eq!(Pair { left: 1_u32, right: vec![2, 3] }.bytes(), 12);
/// ```
#[macro_export]
macro_rules! item {
    (struct $type:ident $(($($place:ident),* $(,)?))? $({ $($field:ident),* $(,)? })?) => {
        impl $crate::Item for $type {
            fn bytes(&self) -> usize {
                let Self $(($($place),*))? $({ $($field),* })? = self;
                0 $($(+ $crate::Item::bytes($place))*)? $($(+ $crate::Item::bytes($field))*)?
            }
        }
    };
    (enum $type:ident {
        $($variant:ident $(($($place:ident),* $(,)?))? $({ $($field:ident),* $(,)? })?),* $(,)?
    }) => {
        impl $crate::Item for $type {
            fn bytes(&self) -> usize {
                match self {
                    $(Self::$variant $(($($place),*))? $({ $($field),* })? => {
                        0 $($(+ $crate::Item::bytes($place))*)?
                            $($(+ $crate::Item::bytes($field))*)?
                    })*
                }
            }
        }
    };
}

/// A value of a type that another crate defines, as an item. The type is any that is `Send`.
///
/// [`bytes`](Item::bytes) returns the size of the value without data on the heap. If a simulated
/// machine is to count such data, define a struct with the value, and `impl Item` with `bytes`.
///
/// ```
/// use std::process::Output;
///
/// use cellworks_csp::{Channel, Ended, Foreign, Place, Process, Reader};
///
/// /// Reads how the commands ended that another process has run, until one fails.
/// fn watch(
///     process: &Process<impl Place>,
///     mut outputs: Reader<Foreign<Output>>,
/// ) -> Result<Output, Ended> {
///     loop {
///         let Foreign(output) = outputs.read(process)?;
///         if !output.status.success() {
///             return Ok(output);
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Foreign<T>(pub T);

impl<T: SentAway> Item for Foreign<T> {}

/// What a [`Foreign`] may have: any type that is `Send`. For others the compiler reports this text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent to another thread, so it cannot be written to a channel",
    label = "not `Send`",
    note = "use an `Arc` in place of an `Rc`, and an atomic or a `Mutex` in place of a `Cell` or a `RefCell`",
    note = "or write the data itself, and let the reading process make the value"
)]
pub trait SentAway: Send {}

#[diagnostic::do_not_recommend]
impl<T: Send> SentAway for T {}

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
    Duration,
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

impl Item for str {}

impl Item for String {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl<T: Item + Sync + ?Sized> Item for Arc<T> {
    fn bytes(&self) -> usize {
        (**self).bytes()
    }
}

macro_rules! collections {
    ($($type:ty, $($parameter:ident: $bound:path),*;)*) => {
        $(impl<$($parameter: $bound),*> Item for $type {
            fn bytes(&self) -> usize {
                self.iter().map(|item| item.bytes_of()).sum()
            }
        })*
    };
}
collections!(
    VecDeque<T>, T: Item;
    BTreeSet<T>, T: Item;
    HashSet<T, S>, T: Item, S: Send;
    BTreeMap<K, V>, K: Item, V: Item;
    HashMap<K, V, S>, K: Item, V: Item, S: Send;
);

/// A value from an iterator over a collection: a reference to an item, or to a key and a value.
trait Lent {
    fn bytes_of(&self) -> usize;
}

impl<T: Item> Lent for &T {
    fn bytes_of(&self) -> usize {
        self.bytes()
    }
}

impl<K: Item, V: Item> Lent for (&K, &V) {
    fn bytes_of(&self) -> usize {
        self.0.bytes() + self.1.bytes()
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
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
