/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program files of anecc and libane. The header is checked against the file's size before any descriptor is
 * read, and the descriptors decide what the header leaves open.
 */
#include "program/anec.h"

#include <string.h>

#include "base/array.h"
#include "program/chain.h"
#include "program/hwx_reader.h"
#include "program/hwx_write.h"
#include "program/slice.h"
#include "protocol/text.h"
#include "program/uses.h"

/* Places in the header. */
enum { SIZE = 0, TD_SIZE = 8, TD_COUNT = 12, TSK_SIZE = 16, KRN_SIZE = 24, SRC_COUNT = 32, DST_COUNT = 36 };
enum { TILES = 0x28, NCHW = 0xa8, NCHW_BYTES = 48, PLANE_STRIDE = 32, ROW_STRIDE = 40 };

#define VM_BASE 0x30000000u
/* Addresses of an image have 32 bits. */
#define VM_BYTES (0x100000000ull - VM_BASE)
#define PORTS    (PR_TQ_BARS - PR_ANEC_FIRST_PORT)
#define PORT_SET (~0u << PR_ANEC_FIRST_PORT)

struct reader {
    struct pr_slice file, head;
    struct pr_hwx *hwx;
    struct pr_problem *problem;
    uint64_t size, tsk_size, krn_size;
    uint32_t sources, destinations;
    uint32_t surfaces; /* a set of buffers: bit b is buffer b */
    struct pr_uses uses;
};

static uint32_t count_bits(uint32_t set)
{
    uint32_t count = 0;

    for (; set; set &= set - 1)
        count++;
    return count;
}

static uint32_t lowest(uint32_t set)
{
    uint32_t bar = 0;

    while (!(set >> bar & 1))
        bar++;
    return bar;
}

static uint32_t tiles(const struct reader *r, uint32_t bar)
{
    return pr_slice_u32(&r->head, TILES + 4 * bar);
}

static bool refuse_count(const struct reader *r, uint32_t at, const char *what, uint32_t value,
                         const char *wants)
{
    return pr_slice_problem(&r->head, at, r->problem, PR_PROBLEM_INCONSISTENT, "The header's %s is %x; %s.",
                            what, value, wants);
}

static bool read_sizes(struct reader *r)
{
    uint32_t td_size = pr_slice_u32(&r->head, TD_SIZE);
    uint64_t kernel;

    r->size = pr_slice_u64(&r->head, SIZE);
    r->tsk_size = pr_slice_u64(&r->head, TSK_SIZE);
    r->krn_size = pr_slice_u64(&r->head, KRN_SIZE);
    if (td_size % 4 || td_size < 4 * PR_TD_HEADER_WORDS || td_size > 4 * PR_TD_WORDS_MAX)
        return refuse_count(r, TD_SIZE, "td_size", td_size,
                            "a descriptor has 0x28 to 0x800 bytes in whole words");
    r->hwx->first_td_words = td_size / 4;
    r->hwx->td_count = pr_slice_u32(&r->head, TD_COUNT);
    if (r->hwx->td_count == 0)
        return refuse_count(r, TD_COUNT, "td_count", 0, "a program needs at least 1 descriptor");
    if (r->size > r->file.size)
        return pr_slice_problem(&r->head, SIZE, r->problem, PR_PROBLEM_TRUNCATED,
                                "The header declares %jx bytes of content; the whole file has %jx.", r->size,
                                (uint64_t)r->file.size);
    if (r->tsk_size < td_size || r->tsk_size > r->size)
        return pr_slice_problem(&r->head, TSK_SIZE, r->problem, PR_PROBLEM_INCONSISTENT,
                                "The text has %jx bytes; its first descriptor has %x and the content %jx.",
                                r->tsk_size, td_size, r->size);
    kernel = pr_round_up(r->tsk_size, PR_ANEC_KERNEL_ALIGN);
    if (r->krn_size && (kernel > r->size || r->krn_size > r->size - kernel))
        return pr_slice_problem(&r->head, KRN_SIZE, r->problem, PR_PROBLEM_INCONSISTENT,
                                "The kernel has %jx bytes from %jx on; the content ends at %jx.", r->krn_size,
                                kernel, r->size);
    return true;
}

