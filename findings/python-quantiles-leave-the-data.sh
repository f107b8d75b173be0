#!/bin/sh
# Finding: Python's statistics.quantiles gives ten times of at most 1000 ns a 99th percentile of
# 1729.8 ns, and five positive times a negative first percentile.
#
# Version    Python's module statistics (3.8 or newer, seen with 3.11.7), numpy 2.3.5 (PyPI)
# Guess      Percentiles are between the least and the largest value, as they are interpolated. The
#            module names its default "exclusive" and says it is R6, so it agrees with numpy's
#            method "weibull", which is the same definition (number 6 of Hyndman and Fan).
# Behaviour  Beyond the outermost pairs of values the module goes on along their straight line,
#            although its documentation says "interpolated between data points". R6 ends at the
#            largest value, as in numpy. The fewer values and the larger the last step, the farther
#            off: with less than 99 values, the 99th percentile is above all of them. One outlier
#            of a benchmark becomes a tail that was never measured. method="inclusive" stays inside.
# Source     the manual of Python 3, statistics.quantiles, and the text
#            above the function in Lib/statistics.py
# Seen       of 100 110 120 130 140 150 160 170 180 1000
#              statistics  1st 91.1, 99th 1729.8
#              inclusive   1st 100.9, 99th 926.2
#              weibull     1st 100.0, 99th 1000.0
#            of 1 9 12 15 16
#              statistics  1st -6.5, 99th 16.9
#              inclusive   1st 1.3, 99th 16.0
#              weibull     1st 1.0, 99th 16.0
#            98 equal steps: 99th above the largest; 99 equal steps: 99th not above the largest
#
# Exit code  0 if the lines are as in Seen, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check numpy==2.3.5
cat > quantiles.py <<'END_OF_QUANTILES'
import statistics
import sys

import numpy

print("Python", sys.version.split()[0], file=sys.stderr)
for times in ([100, 110, 120, 130, 140, 150, 160, 170, 180, 1000], [1, 9, 12, 15, 16]):
    print("of", *times)
    inclusive = statistics.quantiles(times, n=100, method="inclusive")
    for name, first, last in (
        ("statistics", *statistics.quantiles(times, n=100)[::98]),
        ("inclusive", *inclusive[::98]),
        ("weibull", *numpy.percentile(times, [1, 99], method="weibull")),
    ):
        print(f"  {name:10}  1st {first:.1f}, 99th {last:.1f}")


def place(count):
    above = statistics.quantiles(range(count), n=100)[-1] > count - 1
    return f"{count} equal steps: 99th {'above' if above else 'not above'} the largest"


print(place(98), place(99), sep="; ")
END_OF_QUANTILES
venv/bin/python quantiles.py > lines
cat lines
cat > expected <<'END_OF_EXPECTED'
of 100 110 120 130 140 150 160 170 180 1000
  statistics  1st 91.1, 99th 1729.8
  inclusive   1st 100.9, 99th 926.2
  weibull     1st 100.0, 99th 1000.0
of 1 9 12 15 16
  statistics  1st -6.5, 99th 16.9
  inclusive   1st 1.3, 99th 16.0
  weibull     1st 1.0, 99th 16.0
98 equal steps: 99th above the largest; 99 equal steps: 99th not above the largest
END_OF_EXPECTED
cmp lines expected
