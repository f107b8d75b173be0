#!/bin/sh
# Finding: gpmetis puts eight tasks that all talk to each other into one of four parts, and leaves
# three parts empty.
#
# Version    metis 5.1.0.dfsg-7 (Debian 12), pymetis 2025.2.2 (PyPI)
# Guess      A partition of 8 equal tasks into 4 parts has two tasks in each, as 3 % is all that the
#            parts may differ (-ufactor).
# Behaviour  With one or two tasks for each part, the default method (kway) lets all tasks of an
#            all-to-all end in one part, which has an edge-cut of 0, and the exit code is 0. Only
#            the line of the balance shows it. 16 tasks in 4 parts are right, in 8 parts not. A ring
#            of 8 tasks in 8 parts leaves five of the parts empty. The other method (-ptype=rb) uses
#            all parts in each of these cases. pymetis takes rb for up to 8 parts and kway for more,
#            so there nine parts are the first of which only one is used.
# Seen       8 tasks, all to all: kway uses 1 of 4 parts, rb 4
#            16 tasks, all to all: kway uses 4 of 4 parts, rb 4
#            16 tasks, all to all: kway uses 1 of 8 parts, rb 8
#            8 tasks, ring: kway uses 3 of 8 parts, rb 8
#            16 tasks, all to all: pymetis uses 8 of 8 parts
#            18 tasks, all to all: pymetis uses 1 of 9 parts
#
# Exit code  0 if the parts that are used are as in Seen, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "apt-get cannot download the packages: this needs Debian 12 and its lists of packages"
    exit 1
}
apt-get download metis=5.1.0.dfsg-7 libmetis5=5.1.0.dfsg-7 > log 2>&1 || fail
for package in *.deb; do
    dpkg -x "$package" debian
done
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pymetis==2025.2.2
gpmetis=$folder/debian/usr/bin/gpmetis
metis=$(dirname "$(find "$folder/debian" -name 'libmetis.so.5' | head -1)")

# All pairs of n tasks, or a ring of them, as a graph of METIS.
all_pairs() {
    awk -v n="$1" 'BEGIN {
        print n, n * (n - 1) / 2
        for (i = 1; i <= n; i++) {
            line = ""
            for (j = 1; j <= n; j++) if (j != i) line = line " " j
            print line
        }
    }'
}
ring() {
    awk -v n="$1" 'BEGIN {
        print n, n
        for (i = 1; i <= n; i++) print (i == 1 ? n : i - 1), i % n + 1
    }'
}
used() {
    LD_LIBRARY_PATH=$metis "$gpmetis" "-ptype=$1" "$2" "$3" > gpmetis.log
    sort -u "$2.part.$3" | wc -l
}
show() {
    echo "$1: kway uses $(used kway "$2" "$3") of $3 parts, rb $(used rb "$2" "$3")"
}
for tasks in 8 16; do
    all_pairs $tasks > all$tasks
done
ring 8 > ring8
{
    show "8 tasks, all to all" all8 4
    show "16 tasks, all to all" all16 4
    show "16 tasks, all to all" all16 8
    show "8 tasks, ring" ring8 8
    venv/bin/python -c 'import pymetis
for tasks, parts in ((16, 8), (18, 9)):
    others = [[j for j in range(tasks) if j != i] for i in range(tasks)]
    used = len(set(pymetis.part_graph(parts, others)[1]))
    print(f"{tasks} tasks, all to all: pymetis uses {used} of {parts} parts")'
} > lines
cat lines
cat > expected <<'END_OF_EXPECTED'
8 tasks, all to all: kway uses 1 of 4 parts, rb 4
16 tasks, all to all: kway uses 4 of 4 parts, rb 4
16 tasks, all to all: kway uses 1 of 8 parts, rb 8
8 tasks, ring: kway uses 3 of 8 parts, rb 8
16 tasks, all to all: pymetis uses 8 of 8 parts
18 tasks, all to all: pymetis uses 1 of 9 parts
END_OF_EXPECTED
cmp lines expected
