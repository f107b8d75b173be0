//! Gates, through which OS threads outside the machine take part in a network.
//!
//! ```text
//!   OS thread                    gate                                 network
//!   enter ──────────────► ends, and a process ──► channels ◄──── processes on SPEs and the PPE
//!     │ waits until the        │
//!     │ network runs           └─ while the thread does not wait for the network, the machine
//!     ▼                           counts it as running and reports no deadlock
//!   read, write, select: as every process
//! ```

use std::fmt;
#[cfg(feature = "async")]
use std::sync::Arc;

use super::GateError;
#[cfg(feature = "async")]
use super::asynchronous::AsyncGate;
use super::place::OutsidePlace;
use crate::process::Process;

/// The ends of channels by which an OS thread outside the machine communicates with a network.
///
/// A thread that [enters](Self::enter) a gate becomes a process of the network. A gate may be sent
/// to any thread, and cloned if its ends can be cloned.
///
/// Dropping a gate drops its ends, which wakes waiting processes. If only clones of a gate are
/// used, also drop the original: processes wait at its channels until then. On a host, if that takes
/// more than 10 seconds, a hint on standard error names the gate. The network may end before its
/// gates.
///
/// # Deadlocks
///
/// While the thread of one gate does not wait for the network, the network is not in a deadlock. A
/// deadlock in which the threads of all gates wait is reported, with these threads as
/// [outside](crate::Stuck::is_outside). Three cases are not reported correctly:
///
/// - A thread waits for something other than a channel, such as a lock.
/// - Processes wait for each other while the thread of a gate does something else.
/// - An OS thread has an end that is in no gate, and is still going to use or drop this end.
///
/// ```
/// use cellworks_csp::{Channel, Network};
/// use cellworks_machine::SpeId;
///
/// # let host = cellworks_host::Host::new().unwrap();
/// let (requests, mut to_serve) = Channel::new().any_to_one();
/// let mut network = Network::on(&host);
/// network.process("counter", SpeId::new(0), move |process| {
///     let mut count = 0;
///     // Ends when the last gate is dropped.
///     while let Ok(how_many) = to_serve.read(process) {
///         count += how_many;
///     }
///     assert_eq!(count, 3);
///     Ok(())
/// });
/// let gate = network.gate("client", requests);
/// std::thread::scope(|scope| {
///     for how_many in [1, 2] {
///         let mut gate = gate.clone();
///         scope.spawn(move || {
///             let (requests, process) = gate.enter().unwrap();
///             requests.write(&process, how_many).unwrap();
///         });
///     }
///     drop(gate);
///     network.run()
/// })
/// .unwrap();
/// ```
pub struct Gate<E> {
    // Dropped before `place`, because the machine counts the thread until `place` is dropped.
    ends: E,
    place: OutsidePlace,
}

impl<E> Gate<E> {
    pub(crate) fn new(ends: E, place: OutsidePlace) -> Self {
        Self { ends, place }
    }

    /// Waits until the network runs, and makes the calling thread a process of the network as long
    /// as the returned values live. Returns the ends of this gate, and the process.
    ///
    /// When the run ends or is cancelled, calls of this process no longer wait: they end with
    /// [`Ended::Closed`](crate::Ended::Closed), and a writer gets its item back. After the run,
    /// `enter` returns an error.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use cellworks_csp::{Gate, GateError, Refused, Writer};
    /// use cellworks_machine::Span;
    ///
    /// /// Writes an item, and gives up after 5 ms.
    /// fn write(gate: &mut Gate<Writer<u32>>, item: u32) -> Result<&'static str, GateError> {
    ///     let (writer, process) = gate.enter()?;
    ///     let deadline = process.now() + Span::from(Duration::from_millis(5));
    ///     Ok(match writer.write_until(&process, item, deadline) {
    ///         Ok(()) => "written",
    ///         Err(Refused::NotTaken(_)) => "too late",
    ///         Err(Refused::Ended(_)) => "there is no reader any more",
    ///     })
    /// }
    /// ```
    ///
    /// The process must stay on the thread that has entered the gate:
    ///
    /// ```compile_fail,E0277
    /// # use cellworks_csp::{Gate, Writer};
    /// fn write(gate: &mut Gate<Writer<u32>>) {
    ///     let (writer, process) = gate.enter().unwrap();
    ///     std::thread::scope(|scope| {
    ///         scope.spawn(|| writer.write(&process, 1).unwrap());
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns a [`GateError`] if the run of the network has ended or will never begin, or if the
    /// calling thread runs processes of a network.
    pub fn enter(&mut self) -> Result<(&mut E, Process<'_, OutsidePlace>), GateError> {
        let place = &self.place;
        let shared = place.seat.enter()?;
        let process = Process::numbered(place.number(), place, place.name(), shared, None);
        Ok((&mut self.ends, process))
    }

