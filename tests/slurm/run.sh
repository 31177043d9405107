#!/usr/bin/env bash
# The scripts of docs/many_machines.md on a real Slurm of four nodes, all on this host, and on mpirun: their merged run
# must be that of one machine, byte for byte, also where a node dies in the middle.
#
#   tests/slurm/run.sh [MSRUN [DUMP]]   MSRUN: the program (build/bin/msrun); DUMP: a recording or a folder of them
#
# Without DUMP one is made: 16 ranks (MSRUN_SLURM_RANKS) of 20,000 calls in all (MSRUN_SLURM_CALLS), half of which all
# have in common; with MSRUN_SLURM_COMMON=none no two ranks have one, so that as many are checked as are recorded.
#
# Ends with 77 and the reason where Slurm cannot start; with 1 and what differed where something did.
set -uo pipefail
cd "$(dirname "$0")/../.."
. tests/slurm/cluster.sh

msrun=$(realpath "${1:-build/bin/msrun}")
scratch=$(mktemp -d)
dump=${2:-$scratch/dump}
failures=0
patience=${MSRUN_SLURM_PATIENCE:-600}  # seconds for one job
trap 'stop_cluster; rm -rf "$scratch"' EXIT

say() { printf '%s\n' "$*"; }
fail() { say "FAILED: $*"; failures=$((failures + 1)); }

# A script of the page, by the name in its first lines.
script() {
  awk -v name="# $1" '/^```/ { if (inside && found) printf "%s", text; inside = !inside; text = ""; found = 0; next }
                      inside { text = text $0 "\n"; if ($0 == name) found = 1 }' docs/many_machines.md > "$scratch/$1"
  [ -s "$scratch/$1" ] || fail "docs/many_machines.md has no script $1"
}

# The CSVs below folder $1, of all ranks where there are several: name without the time, and checksum.
csvs() {
  (cd "$1" && find . -name 'accuracy_checking_*.csv' -type f -exec md5sum {} + | sed -E 's/_[0-9]{14}\.csv$//' | sort -k 2)
}

# Compares the merged run in folder $1 with that of one machine.
compare() {
  csvs "$1" > "$scratch/merged.sums"
  csvs "$scratch/whole" > "$scratch/whole.sums"
  if [ -s "$scratch/whole.sums" ] && cmp -s "$scratch/merged.sums" "$scratch/whole.sums"; then
    say "$2: $(wc -l < "$scratch/whole.sums") CSVs, byte-identical to the run on one machine"
  else
    fail "$2: the files are not those of one machine:"
    diff "$scratch/whole.sums" "$scratch/merged.sums" | head -n 4
  fi
}

# Waits until job $1 has ended, $2 seconds at most.
await() {
  local end=$((SECONDS + $2))
  while [ -n "$(squeue -h -j "$1" 2>/dev/null)" ]; do
    [ $SECONDS -lt $end ] || { fail "job $1 does not end"; scancel "$1"; return 1; }
    sleep 0.5
  done
}

if [ ! -e "$dump" ]; then
  ranks=${MSRUN_SLURM_RANKS:-16}
  for ((rank = 0; rank < ranks; ++rank)); do
    mkdir -p "$dump/step0/rank$rank"
    python3 tests/slurm/many_calls.py $((${MSRUN_SLURM_CALLS:-20000} / ranks)) "$rank" "${MSRUN_SLURM_COMMON:-half}" \
      > "$dump/step0/rank$rank/dump.json" || exit 1
  done
fi
export PATH="$(dirname "$msrun"):$PATH"
begun=$SECONDS
"$msrun" -api_info "$dump" -o "$scratch/whole" > "$scratch/whole.log" || fail "the run on one machine: exit code $?"
sed -nE 's/.*\[INFO\] ([0-9]+ calls of .*)/\1/p' "$scratch/whole.log"
say "one machine: $((SECONDS - begun)) s"

if command -v mpirun >/dev/null; then
  script msrun.mpirun
  # Four processes on however few processors, for Open MPI 4 and for its successors.
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  begun=$SECONDS
  bash "$scratch/msrun.mpirun" "$dump" "$scratch/mpi" > "$scratch/mpi.log" 2>&1 || { fail "mpirun: $?"; tail "$scratch/mpi.log"; }
  compare "$scratch/mpi/all" "mpirun -n 4, $((SECONDS - begun)) s"
else
  say "skipped: mpirun is not there (Debian: openmpi-bin)"
fi

start_cluster "$scratch/cluster" 4
case $? in 0) ;; 77) [ $failures -eq 0 ] && exit 77; exit 1 ;; *) exit 1 ;; esac
say "Slurm: $(sinfo -h -o '%D nodes %T')"
for name in shards steal; do
  script "msrun-$name.sbatch"
  job=$(sbatch --parsable --chdir="$scratch" "$scratch/msrun-$name.sbatch" "$dump" "$scratch/$name") || { fail sbatch; continue; }
  begun=$SECONDS
  await "$job" "$patience" || continue
  compare "$scratch/$name/all" "sbatch msrun-$name.sbatch, $((SECONDS - begun)) s"
done

# The leases of the run in which a node dies, and how many of them are done, and by node3.
leases() { ls "$scratch"/killed/leases_*/ 2>/dev/null | grep -c "$1"; }

# A node dies in the middle: when a third of the leases are done, and it has done one and holds one.
job=$(sbatch --parsable --chdir="$scratch" "$scratch/msrun-steal.sbatch" "$dump" "$scratch/killed" --lease-timeout 5)
begun=$SECONDS
while [ $((SECONDS - begun)) -lt "$patience" ] && [ -n "$(squeue -h -j "$job" 2>/dev/null)" ]; do
  [ "$(leases '\.done\.node-node3-')" -gt 0 ] && [ "$(leases '\.held\.node-node3-')" -gt 0 ] &&
    [ $((3 * $(leases '\.done\.'))) -ge "$(leases '^[0-9]')" ] && break
  sleep 0.02
done
done_before=$(leases '\.done\.')
kill_node 3
say "node3 killed with $done_before of $(leases '^[0-9]') leases done"
if await "$job" "$patience"; then
  compare "$scratch/killed/all" "sbatch msrun-steal.sbatch, a node killed, $((SECONDS - begun)) s"
  say "leases that were done by the killed node: $(leases '\.done\.node-node3-'), by the others: $(leases '\.done\.node-node[124]-')"
  grep -h "taken over" "$scratch"/msrun-*.log | tail -n 1
fi
[ $failures -eq 0 ] && say "all as on one machine" || { tail -n 20 "$scratch"/*.log; exit 1; }
