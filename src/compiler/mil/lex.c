/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MIL text into tokens, with line and column, and the sentences that refuse one. A token points into the text
 * and is not terminated by a NUL; `mil->token` is always the next one that is not taken yet. Limits of length
 * are checked here, so that later code may copy names and numbers into buffers of fixed size.
 */
#include "compiler/mil/mil.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(int c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The character `ahead` of the place we are at; 0 beyond the end. */
static int peek(const struct cc_mil *mil, size_t ahead)
{
    return mil->length - mil->at > ahead ? (unsigned char)mil->text[mil->at + ahead] : 0;
}

static void step(struct cc_mil *mil)
{
    if (mil->text[mil->at++] == '\n') {
        mil->line++;
        mil->column = 1;
    } else {
        mil->column++;
    }
}

static void step_by(struct cc_mil *mil, size_t count)
{
    while (count--)
        step(mil);
}

int cc_mil_fail(struct cc_mil *mil, const struct cc_mil_token *at, int code, const char *format, ...)
{
    char text[480];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return base_fail(mil->error, code, "Line %u, column %u: %s", at->line, at->column, text);
}

int cc_mil_no_memory(struct cc_mil *mil)
{
    return cc_mil_fail(mil, &mil->token, ENOMEM, "there is no memory to read the rest.");
}

int cc_mil_expected(struct cc_mil *mil, const char *what)
{
    const struct cc_mil_token *token = &mil->token;
    int shown = token->length > 40 ? 40 : (int)token->length;
    const char *cut = token->length > 40 ? "..." : "";

    if (token->kind == CC_MIL_END)
        return cc_mil_fail(mil, token, EINVAL, "found the end of the text, expected %s.", what);
    if (token->kind == CC_MIL_STRING)
        return cc_mil_fail(mil, token, EINVAL, "found string \"%.*s%s\", expected %s.", shown, token->text,
                           cut, what);
    return cc_mil_fail(mil, token, EINVAL, "found `%.*s%s`, expected %s.", shown, token->text, cut, what);
}

/* White space and comments. */
static int skip_blank(struct cc_mil *mil)
{
    struct cc_mil_token start;

    for (;;) {
        int c = peek(mil, 0);

        start = (struct cc_mil_token){.line = mil->line, .column = mil->column};
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            step(mil);
        } else if (c == '/' && peek(mil, 1) == '/') {
            while (mil->at < mil->length && peek(mil, 0) != '\n')
                step(mil);
        } else if (c == '/' && peek(mil, 1) == '*') {
            step_by(mil, 2);
            while (!(peek(mil, 0) == '*' && peek(mil, 1) == '/')) {
                if (mil->at >= mil->length)
                    return cc_mil_fail(mil, &start, EINVAL,
                                       "a comment begins here and has no end, expected `*/`.");
                step(mil);
            }
            step_by(mil, 2);
        } else {
            return 0;
        }
    }
}

static int lex_string(struct cc_mil *mil, struct cc_mil_token *token)
{
    step(mil);
    token->text = mil->text + mil->at;
    while (peek(mil, 0) != '"') {
        int c = peek(mil, 0);
        struct cc_mil_token here = {.line = mil->line, .column = mil->column};

        if (mil->at >= mil->length || c == '\n')
            return cc_mil_fail(mil, token, EINVAL,
                               "a string begins here and is not closed on its line, expected `\"`.");
        if (c < 0x20 || c == 0x7f)
            return cc_mil_fail(mil, &here, EINVAL, "found byte 0x%02x in a string, expected printable text.",
                               c);
        if (c == '\\' && peek(mil, 1) != '"' && peek(mil, 1) != '\\')
            return cc_mil_fail(mil, &here, EINVAL,
                               "found an unknown escape in a string, expected `\\\"` or `\\\\`.");
        step_by(mil, c == '\\' ? 2 : 1);
    }
    token->length = (size_t)(mil->text + mil->at - token->text);
    step(mil);
    if (token->length > CC_MIL_NAME_MAX)
        return cc_mil_fail(mil, token, EINVAL, "a string of %zu characters, limit %u.", token->length,
                           CC_MIL_NAME_MAX);
    return 0;
}

static size_t step_digits(struct cc_mil *mil, bool hex)
{
    size_t count = 0;

    for (; hex ? is_hex(peek(mil, 0)) : is_digit(peek(mil, 0)); count++)
        step(mil);
    return count;
}

