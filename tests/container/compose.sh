#!/usr/bin/env bash
# deploy/container/compose.yaml really brought up, by docker-compose over podman's socket.
#   tests/container/compose.sh BIN
# PUZZLED_LONG=1 only; exit code 77: skipped.
set -euo pipefail
bin=$(realpath "${1:?the folder of the programs}")
cd "$(dirname "$0")"
. ./podman.sh
command -v docker-compose >/dev/null ||
  skip "docker-compose is not installed (deploy/packages.sh full)"
compose() {
  docker-compose -p "$run" -f ../../deploy/container/compose.yaml --no-ansi "$@" \
    >"$work/compose.log" 2>&1 || {
    cat "$work/compose.log" >&2
    fail "docker-compose $1"
  }
}
service=
trap '(compose down -v -t 1) >/dev/null 2>&1 || true; kill $service 2>/dev/null || true
  rm -rf "$work"' EXIT
build_images

podman system service --time=0 "unix://$work/podman.sock" 2>/dev/null &
service=$!
eventually "podman serves" test -S "$work/podman.sock"
PUZZLECTL=$bin/puzzlectl ../../deploy/container/keys.sh "$work/keys" client 2>/dev/null
cp "$work/keys/client.key" "$work/client.key"
chown -R 65532:65532 "$work/keys"
chmod 0755 "$work"
# Any two that are free now.
used_ports() {
  local port
  awk 'NR > 1 { print substr($2, 10) }' /proc/net/tcp |
    while read -r port; do echo $((16#$port)); done | sort -u
}
read -r CLIENTS_PORT METRICS_PORT < <(
  comm -23 <(seq 20000 30000 | sort) <(used_ports) | shuf -n 2 | xargs)
export DOCKER_HOST=unix://$work/podman.sock KEYS=$work/keys CLIENTS_PORT METRICS_PORT

say "up, with two workers"
compose up -d --scale worker=2
url=http://127.0.0.1:$METRICS_PORT
eventually "the daemon is ready" http "$url/readyz"
eventually "two workers are there" has_workers 2

say "a job"
printf '8 6\n20 13\n0 0\n' | "$bin/puzzlectl" --endpoint "tcp://127.0.0.1:$CLIENTS_PORT" \
  --key "$work/client.key" --server-key "$work/keys/broker.pub" --connect-timeout 60s \
  submit bishops - --wait >/dev/null || fail "no result"
[ "$(figure "$url" 'puzzled_results_total{verdict="SOLVED"}')" = 2 ] || fail "not two results"

say "more workers, then an end"
compose up -d --scale worker=3
eventually "a third worker is there" has_workers 3
compose stop
for name in $(podman ps -a --filter "name=^$run" --format '{{.Names}}'); do
  [ "$(podman inspect --format '{{.State.ExitCode}}' "$name")" = 0 ] ||
    fail "$name did not end well: $(podman logs "$name" 2>&1 | tail -n 5)"
done
echo "all is well"
