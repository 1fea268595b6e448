#!/usr/bin/env bash
# check.sh: the units and the drop-in are well-formed, and their exposure is at most 2.0 of 10
# (systemd-analyze).
# Needs only systemd's tools, no running systemd. The programs need not be installed.
#   check.sh [--only FILE]
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v systemd-analyze >/dev/null; then
  echo "not checked: systemd-analyze is not installed (the package systemd)"
  exit 77
fi

units=(puzzled.service puzzle-worker@cluster.service puzzle-scaler.service)
case ${1:-} in
  '') ;;
  --only)
    units=("${2/@./@cluster.}")
    [ "$2" != tcp.conf ] || units=(puzzled.service)
    ;;
  *) echo "check.sh: unknown argument '$1'; known is: --only FILE" >&2; exit 2 ;;
esac

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
system=$root/usr/lib/systemd/system
mkdir -p "$system/puzzled.service.d" "$root/usr/bin" "$root/bin"
cp ./*.service "$system/"
cp tcp.conf "$system/puzzled.service.d/"
for program in puzzled puzzle-worker puzzle-scaler; do
  printf '#!/bin/sh\n' >"$root/usr/bin/$program"
  chmod +x "$root/usr/bin/$program"
done
cp "$root/usr/bin/puzzled" "$root/bin/kill"
for target in network-online multi-user sysinit basic shutdown; do
  printf '[Unit]\nDescription=%s\n' "$target" >"$system/$target.target"
done

# Variables are those of the daemon's options.
known=$(sed -n 's/^#\([a-z_]*\) = .*/PUZZLED_\1/p' ../puzzled.example.toml | tr a-z A-Z)
unknown=$(grep -hoE '^Environment=[^=]*' ./*.service tcp.conf | cut -d= -f2 | grep -vxF "$known" ||
  true)
if [ -n "$unknown" ]; then
  echo "check.sh: no program reads $unknown" >&2
  exit 1
fi

for unit in "${units[@]}"; do
  echo "== $unit"
  # What systemd only finds out when it starts or enables a unit.
  file=${unit/@cluster/@}
  if grep -nE '^Exec.*\$' "$file" | grep -vE '\$(MAINPID|WORKER_OPTIONS|SCALER_OPTIONS)$' ||
    grep -nE '^WantedBy=' "$file" | grep -v '=multi-user\.target$'; then
    echo "check.sh: $unit names what is not there" >&2
    exit 1
  fi
  # Whatever it has to say about our own files is an error.
  said=$(systemd-analyze verify --man=no --root="$root" "$unit" 2>&1 || true)
  if grep -E '(puzzled|puzzle-worker|puzzle-scaler)(@[a-z]*)?\.service' <<<"$said"; then
    echo "check.sh: $unit is not well-formed" >&2
    exit 1
  fi
  systemd-analyze security --offline=true --root="$root" --threshold=20 --no-pager "$unit" |
    tail -n 1
done
