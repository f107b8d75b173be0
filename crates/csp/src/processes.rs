//! Standard processes, from which networks can be built.
//!
//! ```text
//!   prefix      ─► [first] ─►        identity    ─► [   ] ─►        delta,           ─►┬─►
//!   tail        ─► [ -1  ] ─►        successor   ─► [ +1] ─►        parallel_delta     └─►
//!
//!   combine,    ─►┬─ [ f ] ─►        mux         ─►┬─►              tee              ─►┬─►
//!   add         ─►┘                              ─►┘                                   └╌► while it is read
//! ```
//!
//! Each process runs until one of its channels ends. If this channel was poisoned, the process
//! [poisons](Process::spread_poison) all its channels. Otherwise the process drops its ends.
//!
//! [`identity`], [`delta`], [`prefix`] and [`tail`] are Listing 1 of the paper (see the crate), and
//! [`add`] is Listing 2. In this example, a ring of three processes makes the numbers from 0 on:
//!
//! ```
//! use cellworks_csp::{Channel, Ended, Network, processes};
//! use cellworks_machine::{Machine, SpeId};
//!
//! fn numbers<M: Machine>(machine: &M, count: usize) -> Vec<u64> {
//!     let (to_delta, at_delta) = Channel::new().one_to_one();
//!     let (to_successor, at_successor) = Channel::new().one_to_one();
//!     let (to_prefix, at_prefix) = Channel::new().one_to_one();
//!     let (to_main, mut at_main) = Channel::new().one_to_one();
//!     let mut network = Network::on(machine);
//!     network.process("prefix", SpeId::new(0), move |process| {
//!         processes::prefix(process, 0, at_prefix, to_delta)
//!     });
//!     network.process("delta", SpeId::new(0), move |process| {
//!         processes::delta(process, at_delta, to_main, to_successor)
//!     });
//!     network.process("successor", SpeId::new(0), move |process| {
//!         processes::successor(process, at_successor, to_prefix)
//!     });
//!     let numbers = network.run_with(|process| {
//!         let numbers = (0..count).map(|_| at_main.read(process)).collect::<Result<_, Ended>>();
//!         at_main.poison(process);
//!         numbers
//!     });
//!     numbers.unwrap().unwrap()
//! }
//! # assert_eq!(numbers(&cellworks_host::Host::new().unwrap(), 4), [0, 1, 2, 3]);
//! ```

// Rejected: a timer that also writes the times that passed while its reader was late. The reader
// would get a burst of past times.

use std::ops::Add;

use cellworks_machine::{Span, Time};

use crate::ends::alternation::Alternation;
use crate::ends::ended::Ended;
use crate::ends::input_output::{Input, Output};
use crate::ends::item::Item;
use crate::process::Process;
use crate::process::error::ProcessError;
use crate::process::place::Place;

/// Passes items on (`delta1` of the paper).
///
/// ```
/// # use cellworks_csp::{Channel, Network, processes};
/// # use cellworks_machine::SpeId;
/// # let host = cellworks_host::Host::new().unwrap();
/// # let mut network = Network::on(&host);
/// let (mut writer, input) = Channel::new().one_to_one();
/// let (output, mut reader) = Channel::new().one_to_one();
/// network.process("identity", SpeId::new(0), move |process| {
///     processes::identity(process, input, output)
/// });
/// network.run_with(move |process| {
///     writer.write(process, "an item").unwrap();
///     assert_eq!(reader.read(process), Ok("an item"));
/// })
/// # .unwrap();
/// ```
///
/// # Errors
///
/// Returns only when a channel has ended. The error contains how it has ended.
pub fn identity<T: Item>(
    process: &Process<'_, impl Place>,
    input: impl Input<T>,
    output: impl Output<T>,
) -> Result<(), ProcessError> {
    map(process, input, output, |item| item)
}

