/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/descriptor.h"

#include <stdio.h>
#include <string.h>

#include "program/activation.h"
#include "tool/sentence.h"

void tool_descriptors_begin(struct tool_descriptors *d, const struct tool_program *program)
{
    memset(d, 0, sizeof(*d));
    d->program = program;
}

void tool_descriptors_take(struct tool_descriptors *d, const struct pr_chain_link *link)
{
    const uint8_t *text = d->program->bytes + d->program->hwx.text.offset;

    memset(&d->problem, 0, sizeof(d->problem));
    d->decoded = false;
    d->framed = pr_td_read(text + link->offset, link->words, &d->td, &d->problem);
    if (!d->framed)
        return;
    pr_td_apply(&d->td, &d->image);
    d->decoded = pr_task_decode(&d->td, &d->image, &d->task, &d->problem);
}

/* One field of a descriptor that is not zero. */
struct shown {
    const struct pr_field_info *info;
    const struct pr_reg_info *reg; /* NULL: a header field */
    uint32_t element, value;
    const char *text; /* what the value means, or NULL */
};

typedef void (*show)(const struct shown *field, void *context);

static void over_header(const struct pr_td *td, show each, void *context)
{
    for (unsigned i = 0; i < PR_H_COUNT; i++) {
        const struct shown field = {&pr_header_table[i], NULL, 0,
                                    pr_td_header(td, (enum pr_td_header_field)i), NULL};

        if (field.value)
            each(&field, context);
    }
}

static void over_word(uint32_t index, uint32_t word, show each, void *context)
{
    struct shown field = {0};
    enum pr_td_reg reg = pr_image_reg(index, &field.element);

    field.reg = &pr_reg_table[reg];
    for (unsigned i = 0; i < PR_F_COUNT; i++) {
        field.info = &pr_field_table[i];
        if (field.info->owner != reg)
            continue;
        field.value = pr_bits_get(word, field.info->lo, field.info->width);
        field.text = pr_value_text((enum pr_td_field)i, field.value);
        if (field.value)
            each(&field, context);
    }
}

static void over_records(const struct pr_td *td, show each, void *context)
{
    for (uint32_t r = 0; r < td->record_count; r++) {
        const struct pr_record *record = &td->record[r];
        uint32_t first = (uint32_t)pr_image_index(record->address);

        for (uint32_t i = 0; i < record->count; i++)
            over_word(first + i, td->word[record->offset + 1 + i], each, context);
    }
}

/* Idle kernel channels repeat the same two words; only those of enabled ones are worth a line. */
static bool is_idle(const struct tool_descriptors *d, const struct shown *field)
{
    return field->reg && field->reg->block == PR_BLOCK_KERNEL_DMA && field->reg->count == PR_ENGINES_MAX &&
           !pr_image_get_at(&d->image, PR_F_COEFF_EN, field->element);
}

static void print_field(const struct shown *field, void *context)
{
    const struct tool_descriptors *d = context;
    char place[96];

    if (is_idle(d, field))
        return;
    if (!field->reg)
        snprintf(place, sizeof(place), "w%u %s", field->info->owner, field->info->name);
    else if (field->reg->count > 1)
        snprintf(place, sizeof(place), "%05x %s.%s[%u].%s", field->reg->address + 4 * field->element,
                 pr_block_table[field->reg->block].name, field->reg->name, field->element, field->info->name);
    else
        snprintf(place, sizeof(place), "%05x %s.%s.%s", field->reg->address,
                 pr_block_table[field->reg->block].name, field->reg->name, field->info->name);
    printf(field->info->width >= 16 && field->info->width != 17 ? "    %-46s 0x%-8x" : "    %-46s %-10u",
           place, field->value);
    if (field->text)
        printf("  = %s", field->text);
    else if (field->reg && field->info->lo && field->info->width >= 17) /* counts 16 or 64 bytes */
        printf("  = 0x%x bytes", field->value << field->info->lo);
    printf("  # %s\n", field->info->meaning);
}

