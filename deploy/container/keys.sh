#!/usr/bin/env bash
# Makes the keys of an installation, where they are not there yet:
#   deploy/container/keys.sh FOLDER [CLIENT…]
# FOLDER gets broker.key and broker.pub, worker.key, CLIENT.key (without a name: `client`), and
# authorized.keys, the list of who may connect. A client may submit and read; other roles are given
# by hand, in the list. PUZZLECTL names the program, if it is not on the path.
set -euo pipefail
[ $# -ge 1 ] || { echo "keys.sh: say where to: keys.sh FOLDER [CLIENT…]" >&2; exit 2; }
folder=$1
shift
[ $# -gt 0 ] || set -- client
puzzlectl=${PUZZLECTL:-puzzlectl}
command -v "$puzzlectl" >/dev/null ||
  { echo "keys.sh: $puzzlectl is not there; PUZZLECTL names the program" >&2; exit 1; }

umask 077
mkdir -p "$folder"
touch "$folder/authorized.keys"
make() { # make NAME ROLE; a client has perhaps taken its .key away
  [ -e "$folder/$1.key" ] || [ -e "$folder/$1.pub" ] ||
    "$puzzlectl" keygen "$1" --role "$2" --dir "$folder" >/dev/null
}
allow() { # allow NAME: its line is in the list
  grep -qxFf "$folder/$1.pub" "$folder/authorized.keys" ||
    cat "$folder/$1.pub" >>"$folder/authorized.keys"
}
make broker server
make worker work
allow worker
for client in "$@"; do
  make "$client" submit
  allow "$client"
done
