#!/bin/sh
# Finding: three readers of Slurm's lists of hosts give three different lists for n[3,1,2],n1.
#
# Version    slurm-client 22.05.8-4+deb12u3 (Debian 12), python-hostlist 2.3.0, clustershell 1.10.1
#            (PyPI)
# Guess      A list of hosts has an order, and a host that is named twice gets two ranks. Readers of
#            one notation agree.
# Behaviour  Slurm keeps the order and the second n1. python-hostlist keeps the order and drops the
#            second n1. ClusterShell sorts, as its lists are sets. Ranks that are placed by one list
#            and looked up by another are on other hosts. The padding differs too: n[01-3] is
#            n01 to n03 to the first two, n[1-03] is n1 to n3, and ClusterShell refuses both.
# Seen       n[3,1,2],n1
#              Slurm            n3 n1 n2 n1
#              python-hostlist  n3 n1 n2
#              ClusterShell     n1 n2 n3
#            n[01-3]
#              Slurm            n01 n02 n03
#              python-hostlist  n01 n02 n03
#              ClusterShell     refused
#            n[1-03]
#              Slurm            n1 n2 n3
#              python-hostlist  n1 n2 n3
#              ClusterShell     refused
#
# Exit code  0 if the lists are as in Seen, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "apt-get cannot download the packages: this needs Debian 12 and its lists of packages"
    exit 1
}
apt-get download slurm-client=22.05.8-4+deb12u3 slurm-wlm-basic-plugins=22.05.8-4+deb12u3 \
    > log 2>&1 || fail
for package in *.deb; do
    dpkg -x "$package" debian
done
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check python-hostlist==2.3.0 clustershell==1.10.1

library=$(dirname "$(find "$folder/debian" -name libslurmfull.so)")
cat > slurm.conf <<END_OF_CONF
ClusterName=none
SlurmctldHost=localhost
PluginDir=$library
END_OF_CONF
slurm() {
    LD_LIBRARY_PATH=$library SLURM_CONF=$folder/slurm.conf \
        debian/usr/bin/scontrol show hostnames "$1" | paste -s -d ' '
}
hostlist() {
    venv/bin/python -c 'import sys, hostlist
print(*hostlist.expand_hostlist(sys.argv[1]))' "$1"
}
clustershell() {
    venv/bin/python -c 'import sys
from ClusterShell.NodeSet import NodeSet, NodeSetParseError
try:
    print(*NodeSet(sys.argv[1]))
except NodeSetParseError:
    print("refused")' "$1"
}
for list in 'n[3,1,2],n1' 'n[01-3]' 'n[1-03]'; do
    echo "$list"
    echo "  Slurm            $(slurm "$list")"
    echo "  python-hostlist  $(hostlist "$list")"
    echo "  ClusterShell     $(clustershell "$list")"
done > lists
cat lists
cat > expected <<'END_OF_EXPECTED'
n[3,1,2],n1
  Slurm            n3 n1 n2 n1
  python-hostlist  n3 n1 n2
  ClusterShell     n1 n2 n3
n[01-3]
  Slurm            n01 n02 n03
  python-hostlist  n01 n02 n03
  ClusterShell     refused
n[1-03]
  Slurm            n1 n2 n3
  python-hostlist  n1 n2 n3
  ClusterShell     refused
END_OF_EXPECTED
cmp lists expected
