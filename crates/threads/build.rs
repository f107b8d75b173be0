//! Finds out whether the build uses a sanitizer that must be told of switches. `cfg(sanitize)` is
//! not stable yet, but Cargo tells build scripts its value.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!(
        "cargo::rustc-check-cfg=cfg(cellworks_sanitizer, values(none(), \"address\", \"thread\"))"
    );
    let sanitizers = std::env::var("CARGO_CFG_SANITIZE").unwrap_or_default();
    for sanitizer in sanitizers.split(',') {
        if ["address", "thread"].contains(&sanitizer) {
            println!("cargo::rustc-cfg=cellworks_sanitizer");
            println!("cargo::rustc-cfg=cellworks_sanitizer=\"{sanitizer}\"");
        }
    }
}
