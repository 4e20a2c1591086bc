#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the SpinalHDL sources when they changed and generates Verilog. Paths are relative to the repository root.
#
#   tools/spinal.sh GEOMETRY.properties OUTDIR [DEFINITION_NAME ...] [+ GEOMETRY.properties OUTDIR ...]
#   tools/spinal.sh --fetch          only gets Scala and SpinalHDL (again when spinal/pom.xml changed)
#
# Runs wait for each other. The Scala compiler is called directly: Maven alone takes as long to start as a compile.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD
fail() { echo "spinal.sh: $*" >&2; exit 2; }
usage="usage: spinal.sh GEOMETRY.properties OUTDIR [DEFINITION_NAME ...] [+ ...] | --fetch"
fetch=""
if [[ ${1:-} == --fetch ]]; then
  fetch=1
elif [[ ${1:-} == -* ]]; then
  fail "unknown option $1; $usage"
fi

mkdir -p build/spinal
exec 9>build/spinal/classpath.lock
flock 9
if [[ ! -s build/spinal/classpath || spinal/pom.xml -nt build/spinal/classpath ]]; then
  mvn -q -B -f spinal/pom.xml dependency:build-classpath -Dmdep.outputFile="$top/build/spinal/classpath.new" >&2
  mv build/spinal/classpath.new build/spinal/classpath
fi
exec 9>&-
[[ -z $fetch ]] || exit 0

[[ $# -ge 2 ]] || fail "$usage"
[[ -f $1 ]] || fail "no geometry file $1; write it with: python3 soc/geometry.py PRESET $(dirname "$1")"
classpath=$(<build/spinal/classpath)
plugin=$(tr ':' '\n' <build/spinal/classpath | grep 'idsl-p' | paste -sd:) # plugin and payload
python3.11 soc/facts.py
mapfile -t files < <(find spinal/src/main/scala -name '*.scala' | LC_ALL=C sort; echo build/facts/Facts.scala)

dir=build/spinal/all
mkdir -p "$dir"
exec 8>"$dir/lock" # held until generation ends, so that nobody replaces the classes under it
flock 8
sum=$(cat spinal/pom.xml "${files[@]}" | sha256sum | cut -c1-16)
if [[ $(cat "$dir/sum" 2>/dev/null) != "$sum" ]]; then
  rm -rf "$dir/sum" "$dir/classes"
  mkdir "$dir/classes"
  java -Xss16m -Xmx1500m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$classpath" \
    scala.tools.nsc.Main -usejavacp -deprecation -feature -nowarn -Xplugin:"$plugin" -d "$dir/classes" "${files[@]}"
  echo "$sum" >"$dir/sum"
fi
exec java -Xss16m -Xmx2g -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$dir/classes:$classpath" opentxssd.Generate "$@"
