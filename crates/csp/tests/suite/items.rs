//! The kinds of items: collections, shared values, and ends of channels.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cellworks_csp::{Any, Channel, Ended, Foreign, Item, Reader, Writer, item};
use cellworks_machine::Machine;

use crate::{network, on_every_machine, spe};

on_every_machine![
    collections_arrive_whole,
    values_of_other_crates_arrive_whole,
    answers_come_by_an_end_that_was_written,
    ends_travel_through_several_processes,
    a_pipeline_is_put_together_by_ends_that_are_written,
    a_client_hears_of_a_server_that_ends_before_it_reads,
];

mod charged {
    crate::with_every_transport![a_shared_value_is_charged_as_a_copy];
    use super::a_shared_value_is_charged_as_a_copy;
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Nothing,
    Circle(f32),
    Polygon {
        name: String,
        points: Vec<(f32, f32)>,
    },
}
item!(enum Shape { Nothing, Circle(radius), Polygon { name, points } });

#[derive(Clone, Debug, PartialEq)]
struct Scene {
    shapes: VecDeque<Shape>,
    after: Duration,
}
item!(struct Scene { shapes, after });

/// Writes an item on one SPE and reads the item on another SPE.
fn travels<M: Machine, T: Item + Clone + PartialEq + Debug>(machine: &M, item: T, bytes: usize) {
    assert_eq!(item.bytes(), bytes, "{item:?}");
    let (mut writer, mut reader) = Channel::new().one_to_one::<T>();
    let mut network = network(machine);
    let copy = item.clone();
    network.process("writer", spe(0), move |process| {
        Ok(writer.write(process, copy)?)
    });
    network.process("reader", spe(1), move |process| {
        assert_eq!(reader.read(process)?, item);
        Ok(())
    });
    network.run().unwrap();
}

fn values_of_other_crates_arrive_whole<M: Machine>(machine: &M) {
    let path = PathBuf::from("/a/path/on/the/heap");
    travels(machine, Foreign(path), size_of::<PathBuf>());
}

fn collections_arrive_whole<M: Machine>(machine: &M) {
    travels(machine, VecDeque::from([1_u32, 2, 3]), 12);
    travels(machine, BTreeSet::from([1_u64, 2]), 16);
    travels(machine, HashSet::from([1_u8, 2, 3]), 3);
    travels(machine, BTreeMap::from([(1_u32, "one".to_owned())]), 7);
    travels(machine, HashMap::from([(1_u32, [1_u32; 3])]), 16);
    travels(machine, Duration::from_micros(5), size_of::<Duration>());
    travels(
        machine,
        (1_u8, 2_u8, 3_u16, 4_u32, 5_u64, 6_u8, 7_u8, 8_u8),
        19,
    );
    travels(machine, Arc::new(vec![1_u32; 10]), 40);
    travels(machine, Arc::<str>::from("text"), 4);
    travels(machine, Box::<str>::from("text"), 4);
    let polygon = Shape::Polygon {
        name: "line".to_owned(),
        points: vec![(0.0, 0.0), (1.0, 2.0)],
    };
    let scene = Scene {
        shapes: VecDeque::from([Shape::Nothing, Shape::Circle(1.0), polygon]),
        after: Duration::from_secs(1),
    };
    travels(machine, scene, 4 + 4 + 16 + size_of::<Duration>());
}

fn a_shared_value_is_charged_as_a_copy<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().one_to_one::<Arc<Vec<u8>>>();
    let mut network = network(machine);
    let value = Arc::new(vec![7; 1_000]);
    let shared = Arc::clone(&value);
    network.process("writer", spe(0), move |process| {
        Ok(writer.write(process, shared)?)
    });
    network.process("reader", spe(1), move |process| {
        assert!(Arc::ptr_eq(&reader.read(process)?, &value));
        Ok(())
    });
    let ((), traffic) = network.run_counted(|_| ()).unwrap();
    assert_eq!(traffic.bytes_moved, 1_000);
}

fn answers_come_by_an_end_that_was_written<M: Machine>(machine: &M) {
    for capacity in [0, 2] {
        let questions = Channel::new().named("questions").buffered(capacity);
        let (question, mut questions) = questions.any_to_one::<(u32, Writer<u32>)>();
        let mut network = network(machine);
        network.process("server", spe(0), move |process| {
            loop {
                let (number, mut answer) = questions.read(process)?;
                answer.write(process, number * number)?;
            }
        });
        for index in 0..4_u32 {
            let mut question = question.clone();
            network.process(
                format!("client {index}"),
                spe(index as u16),
                move |process| {
                    for number in index..index + 20 {
                        let channel = Channel::new().buffered(number as usize % 3);
                        let (answer, mut answered) = channel.one_to_one();
                        question.write(process, (number, answer))?;
                        assert_eq!(answered.read(process), Ok(number * number));
                        assert_eq!(answered.read(process), Err(Ended::Closed));
                    }
                    Ok(())
                },
            );
        }
        drop(question);
        network.run().unwrap();
    }
}