/// Reads items, and writes the result of `function` for each item.
///
/// ```
/// # use cellworks_csp::{Channel, Network, processes};
/// # use cellworks_machine::SpeId;
/// # let host = cellworks_host::Host::new().unwrap();
/// # let mut network = Network::on(&host);
/// let (mut writer, input) = Channel::new().one_to_one();
/// let (output, mut reader) = Channel::new().one_to_one();
/// network.process("square", SpeId::new(0), move |process| {
///     processes::map(process, input, output, |number: u64| number * number)
/// });
/// network.run_with(move |process| {
///     writer.write(process, 12).unwrap();
///     assert_eq!(reader.read(process), Ok(144));
/// })
/// # .unwrap();
/// ```
///
/// # Errors
///
/// Returns only when a channel has ended. The error contains how it has ended.
pub fn map<T: Item, U: Item>(
    process: &Process<'_, impl Place>,
    input: impl Input<T>,
    output: impl Output<U>,
    mut function: impl FnMut(T) -> U,
) -> Result<(), ProcessError> {
    process.spread_poison((input, output), |(input, output)| {
        loop {
            let item = input.read(process)?;
            output.write(process, function(item))?;
        }
    })
}

/// Writes `first`, and then passes items on.
///
/// ```
/// # use cellworks_csp::{Channel, Network, processes};
/// # use cellworks_machine::SpeId;
/// # let host = cellworks_host::Host::new().unwrap();
/// # let mut network = Network::on(&host);
/// let (mut writer, input) = Channel::new().one_to_one();
/// let (output, mut reader) = Channel::new().one_to_one();
/// network.process("prefix", SpeId::new(0), move |process| {
///     processes::prefix(process, 0, input, output)
/// });
/// network.run_with(move |process| {
///     assert_eq!(reader.read(process), Ok(0));
///     writer.write(process, 1).unwrap();
///     assert_eq!(reader.read(process), Ok(1));
/// })
/// # .unwrap();
/// ```
///
/// # Errors
///
/// Returns only when a channel has ended. The error contains how it has ended.
pub fn prefix<T: Item>(
    process: &Process<'_, impl Place>,
    first: T,
    input: impl Input<T>,
    output: impl Output<T>,
) -> Result<(), ProcessError> {
    process.spread_poison((input, output), |(input, output)| {
        output.write(process, first)?;
        loop {
            let item = input.read(process)?;
            output.write(process, item)?;
        }
    })
}

/// Drops the first item, and then passes items on.
///
/// ```
/// # use cellworks_csp::{Channel, Network, processes};
/// # use cellworks_machine::SpeId;
/// # let host = cellworks_host::Host::new().unwrap();
/// # let mut network = Network::on(&host);
/// let (mut writer, input) = Channel::new().one_to_one();
/// let (output, mut reader) = Channel::new().one_to_one();
/// network.process("tail", SpeId::new(0), move |process| {
///     processes::tail(process, input, output)
/// });
/// network.run_with(move |process| {
///     writer.write(process, 0).unwrap();
///     writer.write(process, 1).unwrap();
///     assert_eq!(reader.read(process), Ok(1));
/// })
/// # .unwrap();
/// ```
///
/// # Errors
///
/// Returns only when a channel has ended. The error contains how it has ended.
pub fn tail<T: Item>(
    process: &Process<'_, impl Place>,
    input: impl Input<T>,
    output: impl Output<T>,
) -> Result<(), ProcessError> {
    process.spread_poison((input, output), |(input, output)| {
        drop(input.read(process)?);
        loop {
            let item = input.read(process)?;
            output.write(process, item)?;
        }
    })
}

