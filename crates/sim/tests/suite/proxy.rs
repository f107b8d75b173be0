//! The time of the PPE's commands to an MFC, and their effects that a program sees.

use std::io;
use std::sync::{Arc, Mutex};

use cellworks_machine::memory::Region;
use cellworks_machine::mfc::{EffectiveAddress, LsAddr, RawCommand, Tag, TagMask};
use cellworks_machine::{
    CellMachine, CellSpe, Cycles, Machine, Mfc, ModuleId, Ppe, RunError, Spe, SpeId, TryIssueError,
    Wake,
};
use cellworks_sim::trace::read_slices;
use cellworks_sim::{Description, HazardWatch, PpeAccess, Sim, SimBuilder};

const SPE: SpeId = SpeId::new(0);
const TAG: Tag = Tag::new(3).unwrap();
const DATA: LsAddr = LsAddr(0x1000);

/// A cycle of 3.2 GHz. The bus has half of this rate.
const CYCLE_FS: u128 = 312_500;
const BUS_CYCLE_FS: u128 = 2 * CYCLE_FS;

/// The time of a load from a register of SPE 0. Its parts are the PPE's part
/// (`ppe.mmio_read_cycles`), the command (`command.phase_bus_cycles`), the register
/// (`registers.read_cycles`), and a ring with 2 hops and 8 beats.
const LOAD_FS: u128 = (534 + 44) * CYCLE_FS + (50 + 2 + 8) * BUS_CYCLE_FS;
/// The time of a store to a register of SPE 0. Its parts are the PPE's part
/// (`ppe.mmio_write_cycles`), the command, the register (`registers.write_cycles`), and a ring with
/// 2 hops and 8 beats.
const STORE_FS: u128 = (124 + 44) * CYCLE_FS + (50 + 2 + 8) * BUS_CYCLE_FS;
/// The time of reading the clock.
const LOOK_FS: u128 = CYCLE_FS;

fn qs20() -> Description {
    Description::built_in("qs20").unwrap()
}

/// A QS20 on which programs start at once and memory is slow. A command of 16 KB takes more than 10
/// us, so the PPE can issue many commands meanwhile.
fn slow() -> SimBuilder {
    let mut description = qs20();
    description.modules[0].bytes_per_s.value /= 16;
    description.ppe.start_program_ps.value = 1;
    Sim::builder(description)
}

fn region(sim: &Sim) -> Region {
    sim.allocate(ModuleId::new(0), 1 << 14).unwrap()
}

/// How long `what` takes on the PPE.
fn time_of(sim: &Sim, what: impl Fn(&Ppe<'_, '_, Sim>)) -> u128 {
    let took = sim.run(|ppe| {
        let start = ppe.now();
        what(ppe);
        ppe.now().since(start)
    });
    took.unwrap().as_femtoseconds() - LOOK_FS
}

/// The time from the last store of a command until the command is complete, measured with a command
/// of the SPE. The issue (`mfc.issue_cycles`) and the read of the tag status (`spu.channel_cycles`)
/// are subtracted.
fn transfer_fs(sim: &Sim, command: RawCommand) -> u128 {
    let took = sim.run(|ppe| {
        let program = ppe.spawn(SPE, |spe| {
            let start = spe.now();
            spe.mfc().issue(command).unwrap();
            spe.mfc().wait_all(TAG.mask());
            spe.now().since(start)
        });
        program.join().unwrap()
    });
    took.unwrap().as_femtoseconds() - LOOK_FS - (10 + 6) * CYCLE_FS
}

#[test]
fn a_put_takes_its_stores_its_transfer_and_a_look() {
    let sim = Sim::new(qs20()).unwrap();
    let region = region(&sim);
    let put = RawCommand::put(DATA, region.at(0), 1 << 14, TAG);
    let issue = time_of(&sim, |ppe| ppe.issue_proxy(SPE, put).unwrap());
    // The issue is a load of the queue's status, five stores, and a load of the command's status.
    assert_eq!(issue, LOAD_FS + 5 * STORE_FS + LOAD_FS);
    let drawn = format!(
        "{}  the call returns\n",
        (issue as f64 / 1e5).round() / 10.0
    );
    assert!(
        include_str!("../../../../docs/simulated-cell.md").contains(&drawn),
        "docs/simulated-cell.md draws it without {drawn}"
    );
    let all = time_of(&sim, |ppe| {
        ppe.issue_proxy(SPE, put).unwrap();
        ppe.wait_all_proxy(SPE, TAG.mask());
    });
    let transfer = transfer_fs(&sim, put);
    assert!(transfer > LOAD_FS + STORE_FS + LOAD_FS);
    // Three accesses take place during the transfer: the load of the command's status, the store of
    // the mask, and a first load of the tag status.
    assert_eq!(all, LOAD_FS + 5 * STORE_FS + transfer + LOAD_FS);
}

