/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the dump's sections and of exception classes, and the reader of a file: every size is checked
 * first.
 */
#include "protocol/dump.h"

#include <string.h>

const char *pr_dump_section_name(uint32_t section)
{
    switch (section) {
#define X(id, number, name) \
    case number: return name;
        PR_DUMP_SECTIONS(X)
#undef X
    default: return "?";
    }
}

const char *pr_fault_class_name(uint32_t fault_class)
{
    switch (fault_class) {
#define X(id, number, name) \
    case number: return name;
        PR_FAULT_CLASSES(X)
#undef X
    default: return "?";
    }
}

bool pr_dump_begins(const void *bytes, size_t size)
{
    uint32_t magic;

    if (size < sizeof(magic))
        return false;
    memcpy(&magic, bytes, sizeof(magic));
    return magic == PR_DUMP_MAGIC;
}

static bool read_part(const uint8_t *bytes, size_t size, size_t *at, struct pr_dump *dump,
                      struct pr_problem *problem)
{
    struct pr_dump_part part;

    if (size - *at < sizeof(part))
        return pr_problem_set(problem, PR_PROBLEM_TRUNCATED, "The file ends in the head of a section.");
    memcpy(&part, bytes + *at, sizeof(part));
    *at += sizeof(part);
    if (!part.section || part.section > PR_DUMP_SECTION_COUNT)
        return pr_problem_set(problem, PR_PROBLEM_FORMAT, "There is no section %u; 1 to %u are known.",
                              part.section, (unsigned)PR_DUMP_SECTION_COUNT);
    if (dump->section[part.section].at)
        return pr_problem_set(problem, PR_PROBLEM_INCONSISTENT, "Section %u (%s) is there twice.",
                              part.section, pr_dump_section_name(part.section));
    if (part.bytes > PR_DUMP_AREA_BYTES || part.bytes > size - *at)
        return pr_problem_set(problem, PR_PROBLEM_TRUNCATED,
                              "Section %u (%s) has %u bytes; %u at most, %ju left.", part.section,
                              pr_dump_section_name(part.section), part.bytes, PR_DUMP_AREA_BYTES,
                              (uint64_t)(size - *at));
    dump->section[part.section].at = bytes + *at;
    dump->section[part.section].bytes = part.bytes;
    *at += part.bytes;
    return true;
}

bool pr_dump_read(const void *bytes, size_t size, struct pr_dump *dump, struct pr_problem *problem)
{
    size_t at = sizeof(dump->head);

    memset(dump, 0, sizeof(*dump));
    if (size < at)
        return pr_problem_set(problem, PR_PROBLEM_TRUNCATED, "A dump has %u bytes at least; here are %ju.",
                              (unsigned)sizeof(dump->head), (uint64_t)size);
    memcpy(&dump->head, bytes, sizeof(dump->head));
    if (dump->head.magic != PR_DUMP_MAGIC || dump->head.version != PR_DUMP_VERSION)
        return pr_problem_set(problem, PR_PROBLEM_FORMAT, "Magic %x and version %u; a dump has %x and %u.",
                              dump->head.magic, dump->head.version, PR_DUMP_MAGIC, PR_DUMP_VERSION);
    dump->head.board[sizeof(dump->head.board) - 1] = '\0';
    for (uint32_t i = 0; i < dump->head.sections; i++)
        if (!read_part(bytes, size, &at, dump, problem))
            return false;
    if (at != size)
        return pr_problem_set(problem, PR_PROBLEM_FORMAT, "%ju bytes follow the last section.",
                              (uint64_t)(size - at));
    return true;
}

bool pr_dump_copy(const struct pr_dump *dump, enum pr_dump_section section, void *to, size_t size)
{
    size_t there = dump->section[section].bytes;

    memset(to, 0, size);
    if (there)
        memcpy(to, dump->section[section].at, there < size ? there : size);
    return dump->section[section].at;
}
