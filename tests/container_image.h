/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A firmware container and its text, made by hand: five generic buffers whose indices are not their
 * positions, two operations, three procedures.
 *   procedure 0: one descriptor at 0 of the text, content 0
 *   procedure 1: two descriptors at 0x400, the second with an extended header, content 3
 *   procedure 2: as 0, content 1, which no plain call may name
 */
#ifndef TESTS_CONTAINER_IMAGE_H
#define TESTS_CONTAINER_IMAGE_H

#include <stdbool.h>
#include <string.h>

#include "protocol/container.h"
#include "program/td.h"

#define IMAGE_TEXT_BYTES   0x800u
#define IMAGE_KERNEL_BYTES 0x4000u
#define IMAGE_BAR_0        0x285c25020ull /* where t6000 has bar 0 of queue 0 */
#define IMAGE_BUFFERS      5u
#define IMAGE_SCRATCH      0x00b40000u /* where the intermediate buffer always is */

enum { IMAGE_INPUT = 7, IMAGE_OUTPUT = 3, IMAGE_MIDDLE = 5, IMAGE_KERNEL = 6, IMAGE_TEXT = 8 };
#define IMAGE_SCRATCH_BYTES 0x4000u
#define IMAGE_INPUT_BYTES   0x1000u
#define IMAGE_OUTPUT_BYTES  0x2000u

struct container_image {
    _Alignas(16) uint8_t bytes[0x1000];
    size_t size;
    struct pr_container_package *package;
    struct pr_container_program *program;
    struct pr_container_section *section[PR_SECTION_COUNT];
    struct pr_generic *generic;
    struct pr_generic_buffer *buffer;
    uint8_t *operations;
    struct pr_operation *operation;
    uint8_t *procedures;
    struct pr_procedure *procedure;
    uint8_t *records;
    struct pr_rebase_record *record; /* of operation 0: text, kernel if there is one, then its three bars */
    uint8_t *bars;
    struct pr_program_bar *bar;
};

static inline void *image_take(struct container_image *image, size_t bytes)
{
    void *place = image->bytes + image->size;

    image->size += (bytes + 7) & ~(size_t)7;
    return place;
}

static inline void image_inside(struct container_image *image, enum pr_section kind, const void *place,
                                size_t bytes)
{
    image->section[kind]->offset = (uint32_t)((const uint8_t *)place - image->bytes);
    image->section[kind]->bytes = (uint32_t)bytes;
}

static inline void image_sections(struct container_image *image, bool kernel, bool bars)
{
    for (unsigned kind = 0; kind < PR_SECTION_COUNT; kind++) {
        if ((kind == PR_SECTION_KERNEL && !kernel) || (kind == PR_SECTION_CUSTOM_BARS && !bars))
            continue;
        image->section[kind] = image_take(image, sizeof(struct pr_container_section));
        image->section[kind]->magic = PR_CONTAINER_SECTION;
        image->section[kind]->kind = kind;
        image->program->sections++;
    }
}

static inline void image_buffers(struct container_image *image, bool kernel)
{
    const struct pr_generic_buffer buffers[IMAGE_BUFFERS] = {
        {.valid = 1, .index = IMAGE_INPUT, .type = PR_BUFFER_IN, .bytes = IMAGE_INPUT_BYTES},
        {.valid = 1, .index = IMAGE_OUTPUT, .type = PR_BUFFER_OUT, .bytes = IMAGE_OUTPUT_BYTES},
        {.valid = 1,
         .index = IMAGE_MIDDLE,
         .type = PR_BUFFER_INTERMEDIATE,
         .address = IMAGE_SCRATCH,
         .bytes = IMAGE_SCRATCH_BYTES},
        {.valid = 1, .index = IMAGE_TEXT, .type = PR_BUFFER_TEXT, .bytes = IMAGE_TEXT_BYTES},
        {.valid = 1, .index = IMAGE_KERNEL, .type = PR_BUFFER_KERNEL, .bytes = IMAGE_KERNEL_BYTES},
    };
    const uint32_t count = kernel ? IMAGE_BUFFERS : IMAGE_BUFFERS - 1;

    image->generic = image_take(image, sizeof(struct pr_generic));
    image->generic->max_ane_used = 1;
    image->generic->engines = 16;
    image->generic->buffers = count;
    image->buffer = image_take(image, count * sizeof(struct pr_generic_buffer));
    memcpy(image->buffer, buffers, count * sizeof(struct pr_generic_buffer));
    image_inside(image, PR_SECTION_GENERIC, image->generic,
                 sizeof(struct pr_generic) + count * sizeof(buffers[0]));
}

static inline void image_operations(struct container_image *image)
{
    const size_t bytes = 4 + 2 * sizeof(struct pr_operation);

    image->operations = image_take(image, bytes);
    pr_put_le32(image->operations, 2);
    image->operation = (void *)(image->operations + 4);
    for (unsigned i = 0; i < 2; i++) {
        struct pr_operation *o = &image->operation[i];

        o->engines = 16;
        o->last_td = (uint16_t)i;
        o->bars = 3;
        o->bar[0].bar = 5, o->bar[0].buffer = IMAGE_INPUT;
        o->bar[1].bar = 4, o->bar[1].buffer = IMAGE_OUTPUT;
        o->bar[2].bar = 9, o->bar[2].buffer = IMAGE_MIDDLE;
    }
    image_inside(image, PR_SECTION_OPERATION, image->operations, bytes);
}