/*
 * Headers are padded with zeros, and zeros can be read as records of register 0. A place whose header words
 * are all zero is therefore not a descriptor.
 */
static bool begins_content(const struct reader *r, uint64_t at, struct pr_problem *problem)
{
    struct pr_slice content, header;
    struct pr_td td;

    if (!pr_slice_cut(&r->file, at, r->size, "content", &content, problem))
        return false;
    pr_slice_cut(&content, 0, 4u * PR_TD_HEADER_WORDS, "header", &header, NULL);
    if (base_is_zero(header.bytes, header.size))
        return pr_problem_set(problem, PR_PROBLEM_FORMAT, "there are zeros.");
    return pr_td_read(content.bytes, r->hwx->first_td_words, &td, problem);
}

/*
 * In a long text at the early place, a descriptor may begin where the late place is. Then the chain from the
 * early place leads there.
 */
static bool reaches(const struct reader *r, uint64_t from, uint64_t to)
{
    struct pr_chain_link link;
    enum pr_chain_step step;
    struct pr_chain chain;

    pr_chain_begin(&chain, r->file.bytes + from, (size_t)r->tsk_size, r->hwx->first_td_words,
                   r->hwx->td_count);
    while ((step = pr_chain_next(&chain, &link, NULL)) != PR_CHAIN_END)
        if (step == PR_CHAIN_LINK && link.offset == to - from)
            return true;
    return false;
}

static bool find_content(struct reader *r)
{
    struct pr_problem usual = {0};
    bool is_usual = begins_content(r, PR_ANEC_CONTENT, &usual),
         is_early = begins_content(r, PR_ANEC_CONTENT_EARLY, NULL);
    struct pr_hwx *hwx = r->hwx;

    if (is_usual && is_early && reaches(r, PR_ANEC_CONTENT_EARLY, PR_ANEC_CONTENT))
        is_usual = false;
    if (is_usual && is_early)
        return pr_slice_problem(&r->file, PR_ANEC_CONTENT, r->problem, PR_PROBLEM_FORMAT,
                                "A descriptor of %u words can be read at both %x and %x: "
                                "which one begins the content is not known.",
                                hwx->first_td_words, PR_ANEC_CONTENT_EARLY, PR_ANEC_CONTENT);
    if (!is_usual && !is_early)
        return pr_slice_problem(&r->file, PR_ANEC_CONTENT, r->problem, PR_PROBLEM_FORMAT,
                                "No descriptor of %u words begins the content at %x or %x; at the latter: %s",
                                hwx->first_td_words, PR_ANEC_CONTENT_EARLY, PR_ANEC_CONTENT, usual.text);
    hwx->text.offset = is_usual ? PR_ANEC_CONTENT : PR_ANEC_CONTENT_EARLY;
    hwx->text.size = r->tsk_size;
    if (!r->krn_size)
        return true;
    hwx->constant.offset = hwx->text.offset + pr_round_up(r->tsk_size, PR_ANEC_KERNEL_ALIGN);
    hwx->constant.size = r->krn_size;
    return true;
}

/* Which buffers there are, each with an address after the one before. */
static bool read_tiles(struct reader *r)
{
    uint64_t next = pr_round_up(r->size, PR_ANEC_TILE);

    if (tiles(r, 0) && (uint64_t)tiles(r, 0) * PR_ANEC_TILE < r->size)
        return refuse_count(r, TILES, "tiles[0]", tiles(r, 0),
                            "the content does not fit into so many tiles of 16 KiB");
    for (uint32_t bar = 1; bar < PR_ANEC_FIRST_PORT; bar++)
        if (bar != PR_HWX_BAR_INTERMEDIATE && tiles(r, bar))
            return pr_slice_problem(
                &r->head, TILES + 4 * bar, r->problem, PR_PROBLEM_UNSUPPORTED,
                "Buffer %u has %u tiles of its own; 1 is the kernel behind the text, 2 has no known use.",
                bar, tiles(r, bar));
    r->hwx->text.vmaddr = r->hwx->bar[PR_HWX_BAR_TEXT] = VM_BASE;
    if (r->krn_size)
        r->hwx->constant.vmaddr = r->hwx->bar[PR_HWX_BAR_CONST] =
            VM_BASE + pr_round_up(r->tsk_size, PR_ANEC_KERNEL_ALIGN);
    for (uint32_t bar = PR_HWX_BAR_INTERMEDIATE; bar < PR_TQ_BARS; bar++) {
        if (!tiles(r, bar))
            continue;
        r->hwx->bar[bar] = VM_BASE + next;
        next += (uint64_t)tiles(r, bar) * PR_ANEC_TILE;
        if (bar >= PR_ANEC_FIRST_PORT)
            r->surfaces |= 1u << bar;
    }
    if (next > VM_BYTES)
        return pr_slice_problem(
            &r->head, TILES, r->problem, PR_PROBLEM_LIMIT,
            "The buffers have %jx bytes together; addresses of an image leave room for %jx.", next,
            (uint64_t)VM_BYTES);
    r->hwx->intermediate_bytes = (uint64_t)tiles(r, PR_HWX_BAR_INTERMEDIATE) * PR_ANEC_TILE;
    return true;
}

