/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor as the kernels see it. A line is used in place where its elements are packed fp16 in host memory;
 * any other line goes through the caller's buffer.
 */
#include "engine/view.h"

#include <string.h>

#include "engine/half.h"
#include "engine/numerics.h"
#include "protocol/half.h"

enum { HALF = 2 };

static bool is_interleaved(const struct eng_view *view)
{
    return view->interleave > 1;
}

static uint32_t bundle_of(const struct eng_view *view)
{
    return is_interleaved(view) ? view->interleave : 1;
}

static void view_of_tensor(struct eng_view *view, const struct pr_tensor *tensor)
{
    uint32_t row;

    /* Field by field: a block fill costs more than all of them. */
    view->host = NULL;
    view->range.domain = NULL;
    view->range.iova = view->range.bytes = view->origin = 0;
    view->range.host = NULL;
    view->tail_begin = view->tail = 0;
    memcpy(view->extent, tensor->extent, sizeof(view->extent));
    memcpy(view->stride, tensor->stride, sizeof(view->stride));
    view->format = tensor->format;
    view->interleave = tensor->interleave;
    view->bundled = pr_tensor_bundled(tensor);
    view->relu = tensor->relu;
    view->slice = tensor->slice;
    if (tensor->zero_tail && !tensor->transposed &&
        tensor->stride[PR_AXIS_W] == bundle_of(view) * pr_format_bytes(view->format)) {
        row = tensor->extent[PR_AXIS_W] * tensor->stride[PR_AXIS_W];
        if (pr_tensor_tail_end(tensor) > row) {
            view->tail_begin = row;
            view->tail = pr_tensor_tail_end(tensor);
        }
    }
}

void eng_view_of_host(struct eng_view *view, const struct pr_tensor *tensor, uint8_t *base)
{
    view_of_tensor(view, tensor);
    view->host = base;
}

void eng_view_of_range(struct eng_view *view, const struct pr_tensor *tensor, const struct dart_range *range)
{
    view_of_tensor(view, tensor);
    view->host = range->host;
    view->range = *range;
}

static void move(struct eng_view *view, uint64_t bytes)
{
    if (view->host)
        view->host += bytes;
    else
        view->origin += bytes;
}

struct eng_view eng_view_group(const struct eng_view *view, uint32_t group)
{
    struct eng_view part = *view;

    part.extent[PR_AXIS_G] = 1;
    move(&part, (uint64_t)group * view->stride[PR_AXIS_G]);
    return part;
}

struct eng_view eng_view_columns(const struct eng_view *view, uint32_t first, uint32_t step)
{
    struct eng_view part = *view;
    uint32_t all = view->extent[PR_AXIS_W];
    uint64_t skipped = (uint64_t)first * view->stride[PR_AXIS_W];

    part.extent[PR_AXIS_W] = all > first ? (all - first + step - 1) / step : 0;
    part.stride[PR_AXIS_W] *= step;
    move(&part, skipped);
    /* The first of the parts fills the tails, because it has a column in every row. */
    if (first)
        part.tail_begin = part.tail = 0;
    return part;
}

unsigned eng_view_rules(const struct eng_view *view, unsigned load_rules)
{
    return view->slice && load_rules ? load_rules | ENG_RULE_SLICE : load_rules;
}

/* Each axis steps over all that the axes before it reach, as in almost every tensor. */
static bool axes_nest(const struct eng_view *view)
{
    uint64_t inside = view->tail ? view->tail : pr_format_bytes(view->format);
    unsigned first = view->tail ? PR_AXIS_W + 1 : PR_AXIS_W;

    if (is_interleaved(view))
        return false;
    for (unsigned axis = first; axis < PR_AXES; axis++) {
        if (view->extent[axis] == 1)
            continue;
        if (view->stride[axis] < inside)
            return false;
        inside += (uint64_t)(view->extent[axis] - 1) * view->stride[axis];
    }
    return true;
}

/*
 * Axes in rising order of stride: each must step over all that the smaller ones reach. That is more than
 * needed for some odd layouts, which then merely run in order.
 */
bool eng_view_overlaps_itself(const struct eng_view *view)
{
    uint32_t count[PR_AXES], bundle = bundle_of(view);

    if (axes_nest(view))
        return false;
    memcpy(count, view->extent, sizeof(count));
    count[view->bundled] = (count[view->bundled] + bundle - 1) / bundle;
    return pr_strides_overlap(count, view->stride, bundle * pr_format_bytes(view->format), view->tail);
}

/* Where an element of the interleaved axis is, by its bundle. */
static uint64_t bundled_offset(const struct eng_view *view, uint32_t index)
{
    if (!is_interleaved(view))
        return (uint64_t)index * view->stride[view->bundled];
    return (uint64_t)(index / view->interleave) * view->stride[view->bundled] +
           (uint64_t)(index % view->interleave) * pr_format_bytes(view->format);
}

static uint64_t offset_of(const struct eng_view *view, const uint32_t index[PR_AXES])
{
    uint64_t offset = view->origin + bundled_offset(view, index[view->bundled]);

    for (unsigned axis = 0; axis < PR_AXES; axis++)
        if (axis != view->bundled)
            offset += (uint64_t)index[axis] * view->stride[axis];
    return offset;
}

