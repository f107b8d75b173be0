//! Mailboxes, signals and clocks.

use std::sync::atomic::{AtomicU32, Ordering};

use cellworks::machine::mailbox::{MailboxStatus, Outbound};
use cellworks::machine::{
    CellMachine, CellSpe, Cycles, SignalMode, SignalRegister, Span, Spe, Wake,
};

use crate::{on_every_cell, spe};

on_every_cell![
    the_inbound_mailbox_holds_four_words_in_order,
    a_fifth_word_waits_for_room,
    each_outbound_mailbox_holds_one_word,
    spes_write_to_each_others_mailboxes,
    many_writers_lose_no_word,
    a_signal_is_read_once,
    overwrite_mode_keeps_the_last_signal,
    or_mode_gathers_the_bits,
    signals_of_many_senders_are_ored,
    mailbox_ping_pong_of_two_spes,
    what_comes_before_a_program_starts_is_kept,
    the_ppe_looks_at_mailboxes_and_takes_no_word,
    an_spe_looks_at_its_mailboxes_and_signals,
    a_condition_may_look_at_mailboxes,
    a_condition_may_wait_for_room_in_a_mailbox,
    a_ppe_that_polls_and_yields_lets_its_spes_run,
    a_ppe_that_polls_memory_and_yields_lets_its_spes_run,
    the_ppe_and_spes_have_one_time_base,
    a_condition_may_send_and_wait_for_the_answer,
    the_decrementer_counts_down,
    time_goes_on,
    a_machine_tells_what_it_has,
];

fn the_inbound_mailbox_holds_four_words_in_order<M: CellMachine>(machine: &M) {
    let read = machine
        .run(|ppe| {
            for word in 10..14 {
                ppe.try_write_in_mbox(spe(0), word).unwrap();
            }
            let full = ppe.try_write_in_mbox(spe(0), 14).unwrap_err();
            assert_eq!((full.spe, full.word), (spe(0), 14));
            let program = |spe: &M::Spe| {
                assert_eq!(spe.in_mbox_count(), 4);
                let words = [(); 4].map(|()| spe.read_in_mbox());
                assert_eq!((spe.in_mbox_count(), spe.try_read_in_mbox()), (0, None));
                words
            };
            ppe.spawn(spe(0), program).join().unwrap()
        })
        .unwrap();
    assert_eq!(read, [10, 11, 12, 13]);
}

fn a_fifth_word_waits_for_room<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            let reader = ppe.spawn(spe(1), |spe: &M::Spe| {
                (0..100).all(|word| spe.read_in_mbox() == word)
            });
            for word in 0..100 {
                ppe.write_in_mbox(spe(1), word);
            }
            assert!(reader.join().unwrap());
        })
        .unwrap();
}

fn each_outbound_mailbox_holds_one_word<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            let fills_both = |spe: &M::Spe| {
                spe.try_write_out_mbox(Outbound::Plain, 1).unwrap();
                spe.try_write_out_mbox(Outbound::Interrupt, 2).unwrap();
                let full = spe.try_write_out_mbox(Outbound::Interrupt, 3).unwrap_err();
                assert_eq!((full.mailbox, full.word), ("outbound interrupt mailbox", 3));
            };
            ppe.spawn(spe(0), fills_both).join().unwrap();
            drop(ppe.spawn(spe(0), |spe: &M::Spe| {
                spe.write_out_mbox(Outbound::Plain, 4)
            }));
            assert_eq!(ppe.read_out_mbox(spe(0), Outbound::Interrupt), 2);
            assert_eq!(ppe.try_read_out_mbox(spe(0), Outbound::Interrupt), None);
            assert_eq!(ppe.read_out_mbox(spe(0), Outbound::Plain), 1);
            assert_eq!(ppe.read_out_mbox(spe(0), Outbound::Plain), 4);
        })
        .unwrap();
}

fn spes_write_to_each_others_mailboxes<M: CellMachine>(machine: &M) {
    // Each SPE of a ring adds one to a token and passes the token on.
    let token = machine
        .run(|ppe| {
            let count = ppe.topology().spes().len() as u16;
            for at in 1..count {
                drop(ppe.spawn(spe(at), move |this: &M::Spe| {
                    for _ in 0..50 {
                        let token = this.read_in_mbox();
                        this.write_in_mbox_of(spe((at + 1) % count), token + 1);
                    }
                }));
            }
            let first = ppe.spawn(spe(0), |this: &M::Spe| {
                let mut token = 0;
                for _ in 0..50 {
                    this.write_in_mbox_of(spe(1), token + 1);
                    token = this.read_in_mbox();
                }
                token
            });
            first.join().unwrap()
        })
        .unwrap();
    assert_eq!(token, 200);
}

