/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firmware container, read and judged from a private copy. Every byte is accounted for: sections ascend
 * without overlap, and what is in none of them must be zero.
 */
#include "protocol/container.h"

#include "base/array.h"
#include "protocol/td_frame.h"

#include <string.h>

#define CONTENT_ALIGN 8u

struct reader {
    const uint8_t *bytes;
    size_t size;
    struct pr_container *container;
    struct pr_problem *problem;
};

static const char *section_name(uint32_t kind)
{
    switch (kind) {
#define X(id, number, name, mandatory) \
    case number: return name;
        PR_SECTIONS(X)
#undef X
    default: return "unknown";
    }
}

static bool section_mandatory(uint32_t kind)
{
    switch (kind) {
#define X(id, number, name, mandatory) \
    case number: return mandatory;
        PR_SECTIONS(X)
#undef X
    default: return false;
    }
}

/* Text and kernel are outside the container, at a device address. */
static bool section_outside(uint32_t kind)
{
    return kind == PR_SECTION_TEXT || kind == PR_SECTION_KERNEL;
}

static struct pr_problem *at(const struct reader *r, uint64_t offset)
{
    if (r->problem)
        r->problem->offset = (uint32_t)offset;
    return r->problem;
}

/* A part of the container, whose alignment the caller has checked. */
static const void *part(const struct reader *r, uint64_t offset)
{
    return r->bytes + offset;
}

static bool check_zero(const struct reader *r, uint64_t offset, uint64_t size, const char *what)
{
    for (uint64_t i = 0; i < size; i++)
        if (r->bytes[offset + i])
            return pr_problem_set(at(r, offset + i), PR_PROBLEM_FORMAT,
                                  "%s: the byte at %jx is %x; it must be 0.", what, offset + i,
                                  r->bytes[offset + i]);
    return true;
}

static bool read_package(const struct reader *r, uint32_t *program_offset)
{
    const struct pr_container_package *package = part(r, 0);

    if ((uintptr_t)r->bytes % CONTENT_ALIGN)
        return pr_problem_set(at(r, 0), PR_PROBLEM_FORMAT, "The container's copy is not aligned to %u bytes.",
                              CONTENT_ALIGN);
    if (r->size < sizeof(*package))
        return pr_problem_set(at(r, 0), PR_PROBLEM_TRUNCATED,
                              "The container has %ju bytes; its first header alone has %u.",
                              (uint64_t)r->size, (unsigned)sizeof(*package));
    if (r->size > PR_CONTAINER_BYTES_MAX)
        return pr_problem_set(at(r, 0), PR_PROBLEM_LIMIT, "The container has %jx bytes; the limit is %x.",
                              (uint64_t)r->size, PR_CONTAINER_BYTES_MAX);
    if (package->magic != PR_CONTAINER_PACKAGE)
        return pr_problem_set(at(r, 0), PR_PROBLEM_FORMAT, "The package's magic is %x, not %x.",
                              package->magic, PR_CONTAINER_PACKAGE);
    if (package->version != PR_CONTAINER_VERSION)
        return pr_problem_set(at(r, 4), PR_PROBLEM_FORMAT,
                              "The container has version %u; this reads version %u.", package->version,
                              PR_CONTAINER_VERSION);
    if (package->checksum != PR_CONTAINER_CHECKSUM_VALID)
        return pr_problem_set(at(r, 8), PR_PROBLEM_FORMAT, "The checksum word is %x; %x means checked.",
                              package->checksum, PR_CONTAINER_CHECKSUM_VALID);
    if (package->bytes != r->size)
        return pr_problem_set(at(r, 12), PR_PROBLEM_TRUNCATED, "The package declares %x bytes but has %jx.",
                              package->bytes, (uint64_t)r->size);
    *program_offset = package->program_offset;
    return check_zero(r, offsetof(struct pr_container_package, zero), sizeof(package->zero), "package");
}