/* A line whose elements are not at equal distances. */
static bool is_uneven(const struct eng_view *view, const struct eng_line *line)
{
    return is_interleaved(view) && line->axis == view->bundled;
}

/* Where element i of a line is, given where element 0 is. */
static uint64_t offset_in_line(const struct eng_view *view, const struct eng_line *line, uint64_t first,
                               uint32_t i)
{
    uint32_t index = line->index[view->bundled];

    if (!is_uneven(view, line))
        return first + (uint64_t)i * view->stride[line->axis];
    return first - bundled_offset(view, index) + bundled_offset(view, index + i);
}

bool eng_view_is_packed(const struct eng_view *view, enum pr_axis axis)
{
    return view->host && view->stride[axis] == HALF && view->format == PR_FP16 && !is_interleaved(view);
}

bool eng_view_is_plain(const struct eng_view *view)
{
    return view->host && view->format == PR_FP16 && !is_interleaved(view) &&
           (view->tail - view->tail_begin) % HALF == 0;
}

/* Gathers the line's elements, unconverted and contiguous. `bytes` is the size of one. */
static void gather(const struct eng_view *view, const struct eng_line *line, uint32_t bytes, uint8_t *to)
{
    uint64_t offset = offset_of(view, line->index), step = view->stride[line->axis];

    if (!view->host && !is_uneven(view, line) && step == bytes) {
        dart_copy_in(&view->range, offset, to, (uint64_t)line->n * bytes);
    } else if (!view->host) {
        for (uint32_t i = 0; i < line->n; i++)
            dart_copy_in(&view->range, offset_in_line(view, line, offset, i), to + (size_t)i * bytes, bytes);
    } else if (is_uneven(view, line)) {
        for (uint32_t i = 0; i < line->n; i++)
            memcpy(to + (size_t)i * bytes, view->host + offset_in_line(view, line, offset, i), bytes);
    } else if (bytes == 1) {
        for (uint32_t i = 0; i < line->n; i++)
            to[i] = view->host[offset + i * step];
    } else {
        for (uint32_t i = 0; i < line->n; i++)
            memcpy(to + (size_t)i * HALF, view->host + offset + i * step, HALF);
    }
}

static void scatter(const struct eng_view *view, const struct eng_line *line, uint32_t bytes,
                    const uint8_t *from)
{
    uint64_t offset = offset_of(view, line->index), step = view->stride[line->axis];

    if (!view->host && !is_uneven(view, line) && step == bytes) {
        dart_copy_out(&view->range, offset, from, (uint64_t)line->n * bytes);
    } else if (!view->host) {
        for (uint32_t i = 0; i < line->n; i++)
            dart_copy_out(&view->range, offset_in_line(view, line, offset, i), from + (size_t)i * bytes,
                          bytes);
    } else if (is_uneven(view, line)) {
        for (uint32_t i = 0; i < line->n; i++)
            memcpy(view->host + offset_in_line(view, line, offset, i), from + (size_t)i * bytes, bytes);
    } else if (bytes == 1) {
        for (uint32_t i = 0; i < line->n; i++)
            view->host[offset + i * step] = from[i];
    } else {
        for (uint32_t i = 0; i < line->n; i++)
            memcpy(view->host + offset + i * step, from + (size_t)i * HALF, HALF);
    }
}

static uint16_t half_of_byte(uint8_t byte, enum pr_format format)
{
    return pr_half_of_int(format == PR_I8 ? (int8_t)byte : byte);
}

/*
 * Rounded half to even and clamped to the range. An fp16 value is a multiple of 2^-24, or of a larger power
 * of two when it is large.
 */
static uint8_t byte_of_half(uint16_t half, enum pr_format format)
{
    uint32_t magnitude = half & ENG_HALF_MAGNITUDE, exponent = magnitude >> 10, number;
    uint32_t fraction = (magnitude & 0x3ff) | 0x400;
    bool negative = half & ENG_HALF_SIGN;
    uint32_t most = format == PR_U8 ? (negative ? 0 : 255) : (negative ? 128 : 127);

    if (magnitude > ENG_HALF_INFINITY || exponent < 14)
        return 0; /* a NaN, or below 0.5 */
    number = exponent >= 25 ? most : pr_shift_to_even(fraction, 25 - exponent);
    number = number < most ? number : most;
    return (uint8_t)(negative ? 0 - number : number);
}

/*
 * Lines are fp16, so bytes are gathered into the second half of the line's 2n bytes and widened from the
 * beginning.
 */
static void gather_bytes(const struct eng_view *view, const struct eng_line *line, uint8_t *buffer)
{
    const uint8_t *bytes = buffer + line->n;

    gather(view, line, 1, buffer + line->n);
    for (uint32_t i = 0; i < line->n; i++) {
        uint16_t half = half_of_byte(bytes[i], view->format);

        memcpy(buffer + (size_t)i * HALF, &half, HALF);
    }
}

