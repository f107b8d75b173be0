//! Tests of descriptions: messages for invalid ones, valid built-in machines, and no panics.

use std::collections::BTreeSet;
use std::fs;

use proptest::prelude::*;

use super::*;

/// A short description of a machine with two Cells.
const BLADE: &str = r#"name = "blade"
title = "A blade"
clock = { spu_hz = 3_200_000_000, bus_hz = 1_600_000_000, timebase_hz = 14_318_000 }

[[cell]]
spes = [0, 1]
nearest_module = 0

[[cell]]
spes = [1, 0]
nearest_module = 1

[[memory]]
cell = 0
bytes = 536_870_912
bytes_per_s = 25_600_000_000
access_ps = 48_000
accept_ps = 24_000
banks = 16
bank_read_ps = 60_000
bank_write_ps = 70_000
turnaround_ps = 5_000
write_batch_lines = 16
whole_write_bytes = 128
refresh_interval_ps = 1_000_000
refresh_ps = 30_000
write_queue_lines = 64
[[memory]]
cell = 1
bytes = 0x2000_0000
bytes_per_s = 25_600_000_000
access_ps = 48_000
accept_ps = 24_000
banks = 16
bank_read_ps = 60_000
bank_write_ps = 70_000
turnaround_ps = 5_000
write_batch_lines = 16
whole_write_bytes = 128
refresh_interval_ps = 1_000_000
refresh_ps = 30_000
write_queue_lines = 64
[interconnect]
kind = "rings"
elements = ["PPE", "SPE1", "IOIF0", "SPE0", "MIC"]
elements_source = "made up"
clockwise = 2
counterclockwise = 2
packet_bus_cycles = { value = 8, source = "Krolak 2005", sure = "stated" }
hop_bus_cycles = 1
start_interval_bus_cycles = 3
hops_max = 2

[link]
latency_ps = 89_000
bytes_per_s = 20_000_000_000
packet_overhead_bytes = 16
command_bytes = 16

[command]
phase_bus_cycles = 50
interval_bus_cycles = 1
coherent_interval_bus_cycles = 2

[mfc]
outstanding_requests = 16
issue_cycles = 10
start_cycles = 30
request_interval_bus_cycles = 4
list_element_cycles = 40

[local_store]
bytes = 262_144
read_cycles = 41
write_cycles = 77

[registers]
read_cycles = 44
write_cycles = 44

[atomic]
cache_lines = 6
hit_cycles = 160

[spu]
channel_cycles = 6
switch_cycles = 180

[ppe]
mmio_write_cycles = 116
mmio_read_cycles = 534
mailbox_call_ps = 5_000_000
signal_call_ps = 13_000_000
start_program_ps = 1_675_000_000
end_program_ps = 5_000_000
atomic_cycles = 200
"#;

/// Returns the lines of `BLADE` from `first` to `last`, with line feeds.
fn lines(first: usize, last: usize) -> String {
    let lines = BLADE.split_inclusive('\n');
    lines.skip(first - 1).take(last + 1 - first).collect()
}

/// Returns `BLADE` with `from` replaced by `to`.
fn changed(from: &str, to: &str) -> String {
    assert!(BLADE.contains(from), "{from}");
    BLADE.replacen(from, to, 1)
}

/// Returns a machine with this interconnect, and one Cell with its memory.
fn chip(interconnect: &str) -> String {
    let mut text = changed(&lines(43, 59), "");
    text = text.replacen(&lines(28, 42), "", 1);
    text = text.replacen(&lines(9, 12), "", 1);
    text + interconnect
}

const MESH: &str = "[interconnect]\nkind = \"mesh\"\ncolumns = 2\nrows = 1\nppe_tile = [1, 0]\nhop_ps = 5_000\n\
                    link_bytes_per_s = 12_800_000_000\n";
const MATRIX: &str = "[interconnect]\nkind = \"matrix\"\none_way_ps = [[0, 5], [6, 0]]\none_way_source = \"made up\"\n\
                      to_memory_ps = 7\nport_bytes_per_s = 25_600_000_000\n";
const CROSSBAR: &str =
    "[interconnect]\nkind = \"crossbar\"\nlatency_ps = 5\nport_bytes_per_s = 25_600_000_000\n";

/// Returns a machine with a mesh, which has its memory on a tile.
fn mesh() -> String {
    chip(MESH).replacen("cell = 0\n", "cell = 0\ntile = [0, 0]\n", 1)
}

#[track_caller]
fn refused(text: &str, message: &str) {
    match Description::from_toml(text, "my.toml") {
        Ok(machine) => panic!("{machine:?} is no error, but should be: {message}"),
        Err(error) => assert_eq!(error.to_string(), format!("my.toml:{message}")),
    }
}

