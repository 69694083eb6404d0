/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A task: what one descriptor asks the engine to do, decoded from its header and the register image it leaves
 * behind. The engine runs it and `anemone check` judges with it, so both refuse the same things with the same
 * words.
 */
#ifndef PROGRAM_TASK_H
#define PROGRAM_TASK_H

#include "program/td.h"

enum pr_axis { PR_AXIS_W, PR_AXIS_H, PR_AXIS_D, PR_AXIS_C, PR_AXIS_G, PR_AXES };

/* Limits of the M1, from the guide's reject table and the register widths. */
#define PR_WIDTH_MAX         16384u
#define PR_HEIGHT_MAX        16384u
#define PR_DEPTH_MAX         16384u
#define PR_CHANNELS_MAX      65536u
#define PR_GROUPS_MAX        0x1fffu
#define PR_KERNEL_WIDTH_MAX  13u
#define PR_KERNEL_HEIGHT_MAX 29u
#define PR_KERNEL_CHUNK_MAX \
    0x10000u /* kernel bytes per engine and descriptor that Apple's compiler keeps convolutions to */
#define PR_L2_BYTES    0x200000u
#define PR_ENGINES_MAX 16u
#define PR_ROW_ALIGN   64u /* granule of DRAM row tails */
/*
 * Bytes of a source's row that are staged in L2 at a time when ShMin is 0; a shorter row is staged whole.
 * Programs of Apple's compiler then have this SourceChannelStride, or the row rounded up to 16 bytes.
 */
#define PR_STRIP_BYTES 0x100u

/*
 * PixelOffset has a public name and no public meaning. Here it is the column of a source's rows that is read
 * first, and counts only in descriptors that carry this mark in a register that every known program leaves at
 * 0.
 */
#define PR_CHOSEN_MARK 0x414e454du

/* The fields of Common that state extents: of the input, of the output, or of both. */
struct pr_axis_field {
    enum pr_td_field field;
    uint32_t limit; /* 1 to this many */
    enum pr_axis axis;
    bool input, output;
};
#define PR_AXIS_FIELDS 9u
extern const struct pr_axis_field pr_axis_fields[PR_AXIS_FIELDS];

enum pr_unit { PR_UNIT_PE, PR_UNIT_NE };

/* Where a tensor is. A stream goes from one descriptor to the next one and is gone after it (types 3). */
enum pr_home { PR_HOME_NONE, PR_HOME_DRAM, PR_HOME_L2, PR_HOME_STREAM };

/*
 * The type of its elements. Integers are read as the numbers they are, and written rounded and clamped to
 * their range.
 */
enum pr_format { PR_FP16, PR_U8, PR_I8 };
uint32_t pr_format_bytes(enum pr_format format);

/*
 * A tensor. Strides are in bytes; a broadcast axis has stride 0. With an interleave of k, k channels are
 * contiguous: channel c is at c / k * stride[C] + c % k elements, and stride[W] steps over all k. A stream
 * has neither base nor strides.
 */
struct pr_tensor {
    enum pr_home home;
    enum pr_format format;
    uint32_t bar;             /* DRAM: which buffer register its base is relative to */
    uint32_t base;            /* byte offset from that buffer, or address in L2 */
    uint32_t extent[PR_AXES]; /* elements the task touches */
    uint32_t stride[PR_AXES];
    uint32_t interleave; /* 0 and 1: none */
    /* channel and width are exchanged, so the interleave makes columns contiguous, not channels */
    bool transposed;
    bool relu;          /* source: negative elements read as zero */
    bool slice;         /* source: a row is read from an offset inside it (PixelOffset) */
    bool zero_tail;     /* destination: rows are filled with zeros up to PR_ROW_ALIGN */
    bool keep;          /* DRAM tensor that is also left in L2 (types 1) ... */
    uint32_t keep_base; /* ... here, without the axes it is broadcast along */
    uint32_t keep_extent[PR_AXES], keep_stride[PR_AXES];
};

/*
 * AFFINE: (a +- row 0) * row 1, the rows being two of source 2, which has an element per channel and group:
 * its extent is 1, 2, 1, C, G.
 */
enum pr_pe_op { PR_PE_ADD, PR_PE_MUL, PR_PE_MAX, PR_PE_MIN, PR_PE_SQUARE_OF_SUM, PR_PE_AFFINE };
enum pr_pe_reduce { PR_PE_REDUCE_NONE, PR_PE_REDUCE_SUM, PR_PE_REDUCE_MAX, PR_PE_REDUCE_MIN };
/* 1.0 where the elementwise result compares so with 0, else 0.0. */
enum pr_pe_compare { PR_PE_COMPARE_NONE, PR_PE_EQUAL, PR_PE_GREATER, PR_PE_GREATER_EQUAL };
enum pr_pe_function { PR_PE_FUNCTION_NONE, PR_PE_RECIPROCAL, PR_PE_RSQRT };

