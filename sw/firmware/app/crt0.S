/* SPDX-License-Identifier: Apache-2.0 */
/* Start: stack at the end of SRAM, initialised data copied from ROM, the rest cleared, then main. A trap stops here. */
    .section .start, "ax"
    .globl _start
_start:
    la sp, _stack_end
    la t0, trap
    csrw mtvec, t0
    la t0, _data_rom
    la t1, _data
    la t2, _data_end
1:  bgeu t1, t2, 2f
    lw t3, 0(t0)
    sw t3, 0(t1)
    addi t0, t0, 4
    addi t1, t1, 4
    j 1b
2:  la t1, _bss
    la t2, _bss_end
3:  bgeu t1, t2, 4f
    sw zero, 0(t1)
    addi t1, t1, 4
    j 3b
4:  call main
    .balign 4
trap:
    j trap