/// Each process reads or writes one item by an end, and passes the end on to a process of the same
/// SPE or of another SPE.
fn ends_travel_through_several_processes<M: Machine>(machine: &M) {
    const HOPS: u32 = 8;
    for capacity in [0, 3] {
        let (writer, reader) = Channel::new().buffered(capacity).one_to_one::<u32>();
        let (mut first_writer, mut next_writer) = Channel::new().one_to_one::<Writer<u32>>();
        let (mut first_reader, mut next_reader) = Channel::new().one_to_one::<Reader<u32>>();
        let mut network = network(machine);
        for hop in 0..HOPS {
            let (mut on, after) = Channel::new().one_to_one();
            let mut before = std::mem::replace(&mut next_writer, after);
            network.process(
                format!("writer {hop}"),
                spe(hop as u16 / 2 % 4),
                move |process| {
                    let mut end = before.read(process)?;
                    end.write(process, hop)?;
                    Ok(on.write(process, end)?)
                },
            );
            let (mut on, after) = Channel::new().one_to_one();
            let mut before = std::mem::replace(&mut next_reader, after);
            network.process(
                format!("reader {hop}"),
                spe(hop as u16 / 3 % 4),
                move |process| {
                    let mut end = before.read(process)?;
                    assert_eq!(end.read(process), Ok(hop));
                    Ok(on.write(process, end)?)
                },
            );
        }
        network
            .run_with(|process| {
                first_writer.write(process, writer).unwrap();
                first_reader.write(process, reader).unwrap();
                drop(next_writer.read(process).unwrap());
                let mut reader = next_reader.read(process).unwrap();
                assert_eq!(reader.read(process), Err(Ended::Closed));
            })
            .unwrap();
    }
}

/// The main process makes the channels of a pipeline while the network runs.
fn a_pipeline_is_put_together_by_ends_that_are_written<M: Machine>(machine: &M) {
    type Stage = (Reader<u32>, Writer<u32, Any>);
    const STAGES: u32 = 6;
    let mut network = network(machine);
    let mut stages = Vec::new();
    for index in 0..STAGES {
        let (to_stage, mut at_stage) = Channel::new().one_to_one::<Stage>();
        stages.push(to_stage);
        network.process(
            format!("stage {index}"),
            spe(index as u16 % 4),
            move |process| {
                let (mut input, mut output) = at_stage.read(process)?;
                loop {
                    let number = input.read(process)?;
                    output.write(process, number + 1)?;
                }
            },
        );
    }
    let sum = network.run_with(|process| {
        let (mut source, mut input) = Channel::new().buffered(2).any_to_one::<u32>();
        for (index, mut stage) in stages.into_iter().enumerate() {
            let (output, next) = Channel::new().buffered(index % 3).any_to_one();
            stage.write(process, (input, output)).unwrap();
            input = next;
        }
        let mut sum = 0;
        for number in 0..10 {
            source.write(process, number).unwrap();
            sum += input.read(process).unwrap();
        }
        drop(source);
        assert_eq!(input.read(process), Err(Ended::Closed));
        sum
    });
    assert_eq!(sum.unwrap(), (0..10).map(|number| number + STAGES).sum());
}

/// The buffer with the request, which holds the writer for the answer, is never read.
fn a_client_hears_of_a_server_that_ends_before_it_reads<M: Machine>(machine: &M) {
    let (mut question, questions) = Channel::new().buffered(4).one_to_one::<Writer<u32>>();
    let (mut is_there, mut go_on) = Channel::new().one_to_one::<()>();
    let mut network = network(machine);
    network.process("server", spe(0), move |process| {
        go_on.read(process)?;
        drop(questions);
        Ok(())
    });
    network.process("client", spe(1), move |process| {
        let (answer, mut answered) = Channel::new().one_to_one();
        question.write(process, answer)?;
        is_there.write(process, ())?;
        assert_eq!(answered.read(process), Err(Ended::Closed));
        Ok(())
    });
    network.run().unwrap();
}