static void scatter_bytes(const struct eng_view *view, const struct eng_line *line, const uint8_t *elements)
{
    uint8_t bytes[ENG_LINE_MAX];

    for (uint32_t i = 0; i < line->n; i++) {
        uint16_t half;

        memcpy(&half, elements + (size_t)i * HALF, HALF);
        bytes[i] = byte_of_half(half, view->format);
    }
    scatter(view, line, 1, bytes);
}

const uint8_t *eng_view_line(const struct eng_view *view, const struct eng_line *line, uint8_t *buffer)
{
    if (eng_view_is_packed(view, line->axis))
        return view->host + offset_of(view, line->index);
    if (view->format == PR_FP16)
        gather(view, line, HALF, buffer);
    else
        gather_bytes(view, line, buffer);
    return buffer;
}

uint8_t *eng_view_line_target(const struct eng_view *view, const struct eng_line *line, uint8_t *buffer)
{
    return eng_view_is_packed(view, line->axis) ? view->host + offset_of(view, line->index) : buffer;
}

/* Zeros after the row that begins at `offset`. */
static void fill_tail(const struct eng_view *view, uint64_t offset)
{
    static const uint8_t zeros[PR_ROW_ALIGN];
    uint32_t bytes = view->tail - view->tail_begin;

    if (view->host)
        memset(view->host + offset + view->tail_begin, 0, bytes);
    else
        dart_copy_out(&view->range, offset + view->tail_begin, zeros, bytes);
}

/* The row that has this element, if its channel is the last one of the bundle. */
static void fill_tail_of_bundle(const struct eng_view *view, const uint32_t index[PR_AXES])
{
    uint32_t row[PR_AXES], lane = index[PR_AXIS_C] % view->interleave;

    if (lane + 1 != view->interleave && index[PR_AXIS_C] + 1 != view->extent[PR_AXIS_C])
        return;
    memcpy(row, index, sizeof(row));
    row[PR_AXIS_W] = 0;
    row[PR_AXIS_C] -= lane;
    fill_tail(view, offset_of(view, row));
}

/* The rows whose last element is on the line. */
static void fill_tails(const struct eng_view *view, struct eng_line line)
{
    bool along = line.axis == PR_AXIS_W;
    uint64_t row, step = view->stride[line.axis];

    if (line.index[PR_AXIS_W] + (along ? line.n : 1) != view->extent[PR_AXIS_W])
        return;
    line.n = along ? 1 : line.n;
    line.index[PR_AXIS_W] = 0;
    row = offset_of(view, line.index);
    for (uint32_t i = 0; i < line.n; i++, line.index[line.axis]++) {
        if (is_interleaved(view))
            fill_tail_of_bundle(view, line.index);
        else
            fill_tail(view, row + i * step);
    }
}

void eng_view_line_put(const struct eng_view *view, const struct eng_line *line, const uint8_t *elements)
{
    if (view->format != PR_FP16)
        scatter_bytes(view, line, elements);
    else if (!eng_view_is_packed(view, line->axis))
        scatter(view, line, HALF, elements);
    else if (elements != view->host + offset_of(view, line->index))
        memcpy(view->host + offset_of(view, line->index), elements, (size_t)line->n * HALF);
    if (view->tail)
        fill_tails(view, *line);
}

static uint32_t shorter(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

void eng_view_load_row(const struct eng_view *view, const uint32_t index[PR_AXES], float *out, uint32_t n,
                       unsigned rules)
{
    struct eng_line line = {.axis = PR_AXIS_W};
    uint8_t buffer[ENG_LINE_BYTES];

    rules = eng_view_rules(view, rules);
    memcpy(line.index, index, sizeof(line.index));
    for (uint32_t done = 0; done < n; done += line.n) {
        line.index[PR_AXIS_W] = index[PR_AXIS_W] + done;
        line.n = shorter(n - done, ENG_LINE_MAX);
        const uint8_t *elements = eng_view_line(view, &line, buffer);

        for (uint32_t i = 0; i < line.n; i++) {
            uint16_t half;

            memcpy(&half, elements + (size_t)i * HALF, HALF);
            out[done + i] = eng_load_value(half, rules);
            if (view->relu)
                out[done + i] = eng_relu(out[done + i]);
        }
    }
}

void eng_view_store_row(const struct eng_view *view, const uint32_t index[PR_AXES], const float *in,
                        uint32_t n, unsigned rules)
{
    struct eng_line line = {.axis = PR_AXIS_W};
    uint8_t buffer[ENG_LINE_BYTES];

    memcpy(line.index, index, sizeof(line.index));
    for (uint32_t done = 0; done < n; done += line.n) {
        line.index[PR_AXIS_W] = index[PR_AXIS_W] + done;
        line.n = shorter(n - done, ENG_LINE_MAX);
        for (uint32_t i = 0; i < line.n; i++) {
            uint16_t half = eng_store_value(in[done + i], rules);

            memcpy(buffer + (size_t)i * HALF, &half, HALF);
        }
        eng_view_line_put(view, &line, buffer);
    }
}
