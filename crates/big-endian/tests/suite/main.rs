//! Every form of IR that is rewritten or refused, and the addresses of a linked module.

mod body;
mod data;
mod link;
mod module;

use cellworks_big_endian::{RewriteError, rewrite, rewrite_unoptimised, rewrite_with_registers};

/// Returns the rewritten lines of the function `f` with the body `lines`, without their indent.
fn body(lines: &[&str]) -> Vec<String> {
    rewritten_body(lines, rewrite)
}

/// Returns the lines of a program that may reach registers.
fn body_with_registers(lines: &[&str]) -> Vec<String> {
    rewritten_body(lines, rewrite_with_registers)
}

/// Returns the lines of a program without optimisation that may reach registers.
fn unoptimised_body(lines: &[&str]) -> Vec<String> {
    rewritten_body(lines, |ir| rewrite_unoptimised(ir, true))
}

fn rewritten_body(
    lines: &[&str],
    rewrite: impl Fn(&str) -> Result<String, RewriteError>,
) -> Vec<String> {
    let big = rewrite(&function(lines)).unwrap_or_else(|error| panic!("{error}"));
    let start = big.find("define ").expect("the function stays");
    big[start..]
        .lines()
        .skip(1)
        .take_while(|line| *line != "}")
        .map(|line| line.trim().to_owned())
        .collect()
}

fn function(lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("define void @f(ptr %p, i32 %n, ptr %q) {{\n{lines}}}\n")
}

/// Returns why the function `f` with the body `lines` is refused.
fn refusal(lines: &[&str]) -> String {
    match rewrite(&function(lines)) {
        Ok(big) => panic!("nothing was refused:\n{big}"),
        Err(error) => error.to_string(),
    }
}
