//! Classic concurrent programs against the documented interface, each checked against plain code.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cellworks_csp::{
    Alternation, Any, Channel, Ended, Network, Place, Process, ProcessError, Reader, Starter,
    Writer,
};
use cellworks_machine::{Machine, Spe};

use crate::{machines, network, on_every_machine, spe};

#[path = "../../examples/power_series.rs"]
#[expect(dead_code, reason = "its main function is for the example")]
mod power_series;
#[path = "../../examples/santa_claus.rs"]
#[expect(dead_code, reason = "its main function is for the example")]
mod santa_claus;
#[path = "../../examples/sieve.rs"]
#[expect(dead_code, reason = "its main function is for the example")]
mod sieve;

on_every_machine![
    the_sieve_finds_the_primes,
    power_series_are_squared,
    santa_claus_serves_reindeer_and_elves,
    philosophers_of_whom_one_is_left_handed_dine,
    philosophers_with_a_butler_dine,
    philosophers_who_take_the_lower_fork_first_dine,
    the_barber_serves_whom_a_chair_was_free_for,
    merge_sort_starts_a_process_for_each_half,
    a_grid_of_processes_multiplies_matrices,
    life_goes_on_in_a_process_for_each_row,
];

fn the_sieve_finds_the_primes<M: Machine>(machine: &M) {
    let is_prime = |number: &u64| (2..*number).all(|divisor| !number.is_multiple_of(divisor));
    let expected: Vec<_> = (2..).filter(is_prime).take(40).collect();
    assert_eq!(sieve::primes(machine, 40).unwrap(), expected);
}

fn power_series_are_squared<M: Machine>(machine: &M) {
    let [geometric, pythagoras] = power_series::squares(machine, 6).unwrap();
    // The first result is the derivative of 1 / (1 - x), and the second result is 1.
    assert_eq!(geometric, [1, 2, 3, 4, 5, 6].map(|number| (number, 1)));
    assert_eq!(pythagoras, [1, 0, 0, 0, 0, 0].map(|number| (number, 1)));
}

fn santa_claus_serves_reindeer_and_elves<M: Machine>(machine: &M) {
    let year = santa_claus::santa_claus(machine, 5).unwrap();
    assert_eq!(year.deliveries.min(year.consultations), 5, "{year:?}");
}

const PHILOSOPHERS: usize = 5;
const MEALS: u32 = 6;

/// The neighbours that eat. Checks that no two neighbours eat at the same time.
#[derive(Default)]
struct Table {
    eat: [AtomicBool; PHILOSOPHERS],
    meals: [AtomicU32; PHILOSOPHERS],
}

impl Table {
    fn eat(&self, process: &Process<'_, impl Place>, who: usize) {
        self.eat[who].store(true, Ordering::SeqCst);
        process.yield_now();
        for neighbour in [who + 1, who + PHILOSOPHERS - 1] {
            assert!(!self.eat[neighbour % PHILOSOPHERS].load(Ordering::SeqCst));
        }
        self.eat[who].store(false, Ordering::SeqCst);
        self.meals[who].fetch_add(1, Ordering::SeqCst);
    }

    fn assert_all_have_eaten(self) {
        let meals = self.meals.map(AtomicU32::into_inner);
        assert_eq!(meals, [MEALS; PHILOSOPHERS]);
    }
}

/// The ends of a fork. A fork is a process: one write takes the fork, and the next write gives it
/// back.
#[derive(Clone)]
struct Fork {
    take: Writer<(), Any>,
    give_back: Writer<(), Any>,
}

/// Adds the processes of the forks, each of which serves one philosopher at a time.
fn lay_forks<M: Machine>(network: &mut Network<'_, M>) -> [Fork; PHILOSOPHERS] {
    std::array::from_fn(|number| {
        let (take, mut taken) = Channel::new().any_to_one();
        let (give_back, mut given_back) = Channel::new().any_to_one();
        let at = spe((number % machines::SPES) as u16);
        network.process(format!("fork {number}"), at, move |process| {
            loop {
                taken.read(process)?;
                given_back.read(process)?;
            }
        });
        Fork { take, give_back }
    })
}

/// Eats with two forks, which the philosopher takes in the order of the arguments.
fn eat_with(
    process: &Process<'_, impl Place>,
    table: &Table,
    who: usize,
    forks: &mut [Fork; 2],
) -> Result<(), Ended> {
    for fork in &mut *forks {
        fork.take.write(process, ())?;
    }
    table.eat(process, who);
    for fork in forks {
        fork.give_back.write(process, ())?;
    }
    Ok(())
}