#[test]
fn a_quantity_may_be_just_its_number() {
    let machine = Description::from_toml(BLADE, "my.toml").unwrap();
    let bytes = &machine.modules[1].bytes;
    assert_eq!(
        (bytes.value, bytes.source.as_str()),
        (536_870_912, "not given")
    );
    assert_eq!(
        (bytes.sure, &bytes.fitted_to),
        (Certainty::Uncertain, &None)
    );
    let Interconnect::Rings(rings) = machine.interconnect else {
        panic!("it has rings");
    };
    assert_eq!(rings.packet_bus_cycles.source, "Krolak 2005");
    assert_eq!(rings.packet_bus_cycles.sure, Certainty::Stated);
}

#[test]
fn each_kind_of_interconnect_is_read() {
    for text in [mesh(), chip(MATRIX), chip(CROSSBAR)] {
        Description::from_toml(&text, "my.toml").unwrap();
    }
}

#[test]
fn what_is_no_toml() {
    refused(
        &changed("[link]", "[link"),
        "54: no TOML: unclosed table, expected `]`",
    );
    refused(
        &changed("issue_cycles", "outstanding_requests"),
        "67: no TOML: duplicate key",
    );
}

#[test]
fn keys() {
    refused(
        &changed("packet_bus_cycles", "packet_bus_cylces"),
        "49: interconnect.packet_bus_cylces is no known key; did you mean packet_bus_cycles? allowed: \
         elements, elements_source, clockwise, counterclockwise, packet_bus_cycles, hop_bus_cycles, \
         start_interval_bus_cycles, hops_max",
    );
    refused(
        &changed("hit_cycles = 160", "hit_cycles = 160\ncolour = \"red\""),
        "84: atomic.colour is no known key; allowed: cache_lines, hit_cycles",
    );
    refused(
        &changed("source = \"Krolak 2005\"", "sauce = \"Krolak 2005\""),
        "49: interconnect.packet_bus_cycles.sauce is no known key; did you mean source? allowed: value, \
         source, sure, fitted_to",
    );
    refused(
        &changed("[spu]", "[spu2]"),
        "85: spu2 is no known key; did you mean spu? allowed: name, title, clock, cell, memory, \
         interconnect, command, link, mfc, local_store, registers, atomic, spu, ppe",
    );
    refused(
        &changed("banks = 16\n", ""),
        "13: memory[0].banks is missing; allowed: 1 to 1_024",
    );
    refused(
        &changed(&lines(85, 88), ""),
        "1: spu is missing; allowed: a table of keys; copy it from the output of `cellworks machines ps3`",
    );
    refused(
        &changed(", sure = \"stated\"", ""),
        "49: interconnect.packet_bus_cycles.sure is missing; allowed: \"stated\", \"derived\", \
         \"uncertain\", \"fitted\"",
    );
    let error = Description::from_toml("", "my.toml")
        .unwrap_err()
        .to_string();
    let keys = "atomic cell clock command interconnect local_store memory mfc name ppe registers spu title";
    let missing: Vec<&str> = error
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    assert_eq!(missing.join(" "), keys, "{error}");
    refused(
        &changed("kind = \"rings\"\n", ""),
        "43: interconnect.kind is missing; allowed: \"rings\", \"mesh\", \"crossbar\", \"matrix\"",
    );
    refused(
        &changed("elements_source = \"made up\"\n", ""),
        "43: interconnect.elements_source is missing; allowed: text on one line",
    );
}

#[test]
fn types() {
    refused(
        &changed("spu_hz = 3_200_000_000", "spu_hz = 3.2e9"),
        "3: clock.spu_hz is 3.2e9; allowed: whole numbers, 1_000_000 to 1_000_000_000_000",
    );
    refused(
        &changed("banks = 16", "banks = \"many\""),
        "19: memory[0].banks is \"many\"; allowed: whole numbers, 1 to 1_024",
    );
    refused(
        &changed(&lines(85, 88), "").replacen("name =", "spu = 7\nname =", 1),
        "1: spu is 7; allowed: a table of keys",
    );
    refused(
        &changed("spes = [0, 1]", "spes = 2"),
        "6: cell[0].spes is 2; allowed: the numbers of one SPE or more, such as [0, 1, 2]",
    );
    refused(
        &changed("spes = [0, 1]", "spes = [\n  0,\n  \"one\",\n]"),
        "8: cell[0].spes[1] is \"one\"; allowed: whole numbers, 0 to 65_535",
    );
    refused(
        &changed("\"blade\"", "\"My Blade\""),
        "1: name is \"My Blade\"; allowed: lower-case letters, digits and dashes",
    );
    refused(
        &changed("\"A blade\"", "\"\""),
        "2: title is \"\"; allowed: text on one line",
    );
    refused(
        &changed("\"A blade\"", "\"\\u001b[2J\""),
        "2: title is \"\\u001b[2J\"; allowed: text on one line",
    );
    refused(
        &changed("\"rings\"", "\"ring\""),
        "44: interconnect.kind is \"ring\"; allowed: \"rings\", \"mesh\", \"crossbar\", \"matrix\"",
    );
    refused(
        &changed("\"stated\"", "\"sure\""),
        "49: interconnect.packet_bus_cycles.sure is \"sure\"; allowed: \"stated\", \"derived\", \
         \"uncertain\", \"fitted\"",
    );
    refused(
        &mesh().replacen("[1, 0]", "[1]", 1),
        "66: interconnect.ppe_tile is [1]; allowed: a column and a row, such as [0, 2]",
    );
    let long = format!("[{}]", "1, ".repeat(100));
    refused(
        &changed("banks = 16", &format!("banks = {long}")),
        &format!(
            "19: memory[0].banks is {}...; allowed: whole numbers, 1 to 1_024",
            &long[..60]
        ),
    );
}

