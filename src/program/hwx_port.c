/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program images: surfaces. Bindings come first and give name, buffer, bytes and direction. Then shapes are
 * filled in from tensor descriptors, from symbols for the surfaces that have none, and a surface that still
 * has no shape takes its element type from the descriptors. A later source never replaces an earlier one. No
 * name or offset of the file is used before it has been checked against its command, nor strides before they
 * are known to stay inside the surface.
 */
#include <string.h>

#include "base/array.h"
#include "protocol/dart_regs.h"
#include "program/hwx_reader.h"
#include "protocol/text.h"
#include "program/uses.h"

enum { SECTION_INPUT = 0x21, SECTION_OUTPUT = 0x23 }; /* low byte of a section's flags */
enum { BINDING_NAME = 0x8, BINDING_ADDRESS = 0x10 };
enum { TENSOR_DIRECTION = 0x14, TENSOR_ELEMENT = 0x24, TENSOR_EXTENTS = 0x28, TENSOR_STRIDES = 0x50 };
enum { TENSOR_SYMBOL = 0x7c, TENSOR_BYTES = 0x88 };
enum { SYMBOL_BYTES = 16, SYMBOL_TYPE = 4, SYMBOL_STAB = 0x20 };

/* Copies a NUL-terminated name that begins at an offset of a command. */
static bool read_name(const struct pr_hwx_reader *r, const struct pr_slice *command, uint32_t offset,
                      char name[PR_HWX_NAME_BYTES])
{
    struct pr_slice rest;
    uint32_t length = 0;

    if (!pr_slice_cut(command, offset, 1, "name", &rest, r->problem))
        return false;
    pr_slice_cut(command, offset, command->size - offset, "name", &rest, NULL);
    while (length < rest.size && rest.bytes[length])
        length++;
    if (length == rest.size || length == 0 || length >= PR_HWX_NAME_BYTES)
        return pr_slice_problem(&rest, 0, r->problem, PR_PROBLEM_LIMIT,
                                "A name has to end with a NUL inside its command, after 1 to %u characters.",
                                PR_HWX_NAME_BYTES - 1);
    for (uint32_t i = 0; i < length; i++)
        if (rest.bytes[i] < 0x20 || rest.bytes[i] == 0x7f)
            return pr_slice_problem(&rest, i, r->problem, PR_PROBLEM_FORMAT,
                                    "Character %u of a name is %x, a control character.", i, rest.bytes[i]);
    memcpy(name, rest.bytes, length + 1);
    return true;
}

static void set_short_name(struct pr_hwx_port *port)
{
    uint32_t i = 0;

    for (; port->name[i] && port->name[i] != '@'; i++)
        port->short_name[i] = port->name[i];
    port->short_name[i] = '\0';
}

static struct pr_hwx_port *port_named(struct pr_hwx *hwx, const char *name)
{
    for (uint32_t i = 0; i < hwx->port_count; i++)
        if (pr_string_equal(hwx->port[i].name, name))
            return &hwx->port[i];
    return NULL;
}

/* Which buffer a surface is, and how large. */
static bool place_port(const struct pr_hwx_reader *r, const struct pr_slice *binding,
                       struct pr_hwx_port *port)
{
    struct pr_hwx_section section;

    for (port->bar = PR_HWX_BAR_CONST + 1; port->bar < PR_TQ_BARS; port->bar++)
        if (r->hwx->bar[port->bar] == port->vmaddr && port->vmaddr)
            break;
    if (port->bar == PR_TQ_BARS)
        return pr_slice_problem(binding, BINDING_ADDRESS, r->problem, PR_PROBLEM_BINDING,
                                "Surface %s is at %jx, which is not an entry of the buffer table.",
                                port->name, port->vmaddr);
    if (!pr_hwx_find_section(r, port->vmaddr, &section))
        return pr_slice_problem(binding, BINDING_ADDRESS, r->problem, PR_PROBLEM_BINDING,
                                "Surface %s is at %jx, where no section begins.", port->name, port->vmaddr);
    if (section.size > PR_DART_APERTURE_BYTES)
        return pr_slice_problem(&section.header, PR_HWX_SECTION_SIZE, r->problem, PR_PROBLEM_LIMIT,
                                "Surface %s has %jx bytes; device addresses end at %x.", port->name,
                                section.size, PR_DART_APERTURE_BYTES);
    port->bytes = section.size;
    if ((section.flags & 0xff) == SECTION_INPUT)
        port->direction = PR_HWX_INPUT;
    else if ((section.flags & 0xff) == SECTION_OUTPUT)
        port->direction = PR_HWX_OUTPUT;
    else
        return pr_slice_problem(
            &section.header, PR_HWX_SECTION_FLAGS, r->problem, PR_PROBLEM_INCONSISTENT,
            "Surface %s is in a section of flags %x; an input's end with %x, an output's with "
            "%x.",
            port->name, section.flags, SECTION_INPUT, SECTION_OUTPUT);
    return true;
}

