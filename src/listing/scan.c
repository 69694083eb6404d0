/* SPDX-License-Identifier: Apache-2.0 */
/* Words on the lines of a text. No character past the length is read, so the text needs no NUL. */
#include "listing/scan.h"

#include <string.h>

#include "protocol/text.h"

#define QUOTED_MOST 40

void pr_scan_begin(struct pr_scan *scan, const char *text, size_t length)
{
    *scan = (struct pr_scan){.text = text, .length = length};
}

bool pr_scan_line(struct pr_scan *scan)
{
    if (scan->line > 0) {
        while (scan->at < scan->length && scan->text[scan->at] != '\n')
            scan->at++;
        scan->at++;
    }
    if (scan->at >= scan->length)
        return false;
    scan->line_start = scan->at;
    scan->line++;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool ends_word(char c)
{
    return is_blank(c) || c == '\n' || c == '#';
}

bool pr_scan_word(struct pr_scan *scan, struct pr_word *word)
{
    while (scan->at < scan->length && is_blank(scan->text[scan->at]))
        scan->at++;
    word->start = scan->text + scan->at;
    while (scan->at < scan->length && !ends_word(scan->text[scan->at]))
        scan->at++;
    word->length = (size_t)(scan->text + scan->at - word->start);
    return word->length > 0;
}

bool pr_word_is(const struct pr_word *word, const char *string)
{
    return word->length == pr_string_length(string) && memcmp(word->start, string, word->length) == 0;
}

static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    if (c >= 'A' && c <= 'F')
        return (unsigned)(c - 'A') + 10;
    return 16;
}

bool pr_word_number(const struct pr_word *word, uint32_t *number)
{
    unsigned base = 10;
    uint64_t value = 0;
    size_t i = 0;

    if (word->length > 2 && word->start[0] == '0' && (word->start[1] == 'x' || word->start[1] == 'X')) {
        base = 16;
        i = 2;
    }
    if (i == word->length)
        return false;
    for (; i < word->length; i++) {
        unsigned digit = digit_of(word->start[i]);

        value = value * base + digit;
        if (digit >= base || value > UINT32_MAX)
            return false;
    }
    *number = (uint32_t)value;
    return true;
}

bool pr_word_split(const struct pr_word *word, char separator, struct pr_word *before, struct pr_word *after)
{
    const char *found = memchr(word->start, separator, word->length);

    if (!found)
        return false;
    *before = (struct pr_word){word->start, (size_t)(found - word->start)};
    *after = (struct pr_word){found + 1, word->length - before->length - 1};
    return true;
}

const char *pr_word_quote(const struct pr_word *word, struct pr_quote *quote)
{
    size_t shown = word->length < QUOTED_MOST ? word->length : QUOTED_MOST;
    struct pr_text text;

    pr_text_init(&text, quote->text, sizeof(quote->text));
    pr_text_put_char(&text, '`');
    for (size_t i = 0; i < shown; i++)
        pr_text_put_char(&text, word->start[i] >= ' ' && word->start[i] <= '~' ? word->start[i] : '?');
    pr_text_put(&text, shown < word->length ? "...`" : "`");
    return quote->text;
}

bool pr_scan_fail(const struct pr_scan *scan, const struct pr_word *word, struct pr_problem *problem,
                  const char *format, ...)
{
    size_t at = word ? (size_t)(word->start - scan->text) : scan->at;
    struct pr_text text;
    va_list args;

    if (!problem)
        return false;
    memset(problem, 0, sizeof(*problem));
    problem->kind = PR_PROBLEM_FORMAT;
    problem->offset = at > UINT32_MAX ? UINT32_MAX : (uint32_t)at;
    pr_text_init(&text, problem->text, sizeof(problem->text));
    pr_text_printf(&text, "Line %u, column %ju: ", scan->line, (uint64_t)(at - scan->line_start + 1));
    va_start(args, format);
    pr_text_vprintf(&text, format, args);
    va_end(args);
    return false;
}
