/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing program images: the load commands of compiler 4.x, surfaces after the text. The commands are
 * written twice: the first pass has no capacity and only measures them, because the text begins behind them.
 * Both passes must therefore make the same commands. No byte is stored past the capacity. What is written
 * here, hwx.c and hwx_port.c must accept.
 */
#include "program/hwx_write.h"

#include <string.h>

#include "protocol/text.h"

enum { CMD_SYMTAB = 2, CMD_STATE = 4, CMD_BINDING = 6, CMD_SEGMENT = 0x19 };
enum { STATE_PROGRAM = 1, STATE_TENSOR = 3 };
enum {
    SEGMENT_BYTES = 72,
    SECTION_BYTES = 80,
    PROGRAM_BYTES = 0x868,
    TENSOR_HEAD = 0x88,
    BINDING_HEAD = 0x14
};
#define FLAGS        0x200000u
#define PAGE         0x4000u
#define VM_BASE      0x30000000u
#define TEXT_FLAGS   0x28u
#define CONST_FLAGS  0x26u
#define INPUT_FLAGS  0x21u
#define OUTPUT_FLAGS 0x23u
#define BSS_FLAGS    0x25u

struct writer {
    uint8_t *bytes;
    size_t capacity;
    uint32_t at; /* end of the load commands so far */
    uint32_t commands;
    uint32_t vm; /* next free address */
    const struct pr_hwx_program *program;
    uint32_t constant_offset, literal_offset; /* from the start of the text */
    uint64_t bar[PR_TQ_BARS];
};

static void put_bytes(struct writer *w, uint32_t at, const void *from, uint32_t count)
{
    if (!from || at >= w->capacity)
        return;
    memcpy(w->bytes + at, from, count < w->capacity - at ? count : w->capacity - at);
}

static void put32(struct writer *w, uint32_t at, uint32_t value)
{
    uint8_t word[4];

    pr_put_le32(word, value);
    put_bytes(w, at, word, 4);
}

static void put64(struct writer *w, uint32_t at, uint64_t value)
{
    put32(w, at, (uint32_t)value);
    put32(w, at + 4, (uint32_t)(value >> 32));
}

static uint32_t length(const char *string)
{
    return (uint32_t)pr_string_length(string);
}

static uint32_t command(struct writer *w, uint32_t type, uint32_t size)
{
    uint32_t at = w->at;

    put32(w, at, type);
    put32(w, at + 4, size);
    w->at += size;
    w->commands++;
    return at;
}

/* A segment of `sections` sections; returns the place of its first section header. */
static uint32_t segment(struct writer *w, const char *name, uint32_t address, uint32_t size, uint32_t file,
                        uint32_t file_bytes, uint32_t protection, uint32_t sections)
{
    uint32_t at = command(w, CMD_SEGMENT, SEGMENT_BYTES + SECTION_BYTES * sections);

    put_bytes(w, at + 8, name, length(name));
    put64(w, at + 24, address);
    put64(w, at + 32, size);
    put64(w, at + 40, file);
    put64(w, at + 48, file_bytes);
    put32(w, at + 56, protection);
    put32(w, at + 60, protection);
    put32(w, at + 64, sections);
    return at + SEGMENT_BYTES;
}

static void section(struct writer *w, uint32_t at, const char *name, const char *owner, uint32_t address,
                    uint32_t size, uint32_t file, uint32_t flags)
{
    put_bytes(w, at, name, length(name));
    put_bytes(w, at + 16, owner, length(owner));
    put64(w, at + 32, address);
    put64(w, at + 40, size);
    put32(w, at + 48, file);
    put32(w, at + 52, 14);
    put32(w, at + 64, flags);
}

static uint32_t take_vm(struct writer *w, uint64_t bytes)
{
    uint32_t at = w->vm;

    w->vm += (uint32_t)pr_round_up(bytes ? bytes : 1, PAGE);
    return at;
}

static uint32_t blob_bytes(const struct writer *w)
{
    return w->program->literal_bytes ? w->literal_offset + w->program->literal_bytes
                                     : w->constant_offset + w->program->constant_bytes;
}

/* A section of the text's segment that holds bytes of the program in a buffer. */
static void write_bytes(struct writer *w, uint32_t at, const char *name, uint32_t bar, uint32_t offset,
                        uint32_t file, const void *bytes, uint32_t size)
{
    uint32_t address = (uint32_t)w->bar[PR_HWX_BAR_TEXT] + offset;

    section(w, at, name, "__TEXT", address, size, file + offset, CONST_FLAGS);
    w->bar[bar] = address;
    put_bytes(w, file + offset, bytes, size);
}

