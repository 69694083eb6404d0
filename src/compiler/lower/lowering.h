/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the lowering: what its passes share. Only lower*.c and pass_*.c include this. */
#ifndef COMPILER_LOWER_LOWERING_H
#define COMPILER_LOWER_LOWERING_H

#include "compiler/lower/lower.h"
#include "compiler/lower/tables.h"

/* A tensor in the engine's layout: right-aligned to n, c, h, w; rows on 64-byte boundaries, no other gaps. */
struct cc_layout {
    uint32_t n, c, h, w;
    uint32_t row, plane, batch, bytes;
};

/* What is known about a graph value. */
struct cc_home {
    uint32_t root;        /* the value it is another name of; itself, usually */
    const uint16_t *data; /* a constant's halfs */
    uint16_t *owned;      /* converted halfs that `data` points to */
    uint32_t maker;       /* the operation that makes it, number + 1; 0: none */
    uint32_t uses;        /* by operations that are kept, and as an output */
    bool placed;
    struct pr_e5_operand at; /* place, index, offset; an intermediate's index is its buffer until the plan */
};

/* What is known about an operation. */
struct cc_step {
    bool live, skip;
    bool relu;                      /* a ReLU after it is done by it */
    const struct cc_op *activation; /* an operation after it that is one table, done by it; NULL: none */
    uint32_t output;                /* its value, or that of what it also does */
};

struct cc_buffer {
    uint32_t bytes, offset;
    bool touched;
    uint32_t first, last; /* records that touch it */
};

struct cc_lowering {
    const struct cc_graph *graph;
    struct cc_home *home;           /* per value */
    struct cc_step *step;           /* per operation */
    const struct cc_op *op;         /* the one being lowered, for messages */
    bool relu;                      /* of that one */
    const struct cc_op *activation; /* of that one */
    uint32_t buffers, buffer_capacity;
    struct cc_buffer *buffer;
    struct cc_program *program;
    bool reports;
    size_t report_length, report_capacity;
    struct base_error *error;
};

/* The passes, in their order. Each leaves the graph alone. */
int cc_pass_casts(
    struct cc_lowering *l); /* casts become other names, constants become halfs, the rest must be fp16 */
int cc_pass_live(struct cc_lowering *l); /* operations nothing depends on are left out; uses are counted */
int cc_pass_fuse(struct cc_lowering *l); /* a ReLU or a table joins the only operation before it */
int cc_pass_plan(
    struct cc_lowering *l); /* intermediates get offsets; buffers that do not live together share them */

/* Lowering of each family. */
int cc_lower_elementwise(struct cc_lowering *l);
int cc_lower_divide(struct cc_lowering *l); /* real_div, floor_div */
int cc_lower_power(struct cc_lowering *l);
int cc_lower_logic(struct cc_lowering *l); /* comparisons, logical_*, select */
int cc_lower_relu(struct cc_lowering *l);
int cc_lower_unary(struct cc_lowering *l);
/* The table that an operation is, and the factor before it (0: none); false when it is more than that. */
bool cc_activation(const struct cc_op *op, struct cc_table *table, uint16_t *scale);
/*
 * Whether that table may be joined to the operation before it. The value that enters a table is not rounded to fp16, so a threshold would be compared with a value that is never stored;
 * operations with such a threshold get their own descriptor.
 */
bool cc_activation_fuses(const struct cc_op *op);
int cc_lower_conv(struct cc_lowering *l);
int cc_lower_pool(struct cc_lowering *l);
int cc_lower_linear(struct cc_lowering *l);
int cc_lower_matmul(struct cc_lowering *l);
int cc_lower_product(struct cc_lowering *l); /* matmul of two operands made at run time */
int cc_lower_reduce(struct cc_lowering *l);
int cc_lower_softmax(struct cc_lowering *l);
int cc_lower_norm(struct cc_lowering *l);
int cc_lower_batch_norm(struct cc_lowering *l);
int cc_lower_layout(struct cc_lowering *l);