#[test]
fn numbers_out_of_range() {
    refused(
        &changed("bytes_per_s = 25_600_000_000", "bytes_per_s = 0"),
        "16: memory[0].bytes_per_s is 0; allowed: 1_000_000 to 10_000_000_000_000",
    );
    refused(
        &changed("access_ps = 48_000", "access_ps = -48_000"),
        "17: memory[0].access_ps is -48_000; allowed: 0 to 1_000_000_000_000",
    );
    refused(
        &changed("bus_hz = 1_600_000_000", "bus_hz = 0"),
        "3: clock.bus_hz is 0; allowed: 1_000_000 to 1_000_000_000_000",
    );
    refused(
        &changed("spu_hz = 3_200_000_000", "spu_hz = 1_000_000_000_001"),
        "3: clock.spu_hz is 1_000_000_000_001; allowed: 1_000_000 to 1_000_000_000_000",
    );
    refused(
        &changed("spu_hz = 3_200_000_000", "spu_hz = 99999999999999999999999"),
        "3: clock.spu_hz is 99999999999999999999999; allowed: 1_000_000 to 1_000_000_000_000",
    );
    refused(
        &changed("value = 8", "value = 0"),
        "49: interconnect.packet_bus_cycles.value is 0; allowed: 1 to 1_000_000",
    );
    for requests in [0, 129] {
        refused(
            &changed(
                "outstanding_requests = 16",
                &format!("outstanding_requests = {requests}"),
            ),
            &format!("66: mfc.outstanding_requests is {requests}; allowed: 1 to 128"),
        );
    }
    for bytes in [0, 262_145, (1 << 30) + 128] {
        refused(
            &changed("bytes = 262_144", &format!("bytes = {bytes}")),
            &format!(
                "73: local_store.bytes is {bytes}; allowed: multiples of 128 from 128 to 1_073_741_824"
            ),
        );
    }
}

/// Each of them is most likely a number in another unit.
#[test]
fn clocks_that_do_not_fit_together() {
    for bus_hz in ["1_600_000", "51_200_000_001", "1_000_000_000_000"] {
        refused(
            &changed("bus_hz = 1_600_000_000", &format!("bus_hz = {bus_hz}")),
            &format!(
                "3: clock.bus_hz is {bus_hz}; allowed: 200_000_000 to 51_200_000_000, from a \
                 sixteenth to sixteen times spu_hz, which is 3_200_000_000"
            ),
        );
    }
    refused(
        &changed("timebase_hz = 14_318_000", "timebase_hz = 14_318_000_000"),
        "3: clock.timebase_hz is 14_318_000_000; allowed: 1_000_000 to 3_200_000_000, at most \
         spu_hz, which is 3_200_000_000",
    );
    for bus_hz in ["200_000_000", "51_200_000_000"] {
        let text = changed("bus_hz = 1_600_000_000", &format!("bus_hz = {bus_hz}"));
        Description::from_toml(&text, "my.toml").unwrap();
    }
}

#[test]
fn fitted_values_say_what_they_were_fitted_to() {
    refused(
        &changed("\"stated\"", "\"fitted\""),
        "49: interconnect.packet_bus_cycles.fitted_to is missing; allowed: the published number that the \
         value was fitted to",
    );
    refused(
        &changed("\"stated\"", "\"stated\", fitted_to = \"table 1\""),
        "49: interconnect.packet_bus_cycles.fitted_to is there, but the value is not fitted; allowed: \
         only with sure = \"fitted\"",
    );
}

