/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: x19 to x30 and the stack pointer. The image is built without floating-point registers. port.c
 * makes a new context in the same shape, with bare_context_begin as its return address.
 */
#include "bare/frame.h"

    .text
    .globl rt_port_context_switch
    .type rt_port_context_switch, %function
rt_port_context_switch: /* port, from, to */
    stp x19, x20, [x1, #0]
    stp x21, x22, [x1, #16]
    stp x23, x24, [x1, #32]
    stp x25, x26, [x1, #48]
    stp x27, x28, [x1, #64]
    stp x29, x30, [x1, #80]
    mov x9, sp
    str x9, [x1, #BARE_CONTEXT_SP]
    mov x0, x2
load:
    ldp x19, x20, [x0, #0]
    ldp x21, x22, [x0, #16]
    ldp x23, x24, [x0, #32]
    ldp x25, x26, [x0, #48]
    ldp x27, x28, [x0, #64]
    ldp x29, x30, [x0, #80]
    ldr x9, [x0, #BARE_CONTEXT_SP]
    mov sp, x9
    ret
    .size rt_port_context_switch, . - rt_port_context_switch

/* Leaves the exception stack empty, as a return from the exception would. */
    .globl bare_context_resume
    .type bare_context_resume, %function
bare_context_resume: /* to */
    msr daifset, #15
    msr spsel, #1
    adrp x9, bare_exception_stack_top
    add x9, x9, :lo12:bare_exception_stack_top
    mov sp, x9
    msr spsel, #0
    msr daifclr, #5
    b load
    .size bare_context_resume, . - bare_context_resume

/* x19 is the argument, x20 the function; no frame is above this one. */
    .globl bare_context_begin
    .type bare_context_begin, %function
bare_context_begin:
    mov x0, x19
    mov x30, xzr
    blr x20
    brk #1
    .size bare_context_begin, . - bare_context_begin

/* The one load that may fail: bare_exception continues at bare_peek_failed. */
    .globl bare_peek
    .type bare_peek, %function
bare_peek: /* address, value */
    .globl bare_peek_load
bare_peek_load:
    ldr x9, [x0]
    str x9, [x1]
    mov w0, #1
    ret
    .globl bare_peek_failed
bare_peek_failed:
    mov w0, #0
    ret
    .size bare_peek, . - bare_peek

    .section .note.GNU-stack, "", %progbits
