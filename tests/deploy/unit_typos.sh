#!/usr/bin/env bash
# One typo after the other in copies of the units of deploy/systemd: in every key, in section names
# and in values that name something. check.sh has to notice each.
set -euo pipefail
cd "$(dirname "$0")/../../deploy/systemd"
if ! command -v systemd-analyze >/dev/null; then
  echo "not checked: systemd-analyze is not installed (the package systemd)"
  exit 77
fi
copy=$(mktemp -d)
trap 'rm -rf "${copy%/systemd}"' EXIT
mkdir "$copy/systemd"
cp ../puzzled.example.toml "$copy/"
copy=$copy/systemd
cp ./* "$copy/"
"$copy/check.sh" >/dev/null || { echo "the units are wrong without a typo"; exit 1; }

made=0
missed=0
# try UNIT LINE SED: the line changed by the expression.
try() {
  local unit=$1 line=$2 change=$3
  sed "${line}${change}" "$unit" >"$copy/$unit"
  cmp -s "$unit" "$copy/$unit" && return
  made=$((made + 1))
  if "$copy/check.sh" --only "$unit" >/dev/null 2>&1; then
    missed=$((missed + 1))
    printf 'not noticed: %s:%s: %s\n' "$unit" "$line" "$(sed -n "${line}p" "$copy/$unit")"
  fi
  cp "$unit" "$copy/$unit"
}
for unit in *.service tcp.conf; do
  number=0
  while IFS= read -r line; do
    number=$((number + 1))
    case $line in
      '#'* | '') continue ;;
      '['*) try "$unit" "$number" 's/\]/z]/' ;;
      *)
        try "$unit" "$number" 's/=/z=/'
        try "$unit" "$number" 's/^\(Environment=[A-Z_]*\)=/\1Z=/'
        # Texts for people, and names that the administrator is free to choose.
        case $line in
          Description=* | Documentation=* | *Directory=* | User=* | Environment*=* | LoadCred*) ;;
          *=) ;;
          *) try "$unit" "$number" 's/$/z/' ;;
        esac
        ;;
    esac
  done <"$unit"
done
printf '%d typos, %d not noticed\n' "$made" "$missed"
[ "$made" -gt 0 ] && [ "$missed" -eq 0 ]
