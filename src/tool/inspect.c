/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone inspect`: a program decoded. Text and JSON come from one walk along the chain, in which registers
 * carry over from one descriptor to the next. A descriptor whose framing is wrong is shown with its problem,
 * and the walk continues where the chain does.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "program/hwx.h"
#include "listing/listing.h"
#include "protocol/dump.h"
#include "tool/binding.h"
#include "tool/descriptor.h"
#include "tool/dump.h"
#include "tool/firmware.h"
#include "tool/folder.h"
#include "tool/inspect_model.h"
#include "tool/tool.h"

const char tool_inspect_help[] =
    "anemone inspect FILE|BUNDLE|FOLDER [--listing] [--raw] [--words N] [--descriptors N] [--recursive]\n"
    "                [--shape NAME=1,3,224,224] [--bind NAME=FILE.npy] [--json]\n\n"
    "Shows what a program holds: its ports with shapes and strides, its buffers, and every descriptor:\n"
    "the task in one sentence, the kernel streams, what function an activation table seems to be, and\n"
    "each field that is not zero with its place, its value and what that means (docs/descriptor.md\n"
    "has them all). A program is an image (.hwx), an .anec, a descriptor stream without a container (a\n"
    "btsp buffer, a dump of buffer 0, the content of an .anec), or the text form of one.\n\n"
    "Of a model (.mil, .onnx) it shows the ports, the nodes by kind, parameters, bytes of weights and\n"
    "multiply-accumulates; of a bundle the ports, what its manifest states and a line for each record.\n\n"
    "Of a firmware image (Image4) it shows the payload tag, the digest, the entry and the segments,\n"
    "when all of it is as docs/image.md says; otherwise what is wrong.\n"
    "Of a dump that the firmware left when it failed (.aned, docs/recovery.md) it shows every section.\n\n"
    "Of a folder, every file has a row as in `anemone check`, and the task of its first descriptor.\n\n"
    "  --listing        only the descriptor stream, in the text form that `anemone assemble` reads back\n"
    "                   to the same bytes\n"
    "  --raw            the file is a descriptor stream, also when it does not look like one\n"
    "  --words N        its first descriptor has N words: td_size / 4. Without it the size is found\n"
    "                   by the records, which must be whole\n"
    "  --descriptors N  look at the first N only\n"
    "  --recursive      of a folder, also the files in the folders below\n" TOOL_BINDINGS_HELP
    "  --json           ports, buffers and descriptors, or the rows of a folder, as JSON\n\n"
    "  anemone inspect relu.hwx\n"
    "  anemone inspect net.onnx\n"
    "  anemone inspect btsp.bin\n"
    "  anemone inspect dump.bin --raw --words 157\n"
    "  anemone inspect . --recursive\n"
    "  anemone inspect relu.hwx --listing > relu.td && anemone assemble relu.td --output relu.text\n";

static void print_line(void *context, const char *line, size_t length)
{
    (void)context;
    fwrite(line, 1, length, stdout);
    putchar('\n');
}

static const char *direction(const struct pr_hwx_port *port)
{
    return port->direction == PR_HWX_INPUT ? "input" : "output";
}

static const char *element(const struct pr_hwx_port *port)
{
    const char *name = pr_hwx_element_name(port->element);

    return name ? name : "unknown";
}

static void print_port(const struct pr_hwx_port *port)
{
    printf("  %-6s %-20s BAR %-2u 0x%" PRIx64 " bytes  %s", direction(port), port->name, port->bar,
           port->bytes, element(port));
    if (port->shaped)
        printf(" [%u, %u, %u, %u]  strides %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, port->n, port->c,
               port->h, port->w, port->batch_stride, port->plane_stride, port->row_stride,
               port->element_stride);
    putchar('\n');
}

static void print_program(const char *path, const struct tool_program *program)
{
    const struct pr_hwx *hwx = &program->hwx;

    printf("# %s\n", path);
    printf("text      0x%" PRIx64 " bytes at file offset 0x%" PRIx64
           ", %u descriptors, the first of %u words\n",
           hwx->text.size, hwx->text.offset, hwx->td_count, hwx->first_td_words);
    printf("constants 0x%" PRIx64 " bytes at file offset 0x%" PRIx64 "\n", hwx->constant.size,
           hwx->constant.offset);
    if (hwx->intermediate_bytes)
        printf("scratch   0x%" PRIx64 " bytes in BAR %d\n", hwx->intermediate_bytes, PR_HWX_BAR_INTERMEDIATE);
    for (unsigned i = 0; i < program->notes; i++)
        printf("note      %s\n", program->note[i].text);
    printf("ports\n");
    for (uint32_t i = 0; i < hwx->port_count; i++)
        print_port(&hwx->port[i]);
    printf("buffers");
    for (uint32_t i = 0; i < PR_TQ_BARS; i++)
        if (hwx->bar[i])
            printf("  BAR %u 0x%" PRIx64, i, hwx->bar[i]);
    printf("\n\n");
}

static void json_port(struct json *json, const struct pr_hwx_port *port)
{
    json_object(json, NULL);
    json_string(json, "name", port->short_name);
    json_string(json, "symbol", port->name);
    json_string(json, "direction", direction(port));
    json_string(json, "type", element(port));
    json_number(json, "bar", port->bar);
    json_number(json, "bytes", port->bytes);
    json_array(json, "shape");
    if (port->shaped) {
        json_number(json, NULL, port->n);
        json_number(json, NULL, port->c);
        json_number(json, NULL, port->h);
        json_number(json, NULL, port->w);
    }
    json_array_end(json);
    json_array(json, "strides");
    if (port->shaped) {
        json_number(json, NULL, port->batch_stride);
        json_number(json, NULL, port->plane_stride);
        json_number(json, NULL, port->row_stride);
        json_number(json, NULL, port->element_stride);
    }
    json_array_end(json);
    json_object_end(json);
}

static void json_fields(struct json *json, const struct pr_td *td)
{
    json_object(json, "header");
    for (unsigned i = 0; i < PR_H_COUNT; i++)
        if (pr_td_header(td, (enum pr_td_header_field)i))
            json_number(json, pr_header_table[i].name, pr_td_header(td, (enum pr_td_header_field)i));
    json_object_end(json);
    json_array(json, "writes");
    for (uint32_t r = 0; r < td->record_count; r++) {
        const struct pr_record *record = &td->record[r];

        json_object(json, NULL);
        json_number(json, "address", record->address);
        json_array(json, "words");
        for (uint32_t i = 0; i < record->count; i++)
            json_number(json, NULL, td->word[record->offset + 1 + i]);
        json_array_end(json);
        json_object_end(json);
    }
    json_array_end(json);
}

static void json_descriptor(struct json *json, const struct tool_descriptors *d,
                            const struct pr_chain_link *link)
{
    json_object(json, NULL);
    json_number(json, "index", link->index);
    json_number(json, "offset", link->offset);
    json_number(json, "words", link->words);
    if (d->framed) {
        json_fields(json, &d->td);
        tool_descriptor_json(d, json);
    } else {
        json_string(json, "problem", d->problem.text);
    }
    json_object_end(json);
}

/* Every descriptor of the chain, as text when there is no JSON to write to. */
static void show_descriptors(const struct tool_program *program, struct json *json)
{
    static struct tool_descriptors d; /* too large for a stack; the command has one thread */
    struct pr_chain chain;
    struct pr_chain_link link;
    enum pr_chain_step step;

    tool_descriptors_begin(&d, program);
    pr_chain_begin(&chain, program->bytes + program->hwx.text.offset, program->hwx.text.size,
                   program->hwx.first_td_words, program->hwx.td_count);
    while ((step = pr_chain_next(&chain, &link, NULL)) != PR_CHAIN_END) {
        if (step != PR_CHAIN_LINK)
            continue;
        tool_descriptors_take(&d, &link);
        if (json)
            json_descriptor(json, &d, &link);
        else
            tool_descriptor_print(&d, &link);
    }
}

static void print_json(const struct tool_program *program)
{
    const struct pr_hwx *hwx = &program->hwx;
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "format", tool_form_name(program->form));
    json_array(&json, "notes");
    for (unsigned i = 0; i < program->notes; i++)
        json_string(&json, NULL, program->note[i].text);
    json_array_end(&json);
    json_number(&json, "text_bytes", hwx->text.size);
    json_number(&json, "constant_bytes", hwx->constant.size);
    json_number(&json, "intermediate_bytes", hwx->intermediate_bytes);
    json_array(&json, "ports");
    for (uint32_t i = 0; i < hwx->port_count; i++)
        json_port(&json, &hwx->port[i]);
    json_array_end(&json);
    json_array(&json, "descriptors");
    show_descriptors(program, &json);
    json_array_end(&json);
    json_end(&json);
}

/* The bytes become the program's. */
static int inspect_program(const char *path, uint8_t *bytes, size_t size, bool listing,
                           const struct tool_folder *how)
{
    static struct tool_program program; /* too large for a stack; the command has one thread */
    struct pr_problem problem;
    int status = TOOL_OK;

    if (!tool_program_take(path, bytes, size, &how->asked, &program))
        return TOOL_FAILURE;
    if (how->as_json) {
        print_json(&program);
    } else if (!listing) {
        print_program(path, &program);
        show_descriptors(&program, NULL);
    } else if (!pr_listing_write(program.bytes + program.hwx.text.offset, program.hwx.text.size,
                                 program.hwx.first_td_words, print_line, NULL, &problem)) {
        tool_say("%s: %s", path, problem.text);
        status = TOOL_FAILURE;
    }
    base_free(program.bytes);
    return status;
}

static int show_dump(const char *path, const uint8_t *bytes, size_t size, bool otherwise)
{
    if (otherwise) {
        tool_say("%s: it is a dump of the firmware, which is shown as text alone.", path);
        return TOOL_FAILURE;
    }
    return tool_dump_print(path, bytes, size) ? TOOL_OK : TOOL_FAILURE;
}

static int inspect_file(const char *path, bool listing, const struct tool_folder *how)
{
    uint8_t *bytes;
    size_t size;
    int status;

    bytes = tool_file_read(path, TOOL_PROGRAM_BYTES_MAX, &size);
    if (!bytes)
        return TOOL_FAILURE;
    if (!how->asked.raw && pr_dump_begins(bytes, size))
        status = show_dump(path, bytes, size, listing || how->as_json);
    else if (!how->asked.raw && tool_firmware_is(bytes, size))
        status = tool_firmware_show(path, bytes, size, how->as_json);
    else
        return inspect_program(path, bytes, size, listing, how);
    base_free(bytes);
    return status;
}

/* A model, or what was made of it. */
static int inspect_compiled(const char *path, bool listing, bool as_json,
                            const struct tool_bindings *bindings)
{
    if (listing) {
        tool_say("%s: --listing takes a program; `anemone compile --hwx` makes one.", path);
        return TOOL_USAGE;
    }
    return tool_inspect_is_model(path) ? tool_inspect_model(path, bindings->row, bindings->count, as_json)
                                       : tool_inspect_bundle(path, as_json);
}

static int inspect(int argc, char **argv, struct tool_bindings *bindings)
{
    const char *words = NULL, *descriptors = NULL, *path;
    struct tool_folder how = {.tasks = true};
    bool listing = false;
    const struct tool_option options[] = {{"listing", &listing, NULL},
                                          {"json", &how.as_json, NULL},
                                          {"raw", &how.asked.raw, NULL},
                                          {"words", NULL, &words},
                                          {"descriptors", NULL, &descriptors},
                                          {"recursive", &how.recursive, NULL},
                                          {0}};
    unsigned count;

    if (!tool_bindings_take(&argc, argv, bindings) || !tool_words(argc, argv, options, &path, 1, &count))
        return TOOL_USAGE;
    if (count != 1) {
        fputs(tool_inspect_help, stderr);
        return TOOL_USAGE;
    }
    if (!tool_asked_read(&how.asked, words, descriptors))
        return TOOL_USAGE;
    if (bindings->count && !tool_inspect_is_model(path)) {
        tool_say("%s: --shape and --bind are about the inputs of an ONNX model.", path);
        return TOOL_USAGE;
    }
    if (!tool_bindings_read(bindings))
        return TOOL_FAILURE;
    if (!how.asked.raw && (tool_inspect_is_model(path) || (!how.recursive && tool_inspect_is_bundle(path))))
        return inspect_compiled(path, listing, how.as_json, bindings);
    if (!tool_folder_is(path))
        return inspect_file(path, listing, &how);
    if (listing) {
        tool_say("%s: it is a folder; --listing takes one file.", path);
        return TOOL_USAGE;
    }
    return tool_folder_check(path, &how);
}

int tool_inspect(int argc, char **argv)
{
    static struct tool_bindings bindings; /* too large for a stack; the command has one thread */
    int status = inspect(argc, argv, &bindings);

    tool_bindings_release(&bindings);
    return status;
}
