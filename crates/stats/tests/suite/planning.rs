//! Plans requests for made-up machines: placement, defaults, and every refusal.

use crate::site;
use cellworks_machine::{Capabilities, CellId, ModuleId, Span, SpeId, Topology};
use cellworks_stats::{
    Between, Buffers, Count, Function, Iterations, Limits, Parameters, Plan, Request, Setting,
    Settings, characterize,
};

/// The limits of a Cell, where one DMA command can move every block.
const CELL: Limits = Limits {
    block_bytes_max: 16 << 10,
    local_store_bytes: 256 << 10,
    memory_bytes_max: 256 << 20,
    bandwidth_bytes_per_s_max: None,
    staging_bytes_max: Some(16 << 10),
};

/// Makes the machine of the paper: two Cells of 8 SPEs, each with a memory module.
fn blade() -> Topology {
    let modules = vec![ModuleId::new(0), ModuleId::new(1)];
    Topology::new(
        "a blade",
        modules,
        (0..16).map(|spe| site(spe / 8)).collect(),
    )
}

fn single(spes: usize) -> Topology {
    Topology::new(
        "a small machine",
        vec![ModuleId::new(0)],
        vec![site(0); spes],
    )
}

/// Makes one Cell with two memory modules, with SPE 0 next to the second module.
fn halves() -> Topology {
    let modules = [1, 0, 1, 0].map(ModuleId::new);
    single(4).with_modules_of_spes(modules.to_vec())
}

#[test]
fn data_is_in_the_module_nearest_to_the_first_spe() {
    let module_of = |machine: &Topology, line: &str| {
        let plan = request(line).plan(machine, &CELL).unwrap();
        plan.parameters().module.unwrap()
    };
    assert_eq!(module_of(&halves(), "-f dmaget -b 128"), 1);
    assert_eq!(module_of(&halves(), "-f dmaget -b 128 -m 0"), 0);
    assert_eq!(module_of(&blade(), "-f dmaget -b 128 -c 1"), 1);
    // All DMA gets are also measured with the other module.
    let requests = characterize(&halves(), &CELL);
    let gets = requests
        .iter()
        .filter(|request| request.function == Function::DmaGet);
    let modules: std::collections::BTreeSet<_> = gets.map(|request| request.module).collect();
    assert_eq!(modules, [None, Some(ModuleId::new(0))].into());
}

/// Makes the machine a simulated one: without caches and sleep, and with times that repeat.
fn simulated(machine: Topology) -> Topology {
    machine.with_capabilities(Capabilities {
        has_caches: false,
        sleeps: false,
        repeats: true,
        is_steady: true,
    })
}

/// Reads the flags of one of the paper's command lines.
fn request(line: &str) -> Request {
    let mut words = line.split_whitespace();
    let mut request = Request::new(Function::MkThread);
    while let Some(flag) = words.next() {
        let mut value = || words.next().unwrap();
        let number = |text: &str| text.parse::<u64>().unwrap();
        match flag {
            "-f" => request.function = Function::from_name(value()).unwrap(),
            "-n" => request.spes = Count::Shared(number(value()) as usize),
            "-N" => request.spes = Count::Private(number(value()) as usize),
            "-i" => request.iterations = Iterations::Exactly(number(value())),
            "-w" => request.warm_up = Some(number(value())),
            "-c" => request.cell = Some(CellId::new(number(value()) as u16)),
            "-m" => request.module = Some(ModuleId::new(number(value()) as u16)),
            "-s" => request.between_spes = true,
            flag => {
                let mut settings = Setting::ALL.iter();
                let setting = settings.find(|setting| setting.flag == flag);
                let setting = setting.unwrap_or_else(|| panic!("{flag}"));
                (setting.set)(&mut request.settings, Some(number(value()) as usize));
            }
        }
    }
    request
}

