/* SPDX-License-Identifier: Apache-2.0 */
/* From the text form of a descriptor stream to its bytes. The grammar is in listing.h. */
#ifndef LISTING_ASSEMBLE_H
#define LISTING_ASSEMBLE_H

#include "protocol/problem.h"

struct pr_assembly {
    size_t size;          /* bytes of the stream */
    uint32_t descriptors; /* how many the text has */
    uint32_t first_words; /* size of the first one; 0 when there is none */
};

/*
 * Reads any text of `length` characters. Writes as much of the stream as fits: with result->size > capacity
 * the bytes are incomplete and a second call with so many will do; a first call may have none. False, with
 * line, column and a sentence, when the text is not of the grammar or the stream exceeds
 * PR_LISTING_BYTES_MAX.
 */
bool pr_assemble(const char *text, size_t length, void *bytes, size_t capacity, struct pr_assembly *result,
                 struct pr_problem *problem);

#endif
