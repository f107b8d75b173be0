//! Lists the C headers and sources of `c/`, so that the executable has them.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("c");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    list(&root, &mut files)?;
    files.sort();
    let mut text = "&[\n".to_owned();
    for file in &files {
        let name = file
            .strip_prefix(&root)
            .expect("it is in the folder")
            .display()
            .to_string();
        text += &format!(
            "({name:?}, include_str!({:?})),\n",
            file.display().to_string()
        );
    }
    text += "]\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("files.rs"), text)
}

/// Adds the files of a folder and of the folders in it.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
