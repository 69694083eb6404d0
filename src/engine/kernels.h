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

/* The rules about infinities in loads, and those of a planar-engine task that reads whole rows. */
#define ENG_RULES_INFINITY (ENG_RULE_NAN_IS_INFINITY | ENG_RULE_FINITE_INFINITY | ENG_RULE_SLICE)
#define ENG_RULES_FINITE   (ENG_RULE_NAN_IS_INFINITY | ENG_RULE_FINITE_INFINITY)

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

/* Rows of fp16 values: packed ones, or one value that is that of the whole row. */
struct eng_band_source {
    const uint8_t *at;
    size_t row; /* bytes from one row to the next */
    bool one;
};

/*
 * A band of rows, every element of which is treated alike. Zeros are stored after each row. A source may be
 * the destination itself, element by element.
 */
struct eng_band {
    struct eng_band_source in[ENG_PE_LINES];
    uint8_t *out;
    size_t out_row; /* bytes */
    size_t n, rows;
    size_t tail; /* bytes of zeros after a row, an even number */
};

/* The planes from which a reduction makes one value per channel. All distances are in bytes. */
struct eng_planes {
    const uint8_t *at[2];
    size_t column[2], row[2], depth[2], channel[2];
    uint32_t columns, rows, depths, channels;
};

/* A reduction takes at most this many channels at a time. */
#define ENG_PLANES_MAX 64u

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

/*
 * A tile: neighbouring outputs of some vectors of channels. The sums are one chain each, as above. Weights
 * are in a panel of fp32: [tap][channel]; the tile's first pixel finds its input for a tap at `in` + offset.
 */
struct eng_tile {
    const float *in; /* the next pixel's input is the next float, */
    size_t jump;     /* and so much further in the second half of an even number of pixels */
    const uint32_t *offset;
    uint32_t taps;
    bool begin; /* sums start at 0, not at what `acc` has */
    const float *panel;
    float *acc; /* [pixel][channel] */
    float ceiling;
};

/*
 * The end of a tile: rows of columns, whose sums follow each other. Either channels or columns are packed in
 * the destination. Distances are in bytes.
 */
struct eng_tile_end {
    const float *acc; /* [pixel][channel] */
    size_t acc_next;  /* floats from pixel to pixel */
    const float *bias;
    uint32_t rows, columns, channels;
    uint8_t *to;
    size_t row, column, channel;
    size_t tail; /* bytes of zeros after each row of packed columns, an even number */
};

struct eng_kernels {
    unsigned lanes;        /* floats in a vector: 4, 8 or 16 */
    unsigned panel;        /* maximum number of output channels in mac_columns, a power of two */
    unsigned columns;      /* maximum number of vectors in mac_columns */
    unsigned tile_vectors; /* maximum number of vectors of channels in a tile, */
    unsigned tile_pixels;  /* and of pixels: even, at most 16 */
    /*
     * A fused multiply-add detects the ceiling at no cost: with inputs times 2^112 and weights times 2, a
     * partial sum that reaches 2^15 is one that overflows fp32, and no other result changes, because the
     * factors are powers of two and no value underflows. Kernels without one compare.
     */
    bool scaled;

    void (*to_float)(const uint8_t *fp16, float *floats, size_t n, const struct eng_load *load);
    void (*to_half)(const float *floats, uint8_t *fp16, size_t n, unsigned rules);
    /*
     * Converts rows of n fp16 values, from_stride bytes apart, to rows to_stride floats apart.
     */
    void (*rows_to_float)(const uint8_t *from, size_t from_stride, float *to, size_t to_stride, size_t rows,
                          size_t n, const struct eng_load *load);
    bool (*all_finite)(const float *floats, size_t n);
    /* Source 1, and source 2 if there is one; AFFINE takes rows 0 and 1 of source 2. */
    void (*pe_band)(const struct eng_band *band, const struct eng_pe_constants *constants);
    /* A bypass: every element of the band's only source is finished. */
    void (*finish_band)(const struct eng_band *band, const struct eng_load *load,
                        const struct eng_finish *finish);
    /* Element c of row r goes to element r of row c; rows are from_row and to_row bytes apart. */
    void (*transpose)(const uint8_t *from, size_t from_row, uint8_t *to, size_t to_row, size_t rows,
                      size_t columns);
    /*
     * Reductions of whole planes, before the function: of planes with packed columns whose second source is
     * packed too or constant; and of any planes, at most ENG_PLANES_MAX.
     */
    void (*pe_planes)(const struct eng_planes *planes, float *y, const struct eng_pe_constants *constants);
    void (*pe_across)(const struct eng_planes *planes, float *y, const struct eng_pe_constants *constants);
    /* Elements at a distance of `step` bytes, each with `tail` bytes of zeros after it. */
    void (*to_half_steps)(const float *floats, uint8_t *fp16, size_t step, size_t n, size_t tail,
                          unsigned rules);
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
    void (*mac_tile)(const struct eng_tile *tile, unsigned vectors, unsigned pixels);
    /* Sums and biases are read in whole vectors. */
    void (*finish_tile)(const struct eng_tile_end *end, const struct eng_finish *finish);
    /*
     * n columns, a multiple of `lanes`, take in one element for each tap: the larger, or the product. Taps
     * are `tap` floats apart.
     */
    void (*fold_columns)(float *acc, const float *in, size_t tap, uint32_t taps, size_t n, bool product);
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
