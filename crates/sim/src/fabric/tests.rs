//! Tests of transactions on a QS20, and on a Cell of it, with exact times.

use super::*;

/// A bus cycle.
const BUS: u64 = 625_000;
const NS: u64 = 1_000_000;
const PHASE: u64 = 50 * BUS;
const LINK: u64 = 91 * NS;
/// The time of a cache line on the link: 128 bytes and a header of 16 bytes at 20 GB/s.
const LINE_ON_LINK: u64 = 7_200_000;
const WORD_ON_LINK: u64 = NS;
const LOCAL_STORE_READ: u64 = 41 * 312_500;
const LOCAL_STORE_WRITE: u64 = 77 * 312_500;
const REGISTER: u64 = 44 * 312_500;
const MEMORY_ACCESS: u64 = 48 * NS;
/// The time from a line's arrival at the memory controller until the controller's Cell responds.
const ACCEPT: u64 = 18 * NS;

/// Returns the time of a packet alone on the rings, which connect in this order: PPE, SPE 1, 3, 5,
/// 7, IOIF1, IOIF0, SPE 6, 4, 2, 0, MIC.
const fn ring(hops: u64) -> u64 {
    (8 + hops) * BUS
}

/// The time from a command to the combined response of both Cells.
const RESPONSE_OF_BOTH: u64 = PHASE + LINK + PHASE + LINK;

const LINE: Place = Place::Memory { address: 0 };
const PPE: Endpoint = Endpoint::Ppe { cell: 0 };

fn qs20() -> Description {
    Description::built_in("qs20").unwrap()
}

fn one_cell() -> Description {
    let mut description = qs20();
    description.cells.truncate(1);
    description.modules.truncate(1);
    description.link = None;
    description
}

fn transaction(requester: Endpoint, access: Access, place: Place, target: Endpoint) -> Transaction {
    let bytes = match (access, place) {
        (Access::Claim, _) => 0,
        (_, Place::Register) => 4,
        _ => 128,
    };
    Transaction {
        requester,
        target,
        place,
        access,
        bytes,
        token: Token(0),
    }
}

fn get(requester: u16, from: u16) -> Transaction {
    let (requester, from) = (Endpoint::Spe(requester), Endpoint::Spe(from));
    transaction(requester, Access::Read, Place::LocalStore, from)
}

/// Runs transactions. Returns the index and the end of each, in the order of the ends.
fn run_with(
    fabric: &mut Fabric,
    seed: u64,
    transactions: &[(u64, Transaction)],
) -> Vec<(usize, u64)> {
    let mut queue = Queue::new(seed);
    for (index, &(time, _)) in transactions.iter().enumerate() {
        let (kind, index) = (EventKind::Resume, index as u32);
        queue.push(Moment::from_femtoseconds(time), Event { kind, index });
    }
    let (mut complete, mut done) = (Vec::new(), Vec::new());
    while let Some((now, event)) = queue.pop() {
        if event.kind == EventKind::Resume {
            let token = Token(event.index);
            let (_, begun) = transactions[event.index as usize];
            fabric.begin(now, Transaction { token, ..begun }, &mut queue);
        } else {
            fabric.handle(now, event.index, &mut queue, &mut done);
            let now = now.as_femtoseconds();
            complete.extend(done.drain(..).map(|Token(token)| (token as usize, now)));
        }
    }
    complete
}

/// Returns the time of each transaction, if all begin at once in this order.
fn times<const N: usize>(description: &Description, transactions: [Transaction; N]) -> [u64; N] {
    const START: u64 = 5_000 * NS + 100 * NS;
    let mut times = [0; N];
    let transactions = transactions.map(|transaction| (START, transaction));
    let complete = run_with(&mut Fabric::new(description), 0, &transactions);
    assert_eq!(complete.len(), N);
    complete
        .iter()
        .for_each(|&(index, time)| times[index] = time - START);
    times
}

fn time(description: &Description, transaction: Transaction) -> u64 {
    times(description, [transaction])[0]
}

#[test]
fn a_line_from_local_store_to_local_store() {
    let without_rings = PHASE + LOCAL_STORE_READ + LOCAL_STORE_WRITE;
    assert_eq!(time(&qs20(), get(1, 3)), without_rings + ring(1));
    assert_eq!(time(&qs20(), get(7, 0)), without_rings + ring(6));
    let put = Transaction {
        access: Access::Write,
        ..get(7, 0)
    };
    assert_eq!(time(&qs20(), put), without_rings + ring(6));
    assert_eq!(
        time(&qs20(), get(4, 4)),
        without_rings + ring(0),
        "its own, over the bus"
    );
}

