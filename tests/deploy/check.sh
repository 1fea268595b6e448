#!/usr/bin/env bash
# Checks what deploy/container and deploy/kubernetes hold, offline but for the first time, when npm
# fetches the schemas:
#   tests/deploy/check.sh check|typos BIN      BIN: the folder of the built programs
# typos: makes one typo after the other in copies of the files; each has to be noticed.
# Skips (exit code 77) with a line that says why.
set -euo pipefail
mode=${1:?check or typos} bin=$(realpath "${2:?the folder of the programs}")
cd "$(dirname "$0")"
root=$(cd ../.. && pwd)

skip() {
  echo "not checked: $*"
  exit 77
}

for program in node npm kubectl; do
  command -v "$program" >/dev/null || skip "$program is not installed"
done
[ "$(node -p 'Number(process.versions.node.split(".")[0])')" -ge 18 ] ||
  skip "node $(node --version) is older than 18"
# Where Debian's docker-compose keeps the schema of compose files.
modules_of_python=/usr/lib/python3/dist-packages
export COMPOSE_SCHEMA=${COMPOSE_SCHEMA:-$modules_of_python/compose/config/compose_spec.json}
[ -r "$COMPOSE_SCHEMA" ] || skip "docker-compose is not installed (deploy/packages.sh full)"

# The packages, of exactly the versions of package-lock.json, once for all builds.
modules=$root/build/deploy-checker
mkdir -p "$modules"
exec 9>"$modules/lock"
flock 9
if ! cmp -s checker/package-lock.json "$modules/complete"; then
  cp checker/package.json checker/package-lock.json "$modules/"
  (cd "$modules" && timeout 300 npm ci --no-audit --no-fund >npm.log 2>&1) ||
    skip "npm cannot fetch its packages: $(grep -m 1 'npm error' "$modules/npm.log" || true)"
  cp checker/package-lock.json "$modules/complete"
fi
# Another run may be reading them: what is equal stays as it is.
install -C -m 0644 checker/*.mjs "$modules/"
flock -u 9
PROMTOOL=$(command -v promtool || true)
export PROMTOOL
if [ "$mode" = check ] && [ -n "$PROMTOOL" ]; then
  promtool check metrics <../golden/net/metrics.prom
fi
exec node "$modules/main.mjs" "$mode" "$root" "$bin"
