//! The files that `--html`, `--json`, `--csv` and `--trace` name: when an existing file is kept or
//! replaced, and which files are written directly.
#![cfg(target_os = "linux")]

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use crate::common::{Run, at_once, cellworks, run_as_ordinary_user, stats_command};
use serde_json::Value;
use tempfile::TempDir;

/// The flags that name a file.
const FLAGS: [&str; 4] = ["--html", "--json", "--csv", "--trace"];

const WHERE: &str = "; name a file in a folder where you may write\n";
const ROOM: &str = "; write it to a disk that has room\n";

/// The content of a file before a run.
const OLD: &str = "from before";

/// A short run of a simulated machine that writes a file.
fn short(flag: &str, path: &Path) -> Command {
    let mut command = stats_command("--machine qs20 -f dmaget -i 3 -w 0 --quiet");
    command.arg(flag).arg(path);
    command
}

/// The short run, started by a shell after other commands.
fn short_after(shell: &str, flag: &str, path: &Path) -> Command {
    let short = short(flag, path);
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{shell}; exec \"$0\" \"$@\"")])
        .arg(short.get_program())
        .args(short.get_args());
    command
}

/// A run of a simulated machine that does not end by itself.
fn long(flag: &str, path: &Path) -> Command {
    let mut command = stats_command("--machine qs20 -f dmaget -n 16 -i 100m --quiet");
    command.arg(flag).arg(path);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Asserts that the file is complete, and has the format of the flag.
#[track_caller]
fn is_whole(flag: &str, bytes: &[u8]) {
    match flag {
        "--html" => {
            assert!(bytes.starts_with(b"<!DOCTYPE html>"));
            assert!(bytes.trim_ascii_end().ends_with(b"</html>"));
        }
        "--json" => {
            let report: Value = serde_json::from_slice(bytes).unwrap();
            assert_eq!(report["command"], "stats");
        }
        "--csv" => {
            assert!(bytes.starts_with(b"function,spes,"));
            assert_eq!(bytes.split(|byte| *byte == b'\n').count(), 3);
        }
        _ => assert_eq!(bytes, a_trace()),
    }
}

/// The trace of the short run, which is the same in each run.
fn a_trace() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    well(short("--trace", &path));
    let trace = fs::read(&path).unwrap();
    // The first field of a trace is a packet. A packet has the number 1 and a length.
    assert_eq!(trace.first(), Some(&0x0A));
    trace
}

/// Runs a command that succeeds without a message.
#[track_caller]
fn well(mut command: Command) {
    let run = Run::of(&mut command);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    assert!(run.out.contains("\ndmaget: "), "{}", run.out);
}

/// A folder with a single file, which has the content `OLD`.
fn folder_with_a_file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, OLD).unwrap();
    (folder, path)
}

/// Asserts that the file is unchanged, and that its folder has no other file.
#[track_caller]
fn is_as_before(folder: &TempDir) {
    assert_eq!(names_in(folder), ["file"]);
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), OLD);
}

fn names_in(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

fn mode_of(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode() {
    for flag in FLAGS {
        let (folder, path) = folder_with_a_file();
        fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
        well(short(flag, &path));
        is_whole(flag, &fs::read(&path).unwrap());
        assert_eq!(mode_of(&path), 0o604);
        assert_eq!(names_in(&folder), ["file"]);
    }
}

#[test]
fn a_new_file_has_the_mode_of_new_files() {
    for (umask, mode) in [("022", 0o644), ("007", 0o660)] {
        for flag in FLAGS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            well(short_after(&format!("umask {umask}"), flag, &path));
            is_whole(flag, &fs::read(&path).unwrap());
            assert_eq!(mode_of(&path), mode, "{flag} with umask {umask}");
            assert_eq!(names_in(&folder), ["file"]);
        }
    }
}

#[test]
fn a_link_stays_and_its_target_is_replaced() {
    for flag in FLAGS {
        let (folder, path) = folder_with_a_file();
        fs::create_dir(folder.path().join("links")).unwrap();
        let (first, second) = (
            folder.path().join("links/first"),
            folder.path().join("links/second"),
        );
        symlink("second", &first).unwrap();
        symlink("../file", &second).unwrap();
        well(short(flag, &first));
        assert!(first.is_symlink() && second.is_symlink() && !path.is_symlink());
        is_whole(flag, &fs::read(&path).unwrap());
        // After this line the link leads to no file.
        fs::remove_file(&path).unwrap();
        well(short(flag, &first));
        assert!(first.is_symlink() && second.is_symlink() && !path.is_symlink());
        is_whole(flag, &fs::read(&path).unwrap());
        assert_eq!(names_in(&folder), ["file", "links"]);
    }
}

#[test]
fn links_in_a_circle() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    symlink(&one, &other).unwrap();
    symlink(&other, &one).unwrap();
    for flag in FLAGS {
        Run::of(&mut short(flag, &one)).refused(&format!(
            "error: {flag}: {} cannot be written: Too many levels of symbolic links (os error 40){WHERE}",
            one.display()
        ));
    }
}

