#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the project needs: Debian packages, .venv from requirements.txt, the Scala and SpinalHDL jars, SQLite's
# source. `make setup` calls it.
# Does nothing, at once, when the setup of these very inputs is already there.
#
# Needs git, python3.11, java, mvn, npm, make, g++, perl and flock, and root or sudo if a Debian package is missing.
# .venv holds absolute paths: in a moved repository it is made again; one that is a link belongs to somebody else and is
# left as it is.
set -euo pipefail
cd -P "$(dirname "$0")/.."

wanted=(tools/setup.sh tools/sqlite.sh requirements.txt sw/host/python/pyproject.toml spinal/pom.xml)
wanted+=(spinal/scalafmt.xml)
stamp=build/.setup/$(cat "${wanted[@]}" | sha256sum | cut -c1-16)
venv_is_here() {
  [[ -x .venv/bin/python ]] && { [[ -L .venv ]] || grep -q -- "-m venv .*$PWD/.venv\$" .venv/pyvenv.cfg; }
}
[[ -e $stamp ]] && venv_is_here && exit 0

missing=""
for tool in git python3.11 java mvn npm make g++ perl flock; do
  command -v "$tool" >/dev/null || missing+=" $tool"
done
[[ -z $missing ]] || { echo "setup: missing on this machine:$missing" >&2; exit 1; }

mkdir -p build/.setup
exec 9>build/.setup/lock
flock 9
[[ -e $stamp ]] && venv_is_here && exit 0

# Debian: FST support of Verilator, a cache for the C++ it writes; a model checker; C for the RISC-V and what LiteX
# builds it with; network block device and file system; waveform viewer
packages="liblz4-dev zlib1g-dev ccache berkeley-abc
  gcc-riscv64-unknown-elf meson ninja-build
  nbdkit nbdkit-plugin-dev libnbd-bin python3-libnbd e2fsprogs
  gtkwave"
wanted=()
for package in $packages; do
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || wanted+=("$package")
done
if [[ ${#wanted[@]} -gt 0 ]]; then
  echo "setup: installing ${wanted[*]}"
  root=()
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || { echo "setup: needs root or sudo to install: ${wanted[*]}" >&2; exit 1; }
    root=(sudo)
  fi
  log=build/.setup/apt.log
  install=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${wanted[@]}")
  "${install[@]}" >$log 2>&1 || { "${root[@]}" apt-get update && "${install[@]}"; } >>$log 2>&1 ||
    { tail -5 $log >&2; echo "setup: apt-get could not install ${wanted[*]} (see $log)" >&2; exit 1; }
fi

# Python: requirements.txt is complete, so nothing but the versions in it is installed
if ! venv_is_here; then
  echo "setup: creating .venv"
  [[ ! -e .venv ]] || rm -rf build/cocotb build/*/obj build/*/obj_* # what Verilator built knows the old place
  python3.11 -m venv --clear "$PWD/.venv"
fi
echo "setup: installing the Python packages of requirements.txt"
.venv/bin/python -m pip install -q --no-deps --disable-pip-version-check -r requirements.txt
# the drive's Python interface of this clone; for a .venv that is somebody else's, tools/env.sh says whose code runs
[[ -L .venv ]] ||
  .venv/bin/python -m pip install -q --no-deps --no-build-isolation --disable-pip-version-check -e sw/host/python
.venv/bin/python -m pip check -q
for tool in yosys nextpnr-ecp5 ecppack sby; do # the names LiteX and everybody else call
  ln -sf "yowasp-$tool" ".venv/bin/$tool"
done

# Java: the class path of the Scala compiler and SpinalHDL
echo "setup: fetching Scala, SpinalHDL and scalafmt"
tools/spinal.sh --fetch
tools/format.sh --fetch

echo "setup: fetching SQLite"
tools/sqlite.sh --fetch

# WebAssembly: a first start compiles the tool (a minute or two), every later one takes half a second
echo "setup: first start of yosys and nextpnr"
.venv/bin/yosys -V >/dev/null
.venv/bin/nextpnr-ecp5 --version >/dev/null 2>&1

find build/.setup -type f -name '????????????????' -delete # stamps of earlier inputs
touch "$stamp"
echo "setup: done"
