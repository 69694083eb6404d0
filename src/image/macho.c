/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every offset and size is compared with what contains it before it is used. Structs are copied out of the
 * bytes, which have no alignment.
 */
#include "image/macho.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SECTION_BYTES 80u /* struct section_64, which nothing here reads */

struct reader {
    const uint8_t *bytes;
    size_t size;
    struct img_macho *macho;
    struct base_error *error;
    bool entry, uuid; /* seen */
};

static int check_header(const struct reader *r, struct pr_macho_header *header)
{
    if (r->size < sizeof(*header))
        return base_fail(r->error, EINVAL,
                         "The firmware's executable has 0x%zx bytes; its header alone has 0x%zx.", r->size,
                         sizeof(*header));
    memcpy(header, r->bytes, sizeof(*header));
    if (header->magic != PR_MACHO_MAGIC)
        return base_fail(r->error, EINVAL, "The firmware's executable begins with 0x%08x, not with 0x%08x.",
                         header->magic, PR_MACHO_MAGIC);
    if (header->cpu != PR_MACHO_CPU_ARM64)
        return base_fail(r->error, EINVAL,
                         "The firmware's executable is for CPU type 0x%x; the controller's is arm64, 0x%x.",
                         header->cpu, PR_MACHO_CPU_ARM64);
    if (header->type != PR_MACHO_PRELOAD)
        return base_fail(r->error, EINVAL, "The firmware's executable is of type %u; a preload one is %u.",
                         header->type, PR_MACHO_PRELOAD);
    if (header->command_bytes > r->size - sizeof(*header))
        return base_fail(
            r->error, EINVAL,
            "The firmware's executable is truncated: its load commands have 0x%x bytes, 0x%zx are left.",
            header->command_bytes, r->size - sizeof(*header));
    return 0;
}

static bool overlaps(const struct img_segment *a, const struct img_segment *b)
{
    return a->address < b->address + b->memory_bytes && b->address < a->address + a->memory_bytes;
}

static int check_segment(const struct reader *r, const struct img_segment *s)
{
    if (s->offset > r->size || s->file_bytes > r->size - s->offset)
        return base_fail(r->error, EINVAL,
                         "Segment %s of the firmware has 0x%" PRIx64 " bytes at 0x%" PRIx64
                         " of an executable of 0x%zx.",
                         s->name, s->file_bytes, s->offset, r->size);
    if (s->file_bytes > s->memory_bytes)
        return base_fail(r->error, EINVAL,
                         "Segment %s of the firmware has 0x%" PRIx64 " bytes in the file and 0x%" PRIx64
                         " in memory.",
                         s->name, s->file_bytes, s->memory_bytes);
    if (s->address % PR_PAGE_BYTES || s->address < PR_IMAGE_BASE ||
        s->address - PR_IMAGE_BASE > PR_IMAGE_RUN_BYTES ||
        s->memory_bytes > PR_IMAGE_RUN_BYTES - (s->address - PR_IMAGE_BASE))
        return base_fail(r->error, EINVAL,
                         "Segment %s of the firmware has 0x%" PRIx64 " bytes at 0x%" PRIx64
                         "; it must be in whole pages from 0x%x to 0x%x.",
                         s->name, s->memory_bytes, s->address, PR_IMAGE_BASE,
                         PR_IMAGE_BASE + PR_IMAGE_RUN_BYTES);
    for (unsigned i = 0; i < r->macho->segments; i++)
        if (overlaps(s, &r->macho->segment[i]))
            return base_fail(r->error, EINVAL, "Segments %s and %s of the firmware overlap at 0x%" PRIx64 ".",
                             r->macho->segment[i].name, s->name, s->address);
    return 0;
}

static int take_segment(struct reader *r, const uint8_t *at, uint32_t bytes)
{
    struct pr_macho_segment command;
    struct img_segment segment;
    int status;

    if (bytes < sizeof(command))
        return base_fail(r->error, EINVAL, "A segment command of the firmware has %u bytes, not %zu.", bytes,
                         sizeof(command));
    memcpy(&command, at, sizeof(command));
    if ((bytes - sizeof(command)) % SECTION_BYTES ||
        (bytes - sizeof(command)) / SECTION_BYTES != command.sections)
        return base_fail(r->error, EINVAL, "A segment command of the firmware with %u sections has %u bytes.",
                         command.sections, bytes);
    if (r->macho->segments == PR_IMAGE_SEGMENTS_MAX)
        return base_fail(r->error, EINVAL, "The firmware's executable has more than %u segments.",
                         PR_IMAGE_SEGMENTS_MAX);
    segment = (struct img_segment){.address = command.address,
                                   .memory_bytes = command.memory_bytes,
                                   .offset = command.offset,
                                   .file_bytes = command.file_bytes,
                                   .protect = command.protect};
    for (unsigned i = 0; i < PR_MACHO_NAME_BYTES && command.name[i]; i++)
        segment.name[i] = command.name[i] < ' ' || command.name[i] > '~' ? '?' : command.name[i];
    status = check_segment(r, &segment);
    if (status)
        return status;
    segment.bytes = r->bytes + segment.offset;
    r->macho->segment[r->macho->segments++] = segment;
    return 0;
}

