//! A headless Chromium, to which the tests speak by the Chrome DevTools Protocol
//! (<https://chromedevtools.github.io/devtools-protocol/>): messages of JSON, each of which ends
//! with a zero byte, in a pipe.
//!
//! Rejected: the crate `headless_chrome`. With what it needs, it took 100 s of CPU time to build.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use std::{env, thread};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The names of the program, if `CHROME` does not name it.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

const FLAGS: [&str; 9] = [
    "--headless",
    "--remote-debugging-pipe",
    // The sandbox does not start for root or in containers. The page is from this project, so it
    // needs no sandbox.
    "--no-sandbox",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--force-color-profile=srgb",
    "--no-first-run",
];

/// After this time without a message, Chromium is taken to hang.
const LIMIT: Duration = Duration::from_secs(120);

/// A tab of a browser of its own.
pub struct Chromium {
    process: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    session: Value,
    /// The number of the last command.
    last: u64,
    /// The events so far.
    pub events: Vec<Value>,
    _profile: TempDir,
}

impl Chromium {
    /// What Chromium prints goes into the file `log`.
    pub fn start(log: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap();
        // Chromium reads commands from file descriptor 3 and writes messages to 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 < /dev/null > /dev/null", "sh"])
            .arg(program())
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(log).unwrap())
            .spawn()
            .unwrap();
        let to = process.stdin.take().unwrap();
        let messages = BufReader::new(process.stdout.take().unwrap()).split(0);
        let (sender, from) = mpsc::channel();
        thread::spawn(move || {
            for message in messages {
                let message = serde_json::from_slice(&message.unwrap()).unwrap();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut chromium = Self {
            process,
            to,
            from,
            session: Value::Null,
            last: 0,
            events: Vec::new(),
            _profile: profile,
        };
        let tab = chromium.call("Target.createTarget", json!({ "url": "about:blank" }));
        let to_tab = json!({ "targetId": tab["targetId"], "flatten": true });
        chromium.session = chromium.call("Target.attachToTarget", to_tab)["sessionId"].take();
        chromium
    }

    /// What a command gives.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": parameters });
        if !self.session.is_null() {
            command["sessionId"] = self.session.clone();
        }
        write!(self.to, "{command}\0").unwrap();
        loop {
            let mut message = self.message(method);
            if message["id"] == self.last {
                assert_eq!(message["error"], Value::Null, "{method}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    /// Waits until an event is as asked for, unless one has been.
    pub fn wait(&mut self, is_it: impl Fn(&Value) -> bool) {
        while !self.events.iter().any(&is_it) {
            let event = self.message("an event");
            self.events.push(event);
        }
    }

    fn message(&self, what_for: &str) -> Value {
        self.from
            .recv_timeout(LIMIT)
            .unwrap_or_else(|reason| panic!("no answer by Chromium to {what_for}: {reason}"))
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

fn program() -> String {
    let on_path = |name: &&str| {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    env::var("CHROME").unwrap_or_else(|_| {
        let found = NAMES.into_iter().find(on_path);
        found.expect("Chromium is installed").to_owned()
    })
}
