//! What a user is given as an error is one: `?` passes it on from a function that returns a
//! `Box<dyn Error + Send + Sync>`, and threads may send and share it. What processes return and
//! items that were not written are no errors, but `?` turns them into a `Box<dyn Error>`. A `main`
//! that returns an error prints its `Debug`, which reads as its `Display`.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::num::ParseIntError;
use std::path::Path;

use cellworks::csp::Unsent;
use cellworks::prelude::*;

/// Compiles only for an error that lives by itself and that threads may send and share.
fn is_an_error<E: Error + Send + Sync + 'static>() {}

/// Checks each type, and returns their names.
macro_rules! errors {
    ($($error:ty),* $(,)?) => {{
        $(is_an_error::<$error>();)*
        [$(stringify!($error)),*]
    }};
}

fn listed() -> impl Iterator<Item = &'static str> {
    let errors = errors!(
        cellworks::csp::Deadlock,
        cellworks::csp::Ended,
        cellworks::csp::GateError,
        cellworks::csp::GuardEnded,
        cellworks::csp::NamedError,
        cellworks::csp::NetworkError,
        cellworks::csp::NoRoomForItem,
        cellworks::host::CpusError,
        cellworks::host::HostError,
        cellworks::host::UsageUnknown,
        cellworks::machine::AtomicError,
        cellworks::machine::InterleaveError,
        cellworks::machine::LateFault,
        cellworks::machine::LatencyTableError,
        cellworks::machine::NoRoom,
        cellworks::machine::ProgramPanic,
        cellworks::machine::RunError,
        cellworks::machine::StackError,
        cellworks::machine::StageError,
        cellworks::machine::TryIssueError,
        cellworks::machine::mailbox::MailboxFull,
        cellworks::machine::memory::AllocateError,
        cellworks::machine::mfc::CommandFault,
        cellworks::machine::mfc::InvalidCommand,
        cellworks::machine::mfc::MfcFault,
        cellworks::machine::mfc::PushError,
        cellworks::mapping::MachineError,
        cellworks::mapping::ProblemError,
        cellworks::mapping::read::ReadError,
        cellworks::mapping::write::TooLong,
        cellworks::sim::DescriptionError,
        cellworks::sim::Hazard,
        cellworks::sim::LoadError,
        cellworks::sim::SimError,
        cellworks::sim::trace::ReadTraceError,
        cellworks::stats::Impossible,
        cellworks::stats::MeasureError,
        cellworks::stats::RequestError,
        cellworks::stats::SpeError,
        cellworks::stats::Untrusted,
        cellworks::tasks::PoolError,
        cellworks::tasks::TaskError,
        cellworks::threads::Blocked,
        cellworks_big_endian::LinkError,
        cellworks_big_endian::RewriteError,
        cellworks_apps::ParameterError,
        cellworks_apps::ProgramError,
        cellworks_apps::exchange::MappingError,
        cellworks_apps::exchange::SweepError,
        cellworks_report::ReadError,
        cellworks_report::compare::CompareError,
        cellworks_reproduce::PaperError,
        cellworks_reproduce::UnknownMachine,
    );
    errors.into_iter()
}

/// The payload of a panic is no error and is not listed: `Box<dyn Any + Send>`.
#[test]
fn all_public_errors_may_be_sent_and_shared() {
    let listed: BTreeSet<_> = listed()
        .map(|path| {
            let path = path
                .trim_start_matches("cellworks")
                .trim_start_matches("::");
            let mut names = path.trim_start_matches('_').split("::");
            let (of, name) = (names.next().unwrap(), names.last().unwrap());
            format!("{}: {name}", of.replace('_', "-"))
        })
        .collect();
    let (mut found, mut by_hand) = (BTreeSet::new(), BTreeSet::new());
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for entry in fs::read_dir(crates).unwrap() {
        let folder = entry.unwrap();
        let of = folder.file_name().into_string().unwrap();
        find(&folder.path().join("src"), &mut |name, what| {
            let set = match what {
                Found::Error => &mut found,
                Found::DebugByDisplay => &mut by_hand,
            };
            set.insert(format!("{of}: {name}"));
        });
    }
    assert_eq!(listed, found, "the listed and the found errors");
    let table = include_str!("../../../docs/errors.md").lines();
    let table: BTreeSet<_> = table
        .filter_map(|row| row.strip_prefix("| ")?.split_once(" | `"))
        .filter_map(|(of, rest)| Some(format!("{of}: {}", rest.split_once('`')?.0)))
        .collect();
    assert_eq!(
        table, listed,
        "the errors in docs/errors.md and the listed ones"
    );
    let variants: Vec<_> = found.difference(&by_hand).collect();
    assert!(
        variants.is_empty(),
        "the `Debug` of these errors does not read as their `Display`: {variants:?}; use \
         `cellworks_machine::debug_by_display!`"
    );
}

