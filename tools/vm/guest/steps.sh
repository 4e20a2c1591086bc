# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts: `step NAME COMMAND ...` says on the console how it went, and ends the script when it failed.
# What a command prints is in /tmp/said, and on the console when it failed.
disk=/dev/nvme0n1 char=/dev/ng0n1 ctrl=/dev/nvme0
export PYTHONPATH=$(cat /run/guest/repository)/sw/host/python # nothing is installed in the guest

step() {
  local name=$1
  shift
  echo "@begin $name"
  if "$@" >/tmp/said 2>&1; then
    echo "@ok $name"
  else
    tail -40 /tmp/said
    dmesg | tail -20
    echo "@failed $name"
    exit 1
  fi
}

# The driver is loaded and its disk is there. A simulated drive is slow: a command has ten minutes.
drive() {
  local m more
  [[ -e /sys/module/nvme ]] || for m in $(cat /run/modules/drive); do
    more=
    [[ $m != nvme-core.ko ]] || more="io_timeout=600 admin_timeout=600"
    insmod "/run/modules/$m" $more || return 1
  done
  for _ in $(seq 100); do
    [[ -e $disk ]] && return
    sleep 0.1
  done
  return 1
}

# `has WORDS COMMAND ...`: it succeeds and prints a line with these words (a regular expression).
has() {
  local words=$1
  shift
  "$@" >/tmp/has || { cat /tmp/has; return 1; }
  grep -Eq -- "$words" /tmp/has || { cat /tmp/has; echo "no line with: $words"; return 1; }
}

# `fails WORDS COMMAND ...`: it fails and prints a line with these words.
fails() {
  local words=$1
  shift
  if "$@" >/tmp/has 2>&1; then cat /tmp/has; echo "it did not fail"; return 1; fi
  grep -Eqi -- "$words" /tmp/has || { cat /tmp/has; echo "no line with: $words"; return 1; }
}
