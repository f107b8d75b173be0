//! The control groups (cgroups, versions 1 and 2) that limit this process.
//!
//! ```text
//!  proc/self/cgroup      0::/kubepods/pod7/main            the group of this process
//!  proc/self/mountinfo   ... /kubepods /sys/fs/cgroup ...  a mount: the group at its top, and the
//!                                                          folder where the group is visible
//! ```
//!
//! Trees of other computers may lack these files. Then `proc/self/cpuset` contains the group of the
//! controller `cpuset`, and `proc/mounts` contains the mount.
//!
//! ```text
//!  /sys/fs/cgroup/pod7/main   ┐
//!  /sys/fs/cgroup/pod7        ├ each may limit the groups below: the tightest limit counts
//!  /sys/fs/cgroup             ┘
//! ```

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use super::error::CpusError;
use super::files;
use super::source::Source;

/// The versions of control groups. A computer may use both.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Each controller may have its own hierarchy of groups.
    V1,
    /// All controllers share one hierarchy of groups.
    V2,
}

/// The controller of CPUs and memory nodes. In old kernels, its file system type has this name.
pub const CPUSET: &str = "cpuset";

/// A mount: a folder in which groups are visible.
struct Mount {
    version: Version,
    /// The group of the folder itself.
    group: PathBuf,
    at: PathBuf,
}

/// Returns the folders of all groups in which `controller` may limit this process.
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

/// Returns the groups of this process that `controller` may limit. A line is
/// `3:cpu,cpuacct:/group`, or `0::/group` in version 2.
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
    if groups.is_empty()
        && controller == CPUSET
        && let Some(group) = files::text(&source.path("proc/self/cpuset"))?
    {
        let group = PathBuf::from(group.trim_end_matches('\n'));
        groups = vec![(Version::V1, group.clone()), (Version::V2, group)];
    }
    Ok(groups)
}

/// Returns the mounts of hierarchies that have `controller`. A line is `id parent major:minor ROOT
/// MOUNT-POINT options [tag ...] - TYPE source SUPER-OPTIONS` (`proc_pid_mountinfo(5)`).
fn mounts(source: &Source, controller: &str) -> Result<Vec<Mount>, CpusError> {
    let path = source.path("proc/self/mountinfo");
    let Some(text) = files::text(&path)? else {
        return plain_mounts(source, controller);
    };
    let mut mounts = Vec::new();
    for line in text.lines() {
        let Some((mount, file_system)) = line.split_once(" - ") else {
            return Err(files::malformed(
                &path,
                line,
                "a line such as \"29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\"",
            ));
        };
        let mut file_system = file_system.split(' ');
        let version = version(file_system.next(), file_system.nth(1), controller);
        let mut mount = mount.split(' ').skip(3);
        if let (Some(version), Some(group), Some(at)) = (version, mount.next(), mount.next()) {
            mounts.push(Mount {
                version,
                group: unescape(group),
                at: unescape(at),
            });
        }
    }
    Ok(mounts)
}

/// Like [`mounts`], but reads `proc/mounts` with lines such as `source MOUNT-POINT TYPE OPTIONS 0
/// 0`. Each mount shows the root group.
fn plain_mounts(source: &Source, controller: &str) -> Result<Vec<Mount>, CpusError> {
    let text = files::text(&source.path("proc/mounts"))?.unwrap_or_default();
    let mount = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        let at = unescape(fields.next()?);
        Some(Mount {
            version: version(fields.next(), fields.next(), controller)?,
            group: PathBuf::from("/"),
            at,
        })
    };
    Ok(text.lines().filter_map(mount).collect())
}

/// Returns the version of the groups of a file system, or `None` if it lacks `controller`.
fn version(kind: Option<&str>, options: Option<&str>, controller: &str) -> Option<Version> {
    let has_controller = |options: &str| options.split(',').any(|option| option == controller);
    match kind? {
        "cgroup2" => Some(Version::V2),
        "cgroup" if options.is_some_and(has_controller) => Some(Version::V1),
        CPUSET if controller == CPUSET => Some(Version::V1),
        _ => None,
    }
}

/// Returns the folders of `group` and of the groups above it, as far as `mounts` show them.
fn visible(mounts: &[Mount], version: Version, group: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for mount in mounts.iter().filter(|mount| mount.version == version) {
        if let Ok(below) = group.strip_prefix(&mount.group)
            && !below.components().any(|part| part == Component::ParentDir)
        {
            folders.extend(below.ancestors().map(|below| mount.at.join(below)));
        }
    }
    // In a namespace, the group's name (such as `/../..`) may lie below no mount. The folder of a
    // mount then usually shows the group of the container.
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

/// Replaces the escapes of `mountinfo`: a backslash and three octal digits for a special character.
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
