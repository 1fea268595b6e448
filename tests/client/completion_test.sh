#!/usr/bin/env bash
# completion_test.sh SCRIPTS PROGRAMS: the completion scripts of deploy/ work in the shells that are
# there. bash is always; zsh and fish are checked if they are installed.
set -uo pipefail
scripts=$1
export PATH="$2:$PATH"
failed=0

# expect WHAT WANTED GOT
expect() {
  [ "$2" = "$3" ] && return
  printf '%s: wanted "%s", got "%s"\n' "$1" "$2" "$3" >&2
  failed=1
}

# shellcheck source=/dev/null
source "$scripts/puzzlectl.bash"
# in_bash LINE
in_bash() {
  COMP_LINE=$1
  COMP_POINT=${#1}
  COMPREPLY=()
  _puzzlectl puzzlectl
  printf '%s' "${COMPREPLY[*]}"
}
expect bash "submit" "$(in_bash 'puzzlectl sub')"
expect bash "staircase brute-force" "$(in_bash 'puzzlectl solve bishops --solver ')"
expect bash "submit" "$(in_bash 'puzzlectl --endpoint tcp://h:1 sub')"
expect bash "" "$(in_bash 'puzzlectl solve bishops no-such-')"

if command -v fish >/dev/null; then
  # in_fish LINE
  in_fish() {
    fish --no-config --command "source $scripts/puzzlectl.fish; complete --do-complete '$1'" |
      cut -f 1 | paste -sd ' '
  }
  expect fish "submit" "$(in_fish 'puzzlectl sub')"
  expect fish "brute-force staircase" "$(in_fish 'puzzlectl solve bishops --solver ')"
else
  echo "fish is not installed: its script is not checked"
fi

if command -v zsh >/dev/null; then
  # Completion runs only on a terminal; here the two functions it calls are replaced.
  in_zsh() {
    zsh -f -c 'compadd() { print -r -- ${(P)2} }; _files() { print files }
      words=(puzzlectl "${@:2}"); CURRENT=$#words; source $1' zsh "$scripts/_puzzlectl" "$@"
  }
  expect zsh "submit" "$(in_zsh sub)"
  expect zsh "staircase brute-force" "$(in_zsh solve bishops --solver '')"
  expect zsh "files" "$(in_zsh solve bishops '')"
else
  echo "zsh is not installed: its script is not checked"
fi
exit "$failed"