/// Writes each number plus one.
///
/// ```
/// # use cellworks_csp::{Channel, Network, processes};
/// # use cellworks_machine::SpeId;
/// # let host = cellworks_host::Host::new().unwrap();
/// # let mut network = Network::on(&host);
/// let (mut writer, input) = Channel::new().one_to_one();
/// let (output, mut reader) = Channel::new().one_to_one();
/// network.process("successor", SpeId::new(0), move |process| {
///     processes::successor(process, input, output)
/// });
/// network.run_with(move |process| {
///     writer.write(process, 41_u32).unwrap();
///     assert_eq!(reader.read(process), Ok(42));
/// })
/// # .unwrap();
/// ```
///
/// # Errors
///
/// Returns only when a channel has ended. The error contains how it has ended.
pub fn successor<T: Item + Add<Output = T> + From<u8>>(
    process: &Process<'_, impl Place>,
    input: impl Input<T>,
    output: impl Output<T>,
) -> Result<(), ProcessError> {
    map(process, input, output, |number| number + T::from(1))
}

/// Writes each item to both outputs, first to `first` (`delta2` of the paper).
///
/// ```
/// # use cellworks_csp::{Channel, Network, processes};
/// # use cellworks_machine::SpeId;
/// # let host = cellworks_host::Host::new().unwrap();
/// # let mut network = Network::on(&host);
/// let (mut writer, input) = Channel::new().one_to_one();
/// let (first, mut one) = Channel::new().one_to_one();
/// let (second, mut other) = Channel::new().one_to_one();
/// network.process("delta", SpeId::new(0), move |process| {
///     processes::delta(process, input, first, second)
/// });
/// network.run_with(move |process| {
///     writer.write(process, 'a').unwrap();
///     assert_eq!((one.read(process), other.read(process)), (Ok('a'), Ok('a')));
/// })
/// # .unwrap();
/// ```
///
/// # Errors
///
/// Returns only when a channel has ended. The error contains how it has ended.
pub fn delta<T: Item + Clone>(
    process: &Process<'_, impl Place>,
    input: impl Input<T>,
    first: impl Output<T>,
    second: impl Output<T>,
) -> Result<(), ProcessError> {
    process.spread_poison((input, first, second), |(input, first, second)| {
        loop {
            let item = input.read(process)?;
            first.write(process, item.clone())?;
            second.write(process, item)?;
        }
    })
}

/// Writes each item to both outputs, in the order in which their readers are ready.
///
/// ```
/// # use cellworks_csp::{Channel, Network, processes};
/// # use cellworks_machine::SpeId;
/// # let host = cellworks_host::Host::new().unwrap();
/// # let mut network = Network::on(&host);
/// let (mut writer, input) = Channel::new().one_to_one();
/// let (first, mut one) = Channel::new().one_to_one();
/// let (second, mut other) = Channel::new().one_to_one();
/// network.process("delta", SpeId::new(0), move |process| {
///     processes::parallel_delta(process, input, first, second)
/// });
/// network.run_with(move |process| {
///     writer.write(process, 'a').unwrap();
///     // `delta` would wait for ever here, because `delta` writes to `first` first.
///     assert_eq!((other.read(process), one.read(process)), (Ok('a'), Ok('a')));
/// })
/// # .unwrap();
/// ```
///
/// # Errors
///
/// Returns only when a channel has ended. The error contains how it has ended.
pub fn parallel_delta<T: Item + Clone>(
    process: &Process<'_, impl Place>,
    input: impl Input<T>,
    first: impl Output<T>,
    second: impl Output<T>,
) -> Result<(), ProcessError> {
    process.spread_poison((input, first, second), |(input, first, second)| {
        let mut either = Alternation::fair();
        let (first, second) = (first.list(&mut either), second.list(&mut either));
        loop {
            let item = input.read(process)?;
            either.offer(process, &first, item.clone());
            either.offer(process, &second, item);
            either.select(process)?;
            either.select(process)?;
        }
    })
}

