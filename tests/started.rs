//! This test program as a child process. Tests of several crates include this file by its path: a
//! crate of its own would be an arrow from each of them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The longest time without output after which a child counts as failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A child process, and the lines that it has printed on standard error.
pub struct Started {
    pub child: Child,
    lines: Receiver<String>,
    pub said: String,
}

impl Started {
    pub fn new(arguments: &[&str]) -> Self {
        let this = std::env::current_exe().expect("this program has a path");
        let mut child = Command::new(this)
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the child can be run");
        let pipe = BufReader::new(child.stderr.take().expect("standard error is a pipe"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut all = pipe.lines().map(|line| line.expect("messages are text"));
            all.try_for_each(|line| sender.send(line))
        });
        Self {
            child,
            lines,
            said: String::new(),
        }
    }

    /// Returns the next line, or `None` after the child has closed its standard error.
    pub fn line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                self.said += &line;
                self.said.push('\n');
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the child went silent after: {}", self.said),
        }
    }
}

/// Kills the child, so that a failed test leaves no child behind that waits for ever.
impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
