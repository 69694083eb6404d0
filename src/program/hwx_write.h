/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a program image (.hwx) in the form of hwx.h: what Anemone's own programs are carried in. */
#ifndef PROGRAM_HWX_WRITE_H
#define PROGRAM_HWX_WRITE_H

#include "program/hwx.h"

struct pr_hwx_program {
    /* A constant that is NULL and has bytes is left out: those bytes of the image are not written. */
    const void *text, *constant;
    uint32_t text_bytes, constant_bytes;
    uint32_t td_count, first_td_words;
    const void *literal; /* constants that are not weights; with literal_bytes 0: none */
    uint32_t literal_bytes;
    uint32_t scratch_bytes, scratch_bar; /* 0 bytes: no scratch buffer */
    uint32_t intermediate_bytes;         /* 0: no intermediate buffer */
    uint32_t port_count;                 /* at most PR_HWX_PORTS_MAX */
    const struct pr_hwx_port *port; /* name, direction, bar, bytes, element, extents and strides are used */
};

/*
 * Writes as much as fits and returns the whole size; with capacity 0 nothing is written. 0 when the program
 * cannot be written: too many ports, a bar outside the table or used twice, a name that is empty or too long.
 */
size_t pr_hwx_write(const struct pr_hwx_program *program, void *bytes, size_t capacity);

#endif
