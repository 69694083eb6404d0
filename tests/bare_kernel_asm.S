/* SPDX-License-Identifier: Apache-2.0 */
    .set MARK, 0x1000

.macro mark_registers
    .irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28
    mov x\n, #(MARK + \n)
    .endr
.endm

    .text
    .globl bare_kernel_load
    .type bare_kernel_load, %function
bare_kernel_load:
    stp x29, x30, [sp, #-16]!
    mov x29, sp
    mark_registers
    .globl bare_kernel_load_at
bare_kernel_load_at:
    ldr x1, [x0]
    brk #1
    .size bare_kernel_load, . - bare_kernel_load

    .globl bare_kernel_push
    .type bare_kernel_push, %function
bare_kernel_push:
    mov sp, x0
    stp x29, x30, [sp, #-16]!
    brk #1
    .size bare_kernel_push, . - bare_kernel_push

    .globl bare_kernel_hold
    .type bare_kernel_hold, %function
bare_kernel_hold:
    stp x29, x30, [sp, #-96]!
    mov x29, sp
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    mark_registers
0:  ldr w1, [x0]
    cbz w1, 0b
    mov x0, #0
    .irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28
    mov x1, #(MARK + \n)
    eor x1, x1, x\n
    orr x0, x0, x1
    .endr
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp x29, x30, [sp], #96
    ret
    .size bare_kernel_hold, . - bare_kernel_hold

    .globl bare_kernel_take
    .type bare_kernel_take, %function
bare_kernel_take:
    msr daifset, #15
    adr x1, 0f
    msr elr_el1, x1
    mov x1, #4 /* EL1 with SP_EL0, nothing masked */
    msr spsr_el1, x1
    adrp x1, bare_vectors
    add x1, x1, :lo12:bare_vectors
    add x0, x0, x1
    msr spsel, #1
    br x0
0:  brk #1
    .size bare_kernel_take, . - bare_kernel_take

    .section .note.GNU-stack, "", %progbits
