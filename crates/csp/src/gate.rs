//! Gates, through which OS threads outside of the machine take part in a network.
//!
//! ```text
//!   OS thread                    gate                                 network
//!   enter ──────────────► ends, and a process ──► channels ◄──── processes on SPEs and the PPE
//!     │ waits until the        │
//!     │ network runs           └─ counted by the machine: as long as the thread does not wait
//!     ▼                           for the network, the network is in no deadlock
//!   read, write, select: as every process
//! ```

use std::fmt;

use crate::outside::{GateError, OutsidePlace};
use crate::process::Process;

/// The ends of channels that an OS thread outside of the machine has, so that a network serves the
/// program around it: see [`Network::gate`](crate::Network::gate).
///
/// The thread that has the gate [enters](Self::enter) it, and is a process of the network from then
/// on: it reads, writes and alternates as others do, waiting or not. A gate may be sent to any
/// thread, and if its ends can be cloned, so can the gate: one for each thread.
///
/// Dropping a gate drops its ends, which wakes the processes that wait for them. So a gate that is
/// there for its clones only is to be dropped with the last of them, or the processes wait for it.
/// The network ends when its processes have ended, whether there are gates or not.
///
/// # Deadlocks
///
/// As long as the thread of one gate does not wait for the network, the network is in no deadlock:
/// the thread may still write. If the threads of all gates wait, too, the deadlock is reported, and
/// names them as [outside](crate::Stuck::is_outside). What is not seen:
///
/// - That a thread waits for something that is no channel, such as a lock.
/// - That processes wait for each other while the thread of a gate does something else.
/// - An end that is outside, but in no gate: the network may be ended as a deadlock although the
///   end was still to be used or dropped.
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
///     // Until the last gate is gone.
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
    // Dropped before the place, as the thread is counted until its ends are gone.
    ends: E,
    place: OutsidePlace,
}

impl<E> Gate<E> {
    pub(crate) fn new(ends: E, place: OutsidePlace) -> Self {
        Self { ends, place }
    }

    /// Has the calling thread be a process of the network, as long as what this returns is there:
    /// the ends of this gate, and the process to use them with. Waits until the network runs.
    ///
    /// A wait of this process ends when the run of the network does, also when that is cancelled:
    /// with [`Ended::Closed`](crate::Ended::Closed), and with the item that was to be written. From
    /// then on no call waits: it finds what is there, or ends in the same way. The next `enter`
    /// says whether the network has ended.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use cellworks_csp::{Gate, GateError, Refused, Writer};
    /// use cellworks_machine::Span;
    ///
    /// /// Gives up after 5 ms.
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
    /// The process stays on the thread that has entered:
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
    /// [`GateError`] if the network does not run any more, or never will, or if the calling thread
    /// runs its processes or those of another network.
    pub fn enter(&mut self) -> Result<(&mut E, Process<'_, OutsidePlace>), GateError> {
        let place = &self.place;
        let shared = place.enter()?;
        let process = Process::numbered(place.number(), place, place.name(), shared, None);
        Ok((&mut self.ends, process))
    }
}

impl<E: Clone> Clone for Gate<E> {
    fn clone(&self) -> Self {
        Self {
            ends: self.ends.clone(),
            place: self.place.another(),
        }
    }
}

impl<E> fmt::Debug for Gate<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gate `{}`", self.place.name())
    }
}
