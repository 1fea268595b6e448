#!/usr/bin/env bash
# check.sh: the units are well-formed, and their exposure is at most 2.0 of 10 (systemd-analyze).
# Needs only systemd's tools, no running systemd. The programs need not be installed.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v systemd-analyze >/dev/null; then
  echo "not checked: systemd-analyze is not installed (the package systemd)"
  exit 77
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/usr/lib/systemd/system" "$root/usr/bin" "$root/bin"
cp ./*.service "$root/usr/lib/systemd/system/"
for program in puzzled puzzle-worker puzzle-scaler; do
  printf '#!/bin/sh\n' >"$root/usr/bin/$program"
  chmod +x "$root/usr/bin/$program"
done
cp "$root/usr/bin/puzzled" "$root/bin/kill"
for target in network-online multi-user sysinit basic shutdown; do
  printf '[Unit]\nDescription=%s\n' "$target" >"$root/usr/lib/systemd/system/$target.target"
done

for unit in puzzled.service puzzle-worker@cluster.service puzzle-scaler.service; do
  echo "== $unit"
  # Whatever it has to say about our own files is an error.
  said=$(systemd-analyze verify --man=no --root="$root" "$unit" 2>&1 || true)
  if grep -E '(puzzled|puzzle-worker|puzzle-scaler)(@[a-z]*)?\.service' <<<"$said"; then
    echo "check.sh: $unit is not well-formed" >&2
    exit 1
  fi
  systemd-analyze security --offline=true --root="$root" --threshold=20 --no-pager "$unit" |
    tail -n 1
done
