//! Random networks, in many schedules of a simulated machine, and in some schedules of the host. At
//! the end each item has one owner.

use std::env;

use cellworks_csp::{
    Alternation, Channel, Chosen, GuardEnded, Item, Network, Place, Process, Reader, Unsent, Writer,
};
use cellworks_machine::{Machine, Time};
use cellworks_sim::{Description, Sim};

use crate::{host, spe};

/// Returns the number of seeds, which `CELLWORKS_SEEDS` sets: `.ci/long` takes 10,000. The debug
/// profile has fewer seeds, because the simulator is slow without optimisation.
pub(crate) fn seeds() -> u64 {
    match env::var("CELLWORKS_SEEDS") {
        Ok(seeds) => seeds.parse().expect("CELLWORKS_SEEDS is a whole number"),
        Err(_) if cfg!(debug_assertions) => 300,
        Err(_) => 2_000,
    }
}

/// An item that must be dropped once. If it is dropped twice, the allocator fails.
type Boxed = Box<u64>;

/// A generator of random numbers.
struct Random(u64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % end
    }
}

/// How a process uses the channel.
#[derive(Clone, Copy, Debug)]
enum Way {
    Plain,
    Alternates,
    /// Uses an alternation with a short deadline.
    Hurries,
}

fn choose(
    alternation: &mut Alternation<'_>,
    process: &Process<'_, impl Place>,
    way: Way,
) -> Result<Option<Chosen>, GuardEnded> {
    if !matches!(way, Way::Hurries) {
        return alternation.select(process).map(Some);
    }
    match alternation.select_or_skip(process)? {
        None => {
            // Lets other processes run, because the deadline may pass before the other processes
            // could run.
            process.yield_now();
            let soon = process.now().as_femtoseconds() + 500_000_000;
            alternation.select_until(process, Time::from_femtoseconds(soon))
        }
        chosen => Ok(chosen),
    }
}

fn way(random: &mut Random) -> Way {
    [Way::Plain, Way::Alternates, Way::Hurries][random.below(3) as usize]
}

#[test]
fn items_have_one_owner_whatever_the_schedule() {
    let mut description = Description::built_in("ps3").unwrap();
    description.cells[0].spes.truncate(4);
    for seed in 0..seeds() {
        let sim = Sim::builder(description.clone())
            .seed(seed)
            .build()
            .unwrap();
        check(&sim, seed);
        check_crowd(&sim, seed);
    }
}

/// On the host, processes perform steps themselves, and use rings without locks.
#[test]
fn items_have_one_owner_on_the_host() {
    let host = host();
    for seed in 0..300 {
        check(&host, seed);
        check_pair(&host, seed);
        check_crowd(&host, seed);
    }
}

