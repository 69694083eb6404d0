/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program images: header, commands, program descriptor, sections. The commands are checked once from first to
 * last; after that a search through them fails only at their end.
 */
#include "program/hwx.h"

#include <string.h>

#include "protocol/dart_regs.h"
#include "program/hwx_reader.h"

/* Offsets inside commands. */
enum { SEGMENT_SECTIONS = 0x40, SEGMENT_BYTES = 0x48, SECTION_BYTES = 0x50, SECTION_ADDRESS = 0x20 };
enum { PROGRAM_BARS = 0x10, PROGRAM_BAR_ENTRIES = 256, PROGRAM_TEXT = 0x810, PROGRAM_FIRST_WORDS = 0x818 };
enum { SECTION_ZEROED = 0x25 }; /* low byte of a section's flags: memory without bytes in the file */
enum { PROGRAM_COUNT = 0x81c, PROGRAM_INTERMEDIATE = 0x848, PROGRAM_BYTES = 0x850 };

const char *pr_hwx_subtype_name(uint32_t subtype)
{
    switch (subtype) {
#define X(id, number, name) \
    case number: return name;
        PR_HWX_SUBTYPES(X)
#undef X
    default: return NULL;
    }
}

const char *pr_hwx_element_name(uint32_t element)
{
    switch (element) {
#define X(id, code, name, bits) \
    case code: return name;
        PR_HWX_ELEMENTS(X)
#undef X
    default: return NULL;
    }
}

uint32_t pr_hwx_element_bits(uint32_t element)
{
    switch (element) {
#define X(id, code, name, bits) \
    case code: return bits;
        PR_HWX_ELEMENTS(X)
#undef X
    default: return 0;
    }
}

static bool read_header(struct pr_hwx_reader *r)
{
    struct pr_slice head;
    uint32_t subtype;
    const char *name;

    if (!pr_slice_cut(&r->file, 0, PR_HWX_HEADER_BYTES, "header", &head, r->problem))
        return false;
    if (pr_slice_u32(&head, 0) != PR_HWX_MAGIC)
        return pr_slice_problem(&head, 0, r->problem, PR_PROBLEM_FORMAT,
                                "The file begins with %x; a program image begins with %x.",
                                pr_slice_u32(&head, 0), PR_HWX_MAGIC);
    subtype = pr_slice_u32(&head, 8);
    name = pr_hwx_subtype_name(subtype);
    if (pr_slice_u32(&head, 4) != PR_HWX_CPU || subtype != PR_HWX_SUBTYPE_H13)
        return pr_slice_problem(
            &head, 4, r->problem, PR_PROBLEM_UNSUPPORTED,
            "The image is for cputype %x, cpusubtype %u (%s); this engine is cputype %x, cpusubtype "
            "%u (H13).",
            pr_slice_u32(&head, 4), subtype, name ? name : "unknown", PR_HWX_CPU, PR_HWX_SUBTYPE_H13);
    if (pr_slice_u32(&head, 12) != PR_HWX_FILE_TYPE)
        return pr_slice_problem(&head, 12, r->problem, PR_PROBLEM_FORMAT,
                                "The file type is %u; a program is of type %u.", pr_slice_u32(&head, 12),
                                PR_HWX_FILE_TYPE);
    r->command_count = pr_slice_u32(&head, 16);
    if (pr_slice_u32(&head, 20) > PR_HWX_COMMANDS_BYTES)
        return pr_slice_problem(&head, 20, r->problem, PR_PROBLEM_LIMIT,
                                "The commands declare %u bytes; the limit is %u.", pr_slice_u32(&head, 20),
                                PR_HWX_COMMANDS_BYTES);
    return pr_slice_cut(&r->file, PR_HWX_HEADER_BYTES, pr_slice_u32(&head, 20), "commands", &r->commands,
                        r->problem);
}

bool pr_hwx_next_command(const struct pr_hwx_reader *r, uint64_t *at, struct pr_slice *command,
                         struct pr_problem *problem)
{
    uint32_t size;

    if (!pr_slice_cut(&r->commands, *at, 8, "next command", command, problem))
        return false;
    size = pr_slice_u32(command, 4);
    if (size < 8)
        return pr_slice_problem(command, 4, problem, PR_PROBLEM_FORMAT,
                                "A command declares %u bytes; its own head has 8.", size);
    if (!pr_slice_cut(&r->commands, *at, size, "command", command, problem))
        return false;
    *at += size;
    return true;
}

static bool check_command(const struct pr_hwx_reader *r, const struct pr_slice *command)
{
    struct pr_slice part;

    switch (pr_slice_u32(command, 0)) {
    case PR_HWX_SEGMENT:
        return pr_slice_cut(command, 0, SEGMENT_BYTES, "segment", &part, r->problem) &&
               pr_slice_cut(command, SEGMENT_BYTES,
                            (uint64_t)pr_slice_u32(command, SEGMENT_SECTIONS) * SECTION_BYTES, "section list",
                            &part, r->problem);
    case PR_HWX_STATE: return pr_slice_cut(command, 0, 0x10, "state command", &part, r->problem);
    case PR_HWX_SYMBOLS: return pr_slice_cut(command, 0, 0x18, "symbol command", &part, r->problem);
    case PR_HWX_BIND32: return pr_slice_cut(command, 0, 0x14, "binding", &part, r->problem);
    case PR_HWX_BIND64: return pr_slice_cut(command, 0, 0x18, "binding", &part, r->problem);
    default: return true;
    }
}

