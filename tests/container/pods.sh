#!/usr/bin/env bash
# The pods of deploy/kubernetes really run, by `podman kube play`: what kustomize makes of the small
# overlay, with secrets of secrets.sh. What podman does not know is replaced by what Kubernetes
# would make of it (pods.mjs).
#   tests/container/pods.sh BIN
# PUZZLED_LONG=1 only; exit code 77: skipped.
set -euo pipefail
bin=$(realpath "${1:?the folder of the programs}")
cd "$(dirname "$0")"
. ./podman.sh
command -v kubectl >/dev/null || skip "kubectl is not installed"
command -v node >/dev/null || skip "node is not installed"
modules=../../build/deploy-checker
[ -e $modules/complete ] || ../deploy/check.sh check "$bin" >/dev/null || skip "npm has no packages"
trap 'podman kube down "$work/pods.yaml" >/dev/null 2>&1 || true
  podman volume rm -f data-puzzled >/dev/null 2>&1 || true
  podman network rm -f $run >/dev/null 2>&1 || true
  rm -rf "$work"' EXIT
build_images

PUZZLECTL=$bin/puzzlectl ../../deploy/container/keys.sh "$work/keys" client 2>/dev/null
{
  kubectl kustomize ../../deploy/kubernetes/overlays/small
  ../../deploy/kubernetes/secrets.sh "$work/keys"
} >"$work/manifests.yaml"
cp pods.mjs $modules/
node $modules/pods.mjs "$work" <"$work/manifests.yaml" >"$work/pods.yaml"

say "pods come up"
# Their names are those of the manifests: what an earlier run left behind is in the way.
podman kube down "$work/pods.yaml" >/dev/null 2>&1 || true
podman volume rm -f data-puzzled >/dev/null 2>&1 || true
podman network create "$run" >/dev/null
podman kube play --network "$run" "$work/pods.yaml" >"$work/play.log" 2>&1 || {
  cat "$work/play.log" >&2
  fail "kube play does not take the manifests"
}
pods=$(podman pod ps --format '{{.Name}}' | grep -E '^(puzzled|puzzle-worker)' | sort)
[ "$(wc -l <<<"$pods")" -ge 2 ] || fail "there are only the pods $pods"
broker=$(podman ps --format '{{.Names}}' | grep "^puzzled-puzzled$")
# A pod whose last container has stopped gets another address when it is started again.
find_broker() {
  address=$(podman inspect --format "{{(index .NetworkSettings.Networks \"$run\").IPAddress}}" \
    "$(podman pod inspect --format '{{.InfraContainerID}}' puzzled)")
  url=http://$address:7402
}
find_broker
for path in healthz readyz; do
  eventually "/$path answers, as its probe asks" http "$url/$path"
done
eventually "the worker is there" has_workers 1

say "a job"
ctl() {
  "$bin/puzzlectl" --endpoint "tcp://$address:7400" --key "$work/keys/client.key" \
    --server-key "$work/keys/broker.pub" --connect-timeout 60s "$@"
}
printf '8 6\n20 13\n0 0\n' | ctl submit bishops - --wait >/dev/null || fail "no result"
[ "$(figure "$url" 'puzzled_results_total{verdict="SOLVED"}')" = 2 ] || fail "not two results"

say "they end when they are told to, and well"
long_test 20000 >"$work/long.in"
job=$(ctl submit bishops "$work/long.in" --no-cache)
eventually "results come" has_done 2
worker=$(podman ps --format '{{.Names}}' | grep '^puzzle-worker.*puzzle-worker$')
podman stop -t 120 "$worker" >/dev/null
[ "$(podman inspect --format '{{.State.ExitCode}}' "$worker")" = 0 ] ||
  fail "the worker did not drain: $(podman logs "$worker" 2>&1 | tail -n 5)"
[ "$(figure "$url" puzzled_open_cases)" -gt 0 ] || fail "the job was done before: make it longer"
podman start "$worker" >/dev/null
podman stop -t 60 "$broker" >/dev/null
[ "$(podman inspect --format '{{.State.ExitCode}}' "$broker")" = 0 ] ||
  fail "the daemon did not drain: $(podman logs "$broker" 2>&1 | tail -n 5)"
podman start "$broker" >/dev/null
find_broker
ctl wait "$job" >/dev/null || fail "the job did not end well"
[ "$(ctl results "$job" --output csv --limit 20001 | grep -c ',SOLVED,')" = 20000 ] ||
  fail "results are missing"
echo "all is well"