/* `*outputs` is the set of destinations; the other surfaces are sources. */
static bool tell_directions(struct reader *r, uint32_t *outputs)
{
    uint32_t read = r->uses.read & PORT_SET, written = r->uses.written & PORT_SET;
    uint32_t only_read = read & ~written, unnamed = r->surfaces & ~(read | written);

    if ((read | written) & ~r->surfaces)
        return pr_slice_problem(&r->head, TILES + 4 * lowest((read | written) & ~r->surfaces), r->problem,
                                PR_PROBLEM_BINDING, "A descriptor uses buffer %u, which has no tiles.",
                                lowest((read | written) & ~r->surfaces));
    if (count_bits(written) > r->destinations) {
        if (read & written)
            return pr_slice_problem(
                &r->head, TILES + 4 * lowest(read & written), r->problem, PR_PROBLEM_INCONSISTENT,
                "The descriptors read and write buffer %u, and the header's %u sources and %u "
                "destinations do not make it a destination.",
                lowest(read & written), r->sources, r->destinations);
        return pr_slice_problem(
            &r->head, TILES + 4 * lowest(written), r->problem, PR_PROBLEM_INCONSISTENT,
            "The descriptors write buffer %u and others: more than the header's %u sources and %u "
            "destinations allow.",
            lowest(written), r->sources, r->destinations);
    }
    if (count_bits(only_read) > r->sources)
        return pr_slice_problem(
            &r->head, TILES + 4 * lowest(only_read), r->problem, PR_PROBLEM_INCONSISTENT,
            "The descriptors only read buffer %u and others: more than the header's %u sources and %u "
            "destinations allow.",
            lowest(only_read), r->sources, r->destinations);
    *outputs = written;
    while (count_bits(*outputs) < r->destinations) {
        *outputs |= 1u << lowest(unnamed);
        unnamed &= unnamed - 1;
    }
    return true;
}

static void name_port(struct pr_hwx_port *port, char letter, uint32_t number)
{
    struct pr_text text;

    pr_text_init(&text, port->name, sizeof(port->name));
    pr_text_put_char(&text, letter);
    pr_text_put_dec(&text, number);
    memcpy(port->short_name, port->name, sizeof(port->name));
}

/* False when the strides lead out of the surface. */
static bool fits(const struct pr_hwx_port *port)
{
    const uint64_t extent[] = {port->n, port->c, port->h, port->w};
    const uint64_t stride[] = {port->batch_stride, port->plane_stride, port->row_stride,
                               port->element_stride};
    uint64_t left = port->bytes - port->element_stride;

    for (unsigned i = 0; i < 4; i++) {
        if (stride[i] && extent[i] - 1 > left / stride[i])
            return false;
        left -= (extent[i] - 1) * stride[i];
    }
    return true;
}

/* The header has no types, so the descriptors that use a surface decide what it holds. */
static bool set_element(const struct reader *r, struct pr_hwx_port *port)
{
    if (!pr_uses_element(&r->uses, port->bar, &port->element, r->problem)) {
        if (r->problem)
            r->problem->offset = NCHW + NCHW_BYTES * port->bar;
        return false;
    }
    port->element_stride = pr_hwx_element_bits(port->element) / 8;
    return true;
}

