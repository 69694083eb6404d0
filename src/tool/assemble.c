/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone assemble`: a descriptor stream from its text form. The text is assembled twice: the first pass has
 * no buffer and gives the size, or the message; the second fills the buffer. Stdout may be the stream itself,
 * so the summary goes to stderr.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "listing/assemble.h"
#include "tool/tool.h"

const char tool_assemble_help[] =
    "anemone assemble FILE [--output STREAM]\n\n"
    "Reads the text form of a descriptor stream, as `anemone inspect --listing` writes it or as\n"
    "written by hand, and writes the bytes: the content of a program's text section, to which\n"
    "a queue's first buffer register points. FILE and STREAM may be - for stdin and stdout.\n\n"
    "A stream by hand:\n\n"
    "  descriptor\n"
    "    EON=1 SrcLoc=1 DstLoc=1\n"
    "    write Common\n"
    "      InDim Win=64 Hin=1\n"
    "  chain\n\n"
    "Everything not named is 0. src/listing/listing.h has the whole grammar.\n";

#define TEXT_MAX (256u << 20)

static uint8_t *assemble(const char *path, const char *text, size_t length, struct pr_assembly *result)
{
    struct pr_problem problem;
    uint8_t *bytes;

    if (!pr_assemble(text, length, NULL, 0, result, &problem)) {
        tool_say("%s: %s", path, problem.text);
        return NULL;
    }
    bytes = base_alloc(result->size);
    if (!bytes)
        tool_say("no memory for a stream of %zu bytes.", result->size);
    else
        pr_assemble(text, length, bytes, result->size, result, &problem);
    return bytes;
}

int tool_assemble(int argc, char **argv)
{
    const char *path, *output = "-";
    const struct tool_option options[] = {{"output", NULL, &output}, {0}};
    struct pr_assembly result;
    uint8_t *text, *bytes;
    size_t length;
    unsigned count;
    bool written;

    if (!tool_words(argc, argv, options, &path, 1, &count))
        return TOOL_USAGE;
    if (count != 1) {
        fputs(tool_assemble_help, stderr);
        return TOOL_USAGE;
    }
    text = tool_file_read(path, TEXT_MAX, &length);
    if (!text)
        return TOOL_FAILURE;
    bytes = assemble(path, (const char *)text, length, &result);
    base_free(text);
    if (!bytes)
        return TOOL_FAILURE;
    written = tool_file_write(output, bytes, result.size);
    base_free(bytes);
    tool_say("%u descriptors, %zu bytes; the first has %u words.", result.descriptors, result.size,
             result.first_words);
    return written ? TOOL_OK : TOOL_FAILURE;
}