static void write_text(struct writer *w, uint32_t file)
{
    const struct pr_hwx_program *p = w->program;
    uint32_t sections = 1 + (p->constant_bytes != 0) + (p->literal_bytes != 0);
    uint32_t vm = take_vm(w, blob_bytes(w));
    uint32_t at = segment(w, "__TEXT", vm, (uint32_t)pr_round_up(blob_bytes(w), PAGE), file, blob_bytes(w), 5,
                          sections);

    section(w, at, "__text", "__TEXT", vm, p->text_bytes, file, TEXT_FLAGS);
    w->bar[PR_HWX_BAR_TEXT] = vm;
    put_bytes(w, file, p->text, p->text_bytes);
    at += SECTION_BYTES;
    if (p->constant_bytes) {
        write_bytes(w, at, "__const", PR_HWX_BAR_CONST, w->constant_offset, file, p->constant,
                    p->constant_bytes);
        at += SECTION_BYTES;
    }
    if (p->literal_bytes)
        write_bytes(w, at, "__literal", PR_HWX_BAR_LITERAL, w->literal_offset, file, p->literal,
                    p->literal_bytes);
}

static void write_surface(struct writer *w, const struct pr_hwx_port *port)
{
    bool input = port->direction == PR_HWX_INPUT;
    uint32_t vm = take_vm(w, port->bytes);
    uint32_t at =
        segment(w, "__FVMLIB", vm, (uint32_t)pr_round_up(port->bytes, PAGE), 0, 0, input ? 1 : 2, 1);

    section(w, at, input ? "__const" : "__data", "__FVMLIB", vm, (uint32_t)port->bytes, 0,
            input ? INPUT_FLAGS : OUTPUT_FLAGS);
    w->bar[port->bar] = vm;
}

/* Memory without bytes in the file. */
static void write_zeroed(struct writer *w, uint32_t bytes, uint32_t bar)
{
    uint32_t vm, at;

    if (!bytes)
        return;
    vm = take_vm(w, bytes);
    at = segment(w, "__DATA", vm, (uint32_t)pr_round_up(bytes, PAGE), 0, 0, 3, 1);
    section(w, at, "__bss", "__DATA", vm, bytes, 0, BSS_FLAGS);
    w->bar[bar] = vm;
}

static void write_binding(struct writer *w, const struct pr_hwx_port *port)
{
    uint32_t size = (uint32_t)pr_round_up(BINDING_HEAD + length(port->name) + 1, 8);
    uint32_t at = command(w, CMD_BINDING, size);

    put32(w, at + 8, BINDING_HEAD);
    put32(w, at + 0x10, (uint32_t)w->bar[port->bar]);
    put_bytes(w, at + BINDING_HEAD, port->name, length(port->name));
}

static void write_descriptor(struct writer *w)
{
    const struct pr_hwx_program *p = w->program;
    uint32_t at = command(w, CMD_STATE, PROGRAM_BYTES);

    put32(w, at + 8, STATE_PROGRAM);
    put32(w, at + 0xc, 0x214);
    for (uint32_t i = 0; i < PR_TQ_BARS; i++)
        put64(w, at + 0x10 + 8 * i, w->bar[i]);
    put64(w, at + 0x810, w->bar[PR_HWX_BAR_TEXT]);
    put32(w, at + 0x818, p->first_td_words - 1);
    put32(w, at + 0x81c, p->td_count);
    put32(w, at + 0x824, 0xffff);
    put32(w, at + 0x83c, 0x860);
    put64(w, at + 0x848, p->intermediate_bytes);
    put_bytes(w, at + 0x860, "net", 3);
}

