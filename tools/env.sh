# SPDX-License-Identifier: Apache-2.0
# Source this in bash: `. tools/env.sh` puts the tools of .venv first on PATH: python, pytest, ruff, verilator, yosys,
# sby, nextpnr-ecp5, ecppack.
# Python finds this clone's own modules, whoever else uses the same .venv: `soc.`, `tools.`, `judge.`, `bench.`,
# `cocotb_tests.` and `opentxssd`.
otx_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
otx_venv=$otx_root/.venv
otx_verilator=$otx_venv/lib/python3.11/site-packages/verilator/bin # only verilator-cli is in .venv/bin
if [[ ! -x $otx_verilator/verilator ]]; then
  echo "env.sh: no tools in .venv; run make setup first" >&2
  return 1
fi
[[ :$PATH: == *:$otx_verilator:* ]] || export PATH="$otx_verilator:$otx_venv/bin:$PATH"
# the folder of a script is no place of modules: they would have two names, and tools/bench.py that of the package bench
export PYTHONSAFEPATH=1
export VIRTUAL_ENV=$otx_venv
[[ ${PYTHONPATH:-}: == "$otx_root:$otx_root/sw/host/python:"* ]] ||
  export PYTHONPATH="$otx_root:$otx_root/sw/host/python${PYTHONPATH:+:$PYTHONPATH}"
# Verilator's make rules leave the precompiled-header option empty: large designs fail to build with "linker input file
# not found" without this.
# As a command-line variable in MAKEFLAGS it reaches every make: that of cocotb's runner, of LiteX and of `verilator
# --build`.
export MAKEFLAGS=' -- CFG_CXXFLAGS_PCH_I=-include'
# compiled C++ of Verilator is kept across builds
if command -v ccache >/dev/null; then export OBJCACHE=ccache CCACHE_SLOPPINESS=pch_defines,time_macros; fi
unset otx_root otx_venv otx_verilator MFLAGS MAKELEVEL
