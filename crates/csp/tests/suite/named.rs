//! Named channels: a process that looks up a channel waits until the channel is created. The error
//! of a misuse says which channel was misused.

use cellworks_csp::{
    Alternation, Any, Channel, Ended, Mistake, NamedError, Network, NetworkError, One, Reader,
    Writer,
};
use cellworks_machine::{Cycles, Machine, Spe};

use crate::{network, on_every_machine, spe};

on_every_machine![
    operations_wait_for_creation,
    processes_of_one_spe_wait_for_creation,
    an_alternation_takes_named_ends,
    several_readers_and_writers_take_ends,
    a_channel_for_several_stays_open_while_its_creator_runs,
    a_channel_closes_when_its_creator_and_its_users_have_ended,
    who_comes_late_finds_a_closed_channel,
    an_end_for_several_is_taken_as_one,
    an_id_is_created_twice,
    an_end_is_taken_twice,
    an_end_for_one_is_taken_to_be_cloned,
    the_items_have_another_type,
    a_misuse_fails_the_run_whatever_the_process_makes_of_it,
    ids_of_two_runs_are_not_the_same,
];

fn operations_wait_for_creation<M: Machine>(machine: &M) {
    for capacity in [0, 2] {
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            let mut numbers: Writer<u32> = process.writer(7)?;
            (0..10).try_for_each(|number| Ok(numbers.write(process, number)?))
        });
        network.process("creator", spe(1), move |process| {
            // Creates the channel late, so that the other processes wait.
            process.place().compute(Cycles(100_000));
            (0..100).for_each(|_| process.yield_now());
            let channel = Channel::new().buffered(capacity).one_to_one::<u32>();
            Ok(process.create(7, channel)?)
        });
        let read = network.run_with(|process| {
            let mut numbers: Reader<u32> = process.reader(7).unwrap();
            std::iter::from_fn(|| numbers.read(process).ok()).collect::<Vec<_>>()
        });
        assert_eq!(read.unwrap(), Vec::from_iter(0..10));
    }
}

fn processes_of_one_spe_wait_for_creation<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("writer", spe(2), |process| {
        let mut numbers: Writer<u32> = process.writer(1)?;
        Ok(numbers.write(process, 5)?)
    });
    network.process("relay", spe(2), |process| {
        let (mut input, mut output) = (process.reader::<u32, One>(1)?, process.writer(2)?);
        let number = input.read(process)?;
        let output: &mut Writer<u32> = &mut output;
        Ok(output.write(process, number + 1)?)
    });
    network.process("creator", spe(2), |process| {
        process.create(1, Channel::new().one_to_one::<u32>())?;
        Ok(process.create(2, Channel::new().one_to_one::<u32>())?)
    });
    let number = network.run_with(|process| process.reader::<u32, One>(2).unwrap().read(process));
    assert_eq!(number.unwrap(), Ok(6));
}

fn an_alternation_takes_named_ends<M: Machine>(machine: &M) {
    let mut network = network(machine);
    for index in 0..3_u16 {
        network.process(format!("writer {index}"), spe(index), move |process| {
            process.create(u64::from(index), Channel::new().one_to_one::<u16>())?;
            let mut writer: Writer<u16> = process.writer(u64::from(index))?;
            Ok(writer.write(process, index)?)
        });
    }
    let sum = network.run_with(|process| {
        let readers = (0..3).map(|id| process.reader::<u16, One>(id));
        let mut readers = readers.collect::<Result<Vec<_>, _>>()?;
        let mut any = Alternation::fair();
        let guards: Vec<_> = readers.iter_mut().map(|reader| any.read(reader)).collect();
        let mut sum = 0;
        for _ in 0..3 {
            let chosen = any.select(process)?;
            sum += any.take(process, &guards[chosen.index()]);
            any.when(&guards[chosen.index()], false);
        }
        Ok::<_, Ended>(sum)
    });
    assert_eq!(sum.unwrap(), Ok(3));
}

fn several_readers_and_writers_take_ends<M: Machine>(machine: &M) {
    let (done, mut results) = Channel::new().any_to_one::<u32>();
    let mut network = network(machine);
    for index in 0..2_u16 {
        network.process(format!("writer {index}"), spe(index), move |process| {
            let mut tasks: Writer<u32, Any> = process.writer(9)?;
            (0..10).try_for_each(|task| Ok(tasks.write(process, task)?))
        });
        let mut done = done.clone();
        network.process(format!("worker {index}"), spe(2 + index), move |process| {
            let tasks: Reader<u32, Any> = process.reader(9)?;
            let mut tasks = tasks.clone();
            loop {
                let task = tasks.read(process)?;
                done.write(process, task)?;
            }
        });
    }
    drop(done);
    let mut all = network
        .run_with(|process| {
            process.create(9, Channel::new().any_to_any::<u32>())?;
            let mut all = Vec::new();
            while all.len() < 20 {
                all.push(results.read(process)?);
            }
            Ok::<_, Ended>(all)
        })
        .unwrap()
        .unwrap();
    all.sort_unstable();
    let expected: Vec<_> = (0..10).flat_map(|task| [task, task]).collect();
    assert_eq!(all, expected);
}

