/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops of the fast path. kernels_body.h has them once; kernels_portable.c, kernels_neon.c,
 * kernels_avx2.c and kernels_avx512.c compile it with a vector of 4, 8 or 16 floats. All of them vectorise
 * over outputs and none over a sum, so their results are the same.
 */
#ifndef ENGINE_KERNELS_H
#define ENGINE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/numerics.h"
#include "engine/table.h"
#include "program/task.h"

/* The constants of a planar-engine task, ready for arithmetic. */
struct eng_pe_constants {
    enum pr_pe_op op;
    enum pr_pe_reduce reduce;
    enum pr_pe_compare compare;
    enum pr_pe_function function;
    bool two;         /* sources */
    float pre, sign2; /* factors of the sources; a subtraction is in the sign */
    float scale, bias, final, epsilon;
    bool abs, relu;
    struct eng_load load[2];
    unsigned store; /* rules */
};

/* Maximum number of lines from which a planar-engine task computes a result. */
#define ENG_PE_LINES 3u

/* Reductions run in this many lanes, element w in lane w mod ENG_LANES, whatever the vector's length. */
#define ENG_LANES 16u

/*
 * The end of a neural-engine task: y = f((sum * unscale + bias + acc_bias) * post_scale), where f is a table,
 * or ReLU, or the identity. With a table, ceiling and denormals of a multiply-accumulate belong to the value
 * that enters the table, not to the one that is stored.
 */
struct eng_finish {
    float unscale; /* a power of two */
    float bias;    /* of all elements, when the pointer below is NULL */
    float acc_bias, post_scale;
    bool relu;                     /* without a table */
    const struct eng_table *table; /* NULL: none */
    unsigned enter; /* rules (ceiling, indeterminate forms) of the value that enters the table */
    unsigned store; /* rules */
};

/*
 * Products are summed in one chain per output: for each input channel, for each kernel row, for each kernel
 * column. Weights are in a panel of fp32: [channel][kernel row][kernel column][output channel]. Input is
 * fp32; all distances are in floats.
 */
struct eng_mac {
    const float *in; /* the input under kernel row ky0 and column 0, for the first output */
    size_t in_channel, in_row, in_tap;
    size_t in_next; /* from one vector of columns (or pixel) to the next */
    const float *panel;
    uint32_t channels;           /* input channels */
    uint32_t kh, kw;             /* the panel's kernel ... */
    uint32_t ky0, ky1, kx0, kx1; /* ... and the part of it that is used */
    float *acc;
    size_t acc_channel; /* from one output channel to the next, in mac_columns */
    size_t acc_next;    /* as in_next */
    float ceiling;      /* kernels that do not scale: a partial sum that reaches it becomes infinite */
};

/* Windows that have loops of their own: as wide as high, with equal steps. */
enum eng_window_form {
    ENG_WINDOW_NONE,
    ENG_WINDOW_3, /* sums of products */
    ENG_WINDOW_3_STEP_2,
    ENG_WINDOW_MAX_2_STEP_2, /* the largest element */
    ENG_WINDOW_MAX_3_STEP_2,
};
#define ENG_WINDOW_TAPS 9u /* of the largest */

/*
 * One channel of a task whose output channels have an input channel each, with the rules of m1. Surfaces are
 * packed fp16. Outside the input every element is `outside`; sums of products leave such rows out.
 */
struct eng_window {
    enum eng_window_form form;
    const uint8_t *in;
    size_t in_row; /* bytes */
    uint32_t hin, win, px, py;
    uint8_t *out;
    size_t out_row;
    uint32_t hout, wout;
    uint32_t tail; /* elements of an output row from wout to this one become zeros */
    _Alignas(64) float weight[ENG_WINDOW_TAPS][ENG_LANES]; /* the same in all lanes */
    float ceiling;                                         /* as in struct eng_mac */
    float outside;
    struct eng_finish finish;
};

/*
 * Sums of products of a kernel of one tap, with the rules of m1, for few pixels: in one chain over the input
 * channels. Weights are fp16, a row for each input channel; a vector of them is one run of all its lanes, or
 * several runs of fewer.
 */
