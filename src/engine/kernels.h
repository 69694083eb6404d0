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

/* Beside the rules of a store: no value is a NaN. */
#define ENG_STORE_NUMBER 256u

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

/*
 * For the sets that are compiled from the same loops as the portable one: sanitizers watch that one alone,
 * because such files take minutes to compile with them.
 */
#define ENG_UNSANITIZED \
    __attribute__((no_sanitize("address"), no_sanitize("undefined"), no_sanitize("thread")))

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
    bool stream; /* the result is too large for any cache */
};

/*
 * A copy of rows of columns whose rows are the source's columns: element c of row r goes to element r of row
 * c. Distances are in bytes. Zeros are stored after each row of the result.
 */
enum eng_turn_way {
    ENG_TURN_NEAR,   /* both sides are in the nearest caches */
    ENG_TURN_FAR,    /* they are not */
    ENG_TURN_STREAM, /* and the result is too large for any */
};

struct eng_turn {
    const uint8_t *from;
    uint8_t *to;
    size_t from_row, to_row;
    size_t rows, columns; /* of the source */
    size_t tail;          /* bytes of zeros after a row of the result, an even number */
    enum eng_turn_way way;
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

/* -0, which changes no value. */
static inline bool eng_is_no_addend(float value)
{
    return value == 0 && __builtin_signbit(value);
}

/* Before a table or ReLU, a value keeps its bits, except by the rules on NaN, zero and slices. */
static inline bool eng_finish_is_identity(const struct eng_load *load, const struct eng_finish *f)
{
    const unsigned loads = ENG_RULE_NAN_IS_INFINITY | ENG_RULE_SLICE;
    const unsigned stores = ENG_RULE_NAN_IS_ZERO | ENG_RULE_NO_MINUS_ZERO;

    return f->unscale == 1 && eng_is_no_addend(f->bias) && eng_is_no_addend(f->acc_bias) &&
           f->post_scale == 1 && load->scale == 1 && !(load->rules & ~loads) && !(f->store & ~stores);
}

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
    bool begin;                  /* sums start at 0, not at what `acc` has */
    float *acc;
    size_t acc_channel; /* from one output channel to the next, in mac_columns */
    size_t acc_next;    /* as in_next */
    float ceiling;      /* kernels that do not scale: a partial sum that reaches it becomes infinite */
};