/* The table in the constants, when the task has one there. */
static bool find_table(const struct tool_descriptors *d, uint16_t table[PR_TABLE_VALUES])
{
    const struct pr_hwx *hwx = &d->program->hwx;
    const struct pr_ne *ne = &d->task.ne;

    if (!d->decoded || d->task.unit != PR_UNIT_NE || !ne->table || ne->kernel_bar != PR_HWX_BAR_CONST)
        return false;
    for (unsigned i = 0; i < PR_ENGINES_MAX; i++) {
        if (!ne->stream[i].enabled)
            continue;
        if (ne->stream[i].base + (uint64_t)PR_TABLE_BYTES > hwx->constant.size)
            return false;
        pr_activation_read(table, d->program->bytes + hwx->constant.offset + ne->stream[i].base);
        return true;
    }
    return false;
}

static void print_kernel(const struct tool_descriptors *d)
{
    uint16_t table[PR_TABLE_VALUES];

    for (unsigned i = 0; d->decoded && d->task.unit == PR_UNIT_NE && i < PR_ENGINES_MAX; i++)
        if (d->task.ne.stream[i].enabled)
            printf("  kernel of engine %-2u 0x%x bytes at 0x%x of buffer %u\n", i, d->task.ne.stream[i].bytes,
                   d->task.ne.stream[i].base, d->task.ne.kernel_bar);
    if (find_table(d, table))
        printf("  table code 0x%x, knots 2^%d apart: %s\n", table[PR_AT_CODE], -(int16_t)table[PR_AT_SHIFT],
               pr_activation_guess(table));
}

void tool_descriptor_print(const struct tool_descriptors *d, const struct pr_chain_link *link)
{
    char buffer[TOOL_SENTENCE_BYTES];
    struct pr_text text;

    printf("descriptor %u at 0x%x, %u words\n", link->index, link->offset, link->words);
    if (!d->decoded) {
        printf("  not decoded: %s\n", d->problem.text);
    } else {
        pr_text_init(&text, buffer, sizeof(buffer));
        tool_task_sentence(&d->task, &text);
        printf("  %s.\n", buffer);
        print_kernel(d);
    }
    if (!d->framed)
        return;
    over_header(&d->td, print_field, (void *)d);
    over_records(&d->td, print_field, (void *)d);
}

struct json_context {
    const struct tool_descriptors *d;
    struct json *json;
};

static void json_field(const struct shown *field, void *context)
{
    struct json *json = ((struct json_context *)context)->json;

    if (is_idle(((struct json_context *)context)->d, field))
        return;
    json_object(json, NULL);
    if (field->reg) {
        json_string(json, "block", pr_block_table[field->reg->block].name);
        json_string(json, "register", field->reg->name);
        json_number(json, "address", field->reg->address + 4 * field->element);
        if (field->reg->count > 1)
            json_number(json, "element", field->element);
    } else {
        json_string(json, "block", "Header");
        json_number(json, "word", field->info->owner);
    }
    json_string(json, "name", field->info->name);
    json_number(json, "value", field->value);
    if (field->text)
        json_string(json, "value_meaning", field->text);
    json_string(json, "meaning", field->info->meaning);
    json_object_end(json);
}

static void json_kernel(const struct tool_descriptors *d, struct json *json)
{
    uint16_t table[PR_TABLE_VALUES];

    json_array(json, "kernel");
    for (unsigned i = 0; d->task.unit == PR_UNIT_NE && i < PR_ENGINES_MAX; i++) {
        if (!d->task.ne.stream[i].enabled)
            continue;
        json_object(json, NULL);
        json_number(json, "engine", i);
        json_number(json, "bar", d->task.ne.kernel_bar);
        json_number(json, "base", d->task.ne.stream[i].base);
        json_number(json, "bytes", d->task.ne.stream[i].bytes);
        json_object_end(json);
    }
    json_array_end(json);
    if (!find_table(d, table))
        return;
    json_object(json, "table");
    json_number(json, "code", table[PR_AT_CODE]);
    json_number(json, "shift", table[PR_AT_SHIFT]);
    json_string(json, "function", pr_activation_guess(table));
    json_object_end(json);
}

void tool_descriptor_json(const struct tool_descriptors *d, struct json *json)
{
    struct json_context context = {d, json};
    char buffer[TOOL_SENTENCE_BYTES];
    struct pr_text text;

    json_array(json, "fields");
    over_header(&d->td, json_field, &context);
    over_records(&d->td, json_field, &context);
    json_array_end(json);
    if (!d->decoded) {
        json_string(json, "not_decoded", d->problem.text);
        return;
    }
    pr_text_init(&text, buffer, sizeof(buffer));
    tool_task_sentence(&d->task, &text);
    json_string(json, "task", buffer);
    json_kernel(d, json);
}
