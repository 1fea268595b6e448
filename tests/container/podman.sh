# Sourced by the tests that run containers: whether they can, and podman with a storage of its own.
# Skips (exit code 77) with a line that says why.
# shellcheck shell=bash

skip() {
  echo "not tested: $*"
  exit 77
}

[ -n "${PUZZLED_LONG:-}" ] || skip "takes minutes; PUZZLED_LONG=1 runs it"
[ "$(id -u)" = 0 ] || skip "needs root, to run containers without a session of systemd"
for program in podman runc; do
  command -v "$program" >/dev/null || skip "$program is not installed (deploy/packages.sh full)"
done

# Images stay between runs; what runs ends with this process.
storage=${PUZZLED_CONTAINERS:-/var/tmp/puzzled-containers}
mkdir -p "$storage"
work=$(mktemp -d)
run=puzzled-test-$$
cat >"$work/containers.conf" <<END
[containers]
default_ulimits = ["nofile=16384:16384", "nproc=16384:16384"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
END
cat >"$work/storage.conf" <<END
[storage]
driver = "overlay"
graphroot = "$storage/graph"
runroot = "$storage/run"
END
export CONTAINERS_CONF=$work/containers.conf CONTAINERS_STORAGE_CONF=$work/storage.conf
export BASE_ARCHIVE=$storage/bookworm.tar
if [ -z "${CCACHE_DIR:-}" ] && command -v ccache >/dev/null; then
  CCACHE_DIR=$(ccache --get-config cache_dir)
  export CCACHE_DIR
fi

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}
say() { printf '== %s\n' "$*"; }

# eventually WHAT COMMAND…: until it succeeds, two minutes at most.
eventually() {
  local what=$1 end=$((SECONDS + 120))
  shift
  until "$@" >"$work/eventually" 2>&1; do
    if [ "$SECONDS" -ge "$end" ]; then
      cat "$work/eventually" >&2
      fail "$what: not within two minutes"
    fi
    sleep 0.2
  done
}

# The image of this tree, and with it the one of its first stage, which keeps the whole build. What
# has not changed since the last run is not built again.
image=localhost/puzzled:$(sed -n 's/^project(puzzled VERSION \([0-9.]*\).*/\1/p' \
  ../../CMakeLists.txt)
build_image=localhost/puzzled-build:latest
build_images() {
  local target
  for target in "--tag $build_image --target build" "--tag $image"; do
    say "building: $target"
    # shellcheck disable=SC2086
    ../../deploy/container/build.sh $target >"$work/build.log" 2>&1 || {
      tail -n 30 "$work/build.log" >&2
      fail "the image cannot be built"
    }
  done
}

# http URL: the answer's body; fails unless its status is 200.
http() {
  local rest=${1#http://} host path
  host=${rest%%/*} path=/${rest#*/}
  exec 8<>"/dev/tcp/${host%:*}/${host#*:}"
  printf 'GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$path" "$host" >&8
  local answer
  answer=$(tr -d '\r' <&8)
  exec 8>&-
  [[ $answer == "HTTP/1.1 200"* ]] || return 1
  printf '%s\n' "${answer#*$'\n\n'}"
}
# figure URL NAME: the value of one figure of the daemon.
figure() { http "$1/metrics" | awk -v name="$2" '$1 == name { print $2 }'; }

# For `eventually`; `url` is the daemon's.
has_workers() { [ "$(figure "$url" puzzled_workers)" = "$1" ]; }
has_done() { [ "$(figure "$url" 'puzzled_results_total{verdict="SOLVED"}')" -gt "$1" ]; }

# Bishops cases of some milliseconds each: LINES of them.
long_test() {
  awk -v lines="$1" 'BEGIN { for (i = 0; i < lines; ++i) print 600 + i % 40, 500 + i % 7
    print 0, 0 }'
}