static bool read_bindings(const struct pr_hwx_reader *r)
{
    struct pr_hwx *hwx = r->hwx;
    struct pr_slice binding;
    uint64_t at = 0;

    while (pr_hwx_next_command(r, &at, &binding, NULL)) {
        struct pr_hwx_port *port = &hwx->port[hwx->port_count];
        uint32_t type = pr_slice_u32(&binding, 0);

        if (type != PR_HWX_BIND32 && type != PR_HWX_BIND64)
            continue;
        if (hwx->port_count == PR_HWX_PORTS_MAX)
            return pr_slice_problem(&binding, 0, r->problem, PR_PROBLEM_LIMIT,
                                    "The image binds more than %u surfaces.", PR_HWX_PORTS_MAX);
        if (!read_name(r, &binding, pr_slice_u32(&binding, BINDING_NAME), port->name))
            return false;
        if (port_named(hwx, port->name))
            return pr_slice_problem(&binding, 0, r->problem, PR_PROBLEM_INCONSISTENT,
                                    "Two surfaces are named %s.", port->name);
        set_short_name(port);
        port->vmaddr = type == PR_HWX_BIND32 ? pr_slice_u32(&binding, BINDING_ADDRESS)
                                             : pr_slice_u64(&binding, BINDING_ADDRESS);
        if (!place_port(r, &binding, port))
            return false;
        hwx->port_count++;
    }
    return true;
}

/* The strides must keep one batch element inside the surface. */
static bool check_shape(const struct pr_hwx_reader *r, const struct pr_slice *where,
                        const struct pr_hwx_port *port)
{
    const uint32_t extent[] = {port->n, port->d, port->c, port->h, port->w};
    const uint64_t stride[] = {0, 0, port->plane_stride, port->row_stride, port->element_stride};
    uint64_t last = port->element_stride;

    for (unsigned i = 0; i < BASE_COUNT_OF(extent); i++) {
        if (extent[i] == 0)
            return pr_slice_problem(where, 0, r->problem, PR_PROBLEM_INCONSISTENT,
                                    "Surface %s has an axis of length 0.", port->name);
        if (stride[i] && extent[i] - 1 > port->bytes / stride[i])
            last = UINT64_MAX;
        if (last <= port->bytes)
            last += (extent[i] - 1) * stride[i];
    }
    if (last > port->bytes)
        return pr_slice_problem(where, 0, r->problem, PR_PROBLEM_INCONSISTENT,
                                "The strides of surface %s reach past its %jx bytes.", port->name,
                                port->bytes);
    return true;
}

static bool read_tensor(const struct pr_hwx_reader *r, const struct pr_slice *tensor)
{
    char name[PR_HWX_NAME_BYTES] = {0};
    struct pr_hwx_port *port;
    struct pr_slice fixed;

    if (!pr_slice_cut(tensor, 0, TENSOR_BYTES, "tensor descriptor", &fixed, r->problem) ||
        !read_name(r, tensor, pr_slice_u32(tensor, TENSOR_SYMBOL), name))
        return false;
    port = port_named(r->hwx, name);
    if (!port || port->shaped)
        return true;
    if (pr_slice_u32(tensor, TENSOR_DIRECTION) != (uint32_t)port->direction)
        return pr_slice_problem(
            tensor, TENSOR_DIRECTION, r->problem, PR_PROBLEM_INCONSISTENT,
            "The descriptor of surface %s says binding %u, its section says %u (1 input, 2 output).", name,
            pr_slice_u32(tensor, TENSOR_DIRECTION), port->direction);
    port->shaped = true;
    port->element = pr_slice_u32(tensor, TENSOR_ELEMENT);
    port->n = pr_slice_u32(tensor, TENSOR_EXTENTS);
    port->c = pr_slice_u32(tensor, TENSOR_EXTENTS + 4);
    port->h = pr_slice_u32(tensor, TENSOR_EXTENTS + 8);
    port->w = pr_slice_u32(tensor, TENSOR_EXTENTS + 12);
    port->d = pr_slice_u32(tensor, TENSOR_EXTENTS + 16);
    port->batch_stride = pr_slice_u64(tensor, TENSOR_STRIDES);
    port->plane_stride = pr_slice_u64(tensor, TENSOR_STRIDES + 8);
    port->row_stride = pr_slice_u64(tensor, TENSOR_STRIDES + 16);
    port->element_stride = pr_slice_u64(tensor, TENSOR_STRIDES + 24);
    return check_shape(r, tensor, port);
}