/// Checks writers and readers of two channels. A process may end one of the channels at any time.
fn check<M: Machine>(machine: &M, seed: u64) {
    let random = &mut Random(seed.wrapping_mul(2).wrapping_add(0x9E37_79B9_7F4A_7C15));
    let (first, first_reader) = Channel::new()
        .buffered(random.below(3) as usize)
        .any_to_any::<Boxed>();
    let (second, second_reader) = Channel::new()
        .buffered(random.below(3) as usize)
        .any_to_any::<Boxed>();
    let (owned, owners) = Channel::new().any_to_one::<Vec<Boxed>>();
    let mut network = Network::on(machine);
    let mut written = Vec::new();
    for index in 0..1 + random.below(3) {
        let items = Vec::from_iter((0..random.below(6)).map(|item| Box::new(100 * index + item)));
        written.extend(items.iter().map(|item| **item));
        let (mut first, mut second, mut owned) = (first.clone(), second.clone(), owned.clone());
        let way = way(random);
        let at = spe(random.below(4) as u16);
        network.process(format!("writer {index}"), at, move |process| {
            let mut mine = Vec::new();
            let mut items = items.into_iter();
            match way {
                Way::Plain => {
                    for (item, is_first) in items.by_ref().zip([true, false].into_iter().cycle()) {
                        let writer = if is_first { &mut first } else { &mut second };
                        if let Err(unsent) = writer.write(process, item) {
                            mine.push(unsent.item);
                        }
                    }
                }
                Way::Alternates | Way::Hurries => {
                    let mut alternation = Alternation::arbitrary(seed);
                    let guards = [
                        alternation.write(&mut first),
                        alternation.write(&mut second),
                    ];
                    let mut open = [true; 2];
                    loop {
                        for (guard, open) in guards.iter().zip(open) {
                            if open
                                && !alternation.is_offered(guard)
                                && let Some(item) = items.next()
                            {
                                alternation.offer(process, guard, item);
                            }
                        }
                        if !guards.iter().any(|guard| alternation.is_offered(guard)) {
                            break;
                        }
                        let chosen = choose(&mut alternation, process, way);
                        match chosen {
                            Ok(Some(_)) => {}
                            Ok(None) => {}
                            Err(ended) => {
                                let index = ended.guard.index();
                                mine.extend(alternation.withdraw(process, &guards[index]));
                                open[index] = false;
                            }
                        }
                    }
                }
            }
            mine.extend(items);
            Ok(owned.write(process, mine)?)
        });
    }
    for index in 0..1 + random.below(3) {
        let (mut first, mut second) = (first_reader.clone(), second_reader.clone());
        let mut owned = owned.clone();
        let way = way(random);
        // Some readers end early, and leave the remaining items to other readers.
        let limit = random.below(12) as usize;
        let at = spe(random.below(4) as u16);
        network.process(format!("reader {index}"), at, move |process| {
            let mut mine = Vec::new();
            let mut alternation = Alternation::fair();
            let guards = [alternation.read(&mut first), alternation.read(&mut second)];
            let mut open = 2;
            while open > 0 && mine.len() < limit {
                let chosen = choose(&mut alternation, process, way);
                match chosen {
                    Ok(Some(chosen)) => {
                        mine.push(alternation.take(process, &guards[chosen.index()]))
                    }
                    Ok(None) => {}
                    Err(ended) => {
                        alternation.when(&guards[ended.guard.index()], false);
                        open -= 1;
                    }
                }
            }
            drop(alternation);
            drop((first, second));
            Ok(owned.write(process, mine)?)
        });
    }
    // These readers stay to the end, so no item is left.
    for (name, reader) in [
        ("last of first", &first_reader),
        ("last of second", &second_reader),
    ] {
        let (mut reader, mut owned) = (reader.clone(), owned.clone());
        network.process(name, spe(3), move |process| {
            let mut mine = Vec::new();
            while let Ok(item) = reader.read(process) {
                mine.push(item);
            }
            Ok(owned.write(process, mine)?)
        });
    }
    let ending = random.below(4);
    let pause = random.below(200);
    let mut end = [first.clone(), second.clone()];
    let mut to_owner = owned.clone();
    network.process("ender", spe(2), move |process| {
        for _ in 0..pause {
            process.yield_now();
        }
        let mut mine = Vec::new();
        match ending {
            0 => mine.extend(end[0].poison(process)),
            1 => end[1].close(process),
            2 => {
                end[1].close(process);
                mine.extend(end[1].poison(process));
            }
            _ => {}
        }
        drop(end);
        Ok(to_owner.write(process, mine)?)
    });
    drop((first, second, first_reader, second_reader, owned));
    written.sort_unstable();
    assert_eq!(owned_in_the_end(network, owners), written, "seed {seed}");
}

/// Runs a network. Returns the sorted items that its processes own at the end, and report by
/// `owners`.
fn owned_in_the_end<M: Machine>(
    network: Network<'_, M>,
    mut owners: Reader<Vec<Boxed>>,
) -> Vec<u64> {
    let all = network.run_with(|process| {
        let mut all = Vec::new();
        while let Ok(items) = owners.read(process) {
            all.extend(items);
        }
        all
    });
    let mut all: Vec<u64> = all.unwrap().into_iter().map(|item| *item).collect();
    all.sort_unstable();
    all
}

/// An end on its way to another process.
struct Moved<E>(E);

impl<E: Send> Item for Moved<E> {}

