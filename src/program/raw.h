/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A descriptor stream without a container, as drivers and their programs have it: a btsp buffer, the contents
 * of buffer 0, or the content of a program file alone. Descriptors begin at byte 0 (drv, allbilly).
 *
 * A stream does not hold the size of its first descriptor, which a driver gets from its caller. It is found
 * by the records: they must be whole up to it, and behind it is a zero word, the next descriptor or the end
 * of the bytes. Where other bytes follow at once, only a size that compilers use is taken. Kernel data, if
 * any, follows the last descriptor on the next multiple of 16 bytes: buffer 1 in every known driver.
 */
#ifndef PROGRAM_RAW_H
#define PROGRAM_RAW_H

#include "protocol/problem.h"
#include "program/td.h"

/* Sizes that compilers give a descriptor: X(id, words, source) */
#define PR_RAW_SIZES(X)                                         \
    X(PLAIN, 157, "engine facts 1.1: 0x274 bytes, every block") \
    X(EXTENDED, 158, "engine facts 1.1: 0x278 bytes, TDE")      \
    X(SHORT, 126, "engine facts 1.1: 0x1f8 bytes, no kernel")

/* How the size of the first descriptor is known. */
enum pr_raw_basis {
    PR_RAW_GIVEN,     /* by the caller */
    PR_RAW_FRAMED,    /* the records end there, and so does the descriptor */
    PR_RAW_PUBLISHED, /* the records end there, other bytes follow, and compilers use this size */
};

struct pr_raw {
    enum pr_raw_basis basis;
    uint32_t first_words;
    uint32_t descriptors; /* from the first one on, as far as the chain leads inside the bytes */
    uint64_t end;         /* behind the last of their bytes */
    uint64_t behind;      /* the first byte from `end` on that is not zero; `size` when there is none */
    uint32_t network;     /* NID of the first descriptor: 0 in a program file, not in a btsp buffer */
    uint32_t next;        /* NextPointer of the first, when the bytes do not hold that one; else 0 */
    bool plausible; /* a header and blocks as every known first descriptor has: for bytes of unknown form */
};

/*
 * Finds the stream in any bytes. `words` is the size of the first descriptor, 0 to find it. `count` is the
 * most descriptors to take, 0 for all. False, saying what was tried, when there is none or its size is not
 * found.
 */
bool pr_raw_find(const void *bytes, size_t size, uint32_t words, uint32_t count, struct pr_raw *raw,
                 struct pr_problem *problem);

/* One sentence on how the size was found, and one on what follows the stream; false when nothing follows. */
void pr_raw_explain(const struct pr_raw *raw, struct pr_problem *note);
bool pr_raw_explain_rest(const struct pr_raw *raw, uint64_t size, struct pr_problem *note);
/* The same for a first descriptor whose successor is elsewhere; false when it is not. */
bool pr_raw_explain_next(const struct pr_raw *raw, struct pr_problem *note);

#endif
