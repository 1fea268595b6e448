#!/usr/bin/env bash
# cluster_test.sh BIN: 200,000 cases on a real Slurm cluster of four nodes on this machine, with
# encrypted connections, workers started by puzzle-scaler alone, while
#   a task is put back into the queue and a node is drained, and comes back,
#   a task is pre-empted,
#   slurmctld is killed and started again,
#   a node is killed, and started again,
#   a node is cut off, declared dead, and comes back.
# All must be right and there once; only the killed node may cost an attempt. The scaler goes from
# 0 to 4 workers and back to 0 by itself. BIN has the programs, puzzle-worker-test and
# puzzle-scaler-test among them. Takes five to ten minutes; ends with code 77 if it is not run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$1" && pwd)
root=$(cd "$here/../.." && pwd)
export PATH=$bin:$PATH:/usr/sbin:/sbin

if [ -z "${PUZZLED_LONG:-}" ]; then
  echo "skipped: this takes ten minutes; set PUZZLED_LONG=1"
  exit 77
fi
. "$here/cluster.sh"
why_not=$(cluster_can_run) || { echo "skipped: $why_not"; exit 77; }

nodes=4
cases=${PUZZLED_SLURM_CASES:-200000}
dir=$(mktemp -d /tmp/puzzled-slurm.XXXXXX)
chmod 755 "$dir"
pids=()
begin=$(date +%s)
say() { printf '%4ds  %s\n' $(($(date +%s) - begin)) "$*"; }

cleanup() {
  local code=$?
  trap - EXIT
  if [ "$code" != 0 ]; then
    squeue -r 2>&1 | head -n 20 || true
    sinfo -N -l 2>&1 | head -n 20 || true
    tail -n 30 "$dir"/scaler.log "$dir"/daemon.log 2>/dev/null || true
    tail -n 5 "$dir"/cluster/log/*.log "$dir"/jobs/*.log 2>/dev/null || true
  fi
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  cluster_down
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  [ "$code" != 0 ] || [ -n "${PUZZLED_SLURM_KEEP:-}" ] || rm -rf "$dir"
  [ "$code" = 0 ] || echo "what is left is in $dir"
  exit "$code"
}
trap cleanup EXIT
fail() {
  echo "FAILED: $*"
  exit 1
}

# until_true SECONDS WHAT COMMAND…: looks four times a second.
until_true() {
  local limit=$1 what=$2 until=$((SECONDS + $1))
  shift 2
  while [ $SECONDS -le $until ]; do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.25
  done
  fail "$what (waited ${limit}s)"
}

# ---- What is there.
ctl() {
  puzzlectl --endpoint "$endpoint" --key "$dir/alice.key" --server-key "$dir/broker.pub" "$@"
}
workers() { ctl workers --output csv 2>/dev/null | tail -n +2 | grep -c "^puzzle-worker-" || true; }
has_workers() { [ "$(workers)" = "$1" ]; }
worker_of() {
  ctl workers --output csv | tail -n +2 | grep -E "^puzzle-worker-[0-9_]+,n$1," || true
}
has_worker_on() { [ -n "$(worker_of "$1")" ]; }
has_no_worker_on() { ! has_worker_on "$1"; }
done_count() {
  ctl status "$job" --output json | sed -n 's/.*"done": *\([0-9]*\).*/\1/p' | head -n 1
}
has_done() { [ "$(done_count)" -ge "$1" ]; }
# So many more cases are done from now on: work goes on.
go_on() { until_true 300 "$1 more cases done" has_done $(($(done_count) + $1)); }
task_on() { squeue -h -r -t R -w "n$1" -o %F_%K | head -n 1; }
is_state() { cluster_node_state "$1" | grep -qE "$2"; }
queue_is_empty() { [ -z "$(squeue -h -r -n puzzle-worker)" ]; }
attempts() { sqlite3 -readonly "$dir/puzzled.db" 'select count(*) from attempts'; }
open_cases() { echo $((cases - $(done_count))); }
# The phase must have happened while there was work.
phase_over() {
  local left
  left=$(open_cases)
  [ "$left" -gt 0 ] || fail "the cases were over before the end of: $1"
  say "$1: done; $left cases open, $(attempts) attempts charged"
}
all_back() {
  # As an operator would: a node that Slurm drained because of what was left of an old task.
  local i
  for i in $(seq 1 $nodes); do
    ! is_state "$i" 'drain' || scontrol update nodename="n$i" state=resume || true
  done
  has_workers $nodes
}

# ---- Up.
cluster_up "$dir/cluster" $nodes
endpoint=tcp://$cluster_net.254:7400
idle_nodes() { sinfo -h -N -p main -t idle -o %N | wc -l; }
are_all_idle() { [ "$(idle_nodes)" = $nodes ]; }
until_true 60 "all nodes idle" are_all_idle
say "cluster: $nodes nodes idle"
cd "$dir"
puzzlectl --quiet keygen broker --role server >keygen.out
puzzlectl --quiet keygen alice --role operate >>keygen.out
puzzlectl --quiet keygen scaler --role read >>keygen.out
puzzlectl --quiet keygen cluster --role work >>keygen.out
cat alice.pub scaler.pub cluster.pub >authorized.keys
chmod 600 authorized.keys
puzzled --endpoint "$endpoint" --database "$dir/puzzled.db" --workers 0 --key broker.key \
  --authorized-keys authorized.keys >daemon.log 2>&1 &
pids+=($!)
until_true 60 "the daemon answers" ctl version

