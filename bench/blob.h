/* SPDX-License-Identifier: Apache-2.0 */
/* Weight files of models: blobs of fp16 numbers, as compiler/store/blob.h reads them. */
#ifndef BENCH_BLOB_H
#define BENCH_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the numbers of one blob after the other; `context` is that of the call below. */
typedef void bench_blob_fill(uint16_t *half, size_t numbers, void *context);

/* Writes `count` blobs of so many numbers. False when a file or memory cannot be had. */
bool bench_blob_write(const char *path, unsigned count, size_t numbers, bench_blob_fill *fill, void *context);
/* Numbers that differ as weights do, small and positive. `context` is a uint64_t, the seed. */
bench_blob_fill bench_blob_random;
/* Where blob `index` of such a file begins, which is the offset that a model names. */
uint64_t bench_blob_offset(unsigned index, size_t numbers);

#endif
