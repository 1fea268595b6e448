#!/usr/bin/env bash
# Writes the secrets that the manifests refer to, for `kubectl apply -f -`:
#   deploy/kubernetes/secrets.sh FOLDER | kubectl apply -f -
# FOLDER is one of deploy/container/keys.sh. A changed list of authorized keys is applied the same
# way; the daemon reads it within a minute or two, when the cluster has brought it.
set -euo pipefail
[ $# = 1 ] || { echo "secrets.sh: say where the keys are: secrets.sh FOLDER" >&2; exit 2; }
folder=$1

# Before a line is written: half a secret would take the place of a good one.
for file in broker.key authorized.keys worker.key broker.pub; do
  [ -r "$folder/$file" ] || {
    echo "secrets.sh: $folder/$file cannot be read; keys.sh makes it, and its owner reads it" >&2
    exit 1
  }
done

secret() { # secret NAME FILE…
  printf -- '---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n  namespace: puzzled\n' "$1"
  printf 'type: Opaque\ndata:\n'
  shift
  local file
  for file in "$@"; do
    printf '  %s: %s\n' "$file" "$(base64 -w 0 "$folder/$file")"
  done
}
secret puzzled-broker broker.key
secret puzzled-authorized-keys authorized.keys
secret puzzled-worker worker.key broker.pub