/// Writes items in changing ways. Returns the items that were not written.
fn write(
    process: &Process<'_, impl Place>,
    writer: &mut Writer<Boxed>,
    items: Vec<Boxed>,
    random: &mut Random,
) -> Vec<Boxed> {
    let mut items = items.into_iter();
    while items.len() > 0 {
        let unsent = match random.below(3) {
            0 => {
                let item = items.next().expect("it is not empty");
                let unsent = writer.write(process, item);
                unsent.map_err(|Unsent { item, .. }| vec![item])
            }
            1 => {
                let some = items.by_ref().take(1 + random.below(5) as usize);
                let unsent = writer.write_all(process, some.collect::<Vec<_>>());
                unsent.map_err(|Unsent { item, .. }| item.collect())
            }
            _ => {
                let mut alternation = Alternation::fair();
                let guard = alternation.write(writer);
                alternation.offer(process, &guard, items.next().expect("it is not empty"));
                match choose(&mut alternation, process, way(random)) {
                    Ok(Some(_)) => Ok(()),
                    Ok(None) => {
                        let item = alternation.withdraw(process, &guard);
                        // `item` is the next item to write.
                        items = Vec::from_iter(item.into_iter().chain(items)).into_iter();
                        Ok(())
                    }
                    Err(_) => Err(Vec::from_iter(alternation.withdraw(process, &guard))),
                }
            }
        };
        if let Err(mut unwritten) = unsent {
            unwritten.extend(items);
            return unwritten;
        }
    }
    Vec::new()
}

/// Reads up to `limit` items in changing ways. Returns whether the channel may have more items.
fn read(
    process: &Process<'_, impl Place>,
    reader: &mut Reader<Boxed>,
    limit: usize,
    items: &mut Vec<Boxed>,
    random: &mut Random,
) -> bool {
    while items.len() < limit {
        let has_ended = match random.below(3) {
            0 => reader.read(process).map(|item| items.push(item)).is_err(),
            1 => {
                let most = 1 + random.below(4) as usize;
                reader.read_up_to(process, most, items).is_err()
            }
            _ => {
                let mut alternation = Alternation::fair();
                let guard = alternation.read(reader);
                let chosen = choose(&mut alternation, process, way(random));
                if let Ok(Some(_)) = chosen {
                    items.push(alternation.take(process, &guard));
                }
                chosen.is_err()
            }
        };
        if has_ended {
            return false;
        }
    }
    true
}

/// Checks one writer and one reader. Each end moves to another process during the run, and one
/// process may end the channel.
fn check_pair<M: Machine>(machine: &M, seed: u64) {
    let mut random = Random(seed.wrapping_mul(2).wrapping_add(0x517C_C1B7_2722_0A95));
    let (mut writer, mut reader) = Channel::new()
        .buffered(random.below(6) as usize)
        .one_to_one::<Boxed>();
    let items = random.below(60);
    let half = random.below(items + 1);
    let (limit, further) = (random.below(40) as usize, random.below(40) as usize);
    let (writer_poisons, reader_closes) = (random.below(3) == 0, random.below(2) == 0);
    let mut places = || spe(random.below(4) as u16);
    let (first, second, third, fourth) = (places(), places(), places(), places());
    let mut seeds = [0; 4].map(|_| Random(1 + 2 * random.below(1 << 40)));
    let [from_first, from_second, from_third, from_fourth] = &mut seeds;
    let (mut to_second, mut at_second) = Channel::new().one_to_one();
    let (mut to_fourth, mut at_fourth) = Channel::new().one_to_one();
    let (owned, mut owners) = Channel::new().any_to_one::<Vec<Boxed>>();
    let (was_read, mut all_read) = Channel::new().one_to_one::<Vec<Boxed>>();
    let mut network = Network::on(machine);
    let mut to_owner = owned.clone();
    network.process("writer", first, move |process| {
        let mine = (0..half).map(Box::new).collect();
        let unwritten = write(process, &mut writer, mine, from_first);
        to_second.write(process, Moved(writer))?;
        Ok(to_owner.write(process, unwritten)?)
    });
    let mut to_owner = owned.clone();
    network.process("next writer", second, move |process| {
        let Moved(mut writer) = at_second.read(process)?;
        let mine = (half..items).map(Box::new).collect();
        let mut unwritten = write(process, &mut writer, mine, from_second);
        if writer_poisons {
            unwritten.extend(writer.poison(process));
        }
        Ok(to_owner.write(process, unwritten)?)
    });
    network.process("reader", third, move |process| {
        let mut mine = Vec::new();
        read(process, &mut reader, limit, &mut mine, from_third);
        Ok(to_fourth.write(process, Moved((reader, mine)))?)
    });
    let (mut to_owner, mut was_read) = (owned, was_read);
    network.process("next reader", fourth, move |process| {
        let Moved((mut reader, mut mine)) = at_fourth.read(process)?;
        let limit = limit + further;
        let mut unread = Vec::new();
        if read(process, &mut reader, limit, &mut mine, from_fourth) {
            if reader_closes {
                reader.close(process);
                read(process, &mut reader, usize::MAX, &mut mine, from_fourth);
            }
            unread = reader.poison(process);
        }
        to_owner.write(process, unread)?;
        drop(to_owner);
        Ok(was_read.write(process, mine)?)
    });
    let (read, others) = network
        .run_with(|process| {
            let mut others = Vec::new();
            while let Ok(items) = owners.read(process) {
                others.extend(items);
            }
            (all_read.read(process).unwrap_or_default(), others)
        })
        .unwrap();
    assert!(read.is_sorted(), "seed {seed}: {read:?}");
    let mut all: Vec<u64> = read.into_iter().chain(others).map(|item| *item).collect();
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..items), "seed {seed}");
}

