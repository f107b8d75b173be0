//! `--html FILE`: the pages of different commands. `output_files.rs` tests all flags for files.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::common::{Run, is_emulated, stats_command};

/// Runs `cellworks stats` with the given arguments and a page at `path`.
fn with_page(arguments: &str, path: &Path) -> Run {
    Run::of(stats_command(arguments).arg("--html").arg(path))
}

/// The start of the message about a page that cannot be written.
fn cannot(path: &Path) -> String {
    format!("error: --html: {} cannot be written: ", path.display())
}

const WHERE: &str = "; name a file in a folder where you may write\n";

#[test]
fn a_page_in_a_folder_that_does_not_exist() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/page.html");
    let why = "No such file or directory (os error 2)";
    let message = format!("{}{why}{WHERE}", cannot(&path));
    // If the command were not refused, it would measure everything, which takes a minute.
    with_page("", &path).refused(&message);
    assert!(!folder.path().join("missing").exists());
    let mut compare = crate::common::cellworks();
    compare
        .args(["compare", "a.json", "b.json", "--html"])
        .arg(&path);
    Run::of(&mut compare).refused(&message);
}

#[test]
fn a_page_for_which_there_is_no_place_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let within = folder.path().join("reports");
    fs::create_dir(&within).unwrap();
    let path = within.join("page.html");
    // `wait_for_handler` takes 5 s under the emulator.
    let budget = if is_emulated() { "20s" } else { "2s" };
    let child = stats_command(&format!("-f mailbox --budget {budget} --quiet --html"))
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    crate::common::terminal::wait_for_handler(&child);
    fs::remove_dir(&within).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (out, err) = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .into();
    let message = format!(
        "error: --html: {} could not be written: No such file or directory (os error 2); write it to a \
         disk that has room\n",
        path.display()
    );
    // If the computer is busy, a message about trust precedes this message.
    assert!(err.ends_with(&message), "{err}");
    // The result is printed in spite of the error.
    assert!(out.contains("\nmailbox: "), "{out}");
}

#[test]
fn a_page_that_would_replace_what_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("a.json");
    fs::write(&input, "{}").unwrap();
    let run = Run::of(
        crate::common::cellworks()
            .arg("compare")
            .args([&input, &input])
            .arg("--html")
            .arg(&input),
    );
    run.refused(&format!(
        "error: --html: it would replace {}, which the command reads; name another file\n",
        input.display()
    ));
    assert_eq!(fs::read_to_string(&input).unwrap(), "{}");
}

#[test]
fn a_page_is_replaced_when_there_is_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    fs::write(&path, "yesterday's ".repeat(100_000)).unwrap();
    let run = with_page("-f mailbox -i 10 --quiet", &path);
    assert_eq!(run.measured(), "");
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    assert!(
        page.contains("mailbox") && !page.contains("yesterday"),
        "{page}"
    );
    assert!(page.trim_end().ends_with("</html>"), "{page}");
    // The terminal has the result, too.
    assert!(run.out.contains("\nmailbox: "), "{}", run.out);
}

/// A link that leads to no file is a file that does not exist yet. The link is not removed.
#[cfg(unix)]
#[test]
fn a_page_behind_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (link, page) = (folder.path().join("link"), folder.path().join("page.html"));
    std::os::unix::fs::symlink(&page, &link).unwrap();
    assert_eq!(with_page("--matrix mailbox -b 4", &link).code, Some(2));
    assert!(link.is_symlink() && !page.exists());
    assert_eq!(with_page("-f mailbox -i 10 --quiet", &link).measured(), "");
    assert!(link.is_symlink() && page.is_file());
}

#[test]
fn wrong_arguments_leave_no_page_and_keep_the_one_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    // Some of these mistakes are found before the file is opened, and some afterwards.
    for arguments in ["-b 1k", "-f dmaget -b 5", "--matrix mailbox -b 4"] {
        assert_eq!(with_page(arguments, &path).code, Some(2));
        assert!(!path.exists(), "{arguments}");
        fs::write(&path, "yesterday's").unwrap();
        assert_eq!(with_page(arguments, &path).code, Some(2));
        assert_eq!(fs::read_to_string(&path).unwrap(), "yesterday's");
        fs::remove_file(&path).unwrap();
    }
}