#[test]
fn cells_that_cannot_be() {
    refused(
        &changed(&lines(5, 12), ""),
        "1: cell is missing; allowed: one [[cell]] or more",
    );
    refused(
        &changed(&lines(5, 12), "").replacen("name", "cell = []\nname", 1),
        "1: cell is []; allowed: one [[cell]] or more",
    );
    refused(
        &changed("spes = [0, 1]", "spes = []"),
        "6: cell[0].spes is []; allowed: the numbers of one SPE or more, such as [0, 1, 2]",
    );
    refused(
        &changed("spes = [0, 1]", "spes = [0, 1, 0]"),
        "6: cell[0].spes[2] is 0 again; allowed: each SPE of a Cell once",
    );
    refused(
        &changed("nearest_module = 1", "nearest_module = 2"),
        "11: cell[1].nearest_module is 2; allowed: 0 to 1, because there are 2 [[memory]]",
    );
    refused(
        &changed(
            "[[memory]]",
            "[[cell]]\nspes = [0]\nnearest_module = 0\n[[memory]]",
        ),
        "13: cell[2] is one [[cell]] too many; allowed: two at the most with rings, one with a mesh, a \
         crossbar or a matrix",
    );
    refused(
        &(changed(&lines(43, 53), "") + CROSSBAR),
        "9: cell[1] is one [[cell]] too many; allowed: two at the most with rings, one with a mesh, a \
         crossbar or a matrix",
    );
    refused(
        &changed(&lines(54, 59), ""),
        "1: link is missing; allowed: a [link], because there are two Cells",
    );
    refused(
        &(chip(CROSSBAR) + &lines(54, 59)),
        "65: link is there, but there is one Cell; allowed: a [link] between two Cells",
    );
    let many: Vec<String> = (0..1_025).map(|spe| spe.to_string()).collect();
    refused(
        &chip(CROSSBAR).replacen("[0, 1]", &format!("[{}]", many.join(",")), 1),
        "6: cell[0].spes makes 1025 SPEs; allowed: 1024 in all",
    );
}

#[test]
fn memory_that_cannot_be() {
    refused(
        &changed(&lines(13, 42), ""),
        "1: memory is missing; allowed: one [[memory]] or more",
    );
    refused(
        &changed("cell = 1", "cell = 2"),
        "29: memory[1].cell is 2; allowed: 0 to 1, because there are 2 [[cell]]",
    );
    refused(
        &chip(CROSSBAR).replacen("cell = 0", "cell = 1", 1),
        "10: memory[0].cell is 1; allowed: 0, because there is one [[cell]]",
    );
    refused(
        &changed("cell = 1", "cell = 0"),
        "29: memory[1].cell is 0 again; allowed: one [[memory]] for each Cell on rings",
    );
    refused(
        &changed("refresh_ps = 30_000", "refresh_ps = 1_000_000"),
        "26: memory[0].refresh_ps is 1000000; allowed: less than refresh_interval_ps, which is 1000000",
    );
    refused(
        &changed("cell = 1", "cell = 1\ntile = [0, 0]"),
        "30: memory[1].tile is there, but there are no tiles; allowed: only with a mesh",
    );
    refused(
        &chip(MESH),
        "9: memory[0].tile is missing; allowed: the column and row where it is attached, such as [0, 2]",
    );
}

