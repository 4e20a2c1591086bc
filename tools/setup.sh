#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up all that the project needs on Debian 12: packages, .venv with pinned versions, Maven artifacts. A second run only compares a check sum.
set -euo pipefail
cd "$(dirname "$0")/.."

inputs=$(cat tools/setup.sh requirements.txt spinal/pom.xml | sha256sum | cut -c1-16)
stamp=build/.setup/$inputs
[[ -f $stamp && -x .venv/bin/python ]] && exit 0

missing=()
for program in git python3.11 java mvn make g++; do
  command -v $program >/dev/null || missing+=("$program")
done
if ((${#missing[@]})); then
  echo "setup: not found: ${missing[*]} (install git, Python 3.11, a JDK 17, Maven, make and g++ first)" >&2
  exit 1
fi

packages=(liblz4-dev zlib1g-dev gcc-riscv64-unknown-elf nbdkit nbdkit-plugin-dev libnbd-bin python3-libnbd e2fsprogs meson ninja-build gtkwave)
wanted=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || wanted+=("$package")
done
if ((${#wanted[@]})); then
  echo "setup: installing ${wanted[*]}"
  root=()
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || { echo "setup: needs root or sudo to install: ${wanted[*]}" >&2; exit 1; }
    root=(sudo)
  fi
  "${root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null
fi

[[ -x .venv/bin/python ]] || python3.11 -m venv .venv
echo "setup: Python packages"
.venv/bin/pip install -q --disable-pip-version-check -r requirements.txt
for program in yosys nextpnr-ecp5 ecppack sby; do
  ln -sf yowasp-$program .venv/bin/$program # the names that LiteX and SymbiYosys call
done

echo "setup: Maven artifacts"
mkdir -p build/spinal
mvn -q -B -f spinal/pom.xml dependency:build-classpath -Dmdep.outputFile="$PWD/build/spinal/classpath"

mkdir -p build/.setup
touch "$stamp"
