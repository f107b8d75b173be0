#!/bin/sh
# Finding: of one OpenMP program, libgomp balances the loop with schedule(runtime) and not the
# taskloop, and Intel's library the taskloop and not the loop.
#
# Version    libgomp1 12.2.0-14+deb12u1 (Debian 12), intel-openmp 2026.2.0 (PyPI), any gcc
# Guess      schedule(runtime) without OMP_SCHEDULE divides a loop evenly, as a loop without a
#            schedule. A taskloop without grainsize has several tasks for each thread, so that idle
#            threads take over the rest of a long part. Both are so in each library.
# Behaviour  OpenMP leaves both to the library. In libgomp, schedule(runtime) deals out single
#            iterations (dynamic, 1), and a taskloop has one task for each thread, so that nothing
#            is left to take over. In Intel's library, and in LLVM's 19.1.7, schedule(runtime)
#            divides evenly (static), and a taskloop has ten tasks for each thread. Who compares a
#            task pool with OpenMP's tasks, or machines with different compilers, can measure this
#            choice: a factor of up to the number of threads.
# Source     the manual of libgomp, OMP_SCHEDULE; for taskloop
#            libgomp/taskloop.c and LLVM's openmp/runtime/src/kmp_tasking.cpp
# Seen       Two threads, 8 iterations, of which the first 4 sleep for 50 ms each:
#                libgomp.so.1: schedule(runtime) 101 ms, taskloop 200 ms
#                libiomp5.so: schedule(runtime) 200 ms, taskloop 101 ms
#            tasks of a taskloop of 1000 iterations, by 2, 3 and 4 threads:
#                libgomp.so.1: 2 3 4
#                libiomp5.so: 20 30 40
#
# Exit code  0 if the numbers of tasks are as in Seen, and each library takes 1.5 times as long for
#            one of the two loops as for the other, else 1.
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
cat > loops.c <<'END_OF_C'
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static void work(int i) {
    if (i < 4) usleep(50000);
}

/* The least of three times, in ms. */
static double least(void (*run)(void)) {
    double least = 1e9;
    for (int i = 0; i < 3; i++) {
        double begin = omp_get_wtime();
        run();
        double time = (omp_get_wtime() - begin) * 1e3;
        if (time < least) least = time;
    }
    return least;
}

static void loop(void) {
#pragma omp parallel for schedule(runtime) num_threads(2)
    for (int i = 0; i < 8; i++) work(i);
}

static void tasks(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskloop
    for (int i = 0; i < 8; i++) work(i);
}

/* The number of tasks: each has a copy of the variable `begun`. */
static int count(int threads) {
    int tasks = 0, begun = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskloop firstprivate(begun) shared(tasks)
    for (int i = 0; i < 1000; i++) {
        if (!begun) {
#pragma omp atomic
            tasks++;
        }
        begun = 1;
    }
    return tasks;
}

int main(void) {
    printf("%.0f %.0f %d %d %d\n", least(loop), least(tasks), count(2), count(3), count(4));
    return 0;
}
END_OF_C
gcc -O1 -fopenmp loops.c -o loops
unset OMP_SCHEDULE OMP_DYNAMIC OMP_THREAD_LIMIT OMP_PROC_BIND OMP_PLACES GOMP_CPU_AFFINITY \
    KMP_AFFINITY KMP_SCHEDULE KMP_LIBRARY KMP_TASKLOOP_MIN_TASKS
LD_PRELOAD=$gnu ./loops > gnu
LD_PRELOAD=$intel ./loops > intel
echo "Two threads, 8 iterations, of which the first 4 sleep for 50 ms each:"
awk '{ print "    libgomp.so.1: schedule(runtime) " $1 " ms, taskloop " $2 " ms" }' gnu
awk '{ print "    libiomp5.so: schedule(runtime) " $1 " ms, taskloop " $2 " ms" }' intel
echo "tasks of a taskloop of 1000 iterations, by 2, 3 and 4 threads:"
awk '{ print "    libgomp.so.1: " $3, $4, $5 }' gnu
awk '{ print "    libiomp5.so: " $3, $4, $5 }' intel
awk '{ exit !($2 > 1.5 * $1 && $3 == 2 && $4 == 3 && $5 == 4) }' gnu
awk '{ exit !($1 > 1.5 * $2 && $3 == 20 && $4 == 30 && $5 == 40) }' intel