static bool read_program(const struct reader *r, uint32_t offset)
{
    const struct pr_container_program *program;

    if (offset < sizeof(struct pr_container_package) || offset % CONTENT_ALIGN || offset > r->size ||
        r->size - offset < sizeof(*program))
        return pr_problem_set(at(r, 16), PR_PROBLEM_TRUNCATED,
                              "The program header at %x is not inside the container's %jx bytes.", offset,
                              (uint64_t)r->size);
    program = part(r, offset);
    if (program->magic != PR_CONTAINER_PROGRAM)
        return pr_problem_set(at(r, offset), PR_PROBLEM_FORMAT, "The program's magic is %x, not %x.",
                              program->magic, PR_CONTAINER_PROGRAM);
    if (program->sections > PR_SECTION_COUNT ||
        r->size - offset - sizeof(*program) < program->sections * sizeof(struct pr_container_section))
        return pr_problem_set(at(r, offset + 4), PR_PROBLEM_LIMIT,
                              "The program declares %u sections; there is room for at most %u.",
                              program->sections, PR_SECTION_COUNT);
    r->container->program = program;
    return check_zero(r, sizeof(struct pr_container_package), offset - sizeof(struct pr_container_package),
                      "before the program") &&
           check_zero(r, offset + offsetof(struct pr_container_program, zero), sizeof(program->zero),
                      "program");
}

static bool check_address(const struct reader *r, uint64_t place, const struct pr_container_section *s)
{
    if (s->offset || s->bytes)
        return pr_problem_set(at(r, place + 8), PR_PROBLEM_FORMAT,
                              "Section %s is outside the container, but has the place %x there.",
                              section_name(s->kind), s->offset);
    if (!s->address_bytes || s->address >= PR_SECTION_LIMIT ||
        s->address_bytes > PR_SECTION_LIMIT - s->address)
        return pr_problem_set(at(r, place + 16), PR_PROBLEM_LIMIT,
                              "Section %s has %jx bytes at %jx; it must have some, and end at %x at most.",
                              section_name(s->kind), s->address_bytes, s->address, PR_SECTION_LIMIT);
    return true;
}

static bool check_place(const struct reader *r, uint64_t place, const struct pr_container_section *s,
                        uint64_t *end)
{
    if (s->address || s->address_bytes)
        return pr_problem_set(at(r, place + 16), PR_PROBLEM_FORMAT,
                              "Section %s is in the container, but has the address %jx.",
                              section_name(s->kind), s->address);
    if (s->offset % CONTENT_ALIGN || s->offset < *end || s->offset > r->size ||
        s->bytes > r->size - s->offset)
        return pr_problem_set(
            at(r, place + 8), PR_PROBLEM_TRUNCATED,
            "Section %s: %x bytes at %x; they must begin at %jx or after, on a multiple of %u, and end inside %jx.",
            section_name(s->kind), s->bytes, s->offset, *end, CONTENT_ALIGN, (uint64_t)r->size);
    if (!check_zero(r, *end, s->offset - *end, "between sections"))
        return false;
    *end = (uint64_t)s->offset + s->bytes;
    return true;
}

/* Headers in the order of their kinds, contents in the order of their headers. */
static bool read_sections(const struct reader *r, uint32_t program_offset)
{
    const uint32_t count = r->container->program->sections;
    const uint64_t first = (uint64_t)program_offset + sizeof(struct pr_container_program);
    uint64_t end = first + count * sizeof(struct pr_container_section);
    uint32_t expected = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t place = first + i * sizeof(struct pr_container_section);
        const struct pr_container_section *s = part(r, place);

        if (s->magic != PR_CONTAINER_SECTION)
            return pr_problem_set(at(r, place), PR_PROBLEM_FORMAT, "Section %u has the magic %x, not %x.", i,
                                  s->magic, PR_CONTAINER_SECTION);
        if (s->kind < expected || s->kind >= PR_SECTION_COUNT)
            return pr_problem_set(at(r, place + 4), PR_PROBLEM_FORMAT,
                                  "Section %u is of kind %u; kinds are below %u, ascending, each once.", i,
                                  s->kind, PR_SECTION_COUNT);
        expected = s->kind + 1;
        r->container->section[s->kind] = s;
        if (section_outside(s->kind) ? !check_address(r, place, s) : !check_place(r, place, s, &end))
            return false;
    }
    for (uint32_t kind = 0; kind < PR_SECTION_COUNT; kind++)
        if (section_mandatory(kind) && !r->container->section[kind])
            return pr_problem_set(at(r, program_offset), PR_PROBLEM_FORMAT, "Section %s is missing.",
                                  section_name(kind));
    return check_zero(r, end, r->size - end, "after the sections");
}

