/* SPDX-License-Identifier: Apache-2.0 */
/* Bit fields and little-endian words. Every format in this room is read and written through these. */
#ifndef PROTOCOL_BITS_H
#define PROTOCOL_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint32_t pr_bits_mask(unsigned lo, unsigned width)
{
    return (width >= 32 ? 0xffffffffu : (1u << width) - 1) << lo;
}

static inline uint32_t pr_bits_get(uint32_t word, unsigned lo, unsigned width)
{
    return (word & pr_bits_mask(lo, width)) >> lo;
}

static inline uint32_t pr_bits_put(uint32_t word, unsigned lo, unsigned width, uint32_t value)
{
    uint32_t mask = pr_bits_mask(lo, width);

    return (word & ~mask) | ((value << lo) & mask);
}

static inline uint64_t pr_bits64_mask(unsigned high, unsigned low)
{
    return (high >= 63 ? ~0ull : (1ull << (high + 1)) - 1) & ~((1ull << low) - 1);
}

static inline uint16_t pr_le16(const void *bytes)
{
    const uint8_t *b = bytes;

    return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t pr_le32(const void *bytes)
{
    const uint8_t *b = bytes;

    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t pr_le64(const void *bytes)
{
    const uint8_t *b = bytes;

    return (uint64_t)pr_le32(b) | (uint64_t)pr_le32(b + 4) << 32;
}

static inline void pr_put_le32(void *bytes, uint32_t value)
{
    uint8_t *b = bytes;

    b[0] = (uint8_t)value;
    b[1] = (uint8_t)(value >> 8);
    b[2] = (uint8_t)(value >> 16);
    b[3] = (uint8_t)(value >> 24);
}

static inline void pr_put_le64(void *bytes, uint64_t value)
{
    pr_put_le32(bytes, (uint32_t)value);
    pr_put_le32((uint8_t *)bytes + 4, (uint32_t)(value >> 32));
}

static inline uint64_t pr_round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

#endif
