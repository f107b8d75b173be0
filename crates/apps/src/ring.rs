//! A ring of processes. Each process reads the items that the previous process writes.
//!
//! ```text
//!   neighbours together, 2 threads            spread over the SPEs, 2 threads
//!
//!   ┌──── SPE 0 ────┐   ┌──── SPE 1 ────┐     SPE 0    SPE 1
//!   │ 0 ── local ► 1├──►│2 ── local ► 3 │       0 ──────► 1
//!   └▲──────────────┘   └─────────────┬─┘              ╱
//!    └──────── may be buffered ◄──────┘         2 ◄───┘  ...
//! ```
//!
//! Neighbours on the same SPE communicate by local channels, as in DSMCBE (section 2.2.8). Only the
//! channel from the last process to the first process may be buffered.

use cellworks_csp::{
    Channel, Ended, Item, Local, Network, One, Place, Process, ProcessError, Reader, Shared,
    Unsent, Writer,
};
use cellworks_machine::{Machine, SpeId};

use crate::placement::Placement;

/// The way in which the processes of the ring are distributed over SPEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Neighbours are on the same SPE where possible, with local channels between them.
    Together,
    /// Neighbours are on different SPEs if the ring has two or more SPEs. All channels are shared,
    /// even on one SPE.
    Spread,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    pub placement: Placement,
    pub order: Order,
    /// The number of items that fit into the channel from the last process to the first.
    pub buffered: usize,
}

pub(crate) enum Input<T> {
    Local(Reader<T, One, Local>),
    Shared(Reader<T, One, Shared>),
}

pub(crate) enum Output<T> {
    Local(Writer<T, One, Local>),
    Shared(Writer<T, One, Shared>),
}

impl<T: Item> Input<T> {
    #[inline]
    pub fn read<P: Place>(&mut self, process: &Process<'_, P>) -> Result<T, Ended> {
        match self {
            Self::Local(reader) => reader.read(process),
            Self::Shared(reader) => reader.read(process),
        }
    }
}

impl<T: Item> Output<T> {
    #[inline]
    pub fn write<P: Place>(&mut self, process: &Process<'_, P>, item: T) -> Result<(), Unsent<T>> {
        match self {
            Self::Local(writer) => writer.write(process, item),
            Self::Shared(writer) => writer.write(process, item),
        }
    }
}

/// A process of the ring before its start. `input` and `output` are `None` for local channels.
struct Member<T, R> {
    position: usize,
    role: R,
    input: Option<Reader<T>>,
    output: Option<Writer<T>>,
}

impl Ring {
    fn spe_of(self, position: usize) -> usize {
        match self.order {
            Order::Together => position / self.placement.threads,
            Order::Spread => position % self.placement.spes,
        }
    }

    fn next(self, position: usize) -> usize {
        (position + 1) % self.placement.processes()
    }

    fn is_local(self, from: usize) -> bool {
        self.order == Order::Together && self.spe_of(from) == self.spe_of(self.next(from))
    }

    /// Returns the number of items that the channel from process `from` to the next one buffers.
    fn room(self, from: usize) -> usize {
        let closes = self.next(from) == 0;
        if closes { self.buffered } else { 0 }
    }

    /// Adds the processes to a network. Each process runs `body` with one of the `roles`, in order.
    pub fn add<'env, M: Machine, T: Item + 'env, R: Send + 'env>(
        self,
        network: &mut Network<'env, M>,
        roles: Vec<R>,
        body: impl Fn(&Process<'_, M::Spe>, R, Input<T>, Output<T>) -> Result<(), ProcessError>
        + Clone
        + Send
        + 'env,
    ) {
        assert_eq!(
            roles.len(),
            self.placement.processes(),
            "each process has a role"
        );
        let mut members: Vec<Member<T, R>> = roles
            .into_iter()
            .enumerate()
            .map(|(position, role)| Member {
                position,
                role,
                input: None,
                output: None,
            })
            .collect();
        for from in (0..members.len()).filter(|from| !self.is_local(*from)) {
            let channel = Channel::new().named(channel_name(from));
            let (writer, reader) = channel.buffered(self.room(from)).one_to_one();
            members[from].output = Some(writer);
            members[self.next(from)].input = Some(reader);
        }
        members.sort_by_key(|member| self.spe_of(member.position));
        let mut members = members.into_iter().peekable();
        while let Some(first) = members.next() {
            let at = self.spe_of(first.position);
            let mut together = vec![first];
            while let Some(next) = members.next_if(|next| self.spe_of(next.position) == at) {
                together.push(next);
            }
            let body = body.clone();
            network.group(SpeId::new(at as u16), move |group| {
                let count = together.len();
                // Local channels connect the processes of this SPE in order. If the whole ring is
                // on one SPE, a local channel also connects the last process with the first.
                let mut inputs: Vec<Option<Input<T>>> = Vec::with_capacity(count);
                let mut outputs: Vec<Option<Output<T>>> = Vec::with_capacity(count);
                for member in &mut together {
                    inputs.push(member.input.take().map(Input::Shared));
                    outputs.push(member.output.take().map(Output::Shared));
                }
                for index in 0..count {
                    if outputs[index].is_none() {
                        let from = together[index].position;
                        let channel = Channel::local().named(channel_name(from));
                        let (writer, reader) = channel.buffered(self.room(from)).one_to_one();
                        outputs[index] = Some(Output::Local(writer));
                        inputs[(index + 1) % count] = Some(Input::Local(reader));
                    }
                }
                for (member, (input, output)) in
                    together.into_iter().zip(inputs.into_iter().zip(outputs))
                {
                    let input = input.expect("its channel is shared, or was made above");
                    let output = output.expect("its channel is shared, or was made above");
                    let body = body.clone();
                    group.process(
                        format!("process {} of the ring", member.position),
                        move |process| body(process, member.role, input, output),
                    );
                }
            });
        }
    }
}

fn channel_name(from: usize) -> String {
    format!("from process {from} of the ring")
}