#[test]
fn a_folder_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let with_a_slash = PathBuf::from(format!("{}/new/", folder.path().display()));
    for flag in FLAGS {
        for path in [folder.path(), Path::new(".."), &with_a_slash] {
            Run::of(&mut short(flag, path)).refused(&format!(
                "error: {flag}: {} cannot be written: it is a folder{WHERE}",
                path.display()
            ));
        }
    }
    assert_eq!(names_in(&folder), [""; 0]);
}

#[test]
fn a_file_with_a_slash_behind_it() {
    let (folder, path) = folder_with_a_file();
    let with_a_slash = PathBuf::from(format!("{}/", path.display()));
    for flag in FLAGS {
        Run::of(&mut short(flag, &with_a_slash)).refused(&format!(
            "error: {flag}: {} cannot be written: Not a directory (os error 20){WHERE}",
            with_a_slash.display()
        ));
    }
    is_as_before(&folder);
}

#[test]
fn a_folder_that_does_not_exist() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/file");
    for flag in FLAGS {
        Run::of(&mut short(flag, &path)).refused(&format!(
            "error: {flag}: {} cannot be written: No such file or directory (os error 2){WHERE}",
            path.display()
        ));
    }
    assert_eq!(names_in(&folder), [""; 0]);
}

/// If the mode of a file or of its folder forbids writing, the file is refused and not changed.
#[test]
fn a_file_that_the_user_may_not_write() {
    let (folder, path) = folder_with_a_file();
    let modes = [
        ("folder", 0o555, 0o644),
        ("file", 0o755, 0o444),
        ("new file", 0o555, 0o644),
    ];
    for (what, of_folder, of_file) in modes {
        for flag in FLAGS {
            let path = match what {
                "new file" => folder.path().join("new"),
                _ => path.clone(),
            };
            let mut command = short(flag, &path);
            if !run_as_ordinary_user(&mut command, folder.path()) {
                return;
            }
            fs::set_permissions(folder.path().join("file"), Permissions::from_mode(of_file))
                .unwrap();
            fs::set_permissions(folder.path(), Permissions::from_mode(of_folder)).unwrap();
            Run::of(&mut command).refused(&format!(
                "error: {flag}: {} cannot be written: Permission denied (os error 13){WHERE}",
                path.display()
            ));
            is_as_before(&folder);
            fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        }
    }
}

#[test]
fn the_file_of_another_flag() {
    let (folder, path) = folder_with_a_file();
    let link = folder.path().join("link");
    symlink("file", &link).unwrap();
    for page in [&path, &link] {
        for exists in [true, false] {
            if !exists {
                fs::remove_file(&path).unwrap();
            }
            Run::of(short("--trace", &path).arg("--html").arg(page)).refused(&format!(
                "error: --trace: {} cannot be written: --html is written there{WHERE}",
                path.display()
            ));
            assert_eq!(path.exists(), exists);
            fs::write(&path, OLD).unwrap();
        }
    }
}

