//! Opens reports in headless Chromium, as a reader would from a disk.
//!
//! The tests need Chromium (Debian: `apt install chromium`), which Cargo does not bring. So they
//! are ignored, and run only on request. `.ci/run` installs Chromium and runs them all:
//!
//! ```text
//! cargo test -p cellworks-report --test browser -- --ignored
//! ```
//!
//! One of them also opens the files in `CELLWORKS_REPORT_HTML`, separated by colons as in `PATH`:
//!
//! ```text
//! cargo run --release -- stats --html target/report.html
//! CELLWORKS_REPORT_HTML=$PWD/target/report.html \
//!     cargo test -p cellworks-report --test browser -- --ignored
//! ```
//!
//! The tests write pictures of all pages, wide, narrow and dark, to `target/tmp`.

mod chromium;
#[path = "../made_up/mod.rs"]
mod made_up;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use base64::prelude::{BASE64_STANDARD, Engine};
use cellworks_report::{Comparison, Measured, Report, compare, html, program, reproduction};
use chromium::Chromium;
use made_up::{captured, captured_64_cores, doubtful, empty, matrix, times, two_cores};
use serde_json::{Value, json};

/// The widths of the windows of a desktop and of a telephone.
const WIDE: u32 = 1280;
const NARROW: u32 = 420;
/// The height of the windows.
const HEIGHT: u32 = 900;

/// A page in a browser of its own.
struct Opened {
    browser: RefCell<Chromium>,
    name: String,
}

impl Opened {
    fn report(name: &str, report: &Report) -> Self {
        Self::page(name, &html::render(report))
    }

    fn page(name: &str, html: &str) -> Self {
        let path = output(&format!("{name}.html"));
        fs::write(&path, html).unwrap();
        Self::file(name, &path)
    }

    fn file(name: &str, path: &Path) -> Self {
        let browser = Chromium::start(&output(&format!("{name}.log")));
        let opened = Self {
            browser: RefCell::new(browser),
            name: name.to_owned(),
        };
        for events in ["Log", "Network", "Page", "Runtime"] {
            opened.call(&format!("{events}.enable"), json!({}));
        }
        opened.call("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
        opened.look(WIDE, HEIGHT, "light");
        let address = format!("file://{}", path.canonicalize().unwrap().display());
        let loader = opened.call("Page.navigate", json!({ "url": address }))["loaderId"].take();
        // Half a second after the last request.
        opened.browser.borrow_mut().wait(|event| {
            event["params"]["name"] == "networkIdle" && event["params"]["loaderId"] == loader
        });
        opened
    }

    fn call(&self, method: &str, parameters: Value) -> Value {
        self.browser.borrow_mut().call(method, parameters)
    }

    /// What is at `pointer` in the parameters of each event of this name.
    fn events(&self, name: &str, pointer: &str) -> Vec<String> {
        let text = |event: &Value| match event["params"].pointer(pointer).unwrap() {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let events = &self.browser.borrow().events;
        let named = events.iter().filter(|event| event["method"] == name);
        named.map(text).collect()
    }

    /// The messages of the console.
    fn console(&self) -> Vec<String> {
        [
            self.events("Runtime.consoleAPICalled", "/args"),
            self.events("Runtime.exceptionThrown", "/exceptionDetails"),
            self.events("Log.entryAdded", "/entry/text"),
        ]
        .concat()
    }

    /// The addresses that the page requested.
    fn requests(&self) -> Vec<String> {
        self.events("Network.requestWillBeSent", "/request/url")
    }

    /// Sets the size of the window, and whether the reader prefers light or dark colours.
    fn look(&self, width: u32, height: u32, preference: &str) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let feature = json!({ "name": "prefers-color-scheme", "value": preference });
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": [feature] }),
        );
    }

