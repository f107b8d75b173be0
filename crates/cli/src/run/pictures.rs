//! The pictures that a program draws, as files.

use std::fs;
use std::path::{Path, PathBuf};

use cellworks_apps::Picture;

use crate::failure::Failure;
use crate::output_file::OutputFile;

const FLAG: &str = "--png";

/// Files of a folder, a picture each.
#[derive(Clone)]
pub(super) struct Pictures {
    folder: PathBuf,
    written: usize,
    /// Why one was not written. No other is written then.
    failure: Option<String>,
}

impl Pictures {
    /// Files of this folder, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if it cannot be made.
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

    /// Writes the next picture. A file of its name is replaced.
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

    /// Why a picture was not written.
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