fn philosophers_of_whom_one_is_left_handed_dine<M: Machine>(machine: &M) {
    let table = Table::default();
    let mut network = network(machine);
    let forks = lay_forks(&mut network);
    for who in 0..PHILOSOPHERS {
        let right = (who + 1) % PHILOSOPHERS;
        let mut forks = match who {
            0 => [forks[right].clone(), forks[who].clone()],
            _ => [forks[who].clone(), forks[right].clone()],
        };
        let table = &table;
        let at = spe((who % machines::SPES) as u16);
        network.process(format!("philosopher {who}"), at, move |process| {
            (0..MEALS).try_for_each(|_| Ok(eat_with(process, table, who, &mut forks)?))
        });
    }
    drop(forks);
    network.run().unwrap();
    table.assert_all_have_eaten();
}

/// Lets at most four of the five philosophers sit at the table at a time.
fn butler(
    process: &Process<'_, impl Place>,
    mut sit: Reader<()>,
    mut leave: Reader<()>,
) -> Result<(), ProcessError> {
    let mut alternation = Alternation::fair();
    let (leaves, sits) = (alternation.read(&mut leave), alternation.read(&mut sit));
    let mut seated = 0;
    loop {
        alternation.when(&sits, seated < PHILOSOPHERS - 1);
        if alternation.select(process)? == leaves {
            alternation.take(process, &leaves);
            seated -= 1;
        } else {
            alternation.take(process, &sits);
            seated += 1;
        }
    }
}

fn philosophers_with_a_butler_dine<M: Machine>(machine: &M) {
    let table = Table::default();
    let mut network = network(machine);
    let forks = lay_forks(&mut network);
    let (sit, sits) = Channel::new().any_to_one();
    let (leave, leaves) = Channel::new().any_to_one();
    network.process("butler", spe(0), move |process| {
        butler(process, sits, leaves)
    });
    for who in 0..PHILOSOPHERS {
        let right = (who + 1) % PHILOSOPHERS;
        let mut forks = [forks[who].clone(), forks[right].clone()];
        let (mut sit, mut leave) = (sit.clone(), leave.clone());
        let table = &table;
        let at = spe((who % machines::SPES) as u16);
        network.process(format!("philosopher {who}"), at, move |process| {
            for _ in 0..MEALS {
                sit.write(process, ())?;
                eat_with(process, table, who, &mut forks)?;
                leave.write(process, ())?;
            }
            Ok(())
        });
    }
    drop((forks, sit, leave));
    network.run().unwrap();
    table.assert_all_have_eaten();
}

fn philosophers_who_take_the_lower_fork_first_dine<M: Machine>(machine: &M) {
    let table = Table::default();
    let mut network = network(machine);
    // A fork is free while it is in the buffer of its channel.
    let mut forks: [_; PHILOSOPHERS] =
        std::array::from_fn(|_| Channel::new().buffered(1).any_to_any::<()>());
    for who in 0..PHILOSOPHERS {
        let right = (who + 1) % PHILOSOPHERS;
        let (lower, higher) = (who.min(right), who.max(right));
        let mut forks = [forks[lower].clone(), forks[higher].clone()];
        let table = &table;
        let at = spe((who % machines::SPES) as u16);
        network.process(format!("philosopher {who}"), at, move |process| {
            for _ in 0..MEALS {
                for (_, take) in &mut forks {
                    take.read(process)?;
                }
                table.eat(process, who);
                for (give_back, _) in &mut forks {
                    give_back.write(process, ())?;
                }
            }
            Ok(())
        });
    }
    let laid = network.run_with(|process| {
        let mut forks = forks.iter_mut();
        forks.try_for_each(|(lay, _)| Ok::<_, Ended>(lay.write(process, ())?))
    });
    assert_eq!(laid.unwrap(), Ok(()));
    table.assert_all_have_eaten();
}