/* [+-] digits [. digits] [e exponent], the same in base 16 with p, or a signed inf or nan. */
static int lex_number(struct cc_mil *mil, struct cc_mil_token *token)
{
    bool hex, good;
    size_t digits;

    if (peek(mil, 0) == '-' || peek(mil, 0) == '+')
        step(mil);
    if (mil->length - mil->at >= 3 &&
        (memcmp(mil->text + mil->at, "inf", 3) == 0 || memcmp(mil->text + mil->at, "nan", 3) == 0)) {
        step_by(mil, 3);
        good = true;
    } else {
        hex = peek(mil, 0) == '0' && (peek(mil, 1) == 'x' || peek(mil, 1) == 'X');
        if (hex)
            step_by(mil, 2);
        digits = step_digits(mil, hex);
        if (peek(mil, 0) == '.') {
            step(mil);
            digits += step_digits(mil, hex);
        }
        good = digits > 0;
        if (good &&
            (hex ? peek(mil, 0) == 'p' || peek(mil, 0) == 'P' : peek(mil, 0) == 'e' || peek(mil, 0) == 'E')) {
            step(mil);
            if (peek(mil, 0) == '-' || peek(mil, 0) == '+')
                step(mil);
            good = step_digits(mil, false) > 0;
        }
    }
    token->length = (size_t)(mil->text + mil->at - token->text);
    if (!good || is_letter(peek(mil, 0)) || is_digit(peek(mil, 0)) || peek(mil, 0) == '.')
        return cc_mil_fail(mil, token, EINVAL, "found `%.*s`, which is not a number, expected digits.",
                           token->length > 40 ? 40 : (int)token->length, token->text);
    if (token->length > CC_MIL_NUMBER_MAX)
        return cc_mil_fail(mil, token, EINVAL, "a number of %zu characters, limit %u.", token->length,
                           CC_MIL_NUMBER_MAX);
    return 0;
}

static int lex_name(struct cc_mil *mil, struct cc_mil_token *token)
{
    while (is_letter(peek(mil, 0)) || is_digit(peek(mil, 0)))
        step(mil);
    token->length = (size_t)(mil->text + mil->at - token->text);
    if (token->length > CC_MIL_NAME_MAX)
        return cc_mil_fail(mil, token, EINVAL, "a name of %zu characters, limit %u.", token->length,
                           CC_MIL_NAME_MAX);
    return 0;
}

int cc_mil_advance(struct cc_mil *mil)
{
    struct cc_mil_token *token = &mil->token;
    int status = skip_blank(mil);
    int c = peek(mil, 0);

    if (status)
        return status;
    *token = (struct cc_mil_token){.text = mil->text + mil->at, .line = mil->line, .column = mil->column};
    if (mil->at >= mil->length)
        return 0;
    if (is_letter(c)) {
        token->kind = CC_MIL_NAME;
        return lex_name(mil, token);
    }
    if (c == '"') {
        token->kind = CC_MIL_STRING;
        return lex_string(mil, token);
    }
    if (c == '-' && peek(mil, 1) == '>') {
        token->kind = CC_MIL_ARROW;
        token->length = 2;
        step_by(mil, 2);
        return 0;
    }
    if (is_digit(c) || c == '-' || c == '+' || c == '.') {
        token->kind = CC_MIL_NUMBER;
        return lex_number(mil, token);
    }
    if (c == 0 || !strchr("()[]{}<>,;=?:", c))
        return c > 0x20 && c < 0x7f
                   ? cc_mil_fail(mil, token, EINVAL, "found `%c`, which is not part of MIL text.", c)
                   : cc_mil_fail(mil, token, EINVAL, "found byte 0x%02x, which is not part of MIL text.", c);
    token->kind = CC_MIL_MARK;
    token->length = 1;
    step(mil);
    return 0;
}

bool cc_mil_is(const struct cc_mil *mil, char mark)
{
    return mil->token.kind == CC_MIL_MARK && mil->token.text[0] == mark;
}

bool cc_mil_is_name(const struct cc_mil *mil, const char *name)
{
    return mil->token.kind == CC_MIL_NAME && mil->token.length == strlen(name) &&
           memcmp(mil->token.text, name, mil->token.length) == 0;
}

int cc_mil_take(struct cc_mil *mil, char mark)
{
    const char what[] = {'`', mark, '`', '\0'};

    return cc_mil_is(mil, mark) ? cc_mil_advance(mil) : cc_mil_expected(mil, what);
}

int cc_mil_take_name(struct cc_mil *mil, const char *what, struct cc_mil_token *token)
{
    if (mil->token.kind != CC_MIL_NAME)
        return cc_mil_expected(mil, what);
    *token = mil->token;
    return cc_mil_advance(mil);
}

char *cc_mil_token_copy(const struct cc_mil_token *token)
{
    char *copy = base_alloc(token->length + 1);
    size_t at = 0;

    if (!copy)
        return NULL;
    for (size_t i = 0; i < token->length; i++) {
        if (token->kind == CC_MIL_STRING && token->text[i] == '\\')
            i++;
        copy[at++] = token->text[i];
    }
    return copy;
}
