#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats Python, SystemVerilog, Scala, C and C++: every file that git knows or would add. Expects tools/env.sh sourced.
#
#   tools/format.sh            formats in place
#   tools/format.sh --check    changes nothing; names the files that differ, and lines that are too long (of shell too)
#   tools/format.sh --fetch    only gets scalafmt (again when spinal/scalafmt.xml changed)
#
# How: pyproject.toml, .clang-format, .scalafmt.conf; SystemVerilog as verible has it, with the width that stands here.
set -euo pipefail
cd "$(dirname "$0")/.."
columns=120
mode=${1:-}
case $mode in
  "" | --check | --fetch) ;;
  *) echo "format.sh: no option $mode; usage: format.sh [--check | --fetch]" >&2; exit 2 ;;
esac

mkdir -p build/scalafmt
exec 9>build/scalafmt/lock
flock 9
if [[ ! -s build/scalafmt/classpath || spinal/scalafmt.xml -nt build/scalafmt/classpath ]]; then
  mvn -q -B -f spinal/scalafmt.xml dependency:build-classpath -Dmdep.outputFile="$PWD/build/scalafmt/classpath.new" >&2
  mv build/scalafmt/classpath.new build/scalafmt/classpath
fi
exec 9>&-
[[ $mode != --fetch ]] || exit 0

sources() { # paths of the files whose name ends so
  git ls-files -co --exclude-standard | grep -E "\.($1)$" | while read -r file; do
    [[ ! -f $file ]] || echo "$file"
  done
}
scalafmt() {
  java -Xss8m -Xmx1g -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$(<build/scalafmt/classpath)" \
    org.scalafmt.cli.Cli --config .scalafmt.conf --non-interactive "$@"
}
verible() { verible-verilog-format --failsafe_success=false --column_limit=$columns --try_wrap_long_lines=true "$@"; }
mapfile -t python < <(sources py)
mapfile -t verilog < <(sources 'sv|svh')
mapfile -t scala < <(sources scala)
mapfile -t c < <(sources 'c|h|cpp|hpp')

wrong=0
if [[ -z $mode ]]; then
  run() { # a formatter that fails does not keep the others from their files
    "$@" || { echo "format.sh: $1 failed" >&2; wrong=1; }
  }
  run ruff check -q --select I --fix "${python[@]}"
  run ruff format -q "${python[@]}"
  run verible --inplace "${verilog[@]}"
  run clang-format -i "${c[@]}"
  run scalafmt --quiet "${scala[@]}"
  exit $wrong
fi

ruff check -q --select I --output-format concise "${python[@]}" || wrong=1
mapfile -t differ < <(ruff format --check "${python[@]}" 2>&1 |
  sed -nE 's/^ *--> ([^:]+):.*/\1/p; s/^Would reformat: //p')
for file in "${differ[@]}"; do
  echo "$file: not as ruff has it"
  wrong=1
done
copies=$(mktemp -d) # verible verifies one file per start
trap 'rm -rf "$copies"' EXIT
cp --parents "${verilog[@]}" "$copies"
(cd "$copies" && verible --inplace "${verilog[@]}") || wrong=1
for file in "${verilog[@]}"; do
  cmp -s "$file" "$copies/$file" || { echo "$file: not as verible has it"; wrong=1; }
done
clang-format --dry-run -Werror --ferror-limit=1 "${c[@]}" >"$copies/c" 2>&1 || {
  wrong=1
  sed -nE 's/^([^ :]+):[0-9]+:[0-9]+: error: .*/\1: not as clang-format has it/p' "$copies/c" | sort -u
}
scalafmt --list "${scala[@]}" >"$copies/scala" || wrong=1
sed "s|^$PWD/||; s|$|: not as scalafmt has it|" "$copies/scala"
mapfile -t all < <(sources 'py|sv|svh|scala|c|h|cpp|hpp|sh'; [[ ! -f .ci/run ]] || echo .ci/run)
long=$(python - $columns "${all[@]}" <<'END'
import sys

for name in sys.argv[2:]:
    with open(name, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if len(line.rstrip("\n")) > int(sys.argv[1]):
                print(f"{name}:{number}: {len(line) - 1} columns")
END
)
[[ -z $long ]] || { echo "$long"; wrong=1; }
[[ $wrong == 0 ]] || { echo "format.sh: make format, and break the lines that are too long" >&2; exit 1; }
