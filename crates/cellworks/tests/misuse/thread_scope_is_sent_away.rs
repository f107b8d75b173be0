//! Cooperative threads are started on the core of their scope, from no other.
use cellworks::prelude::*;

fn to_an_os_thread<S: Spe>(spe: &S) {
    spe.thread_scope(|scope| {
        std::thread::scope(|threads| {
            threads.spawn(|| drop(scope.spawn(|_| ())));
        });
    });
}

fn to_another_spe<M: Machine>(ppe: &Ppe<'_, '_, M>, spe: &M::Spe, to: SpeId) {
    spe.thread_scope(|scope| {
        ppe.spawn(to, |_| drop(scope.spawn(|_| ())));
    });
}

fn main() {}
