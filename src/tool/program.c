/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/program.h"

#include <string.h>

#include "base/alloc.h"
#include "listing/assemble.h"
#include "tool/tool.h"

/*
 * Neither format begins with a letter or a comment: .hwx has its magic, .anec a size of less than 4 GiB in
 * eight bytes.
 */
static bool is_text(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size && i < PR_PROGRAM_HEAD_BYTES; i++)
        if (bytes[i] >= 0x7f || (bytes[i] < ' ' && !strchr("\t\r\n", bytes[i])) || !bytes[i])
            return false;
    return size > 0;
}

/* The text is replaced by the stream it spells. */
static bool assemble(struct tool_program *program, struct pr_problem *problem)
{
    const char *text = (const char *)program->bytes;
    struct pr_assembly result;
    uint8_t *stream;

    if (!pr_assemble(text, program->size, NULL, 0, &result, problem))
        return false;
    stream = base_alloc(result.size ? result.size : 1);
    if (!stream)
        return pr_problem_set(problem, PR_PROBLEM_LIMIT, "There is no memory for a stream of %ju bytes.",
                              (uint64_t)result.size);
    pr_assemble(text, program->size, stream, result.size, &result, problem);
    base_free(program->bytes);
    program->bytes = stream;
    program->size = result.size;
    memset(&program->hwx, 0, sizeof(program->hwx));
    program->hwx.text.size = result.size;
    program->hwx.td_count = result.descriptors;
    program->hwx.first_td_words = result.first_words;
    program->listing = true;
    return true;
}

bool tool_program_read(const char *path, struct tool_program *program)
{
    size_t size;
    uint8_t *bytes = tool_file_read(path, TOOL_PROGRAM_BYTES_MAX, &size);

    return bytes && tool_program_take(path, bytes, size, program);
}

bool tool_program_take(const char *path, uint8_t *bytes, size_t size, struct tool_program *program)
{
    struct pr_problem problem = {0};

    program->listing = false;
    program->bytes = bytes;
    program->size = size;
    program->format = pr_program_format(program->bytes, program->size);
    if (is_text(program->bytes, program->size)
            ? assemble(program, &problem)
            : pr_program_read(program->bytes, program->size, &program->hwx, &problem))
        return true;
    if (problem.offset)
        tool_say("%s: at byte 0x%x: %s", path, problem.offset, problem.text);
    else
        tool_say("%s: %s", path, problem.text);
    base_free(program->bytes);
    return false;
}
