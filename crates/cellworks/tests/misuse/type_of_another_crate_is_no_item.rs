//! What another crate defines is an item in a `Foreign`.
use std::path::PathBuf;

use cellworks_csp::{Channel, Foreign, item};

struct File {
    path: Foreign<PathBuf>,
}

item!(struct File { path });

struct Folder {
    path: PathBuf,
}

item!(struct Folder { path });

fn main() {
    let (_writer, _reader) = Channel::new().one_to_one::<Foreign<PathBuf>>();
    let (_writer, _reader) = Channel::new().one_to_one::<PathBuf>();
}
