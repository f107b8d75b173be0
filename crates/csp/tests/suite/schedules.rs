//! Networks that are made up, in many schedules of a simulated machine: each item has one owner in the end.

use cellworks_csp::{Alternation, Channel, Chosen, GuardEnded, Network, Place, Process};
use cellworks_machine::Time;
use cellworks_sim::{Description, Sim};

use crate::spe;

/// All in the release profile; the simulator is slow without optimisation.
const SEEDS: u64 = if cfg!(debug_assertions) { 300 } else { 10_000 };

/// A generator of numbers for what is made up.
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

/// What each process does with the channel.
#[derive(Clone, Copy, Debug)]
enum Way {
    Plain,
    Alternates,
    /// As that, but it waits for a moment only.
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
    for seed in 0..SEEDS {
        check(&Sim::builder(description.clone()).seed(seed).build(), seed);
    }
}

/// Some writers and some readers of two channels; somebody may end one of them at any time.
fn check(machine: &Sim, seed: u64) {
    let random = &mut Random(seed.wrapping_mul(2).wrapping_add(0x9E37_79B9_7F4A_7C15));
    let (first, first_reader) = Channel::new()
        .buffered(random.below(3) as usize)
        .any_to_any::<Box<u64>>();
    let (second, second_reader) = Channel::new()
        .buffered(random.below(3) as usize)
        .any_to_any::<Box<u64>>();
    let (owned, mut owners) = Channel::new().any_to_one::<Vec<Box<u64>>>();
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
        // Plain readers of one channel are below.
        let way = way(random);
        // Some end early, and leave the rest to others.
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
    // These stay to the end, so nothing is left.
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
    let all = network.run_with(|process| {
        let mut all = Vec::new();
        while let Ok(items) = owners.read(process) {
            all.extend(items);
        }
        all
    });
    let mut all: Vec<u64> = all.unwrap().into_iter().map(|item| *item).collect();
    all.sort_unstable();
    written.sort_unstable();
    assert_eq!(all, written, "seed {seed}");
}
