#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# engine_build.sh PRESET: the remap engine alone as build/PRESET/engine/libotx_engine.so, again only what changed.
# Expects tools/env.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: engine_build.sh PRESET}
python3 soc/geometry.py "$preset" "build/$preset"
exec 6>"build/$preset/engine.lock"
flock 6
tools/verilog.sh "$preset"
log=build/$preset/engine.log
make -f sim/engine/Makefile PRESET="$preset" >"$log" 2>&1 || {
  tail -40 "$log" >&2
  echo "engine_build: see $log" >&2
  exit 1
}