fn the_barber_serves_whom_a_chair_was_free_for<M: Machine>(machine: &M) {
    const CUSTOMERS: u32 = 8;
    const VISITS: u32 = 5;
    let seated = AtomicU32::new(0);
    let turned_away = AtomicU32::new(0);
    let (chairs, mut next) = Channel::new().buffered(3).any_to_one::<u32>();
    let mut network = network(machine);
    for customer in 0..CUSTOMERS {
        let (seated, turned_away, mut chairs) = (&seated, &turned_away, chairs.clone());
        let at = spe((customer as usize % machines::SPES) as u16);
        network.process(format!("customer {customer}"), at, move |process| {
            for _ in 0..VISITS {
                let mut door = Alternation::priority();
                let chair = door.write(&mut chairs);
                door.offer(process, &chair, customer);
                let count = match door.select_or_skip(process)? {
                    Some(_) => seated,
                    None => turned_away,
                };
                count.fetch_add(1, Ordering::Relaxed);
                process.yield_now();
            }
            Ok(())
        });
    }
    drop(chairs);
    let served = network.run_with(|process| {
        let mut served = [0; CUSTOMERS as usize];
        while let Ok(customer) = next.read(process) {
            served[customer as usize] += 1;
        }
        served
    });
    let served = served.unwrap();
    assert_eq!(served.iter().sum::<u32>(), seated.load(Ordering::Relaxed));
    assert!(served.iter().all(|visits| *visits <= VISITS));
    assert_eq!(
        seated.into_inner() + turned_away.into_inner(),
        CUSTOMERS * VISITS
    );
}

/// Sorts numbers by two new processes, one for each half.
fn sorted<S: Spe>(
    starter: &Starter<'_, S>,
    process: &Process<'_, S>,
    mut numbers: Vec<u32>,
) -> Result<Vec<u32>, Ended> {
    if numbers.len() <= 2 {
        numbers.sort_unstable();
        return Ok(numbers);
    }
    let higher = numbers.split_off(numbers.len() / 2);
    let here = process.place().id().index();
    let [lower, higher] = [(numbers, here), (higher, here + 1)].map(|(half, at)| {
        let its_own = starter.clone();
        let at = spe((at % machines::SPES) as u16);
        starter.start(process, "half", at, move |process| {
            Ok(sorted(&its_own, process, half)?)
        })
    });
    let mut lower = lower.join(process)?.into_iter().peekable();
    let mut higher = higher.join(process)?.into_iter().peekable();
    let merged = std::iter::from_fn(|| match (lower.peek(), higher.peek()) {
        (Some(low), Some(high)) if high < low => higher.next(),
        (None, _) => higher.next(),
        _ => lower.next(),
    });
    Ok(merged.collect())
}

fn merge_sort_starts_a_process_for_each_half<M: Machine>(machine: &M) {
    let numbers = Vec::from_iter((0..48_u32).map(|number| number * 29 % 101));
    let mut expected = numbers.clone();
    expected.sort_unstable();
    let (mut result, mut in_order) = Channel::new().one_to_one();
    let mut network = network(machine);
    let starter = network.starter();
    for at in 1..machines::SPES {
        network.group(spe(at as u16), |_| {});
    }
    network.process("all", spe(0), move |process| {
        let in_order = sorted(&starter, process, numbers)?;
        Ok(result.write(process, in_order)?)
    });
    let in_order = network.run_with(|process| in_order.read(process));
    assert_eq!(in_order.unwrap(), Ok(expected));
}

fn a_grid_of_processes_multiplies_matrices<M: Machine>(machine: &M) {
    const N: usize = 3;
    let a: [[u32; N]; N] = std::array::from_fn(|i| std::array::from_fn(|k| (3 * i + k) as u32));
    let b: [[u32; N]; N] = std::array::from_fn(|k| std::array::from_fn(|j| (k * k + j) as u32));
    let mut network = network(machine);
    let (sums, mut result) = Channel::new().any_to_one::<(usize, usize, u32)>();
    // Numbers come from above, by a channel for each column, and from the left, by a channel for
    // each row.
    let mut from_above = Vec::new();
    let columns: [[u32; N]; N] = std::array::from_fn(|j| b.map(|row| row[j]));
    for (j, column_of_b) in columns.into_iter().enumerate() {
        let (mut column, first) = Channel::new().one_to_one::<u32>();
        from_above.push(first);
        network.process(format!("column {j}"), spe(0), move |process| {
            let mut numbers = column_of_b.into_iter();
            numbers.try_for_each(|number| Ok(column.write(process, number)?))
        });
    }
    for (i, row_of_a) in a.into_iter().enumerate() {
        let (mut row, mut from_left) = Channel::new().one_to_one::<u32>();
        network.process(format!("row {i}"), spe(1), move |process| {
            let mut numbers = row_of_a.into_iter();
            numbers.try_for_each(|number| Ok(row.write(process, number)?))
        });
        for (j, above) in from_above.iter_mut().enumerate() {
            let (mut to_right, left_of_next) = Channel::new().one_to_one::<u32>();
            let (mut to_below, above_next) = Channel::new().one_to_one::<u32>();
            let mut left = std::mem::replace(&mut from_left, left_of_next);
            let mut above = std::mem::replace(above, above_next);
            let mut sums = sums.clone();
            let at = spe(((i + j) % machines::SPES) as u16);
            network.process(format!("cell {i} {j}"), at, move |process| {
                let mut sum = 0;
                for _ in 0..N {
                    let (a, b) = (left.read(process)?, above.read(process)?);
                    sum += a * b;
                    if j + 1 < N {
                        to_right.write(process, a)?;
                    }
                    if i + 1 < N {
                        to_below.write(process, b)?;
                    }
                }
                Ok(sums.write(process, (i, j, sum))?)
            });
        }
    }
    drop((sums, from_above));
    let product = network.run_with(|process| {
        let mut product = [[0; N]; N];
        while let Ok((i, j, sum)) = result.read(process) {
            product[i][j] = sum;
        }
        product
    });
    let sum = |i: usize, j: usize| (0..N).map(|k| a[i][k] * b[k][j]).sum();
    let expected: [[u32; N]; N] = std::array::from_fn(|i| std::array::from_fn(|j| sum(i, j)));
    assert_eq!(product.unwrap(), expected);
}

