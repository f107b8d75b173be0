//! Programs that run, are placed by what their parts have sent to each other, and run again, on a
//! computer that is simulated from published latencies.

use std::collections::BTreeMap;

use cellworks_apps::{
    Bag, BarnesHut, CommsTime, Deployment, Knn, Lu, Mandelbrot, OnOff, Placement, Program,
    Prototein, Ratio, Scheduler, Server, Transport, Workers,
};
use cellworks_csp::{Channel, Network};
use cellworks_machine::{Flows, Processor, SpeId, latency_table};
use cellworks_mapping::{Costs, Limit, Problem, Search, Volumes};
use cellworks_sim::{Description, Sim};

/// The latencies between the 32 CPUs of an AMD Threadripper 1950X, by Nicolas Viennot.
const LATENCIES: &str = include_str!("../../../cellworks/examples/threadripper-1950x.csv");

fn threadripper() -> Sim {
    let description = Description::from_matrix(LATENCIES, "threadripper-1950x.csv");
    Sim::new(description.unwrap()).unwrap()
}

/// The SPE of each task, and the costs of a run as it was and as it is placed by its volumes.
struct Placed {
    places: Vec<SpeId>,
    before: f64,
    after: f64,
}

/// Finds places for the tasks of a run. An SPE takes as many tasks as one had in the run.
fn placed(flows: &Flows) -> Placed {
    let tasks = flows.of_tasks();
    let ran_on: Vec<usize> = tasks
        .parties()
        .iter()
        .map(|task| match task.at {
            Some(Processor::Spe(spe)) => spe.index(),
            _ => panic!("{} is on no SPE", task.name),
        })
        .collect();
    let mut together = BTreeMap::<usize, usize>::new();
    for spe in &ran_on {
        *together.entry(*spe).or_default() += 1;
    }
    let costs = Costs::from_rows(&latency_table(LATENCIES).unwrap().rows).unwrap();
    let problem = Problem::builder(Volumes::from_flows(flows), costs)
        .capacity(*together.values().max().unwrap())
        .build()
        .unwrap();
    let found = Search::new(Limit::Iterations(20_000)).find(&problem);
    Placed {
        places: found.placement.spes().collect(),
        before: problem.cost(&problem.placement(ran_on).unwrap()),
        after: found.cost,
    }
}

/// Runs a program, places it, and runs it again. Returns the costs before and after.
fn cost_before_and_after<P: Program>(program: &P) -> (f64, f64) {
    let machine = threadripper();
    let title = program.title();
    let run = |placement| {
        let mut deployment = Deployment {
            placement,
            counts: true,
            flows: None,
        };
        let quantities = program.run_as(&machine, &mut |_| {}, &mut deployment);
        assert!(!quantities.expect(&title).is_empty(), "{title}");
        deployment.flows.expect("it counts")
    };
    let flows = run(None);
    assert!(flows.of_tasks().iter().len() > 0, "{title}: {flows}");
    let placed = placed(&flows);
    let again = run(Some(placed.places.clone()));
    let of_tasks = again.of_tasks();
    let places = of_tasks.parties().iter().map(|task| task.at);
    let expected = placed.places.into_iter().map(Processor::Spe).map(Some);
    assert!(places.eq(expected), "{title}: {again}");
    assert!(
        placed.after <= placed.before,
        "{title}: {} {}",
        placed.after,
        placed.before
    );
    (placed.before, placed.after)
}

fn on_eight() -> Placement {
    Placement {
        spes: 8,
        threads: 1,
        transport: Transport::Direct,
    }
}

#[test]
fn networks_cost_less_where_their_volumes_place_them() {
    let placement = on_eight();
    let (before, after) = cost_before_and_after(&CommsTime {
        placement,
        rounds: 100,
    });
    // Eight CPUs of one die in place of eight of two.
    assert!(after < 0.6 * before, "{after} {before}");
    cost_before_and_after(&Server {
        spes: 8,
        clients: 4,
        workers: 2,
        cycles: 2_000,
        requests: 50,
    });
    cost_before_and_after(&Knn {
        placement,
        points: 400,
        dimensions: 2,
        neighbours: 1,
        block_points: 10,
    });
    cost_before_and_after(&Ratio {
        placement,
        operations: 100,
        steps: 50,
    });
    cost_before_and_after(&Prototein {
        placement,
        prototein: "HPHPPHHPHP".to_owned(),
        bag: Bag::Spe,
        placed: None,
    });
}

/// The workers communicate only with the main program then, which has no place to choose.
#[test]
fn prototeins_with_a_bag_on_the_ppe_have_no_graph() {
    let program = Prototein {
        placement: on_eight(),
        prototein: "HPHPPHHPHP".to_owned(),
        bag: Bag::Ppe,
        placed: None,
    };
    let mut deployment = Deployment {
        counts: true,
        ..Deployment::default()
    };
    program
        .run_as(&threadripper(), &mut |_| {}, &mut deployment)
        .unwrap();
    let flows = deployment.flows.unwrap();
    assert_eq!(flows.of_tasks().iter().len(), 0);
    assert!(flows.between("main", "worker 0").messages > 0);
}

#[test]
fn pools_cost_no_more_where_their_volumes_place_them() {
    let workers = Workers {
        workers: 6,
        buffering: OnOff::Off,
        dicing: OnOff::On,
        scheduler: Scheduler::Stealing,
    };
    cost_before_and_after(&Lu { workers, size: 128 });
    cost_before_and_after(&BarnesHut {
        workers,
        bodies: 2_000,
        steps: 1,
    });
    cost_before_and_after(&Mandelbrot {
        workers,
        tasks: 1,
        frames: 1,
        iterations: 100,
    });
}

/// Eight rings of eight processes: process 0 to 8, to 16 and so on.
#[test]
fn sixty_four_processes_in_rings_cost_a_fifth_where_their_volumes_place_them() {
    let machine = threadripper();
    let run = |places: &[SpeId]| {
        let channels = (0..64).map(|_| Channel::new().buffered(1).one_to_one::<u64>());
        let (outputs, mut inputs): (Vec<_>, Vec<_>) = channels.unzip();
        inputs.rotate_right(8);
        let mut network = Network::on(&machine);
        for (at, (mut output, mut input)) in outputs.into_iter().zip(inputs).enumerate() {
            network.process(format!("process {at}"), places[at], move |process| {
                for number in 0..20 {
                    output.write(process, number)?;
                    input.read(process)?;
                }
                Ok(())
            });
        }
        let counted = network.count_volumes();
        network.run().unwrap();
        counted.flows()
    };
    let in_order: Vec<SpeId> = (0..64).map(|at| SpeId::new(at / 2)).collect();
    let flows = run(&in_order);
    let placed = placed(&flows);
    assert!(
        placed.after < 0.2 * placed.before,
        "{} {}",
        placed.after,
        placed.before
    );
    let again = run(&placed.places);
    assert!(
        again.iter().eq(flows.iter()),
        "the same processes send the same items"
    );
}
