//! Prints the schema of the JSON: `cargo run -p cellworks-report --example schema`.

fn main() {
    print!("{}", cellworks_report::schema::text());
}
