#!/usr/bin/env bash
# Line coverage that the seeds, the regressions and the corpora of earlier runs of run.sh reach in
# the code that reads what others wrote: the codecs, the wire, the puzzles' parsers. The daemon's
# replies (codec_reply) are reached by the codec's tests. Builds with the preset `coverage`; needs
# clang and llvm. Exits with 1 if a file is below 90 % of its lines.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=build/coverage
profiles=$out/profiles
cmake --preset coverage >/dev/null
cmake --build --preset coverage -j "$(nproc)" >"$out/build.log" 2>&1 || {
  grep -E 'error|FAILED' -A 5 "$out/build.log" | tail -n 40
  exit 1
}
rm -rf "$profiles" "$out/seeds"
mkdir -p "$profiles"
LLVM_PROFILE_FILE=/dev/null "$out/bin/fuzz_seeds" "$out/seeds" >/dev/null
objects=()
for folder in "$out"/seeds/*; do
  target=$(basename "$folder")
  PUZZLED_SEED=1 LLVM_PROFILE_FILE=$profiles/$target.profraw "$out/bin/fuzz_$target" "$folder" \
    "build/fuzz/corpus/$target" "tests/fuzz/regressions/$target" >/dev/null
  objects+=(-object "$out/bin/fuzz_$target")
done
for test in codec_client_test codec_worker_test; do
  LLVM_PROFILE_FILE=$profiles/$test.profraw "$out/bin/$test" >/dev/null
  objects+=(-object "$out/bin/$test")
done
llvm-profdata merge -o "$profiles/all.profdata" "$profiles"/*.profraw

sources=(proto/wire.cc proto/case_view.cc
  daemon/net/{fields,codec_client,codec_worker,codec_reply}.cc workers/host/codec.cc
  workers/puzzles/{text,claims,counted_reader,instance_reader,key}.cc
  workers/puzzles/*/{text,wire,validator,checker}.cc client/scaler/slurm_queue.cc)
for source in "${sources[@]}"; do
  # llvm-cov passes over what it does not know: nothing would be said of a file that was moved.
  [ -f "$source" ] || { echo "coverage.sh: there is no $source" >&2; exit 1; }
done
llvm-cov export -summary-only -instr-profile="$profiles/all.profdata" "${objects[@]}" \
  "${sources[@]}" >"$out/coverage.json"
python3 - "$out/coverage.json" "$PWD/" <<'PYTHON'
import json, sys

low = 0
for file in json.load(open(sys.argv[1]))["data"][0]["files"]:
    lines = file["summary"]["lines"]
    print("%6.1f %%  %s" % (lines["percent"], file["filename"].replace(sys.argv[2], "")))
    low += lines["percent"] < 90
sys.exit("%d files are below 90 %%" % low if low else 0)
PYTHON