#[test]
fn a_run_that_fails_keeps_the_last_trace() {
    let (folder, path) = folder_with_a_file();
    let limited = "--machine qs20 -f dmaget -n 2 -i 1m --limit 4ms";
    let mut command = stats_command(limited);
    let run = Run::of(command.arg("--trace").arg(&path));
    assert_eq!(run.code, Some(1), "{}", run.err);
    let warning = format!(
        "warning: --trace: {} was not written, because the run did not end well; --trace - writes to standard \
         output while the run goes on, and shows how far it came\nerror: dmaget 1 KB, ",
        path.display()
    );
    assert!(run.err.starts_with(&warning), "{}", run.err);
    is_as_before(&folder);
    // With `-` the trace is on standard output, up to the failure of the run.
    let output = stats_command(limited)
        .args(["--trace", "-"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.len() > 10_000, "{}", output.stdout.len());
    assert_eq!(output.stdout[0], 0x0A);
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(!err.contains("--trace"), "{err}");
}

/// The result of an incomplete run is written beside an existing file.
#[test]
fn a_run_that_fails_or_is_interrupted_keeps_the_last_result() {
    at_once(
        [
            ("--html", &b"<!DOCTYPE html>"[..]),
            ("--json", b"{"),
            ("--csv", b"function,"),
        ],
        |(flag, of_the_run)| {
            let (folder, path) = folder_with_a_file();
            let said = format!(
                "warning: {flag}: {} was kept, because the run did not come to its end; what it has found is in \
             {}.partial\n",
                path.display(),
                path.display()
            );
            let failed = "--machine qs20 -f dmaget -n 2 -i 1m --limit 4ms --quiet";
            let failed = Run::of(stats_command(failed).arg(flag).arg(&path));
            let child = long(flag, &path).spawn().unwrap();
            crate::common::terminal::wait_for_handler(&child);
            crate::common::terminal::interrupt(&child);
            let interrupted = Run::from(child.wait_with_output().unwrap());
            for (run, code) in [(failed, 1), (interrupted, 130)] {
                assert_eq!(run.code, Some(code), "{}", run.err);
                assert!(run.err.starts_with(&said), "{}", run.err);
            }
            assert_eq!(fs::read_to_string(&path).unwrap(), OLD);
            assert_eq!(names_in(&folder), ["file", "file.partial"]);
            let partial = fs::read(folder.path().join("file.partial")).unwrap();
            assert!(partial.starts_with(of_the_run));
            // A file that is empty or missing is written, because nothing can be lost.
            for before in [Some(""), None] {
                fs::remove_file(&path).unwrap();
                if let Some(text) = before {
                    fs::write(&path, text).unwrap();
                }
                let child = long(flag, &path).spawn().unwrap();
                crate::common::terminal::wait_for_handler(&child);
                crate::common::terminal::interrupt(&child);
                let run = Run::from(child.wait_with_output().unwrap());
                assert_eq!((run.code, run.err.as_str()), (Some(130), ""));
                assert!(fs::read(&path).unwrap().starts_with(of_the_run));
            }
        },
    );
}

#[test]
fn an_ending_stays_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.good.html");
    fs::write(&path, OLD).unwrap();
    let failed = "--machine qs20 -f dmaget -n 2 -i 1m --limit 4ms --quiet --html";
    let run = Run::of(stats_command(failed).arg(&path));
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert_eq!(names_in(&folder), ["a.good.html", "a.good.partial.html"]);
}

