#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the SpinalHDL sources when they changed and generates Verilog. Paths are relative to the repository root.
#
#   tools/spinal.sh GEOMETRY.properties OUTDIR [DEFINITION_NAME ...]
#   tools/spinal.sh --private NAME --only "Remap*.scala TxStatus.scala" --main opentxssd.GenerateX GEOMETRY.properties OUTDIR [...]
#   tools/spinal.sh --fetch          only gets Scala and SpinalHDL (again when spinal/pom.xml changed)
#
# --private compiles only the named files with Config.scala and Interfaces.scala, into classes of its own; globs are looked up in the sources and in build/NAME/.
# Runs of one NAME wait for each other. The Scala compiler is called directly: Maven alone takes as long to start as a compile.
set -euo pipefail
cd "$(dirname "$0")/.."
top=$PWD
fail() { echo "spinal.sh: $*" >&2; exit 2; }
usage="usage: spinal.sh [--private NAME --only FILES --main CLASS] GEOMETRY.properties OUTDIR [DEFINITION_NAME ...] | --fetch"
name=all only="" main=opentxssd.Generate fetch=""
while [[ ${1:-} == --* ]]; do
  case $1 in
    --fetch) fetch=1; shift; continue ;;
    --private) name=${2:?$usage} ;;
    --only) only=${2:?$usage} ;;
    --main) main=${2:?$usage} ;;
    *) fail "unknown option $1; $usage" ;;
  esac
  shift 2
done

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
src=spinal/src/main/scala/opentxssd
if [[ $name == all ]]; then
  mapfile -t files < <(find $src -name '*.scala' | sort)
else
  files=("$src/Config.scala" "$src/Interfaces.scala")
  for glob in $only; do
    found=""
    for f in $src/$glob build/"$name"/$glob; do
      [[ ! -f $f ]] || { files+=("$f"); found=1; }
    done
    [[ $found ]] || fail "no file $glob in $src or build/$name"
  done
  mapfile -t files < <(printf '%s\n' "${files[@]}" | sort -u)
fi

dir=build/spinal/$name
mkdir -p "$dir"
exec 8>"$dir/lock" # held until generation ends, so that nobody replaces the classes under it
flock 8
sum=$(cat spinal/pom.xml "${files[@]}" | sha256sum | cut -c1-16)
if [[ $(cat "$dir/sum" 2>/dev/null) != "$sum" ]]; then
  rm -rf "$dir/sum" "$dir/classes"
  mkdir "$dir/classes"
  java -Xss16m -Xmx1500m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$classpath" scala.tools.nsc.Main -usejavacp -deprecation -feature -nowarn \
    -Xplugin:"$plugin" -d "$dir/classes" "${files[@]}"
  echo "$sum" >"$dir/sum"
fi
exec java -Xss16m -Xmx2g -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$dir/classes:$classpath" "$main" "$@"