    /// The value of a JavaScript expression, for which Chromium waits if it is a promise.
    fn evaluate(&self, expression: &str) -> Value {
        let what = json!({ "expression": expression, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", what);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{expression}");
        answer["result"]["value"].take()
    }

    /// The value of a JavaScript expression.
    fn value(&self, expression: &str) -> Value {
        let json = self.evaluate(&format!("JSON.stringify({expression})"));
        let text = json.as_str();
        serde_json::from_str(text.unwrap_or_else(|| panic!("{expression} has no value"))).unwrap()
    }

    fn text(&self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector({selector:?}).textContent"));
        text.as_str().unwrap().to_owned()
    }

    /// Moves the pointer to a position within an element, which is given as shares of the element's
    /// width and height. Returns the text that appears.
    fn hover(&self, selector: &str, across: f64, down: f64) -> String {
        let place = self.value(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); \
             e.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const r = e.getBoundingClientRect(); \
             return [r.left + r.width * {across}, r.top + r.height * {down}]; }})()"
        ));
        // The scroll event hides the earlier text. The event comes with the next frame.
        self.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
        );
        let to = json!({ "type": "mouseMoved", "x": place[0], "y": place[1] });
        self.call("Input.dispatchMouseEvent", to);
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.value("document.getElementById('hover').hidden") == Value::Bool(true) {
            assert!(Instant::now() < deadline, "nothing appears over {selector}");
            thread::sleep(Duration::from_millis(20));
        }
        let shown = self.value(
            "(() => { const r = document.getElementById('hover').getBoundingClientRect(); \
             return r.left >= 0 && r.top >= 0 && r.right <= innerWidth && r.bottom <= innerHeight; })()",
        );
        assert_eq!(
            shown,
            Value::Bool(true),
            "what appears is inside of the window"
        );
        self.picture("hover");
        self.text("#hover")
    }

    /// Checks that a report has no faults that any report could have.
    fn check(&self) {
        for (look, width, preference) in [
            ("wide", WIDE, "light"),
            ("dark", WIDE, "dark"),
            ("narrow", NARROW, "light"),
            ("narrow-dark", NARROW, "dark"),
        ] {
            self.look(width, HEIGHT, preference);
            let place = format!("{} {look}", self.name);
            assert_eq!(self.value(TOO_WIDE), 0, "{place}: cut off");
            assert_eq!(
                self.value(CUT_OFF),
                Value::Array(Vec::new()),
                "{place}: cut off"
            );
            assert_eq!(
                self.value(OVERLAPPING),
                Value::Array(Vec::new()),
                "{place}: overlap"
            );
            let background = self.value("getComputedStyle(document.body).backgroundColor");
            assert_eq!(
                background == "rgb(255, 255, 255)",
                preference == "light",
                "{place}"
            );
            self.screenshot(look, width, preference);
        }
        self.look(WIDE, HEIGHT, "light");
        self.write("Page.printToPDF", json!({}), ".pdf");
        assert_eq!(self.console(), [""; 0], "{}: the console", self.name);
        let requests = self.requests();
        assert_eq!(
            requests.len(),
            1,
            "{}: only the page is loaded: {requests:?}",
            self.name
        );
        assert!(requests[0].starts_with("file://"), "{requests:?}");
    }

    /// A picture of the whole page.
    fn screenshot(&self, look: &str, width: u32, preference: &str) {
        let height = self.value("document.documentElement.scrollHeight");
        // Chromium paints only the window, so the window gets the height of the page.
        self.look(width, height.as_u64().unwrap() as u32, preference);
        self.picture(look);
    }

    /// A picture of the window.
    fn picture(&self, name: &str) {
        self.write("Page.captureScreenshot", json!({}), &format!("-{name}.png"));
    }

    /// Writes the data that a command gives into a file.
    fn write(&self, method: &str, parameters: Value, end: &str) {
        let data = self.call(method, parameters)["data"].take();
        let data = BASE64_STANDARD.decode(data.as_str().unwrap()).unwrap();
        assert!(!data.is_empty(), "{method}");
        fs::write(output(&format!("{}{end}", self.name)), data).unwrap();
    }
}

/// The number of pixels by which the page is wider than the window.
const TOO_WIDE: &str =
    "document.documentElement.scrollWidth - document.documentElement.clientWidth";