/* `count` entries of `each` bytes behind a head: inside the section, and no bytes behind them. */
static bool check_entries(const struct reader *r, uint32_t kind, uint32_t head, uint32_t count, uint32_t each,
                          uint32_t most)
{
    const struct pr_container_section *s = r->container->section[kind];
    uint64_t needed = head + (uint64_t)count * each;

    if (!count || count > most)
        return pr_problem_set(at(r, s->offset), PR_PROBLEM_LIMIT,
                              "Section %s has %u entries; 1 to %u are allowed.", section_name(kind), count,
                              most);
    if (s->bytes < needed)
        return pr_problem_set(at(r, s->offset), PR_PROBLEM_TRUNCATED,
                              "Section %s has %x bytes; its %u entries need %jx.", section_name(kind),
                              s->bytes, count, needed);
    return check_zero(r, s->offset + needed, s->bytes - needed, section_name(kind));
}

static bool section_holds(const struct reader *r, uint32_t kind, uint32_t head)
{
    const struct pr_container_section *s = r->container->section[kind];

    if (s->bytes >= head)
        return true;
    return pr_problem_set(at(r, s->offset), PR_PROBLEM_TRUNCATED,
                          "Section %s has %x bytes; its head needs %x.", section_name(kind), s->bytes, head);
}

/* A buffer that is text or kernel: all of the section, or the part of it that its address names. */
static bool check_part(const struct reader *r, uint32_t i, uint64_t place)
{
    const struct pr_generic_buffer *b = &r->container->buffer[i];
    const uint32_t kind = b->type == PR_BUFFER_KERNEL ? PR_SECTION_KERNEL : PR_SECTION_TEXT;
    const struct pr_container_section *s = r->container->section[kind];

    if (b->type != PR_BUFFER_KERNEL && b->type != PR_BUFFER_TEXT)
        return true;
    if (!s)
        return pr_problem_set(at(r, place + 8), PR_PROBLEM_INCONSISTENT,
                              "Buffer %u is the %s, but there is no section %s.", i, section_name(kind),
                              section_name(kind));
    if (b->address && (b->address < s->address || b->bytes > s->address_bytes ||
                       b->address - s->address > s->address_bytes - b->bytes))
        return pr_problem_set(at(r, place + 24), PR_PROBLEM_INCONSISTENT,
                              "Buffer %u: %jx bytes at %jx are not inside section %s, %jx bytes at %jx.", i,
                              b->bytes, b->address, section_name(kind), s->address_bytes, s->address);
    return true;
}

static bool check_buffer(const struct reader *r, uint32_t i, uint8_t *seen)
{
    const struct pr_generic_buffer *b = &r->container->buffer[i];
    const uint64_t place = (uint64_t)((const uint8_t *)b - r->bytes);

    if (b->valid != 1 || b->zero0 || b->zero1)
        return pr_problem_set(at(r, place), PR_PROBLEM_FORMAT,
                              "Buffer %u: the valid word must be 1 and the reserved words 0.", i);
    if (b->index >= PR_GENERIC_BUFFERS_MAX || seen[b->index / 8] >> (b->index % 8) & 1)
        return pr_problem_set(at(r, place + 4), PR_PROBLEM_INCONSISTENT,
                              "Buffer %u has the index %u; indices are below %u, each once.", i, b->index,
                              PR_GENERIC_BUFFERS_MAX);
    seen[b->index / 8] |= (uint8_t)(1u << (b->index % 8));
    if (b->type >= PR_BUFFER_TYPES)
        return pr_problem_set(at(r, place + 8), PR_PROBLEM_LIMIT,
                              "Buffer %u has type %u; types are below %u.", i, b->type, PR_BUFFER_TYPES);
    if (b->address >= PR_SECTION_LIMIT || b->bytes > PR_SECTION_LIMIT - b->address)
        return pr_problem_set(at(r, place + 24), PR_PROBLEM_LIMIT,
                              "Buffer %u: %jx bytes at %jx end above %x.", i, b->bytes, b->address,
                              PR_SECTION_LIMIT);
    return check_part(r, i, place);
}

