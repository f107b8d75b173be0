//! Peers in C++: OpenMP, and oneTBB where its headers are. The programs are compiled when the
//! benchmark begins, by the compiler that `CXX` names or `c++`.

use std::ffi::{CString, c_void};
use std::path::Path;
use std::process::Command;

use super::table::{System, system};

/// A library of measured functions.
pub struct Cpp {
    library: *mut c_void,
}

/// The prefixes of the functions, and the names of their systems.
const SYSTEMS: [(&str, &str); 2] = [("openmp", "OpenMP"), ("tbb", "oneTBB")];

impl Cpp {
    /// Compiles and loads the functions. Without a compiler, says so and has none.
    pub fn short_calls() -> Self {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/short_calls.cpp");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("short_calls.so");
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        let compile = |more: &[&str]| {
            let mut command = Command::new(&compiler);
            command.args(["-std=c++17", "-O3", "-fopenmp", "-shared", "-fPIC", source]);
            command.args(more).arg("-o").arg(&library);
            command.output().is_ok_and(|output| output.status.success())
        };
        if !compile(&["-DWITH_TBB", "-ltbb"]) {
            eprintln!("left out: oneTBB, as {compiler} finds no headers or library of it");
            if !compile(&[]) {
                eprintln!("left out: OpenMP, as {compiler} compiles no program with it");
                let library = std::ptr::null_mut();
                return Self { library };
            }
        }
        let path = library.to_str().and_then(|path| CString::new(path).ok());
        let path = path.expect("the path of the target folder is text");
        // SAFETY: the library has no code that runs when it is loaded but that of its runtimes.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "{path:?} cannot be loaded");
        Self { library }
    }

    /// Returns the systems that have the function `what`, which is given `argument`.
    pub fn systems<'a>(&self, what: &str, argument: u64) -> Vec<System<'a>> {
        let mut systems = Vec::new();
        for (prefix, name) in SYSTEMS {
            let symbol = CString::new(format!("{prefix}_{what}")).expect("a name without zeros");
            if self.library.is_null() {
                continue;
            }
            // SAFETY: the library stays loaded.
            let function = unsafe { libc::dlsym(self.library, symbol.as_ptr()) };
            if function.is_null() {
                continue;
            }
            // SAFETY: all functions of the library have this type.
            let function =
                unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(u64) -> f64>(function) };
            systems.push(system(name, move || function(argument)));
        }
        systems
    }
}
