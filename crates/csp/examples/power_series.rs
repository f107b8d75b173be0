//! Power series as streams of their coefficients, after McIlroy, *Squinting at Power Series*
//! (1990).
//!
//! A product is made of smaller products: if `F = f + x F'` and `G = g + x G'`, then `F G = f g + x
//! (f G' + g F' + x F' G')`. Therefore each process that multiplies makes copies of `F'` and `G'`.
//! When the third coefficient of `F G` is read, the process starts another process for `F' G'`. A
//! network has as many such processes as coefficients that are read.

use cellworks_csp::{Channel, Ended, Network, NetworkError, Process, Reader, Started, Starter};
use cellworks_host::Host;
use cellworks_machine::{Machine, Spe, SpeId};
use cellworks_sim::{Description, Sim};

/// A coefficient: a numerator and a denominator above 0, without a common divisor.
pub type Fraction = (i128, i128);

type Series = Reader<Fraction>;

fn reduced(numerator: i128, denominator: i128) -> Fraction {
    let (mut divisor, mut rest) = (denominator, numerator.abs());
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (numerator / divisor, denominator / divisor)
}

fn sum(a: Fraction, b: Fraction) -> Fraction {
    reduced(a.0 * b.1 + b.0 * a.1, a.1 * b.1)
}

fn product(a: Fraction, b: Fraction) -> Fraction {
    reduced(a.0 * b.0, a.1 * b.1)
}

/// Starts the processes of a series. Each new process runs on the SPE after the calling process's
/// SPE.
struct Starts<'a, 'b, 'env, S: Spe> {
    starter: &'a Starter<'env, S>,
    process: &'a Process<'b, S>,
}

impl<'env, S: Spe> Starts<'_, '_, 'env, S> {
    fn start(
        &self,
        name: &str,
        body: impl FnOnce(Starts<'_, '_, 'env, S>) -> Result<(), Ended> + Send + 'env,
    ) {
        let place = self.process.place();
        let next = (place.id().index() + 1) % place.topology().spes().len();
        let its_own = self.starter.clone();
        let started = self.starter.start(
            self.process,
            name,
            SpeId::new(next as u16),
            move |process| {
                let starter = &its_own;
                Ok(body(Starts { starter, process })?)
            },
        );
        // The process goes on as long as its series is read.
        drop::<Started<()>>(started);
    }

    /// Makes the series with these coefficients.
    fn series(&self, coefficient: fn(u32) -> Fraction) -> Series {
        let (mut output, series) = Channel::new().one_to_one();
        self.start("series", move |here| {
            (0..).try_for_each(|index| Ok(output.write(here.process, coefficient(index))?))
        });
        series
    }

    /// Makes the sum of two series.
    fn add(&self, mut f: Series, mut g: Series) -> Series {
        let (mut output, series) = Channel::new().one_to_one();
        self.start("sum", move |here| {
            loop {
                let (f, g) = (f.read(here.process)?, g.read(here.process)?);
                output.write(here.process, sum(f, g))?;
            }
        });
        series
    }

    /// Makes two copies of a series.
    fn split(&self, mut f: Series) -> (Series, Series) {
        let (mut first, one) = Channel::new().one_to_one();
        let (mut second, other) = Channel::new().one_to_one();
        self.start("split", move |here| {
            loop {
                let coefficient = f.read(here.process)?;
                first.write(here.process, coefficient)?;
                second.write(here.process, coefficient)?;
            }
        });
        (one, other)
    }

    /// Makes the product of two series.
    fn multiply(&self, mut f: Series, mut g: Series) -> Series {
        let (mut output, series) = Channel::new().one_to_one();
        self.start("product", move |here| {
            let process = here.process;
            let (first_f, first_g) = (f.read(process)?, g.read(process)?);
            output.write(process, product(first_f, first_g))?;
            let (mut f, rest_of_f) = here.split(f);
            let (mut g, rest_of_g) = here.split(g);
            let mut next = || {
                let (f, g) = (f.read(process)?, g.read(process)?);
                Ok::<_, Ended>(sum(product(first_f, g), product(first_g, f)))
            };
            output.write(process, next()?)?;
            let mut rest = here.multiply(rest_of_f, rest_of_g);
            loop {
                output.write(process, sum(next()?, rest.read(process)?))?;
            }
        });
        series
    }
}

fn factorial(number: u32) -> i128 {
    (1..=i128::from(number)).product()
}

fn sine(index: u32) -> Fraction {
    match index % 4 {
        0 | 2 => (0, 1),
        1 => (1, factorial(index)),
        _ => (-1, factorial(index)),
    }
}

fn cosine(index: u32) -> Fraction {
    match index % 4 {
        0 => (1, factorial(index)),
        2 => (-1, factorial(index)),
        _ => (0, 1),
    }
}

/// Returns the first `count` coefficients of two series: the square of `1 / (1 - x)`, and the sum
/// of the squares of sine and cosine.
pub(crate) fn squares<M: Machine>(
    machine: &M,
    count: usize,
) -> Result<[Vec<Fraction>; 2], NetworkError> {
    let (mut results, mut result) = Channel::new().one_to_one();
    let mut network = Network::on(machine);
    let starter = network.starter();
    for spe in machine.topology().spes() {
        // An empty group is enough to start processes on this SPE.
        network.group(spe, |_| {});
    }
    network.process("squares", SpeId::new(0), move |process| {
        let here = Starts {
            starter: &starter,
            process,
        };
        let geometric = || here.series(|_| (1, 1));
        let sine = here.multiply(here.series(sine), here.series(sine));
        let cosine = here.multiply(here.series(cosine), here.series(cosine));
        let squares = [
            here.multiply(geometric(), geometric()),
            here.add(sine, cosine),
        ];
        for mut square in squares {
            let first = (0..count).map(|_| square.read(process));
            results.write(process, first.collect::<Result<Vec<_>, _>>()?)?;
        }
        Ok(())
    });
    network.run_with(|process| {
        let squares = [(); 2].map(|()| result.read(process));
        squares.map(|square| square.expect("a series has no last coefficient"))
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::builder().spes(2).build()?;
    let blade = Sim::new(Description::load("qs22")?)?;
    for (name, [geometric, pythagoras]) in [
        ("this computer", squares(&host, 8)?),
        ("an IBM QS22", squares(&blade, 8)?),
    ] {
        println!("{name}");
        println!("1 / (1 - x)^2:       {geometric:?}");
        println!("sin(x)^2 + cos(x)^2: {pythagoras:?}");
    }
    Ok(())
}