#[test]
fn a_library_call_takes_its_time_whatever_it_writes() {
    let sim = Sim::builder(qs20())
        .ppe_access(PpeAccess::SystemCalls)
        .build()
        .unwrap();
    let region = region(&sim);
    let put = RawCommand::put(DATA, region.at(0), 128, TAG);
    // A command and a tag status take `ppe.mailbox_call_ps` each.
    let calls = time_of(&sim, |ppe| {
        ppe.issue_proxy(SPE, put).unwrap();
        ppe.wait_all_proxy(SPE, TAG.mask());
    });
    assert_eq!(calls, 2 * 5_000_000_000);
}

#[test]
fn eight_commands_are_queued_and_the_ninth_waits_for_an_entry() {
    let sim = slow().build().unwrap();
    let region = region(&sim);
    sim.run(|ppe| {
        let get = RawCommand::getb(DATA, region.at(0), 1 << 14, TAG);
        for _ in 0..8 {
            ppe.try_issue_proxy(SPE, get).unwrap();
        }
        let start = ppe.now();
        let full = ppe.try_issue_proxy(SPE, get);
        let took = ppe.now().since(start).as_femtoseconds() - LOOK_FS;
        assert_eq!((full, took), (Err(TryIssueError::Full), LOAD_FS));
        let start = ppe.now();
        ppe.issue_proxy(SPE, get).unwrap();
        let took = ppe.now().since(start).as_femtoseconds();
        // The PPE loads the status of the full queue, waits, and issues the command.
        assert!(took > LOAD_FS + LOAD_FS + 5 * STORE_FS + LOAD_FS + LOOK_FS);
        // The end of the first command has made room for only one command.
        let full = ppe.try_issue_proxy(SPE, get);
        assert_eq!(full, Err(TryIssueError::Full));
        ppe.wait_all_proxy(SPE, TAG.mask());
    })
    .unwrap();
    assert_eq!(sim.counters().unwrap().spes[0].commands, 9);
}

#[test]
fn a_condition_may_issue_and_pays_for_it_when_its_wait_ends() {
    let sim = Sim::new(qs20()).unwrap();
    let region = region(&sim);
    let put = RawCommand::put(DATA, region.at(0), 128, TAG);
    let took = time_of(&sim, |ppe| {
        let mut issue = || ppe.try_issue_proxy(SPE, put).is_ok();
        ppe.wait_until(&"an entry", &mut issue);
    });
    assert_eq!(took, CYCLE_FS + LOAD_FS + 5 * STORE_FS + LOAD_FS);
}

/// A file that the test keeps.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn counters_trace_and_hash_tell_of_them() {
    let observed = |command: fn(&Region) -> RawCommand| {
        let kept = Kept::default();
        let sim = Sim::builder(qs20())
            .trace(Box::new(kept.clone()))
            .build()
            .unwrap();
        let region = region(&sim);
        sim.run(|ppe| {
            ppe.issue_proxy(SPE, command(&region)).unwrap();
            ppe.wait_all_proxy(SPE, TAG.mask());
        })
        .unwrap();
        let slices = read_slices(&kept.0.lock().unwrap()).unwrap();
        (sim.counters().unwrap(), slices)
    };
    let (counters, slices) = observed(|region| RawCommand::put(DATA, region.at(0), 4_096, TAG));
    assert_eq!(
        (counters.spes[0].commands, counters.spes[0].bytes),
        (1, 4_096)
    );
    let puts = slices.iter().filter(|slice| slice.name.starts_with("put "));
    let tracks: Vec<_> = puts.map(|put| put.track.as_str()).collect();
    assert_eq!(tracks, ["SPE 0/MFC/proxy entry 0"]);
    let (other, _) = observed(|region| RawCommand::putb(DATA, region.at(0), 4_096, TAG));
    assert_ne!(counters.trace_hash, other.trace_hash);
}

