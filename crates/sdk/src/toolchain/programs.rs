//! Where clang and the linker of WebAssembly are.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::driver::tools::{Failed, because};

/// The versions of LLVM that are known to work, the newest first.
const VERSIONS: [u32; 4] = [22, 21, 20, 19];

/// Clang and the linker.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    pub(crate) clang: PathBuf,
    pub(crate) linker: PathBuf,
    /// The major version of clang.
    pub(crate) version: u32,
}

impl Programs {
    /// Finds the programs: those that the environment names, or the newest known ones on the PATH.
    pub(crate) fn find() -> Result<Self, Failed> {
        let (clang, version) = clang()?;
        let linker = match env::var_os("CELLWORKS_LLD") {
            Some(linker) => PathBuf::from(linker),
            None => linker()?,
        };
        Ok(Self {
            clang,
            linker,
            version,
        })
    }
}

fn clang() -> Result<(PathBuf, u32), Failed> {
    if let Some(clang) = env::var_os("CELLWORKS_CLANG").map(PathBuf::from) {
        let said = said(&clang);
        let version = said.as_deref().and_then(major).ok_or_else(|| {
            because(&format!(
                "CELLWORKS_CLANG={}: this program does not say its version like clang",
                clang.display()
            ))
        })?;
        if !VERSIONS.contains(&version) {
            return Err(because(&format!(
                "CELLWORKS_CLANG={}: this is clang {version}, and clang 19 to 22 are needed",
                clang.display()
            )));
        }
        return Ok((clang, version));
    }
    for version in VERSIONS {
        if let Some(clang) = on_path(&format!("clang-{version}")) {
            return Ok((clang, version));
        }
    }
    on_path("clang")
        .and_then(|clang| Some((major(&said(&clang)?)?, clang)))
        .filter(|(version, _)| VERSIONS.contains(version))
        .map(|(version, clang)| (clang, version))
        .ok_or_else(|| {
            because(
                "clang 19, 20, 21 or 22 is needed and is not on the PATH; on Debian and Ubuntu: apt-get install \
                 clang-19 lld-19 (or name the program in CELLWORKS_CLANG)",
            )
        })
}

fn linker() -> Result<PathBuf, Failed> {
    let names = VERSIONS.map(|version| format!("wasm-ld-{version}"));
    let mut names = names.iter().map(String::as_str).chain(["wasm-ld"]);
    names.find_map(on_path).ok_or_else(|| {
        because(
            "wasm-ld, the linker of LLD 19 to 22, is needed and is not on the PATH; on Debian and Ubuntu: apt-get \
             install lld-19 (or name the program in CELLWORKS_LLD)",
        )
    })
}

/// Returns the program of this name on the PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Returns what clang says about its version.
pub(crate) fn said(clang: &Path) -> Option<String> {
    let output = Command::new(clang).arg("--version").output().ok()?;
    String::from_utf8(output.stdout).ok()
}

/// Returns the version such as `22.1.8` in what clang says.
pub(crate) fn full(said: &str) -> Option<&str> {
    let (_, version) = said.split_once("clang version ")?;
    version.split([' ', '\n', '-', '+', '~']).next()
}

fn major(said: &str) -> Option<u32> {
    full(said)?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_in_what_clang_says() {
        for (said, version, number) in [
            (
                "Debian clang version 22.1.8 (1~deb12u1)\nTarget: x\n",
                "22.1.8",
                Some(22),
            ),
            ("clang version 19.1.7\n", "19.1.7", Some(19)),
            ("Ubuntu clang version 20.1.2-1ubuntu1\n", "20.1.2", Some(20)),
        ] {
            assert_eq!(full(said), Some(version));
            assert_eq!(major(said), number);
        }
        assert_eq!(major("gcc (Debian 12.2.0-14) 12.2.0"), None);
    }
}
