//! Compares the measurement `copy` with the C library's `memcpy`, on the same CPU in the same run.
//!
//! Both copy blocks of the same sizes between ordinary memory that the copying thread touched
//! first. They take turns in every repetition, so that the ratio holds on a noisy machine. Prints a
//! Markdown table: bandwidth in bytes copied as median (minimum-maximum) over the repetitions, and
//! the median of the ratio to `memcpy` in the same repetition. Run it with `cargo bench -p
//! cellworks-benches --bench memcpy`.

use std::ffi::c_void;
use std::hint::black_box;
use std::time::{Duration, Instant};

use cellworks_host::Host;
use cellworks_machine::{LOCAL_STORE_BYTES, Machine, Span, SpeId, Wake};
use cellworks_stats::{Function, Iterations, Limits, Plan, Request, Settings, measure};

const REPETITIONS: usize = 15;
const BLOCK_BYTES: [usize; 6] = [16 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20];
const HALF_PAGE_BYTES: usize = 2048;
/// How long each system copies blocks of one size, in one repetition.
const EACH: Duration = Duration::from_millis(150);

fn main() {
    let host = Host::builder()
        .spes(1)
        .build()
        .expect("this computer can be measured");
    println!("\n| block | memcpy, GB/s | **copy**, GB/s | ratio |\n|---|---|---|---|");
    for bytes in BLOCK_BYTES {
        let mut theirs = Vec::new();
        let mut ours = Vec::new();
        let mut ratios = Vec::new();
        for repetition in 0..=REPETITIONS {
            let (a, b) = (memcpy(&host, bytes), copy(&host, bytes));
            // The first repetition warms up.
            if repetition > 0 {
                theirs.push(a);
                ours.push(b);
                ratios.push(b / a);
            }
        }
        println!(
            "| {} KB | {} | {} | {:.2} |",
            bytes >> 10,
            spread(&mut theirs),
            spread(&mut ours),
            median(&mut ratios),
        );
    }
}

/// The bandwidth of the measurement `copy`, in gigabytes a second.
fn copy(host: &Host, bytes: usize) -> f64 {
    let limits = Limits {
        block_bytes_max: 64 << 20,
        local_store_bytes: LOCAL_STORE_BYTES,
        memory_bytes_max: 1 << 30,
        staging_bytes_max: None,
        bandwidth_bytes_per_s_max: None,
    };
    let request = Request {
        settings: Settings {
            block_bytes: Some(bytes),
            ..Settings::default()
        },
        iterations: Iterations::Within(Span::from_nanoseconds(EACH.as_nanos() as u64)),
        ..Request::new(Function::Copy)
    };
    let plan: Plan = request.plan(host.topology(), &limits).expect("a copy fits");
    let measurement = measure(host, &plan).expect("it can be measured");
    bytes as f64 / measurement.latency_ns.p50
}

/// The bandwidth of `memcpy` on the thread of the same SPE, in gigabytes a second.
fn memcpy(host: &Host, bytes: usize) -> f64 {
    host.run(|ppe| {
        let program = ppe.spawn(SpeId::new(0), |spe| {
            // The target starts half a page beyond whole pages, as in `copy`. With a distance of a
            // few bytes, loads wait for stores to the same place in another page. The sizes of
            // blocks are whole pages.
            let words = bytes / 8;
            let mut memory = vec![1_u64; words + HALF_PAGE_BYTES / 8 + words];
            let (from, rest) = memory.split_at_mut(words);
            let to = &mut rest[HALF_PAGE_BYTES / 8..];
            to.fill(0);
            let mut times_ns = Vec::new();
            let begin = Instant::now();
            while begin.elapsed() < EACH {
                // Repeats small blocks, so that the time is long enough for the clock.
                let repeat = ((1 << 20) / bytes).max(1);
                let start = spe.now();
                for _ in 0..repeat {
                    let (to, from) = (to.as_mut_ptr().cast::<c_void>(), from.as_ptr().cast());
                    // SAFETY: both slices have `bytes` bytes, and do not overlap.
                    unsafe { libc::memcpy(black_box(to), black_box(from), bytes) };
                }
                times_ns.push(spe.now().since(start).as_nanoseconds_f64() / repeat as f64);
            }
            assert_eq!(black_box(&*to), &*from);
            bytes as f64 / median(&mut times_ns)
        });
        program.join().expect("the program copies")
    })
    .expect("no program waits")
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn spread(values: &mut [f64]) -> String {
    let median = median(values);
    format!(
        "{median:.1} ({:.1}-{:.1})",
        values[0],
        values[values.len() - 1]
    )
}