static inline void image_procedures(struct container_image *image)
{
    const struct pr_procedure procedures[3] = {
        {.operation = 0, .first_words = 12, .text_offset = 0, .io_buffers = 2, .content = 0, .partitions = 1},
        {.operation = 1,
         .first_words = 10,
         .text_offset = 0x400,
         .io_buffers = 2,
         .content = 3,
         .partitions = 1},
        {.operation = 0, .first_words = 12, .text_offset = 0, .io_buffers = 2, .content = 1, .partitions = 1},
    };

    image->procedures = image_take(image, 8 + sizeof(procedures));
    pr_put_le32(image->procedures, 3);
    image->procedure = (void *)(image->procedures + 8);
    memcpy(image->procedure, procedures, sizeof(procedures));
    image_inside(image, PR_SECTION_PROCEDURE, image->procedures, 8 + sizeof(procedures));
}

static inline void image_record(struct container_image *image, uint32_t operation, uint32_t bar,
                                uint32_t buffer)
{
    struct pr_rebase_record *record = &image->record[pr_le32(image->records)];

    pr_put_le32(image->records, pr_le32(image->records) + 1);
    record->operation = operation;
    record->bar = bar;
    record->buffer = buffer;
    pr_rebase_put(record->reg, IMAGE_BAR_0 + 4 * bar);
}

static inline void image_records(struct container_image *image, bool kernel)
{
    const uint32_t count = kernel ? 10 : 8;

    image->records = image_take(image, 8 + count * sizeof(struct pr_rebase_record));
    image->record = (void *)(image->records + 8);
    for (uint32_t i = 0; i < 2; i++) {
        image_record(image, i, 0, PR_PROCESS_TEXT);
        if (kernel)
            image_record(image, i, 1, PR_PROCESS_KERNEL);
        image_record(image, i, 5, IMAGE_INPUT);
        image_record(image, i, 4, IMAGE_OUTPUT);
        image_record(image, i, 9, IMAGE_MIDDLE);
    }
    image_inside(image, PR_SECTION_REBASE, image->records, 8 + count * sizeof(struct pr_rebase_record));
}

static inline void image_bars(struct container_image *image, const struct pr_program_bar *bar, uint32_t count)
{
    image->bars = image_take(image, 8 + count * sizeof(bar[0]));
    pr_put_le32(image->bars, count);
    image->bar = (void *)(image->bars + 8);
    memcpy(image->bar, bar, count * sizeof(bar[0]));
    image_inside(image, PR_SECTION_CUSTOM_BARS, image->bars, 8 + count * sizeof(bar[0]));
}

/* With a section of custom bars, unless there are 0. */
static inline void image_make_with(struct container_image *image, uint64_t text, uint64_t kernel,
                                   const struct pr_program_bar *bar, uint32_t bars)
{
    memset(image, 0, sizeof(*image));
    image->package = image_take(image, sizeof(struct pr_container_package));
    image->program = image_take(image, sizeof(struct pr_container_program));
    image->program->magic = PR_CONTAINER_PROGRAM;
    memset(image->program->identity, 0x5a, sizeof(image->program->identity));
    image_sections(image, kernel != 0, bars != 0);
    image_buffers(image, kernel != 0);
    image_operations(image);
    image_procedures(image);
    image_records(image, kernel != 0);
    if (bars)
        image_bars(image, bar, bars);
    image->section[PR_SECTION_TEXT]->address = text;
    image->section[PR_SECTION_TEXT]->address_bytes = IMAGE_TEXT_BYTES;
    if (kernel) {
        image->section[PR_SECTION_KERNEL]->address = kernel;
        image->section[PR_SECTION_KERNEL]->address_bytes = IMAGE_KERNEL_BYTES;
    }
    *image->package = (struct pr_container_package){.magic = PR_CONTAINER_PACKAGE,
                                                    .version = PR_CONTAINER_VERSION,
                                                    .checksum = PR_CONTAINER_CHECKSUM_VALID,
                                                    .bytes = (uint32_t)image->size,
                                                    .program_offset = sizeof(struct pr_container_package)};
}

static inline void image_make(struct container_image *image, uint64_t text, uint64_t kernel)
{
    image_make_with(image, text, kernel, NULL, 0);
}

/* Headers only: word 1 has NextSize, word 6 TDE, word 7 NextPointer. */
static inline void image_text(uint8_t *text)
{
    memset(text, 0, IMAGE_TEXT_BYTES);
    pr_put_le32(text + 0x400 + 4, (20 - 1) << 16);
    pr_put_le32(text + 0x400 + 28, 0x500);
    pr_put_le32(text + 0x500 + 24, 1u << 24);
}

#endif
