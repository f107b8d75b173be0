#!/usr/bin/env python3
"""Shows what a placement by measured volumes gains, on computers simulated from published latencies.

    crates/benches/benches/gains.py target/release/cellworks NAME=TABLE.csv...

Prints the rows of the table in docs/mapping.md. The tables of latencies are results of
core-to-core-latency (github.com/nviennot/core-to-core-latency). Each program has eight tasks. It
runs with task i on SPE i, is placed by the volumes of this run, and runs again; then it runs with
seven placements by chance.
"""

import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = [
    "commstime --spes 8 --rounds 100",
    "server --spes 8 --clients 4 --workers 2 --requests 50",
    "knn --spes 8 --points 400 --dimensions 2 --neighbours 1 --block-points 10",
    "prototein --spes 7 --bag spe --prototein HPHPPHHPHP",
]


def printed(*command):
    """Runs a command. Returns the JSON that it prints."""
    said = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False)
    if said.returncode != 0:
        sys.exit(f"{' '.join(command)}: {said.stderr}")
    return json.loads(said.stdout)


def time(run, places):
    """Returns the time that a run takes with these places."""
    return printed(*run, "--placement", ",".join(map(str, places)))["results"][0]["value"]


def main():
    command = sys.argv[1]
    print("| computer | program | in order | by chance |\n|---|---|---:|---:|")
    for name, table in (one.split("=", 1) for one in sys.argv[2:]):
        cpus = len(Path(table).read_text().splitlines())
        for program in PROGRAMS:
            run = [command, "run", *program.split(), "--quiet", "--machine", table]
            with tempfile.NamedTemporaryFile() as graph:
                in_order = time([*run, "--volumes", graph.name], range(8))
                solve = [command, "map", "solve", graph.name, "--costs", table, "--time", "10"]
                placed = printed(*solve)["placement"]
            ours = time(run, placed)
            chance = [time(run, random.Random(seed).sample(range(cpus), 8)) for seed in range(7)]
            ratios = in_order / ours, statistics.median(chance) / ours
            print(f"| {name} | {program.split()[0]} | {ratios[0]:.2f} | {ratios[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
