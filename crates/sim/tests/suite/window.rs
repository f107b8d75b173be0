//! The window of a run, to which its counters refer, and machines with a free part.

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::{CellSpe, Cycles, Machine, Processor, RunError, Span, Spe, SpeId};
use cellworks_sim::trace::read_slices;
use cellworks_sim::{
    Bottleneck, Cause, Counters, Description, Part, Sim, SimBuilder, SimError, Window,
};

use crate::trace::Kept;

const SPES: usize = 6;

fn ps3() -> SimBuilder {
    Sim::builder(Description::built_in("ps3").unwrap())
}

/// Sums an array on six SPEs, which wait for a word until all have started.
fn sum(sim: &Sim, window: bool) -> Counters {
    let values = vec![1_u32; 24 * 1_024];
    let total: u32 = sim
        .run(|ppe| {
            let shares = values.chunks(values.len() / SPES).zip(0..);
            let programs: Vec<_> = shares
                .map(|(share, spe)| {
                    ppe.spawn(SpeId::new(spe), move |spe| {
                        spe.read_in_mbox();
                        let share = spe.stage(share).unwrap();
                        spe.compute(Cycles(share.len() as u64 / 4));
                        share.iter().sum::<u32>()
                    })
                })
                .collect();
            if window {
                ppe.begin_window();
            }
            for spe in ppe.topology().spes() {
                ppe.write_in_mbox(spe, 0);
            }
            programs.into_iter().map(|one| one.join().unwrap()).sum()
        })
        .unwrap();
    assert_eq!(total, 24 * 1_024);
    sim.counters().unwrap()
}

/// Asserts that the times of each SPE add up to the window.
#[track_caller]
fn assert_adds_up(counters: &Counters) {
    for spe in &counters.spes {
        let mut sum = Span::default();
        for part in [
            spe.computing,
            spe.waiting_for_dma,
            spe.waiting_for_mailbox,
            spe.waiting_for_signal,
            spe.waiting_for_lock,
            spe.waiting_for_other,
            spe.idle,
        ] {
            sum += part;
        }
        assert_eq!(sum, counters.elapsed, "{counters}");
    }
}

#[test]
fn a_window_leaves_out_the_start_of_the_programs_and_changes_nothing_else() {
    let whole = sum(&ps3().build().unwrap(), false);
    let window = sum(&ps3().build().unwrap(), true);
    assert_eq!(window.trace_hash, whole.trace_hash);
    assert_eq!(whole.began, Span::default());
    assert!(window.began >= Span::from_nanoseconds(SPES as u64 * 1_675_000));
    // The window ends with the run.
    assert_eq!(window.began + window.elapsed, whole.elapsed);
    assert!(window.elapsed < whole.elapsed / 100);
    for counters in [&whole, &window] {
        assert_adds_up(counters);
        let bytes = counters.spes.iter().map(|spe| spe.bytes);
        assert_eq!(bytes.sum::<u64>(), 4 * 24 * 1_024);
    }
    // All commands are in the window, so the parts of the fabric have worked equally long.
    let pins = |counters: &Counters| counters.busiest(Part::MemoryPins).unwrap().busy;
    assert_eq!(pins(&window), pins(&whole));
}

#[test]
fn the_setting_begins_and_ends_the_window_without_a_call() {
    let counters = sum(&ps3().window(Window::AfterStart).build().unwrap(), false);
    assert_adds_up(&counters);
    assert!(counters.began > Span::from_nanoseconds((SPES as u64 - 1) * 1_675_000));
    // The PPE notices the end of a program 5 us later.
    let whole = sum(&ps3().build().unwrap(), false);
    let left = whole.elapsed - counters.began - counters.elapsed;
    assert!(left >= Span::from_nanoseconds(5_000), "{left}");
}

#[test]
fn calls_take_precedence_over_the_setting_and_can_be_ignored() {
    let by_call = sum(&ps3().build().unwrap(), true);
    let both = sum(&ps3().window(Window::AfterStart).build().unwrap(), true);
    assert_eq!((both.began, both.elapsed), (by_call.began, by_call.elapsed));
    let ignored = sum(&ps3().window(Window::WholeRun).build().unwrap(), true);
    assert_eq!(ignored.began, Span::default());
}