/// The texts of drawings that are partly outside of their drawing.
const CUT_OFF: &str = "[...document.querySelectorAll('.chart > svg text')].filter((text) => {
    const inner = text.getBoundingClientRect();
    const outer = text.closest('svg').getBoundingClientRect();
    return inner.left < outer.left - 1 || inner.right > outer.right + 1
        || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
}).map((text) => text.textContent)";

/// The texts of a drawing, or the numbers at the edges of a heat map, that overlap.
const OVERLAPPING: &str =
    "[...document.querySelectorAll('.chart > svg, .rows, .columns')].flatMap((drawing) => {
    const all = [...drawing.querySelectorAll('text, span')];
    const boxes = all.map((text) => text.getBoundingClientRect());
    const over = (a, b) => a.left < b.right - 1 && a.right > b.left + 1
        && a.top < b.bottom - 1 && a.bottom > b.top + 1;
    return all.filter((_, one) => boxes.some((box, other) => other > one && over(box, boxes[one])))
        .map((text) => text.textContent);
})";

/// The opacity of each pixel of a heat map of 64 SPEs.
const OPACITIES: &str = "(() => {
    const context = document.querySelector('canvas').getContext('2d');
    const data = context.getImageData(0, 0, 64, 64).data;
    return [...Array(4096).keys()].map((at) => data[at * 4 + 3]);
})()";

fn output(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
#[ignore = "needs Chromium, which `.ci/run` installs for these tests"]
fn a_report_of_two_cores_can_be_read() {
    let page = Opened::report("two-cores", &two_cores());
    page.check();
    assert_eq!(page.text("h1"), "A made-up processor with two cores");
    assert_eq!(
        page.text("#results tbody tr:nth-child(2)"),
        "copy bandwidth24.6 GB/sblock 64 KB, 1 CPU"
    );
    assert_eq!(
        page.text("#measurements table:first-of-type thead"),
        "betweenCPUsL3 groupmean (ns)min (ns)median (ns)± (%)99 % (ns)max (ns)samplesoutliers"
    );
    assert_eq!(
        page.text("#measurements tbody tr"),
        "main-CPU101,7101,5801,6803.52,18015,1004,0007"
    );
    assert_eq!(
        page.hover(".cells tr:nth-child(1) td:nth-child(3)", 0.5, 0.5),
        "CPU 0 to CPU 1: 61.3 ns"
    );
    // The curve of one SPE has nine sizes.
    let curve = "[...document.querySelectorAll('#curves h3')].find((h) => h.textContent.startsWith('dmaget'))\
                 .nextElementSibling.querySelector('polyline:not(.frame)').points.numberOfItems";
    assert_eq!(page.value(curve), 9);
    // This is the last point of fetchadd on one variable.
    let point = ".functions > :last-child .s0 circle:last-of-type";
    assert_eq!(
        page.hover(point, 0.5, 0.5),
        "fetchadd, 2 CPUs\nshared\nmedian 80.4 ns (78.0 ns to 83.6 ns)\n99 % 105 ns"
    );
}

#[test]
#[ignore = "needs Chromium, which `.ci/run` installs for these tests"]
fn a_comparison_of_two_days_can_be_read() {
    let (a, mut b) = (two_cores(), doubtful());
    for (at, measurement) in b.measurements.iter_mut().enumerate() {
        // The factors are from 1/2 to 2, in no order, except one that is far from the others.
        let factor = match at {
            20 => 40.0,
            at => 2f64.powf((at * 37 % 100) as f64 / 50.0 - 1.0),
        };
        measurement.latency_ns.p50 *= factor;
        let interval = measurement.median_interval_ns.as_mut().unwrap();
        interval.low *= factor;
        interval.high *= factor;
    }
    let comparison = Comparison::of(
        &Measured::Stats(a),
        &Measured::Stats(b),
        ["monday.json", "tuesday.json"],
    )
    .unwrap();
    let page = Opened::page("comparison", &compare::html(&comparison));
    page.check();
    assert_eq!(page.text("h1"), "tuesday.json compared with monday.json");
    assert_eq!(page.text("main > :first-child h2"), "Not to be relied upon");
    let first = page.text("#summary tbody tr");
    assert!(first.ends_with("40.0"), "{first}");
    assert_eq!(page.text("#ratios thead"), "CPUsABB/AintervalB is0.5012.00");
    assert_eq!(
        page.hover("#ratios svg", 0.5, 0.5),
        "0.500 times\n0.466 to 0.536"
    );
    // The axis has to be at the tick that names it.
    let apart = "(() => {
        const middle = (e) => { const r = e.getBoundingClientRect(); return (r.left + r.right) / 2; };
        const tick = document.querySelector('#ratios .ticks span:nth-child(2)');
        const line = document.querySelector('#ratios svg .grid:nth-of-type(2)');
        return Math.abs(middle(tick) - middle(line));
    })()";
    assert!(page.value(apart).as_f64().unwrap() < 2.0);
}

