//! The Santa Claus problem (Trono, 1994). Santa sleeps until all nine reindeer are back, or until
//! three of his ten elves have a question. If both groups wait, the reindeer come first. The
//! reindeer pull the sleigh together. Elves come in by three, and the other elves wait until these
//! three elves have left.

use std::time::Duration;

use cellworks_csp::{
    Alternation, Any, Channel, Network, NetworkError, Place, Process, ProcessError, Reader, Writer,
};
use cellworks_host::Host;
use cellworks_machine::{Machine, SpeId};
use cellworks_sim::{Description, Sim};

const REINDEER: u32 = 9;
const ELVES: u32 = 10;
const ELVES_AT_ONCE: u32 = 3;
/// How long a reindeer stays away. If the reindeer came back at once, all nine could be back each
/// time when Santa chooses, and the elves would wait for ever.
const HOLIDAY: Duration = Duration::from_micros(20);
/// How long an elf works until its next question.
const WORK: Duration = Duration::from_micros(5);

/// The counts of Santa's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Year {
    /// How often the reindeer have pulled the sleigh.
    pub deliveries: u32,
    /// How often three elves have come in.
    pub consultations: u32,
}

/// Waits until `size` visitors have come, tells Santa, and lets the visitors go when Santa is done.
fn gather(
    process: &Process<'_, impl Place>,
    size: u32,
    mut arrivals: Reader<u32>,
    mut leave: Writer<()>,
    mut group: Writer<u32>,
    mut done: Reader<()>,
) -> Result<(), ProcessError> {
    loop {
        for _ in 0..size {
            arrivals.read(process)?;
        }
        group.write(process, size)?;
        done.read(process)?;
        for _ in 0..size {
            leave.write(process, ())?;
        }
    }
}

/// A reindeer or an elf, which comes again and again, and stays away between its visits.
fn visitor(
    process: &Process<'_, impl Place>,
    number: u32,
    away: Duration,
    mut arrive: Writer<u32, Any>,
    mut left: Reader<(), Any>,
) -> Result<(), ProcessError> {
    loop {
        process.sleep_until(process.now() + away);
        arrive.write(process, number)?;
        left.read(process)?;
    }
}

/// Runs until the reindeer have pulled the sleigh `deliveries` times and elves have come in as
/// often.
pub(crate) fn santa_claus<M: Machine>(machine: &M, deliveries: u32) -> Result<Year, NetworkError> {
    let mut network = Network::on(machine);
    let spes = machine.topology().spes().len() as u32;
    let mut at_santa = Vec::new();
    let kinds = [
        ("reindeer", REINDEER, REINDEER, HOLIDAY),
        ("elf", ELVES, ELVES_AT_ONCE, WORK),
    ];
    for (spe, (kind, count, size, away)) in kinds.into_iter().enumerate() {
        let (arrive, arrivals) = Channel::new().named(format!("{kind} arrives")).any_to_one();
        let (leave, left) = Channel::new().named(format!("{kind} leaves")).one_to_any();
        let (group, at_door) = Channel::new().named(format!("{kind} group")).one_to_one();
        let (done, is_done) = Channel::new().named(format!("{kind} done")).one_to_one();
        at_santa.push((at_door, done));
        let gathers = SpeId::new(spe as u16);
        network.process(format!("{kind} gather"), gathers, move |process| {
            gather(process, size, arrivals, leave, group, is_done)
        });
        for number in 0..count {
            let (arrive, left) = (arrive.clone(), left.clone());
            let at = SpeId::new((number % spes) as u16);
            network.process(format!("{kind} {number}"), at, move |process| {
                visitor(process, number, away, arrive, left)
            });
        }
    }
    network.run_with(move |process| {
        let [(reindeer, harness_off), (elves, show_out)] = &mut at_santa[..] else {
            unreachable!("there are reindeer and elves");
        };
        let mut year = Year::default();
        while year.deliveries < deliveries || year.consultations < deliveries {
            let mut santa = Alternation::priority();
            let (sleigh, study) = (santa.read(reindeer), santa.read(elves));
            let chosen = santa.select(process).expect("they always come back");
            if chosen == sleigh {
                assert_eq!(santa.take(process, &sleigh), REINDEER);
                drop(santa);
                year.deliveries += 1;
                harness_off.write(process, ()).expect("they wait for it");
            } else {
                assert_eq!(santa.take(process, &study), ELVES_AT_ONCE);
                drop(santa);
                year.consultations += 1;
                show_out.write(process, ()).expect("they wait for it");
            }
        }
        // Santa's ends are dropped here, so all channels end, and then all other processes.
        year
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::builder().spes(2).build()?;
    println!("this computer: {:?}", santa_claus(&host, 10)?);
    let blade = Sim::new(Description::load("qs22")?)?;
    println!("an IBM QS22:   {:?}", santa_claus(&blade, 10)?);
    Ok(())
}