#[test]
fn rings_that_cannot_be() {
    let elements = |elements: &str| {
        changed(
            r#"["PPE", "SPE1", "IOIF0", "SPE0", "MIC"]"#,
            &format!("[{elements}]"),
        )
    };
    let missing = |element: &str, because: &str| {
        format!("45: interconnect.elements misses {element:?}; allowed: with it, because {because}")
    };
    refused(
        &elements(r#""SPE1", "IOIF0", "SPE0", "MIC""#),
        &missing("PPE", "every Cell has a PPE"),
    );
    refused(
        &elements(r#""PPE", "IOIF0", "SPE0", "MIC""#),
        &missing("SPE1", "cell[0].spes lists the SPE 1"),
    );
    refused(
        &elements(r#""PPE", "SPE1", "SPE0", "MIC""#),
        &missing("IOIF0", "the link to the other Cell is there"),
    );
    refused(
        &elements(r#""PPE", "SPE1", "IOIF0", "SPE0""#),
        &missing("MIC", "memory[0] is attached there"),
    );
    refused(
        &elements(r#""PPE", "SPE1", "IOIF0", "SPE0", "MIC", "SPE1""#),
        "45: interconnect.elements[5] is \"SPE1\" again; allowed: each element once",
    );
    for element in ["SPE", "SPE01", "SPE+1", "SPE65536", "SPU0", "spe0"] {
        refused(
            &elements(&format!(
                "\"PPE\", \"IOIF0\", \"SPE0\", \"MIC\", {element:?}"
            )),
            &format!(
                "45: interconnect.elements[4] is {element:?}; allowed: PPE, SPE0, SPE1 and so on, MIC, IOIF0, \
                 IOIF1"
            ),
        );
    }
    refused(
        &changed("hops_max = 2", "hops_max = 1"),
        "52: interconnect.hops_max is 1; allowed: 2 or more, because the farthest of 5 elements is 2 hops \
         away",
    );
    refused(
        &changed("counterclockwise = 2", "counterclockwise = 0"),
        "52: interconnect.hops_max is 2; allowed: 4 or more, because the farthest of 5 elements is 4 hops \
         away",
    );
    refused(
        &changed(
            "clockwise = 2\ncounterclockwise = 2",
            "clockwise = 0\ncounterclockwise = 0",
        ),
        "47: interconnect.clockwise is 0, and counterclockwise too; allowed: one ring or more in all",
    );
}

#[test]
fn meshes_that_cannot_be() {
    refused(
        &mesh().replacen("columns = 2", "columns = 1", 1).replacen(
            "ppe_tile = [1, 0]",
            "ppe_tile = [0, 0]",
            1,
        ),
        "6: cell[0].spes[1] is 1; allowed: 0 to 0, because 1 x 1 tiles hold 1 SPEs",
    );
    refused(
        &mesh().replacen("ppe_tile = [1, 0]", "ppe_tile = [1, 1]", 1),
        "66: interconnect.ppe_tile is [1, 1]; allowed: columns 0 to 1, rows 0 to 0",
    );
    refused(
        &mesh().replacen("\ntile = [0, 0]", "\ntile = [2, 0]", 1),
        "11: memory[0].tile is [2, 0]; allowed: columns 0 to 1, rows 0 to 0",
    );
}

#[test]
fn matrices_that_cannot_be() {
    let rows = |rows: &str| chip(MATRIX).replacen("[[0, 5], [6, 0]]", rows, 1);
    refused(
        &rows("[[0, 5]]"),
        "63: interconnect.one_way_ps has 1 rows; allowed: 2, one for each SPE",
    );
    refused(
        &rows("[[0, 5],\n[6, 0, 7]]"),
        "64: interconnect.one_way_ps[1] has 3 times; allowed: 2, one for each SPE",
    );
    refused(
        &rows("[[0, 5],\n[-6, 0]]"),
        "64: interconnect.one_way_ps[1][0] is -6; allowed: 0 to 1_000_000_000_000",
    );
    refused(
        &rows("[]"),
        "63: interconnect.one_way_ps is []; allowed: rows of times, one for each SPE",
    );
}

#[test]
fn every_machine_that_is_built_in_is_valid() {
    assert!(Description::built_in_names().is_sorted());
    for name in Description::built_in_names() {
        let text = Description::built_in_text(name).unwrap();
        let machine = Description::from_toml(text, name).unwrap();
        assert_eq!(machine.name, name);
        assert_eq!(Description::built_in(name), Some(machine.clone()));
        assert_eq!(Description::load(name).unwrap(), machine);
    }
    let spes = |name: &str| Description::built_in(name).unwrap().spes().count();
    assert_eq!(["ps3", "qs20", "qs22", "scc"].map(spes), [6, 16, 16, 24]);
    assert_eq!(Description::built_in("cell"), None);
}

#[test]
fn every_file_of_a_machine_is_built_in() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/machines");
    let files = fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().file_name());
    // The folder `parts` has parts of descriptions.
    let files: BTreeSet<_> = files.filter(|name| name != "parts").collect();
    let built_in = Description::built_in_names();
    let built_in = built_in.map(|name| format!("{name}.toml").into());
    assert_eq!(files, built_in.collect());
}

#[test]
fn the_ps3_and_the_qs22_have_the_chip_of_the_qs20() {
    let [ps3, qs20, qs22] =
        ["ps3", "qs20", "qs22"].map(|name| Description::built_in(name).unwrap());
    for other in [&ps3, &qs22] {
        assert_eq!(other.interconnect, qs20.interconnect);
        assert_eq!(other.command, qs20.command);
        assert_eq!(other.mfc, qs20.mfc);
        assert_eq!(other.local_store, qs20.local_store);
        assert_eq!(other.registers, qs20.registers);
        assert_eq!(other.atomic, qs20.atomic);
        assert_eq!(other.spu, qs20.spu);
    }
    assert_eq!(qs22.ppe, qs20.ppe);
    let ppe = Ppe {
        mailbox_call_ps: qs20.ppe.mailbox_call_ps.clone(),
        ..ps3.ppe.clone()
    };
    assert_eq!(ppe, qs20.ppe, "only its kernel is another");
    let bytes = qs20.modules[0].bytes.clone();
    let module = MemoryModule {
        bytes,
        ..ps3.modules[0].clone()
    };
    assert_eq!(module, qs20.modules[0]);
}

#[test]
fn what_is_written_out_is_read_back() {
    let measured = Description::from_matrix(",\n7,\n", "two\ncores.csv").unwrap();
    let built_in = Description::built_in_names().map(|name| Description::built_in(name).unwrap());
    for machine in built_in.chain([measured]) {
        let text = machine.to_toml();
        assert_eq!(
            Description::from_toml(&text, "written.toml").unwrap(),
            machine
        );
    }
}

#[test]
fn serde_reads_what_it_writes_in_other_formats_too() {
    for machine in Description::built_in_names().filter_map(Description::built_in) {
        let value = toml::Value::try_from(&machine).unwrap();
        assert_eq!(value.try_into::<Description>().unwrap(), machine);
    }
}

#[test]
fn machines_that_are_not_there() {
    let message = |name: &str| Description::load(name).unwrap_err().to_string();
    let built_in: Vec<&str> = Description::built_in_names().collect();
    let built_in = built_in.join(", ");
    assert_eq!(
        message("qs2O"),
        format!(
            "no machine is called `qs2O`; did you mean `qs20`? built in: {built_in}; or name a file that ends in \
             .toml or .csv"
        )
    );
    assert_eq!(
        message("connection\nmachine"),
        format!(
            "no machine is called `connection\\nmachine`; built in: {built_in}; or name a file that ends in \
             .toml or .csv"
        )
    );
    assert_eq!(
        message("no/such.toml"),
        "no/such.toml could not be read: No such file or directory (os error 2); name a file with a \
         machine's description"
    );
    assert!(message("no/such.csv").starts_with("no/such.csv could not be read: "));
}

#[test]
fn all_problems_are_reported_at_once() {
    let mut text = changed("banks = 16", "banks = 0");
    for (from, to) in [
        ("bus_hz = 1_600_000_000, ", ""),
        ("issue_cycles = 10", "issue_cylces = 10"),
        ("sure = \"stated\"", "sure = \"quite\""),
        ("hops_max = 2", "hops_max = \"2\""),
    ] {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let error = Description::from_toml(&text, "my.toml").unwrap_err();
    let error = error.to_string();
    let lines: Vec<&str> = error.lines().collect();
    let expected = [
        "my.toml:3: clock.bus_hz is missing; allowed: 1_000_000 to 1_000_000_000_000",
        "my.toml:19: memory[0].banks is 0; allowed: 1 to 1_024",
        "my.toml:49: interconnect.packet_bus_cycles.sure is \"quite\"; allowed: \"stated\", \"derived\", \
         \"uncertain\", \"fitted\"",
        "my.toml:52: interconnect.hops_max is \"2\"; allowed: whole numbers, 1 to 1_024",
        "my.toml:67: mfc.issue_cylces is no known key; did you mean issue_cycles? allowed: outstanding_requests, \
         issue_cycles, start_cycles, request_interval_bus_cycles, list_element_cycles",
    ];
    assert_eq!(lines, expected, "{error}");

    // Values that do not fit together are reported beside values that are wrong by themselves, but
    // not if a wrong or a missing value is one of them.
    let text = changed("banks = 16", "banks = 0");
    let text = text.replacen("refresh_ps = 30_000", "refresh_ps = \"long\"", 1);
    let text = text.replacen("spes = [0, 1]", "spes = [0, 1, 2, 3]", 1);
    let text = text.replacen("nearest_module = 1\n", "", 1);
    let error = Description::from_toml(&text, "my.toml")
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "my.toml:9: cell[1].nearest_module is missing; allowed: 0 to 65_535\n\
         my.toml:18: memory[0].banks is 0; allowed: 1 to 1_024\n\
         my.toml:25: memory[0].refresh_ps is \"long\"; allowed: whole numbers, 0 to 1_000_000_000_000\n\
         my.toml:44: interconnect.elements misses \"SPE2\"; allowed: with it, because cell[0].spes lists the SPE 2\n\
         my.toml:44: interconnect.elements misses \"SPE3\"; allowed: with it, because cell[0].spes lists the SPE 3\n\
         my.toml:51: interconnect.hops_max is 2; allowed: 3 or more, because the farthest of 7 elements is 3 hops away"
    );
    // An SPE that is there twice, or no number, hides no other that the ring misses.
    let text = changed("spes = [0, 1]", "spes = [0, 0, \"1\", 7]");
    let error = Description::from_toml(&text, "my.toml")
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "my.toml:6: cell[0].spes[2] is \"1\"; allowed: whole numbers, 0 to 65_535\n\
         my.toml:6: cell[0].spes[1] is 0 again; allowed: each SPE of a Cell once\n\
         my.toml:45: interconnect.elements misses \"SPE7\"; allowed: with it, because cell[0].spes lists the SPE 7\n\
         my.toml:52: interconnect.hops_max is 2; allowed: 3 or more, because the farthest of 6 elements is 3 hops away"
    );
    // Of more missing elements than wrong names, all are reported.
    let text = changed("\"SPE1\", \"IOIF0\", \"SPE0\"", "\"SPE-1\", \"IOIF0\"");
    let error = Description::from_toml(&text, "my.toml").unwrap_err();
    assert_eq!(error.to_string().lines().count(), 3, "{error}");

    // These values are allowed, but do not fit together.
    let text = changed("nearest_module = 0", "nearest_module = 7");
    let text = text.replacen("spes = [1, 0]", "spes = [1, 1]", 1);
    let text = text.replacen("hops_max = 2", "hops_max = 1", 1);
    let error = Description::from_toml(&text, "my.toml")
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "my.toml:7: cell[0].nearest_module is 7; allowed: 0 to 1, because there are 2 [[memory]]\n\
         my.toml:10: cell[1].spes[1] is 1 again; allowed: each SPE of a Cell once\n\
         my.toml:52: interconnect.hops_max is 1; allowed: 2 or more, because the farthest of 5 elements is 2 hops away"
    );
}

#[test]
fn a_template_has_any_number_of_spes() {
    for spes in [1, 2, 8, 12, check::SPES_MAX] {
        let text = Description::template(spes).unwrap();
        let machine = Description::from_toml(&text, "mine.toml").unwrap();
        assert_eq!(machine.spes().count(), spes);
        assert!(!text.contains("Sony"), "{text}");
        let many = if spes == 1 {
            "1 SPE"
        } else {
            &format!("{spes} SPEs")
        };
        assert_eq!(machine.title, format!("A Cell with {many}"));
        assert!(
            text.contains(&format!(": one Cell with {many}, and the numbers")),
            "{text}"
        );
    }
    // With eight SPEs, the elements are in the order of the Cell.
    let Interconnect::Rings(eight) = Description::from_toml(&Description::template(8).unwrap(), "")
        .unwrap()
        .interconnect
    else {
        panic!("a template has rings");
    };
    let Interconnect::Rings(cell) = Description::built_in("ps3").unwrap().interconnect else {
        panic!("a PlayStation 3 has rings");
    };
    assert_eq!(eight.elements, cell.elements);
    assert_eq!(eight.hops_max.value, cell.hops_max.value);
    for spes in [0, check::SPES_MAX + 1] {
        assert_eq!(Description::template(spes), None);
    }
}

#[test]
fn a_ring_has_any_number_of_spes() {
    use cellworks_machine::{Machine, SpeId};

    let names: Vec<String> = (0..40).map(|spe| format!("\"SPE{spe}\"")).collect();
    let numbers: Vec<String> = (0..40).map(|spe| spe.to_string()).collect();
    let mut text = changed(
        r#""PPE", "SPE1", "IOIF0", "SPE0", "MIC""#,
        &format!("\"PPE\", {}, \"IOIF0\", \"MIC\"", names.join(", ")),
    );
    text = text.replacen(
        "spes = [0, 1]",
        &format!("spes = [{}]", numbers.join(", ")),
        1,
    );
    text = text.replacen("hops_max = 2", "hops_max = 21", 1);
    let machine = crate::sim::Sim::new(Description::from_toml(&text, "my.toml").unwrap()).unwrap();
    assert_eq!(machine.topology().spes().len(), 42);
    let sum = machine.run(|ppe| {
        let programs = (0..42).map(|spe| ppe.spawn(SpeId::new(spe), move |_| u32::from(spe)));
        let programs: Vec<_> = programs.collect();
        programs
            .into_iter()
            .map(|program| program.join().unwrap())
            .sum::<u32>()
    });
    assert_eq!(sum.unwrap(), 861);
}

#[test]
fn machines_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("my.toml"), BLADE).unwrap();
    assert_eq!(Description::load(&path("my.toml")).unwrap().name, "blade");
    fs::write(path("blade"), BLADE).unwrap();
    assert_eq!(Description::load(&path("blade")).unwrap().name, "blade");
    fs::write(path("bad.toml"), "name = 7").unwrap();
    assert_eq!(
        Description::load(&path("bad.toml"))
            .unwrap_err()
            .to_string()
            .lines()
            .next(),
        Some(
            format!(
                "{}:1: name is 7; allowed: lower-case letters, digits and dashes",
                path("bad.toml")
            )
            .as_str()
        )
    );
    fs::write(path("two.csv"), "0,5\n6,0\n").unwrap();
    let two = Description::load(&path("two.csv")).unwrap();
    assert_eq!(two.title, "2 cores, measured: two");
    fs::write(path("bytes.toml"), b"\xff").unwrap();
    assert!(Description::load(&path("bytes.toml")).is_err());
}