struct eng_gemv {
    const uint8_t *const *run;
    size_t stride;    /* bytes from row to row, in every run */
    unsigned lanes;   /* of a run: a power of two from 4 to that of the kernels */
    unsigned vectors; /* 1, 2, or 4 if gemv_vectors is */
    unsigned pixels;  /* 1, 2 or 4 */
    uint32_t channels;
    const float *in; /* [channel][pixel], scaled as inputs and weights together are */
    float *acc;      /* [pixel][vector][lane] */
    float ceiling;   /* as in struct eng_mac */
};
#define ENG_GEMV_PIXELS 4u

struct eng_kernels {
    unsigned lanes;      /* floats in a vector: 4, 8 or 16 */
    unsigned panel;      /* maximum number of output channels in mac_columns, a power of two */
    unsigned columns;    /* maximum number of vectors in mac_columns */
    unsigned wide_panel; /* maximum number of output channels in mac_channels, a power of two */
    unsigned pixels;     /* maximum number of pixels in mac_channels, a power of two */
    unsigned gemv_vectors;
    /*
     * A fused multiply-add detects the ceiling at no cost: with inputs times 2^112 and weights times 2, a
     * partial sum that reaches 2^15 is one that overflows fp32, and no other result changes, because the
     * factors are powers of two and no value underflows. Kernels without one compare.
     */
    bool scaled;

    void (*to_float)(const uint8_t *fp16, float *floats, size_t n, const struct eng_load *load);
    void (*to_half)(const float *floats, uint8_t *fp16, size_t n, unsigned rules);
    /*
     * Converts rows of n fp16 values, n a multiple of `lanes`, from_stride bytes apart, to rows to_stride
     * floats apart.
     */
    void (*rows_to_float)(const uint8_t *from, size_t from_stride, float *to, size_t to_stride, size_t rows,
                          size_t n, const struct eng_load *load);
    bool (*all_finite)(const float *floats, size_t n);
    /* The fp16 values of source 1, and of source 2 if there is one; AFFINE takes rows 0 and 1 of source 2. */
    void (*pe_line)(const uint8_t *const in[ENG_PE_LINES], uint8_t *y, size_t n,
                    const struct eng_pe_constants *constants);
    /* Accumulates n elements into the lanes; the first one belongs to lane 0. */
    void (*pe_reduce)(float lanes[ENG_LANES], const uint8_t *const in[ENG_PE_LINES], size_t n,
                      const struct eng_pe_constants *constants);
    void (*finish)(const float *acc, const float *bias, uint8_t *y, size_t n,
                   const struct eng_finish *finish);
    /*
     * `vectors` vectors of columns of `group` output channels; the panel has exactly that many, a power of
     * two.
     */
    void (*mac_columns)(const struct eng_mac *mac, unsigned group, unsigned vectors);
    /*
     * `pixels` outputs, a power of two, of `group` channels; the panel has exactly that many, `lanes` times a
     * power of two.
     */
    void (*mac_channels)(const struct eng_mac *mac, unsigned group, unsigned pixels);
    /*
     * n columns, a multiple of `lanes`, take in one element for each tap: the larger, or the product. Taps
     * are `tap` floats apart.
     */
    void (*fold_columns)(float *acc, const float *in, size_t tap, uint32_t taps, size_t n, bool product);
    void (*window)(const struct eng_window *window);
    void (*gemv)(const struct eng_gemv *gemv);
};

#define ENG_SCALE_INPUT  0x1p112f
#define ENG_SCALE_WEIGHT 2.0f
#define ENG_UNSCALE      0x1p-113f

extern const struct eng_kernels eng_kernels_portable;
#if defined(__x86_64__)
extern const struct eng_kernels eng_kernels_avx2, eng_kernels_avx512;
#elif defined(__aarch64__)
extern const struct eng_kernels eng_kernels_neon;
#endif

/* Those of eng_isa_get. */
const struct eng_kernels *eng_kernels_get(void);

#endif