/// All commands with a flag for an output file that the command also reads.
#[test]
fn an_input_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let machine = file(
        "my.toml",
        &Run::of(cellworks().args(["machines", "ps3"])).out,
    );
    let graph = file("graph.txt", "0 1 1\n");
    let costs = file("costs.csv", "0,1\n1,0\n");
    let share = file("share.jsonl", "{}\n");
    let command = |words: &str| {
        let mut command = cellworks();
        command
            .current_dir(folder.path())
            .args(words.split_whitespace());
        command
    };
    for flag in FLAGS {
        let mut cases = vec![
            ("stats --machine my.toml -f dmaget -i 3 -w 0", &machine),
            (
                "run switch --machine my.toml --threads 1 --yields 10",
                &machine,
            ),
        ];
        if flag != "--trace" {
            cases.extend([
                ("map ring --machine my.toml --sample 1", &machine),
                ("map ring --machine ps3 --graph graph.txt", &graph),
                ("map ring --machine ps3 --results share.jsonl", &share),
                ("map solve graph.txt --costs costs.csv", &graph),
                ("map solve graph.txt --costs costs.csv", &costs),
                (
                    "map explain 0,1 graph.txt --problem graph.txt --costs costs.csv",
                    &graph,
                ),
                ("merge share.jsonl", &share),
                ("reproduce cellstats --results share.jsonl", &share),
                (
                    "run switch --machine ps3 --threads 1,2 --results share.jsonl",
                    &share,
                ),
            ]);
        }
        for (words, input) in cases {
            let before = fs::read(input).unwrap();
            let name = input.file_name().unwrap().to_str().unwrap();
            let run = Run::of(command(words).arg(flag).arg(input));
            assert_eq!(
                (run.code, run.out.as_str()),
                (Some(2), ""),
                "{words} {flag}: {}",
                run.err
            );
            let said = "which the command reads; name another file\n";
            assert!(
                run.err
                    .starts_with(&format!("error: {flag}: it would replace "))
                    && run.err.contains(name)
                    && run.err.ends_with(said),
                "{words} {flag}: {}",
                run.err
            );
            assert!(fs::read(input).unwrap() == before, "{words} {flag}");
        }
    }
    // The name of a built-in machine is not the name of a file.
    let mut built_in = command("stats --machine qs20 -f dmaget -i 3 -w 0 --quiet --html qs20");
    assert_eq!(Run::of(&mut built_in).code, Some(0));
}

#[test]
fn ctrl_c_keeps_the_last_trace() {
    let (folder, path) = folder_with_a_file();
    let child = long("--trace", &path).spawn().unwrap();
    crate::common::terminal::wait_for_handler(&child);
    crate::common::terminal::interrupt(&child);
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(130), "{}", run.err);
    is_as_before(&folder);
}

/// A killed command cannot clean up. This test therefore also covers panics and aborts.
#[test]
fn a_command_that_is_killed_leaves_nothing_behind() {
    for flag in FLAGS {
        let (folder, path) = folder_with_a_file();
        let mut child = long(flag, &path).spawn().unwrap();
        crate::common::terminal::wait_for_handler(&child);
        child.kill().unwrap();
        child.wait().unwrap();
        is_as_before(&folder);
    }
}

/// Writing fails at the limit of the size of files, as it does on a full disk.
#[test]
fn a_disk_without_room_keeps_the_last_file() {
    for flag in FLAGS {
        let (folder, path) = folder_with_a_file();
        let run = Run::of(&mut short_after("trap '' XFSZ; ulimit -f 0", flag, &path));
        assert_eq!(run.code, Some(1), "{}", run.err);
        assert_eq!(
            run.err,
            format!(
                "error: {flag}: {} could not be written: File too large (os error 27){ROOM}",
                path.display()
            )
        );
        assert!(run.out.contains("\ndmaget: "), "{}", run.out);
        is_as_before(&folder);
    }
}

#[test]
fn a_device_is_written_directly() {
    for flag in FLAGS {
        let run = Run::of(&mut short(flag, Path::new("/dev/full")));
        assert_eq!(run.code, Some(1), "{}", run.err);
        assert_eq!(
            run.err,
            format!(
                "error: {flag}: /dev/full could not be written: No space left on device (os error 28){ROOM}"
            )
        );
        assert!(run.out.contains("\ndmaget: "), "{}", run.out);
        well(short(flag, Path::new("/dev/null")));
    }
    // If standard output is the same device, the result is printed to it, too.
    let null = || Stdio::from(fs::File::options().write(true).open("/dev/null").unwrap());
    let output = short("--trace", Path::new("/dev/null"))
        .stdout(null())
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), b"".as_slice())
    );
}