fn matrix_of(text: &str) -> Vec<Vec<u64>> {
    match Description::from_matrix(text, "m.csv").unwrap() {
        Description {
            interconnect: Interconnect::Matrix(matrix),
            cells,
            ..
        } => {
            assert_eq!(cells[0].spes.len(), matrix.one_way_ps.len());
            assert_eq!(matrix.one_way_source, "m.csv");
            matrix.one_way_ps
        }
        other => panic!("{:?} is no matrix", other.interconnect),
    }
}

#[test]
fn a_matrix_that_is_half_empty_is_symmetric() {
    let expected = [
        [0, 17_753, 19_118],
        [17_753, 0, 17_540],
        [19_118, 17_540, 0],
    ];
    assert_eq!(
        matrix_of(",,\n17.752953333333334,,\n19.118403333333337,17.540269999999996,\n"),
        expected
    );
    assert_eq!(matrix_of(",17.753,19.118\r\n,,17.54\r\n,,\r\n"), expected);
}

#[test]
fn a_full_matrix_is_taken_as_it_is() {
    assert_eq!(matrix_of("1, 2\n3, 4"), [[1_000, 2_000], [3_000, 4_000]]);
    assert_eq!(matrix_of("0,1e3\n0.0004,0\n"), [[0, 1_000_000], [0, 0]]);
}

