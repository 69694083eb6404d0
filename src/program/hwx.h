/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program images (.hwx): a Mach-O-like file with the descriptor stream, the kernel data and the surfaces a
 * program uses. Nothing is assumed about order, offsets or sizes, which differ between compiler versions:
 * everything is read from the file. Sources: engine facts, sections 3.1 to 3.6, and the public files those
 * were decoded from.
 *
 *   header      8 words: magic, cputype, cpusubtype, filetype, commands, bytes of commands, flags, 0
 *   command     word type, word bytes, then the body; unknown types are skipped
 *     0x19      segment: 72 bytes, then 80 per section
 *     0x06 0x40 binding: a surface's symbol name and address (0x06: 32 bits at +0x10; 0x40: 64 bits at +0x10)
 *     0x04      state, by the flavour at +8: 1 program descriptor, 3 tensor descriptor
 *     0x02      symbols; those of type 0x20 spell extents and strides
 *     0x08      banner: the compiler's version and flags as text
 */
#ifndef PROGRAM_HWX_H
#define PROGRAM_HWX_H

#include "protocol/problem.h"
#include "program/td.h"

#define PR_HWX_MAGIC          0xbeeffaceu
#define PR_HWX_CPU            0x80u
#define PR_HWX_FILE_TYPE      2u
#define PR_HWX_HEADER_BYTES   32u
#define PR_HWX_COMMANDS_BYTES 0x100000u /* limit, chosen: 64 surfaces need a quarter of it */
#define PR_HWX_PORTS_MAX      64u
#define PR_HWX_NAME_BYTES     128u /* the NUL included; chosen */

/* cpusubtype: X(id, number, architecture) */
#define PR_HWX_SUBTYPES(X) \
    X(H11, 1, "H11")       \
    X(H12, 3, "H12")       \
    X(H13, 4, "H13")       \
    X(H14, 5, "H14")       \
    X(H15, 6, "H15")       \
    X(H16, 7, "H16")       \
    X(H17, 9, "H17")       \
    X(H18, 10, "H18")

enum pr_hwx_subtype {
#define X(id, number, name) PR_HWX_SUBTYPE_##id = number,
    PR_HWX_SUBTYPES(X)
#undef X
};

/* Element codes, as the files' own type catalogue numbers them: X(id, code, name, bits) */
#define PR_HWX_ELEMENTS(X)          \
    X(VOID, 1, "void", 0)           \
    X(INT8, 2, "int8", 8)           \
    X(UINT8, 3, "uint8", 8)         \
    X(INT16, 4, "int16", 16)        \
    X(FLOAT16, 5, "float16", 16)    \
    X(FLOAT, 6, "float", 32)        \
    X(RAW10, 7, "raw10", 10)        \
    X(LUT, 8, "lut", 0)             \
    X(UINT4, 9, "uint4", 4)         \
    X(UINT6, 10, "uint6", 6)        \
    X(UINT1, 11, "uint1", 1)        \
    X(UINT2, 12, "uint2", 2)        \
    X(PACKED10, 13, "packed10", 10) \
    X(Y10, 14, "y10", 10)           \
    X(UINT16, 15, "uint16", 16)     \
    X(E4M3, 16, "e4m3", 8)          \
    X(INT32, 17, "int32", 32)       \
    X(UINT32, 18, "uint32", 32)     \
    X(INT64, 19, "int64", 64)       \
    X(UINT64, 20, "uint64", 64)     \
    X(RAW12, 21, "raw12", 12)       \
    X(Y12, 22, "y12", 12)           \
    X(INT4, 23, "int4", 4)

enum pr_hwx_element {
#define X(id, code, name, bits) PR_HWX_ELEMENT_##id = code,
    PR_HWX_ELEMENTS(X)
#undef X
};

/* The BAR table's fixed places; surfaces follow them, in an order that differs between compilers. */
enum { PR_HWX_BAR_TEXT = 0, PR_HWX_BAR_CONST = 1, PR_HWX_BAR_LITERAL = 2, PR_HWX_BAR_INTERMEDIATE = 3 };

enum pr_hwx_direction { PR_HWX_INPUT = 1, PR_HWX_OUTPUT = 2 };

/* A run of the file's bytes, which lies inside the file. */
struct pr_hwx_span {
    uint64_t offset, size;
    uint64_t vmaddr; /* 0 for a span that is not loaded */
};

struct pr_hwx_port {
    char name[PR_HWX_NAME_BYTES];       /* the symbol name, whole */
    char short_name[PR_HWX_NAME_BYTES]; /* its part before '@' */
    enum pr_hwx_direction direction;
    uint32_t bar;
    uint64_t vmaddr;
    uint64_t bytes; /* of the surface */
    /*
     * enum pr_hwx_element, or a code newer than that. Of a surface without a shape it is what the descriptors
     * take it for, fp16 when none says.
     */
    uint32_t element;
    bool shaped; /* the file says what follows; else all of it is 0 */
    uint32_t n, c, h, w, d;
    /* Bytes. The batch stride is the size of one batch element; no depth stride is known. */
    uint64_t batch_stride, plane_stride, row_stride, element_stride;
};

struct pr_hwx {
    struct pr_hwx_span text, constant; /* the constant span, the weights, is empty when there are none */
    struct pr_hwx_span literal; /* constants that are not weights, in buffer 2 (chosen); may be empty */
    struct pr_hwx_span banner;  /* empty when there is none; padded with NULs */
    uint32_t td_count;
    uint32_t first_td_words;
    uint64_t bar[PR_TQ_BARS];    /* vmaddr of each buffer; 0 is an unused index */
    uint64_t intermediate_bytes; /* of the buffer at PR_HWX_BAR_INTERMEDIATE */
    /* A section without bytes and without a port in any other buffer; 0 bytes: none. */
    uint64_t scratch_bytes;
    uint32_t scratch_bar;
    uint32_t port_count;
    struct pr_hwx_port port[PR_HWX_PORTS_MAX]; /* in the order of the file's bindings */
};

/*
 * Reads an image. Any bytes give true, or false and a problem whose offset is the place in the file; no byte
 * outside the given ones is touched. The descriptors themselves are not judged here: see chain.h.
 */
bool pr_hwx_read(const void *bytes, size_t size, struct pr_hwx *hwx, struct pr_problem *problem);

/* NULL for a number that has no known name. */
const char *pr_hwx_subtype_name(uint32_t subtype);
const char *pr_hwx_element_name(uint32_t element);
/* Bits of an element in memory; 0 when there is no fixed number. */
uint32_t pr_hwx_element_bits(uint32_t element);

#endif