#[test]
fn each_command_has_a_slot_of_its_own() {
    let alone = time(&qs20(), get(1, 3));
    // The three transfers share no ports and segments, only the command bus, which takes a command
    // in each bus cycle.
    let together = times(&qs20(), [get(1, 3), get(5, 7), get(4, 6)]);
    assert_eq!(together, [alone, alone + BUS, alone + 2 * BUS]);
    let in_both_cells = times(&qs20(), [get(1, 3), get(9, 11)]);
    assert_eq!(in_both_cells, [alone, alone]);
}

#[test]
fn a_register_is_written_and_read() {
    let signal = |from| transaction(from, Access::Write, Place::Register, Endpoint::Spe(1));
    let read = transaction(PPE, Access::Read, Place::Register, Endpoint::Spe(1));
    let by_spe = PHASE + LOCAL_STORE_READ + ring(1) + REGISTER;
    assert_eq!(time(&qs20(), signal(Endpoint::Spe(3))), by_spe);
    assert_eq!(time(&qs20(), signal(PPE)), PHASE + ring(1) + REGISTER);
    assert_eq!(time(&qs20(), read), PHASE + REGISTER + ring(1));
}

#[test]
fn memory_of_a_single_cell_is_read_without_waiting_for_others() {
    let read = transaction(Endpoint::Spe(0), Access::Read, LINE, Endpoint::Module(0));
    let expected = PHASE + MEMORY_ACCESS + ring(1) + LOCAL_STORE_WRITE;
    assert_eq!(time(&one_cell(), read), expected);
}

#[test]
fn local_memory_of_two_cells_waits_for_both_to_snoop() {
    let read = transaction(Endpoint::Spe(0), Access::Read, LINE, Endpoint::Module(0));
    let expected = RESPONSE_OF_BOTH + ring(1) + LOCAL_STORE_WRITE;
    assert_eq!(time(&qs20(), read), expected);
    assert_eq!(expected, 274_187_500);

    let mut slow_memory = qs20();
    slow_memory.modules[0].access_ps.value = 300_000;
    let expected = PHASE + 300 * NS + ring(1) + LOCAL_STORE_WRITE;
    assert_eq!(time(&slow_memory, read), expected);
}

#[test]
fn remote_memory_is_read_over_the_link() {
    let read = transaction(Endpoint::Spe(0), Access::Read, LINE, Endpoint::Module(1));
    let far = PHASE + LINK + MEMORY_ACCESS + ring(5) + LINE_ON_LINK + LINK;
    let expected = far + ring(4) + LOCAL_STORE_WRITE;
    assert_eq!(time(&qs20(), read), expected);
    assert_eq!(expected, 308_137_500);

    // With a slow phase, the data waits for the response.
    let mut slow_phase = qs20();
    slow_phase.command.phase_bus_cycles.value = 500;
    let response = 2 * (500 * BUS + LINK);
    assert_eq!(
        time(&slow_phase, read),
        response + ring(4) + LOCAL_STORE_WRITE
    );
}

#[test]
fn a_bank_that_is_busy_is_waited_for() {
    let read = |requester, line: u64| {
        let place = Place::Memory {
            address: 128 * line,
        };
        transaction(
            Endpoint::Spe(requester),
            Access::Read,
            place,
            Endpoint::Module(0),
        )
    };
    let [first, same_bank, other_bank] = times(&one_cell(), [read(0, 0), read(2, 31), read(4, 1)]);
    assert_eq!(first, PHASE + MEMORY_ACCESS + ring(1) + LOCAL_STORE_WRITE);
    assert_eq!(same_bank, first + 60 * NS + BUS);
    // The pins carry this line 5 ns after the first line, and its way is two hops longer.
    assert_eq!(other_bank, first + 5 * NS + 2 * BUS);
}

#[test]
fn a_write_is_complete_when_the_controller_has_it() {
    let write = |module| {
        transaction(
            Endpoint::Spe(0),
            Access::Write,
            LINE,
            Endpoint::Module(module),
        )
    };
    let here = PHASE + LOCAL_STORE_READ + ring(1) + ACCEPT;
    assert_eq!(time(&one_cell(), write(0)), here);
    assert_eq!(
        time(&qs20(), write(0)),
        RESPONSE_OF_BOTH + LOCAL_STORE_READ + ring(1) + ACCEPT
    );
    // The data arrives in the other Cell before that Cell has seen the command, and waits.
    let to_link = LOCAL_STORE_READ + ring(4) + LINE_ON_LINK;
    assert!(to_link < PHASE);
    let there = PHASE + LINK + PHASE + ring(5) + ACCEPT + LINK;
    assert_eq!(time(&qs20(), write(1)), there);
}

