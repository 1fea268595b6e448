#!/usr/bin/env bash
# The one list of distribution packages. Installs those that are missing:
#   deploy/packages.sh build [test] [full] [bench]     (e.g. `deploy/packages.sh build test`)
# build: to build and run the programs; test: what `tests/run.sh` adds; full: what `tests/run.sh
# --full` adds; bench: what tests/bench adds. Needs root or sudo only if something is missing.
# --list prints the names and ends.
#
# Proven on Debian 12. Ubuntu 24.04 has packages of the same names; that is unproven.
set -euo pipefail

build=(
  cmake g++ ninja-build pkgconf
  cppzmq-dev libzmq3-dev          # messages between the programs
  libprotobuf-dev protobuf-compiler
  libsqlite3-dev                  # the store
  libspdlog-dev libfmt-dev        # log, text
  libcli11-dev libtomlplusplus-dev nlohmann-json3-dev  # flags, configuration file, JSON output
  libgmp-dev                      # exact counts of bishops
  libsystemd-dev                  # readiness and watchdog under systemd
  libmicrohttpd-dev               # metrics
  libxxhash-dev                   # hashes of what is uploaded
  libsodium-dev                   # keys of answers; libzmq3-dev needs it too
)
test=(
  libgtest-dev libgmock-dev
  clang libclang-rt-dev           # fuzzing
)
bench=(libbenchmark-dev)
full=(
  clang-format clang-tidy llvm mmdebstrap ca-certificates git
  podman buildah runc netavark aardvark-dns iptables catatonit  # containers
  docker-compose prometheus systemd                             # what checks deploy/
  slurm-wlm munge iproute2 sqlite3  # a cluster on this machine: tests/slurm
)

fail() {
  printf 'packages.sh: %s\n' "$*" >&2
  exit 1
}

list_only=false
wanted=()
for argument in "$@"; do
  case $argument in
    --list) list_only=true ;;
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${test[@]}") ;;
    full) wanted+=("${full[@]}") ;;
    bench) wanted+=("${bench[@]}") ;;
    *) fail "unknown list '$argument'; known are: build test full bench" ;;
  esac
done
[ ${#wanted[@]} -gt 0 ] || fail "say which lists: build, test, full, bench"

if $list_only; then
  printf '%s\n' "${wanted[@]}"
  exit 0
fi

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  fail "this system has no apt; install the equivalents of: ${wanted[*]}"

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

distribution=$(. /etc/os-release && printf '%s %s' "${ID:-unknown}" "${VERSION_ID:-}")
case $distribution in
  "debian 12") ;;
  *) printf 'packages.sh: the package names are proven on Debian 12, not on %s.\n' \
    "$distribution" >&2 ;;
esac

if [ "$(id -u)" = 0 ]; then
  as_root=()
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
  as_root=(sudo)
else
  fail "missing packages, and neither root nor sudo to install them. Ask an administrator for:
  apt-get install --no-install-recommends ${missing[*]}"
fi

printf 'Installing %d packages: %s\n' "${#missing[@]}" "${missing[*]}"
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -o DPkg::Lock::Timeout=600 "$@"
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Nothing of it is started: prometheus brings promtool, but a server as well.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
  trap 'rm -f "$log"; "${as_root[@]}" rm -f $policy' EXIT
  "${as_root[@]}" chmod +x $policy
fi
if ! { apt update && apt install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  fail "apt-get failed; its last lines are above"
fi
