//! The words for the parts of a machine.
//!
//! All sentences of this project are written in the words of a Cell, such as SPE and PPE. In
//! results of a computer, the sentences are translated into the words of computers. The names of
//! fields and values in JSON and CSV are not translated.

use crate::machine_info::MachineInfo;

/// Texts about a Cell, each with its translation. The first text that matches is used, so `Cell
/// Broadband Engine` must be listed before `Cell`.
const OF_A_COMPUTER: &[(&str, &str)] = &[
    // The name of this processor is not translated.
    ("Cell Broadband Engine", "Cell Broadband Engine"),
    // In these phrases an SPE means the program that it runs.
    ("Place SPEs", "Place threads"),
    ("Keep SPEs", "Keep threads"),
    ("Let SPEs", "Let threads"),
    ("SPEs that talk", "Threads that talk"),
    ("How far apart SPEs sit", "How far apart threads sit"),
    ("what SPEs send", "what threads send"),
    ("an SPE that has waited", "a thread that has waited"),
    ("to wake an SPE", "to wake a thread"),
    ("To wake an SPE", "To wake a thread"),
    // Advice about words that threads send each other.
    (
        "a mailbox exchange with the PPE",
        "a word to the main thread and back",
    ),
    (
        "a mailbox exchange while both sides spin",
        "a word there and back between two threads that spin",
    ),
    (
        "a mailbox exchange",
        "a word there and back between two threads",
    ),
    ("two mailbox exchanges", "two words there and back"),
    (
        "by mailbox an exchange with the PPE",
        "a word to the main thread and back",
    ),
    ("by mailbox an exchange", "a word there and back"),
    (
        "a signal exchange with the PPE",
        "a word to the main thread and back",
    ),
    (
        "a signal exchange while both sides spin",
        "a word there and back between two threads that spin",
    ),
    (
        "a signal exchange",
        "a word there and back between two threads",
    ),
    ("two signal exchanges", "two words there and back"),
    (
        "by signal an exchange with the PPE",
        "a word to the main thread and back",
    ),
    ("by signal an exchange", "a word there and back"),
    ("two exchanges", "two of these"),
    ("an exchange takes", "a word there and back takes"),
    ("by signal and", "through a shared word and"),
    ("by signal,", "through a shared word,"),
    ("by mailbox and", "through a queue and"),
    ("by mailbox,", "through a queue,"),
    (
        "use signals where no more than one word is",
        "use a shared word where no more than one is",
    ),
    ("use mailboxes unless", "use a queue unless"),
    ("words travel by mailbox", "words travel through a queue"),
    ("for an exchange", "there and back"),
    ("or by signal", "or through a shared word"),
    ("a mailbox word", "a word through a queue"),
    ("a signal takes", "a shared word takes"),
    (
        "the most that one command moves",
        "the most that one call moves",
    ),
    // Descriptions of functions.
    (
        "start an empty program on an SPE",
        "start an empty program on a waiting thread",
    ),
    (
        "a block into the local store",
        "copy in: a block into the local buffer",
    ),
    (
        "a block out of the local store",
        "copy out: a block out of the local buffer",
    ),
    (
        "a list of blocks into the local store",
        "copy in: a list of blocks into the local buffer",
    ),
    (
        "a list of blocks out of the local store",
        "copy out: a list of blocks out of the local buffer",
    ),
    ("gets and puts", "copies in and out"),
    ("gets", "copies in"),
    ("puts", "copies out"),
    // Parts of the machine.
    ("An SPE", "A CPU"),
    ("an SPE", "a CPU"),
    ("SPEs", "CPUs"),
    ("SPE", "CPU"),
    ("The PPE", "The main thread"),
    ("the PPE", "the main thread"),
    ("PPE", "main thread"),
    ("Cells", "L3 groups"),
    ("Cell", "L3 group"),
    ("Local stores", "Local buffers"),
    ("local stores", "local buffers"),
    ("Local store", "Local buffer"),
    ("local store", "local buffer"),
    ("Memory modules", "NUMA nodes"),
    ("memory modules", "NUMA nodes"),
    ("memory module", "NUMA node"),
    ("modules", "nodes"),
    ("module", "node"),
    // Names of values in tables and pages.
    ("ppe-spe", "main-CPU"),
    ("spe-spe", "CPU-CPU"),
    ("memory-spe", "memory-CPU"),
    ("cache-spe", "cache-CPU"),
    ("partly-spe", "partly-CPU"),
];