static bool check_commands(struct pr_hwx_reader *r)
{
    struct pr_slice command;
    uint64_t at = 0;
    uint32_t count = 0;

    for (; count < r->command_count; count++)
        if (!pr_hwx_next_command(r, &at, &command, r->problem) || !check_command(r, &command))
            return false;
    pr_slice_cut(&r->commands, 0, at, "commands", &r->commands, NULL);
    return true;
}

bool pr_hwx_find_command(const struct pr_hwx_reader *r, enum pr_hwx_command type, uint32_t flavour,
                         uint64_t *at, struct pr_slice *command)
{
    while (pr_hwx_next_command(r, at, command, NULL))
        if (pr_slice_u32(command, 0) == (uint32_t)type &&
            (type != PR_HWX_STATE || pr_slice_u32(command, 8) == flavour))
            return true;
    return false;
}

bool pr_hwx_find_section(const struct pr_hwx_reader *r, uint64_t address, struct pr_hwx_section *section)
{
    struct pr_slice segment;
    uint64_t at = 0;

    while (pr_hwx_find_command(r, PR_HWX_SEGMENT, 0, &at, &segment)) {
        for (uint32_t i = 0; i < pr_slice_u32(&segment, SEGMENT_SECTIONS); i++) {
            struct pr_slice *head = &section->header;

            pr_slice_cut(&segment, SEGMENT_BYTES + (uint64_t)i * SECTION_BYTES, SECTION_BYTES, "section",
                         head, NULL);
            section->address = pr_slice_u64(head, SECTION_ADDRESS);
            section->size = pr_slice_u64(head, PR_HWX_SECTION_SIZE);
            section->flags = pr_slice_u32(head, PR_HWX_SECTION_FLAGS);
            if (section->address == address && section->size > 0)
                return true;
        }
    }
    return false;
}

static bool read_program(struct pr_hwx_reader *r)
{
    struct pr_hwx *hwx = r->hwx;
    struct pr_slice program, second;
    uint64_t at = 0;
    uint32_t words;

    if (!pr_hwx_find_command(r, PR_HWX_STATE, PR_HWX_FLAVOUR_PROGRAM, &at, &program))
        return pr_slice_problem(&r->commands, 0, r->problem, PR_PROBLEM_FORMAT,
                                "None of the %u commands is a program descriptor.", r->command_count);
    if (!pr_slice_cut(&program, 0, PROGRAM_BYTES, "program descriptor", &second, r->problem))
        return false;
    if (pr_hwx_find_command(r, PR_HWX_STATE, PR_HWX_FLAVOUR_PROGRAM, &at, &second))
        return pr_slice_problem(
            &second, 0, r->problem, PR_PROBLEM_UNSUPPORTED,
            "The image has a second program descriptor; one procedure per image is read here.");
    for (uint32_t i = 0; i < PROGRAM_BAR_ENTRIES; i++) {
        uint64_t address = pr_slice_u64(&program, PROGRAM_BARS + 8 * i);

        if (i < PR_TQ_BARS)
            hwx->bar[i] = address;
        else if (address)
            return pr_slice_problem(&program, PROGRAM_BARS + 8 * i, r->problem, PR_PROBLEM_LIMIT,
                                    "The buffer table uses entry %u; a queue has %u buffer registers.", i,
                                    PR_TQ_BARS);
    }
    words = pr_slice_u32(&program, PROGRAM_FIRST_WORDS);
    if (words >= PR_TD_WORDS_MAX)
        return pr_slice_problem(&program, PROGRAM_FIRST_WORDS, r->problem, PR_PROBLEM_LIMIT,
                                "The first descriptor's size field is %u; it holds words - 1, at most %u.",
                                words, PR_TD_WORDS_MAX - 1);
    hwx->first_td_words = words + 1;
    hwx->td_count = pr_slice_u32(&program, PROGRAM_COUNT);
    if (hwx->td_count == 0)
        return pr_slice_problem(&program, PROGRAM_COUNT, r->problem, PR_PROBLEM_INCONSISTENT,
                                "The program declares 0 descriptors; it needs at least 1.");
    hwx->intermediate_bytes = pr_slice_u64(&program, PROGRAM_INTERMEDIATE);
    if (pr_slice_u64(&program, PROGRAM_TEXT) != hwx->bar[PR_HWX_BAR_TEXT])
        return pr_slice_problem(&program, PROGRAM_TEXT, r->problem, PR_PROBLEM_INCONSISTENT,
                                "The program's text address is %jx, but buffer 0 is %jx.",
                                pr_slice_u64(&program, PROGRAM_TEXT), hwx->bar[PR_HWX_BAR_TEXT]);
    return true;
}

