//! What helps against errors of clang that gcc did not have, or that a Cell did not have.

use super::cpp_source::HEADERS;

/// Headers of other products than the base of the SDK: the names, what they are of, and what to do.
const OTHERS: &[(&[&str], &str, &str)] = &[
    (
        &["alf.h", "alf_accel.h", "dacs.h"],
        "ALF and DaCS, libraries beside the base of the SDK",
        OWN_SOURCE,
    ),
    (
        &["blas.h", "blas_s.h", "cblas.h", "lapack.h", "clapack.h"],
        "the BLAS and LAPACK libraries beside the base of the SDK",
        OWN_SOURCE,
    ),
    (
        &["mass.h", "massv.h", "mass_simd.h"],
        "the MASS library of IBM's compilers",
        "simdmath.h has functions of vectors, such as sinf4, and math.h those of numbers",
    ),
    (
        &[
            "mpm.h",
            "libmpm.h",
            "mpm_types.h",
            "mpm_defines.h",
            "spu_mpm.h",
        ],
        "the library of numbers of any length (libmpm) beside the base of the SDK",
        OWN_SOURCE,
    ),
    (
        &[
            "libfft.h",
            "libimage.h",
            "libaudio_resample.h",
            "libgmath.h",
            "liblarge_matrix.h",
            "libmc_rand.h",
            "libnoise.h",
            "libspucrypto.h",
        ],
        "a library beside the base of the SDK",
        OWN_SOURCE,
    ),
    (
        &["netdb.h", "netinet/ether.h", "net/if.h", "resolv.h"],
        "the network",
        "a program here sees the files that it is given and no network; leave out this part of the program",
    ),
    (
        &[
            "aio.h",
            "asm/ps3fb.h",
            "elf.h",
            "execinfo.h",
            "grp.h",
            "link.h",
            "linux/fb.h",
            "numa.h",
            "pty.h",
            "pwd.h",
            "spawn.h",
            "sys/epoll.h",
            "sys/inotify.h",
            "sys/ipc.h",
            "sys/mount.h",
            "sys/msg.h",
            "sys/prctl.h",
            "sys/ptrace.h",
            "sys/sem.h",
            "sys/shm.h",
            "sys/statfs.h",
            "sys/statvfs.h",
            "sys/termios.h",
            "sys/ucontext.h",
            "sys/vfs.h",
            "termios.h",
            "ucontext.h",
            "utmp.h",
            "wordexp.h",
        ],
        "a part of Linux that is not here",
        "a program here sees the files that it is given, and no users, devices and other processes; leave out this \
         part of the program",
    ),
    (
        &["dlfcn.h"],
        "shared libraries, of which there are none",
        "link what the program would load (its sources, or an archive of ppu-ar), and call its functions by their names",
    ),
    (
        &["mpi.h", "omp.h"],
        "MPI or OpenMP",
        "threads of the PPU (pthread.h) and SPU programs are what there is",
    ),
    (
        HEADERS,
        "the library of C++, which only programs of the PPU have",
        "the headers of C by their names in C++, such as <cstdio> and <cmath>, are here",
    ),
];

const OWN_SOURCE: &str = "if you have its source, compile it with ppu-gcc or spu-gcc, and name the folder of its \
                          headers with -I";

/// Returns what to do about what clang said of a source that it did not compile.
pub(super) fn remedies(said: &str) -> Vec<String> {
    let mut all: Vec<String> = said.lines().filter_map(remedy).collect();
    all.sort();
    all.dedup();
    all
}

fn remedy(line: &str) -> Option<String> {
    if let Some((before, _)) = line.split_once("' file not found") {
        let (_, header) = before.rsplit_once('\'')?;
        return Some(
            match OTHERS.iter().find(|(names, ..)| names.contains(&header)) {
                Some((_, product, advice)) => format!("{header} is of {product}: {advice}"),
                None => format!(
                    "{header} is neither of the SDK's base nor of the C library: if it is of this program, or of a library \
                 whose source you have, name its folder with -I"
                ),
            },
        );
    }
    if line.contains("error: function definition is not allowed here") {
        return Some(
            "clang has no functions inside of functions, which are GNU C: move this one out of the other one, make it \
             `static`, and give it the variables that it uses as arguments, or make them `static` outside, too"
                .to_owned(),
        );
    }
    if line.contains("a parameter list without types is only allowed") {
        return Some(
            "in this list of parameters, a name is no type yet, which gcc 4 only warned of: include the header that \
             declares it above this line, such as <stddef.h> for size_t"
                .to_owned(),
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_are_not_here_are_named_with_their_product() {
        let line = |header: &str| format!("a.c:1:10: fatal error: '{header}' file not found\n");
        for (header, part) in [
            (
                "libmpm.h",
                "libmpm.h is of the library of numbers of any length (libmpm)",
            ),
            ("netdb.h", "sees the files that it is given and no network"),
            ("linux/fb.h", "no users, devices and other processes"),
            (
                "dlfcn.h",
                "dlfcn.h is of shared libraries, of which there are none: link",
            ),
            ("vector", "the library of C++"),
            ("glib.h", "glib.h is neither of the SDK's base"),
        ] {
            let all = remedies(&line(header));
            assert!(all.len() == 1 && all[0].contains(part), "{all:?}");
        }
        assert_eq!(
            remedies("a.c:1:10: error: use of undeclared identifier 'x'\n"),
            [""; 0]
        );
    }
}
