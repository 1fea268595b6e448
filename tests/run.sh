#!/usr/bin/env bash
# The one command that checks everything: installs what is missing, builds, tests.
#   tests/run.sh             release, then AddressSanitizer and UBSan, and a short run of fuzzing
#   tests/run.sh --full      also ThreadSanitizer, clang-format, clang-tidy, long runs (fuzzing:
#                            3 minutes a target), and, which needs root, containers, a real Slurm
#                            cluster and the quick start on a bare Debian 12
#   tests/run.sh --no-install   install nothing
# Ends with `N passed, N failed`; exits 0 only if nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.."

full=false
install=true
for argument in "$@"; do
  case $argument in
    --full) full=true ;;
    --no-install) install=false ;;
    -h | --help)
      sed -n '2,8s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    *)
      echo "run.sh: unknown argument '$argument' (see --help)" >&2
      exit 2
      ;;
  esac
done

passed=0
failed=0
failures=()
jobs=$(nproc)
# Object files are found again whatever folder this checkout lies in.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
mkdir -p build
log=build/tests.log
export TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan.supp ${TSAN_OPTIONS:-}"

finish() {
  [ ${#failures[@]} -eq 0 ] || printf '\nFailed: %s\n' "${failures[*]}"
  printf '%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" -eq 0 ] || exit 1
  exit 0
}

# check NAME COMMAND…: one check that counts as one test.
check() {
  local name=$1
  shift
  printf '\n== %s\n' "$name"
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    failures+=("$name")
  fi
}

# build PRESET: without it there is nothing to test.
build() {
  printf '\n== build (%s)\n' "$1"
  if ! { cmake --preset "$1" -DPUZZLED_TESTS=ON && cmake --build --preset "$1" -j "$jobs"; } \
    >"$log" 2>&1; then
    grep -E 'error|Error|FAILED' -A 5 "$log" | tail -n 40
    echo "(all of it: $log)"
    failed=$((failed + 1))
    failures+=("build:$1")
    return 1
  fi
}

# run_tests PRESET: the counts are those of CTest's closing line.
run_tests() {
  local preset=$1 summary
  printf '\n== tests (%s)\n' "$preset"
  ctest --preset "$preset" -j "$jobs" 2>&1 | tee "$log" |
    grep -vE '^ *Start +[0-9]+:| Passed +[0-9.]+ sec$'
  summary=$(grep -oE '[0-9]+ tests failed out of [0-9]+' "$log" | tail -n 1)
  local bad=${summary%% *} all=${summary##* }
  if [ "${all:-0}" -gt 0 ]; then
    failed=$((failed + bad))
    passed=$((passed + all - bad))
    [ "$bad" -eq 0 ] || failures+=("tests:$preset")
  else
    echo "CTest did not come to its end"
    failed=$((failed + 1))
    failures+=("tests:$preset")
  fi
}

sources() { git ls-files '*.cc' '*.h'; }
formatted() { sources | xargs clang-format --dry-run --Werror; }
tidy() {
  git ls-files '*.cc' | grep -v '^tests/' |
    xargs -P "$jobs" -n 4 clang-tidy -p build/release --quiet
}

if $install; then
  lists=(build test)
  $full && lists+=(full)
  if ! deploy/packages.sh "${lists[@]}"; then
    failed=1
    failures+=(packages)
    finish
  fi
fi

presets=(release asan)
$full && presets+=(tsan)
for preset in "${presets[@]}"; do
  # Long runs read PUZZLED_LONG and raise their number of rounds.
  $full && export PUZZLED_LONG=1
  build "$preset" && run_tests "$preset"
done

fuzz_seconds=2
$full && fuzz_seconds=180
check "fuzzing, $fuzz_seconds s a target" tests/fuzz/run.sh "$fuzz_seconds"

if $full; then
  check clang-format formatted
  check clang-tidy tidy
  if [ "$(id -u)" = 0 ]; then
    check "quick start on a bare Debian 12" tests/bare.sh deploy/quickstart.sh
    check "quick start there as an ordinary user" tests/bare.sh --as-user deploy/quickstart.sh
  else
    echo "Not root: the quick start on a bare Debian 12 is left out."
  fi
fi
finish
