/* SPDX-License-Identifier: Apache-2.0 */
/* What this processor can do at most, one thread: measured in the run that is compared with it. */
#ifndef BENCH_LIMITS_H
#define BENCH_LIMITS_H

#include <stddef.h>
#include <stdint.h>

struct bench_limits {
    uint8_t *memory; /* larger than any cache; NULL: no memory, and no figure for DRAM */
    size_t at;
    double macs;        /* fp32 fused multiply-adds of a vector register's elements, a second */
    double conversions; /* fp16 to fp32, elements a second */
    double read;        /* bytes a second from DRAM */
};

void bench_limits_make(struct bench_limits *limits);
/* A few milliseconds. Called again and again, between what is measured: the best so far counts. */
void bench_limits_measure(struct bench_limits *limits);
void bench_limits_free(struct bench_limits *limits);

/* Reads and writes that many bytes of `memory`. Calls take several forms of copy and of read in turns. */
struct bench_stream {
    uint8_t *memory;
    size_t in, out;
    unsigned calls;
};
/* False without memory. */
int bench_stream_make(struct bench_stream *stream, size_t in, size_t out);
void bench_stream_run(struct bench_stream *stream);
void bench_stream_free(struct bench_stream *stream);

#endif
