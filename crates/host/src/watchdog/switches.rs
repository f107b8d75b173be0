//! Counts how often threads of this process have left their CPU.

/// Returns how often the threads of this process except the calling one have left their CPU.
/// Returns `None` if the calling thread left its CPU meanwhile.
pub(super) fn of_other_threads() -> Option<libc::c_long> {
    let this = of(libc::RUSAGE_THREAD)?;
    let all = of(libc::RUSAGE_SELF)?;
    (of(libc::RUSAGE_THREAD)? == this).then_some(all - this)
}

fn of(who: libc::c_int) -> Option<libc::c_long> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the call writes to `usage` alone, and has written it if it returns 0.
    let usage = unsafe {
        let result = libc::getrusage(who, usage.as_mut_ptr());
        (result == 0).then(|| usage.assume_init())?
    };
    Some(usage.ru_nvcsw + usage.ru_nivcsw)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::of_other_threads;

    /// Returns the count as soon as it can be read.
    fn count() -> libc::c_long {
        std::iter::repeat_with(of_other_threads)
            .find_map(|switches| switches)
            .unwrap()
    }

    #[test]
    fn a_thread_that_runs_and_waits_again_is_counted() {
        let (go, waits) = std::sync::mpsc::channel();
        let (answers, answer) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || waits.iter().try_for_each(|()| answers.send(())));
        for _ in 0..100 {
            let before = count();
            // The thread has to leave its CPU to wait for the next message.
            go.send(()).unwrap();
            answer.recv().unwrap();
            while count() == before {
                std::thread::yield_now();
            }
        }
        drop(go);
        thread.join().unwrap().unwrap();
    }
}
