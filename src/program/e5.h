/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bundle's main.e5: a FlatBuffer (schema: schemas/e5.fbs) that holds, for each function, its ports, its
 * casts and inference operations, and one parametric record of fixed size per descriptor. Sizes do not grow
 * with tensors. Reading is freestanding: the driver does it on a copy of the client's bytes.
 */
#ifndef PROGRAM_E5_H
#define PROGRAM_E5_H

#include "program/hwx.h"
#include "protocol/problem.h"
#include "program/task.h"

#define PR_E5_FORMAT_VERSION 4u
#define PR_E5_RECORDS_MAX    10240u /* descriptors of one program, as the largest known */
#define PR_E5_RANK_MAX       5u
#define PR_E5_PORTS_MAX      256u /* chosen: streaming models have about 100 */
#define PR_E5_PORT_BAR       4u   /* ports have the buffers from 4 to 31 */
#define PR_E5_PORT_BUFFERS   (PR_TQ_BARS - PR_E5_PORT_BAR)
#define PR_E5_BYTES_MAX      0x40000000u /* of a tensor, the intermediates, the constants; chosen */
#define PR_E5_NAME_BYTES     128u

/*
 * Where an operand of a record is. In L2 it is read and written without DMA: what a record leaves there is
 * there until the end of the request, or until another record writes over it.
 */
enum pr_e5_place { PR_E5_NONE, PR_E5_PORT, PR_E5_INTERMEDIATE, PR_E5_CONSTANT, PR_E5_L2 };
#define PR_E5_L2_ALIGN   16u
#define PR_E5_L2_STAGING 0x40000u /* from address 0: for operands that pass by DMA, not for results; chosen */

struct pr_e5_operand {
    uint32_t place;                    /* enum pr_e5_place */
    uint32_t index;                    /* PORT: which */
    uint32_t offset;                   /* bytes; L2: the address */
    uint32_t row, plane, depth, group; /* strides, bytes, multiples of 64; L2: of PR_E5_L2_ALIGN */
};

/* One descriptor. 256 bytes, little-endian, zeros where unused. */
struct pr_e5_record {
    uint32_t kind;          /* enum pr_e5_kind */
    uint32_t flags;         /* enum pr_e5_flag */
    uint32_t in[4], out[4]; /* W, H, C, groups */
    struct pr_e5_operand src[2], dst;
    uint16_t scale, bias, pre_scale, post_scale, acc_bias, epsilon; /* fp16 */
    uint32_t final_scale;                                           /* fp32 */
    uint32_t op;        /* enum pr_pe_op; of the reductions enum pr_pe_reduce */
    uint32_t broadcast; /* Src1WHDC | Src2WHDC << 4 */
    uint32_t kw, kh, px, py;
    uint32_t lanes_log2, engines_log2;
    /*
     * Offset of engine 0's stream; the others follow, kernel_bytes apart. A table without a kernel is one
     * stream of PR_TABLE_BYTES that all engines read.
     */
    uint32_t kernel;
    uint32_t kernel_bytes; /* of each */
    uint32_t depth;  /* axis D of the source, and of the result unless the record is a reduction; 0 means 1 */
    uint32_t sx, sy; /* steps of the window; 0 means 1 */
    uint32_t unicast; /* CONV, MAX, PRODUCT: input channels that an output channel has for itself; 0: all */
    uint32_t kernel_place, kernel_index; /* enum pr_e5_place; PR_E5_NONE: constants, else made at run time */
    uint32_t slice;                      /* the column at which the rows of source 1 begin */
    uint32_t interleave;                 /* contiguous channels of the result; 0 means 1 */
    uint32_t elementwise;                /* of the reductions: enum pr_pe_op, done before */
    uint32_t function;                   /* of the reductions: enum pr_pe_function, done after */
    uint32_t compare;                    /* enum pr_pe_compare */
    uint32_t zero[8];
};
#define PR_E5_RECORD_BYTES 256u
_Static_assert(sizeof(struct pr_e5_record) == PR_E5_RECORD_BYTES, "a record is 256 bytes");

