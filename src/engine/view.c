/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor as the kernels see it. */
#include "engine/view.h"

#include <string.h>

#include "engine/numerics.h"

enum { ELEMENT = 2 };

static void view_of_tensor(struct eng_view *view, const struct pr_tensor *tensor)
{
    memset(view, 0, sizeof(*view));
    memcpy(view->extent, tensor->extent, sizeof(view->extent));
    memcpy(view->stride, tensor->stride, sizeof(view->stride));
    view->relu = tensor->relu;
    if (tensor->zero_tail && tensor->stride[PR_AXIS_W] == ELEMENT) {
        uint32_t end = pr_tensor_tail_end(tensor);

        view->tail = end > tensor->extent[PR_AXIS_W] * ELEMENT ? end : 0;
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

/*
 * Axes in rising order of stride: each must step over all that the smaller ones reach. That is more than
 * needed for some odd layouts, which then merely run in order.
 */
bool eng_view_overlaps_itself(const struct eng_view *view)
{
    return pr_strides_overlap(view->extent, view->stride, view->tail);
}

static uint64_t offset_of(const struct eng_view *view, const uint32_t index[PR_AXES])
{
    uint64_t offset = 0;

    for (unsigned axis = 0; axis < PR_AXES; axis++)
        offset += (uint64_t)index[axis] * view->stride[axis];
    return offset;
}

bool eng_view_is_packed(const struct eng_view *view, enum pr_axis axis)
{
    return view->host && view->stride[axis] == ELEMENT;
}

static void gather(const struct eng_view *view, uint64_t offset, uint64_t step, uint32_t n, uint8_t *buffer)
{
    if (view->host) {
        const uint8_t *from = view->host + offset;

        for (uint32_t i = 0; i < n; i++)
            memcpy(buffer + (size_t)i * ELEMENT, from + i * step, ELEMENT);
    } else if (step == ELEMENT) {
        dart_copy_in(&view->range, offset, buffer, (uint64_t)n * ELEMENT);
    } else {
        for (uint32_t i = 0; i < n; i++)
            dart_copy_in(&view->range, offset + i * step, buffer + (size_t)i * ELEMENT, ELEMENT);
    }
}

static void scatter(const struct eng_view *view, uint64_t offset, uint64_t step, uint32_t n,
                    const uint8_t *buffer)
{
    if (view->host) {
        uint8_t *to = view->host + offset;

        for (uint32_t i = 0; i < n; i++)
            memcpy(to + i * step, buffer + (size_t)i * ELEMENT, ELEMENT);
    } else if (step == ELEMENT) {
        dart_copy_out(&view->range, offset, buffer, (uint64_t)n * ELEMENT);
    } else {
        for (uint32_t i = 0; i < n; i++)
            dart_copy_out(&view->range, offset + i * step, buffer + (size_t)i * ELEMENT, ELEMENT);
    }
}

const uint8_t *eng_view_line(const struct eng_view *view, const struct eng_line *line, uint8_t *buffer)
{
    uint64_t offset = offset_of(view, line->index);

    if (eng_view_is_packed(view, line->axis))
        return view->host + offset;
    gather(view, offset, view->stride[line->axis], line->n, buffer);
    return buffer;
}

uint8_t *eng_view_line_target(const struct eng_view *view, const struct eng_line *line, uint8_t *buffer)
{
    return eng_view_is_packed(view, line->axis) ? view->host + offset_of(view, line->index) : buffer;
}

/* Zeros from the last element of a row to the end of its tail. `offset` is that element's. */
static void fill_tail(const struct eng_view *view, uint64_t offset)
{
    static const uint8_t zeros[PR_ROW_ALIGN];
    uint32_t bytes = view->tail - view->extent[PR_AXIS_W] * ELEMENT;

    if (view->host)
        memset(view->host + offset + ELEMENT, 0, bytes);
    else
        dart_copy_out(&view->range, offset + ELEMENT, zeros, bytes);
}

void eng_view_line_put(const struct eng_view *view, const struct eng_line *line, const uint8_t *halfs)
{
    uint64_t offset = offset_of(view, line->index), step = view->stride[line->axis];

    if (!view->host || halfs != view->host + offset)
        scatter(view, offset, step, line->n, halfs);
    if (!view->tail)
        return;
    if (line->axis == PR_AXIS_W) {
        if (line->index[PR_AXIS_W] + line->n == view->extent[PR_AXIS_W])
            fill_tail(view, offset + (uint64_t)(line->n - 1) * ELEMENT);
    } else if (line->index[PR_AXIS_W] + 1 == view->extent[PR_AXIS_W]) {
        for (uint32_t i = 0; i < line->n; i++)
            fill_tail(view, offset + i * step);
    }
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

    memcpy(line.index, index, sizeof(line.index));
    for (uint32_t done = 0; done < n; done += line.n) {
        line.index[PR_AXIS_W] = index[PR_AXIS_W] + done;
        line.n = shorter(n - done, ENG_LINE_MAX);
        const uint8_t *halfs = eng_view_line(view, &line, buffer);

        for (uint32_t i = 0; i < line.n; i++) {
            uint16_t half;

            memcpy(&half, halfs + (size_t)i * ELEMENT, ELEMENT);
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

            memcpy(buffer + (size_t)i * ELEMENT, &half, ELEMENT);
        }
        eng_view_line_put(view, &line, buffer);
    }
}
