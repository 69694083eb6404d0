/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/store/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "compiler/store/files.h"

void cc_hex(const uint8_t *bytes, size_t count, char *text)
{
    static const char digit[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++) {
        text[2 * i] = digit[bytes[i] >> 4];
        text[2 * i + 1] = digit[bytes[i] & 15];
    }
    text[2 * count] = '\0';
}

static uint8_t digit_of(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

void cc_unhex(const char *text, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(digit_of(text[2 * i]) << 4 | digit_of(text[2 * i + 1]));
}

void cc_hash_text(const void *bytes, size_t size, char text[CC_HASH_DIGITS + 1])
{
    uint8_t hash[CC_HASH_BYTES];

    base_hash_of(bytes, size, hash);
    cc_hex(hash, sizeof(hash), text);
}

/* Characters that are themselves in JSON, in a terminal and in a list. */
static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("._-+@ ", c));
}

void cc_manifest_model(const char *path, char name[CC_MODEL_NAME_BYTES])
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    size_t length = 0;

    for (path = slash ? slash + 1 : path; path && *path && length + 1 < CC_MODEL_NAME_BYTES; path++)
        name[length++] = *path;
    name[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if (!is_plain(name[i]))
            name[i] = '_';
}

size_t cc_manifest_write_head(char *text, size_t capacity, const char *key, const char *model)
{
    return (size_t)snprintf(text, capacity, CC_FORM_VERSION "%u" CC_FORM_KEY "%s%s%s", CC_MANIFEST_VERSION,
                            key, model[0] ? CC_FORM_MODEL : "", model);
}

void cc_manifest_write_end(char *text, size_t at, size_t capacity, const struct cc_bundle *b)
{
    char key[CC_HASH_DIGITS + 1] = "", hash[CC_HASH_DIGITS + 1];

    if (b->is_signed)
        cc_hex(b->signature.key, BASE_KEY_BYTES, key);
    at += (size_t)snprintf(text + at, capacity - at, "%s%s%s", b->is_signed ? CC_FORM_SIGNED : "", key,
                           b->is_signed ? CC_FORM_SELF_SIGNED : CC_FORM_SELF);
    cc_hash_text(text, at, hash);
    snprintf(text + at, capacity - at, "%s" CC_FORM_END, hash);
}

/* Reading. */

void cc_cursor_expect(struct cc_cursor *c, const char *form)
{
    size_t length = strlen(form);

    if (c->wrong || strncmp(c->at, form, length) != 0)
        c->wrong = true;
    else
        c->at += length;
}

bool cc_cursor_is(const struct cc_cursor *c, const char *form)
{
    return !c->wrong && strncmp(c->at, form, strlen(form)) == 0;
}

uint64_t cc_cursor_number(struct cc_cursor *c)
{
    const char *first = c->at;
    uint64_t value = 0;

    while (!c->wrong && *c->at >= '0' && *c->at <= '9') {
        value = 10 * value + (uint64_t)(*c->at++ - '0');
        if (value > UINT32_MAX || (first[0] == '0' && c->at - first > 1))
            c->wrong = true;
    }
    c->wrong |= c->at == first;
    return value;
}

void cc_cursor_digits(struct cc_cursor *c, char text[CC_HASH_DIGITS + 1])
{
    for (unsigned i = 0; i < CC_HASH_DIGITS && !c->wrong; i++, c->at++) {
        c->wrong = !((*c->at >= '0' && *c->at <= '9') || (*c->at >= 'a' && *c->at <= 'f'));
        text[i] = *c->at;
    }
    text[CC_HASH_DIGITS] = '\0';
}

void cc_manifest_read_head(struct cc_cursor *c, char key[CC_KEY_BYTES], char model[CC_MODEL_NAME_BYTES])
{
    size_t length = 0;

    cc_cursor_expect(c, CC_FORM_VERSION);
    c->wrong |= cc_cursor_number(c) != CC_MANIFEST_VERSION;
    cc_cursor_expect(c, CC_FORM_KEY);
    cc_cursor_digits(c, key);
    model[0] = '\0';
    if (!cc_cursor_is(c, CC_FORM_MODEL))
        return;
    cc_cursor_expect(c, CC_FORM_MODEL);
    while (length + 1 < CC_MODEL_NAME_BYTES && is_plain(*c->at))
        model[length++] = *c->at++;
    model[length] = '\0';
    c->wrong |= !length;
}

bool cc_manifest_read_end(struct cc_cursor *c, const char *text, size_t size, char signer[CC_HASH_DIGITS + 1])
{
    char self[CC_HASH_DIGITS + 1] = "", wanted[CC_HASH_DIGITS + 1];
    bool is_signed = cc_cursor_is(c, CC_FORM_SIGNED);

    signer[0] = '\0';
    if (is_signed) {
        cc_cursor_expect(c, CC_FORM_SIGNED);
        cc_cursor_digits(c, signer);
    }
    cc_cursor_expect(c, is_signed ? CC_FORM_SELF_SIGNED : CC_FORM_SELF);
    if (!c->wrong)
        cc_hash_text(text, (size_t)(c->at - text), self);
    cc_cursor_digits(c, wanted);
    cc_cursor_expect(c, CC_FORM_END);
    return !c->wrong && c->at == text + size && strcmp(self, wanted) == 0;
}

/* The driver decides which key is trusted. */
int cc_signature_read(const char *folder, const char *signer, struct cc_bundle *b, struct base_error *error)
{
    char path[CC_PATH_BYTES], key[CC_HASH_DIGITS + 1];
    uint8_t *bytes = NULL;
    size_t size = 0;
    int status = cc_path_join(path, folder, CC_SIGNATURE, error);

    if (!status)
        status = cc_file_read(path, sizeof(b->signature), &bytes, &size, error);
    if (status)
        return status;
    if (size == sizeof(b->signature)) {
        memcpy(&b->signature, bytes, size);
        cc_hex(b->signature.key, BASE_KEY_BYTES, key);
        b->is_signed = strcmp(key, signer) == 0 && base_signing_verify(&b->hashes, &b->signature);
    }
    base_free(bytes);
    return b->is_signed ? 0
                        : base_fail(error, EBADMSG,
                                    "%s: not the signature of this bundle that the manifest names.", path);
}
