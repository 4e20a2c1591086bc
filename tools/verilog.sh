#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# verilog.sh PRESET: geometry and every SpinalHDL block of the preset into build/PRESET/verilog, again only when
# something changed.
set -euo pipefail
cd "$(dirname "$0")/.."
[[ $# == 1 ]] || { echo "verilog: usage: verilog.sh PRESET" >&2; exit 2; }
preset=$1
mkdir -p build
exec 7>"build/verilog.lock"
flock 7
python3.11 soc/geometry.py "$preset" "build/$preset"
mapfile -t sources < <(find spinal/src/main/scala -name '*.scala' | LC_ALL=C sort; echo build/facts/Facts.scala)
sum=$(cat "${sources[@]}" spinal/pom.xml "build/$preset/geometry.properties" | sha256sum | cut -c1-16)
[[ $(cat "build/$preset/verilog/.sum" 2>/dev/null) == "$sum" ]] && exit 0
echo "generating Verilog of preset $preset"
rm -rf "build/$preset/verilog.new"
log=build/$preset/spinal.log
tools/spinal.sh "build/$preset/geometry.properties" "build/$preset/verilog.new" >"$log" 2>&1 || {
  grep -E 'error|Error|\[Error' "$log" | head -40 >&2
  echo "see $log" >&2
  exit 1
}
mkdir -p "build/$preset/verilog"
# an unchanged file keeps its time stamp, so that nothing is built again for it
for file in "build/$preset/verilog.new"/*.v; do
  cmp -s "$file" "build/$preset/verilog/${file##*/}" || cp "$file" "build/$preset/verilog/"
done
echo "$sum" >"build/$preset/verilog/.sum"
