#!/usr/bin/env bash
# The units really started by systemd, in a container of its own: notify, watchdog, restart, the
# hardening, workers over encrypted TCP, credentials.
#   tests/container/systemd.sh BIN
# PUZZLED_LONG=1 only; exit code 77: skipped.
set -euo pipefail
cd "$(dirname "$0")"
. ./podman.sh
trap 'podman rm -f -t 0 $run >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
build_images

say "a system with what \`cmake --install\` puts in place"
podman build --pull=never --network host --format docker --tag localhost/puzzled-systemd \
  --build-arg BUILD="$build_image" --file systemd.Containerfile . >"$work/systemd.log" 2>&1 || {
  tail -n 20 "$work/systemd.log" >&2
  fail "the image of a system cannot be built"
}
# Without a cgroup namespace of its own, systemd would change flags of the machine's. SYS_PTRACE: a
# process that ProtectProc= hides is one that PrivateUsers= could not set up. Mounts are shared as
# on a machine, or credentials would stay in the namespace that made them.
podman run -d --name "$run" --systemd=always --network none --cgroupns=private \
  --cap-add SYS_ADMIN --cap-add SYS_PTRACE --security-opt seccomp=unconfined \
  --security-opt unmask=ALL \
  --stop-signal SIGRTMIN+3 localhost/puzzled-systemd \
  sh -c 'mount --make-rshared / && exec /lib/systemd/systemd' >/dev/null
on() { podman exec "$run" "$@"; }
show() { on systemctl show --value -p "$1" "$2"; }
is() { [ "$(show "$1" "$2")" = "$3" ]; } # is PROPERTY UNIT VALUE
has_booted() { on systemctl is-system-running | grep -qE 'running|degraded'; }
eventually "the system runs" has_booted

say "puzzled.service starts, and says when it is ready"
on systemctl start puzzled.service || {
  on journalctl -u puzzled --no-pager -n 30 >&2
  fail "puzzled.service does not start"
}
is ActiveState puzzled.service active || fail "it is not active"
is StatusText puzzled.service \
  "clients at ipc:///run/puzzled/client.sock, workers at ipc:///run/puzzled/worker.sock" ||
  fail "its status is $(show StatusText puzzled.service)"
printf '8 6\n20 13\n0 0\n' | podman exec -i "$run" puzzlectl submit bishops - --wait >/dev/null ||
  fail "a job does not end well"
on ls -ld /var/lib/private/puzzled | grep -q '^drwx------' || fail "its state is open to others"
[ "$(show User puzzled.service)" = puzzled ] && [ "$(show DynamicUser puzzled.service)" = yes ] ||
  fail "it has not a user of its own"
main_pid() { show MainPID puzzled.service; }
on grep -q '^CapEff:.0*$' "/proc/$(main_pid)/status" || fail "it has capabilities"
on grep -q '^Seccomp:.2$' "/proc/$(main_pid)/status" || fail "it has no filter of system calls"

say "killed, it is started again and still knows its job"
on systemctl kill -s KILL --kill-who=main puzzled.service
has_restarted() { [ "$(show NRestarts puzzled.service)" = "$1" ] && is_active; }
is_active() { is ActiveState puzzled.service active; }
eventually "it is started again" has_restarted 1
on puzzlectl --connect-timeout 60s status 1 | grep DONE >/dev/null || fail "the job is lost"

say "hung, the watchdog ends it"
on systemctl kill -s STOP --kill-who=main puzzled.service
eventually "it is started again" has_restarted 2
on journalctl -u puzzled --no-pager | grep 'Watchdog timeout' >/dev/null ||
  fail "it was not the watchdog"

say "other machines: the drop-in, keys as credentials, a worker of puzzle-worker@.service"
on bash -c 'set -e
  keys.sh /root/keys client 2>/dev/null
  install -m 0600 /root/keys/broker.key /etc/puzzled/broker.key
  install -m 0644 /root/keys/authorized.keys /etc/puzzled/authorized.keys
  install -D -m 0644 /usr/share/doc/puzzled/tcp.conf /etc/systemd/system/puzzled.service.d/tcp.conf
  install -m 0600 /root/keys/worker.key /etc/puzzled/worker-cluster.key
  printf "%s\n" PUZZLED_WORKER_ENDPOINT=tcp://127.0.0.1:7401 \
    PUZZLED_SERVER_KEY=$(cut -d" " -f2 /root/keys/broker.pub) "WORKER_OPTIONS=--slots 1" \
    >/etc/puzzled/worker-cluster.env
  systemctl daemon-reload
  systemctl restart puzzled.service
  systemctl start puzzle-worker@cluster.service' || {
  on journalctl --no-pager -n 40 >&2
  fail "the units do not start"
}
is StatusText puzzled.service "clients at tcp://0.0.0.0:7400, workers at tcp://0.0.0.0:7401" ||
  fail "its status is $(show StatusText puzzled.service)"
ctl() {
  on puzzlectl --endpoint tcp://127.0.0.1:7400 --key /root/keys/client.key \
    --server-key /root/keys/broker.pub --connect-timeout 60s "$@"
}
worker_pid=$(show MainPID puzzle-worker@cluster.service)
is_listed() { ctl workers --output json | grep -q "\"pid\": *$worker_pid\b"; }
eventually "the worker is there" is_listed

say "a reload reads the list of keys"
on bash -c 'grep -v " worker$" /root/keys/authorized.keys >/etc/puzzled/authorized.keys
  systemctl reload puzzled.service'
# Refused by the daemon: its exit code says that a restart is no cure.
eventually "the worker is refused" is ActiveState puzzle-worker@cluster.service failed
is ExecMainStatus puzzle-worker@cluster.service 4 || fail "it was not refused"

say "told to stop, it drains"
on systemctl stop puzzled.service
is Result puzzled.service success || fail "it ended with $(show Result puzzled.service)"
echo "all is well"
