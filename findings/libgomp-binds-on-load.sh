#!/bin/sh
# Finding: with OMP_PROC_BIND=true, loading libgomp is enough to take all CPUs but one from the
# thread that loads it.
#
# Version    libgomp1 12.2.0-14+deb12u1 (Debian 12), intel-openmp 2026.2.0 (PyPI), two CPUs or more
# Guess      OMP_PROC_BIND binds the threads of parallel regions. A program that has no such region,
#            or only loads a library that was built with OpenMP, keeps its CPUs.
# Behaviour  libgomp binds the loading thread to the first place while it is loaded, before any
#            function of it is called. Threads that are started later without OpenMP (a pool, a
#            communication thread) inherit the one CPU. Intel's library does the same only at the
#            first parallel region; neither gives the CPUs back after it. OMP_PLACES alone does it
#            too (without OMP_PROC_BIND).
# Seen       On two CPUs:
#                libgomp.so.1: before 2 CPUs, loaded 1, asked 1, new thread 1, after a region 1
#                libiomp5.so: before 2 CPUs, loaded 2, asked 2, new thread 2, after a region 1
#
# Exit code  0 if libgomp still binds when it is loaded, and Intel's library only later, else 1.
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
cat > load.py <<'END_OF_LOAD'
import ctypes, os, sys, threading

def cpus():
    return len(os.sched_getaffinity(0))

before = cpus()
library = ctypes.CDLL(sys.argv[1])
loaded = cpus()
library.omp_get_max_threads()
asked = cpus()
seen = []
thread = threading.Thread(target=lambda: seen.append(cpus()))
thread.start()
thread.join()
region = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
library.GOMP_parallel(region, None, 2, 0)
print(f"{os.path.basename(sys.argv[1])}: before {before} CPUs, loaded {loaded}, asked {asked}, "
      f"new thread {seen[0]}, after a region {cpus()}")
END_OF_LOAD
unset OMP_PLACES OMP_NUM_THREADS OMP_THREAD_LIMIT GOMP_CPU_AFFINITY KMP_AFFINITY
export OMP_PROC_BIND=true
all=$(nproc)
python3 load.py "$gnu" > lines
# Intel's places are cores, which may have two CPUs.
OMP_PLACES=threads python3 load.py "$intel" >> lines
cat lines
cat > expected <<END_OF_EXPECTED
libgomp.so.1: before $all CPUs, loaded 1, asked 1, new thread 1, after a region 1
libiomp5.so: before $all CPUs, loaded $all, asked $all, new thread $all, after a region 1
END_OF_EXPECTED
cmp lines expected