    /// Makes the gate of another thread in the same network, with ends of its own. Reports name the
    /// thread `name`. The ends may be those of a [new](crate::Channel::new) channel.
    ///
    /// ```
    /// use std::thread;
    ///
    /// use cellworks_csp::{Any, Channel, Gate, Writer};
    ///
    /// type Question = (u64, Writer<u64>);
    ///
    /// type Answer = thread::JoinHandle<Option<u64>>;
    ///
    /// /// Asks in one thread, and reads the answer in another one, which has no other end.
    /// fn ask(mut gate: Gate<Writer<Question, Any>>, number: u64) -> Answer {
    ///     let (answer, answered) = Channel::new().one_to_one();
    ///     let mut answers = gate.with("answers", answered);
    ///     let reading = thread::spawn(move || {
    ///         let (answered, process) = answers.enter().ok()?;
    ///         answered.read(&process).ok()
    ///     });
    ///     if let Ok((questions, process)) = gate.enter() {
    ///         // After an error the other thread finds its channel closed.
    ///         let _ = questions.write(&process, (number, answer));
    ///     }
    ///     reading
    /// }
    /// ```
    pub fn with<F>(&self, name: impl Into<String>, ends: F) -> Gate<F> {
        Gate::new(ends, self.place.another(name.into()))
    }

    /// Makes a gate of this one for a task of an async runtime, and returns it with the ends, which
    /// may be turned into [async ends](crate::AsyncReader). Do this before the gate is dropped: an
    /// end that is neither in a gate nor async is not counted, so a deadlock may be reported before
    /// the end is dropped. For several tasks, clone the gate before this call.
    ///
    /// ```
    /// use cellworks_csp::{Channel, Network};
    /// use cellworks_machine::SpeId;
    ///
    /// # let host = cellworks_host::Host::new().unwrap();
    /// let (numbers, mut to_double) = Channel::new().one_to_one();
    /// let (mut doubled, results) = Channel::new().one_to_one();
    /// let mut network = Network::on(&host);
    /// network.process("double", SpeId::new(0), move |process| {
    ///     loop {
    ///         let number: u32 = to_double.read(process)?;
    ///         doubled.write(process, 2 * number)?;
    ///     }
    /// });
    /// let (gate, (numbers, results)) = network.gate("client", (numbers, results)).into_async();
    /// let (mut numbers, mut results) = (gate.writer(numbers), gate.reader(results));
    /// std::thread::scope(|scope| {
    ///     scope.spawn(move || {
    ///         let client = async move {
    ///             numbers.write(21).await.unwrap();
    ///             assert_eq!(results.read().await, Ok(42));
    ///         };
    ///         // Any other runtime does as well.
    ///         smol::block_on(client);
    ///         drop(gate);
    ///     });
    ///     network.run()
    /// })
    /// .unwrap();
    /// ```
    #[cfg(feature = "async")]
    pub fn into_async(self) -> (AsyncGate, E) {
        let gate = AsyncGate::new(Arc::clone(&self.place.seat));
        (gate, self.ends)
    }
}

impl<A, B> Gate<(A, B)> {
    /// Splits a gate into two for two threads, such as those that write to a socket and read from
    /// it. Each thread has only its own ends. Reports name both threads as they named this one.
    ///
    /// ```
    /// use std::io::{BufRead, BufReader, Write};
    /// use std::net::TcpStream;
    /// use std::thread;
    ///
    /// use cellworks_csp::{Gate, ProcessError, Reader, Writer};
    ///
    /// /// Passes lines of a socket to a network, and the lines of the network to the socket.
    /// fn serve(
    ///     gate: Gate<(Writer<String>, Reader<String>)>,
    ///     socket: TcpStream,
    /// ) -> Result<(), ProcessError> {
    ///     let (mut lines, mut answers) = gate.split();
    ///     let mut to_client = socket.try_clone()?;
    ///     let answering = thread::spawn(move || -> Result<(), ProcessError> {
    ///         let (answers, process) = answers.enter()?;
    ///         answers.items(&process).try_for_each(|answer| to_client.write_all(answer.as_bytes()))?;
    ///         Ok(())
    ///     });
    ///     let (writer, process) = lines.enter()?;
    ///     for line in BufReader::new(socket).lines() {
    ///         writer.write(&process, line?)?;
    ///     }
    ///     // The channel of the lines closes now, although the other thread still answers.
    ///     drop(lines);
    ///     answering.join().expect("the thread does not panic")
    /// }
    /// ```
    pub fn split(self) -> (Gate<A>, Gate<B>) {
        let (a, b) = self.ends;
        let second = self.place.another(self.place.name().to_owned());
        (Gate::new(a, self.place), Gate::new(b, second))
    }
}

impl<E: Clone> Clone for Gate<E> {
    fn clone(&self) -> Self {
        Self {
            ends: self.ends.clone(),
            place: self.place.another(self.place.name().to_owned()),
        }
    }
}

impl<E> fmt::Debug for Gate<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gate `{}`", self.place.name())
    }
}