/* A sentence that names the operation and its line. */
int cc_refuse(const struct cc_lowering *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cc_no_memory(const struct cc_lowering *l);
void cc_note(struct cc_lowering *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

const struct cc_value *cc_value_of(const struct cc_lowering *l, uint32_t value);
uint32_t cc_root(const struct cc_lowering *l, uint32_t value);
/* The operation that makes a value; NULL when there is none. */
const struct cc_op *cc_maker(const struct cc_lowering *l, uint32_t value);
int cc_layout_of(const struct cc_lowering *l, uint32_t value, struct cc_layout *layout);
/* Where to read a value: a constant is put into the constants in the engine's layout. Strides are those of the layout. */
int cc_source(struct cc_lowering *l, uint32_t value, struct pr_e5_operand *operand, struct cc_layout *layout);
/* Where the current operation's result goes. */
int cc_result(struct cc_lowering *l, struct pr_e5_operand *operand, struct cc_layout *layout);
/* A new intermediate buffer. */
int cc_scratch(struct cc_lowering *l, uint64_t bytes, uint32_t *buffer);

/* A record with neutral factors; and one that goes to the end of the program, after its extents have been checked. */
struct pr_e5_record cc_record(enum pr_e5_kind kind);
int cc_emit(struct cc_lowering *l, const struct pr_e5_record *record);
/* Bytes, a multiple of 64, into the constants, once per content. */
int cc_constant(struct cc_lowering *l, const void *bytes, uint32_t size, uint32_t *offset);

/* Copies a value to an operand of the same layout. */
int cc_emit_copy(struct cc_lowering *l, uint32_t value, const struct pr_e5_operand *to);

/* What a descriptor can say of a window: Px and Py have five bits, Sx and Sy two. */
#define CC_PAD_MAX    31u
#define CC_STRIDE_MAX 3u

/* Multiply-accumulate tasks: `batches` times the same kernel. */
struct cc_mac {
    struct pr_e5_operand src, dst; /* of batch 0 */
    uint32_t batches;
    uint32_t src_batch, dst_batch; /* bytes */
    uint32_t in[3], out[3];        /* W, H, C */
    uint32_t kw, kh, px, py, sx, sy;
    uint32_t groups;               /* 0: one */
    bool depthwise;                /* each channel has a kernel of its own */
    bool turned;                   /* the result's channels lie side by side */
    const uint16_t *weight, *bias; /* weight (o, i, t) at o * step[0] + i * step[1] + t * step[2] halfs */
    uint32_t step[3];
    const struct cc_table *table; /* or the activation that is joined to the operation, if there is one */
    uint16_t scale;               /* before that table; 0 means 1 */
};
int cc_emit_mac(struct cc_lowering *l, const struct cc_mac *mac);

enum { CC_W, CC_H, CC_C, CC_G };
/* The groups of one piece when groups are cut: a multiple of 32, so that pieces begin on 64-byte boundaries. */
#define CC_GROUPS_CUT (PR_GROUPS_MAX & ~31u)

/*
 * Views: a tensor of four axes, the slowest first, each with a stride in bytes: 2, or a multiple of 64. What the families compose their
 * tasks from.
 */
enum { CC_AXES = 4, CC_ELEMENT = 2 };
enum { CC_AXIS_N, CC_AXIS_C, CC_AXIS_H, CC_AXIS_W };
struct cc_view {
    struct pr_e5_operand at; /* place, index, offset */
    uint32_t extent[CC_AXES], stride[CC_AXES];
};
struct cc_view cc_view_of(const struct pr_e5_operand *at, const struct cc_layout *layout);
int cc_view_source(struct cc_lowering *l, uint32_t value, struct cc_view *view);
int cc_view_result(struct cc_lowering *l, struct cc_view *view);
/* A new intermediate of this shape in the engine's layout. */
int cc_view_scratch(struct cc_lowering *l, const uint32_t extent[CC_AXES], struct cc_view *view);
/* A constant of one element. */
int cc_view_number(struct cc_lowering *l, uint16_t half, struct cc_view *view);
/* The same elements with axis i where axis perm[i] was. */
struct cc_view cc_view_permuted(const struct cc_view *view, const uint32_t perm[CC_AXES]);
bool cc_is_constant(const struct cc_lowering *l, uint32_t value);
bool cc_is_scalar(const struct cc_lowering *l, uint32_t value); /* a constant of one element */

/* What a neural task does to each element on its way: y = relu?(table?(scale * (x + bias))). */
struct cc_pass {
    const struct cc_table *table;
    uint16_t scale, bias; /* a scale of 0 means 1 */
    bool relu;
    uint32_t slice; /* the source's rows begin at this column */
};
/* Copies a view to another of the same extents, whose axes may lie in any order. `pass` may be NULL. */
int cc_move(struct cc_lowering *l, const struct cc_view *from, const struct cc_view *to,
            const struct cc_pass *pass);

/* What the planar engine does: y = final_scale * relu?(scale * compare?(abs?(op(pre_scale * a, b))) + bias). */
struct cc_planar {
    enum pr_pe_op op;
    enum pr_pe_compare compare;
    uint32_t flags;                  /* enum pr_e5_flag */
    uint16_t scale, bias, pre_scale; /* a scale of 0 means 1 */
    float final_scale;               /* the same */
};
/* Of one source, or of two whose axes of length 1 are repeated. W lies side by side in all of them. */
int cc_planar(struct cc_lowering *l, const struct cc_planar *how, const struct cc_view *a,
              const struct cc_view *b, const struct cc_view *to);
/* The largest whole number that is not above x, or (`up`) the smallest that is not below. */
int cc_emit_floor(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y, bool up);
/* A record of equal extents in and out, cut where an axis is longer than the engine takes. */
int cc_emit_cut(struct cc_lowering *l, const struct pr_e5_record *record);

#endif
