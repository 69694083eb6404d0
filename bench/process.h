/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of bench ask about their own process. */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

/* Seconds of a clock that only goes forward. */
double bench_now(void);
/* The peak of the resident set (VmHWM) in kB; 0 when the kernel does not say. */
unsigned long bench_peak_kb(void);

#endif