#[test]
fn a_word_to_the_other_cell_takes_the_link_twice_a_phase_and_the_rings_again() {
    let signal = |from, to| transaction(from, Access::Write, Place::Register, Endpoint::Spe(to));
    // SPE 8 is four hops from the link, as SPE 0 is.
    let crossing = 2 * LINK + PHASE + WORD_ON_LINK;
    let near = PHASE + LOCAL_STORE_READ + ring(4) + REGISTER;
    let far = time(&qs20(), signal(Endpoint::Spe(0), 8));
    assert_eq!(far, near + crossing + ring(4));
    assert_eq!(crossing + ring(4), 221_750_000);

    let near = PHASE + ring(6) + REGISTER;
    assert_eq!(time(&qs20(), signal(PPE, 8)), near + crossing + ring(4));

    let read = transaction(PPE, Access::Read, Place::Register, Endpoint::Spe(8));
    assert_eq!(time(&qs20(), read), near + crossing + ring(4));
}

#[test]
fn a_line_from_a_local_store_in_the_other_cell() {
    let expected = PHASE + LINK + PHASE + LOCAL_STORE_READ + ring(4);
    let expected = expected + LINE_ON_LINK + LINK + ring(1) + LOCAL_STORE_WRITE;
    assert_eq!(time(&qs20(), get(6, 8)), expected);
}

#[test]
fn lines_over_the_link_follow_each_other() {
    let [first, second] = times(&qs20(), [get(6, 8), get(6, 8)]);
    assert_eq!(second - first, LINE_ON_LINK);
    // The data of the two transfers takes different directions of the link. Each direction also
    // carries the command of the other transfer, but at another time, so neither transfer waits.
    let [out, back] = times(&qs20(), [get(6, 8), get(8, 6)]);
    assert_eq!(out, back);
}

#[test]
fn a_claim_takes_the_command_phase_only() {
    let claim = |spe| transaction(Endpoint::Spe(spe), Access::Claim, LINE, Endpoint::Module(0));
    assert_eq!(
        times(&one_cell(), [claim(0), claim(1)]),
        [PHASE, PHASE + BUS]
    );
    // The ordering point takes one coherent command of both Cells in two bus cycles.
    let expected = [RESPONSE_OF_BOTH, RESPONSE_OF_BOTH + 2 * BUS];
    assert_eq!(times(&qs20(), [claim(0), claim(8)]), expected);
    assert_eq!(
        time(&qs20(), claim(8)),
        RESPONSE_OF_BOTH,
        "for memory of either Cell"
    );
}

#[test]
fn coherent_commands_do_not_hold_up_others() {
    let claim = transaction(Endpoint::Spe(0), Access::Claim, LINE, Endpoint::Module(0));
    let alone = time(&qs20(), get(1, 3));
    let [.., local] = times(&qs20(), [claim, claim, claim, get(1, 3)]);
    assert_eq!(local, alone + 3 * BUS);
}

#[test]
fn a_line_from_another_atomic_unit() {
    let read = |from| {
        transaction(
            Endpoint::Spe(0),
            Access::Read,
            Place::AtomicCache,
            Endpoint::Spe(from),
        )
    };
    let alone = PHASE + LOCAL_STORE_READ + ring(1) + LOCAL_STORE_WRITE;
    assert_eq!(time(&one_cell(), read(2)), alone);
    let after_both = RESPONSE_OF_BOTH + ring(1) + LOCAL_STORE_WRITE;
    assert_eq!(time(&qs20(), read(2)), after_both);
    let far = PHASE + LINK + LOCAL_STORE_READ + ring(4) + LINE_ON_LINK + LINK;
    let expected = far.max(RESPONSE_OF_BOTH) + ring(4) + LOCAL_STORE_WRITE;
    assert_eq!(time(&qs20(), read(8)), expected);
}

#[test]
fn a_crossbar_takes_the_place_of_the_rings() {
    let mut description = one_cell();
    let quantity = |value| Quantity {
        value,
        source: "made up".to_owned(),
        sure: crate::Certainty::Uncertain,
        fitted_to: None,
    };
    description.interconnect = crate::Interconnect::Crossbar(crate::Crossbar {
        latency_ps: quantity(10_000),
        port_bytes_per_s: quantity(25_600_000_000),
    });
    let alone = PHASE + LOCAL_STORE_READ + 10 * NS + 5 * NS + LOCAL_STORE_WRITE;
    assert_eq!(time(&description, get(0, 7)), alone);
    let [first, second] = times(&description, [get(0, 7), get(1, 7)]);
    assert_eq!((first, second), (alone, alone + 5 * NS), "one port");
}