const COMPUTER_IN_A_LINE: &str = "an L3 group is the CPUs under one last-level cache, a NUMA node the memory \
     beside some CPUs, a local buffer 256 KB that one CPU has for itself; the main thread starts the others";

const CELL_IN_A_LINE: &str = "an SPE is a core with a local store of its own, into which it moves data by DMA; a \
     Cell is a chip with SPEs and a PPE, the core that starts their programs; a memory module is memory beside a \
     Cell";

/// The words for the parts of a machine.
#[derive(Clone, Copy)]
pub struct Words<'m> {
    is_computer: bool,
    /// The place of each SPE, such as `CPU 3`. On a computer the place is also the name of the SPE.
    places: &'m [String],
}

impl<'m> Words<'m> {
    /// Returns the words for a machine.
    pub fn of(machine: &'m MachineInfo) -> Self {
        Self {
            is_computer: machine.is_this_computer(),
            places: &machine.spe_places,
        }
    }

    /// Returns the words of computers if both machines are computers, else the words of a Cell.
    pub fn of_both(machine: &'m MachineInfo, other: &MachineInfo) -> Self {
        Self {
            is_computer: machine.is_this_computer() && other.is_this_computer(),
            places: &[],
        }
    }

    /// Returns a line that explains the terms for the parts of the machine, such as SPE.
    pub fn in_a_line(&self) -> &'static str {
        if self.is_computer {
            COMPUTER_IN_A_LINE
        } else {
            CELL_IN_A_LINE
        }
    }

    pub(crate) const OF_A_CELL: Self = Self {
        is_computer: false,
        places: &[],
    };

    /// Translates the heading of a column. On a computer `Cell` becomes `L3`.
    pub(crate) fn heading(&self, text: &str) -> String {
        match text {
            "Cell" if self.is_computer => "L3".to_owned(),
            text => self.say(text),
        }
    }

    /// Translates a text into the words of the machine. On a computer `SPE 3` becomes its CPU.
    pub fn say(&self, text: &str) -> String {
        if !self.is_computer {
            return text.to_owned();
        }
        let mut translated = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = ' ';
        while let Some(next) = rest.chars().next() {
            let found = (!is_of_a_word(before)).then(|| self.first_word(rest));
            let taken = match found.flatten() {
                Some((length, word)) => {
                    translated += word;
                    length
                }
                None => {
                    translated.push(next);
                    next.len_utf8()
                }
            };
            before = rest[..taken].chars().next_back().unwrap_or(' ');
            rest = &rest[taken..];
        }
        translated
    }

    /// Translates the start of `text`. Returns the number of translated bytes, and the translation.
    fn first_word(&self, text: &str) -> Option<(usize, &'m str)> {
        if let Some(number) = text.strip_prefix("SPE ") {
            let end = number.bytes().take_while(u8::is_ascii_digit).count();
            let place = number[..end].parse().ok();
            let place = place.and_then(|spe: usize| self.places.get(spe));
            if let Some(place) = place.filter(|place| !place.is_empty()) {
                return Some(("SPE ".len() + end, place));
            }
        }
        let (of_a_cell, word) = OF_A_COMPUTER.iter().find(|(of_a_cell, _)| {
            let mut rest = text.strip_prefix(of_a_cell).map(str::chars);
            rest.as_mut().is_some_and(|rest| match rest.next() {
                // If a letter follows the point, the point is part of the name of a file.
                Some('.') => !rest.next().is_some_and(is_of_a_word),
                next => !next.is_some_and(is_of_a_word),
            })
        })?;
        Some((of_a_cell.len(), word))
    }
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    #[test]
    fn sentences_about_a_computer_have_its_words() {
        let mut computer = made_up::two_cores().envelope.machine;
        computer.spe_places = vec!["CPU 5".to_owned(), "CPU 2".to_owned()];
        let words = Words::of(&computer);
        for (of_a_cell, expected) in [
            (
                "Place SPEs that exchange data in the same Cell",
                "Place threads that exchange data in the same L3 group",
            ),
            (
                "Starting a program on an SPE, SPE 1, with the PPE (local store)",
                "Starting a program on a CPU, CPU 2, with the main thread (local buffer)",
            ),
            ("gets by SPEs of Cell 0", "copies in by CPUs of L3 group 0"),
            ("2 SPEs, SPE 7", "2 CPUs, CPU 7"),
            ("between ppe-spe, module 1", "between main-CPU, node 1"),
            // These names are not translated.
            (
                "Cellworks, spe_places, Cell Broadband Engine, dmaget, SPECjbb",
                "Cellworks, spe_places, Cell Broadband Engine, dmaget, SPECjbb",
            ),
        ] {
            assert_eq!(words.say(of_a_cell), expected);
        }
        computer.kind = "simulated".to_owned();
        let text = "SPE 1 of Cell 0";
        assert_eq!(Words::of(&computer).say(text), text);
    }

    /// The sentences of advice about words, as `cellworks_stats` makes them.
    #[test]
    fn advice_for_a_computer_has_no_words_of_a_cell() {
        let computer = made_up::two_cores().envelope.machine;
        let words = Words::of(&computer);
        for (of_a_cell, expected) in [
            (
                "Spin where a wait is shorter than 41.3 us, and sleep where it is longer. To wake an SPE takes 41.3 \
                 us, 133 times as long as a mailbox exchange while both sides spin (309 ns).",
                "Spin where a wait is shorter than 41.3 us, and sleep where it is longer. To wake a thread takes 41.3 \
                 us, 133 times as long as a word there and back between two threads that spin (309 ns).",
            ),
            (
                "Starting a program on an SPE costs 1.52 us, 4.94 times as long as a mailbox exchange with the PPE (307 \
                 ns): start programs once, keep them until the end, and send them their tasks.",
                "Starting a program on a CPU costs 1.52 us, 4.94 times as long as a word to the main thread and back \
                 (307 ns): start programs once, keep them until the end, and send them their tasks.",
            ),
            (
                "Let SPEs send to each other directly: by mailbox an exchange takes 300 ns, and through the PPE it \
                 would take two exchanges and 615 ns, 2.05 times as long.",
                "Let threads send to each other directly: a word there and back takes 300 ns, and through the main \
                 thread it would take two of these and 615 ns, 2.05 times as long.",
            ),
            (
                "Let the PPE pass on what SPEs send to each other: that takes two signal exchanges and 2 us, and a direct \
                 one takes 3 us, 1.50 times as long.",
                "Let the main thread pass on what threads send to each other: that takes two words there and back and \
                 2 us, and a direct one takes 3 us, 1.50 times as long.",
            ),
            (
                "Between two SPEs an exchange takes 200 ns by signal and 300 ns by mailbox, 1.50 times as long: use \
                 signals where no more than one word is under way.",
                "Between two CPUs a word there and back takes 200 ns through a shared word and 300 ns through a queue, \
                 1.50 times as long: use a shared word where no more than one is under way.",
            ),
            (
                "Between the PPE and an SPE an exchange takes 200 ns by mailbox and 300 ns by signal, 1.50 times as \
                 long: use mailboxes unless bits from several senders are to be combined.",
                "Between the main thread and a CPU a word there and back takes 200 ns through a queue and 300 ns \
                 through a shared word, 1.50 times as long: use a queue unless bits from several senders are to be \
                 combined.",
            ),
            (
                "Between two SPEs it makes no difference whether words travel by mailbox (300 ns for an exchange) or by \
                 signal (305 ns).",
                "Between two CPUs it makes no difference whether words travel through a queue (300 ns there and back) or \
                 through a shared word (305 ns).",
            ),
            (
                "To the PPE all Cells are equally near: by mailbox an exchange takes 300 ns.",
                "To the main thread all L3 groups are equally near: a word there and back takes 300 ns.",
            ),
            (
                "Make gets of 16 KB, the most that one command moves: gets by one SPE reach 113 GB/s with 16 KB.",
                "Make copies in of 16 KB, the most that one call moves: copies in by one CPU reach 113 GB/s with 16 KB.",
            ),
        ] {
            let said = words.say(of_a_cell);
            assert_eq!(said, expected);
            for word in ["mailbox", "signal", "SPE", "PPE", "command", "gets"] {
                assert!(!said.contains(word), "{said}");
            }
        }
        // The name of a matrix is that of its flag.
        let title = "From SPE to SPE by mailbox";
        assert_eq!(words.say(title), "From CPU to CPU by mailbox");
    }

    #[test]
    fn what_begins_alike_stands_with_the_longer_one_first() {
        for (at, (longer, _)) in OF_A_COMPUTER.iter().enumerate() {
            let hidden = OF_A_COMPUTER[..at].iter().find(|(before, _)| {
                longer
                    .strip_prefix(before)
                    .is_some_and(|rest| rest.starts_with(' '))
            });
            assert_eq!(hidden, None, "it comes before {longer:?}");
        }
    }
}