#[test]
fn a_fifo_is_written_directly() {
    for flag in FLAGS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        let reader = thread::spawn({
            let path = path.clone();
            move || {
                let mut bytes = Vec::new();
                fs::File::open(path)
                    .unwrap()
                    .read_to_end(&mut bytes)
                    .unwrap();
                bytes
            }
        });
        well(short(flag, &path));
        is_whole(flag, &reader.join().unwrap());
        assert_eq!(names_in(&folder), ["fifo"]);
    }
}

/// The command measures only after the reader has come, and does not wait forever.
#[test]
fn a_fifo_that_no_program_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    at_once(FLAGS, |flag| {
        Run::of(&mut short(flag, &path)).refused(&format!(
            "error: {flag}: {} cannot be written: no program reads it{WHERE}",
            path.display()
        ));
    });
}

/// The shell has opened the file with `3> file`.
#[test]
fn an_open_file_is_written_directly() {
    for flag in FLAGS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let open = format!("exec 3> '{}'", path.display());
        well(short_after(&open, flag, Path::new("/dev/fd/3")));
        is_whole(flag, &fs::read(&path).unwrap());
    }
}

/// Only the trace is on standard output. The result goes to standard error.
#[test]
fn a_trace_on_standard_output_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    for named in ["-", "/dev/stdout", "/dev/fd/1", path.to_str().unwrap()] {
        let command = || short("--trace", Path::new(named));
        let to_a_file = command()
            .stdout(fs::File::create(&path).unwrap())
            .output()
            .unwrap();
        let mut outputs = vec![(to_a_file, fs::read(&path).unwrap())];
        if named != path.to_str().unwrap() {
            let to_a_pipe = command().output().unwrap();
            let out = to_a_pipe.stdout.clone();
            outputs.push((to_a_pipe, out));
        }
        for (output, trace) in outputs {
            let err = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(0), "{err}");
            assert!(err.contains("\ndmaget: "), "{err}");
            assert!(trace == a_trace(), "{named}");
        }
    }
    assert!(!Path::new("-").exists());
}

#[test]
fn a_reader_that_has_seen_enough_of_a_trace_is_no_error() {
    let mut child = short("--trace", Path::new("-"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(0), "{}", run.err);
}

/// Only the named file is on standard output. The result goes to standard error.
#[test]
fn a_result_on_standard_output_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    for flag in ["--html", "--json", "--csv"] {
        for named in [Path::new("-"), Path::new("/dev/stdout"), &path] {
            let mut command = short(flag, named);
            if named == path {
                command.stdout(fs::File::create(&path).unwrap());
            }
            let output = command.output();
            let output = output.unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(0), "{err}");
            assert!(err.contains("\ndmaget: "), "{err}");
            if named == path {
                is_whole(flag, &fs::read(&path).unwrap());
            } else {
                is_whole(flag, &output.stdout);
            }
        }
    }
}

#[test]
fn one_run_is_written_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut command = short("--html", &path("html"));
    command.arg("--json").arg(path("json"));
    command.arg("--csv").arg(path("csv"));
    well(command);
    for flag in ["--html", "--json", "--csv"] {
        is_whole(flag, &fs::read(path(&flag[2..])).unwrap());
    }
    // JSON has the samples, regardless of where it is written.
    well({
        let mut command = short("--json", &path("json"));
        command.arg("--samples");
        command
    });
    let report: Value = serde_json::from_slice(&fs::read(path("json")).unwrap()).unwrap();
    assert!(report["measurements"][0]["samples_ns"].is_array());
}

#[test]
fn two_flags_with_one_file() {
    let (folder, path) = folder_with_a_file();
    for (first, second) in [
        ("--html", "--json"),
        ("--json", "--csv"),
        ("--html", "--csv"),
    ] {
        for named in [path.as_path(), Path::new("-")] {
            Run::of(short(first, named).arg(second).arg(named)).refused(&format!(
                "error: {second}: {} cannot be written: {first} is written there{WHERE}",
                named.display()
            ));
        }
    }
    is_as_before(&folder);
    Run::of(short("--json", Path::new("-")).args(["--trace", "/dev/stdout"])).refused(&format!(
        "error: --trace: /dev/stdout cannot be written: --json is written there{WHERE}"
    ));
}