#[test]
fn the_last_call_of_all_spes_begins_the_window_and_the_last_one_ends_it() {
    let sim = ps3().build().unwrap();
    let times = sim
        .run(|ppe| {
            let program = |cycles| {
                move |spe: &<Sim as Machine>::Spe| {
                    spe.compute(Cycles(cycles));
                    spe.begin_window();
                    let begin = cellworks_machine::Wake::now(spe);
                    spe.compute(Cycles(8_000_000));
                    spe.end_window();
                    (begin, cellworks_machine::Wake::now(spe))
                }
            };
            let programs = [100, 3_200]
                .map(|cycles| ppe.spawn(SpeId::new(cycles as u16 % 3), program(cycles)));
            programs.map(|program| program.join().unwrap())
        })
        .unwrap();
    let counters = sim.counters().unwrap();
    let cycle = Span::from_femtoseconds(312_500);
    let begin = times.iter().map(|(begin, _)| *begin).max().unwrap();
    let end = times.iter().map(|(_, end)| *end).max().unwrap();
    // Each reading of the clock takes a cycle.
    assert_eq!(counters.began + cycle, begin.since(Default::default()));
    assert_eq!(counters.elapsed, end.since(begin));
}

#[test]
fn an_end_without_a_beginning_is_nothing() {
    let sim = ps3().build().unwrap();
    sim.run(|ppe| ppe.end_window()).unwrap();
    assert_eq!(sim.counters().unwrap().began, Span::default());
}

#[test]
fn the_trace_shows_the_window() {
    let kept = Kept::default();
    let sim = ps3().trace(Box::new(kept.clone())).build().unwrap();
    let counters = sum(&sim, true);
    let slices = read_slices(&kept.bytes()).unwrap();
    let mut windows = slices.iter().filter(|slice| slice.track == "window");
    let window = windows.next().unwrap();
    assert_eq!((window.name.as_str(), windows.count()), ("window", 0));
    let ns = |span: Span| (span.as_femtoseconds() / 1_000_000) as u64;
    assert_eq!(window.start_ns, ns(counters.began));
    assert_eq!(window.end_ns, ns(counters.began + counters.elapsed));
}

#[test]
fn a_word_has_a_time_without_each_part_and_no_part_makes_it_longer() {
    for machine in ["ps3", "qs20", "scc"] {
        let description = || Description::built_in(machine).unwrap();
        let took = |builder: SimBuilder| {
            let sim = builder.build().unwrap();
            sim.run(|ppe| {
                let [from, to] = [0, 5].map(SpeId::new);
                let reader = ppe.spawn(to, |spe| spe.read_in_mbox());
                let writer = ppe.spawn(from, move |spe| {
                    spe.compute(Cycles(1_000));
                    spe.write_out_mbox(Outbound::Plain, 1);
                    spe.write_in_mbox_of(to, 7);
                });
                writer.join().unwrap();
                ppe.read_out_mbox(from, Outbound::Plain);
                assert_eq!(reader.join().unwrap(), 7);
            })
            .unwrap();
            sim.counters().unwrap().elapsed
        };
        let whole = took(Sim::builder(description()));
        for part in Part::of(&description()) {
            let without = took(Sim::builder(description()).free(part));
            assert!(
                without <= whole,
                "{machine} without {part}: {without}, not {whole}"
            );
        }
        let cheap = took(Sim::builder(description()).free(Part::Programs));
        assert!(cheap < whole / 10, "{cheap} of {whole}");
    }
}

/// SPE 0 computes, gives SPE 1 a word, and waits for the answer, for which SPE 1 computes half as
/// long. Both wait for a word of the PPE before they begin.
fn ask_ten_times(sim: &Sim, window: bool) -> Result<Counters, RunError> {
    let [asks, answers] = [0, 1].map(SpeId::new);
    sim.run(|ppe| {
        let begin = |spe, partner, cycles: u64| {
            ppe.spawn(spe, move |spe: &<Sim as Machine>::Spe| {
                spe.read_in_mbox();
                for _ in 0..10 {
                    if partner == asks {
                        spe.read_in_mbox();
                    }
                    spe.compute(Cycles(cycles));
                    spe.write_in_mbox_of(partner, 1);
                    if partner == answers {
                        spe.read_in_mbox();
                    }
                }
            })
        };
        let programs = [begin(asks, answers, 20_000), begin(answers, asks, 10_000)];
        if window {
            ppe.begin_window();
        }
        // The answering SPE has its word first.
        for spe in [answers, asks] {
            ppe.write_in_mbox(spe, 0);
        }
        programs.into_iter().for_each(|one| one.join().unwrap());
    })?;
    Ok(sim.counters().unwrap())
}

#[test]
fn waits_are_for_the_processor_that_ends_them() {
    let waited = |window| {
        let counters = ask_ten_times(&ps3().build().unwrap(), window).unwrap();
        let spe = counters.spes[0].clone();
        assert_eq!(spe.longest_waited_for(Cause::Signal), None);
        let longest = spe.longest_waited_for(Cause::Mailbox).unwrap();
        assert!(longest.1 <= spe.waiting_for_mailbox, "{longest:?}");
        longest
    };
    // While SPE 1 starts, SPE 0 waits for the PPE. The window leaves this out.
    let (of_run, start) = waited(false);
    assert_eq!(of_run, Processor::Ppe);
    assert!(start >= Span::from_nanoseconds(1_675_000), "{start}");
    let (in_window, answers) = waited(true);
    assert_eq!(in_window, Processor::Spe(SpeId::new(1)));
    let computed = Span::from_femtoseconds(10 * 10_000 * 312_500);
    assert!(
        answers >= computed && answers < computed + computed / 2,
        "{answers}"
    );
}

