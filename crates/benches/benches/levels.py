#!/usr/bin/env python3
"""Compares `cellworks map solve` with Scotch on machines of levels, side by side in one run.

    crates/benches/benches/levels.py target/release/cellworks [SECONDS]

Needs Scotch (gmk_m2, gmk_m3, scotch_gmap) and GNU time: `apt-get install scotch time`. Prints
Markdown tables. The first has stencils of 16,384 tasks on as many cores in five levels. A cell is
the cost in millions, the seconds of the whole command, and its peak memory (the largest resident
set). All costs are those that `map explain` finds. The goals: `map solve` ends within 20 s, takes
at most 2 GB, and its cost is at most Scotch's. The second table has a stencil of 1,024 tasks, as
levels and as a matrix of 1,024 by 1,024 costs: the cost after 50 ms and after 2 s.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# The machine for the command, and the same for Scotch: the links of all levels on the way add up.
MACHINES = [
    ("rack:4@5us node:16@1.8us package:2@120ns l3cache:8@60ns core:16@30ns",
     "tleaf 5  4 3200  16 1680  2 60  8 30  16 30"),
    ("rack:4@5us node:8@1.8us package:8@120ns l3cache:8@60ns core:8@30ns",
     "tleaf 5  4 3200  8 1680  8 60  8 30  8 30"),
]
STENCILS = [("128 x 128", ["gmk_m2", "128", "128"]), ("16 x 32 x 32", ["gmk_m3", "16", "32", "32"])]


def run(command, cwd):
    """Runs a command. Returns its output, and its seconds and its peak memory as text."""
    start = time.monotonic()
    # The memory that the system counts for a process of Python begins with that of Python.
    measured = ["/usr/bin/time", "--format", "%M", "--output", "peak", *command]
    process = subprocess.run(measured, cwd=cwd, capture_output=True, text=True, check=False)
    took = time.monotonic() - start
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: {process.stderr}")
    kibibytes = int(Path(cwd, "peak").read_text())
    return process.stdout, f"{took:.1f} s, {kibibytes * 1024 / 1e6:.0f} MB"


def results(said):
    return {one["name"]: one["value"] for one in json.loads(said)["results"]}


def cost_of_scotch(command, mapping, graph, machine, folder):
    """Returns the cost of a mapping of Scotch on the machine of the command. `map explain` compares
    two placements, here the mapping with itself."""
    flags = ["--problem", graph, "--costs", machine, "--format", "json"]
    said, _ = run([command, "map", "explain", mapping, mapping, *flags], folder)
    return results(said)["cost_a"]


def main():
    command = str(Path(sys.argv[1]).resolve())
    seconds = sys.argv[2] if len(sys.argv) > 2 else "20"
    with tempfile.TemporaryDirectory() as folder:
        columns = ["machine", "stencil", "Scotch, its defaults", "Scotch, `-cb -b0`", "`map solve`"]
        print(f"| {' | '.join(columns)} | bound |")
        print("|---|---|---|---|---|---|")
        for machine, target in MACHINES:
            Path(folder, "machine.tgt").write_text(target + "\n")
            for name, make in STENCILS:
                run([*make, "tasks.grf"], folder)
                cells = []
                for flags in ([], ["-cb", "-b0"]):
                    scotch = ["scotch_gmap", *flags, "tasks.grf", "machine.tgt", "scotch.map"]
                    _, took = run(scotch, folder)
                    try:
                        cost = cost_of_scotch(command, "scotch.map", "tasks.grf", machine, folder)
                        cells.append(f"{cost / 1e6:.2f}, {took}")
                    except SystemExit:
                        # Two tasks on one place, which `map explain` refuses.
                        cells.append(f"two tasks on a place, {took}")
                solve = [command, "map", "solve", "tasks.grf", "--costs", machine]
                said, took = run([*solve, "--time", seconds, "--format", "json"], folder)
                found = results(said)
                cells.append(f"{found['cost'] / 1e6:.2f}, {took}")
                bound = f"{found['bound'] / 1e6:.2f}"
                print(f"| `{machine}` | {name} | {' | '.join(cells)} | {bound} |")

        levels = "tleaf 4  4 70  4 20  8 7  8 3"
        sizes = [(256, 100), (64, 30), (8, 10), (1, 3)]
        with open(Path(folder, "machine.csv"), "w") as matrix:
            for one in range(1024):
                row = ("" if one == other else
                       str(next(cost for size, cost in sizes if one // size != other // size))
                       for other in range(1024))
                matrix.write(",".join(row) + "\n")
        print("\n| 1,024 tasks, 32 x 32 | after 50 ms | after 2 s |")
        print("|---|---|---|")
        for name, costs in (("levels", levels), ("matrix", "machine.csv")):
            cells = []
            for limit in ("0.05", "2"):
                solve = [command, "map", "solve", "--pattern", "stencil", "--costs", costs]
                said, _ = run([*solve, "--time", limit, "--format", "json"], folder)
                cells.append(f"{results(said)['cost']:.0f}")
            print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
