//! The handle of a cooperative thread cannot leave the scope that ends the thread.
use cellworks::prelude::*;

fn program<S: Spe>(spe: &S) {
    let handle = spe.thread_scope(|scope| scope.spawn(|_| 1).unwrap());
    drop(handle);
}

fn main() {}
