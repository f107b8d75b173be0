#!/bin/sh
# Finding: MPICH's -bind-to user:LIST leaves the ranks behind the end of the list unbound.
#
# Version    mpich 5.0.2 (PyPI), Linux, CPUs 0 and 1 and perhaps more
# Guess      Of four ranks with a list of two CPUs, either the list begins again (ranks 0 and 2 on
#            the first CPU, 1 and 3 on the second), or mpiexec refuses a list that is too short.
# Behaviour  Ranks 0 and 1 get one CPU each. Ranks 2 and 3 get all CPUs, the two bound ones too.
#            mpiexec says nothing and ends with 0. The word rr, which names no CPUs, does begin
#            again where the CPUs end.
# Seen       On two CPUs:
#                rr
#                rank 0: CPUs 0
#                rank 1: CPUs 1
#                rank 2: CPUs 0
#                rank 3: CPUs 1
#                user:1,0
#                rank 0: CPUs 1
#                rank 1: CPUs 0
#                rank 2: CPUs 0-1
#                rank 3: CPUs 0-1
#
# Exit code  0 if ranks 0 and 1 have one CPU each and ranks 2 and 3 all CPUs, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TMPDIR="$folder"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mpich==5.0.2
mpiexec=$folder/venv/bin/mpiexec
"$folder/venv/bin/mpichversion" | head -1

cat > "$folder/rank.sh" <<'END_OF_RANK'
echo "rank $PMI_RANK: CPUs $(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status)"
END_OF_RANK
show() {
    echo "$1"
    "$mpiexec" -n 4 -bind-to "$1" sh "$folder/rank.sh" > "$folder/out" 2> "$folder/err"
    sort "$folder/out"
    cat "$folder/err"
}
show rr
show user:1,0
all=$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status)
of() { awk -v rank="$1:" '$2 == rank { print $4 }' "$folder/out"; }
[ "$(of 0)" = 1 ] && [ "$(of 1)" = 0 ] && [ "$(of 2)" = "$all" ] && [ "$(of 3)" = "$all" ] &&
    [ ! -s "$folder/err" ]
