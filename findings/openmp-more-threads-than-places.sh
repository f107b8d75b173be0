#!/bin/sh
# Finding: with three threads on two places and OMP_PROC_BIND=close, libgomp puts the neighbours
# 0 and 1 on different places and the ends 0 and 2 on the same one.
#
# Version    libgomp1 12.2.0-14+deb12u1 (Debian 12), intel-openmp 2026.2.0 (PyPI), two CPUs or more
# Guess      "close" keeps threads with consecutive numbers together: 0 and 1 on one place, 2 on the
#            other. All libraries do the same.
# Behaviour  Intel's library does so. libgomp gives each place one thread first, and the thread that
#            remains goes to the first place again: 0 and 2 share it. With five threads on two
#            places, libgomp has 0, 1 and 4 on the first place, Intel's library 0, 1 and 2. OpenMP
#            leaves the numbers of the larger groups open, so both are allowed, and a measurement of
#            neighbours that talk gives different times.
# Seen       libgomp.so.1: 3 threads on places 0 1 0, 5 threads on places 0 0 1 1 0
#            libiomp5.so: 3 threads on places 0 0 1, 5 threads on places 0 0 0 1 1
#
# Exit code  0 if the places are as in Seen, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "apt-get cannot download the packages: this needs Debian 12 and its lists of packages"
    exit 1
}
apt-get download libgomp1=12.2.0-14+deb12u1 > log 2>&1 || fail
dpkg -x libgomp1_*.deb debian
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check intel-openmp==2026.2.0
gnu=$(find "$folder/debian" -name libgomp.so.1)
intel=$(find "$folder/venv" -name libiomp5.so)
cat > places.py <<'END_OF_PLACES'
import ctypes, os, sys

library = ctypes.CDLL(sys.argv[1])
threads = int(sys.argv[2])
place = {}
def region(_):
    place[library.omp_get_thread_num()] = library.omp_get_place_num()
library.GOMP_parallel(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(region), None, threads, 0)
print(threads, "threads on places", *(place[thread] for thread in range(threads)))
END_OF_PLACES
unset OMP_NUM_THREADS OMP_THREAD_LIMIT OMP_DYNAMIC GOMP_CPU_AFFINITY KMP_AFFINITY
OMP_PLACES=$(python3 -c 'import os
print(*("{%d}" % cpu for cpu in sorted(os.sched_getaffinity(0))[:2]), sep=",")')
export OMP_PLACES OMP_PROC_BIND=close
for library in "$gnu" "$intel"; do
    three=$(python3 places.py "$library" 3)
    five=$(python3 places.py "$library" 5)
    echo "$(basename "$library"): $three, $five"
done > lines
cat lines
grep -qxF "libgomp.so.1: 3 threads on places 0 1 0, 5 threads on places 0 0 1 1 0" lines
grep -qxF "libiomp5.so: 3 threads on places 0 0 1, 5 threads on places 0 0 0 1 1" lines