/* Rows of sums and where they go. Distances are in floats and in bytes. */
struct eng_rows {
    const float *acc;
    size_t acc_row;
    uint8_t *to;
    size_t to_row;
    size_t rows, n;
    size_t tail; /* bytes of zeros after each row, an even number */
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

#define ENG_STRIP_MORE 2u /* outputs after a strip that may be summed with it */

/*
 * A strip: neighbouring outputs of some channels, whole vectors of them, from the first product to the stored
 * value. Weights and offsets are as in a tile; the next output's input is the next float. One or two outputs
 * that follow are summed with them; the caller finishes those.
 */
struct eng_strip {
    const float *in;
    const uint32_t *offset;
    uint32_t taps;
    const float *panel;
    size_t panel_row;  /* floats from tap to tap: at least the channels, rounded up to whole vectors */
    const float *bias; /* of each channel */
    uint32_t channels, n;
    uint8_t *to;    /* packed fp16 */
    size_t channel; /* bytes from one channel's outputs to the next one's */
    float ceiling;
    uint32_t more; /* outputs after the last whole vector whose sums are made too, at most ENG_STRIP_MORE */
    float *sums;   /* of these: [output][channel], panel_row apart */
};

/* Rows of fp16 values that follow each other, and where they go. Distances are in bytes. */
struct eng_split_rows {
    const uint8_t *from;
    size_t from_channel;
    uint8_t *to;
    size_t to_row, to_channel;
    uint32_t rows, channels, n;
    size_t tail; /* bytes of zeros after each row, an even number */
};

/*
 * Rows of some channels, whose n elements (every one, or every second) become floats that follow each other.
 * Distances of fp16 are in bytes.
 */
struct eng_packed_rows {
    const uint8_t *from;
    size_t row, channel;
    uint32_t rows, channels, n;
    unsigned step; /* 1 or 2 */
    float *to;
    size_t to_channel;
};

/* Rows of n elements: those at even places and those at odd ones. */
struct eng_unzipped_rows {
    const uint8_t *from;
    size_t row;
    uint32_t rows, n;
    float *even, *odd;
    size_t to_row;
};

/*
 * Weights in runs, as in struct eng_gemv, whose rows become rows of whole vectors that follow each other: for
 * each input channel those of its taps.
 */
struct eng_runs {
    const uint8_t *const *run;
    unsigned lanes, vectors;
    const uint32_t *tap; /* bytes from a channel's first row */
    uint32_t taps, channels;
    size_t channel; /* bytes */
    float *to;
};

/*
 * Winograd's F(2x2, 3x3): a tile is 4x4 inputs and 2x2 outputs. Inputs, weights and sums have 16 transform
 * elements, each in a plane of its own: [input channel][tile], [input channel][output channel of a group],
 * [output channel][tile]. The tiles of a block are numbered row by row. Inputs and weights are finite, and
 * their denormals are 0. Distances are in floats, those of fp16 rows in bytes.
 */
#define ENG_WINOGRAD_GROUP 16u /* output channels in a plane of weights, a multiple of every `lanes` */
#define ENG_WINOGRAD_TILES 64u /* maximum number of tiles in a row of a block, a multiple too */

/*
 * The weights of a group, in runs of fp16 values that follow each other: 9 rows for each input channel,
 * `stride` bytes apart. Where a vector has all output channels of a group, the products with a single tile
 * may be made at once: it costs less than to load the transformed weights again.
 */
#define ENG_WINOGRAD_RUN 4u /* the shortest run */
struct eng_winograd_weights {
    const uint8_t *run[ENG_WINOGRAD_GROUP / ENG_WINOGRAD_RUN];
    unsigned lanes; /* of a run: 4, 8 or 16 */
    size_t stride;
    uint32_t channels;
    float *to;
    size_t plane;
    const float *tile; /* 16 elements for each input channel; or NULL */
    float *sums;       /* [element][output channel], which go on */
};

/* Channels of a block's input. */
struct eng_winograd_input {
    const uint8_t *fp16;
    size_t stride, channel_stride;
    uint32_t channels;
    uint32_t above, lines; /* rows of zeros before the input's rows, input rows; then zeros again */
    uint32_t before, n;    /* the same along W */
    bool relu;
    uint32_t columns, rows; /* tiles */
    float *to;
    size_t to_stride, plane; /* from channel to channel, from transform element to transform element */
};

/* The products of a block for a group of output channels. */
struct eng_winograd_products {
    const float *u, *v; /* weights, inputs */
    float *m;           /* sums */
    size_t u_plane, v_plane, m_plane;
    size_t v_stride, m_stride; /* of rows; those of m have room for whole vectors */
    uint32_t tiles;
    uint32_t channels;
    uint32_t outputs; /* at most ENG_WINOGRAD_GROUP; the others may be written too */
};

/* One channel of a block's output. Reads whole vectors of sums. */
struct eng_winograd_output {
    const float *m;
    size_t plane;
    uint32_t columns, rows; /* elements, not tiles */
    uint8_t *fp16;
    size_t stride;
    size_t tail; /* bytes of zeros after each row, an even number */
    const struct eng_finish *finish;
};

#define ENG_EXACT_GROUP 4u /* lanes that exact.h sums before they meet the accumulator */
/* The least product of the operands' powers of two that exact.h does not lose, with weights times 2^17. */
#define ENG_EXACT_LEAST 2

#define ENG_EXACT_VECTORS 4u
#define ENG_EXACT_LOSSY   16u /* more than there are lanes in a group */

/* An element, and the row of its weights. */
struct eng_exact_tap {
    float x;
    uint32_t row;
};

/*
 * Groups of taps, without those whose element is 0: by the number of taps that are left, less 1, and by
 * whether products may be lost to the least product.
 */
struct eng_exact_taps {
    struct eng_exact_tap *tap[2][ENG_EXACT_GROUP];
    uint32_t groups[2][ENG_EXACT_GROUP];
};

/* Windows that have loops of their own: as wide as high, with equal steps. */
enum eng_window_form {
    ENG_WINDOW_NONE,
    ENG_WINDOW_3, /* sums of products */
    ENG_WINDOW_3_STEP_2,
    ENG_WINDOW_MAX, /* the largest element of 2x2 or 3x3, with steps of 2 */
};
#define ENG_WINDOW_TAPS 9u /* of the largest */

/*
 * Channels of a task whose output channels have an input channel each, with the rules of m1. Surfaces are
 * packed fp16. A maximum ends with a ReLU or as it is.
 */
struct eng_window {
    enum eng_window_form form;
    uint32_t channels;
    const uint8_t *in;
    size_t in_channel, in_row; /* bytes */
    uint32_t hin, win, px, py;
    uint8_t *out;
    size_t out_channel, out_row;
    uint32_t hout, wout;
    uint32_t tail;       /* elements of an output row from wout to this one become zeros */
    const float *weight; /* of sums: [tap][channel], */
    size_t weight_tap;   /* floats from tap to tap */
    const float *bias;   /* of sums, for each channel */
    float ceiling;       /* as in struct eng_mac */
    uint16_t high;       /* of sums: the upper end of a clamp, as fp16 */
    unsigned side;       /* of the window of a maximum: 2 or 3, */
    bool lowest;         /* and whether elements outside the input are left out and not 0 */
    struct eng_finish finish;
};

/*
 * Sums of products of a kernel of one tap, with the rules of m1, for few pixels: in one chain over the input
 * channels. Weights are fp16, a row for each input channel; a vector of them is one run of all its lanes, or
 * several runs of fewer.
 */
struct eng_gemv {
    const uint8_t *const *run;
    const uint8_t *const *next; /* runs that are likely to be read after these, as many; or NULL */
    size_t stride;              /* bytes from row to row, in every run */
    unsigned lanes;             /* of a run: a power of two from 4 to that of the kernels */
    unsigned vectors;           /* 1, 2, or 4 if gemv_vectors is */
    unsigned pixels;            /* 1, 2 or 4 */
    uint32_t channels;
    const float *in; /* [channel][pixel], scaled as inputs and weights together are */
    float *acc;      /* [pixel][vector][lane] */
    float ceiling;   /* as in struct eng_mac */
};
#define ENG_GEMV_PIXELS 4u

struct eng_kernels {
    unsigned lanes;          /* floats in a vector: 4, 8 or 16 */
    unsigned panel;          /* maximum number of output channels in mac_columns, a power of two */
    unsigned columns;        /* maximum number of vectors in mac_columns */
    unsigned tile_vectors;   /* maximum number of vectors of channels in a tile, */
    unsigned tile_pixels;    /* and of pixels: even, at most 16 */
    unsigned strip_channels; /* channels that the outputs after a strip are made for at a time */
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
    /* A bypass without a table that eng_finish_is_identity, and whose rows are the source's columns. */
    void (*turn)(const struct eng_turn *turn, const struct eng_load *load, const struct eng_finish *finish);
    /* Element c of row r goes to element r of row c; rows are from_row and to_row bytes apart. */
    void (*transpose)(const uint8_t *from, size_t from_row, uint8_t *to, size_t to_row, size_t rows,
                      size_t columns);
    /*
     * Reductions of whole planes, all but the function: of planes with packed columns whose second source is
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
    void (*finish_rows)(const struct eng_rows *rows, const struct eng_finish *finish);
    /*
     * `vectors` vectors of columns of `group` output channels; the panel has exactly that many, a power of
     * two.
     */
    void (*mac_columns)(const struct eng_mac *mac, unsigned group, unsigned vectors);
    void (*mac_tile)(const struct eng_tile *tile, unsigned vectors, unsigned pixels);
    /* Sums and biases are read in whole vectors. */
    void (*finish_tile)(const struct eng_tile_end *end, const struct eng_finish *finish);
    /* Outputs after the last whole vector are left out. */
    void (*strip)(const struct eng_strip *strip, const struct eng_finish *finish);
    /* Up to a vector of fp16 values after a channel's last row is read. */
    void (*split_rows)(const struct eng_split_rows *rows);
    /* Rows and channels are written in rising order, and up to a vector after the last float. */
    void (*pack_rows)(const struct eng_packed_rows *rows, const struct eng_load *load);
    void (*unzip_rows)(const struct eng_unzipped_rows *rows, const struct eng_load *load);
    void (*runs_to_float)(const struct eng_runs *runs, const struct eng_load *load);
    /*
     * n columns, a multiple of `lanes`, take in one element for each tap: the larger, or the product. Taps
     * are `tap` floats apart.
     */
    void (*fold_columns)(float *acc, const float *in, size_t tap, uint32_t taps, size_t n, bool product);