/// The second writer comes after the first writer has dropped its end. Between the two, only the
/// network has a writer.
fn a_channel_for_several_stays_open_while_its_creator_runs<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (mut next, mut turn) = Channel::new().one_to_one::<()>();
    network.process("first", spe(0), move |process| {
        let mut numbers: Writer<u32> = process.writer(3)?;
        numbers.write(process, 1)?;
        drop(numbers);
        Ok(next.write(process, ())?)
    });
    network.process("second", spe(1), move |process| {
        turn.read(process)?;
        let mut numbers: Writer<u32> = process.writer(3)?;
        Ok(numbers.write(process, 2)?)
    });
    let read = network.run_with(|process| {
        process.create(3, Channel::new().any_to_one::<u32>())?;
        let mut numbers: Reader<u32> = process.reader(3)?;
        Ok::<_, Ended>([numbers.read(process)?, numbers.read(process)?])
    });
    assert_eq!(read.unwrap(), Ok([1, 2]));
}

fn a_channel_closes_when_its_creator_and_its_users_have_ended<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("creator", spe(0), |process| {
        Ok(process.create(3, Channel::new().any_to_one::<u32>())?)
    });
    network.process("writer", spe(1), |process| {
        let mut numbers: Writer<u32> = process.writer(3)?;
        Ok(numbers.write(process, 1)?)
    });
    let read = network.run_with(|process| {
        let mut numbers: Reader<u32> = process.reader(3).unwrap();
        (numbers.read(process), numbers.read(process))
    });
    assert_eq!(read.unwrap(), (Ok(1), Err(Ended::Closed)));
}

fn who_comes_late_finds_a_closed_channel<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("creator", spe(0), |process| {
        Ok(process.create(3, Channel::new().one_to_any::<u32>())?)
    });
    let read = network.run_with(|process| {
        let mut numbers: Writer<u32> = process.writer(3).unwrap();
        let first: Reader<u32> = process.reader(3).unwrap();
        // The network keeps a reader until the creator ends. Here the creator may have ended or
        // not.
        drop(first);
        let ended = (0..).find_map(|number| numbers.write(process, number).err());
        let ended = ended.map(|unsent| unsent.ended);
        let mut late: Reader<u32> = process.reader(3).unwrap();
        (ended, late.read(process))
    });
    assert_eq!(read.unwrap(), (Some(Ended::Closed), Err(Ended::Closed)));
}

fn an_end_for_several_is_taken_as_one<M: Machine>(machine: &M) {
    let mut network = network(machine);
    for index in 0..3 {
        network.process(format!("writer {index}"), spe(index), move |process| {
            let mut numbers: Writer<u16, One> = process.writer(3)?;
            Ok(numbers.write(process, index)?)
        });
    }
    let sum = network.run_with(|process| {
        process.create(3, Channel::new().any_to_one::<u16>())?;
        let mut numbers: Reader<u16> = process.reader(3)?;
        (0..3).try_fold(0, |sum, _| Ok::<_, Ended>(sum + numbers.read(process)?))
    });
    assert_eq!(sum.unwrap(), Ok(3));
}

