/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A streamed tensor. A stream is read only by the descriptor that follows its maker, with the same format and
 * extents.
 */
#include "engine/stream.h"

#include <string.h>

/* The tensor without its broadcast axes, one element after the other; returns its bytes. */
static uint64_t pack(const struct pr_tensor *tensor, struct pr_tensor *packed)
{
    uint64_t stride = pr_format_bytes(tensor->format);

    *packed = *tensor;
    packed->base = 0;
    packed->interleave = 1;
    packed->transposed = false;
    packed->zero_tail = packed->keep = false;
    for (unsigned axis = 0; axis < PR_AXES; axis++) {
        if (!tensor->stride[axis]) {
            packed->extent[axis] = 1;
            continue;
        }
        packed->stride[axis] = (uint32_t)stride;
        stride *= tensor->extent[axis];
        if (stride > ENG_STREAM_BYTES_MAX)
            return stride;
    }
    return stride;
}

bool eng_stream_take(const struct eng_stream *stream, uint32_t reader, const struct pr_tensor *source,
                     struct pr_tensor *packed, struct pr_problem *problem)
{
    pack(source, packed);
    if (!stream->full || stream->maker + 1 != reader)
        return pr_problem_set(
            problem, PR_PROBLEM_INCONSISTENT,
            "L2.SourceCfg.SourceType of descriptor %u is 3 (a stream), but the descriptor before it "
            "wrote none (ResultType 3).",
            reader);
    if (packed->format != stream->tensor.format ||
        memcmp(packed->extent, stream->tensor.extent, sizeof(packed->extent)) != 0)
        return pr_problem_set(
            problem, PR_PROBLEM_INCONSISTENT,
            "Descriptor %u reads a stream of %u x %u x %u (W, H, C), but the one before it wrote %u x "
            "%u x %u, or another format, depth or number of groups.",
            reader, packed->extent[PR_AXIS_W], packed->extent[PR_AXIS_H], packed->extent[PR_AXIS_C],
            stream->tensor.extent[PR_AXIS_W], stream->tensor.extent[PR_AXIS_H],
            stream->tensor.extent[PR_AXIS_C]);
    memcpy(packed->extent, source->extent, sizeof(packed->extent));
    return true;
}

bool eng_stream_make(struct eng_stream *stream, const struct pr_tensor *result, struct pr_tensor *packed,
                     struct pr_problem *problem)
{
    uint64_t bytes = pack(result, packed);

    if (bytes > ENG_STREAM_BYTES_MAX)
        return pr_problem_set(
            problem, PR_PROBLEM_LIMIT,
            "A stream between two descriptors has more than %ju bytes, the limit of this machine.",
            (uint64_t)ENG_STREAM_BYTES_MAX);
    stream->full = false;
    return eng_scratch_reserve(&stream->memory, bytes) ||
           pr_problem_set(problem, PR_PROBLEM_LIMIT, "The host has no memory for a stream of %ju bytes.",
                          bytes);
}

void eng_stream_fill(struct eng_stream *stream, uint32_t maker, const struct pr_tensor *packed)
{
    stream->full = true;
    stream->maker = maker;
    stream->tensor = *packed;
}
