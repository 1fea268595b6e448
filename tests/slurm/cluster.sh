# A Slurm cluster on this machine, to be sourced: cluster_up FOLDER NODES, then SLURM_CONF is set.
# Each node has network, PID and host name of its own (namespaces) and is one slurmd with one CPU;
# the controller is on the bridge between them. Nothing under /etc is used or changed. Needs root.

# Names of network devices have at most 15 characters; two clusters at a time must not share any.
cluster_tag=$(printf '%04x' $(($$ % 65536)))
cluster_bridge=pz${cluster_tag}b
cluster_net=10.$((200 + $$ % 50)).$((1 + $$ / 50 % 250))

cluster_can_run() {  # says why not
  [ "$(id -u)" = 0 ] || { echo "only root may make network namespaces"; return 1; }
  local program
  for program in slurmctld slurmd munged sbatch ip sqlite3; do
    PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || {
      echo "$program is not installed (deploy/packages.sh full)"
      return 1
    }
  done
  ip netns add "pz${cluster_tag}x" 2>/dev/null || {
    echo "network namespaces cannot be made here"
    return 1
  }
  ip netns del "pz${cluster_tag}x"
}

cluster_write_conf() {  # FOLDER NODES
  # 22.05 loads a cgroup plugin at the start even if nothing uses it.
  echo "CgroupPlugin=cgroup/v1" >"$1/cgroup.conf"
  # Short intervals, so that a node's end is noticed within seconds. cred_expire is also how long a
  # task that was put back into the queue waits.
  cat >"$1/slurm.conf" <<CONF
ClusterName=pz$cluster_tag
SlurmctldHost=$(hostname -s)($cluster_net.254)
SlurmctldPort=26817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$1/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation=$1/state
SlurmdSpoolDir=$1/spool-%n
SlurmctldPidFile=$1/slurmctld.pid
SlurmdPidFile=$1/slurmd-%n.pid
SlurmctldLogFile=$1/log/slurmctld.log
SlurmdLogFile=$1/log/slurmd-%n.log
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=10
KillWait=30
MinJobAge=300
NodeName=n[1-$2] NodeAddr=$cluster_net.[1-$2] NodeHostname=n[1-$2] Port=26818 \
  CPUs=1 RealMemory=500
PartitionName=main Nodes=n[1-$2] Default=YES State=UP PriorityTier=1 GraceTime=30 \
  PreemptMode=REQUEUE
PartitionName=urgent Nodes=n[1-$2] State=UP PriorityTier=10 PreemptMode=OFF
CONF
}

cluster_up() {  # FOLDER NODES
  cluster_folder=$1 cluster_nodes=$2
  mkdir -p "$1"/{munge,state,log}
  chmod 755 "$1" "$1/munge"
  head -c 1024 /dev/urandom >"$1/munge/key"
  chmod 400 "$1/munge/key"
  munged --force --key-file="$1/munge/key" --socket="$1/munge/socket" \
    --pid-file="$1/munge/pid" --log-file="$1/munge/log" --seed-file="$1/munge/seed"
  cluster_write_conf "$1" "$2"
  export SLURM_CONF=$1/slurm.conf
  ip link add "$cluster_bridge" type bridge
  ip addr add "$cluster_net.254/24" dev "$cluster_bridge"
  ip link set "$cluster_bridge" up
  local node
  for node in $(seq 1 "$2"); do
    ip netns add "pz$cluster_tag$node"
    ip link add "pz${cluster_tag}v$node" type veth peer name eth0 netns "pz$cluster_tag$node"
    ip link set "pz${cluster_tag}v$node" master "$cluster_bridge" up
    ip -n "pz$cluster_tag$node" addr add "$cluster_net.$node/24" dev eth0
    ip -n "pz$cluster_tag$node" link set lo up
    ip -n "pz$cluster_tag$node" link set eth0 up
  done
  cluster_start_controller
  for node in $(seq 1 "$2"); do cluster_start_node "$node"; done
}

cluster_start_controller() { slurmctld -f "$cluster_folder/slurm.conf"; }
cluster_kill_controller() { kill -9 "$(cat "$cluster_folder/slurmctld.pid")"; }

# The first process of the node's PID namespace reaps what is left to it; with it, all of the node
# ends, as if its power were cut.
cluster_start_node() {
  mkdir -p "$cluster_folder/spool-n$1"
  setsid ip netns exec "pz$cluster_tag$1" \
    unshare --pid --fork --mount-proc --uts --kill-child=KILL bash -c "hostname n$1
      slurmd -f '$cluster_folder/slurm.conf' -N n$1
      while :; do sleep 1000 & wait; done" \
    </dev/null >>"$cluster_folder/log/node-n$1.out" 2>&1 &
  echo $! >"$cluster_folder/node-n$1.pid"
  disown
}
cluster_kill_node() {
  # unshare itself waits for it, and kills it as it goes.
  kill -9 "$(cat "$cluster_folder/node-n$1.pid")"
}
cluster_unplug() { ip link set "pz${cluster_tag}v$1" down; }
cluster_plug() { ip link set "pz${cluster_tag}v$1" up; }
cluster_node_state() { sinfo -h -N -p main -n "n$1" -o %T; }

cluster_down() {
  local node pid
  for node in $(seq 1 "${cluster_nodes:-0}"); do
    [ ! -s "$cluster_folder/node-n$node.pid" ] || cluster_kill_node "$node" 2>/dev/null || true
  done
  for pid in "$cluster_folder/slurmctld.pid" "$cluster_folder/munge/pid"; do
    [ ! -s "$pid" ] || kill -9 "$(cat "$pid")" 2>/dev/null || true
  done
  for node in $(seq 1 "${cluster_nodes:-0}"); do
    ip netns del "pz$cluster_tag$node" 2>/dev/null || true
  done
  ip link del "$cluster_bridge" 2>/dev/null || true
}
