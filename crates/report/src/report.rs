//! The results of `cellworks stats`.

use cellworks_stats::{Advice, Finding, Matrix, Measurement, MemoryMatrix, Reference};
use serde::{Deserialize, Serialize};

use crate::counters::Counters;
use crate::envelope::{Envelope, NotMeasured};
use crate::words::Words;

/// The results of `cellworks stats`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// The part that the results of all commands have in common.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// The measurements that are missing, and the reasons.
    pub not_measured: Vec<NotMeasured>,
    /// The measurements of single operations, in the order in which they were taken.
    pub measurements: Vec<Measurement>,
    /// The matrices of one-way times. Each matrix has the time from every SPE to every other SPE.
    pub matrices: Vec<Matrix>,
    /// The latency and the bandwidth of reading each memory module. `None` if the user did not ask
    /// for them, or if an older version of the command wrote the file.
    #[serde(default)]
    pub memory_matrix: Option<MemoryMatrix>,
    /// The times of two reference operations between two SPEs, measured repeatedly during the run.
    /// It is `None` in four cases: operations of the machine always take the same time, the machine
    /// has one SPE, the user gave a number of iterations, or an older version of the command wrote
    /// the file.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// Findings that follow from several measurements.
    pub results: Vec<Finding>,
    /// Advice for programs on this machine.
    pub advice: Vec<Advice>,
    /// The counters of the parts of a simulated machine. `None` if the user did not ask for them.
    pub counters: Option<Counters>,
}

impl Report {
    /// Renames the parts of the machine in the advice and in the list of missing measurements. On a
    /// computer, for example, a memory module becomes a NUMA node.
    #[must_use]
    pub fn in_words_of_the_machine(mut self) -> Self {
        let words = Words::of(&self.envelope.machine);
        let advice = self.advice.iter_mut().map(|advice| &mut advice.text);
        let missing = self.not_measured.iter_mut();
        let missing = missing.flat_map(|missing| [&mut missing.what, &mut missing.why]);
        for text in advice.chain(missing) {
            *text = words.say(text);
        }
        self
    }
}
