/* SPDX-License-Identifier: Apache-2.0 */
/* Between task.c, task_pe.c and task_ne.c: a decoding under way. */
#ifndef PROGRAM_TASK_DECODE_H
#define PROGRAM_TASK_DECODE_H

#include "program/kernel.h"
#include "program/td_codes.h"

struct pr_decoder {
    const struct pr_td *td;
    const struct pr_image *image;
    struct pr_task *task;
    struct pr_problem *problem;
    const struct pr_ignore *ignore;     /* NULL: what is not decoded is refused */
    bool raw;                           /* ChCfg 0 with fp16 memory: elements pass unchanged */
    uint32_t in[PR_AXES], out[PR_AXES]; /* what Common states */
};

static inline uint32_t pr_decode_get(const struct pr_decoder *d, enum pr_td_field field)
{
    return pr_image_get(d->image, field);
}

static inline uint32_t pr_decode_head(const struct pr_decoder *d, enum pr_td_header_field field)
{
    return pr_td_header(d->td, field);
}

/* Both name the field in full and return false. */
bool pr_decode_refuse(const struct pr_decoder *d, enum pr_problem_kind kind, enum pr_td_field field,
                      const char *why);
bool pr_decode_refuse_header(const struct pr_decoder *d, enum pr_problem_kind kind,
                             enum pr_td_header_field field, const char *why);
/*
 * Against a rule that comes from a published hang: false. experiments.def has the rows, and the caller the
 * rule that they and the programs of Apple's compiler carry. Only a word of these rows is said to hang an M1.
 */
bool pr_decode_refuse_hang(const struct pr_decoder *d, enum pr_td_field field, const char *why);
/* A value without a public meaning: refused, or ignored and reported by a lenient decoder. */
bool pr_decode_ignore(const struct pr_decoder *d, enum pr_td_field field, const char *why);
bool pr_decode_ignore_at(const struct pr_decoder *d, enum pr_td_field field, uint32_t element,
                         const char *why);
/* A field this model acts on for one value only; a lenient decoder goes on as if it had that value. */
bool pr_decode_require(const struct pr_decoder *d, enum pr_td_field field, uint32_t value, const char *why);

/* The codes that ChCfg, MemFmt and KernelFmt share. False for the one that is not decoded. */
bool pr_decode_format(uint32_t code, enum pr_format *format);
/* DRAM registers count 64 bytes, L2 registers 16. */
enum { PR_DRAM_SHIFT = 6, PR_L2_SHIFT = 4 };

/* Source 2, which only some tasks of the planar engine have. */
bool pr_decode_source2(const struct pr_decoder *d);
/*
 * Channel and width change places: the channel is then contiguous, and the width has the channel's stride.
 * False when a tensor cannot.
 */
bool pr_decode_transpose(const struct pr_decoder *d, struct pr_tensor *tensor, enum pr_td_field field);
/* Result and source have the same extents along W, H, D and C. */
bool pr_decode_same_extents(const struct pr_decoder *d, const uint32_t in[PR_AXES],
                            const uint32_t out[PR_AXES]);

/* They set the extents of the tensors too. */
bool pr_decode_pe(const struct pr_decoder *d);
bool pr_decode_ne(const struct pr_decoder *d);

#endif
