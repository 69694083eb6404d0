/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The buffers of ports. There are 28 of them and up to 256 ports, so ports may share the last buffer of their
 * direction. Nothing of this is in the file: a reader computes it, and the same file gives the same buffers.
 */
#include "program/e5.h"
#include "protocol/text.h"

enum { ELEMENT_BYTES = 2 };
enum { NUMBER_BYTES = 4 }; /* "@27" and a NUL */
_Static_assert(PR_E5_PORT_BUFFERS <= 100, "a buffer's number has two digits");

static uint32_t count_ports(const struct pr_e5 *e5, enum pr_hwx_direction direction)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < e5->ports; i++)
        count += e5->port[i].direction == direction;
    return count;
}

uint32_t pr_e5_buffers(const struct pr_e5 *e5, enum pr_hwx_direction direction)
{
    uint32_t mine = count_ports(e5, direction), others = e5->ports - mine;
    uint32_t left = others < PR_E5_PORT_BUFFERS / 2 ? PR_E5_PORT_BUFFERS - others : PR_E5_PORT_BUFFERS / 2;

    return mine < left ? mine : left;
}

bool pr_e5_place(struct pr_e5 *e5, struct pr_problem *problem)
{
    const uint32_t outputs = pr_e5_buffers(e5, PR_HWX_OUTPUT);
    uint32_t count[2] = {outputs, pr_e5_buffers(e5, PR_HWX_INPUT)}, next[2] = {0};
    uint64_t end[2] = {0}; /* of what the last buffer has so far */

    for (uint32_t i = 0; i < e5->ports; i++) {
        struct pr_e5_port *port = &e5->port[i];
        const bool input = port->direction == PR_HWX_INPUT;
        const bool last = next[input] + 1 >= count[input];

        port->bar = PR_E5_PORT_BAR + (input ? outputs : 0) + (last ? count[input] - 1 : next[input]);
        port->offset = last ? (uint32_t)end[input] : 0;
        port->packed = last && count_ports(e5, port->direction) > count[input];
        next[input]++;
        end[input] += last ? port->bytes : 0;
        if (end[input] > PR_E5_BYTES_MAX)
            return pr_problem_set(problem, PR_PROBLEM_LIMIT,
                                  "main.e5: the ports that share buffer %u have more than %u bytes.",
                                  port->bar, PR_E5_BYTES_MAX);
    }
    return true;
}

/* "name@number": an input may be an output too, and an image has every symbol once. A long name is cut. */
static void image_name(const char *name, uint32_t number, char to[PR_HWX_NAME_BYTES])
{
    struct pr_text text;

    pr_text_init(&text, to, PR_HWX_NAME_BYTES);
    for (size_t i = 0; i < PR_HWX_NAME_BYTES - NUMBER_BYTES && name[i]; i++)
        pr_text_put_char(&text, name[i]);
    pr_text_printf(&text, "@%u", number);
}

static struct pr_hwx_port image_port(const struct pr_e5_port *from)
{
    return (struct pr_hwx_port){.direction = from->direction,
                                .bar = from->bar,
                                .bytes = from->bytes,
                                .shaped = true,
                                .element = PR_HWX_ELEMENT_FLOAT16,
                                .n = from->n,
                                .c = from->c,
                                .h = from->h,
                                .w = from->w,
                                .d = 1,
                                .batch_stride = (uint64_t)from->c * from->plane,
                                .plane_stride = from->plane,
                                .row_stride = from->row,
                                .element_stride = ELEMENT_BYTES};
}

/* The buffer of several ports, up to the end of this one. */
static void extend_row(struct pr_hwx_port *to, const struct pr_e5_port *port)
{
    to->bytes = (uint64_t)port->offset + port->bytes;
    to->n = to->c = to->h = to->d = 1;
    to->w = (uint32_t)(to->bytes / ELEMENT_BYTES);
    to->batch_stride = to->plane_stride = to->row_stride = to->bytes;
}

uint32_t pr_e5_image_ports(const struct pr_e5 *e5, struct pr_hwx_port *ports)
{
    struct pr_hwx_port *shared[2] = {0};
    uint32_t count = 0;

    for (uint32_t i = 0; i < e5->ports; i++) {
        const struct pr_e5_port *from = &e5->port[i];
        const bool input = from->direction == PR_HWX_INPUT;

        if (!shared[input] || !from->packed) {
            ports[count] = image_port(from);
            image_name(from->packed ? input ? "inputs" : "outputs" : from->name, count, ports[count].name);
            count++;
        }
        if (from->packed && !shared[input])
            shared[input] = &ports[count - 1];
        if (from->packed)
            extend_row(shared[input], from);
    }
    return count;
}
