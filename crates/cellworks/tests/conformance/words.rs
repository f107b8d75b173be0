//! Mailboxes, signals and clocks.

use cellworks::machine::mailbox::Outbound;
use cellworks::machine::{CellMachine, CellSpe, SignalMode, SignalRegister, Spe, Wake};

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