    /*
     * The largest magnitude in rows of n fp16 values, `stride` bytes apart, as bits: 0x7c00 is infinity, and
     * a NaN is above it.
     */
    uint32_t (*largest)(const uint8_t *fp16, size_t stride, size_t rows, size_t n);
    /* Of n columns of fp16 values, rows `stride` bytes apart: sums of magnitudes, in the order of rows. */
    void (*magnitude_sums)(const uint8_t *from, size_t stride, size_t rows, size_t n, float *sums,
                           const struct eng_load *load);
    void (*winograd_weights)(const struct eng_winograd_weights *weights);
    void (*winograd_input)(const struct eng_winograd_input *in);
    void (*winograd_products)(const struct eng_winograd_products *products);
    void (*winograd_output)(const struct eng_winograd_output *out);
    /*
     * Sums as exact.h makes them, in units of 2^-17, of finite operands; weights are times 2^17.
     * exact_channels: one pixel, `vectors` (at most ENG_EXACT_VECTORS) times `lanes` channels. It goes on
     * with the sums that it is given, and with the largest magnitude that each has had. A sum is right while
     * that is below 2^23 and the magnitudes of every group's products together are, and while groups in any
     * order cannot reach the ceiling.
     * exact_own: `lanes` channels, each with its own elements and weights: x[i * lanes + channel]. `taps` is
     * a multiple of ENG_EXACT_GROUP: an x of 0 fills the last group up and changes nothing. A mark that is
     * not 0 says that the sum beside it must be made by exact.h.
     * exact_weights: for rows of `vectors` times `lanes` channels, `lanes` magnitudes for each row: those of
     * the least weight that is not 0 and of the largest, or what was there if that is less, and more.
     * exact_kinds: for n elements, a multiple of 16, with the least and the largest weight of each: 0 for an
     * element of 0, else 1, and ENG_EXACT_LOSSY more where a product may be lost to the least product.
     * Returns the largest magnitude of a product.
     */
    void (*exact_channels)(const struct eng_exact_taps *taps, const float *weights, unsigned vectors,
                           float *sums, float *peaks);
    void (*exact_own)(const float *x, const float *weights, size_t taps, float *sums, float *marks);
    void (*exact_weights)(const float *weights, size_t rows, unsigned vectors, float *least, float *most);
    float (*exact_kinds)(const float *x, const float *least, const float *most, size_t n, float *kinds);
    void (*window)(const struct eng_window *window);
    void (*pool)(const struct eng_window *window);
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