#[test]
#[ignore = "needs Chromium, which `.ci/run` installs for these tests"]
fn a_report_of_64_captured_cores_can_be_read() {
    let page = Opened::report("64-cores", &captured_64_cores());
    page.check();
    let near = captured()[1][0].unwrap();
    assert!((near - 43.6).abs() < 0.1);
    let middle = |spe: usize| (spe as f64 + 0.5) / 64.0;
    assert_eq!(
        page.hover("canvas", middle(0), middle(1)),
        "CPU 1 to CPU 0: 43.6 ns"
    );
    assert_eq!(
        page.hover("canvas", middle(63), middle(2)),
        format!("CPU 2 to CPU 63: {:.1} ns", captured()[2][63].unwrap())
    );
    // A core does not send to itself, so its pixel is transparent. All other pairs have a colour.
    let opacities = page.value(OPACITIES);
    for at in 0..4_096 {
        assert_eq!(opacities[at], if at % 65 == 0 { 0 } else { 255 });
    }
    assert_eq!(
        page.text("#matrices table tbody tr"),
        "same L3 group646441.041.443.6"
    );
}

#[test]
#[ignore = "needs Chromium, which `.ci/run` installs for these tests"]
fn a_report_that_cannot_be_trusted_begins_with_a_warning() {
    let page = Opened::report("doubtful", &doubtful());
    page.check();
    assert_eq!(page.text("main > :first-child h2"), "Not trustworthy");
    let top =
        page.value("document.querySelector('.doubt').getBoundingClientRect().bottom < innerHeight");
    assert_eq!(top, Value::Bool(true), "seen without scrolling");
}

#[test]
#[ignore = "needs Chromium, which `.ci/run` installs for these tests"]
fn a_matrix_of_576_spes_opens() {
    let mut report = empty(576, 96);
    let mut some = times(576, 96);
    some[100][200] = None;
    report.matrices = vec![matrix(&report.envelope.machine, some)];
    let page = Opened::report("576-spes", &report);
    page.check();
    let middle = |spe: usize| (spe as f64 + 0.5) / 576.0;
    assert_eq!(
        page.hover("canvas", middle(200), middle(100)),
        "CPU 100 to CPU 200: not measured"
    );
}

#[test]
#[ignore = "needs Chromium, which `.ci/run` installs for these tests"]
fn a_report_of_nothing_opens_and_so_do_the_files_that_were_named() {
    Opened::report("nothing", &empty(1, 1)).check();
    let named = env::var_os("CELLWORKS_REPORT_HTML");
    for path in named.iter().flat_map(env::split_paths) {
        let name = path.file_stem().unwrap().display().to_string();
        Opened::file(&format!("named-{name}"), &path).check();
    }
}

