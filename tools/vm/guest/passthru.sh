# SPDX-License-Identifier: Apache-2.0
# Sourced behind steps.sh: a transaction by nvme-cli's passthrough alone, hidden before its commit and visible after it.

passed() { # passed OPCODE ARGUMENTS: a vendor command of that name, on namespace 1
  local code
  code=$(sed -n "s/^$1 = //p" /run/guest/nvme_opcodes.py)
  nvme io-passthru $disk --opcode="$code" --namespace-id=1 "${@:2}"
}

on_blocks() { passed "$1" --cdw10=600 --cdw12=1 --data-len=8192 "${@:2}"; } # two blocks, from 600 on

passthru() {
  cd /tmp
  head -c 8192 /dev/urandom >old
  head -c 8192 /dev/urandom >new
  on_blocks WRITE -w --input-file=old && passed TX_BEGIN --cdw2=3 || return 1
  on_blocks TX_WRITE --cdw2=3 -w --input-file=new || return 1
  on_blocks READ -r -b >back && cmp back old || return 1
  on_blocks TX_READ --cdw2=3 -r -b >back && cmp back new || return 1
  passed TX_COMMIT --cdw2=3 || return 1
  on_blocks READ -r -b >back && cmp back new || return 1
  fails . passed TX_COMMIT --cdw2=3
}
