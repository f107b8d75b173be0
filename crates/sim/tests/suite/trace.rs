//! The contents of the trace of a program. The tests read the file that ui.perfetto.dev opens.

use std::io;
use std::sync::{Arc, Mutex};

use cellworks_machine::mfc::{LsAddr, RawCommand, Tag, TagMask};
use cellworks_machine::{CellMachine, CellSpe, Cycles, Machine, Mfc, ModuleId, Spe, SpeId};
use cellworks_sim::trace::{Slice, read_slices};
use cellworks_sim::{Description, Sim};

/// A file that the test keeps.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a program on an SPE of a QS20, and returns the slices of its trace.
fn traced(program: impl FnOnce(&<Sim as Machine>::Spe) + Send) -> Vec<Slice> {
    let kept = Kept::default();
    let qs20 = Description::built_in("qs20").unwrap();
    let sim = Sim::builder(qs20)
        .trace(Box::new(kept.clone()))
        .build()
        .unwrap();
    sim.run(|ppe| ppe.spawn(SpeId::new(0), program).join().unwrap())
        .unwrap();
    assert!(sim.take_trace_error().is_none());
    let bytes = kept.0.lock().unwrap();
    read_slices(&bytes).unwrap()
}

#[test]
fn a_place_in_foreign_source_is_an_activity() {
    let data = vec![1_u8; TILE];
    let slices = traced(|spe| {
        let _at = spe.at("spu.c:12:3");
        assert_eq!(spe.stage(&data).unwrap().len(), TILE);
    });
    let of = |name: &str| slices.iter().find(|slice| slice.name == name).unwrap();
    let (place, wait) = (of("spu.c:12:3"), of("waiting for DMA"));
    assert!(place.start_ns <= wait.start_ns && wait.end_ns <= place.end_ns);
}

/// A raw command has all arguments. What `stage` moves has an address in the local store alone.
#[test]
fn commands_have_their_addresses_and_tags() {
    let kept = Kept::default();
    let qs20 = Description::built_in("qs20").unwrap();
    let sim = Sim::builder(qs20).trace(Box::new(kept.clone()));
    let sim = sim.build().unwrap();
    let (region, data) = (sim.allocate(ModuleId::new(1), 1 << 14).unwrap(), [7_u8; 64]);
    sim.run(|ppe| {
        let program = ppe.spawn_named(SpeId::new(3), "loader", |spe| {
            let get = RawCommand::get(LsAddr(0x4000), region.at(256), 512, Tag::of::<5>());
            spe.mfc().issue(get).unwrap();
            spe.mfc().wait_all(TagMask::ALL);
            assert_eq!(spe.stage(&data).unwrap().len(), 64);
        });
        program.join().unwrap();
    })
    .unwrap();
    let slices = read_slices(&kept.bytes()).unwrap();
    let of = |name: &str| {
        let slice = slices.iter().find(|slice| slice.name == name).unwrap();
        let numbers = slice.arguments.iter();
        let numbers: Vec<_> = numbers
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        (slice.track.as_str(), numbers)
    };
    let all = [
        ("bytes", 512),
        ("ea", region.at(256).0),
        ("lsa", 0x4000),
        ("tag", 5),
    ];
    assert_eq!(of("get 512 B"), ("SPE 3/MFC/entry 0", all.to_vec()));
    let typed = [("bytes", 64), ("lsa", 0)];
    assert_eq!(of("get 64 B"), ("SPE 3/MFC/entry 0", typed.to_vec()));
    assert_eq!(of("loader"), ("SPE 3", Vec::new()));
}

#[test]
fn the_starts_of_programs_are_activities_of_the_ppe() {
    let slices = traced(|spe| spe.compute(Cycles(3_200)));
    let of = |name: &str| slices.iter().find(|slice| slice.name == name).unwrap();
    let start = of("start of SPE 0");
    assert!(start.track.starts_with("PPE"), "{start:?}");
    let took = Description::built_in("qs20")
        .unwrap()
        .ppe
        .start_program_ps
        .value
        / 1_000;
    assert_eq!(start.end_ns - start.start_ns, took);
    let program = slices.iter().find(|slice| slice.track == "SPE 0").unwrap();
    assert_eq!(program.start_ns, start.end_ns);
}

const TILE: usize = 4_096;
const TILES: usize = 8;
const COMPUTE: Cycles = Cycles(20_000);
/// A time that is longer than the issue of a get.
const LONG_NS: u64 = 1_000;