fn planned(line: &str) -> Plan {
    request(line)
        .plan(&blade(), &CELL)
        .unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn spes_of(line: &str) -> Vec<usize> {
    planned(line)
        .active_spes()
        .iter()
        .map(|spe| spe.index())
        .collect()
}

fn refusal(line: &str, topology: &Topology) -> String {
    match request(line).plan(topology, &CELL) {
        Ok(_) => panic!("{line} was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_papers_examples_are_placed_as_the_paper_says() {
    // Sections 3.1.1 to 3.1.3.
    assert_eq!(spes_of("-f mkthread -n 1 -i 100000"), [0]);
    for function in ["mailbox", "signal"] {
        assert_eq!(spes_of(&format!("-f {function} -n 1 -c 0")), [0]);
        assert_eq!(spes_of(&format!("-f {function} -n 1 -c 1")), [8]);
        // SPE 0 is always one end of the exchange.
        assert_eq!(spes_of(&format!("-f {function} -n 2 -c 0 -s")), [1]);
        assert_eq!(spes_of(&format!("-f {function} -n 2 -c 1 -s")), [8]);
    }
    // Section 3.1.4.
    assert_eq!(spes_of("-f dmaget -n 3 -b 1024 -c 0 -m 0"), [0, 1, 2]);
    assert_eq!(
        spes_of("-f dmaout -n 6 -b 1024 -c 0 -m 1"),
        [0, 1, 2, 3, 4, 5]
    );
    assert_eq!(
        spes_of("-f dmaget -N 3 -b 1024 -t 2048 -c 1 -m 0"),
        [8, 9, 10]
    );
    assert_eq!(
        spes_of("-f dmaout -N 6 -b 1024 -t 2048 -c 1 -m 1"),
        [8, 9, 10, 11, 12, 13]
    );
    assert_eq!(
        spes_of("-f dmaget -N 6 -b 32 -t 128 -c 1 -m 1 -s"),
        [8, 9, 10, 11, 12]
    );
    assert_eq!(
        spes_of("-f dmalistget -n 6 -l 16 -b 64 -c 1 -m 1"),
        [8, 9, 10, 11, 12, 13]
    );
    // Section 3.1.5.
    assert_eq!(spes_of("-f fetchadd -n 3 -c 0 -m 0"), [0, 1, 2]);
    assert_eq!(spes_of("-f fetchsub -n 6 -c 0 -m 1"), [0, 1, 2, 3, 4, 5]);
    assert_eq!(
        spes_of("-f fetchinc -N 3 -t 2048 -c 1 -m 0 -b 128"),
        [8, 9, 10]
    );
    assert_eq!(
        spes_of("-f fetchset -N 6 -t 2048 -c 1 -m 1 -b 128"),
        [8, 9, 10, 11, 12, 13]
    );
}

#[test]
fn spes_beyond_the_cell_come_from_the_others_in_order() {
    assert_eq!(
        spes_of("-f dmaget -n 10 -c 1"),
        [8, 9, 10, 11, 12, 13, 14, 15, 0, 1]
    );
    assert_eq!(spes_of("-f dmaget -n 16 -c 1 -s").len(), 15);
    assert_eq!(
        spes_of("-f dmaget -n 10 -c 0 -s"),
        [1, 2, 3, 4, 5, 6, 7, 8, 9]
    );
}

#[test]
fn a_plan_has_the_chosen_parameters() {
    let plan = planned("-f dmalistget -N 6 -l 16 -b 64 -c 1");
    let expected = Parameters {
        spes: 6,
        cell: 1,
        module: Some(1),
        between: Between::MemorySpe,
        buffers: Some(Buffers::Private),
        settings: Settings {
            block_bytes: Some(64),
            list_elements: Some(16),
            stride_bytes: Some(1_024),
            ..Settings::default()
        },
    };
    assert_eq!(plan.parameters(), &expected);
    let plan = planned("-f mailbox -n 2 -c 1 -s");
    let expected = Parameters {
        spes: 2,
        cell: 1,
        module: None,
        between: Between::SpeSpe,
        buffers: None,
        settings: Settings::default(),
    };
    assert_eq!(plan.parameters(), &expected);
    let plan = planned("-f chase --load 3 -c 1");
    let expected = Parameters {
        spes: 1,
        cell: 1,
        module: None,
        between: Between::MemorySpe,
        buffers: None,
        settings: Settings {
            block_bytes: Some(64 << 20),
            chains: Some(1),
            loading_spes: Some(3),
            ..Settings::default()
        },
    };
    assert_eq!(plan.parameters(), &expected);
    assert_eq!(plan.active_spes(), [SpeId::new(8)]);
    let plan = planned("-f copy -N 2");
    let expected = Parameters {
        spes: 2,
        cell: 0,
        buffers: Some(Buffers::Private),
        settings: Settings {
            block_bytes: Some(1_024),
            ..Settings::default()
        },
        ..expected
    };
    assert_eq!(plan.parameters(), &expected);
    assert_eq!(spes_of("-f wakeup -n 3 -s -c 1"), [8, 9]);
    assert_eq!(spes_of("-f wakeup -n 2 -c 1"), [8, 9]);
    assert_eq!(
        planned("-f fetchadd").parameters().settings.block_bytes,
        Some(4)
    );
    assert_eq!(
        planned("-f fetchadd -N 2")
            .parameters()
            .settings
            .stride_bytes,
        Some(128)
    );
    assert_eq!(planned("-f dmaget -n 2 -s").parameters().module, None);
    assert_eq!(planned("-f dmaget -b 16384").active_spes(), [SpeId::new(0)]);
}

#[test]
fn blocks_are_what_a_dma_command_moves() {
    for bytes in 0..=17_000_u32 {
        let legal =
            matches!(bytes, 1 | 2 | 4 | 8) || (bytes > 0 && bytes % 16 == 0 && bytes <= 16_384);
        let plan = request(&format!("-f dmaput -b {bytes}")).plan(&blade(), &CELL);
        assert_eq!(plan.is_ok(), legal, "{bytes}");
    }
}

#[test]
fn every_refusal_names_the_value_the_rule_and_something_legal() {
    let cases = [
        (
            "-f mailbox -i 0",
            "0 iterations: a measurement takes 1 to 4294967295; use 1000",
        ),
        (
            "-f mailbox -i 4294967296",
            "4294967296 iterations: a measurement takes 1 to 4294967295; use 1000",
        ),
        (
            "-f mailbox -w 4294967296",
            "4294967296 iterations of warm-up: a measurement takes 0 to 4294967295; use 1000",
        ),
        (
            "-f mailbox -n 0",
            "0 SPEs: at least one takes part; use 1 to 16",
        ),
        ("-f mailbox -n 17", "17 SPEs: a blade has 16; use 1 to 16"),
        (
            "-f signal -n 1 -s",
            "1 SPE: signal between SPEs takes SPE 0 and at least one more; use 2",
        ),
        (
            "-f signal -c 2",
            "Cell 2: a blade has Cells 0 to 1; use 0 to 1",
        ),
        (
            "-f dmaget -m 2",
            "memory module 2: a blade has memory modules 0 to 1; use 0 to 1",
        ),
        (
            "-f dmaget -b 0",
            "a block of 0 bytes: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes; use 1",
        ),
        (
            "-f dmaget -b 5",
            "a block of 5 bytes: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes; use 4 or 8",
        ),
        (
            "-f dmaget -b 24",
            "a block of 24 bytes: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes; use 16 or 32",
        ),
        (
            "-f dmaget -b 17408",
            "a block of 17 KB: here a block has at most 16 KB; use 16k",
        ),
        (
            "-f dmalistget -b 17408",
            "a block of 17 KB: here a block has at most 16 KB; use 16k",
        ),
        (
            "-f dmalistget -l 0",
            "a list of 0 elements: a list command takes 1 to 2048; use 16",
        ),
        (
            "-f dmalistget -l 2049",
            "a list of 2049 elements: a list command takes 1 to 2048; use 16",
        ),
        (
            "-f dmalistget -l 17 -b 16384",
            "a list of 17 elements of 16 KB: with the list itself it takes 278920 bytes of a \
             local store of 256 KB; use fewer elements, or smaller ones",
        ),
        (
            "-f dmaget -n 2 -t 2048",
            "a stride of 2 KB: the buffer is shared, and a stride is the distance between \
             private ones; ask for private buffers (-N), or leave it out",
        ),
        (
            "-f dmaget -N 2 -b 128 -t 64",
            "a stride of 64 bytes: private buffers of 128 bytes would overlap; use 128 or more",
        ),
        (
            "-f dmaget -N 2 -b 128 -t 130",
            "a stride of 130 bytes: it must be a multiple of 16, so that every buffer is aligned; use 144",
        ),
        (
            "-f fetchadd -N 2 -t 6",
            "a stride of 6 bytes: it must be a multiple of 4, so that every buffer is aligned; use 8",
        ),
        (
            "-f fetchadd -N 4 -b 64 -t 100",
            "a stride of 100 bytes: variable 1, of 64 bytes, would lie in two lines, and an atomic \
             operation covers one of 128 bytes; use 128",
        ),
        (
            "-f fetchadd -b 6",
            "a variable of 6 bytes: an atomic operation takes a multiple of 4 bytes up to 128, a \
             reserved line; use 4 or 128",
        ),
        (
            "-f fetchadd -b 132",
            "a variable of 132 bytes: an atomic operation takes a multiple of 4 bytes up to 128, a \
             reserved line; use 4 or 128",
        ),
        ("-f dmaget -N 16 -b 16384 -t 16777216 -c 1", ""),
        (
            "-f dmaget -N 16 -b 16384 -t 33554432",
            "16 buffers of 16 KB, 32 MB apart: together they may take 256 MB \
             of main memory; use fewer, smaller or closer ones",
        ),
        (
            "-f dmaget -N 3 -t 18446744073709551600",
            "3 buffers of 1 KB, 18446744073709551600 bytes apart: together they may take \
             256 MB of main memory; use fewer, smaller or closer ones",
        ),
        (
            "-f dmaget -N 16 -b 16384 -t 32768 -s",
            "15 buffers of 16 KB, 32 KB apart: together they may take 255.7 KB of the \
             local store of SPE 0; use fewer, smaller or closer ones",
        ),
        (
            "-f dmaget -n 2 -b 16384 -t 0",
            "a stride of 0 bytes: the buffer is shared, and a stride is the distance between private \
             ones; ask for private buffers (-N), or leave it out",
        ),
        (
            "-f mkthread -b 16",
            "mkthread has no block size: its program is empty; leave it out",
        ),
        (
            "-f mkthread -s",
            "mkthread has no form between SPEs: only the PPE starts programs; leave it out",
        ),
        (
            "-f mailbox -b 16",
            "mailbox has no block size: it carries one word of 4 bytes, and no buffer; leave it out",
        ),
        (
            "-f mailbox -N 2",
            "mailbox has no private buffers: it carries one word of 4 bytes, and no buffer; leave it out",
        ),
        (
            "-f signal -t 16",
            "signal has no stride: it carries one word of 4 bytes, and no buffer; leave it out",
        ),
        (
            "-f signal -m 0",
            "signal has no memory module: it carries one word of 4 bytes, and no buffer; leave it out",
        ),
        (
            "-f dmaget -l 4",
            "dmaget has no list: only dmalistget and dmalistput move lists; leave it out",
        ),
        (
            "-f wakeup -b 16",
            "wakeup has no block size: it carries one word of 4 bytes, and no buffer; leave it out",
        ),
        (
            "-f wakeup -n 1 -s",
            "1 SPE: wakeup between SPEs takes SPE 0 and at least one more; use 2",
        ),
        (
            "-f copy -n 3",
            "3 SPEs on one buffer: each SPE of copy writes a block of its own; ask for private \
             buffers (-N), or use 1",
        ),
        (
            "-f copy -b 0",
            "copy of 0 bytes: it takes a multiple of 16; use 16",
        ),
        (
            "-f copy -b 1000",
            "copy of 1000 bytes: it takes a multiple of 16; use 992 or 1008",
        ),
        ("-f copy -b 134217728", ""),
        (
            "-f copy -b 134217744",
            "2 buffers of 134217744 bytes, 134217744 bytes apart: together they may take 256 MB \
             of main memory; use fewer, smaller or closer ones",
        ),
        (
            "-f copy -N 16 -b 16777216",
            "32 buffers of 16 MB, 16 MB apart: together they may take 256 MB \
             of main memory; use fewer, smaller or closer ones",
        ),
        (
            "-f copy -s",
            "copy has no form between SPEs: an SPE works on main memory alone; leave it out",
        ),
        (
            "-f copy -N 2 -t 2048",
            "copy has no stride: each SPE allocates its memory itself, near it; leave it out",
        ),
        (
            "-f copy -m 1",
            "copy has no memory module: each SPE allocates its memory itself, near it; leave it out",
        ),
        (
            "-f copy -k 2",
            "copy has no chains: only chase follows pointers; leave it out",
        ),
        (
            "-f dmaget --load 2",
            "dmaget has no loading SPEs: only chase follows pointers; leave it out",
        ),
        (
            "-f chase -n 2",
            "2 SPEs: one SPE follows the pointers of chase; use 1, and have others load the memory \
             meanwhile (--load)",
        ),
        (
            "-f chase -N 1",
            "chase has no private buffers: one SPE follows pointers, in a table of its own; leave it out",
        ),
        (
            "-f chase -m 0",
            "chase has no memory module: each SPE allocates its memory itself, near it; leave it out",
        ),
        (
            "-f chase -b 100",
            "chase of 100 bytes: it takes a multiple of 64; use 64 or 128",
        ),
        (
            "-f chase -b 268435520",
            "a buffer of 268435520 bytes: it may take 256 MB of main memory; use a smaller one",
        ),
        (
            "-f chase -k 0",
            "0 chains: an SPE follows 1 to 64 at once; use 1",
        ),
        (
            "-f chase -k 65",
            "65 chains: an SPE follows 1 to 64 at once; use 1",
        ),
        ("-f chase -k 8 -b 512", ""),
        (
            "-f chase -k 8 -b 448",
            "8 chains through a table of 448 bytes: each starts at another node of 64 bytes; use a \
             table of 512 or more",
        ),
        ("-f chase --load 15", ""),
        (
            "-f chase --load 16",
            "16 loading SPEs: a blade has 16, and one of them chases; use 0 to 15",
        ),
        (
            "-f chase --load 1 -b 268435456",
            "2 buffers of 16 KB, 16 KB apart: together they may take 0 bytes of main \
             memory beside the table; use fewer, smaller or closer ones",
        ),
        (
            "-f fetchinc -s",
            "fetchinc has no form between SPEs: atomic operations work on main memory; leave it out",
        ),
    ];
    for (line, expected) in cases {
        if expected.is_empty() {
            planned(line);
        } else {
            assert_eq!(refusal(line, &blade()), expected, "{line}");
        }
    }
}

#[test]
fn room_is_a_matter_of_one_buffer_or_of_all() {
    let roomy = Limits {
        block_bytes_max: 64 << 20,
        memory_bytes_max: 8 << 30,
        ..CELL
    };
    let refusal = |line: &str| {
        let plan = request(line).plan(&blade(), &roomy);
        plan.map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        refusal("-f dmaget -n 2 -b 262144 -s"),
        "a buffer of 256 KB: it may take 255.7 KB of the local store of SPE 0; use a \
         smaller one"
    );
    assert_eq!(
        refusal("-f dmaget -N 3 -b 131072 -s"),
        "2 buffers of 128 KB, 128 KB apart: together they may take 255.7 KB of the \
         local store of SPE 0; use fewer, smaller or closer ones"
    );
    let with_1_tb = Limits {
        memory_bytes_max: 1 << 40,
        ..roomy
    };
    let plan = |line: &str| request(line).plan(&blade(), &with_1_tb);
    assert!(plan("-f chase -b 274877906880").is_ok());
    assert_eq!(
        plan("-f chase -b 274877906944").unwrap_err().to_string(),
        "a table of 256 GB: the number of a node has 32 bits, so a table is smaller than 256 GB; use \
         128g"
    );
    // Lists stay below 4 GiB, because no region of this size crosses a multiple of 4 GiB.
    assert_eq!(
        refusal("-f dmalistget -N 2 -t 4294967280"),
        "2 buffers of 1 KB, 4294967280 bytes apart: together they may take 3.9 GB \
         of main memory; use fewer, smaller or closer ones"
    );
    let block = request("-f dmaget -N 2 -t 4294967280").plan(&blade(), &roomy);
    assert!(block.is_ok());
}

#[test]
fn errors_name_the_parts_of_small_machines() {
    assert_eq!(
        refusal("-f mailbox -c 1", &single(2)),
        "Cell 1: a small machine has only Cell 0; use 0"
    );
    assert_eq!(
        refusal("-f dmaget -m 1", &single(2)),
        "memory module 1: a small machine has only memory module 0; use 0"
    );
    assert_eq!(
        refusal("-f mailbox -n 2 -s", &single(1)),
        "2 SPEs: a small machine has 1; use 1"
    );
    assert_eq!(
        refusal("-f chase --load 1", &single(1)),
        "1 loading SPEs: a small machine has 1, and one of them chases; use 0"
    );
    let far = Topology::new("a pair", vec![ModuleId::new(0); 2], vec![site(0), site(1)]);
    assert_eq!(
        refusal("-f mailbox -n 2 -s -c 0", &far),
        "Cell 0: on a pair it has no SPE besides SPE 0, which is the other side; use another Cell"
    );
    // A request that names no Cell takes the first Cell that has a partner.
    for line in [
        "-f mailbox -n 2 -s -c 1",
        "-f mailbox -n 2 -s",
        "-f dmaput -N 2 -s",
    ] {
        let plan = request(line).plan(&far, &CELL).unwrap();
        assert_eq!(plan.active_spes(), [SpeId::new(1)], "{line}");
        assert_eq!(plan.parameters().cell, 1, "{line}");
    }
    let plan = request("-f mailbox").plan(&far, &CELL).unwrap();
    assert_eq!(plan.parameters().cell, 0);
    let empty = Topology::new("a half", vec![ModuleId::new(0); 2], vec![site(0)]);
    assert_eq!(
        refusal("-f mailbox -c 1", &empty),
        "Cell 1: on a half it has no SPE; use another Cell"
    );
}

#[test]
fn characterizing_covers_every_function_near_and_far() {
    let requests = characterize(&blade(), &CELL);
    let has = |wanted: &dyn Fn(&Request) -> bool| requests.iter().any(wanted);
    for function in Function::ALL {
        assert!(has(&|r| r.function == function), "{function}");
    }
    for function in [Function::Mailbox, Function::Signal] {
        for (cell, between_spes) in [(0, false), (1, false), (0, true), (1, true)] {
            let cell = Some(CellId::new(cell));
            assert!(has(&|r| r.function == function
                && r.cell == cell
                && r.between_spes == between_spes));
        }
    }
    assert!(has(
        &|r| r.function == Function::DmaGet && r.module == Some(ModuleId::new(1))
    ));
    assert!(has(
        &|r| r.function == Function::FetchAdd && r.spes == Count::Private(16)
    ));
    assert!(has(
        &|r| r.settings.list_elements == Some(1_024) && r.settings.block_bytes == Some(16)
    ));
    assert!(
        !has(
            &|r| (Function::DmaGet..=Function::DmaListPut).contains(&r.function)
                && r.settings.block_bytes > Some(16 << 10)
        ),
        "a Cell has no larger blocks"
    );
}

#[test]
fn characterizing_covers_what_the_paper_does_not_have() {
    let requests = characterize(&blade(), &CELL);
    let of = |function| requests.iter().filter(move |r| r.function == function);
    let wake_ups: Vec<_> = of(Function::WakeUp)
        .map(|r| (r.between_spes, r.cell.map(CellId::index)))
        .collect();
    let near_and_far = [
        (false, Some(0)),
        (true, Some(0)),
        (false, Some(1)),
        (true, Some(1)),
    ];
    assert_eq!(wake_ups, near_and_far);
    let copies: Vec<_> = of(Function::Copy)
        .filter_map(|r| Some((r.spes, r.settings.block_bytes? >> 10)))
        .collect();
    // The blade has 256 MB in all, for two blocks of each of the 16 SPEs.
    let by_one = [1, 4, 16, 64, 256, 1_024, 4_096, 8_192, 16_384, 65_536];
    assert_eq!(copies[..10], by_one.map(|kb| (Count::Shared(1), kb)));
    let by_several = [2, 3, 4, 6, 8, 12, 16].map(|spes| (Count::Private(spes), 8_192));
    assert_eq!(copies[10..], by_several);
    let chases = |wanted: &dyn Fn(u32, usize) -> bool| -> Vec<usize> {
        let fitting = of(Function::Chase).filter(|r| {
            wanted(
                r.settings.chains.unwrap_or(1),
                r.settings.loading_spes.unwrap_or(0),
            )
        });
        fitting.filter_map(|r| r.settings.block_bytes).collect()
    };
    let sizes = chases(&|chains, loading| (chains, loading) == (1, 0));
    assert_eq!(sizes[..4], [4 << 10, 6 << 10, 8 << 10, 12 << 10]);
    assert_eq!(sizes.last(), Some(&(256 << 20)));
    assert_eq!(chases(&|_, loading| loading == 15), [128 << 20]);
    assert!(chases(&|chains, _| chains > 1).len() > 9);
    let contenders: Vec<_> = of(Function::FetchAdd)
        .filter(|r| matches!(r.spes, Count::Shared(_)))
        .map(|r| r.spes.number())
        .collect();
    assert_eq!(contenders, [1, 16, 2, 3, 4, 6, 8, 12]);
}

#[test]
fn one_spe_is_characterized_without_partners() {
    let requests = characterize(&single(1), &CELL);
    assert!(
        requests
            .iter()
            .all(|r| !r.between_spes && r.spes == Count::Shared(1))
    );
    assert!(
        Function::ALL
            .iter()
            .all(|f| requests.iter().any(|r| r.function == *f))
    );
}

#[test]
fn a_large_machine_is_characterized_by_100_to_300_measurements() {
    // Two sockets of 12 dies, 192 cores in all.
    let modules = (0..24).map(|cell| ModuleId::new(cell / 12)).collect();
    let large = Topology::new(
        "a server",
        modules,
        (0..192).map(|spe| site(spe / 8)).collect(),
    );
    let limits = Limits {
        block_bytes_max: 64 << 20,
        memory_bytes_max: 4 << 30,
        ..CELL
    };
    let requests = characterize(&large, &limits).len();
    assert!((100..300).contains(&requests), "{requests}");
}

#[test]
fn a_simulated_blade_is_characterized_by_the_curves_of_the_paper() {
    let requests = characterize(&simulated(blade()), &CELL);
    for (at, request) in requests.iter().enumerate() {
        let each = Span::from_nanoseconds(100_000_000);
        assert_eq!(request.iterations, Iterations::Within(each));
        assert!(!requests[..at].contains(request), "{request:?} twice");
    }
    let has = |line: &str| {
        let wanted = Request {
            iterations: requests[0].iterations,
            ..request(line)
        };
        assert!(requests.contains(&wanted), "{line}");
    };
    for function in ["dmaget", "dmaput"] {
        for spes in ["-n 1", "-n 2", "-N 2", "-n 4", "-N 8", "-n 16", "-N 16"] {
            for (bytes, module) in [(16, 0), (128, 1), (1_024, 0), (16_384, 1)] {
                has(&format!("-f {function} {spes} -b {bytes} -c 0 -m {module}"));
            }
        }
        for spes in [2, 4, 8, 16] {
            has(&format!("-f {function} -n {spes} -b 16384 -c 0 -s"));
            has(&format!("-f {function} -n {spes} -b 16 -c 1 -s"));
        }
    }
    for spes in [1, 16] {
        has(&format!("-f dmalistget -n {spes} -l 1024 -b 16"));
        has(&format!("-f mkthread -n {spes}"));
        has(&format!("-f fetchset -n {spes}"));
    }
    has("-f signal -n 2 -c 1 -s");
    has("-f chase -b 262144 -k 16 --load 0");
    has("-f chase -b 262144 -k 1 --load 15");
    assert!((200..350).contains(&requests.len()), "{}", requests.len());
}

#[test]
fn a_simulated_machine_is_characterized_by_all_its_spes_and_what_it_has_room_for() {
    let of_six = characterize(&simulated(single(6)), &CELL);
    let has = |spes| of_six.iter().any(|request| request.spes == spes);
    assert!(has(Count::Private(6)) && has(Count::Shared(4)) && !has(Count::Shared(8)));

    let of_one = characterize(&simulated(single(1)), &CELL);
    let alone = |request: &Request| request.spes == Count::Shared(1) && !request.between_spes;
    assert!(of_one.iter().all(alone) && of_one.len() > 30);

    let small = Limits {
        local_store_bytes: 16 << 10,
        staging_bytes_max: Some(2 << 10),
        ..CELL
    };
    let of_small = characterize(&simulated(blade()), &small);
    let largest = of_small
        .iter()
        .filter(|request| request.function == Function::DmaPut)
        .filter_map(|request| request.settings.block_bytes);
    assert_eq!(largest.max(), Some(4 << 10));
    let lists = |request: &&Request| request.settings.list_elements.is_some();
    assert_eq!(of_small.iter().filter(lists).count(), 0, "16 KB each");
}

#[test]
fn a_block_leaves_room_for_the_control_block() {
    let refusal = |local_store_bytes, bytes| {
        let limits = Limits {
            block_bytes_max: 64 << 20,
            local_store_bytes,
            ..CELL
        };
        let plan = request(&format!("-f dmaget -b {bytes}")).plan(&single(1), &limits);
        plan.err().map(|error| error.to_string())
    };
    let message = "a block of 16 KB: here a block has at most 16128 bytes; use 16128";
    assert_eq!(refusal(16 << 10, 16 << 10).as_deref(), Some(message));
    assert_eq!(refusal(16 << 10, 16_128), None);
    assert_eq!(refusal(64 << 10, 60 << 10), None);
    assert!(refusal(64 << 10, 64 << 10).is_some());
    assert_eq!(
        refusal(256 << 10, 1 << 20),
        None,
        "it moves through a window"
    );
}

/// All numbers of SPEs, from one to all, copy blocks of the same size.
#[test]
fn copies_by_every_number_of_spes_have_one_size_that_fits() {
    for (spes, memory_bytes_max, bytes) in [
        (2, 1 << 30, 64 << 20),
        (2, 64 << 20, 16 << 20),
        (32, 4 << 30, 64 << 20),
        (32, 256 << 20, 4 << 20),
        (192, 4 << 30, 8 << 20),
        (576, 4 << 30, 2 << 20),
        (576, 64 << 20, 32 << 10),
    ] {
        let limits = Limits {
            memory_bytes_max,
            ..CELL
        };
        let requests = characterize(&single(spes), &limits);
        let of_size = requests
            .iter()
            .filter(|r| r.function == Function::Copy && r.settings.block_bytes == Some(bytes));
        let numbers: Vec<usize> = of_size.map(|r| r.spes.number()).collect();
        let curve = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256];
        let below = curve.into_iter().filter(|number| *number < spes);
        let expected: Vec<usize> = below.chain([spes]).collect();
        assert_eq!(numbers, expected, "{spes} SPEs, {memory_bytes_max} bytes");
    }
}
