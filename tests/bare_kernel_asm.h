/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions at known places, with known registers, for bare_kernel_processor.c. */
#ifndef TESTS_BARE_KERNEL_ASM_H
#define TESTS_BARE_KERNEL_ASM_H

#include <stdint.h>

/* x2 to x28 hold this and their number. */
#define BARE_KERNEL_MARK 0x1000u

/* Loads from x0, at bare_kernel_load_at. */
void bare_kernel_load(uint64_t address);
extern char bare_kernel_load_at[];
/* Pushes with that stack pointer. */
void bare_kernel_push(uint64_t stack);
/* Spins until the flag is set; the bits in which any of x2 to x28 has changed meanwhile. */
uint64_t bare_kernel_hold(const volatile uint32_t *flag);
/* Goes through the vector at that offset as if the processor had taken its exception here. */
void bare_kernel_take(uint64_t offset);

#endif
