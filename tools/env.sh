# SPDX-License-Identifier: Apache-2.0
# Source this: `. tools/env.sh` puts the project's tools first on PATH.
otx_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
otx_venv=$otx_top/.venv
otx_verilator=$("$otx_venv/bin/python" -c 'import pathlib, verilator; print(pathlib.Path(verilator.__file__).parent / "bin")')
export PATH="$otx_verilator:$otx_venv/bin:$PATH"
export VIRTUAL_ENV="$otx_venv"
# Verilator's make rules leave the precompiled-header option empty
export MAKEFLAGS=' -- CFG_CXXFLAGS_PCH_I=-include'
