//! Checks the programs of the guide to simulating.

use cellworks_machine::{CellSpe, Machine, SpeId, Wake};
use cellworks_sim::{Description, Sim};

const PAGE: &str = include_str!("../../../../docs/simulate.md");

#[test]
fn the_machine_of_ones_own_takes_the_time_that_the_page_adds_up() {
    let (_, after) = PAGE
        .split_once("```toml\n")
        .expect("the page has a machine");
    let (toml, _) = after.split_once("```").unwrap();
    let machine = Description::from_toml(toml, "docs/simulate.md").unwrap();
    let sim = Sim::new(machine).unwrap();
    let [first, second] = [0, 1].map(SpeId::new);
    const EXCHANGES: u32 = 1_000;
    let ns = sim
        .run(|ppe| {
            let answers = ppe.spawn(second, |spe| {
                for _ in 0..=EXCHANGES {
                    let word = spe.read_in_mbox();
                    spe.write_in_mbox_of(first, word);
                }
            });
            let asks = ppe.spawn(first, |spe| {
                let exchange = |word| {
                    spe.write_in_mbox_of(second, word);
                    assert_eq!(spe.read_in_mbox(), word);
                };
                // The program on the other SPE may not have begun yet.
                exchange(0);
                let begin = spe.now();
                (1..=EXCHANGES).for_each(exchange);
                spe.now().since(begin).as_nanoseconds_f64() / f64::from(EXCHANGES)
            });
            answers.join().unwrap();
            asks.join().unwrap()
        })
        .unwrap();
    assert!(PAGE.contains("an exchange takes 176 ns"));
    assert!((ns - 176.0).abs() < 0.01, "{ns}");
}
