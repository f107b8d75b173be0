//! Errors of reading CPUs.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::cpu::{LeftOut, WhyLeftOut};
use super::list::write_list;

/// The reason why the CPUs could not be read.
#[derive(thiserror::Error)]
pub enum CpusError {
    /// A file cannot be read, for another reason than a missing permission.
    #[error(
        "cannot read {}: {cause}; \
         try again, and if it stays, look for messages of the kernel (`dmesg`)",
        path.display()
    )]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        cause: io::Error,
    },
    /// A file has content that Linux would not write.
    #[error(
        "{} reads {text:?}, but {expected} was expected; \
         if a container or emulator provides this file, correct it there, \
         otherwise report it with the output of `uname -a`",
        path.display()
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The malformed part of the content, shortened if it is long.
        text: String,
        /// The content that Linux writes in this file.
        expected: String,
    },
    /// The mask of allowed CPUs is empty.
    #[error(
        "the mask of allowed CPUs is empty; allow at least one, for example with `taskset -c 0`"
    )]
    NoneAllowed,
    /// There is neither a mask of allowed CPUs nor a list of online CPUs.
    #[error(
        "{} cannot be read and no mask of allowed CPUs was given, so the CPUs are unknown; \
         mount /sys or give a mask",
        path.display()
    )]
    Unknown {
        /// The path of the missing list.
        path: PathBuf,
    },
    /// CPUs of the host do not exist any more, or may not be used any more.
    #[error("{}", gone_sentence(.0))]
    Gone(Vec<LeftOut>),
    /// The system did not return the mask of allowed CPUs.
    #[error(
        "cannot ask the system which CPUs this thread may use: {0}; this fails in sandboxes that \
         forbid `sched_getaffinity`; allow this call"
    )]
    Mask(io::Error),
}

cellworks_machine::debug_by_display!(CpusError);

/// Returns a sentence with the CPUs that are gone, the reasons and advice.
fn gone_sentence(gone: &[LeftOut]) -> String {
    let because = |wanted: WhyLeftOut| -> BTreeSet<u32> {
        let of_reason = gone.iter().filter(|gone| gone.why == wanted);
        of_reason.map(|gone| gone.os_index).collect()
    };
    let mut parts = Vec::new();
    for (why, what) in [
        (WhyLeftOut::Offline, "went offline"),
        (
            WhyLeftOut::NotAllowed,
            "may no longer be used by this process (`taskset`, a cpuset or the container)",
        ),
    ] {
        let cpus = because(why);
        if !cpus.is_empty() {
            let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
            parts.push(format!("{noun} {} {what}", write_list(&cpus)));
        }
    }
    format!(
        "{}, while the host still has SPEs there; give them back, or start again to do with those \
         that are left",
        parts.join(" and ")
    )
}
