//! Finds out whether AddressSanitizer is on: `cfg(sanitize)` itself is not stable yet, but Cargo tells build scripts.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(cellworks_asan)");
    let sanitizers = std::env::var("CARGO_CFG_SANITIZE").unwrap_or_default();
    if sanitizers
        .split(',')
        .any(|sanitizer| sanitizer == "address")
    {
        println!("cargo::rustc-cfg=cellworks_asan");
    }
}
