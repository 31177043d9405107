# A Slurm cluster on this host, loopback only: munged, slurmctld and several slurmd, all below one folder and nothing
# outside of it. To be sourced; sets SLURM_CONF, so that sbatch and srun find it.
#
#   start_cluster FOLDER NODES   waits until all nodes are idle; says why and returns 77 where it cannot start
#   stop_cluster                 ends what was started
#   kill_node N                  as a host dies: its slurmd, and every process of its jobs, at once

cluster_pids=()

cluster_skip() {
  echo "skipped: $*" >&2
  return 77
}

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start_cluster() {
  cluster_folder=$1
  local nodes=$2 program
  PATH=$PATH:/usr/sbin:/sbin
  for program in munged slurmctld slurmd sbatch srun sinfo; do
    command -v "$program" >/dev/null || { cluster_skip "there is no $program (Debian: slurm-wlm, munge)"; return 77; }
  done
  [ "$(id -u)" -eq 0 ] || { cluster_skip "slurmd needs root"; return 77; }
  mkdir -p "$cluster_folder/state"
  chmod 755 "$cluster_folder"
  dd if=/dev/urandom of="$cluster_folder/munge.key" bs=128 count=1 status=none
  chmod 600 "$cluster_folder/munge.key"
  local host controller
  host=$(hostname -s)
  controller=$(free_port)
  {
    echo "ClusterName=msrun"
    echo "SlurmctldHost=$host(127.0.0.1)"
    echo "SlurmctldPort=$controller"
    echo "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny"
    echo "AuthType=auth/munge"
    echo "AuthInfo=socket=$cluster_folder/munge.socket"
    echo "SlurmUser=root"
    echo "StateSaveLocation=$cluster_folder/state"
    echo "SlurmdSpoolDir=$cluster_folder/%n.spool"
    echo "SlurmdPidFile=$cluster_folder/%n.pid"
    echo "SlurmctldPidFile=$cluster_folder/slurmctld.pid"
    echo "SlurmdLogFile=$cluster_folder/%n.log"
    echo "SlurmctldLogFile=$cluster_folder/slurmctld.log"
    echo "ProctrackType=proctrack/linuxproc"
    echo "TaskPlugin=task/none"
    echo "SelectType=select/cons_tres"
    echo "SelectTypeParameters=CR_CPU"
    echo "SlurmdParameters=config_overrides"
    echo "MpiDefault=none"
    echo "ReturnToService=2"
    echo "SlurmdTimeout=10"
    echo "KillWait=5"
    echo "JobAcctGatherType=jobacct_gather/none"
    for ((node = 1; node <= nodes; ++node)); do
      echo "NodeName=node$node NodeHostname=$host NodeAddr=127.0.0.1 Port=$(free_port) CPUs=1 State=UNKNOWN"
    done
    echo "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
  } > "$cluster_folder/slurm.conf"
  export SLURM_CONF=$cluster_folder/slurm.conf
  # Newer versions want control groups, which containers may lack, unless they are told otherwise; older ones know no
  # such word.
  local version
  version=$(slurmd -V | grep -oE '[0-9]+' | head -n 1)
  [ "${version:-0}" -lt 23 ] || echo "CgroupPlugin=disabled" > "$cluster_folder/cgroup.conf"
  munged --foreground --force --key-file "$cluster_folder/munge.key" --socket "$cluster_folder/munge.socket" \
    --pid-file "$cluster_folder/munged.pid" --log-file "$cluster_folder/munged.log" \
    --seed-file "$cluster_folder/munged.seed" >"$cluster_folder/munged.out" 2>&1 &
  cluster_pids+=($!)
  local tries
  for ((tries = 0; tries < 100; ++tries)); do [ -S "$cluster_folder/munge.socket" ] && break; sleep 0.1; done
  slurmctld -D -f "$SLURM_CONF" >"$cluster_folder/slurmctld.out" 2>&1 &
  cluster_pids+=($!)
  for ((node = 1; node <= nodes; ++node)); do
    mkdir -p "$cluster_folder/node$node.spool"
    slurmd -D -f "$SLURM_CONF" -N "node$node" >"$cluster_folder/node$node.out" 2>&1 &
    cluster_pids+=($!)
  done
  # sinfo waits long for a controller that does not answer.
  local begun=$SECONDS
  while [ $((SECONDS - begun)) -lt 30 ]; do
    [ "$(timeout 5 sinfo -h -t idle -o %D 2>/dev/null | tr -d ' ')" = "$nodes" ] && return 0
    sleep 0.5
  done
  tail -n 3 "$cluster_folder"/*.out "$cluster_folder"/*.log >&2
  stop_cluster
  cluster_skip "the cluster does not start here"
}

kill_node() {
  local pid
  # Whatever the node has started carries its name; slurmd first, so that it reports nothing any more.
  kill -9 "$(cat "$cluster_folder/node$1.pid")"
  for pid in $(grep -lsz "^SLURMD_NODENAME=node$1\$" /proc/[0-9]*/environ | cut -d/ -f3); do
    kill -9 "$pid" 2>/dev/null
  done
  return 0
}

stop_cluster() {
  local pid
  scancel --state=RUNNING --user=root >/dev/null 2>&1
  sleep 1
  for pid in "${cluster_pids[@]}"; do kill "$pid" 2>/dev/null; done
  for pid in "${cluster_pids[@]}"; do wait "$pid" 2>/dev/null; done
  cluster_pids=()
}