/// Reads an item from each input, in any order, and writes `function` of the two items.
///
/// ```
/// # use cellworks_csp::{Channel, Network, processes};
/// # use cellworks_machine::SpeId;
/// # let host = cellworks_host::Host::new().unwrap();
/// # let mut network = Network::on(&host);
/// let (mut counts, left) = Channel::new().one_to_one::<u32>();
/// let (mut words, right) = Channel::new().one_to_one::<&str>();
/// let (output, mut reader) = Channel::new().one_to_one();
/// network.process("repeat", SpeId::new(0), move |process| {
///     processes::combine(process, left, right, output, |count, word| word.repeat(count as usize))
/// });
/// network.run_with(move |process| {
///     words.write(process, "ab").unwrap();
///     counts.write(process, 3).unwrap();
///     assert_eq!(reader.read(process), Ok("ababab".to_owned()));
/// })
/// # .unwrap();
/// ```
///
/// # Errors
///
/// Returns only when a channel has ended. The error contains how it has ended.
pub fn combine<A: Item, B: Item, T: Item>(
    process: &Process<'_, impl Place>,
    left: impl Input<A>,
    right: impl Input<B>,
    output: impl Output<T>,
    mut function: impl FnMut(A, B) -> T,
) -> Result<(), ProcessError> {
    process.spread_poison((left, right, output), |(left, right, output)| {
        let mut either = Alternation::priority();
        let (left, right) = (left.list(&mut either), right.list(&mut either));
        loop {
            let is_left = either.select(process)? == left;
            either.when(&left, !is_left);
            either.when(&right, is_left);
            either.select(process)?;
            either.when(&left, true);
            either.when(&right, true);
            let (a, b) = (either.take(process, &left), either.take(process, &right));
            output.write(process, function(a, b))?;
        }
    })
}

/// Reads a number from each input, in any order, and writes the sum (Listing 2 of the paper).
///
/// ```
/// # use cellworks_csp::{Channel, Network, processes};
/// # use cellworks_machine::SpeId;
/// # let host = cellworks_host::Host::new().unwrap();
/// # let mut network = Network::on(&host);
/// let (mut some, left) = Channel::new().one_to_one();
/// let (mut others, right) = Channel::new().one_to_one();
/// let (output, mut reader) = Channel::new().one_to_one();
/// network.process("add", SpeId::new(0), move |process| {
///     processes::add(process, left, right, output)
/// });
/// network.run_with(move |process| {
///     others.write(process, 40_u64).unwrap();
///     some.write(process, 2).unwrap();
///     assert_eq!(reader.read(process), Ok(42));
/// })
/// # .unwrap();
/// ```
///
/// # Errors
///
/// Returns only when a channel has ended. The error contains how it has ended.
pub fn add<T: Item + Add<Output = T>>(
    process: &Process<'_, impl Place>,
    left: impl Input<T>,
    right: impl Input<T>,
    output: impl Output<T>,
) -> Result<(), ProcessError> {
    combine(process, left, right, output, T::add)
}

/// Passes items on, and writes a copy of each item to `side` until the channel `side` ends.
///
/// If `side` has no [buffer](crate::Channel::buffered), the process waits for the reader of `side`.
///
/// ```
/// # use cellworks_csp::{Channel, Network, processes};
/// # use cellworks_machine::SpeId;
/// # let host = cellworks_host::Host::new().unwrap();
/// # let mut network = Network::on(&host);
/// let (mut writer, input) = Channel::new().one_to_one();
/// let (output, mut reader) = Channel::new().one_to_one();
/// let (side, mut observer) = Channel::new().buffered(4).one_to_one();
/// network.process("tee", SpeId::new(0), move |process| {
///     processes::tee(process, input, output, side)
/// });
/// network.run_with(move |process| {
///     writer.write(process, 1).unwrap();
///     assert_eq!((reader.read(process), observer.read(process)), (Ok(1), Ok(1)));
///     drop(observer);
///     writer.write(process, 2).unwrap();
///     assert_eq!(reader.read(process), Ok(2));
/// })
/// # .unwrap();
/// ```
///
/// # Errors
///
/// Returns only when the input or output has ended. The error contains how it has ended.
pub fn tee<T: Item + Clone>(
    process: &Process<'_, impl Place>,
    input: impl Input<T>,
    output: impl Output<T>,
    side: impl Output<T>,
) -> Result<(), ProcessError> {
    process.spread_poison((input, output, side), |(input, output, side)| {
        let mut is_observed = true;
        loop {
            let item = input.read(process)?;
            let copy = is_observed.then(|| item.clone());
            output.write(process, item)?;
            if let Some(copy) = copy {
                is_observed = side.write(process, copy).is_ok();
            }
        }
    })
}

