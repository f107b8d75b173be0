//! What every result says about the process that found it.

use std::time::{SystemTime, UNIX_EPOCH};

use cellworks_report::Environment;

pub(crate) fn of_this_process(warnings: &[String]) -> Environment {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease");
    Environment {
        cellworks_version: env!("CARGO_PKG_VERSION").to_owned(),
        build: if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        }
        .to_owned(),
        operating_system: std::env::consts::OS.to_owned(),
        kernel: kernel.ok().map(|text| text.trim().to_owned()),
        architecture: std::env::consts::ARCH.to_owned(),
        finished_unix_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        warnings: warnings.to_vec(),
        host: None,
    }
}
