//! `?` turns no other error into the error of a network: the function returns a `Box<dyn Error>`.
use cellworks_csp::NetworkError;

fn spes(text: &str) -> Result<usize, NetworkError> {
    Ok(text.parse()?)
}

fn main() {
    let _ = spes("one");
}
