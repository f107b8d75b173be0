#!/bin/sh
# Starts Slurm with two nodes, n01 and n02, which are this computer under two names. Takes root in a
# container, and what Debian installs by: apt-get install slurmctld slurmd slurm-client munge
set -e
mkdir -p /etc/slurm /run/munge /var/spool/slurm /var/spool/slurm-n01 /var/spool/slurm-n02
cat > /etc/slurm/slurm.conf <<END
ClusterName=one
SlurmctldHost=$(uname -n)(127.0.0.1)
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
SlurmdSpoolDir=/var/spool/slurm-%n
StateSaveLocation=/var/spool/slurm
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
NodeName=n01 NodeAddr=127.0.0.1 Port=17001 CPUs=$(nproc)
NodeName=n02 NodeAddr=127.0.0.1 Port=17002 CPUs=$(nproc)
PartitionName=all Nodes=n01,n02 Default=YES State=UP
END
chown munge: /run/munge
pgrep -x munged > /dev/null || su -s /bin/sh munge -c munged
slurmctld
for node in n01 n02; do
    unshare --uts sh -c "hostname $node && exec slurmd"
done
