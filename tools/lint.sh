#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lints all sources; expects tools/env.sh sourced and the tiny preset generated. Each waiver has its reason beside it.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t rtl < <(grep -v '^#' rtl/otx.f)
for file in "${rtl[@]}"; do
  verilator --lint-only -Wall -Wno-DECLFILENAME --top-module "$(basename "$file" .sv)" "${rtl[@]}"
done
echo "lint: ${#rtl[@]} SystemVerilog modules, no warnings"
for file in build/tiny/verilog/otx_*.v; do
  # generated code: errors only
  verilator --lint-only -Wno-fatal -Wno-lint -Wno-style --top-module "$(basename "$file" .v)" "$file" "${rtl[@]}" >/dev/null
done
echo "lint: generated Verilog, no errors"
ruff check -q .
echo "lint: Python, no findings"
for script in tools/*.sh .ci/run; do bash -n "$script"; done
echo "lint: shell scripts parse"
