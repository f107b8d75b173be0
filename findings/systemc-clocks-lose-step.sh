#!/bin/sh
# Finding: in SystemC, a clock of 3.2 GHz and one of 1.6 GHz lose step: 160,000 periods of the slow
# one are 319,489 of the fast one.
#
# Version    libsystemc-dev 2.3.4-2 (Debian 12)
# Guess      A clock of twice the frequency has two edges for each edge of the other, for ever. The
#            processor and the bus of a Cell (3.2 and 1.6 GHz) are such a pair. What times lose to
#            rounding is far below one period.
# Behaviour  Each time is rounded to the resolution, 1 ps, when it is made, the period of a clock,
#            too. 312.5 ps become 313 ps, while the 625 ps of the slow clock are exact. Nothing says
#            so. After 313 periods of the slow clock the fast one is behind by an edge, and after
#            100 us by 511. Bandwidths of the fast part are 0.16 % too low, and the phase between
#            the two parts, which decides how long a request waits, is no longer constant. After
#            sc_set_time_resolution(100, SC_FS), before the first time is made, both are exact.
# Source     accellera-official/systemc on GitHub, src/sysc/kernel/sc_time.cpp
#            (from_value_and_unit adds a half and cuts off)
# Seen       resolution 1 ps: periods 313 ps and 625 ps, edges 319489 and 160000
#            resolution 100 fs: periods 312500 fs and 625 ps, edges 320000 and 160000
#
# Exit code  0 if the lines are as in Seen, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "apt-get cannot download the packages: this needs Debian 12 and its lists of packages"
    exit 1
}
apt-get download libsystemc-dev=2.3.4-2 libsystemc=2.3.4-2 > log 2>&1 || fail
for package in *.deb; do
    dpkg -x "$package" debian
done
cat > clocks.cc <<'END_OF_CC'
#include <iostream>
#include <systemc>

using namespace sc_core;

struct Edges : sc_module {
    sc_in<bool> clock{"clock"};
    int count = 0;

    SC_HAS_PROCESS(Edges);
    explicit Edges(sc_module_name name) : sc_module(name) {
        SC_METHOD(edge);
        sensitive << clock.pos();
        dont_initialize();
    }
    void edge() { count++; }
};

int sc_main(int arguments, char **) {
    if (arguments > 1) sc_set_time_resolution(100, SC_FS);
    std::cout << "resolution " << (arguments > 1 ? "100 fs" : "1 ps");
    sc_clock processor("processor", 1 / 3.2, SC_NS), bus("bus", 1 / 1.6, SC_NS);
    Edges fast("fast"), slow("slow");
    fast.clock(processor);
    slow.clock(bus);
    sc_start(100, SC_US);
    std::cout << ": periods " << processor.period() << " and " << bus.period() << ", edges "
              << fast.count << " and " << slow.count << std::endl;
    return 0;
}
END_OF_CC
library=$(dirname "$(find "$folder/debian" -name libsystemc-2.3.4.so)")
c++ -std=c++17 -O1 -I debian/usr/include clocks.cc -L "$library" -lsystemc -o clocks
export LD_LIBRARY_PATH="$library" SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1
{
    ./clocks
    ./clocks finer
} > lines
cat lines
cat > expected <<'END_OF_EXPECTED'
resolution 1 ps: periods 313 ps and 625 ps, edges 319489 and 160000
resolution 100 fs: periods 312500 fs and 625 ps, edges 320000 and 160000
END_OF_EXPECTED
cmp lines expected
