//! A cooperative thread may borrow what outlives the scope, but nothing of the closure that starts
//! it: it goes on when that has returned.
use cellworks::prelude::*;

fn program<S: Spe>(spe: &S) {
    spe.thread_scope(|scope| {
        let local = 1;
        scope.spawn(|_| println!("{local}")).unwrap();
    });
}

fn main() {}