static void write_tensor(struct writer *w, const struct pr_hwx_port *port)
{
    uint32_t name = length(port->name) + 1;
    uint32_t size = (uint32_t)pr_round_up(TENSOR_HEAD + 4 + 2 * name, 8);
    uint32_t at = command(w, CMD_STATE, size);
    const uint32_t extent[5] = {port->n, port->c, port->h, port->w, port->d};

    put32(w, at + 8, STATE_TENSOR);
    put32(w, at + 0xc, (size - 16) / 4);
    put32(w, at + 0x10, 3);
    put32(w, at + 0x14, port->direction);
    put32(w, at + 0x18, TENSOR_HEAD);
    put32(w, at + 0x20, TENSOR_HEAD + 4);
    put32(w, at + 0x24, port->element);
    for (unsigned i = 0; i < 5; i++)
        put32(w, at + 0x28 + 4 * i, extent[i]);
    put64(w, at + 0x50, port->batch_stride);
    put64(w, at + 0x58, port->plane_stride);
    put64(w, at + 0x60, port->row_stride);
    put64(w, at + 0x68, port->element_stride);
    put64(w, at + 0x70, port->bytes);
    put32(w, at + 0x78, 1);
    put32(w, at + 0x7c, TENSOR_HEAD + 4 + name);
    put64(w, at + 0x80, port->bytes);
    put_bytes(w, at + TENSOR_HEAD, "net", 3);
    put_bytes(w, at + TENSOR_HEAD + 4, port->name, name);
    put_bytes(w, at + TENSOR_HEAD + 4 + name, port->name, name);
}

static bool writable(const struct pr_hwx_program *p)
{
    uint32_t used = 1u << PR_HWX_BAR_TEXT | 1u << PR_HWX_BAR_CONST | 1u << PR_HWX_BAR_INTERMEDIATE;

    if (p->literal_bytes)
        used |= 1u << PR_HWX_BAR_LITERAL;
    if (p->port_count > PR_HWX_PORTS_MAX || !p->text_bytes || !p->first_td_words)
        return false;
    if (p->scratch_bytes) {
        if (p->scratch_bar >= PR_TQ_BARS || used >> p->scratch_bar & 1)
            return false;
        used |= 1u << p->scratch_bar;
    }
    for (uint32_t i = 0; i < p->port_count; i++) {
        const struct pr_hwx_port *port = &p->port[i];

        if (port->bar >= PR_TQ_BARS || used >> port->bar & 1 || !port->name[0] || port->bytes > UINT32_MAX)
            return false;
        used |= 1u << port->bar;
    }
    return true;
}

/*
 * Every command once. The blob's place in the file is known only after the commands: it is given from a first
 * pass.
 */
static void write_all(struct writer *w, uint32_t file)
{
    w->at = PR_HWX_HEADER_BYTES;
    w->commands = 0;
    w->vm = VM_BASE;
    segment(w, "__PAGEZERO", 0, PAGE, 0, 0, 0, 0);
    write_text(w, file);
    for (uint32_t i = 0; i < w->program->port_count; i++)
        write_surface(w, &w->program->port[i]);
    write_zeroed(w, w->program->intermediate_bytes, PR_HWX_BAR_INTERMEDIATE);
    write_zeroed(w, w->program->scratch_bytes, w->program->scratch_bar);
    for (uint32_t i = 0; i < w->program->port_count; i++)
        write_binding(w, &w->program->port[i]);
    write_descriptor(w);
    for (uint32_t i = 0; i < w->program->port_count; i++)
        write_tensor(w, &w->program->port[i]);
}

static void write_header(struct writer *w)
{
    const uint32_t word[8] = {PR_HWX_MAGIC,
                              PR_HWX_CPU,
                              PR_HWX_SUBTYPE_H13,
                              PR_HWX_FILE_TYPE,
                              w->commands,
                              w->at - PR_HWX_HEADER_BYTES,
                              FLAGS,
                              0};

    for (unsigned i = 0; i < 8; i++)
        put32(w, 4 * i, word[i]);
}

/* Zeros, but for constants that the caller leaves out. */
static void clear(const struct writer *w, uint32_t file)
{
    const size_t left_out = w->program->constant ? 0 : w->program->constant_bytes;
    const size_t before = left_out ? file + w->constant_offset : w->capacity;

    memset(w->bytes, 0, before < w->capacity ? before : w->capacity);
    if (before + left_out < w->capacity)
        memset(w->bytes + before + left_out, 0, w->capacity - before - left_out);
}

size_t pr_hwx_write(const struct pr_hwx_program *program, void *bytes, size_t capacity)
{
    struct writer w = {.bytes = bytes, .program = program};
    uint32_t file;

    if (!writable(program))
        return 0;
    w.constant_offset = (uint32_t)pr_round_up(program->text_bytes, 64);
    w.literal_offset = (uint32_t)pr_round_up(w.constant_offset + program->constant_bytes, 64);
    write_all(&w, 0);
    file = (uint32_t)pr_round_up(w.at, PAGE);
    w.capacity = capacity;
    if (capacity)
        clear(&w, file);
    write_all(&w, file);
    write_header(&w);
    return file + blob_bytes(&w);
}
