/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of a neural-engine task: how the streams of its engines hold table, bias and weights.
 *
 * A stream is: the activation table of 128 bytes if the task has one; a palette block of 64 bytes if it has
 * one; then, group after group, the planes of the engine's passes. A plane of dense fp16 weights is a bias
 * row, if there is one, and a row for each input channel and kernel position, with one fp16 value for
 * each of its lanes (output channels). With a unicast kernel a plane is one channel's. Strided kernels are
 * walked by phase of the stride, and may leave zeros out. A group ends on 64 bytes, and so does each sparse
 * plane, except in unicast kernels, where only the whole stream does.
 */
#ifndef PROGRAM_KERNEL_H
#define PROGRAM_KERNEL_H

#include "program/task.h"

#define PR_TABLE_BYTES     128u
#define PR_TABLE_VALUES    64u
#define PR_PALETTE_BYTES   64u
#define PR_KERNEL_HALF_MAX (1u << 28) /* weights of a kernel that is not plain, ones too; chosen */

/* The bytes of one engine's stream, as they were read. */
struct pr_kernel_bytes {
    const uint8_t *bytes;
    uint64_t size;
};

/* Input channels that one output channel sees, and columns of its window. */
uint32_t pr_kernel_channels(const struct pr_task *task);
uint32_t pr_kernel_window(const struct pr_task *task);
/* Weights of one group's kernel, every output column of a step counted; ones counted too. */
uint64_t pr_kernel_weights(const struct pr_task *task);

/* The engine has output channels to compute. */
bool pr_kernel_engine_works(const struct pr_task *task, uint32_t engine);
/*
 * Bytes of the stream of one engine that the task needs: exact for dense kernels; for others the
 * size that the descriptor declares, because theirs depends on the bytes. 0 when the engine reads none.
 */
uint64_t pr_kernel_stream_bytes(const struct pr_task *task, uint32_t engine);

/* A plain kernel is dense fp16 of all channels with steps of 1: its weights can be used in place. */
bool pr_kernel_is_plain(const struct pr_task *task);

/*
 * Where output channel `channel` of a plain kernel's group finds its weights: which engine's stream, the byte
 * offset of its plane's first bias or weight row in that stream, the lane in each row and the lanes of the
 * plane. False when channel >= Cout.
 */
struct pr_kernel_place {
    uint32_t engine;
    uint32_t offset;
    uint32_t lane, lanes;
};
bool pr_kernel_place(const struct pr_task *task, uint32_t group, uint32_t channel,
                     struct pr_kernel_place *place);

/*
 * Any kernel into one order: for each group, for each input channel, kernel row and window column, an fp16
 * value for each output channel and column of a step (channel * ox + column); and a bias for each group and
 * output channel, -0 when there is none. `weights` has room for pr_kernel_groups times pr_kernel_weights,
 * `bias` for pr_kernel_groups times Cout. False with a problem when a stream ends too early or contradicts
 * itself.
 */
bool pr_kernel_expand(const struct pr_task *task, const struct pr_kernel_bytes streams[PR_ENGINES_MAX],
                      uint16_t *weights, uint16_t *bias, struct pr_problem *problem);
/* Groups that have a kernel of their own: 1 when all have the same, because it is reused or all ones. */
uint32_t pr_kernel_groups(const struct pr_task *task);

/*
 * The activation table at the head of the streams, 64 fp16 values. False with a problem when a stream is
 * shorter, or when the engines' tables differ, which is not decoded.
 */
bool pr_kernel_table(const struct pr_task *task, const struct pr_kernel_bytes streams[PR_ENGINES_MAX],
                     uint16_t table[PR_TABLE_VALUES], struct pr_problem *problem);

#endif
