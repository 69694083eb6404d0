/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port as both sides see it: the model's type and shape, packed row-major; and the engine's type, planes
 * and rows.
 */
#ifndef RUNTIME_LAYOUT_H
#define RUNTIME_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "program/e5.h"
#include "program/hwx.h"

#define E5_RANK_MAX 5u

/*
 * The first two are the model's types as main.e5 writes them; the engine has all but fp32 and int32, which
 * only a host segment gives.
 */
enum e5_type { E5_FP16 = 0, E5_FP32 = 1, E5_UINT8, E5_INT8, E5_INT32 };
uint32_t e5_type_bytes(enum e5_type type);
const char *e5_type_name(enum e5_type type);

/* The engine's form of a tensor. Strides are bytes. */
struct e5_form {
    enum e5_type type;
    uint32_t n, c, h, w;
    uint64_t batch, plane, row, bytes;
};

struct e5_layout {
    char name[PR_HWX_NAME_BYTES];
    char symbol[PR_HWX_NAME_BYTES]; /* another name it answers to */
    bool input;
    enum e5_type type;
    uint32_t rank;
    uint64_t dim[E5_RANK_MAX];
    struct e5_form form;
    uint64_t packed; /* bytes of the model's form */
    bool same;       /* the model's form is the engine's */
    uint32_t buffer; /* its place among the surfaces of a request: inputs, then outputs */
    bool shared;     /* that surface has other ports too: it is the runtime's, and the port is copied */
    uint64_t offset; /* where it begins there */
    /* Numbers of the descriptors that use it; they decide whether an output may share an input's memory. */
    uint32_t first_write, last_read;
};

/* False and a sentence when the port cannot be described. */
bool e5_layout_from_e5(struct e5_layout *layout, const struct pr_e5_port *port, struct pr_problem *problem);
bool e5_layout_from_hwx(struct e5_layout *layout, const struct pr_hwx_port *port, struct pr_problem *problem);

/* A port that no program has: its form is packed, one row. */
bool e5_layout_packed(struct e5_layout *layout, const char *name, enum e5_type type, uint32_t rank,
                      const uint32_t *dim, struct pr_problem *problem);

/*
 * The engine's stride in bytes for each dimension of the model; false when one of them has no single stride.
 */
bool e5_layout_strides(const struct e5_layout *layout, uint64_t strides[E5_RANK_MAX]);
bool e5_form_equal(const struct e5_form *a, const struct e5_form *b);
/*
 * Whether an output and an input may be the same memory: if the input is not read after the output's first
 * write.
 */
bool e5_layout_may_share(const struct e5_layout *input, const struct e5_layout *output);

#endif