enum pr_e5_kind {
    PR_E5_ELEMENTWISE1 = 1,
    PR_E5_ELEMENTWISE2,
    PR_E5_REDUCE,
    PR_E5_BYPASS,
    PR_E5_CONV,
    PR_E5_MAX,     /* the largest of a window */
    PR_E5_PRODUCT, /* of the channels that an output channel has */
    PR_E5_REDUCE2, /* of what an operation makes of two sources */
    PR_E5_AFFINE,  /* source 2 has two rows: what is added, and the factor */
};
enum pr_e5_flag {
    PR_E5_RELU = 1,
    PR_E5_BIAS = 2,          /* a bias row precedes each plane of weights */
    PR_E5_OUT_TRANSPOSE = 4, /* channel and width change places in the result */
    PR_E5_SUBTRACT2 = 8,
    PR_E5_SUBTRACT1 = 16,
    PR_E5_TABLE = 32,       /* the streams begin with an activation table */
    PR_E5_ONES = 64,        /* CONV: the kernel is all ones and has no bytes */
    PR_E5_ABS = 128,        /* planar: the magnitude of the elementwise result */
    PR_E5_TRANSPOSE1 = 256, /* planar: channel and width change places in source 1, in source 2 */
    PR_E5_TRANSPOSE2 = 512,
    PR_E5_SPARSE = 1024, /* CONV: the streams leave zeros out */
};

/* A port: the model's name and type, and the engine's layout of it. */
struct pr_e5_port {
    char name[PR_E5_NAME_BYTES];
    enum pr_hwx_direction direction;
    uint32_t type;                      /* the model's: 0 fp16, 1 fp32 (enum cc_type) */
    uint32_t rank, dim[PR_E5_RANK_MAX]; /* the model's shape */
    uint32_t n, c, h, w;                /* as the engine sees it */
    uint32_t bytes, plane, row;         /* engine layout; batch stride = c * plane */
    uint32_t bar, offset; /* its buffer, and where it begins there: not in the file, see pr_e5_place */
    bool packed;          /* the buffer has other ports too */
};

/* A function that has been read. Pointers go into the caller's bytes. */
struct pr_e5 {
    char function[PR_E5_NAME_BYTES];
    uint32_t ports;
    struct pr_e5_port port[PR_E5_PORTS_MAX];
    uint32_t records;
    const uint8_t *record; /* records * PR_E5_RECORD_BYTES, no alignment */
    uint32_t intermediate_bytes;
    uint32_t constant_bytes; /* what weights.bin must hold */
};

/* Checks every offset, table, vector and value; false with a sentence. No byte outside is touched. */
bool pr_e5_read(const void *bytes, size_t size, struct pr_e5 *e5, struct pr_problem *problem);

/* Record `index`, a copy. */
void pr_e5_record(const struct pr_e5 *e5, uint32_t index, struct pr_e5_record *record);

/*
 * Expands the records into a descriptor stream (0x100-aligned, chained) and returns its size; 0 with a
 * problem when a record is refused. Descriptors that do not fit the capacity are checked and not written.
 * Ports get the buffers of pr_e5_place, intermediates 3, constants 1. Each task
 * is decoded back and compared with the record: a record that would not pass the engine's own checks, or
 * touches bytes outside its buffers, is refused.
 */
size_t pr_e5_expand(const struct pr_e5 *e5, void *text, size_t capacity, uint32_t *first_words,
                    struct pr_problem *problem);
/* The size of that stream, whether or not its records are accepted. */
size_t pr_e5_text_bytes(const struct pr_e5 *e5);
/*
 * Gives every port its buffer: buffers 4 to 31, outputs first, then inputs, each in port order. Where there
 * are more ports than buffers, outputs and inputs have half of the buffers each, or what the other direction
 * leaves; the last buffer of a direction then has all the ports that are left, one after the other (chosen).
 * False with a problem when that buffer would have more than PR_E5_BYTES_MAX. pr_e5_read has done it.
 */
bool pr_e5_place(struct pr_e5 *e5, struct pr_problem *problem);
/* The buffers of a direction: what a request binds. */
uint32_t pr_e5_buffers(const struct pr_e5 *e5, enum pr_hwx_direction direction);
/*
 * The scalar constants of every record (scale to final_scale), one after the other: PR_E5_SCALARS_BYTES each.
 * The descriptors carry the same values; an image has them as its constants (chosen).
 */
#define PR_E5_SCALARS_BYTES 16u
void pr_e5_scalars(const struct pr_e5 *e5, void *bytes);
/*
 * The surfaces as program images state them, for pr_hwx_write: one per buffer, inputs and outputs in the
 * order of the ports. A buffer of several ports is one row. Returns their number; `ports` has room for
 * PR_E5_PORT_BUFFERS.
 */
uint32_t pr_e5_image_ports(const struct pr_e5 *e5, struct pr_hwx_port *ports);

#endif
