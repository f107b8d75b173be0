//! The folders in which Makefiles find the compilers and the files of the SDK.
//!
//! They are in the user's cache, in a folder for each executable, so that several versions of
//! Cellworks do not disturb each other: `bin` has links to this executable, one for each name of a
//! tool, and `sdk` has the files that Makefiles include from `$(CELL_TOP)`, and empty archives of
//! the libraries.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::ar::encode;
use super::compiler::OWN_LIBRARIES;
use super::names::{NAMES, NATIVE_NAMES, Tool};

const FOOTER: &str = include_str!("../../make/make.footer");
const HEADER: &str = include_str!("../../make/make.header");
const ENV: &str = include_str!("../../make/make.env");

const COMMAND: &str = "cellworks";

/// Returns the folder of the cache.
///
/// # Errors
///
/// A sentence, if the environment names no folder.
pub fn cache() -> Result<PathBuf, String> {
    let named = |name| env::var_os(name).filter(|path| Path::new(path).is_absolute());
    let folder = named("XDG_CACHE_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(named("HOME")?).join(".cache")));
    folder.map(|folder| folder.join("cellworks")).ok_or_else(|| {
        "neither HOME nor XDG_CACHE_HOME names a folder for what is compiled once; set one of them".to_owned()
    })
}

/// Makes the folders, and returns shell commands that put them into the environment.
pub(crate) fn environment(native: bool) -> Result<String, String> {
    let cache = cache()?;
    let own = env::current_exe().map_err(|error| format!("the own executable: {error}"))?;
    let mut hasher = DefaultHasher::new();
    (&own, FOOTER, HEADER, ENV).hash(&mut hasher);
    let cache = cache.join(format!("env-{:016x}", hasher.finish()));
    make(&cache, &own, native).map_err(|error| format!("{}: {error}", cache.display()))?;
    let folder = |name: &str| quoted(&cache.join(name).display().to_string());
    let bin = if native {
        format!("{}:{}", folder("native"), folder("bin"))
    } else {
        folder("bin")
    };
    // Some Makefiles set CELL_TOP themselves, and only a variable in MAKEFLAGS is above theirs.
    let top = cache.join("sdk").display().to_string();
    let for_make = quoted(&format!(
        "CELL_TOP={}",
        top.replace('\\', "\\\\").replace(' ', "\\ ")
    ));
    Ok(format!(
        "export CELL_TOP={}\nexport MAKEFLAGS=\"${{MAKEFLAGS:+$MAKEFLAGS }}\"{for_make}\n\
         export PATH={bin}:\"$PATH\"\n",
        quoted(&top)
    ))
}

fn make(cache: &Path, own: &Path, native: bool) -> io::Result<()> {
    link_all(&cache.join("bin"), own, NAMES)?;
    // The first line of a program names the command.
    let command = own.with_file_name(COMMAND);
    if command.is_file() {
        link(&cache.join("bin").join(COMMAND), &command)?;
    }
    if native {
        link_all(&cache.join("native"), own, NATIVE_NAMES)?;
    }
    let top = cache.join("sdk");
    let utilities = top.join("buildutils");
    fs::create_dir_all(&utilities)?;
    for folder in [&top, &utilities] {
        for (name, text) in [
            ("make.footer", FOOTER),
            ("make.header", HEADER),
            ("make.env", ENV),
        ] {
            write(&folder.join(name), text)?;
        }
    }
    // The compilers link these libraries themselves, so there is nothing in the archives.
    let libraries = top.join("lib");
    fs::create_dir_all(&libraries)?;
    let empty = String::from_utf8(encode(&[])).unwrap_or_default();
    for name in OWN_LIBRARIES {
        write(&libraries.join(format!("lib{name}.a")), &empty)?;
    }
    Ok(())
}

fn link_all(folder: &Path, own: &Path, names: &[(&str, Tool)]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, _) in names {
        link(&folder.join(name), own)?;
    }
    Ok(())
}

/// Makes a link to a file, unless it is already there.
fn link(path: &Path, file: &Path) -> io::Result<()> {
    if fs::read_link(path).is_ok_and(|old| old == file) {
        return Ok(());
    }
    // A rename replaces a link at once, so that a `make` in another terminal always finds one.
    let new = path.with_extension(format!("new.{}", std::process::id()));
    symlink(file, &new)?;
    fs::rename(&new, path)
}

/// Writes a file, unless it already has this text.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let new = path.with_extension(format!("new.{}", std::process::id()));
    fs::write(&new, text)?;
    fs::rename(&new, path)
}

/// Returns a text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_shell_stays_one() {
        assert_eq!(quoted("/a b/$c"), "'/a b/$c'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn each_name_is_a_link_to_the_executable() {
        let folder = tempfile::tempdir().unwrap();
        let target = |link: &str| fs::read_link(folder.path().join(link)).unwrap();
        for own in ["/old/cellworks-sdk", "/new/cellworks-sdk"] {
            make(folder.path(), Path::new(own), true).unwrap();
            for link in ["bin/ppu-gcc", "bin/spu-ar", "bin/embedspu", "native/gcc"] {
                assert_eq!(target(link), Path::new(own), "{link}");
            }
        }
        let names = fs::read_dir(folder.path().join("bin")).unwrap();
        assert_eq!(names.count(), NAMES.len(), "nothing else is left there");
        assert!(folder.path().join("sdk/buildutils/make.footer").is_file());

        // The command lies beside the executable, and programs find it on the PATH.
        fs::write(folder.path().join(COMMAND), "").unwrap();
        make(folder.path(), &folder.path().join("cellworks-sdk"), false).unwrap();
        assert_eq!(target("bin/cellworks"), folder.path().join(COMMAND));
    }
}