#[test]
fn texts_that_are_no_matrix() {
    let message = |text: &str| {
        Description::from_matrix(text, "m.csv")
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        message("0,1\n-2,0\n"),
        "m.csv:2: column 1 is \"-2\"; allowed: a finite time of 0 or more, in nanoseconds, or nothing"
    );
    assert_eq!(
        message("0,1e10\n2,0\n"),
        "m.csv:1: column 2 is 10000000000.0; allowed: a time in nanoseconds, 0 to 1000000000, or nothing"
    );
    for field in ["x", "NaN", "inf", "0x1"] {
        assert_eq!(
            message(&format!("0,{field}\n2,0\n")),
            format!(
                "m.csv:1: column 2 is \"{field}\"; allowed: a finite time of 0 or more, in nanoseconds, or nothing"
            )
        );
    }
    assert_eq!(
        message(",,\n1,,\n2,3\n"),
        "m.csv:3: the row has 2 columns; allowed: 3, because there are 3 rows (with nothing between commas where a \
         latency is missing)"
    );
    assert_eq!(
        message(",,\n1,,\n2,,\n"),
        "m.csv:2: column 3 is empty, and so is column 2 of line 3; allowed: a time in one of them"
    );
    assert_eq!(
        message(""),
        "m.csv:1: the file is empty; allowed: a line for each processor"
    );
    assert_eq!(
        message("0\n"),
        "m.csv:1: the matrix has 1 rows; allowed: 2 to 1024"
    );
    assert_eq!(
        message(&format!("{}1\n", "1,".repeat(1_024)).repeat(1_025)),
        "m.csv:1025: the matrix has 1025 rows; allowed: 2 to 1024"
    );
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}", lines in "([a-z\\[\\]=\"{}., 0-9]{0,20}\n){0,20}") {
        let _ = Description::from_toml(&text, "any.toml");
        let _ = Description::from_toml(&lines, "any.toml");
        let _ = Description::from_matrix(&text, "any.csv");
        let _ = Description::from_matrix(&lines, "any.csv");
    }

    #[test]
    fn no_change_of_a_machine_makes_it_panic(
        which in 0..4_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize, "[-\\]\\[\"={}.,# \nA-Za-z0-9é]{0,6}"), 1..4),
    ) {
        let name = Description::built_in_names().nth(which).unwrap();
        let mut text: Vec<char> = Description::built_in_text(name).unwrap().chars().collect();
        for (at, length, put) in changes {
            let at = at.index(text.len());
            text.splice(at..text.len().min(at + length), put.chars());
        }
        let text: String = text.into_iter().collect();
        let _ = Description::from_toml(&text, "changed.toml");
    }

    #[test]
    fn no_change_of_a_number_makes_it_panic(which in 0..100_usize, number in any::<u64>()) {
        let numbers = || BLADE.match_indices(|c: char| c.is_ascii_digit());
        let (at, digit) = numbers().nth(which % numbers().count()).unwrap();
        let text = format!("{}{number}{}", &BLADE[..at], &BLADE[at + digit.len()..]);
        let _ = Description::from_toml(&text, "changed.toml");
    }
}
