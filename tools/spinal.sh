#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the SpinalHDL sources when they changed and generates Verilog.
#
#   tools/spinal.sh GEOMETRY.properties OUTDIR [DEFINITION_NAME ...]
#   tools/spinal.sh --private NAME --only "Remap*.scala TxStatus.scala" --main opentxssd.GenerateX GEOMETRY.properties OUTDIR [...]
#
# --private compiles only the named files with Config.scala, Interfaces.scala and the file of --main, into classes of its own.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
name=all only="" main=opentxssd.Generate
while [[ ${1:-} == --* ]]; do
  case $1 in
    --private) name=$2 ;;
    --only) only=$2 ;;
    --main) main=$2 ;;
    *) echo "spinal.sh: unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
[[ $# -ge 2 ]] || { echo "usage: spinal.sh [--private NAME --only FILES --main CLASS] GEOMETRY.properties OUTDIR [DEFINITION_NAME ...]" >&2; exit 2; }

dir=build/spinal/$name
mkdir -p "$dir/classes"
exec 9>build/spinal/classpath.lock
flock 9
if [[ ! -s build/spinal/classpath || spinal/pom.xml -nt build/spinal/classpath ]]; then
  mvn -q -B -f spinal/pom.xml dependency:build-classpath -Dmdep.outputFile="$top/build/spinal/classpath.new"
  mv build/spinal/classpath.new build/spinal/classpath
fi
flock -u 9
classpath=$(cat build/spinal/classpath)
plugin=$(tr ':' '\n' <build/spinal/classpath | grep 'idsl-plugin')
payload=$(tr ':' '\n' <build/spinal/classpath | grep 'idsl-payload')
src=spinal/src/main/scala/opentxssd
if [[ $name == all ]]; then
  mapfile -t files < <(find $src -name '*.scala' | sort)
else
  files=("$src/Config.scala" "$src/Interfaces.scala")
  for glob in $only; do
    for f in $src/$glob build/"$name"/$glob; do [[ -f $f ]] && files+=("$f"); done
  done
fi
exec 8>"$dir/lock"
flock 8
sum=$(cat "${files[@]}" spinal/pom.xml | sha256sum | cut -c1-16)
if [[ $(cat "$dir/sum" 2>/dev/null) != "$sum" ]]; then
  rm -rf "$dir/classes" && mkdir -p "$dir/classes"
  java -Xss16m -Xmx1500m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$classpath" scala.tools.nsc.Main -usejavacp -deprecation -feature -nowarn \
    -Xplugin:"$plugin:$payload" -d "$dir/classes" "${files[@]}"
  echo "$sum" >"$dir/sum"
fi
exec java -Xss16m -Xmx2g -XX:+UseSerialGC -cp "$dir/classes:$classpath" "$main" "$@"
