/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the vectors leave on a stack, for C and for the assembler: struct rt_registers, then a frame record
 * (x29, pc), so that a walk over frame pointers passes through the exception. exception.c asserts the places.
 */
#ifndef BARE_FRAME_H
#define BARE_FRAME_H

#define BARE_FRAME_X      0
#define BARE_FRAME_SP     248
#define BARE_FRAME_PC     256
#define BARE_FRAME_PSTATE 264
#define BARE_FRAME_ESR    272
#define BARE_FRAME_FAR    280
#define BARE_FRAME_RECORD 288
#define BARE_FRAME_BYTES  304

/* The classes of rtkernel/fault.h, as the vectors number them. */
#define BARE_CLASS_NMI  0 /* SError: the asynchronous abort that is reported as the non-maskable class */
#define BARE_CLASS_IRQ  1
#define BARE_CLASS_FIQ  2
#define BARE_CLASS_SYNC 3

/*
 * Stacks of the image, in whole pages. The exception stack also carries the application's fault hook. FLOOR
 * is what a nested exception needs: below it, the stack begins again from its top.
 */
#define BARE_STACK_BOOT      0x4000
#define BARE_STACK_EXCEPTION 0x8000
#define BARE_EXCEPTION_FLOOR 0x1000
#define BARE_CONTEXT_SP      96 /* struct rt_context: x19 to x30, sp */

#define BARE_PAGE 0x4000

#endif