static bool read_generic(const struct reader *r, uint8_t *seen)
{
    const uint32_t offset = r->container->section[PR_SECTION_GENERIC]->offset;
    const struct pr_generic *g = part(r, offset);

    if (!section_holds(r, PR_SECTION_GENERIC, sizeof(*g)))
        return false;
    if (g->max_ane_used != 1)
        return pr_problem_set(at(r, offset), PR_PROBLEM_LIMIT, "The program uses %u engines; it must use 1.",
                              g->max_ane_used);
    if (g->engines > PR_CONTAINER_CORES_MAX)
        return pr_problem_set(at(r, offset + 4), PR_PROBLEM_LIMIT,
                              "The program uses %u cores; at most %u are allowed.", g->engines,
                              PR_CONTAINER_CORES_MAX);
    if (!check_zero(r, offset + offsetof(struct pr_generic, zero), sizeof(g->zero), "generic") ||
        !check_entries(r, PR_SECTION_GENERIC, sizeof(*g), g->buffers, sizeof(struct pr_generic_buffer),
                       PR_GENERIC_BUFFERS_MAX))
        return false;
    r->container->generic = g;
    r->container->buffer = part(r, offset + sizeof(*g));
    for (uint32_t i = 0; i < g->buffers; i++)
        if (!check_buffer(r, i, seen))
            return false;
    return true;
}

static bool check_bars(const struct reader *r, uint32_t i, const uint8_t *seen)
{
    const struct pr_operation *o = &r->container->operation[i];
    const uint64_t place = (uint64_t)((const uint8_t *)o - r->bytes) + offsetof(struct pr_operation, bar);
    uint32_t taken = 0;

    for (uint32_t b = 0; b < o->bars; b++) {
        const uint32_t bar = o->bar[b].bar, buffer = o->bar[b].buffer;

        if (bar >= PR_TQ_BARS || taken >> bar & 1)
            return pr_problem_set(at(r, place + 8ull * b), PR_PROBLEM_INCONSISTENT,
                                  "Operation %u names bar %u; bars are below %u, each once.", i, bar,
                                  PR_TQ_BARS);
        taken |= 1u << bar;
        if (buffer >= PR_GENERIC_BUFFERS_MAX || !(seen[buffer / 8] >> (buffer % 8) & 1))
            return pr_problem_set(at(r, place + 8ull * b + 4), PR_PROBLEM_BINDING,
                                  "Operation %u, bar %u: there is no generic buffer %u.", i, bar, buffer);
    }
    return check_zero(r, place + 8ull * o->bars, sizeof(o->bar) - 8ull * o->bars, "bars");
}

/* The table's entry of a buffer index that check_bars has seen. */
static const struct pr_generic_buffer *find_buffer(const struct reader *r, uint32_t index)
{
    const struct pr_generic_buffer *b = r->container->buffer;

    while (b->index != index)
        b++;
    return b;
}

/* Next pointers count from the buffer at the BAR of the text. */
static bool check_text_bar(const struct reader *r, uint32_t i)
{
    const struct pr_operation *o = &r->container->operation[i];

    for (uint32_t b = 0; b < o->bars; b++)
        if (o->bar[b].bar == PR_REBASE_BAR_TEXT && find_buffer(r, o->bar[b].buffer)->type != PR_BUFFER_TEXT)
            return pr_problem_set(at(r, (uint64_t)((const uint8_t *)&o->bar[b] - r->bytes)),
                                  PR_PROBLEM_BINDING, "Operation %u, bar %u: buffer %u is not the text.", i,
                                  PR_REBASE_BAR_TEXT, o->bar[b].buffer);
    return true;
}

