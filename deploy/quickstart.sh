#!/usr/bin/env bash
# From a bare Debian 12 to graded test sets in one command: installs what is missing, builds, starts
# a daemon with workers unless one runs, submits the example test sets of all five puzzles, waits,
# and shows the results. Safe to run again: it uses the daemon that runs, and grades once more.
# Ubuntu 24.04 has packages of the same names; that is unproven.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'quickstart.sh: %s\n' "$*" >&2
  exit 1
}

step "Packages"
deploy/packages.sh build
say "All there."

step "Build"
# Not the tests; but a build folder that has them keeps them.
options=()
[ -f build/release/CMakeCache.txt ] || options=(-DPUZZLED_TESTS=OFF)
mkdir -p build
say "Takes some minutes the first time (log: build/quickstart.log)"
if ! { cmake --preset release "${options[@]}" &&
  cmake --build --preset release --target puzzled puzzle-worker puzzlectl; } \
  >build/quickstart.log 2>&1; then
  tail -n 30 build/quickstart.log >&2
  fail "the build failed; the end of build/quickstart.log is above"
fi
bin=$PWD/build/release/bin
ctl=$bin/puzzlectl
say "Programs: $bin/{puzzled,puzzle-worker,puzzlectl}"

step "Daemon"
if "$ctl" --connect-timeout 1s workers >/dev/null 2>&1; then
  say "One is running; it is used."
else
  state=${XDG_STATE_HOME:-${HOME:-/tmp/puzzled-$(id -u)-home}/.local/state}/puzzled
  mkdir -p "$state"
  log=$state/puzzled.log
  setsid nohup "$bin/puzzled" </dev/null >>"$log" 2>&1 &
  daemon=$!
  # Another one may have been started in between: what counts is that one answers.
  until "$ctl" --connect-timeout 1s workers >/dev/null 2>&1; do
    if ! kill -0 "$daemon" 2>/dev/null; then
      tail -n 5 "$log" >&2
      fail "the daemon did not start; the end of $log is above"
    fi
  done
  say "Started, log: $log"
fi
# Workers connect a moment after the daemon answers.
for _ in {1..50}; do
  [ "$("$ctl" workers --output jsonl | wc -l)" -gt 0 ] && break
  sleep 0.1
done
"$ctl" workers

step "Submit the examples of all five puzzles (deploy/examples)"
jobs=()
for puzzle in bishops chinese-checkers draughts duel shuttle; do
  job=$("$ctl" --quiet submit "$puzzle" "deploy/examples/$puzzle" --name "example: $puzzle")
  say "$puzzle: job $job"
  jobs+=("$job")
  [ "$puzzle" != bishops ] || bishops=$job
done

step "Wait"
# Files with a .ans beside them are graded against it. One claimed answer is wrong on purpose.
"$ctl" wait "${jobs[@]}" --fail-on pe,iv,tle,mle,ole,re,ca,je ||
  fail "an example was not graded as it should be; see: $ctl jobs"

step "Summary and results"
"$ctl" jobs --limit ${#jobs[@]}
for job in "${jobs[@]}"; do
  printf '\nJob %s\n' "$job"
  "$ctl" results "$job"
done

step "The one wrong answer (WA), put there so that you see one"
wrong=$("$ctl" results "$bishops" --verdict wa --output csv | tr -d '\r' | awk -F, '
  NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "case") column = i; next }
  { print $column }')
[ "$(wc -w <<<"$wrong")" = 1 ] || fail "expected exactly one wrong answer among the bishops"
"$ctl" show "$bishops" "$wrong"

step "How to go on"
hint() { printf '  %-42s %s\n' "$1" "$2"; }
say "  export PATH=$bin:\$PATH"
hint "puzzlectl jobs" "all jobs; status JOB tells all about one"
hint "puzzlectl results ${jobs[0]} --output csv" "for a spreadsheet; also json, jsonl"
hint "puzzlectl show ${jobs[2]} 1" "one case, its board drawn"
hint "puzzlectl export ${jobs[0]} answers/" "the right answers as contest files"
hint "puzzlectl submit bishops my-tests/ --wait" "yours: NAME.in, with NAME.ans to be graded"
hint "puzzlectl solve bishops my.in" "without any daemon"
hint "puzzlectl --help" "all of it"
say "Stop the daemon (jobs and results are kept):"
say "  kill $("$ctl" version --output json | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p')"
