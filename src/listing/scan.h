/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words on the lines of an untrusted text: spaces and tabs between words, `#` begins a comment.
 */
#ifndef LISTING_SCAN_H
#define LISTING_SCAN_H

#include "protocol/problem.h"

struct pr_scan {
    const char *text;
    size_t length;
    size_t at;         /* the next character */
    size_t line_start; /* of the current line, */
    uint32_t line;     /* which is counted from 1 */
};

/* A part of the text; no NUL follows it. */
struct pr_word {
    const char *start;
    size_t length;
};

void pr_scan_begin(struct pr_scan *scan, const char *text, size_t length);
/* Goes to the next line, the first one at the beginning; false at the end of the text. */
bool pr_scan_line(struct pr_scan *scan);
/* The next word of the current line; false at its end. */
bool pr_scan_word(struct pr_scan *scan, struct pr_word *word);

bool pr_word_is(const struct pr_word *word, const char *string);
/* A whole word that is a decimal or 0x hexadecimal number of at most 32 bits. */
bool pr_word_number(const struct pr_word *word, uint32_t *number);
/* The parts before and after the first `separator`; false when there is none. */
bool pr_word_split(const struct pr_word *word, char separator, struct pr_word *before, struct pr_word *after);

/* The word for a sentence: in quotes, cut when long, without control characters. Returns the quote's text. */
struct pr_quote {
    char text[48];
};
const char *pr_word_quote(const struct pr_word *word, struct pr_quote *quote);
/* The same, for the length of the enclosing block. */
#define PR_QUOTE(word) pr_word_quote(word, &(struct pr_quote){.text = ""})

/*
 * Fills `problem` with "Line L, column C: " and a sentence, in the format of pr_text_printf, and returns
 * false. The place is the word's, or that of the scan when it is NULL.
 */
bool pr_scan_fail(const struct pr_scan *scan, const struct pr_word *word, struct pr_problem *problem,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