/* Limits of an operation's own words. */
static bool check_operation(const struct reader *r, uint32_t i)
{
    const struct pr_operation *o = &r->container->operation[i];
    const uint64_t place = (uint64_t)((const uint8_t *)o - r->bytes);

    if (o->type > PR_OPERATION_TYPE_MAX)
        return pr_problem_set(at(r, place), PR_PROBLEM_LIMIT, "Operation %u has type %u; the last is %u.", i,
                              o->type, PR_OPERATION_TYPE_MAX);
    if (o->zero0)
        return pr_problem_set(at(r, place + 6), PR_PROBLEM_FORMAT,
                              "Operation %u has a reserved word that is not 0.", i);
    if (o->last_td < o->first_td)
        return pr_problem_set(at(r, place + 4), PR_PROBLEM_LIMIT,
                              "Operation %u has descriptors %u to %u; the last is not before the first.", i,
                              o->first_td, o->last_td);
    if (o->engines > r->container->generic->engines)
        return pr_problem_set(at(r, place + 10), PR_PROBLEM_LIMIT,
                              "Operation %u uses %u cores; the program uses %u.", i, o->engines,
                              r->container->generic->engines);
    if (o->bars > PR_TQ_BARS)
        return pr_problem_set(at(r, place + 12), PR_PROBLEM_LIMIT,
                              "Operation %u has %u bars; at most %u are allowed.", i, o->bars, PR_TQ_BARS);
    return true;
}

static bool read_operations(const struct reader *r, const uint8_t *seen)
{
    const uint32_t offset = r->container->section[PR_SECTION_OPERATION]->offset;
    uint32_t count;

    if (!section_holds(r, PR_SECTION_OPERATION, 4))
        return false;
    count = pr_le32(r->bytes + offset);
    if (!check_entries(r, PR_SECTION_OPERATION, 4, count, sizeof(struct pr_operation), PR_OPERATIONS_MAX))
        return false;
    r->container->operations = count;
    r->container->operation = part(r, (uint64_t)offset + 4);
    for (uint32_t i = 0; i < count; i++)
        if (!check_operation(r, i) || !check_bars(r, i, seen) || !check_text_bar(r, i))
            return false;
    return true;
}

/* Buffers of an operation that each call binds; one at two BARs counts once. */
static uint32_t count_bound(const struct reader *r, const struct pr_operation *o)
{
    uint32_t count = 0;

    for (uint32_t b = 0; b < o->bars; b++) {
        const struct pr_generic_buffer *buffer = find_buffer(r, o->bar[b].buffer);
        uint32_t first = 0;

        while (o->bar[first].buffer != o->bar[b].buffer)
            first++;
        count += first == b && !buffer->address && buffer->type != PR_BUFFER_TEXT &&
                 buffer->type != PR_BUFFER_KERNEL;
    }
    return count;
}

/* One that has no partitions binds what its operation does; the others are judged by the calls' rules. */
static bool check_io(const struct reader *r, uint32_t i)
{
    const struct pr_procedure *p = &r->container->procedure[i];
    const uint64_t place = (uint64_t)((const uint8_t *)&p->io_buffers - r->bytes);
    uint32_t bound;

    if (p->io_buffers > r->container->generic->buffers)
        return pr_problem_set(at(r, place), PR_PROBLEM_LIMIT,
                              "Procedure %u has %u input and output buffers; the program has %u.", i,
                              p->io_buffers, r->container->generic->buffers);
    if (p->partitions != 1 || p->content == PR_CONTENT_PARTITION)
        return true;
    bound = count_bound(r, &r->container->operation[p->operation]);
    if (p->io_buffers == bound)
        return true;
    return pr_problem_set(
        at(r, place), PR_PROBLEM_INCONSISTENT,
        "Procedure %u has %u input and output buffers; calls bind %u buffers of operation %u.", i,
        p->io_buffers, bound, p->operation);
}

static bool check_procedure(const struct reader *r, uint32_t i)
{
    const struct pr_procedure *p = &r->container->procedure[i];
    const uint64_t place = (uint64_t)((const uint8_t *)p - r->bytes);
    const uint64_t text = r->container->section[PR_SECTION_TEXT]->address_bytes;

    if (!base_is_zero(p->zero, sizeof(p->zero)))
        return pr_problem_set(at(r, place + offsetof(struct pr_procedure, zero)), PR_PROBLEM_FORMAT,
                              "Procedure %u has reserved words that are not 0.", i);
    if (p->operation >= r->container->operations)
        return pr_problem_set(at(r, place), PR_PROBLEM_BINDING, "Procedure %u names operation %u of %u.", i,
                              p->operation, r->container->operations);
    if (p->first_words < PR_TD_HEADER_WORDS || p->first_words > PR_TD_WORDS_MAX ||
        p->text_offset % PR_TD_ALIGN || p->text_offset > text ||
        4ull * p->first_words > text - p->text_offset)
        return pr_problem_set(
            at(r, place + 4), PR_PROBLEM_TRUNCATED,
            "Procedure %u: %u words at %x of the text are not a descriptor inside its %jx bytes.", i,
            p->first_words, p->text_offset, text);
    return check_io(r, i);
}