static bool read_tensors(const struct pr_hwx_reader *r)
{
    struct pr_slice tensor;
    uint64_t at = 0;

    while (pr_hwx_find_command(r, PR_HWX_STATE, PR_HWX_FLAVOUR_TENSOR, &at, &tensor))
        if (!read_tensor(r, &tensor))
            return false;
    return true;
}

static bool set_axis(struct pr_hwx_port *port, char axis, uint32_t extent, uint64_t stride)
{
    switch (axis) {
    case 'n':
        port->n = extent;
        port->batch_stride = stride;
        return true;
    case 'c':
        port->c = extent;
        port->plane_stride = stride;
        return true;
    case 'h':
        port->h = extent;
        port->row_stride = stride;
        return true;
    case 'w':
        port->w = extent;
        port->element_stride = stride;
        return true;
    default: return false;
    }
}

/*
 * `:tN=`, then per axis `ar1;0;EXTENT;N=sSTRIDEaxis:`, then the element code. False when the
 * string has another form or an axis is missing.
 */
static bool read_stab(struct pr_slice *text, struct pr_hwx_port *port)
{
    uint64_t ignored, extent, stride, element;
    char axis;

    if (!pr_slice_take(text, ":t") || !pr_slice_take_number(text, &ignored) || !pr_slice_take(text, "="))
        return false;
    port->d = 1;
    while (pr_slice_take(text, "ar1;0;")) {
        if (!pr_slice_take_number(text, &extent) || extent > UINT32_MAX || !pr_slice_take(text, ";") ||
            !pr_slice_take_number(text, &ignored) || !pr_slice_take(text, "=s") ||
            !pr_slice_take_number(text, &stride))
            return false;
        axis = text->size ? (char)text->bytes[0] : '\0';
        if (!pr_slice_skip(text, 1) || !pr_slice_take(text, ":") ||
            !set_axis(port, axis, (uint32_t)extent, stride))
            return false;
    }
    if (!pr_slice_take_number(text, &element) || element > UINT32_MAX)
        return false;
    port->element = (uint32_t)element;
    return port->n && port->c && port->h && port->w;
}

/* A surface with no tensor descriptor takes its shape from a symbol, if one spells it. */
static bool read_symbol(const struct pr_hwx_reader *r, const struct pr_slice *symbol,
                        const struct pr_slice *strings)
{
    for (uint32_t i = 0; i < r->hwx->port_count; i++) {
        struct pr_hwx_port *port = &r->hwx->port[i], shaped = *port;
        struct pr_slice text = *strings;

        if (port->shaped || !pr_slice_skip(&text, pr_slice_u32(symbol, 0)) ||
            !pr_slice_take(&text, port->name) || !read_stab(&text, &shaped))
            continue;
        shaped.shaped = true;
        if (!check_shape(r, symbol, &shaped))
            return false;
        *port = shaped;
        return true;
    }
    return true;
}

static bool read_symbols(const struct pr_hwx_reader *r)
{
    struct pr_slice command, table, strings, symbol;
    uint64_t at = 0;

    while (pr_hwx_find_command(r, PR_HWX_SYMBOLS, 0, &at, &command)) {
        uint64_t count = pr_slice_u32(&command, 0xc);

        if (!pr_slice_cut(&r->file, pr_slice_u32(&command, 8), count * SYMBOL_BYTES, "symbol table", &table,
                          r->problem) ||
            !pr_slice_cut(&r->file, pr_slice_u32(&command, 0x10), pr_slice_u32(&command, 0x14),
                          "string table", &strings, r->problem))
            return false;
        for (uint64_t i = 0; i < count; i++) {
            pr_slice_cut(&table, i * SYMBOL_BYTES, SYMBOL_BYTES, "symbol", &symbol, NULL);
            if (symbol.bytes[SYMBOL_TYPE] == SYMBOL_STAB && !read_symbol(r, &symbol, &strings))
                return false;
        }
    }
    return true;
}

/* A surface without a shape has no type in the file either; it is taken from the descriptors. */
static bool find_elements(const struct pr_hwx_reader *r)
{
    struct pr_hwx *hwx = r->hwx;
    struct pr_uses uses;
    bool traced = false;

    for (uint32_t i = 0; i < hwx->port_count; i++) {
        struct pr_hwx_port *port = &hwx->port[i];

        if (port->shaped)
            continue;
        if (!traced)
            pr_uses_trace(r->file.bytes + hwx->text.offset, (size_t)hwx->text.size, hwx->first_td_words,
                          hwx->td_count, &uses);
        traced = true;
        if (!pr_uses_element(&uses, port->bar, &port->element, r->problem)) {
            if (r->problem)
                r->problem->offset = (uint32_t)hwx->text.offset;
            return false;
        }
    }
    return true;
}

bool pr_hwx_read_ports(const struct pr_hwx_reader *r)
{
    return read_bindings(r) && read_tensors(r) && read_symbols(r) && find_elements(r);
}
