/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels in the order in which the engines read them. */
#ifndef COMPILER_LOWER_PACK_H
#define COMPILER_LOWER_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler/lower/tables.h"

/* A block of output channels of one descriptor. */
struct cc_pack {
    uint32_t cin, kw, kh, cout; /* channels of one group */
    uint32_t sx, sy;            /* strides: 0 means 1 */
    uint32_t groups;            /* 0 means 1 */
    bool unicast;               /* each output channel has one input channel */
    uint32_t lanes_log2, engines_log2;
    /* (o, i, t) is element o * step[0] + i * step[1] + t * step[2]; t = row * kw + column */
    const uint16_t *weight;
    uint32_t step[3];
    uint32_t group_step;          /* output channels between groups */
    const uint16_t *bias;         /* NULL: no bias rows */
    const struct cc_table *table; /* at the head of every stream; NULL: none */
};

/* As public programs choose: lanes by the number of output channels; all 16 engines from 16 channels on. */
uint32_t cc_pack_lanes_log2(uint32_t cout, uint32_t max_log2);
uint32_t cc_pack_engines_log2(uint32_t cout);
/* Bytes of a plane of all lanes, and of the longest stream. */
uint64_t cc_pack_plane_bytes(const struct cc_pack *pack);
uint64_t cc_pack_stream_bytes(const struct cc_pack *pack);
/* Engines that have a stream. */
uint32_t cc_pack_streams(const struct cc_pack *pack);
/* Fills cc_pack_streams() streams of `stream` bytes each, which are zeros before. */
void cc_pack_kernel(const struct cc_pack *pack, uint64_t stream, uint8_t *bytes);

/*
 * The same with zeros left out. Returns the bytes of the longest stream, a multiple of 64; 0 when a stream
 * would not be shorter than `stream`, or a plane longer than its record can say. Not for unicast kernels.
 */
uint64_t cc_pack_sparse(const struct cc_pack *pack, uint64_t stream, uint8_t *bytes);

#endif
