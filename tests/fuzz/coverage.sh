#!/usr/bin/env bash
# Line coverage that the seeds, the regressions and the corpora of earlier runs of run.sh reach in
# the code that reads what others wrote: the codecs, the wire, the puzzles' parsers. What encodes is
# reached by the tests of the same. Builds with the preset `coverage`; needs clang and llvm. Exits
# with 1 if a file is below 90 % of its lines.
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
programs=()
for folder in "$out"/seeds/*; do
  target=$(basename "$folder")
  PUZZLED_SEED=1 LLVM_PROFILE_FILE=$profiles/$target.profraw "$out/bin/fuzz_$target" "$folder" \
    "build/fuzz/corpus/$target" "tests/fuzz/regressions/$target" >/dev/null
  programs+=("$out/bin/fuzz_$target")
done
for test in codec_{client,worker,canary,reuse,fleet,hostile}_test proto_test puzzles_test \
  host_codec_test; do
  LLVM_PROFILE_FILE=$profiles/$test.profraw "$out/bin/$test" >/dev/null 2>&1
  programs+=("$out/bin/$test")
done
llvm-profdata merge -o "$profiles/all.profdata" "$profiles"/*.profraw

sources=(proto/wire.cc proto/case_view.cc
  daemon/net/{fields,codec_client,codec_worker,codec_reply}.cc workers/host/codec.cc
  workers/puzzles/{text,claims,counted_reader,instance_reader}.cc
  workers/puzzles/*/{text,wire,validator,checker}.cc client/scaler/slurm_queue.cc)
llvm-cov export -summary-only -instr-profile="$profiles/all.profdata" "${programs[0]}" \
  "${programs[@]/#/-object=}" >"$out/coverage.json"
python3 - "$out/coverage.json" "${sources[@]}" <<'PYTHON'
import json, os, sys

# As compiled, names are absolute or, with ccache, relative to the build folder.
covered = {
    os.path.relpath(file["filename"]): file["summary"]["lines"]["percent"]
    for file in json.load(open(sys.argv[1]))["data"][0]["files"]
}
missing = [source for source in sys.argv[2:] if source not in covered]
low = [source for source in sys.argv[2:] if covered.get(source, 100) < 90]
for source in sys.argv[2:]:
    print("%6.1f %%  %s" % (covered.get(source, 0), source))
if missing or low:
    sys.exit("%d files are below 90 %%, nothing is known of %d" % (len(low), len(missing)))
PYTHON
