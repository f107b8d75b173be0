//! Experiments with tasks that exchange packets in a ring. A simulation runs for each mapping of
//! the tasks to SPEs. The program is in [`cellworks_apps::exchange`].

use std::iter;

use cellworks_apps::exchange::{Exchange, ExchangeRun, Mapping, Times};
use serde::Deserialize;

use super::Dimension;

/// The number of timed rounds of packets for each mapping.
const ROUNDS: u32 = 30;

/// Tasks in a ring, with all mappings of tasks to SPEs in which SPE 0 has task 0.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ring {
    /// The number of SPEs and of tasks: 3 to 8.
    pub spes: u8,
    /// The bytes of a packet: a multiple of 16, up to 16,384.
    pub packet_bytes: u32,
    /// Whether packets move in only one direction.
    #[serde(default)]
    pub one_way: bool,
    /// The result: a statistic of the times of all mappings.
    pub statistic: RingStatistic,
    /// The mapping for `MappingToBest` and `Rank`: the task of SPE 0, of SPE 1 and so on.
    #[serde(default)]
    pub mapping: Option<String>,
    /// The second packet size for `Correlation`, in bytes: a multiple of 16, up to 16,384.
    #[serde(default)]
    pub other_packet_bytes: Option<u32>,
}

/// A statistic of the times of all mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RingStatistic {
    /// The longest time divided by the shortest time.
    WorstToBest,
    /// The median time divided by the shortest time.
    MedianToBest,
    /// The time of one mapping divided by the shortest time.
    MappingToBest,
    /// The rank of one mapping among all, from 1 for the fastest.
    Rank,
    /// The interquartile range of the times, divided by the median.
    MiddleHalf,
    /// The correlation coefficient of the times with packets of two sizes, -1 to 1.
    Correlation,
}

impl Ring {
    pub(super) fn dimension(&self) -> Result<Dimension, String> {
        if !(3..=8).contains(&self.spes) {
            return Err(format!(
                "a ring of {} tasks: it takes 3 to 8, whose mappings can all be tried",
                self.spes
            ));
        }
        for bytes in iter::once(self.packet_bytes).chain(self.other_packet_bytes) {
            if bytes == 0 || !bytes.is_multiple_of(16) || bytes > 16 << 10 {
                return Err(format!(
                    "a packet of {bytes} bytes: a DMA command moves multiples of 16 up to 16,384"
                ));
            }
        }
        match (self.other_packet_bytes, self.statistic) {
            (None, RingStatistic::Correlation) => {
                return Err("its correlation needs `other_packet_bytes`".to_owned());
            }
            (Some(_), RingStatistic::Correlation) | (None, _) => {}
            (Some(_), _) => {
                return Err(
                    "its ring has packets of one size; remove `other_packet_bytes`".to_owned(),
                );
            }
        }
        let is_about_one = matches!(
            self.statistic,
            RingStatistic::Rank | RingStatistic::MappingToBest
        );
        match (&self.mapping, is_about_one) {
            (None, true) => {
                return Err("its statistic is about one mapping; add `mapping`".to_owned());
            }
            (Some(_), false) => {
                return Err("its statistic is about all mappings; remove `mapping`".to_owned());
            }
            (Some(mapping), true) if self.place_of(mapping).is_none() => {
                return Err(format!(
                    "`{mapping}` is no mapping that is tried: it has each task from 0 to {} once, and \
                     begins with 0",
                    self.spes - 1
                ));
            }
            _ => {}
        }
        Ok(match self.statistic {
            RingStatistic::Rank => Dimension::Rank,
            _ => Dimension::Ratio,
        })
    }

    fn place_of(&self, mapping: &str) -> Option<usize> {
        let spes = usize::from(self.spes);
        let mapping = Mapping::parse(mapping, spes, spes).ok()?;
        Mapping::all(spes, spes).position(|other| other == mapping)
    }

    /// Returns a run for each mapping, for each size of packets.
    pub(super) fn runs(&self) -> impl Iterator<Item = ExchangeRun> + use<> {
        let (spes, one_way) = (usize::from(self.spes), self.one_way);
        let sizes = iter::once(self.packet_bytes).chain(self.other_packet_bytes);
        sizes.flat_map(move |packet_bytes| {
            Mapping::all(spes, spes).map(move |mapping| ExchangeRun {
                exchange: Exchange::Ring {
                    packet_bytes,
                    one_way,
                },
                rounds: ROUNDS,
                spes: mapping.spe_of_each_task(),
                start_cycles: Vec::new(),
            })
        })
    }

    /// Computes the statistic from the times of all [runs](Self::runs).
    pub(super) fn statistic(&self, ns: &[f64]) -> f64 {
        let times = Times::of(ns).expect("there is always one mapping");
        let of_mapping = || {
            let place = self.mapping.as_deref().and_then(|m| self.place_of(m));
            ns[place.expect("a ring is checked where it is read")]
        };
        match self.statistic {
            RingStatistic::WorstToBest => times.worst_to_best(),
            RingStatistic::MedianToBest => times.median_to_best(),
            RingStatistic::MappingToBest => times.to_best(of_mapping()),
            RingStatistic::Rank => times.rank(of_mapping()) as f64,
            RingStatistic::MiddleHalf => times.middle_half(),
            RingStatistic::Correlation => {
                let (one, other) = ns.split_at(ns.len() / 2);
                correlation(one, other)
            }
        }
    }
}

/// Returns Pearson's correlation coefficient of two series of the same length.
fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let from_mean = |series: &[f64]| -> Vec<f64> {
        let mean = series.iter().sum::<f64>() / series.len() as f64;
        series.iter().map(|value| value - mean).collect()
    };
    let (one, other) = (from_mean(one), from_mean(other));
    let product = |a: &[f64], b: &[f64]| iter::zip(a, b).map(|(a, b)| a * b).sum::<f64>();
    product(&one, &other) / (product(&one, &one) * product(&other, &other)).sqrt()
}
