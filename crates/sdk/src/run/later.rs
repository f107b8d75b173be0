#![allow(missing_docs)]
use cellworks_machine::*;
use cellworks_machine::mailbox::*;
use cellworks_machine::memory::*;
pub trait LaterSpe: CellSpe {
    fn at(&self, _: &'static str) {}
    fn has_signal(&self, _: SignalRegister) -> bool { todo!() }
    fn out_mbox_room(&self, _: Outbound) -> usize { todo!() }
}
impl<S: CellSpe> LaterSpe for S {}
pub trait LaterMfc: Mfc { fn take_late_fault(&self) -> Option<mfc::MfcFault> { None } }
impl<S: Mfc> LaterMfc for S {}
pub struct Status { pub out: u32, pub in_room: u32, pub out_interrupt: u32 }
pub trait LaterPpe { fn mbox_status(&self, _: SpeId) -> Status { todo!() } fn yield_now(&self) {todo!()} fn timebase(&self) -> Timebase { todo!() } fn timebase_now(&self) -> u64 { todo!() } }
impl<M: CellMachine> LaterPpe for Ppe<'_, '_, M> {}
pub trait LaterMachine { fn adopt(&self, _: ModuleId, _: Box<dyn Backing>) -> std::result::Result<Region, AllocateError> { todo!() } fn local_store(&self, _: SpeId) -> &Region { todo!() } }
impl<M: CellMachine> LaterMachine for M {}
