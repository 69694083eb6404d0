/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `anemone bench`. */
#ifndef TOOL_BENCH_H
#define TOOL_BENCH_H

#include <stdbool.h>

/* The cost model beside published latencies. */
void tool_bench_m1(bool as_json);

#endif