/// The number of gets that are under way while the program computes, and not only while it issues
/// them.
fn gets_beside_computing(slices: &[Slice]) -> usize {
    let gets: Vec<_> = slices
        .iter()
        .filter(|slice| slice.track.contains("/MFC/") && slice.name == "get 4 KB")
        .collect();
    assert_eq!(gets.len(), TILES, "{slices:#?}");
    let computes = |slice: &&Slice| {
        let ends_ns = slice.end_ns - slice.start_ns;
        slice.track == "SPE 0" && slice.name == "computing" && ends_ns > LONG_NS
    };
    let beside = |get: &&&Slice| slices.iter().filter(computes).any(|c| c.overlaps(get));
    gets.iter().filter(beside).count()
}

#[test]
fn double_buffering_shows_as_gets_beside_computing() {
    let data = vec![1_u8; TILE * TILES];
    let double = traced(|spe| {
        let mut tiles = data.chunks(TILE);
        let mut ahead = tiles.next().map(|tile| spe.stage_ahead(tile).unwrap());
        while let Some(arriving) = ahead.take() {
            let tile = arriving.wait();
            ahead = tiles.next().map(|tile| spe.stage_ahead(tile).unwrap());
            assert_eq!(tile[0], 1);
            spe.compute(COMPUTE);
        }
    });
    // All gets except the first, before which the program has no data to compute on.
    assert_eq!(gets_beside_computing(&double), TILES - 1);

    let single = traced(|spe| {
        for tile in data.chunks(TILE) {
            let tile = spe.stage(tile).unwrap();
            assert_eq!(tile[0], 1);
            drop(tile);
            spe.compute(COMPUTE);
        }
    });
    assert_eq!(gets_beside_computing(&single), 0);
}

#[test]
fn activities_of_a_program_take_no_time_and_are_shown_beside_its_threads() {
    let data = vec![1_u8; TILE];
    let program = |spe: &<Sim as Machine>::Spe, is_named: bool| {
        let name = |name| is_named.then(|| spe.activity(name));
        let _all = name("all");
        spe.threads(2, |thread| {
            let _tile = name(["first tile", "second tile"][thread.0]);
            let staging = name("staging");
            let tile = spe.stage(&data).unwrap();
            drop(staging);
            assert_eq!(tile[0], 1);
            spe.compute(COMPUTE);
        })
        .unwrap();
    };
    let counters = |is_named| {
        let sim = Sim::new(Description::built_in("qs20").unwrap()).unwrap();
        sim.run(|ppe| drop(ppe.spawn(SpeId::new(0), |spe| program(spe, is_named))))
            .unwrap();
        let counters = sim.counters().unwrap();
        (counters.elapsed, counters.events, counters.trace_hash)
    };
    assert_eq!(counters(true), counters(false));

    let mut slices = traced(|spe| program(spe, true));
    slices.retain(|slice| slice.track.ends_with("/activities"));
    let on = |track: &str| -> Vec<_> {
        let here = slices.iter().filter(|slice| slice.track == track);
        here.map(|slice| slice.name.as_str()).collect()
    };
    assert_eq!(on("SPE 0/activities"), ["all"]);
    assert_eq!(on("SPE 0/thread 1/activities"), ["staging", "first tile"]);
    assert_eq!(on("SPE 0/thread 2/activities"), ["staging", "second tile"]);
    let tiles = slices.iter().filter(|slice| slice.name.ends_with("tile"));
    let compute_ns = COMPUTE.0 * 10 / 32;
    for tile in tiles {
        let staging = slices
            .iter()
            .find(|slice| slice.track == tile.track)
            .unwrap();
        assert_eq!(staging.start_ns, tile.start_ns);
        assert!(tile.end_ns - staging.end_ns >= compute_ns, "{slices:?}");
    }
}

/// A file that panics at its second write.
struct Panics(u32);

impl io::Write for Panics {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += 1;
        assert!(self.0 < 2, "the file is full");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_trace_whose_file_panics_is_lost_and_harms_no_program() {
    let qs20 = Description::built_in("qs20").unwrap();
    let sim = Sim::builder(qs20)
        .trace(Box::new(Panics(0)))
        .build()
        .unwrap();
    sim.run(|ppe| {
        drop(ppe.spawn(SpeId::new(0), |spe| {
            (0..2_000).for_each(|_| drop(spe.stage(&[0_u8; TILE]).unwrap()));
        }));
    })
    .unwrap();
    let error = sim.take_trace_error().unwrap();
    assert_eq!(error.to_string(), "the writer of the trace panicked");
}
