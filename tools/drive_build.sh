#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# drive_build.sh PRESET [library | untrained]: the simulated drive below build/PRESET/: Verilog, SoC, firmware,
# libotx.so, libotx_trace.so, NBD plugins; again only what changed.
# With `library` only what tests through libotx.so need: no tracing, no plugins. With `untrained` that and the plugin
# that does not trace (with the NVMe front end: otx-pci and otx-vfio, the drive as a PCI device), without a profile for
# the compiler (sim/Makefile): a short build, a slower drive; the next build with another word makes it anew.
# Quiet while all goes well; one build of a preset at a time. Expects tools/env.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: drive_build.sh PRESET [library | untrained]}
targets=() servers=()
case ${2:-} in
  "") ;;
  library) targets=("build/$preset/libotx.so" "build/$preset/otx.bin") ;;
  untrained)
    targets=("build/$preset/libotx.so" "build/$preset/otx.bin")
    servers=(nbdkit-otx-plugin.so)
    ;;
  *) echo "drive_build: usage: drive_build.sh PRESET [library | untrained]" >&2; exit 2 ;;
esac
python3 soc/geometry.py "$preset" "build/$preset"
if [[ ${#servers[@]} -gt 0 ]]; then
  ! grep -q 'OTX_FRONT_END_NVME 1' "build/$preset/otx_geometry.h" || servers=(otx-pci otx-vfio)
  targets+=("${servers[@]/#/build/$preset/}" TRAINED=)
fi
exec 8>"build/$preset/build.lock"
flock 8
tools/verilog.sh "$preset"
python3 soc/sim.py "$preset"
log=build/$preset/build.log
run() { "$@" >"$log" 2>&1 || { tail -40 "$log" >&2; echo "drive_build: '$*' failed; see $log" >&2; exit 1; }; }
run make -C sw/firmware BUILD_DIR="$PWD/build/$preset"
make -q -f sim/Makefile PRESET="$preset" "${targets[@]}" 2>/dev/null ||
  echo "building the simulator of preset $preset (a few minutes the first time)"
run make -f sim/Makefile PRESET="$preset" "${targets[@]}"
