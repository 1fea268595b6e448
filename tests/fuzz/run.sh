#!/usr/bin/env bash
# Fuzzes every target with libFuzzer, after a build with the preset `fuzz`:
#   tests/fuzz/run.sh [SECONDS] [TARGET…]      SECONDS a target, by default 180; all targets
# Prints a line for each target. Exits with 1 if there was a finding; its input is then in
# build/fuzz/findings: mend the defect and keep the input in tests/fuzz/regressions/TARGET.
# What was learned is kept in build/fuzz/corpus for the next run.
# Without clang there is nothing to run: CTest replays the seeds all the same (fuzz_*).
set -uo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:-180}
case $seconds in
  -h | --help)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
  '' | *[!0-9]*)
    echo "run.sh: expected a number of seconds, found '$seconds' (see --help)" >&2
    exit 2
    ;;
esac
shift $(($# > 0 ? 1 : 0))

probe='extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }'
if ! echo "$probe" |
  clang++ -fsanitize=fuzzer -x c++ - -o /dev/null 2>/dev/null; then
  echo "There is no clang++ with libFuzzer (packages clang and libclang-rt-dev): no fuzzing." \
    "CTest replays the seeds (ctest -R fuzz_)."
  exit 0
fi

jobs=$(nproc)
out=build/fuzz
mkdir -p "$out/corpus" "$out/findings" "$out/log"
if ! { cmake --preset fuzz && cmake --build --preset fuzz -j "$jobs"; } >"$out/log/build.log" 2>&1
then
  grep -E 'error|FAILED' -A 5 "$out/log/build.log" | tail -n 40
  echo "The fuzz targets cannot be built (all of it: $out/log/build.log)."
  exit 1
fi
rm -rf "$out/seeds"
"$out/bin/fuzz_seeds" "$out/seeds" >/dev/null || exit 1
if [ $# -gt 0 ]; then
  targets=("$@")
else
  mapfile -t targets < <(ls "$out/seeds")
fi

# fuzz TARGET: one line about its run.
fuzz() {
  local target=$1 log=$out/log/$1.log status=0
  local corpora=("$out/corpus/$target" "$out/seeds/$target")
  [ ! -d "tests/fuzz/regressions/$target" ] || corpora+=("tests/fuzz/regressions/$target")
  mkdir -p "$out/corpus/$target"
  "$out/bin/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -timeout=30 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$out/findings/$target-" \
    "${corpora[@]}" >"$log" 2>&1 || status=$?
  local executions coverage
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  coverage=$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1)
  printf '%-24s %10s executions, %s edges: %s\n' "$target" "${executions:-no}" \
    "${coverage#cov: }" "$([ "$status" -eq 0 ] && echo clean || echo "FINDING, see $log")"
  return "$status"
}
export -f fuzz
export out seconds
# A run that fails makes xargs exit with 123.
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'fuzz {} || exit 1' || {
  echo "There were findings."
  exit 1
}
