//! `?` turns no other error into the error of a network: the function returns a `Box<dyn Error>`.
use cellworks_csp::NetworkError;

fn text(path: &str) -> Result<String, NetworkError> {
    Ok(std::fs::read_to_string(path)?)
}

fn main() {
    let _ = text("orders");
}