const LIFE: usize = 6;
type Row = [bool; LIFE];

/// Returns the middle row of three rows, one generation later.
fn next_row(rows: [&Row; 3]) -> Row {
    std::array::from_fn(|x| {
        let columns = [x + LIFE - 1, x, x + 1].map(|x| x % LIFE);
        let cells = rows.into_iter().flat_map(|row| columns.map(|x| row[x]));
        let alive = cells.filter(|is_alive| *is_alive).count();
        alive == 3 || alive == 4 && rows[1][x]
    })
}

/// Returns the field one generation later, computed cell by cell.
fn next_generation(field: &[Row; LIFE]) -> [Row; LIFE] {
    std::array::from_fn(|y| {
        std::array::from_fn(|x| {
            let mut neighbours = 0;
            for (dy, dx) in [
                (LIFE - 1, LIFE - 1),
                (LIFE - 1, 0),
                (LIFE - 1, 1),
                (0, LIFE - 1),
                (0, 1),
                (1, LIFE - 1),
                (1, 0),
                (1, 1),
            ] {
                neighbours += u32::from(field[(y + dy) % LIFE][(x + dx) % LIFE]);
            }
            matches!((field[y][x], neighbours), (true, 2) | (_, 3))
        })
    })
}

fn life_goes_on_in_a_process_for_each_row<M: Machine>(machine: &M) {
    const GENERATIONS: usize = 10;
    let mut glider = [Row::default(); LIFE];
    for (y, x) in [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)] {
        glider[y][x] = true;
    }
    let mut network = network(machine);
    let (rows, mut result) = Channel::new().any_to_one::<(usize, Row)>();
    // For each row, the channels to the row above and to the row below.
    let channel = || Channel::new().buffered(1).one_to_one::<Row>();
    let (mut up, mut from_below): (Vec<_>, Vec<_>) = (0..LIFE).map(|_| channel()).unzip();
    let (mut down, mut from_above): (Vec<_>, Vec<_>) = (0..LIFE).map(|_| channel()).unzip();
    // Row `y - 1` reads from row `y`, which is below.
    from_below.rotate_left(1);
    from_above.rotate_right(1);
    for (y, start) in glider.into_iter().enumerate().rev() {
        let pop = "there is one for each row";
        let (mut up, mut down) = (up.pop().expect(pop), down.pop().expect(pop));
        let (mut below, mut above) = (from_below.pop().expect(pop), from_above.pop().expect(pop));
        let mut rows = rows.clone();
        let at = spe((y % machines::SPES) as u16);
        network.process(format!("row {y}"), at, move |process| {
            let mut row = start;
            for _ in 0..GENERATIONS {
                up.write(process, row)?;
                down.write(process, row)?;
                let (above, below) = (above.read(process)?, below.read(process)?);
                row = next_row([&above, &row, &below]);
            }
            Ok(rows.write(process, (y, row))?)
        });
    }
    drop(rows);
    let field = network.run_with(|process| {
        let mut field = [Row::default(); LIFE];
        while let Ok((y, row)) = result.read(process) {
            field[y] = row;
        }
        field
    });
    let expected = (0..GENERATIONS).fold(glider, |field, _| next_generation(&field));
    assert_eq!(field.unwrap(), expected);
}
