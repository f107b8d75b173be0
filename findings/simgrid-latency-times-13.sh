#!/bin/sh
# Finding: in SimGrid, a message of 0 bytes over a link of 1 ms takes 13.01 ms.
#
# Version    simgrid 3.32-2+b2 (Debian 12, Python 3.11)
# Guess      A link of 1 ms and 1 GB/s carries a message of n bytes in 1 ms + n / (1 GB/s): 1 ms for
#            an empty one, 1.001 s for 1 GB.
# Behaviour  The usual model of the network multiplies the latency of the description by 13.01 and
#            the bandwidth by 0.97, figures that were fitted to TCP. The answers in the other
#            direction take another 5 % of the bandwidth. With measured latencies between the
#            cores or nodes of a machine in the description, small messages are 13 times too slow.
#            The model CM02 keeps the latency; network/crosstraffic:no takes the 5 % away.
# Seen       usual model: 0 bytes 0.01301 s, 1 GB 1.0955 s
#            CM02: 0 bytes 0.00100 s, 1 GB 1.0510 s
#            CM02 without cross-traffic: 0 bytes 0.00100 s, 1 GB 1.0010 s
#
# Exit code  0 if the times are as in Seen, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "apt-get cannot download the packages: this needs Debian 12 and its lists of packages"
    exit 1
}
apt-get download python3-simgrid=3.32-2+b2 libsimgrid3.32=3.32-2+b2 libns3.37=3.37-2 \
    libboost-context1.74.0=1.74.0+ds1-21 libboost-stacktrace1.74.0=1.74.0+ds1-21 \
    libgsl27=2.7.1+dfsg-5+deb12u1 libgslcblas0=2.7.1+dfsg-5+deb12u1 \
    libgfortran5=12.2.0-14+deb12u1 libquadmath0=12.2.0-14+deb12u1 \
    > log 2>&1 || fail
for package in *.deb; do
    dpkg -x "$package" debian
done
cat > send.py <<'END_OF_SEND'
import sys
from simgrid import Actor, Engine, LinkInRoute, Mailbox, NetZone

engine = Engine(sys.argv)
zone = NetZone.create_full_zone("zone")
hosts = [zone.create_host(name, 1e9) for name in ("from", "to")]
link = zone.create_link("link", 1e9).set_latency(1e-3).seal()
zone.add_route(hosts[0].netpoint, hosts[1].netpoint, None, None, [LinkInRoute(link)], True)
zone.seal()
times = []

def sender():
    for size in (0, 1_000_000_000):
        begin = Engine.clock
        Mailbox.by_name("box").put("message", size)
        times.append(Engine.clock - begin)

def receiver():
    for _ in range(2):
        Mailbox.by_name("box").get()

Actor.create("sender", hosts[0], sender)
Actor.create("receiver", hosts[1], receiver)
engine.run()
print(f"0 bytes {times[0]:.5f} s, 1 GB {times[1]:.4f} s")
END_OF_SEND
LD_LIBRARY_PATH=$(dirname "$(find "$folder/debian" -name libsimgrid.so.3.32)")
PYTHONPATH=$folder/debian/usr/lib/python3/dist-packages
export LD_LIBRARY_PATH PYTHONPATH
run() { python3.11 send.py --log=root.thresh:warning "$@" 2> /dev/null; }
usual=$(run)
old=$(run --cfg=network/model:CM02)
plain=$(run --cfg=network/model:CM02 --cfg=network/crosstraffic:no)
echo "simgrid 3.32"
echo "usual model: $usual"
echo "CM02: $old"
echo "CM02 without cross-traffic: $plain"
[ "$usual" = "0 bytes 0.01301 s, 1 GB 1.0955 s" ] &&
    [ "$old" = "0 bytes 0.00100 s, 1 GB 1.0510 s" ] &&
    [ "$plain" = "0 bytes 0.00100 s, 1 GB 1.0010 s" ]
