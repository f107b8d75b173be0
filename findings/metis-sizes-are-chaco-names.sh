#!/bin/sh
# Finding: a graph file of METIS with sizes of vertices is another graph to Scotch.
#
# Version    metis 5.1.0.dfsg-7, scotch 7.0.3-2 (Debian 12)
# Guess      METIS took its file format from Chaco, and Scotch's gcv reads Chaco's format, so both
#            read a file with the format code 100 as the same graph.
# Behaviour  The first number of a line under code 100 is the size of the vertex (for the volume of
#            communication) in METIS, and the name of the vertex in Chaco. If the sizes are 1 to n
#            in another order, gcv renames the vertices without a word, and the result passes gtst.
#            A partition has as many lines as before, now in the order of the file with the names in
#            front, and the pairs that talk are others.
# Seen       METIS:  tasks 1 and 2 are together, tasks 3 and 4 are together
#            Scotch: tasks 1 and 4 are together, tasks 2 and 3 are together
#
# Exit code  0 if both accept the file and keep these different pairs together, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "apt-get cannot download the packages: this needs Debian 12 and its lists of packages"
    exit 1
}
apt-get download metis=5.1.0.dfsg-7 libmetis5=5.1.0.dfsg-7 scotch=7.0.3-2 \
    libscotch-7.0=7.0.3-2 > log 2>&1 || fail
for package in *.deb; do
    dpkg -x "$package" debian
done
PATH=$folder/debian/usr/bin:$PATH
LD_LIBRARY_PATH=$(dirname "$(find "$folder/debian" -name 'libmetis.so.5' | head -1)")
export PATH LD_LIBRARY_PATH
echo "metis 5.1.0, scotch 7.0.3"

# Four tasks, of which 1 and 2 talk, and 3 and 4. The sizes of their data are 3, 4, 1 and 2.
cat > pairs.graph <<'END_OF_GRAPH'
4 2 100
3 2
4 1
1 4
2 3
END_OF_GRAPH
graphchk pairs.graph | grep 'correct'
gpmetis pairs.graph 2 > gpmetis.log
gcv -ic pairs.graph pairs.grf
gtst pairs.grf > gtst.log
scotch_gpart 2 pairs.grf pairs.map

# Lines "task part" of both.
awk '{ print NR, $1 }' pairs.graph.part.2 > metis.parts
tail -n +2 pairs.map | awk '{ print $1, $2 }' | sort -n > scotch.parts
together() {
    awk '
        $2 in tasks { tasks[$2] = tasks[$2] " and " $1; next }
        { tasks[$2] = $1; order[++parts] = $2 }
        END {
            print "tasks " tasks[order[1]] " are together, tasks " tasks[order[2]] " are together"
        }
    ' "$1"
}
metis=$(together metis.parts)
scotch=$(together scotch.parts)
echo "METIS:  $metis"
echo "Scotch: $scotch"
[ "$metis" = "tasks 1 and 2 are together, tasks 3 and 4 are together" ] &&
    [ "$scotch" = "tasks 1 and 4 are together, tasks 2 and 3 are together" ]