/// Checks several writers and readers of one rendezvous channel, mostly with plain calls. A writer
/// and a reader without waiting rivals meet at the channel's word, and other processes meet under
/// the lock.
fn check_crowd<M: Machine>(machine: &M, seed: u64) {
    let mut random = Random(seed.wrapping_mul(2).wrapping_add(0x2545_F491_4F6C_DD1D));
    let (writer, reader) = Channel::new().any_to_any::<Boxed>();
    let (owned, owners) = Channel::new().any_to_one::<Vec<Boxed>>();
    let mut network = Network::on(machine);
    let mut items = 0;
    for index in 0..1 + random.below(4) {
        let (mut writer, mut to_owner) = (writer.clone(), owned.clone());
        let from = items;
        items += random.below(30);
        let mine = from..items;
        let at = spe(random.below(4) as u16);
        network.process(format!("writer {index}"), at, move |process| {
            let mut mine = mine.map(Box::new);
            let mut unwritten = Vec::new();
            for item in mine.by_ref() {
                if let Err(Unsent { item, .. }) = writer.write(process, item) {
                    unwritten.push(item);
                    break;
                }
            }
            unwritten.extend(mine);
            drop(writer);
            Ok(to_owner.write(process, unwritten)?)
        });
    }
    for index in 0..1 + random.below(4) {
        let (mut reader, mut to_owner) = (reader.clone(), owned.clone());
        // The first reader stays to the end, so no item is left.
        let limit = match index {
            0 => usize::MAX,
            _ => random.below(20) as usize,
        };
        let alternates = random.below(4) == 0;
        let mut ways = Random(1 + 2 * random.below(1 << 40));
        let at = spe(random.below(4) as u16);
        network.process(format!("reader {index}"), at, move |process| {
            let mut mine = Vec::new();
            while mine.len() < limit {
                if alternates && ways.below(3) == 0 {
                    let mut alternation = Alternation::fair();
                    let guard = alternation.read(&mut reader);
                    match choose(&mut alternation, process, way(&mut ways)) {
                        Ok(Some(_)) => mine.push(alternation.take(process, &guard)),
                        Ok(None) => {}
                        Err(_) => break,
                    }
                } else {
                    match reader.read(process) {
                        Ok(item) => mine.push(item),
                        Err(_) => break,
                    }
                }
            }
            drop(reader);
            Ok(to_owner.write(process, mine)?)
        });
    }
    let (ending, pause) = (random.below(4), random.below(100));
    let (mut end, mut to_owner) = (writer, owned);
    drop(reader);
    network.process("ender", spe(2), move |process| {
        for _ in 0..pause {
            process.yield_now();
        }
        let mut unread = Vec::new();
        match ending {
            0 => unread = end.poison(process),
            1 => end.close(process),
            _ => {}
        }
        drop(end);
        Ok(to_owner.write(process, unread)?)
    });
    let all = owned_in_the_end(network, owners);
    assert_eq!(all, Vec::from_iter(0..items), "seed {seed}");
}
