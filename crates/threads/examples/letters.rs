//! Two cooperative threads share a cell: a writer of letters, and a reader that waits for them.
//!
//! Run with `cargo run -p cellworks-threads --example letters`.

use std::cell::RefCell;
use std::collections::VecDeque;

use cellworks_threads::{Config, NoOutside, current, park, run, scope};

/// Runs both threads and returns the letters that the reader saw.
fn letters() -> Vec<String> {
    let mailbox = RefCell::new(VecDeque::new());
    let seen = run(&Config::default(), &NoOutside, || {
        let reader = current();
        scope(|s| {
            s.spawn(|| {
                for letter in ["one", "two", "three"] {
                    mailbox.borrow_mut().push_back(letter);
                    reader.unpark();
                }
            });
            let mut seen = Vec::new();
            while seen.len() < 3 {
                let letter = mailbox.borrow_mut().pop_front();
                match letter {
                    Some(letter) => seen.push(format!("read {letter}")),
                    None => park(&"a letter"),
                }
            }
            seen
        })
    });
    seen.expect("the writer writes three letters")
}

fn main() {
    for line in letters() {
        println!("{line}");
    }
    // Without a writer, the wait is an error that names the thread, the description and the place.
    let alone = run(&Config::default(), &NoOutside, || park(&"a letter"));
    println!("{}", alone.unwrap_err());
}

#[test]
fn the_reader_sees_all_letters_in_order() {
    assert_eq!(letters(), ["read one", "read two", "read three"]);
}