fn many_writers_lose_no_word<M: CellMachine>(machine: &M) {
    const WORDS: u32 = 500;
    let sum = machine
        .run(|ppe| {
            let reader = ppe.spawn(spe(0), |spe: &M::Spe| {
                (0..4 * WORDS)
                    .map(|_| u64::from(spe.read_in_mbox()))
                    .sum::<u64>()
            });
            for at in 1..4 {
                drop(ppe.spawn(spe(at), |this: &M::Spe| {
                    for word in 1..=WORDS {
                        this.write_in_mbox_of(spe(0), word);
                    }
                }));
            }
            for word in 1..=WORDS {
                ppe.write_in_mbox(spe(0), word);
            }
            reader.join().unwrap()
        })
        .unwrap();
    assert_eq!(sum, 4 * u64::from(WORDS) * u64::from(WORDS + 1) / 2);
}

fn a_signal_is_read_once<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            ppe.send_signal(spe(0), SignalRegister::Two, 5);
            let program = |spe: &M::Spe| {
                assert_eq!(spe.try_read_signal(SignalRegister::One), None);
                assert_eq!(spe.read_signal(SignalRegister::Two), 5);
                assert_eq!(spe.try_read_signal(SignalRegister::Two), None);
                // A word of 0 is a signal as well.
                spe.send_signal(spe.id(), SignalRegister::One, 0);
                assert_eq!(spe.try_read_signal(SignalRegister::One), Some(0));
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn overwrite_mode_keeps_the_last_signal<M: CellMachine>(machine: &M) {
    let read = machine
        .run(|ppe| {
            ppe.send_signal(spe(0), SignalRegister::One, 1);
            ppe.send_signal(spe(0), SignalRegister::One, 2);
            let program = |spe: &M::Spe| spe.read_signal(SignalRegister::One);
            ppe.spawn(spe(0), program).join().unwrap()
        })
        .unwrap();
    assert_eq!(read, 2);
}

fn or_mode_gathers_the_bits<M: CellMachine>(machine: &M) {
    let read = machine
        .run(|ppe| {
            ppe.set_signal_mode(spe(0), SignalRegister::One, SignalMode::Or);
            ppe.send_signal(spe(0), SignalRegister::One, 1);
            ppe.send_signal(spe(0), SignalRegister::One, 6);
            let program = |spe: &M::Spe| spe.read_signal(SignalRegister::One);
            ppe.spawn(spe(0), program).join().unwrap()
        })
        .unwrap();
    assert_eq!(read, 7);
}

fn signals_of_many_senders_are_ored<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            ppe.set_signal_mode(spe(0), SignalRegister::One, SignalMode::Or);
            for at in 1..4 {
                drop(ppe.spawn(spe(at), move |this: &M::Spe| {
                    this.send_signal(spe(0), SignalRegister::One, 1 << at);
                }));
            }
            let gatherer = ppe.spawn(spe(0), |spe: &M::Spe| {
                let mut bits = 0;
                while bits != 0b1110 {
                    bits |= spe.read_signal(SignalRegister::One);
                }
            });
            gatherer.join().unwrap();
        })
        .unwrap();
}

fn mailbox_ping_pong_of_two_spes<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            drop(ppe.spawn(spe(1), |this: &M::Spe| {
                for _ in 0..2_000 {
                    let word = this.read_in_mbox();
                    this.write_in_mbox_of(spe(0), word + 1);
                }
            }));
            let pinger = ppe.spawn(spe(0), |this: &M::Spe| {
                (0..2_000).all(|round| {
                    this.write_in_mbox_of(spe(1), 2 * round);
                    this.read_in_mbox() == 2 * round + 1
                })
            });
            assert!(pinger.join().unwrap());
        })
        .unwrap();
}

