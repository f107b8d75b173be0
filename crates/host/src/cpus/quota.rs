//! Limits on CPU time by control groups (cgroups, versions 1 and 2).
//!
//! ```text
//!  proc/self/cgroup      0::/kubepods/pod7/main            which group this process is in
//!  proc/self/mountinfo   ... /kubepods /sys/fs/cgroup ...  where its hierarchy is visible,
//!                                                         and from which group down
//!
//!  /sys/fs/cgroup/pod7/main   ┐
//!  /sys/fs/cgroup/pod7        ├ each may limit the ones below it: the tightest counts
//!  /sys/fs/cgroup             ┘
//! ```

use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use super::{CpusError, Source, files};

/// A limit on the CPU time of a group of processes: when it is used up, none of them runs until the
/// period ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quota {
    /// CPU time that the group may use in each period, in microseconds, added over its CPUs.
    pub microseconds: u64,
    /// The period, in microseconds; not 0.
    pub period_microseconds: u64,
    /// The file that sets this limit: `cpu.max`, or `cpu.cfs_quota_us` in version 1.
    pub set_in: PathBuf,
}

impl Quota {
    /// How many CPUs the group can keep busy all the time: rounded down, but at least 1.
    ///
    /// With more busy threads than that, all of them stop together for a part of each period.
    pub fn cpus_floor(&self) -> usize {
        usize::try_from(self.microseconds / self.period_microseconds)
            .unwrap_or(usize::MAX)
            .max(1)
    }

    /// How many CPUs the group can keep busy all the time, for reports.
    pub fn cpus(&self) -> f64 {
        self.microseconds as f64 / self.period_microseconds as f64
    }

    fn is_tighter_than(&self, other: &Self) -> bool {
        let scaled =
            |quota: &Self, period: u64| u128::from(quota.microseconds) * u128::from(period);
        scaled(self, other.period_microseconds) < scaled(other, self.period_microseconds)
    }
}

/// "1.50 CPUs (150000 us in each 100000 us, set in /sys/fs/cgroup/cpu.max)"
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

/// The two generations of control groups; a computer may use both.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// A place where a hierarchy of groups with a CPU limit is visible.
struct Mount {
    version: Version,
    /// The group that is seen at `at`.
    group: PathBuf,
    at: PathBuf,
}

/// The tightest limit on this process.
pub fn read(source: &Source) -> Result<Option<Quota>, CpusError> {
    let mounts = mounts(source)?;
    let mut tightest: Option<Quota> = None;
    for (version, group) in groups(source)? {
        for folder in visible(&mounts, version, &group) {
            let quota = match version {
                Version::V1 => quota_v1(&source.path(folder))?,
                Version::V2 => quota_v2(&source.path(folder))?,
            };
            if let Some(quota) = quota
                && tightest
                    .as_ref()
                    .is_none_or(|so_far| quota.is_tighter_than(so_far))
            {
                tightest = Some(quota);
            }
        }
    }
    Ok(tightest)
}

/// The groups of this process that may limit its CPU time; lines read `3:cpu,cpuacct:/group`, or
/// `0::/group` in version 2.
fn groups(source: &Source) -> Result<Vec<(Version, PathBuf)>, CpusError> {
    let path = source.path("proc/self/cgroup");
    let mut groups = Vec::new();
    for line in files::text(&path)?.unwrap_or_default().lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(id), Some(controllers), Some(group)) =
            (fields.next(), fields.next(), fields.next())
        else {
            return Err(files::malformed(
                &path,
                line,
                "a line such as \"3:cpu,cpuacct:/group\" or \"0::/group\"",
            ));
        };
        if id == "0" && controllers.is_empty() {
            groups.push((Version::V2, PathBuf::from(group)));
        } else if controllers.split(',').any(|controller| controller == "cpu") {
            groups.push((Version::V1, PathBuf::from(group)));
        }
    }
    Ok(groups)
}

/// The mounts of such hierarchies; lines read `id parent major:minor ROOT MOUNT-POINT options [tag
/// ...] - TYPE source SUPER-OPTIONS` (`proc_pid_mountinfo(5)`).
fn mounts(source: &Source) -> Result<Vec<Mount>, CpusError> {
    let path = source.path("proc/self/mountinfo");
    let mut mounts = Vec::new();
    for line in files::text(&path)?.unwrap_or_default().lines() {
        let Some((mount, file_system)) = line.split_once(" - ") else {
            return Err(files::malformed(
                &path,
                line,
                "a line such as \"29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\"",
            ));
        };
        let mut file_system = file_system.split(' ');
        let version = match (file_system.next(), file_system.nth(1)) {
            (Some("cgroup2"), _) => Version::V2,
            (Some("cgroup"), Some(options)) if options.split(',').any(|option| option == "cpu") => {
                Version::V1
            }
            _ => continue,
        };
        let mut mount = mount.split(' ').skip(3);
        if let (Some(group), Some(at)) = (mount.next(), mount.next()) {
            mounts.push(Mount {
                version,
                group: unescape(group),
                at: unescape(at),
            });
        }
    }
    Ok(mounts)
}

/// The folders of `group` and of all groups above it, as far as `mounts` show them.
fn visible(mounts: &[Mount], version: Version, group: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for mount in mounts.iter().filter(|mount| mount.version == version) {
        if let Ok(below) = group.strip_prefix(&mount.group)
            && !below.components().any(|part| part == Component::ParentDir)
        {
            folders.extend(below.ancestors().map(|below| mount.at.join(below)));
        }
    }
    // Namespaces can name the group in a way that does not fit the mount ("/../.."). What is
    // mounted is then the best that can be known; a container sees its own group there.
    if folders.is_empty() {
        folders.extend(
            mounts
                .iter()
                .find(|mount| mount.version == version)
                .map(|mount| mount.at.clone()),
        );
    }
    folders
}

/// `cpu.max` reads `150000 100000`, or `max 100000` without a limit; the topmost group has no such
/// file.
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

/// `cpu.cfs_quota_us` reads `-1` without a limit.
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

/// Undoes the escapes of `mountinfo`: a backslash and three octal digits for a space, tab, newline
/// or backslash.
fn unescape(field: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = field.as_bytes();
    while let [first, tail @ ..] = rest {
        match rest {
            [
                b'\\',
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                tail @ ..,
            ] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = tail;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}
