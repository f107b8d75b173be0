//! The control groups (cgroups, versions 1 and 2) that limit this process.
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

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use super::error::CpusError;
use super::files;
use super::source::Source;

/// The two generations of control groups; a computer may use both.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Each controller may have a hierarchy of its own.
    V1,
    /// One hierarchy for all controllers.
    V2,
}

/// A place where a hierarchy of groups is visible.
struct Mount {
    version: Version,
    /// The group that is seen at `at`.
    group: PathBuf,
    at: PathBuf,
}

/// The folders of all groups in which `controller`, such as `cpu`, may limit this process, as far
/// as they are visible.
pub fn folders(source: &Source, controller: &str) -> Result<Vec<(Version, PathBuf)>, CpusError> {
    let mounts = mounts(source, controller)?;
    let mut folders = Vec::new();
    for (version, group) in groups(source, controller)? {
        let visible = visible(&mounts, version, &group);
        folders.extend(
            visible
                .into_iter()
                .map(|folder| (version, source.path(folder))),
        );
    }
    Ok(folders)
}

/// The groups of this process that `controller` may limit; lines read `3:cpu,cpuacct:/group`, or
/// `0::/group` in version 2.
fn groups(source: &Source, controller: &str) -> Result<Vec<(Version, PathBuf)>, CpusError> {
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
        } else if controllers.split(',').any(|name| name == controller) {
            groups.push((Version::V1, PathBuf::from(group)));
        }
    }
    Ok(groups)
}

/// The mounts of such hierarchies; lines read `id parent major:minor ROOT MOUNT-POINT options [tag
/// ...] - TYPE source SUPER-OPTIONS` (`proc_pid_mountinfo(5)`).
fn mounts(source: &Source, controller: &str) -> Result<Vec<Mount>, CpusError> {
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
            (Some("cgroup"), Some(options))
                if options.split(',').any(|option| option == controller) =>
            {
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
    PathBuf::from(OsString::from_vec(bytes))
}
