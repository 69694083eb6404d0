/* SPDX-License-Identifier: Apache-2.0 */
/* Listings in memory, for tests: the whole text of a stream, and back. */
#ifndef TESTS_LISTING_TEXT_H
#define TESTS_LISTING_TEXT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "listing/assemble.h"
#include "listing/listing.h"

struct listing_text {
    char *text; /* lines with their ends; never NUL-terminated on purpose */
    size_t length, capacity;
};

static inline void listing_text_line(void *context, const char *line, size_t length)
{
    struct listing_text *t = context;

    if (t->length + length + 1 > t->capacity) {
        t->capacity = 2 * (t->length + length + 1);
        t->text = realloc(t->text, t->capacity);
        if (!t->text)
            abort();
    }
    memcpy(t->text + t->length, line, length);
    t->length += length;
    t->text[t->length++] = '\n';
}

static inline void listing_text_free(struct listing_text *t)
{
    free(t->text);
    memset(t, 0, sizeof(*t));
}

/*
 * Lists a stream and assembles the text again: true when the same bytes come back. Every buffer is as long as
 * needed.
 */
static inline bool listing_text_survives(const uint8_t *bytes, size_t size, uint32_t first_words,
                                         struct pr_problem *problem)
{
    struct listing_text t = {0};
    struct pr_assembly result;
    uint8_t *again = malloc(size ? size : 1);
    bool same = false;

    memset(problem, 0, sizeof(*problem));
    if (again && pr_listing_write(bytes, size, first_words, listing_text_line, &t, problem) &&
        pr_assemble(t.text, t.length, again, size, &result, problem))
        same = result.size == size && memcmp(again, bytes, size) == 0;
    free(again);
    listing_text_free(&t);
    return same;
}

#endif
