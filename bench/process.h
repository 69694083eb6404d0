/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of bench ask about their own process. */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

/* Seconds of a clock that only goes forward. */
double bench_now(void);

#endif
