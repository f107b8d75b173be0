//! What the parts of a run share.

use cellworks_machine::mfc::EffectiveAddress;
use wasmtime::{Engine, Linker};

use super::code::Code;
use super::engine::Pace;
use super::jump;
use super::program::{Program, ProgramError, Side};
use super::shared::Shared;
use super::spu;

/// What all parts of a run share.
pub(crate) struct Surroundings {
    pub(super) shared: Shared,
    /// The addresses of the local stores on the machine.
    pub(super) local_stores: Vec<EffectiveAddress>,
    pub(super) engine: Engine,
    pub(super) spu: Linker<spu::State>,
    pub(super) pace: Pace,
}

impl Surroundings {
    pub(super) fn spu_code(&self, image: &[u8]) -> Result<Code<spu::State>, ProgramError> {
        let program = Program::new(&self.engine, image, Side::Spu, self.pace)?;
        let mut linker = self.spu.clone();
        jump::add_to(&mut linker, &program.module)
            .map_err(|error| ProgramError::Damaged(format!("{error:#}")))?;
        Ok(Code {
            program,
            linker,
            pace: self.pace,
        })
    }

    /// Tells the user what the program itself may not tell.
    pub(super) fn say(&self, what: &str) {
        eprintln!("cellworks: {what}");
    }
}
