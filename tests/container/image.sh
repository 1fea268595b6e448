#!/usr/bin/env bash
# The image really built and run with podman: a daemon and workers, each in a container of its own
# without privileges and with nothing to write to, over encrypted TCP.
#   tests/container/image.sh BIN     BIN: the folder of the built programs, for the client
# PUZZLED_LONG=1 only; exit code 77: skipped. PUZZLED_CONTAINERS: where images stay between runs.
set -euo pipefail
bin=$(realpath "${1:?the folder of the programs}")
cd "$(dirname "$0")"
. ./podman.sh
trap 'podman rm -f -t 0 $(podman ps -aq --filter label=$run) >/dev/null 2>&1 || true
  podman volume rm -f $run >/dev/null 2>&1 || true
  podman network rm -f $run >/dev/null 2>&1 || true
  rm -rf "$work"' EXIT
build_images

say "what the image is"
size=$(podman image inspect --format '{{.Size}}' "$image")
[ "$size" -le $((40 << 20)) ] || fail "the image has $((size >> 20)) MiB, more than 40"
[ "$(podman image inspect --format '{{.Config.User}}' "$image")" = 65532:65532 ] ||
  fail "the image runs as root"
if podman run --rm --network none "$image" sh -c true 2>/dev/null; then fail "it has a shell"; fi
for program in puzzled puzzle-worker puzzlectl; do
  podman run --rm --network none --read-only "$image" "$program" --version
done
echo "$((size >> 20)) MiB"

say "one container with workers of its own"
hardened=(--label "$run" --read-only --read-only-tmpfs=false --tmpfs /tmp --cap-drop all
  --security-opt no-new-privileges)
alone=$run-alone
podman run -d --name "$alone" --network none "${hardened[@]}" "$image" \
  puzzled --workers 1 >/dev/null
eventually "a daemon answers" podman exec "$alone" puzzlectl workers
printf '8 6\n20 13\n0 0\n' |
  podman exec -i "$alone" puzzlectl submit bishops - --wait >"$work/alone" || fail "no result"
podman stop -t 60 "$alone" >/dev/null
[ "$(podman inspect --format '{{.State.ExitCode}}' "$alone")" = 0 ] || fail "it did not end well"

say "a daemon and two workers over encrypted TCP"
keys=$work/keys
PUZZLECTL=$bin/puzzlectl ../../deploy/container/keys.sh "$keys" client 2>/dev/null
chown -R 65532:65532 "$keys"
chmod 0755 "$work"
podman network create "$run" >/dev/null
podman volume create "$run" >/dev/null
mount=(-v "$keys:/keys:ro")
start_daemon() {
  podman run -d --name "$run-puzzled" --network "$run" --network-alias puzzled "${hardened[@]}" \
    "${mount[@]}" -v "$run:/var/lib/puzzled" "$image" puzzled --endpoint tcp://0.0.0.0:7400 \
    --metrics 0.0.0.0:7402 --key /keys/broker.key --authorized-keys /keys/authorized.keys \
    --authorized-keys-poll 200ms --workers 0 >/dev/null
  address=$(podman inspect --format "{{(index .NetworkSettings.Networks \"$run\").IPAddress}}" \
    "$run-puzzled")
  url=http://$address:7402
}
start_worker() { # start_worker NAME
  podman run -d --name "$run-$1" --network "$run" "${hardened[@]}" "${mount[@]}" "$image" \
    puzzle-worker --endpoint tcp://puzzled:7401 --key /keys/worker.key \
    --server-key /keys/broker.pub --slots 1 >/dev/null
}
# The client is the machine's, as a user's would be.
cp "$keys/client.key" "$work/client.key"
chown "$(id -u)" "$work/client.key"
ctl() {
  "$bin/puzzlectl" --endpoint "tcp://$address:7400" --key "$work/client.key" \
    --server-key "$keys/broker.pub" --connect-timeout 60s "$@"
}
start_daemon
start_worker first
start_worker second
eventually "the daemon is ready" http "$url/readyz"
eventually "two workers are there" has_workers 2
cases=20000
long_test $cases >"$work/long.in"
job=$(ctl submit bishops "$work/long.in" --no-cache)
eventually "results come" has_done 0

say "a worker is killed, the daemon is stopped and comes back on its volume"
podman kill -s KILL "$run-first" >/dev/null
eventually "its silence is noticed" has_workers 1
[ "$(figure "$url" puzzled_open_cases)" -gt 0 ] || fail "the job was done before: make it longer"
podman stop -t 60 "$run-puzzled" >/dev/null
[ "$(podman inspect --format '{{.State.ExitCode}}' "$run-puzzled")" = 0 ] ||
  fail "the daemon did not end well: $(podman logs "$run-puzzled" 2>&1 | tail -n 5)"
[ -z "$(podman diff "$run-puzzled" | grep -vE ' /(tmp|run|dev|etc|keys|var)(/|$)')" ] ||
  fail "it wrote elsewhere: $(podman diff "$run-puzzled")"
podman rm "$run-puzzled" >/dev/null
start_daemon
start_worker third
ctl wait "$job" >/dev/null || fail "the job did not end well"
found=$(ctl results "$job" --output csv --limit $((cases + 1)) | grep -c ',SOLVED,') || true
[ "$found" = $cases ] || fail "$found of $cases results"

say "a revoked key is out, without a signal"
grep -v ' worker$' "$keys/authorized.keys" >"$keys/new"
chown 65532:65532 "$keys/new"
mv "$keys/new" "$keys/authorized.keys"
has_ended() { [ "$(podman inspect --format '{{.State.Status}}' "$1")" = exited ]; }
eventually "the worker is refused" has_ended "$run-third"
[ "$(podman inspect --format '{{.State.ExitCode}}' "$run-third")" = 4 ] || fail "it was not refused"

say "figures are as Prometheus wants them"
http "$url/metrics" >"$work/metrics"
if command -v promtool >/dev/null; then promtool check metrics <"$work/metrics"; fi
echo "all is well"