/* A procedure's partitions are entries of their own, which follow it. */
static bool check_partitions(const struct reader *r, uint32_t i)
{
    const struct pr_procedure *p = &r->container->procedure[i];
    const uint64_t place = (uint64_t)((const uint8_t *)&p->partitions - r->bytes);

    if (!p->partitions || p->partitions > r->container->procedures - i)
        return pr_problem_set(
            at(r, place), PR_PROBLEM_LIMIT,
            "Procedure %u has %u partitions; there are %u entries from it on, and it is one.", i,
            p->partitions, r->container->procedures - i);
    for (uint32_t k = 1; k < p->partitions; k++)
        if (p[k].content != PR_CONTENT_PARTITION || p[k].partitions != 1)
            return pr_problem_set(at(r, place), PR_PROBLEM_BINDING,
                                  "Entry %u of the procedures is not a partition of procedure %u.", i + k, i);
    return true;
}

static bool read_procedures(const struct reader *r)
{
    const uint32_t offset = r->container->section[PR_SECTION_PROCEDURE]->offset;
    uint32_t count;

    if (!section_holds(r, PR_SECTION_PROCEDURE, 8))
        return false;
    count = pr_le32(r->bytes + offset);
    if (!check_zero(r, (uint64_t)offset + 4, 4, "procedure") ||
        !check_entries(r, PR_SECTION_PROCEDURE, 8, count, sizeof(struct pr_procedure), PR_PROCEDURES_MAX))
        return false;
    r->container->procedures = count;
    r->container->procedure = part(r, (uint64_t)offset + 8);
    for (uint32_t i = 0; i < count; i++)
        if (!check_procedure(r, i) || !check_partitions(r, i))
            return false;
    return true;
}

/* Whether the operation names this buffer for the bar; text and kernel may have a bar it does not name. */
static bool record_fits(const struct reader *r, const struct pr_rebase_record *record, uint32_t *named)
{
    const struct pr_operation *o = &r->container->operation[record->operation];

    for (uint32_t b = 0; b < o->bars; b++)
        if (o->bar[b].bar == record->bar) {
            ++*named;
            return o->bar[b].buffer == record->buffer;
        }
    if (record->buffer == PR_PROCESS_TEXT)
        return record->bar == PR_REBASE_BAR_TEXT;
    return record->buffer == PR_PROCESS_KERNEL && record->bar == PR_REBASE_BAR_KERNEL &&
           r->container->section[PR_SECTION_KERNEL];
}

static bool check_record(const struct reader *r, uint32_t i, uint32_t *taken, uint32_t *named)
{
    const struct pr_rebase_record *record = &r->container->record[i];
    const uint64_t place = (uint64_t)((const uint8_t *)record - r->bytes);

    if (record->zero || record->flags & ~PR_REBASE_WIDE || pr_rebase_get(record->first) ||
        pr_rebase_get(record->end))
        return pr_problem_set(at(r, place), PR_PROBLEM_FORMAT,
                              "Rebase record %u: operands and reserved words must be 0, flags at most %u.", i,
                              PR_REBASE_WIDE);
    if (record->bar >= PR_TQ_BARS || *taken >> record->bar & 1)
        return pr_problem_set(at(r, place + 4), PR_PROBLEM_INCONSISTENT,
                              "Rebase record %u has bar %u; bars are below %u, each once in an operation.", i,
                              record->bar, PR_TQ_BARS);
    *taken |= 1u << record->bar;
    if (!record_fits(r, record, named))
        return pr_problem_set(at(r, place + 8), PR_PROBLEM_BINDING,
                              "Rebase record %u: bar %u of operation %u does not have buffer %x.", i,
                              record->bar, record->operation, record->buffer);
    return true;
}

