//! The pictures that a program draws, written as files.

use std::fs;
use std::path::{Path, PathBuf};

use cellworks_apps::Picture;

use crate::failure::Failure;
use crate::output_file::OutputFile;

const FLAG: &str = "--png";

/// A folder with a file for each picture.
#[derive(Clone)]
pub(super) struct Pictures {
    folder: PathBuf,
    written: usize,
    /// The reason why a picture was not written. Later pictures are then not written.
    failure: Option<String>,
}

impl Pictures {
    /// Makes the folder, if it does not exist. Fails if this is impossible.
    pub fn into(folder: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(folder).map_err(|error| {
            let folder = folder.display();
            Failure::Usage(format!(
                "{FLAG}: the folder {folder} cannot be made: {error}; name another one"
            ))
        })?;
        Ok(Self {
            folder: folder.to_owned(),
            written: 0,
            failure: None,
        })
    }

    /// Writes the next picture, and replaces an existing file of the same name.
    pub fn write(&mut self, picture: &Picture) {
        if self.failure.is_some() {
            return;
        }
        self.written += 1;
        let path = self.folder.join(format!("{:04}.png", self.written));
        self.failure = match write(&path, picture) {
            Ok(()) => None,
            Err(Failure::Usage(message) | Failure::Run(message)) => Some(message),
            Err(_) => Some(format!("{FLAG}: {} has no reader any more", path.display())),
        };
    }

    /// Returns the reason why a picture was not written, if any.
    pub fn failure(&mut self) -> Option<String> {
        self.failure.take()
    }
}

fn write(path: &Path, picture: &Picture) -> Result<(), Failure> {
    let mut file = OutputFile::open(FLAG, path)?;
    let written = picture.write_png(&mut file);
    written.map_err(|error| file.failed(&error))?;
    file.complete()
}
