//! Limits that control groups set on CPU time.

use std::fmt;
use std::path::{Path, PathBuf};

use super::error::CpusError;
use super::files;
use super::groups::{Version, folders};
use super::source::Source;

/// A limit on the CPU time of a group in each period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// The CPU time of the group in each period, summed over all CPUs, in microseconds.
    pub microseconds: u64,
    /// The period in microseconds, never 0.
    pub period_microseconds: u64,
    /// The file that sets this limit: `cpu.max`, or `cpu.cfs_quota_us` in version 1.
    pub set_in: PathBuf,
}

impl Quota {
    /// Returns the number of CPUs that the group can keep busy, rounded down, but at least 1. If
    /// more threads are busy, all threads of the group are stopped for a part of each period.
    pub fn cpus_floor(&self) -> usize {
        usize::try_from(self.microseconds / self.period_microseconds)
            .unwrap_or(usize::MAX)
            .max(1)
    }

    /// Returns the number of CPUs that the group can keep busy.
    pub fn cpus(&self) -> f64 {
        self.microseconds as f64 / self.period_microseconds as f64
    }

    fn is_tighter_than(&self, other: &Self) -> bool {
        let scaled =
            |quota: &Self, period: u64| u128::from(quota.microseconds) * u128::from(period);
        scaled(self, other.period_microseconds) < scaled(other, self.period_microseconds)
    }
}

/// Writes, for example, "1.50 CPUs (150000 us in each 100000 us, set in /sys/fs/cgroup/cpu.max)".
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            microseconds,
            period_microseconds,
            set_in,
        } = self;
        let hundredths = u128::from(*microseconds) * 100 / u128::from(*period_microseconds);
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        let set_in = set_in.display();
        write!(f, "{whole}.{rest:02} CPUs ")?;
        write!(
            f,
            "({microseconds} us in each {period_microseconds} us, set in {set_in})"
        )
    }
}

/// Returns the tightest limit that applies to this process.
pub fn read(source: &Source) -> Result<Option<Quota>, CpusError> {
    let mut tightest: Option<Quota> = None;
    for (version, folder) in folders(source, "cpu")? {
        let quota = match version {
            Version::V1 => quota_v1(&folder)?,
            Version::V2 => quota_v2(&folder)?,
        };
        if let Some(quota) = quota
            && tightest
                .as_ref()
                .is_none_or(|so_far| quota.is_tighter_than(so_far))
        {
            tightest = Some(quota);
        }
    }
    Ok(tightest)
}

/// Reads `cpu.max`, which contains the limit and the period, such as `150000 100000`, or `max
/// 100000` without a limit. The root group has no such file.
fn quota_v2(folder: &Path) -> Result<Option<Quota>, CpusError> {
    let path = folder.join("cpu.max");
    let Some(text) = files::text(&path)? else {
        return Ok(None);
    };
    let malformed = || {
        files::malformed(
            &path,
            &text,
            "a limit and a period in microseconds such as \"150000 100000\" or \"max 100000\"",
        )
    };
    let (limit, period) = text.trim().split_once(' ').ok_or_else(malformed)?;
    if limit == "max" {
        return Ok(None);
    }
    match (limit.parse(), period.parse()) {
        (Ok(microseconds), Ok(period_microseconds)) if period_microseconds > 0 => Ok(Some(Quota {
            microseconds,
            period_microseconds,
            set_in: path,
        })),
        _ => Err(malformed()),
    }
}

/// Reads `cpu.cfs_quota_us`, which contains `-1` without a limit.
fn quota_v1(folder: &Path) -> Result<Option<Quota>, CpusError> {
    let path = folder.join("cpu.cfs_quota_us");
    let limit: Option<i64> = files::number(&path, "a limit in microseconds, or -1,")?;
    let Some(microseconds) = limit.and_then(|limit| u64::try_from(limit).ok()) else {
        return Ok(None);
    };
    let period_path = folder.join("cpu.cfs_period_us");
    let period: Option<std::num::NonZeroU64> =
        files::number(&period_path, "a period in microseconds, not 0,")?;
    Ok(period.map(|period| Quota {
        microseconds,
        period_microseconds: period.get(),
        set_in: path,
    }))
}
