/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two halves of the program image reader share: hwx.c (commands, sections) and hwx_port.c
 * (surfaces). The .anec reader begins in the same way.
 */
#ifndef PROGRAM_HWX_READER_H
#define PROGRAM_HWX_READER_H

#include "program/hwx.h"
#include "program/slice.h"

enum pr_hwx_command {
    PR_HWX_SYMBOLS = 0x2,
    PR_HWX_STATE = 0x4,
    PR_HWX_BIND32 = 0x6,
    PR_HWX_BANNER = 0x8,
    PR_HWX_SEGMENT = 0x19,
    PR_HWX_BIND64 = 0x40,
};

/* Flavours of a state command. */
enum { PR_HWX_FLAVOUR_PROGRAM = 1, PR_HWX_FLAVOUR_TENSOR = 3 };

/* Offsets in a section's header. */
enum { PR_HWX_SECTION_SIZE = 0x28, PR_HWX_SECTION_OFFSET = 0x30, PR_HWX_SECTION_FLAGS = 0x40 };

struct pr_hwx_reader {
    struct pr_slice file, commands;
    uint32_t command_count;
    struct pr_hwx *hwx;
    struct pr_problem *problem;
};

struct pr_hwx_section {
    uint64_t address, size;
    uint32_t flags;
    struct pr_slice header; /* its 80 bytes in the file */
};

/* The beginning of a reader: clears the result and the problem, refuses a file of 4 GiB or more. */
bool pr_hwx_begin(size_t size, struct pr_hwx *hwx, struct pr_problem *problem);

/* The command at `at`, which moves on. Once the commands have been checked this fails only at their end. */
bool pr_hwx_next_command(const struct pr_hwx_reader *r, uint64_t *at, struct pr_slice *command,
                         struct pr_problem *problem);
/* The first command of a type at or after `at`; a state command also needs the flavour. */
bool pr_hwx_find_command(const struct pr_hwx_reader *r, enum pr_hwx_command type, uint32_t flavour,
                         uint64_t *at, struct pr_slice *command);
/* The section that begins at an address and is not empty. */
bool pr_hwx_find_section(const struct pr_hwx_reader *r, uint64_t address, struct pr_hwx_section *section);

/* Fills the ports, once text, constants and the buffer table are known. */
bool pr_hwx_read_ports(const struct pr_hwx_reader *r);

#endif
