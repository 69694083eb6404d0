/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exception vectors of EL1. An interrupt of a task or of boot code (SP_EL0) is saved on the interrupted
 * stack, because the kernel may switch tasks in it. Everything else is saved on the exception stack, and
 * goes to bare_exception, which returns only when a load has a fix-up.
 */
#include "bare/frame.h"

/* x0 and x1 are in the frame already; x1 is the stack pointer before the exception. */
.macro save_registers
    stp x2, x3, [sp, #(BARE_FRAME_X + 16)]
    stp x4, x5, [sp, #(BARE_FRAME_X + 32)]
    stp x6, x7, [sp, #(BARE_FRAME_X + 48)]
    stp x8, x9, [sp, #(BARE_FRAME_X + 64)]
    stp x10, x11, [sp, #(BARE_FRAME_X + 80)]
    stp x12, x13, [sp, #(BARE_FRAME_X + 96)]
    stp x14, x15, [sp, #(BARE_FRAME_X + 112)]
    stp x16, x17, [sp, #(BARE_FRAME_X + 128)]
    stp x18, x19, [sp, #(BARE_FRAME_X + 144)]
    stp x20, x21, [sp, #(BARE_FRAME_X + 160)]
    stp x22, x23, [sp, #(BARE_FRAME_X + 176)]
    stp x24, x25, [sp, #(BARE_FRAME_X + 192)]
    stp x26, x27, [sp, #(BARE_FRAME_X + 208)]
    stp x28, x29, [sp, #(BARE_FRAME_X + 224)]
    stp x30, x1, [sp, #(BARE_FRAME_X + 240)]
    mrs x2, elr_el1
    mrs x3, spsr_el1
    stp x2, x3, [sp, #BARE_FRAME_PC]
    mrs x4, esr_el1
    mrs x5, far_el1
    stp x4, x5, [sp, #BARE_FRAME_ESR]
    stp x29, x2, [sp, #BARE_FRAME_RECORD]
    add x29, sp, #BARE_FRAME_RECORD
.endm

.macro restore_registers
    ldp x2, x3, [sp, #BARE_FRAME_PC]
    msr elr_el1, x2
    msr spsr_el1, x3
    ldp x0, x1, [sp, #(BARE_FRAME_X + 0)]
    ldp x2, x3, [sp, #(BARE_FRAME_X + 16)]
    ldp x4, x5, [sp, #(BARE_FRAME_X + 32)]
    ldp x6, x7, [sp, #(BARE_FRAME_X + 48)]
    ldp x8, x9, [sp, #(BARE_FRAME_X + 64)]
    ldp x10, x11, [sp, #(BARE_FRAME_X + 80)]
    ldp x12, x13, [sp, #(BARE_FRAME_X + 96)]
    ldp x14, x15, [sp, #(BARE_FRAME_X + 112)]
    ldp x16, x17, [sp, #(BARE_FRAME_X + 128)]
    ldp x18, x19, [sp, #(BARE_FRAME_X + 144)]
    ldp x20, x21, [sp, #(BARE_FRAME_X + 160)]
    ldp x22, x23, [sp, #(BARE_FRAME_X + 176)]
    ldp x24, x25, [sp, #(BARE_FRAME_X + 192)]
    ldp x26, x27, [sp, #(BARE_FRAME_X + 208)]
    ldp x28, x29, [sp, #(BARE_FRAME_X + 224)]
    ldr x30, [sp, #(BARE_FRAME_X + 240)]
    add sp, sp, #BARE_FRAME_BYTES
.endm

/* From a task: the exception stack is empty. */
.macro from_task class
    .balign 128
    sub sp, sp, #BARE_FRAME_BYTES
    stp x0, x1, [sp, #BARE_FRAME_X]
    mov x0, #\class
    mrs x1, sp_el0
    b exception
.endm

/* From an exception's own handling: the exception stack is used on, if that is possible. */
.macro from_exception class
    .balign 128
    msr tpidr_el1, x0
    adrp x0, bare_exception_stack + BARE_EXCEPTION_FLOOR
    add x0, x0, :lo12:bare_exception_stack + BARE_EXCEPTION_FLOOR
    sub x0, sp, x0
    cmp x0, #(BARE_STACK_EXCEPTION - BARE_EXCEPTION_FLOOR)
    b.ls 0f
    adrp x0, bare_exception_stack_top
    add x0, x0, :lo12:bare_exception_stack_top
    mov sp, x0
0:  mrs x0, tpidr_el1
    sub sp, sp, #BARE_FRAME_BYTES
    stp x0, x1, [sp, #BARE_FRAME_X]
    mov x0, #\class
    add x1, sp, #BARE_FRAME_BYTES
    b exception
.endm

    .text
    .balign 2048
    .globl bare_vectors
bare_vectors:
    from_task BARE_CLASS_SYNC
    .balign 128
    msr spsel, #0
    sub sp, sp, #BARE_FRAME_BYTES
    stp x0, x1, [sp, #BARE_FRAME_X]
    add x1, sp, #BARE_FRAME_BYTES
    b interrupt
    from_task BARE_CLASS_FIQ
    from_task BARE_CLASS_NMI

    from_exception BARE_CLASS_SYNC
    from_exception BARE_CLASS_IRQ
    from_exception BARE_CLASS_FIQ
    from_exception BARE_CLASS_NMI

    /* The image has no code below EL1. */
    .rept 2
    from_task BARE_CLASS_SYNC
    from_task BARE_CLASS_IRQ
    from_task BARE_CLASS_FIQ
    from_task BARE_CLASS_NMI
    .endr

    .balign 128
    .type exception, %function
exception:
    save_registers
    mov x1, sp
    bl bare_exception
    restore_registers
    eret
    .size exception, . - exception

/* The other classes stay enabled as in a task: the kernel may go on with another one from here. */
    .type interrupt, %function
interrupt:
    save_registers
    msr daifclr, #5
    bl bare_interrupt
    msr daifset, #15
    restore_registers
    eret
    .size interrupt, . - interrupt

    .section .note.GNU-stack, "", %progbits
