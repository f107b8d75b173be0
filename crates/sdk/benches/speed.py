#!/usr/bin/env python3
"""Compares C programs of an SPU with the same C on this computer, and times simulated waits.

    crates/sdk/benches/speed.py target/release/cellworks-sdk [REPETITIONS]

Prints Markdown tables. A program and its peer take turns on one CPU. Each prints the times of its
runs, of which the smallest counts, because other programs may run meanwhile. A cell is the median
(minimum-maximum) over the repetitions; the ratio is the median of the ratios of each repetition.
Simulated waits are in CPU time of the whole process. Clang 19 is the peer (CELLWORKS_CLANG names
another one).
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "c"
RUNS = 25
KERNELS = [
    ("mandelbrot", "Mandelbrot set in registers", 1.2),
    ("aes", "AES by tables", 1.9),
    ("nbody", "n-body, a body a vector", 2.0),
    ("nbody-lanes", "n-body, four bodies at a time", 2.0),
    ("vectors", "vectors of memory", 2.0),
    ("dma", "16 KB by DMA and wait; memcpy", 1.5),
]
WAITS = [
    (1, 0, "40,000 round trips by mailboxes", 150),
    (2, 0, "5 ms, an SPU polls the count of its mailbox", 5),
    (3, 0, "5 ms, an SPU polls its local store", 5),
    (4, 5, "5 ms, the PPU polls the status of a mailbox, above the SPU's work", 5),
]


def spread(values, scale=1.0):
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle / scale:.1f} ({low / scale:.1f}-{high / scale:.1f})"


def times(command):
    """Returns the smallest time that a program prints, and its checksum."""
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    numbers = [int(line) for line in said if line.isdigit()]
    return min(numbers), [line for line in said if line.startswith("sum")]


def cpu_time(command):
    """Returns the milliseconds of CPU time of a process."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return 1e3 * (used() - before)


def kernels(sdk, clang, folder, repetitions):
    print("| program | clang -O3, us | SPU, us | ratio | goal |\n|---|---|---|---|---|")
    for name, what, goal in KERNELS:
        native, cell = folder / name, folder / f"{name}.cell"
        source = SOURCES / f"{name}.c"
        subprocess.run([clang, "-O3", "-w", source, "-o", native, "-lm"], check=True)
        subprocess.run([sdk, "cc", "-O3", "-o", cell, SOURCES / "ppu.c", "--spu", f"kernel={source}"], check=True)
        ours, theirs, ratios = [], [], []
        for _ in range(repetitions):
            (a, sum_a), (b, sum_b) = times([native, str(RUNS)]), times([sdk, "exec", cell, str(RUNS)])
            if sum_a != sum_b:
                sys.exit(f"{name}: the results differ: {sum_a} and {sum_b}")
            theirs.append(a)
            ours.append(b)
            ratios.append(b / a)
        unit = 1 if name == "dma" else 1e3
        what += " (in ns)" if name == "dma" else ""
        ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
        print(f"| {what} | {spread(theirs, unit)} | {spread(ours, unit)} | {ratio} | {goal} |", flush=True)


def waits(sdk, folder, repetitions):
    cell = folder / "waits.cell"
    sources = [SOURCES / "waits.c", SOURCES / "waits-spu.c"]
    subprocess.run([sdk, "cc", "-O3", "-w", "-o", cell, *sources], check=True)
    print("\n| simulated PlayStation 3 | CPU time, ms | of the wait itself | goal |\n|---|---|---|---|")
    command = [sdk, "exec", "--machine", "ps3", cell]
    cpu_time([*command, "0"])
    start = [cpu_time([*command, "0"]) for _ in range(repetitions)]
    print(f"| start of a small program, compiled before | {spread(start)} | | 50 |")
    for way, without, what, goal in WAITS:
        taken, itself = [], []
        for _ in range(repetitions):
            taken.append(cpu_time([*command, str(way)]))
            itself.append(taken[-1] - cpu_time([*command, str(without)]))
        print(f"| {what} | {spread(taken)} | {spread(itself)} | {goal} |", flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sdk = Path(sys.argv[1]).resolve()
    repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 11
    clang = os.environ.get("CELLWORKS_CLANG", "clang-19")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        kernels(sdk, clang, Path(folder), repetitions)
        waits(sdk, Path(folder), repetitions)


main()