fn the_decrementer_counts_down<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                spe.set_decrementer(1 << 30);
                let start = spe.now();
                let enough = spe.timebase().span_of(1_000);
                while spe.now().since(start) < enough {
                    spe.yield_now();
                }
                assert!(spe.decrementer() <= (1 << 30) - 1_000);
                // The slowest decrementer is that of a QS20, with 14.318 MHz.
                assert!(spe.timebase().hertz() >= 14_318_000);
            };
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn time_goes_on<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            let start = ppe.now();
            let at_spe = ppe.spawn(spe(0), |spe: &M::Spe| spe.now()).join().unwrap();
            // All processors of a run have one clock.
            assert!(start <= at_spe && at_spe <= ppe.now());
        })
        .unwrap();
}

fn a_machine_tells_what_it_has<M: CellMachine>(machine: &M) {
    let topology = machine.topology();
    assert_eq!(topology.spes().len(), crate::SPES);
    let of_cells: usize = topology
        .cells()
        .map(|cell| topology.spes_of(cell).count())
        .sum();
    assert_eq!(of_cells, crate::SPES);
    for cell in topology.cells() {
        let nearest = topology.nearest_module(cell);
        assert!(topology.modules().any(|module| module == nearest));
    }
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| (spe.id(), spe.topology().spes().len());
            assert_eq!(
                ppe.spawn(spe(3), program).join().unwrap(),
                (spe(3), crate::SPES)
            );
        })
        .unwrap();
}

fn what_comes_before_a_program_starts_is_kept<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            for round in 0..2 {
                ppe.write_in_mbox(spe(0), round);
                ppe.send_signal(spe(0), SignalRegister::One, 5 + round);
                let program = |spe: &M::Spe| {
                    let count = spe.in_mbox_count();
                    let signal = spe.try_read_signal(SignalRegister::One);
                    (count, spe.try_read_in_mbox(), signal)
                };
                let read = ppe.spawn(spe(0), program).join().unwrap();
                assert_eq!(read, (1, Some(round), Some(5 + round)));
            }
        })
        .unwrap();
}

fn the_ppe_looks_at_mailboxes_and_takes_no_word<M: CellMachine>(machine: &M) {
    let status = |outbound, inbound_room, outbound_interrupt| MailboxStatus {
        outbound,
        inbound_room,
        outbound_interrupt,
    };
    machine
        .run(|ppe| {
            assert_eq!(ppe.mailbox_status(spe(0)), status(0, 4, 0));
            for word in 0..3 {
                ppe.write_in_mbox(spe(0), word);
            }
            // A word under way takes its place in the mailbox already.
            assert_eq!(ppe.mailbox_status(spe(0)), status(0, 1, 0));
            assert_eq!(ppe.mailbox_status(spe(1)), status(0, 4, 0));
            let program = |spe: &M::Spe| {
                spe.read_in_mbox();
                spe.write_out_mbox(Outbound::Plain, 8);
                spe.write_out_mbox(Outbound::Interrupt, 9);
            };
            ppe.spawn(spe(0), program).join().unwrap();
            for _ in 0..2 {
                assert_eq!(ppe.mailbox_status(spe(0)), status(1, 2, 1));
            }
            assert_eq!(ppe.read_out_mbox(spe(0), Outbound::Plain), 8);
            assert_eq!(ppe.mailbox_status(spe(0)), status(0, 2, 1));
            assert_eq!(ppe.read_out_mbox(spe(0), Outbound::Interrupt), 9);
            assert_eq!(ppe.mailbox_status(spe(0)), status(0, 2, 0));
        })
        .unwrap();
}

fn an_spe_looks_at_its_mailboxes_and_signals<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let room =
                    || [Outbound::Plain, Outbound::Interrupt].map(|it| spe.out_mbox_room(it));
                assert_eq!(room(), [1, 1]);
                spe.write_out_mbox(Outbound::Plain, 1);
                assert_eq!(room(), [0, 1]);
                spe.write_out_mbox(Outbound::Interrupt, 1);
                assert_eq!(room(), [0, 0]);
                let has = |register| spe.has_signal(register);
                spe.read_in_mbox();
                for _ in 0..2 {
                    assert!(!has(SignalRegister::One) && has(SignalRegister::Two));
                }
                assert_eq!(spe.read_signal(SignalRegister::Two), 0);
                assert!(!has(SignalRegister::Two));
            };
            let program = ppe.spawn(spe(0), program);
            // A signal of no bits is a signal.
            ppe.send_signal(spe(0), SignalRegister::Two, 0);
            ppe.write_in_mbox(spe(0), 0);
            program.join().unwrap();
            // Words that no program has read stay for the PPE.
            assert_eq!(ppe.read_out_mbox(spe(0), Outbound::Plain), 1);
        })
        .unwrap();
}

