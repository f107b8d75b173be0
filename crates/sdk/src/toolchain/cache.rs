//! What is written to the user's cache once: the headers and sources of `c/`, and what is compiled.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::driver::tools::{Failed, because};

/// The headers and sources of `c/`: their paths and texts.
pub(crate) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The folders in which the SDK has the sources of its libraries with their headers, which programs
/// name: `<misc/malloc_align.h>`. Here a folder is the one with all headers.
const LIBRARIES: [&str; 4] = ["matrix", "misc", "sync", "vector"];

/// What the name of a folder begins with until it is complete.
const NEW: &str = "new-";

/// Returns a short name for texts: other texts have another one.
pub(crate) fn fingerprint<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(text);
    }
    hex(&hash.finalize()[..8])
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the folder `name` of the cache, after `fill` has filled it if it was not there.
///
/// A process that fills it holds a lock, so another one waits and then finds it full. The folder
/// gets its name only when it is complete.
pub(crate) fn folder(
    cache: &Path,
    name: &str,
    fill: impl FnOnce(&Path) -> Result<(), Failed>,
) -> Result<PathBuf, Failed> {
    let folder = cache.join(name);
    if folder.is_dir() {
        return Ok(folder);
    }
    let unmade = |error: io::Error| because(&format!("{}: {error}", folder.display()));
    fs::create_dir_all(cache).map_err(unmade)?;
    let lock = fs::File::create(cache.join("lock")).map_err(unmade)?;
    if lock.try_lock().is_err() {
        eprintln!(
            "note: this waits for another compiler, which compiles the C library into {}",
            cache.display()
        );
        lock.lock().map_err(unmade)?;
    }
    if folder.is_dir() {
        return Ok(folder);
    }
    // Who was stopped while it filled a folder has left a part of it, and holds no lock now.
    for entry in fs::read_dir(cache).map_err(unmade)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(NEW) {
            fs::remove_dir_all(entry.path()).map_err(unmade)?;
        }
    }
    let new = tempfile::Builder::new()
        .prefix(NEW)
        .tempdir_in(cache)
        .map_err(unmade)?;
    fill(new.path())?;
    fs::rename(new.path(), &folder).map_err(unmade)?;
    Ok(folder)
}

/// Returns the folder of the cache with our headers (`include`) and sources (`lib`).
pub(crate) fn own_files(cache: &Path) -> Result<PathBuf, Failed> {
    let texts = FILES.iter().flat_map(|(path, text)| [*path, *text]);
    let texts = texts.chain(LIBRARIES);
    folder(cache, &format!("c-{}", fingerprint(texts)), |new| {
        for (path, text) in FILES {
            let file = new.join(path);
            write(&file, text.as_bytes())?;
        }
        for library in LIBRARIES {
            let link = new.join("include/common").join(library);
            std::os::unix::fs::symlink(".", &link)
                .map_err(|error| because(&format!("{}: {error}", link.display())))?;
        }
        Ok(())
    })
}

/// Writes a file and the folders in which it lies.
pub(crate) fn write(file: &Path, bytes: &[u8]) -> Result<(), Failed> {
    let made = file.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(file, bytes))
        .map_err(|error| because(&format!("{}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_folder_is_filled_once_for_all_that_ask_for_it() {
        let cache = tempfile::tempdir().unwrap();
        let fills = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let filled = folder(cache.path(), "full", |new| {
                        fills.fetch_add(1, Ordering::Relaxed);
                        write(&new.join("a/b"), b"text")
                    });
                    assert_eq!(fs::read(filled.unwrap().join("a/b")).unwrap(), b"text");
                });
            }
        });
        assert_eq!(fills.into_inner(), 1);
    }

    #[test]
    fn a_folder_that_could_not_be_filled_is_not_there() {
        let cache = tempfile::tempdir().unwrap();
        let failed = folder(cache.path(), "half", |new| {
            write(&new.join("a"), b"")?;
            Err(because("it is broken"))
        });
        assert_eq!(failed, Err(because("it is broken")));
        let left: Vec<_> = fs::read_dir(cache.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "only the lock: {left:?}");
    }

    #[test]
    fn what_a_stopped_process_left_is_removed() {
        let cache = tempfile::tempdir().unwrap();
        write(&cache.path().join("new-left/a"), b"").unwrap();
        folder(cache.path(), "full", |_| Ok(())).unwrap();
        assert!(!cache.path().join("new-left").exists());
    }

    #[test]
    fn other_texts_have_another_name() {
        assert_eq!(fingerprint(["a", "b"]), fingerprint(["a", "b"]));
        assert_ne!(fingerprint(["a", "b"]), fingerprint(["ab"]));
        assert_ne!(fingerprint(["a", "b"]), fingerprint(["b", "a"]));
    }
}