/* The records of one operation, from `*next` on. */
static bool check_records(const struct reader *r, uint32_t operation, uint32_t *next)
{
    uint32_t taken = 0, named = 0;

    for (; *next < r->container->records && r->container->record[*next].operation == operation; ++*next)
        if (!check_record(r, *next, &taken, &named))
            return false;
    if (named == r->container->operation[operation].bars)
        return true;
    return pr_problem_set(at(r, r->container->section[PR_SECTION_REBASE]->offset), PR_PROBLEM_BINDING,
                          "Operation %u has %u bars; %u of them have a rebase record.", operation,
                          r->container->operation[operation].bars, named);
}

static bool read_records(const struct reader *r)
{
    const uint32_t offset = r->container->section[PR_SECTION_REBASE]->offset;
    uint32_t count, next = 0;

    if (!section_holds(r, PR_SECTION_REBASE, 8))
        return false;
    count = pr_le32(r->bytes + offset);
    if (!check_zero(r, (uint64_t)offset + 4, 4, "rebase") ||
        !check_entries(r, PR_SECTION_REBASE, 8, count, sizeof(struct pr_rebase_record),
                       PR_REBASE_RECORDS_MAX))
        return false;
    r->container->records = count;
    r->container->record = part(r, (uint64_t)offset + 8);
    for (uint32_t i = 0; i < r->container->operations; i++)
        if (!check_records(r, i, &next))
            return false;
    if (next == count)
        return true;
    return pr_problem_set(at(r, offset + 8 + next * sizeof(struct pr_rebase_record)), PR_PROBLEM_BINDING,
                          "Rebase record %u is of operation %u; operations ascend, and there are %u.", next,
                          r->container->record[next].operation, r->container->operations);
}

static bool operation_has_bar(const struct pr_operation *operation, uint32_t bar)
{
    for (uint32_t i = 0; i < operation->bars; i++)
        if (operation->bar[i].bar == bar)
            return true;
    return false;
}

static bool check_custom_bar(const struct reader *r, uint32_t i)
{
    const struct pr_program_bar *row = &r->container->custom_bar[i];
    const uint64_t place = (uint64_t)((const uint8_t *)row - r->bytes);

    if (row->operation >= r->container->operations ||
        !operation_has_bar(&r->container->operation[row->operation], row->bar))
        return pr_problem_set(at(r, place), PR_PROBLEM_BINDING,
                              "Custom bar %u: operation %u of %u does not have bar %u.", i, row->operation,
                              r->container->operations, row->bar);
    if (i && (row[-1].operation > row->operation ||
              (row[-1].operation == row->operation && row[-1].bar >= row->bar)))
        return pr_problem_set(at(r, place), PR_PROBLEM_INCONSISTENT,
                              "Custom bar %u, bar %u of operation %u, is not above the one before it.", i,
                              row->bar, row->operation);
    return true;
}

static bool read_custom_bars(const struct reader *r)
{
    const struct pr_container_section *section = r->container->section[PR_SECTION_CUSTOM_BARS];
    uint32_t count;

    if (!section)
        return true;
    if (!section_holds(r, PR_SECTION_CUSTOM_BARS, 8))
        return false;
    count = pr_le32(r->bytes + section->offset);
    if (!check_zero(r, (uint64_t)section->offset + 4, 4, "custom bars") ||
        !check_entries(r, PR_SECTION_CUSTOM_BARS, 8, count, sizeof(struct pr_program_bar),
                       PR_PROGRAM_CUSTOM_BARS_MAX))
        return false;
    r->container->custom_bars = count;
    r->container->custom_bar = part(r, (uint64_t)section->offset + 8);
    for (uint32_t i = 0; i < count; i++)
        if (!check_custom_bar(r, i))
            return false;
    return true;
}

bool pr_container_read(const void *bytes, size_t size, struct pr_container *container,
                       struct pr_problem *problem)
{
    const struct reader r = {bytes, size, container, problem};
    uint8_t seen[PR_GENERIC_BUFFERS_MAX / 8] = {0};
    uint32_t program_offset = 0;

    memset(container, 0, sizeof(*container));
    if (problem)
        memset(problem, 0, sizeof(*problem));
    return read_package(&r, &program_offset) && read_program(&r, program_offset) &&
           read_sections(&r, program_offset) && read_generic(&r, seen) && read_operations(&r, seen) &&
           read_procedures(&r) && read_records(&r) && read_custom_bars(&r);
}