static bool shape_port(const struct reader *r, struct pr_hwx_port *port)
{
    uint32_t at = NCHW + NCHW_BYTES * port->bar, *extent[] = {&port->n, &port->c, &port->h, &port->w};

    for (unsigned i = 0; i < 4; i++) {
        uint64_t value = pr_slice_u64(&r->head, at + 8 * i);

        if (value == 0 || value > port->bytes)
            return pr_slice_problem(&r->head, at + 8 * i, r->problem, PR_PROBLEM_INCONSISTENT,
                                    "Surface %s in buffer %u has an axis of length %ju; it has %jx bytes.",
                                    port->name, port->bar, value, port->bytes);
        *extent[i] = (uint32_t)value;
    }
    port->d = 1;
    port->plane_stride = pr_slice_u64(&r->head, at + PLANE_STRIDE);
    port->row_stride = pr_slice_u64(&r->head, at + ROW_STRIDE);
    if (!set_element(r, port))
        return false;
    if (port->row_stride < port->element_stride * port->w)
        return pr_slice_problem(&r->head, at + ROW_STRIDE, r->problem, PR_PROBLEM_INCONSISTENT,
                                "Surface %s in buffer %u has rows of %jx bytes for %u elements of %s.",
                                port->name, port->bar, port->row_stride, port->w,
                                pr_hwx_element_name(port->element));
    if (port->plane_stride <= port->bytes)
        port->batch_stride = port->c * port->plane_stride;
    if (port->plane_stride > port->bytes || !fits(port))
        return pr_slice_problem(&r->head, at, r->problem, PR_PROBLEM_INCONSISTENT,
                                "The shape and strides of surface %s in buffer %u reach past its %jx bytes.",
                                port->name, port->bar, port->bytes);
    port->shaped = true;
    return true;
}

static bool read_ports(struct reader *r)
{
    struct pr_hwx *hwx = r->hwx;
    uint32_t outputs = 0, inputs_named = 0, outputs_named = 0;

    r->sources = pr_slice_u32(&r->head, SRC_COUNT);
    r->destinations = pr_slice_u32(&r->head, DST_COUNT);
    if ((uint64_t)r->sources + r->destinations != count_bits(r->surfaces))
        return pr_slice_problem(&r->head, SRC_COUNT, r->problem, PR_PROBLEM_INCONSISTENT,
                                "The header has %u sources and %u destinations, but tiles for %u surfaces.",
                                r->sources, r->destinations, count_bits(r->surfaces));
    pr_uses_trace(r->file.bytes + hwx->text.offset, (size_t)r->tsk_size, hwx->first_td_words, hwx->td_count,
                  &r->uses);
    if (!tell_directions(r, &outputs))
        return false;
    for (uint32_t left = r->surfaces; left; left &= left - 1) {
        struct pr_hwx_port *port = &hwx->port[hwx->port_count];

        port->bar = lowest(left);
        port->vmaddr = hwx->bar[port->bar];
        port->bytes = (uint64_t)tiles(r, port->bar) * PR_ANEC_TILE;
        port->direction = outputs >> port->bar & 1 ? PR_HWX_OUTPUT : PR_HWX_INPUT;
        if (port->direction == PR_HWX_OUTPUT)
            name_port(port, 'y', outputs_named++);
        else
            name_port(port, 'x', inputs_named++);
        if (!shape_port(r, port))
            return false;
        hwx->port_count++;
    }
    return true;
}

bool pr_anec_read(const void *bytes, size_t size, struct pr_hwx *hwx, struct pr_problem *problem)
{
    struct reader r = {.file = {bytes, size, 0}, .hwx = hwx, .problem = problem};

    return pr_hwx_begin(size, hwx, problem) &&
           pr_slice_cut(&r.file, 0, PR_ANEC_HEADER_BYTES, ".anec header", &r.head, problem) &&
           read_sizes(&r) && find_content(&r) && read_tiles(&r) && read_ports(&r);
}