#[test]
fn a_verdict_names_the_processor_that_the_busiest_spe_waits_for() {
    let found = Bottleneck::find(ps3, |sim| {
        let counters = ask_ten_times(sim, true)?;
        Ok::<_, Box<dyn std::error::Error>>(counters.elapsed)
    });
    let verdict = found.unwrap().verdict;
    let begin = "The bottleneck is the SPUs: SPE 0 computes for ";
    assert!(verdict.starts_with(begin), "{verdict}");
    let (_, waits) = verdict.split_once(" and waits for mailboxes for ").unwrap();
    assert!(waits.contains(" %, most of all for SPE 1 ("), "{verdict}");
    assert!(waits.ends_with(" %)."), "{verdict}");
}

#[test]
fn counters_are_debugged_as_they_are_displayed() {
    let counters = sum(&ps3().build().unwrap(), true);
    let hash = format!("trace hash {:016x}", counters.trace_hash);
    assert_eq!(format!("{counters:?}"), format!("{counters}{hash}"));
}

#[test]
fn each_part_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<_> = Part::ALL.iter().map(Part::to_string).collect();
    assert_eq!(names.len(), Part::ALL.len());
}

/// The end of the programs takes 5 us, which is no work.
#[test]
fn the_window_of_the_work_has_no_start_and_no_end_of_programs() {
    let run = |sim: &Sim| {
        let values = vec![1_u32; SPES * 4_096];
        let values = &values;
        sim.run(|ppe| {
            let shares = values.chunks(values.len() / SPES).zip(0..);
            let programs: Vec<_> = shares
                .map(|(share, spe)| {
                    ppe.spawn(SpeId::new(spe), move |spe| {
                        spe.read_in_mbox();
                        let staged = spe.stage(share).unwrap();
                        spe.compute(Cycles(staged.len() as u64 / 4));
                        spe.end_window();
                    })
                })
                .collect();
            ppe.begin_window();
            for spe in ppe.topology().spes() {
                ppe.write_in_mbox(spe, 0);
            }
            programs.into_iter().for_each(|one| one.join().unwrap());
        })?;
        Ok::<_, Box<dyn std::error::Error>>(sim.counters().unwrap().elapsed)
    };
    let found = Bottleneck::find(ps3, run).unwrap();
    let programs = found.parts.iter().find(|one| one.part == Part::Programs);
    assert!(programs.unwrap().saved.abs() < 0.001, "{found}");
}

#[test]
fn a_programs_own_report_is_that_of_the_command() {
    let run = |sim: &Sim| {
        let counters = sum(sim, true);
        Ok::<_, SimError>(counters.elapsed)
    };
    let found = Bottleneck::find(ps3, run).unwrap();
    let limit = found.without_limit().unwrap();
    assert_eq!(found.parts[0].part, limit.part);
    let text = found.to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], found.verdict);
    assert!(
        lines[1].starts_with("Without this limit the time would be "),
        "{text}"
    );
    assert_eq!((lines[2], lines[3]), (limit.advice.as_str(), ""));
    assert!(lines[4].starts_with("without  "), "{text}");
    assert!(lines[5].starts_with(&limit.part.to_string()), "{text}");

    // While the PPE starts a program, it is busy with this and with nothing else.
    let sim = ps3().build().unwrap();
    let busy = |counters: &Counters, part| counters.busiest(part).unwrap().busy;
    let all = sum(&sim, false);
    let start = sim.description().ppe.start_program_ps.value;
    let starts = Span::from_femtoseconds(u128::from(start) * 1_000 * SPES as u128);
    assert_eq!(busy(&all, Part::Programs), starts);
    assert!(busy(&all, Part::Ppe) < Span::from_nanoseconds(100_000));
    assert_eq!(busy(&sum(&sim, true), Part::Programs), Span::default());

    // The tables are those of `stats --counters`: parts that did nothing are left out.
    let sim = ps3().build().unwrap();
    let text = sum(&sim, true).to_string();
    let head = ["SPE  computing  ", "part   "];
    for head in head {
        assert!(text.lines().any(|line| line.starts_with(head)), "{text}");
    }
    assert!(text.contains(" 16.0 KB\n"), "{text}");
    assert!(text.contains("\nbusiest: "), "{text}");
    assert!(!text.contains("lock"), "{text}");
}
