/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program read from a file. Its form is found by its content: an image (.hwx), an .anec, the text form of a
 * stream, or a stream without a container, which is then called a btsp buffer if its first descriptor has a
 * network number.
 */
#ifndef TOOL_PROGRAM_H
#define TOOL_PROGRAM_H

#include "program/anec.h"

#define TOOL_PROGRAM_BYTES_MAX (512u << 20)
#define TOOL_PROGRAM_NOTES     3u

/* The forms: X(id, name in tables and JSON) */
#define TOOL_FORMS(X)     \
    X(UNKNOWN, "unknown") \
    X(HWX, "hwx")         \
    X(ANEC, "anec")       \
    X(LISTING, "listing") \
    X(STREAM, "stream")   \
    X(BTSP, "btsp")

enum tool_form {
#define X(id, name) TOOL_FORM_##id,
    TOOL_FORMS(X)
#undef X
};

/* What the caller knows of a file. */
struct tool_asked {
    bool raw;             /* it is a stream without a container */
    uint32_t words;       /* of its first descriptor; 0 to find them */
    uint32_t descriptors; /* the most to look at; 0 for all */
};

struct tool_program {
    uint8_t *bytes; /* the whole file, or the assembled stream; for base_free */
    size_t size;
    enum tool_form form;
    bool buffers;   /* the file says what buffers there are */
    uint32_t limit; /* only so many descriptors are looked at, though the chain goes on; 0 for all */
    bool alone;     /* only the first descriptor is in the file, and the note says so */
    struct pr_hwx hwx;
    unsigned notes;
    struct pr_problem note[TOOL_PROGRAM_NOTES]; /* remarks about the file, of kind NONE */
};

/* The values of --words and --descriptors, NULL when not given; false after saying what is wrong. */
bool tool_asked_read(struct tool_asked *asked, const char *words, const char *descriptors);

const char *tool_form_name(enum tool_form form);
/* The form that the first bytes of a file show; a text is a listing only if it begins as one. */
enum tool_form tool_form_of(const uint8_t *bytes, size_t size);

/* Reads a program from bytes. They become the program's, and on failure stay the caller's. */
bool tool_program_parse(uint8_t *bytes, size_t size, const struct tool_asked *asked,
                        struct tool_program *program, struct pr_problem *problem);
/* The same for bytes that were read from that file; false after saying why, and the bytes are freed. */
bool tool_program_take(const char *path, uint8_t *bytes, size_t size, const struct tool_asked *asked,
                       struct tool_program *program);

#endif
