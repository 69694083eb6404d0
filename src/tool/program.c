/* SPDX-License-Identifier: Apache-2.0 */
/* A program read from a file. */
#include "tool/program.h"

#include "base/alloc.h"
#include "tool/tool.h"

bool tool_program_read(const char *path, struct tool_program *program)
{
    struct pr_problem problem = {0};

    program->bytes = tool_file_read(path, TOOL_PROGRAM_BYTES_MAX, &program->size);
    if (!program->bytes)
        return false;
    program->format = pr_program_format(program->bytes, program->size);
    if (pr_program_read(program->bytes, program->size, &program->hwx, &problem))
        return true;
    tool_say("%s: at byte 0x%x: %s", path, problem.offset, problem.text);
    base_free(program->bytes);
    return false;
}
