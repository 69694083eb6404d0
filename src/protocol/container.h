/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firmware container: package (ANEH), program (ANEP), sections (ANES). Levels, magics, section kinds and
 * limits from the seeds and command facts 4.5; the layout of the three headers is CHOSEN (no public source
 * has it). All numbers little-endian; offsets from the start of the container. Reserved and padding bytes are
 * zero. Every address is below 2^32 and every section ends at or below 0xE0000000.
 */
#ifndef PROTOCOL_CONTAINER_H
#define PROTOCOL_CONTAINER_H

#include "protocol/bits.h"
#include "protocol/call.h"
#include "protocol/problem.h"
#include "protocol/rebase.h"
#include "protocol/tm_regs.h"

#define PR_CONTAINER_PACKAGE        0x414e4548u /* "ANEH" read as a big-endian word */
#define PR_CONTAINER_PROGRAM        0x414e4550u
#define PR_CONTAINER_SECTION        0x414e4553u
#define PR_CONTAINER_VERSION        1u
#define PR_CONTAINER_CHECKSUM_VALID 0xffffffffu /* checksum word that means "checked" (guide facts 4.4) */
#define PR_CONTAINER_BYTES_MAX      0x40000000u
#define PR_SECTION_LIMIT            0xe0000000u /* device address + size of a section */

/*
 * X(id, number, name, mandatory). Mandatory as the H13 checks demand: command facts 4.5. The last two are
 * CHOSEN: seeds ch. 28 and 30 have what they hold, and not where it is.
 */
#define PR_SECTIONS(X)                 \
    X(GENERIC, 0, "generic", true)     \
    X(KERNEL, 1, "kernel", false)      \
    X(TEXT, 2, "text", true)           \
    X(OPERATION, 3, "operation", true) \
    X(PROCEDURE, 4, "procedure", true) \
    X(REBASE, 5, "rebase", true)       \
    X(CUSTOM_BARS, 6, "custom bars", false)

enum pr_section {
#define X(id, number, name, mandatory) PR_SECTION_##id = number,
    PR_SECTIONS(X)
#undef X
        PR_SECTION_COUNT
};

struct pr_container_package {
    uint32_t magic, version, checksum, bytes; /* whole container */
    uint32_t program_offset, zero[3];
};

struct pr_container_program {
    uint32_t magic, sections;
    uint8_t identity[32]; /* program identity */
    uint32_t zero[2];
};

/*
 * Section headers follow the program header. Text and kernel are not inside the container: the engine reads
 * them at `address`.
 */
struct pr_container_section {
    uint32_t magic, kind;
    uint32_t offset, bytes; /* inside the container; 0 and 0 for text and kernel */
    uint64_t address;       /* text and kernel: device address; else 0 */
    uint64_t address_bytes;
};

/* generic: buffers the program binds. 0x208 + 0x30 n bytes. */
#define PR_GENERIC_BUFFERS_MAX 0x200u
#define PR_CONTAINER_CORES_MAX 16u
struct pr_generic {
    uint32_t max_ane_used; /* 1 */
    uint32_t engines;      /* nbrOfNe, at most PR_CONTAINER_CORES_MAX */
    uint8_t zero[0x1fc];
    uint32_t buffers; /* +0x204 */
    /* struct pr_generic_buffer follow at +0x208 */
};
_Static_assert(offsetof(struct pr_generic, buffers) == 0x204 && sizeof(struct pr_generic) == 0x208,
               "generic section");
struct pr_generic_buffer {
    uint32_t valid, index, type, zero0;
    uint64_t zero1;
    /*
     * 0: bound by each call. Of text and kernel the part of the section that it is; 0: all of it (CHOSEN).
     */
    uint64_t address;
    uint64_t bytes; /* least size */
    uint64_t tag;
};
_Static_assert(sizeof(struct pr_generic_buffer) == 0x30, "as a buffer descriptor");
enum {
    PR_BUFFER_IN,
    PR_BUFFER_OUT,
    PR_BUFFER_INTERMEDIATE,
    PR_BUFFER_KERNEL,
    PR_BUFFER_TEXT,
    PR_BUFFER_MUTABLE,
    PR_BUFFER_TYPES
};

/* operation: u32 count, then entries of 0x110 bytes. */
#define PR_OPERATIONS_MAX     0x80u
#define PR_OPERATION_TYPE_MAX 3u
struct pr_operation {
    uint32_t type; /* at most PR_OPERATION_TYPE_MAX */
    uint16_t first_td, zero0;
    uint16_t last_td;
    uint16_t engines; /* nbrOfNe, at most the program's */
    uint32_t bars;    /* at most 32 */
    struct {
        uint32_t bar, buffer; /* bar register below 32, index of a generic buffer */
    } bar[PR_TQ_BARS];
};
_Static_assert(sizeof(struct pr_operation) == 0x110, "an operation is 0x110 bytes");

/*
 * procedure: u32 count, u32 0, then entries (CHOSEN: one operation each, and the place of its descriptors in
 * the text).
 */
#define PR_PROCEDURES_MAX 0x80u
struct pr_procedure {
    uint32_t operation;   /* index */
    uint32_t first_words; /* of the first descriptor */
    uint32_t text_offset; /* of the first descriptor in the text */
    uint32_t io_buffers;  /* numIoBuffers: those that a call binds */
    uint32_t content;     /* content type: 0, 3 or 4 for a plain call */
    /*
     * Entries from this one on, one engine request each (CHOSEN): those that follow the first have content
     * PR_CONTENT_PARTITION and 1 here, and are not called themselves.
     */
    uint32_t partitions;
    uint32_t zero[2];
};
#define PR_CONTENT_PARTITION 5u

/*
 * rebase: u32 count, u32 0, then struct pr_rebase_record, by ascending operations: one for each BAR of an
 * operation, and for those of text and kernel where the operation has no buffer there.
 */
#define PR_REBASE_RECORDS_MAX (PR_OPERATIONS_MAX * PR_TQ_BARS)

/*
 * custom bars: u32 count, u32 0, then at most PR_PROGRAM_CUSTOM_BARS_MAX rows, ascending: the BARs that a
 * call may set itself. Without the section these are all BARs that an operation names.
 */
struct pr_program_bar {
    uint32_t operation, bar;
};

/*
 * Reads a container from a private copy, aligned to 8 bytes. All checks that need no memory beyond it:
 * magics, version, sizes, order, overlaps, padding, limits, section contents against each other (operation
 * bars name generic buffers, procedures name operations, every bar has a rebase record, every custom bar is
 * one of its operation's).
 */
struct pr_container {
    const struct pr_container_program *program;
    const struct pr_container_section *section[PR_SECTION_COUNT]; /* NULL when absent */
    const struct pr_generic *generic;
    const struct pr_generic_buffer *buffer;
    uint32_t operations;
    const struct pr_operation *operation;
    uint32_t procedures;
    const struct pr_procedure *procedure;
    uint32_t records;
    const struct pr_rebase_record *record;
    uint32_t custom_bars; /* 0: there is no such section */
    const struct pr_program_bar *custom_bar;
};
bool pr_container_read(const void *bytes, size_t size, struct pr_container *container,
                       struct pr_problem *problem);

#endif
