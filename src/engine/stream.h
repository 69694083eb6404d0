/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A streamed tensor: the engine hands it tile by tile from one descriptor to the next, through a ring in L2
 * that may be far smaller than the tensor. Only the values matter here, so the whole tensor is kept, packed,
 * until the next descriptor has read it.
 */
#ifndef ENGINE_STREAM_H
#define ENGINE_STREAM_H

#include "engine/compute.h"

#define ENG_STREAM_BYTES_MAX (1ull << 30) /* of one tensor; chosen */

struct eng_stream {
    struct eng_scratch memory;
    bool full;
    uint32_t maker; /* the descriptor that wrote it, by its number in the chain */
    struct pr_tensor tensor;
};

/*
 * The source tensor of descriptor `reader` as it lies in the stream: false with a problem unless the
 * descriptor before made a stream of that format and those extents.
 */
bool eng_stream_take(const struct eng_stream *stream, uint32_t reader, const struct pr_tensor *source,
                     struct pr_tensor *packed, struct pr_problem *problem);
/* The place for a result; eng_stream_fill then says who made it. */
bool eng_stream_make(struct eng_stream *stream, const struct pr_tensor *result, struct pr_tensor *packed,
                     struct pr_problem *problem);
void eng_stream_fill(struct eng_stream *stream, uint32_t maker, const struct pr_tensor *packed);

#endif