static int take_thread(struct reader *r, const uint8_t *at, uint32_t bytes)
{
    struct pr_macho_thread command;

    if (bytes != sizeof(command) || r->entry)
        return base_fail(r->error, EINVAL,
                         "The firmware's thread command has %u bytes; one of %zu is expected.", bytes,
                         sizeof(command));
    memcpy(&command, at, sizeof(command));
    if (command.flavour != PR_MACHO_FLAVOUR || command.words != PR_MACHO_THREAD_WORDS)
        return base_fail(r->error, EINVAL,
                         "The firmware's thread state has flavour %u and %u words; %u and %u are known.",
                         command.flavour, command.words, PR_MACHO_FLAVOUR, PR_MACHO_THREAD_WORDS);
    r->macho->entry = command.pc;
    r->entry = true;
    return 0;
}

static int take_uuid(struct reader *r, const uint8_t *at, uint32_t bytes)
{
    struct pr_macho_uuid command;

    if (bytes != sizeof(command) || r->uuid)
        return base_fail(r->error, EINVAL,
                         "The firmware's UUID command has %u bytes; one of %zu is expected.", bytes,
                         sizeof(command));
    memcpy(&command, at, sizeof(command));
    memcpy(r->macho->uuid, command.uuid, sizeof(command.uuid));
    r->uuid = true;
    return 0;
}

static int take_command(struct reader *r, const uint8_t *at, const struct pr_macho_command *command)
{
    switch (command->command) {
    case PR_MACHO_SEGMENT: return take_segment(r, at, command->bytes);
    case PR_MACHO_THREAD: return take_thread(r, at, command->bytes);
    case PR_MACHO_UUID: return take_uuid(r, at, command->bytes);
    default:
        return base_fail(r->error, EINVAL,
                         "Load command 0x%x of the firmware's executable is not known here.",
                         command->command);
    }
}

static int take_commands(struct reader *r, const struct pr_macho_header *header)
{
    const uint8_t *at = r->bytes + sizeof(*header);
    uint32_t left = header->command_bytes;
    int status = 0;

    for (uint32_t i = 0; i < header->commands && !status; i++) {
        struct pr_macho_command command;

        if (left < sizeof(command))
            return base_fail(r->error, EINVAL, "Load command %u of the firmware's executable is truncated.",
                             i);
        memcpy(&command, at, sizeof(command));
        if (command.bytes < sizeof(command) || command.bytes > left)
            return base_fail(r->error, EINVAL,
                             "Load command %u of the firmware's executable has %u bytes; %u are left.", i,
                             command.bytes, left);
        status = take_command(r, at, &command);
        at += command.bytes;
        left -= command.bytes;
    }
    if (!status && left)
        status = base_fail(r->error, EINVAL,
                           "%u bytes follow the load commands of the firmware's executable.", left);
    return status;
}

static int check_entry(const struct reader *r)
{
    const struct img_macho *m = r->macho;

    if (!m->segments)
        return base_fail(r->error, EINVAL, "The firmware's executable has no segment.");
    if (!r->entry)
        return base_fail(r->error, EINVAL, "The firmware's executable has no entry.");
    for (unsigned i = 0; i < m->segments; i++) {
        const struct img_segment *s = &m->segment[i];

        if (s->protect & PR_MACHO_PROTECT_EXECUTE && m->entry >= s->address &&
            m->entry - s->address < s->file_bytes && m->entry % PR_PAGE_BYTES == 0)
            return 0;
    }
    return base_fail(r->error, EINVAL,
                     "The firmware's entry 0x%" PRIx64 " is not at the start of a page of code.", m->entry);
}

int img_macho_read(const void *bytes, size_t size, struct img_macho *macho, struct base_error *error)
{
    struct reader r = {.bytes = bytes, .size = size, .macho = macho, .error = error};
    struct pr_macho_header header = {0};
    int status;

    memset(macho, 0, sizeof(*macho));
    status = check_header(&r, &header);
    if (!status)
        status = take_commands(&r, &header);
    return status ? status : check_entry(&r);
}
