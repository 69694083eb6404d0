/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a new context begins, and the switch itself for AArch64: save what a called function must preserve,
 * exchange stack pointers, load. On x86-64 the switch is in context.h. context.c builds a new context's first
 * frame in the switch's shape; its return address is host_context_begin.
 *
 * The file carries no shadow-stack note on purpose: a linker then leaves that feature off, which a switch of
 * stacks needs.
 */
#if defined(__x86_64__)

    .text

/* The argument and the function are on the stack; no frame is above this one. */
    .p2align 4
    .globl host_context_begin
    .hidden host_context_begin
    .type host_context_begin, @function
host_context_begin:
    .cfi_startproc
    .cfi_undefined %rip
    popq %rdi
    popq %rax
    call *%rax
    ud2
    .cfi_endproc
    .size host_context_begin, . - host_context_begin

#elif defined(__aarch64__)

    .text
    .p2align 4
    .globl host_context_swap
    .hidden host_context_swap
    .type host_context_swap, %function
host_context_swap:
    .cfi_startproc
    sub sp, sp, #160
    .cfi_adjust_cfa_offset 160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    .cfi_rel_offset x29, 80
    .cfi_rel_offset x30, 88
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    ldr x9, [x1]
    mov sp, x9
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    .cfi_adjust_cfa_offset -160
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    .size host_context_swap, . - host_context_swap

/* x19 is the argument, x20 the function; no frame is above this one. */
    .p2align 4
    .globl host_context_begin
    .hidden host_context_begin
    .type host_context_begin, %function
host_context_begin:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x19
    blr x20
    brk #1
    .cfi_endproc
    .size host_context_begin, . - host_context_begin

#else
#error "the host port's context switch is written for x86-64 and AArch64"
#endif

    .section .note.GNU-stack, "", %progbits