/// Passes on the items of all inputs, until all inputs are closed or one input is poisoned.
///
/// The process is fair: while an item waits, at most one item of each other input is passed on.
///
/// ```
/// # use cellworks_csp::{Channel, Ended, Network, processes};
/// # use cellworks_machine::SpeId;
/// # let host = cellworks_host::Host::new().unwrap();
/// # let mut network = Network::on(&host);
/// let (mut some, left) = Channel::new().buffered(2).one_to_one();
/// let (mut others, right) = Channel::new().buffered(2).one_to_one();
/// let (output, mut reader) = Channel::new().one_to_one();
/// network.process("mux", SpeId::new(0), move |process| {
///     processes::mux(process, vec![left, right], output)
/// });
/// network.run_with(move |process| {
///     some.write(process, 1).unwrap();
///     drop(some);
///     assert_eq!(reader.read(process), Ok(1));
///     others.write(process, 2).unwrap();
///     drop(others);
///     assert_eq!(reader.read(process), Ok(2));
///     assert_eq!(reader.read(process), Err(Ended::Closed));
/// })
/// # .unwrap();
/// ```
///
/// # Errors
///
/// Returns only when a channel has ended. The error contains how it has ended.
pub fn mux<T: Item, I: Input<T>>(
    process: &Process<'_, impl Place>,
    inputs: Vec<I>,
    output: impl Output<T>,
) -> Result<(), ProcessError> {
    process.spread_poison((inputs, output), |(inputs, output)| {
        let mut any = Alternation::fair();
        let guards: Vec<_> = inputs
            .iter_mut()
            .map(|input| input.list(&mut any))
            .collect();
        let mut open = guards.len();
        while open > 0 {
            match any.select(process) {
                Ok(chosen) => {
                    let item = any.take(process, &guards[chosen.index()]);
                    output.write(process, item)?;
                }
                Err(error) if error.ended == Ended::Closed => {
                    any.when(&guards[error.guard.index()], false);
                    open -= 1;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Ended::Closed.into())
    })
}

/// Writes the time at each multiple of `period` since the start of the process. If the process
/// still waits for its reader at a multiple of `period`, it leaves this multiple out.
///
/// The process notices the end of its channel at its next write, up to one period later. A network
/// in which a process waits for a time is not in a deadlock.
///
/// ```
/// # use cellworks_csp::{Channel, Network, processes};
/// # use cellworks_machine::{Span, SpeId, Time};
/// # let host = cellworks_host::Host::new().unwrap();
/// # let mut network = Network::on(&host);
/// let (output, mut ticks) = Channel::new().one_to_one::<Time>();
/// let period = Span::from_nanoseconds(1_000);
/// network.process("timer", SpeId::new(0), move |process| {
///     processes::timer(process, period, output)
/// });
/// network.run_with(move |process| {
///     let first = ticks.read(process).unwrap();
///     let second = ticks.read(process).unwrap();
///     assert!(second > first);
/// })
/// # .unwrap();
/// ```
///
/// # Panics
///
/// Panics if `period` is zero.
///
/// # Errors
///
/// Returns only when the channel has ended. The error contains how it has ended.
pub fn timer(
    process: &Process<'_, impl Place>,
    period: Span,
    output: impl Output<Time>,
) -> Result<(), ProcessError> {
    assert!(
        period > Span::default(),
        "a timer needs a period, and was given none"
    );
    process.spread_poison(output, |output| {
        let (start, period) = (process.now(), period.as_femtoseconds());
        loop {
            let periods = process.now().since(start).as_femtoseconds() / period;
            process.sleep_until(start + Span::from_femtoseconds((periods + 1) * period));
            output.write(process, process.now())?;
        }
    })
}
