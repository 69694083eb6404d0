/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multiply-accumulate tasks with constant weights: convolutions, and the matrix products that are lowered to
 * them.
 */
#ifndef COMPILER_LOWER_MAC_H
#define COMPILER_LOWER_MAC_H

#include "compiler/lower/emit.h"
#include "compiler/lower/tables.h"

/* `batches` tasks with the same kernel. */
struct cc_mac {
    struct pr_e5_operand src, dst; /* of batch 0 */
    uint32_t batches;
    uint32_t src_batch, dst_batch; /* bytes */
    uint32_t in[3], out[3];        /* W, H, C */
    uint32_t kw, kh, px, py, sx, sy;
    uint32_t groups;               /* 0: one */
    bool depthwise;                /* each channel has a kernel of its own */
    bool transposed;               /* the result's channels are contiguous */
    const uint16_t *weight, *bias; /* weight (o, i, t) is element o * step[0] + i * step[1] + t * step[2] */
    uint32_t step[3];
    bool relu;
    const struct cc_table *table; /* NULL: none */
    uint16_t scale;               /* before that table; 0 means 1 */
};

/*
 * The ReLU or the activation that is fused into an operation. `table` is where its table goes; it must
 * outlive the mac.
 */
void cc_mac_fuse(struct cc_mac *mac, const struct cc_step *step, struct cc_table *table);
/* Whether all output channels of all groups fit one descriptor. */
bool cc_mac_fits(const struct cc_mac *mac);
/* Emits the tasks, cut by output channels where a descriptor's kernel memory is too small. */
int cc_emit_mac(struct cc_lowering *l, const struct cc_mac *mac);

#endif
