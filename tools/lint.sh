#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lints all sources; expects tools/env.sh sourced and the tiny preset generated. There are no waivers for hand-written
# SystemVerilog. C is compiled with -Wall -Wextra -Werror wherever it is built.
set -euo pipefail
cd "$(dirname "$0")/.."

wrong=0
refuse() { echo "$1"; wrong=1; }
sources='py|sv|svh|v|scala|c|h|S|ld|cpp|hpp|rs|sh|f|sby|xml|toml|lpf|xdc'
while read -r file; do
  [[ -f $file ]] || continue
  head -3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || refuse "$file: no licence line at its head"
  ! grep -HnE '(^|[^[:alnum:]_.])/(work|root|home)/[[:alnum:]]' "$file" || refuse "$file: a path of one machine"
done < <(git ls-files -co --exclude-standard | grep -E "\.($sources)$|Makefile$|^\.ci/run$|^requirements\.txt$")
[[ $wrong == 0 ]]
echo "lint: headers of the source files"

tools/format.sh --check
echo "lint: Python, SystemVerilog, Scala, C and C++ as their formatters have them, no line of more than 120 columns"

mapfile -t rtl < <(grep '\.sv$' rtl/otx.f)
diff <(grep '^rtl/' rtl/otx.f | sort) <(find rtl -name '*.sv' | sort) >&2 || {
  echo "lint: rtl/otx.f (<) is not what rtl/ holds (>)" >&2
  exit 1
}
for file in "${rtl[@]}"; do
  [[ $file != *_pkg.sv ]] || continue # no module
  verilator --lint-only --quiet -Wall --top-module "$(basename "$file" .sv)" "${rtl[@]}"
done
for top in otx_nand_channel otx_nand_corrector; do # with the longer code
  verilator --lint-only --quiet -Wall -GT=24 --top-module "$top" "${rtl[@]}"
done
echo "lint: ${#rtl[@]} SystemVerilog files, no warnings"

for file in build/tiny/verilog/otx_*.v; do
  # generated code: errors only
  verilator --lint-only --quiet -Wno-fatal -Wno-lint -Wno-style --top-module "$(basename "$file" .v)" \
    "$file" "${rtl[@]}" >/dev/null
done
echo "lint: generated Verilog, no errors"

python soc/facts.py --check
echo "lint: the tables of docs/ are those of soc/facts.toml"
python tools/registers.py
echo "lint: the register map is that of the SoC"

ruff check -q .
echo "lint: Python, no findings"
for script in tools/*.sh .ci/run; do bash -n "$script"; done
echo "lint: shell scripts parse"