static bool section_span(const struct pr_hwx_reader *r, const struct pr_hwx_section *section,
                         const char *what, struct pr_hwx_span *span)
{
    struct pr_slice bytes;

    if (!pr_slice_cut(&r->file, pr_slice_u32(&section->header, PR_HWX_SECTION_OFFSET), section->size, what,
                      &bytes, r->problem))
        return false;
    span->offset = bytes.at;
    span->size = bytes.size;
    span->vmaddr = section->address;
    return true;
}

/* A section at a buffer that is neither text nor weights. */
static bool read_other(struct pr_hwx_reader *r, uint32_t bar, const struct pr_hwx_section *section)
{
    struct pr_hwx *hwx = r->hwx;

    if (pr_slice_u32(&section->header, PR_HWX_SECTION_OFFSET)) {
        if (bar == PR_HWX_BAR_LITERAL)
            return section_span(r, section, "section of constants", &hwx->literal);
        return pr_slice_problem(
            &section->header, PR_HWX_SECTION_OFFSET, r->problem, PR_PROBLEM_UNSUPPORTED,
            "Buffer %u is a section with bytes in the file; only text (0), weights (1) and constants (2) are "
            "loaded from it.",
            bar);
    }
    if (bar == PR_HWX_BAR_INTERMEDIATE) {
        if (section->size > hwx->intermediate_bytes)
            hwx->intermediate_bytes = section->size;
    } else if ((section->flags & 0xff) == SECTION_ZEROED) {
        if (hwx->scratch_bytes)
            return pr_slice_problem(&section->header, 0, r->problem, PR_PROBLEM_UNSUPPORTED,
                                    "Buffers %u and %u are both scratch; a program has one at most.",
                                    hwx->scratch_bar, bar);
        hwx->scratch_bytes = section->size;
        hwx->scratch_bar = bar;
    }
    return true;
}

/*
 * Text and weights are the sections at buffers 0 and 1; constants may be in buffer 2. No other buffer may
 * bring bytes of the file with it.
 */
static bool read_sections(struct pr_hwx_reader *r)
{
    struct pr_hwx *hwx = r->hwx;
    struct pr_hwx_section section;

    if (!pr_hwx_find_section(r, hwx->bar[PR_HWX_BAR_TEXT], &section))
        return pr_slice_problem(&r->commands, 0, r->problem, PR_PROBLEM_BINDING,
                                "No section begins at %jx, where buffer 0 (text) is.",
                                hwx->bar[PR_HWX_BAR_TEXT]);
    if (!section_span(r, &section, "text section", &hwx->text))
        return false;
    if (hwx->bar[PR_HWX_BAR_CONST] && pr_hwx_find_section(r, hwx->bar[PR_HWX_BAR_CONST], &section) &&
        !section_span(r, &section, "constant section", &hwx->constant))
        return false;
    for (uint32_t i = PR_HWX_BAR_CONST + 1; i < PR_TQ_BARS; i++) {
        if (hwx->bar[i] && pr_hwx_find_section(r, hwx->bar[i], &section) && !read_other(r, i, &section))
            return false;
    }
    if (hwx->scratch_bytes > PR_DART_APERTURE_BYTES)
        return pr_slice_problem(&r->commands, 0, r->problem, PR_PROBLEM_LIMIT,
                                "The scratch buffer has %jx bytes; device addresses end at %x.",
                                hwx->scratch_bytes, PR_DART_APERTURE_BYTES);
    if (hwx->intermediate_bytes > PR_DART_APERTURE_BYTES)
        return pr_slice_problem(&r->commands, 0, r->problem, PR_PROBLEM_LIMIT,
                                "The intermediate buffer has %jx bytes; device addresses end at %x.",
                                hwx->intermediate_bytes, PR_DART_APERTURE_BYTES);
    return true;
}

static void read_banner(const struct pr_hwx_reader *r)
{
    struct pr_slice banner;
    uint64_t at = 0;

    if (!pr_hwx_find_command(r, PR_HWX_BANNER, 0, &at, &banner))
        return;
    r->hwx->banner.offset = banner.at + 8;
    r->hwx->banner.size = banner.size - 8;
}

bool pr_hwx_begin(size_t size, struct pr_hwx *hwx, struct pr_problem *problem)
{
    memset(hwx, 0, sizeof(*hwx));
    if (problem)
        memset(problem, 0, sizeof(*problem));
    if (size > UINT32_MAX)
        return pr_problem_set(problem, PR_PROBLEM_LIMIT, "The file has %ju bytes; the limit is 4 GiB.",
                              (uint64_t)size);
    return true;
}

bool pr_hwx_read(const void *bytes, size_t size, struct pr_hwx *hwx, struct pr_problem *problem)
{
    struct pr_hwx_reader r = {.file = {bytes, size, 0}, .hwx = hwx, .problem = problem};

    if (!pr_hwx_begin(size, hwx, problem) || !read_header(&r) || !check_commands(&r) || !read_program(&r) ||
        !read_sections(&r) || !pr_hwx_read_ports(&r))
        return false;
    read_banner(&r);
    return true;
}