fn a_condition_may_look_at_mailboxes<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            drop(ppe.spawn(spe(2), |spe: &M::Spe| {
                spe.write_out_mbox(Outbound::Interrupt, spe.read_in_mbox() + 1);
            }));
            ppe.write_in_mbox(spe(2), 6);
            let mut looks = 0;
            ppe.wait_until(&"a word of SPE 2", &mut || {
                looks += 1;
                ppe.mailbox_status(spe(2)).outbound_interrupt == 1
            });
            assert!(looks > 0);
            assert_eq!(ppe.try_read_out_mbox(spe(2), Outbound::Interrupt), Some(7));
        })
        .unwrap();
}

fn a_condition_may_wait_for_room_in_a_mailbox<M: CellMachine>(machine: &M) {
    for looks_first in [true, false] {
        let read = machine
            .run(|ppe| {
                let reader = ppe.spawn(spe(1), |spe: &M::Spe| {
                    let read = |_| {
                        // Meanwhile the PPE of a host sleeps.
                        let later = spe.now() + Span::from_nanoseconds(1_000_000);
                        spe.wait_until_deadline(&"a moment", later, &mut || false);
                        spe.read_in_mbox()
                    };
                    (0..20).map(read).sum::<u32>()
                });
                for word in 0..20 {
                    ppe.wait_until(&"room in the inbound mailbox of SPE 1", &mut || {
                        let has_room = !looks_first || ppe.mailbox_status(spe(1)).inbound_room > 0;
                        has_room && ppe.try_write_in_mbox(spe(1), word).is_ok()
                    });
                }
                reader.join().unwrap()
            })
            .unwrap();
        assert_eq!(read, 19 * 20 / 2);
    }
}

fn a_ppe_that_polls_and_yields_lets_its_spes_run<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            let echo = |spe: &M::Spe| {
                for _ in 0..100 {
                    spe.write_out_mbox(Outbound::Plain, spe.read_in_mbox());
                }
            };
            let spes: Vec<_> = ppe.topology().spes().collect();
            spes.iter().for_each(|to| drop(ppe.spawn(*to, echo)));
            for round in 0..100 {
                spes.iter().for_each(|to| ppe.write_in_mbox(*to, round));
                for from in &spes {
                    while ppe.mailbox_status(*from).outbound == 0 {
                        ppe.yield_now();
                    }
                    assert_eq!(ppe.read_out_mbox(*from, Outbound::Plain), round);
                }
            }
        })
        .unwrap();
}

fn a_ppe_that_polls_memory_and_yields_lets_its_spes_run<M: CellMachine>(machine: &M) {
    let flag = AtomicU32::new(0);
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                spe.compute(Cycles(1_000));
                spe.read_in_mbox();
                flag.fetch_add(1, Ordering::Relaxed);
            };
            let spes: Vec<_> = ppe.topology().spes().collect();
            spes.iter().for_each(|to| drop(ppe.spawn(*to, program)));
            spes.iter().for_each(|to| ppe.write_in_mbox(*to, 0));
            while flag.load(Ordering::Relaxed) < spes.len() as u32 {
                ppe.yield_now();
            }
        })
        .unwrap();
}

fn the_ppe_and_spes_have_one_time_base<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            let of_spe = ppe.spawn(spe(0), |spe: &M::Spe| spe.timebase());
            assert_eq!(ppe.timebase(), of_spe.join().unwrap());
        })
        .unwrap();
}

fn a_condition_may_send_and_wait_for_the_answer<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = ppe.spawn(spe(0), |this: &M::Spe| {
                let signal = this.read_signal(SignalRegister::One);
                let word = this.read_in_mbox();
                this.write_out_mbox(Outbound::Plain, signal + word);
            });
            let mut has_sent = false;
            let mut answer = None;
            ppe.wait_until(&"an answer", &mut || {
                if !has_sent {
                    ppe.send_signal(spe(0), SignalRegister::One, 1);
                    has_sent = ppe.try_write_in_mbox(spe(0), 41).is_ok();
                }
                answer = ppe.try_read_out_mbox(spe(0), Outbound::Plain);
                answer.is_some()
            });
            assert_eq!(answer, Some(42));
            program.join().unwrap();
        })
        .unwrap();
}