void pr_anec_explain(const void *bytes, size_t size, const struct pr_hwx *hwx, struct pr_problem *note)
{
    const struct pr_slice file = {bytes, size, 0};
    bool early = hwx->text.offset == PR_ANEC_CONTENT_EARLY;
    uint64_t other = early ? PR_ANEC_CONTENT : PR_ANEC_CONTENT_EARLY;
    struct pr_slice there;
    const char *found = "bytes that are no descriptor";

    memset(note, 0, sizeof(*note));
    note->offset = (uint32_t)hwx->text.offset;
    note->outcome = PR_OUTCOME_HARMLESS;
    if (!pr_slice_cut(&file, other, 4u * hwx->first_td_words, "descriptor", &there, NULL))
        found = "the end of the file";
    else if (base_is_zero(there.bytes, there.size))
        found = "zeros";
    if (early)
        pr_problem_set(
            note, PR_PROBLEM_NONE,
            "The content begins at %x. libane before e585747 and its fork omarchy-ane read it at %x, "
            "where they find %s, and the engine hangs: use libane from e585747 on.",
            PR_ANEC_CONTENT_EARLY, PR_ANEC_CONTENT, found);
    else
        pr_problem_set(note, PR_PROBLEM_NONE,
                       "The content begins at %x, as anecc writes it. libane from e585747 on reads it at %x, "
                       "where it finds %s, and the engine hangs: use libane before e585747, or omarchy-ane.",
                       PR_ANEC_CONTENT, PR_ANEC_CONTENT_EARLY, found);
}

size_t pr_anec_write_image(const void *bytes, const struct pr_hwx *hwx, void *image, size_t capacity)
{
    const uint8_t *file = bytes;
    const struct pr_hwx_program program = {.text = file + hwx->text.offset,
                                           .text_bytes = (uint32_t)hwx->text.size,
                                           .constant =
                                               hwx->constant.size ? file + hwx->constant.offset : NULL,
                                           .constant_bytes = (uint32_t)hwx->constant.size,
                                           .td_count = hwx->td_count,
                                           .first_td_words = hwx->first_td_words,
                                           .intermediate_bytes = (uint32_t)hwx->intermediate_bytes,
                                           .port_count = hwx->port_count,
                                           .port = hwx->port};

    return pr_hwx_write(&program, image, capacity);
}

/* The header has no magic number, so it is recognised by sizes below 4 GiB and small counts. */
enum pr_program_format pr_program_format(const void *bytes, size_t size)
{
    const struct pr_slice head = {bytes, size, 0};
    struct pr_slice whole;
    uint32_t td_size, sources, destinations;

    if (size >= 4 && pr_slice_u32(&head, 0) == PR_HWX_MAGIC)
        return PR_PROGRAM_HWX;
    if (!pr_slice_cut(&head, 0, PR_PROGRAM_HEAD_BYTES, "head", &whole, NULL))
        return PR_PROGRAM_UNKNOWN;
    td_size = pr_slice_u32(&head, TD_SIZE);
    sources = pr_slice_u32(&head, SRC_COUNT);
    destinations = pr_slice_u32(&head, DST_COUNT);
    if (!pr_slice_u64(&head, SIZE) || (pr_slice_u64(&head, SIZE) | pr_slice_u64(&head, TSK_SIZE) |
                                       pr_slice_u64(&head, KRN_SIZE)) > UINT32_MAX)
        return PR_PROGRAM_UNKNOWN;
    if (td_size == 0 || td_size > 4 * PR_TD_WORDS_MAX || sources > PORTS || destinations > PORTS)
        return PR_PROGRAM_UNKNOWN;
    return PR_PROGRAM_ANEC;
}

bool pr_program_read(const void *bytes, size_t size, struct pr_hwx *hwx, struct pr_problem *problem)
{
    switch (pr_program_format(bytes, size)) {
    case PR_PROGRAM_ANEC: return pr_anec_read(bytes, size, hwx, problem);
    case PR_PROGRAM_HWX: break;
    case PR_PROGRAM_UNKNOWN:
        if (size < PR_PROGRAM_HEAD_BYTES)
            break;
        memset(hwx, 0, sizeof(*hwx));
        if (problem)
            memset(problem, 0, sizeof(*problem));
        return pr_problem_set(problem, PR_PROBLEM_FORMAT,
                              "The file begins with %x; a program image (.hwx) begins with %x, "
                              "and an .anec with a header of small sizes.",
                              pr_le32(bytes), PR_HWX_MAGIC);
    }
    return pr_hwx_read(bytes, size, hwx, problem);
}
