/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte offsets of register words in a full descriptor with a 10-word header (0x274 bytes), as the public
 * facts list them: what a driver author would use to look into or change a compiled program.
 */
#ifndef TESTS_TDPATCH_H
#define TESTS_TDPATCH_H

#include <stdint.h>
#include <string.h>

enum {
    TD_W1 = 0x04,
    TD_W6 = 0x18,
    TD_NEXT = 0x1c,
    TD_W8 = 0x20,
    TD_IN_DIM = 0x128,
    TD_CIN = 0x134,
    TD_COUT = 0x138,
    TD_OUT_DIM = 0x13c,
    TD_CONV = 0x144,
    TD_GROUPS = 0x14c,
    TD_BROADCAST = 0x158,
    TD_CFG = 0x15c,
    TD_SRC_DMA = 0x16c,
    TD_SRC_BASE = 0x174,
    TD_SRC_ROW = 0x178,
    TD_SRC_PLANE = 0x17c,
    TD_SRC_DEPTH = 0x180,
    TD_SRC_GROUP = 0x184,
    TD_SRC2_BASE = 0x188,
    TD_SRC2_ROW = 0x18c,
    TD_SRC2_PLANE = 0x190,
    TD_SRC2_DEPTH = 0x194,
    TD_SRC2_GROUP = 0x198,
    TD_L2_CFG = 0x1e0,
    TD_SOURCE_CFG = 0x1e4,
    TD_L2_SRC_BASE = 0x1e8,
    TD_L2_SRC_CHANNEL = 0x1ec,
    TD_L2_SRC_ROW = 0x1f0,
    TD_RESULT_CFG = 0x210,
    TD_L2_RESULT_BASE = 0x214,
    TD_L2_RESULT_CHANNEL = 0x218,
    TD_L2_RESULT_ROW = 0x21c,
    TD_PE_CFG = 0x22c,
    TD_PE_BIAS_SCALE = 0x230,
    TD_PE_PRE_SCALE = 0x234,
    TD_PE_FINAL_SCALE = 0x238,
    TD_KERNEL_CFG = 0x240,
    TD_MAC_CFG = 0x244,
    TD_ACC_BIAS = 0x24c,
    TD_POST_SCALE = 0x250,
    TD_DST_DMA = 0x258,
    TD_DST_BASE = 0x25c,
    TD_DST_ROW = 0x260,
    TD_DST_PLANE = 0x264,
    TD_DST_DEPTH = 0x268,
    TD_DST_GROUP = 0x26c,
    TD_DST_FMT = 0x270,
    TD_BYTES = 0x274,
    TD_WORDS = TD_BYTES / 4,
};

static inline uint32_t td_get(const uint8_t *td, uint32_t offset)
{
    uint32_t value;

    memcpy(&value, td + offset, 4);
    return value;
}

static inline void td_set(uint8_t *td, uint32_t offset, uint32_t value)
{
    memcpy(td + offset, &value, 4);
}

/* A dense fp16 tensor with rows on 64-byte boundaries. */
struct td_shape {
    uint32_t n, c, h, w;
};

static inline uint32_t td_row(const struct td_shape *s)
{
    return (2 * s->w + 63) / 64 * 64;
}

/* What of a row is staged in L2 at a time: all of it, or 0x100 bytes. */
static inline uint32_t td_strip(const struct td_shape *s)
{
    return s->w < 128 ? (2 * s->w + 15) / 16 * 16 : 0x100;
}

static inline uint32_t td_plane(const struct td_shape *s)
{
    return td_row(s) * s->h;
}

static inline uint32_t td_tensor(const struct td_shape *s)
{
    return td_plane(s) * s->c;
}

static inline uint32_t td_total(const struct td_shape *s)
{
    return td_tensor(s) * s->n;
}

static inline uint32_t td_at(const struct td_shape *s, uint32_t n, uint32_t c, uint32_t h, uint32_t w)
{
    return n * td_tensor(s) + c * td_plane(s) + h * td_row(s) + 2 * w;
}

/* Strides of one operand; `row` is the offset of its row-stride word. */
static inline void td_set_strides(uint8_t *td, uint32_t row, const struct td_shape *s)
{
    td_set(td, row, td_row(s));
    td_set(td, row + 4, td_plane(s));
    td_set(td, row + 8, td_tensor(s));
    td_set(td, row + 12, td_tensor(s));
}

/* Gives a descriptor that keeps its extents (elementwise, bypass) another shape; batches are groups. */
static inline void td_set_shape(uint8_t *td, const struct td_shape *s)
{
    td_set(td, TD_IN_DIM, s->h << 16 | s->w);
    td_set(td, TD_OUT_DIM, s->h << 16 | s->w);
    td_set(td, TD_CIN, s->c);
    td_set(td, TD_COUT, s->c);
    td_set(td, TD_GROUPS, (td_get(td, TD_GROUPS) & ~0x1fffu) | s->n);
    td_set_strides(td, TD_SRC_ROW, s);
    td_set_strides(td, TD_SRC2_ROW, s);
    td_set_strides(td, TD_DST_ROW, s);
    td_set(td, TD_L2_SRC_CHANNEL, td_strip(s));
}

#endif
