#!/bin/bash
# Builds and runs all benches, prints their tables as Markdown.
#   --quick            a tenth of the work, to see that all runs
#   --json FILE        the figures by name; null: not measured
#   --markdown FILE    the tables to this file too
#   --published DIR    outside programs to compare the solvers with, see README.md
#   --build DIR        an existing build folder (default: build/release, made if need be)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
figures=(cc_x duel_x shuttle_x draughts_x bishops_ms w2_rate w2_vs_sqlite overhead_us w1_ratio
  w1_slow_ratio latency_p50_ms latency_p99_ms page_ms restart_s backlog_rss_mib fleet_cpu_x
  curve_ratio reconnect_s regrade_rate regrade_x)

quick=() json= markdown= published= build=
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=(--quick) ;;
    --json) json=$2; shift ;;
    --markdown) markdown=$2; shift ;;
    --published) published=$2; shift ;;
    --build) build=$2; shift ;;
    -h | --help) sed -n '2,/^set/{/^set/!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "run.sh: unknown argument $1, see --help" >&2; exit 2 ;;
  esac
  shift
done

if [ -z "$build" ]; then
  build=$root/build/release
  (cd "$root" && cmake --preset release >/dev/null)
fi
cmake --build "$build" --target benches >&2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/figures"

# The outside programs become libraries, so that not their start is measured but their search.
with_published=()
if [ -n "$published" ]; then
  published=$(cd "$published" && pwd)
  for pair in chinese-checkers:chinese_checkers draughts:draughts duel:whole shuttle:whole; do
    program=$published/${pair%%:*}.cc
    [ -e "$program" ] || continue
    "${CXX:-c++}" -std=c++17 -O3 -w -shared -fPIC -DPUBLISHED="\"$program\"" \
      "$here/published/${pair##*:}.cc" -o "$work/${pair%%:*}.so"
  done
  with_published=(--published "$work")
fi

{
  echo "## Benches"
  echo
  echo "$(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)," \
    "load at the start $(cut -d' ' -f1-3 /proc/loadavg)," \
    "commit $(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown)."
  "$build/bin/bench_solvers" "${quick[@]}" --figures "$work/figures" "${with_published[@]}"
  for part in throughput reuse latency broker_core backlog pages shards cluster reconnect; do
    "$build/bin/bench_$part" "${quick[@]}" --figures "$work/figures"
  done
  echo
  echo "### Single parts (Google Benchmark)"
  echo
  echo '```'
  "$build/bin/bench_micro" --benchmark_min_time=$([ ${#quick[@]} -eq 0 ] && echo 0.5 || echo 0.05) \
    2>/dev/null
  echo '```'
} | tee "$work/tables"

[ -z "$markdown" ] || cp "$work/tables" "$markdown"
if [ -n "$json" ]; then
  {
    separator="{"
    for name in "${figures[@]}"; do
      value=$(awk -v name="$name" '$1 == name { value = $2 } END { print value }' "$work/figures")
      printf '%s\n  "%s": %s' "$separator" "$name" "${value:-null}"
      separator=","
    done
    printf '\n}\n'
  } >"$json"
fi