# Five of the solver's milliseconds a case. The claimed answers are the brute force's.
mkdir tests jobs
for n in 2 3 4 5 6 7 8; do for k in 0 1 2; do echo "$n $k"; done; done >pairs
{ cat pairs; echo 0 0; } >pairs.in
puzzlectl-test solve bishops pairs.in --solver brute-force >pairs.ans
[ "$(wc -l <pairs.ans)" = 21 ] || fail "no answers of the brute force"
per_file=1000
for ((i = 0; i < cases / per_file; i++)); do
  name=tests/$(printf '%04d' "$i")
  if [ "$i" = 0 ]; then
    awk -v n=$per_file '{ a[NR] = $0 } END { for (i = 0; i < n; i++) print a[1 + i % NR] }' pairs \
      >"$name.in"
    echo 0 0 >>"$name.in"
    awk -v n=$per_file '{ a[NR] = $0 } END { for (i = 0; i < n; i++) print a[1 + i % NR] }' \
      pairs.ans >"$name.ans"
  else
    cp tests/0000.in "$name.in"
    cp tests/0000.ans "$name.ans"
  fi
done

# ---- 0 -> 4, by itself.
puzzle-scaler-test --endpoint "$endpoint" --key scaler.key --server-key broker.pub --max $nodes \
  --interval 1s --slot-work 5s --shrink-after 15s --idle-timeout 20s --join-timeout 60s \
  --backoff 2s --script "$root/deploy/slurm/worker.sbatch" \
  --sbatch-argument=--chdir="$dir/jobs" --worker-endpoint "tcp://$cluster_net.254:7401" \
  --worker-key "$dir/cluster.key" --worker-program "$bin/puzzle-worker-test" >scaler.log 2>&1 &
scaler=$!
pids+=($scaler)
until_true 30 "the scaler sees that there is nothing to do" grep -q '0 slots wanted' scaler.log
queue_is_empty || fail "workers without work"
job=$(PUZZLED_KEY=$dir/alice.key PUZZLED_SERVER_KEY=$dir/broker.pub \
  puzzlectl-test --endpoint "$endpoint" submit bishops tests --solver slow --no-cache)
say "job $job: $cases cases"
until_true 120 "0 -> $nodes workers" has_workers $nodes
say "scaler: 0 -> $nodes"
go_on 2000

# ---- A requeue and a drained node. With a node less, only three can run.
task=$(task_on 1)
scontrol update nodename=n1 state=drain reason=test
go_on 1000
has_worker_on 1 || fail "a drained node's worker goes on"
scontrol requeue "$task"
until_true 60 "n1 is drained" is_state 1 '^drained'
until_true 60 "its worker has left" has_no_worker_on 1
go_on 2000
scontrol update nodename=n1 state=resume
until_true 120 "all workers back after the drain" all_back
phase_over "requeue and drain"

# ---- A pre-emption.
sbatch --parsable -p urgent -w n4 -n 1 --output=/dev/null --wrap 'sleep 15' >urgent
until_true 120 "the urgent job runs" sh -c \
  "squeue -h -j $(cat urgent) -o %T | grep -q RUNNING"
has_no_worker_on 4 || fail "the worker on n4 was not pre-empted"
go_on 1000
until_true 120 "the urgent job is over" sh -c "! squeue -h -j $(cat urgent) | grep -q ."
until_true 120 "all workers back after the pre-emption" all_back
phase_over "pre-emption"

# ---- slurmctld dies; tasks go on, the scaler waits and goes on.
cluster_kill_controller
until_true 120 "the scaler says that Slurm is away" grep -q 'warning .*squeue' scaler.log
go_on 2000
has_workers $nodes || fail "workers went with slurmctld"
cluster_start_controller
until_true 120 "the scaler goes on" grep -q 'daemon and engine can be asked again' scaler.log
until_true 120 "all workers there after slurmctld's end" all_back
phase_over "slurmctld killed"
[ "$(attempts)" = 0 ] || fail "drain, pre-emption or slurmctld's end cost $(attempts) attempts"

# ---- A node's power is cut.
cluster_kill_node 2
until_true 60 "the daemon misses its worker" has_no_worker_on 2
go_on 1000
until_true 180 "Slurm misses n2" is_state 2 '^down'
cluster_start_node 2
until_true 180 "all workers back after the power cut" all_back
phase_over "node killed"
after_kill=$(attempts)
[ "$after_kill" -le 1 ] || fail "one death cost $after_kill attempts"

# ---- A node is cut off until Slurm gives it up; its worker still runs when it is plugged in.
cluster_unplug 3
until_true 60 "the daemon misses its worker" has_no_worker_on 3
until_true 180 "Slurm misses n3" is_state 3 '^down'
cluster_plug 3
until_true 180 "all workers back after the partition" all_back
phase_over "partition"

# ---- The end: all right, once; 4 -> 0.
ctl wait "$job" --fail-on none
ctl results "$job" --output csv >results.csv
[ "$(tail -n +2 results.csv | wc -l)" = "$cases" ] || fail "not $cases results"
[ "$(tail -n +2 results.csv | cut -d, -f1 | sort -un | wc -l)" = "$cases" ] || fail "not once each"
wrong=$(tail -n +2 results.csv | grep -vc ',ACCEPTED,' || true)
[ "$wrong" = 0 ] || fail "$wrong cases are not ACCEPTED"
last=$(attempts)
[ "$last" -le "$after_kill" ] || fail "the partition cost attempts: $last"
say "results: $cases ACCEPTED, once each; $last attempts charged (the killed node's, at most 1)"
until_true 120 "4 -> 0 workers" has_workers 0
until_true 120 "no task is left" queue_is_empty
say "scaler: $nodes -> 0"
ctl doctor >doctor.out || { cat doctor.out; fail "the doctor found something"; }
kill -TERM $scaler
wait $scaler || fail "the scaler ended with code $?"
say "ok"