/*
 * v = compare?(abs?(op(+-pre_scale * a, +-b)))
 * Elementwise: y = final_scale * relu?(scale * v + bias).
 * Reduction:   y = function(final_scale * reduce(v) + epsilon), over W, H and D of each channel and group.
 */
struct pr_pe {
    enum pr_pe_op op;
    enum pr_pe_reduce reduce;
    enum pr_pe_compare compare;
    enum pr_pe_function function;
    bool two_sources;
    bool negate1, negate2; /* subtract that source instead of adding it */
    bool relu, abs;
    uint16_t scale, bias, pre_scale, epsilon; /* fp16 bits */
    uint32_t final_scale;                     /* fp32 bits */
};

/* MAC: sum of products with a kernel. MAX: the largest in the window. PRODUCT: of the channels. */
enum pr_ne_mode { PR_NE_BYPASS, PR_NE_MAC, PR_NE_MAX, PR_NE_PRODUCT };

struct pr_kernel_stream {
    bool enabled;
    uint32_t base, bytes; /* in the kernel buffer */
};

/*
 * y = relu?(table?(post_scale * (mode(...) + bias + acc_bias))).
 * Output column s * ox + j of a row is made from the window of kw + ox - 1 columns that begins at input
 * column s * sx - px, with the j-th of the ox kernels of its channel. A group has its own channels and its
 * own kernel.
 */
struct pr_ne {
    enum pr_ne_mode mode;
    uint32_t kw, kh, px, py, sx, sy;
    uint32_t ox;      /* output columns of one step */
    uint32_t unicast; /* input channels that an output channel has for itself; 0: all see all */
    uint32_t lanes;   /* output channels per engine and pass, before the last passes */
    uint32_t engines; /* neural engines in use */
    bool pad_lowest;  /* MAX: what is outside the input never wins; else it is zero */
    bool ones;        /* the kernel is all ones and has no bytes */
    bool sparse;      /* the streams leave zeros out */
    bool small;       /* SmallSourceMode: sparse streams then count four lanes at least, not two */
    bool palette;     /* ... and every other weight is the first of the 32 values before the records */
    bool reuse;       /* the kernel of group 0 is that of all groups */
    enum pr_format kernel_format;
    bool bias; /* a bias row precedes each plane of weights */
    bool relu;
    bool table;                    /* the streams begin with an activation table */
    uint16_t acc_bias, post_scale; /* fp16 bits */
    uint32_t kernel_bar;
    struct pr_kernel_stream stream[PR_ENGINES_MAX];
};

struct pr_task {
    enum pr_unit unit;
    struct pr_tensor src[2]; /* src[1].home is PR_HOME_NONE when there is one source */
    struct pr_tensor dst;
    struct pr_pe pe;
    struct pr_ne ne;
};

/*
 * Decodes the task of a descriptor that pr_td_read accepted, given the image after pr_td_apply. False, naming
 * descriptor field and value, when something is malformed, contradictory, or not done by this model; tensors
 * whose extents are not 0 are decoded then.
 */
bool pr_task_decode(const struct pr_td *td, const struct pr_image *image, struct pr_task *task,
                    struct pr_problem *problem);

/*
 * The same, leniently: values that no public source explains are reported to `ignore`, and the task is
 * decoded as if the field had its usual value. What contradicts itself, exceeds a limit or was published to
 * hang an M1 still fails, and so does a value without which there is no task (an unknown OpMode). `ignore`
 * NULL: as above.
 */
bool pr_task_decode_lenient(const struct pr_td *td, const struct pr_image *image,
                            const struct pr_ignore *ignore, struct pr_task *task, struct pr_problem *problem);

/* The axis whose elements an interleave makes contiguous. */
static inline enum pr_axis pr_tensor_bundled(const struct pr_tensor *tensor)
{
    return tensor->transposed ? PR_AXIS_W : PR_AXIS_C;
}
/*
 * Bytes from the first to past the last byte the tensor touches, row tails included; 0 when it touches none.
 */
uint64_t pr_tensor_span(const struct pr_tensor *tensor);
/* The same over the copy a source of type 1 leaves in L2. */
uint64_t pr_tensor_keep_span(const struct pr_tensor *tensor);
/* Where the zero fill of a row ends: the next PR_ROW_ALIGN boundary, but not inside the next row. */
uint32_t pr_tensor_tail_end(const struct pr_tensor *tensor);
/*
 * Whether two elements of so many bytes at these strides may share bytes; never false when they do.
 * Interleaved channels are one element, and C counts their bundles. `row` is what a row of W reaches to when
 * it has a tail, else 0.
 */
bool pr_strides_overlap(const uint32_t extent[PR_AXES], const uint32_t stride[PR_AXES], uint32_t element,
                        uint64_t row);
/* The same for the tensor's elements. */
bool pr_tensor_overlaps(const struct pr_tensor *tensor);
/* Elements in the tensor's index space (broadcast axes counted as often as they are read). */
uint64_t pr_tensor_elements(const struct pr_tensor *tensor);
/* Multiply-accumulates, or elements visited for tasks that have none: the task's work. */
uint64_t pr_task_work(const struct pr_task *task);

#endif
