#!/usr/bin/env bash
# Builds the image, with podman or docker:
#   deploy/container/build.sh [--tag NAME] [--target STAGE]
# NAME: localhost/puzzled:VERSION by default. STAGE: the last one; `build` keeps compiler and
# objects.
# The base is debian:bookworm-slim. Where it is not there and no registry can be reached, a system
# of the same name is made from Debian's packages (needs root and mmdebstrap).
# BASE_ARCHIVE names the archive that is kept of such a system; CCACHE_DIR a folder of object
# files.
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() {
  printf 'build.sh: %s\n' "$*" >&2
  exit 1
}

version=$(sed -n 's/^project(puzzled VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
tag=localhost/puzzled:$version
target=()
while [ $# -gt 0 ]; do
  case $1 in
    --tag) tag=${2:?--tag needs a name} ;;
    --target) target=(--target "${2:?--target needs a stage}") ;;
    *) fail "unknown argument '$1'; known are: --tag NAME, --target STAGE" ;;
  esac
  shift 2
done

engine=${CONTAINER_ENGINE:-}
[ -n "$engine" ] || engine=$(command -v podman || command -v docker) ||
  fail "neither podman nor docker is installed"
is_podman=false
case $(basename "$engine") in podman*) is_podman=true ;; esac

base=docker.io/library/debian:bookworm-slim
make_base() {
  local archive=${BASE_ARCHIVE:-/var/tmp/puzzled-container-bookworm.tar}
  if [ ! -s "$archive" ]; then
    [ "$(id -u)" = 0 ] || fail "no registry can be reached, and only root can make a base system"
    command -v mmdebstrap >/dev/null ||
      fail "no registry can be reached; to make a base system, install mmdebstrap"
    local mirror=http://deb.debian.org
    # The suffix tells mmdebstrap to make an archive; the last step makes it whole or not there.
    mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$archive.part.tar" \
      "deb $mirror/debian bookworm main" "deb $mirror/debian bookworm-updates main" \
      "deb $mirror/debian-security bookworm-security main"
    mv "$archive.part.tar" "$archive"
  fi
  "$engine" import "$archive" "$base" >/dev/null
}
if ! "$engine" image inspect "$base" >/dev/null 2>&1 &&
  ! timeout 60 "$engine" pull --quiet "$base" >/dev/null 2>&1; then
  echo "No registry gives $base: making it from Debian's packages"
  make_base
fi

options=(--network host --file deploy/container/Containerfile --tag "$tag")
if $is_podman; then
  # Its own format knows no health checks, and it reads no ignore file beside the Containerfile.
  options+=(--format docker --pull=never
    --ignorefile deploy/container/Containerfile.dockerignore)
  if [ -n "${CCACHE_DIR:-}" ]; then options+=(--volume "$CCACHE_DIR:/ccache"); fi
fi
"$engine" build "${options[@]}" "${target[@]}" . ||
  fail "the build failed; its last lines are above"
echo "$tag"
