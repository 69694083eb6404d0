/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reset vector: the first instruction of the image, at EL2 or EL1, MMU and caches off. Goes to EL1, sets
 * both stacks, clears what the image does not carry, and calls bare_start on the boot stack. Tasks and boot
 * code run with SP_EL0; SP_EL1 is the exception stack, so that a bad stack pointer of a task can be reported.
 */
#include "bare/frame.h"

    .section .text.entry, "ax", %progbits
    .globl bare_entry
    .type bare_entry, %function
bare_entry:
    msr daifset, #15
    mrs x0, CurrentEL
    cmp x0, #(2 << 2)
    b.ne at_el1

    /* EL1 is AArch64, may use the counter and its timer, and sees the counter without an offset. */
    mov x0, #(1 << 31)
    msr hcr_el2, x0
    mov x0, #3
    msr cnthctl_el2, x0
    msr cntvoff_el2, xzr
    mov x0, #0x33ff /* no traps; the other bits read as one */
    msr cptr_el2, x0
    ldr x0, =0x30d00800 /* the bits of SCTLR_EL1 that read as one: everything off */
    msr sctlr_el1, x0
    mov x0, #0x3c4 /* D, A, I, F masked; EL1 with SP_EL0 */
    msr spsr_el2, x0
    adr x0, at_el1
    msr elr_el2, x0
    eret

at_el1:
    msr spsel, #1
    adrp x0, bare_exception_stack_top
    add x0, x0, :lo12:bare_exception_stack_top
    mov sp, x0
    msr spsel, #0
    adrp x0, bare_boot_stack_top
    add x0, x0, :lo12:bare_boot_stack_top
    mov sp, x0

    adrp x0, bare_image_zero
    add x0, x0, :lo12:bare_image_zero
    adrp x1, bare_image_end
    add x1, x1, :lo12:bare_image_end
0:  cmp x0, x1
    b.hs 1f
    stp xzr, xzr, [x0], #16
    b 0b

    /* A walk over frame pointers ends here. */
1:  mov x29, xzr
    mov x30, xzr
    bl bare_start
    brk #1
    .size bare_entry, . - bare_entry

    /* The page below each stack is not mapped (map.c). */
    .bss
    .balign BARE_PAGE
    .globl bare_exception_guard
bare_exception_guard:
    .skip BARE_PAGE
    .globl bare_exception_stack
bare_exception_stack:
    .skip BARE_STACK_EXCEPTION
    .globl bare_exception_stack_top
bare_exception_stack_top:
    .globl bare_boot_guard
bare_boot_guard:
    .skip BARE_PAGE
    .skip BARE_STACK_BOOT
bare_boot_stack_top:

    .section .note.GNU-stack, "", %progbits