#[test]
fn errors_within_modules_are_found() {
    let text = "mod a { pub mod b { #[derive(thiserror::Error)] pub struct Lost; } }";
    let mut found = Vec::new();
    find_in(syn::parse_file(text).unwrap().items, &mut |name, _| {
        found.push(name);
    });
    assert_eq!(found, ["Lost"]);
}

/// What a `main` prints that returns the error.
#[test]
fn errors_print_sentences() {
    fn is_a_sentence(error: impl Error, text: &str) {
        assert_eq!(format!("Error: {error:?}"), format!("Error: {text}"));
        assert_eq!(error.to_string(), text);
    }
    let host = Host::builder().spes(1).build().unwrap();
    let name = host.topology().name();
    let many = Pool::new(&host).workers(9).run(|_| ()).unwrap_err();
    let text = format!("9 workers were asked for, but {name} has 1 SPEs: ask for 1 to 1 workers");
    is_a_sentence(many, &text);
    let mut gate = Network::on(&host).gate("client", ());
    is_a_sentence(
        gate.enter().err().unwrap(),
        "the gate `client` is closed, as its network never ran; run the network",
    );
    is_a_sentence(Ended::Closed, "the channel was closed");
    let panicked = Pool::new(&host).run(|_| panic!("no fuel")).unwrap_err();
    is_a_sentence(panicked, "the main program panicked on the PPE: no fuel");
}

enum Found {
    Error,
    /// `Debug` is not derived.
    DebugByDisplay,
}

/// Calls `each` with the name of each public type in `folder` that derives or implements `Error`,
/// and of each type whose `Debug` is not derived.
fn find(folder: &Path, each: &mut dyn FnMut(String, Found)) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, each);
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let Ok(file) = syn::parse_file(&text) else {
            continue;
        };
        find_in(file.items, each);
    }
}

fn find_in(items: Vec<syn::Item>, each: &mut dyn FnMut(String, Found)) {
    let is_public = |visibility: &syn::Visibility| matches!(visibility, syn::Visibility::Public(_));
    for item in items {
        let name = match item {
            syn::Item::Struct(item) if is_public(&item.vis) && derives_error(&item.attrs) => {
                item.ident
            }
            syn::Item::Enum(item) if is_public(&item.vis) && derives_error(&item.attrs) => {
                item.ident
            }
            syn::Item::Mod(module) => {
                let items = module.content.map(|(_, items)| items);
                find_in(items.unwrap_or_default(), each);
                continue;
            }
            syn::Item::Impl(item) => {
                if let Some(name) = implementing(&item, "fmt", "Debug") {
                    each(name.to_string(), Found::DebugByDisplay);
                }
                match implementing(&item, "std", "Error") {
                    Some(name) => name,
                    None => continue,
                }
            }
            syn::Item::Macro(item) => {
                let of = item.mac.path.segments.last().map(|it| it.ident.to_string());
                if of.as_deref() == Some("debug_by_display") {
                    each(item.mac.tokens.to_string(), Found::DebugByDisplay);
                }
                continue;
            }
            _ => continue,
        };
        each(name.to_string(), Found::Error);
    }
}

fn derives_error(attributes: &[syn::Attribute]) -> bool {
    let of_derive = attributes.iter().filter(|it| it.path().is_ident("derive"));
    let mut derives =
        of_derive.filter_map(|it| Some(it.meta.require_list().ok()?.tokens.to_string()));
    derives.any(|names| names.contains("thiserror :: Error"))
}