#[test]
fn resources_are_named_and_counted() {
    let mut fabric = Fabric::new(&qs20());
    let read = transaction(Endpoint::Spe(0), Access::Read, LINE, Endpoint::Module(1));
    run_with(&mut fabric, 0, &[(0, read)]);
    let resources = fabric.resources();
    let used = resources.iter().filter(|resource| resource.packets > 0);
    let used: Vec<_> = used
        .map(|resource| (resource.name.as_str(), resource.bytes))
        .collect();
    let expected = [
        ("Cell 0, ring 0", 128),
        ("Cell 1, ring 2", 128),
        ("memory module 1", 128),
        ("link from Cell 1 to Cell 0", 128),
    ];
    assert_eq!(used, expected);
    assert_eq!(resources.len(), 2 * 4 + 2 + 2);
    // A command uses one direction. A response and the data use the other.
    let busy = |index: usize| resources[index].busy.as_femtoseconds();
    assert_eq!(busy(10), 800_000);
    assert_eq!(busy(11), u128::from(800_000 + LINE_ON_LINK));
}

/// Returns transactions of all kinds at random times in 20 us.
fn random_load(seed: u64, count: usize) -> Vec<(u64, Transaction)> {
    let mut state = seed;
    let mut below = |end: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let node = |number| match number {
        16 => PPE,
        number => Endpoint::Spe(number as u16),
    };
    let mut load = |_| {
        let requester = node(below(17));
        let access = [Access::Read, Access::Write][below(2) as usize];
        let address = below(1 << 20) * 16;
        let (place, target) = match below(5) {
            0 | 1 => (Place::LocalStore, node(below(16))),
            2 => (Place::Register, node(below(16))),
            3 => (Place::Memory { address }, Endpoint::Module(below(2) as u16)),
            _ => (Place::AtomicCache, node(below(16))),
        };
        let access = match (place, below(8)) {
            (Place::Memory { .. }, 0) => Access::Claim,
            (Place::AtomicCache, _) => Access::Read,
            _ => access,
        };
        let mut transaction = transaction(requester, access, place, target);
        if below(4) == 0 {
            transaction.bytes = transaction.bytes.min(16);
        }
        (below(40_000) * BUS / 2, transaction)
    };
    (0..count).map(&mut load).collect()
}

#[test]
fn every_transaction_completes_exactly_once_whatever_the_seed() {
    for seed in 0..8 {
        let load = random_load(seed + 1, 5_000);
        let mut fabric = Fabric::new(&qs20());
        let mut complete = run_with(&mut fabric, seed, &load);
        assert_eq!(fabric.unused.len(), fabric.under_way.len(), "all are done");
        assert!(complete.is_sorted_by_key(|&(_, time)| time));
        for &(index, time) in &complete {
            assert!(time >= load[index].0 + PHASE, "{:?} at {time}", load[index]);
        }
        complete.sort_unstable();
        assert!(complete.iter().map(|&(index, _)| index).eq(0..5_000));

        let [all, crossing] = [false, true].map(|only_crossing| {
            let moved = load.iter().filter(|(_, transaction)| {
                let ports = [transaction.requester, transaction.target];
                let [from, to] = ports.map(|node| fabric.port(node).cell);
                transaction.access != Access::Claim && (from != to || !only_crossing)
            });
            moved
                .map(|(_, transaction)| u64::from(transaction.bytes))
                .sum::<u64>()
        });
        let over = |what: &str| {
            let resources = fabric.resources();
            let of = resources
                .iter()
                .filter(|resource| resource.name.contains(what));
            of.map(|resource| resource.bytes).sum::<u64>()
        };
        assert_eq!(
            over("ring"),
            all + crossing,
            "what crosses is on the rings of both Cells"
        );
        assert_eq!(over("link"), crossing);
    }
}

#[test]
fn the_same_calls_give_the_same_order() {
    let load = random_load(7, 5_000);
    let run = |seed| run_with(&mut Fabric::new(&qs20()), seed, &load);
    assert_eq!(run(0), run(0));
    assert_eq!(run(5), run(5));
    assert_ne!(
        run(0),
        run(5),
        "the seed permutes what begins at one instant"
    );
}

#[test]
fn nothing_is_left_to_happen_when_all_is_complete_and_the_slab_does_not_grow() {
    let mut fabric = Fabric::new(&qs20());
    for round in 0..20 {
        // Transactions begin 600 ns apart, so that only a few are under way.
        let load: Vec<_> = (0..100)
            .map(|n| ((round * 100 + n) * 600 * NS, get(1, 8)))
            .collect();
        assert_eq!(run_with(&mut fabric, 0, &load).len(), 100);
    }
    assert_eq!(fabric.under_way.len(), 1);
}
