//! A guard gives back what it was offered, which lives no longer than it did.
use cellworks_csp::{Alternation, Item, Place, Process, WriteGuard, Writer};

struct Borrowed<'a>(&'a str);
impl Item for Borrowed<'_> {}

fn program<'a>(
    process: &Process<impl Place>,
    writer: &'a mut Writer<Borrowed<'a>>,
    text: &'a str,
) -> Borrowed<'static> {
    let mut alternation = Alternation::fair();
    let guard: WriteGuard<Borrowed<'a>> = alternation.write(writer);
    alternation.offer(process, &guard, Borrowed(text));
    let longer: WriteGuard<Borrowed<'static>> = guard;
    alternation.withdraw(process, &longer).unwrap()
}

fn main() {}