/// Runs `program` on a machine on which hazards are errors. Returns the error without its time.
fn hazard_of(
    what: impl for<'scope, 'env> Fn(&'scope Ppe<'scope, 'env, Sim>, EffectiveAddress),
) -> Option<String> {
    let watch = HazardWatch::Error;
    let sim = slow().hazards(watch).build().unwrap();
    let region = region(&sim);
    let error = sim.run(|ppe| what(ppe, region.at(0))).err()?;
    let RunError::Panic { payload, .. } = error else {
        panic!("{error}");
    };
    let text = payload.downcast_ref::<String>().unwrap();
    let (_, text) = text.split_once(" us: ").unwrap();
    Some(text.to_owned())
}

#[test]
fn commands_of_the_ppe_are_watched_for_hazards() {
    let get = |ea| RawCommand::get(DATA, ea, 1 << 14, TAG);
    let put = |ea| RawCommand::put(DATA, ea, 16, TAG);
    let putf = |ea| RawCommand::putf(DATA, ea, 16, TAG);
    let among_themselves = hazard_of(|ppe, ea| {
        ppe.issue_proxy(SPE, get(ea)).unwrap();
        ppe.issue_proxy(SPE, put(ea)).unwrap();
    });
    let text = among_themselves.unwrap();
    assert!(
        text.starts_with("the PPE issued proxy put of 16 bytes (local store 0x1000, ")
            && text.contains("while its own proxy get of 16384 bytes")
            && text.ends_with(
                "order them with a fence (putf), or wait for tag group 3 of the proxy queue of SPE 0 before"
            ),
        "{text}"
    );
    let ordered = hazard_of(|ppe, ea| {
        ppe.issue_proxy(SPE, get(ea)).unwrap();
        ppe.issue_proxy(SPE, putf(ea)).unwrap();
    });
    assert_eq!(ordered, None);
    // Nothing orders the two queues, so a fence has no effect.
    let with_the_spu = hazard_of(|ppe, ea| {
        ppe.issue_proxy(SPE, get(ea)).unwrap();
        let program = ppe.spawn(SPE, move |spe| {
            spe.mfc().issue(putf(ea)).unwrap();
            spe.mfc().wait_all(TAG.mask());
        });
        program
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_inner()));
    });
    let text = with_the_spu.unwrap();
    assert!(
        text.starts_with("SPE 0 issued putf of 16 bytes")
            && text.contains("while the PPE's proxy get of 16384 bytes")
            && text.ends_with(
                "let the PPE wait for tag group 3 of the proxy queue of SPE 0 and then tell SPE 0 by a mailbox or a \
                 signal that it may begin"
            ),
        "{text}"
    );
}

#[test]
fn a_fault_that_is_found_late_is_the_ppes() {
    let end_of = |waits: bool| {
        let sim = slow().build().unwrap();
        let (stays, goes) = (region(&sim), region(&sim));
        let end = sim.run(move |ppe| {
            let get = RawCommand::get(DATA, stays.at(0), 1 << 14, TAG);
            ppe.issue_proxy(SPE, get).unwrap();
            let put = RawCommand::putf(DATA, goes.at(0), 16, TAG);
            ppe.issue_proxy(SPE, put).unwrap();
            drop(goes);
            if waits {
                ppe.wait_all_proxy(SPE, TagMask::ALL);
            } else {
                let program = ppe.spawn(SPE, |spe| spe.compute(Cycles(100_000)));
                program.join().unwrap();
            }
        });
        end.unwrap_err().to_string()
    };
    for waits in [true, false] {
        let error = end_of(waits);
        assert!(
            error.contains(
                "panicked on the PPE: a command that waited in the MFC proxy queue of SPE 0, putf (local store address 0x"
            ) && error.contains(", 16 bytes, tag 3), at ")
                && error.contains(": putf of 16 bytes at effective address "),
            "{error}"
        );
    }
}

#[test]
fn a_late_fault_is_reported_in_place_of_the_deadlock_that_it_causes() {
    let sim = slow().build().unwrap();
    let (stays, goes) = (region(&sim), region(&sim));
    let end = sim.run(move |ppe| {
        let get = RawCommand::get(DATA, stays.at(0), 1 << 14, TAG);
        ppe.issue_proxy(SPE, get).unwrap();
        ppe.issue_proxy(SPE, RawCommand::putf(DATA, goes.at(0), 16, TAG))
            .unwrap();
        drop(goes);
        let waits = ppe.spawn(SPE, |spe| spe.read_in_mbox());
        drop(waits);
    });
    let error = end.unwrap_err().to_string();
    assert!(error.contains("MFC proxy queue of SPE 0"), "{error}");
}
