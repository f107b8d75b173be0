//! The CPUs that this process may use.

/// The CPUs that this process may use, in ascending order.
pub fn allowed() -> Vec<usize> {
    // SAFETY: the set is plain bits, valid as zeros. The call writes it.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        set
    };
    (0..libc::CPU_SETSIZE as usize)
        // SAFETY: the CPU is within the set.
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect()
}

/// Keeps the calling thread, and the threads that it starts, on some CPUs.
pub fn use_only(cpus: &[usize]) {
    // SAFETY: the set is plain bits, valid as zeros. The call only reads it.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|&cpu| libc::CPU_SET(cpu, &mut set));
        libc::sched_setaffinity(0, size_of_val(&set), &set)
    };
    if result != 0 {
        eprintln!("warning: cannot pin the process; the figures will be noisier");
    }
}

/// The CPU time that this process has used, in nanoseconds.
pub fn time_used_ns() -> f64 {
    // SAFETY: the struct is plain numbers, valid as zeros. The call writes it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}
