/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/program.h"

#include <string.h>

#include "base/alloc.h"
#include "listing/assemble.h"
#include "program/raw.h"
#include "tool/tool.h"

bool tool_asked_read(struct tool_asked *asked, const char *words, const char *descriptors)
{
    if (words || descriptors)
        asked->raw = true;
    return (!words || tool_number("--words", words, PR_TD_HEADER_WORDS, PR_TD_WORDS_MAX, &asked->words)) &&
           (!descriptors || tool_number("--descriptors", descriptors, 1, UINT32_MAX, &asked->descriptors));
}

const char *tool_form_name(enum tool_form form)
{
    static const char *const names[] = {
#define X(id, name) [TOOL_FORM_##id] = name,
        TOOL_FORMS(X)
#undef X
    };

    return names[form];
}

/*
 * No other form begins with a letter or a comment: .hwx has its magic, .anec a size of less than 4 GiB in
 * eight bytes, a descriptor a header word of which few bits are used.
 */
static bool is_text(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size && i < PR_PROGRAM_HEAD_BYTES; i++)
        if (bytes[i] >= 0x7f || (bytes[i] < ' ' && !strchr("\t\r\n", bytes[i])) || !bytes[i])
            return false;
    return size > 0;
}

/* Whether the first word that is not a comment is one that a listing begins with. */
static bool begins_as_listing(const uint8_t *bytes, size_t size)
{
    static const char *const words[] = {"listing", "descriptor", "chain"};
    size_t at = 0;

    while (at < size && (bytes[at] == '#' || (bytes[at] && strchr(" \t\r\n", bytes[at])))) {
        const uint8_t *end = bytes[at] == '#' ? memchr(bytes + at, '\n', size - at) : bytes + at;

        at = end ? (size_t)(end - bytes) + 1 : size;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (size - at >= strlen(words[i]) && !memcmp(bytes + at, words[i], strlen(words[i])))
            return true;
    return false;
}

static enum tool_form form_of_stream(const struct pr_raw *raw)
{
    return raw->network ? TOOL_FORM_BTSP : TOOL_FORM_STREAM;
}

enum tool_form tool_form_of(const uint8_t *bytes, size_t size)
{
    struct pr_raw raw;

    if (is_text(bytes, size))
        return begins_as_listing(bytes, size) ? TOOL_FORM_LISTING : TOOL_FORM_UNKNOWN;
    switch (pr_program_format(bytes, size)) {
    case PR_PROGRAM_HWX: return TOOL_FORM_HWX;
    case PR_PROGRAM_ANEC: return TOOL_FORM_ANEC;
    case PR_PROGRAM_UNKNOWN: break;
    }
    return pr_raw_find(bytes, size, 0, 1, &raw, NULL) && raw.plausible ? form_of_stream(&raw)
                                                                       : TOOL_FORM_UNKNOWN;
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
    program->hwx.text.size = result.size;
    program->hwx.td_count = result.descriptors;
    program->hwx.first_td_words = result.first_words;
    return true;
}

/*
 * The text goes on to the boundary behind its last descriptor, where a descriptor may have more words than it
 * declares. When not all descriptors are looked at, it is all there is, so that pointers to the others are
 * inside.
 */
static bool read_stream(struct tool_program *program, const struct tool_asked *asked,
                        struct pr_problem *problem)
{
    struct pr_hwx *hwx = &program->hwx;
    uint64_t kernel, end;
    struct pr_raw raw;

    if (!pr_raw_find(program->bytes, program->size, asked->words, asked->descriptors, &raw, problem))
        return false;
    program->form = form_of_stream(&raw);
    program->alone = raw.next != 0;
    program->limit = program->alone ? 1 : asked->descriptors;
    hwx->first_td_words = raw.first_words;
    hwx->td_count = raw.descriptors;
    end = pr_round_up(raw.end, PR_TD_ALIGN);
    hwx->text.size = program->limit || end > program->size ? program->size : end;
    kernel = pr_round_up(raw.end, PR_ANEC_KERNEL_ALIGN);
    if (raw.behind < program->size && kernel < program->size) {
        hwx->constant.offset = kernel;
        hwx->constant.size = program->size - kernel;
    }
    pr_raw_explain(&raw, &program->note[program->notes++]);
    program->notes += pr_raw_explain_rest(&raw, program->size, &program->note[program->notes]);
    program->notes += pr_raw_explain_next(&raw, &program->note[program->notes]);
    return true;
}

static bool read_form(struct tool_program *program, const struct tool_asked *asked,
                      struct pr_problem *problem)
{
    if (asked->raw)
        return read_stream(program, asked, problem);
    program->form = tool_form_of(program->bytes, program->size);
    if (is_text(program->bytes, program->size)) {
        program->form = TOOL_FORM_LISTING;
        return assemble(program, problem);
    }
    if (program->form == TOOL_FORM_STREAM || program->form == TOOL_FORM_BTSP)
        return read_stream(program, asked, problem);
    if (!pr_program_read(program->bytes, program->size, &program->hwx, problem))
        return false;
    program->buffers = true;
    if (program->form == TOOL_FORM_ANEC)
        pr_anec_explain(program->bytes, program->size, &program->hwx, &program->note[program->notes++]);
    return true;
}

bool tool_program_parse(uint8_t *bytes, size_t size, const struct tool_asked *asked,
                        struct tool_program *program, struct pr_problem *problem)
{
    memset(program, 0, sizeof(*program));
    memset(problem, 0, sizeof(*problem));
    program->bytes = bytes;
    program->size = size;
    return read_form(program, asked, problem);
}

bool tool_program_take(const char *path, uint8_t *bytes, size_t size, const struct tool_asked *asked,
                       struct tool_program *program)
{
    struct pr_problem problem;

    if (tool_program_parse(bytes, size, asked, program, &problem))
        return true;
    if (problem.offset)
        tool_say("%s: at byte 0x%x: %s", path, problem.offset, problem.text);
    else
        tool_say("%s: %s", path, problem.text);
    if (program->form == TOOL_FORM_UNKNOWN && !asked->raw)
        tool_say("%s: if it is a descriptor stream without a container, --raw reads it.", path);
    base_free(bytes);
    return false;
}