/// Returns the type of an `impl std::error::Error for Type`, of the trait `name` from `root`.
fn implementing(item: &syn::ItemImpl, root: &str, name: &str) -> Option<syn::Ident> {
    let (path, _) = item.trait_.as_ref()?;
    let is_it = path.segments.last()?.ident == name && path.segments[0].ident == root;
    let syn::Type::Path(of) = &*item.self_ty else {
        return None;
    };
    is_it.then(|| of.path.segments.last().map(|it| it.ident.clone()))?
}

/// The reason why `read` failed, as a `main` prints it.
fn printed<T>(read: impl FnOnce() -> Result<T, Box<dyn Error>>) -> String {
    read().err().expect("an error").to_string()
}

/// Runs `main` in a network on this computer.
fn network<R>(
    main: impl FnOnce(&Process<'_, cellworks::csp::PpePlace<'_, <Host as Machine>::Core>>) -> R,
) -> R {
    let host = Host::builder().spes(1).build().unwrap();
    Network::on(&host).run_with(main).unwrap()
}

#[test]
fn main_passes_on_what_a_process_returns() {
    let failed = printed(|| {
        let number = network(|_| -> Result<u32, ProcessError> { Ok("seven".parse()?) })?;
        Ok(number)
    });
    assert_eq!(failed, "invalid digit found in string");

    let ended = printed(|| {
        let (_, mut reader) = Channel::new().one_to_one::<u32>();
        let number =
            network(move |process| -> Result<u32, ProcessError> { Ok(reader.read(process)?) })?;
        Ok(number)
    });
    assert_eq!(ended, "the channel was closed");
}

#[test]
fn main_passes_on_items_that_were_not_written() {
    let unsent = printed(|| {
        let (mut writer, _) = Channel::new().one_to_one();
        network(move |process| writer.write(process, 7))?;
        Ok(())
    });
    assert_eq!(unsent, "the channel was closed");

    let refused = printed(|| {
        let (mut writer, _reader) = Channel::new().one_to_one();
        network(|process| writer.try_write(process, 7))?;
        Ok(())
    });
    assert_eq!(
        refused,
        "an item was not written: no reader took it in time"
    );
}

#[test]
fn all_threads_are_passed_what_was_not_written_or_failed() {
    fn unsent(unsent: Unsent<&str>) -> Result<(), Box<dyn Error + Send + Sync>> {
        Err(unsent)?
    }
    let item = Unsent {
        item: "an item",
        ended: Ended::Poisoned,
    };
    assert_eq!(
        unsent(item).unwrap_err().downcast_ref(),
        Some(&Ended::Poisoned)
    );

    fn size(of: &str) -> Result<u32, Box<dyn Error + Send + Sync>> {
        let size = network(|_| -> Result<u32, ProcessError> { Ok(of.parse()?) });
        size.map_err(ProcessError::into_inner)
    }
    assert_eq!(size("38").unwrap(), 38);
    assert!(size("tall").unwrap_err().is::<ParseIntError>());
}

#[test]
fn anyhow_is_passed_what_a_process_returns() {
    fn size(of: &str) -> Result<u32, anyhow::Error> {
        let size = network(|_| -> Result<u32, ProcessError> { Ok(of.parse()?) });
        size.map_err(|error| anyhow::Error::from_boxed(error.into_inner()))
    }
    assert_eq!(size("38").unwrap(), 38);
    let text = size("tall").unwrap_err().to_string();
    assert_eq!(text, "invalid digit found in string");
}

#[test]
fn what_a_process_returns_shows_the_error_within() {
    /// The order was not written.
    #[derive(Debug)]
    struct NoOrder(ParseIntError);

    impl std::fmt::Display for NoOrder {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the order is no number")
        }
    }

    impl Error for NoOrder {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    let why = "seven".parse::<u32>().unwrap_err();
    let error = ProcessError::from(NoOrder(why.clone()));
    assert_eq!(error.to_string(), "the order is no number");
    assert_eq!(error.source().unwrap().to_string(), why.to_string());
    assert_eq!(error.downcast_ref::<NoOrder>().unwrap().0, why);
    assert!(error.downcast_ref::<Ended>().is_none());

    let unsent = Unsent {
        item: 7,
        ended: Ended::Poisoned,
    };
    let ended = ProcessError::from(unsent);
    assert_eq!(ended.ended(), Some(Ended::Poisoned));
    assert_eq!(ended.downcast_ref(), Some(&Ended::Poisoned));
}