#[test]
#[ignore = "needs Chromium, which `.ci/run` installs for these tests"]
fn a_program_can_be_read_and_compared() {
    let report = made_up::program();
    let page = Opened::page("program", &program::html(&report));
    page.check();
    assert_eq!(page.text("h1"), "overlap on a blade");
    assert_eq!(
        page.hover("#figures .chart .s0 circle:last-of-type", 0.5, 0.5),
        "double\n11.7 cycles/byte\n875 MB/s"
    );
    let mut slower = report.clone();
    slower.results[0].value /= 2.0;
    let both = [report, slower].map(Measured::Program);
    let comparison = Comparison::of(&both[0], &both[1], ["monday.json", "tuesday.json"]).unwrap();
    let page = Opened::page("comparison-of-programs", &compare::html(&comparison));
    page.check();
    assert_eq!(page.text("#summary p"), "4 results in both.");
    assert_eq!(page.hover("#ratios svg", 0.5, 0.5), "0.500 times");
}

#[test]
#[ignore = "needs Chromium, which `.ci/run` installs for these tests"]
fn a_reproduction_of_two_papers_can_be_read() {
    let page = Opened::page("reproduction", &reproduction::html(&made_up::two_papers()));
    page.check();
    assert_eq!(page.text("h1"), "2 sources, simulated");
    assert_eq!(
        page.text("main > :first-child h2"),
        "Not everything was simulated"
    );
    assert_eq!(
        page.hover("#numbers details:nth-of-type(2) tbody tr", 0.5, 0.5),
        "longest of all divided by the shortest"
    );
    let headings =
        "[...document.querySelectorAll('#figures h3')].map((h) => h.textContent.slice(0, 17))";
    assert_eq!(
        page.value(headings),
        json!([
            "Figure 4 Operatio",
            "Figures 10 and 11",
            "Figure 12 Operati"
        ])
    );
    // Each figure has two panels with two charts: times and bandwidths. The last has no bandwidths.
    let charts = "[...document.querySelectorAll('#figures .charts')].map((c) => c.children.length)";
    assert_eq!(page.value(charts), json!([4, 4, 2]));
    assert_eq!(
        page.hover("#figures .chart .s4 circle:last-of-type", 0.5, 0.5),
        "Shared-C1-M1, 16 KB\n9.01 ms\n3277 GB/s"
    );
    // A quantity that grows by the same amount for each SPE has to be a straight line.
    let slopes = "(() => {
        const last = [...document.querySelectorAll('#figures .charts')].at(-1);
        const p = [...last.querySelectorAll('.s1 circle.target')].map((c) => [+c.getAttribute('cx'), +c.getAttribute('cy')]);
        return [[0, 1], [4, 5]].map(([a, b]) => (p[b][1] - p[a][1]) / (p[b][0] - p[a][0]));
    })()";
    let slopes = page.value(slopes);
    let [first, last] = [0, 1].map(|at| slopes[at].as_f64().unwrap());
    assert!(first < 0.0 && (first / last - 1.0).abs() < 0.02, "{slopes}");
}

/// Without this test, a check that finds nothing could be a check that does not work.
#[test]
#[ignore = "needs Chromium, which `.ci/run` installs for these tests"]
fn the_checks_find_what_they_look_for() {
    let path = output("faults.html");
    let page = "<body style='width: 5000px'><figure class=chart><svg viewBox='0 0 100 50' width=100>\
                <text x=90 y=20>beyond</text><text x=10 y=40>one</text><text x=12 y=42>two</text></svg></figure>\
                <script>console.error('a complaint')</script><img src='http://localhost:9/missing.png'>";
    fs::write(&path, page).unwrap();
    let opened = Opened::file("faults", &path);
    assert_eq!(opened.value(CUT_OFF), json!(["beyond"]));
    assert_eq!(opened.value(OVERLAPPING), json!(["one"]));
    assert!(opened.value(TOO_WIDE).as_i64().unwrap() > 3_000);
    let console = opened.console().join("\n");
    assert!(console.contains("a complaint"), "{console}");
    assert!(console.contains("Failed to load resource"), "{console}");
    let requests = opened.requests();
    assert!(
        requests
            .iter()
            .any(|address| address.ends_with("missing.png")),
        "{requests:?}"
    );
}
