#!/usr/bin/env bash
# Runs a command in a copy of this project inside a bare Debian 12, as on a fresh machine:
#   tests/bare.sh [--as-user] COMMAND…        e.g. tests/bare.sh deploy/quickstart.sh
# The copy holds what git tracks, uncommitted changes included. --as-user runs the command as an
# ordinary user without sudo, once the packages are installed as root. Needs root and mmdebstrap.
# BARE_BASE names the archive that keeps the bare system between runs.
set -euo pipefail
cd "$(dirname "$0")/.."

as_user=false
if [ "${1:-}" = --as-user ]; then
  as_user=true
  shift
fi
[ $# -gt 0 ] || { echo "bare.sh: say what to run" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "bare.sh: needs root, for mmdebstrap and chroot" >&2; exit 2; }

base=${BARE_BASE:-/var/tmp/puzzled-bare-bookworm.tar}
if [ ! -s "$base" ]; then
  echo "Making a bare Debian 12 once, kept in $base"
  # The suffix tells mmdebstrap to make an archive; the last step makes it whole or not there.
  mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$base.part.tar"
  mv "$base.part.tar" "$base"
fi

root=$(mktemp -d /var/tmp/puzzled-bare.XXXXXX)
clean_up() {
  # Lazy, and not recursive over /dev of the machine itself: the bind mounts are slaves.
  for mounted in dev proc sys; do
    umount -R -l "$root/$mounted" 2>/dev/null || true
  done
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT

tar -xf "$base" -C "$root"
# The machine's own way to the packages: resolver, proxy, mirrors.
for file in resolv.conf apt/sources.list apt/sources.list.d apt/apt.conf.d; do
  if [ -e "/etc/$file" ]; then
    rm -rf "$root/etc/$file"
    cp -rL "/etc/$file" "$root/etc/$file"
  fi
done
mkdir -p "$root/home/newcomer/puzzled"
git ls-files -z | tar --null -T - -c | tar -x -C "$root/home/newcomer/puzzled"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
mount -t sysfs sysfs "$root/sys"

environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
while IFS= read -r proxy; do
  environment+=("$proxy")
done < <(env | grep -iE '^(http|https|no)_proxy=' || true)

# The PID namespace ends whatever the command leaves running.
inside() { # inside USER_ID HOME COMMAND…
  local user=$1 home=$2
  shift 2
  env -i "${environment[@]}" HOME="$home" unshare --pid --fork --kill-child \
    chroot --userspec="$user:$user" "$root" \
    bash -c 'cd /home/newcomer/puzzled && exec "$@"' bare "$@"
}

if $as_user; then
  inside 0 /root deploy/packages.sh build test
  chown -R 1000:1000 "$root/home/newcomer"
  inside 1000 /home/newcomer "$@"
else
  inside 0 /root "$@"
fi
