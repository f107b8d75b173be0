#!/bin/sh
# Finding: numactl --cpunodebind gives a process CPUs that its caller took away, while numactl
# --physcpubind refuses the very same CPUs.
#
# Version    numactl 2.0.16-1 (Debian 12), Linux, two CPUs or more in the first node
# Guess      Both options choose from the CPUs that the process may use. Under "taskset -c 0",
#            --cpunodebind=0 leaves CPU 0.
# Behaviour  --cpunodebind sets all CPUs of the node, also those outside the mask, without a word.
#            --physcpubind with a CPU outside the mask is an error, and with "all" it is the mask.
#            A share of the CPUs that a starter gave with a mask is lost by --cpunodebind.
# Seen       On two CPUs of one node:
#                under taskset -c 0
#                --physcpubind=all: CPUs 0
#                --physcpubind=1: refused
#                --cpunodebind=0: CPUs 0-1
#
# Exit code  0 if --cpunodebind leaves the mask and --physcpubind does not, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "apt-get cannot download the packages: this needs Debian 12 and its lists of packages"
    exit 1
}
apt-get download numactl=2.0.16-1 libnuma1=2.0.16-1 > log 2>&1 || fail
for package in *.deb; do
    dpkg -x "$package" debian
done
numactl=$folder/debian/usr/bin/numactl
LD_LIBRARY_PATH=$(dirname "$(find "$folder/debian" -name libnuma.so.1)")
export LD_LIBRARY_PATH
echo "numactl 2.0.16-1"

# The first two CPUs that this shell may use, and the node of the first.
set -- $(python3 -c 'import os
print(*sorted(os.sched_getaffinity(0))[:2])')
node=$(basename /sys/devices/system/cpu/cpu"$1"/node* | tr -d a-z)
show() {
    if taskset -c "$1" "$numactl" "$2" awk '/^Cpus_allowed_list/ { print "CPUs", $2 }' \
        /proc/self/status > out 2> /dev/null; then
        echo "$2: $(cat out)"
    else
        echo "$2: refused"
    fi
}
echo "under taskset -c $1"
show "$1" --physcpubind=all | tee all
show "$1" "--physcpubind=$2" | tee other
show "$1" "--cpunodebind=$node" | tee node
grep -q ": CPUs $1$" all
grep -q ': refused$' other
grep -q ": CPUs $1[-,]" node
