/* SPDX-License-Identifier: Apache-2.0 */
/* For loops that look at a word until another thread changes it. */
#ifndef BASE_PAUSE_H
#define BASE_PAUSE_H

/* Gives the processor's other hardware threads a turn; costs some ten nanoseconds. */
static inline void base_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
