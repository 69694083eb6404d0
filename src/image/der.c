/* SPDX-License-Identifier: Apache-2.0 */
#include "image/der.h"

#include <errno.h>
#include <string.h>

#include "protocol/image.h"

#define LONG_FORM    0x80u
#define LENGTH_BYTES 4u /* of a length in the long form, at most */

static size_t place(const struct img_der *in)
{
    return (size_t)(in->at - in->start);
}

static size_t left(const struct img_der *in)
{
    return (size_t)(in->end - in->at);
}

static int truncated(const struct img_der *in, const char *what, struct base_error *error)
{
    return base_fail(error, EINVAL, "The firmware image is truncated: it ends at byte 0x%zx, inside %s.",
                     (size_t)(in->end - in->start), what);
}

static int take_length(struct img_der *in, const char *what, size_t *length, struct base_error *error)
{
    size_t at = place(in);
    unsigned bytes;

    if (!left(in))
        return truncated(in, what, error);
    *length = *in->at++;
    if (*length < LONG_FORM)
        return 0;
    bytes = (unsigned)(*length - LONG_FORM);
    if (bytes == 0 || bytes > LENGTH_BYTES)
        return base_fail(error, EINVAL, "The length of %s at byte 0x%zx has %u bytes; 1 to %u are possible.",
                         what, at, bytes, LENGTH_BYTES);
    if (left(in) < bytes)
        return truncated(in, what, error);
    *length = 0;
    for (unsigned i = 0; i < bytes; i++)
        *length = *length << 8 | *in->at++;
    if (*length < LONG_FORM || *length >> 8 * (bytes - 1) == 0)
        return base_fail(error, EINVAL, "The length of %s at byte 0x%zx is not in its shortest form.", what,
                         at);
    return 0;
}

int img_der_take(struct img_der *in, uint8_t identifier, const char *what, struct img_der *content,
                 struct base_error *error)
{
    size_t at = place(in), length = 0;
    int status;

    if (!left(in))
        return truncated(in, what, error);
    if (*in->at != identifier)
        return base_fail(error, EINVAL,
                         "The firmware image has 0x%02x at byte 0x%zx, where %s begins with 0x%02x.", *in->at,
                         at, what, identifier);
    in->at++;
    status = take_length(in, what, &length, error);
    if (status)
        return status;
    if (length > left(in))
        return base_fail(error, EINVAL,
                         "The firmware image is truncated: %s at byte 0x%zx has 0x%zx bytes, 0x%zx are left.",
                         what, at, length, left(in));
    *content = (struct img_der){in->start, in->at, in->at + length};
    in->at += length;
    return 0;
}

int img_der_word(struct img_der *in, const char *word, struct base_error *error)
{
    struct img_der content = {0};
    size_t length = strlen(word);
    int status = img_der_take(in, PR_DER_IA5, word, &content, error);

    if (status)
        return status;
    if (length && left(&content) == length && !memcmp(content.at, word, length))
        return 0;
    return base_fail(error, EINVAL, "The word at byte 0x%zx of the firmware image is not \"%s\".",
                     place(&content), word);
}

int img_der_end(const struct img_der *in, const char *what, struct base_error *error)
{
    if (!left(in))
        return 0;
    return base_fail(error, EINVAL, "0x%zx bytes follow at byte 0x%zx of the firmware image, where %s ends.",
                     left(in), place(in), what);
}