/// Runs a network in which a process misuses a named channel. Returns the error of this process and
/// the text of the run's error.
fn misuse<M: Machine>(
    machine: &M,
    misuse: impl FnOnce(&cellworks_csp::Process<'_, M::Spe>) -> Result<(), NamedError> + Send,
) -> (NamedError, String) {
    let mut found = None;
    let mut network = network(machine);
    network.process("right", spe(0), |process| {
        process.create(7, Channel::new().one_to_any::<u32>())?;
        process.create(8, Channel::new().one_to_one::<()>())?;
        let mut numbers: Writer<u32> = process.writer(7)?;
        Ok(numbers.write(process, 1)?)
    });
    network.process("wrong", spe(1), |process| {
        // After this read, the other process has taken the writer.
        assert_eq!(process.reader::<u32, One>(7)?.read(process), Ok(1));
        let error = misuse(process).unwrap_err();
        found = Some(error.clone());
        Err(error.into())
    });
    let Err(NetworkError::Named(error)) = network.run() else {
        panic!("a misuse is an error of the run");
    };
    assert_eq!(found, Some(error.clone()));
    let text = error.to_string();
    assert_eq!(NetworkError::Named(error.clone()).to_string(), text);
    assert_eq!(format!("{error:?}"), text);
    // The line numbers in the text are left out.
    let places = text.split("named.rs:").enumerate().map(|(index, part)| {
        let number = |text: &str| {
            text.trim_start_matches(|c: char| c.is_ascii_digit())
                .to_owned()
        };
        match index {
            0 => part.to_owned(),
            _ => number(number(part).trim_start_matches(':')),
        }
    });
    (error, places.collect::<Vec<_>>().join("named.rs"))
}

fn an_id_is_created_twice<M: Machine>(machine: &M) {
    let (error, text) = misuse(machine, |process| {
        process.create(7, Channel::new().one_to_one::<String>())
    });
    assert_eq!((error.id(), error.mistake()), (7, &Mistake::Exists));
    assert_eq!(
        text,
        "the process `wrong` at crates/csp/tests/suite/named.rs was to create the channel 7, which exists: create each id \
         once; the process `right` at crates/csp/tests/suite/named.rs had created it"
    );
}

fn an_end_is_taken_twice<M: Machine>(machine: &M) {
    let (error, text) = misuse(machine, |process| process.writer::<u32, One>(7).map(drop));
    assert!(matches!(error.mistake(), Mistake::Taken { process, .. } if process == "right"));
    assert_eq!(
        text,
        "the process `wrong` at crates/csp/tests/suite/named.rs was to take an end of the channel 7 that one process may \
         have, and the process `right` has taken at crates/csp/tests/suite/named.rs: create a channel that several may use \
         there; the process `right` at crates/csp/tests/suite/named.rs had created it"
    );
}

fn an_end_for_one_is_taken_to_be_cloned<M: Machine>(machine: &M) {
    let (error, text) = misuse(machine, |process| process.reader::<(), Any>(8).map(drop));
    assert_eq!(error.mistake(), &Mistake::OneProcess);
    assert_eq!(
        text,
        "the process `wrong` at crates/csp/tests/suite/named.rs was to take an end of the channel 8 that can be cloned, \
         but one process may have it: take a `One`, or create a channel that several may use there; the process `right` at \
         crates/csp/tests/suite/named.rs had created it"
    );
}

fn the_items_have_another_type<M: Machine>(machine: &M) {
    let (error, text) = misuse(machine, |process| {
        process.reader::<String, Any>(7).map(drop)
    });
    let (wanted, carried) = ("alloc::string::String", "u32");
    assert_eq!(error.mistake(), &Mistake::Item { wanted, carried });
    assert_eq!(
        text,
        "the process `wrong` at crates/csp/tests/suite/named.rs was to take an end of the channel 7 for items of the type \
         `alloc::string::String`, but it carries `u32`; the process `right` at crates/csp/tests/suite/named.rs had created \
         it"
    );
}

fn a_misuse_fails_the_run_whatever_the_process_makes_of_it<M: Machine>(machine: &M) {
    let result = network(machine).run_with(|process| {
        process
            .create(7, Channel::new().one_to_one::<u32>())
            .unwrap();
        process
            .create(7, Channel::new().one_to_one::<u32>())
            .is_err()
    });
    let Err(NetworkError::Named(error)) = result else {
        panic!("a misuse is an error of the run");
    };
    assert_eq!(error.mistake(), &Mistake::Exists);
    assert_eq!(Ended::from(error), Ended::Poisoned);
}

fn ids_of_two_runs_are_not_the_same<M: Machine>(machine: &M) {
    for _ in 0..2 {
        let result = network(machine)
            .run_with(|process| process.create(7, Channel::new().one_to_one::<u32>()));
        assert_eq!(result.unwrap(), Ok(()));
    }
}

#[test]
#[should_panic(expected = "of a writer and a reader of two different channels")]
fn ends_of_two_channels_are_no_channel() {
    let result = Network::on(&crate::host()).run_with(|process| {
        let (writer, _) = Channel::new().one_to_one::<u32>();
        let (_, reader) = Channel::new().one_to_one::<u32>();
        process.create(7, (writer, reader))
    });
    result.unwrap_or_else(|error| error.resume()).unwrap();
}

#[test]
#[should_panic(expected = "the channel 7 was to be created again, as the channel 8")]
fn a_channel_has_one_id() {
    let result = Network::on(&crate::host()).run_with(|process| {
        let (writer, reader) = Channel::new().any_to_any::<u32>();
        let again = (writer.clone(), reader.clone());
        process.create(7, (writer, reader))?;
        process.create(8, again)
    });
    result.unwrap_or_else(|error| error.resume()).unwrap();
}

#[test]
fn creation_may_come_whenever_it_does() {
    for seed in 1..=100 {
        let machine = crate::qs22_with_seed(seed);
        operations_wait_for_creation(&machine);
        several_readers_and_writers_take_ends(&machine);
        a_channel_for_several_stays_open_while_its_creator_runs(&machine);
        who_comes_late_finds_a_closed_channel(&machine);
    }
}
