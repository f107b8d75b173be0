#![allow(missing_docs)]
use cellworks_machine::*;
use cellworks_machine::mailbox::*;
pub trait LaterSpe: CellSpe {
    fn at(&self, _: &'static str) {}
    fn has_signal(&self, _: SignalRegister) -> bool { false }
    fn out_mbox_room(&self, _: Outbound) -> usize { 1 }
}
impl<S: CellSpe> LaterSpe for S {}
pub trait LaterMfc: Mfc { fn take_late_fault(&self) -> Option<mfc::MfcFault> { None } }
impl<S: Mfc> LaterMfc for S {}
pub struct Status { pub out: u32, pub in_room: u32, pub out_interrupt: u32 }
pub trait LaterPpe { fn mbox_status(&self, _: SpeId) -> Status { Status { out: 1, in_room: 4, out_interrupt: 1 } } fn yield_now(&self) {std::thread::yield_now()} fn timebase(&self) -> Timebase { Timebase::from_hertz(79_800_000) } fn timebase_now(&self) -> u64 { 0 } }
impl<M: CellMachine> LaterPpe for Ppe<'_, '_, M> {}
