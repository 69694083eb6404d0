/* SPDX-License-Identifier: Apache-2.0 */
/* Program files of anecc made by hand, field by field as the public facts list them. */
#ifndef TESTS_ANEC_FILE_H
#define TESTS_ANEC_FILE_H

#include <string.h>

#include "protocol/bits.h"
#include "tdpatch.h"

enum {
    ANEC_SIZE = 0x00,
    ANEC_TD_SIZE = 0x08,
    ANEC_TD_COUNT = 0x0c,
    ANEC_TSK_SIZE = 0x10,
    ANEC_KRN_SIZE = 0x18,
    ANEC_SRC_COUNT = 0x20,
    ANEC_DST_COUNT = 0x24,
    ANEC_TILES = 0x28,
    ANEC_NCHW = 0xa8,
    ANEC_HEADER = 0x6a8,
};

struct anec_file {
    uint8_t bytes[0x10000];
    size_t size;
    uint32_t content; /* where it is: 0x1000 or 0x800 */
};

static inline void anec_put32(struct anec_file *file, uint32_t at, uint32_t value)
{
    pr_put_le32(file->bytes + at, value);
}

static inline void anec_put64(struct anec_file *file, uint32_t at, uint64_t value)
{
    pr_put_le64(file->bytes + at, value);
}

/* Without surfaces. */
static inline void anec_begin(struct anec_file *file, uint32_t content, const void *text, uint32_t text_bytes,
                              uint32_t td_bytes, uint32_t tds, const void *kernel, uint32_t kernel_bytes)
{
    uint32_t kernel_at = (text_bytes + 15) / 16 * 16,
             size = kernel_bytes ? kernel_at + kernel_bytes : text_bytes;

    memset(file, 0, sizeof(*file));
    file->content = content;
    file->size = content + size;
    anec_put64(file, ANEC_SIZE, size);
    anec_put32(file, ANEC_TD_SIZE, td_bytes);
    anec_put32(file, ANEC_TD_COUNT, tds);
    anec_put64(file, ANEC_TSK_SIZE, text_bytes);
    anec_put64(file, ANEC_KRN_SIZE, kernel_bytes);
    anec_put32(file, ANEC_TILES, (size + 0x3fff) / 0x4000);
    memcpy(file->bytes + content, text, text_bytes);
    if (kernel_bytes)
        memcpy(file->bytes + content + kernel_at, kernel, kernel_bytes);
}

static inline void anec_surface(struct anec_file *file, int output, uint32_t bar, const struct td_shape *s)
{
    const uint64_t nchw[6] = {s->n, s->c, s->h, s->w, td_plane(s), td_row(s)};
    uint32_t count = output ? ANEC_DST_COUNT : ANEC_SRC_COUNT;

    anec_put32(file, count, pr_le32(file->bytes + count) + 1);
    anec_put32(file, ANEC_TILES + 4 * bar, (td_total(s) + 0x3fff) / 0x4000);
    for (unsigned i = 0; i < 6; i++)
        anec_put64(file, ANEC_NCHW + 48 * bar + 8 * i, nchw[i]);
}

#endif
