/* SPDX-License-Identifier: Apache-2.0 */
/* A run of bytes of a file. Its members move together, so that a place in it keeps its file offset. */
#include "program/slice.h"

#include <string.h>

#include "protocol/text.h"

static bool inside(const struct pr_slice *slice, uint64_t offset, uint64_t size)
{
    return offset <= slice->size && size <= slice->size - offset;
}

static uint32_t file_offset(const struct pr_slice *slice, uint64_t offset)
{
    uint64_t at = slice->at + offset;

    return at > UINT32_MAX || at < offset ? UINT32_MAX : (uint32_t)at;
}

bool pr_slice_problem(const struct pr_slice *slice, uint64_t offset, struct pr_problem *problem,
                      enum pr_problem_kind kind, const char *format, ...)
{
    struct pr_text text;
    va_list args;

    if (!problem)
        return false;
    problem->kind = kind;
    problem->offset = file_offset(slice, offset);
    pr_text_init(&text, problem->text, sizeof(problem->text));
    va_start(args, format);
    pr_text_vprintf(&text, format, args);
    va_end(args);
    return false;
}

bool pr_slice_cut(const struct pr_slice *from, uint64_t offset, uint64_t size, const char *what,
                  struct pr_slice *out, struct pr_problem *problem)
{
    if (!inside(from, offset, size))
        return pr_slice_problem(from, offset, problem, PR_PROBLEM_TRUNCATED,
                                "The %s at file offset %jx needs %ju bytes, but what holds it ends at %jx.",
                                what, from->at + offset, size, from->at + from->size);
    *out = (struct pr_slice){from->bytes + offset, (size_t)size, from->at + offset};
    return true;
}

uint32_t pr_slice_u32(const struct pr_slice *slice, uint64_t offset)
{
    return inside(slice, offset, 4) ? pr_le32(slice->bytes + offset) : 0;
}

uint64_t pr_slice_u64(const struct pr_slice *slice, uint64_t offset)
{
    return inside(slice, offset, 8) ? pr_le64(slice->bytes + offset) : 0;
}

bool pr_slice_skip(struct pr_slice *slice, uint64_t bytes)
{
    if (!inside(slice, bytes, 0))
        return false;
    slice->bytes += bytes;
    slice->size -= (size_t)bytes;
    slice->at += bytes;
    return true;
}

bool pr_slice_take(struct pr_slice *slice, const char *string)
{
    size_t length = pr_string_length(string);

    return inside(slice, 0, length) && memcmp(slice->bytes, string, length) == 0 &&
           pr_slice_skip(slice, length);
}

bool pr_slice_take_number(struct pr_slice *slice, uint64_t *number)
{
    uint64_t value = 0;
    size_t digits = 0;

    for (; digits < slice->size && slice->bytes[digits] >= '0' && slice->bytes[digits] <= '9'; digits++) {
        unsigned digit = (unsigned)(slice->bytes[digits] - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    *number = value;
    return digits > 0 && pr_slice_skip(slice, digits);
}
