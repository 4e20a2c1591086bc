#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# drive_build.sh PRESET [FILE ...]: the simulated drive below build/PRESET/: Verilog, SoC, firmware, libotx.so, libotx_trace.so, NBD plugins; again only what changed.
# With files, only these of build/PRESET/ (and what they need), for example libotx.so otx.bin: tracing takes as long to compile as all the rest.
# Quiet while all goes well; one build of a preset at a time. Expects tools/env.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: drive_build.sh PRESET [FILE ...]}
files=("${@:2}")
files=("${files[@]/#/build/$preset/}")
python3 soc/geometry.py "$preset" "build/$preset"
exec 8>"build/$preset/build.lock"
flock 8
tools/verilog.sh "$preset"
python3 soc/sim.py "$preset"
log=build/$preset/build.log
run() { "$@" >"$log" 2>&1 || { tail -40 "$log" >&2; echo "drive_build: '$*' failed; see $log" >&2; exit 1; }; }
run make -C sw/firmware BUILD_DIR="$PWD/build/$preset"
make -q -f sim/Makefile PRESET="$preset" "${files[@]}" 2>/dev/null || echo "building the simulator of preset $preset (a few minutes the first time)"
run make -f sim/Makefile PRESET="$preset" "${files[@]}"
