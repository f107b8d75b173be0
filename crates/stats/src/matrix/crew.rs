//! The PPE's side: one program on each SPE, and what it is told to do next.

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellMachine, Handle, Ppe, Span, SpeId, Time};

use super::command::{Command, Role};
use super::request::{Carrier, MatrixPlan};
use super::server::{Served, serve};
use crate::error::{MeasureError, SpeError};
use crate::program::{FAILED, Stopped, join};

/// The SPEs of a plan, each with a program that waits for commands.
pub(super) struct Crew<'scope, 'env, M: CellMachine> {
    ppe: &'scope Ppe<'scope, 'env, M>,
    carrier: Carrier,
    members: Vec<Member<'scope, M>>,
}

struct Member<'scope, M: CellMachine> {
    handle: Handle<'scope, Result<Served, SpeError>, M>,
    failed: bool,
}

impl<'scope, 'env, M: CellMachine> Crew<'scope, 'env, M> {
    /// Starts the programs, and waits until each is ready or has failed.
    pub fn gather(ppe: &'scope Ppe<'scope, 'env, M>, plan: &MatrixPlan) -> Self {
        let mut taken = vec![false; plan.spes];
        for spe in plan.pairs().iter().flat_map(|&(a, b)| [a, b]) {
            taken[spe.index()] = true;
        }
        let carrier = plan.carrier;
        let spes = ppe.topology().spes().filter(|spe| taken[spe.index()]);
        let handles: Vec<_> = spes
            .map(|spe| ppe.spawn(spe, move |spe| serve(spe, carrier)))
            .collect();
        let members = handles
            .into_iter()
            .map(|handle| {
                let failed = ppe.read_out_mbox(handle.spe(), Outbound::Plain) == FAILED;
                Member { handle, failed }
            })
            .collect();
        Self {
            ppe,
            carrier,
            members,
        }
    }

    /// The time since the start of the run.
    pub fn now(&self) -> Time {
        self.ppe.now()
    }

    /// Has two SPEs measure the way from one to the other for as long as `span`. The variable, if
    /// there is one, is 0.
    pub fn measure(
        &mut self,
        from: SpeId,
        to: SpeId,
        variable: EffectiveAddress,
        span: Span,
    ) -> Result<(), Stopped> {
        if self.members.iter().any(|member| member.failed) {
            return Err(Stopped);
        }
        let (timer, other) = self.carrier.timer(from, to);
        // The other first: it must have its command before the first word of an exchange.
        for (spe, partner, role) in [(other, timer, Role::Answer), (timer, other, Role::Time)] {
            let command = Command {
                role,
                partner,
                variable,
                span,
            };
            for word in command.words() {
                self.ppe.write_in_mbox(spe, word);
            }
        }
        let mut result = Ok(());
        for spe in [timer, other] {
            if self.ppe.read_out_mbox(spe, Outbound::Plain) == FAILED {
                let found = self.members.iter_mut().find(|one| one.handle.spe() == spe);
                found.expect("every SPE of the plan has a program").failed = true;
                result = Err(Stopped);
            }
        }
        result
    }

    /// Ends the programs, and returns what all of them measured.
    pub fn dismiss(self) -> Result<Served, MeasureError> {
        for member in self.members.iter().filter(|member| !member.failed) {
            self.ppe.write_in_mbox(member.handle.spe(), Command::END);
        }
        // All are joined, also after one that failed.
        let results: Vec<_> = self
            .members
            .into_iter()
            .map(|member| join(member.handle))
            .collect();
        let mut all = Served::default();
        for served in results {
            let served = served?;
            all.one_way.extend(served.one_way);
            all.blocks.extend(served.blocks);
        }
        Ok(all)
    }
}
