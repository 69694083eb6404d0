/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image4.h"

#include <errno.h>
#include <string.h>

#include "base/signing.h"
#include "image/der.h"

_Static_assert(PR_IMG4_DIGEST_BYTES == BASE_HASH_BYTES, "the manifest's digest is SHA-256");

/* A string of printable characters. */
static int take_text(struct img_der *in, const char *what, char *text, size_t most, struct base_error *error)
{
    struct img_der content = {0};
    size_t length;
    int status = img_der_take(in, PR_DER_IA5, what, &content, error);

    if (status)
        return status;
    length = (size_t)(content.end - content.at);
    if (length > most)
        return base_fail(error, EINVAL, "%s of the firmware image has %zu characters; the limit is %zu.",
                         what, length, most);
    for (size_t i = 0; i < length; i++)
        if (content.at[i] < ' ' || content.at[i] > '~')
            return base_fail(error, EINVAL, "%s of the firmware image has the character 0x%02x.", what,
                             content.at[i]);
    memcpy(text, content.at, length);
    text[length] = '\0';
    return 0;
}

static int read_payload(struct img_der *in, struct img_image4 *image4, struct base_error *error)
{
    struct img_der part = {0}, payload = {0};
    int status = img_der_take(in, PR_DER_SEQUENCE, "the payload", &part, error);

    if (!status)
        status = img_der_word(&part, PR_IMG4_PAYLOAD, error);
    if (!status)
        status = take_text(&part, "The payload tag", image4->tag, PR_IMG4_TAG_BYTES, error);
    if (!status && strcmp(image4->tag, PR_IMAGE_TAG) != 0)
        status = base_fail(error, EINVAL, "The payload tag of the firmware image is \"%s\", not \"%s\".",
                           image4->tag, PR_IMAGE_TAG);
    if (!status)
        status = take_text(&part, "The description", image4->description, PR_IMAGE_TEXT_MAX, error);
    if (!status)
        status = img_der_take(&part, PR_DER_OCTETS, "the executable", &payload, error);
    if (!status)
        status = img_der_end(&part, "the payload", error);
    if (status)
        return status;
    image4->payload = payload.at;
    image4->payload_bytes = (size_t)(payload.end - payload.at);
    return 0;
}

static int take_version(struct img_der *in, struct base_error *error)
{
    struct img_der version = {0};
    int status = img_der_take(in, PR_DER_INTEGER, "the manifest's version", &version, error);

    if (!status && (version.end - version.at != 1 || *version.at != PR_IMG4_VERSION))
        status = base_fail(error, EINVAL, "The manifest's version in the firmware image is not %u.",
                           PR_IMG4_VERSION);
    return status;
}

static int take_digest(struct img_der *in, struct img_image4 *image4, struct base_error *error)
{
    struct img_der entry = {0}, digest = {0};
    int status = img_der_take(in, PR_DER_SEQUENCE, "the digest's entry", &entry, error);

    if (!status)
        status = img_der_word(&entry, PR_IMG4_DIGEST, error);
    if (!status)
        status = img_der_take(&entry, PR_DER_OCTETS, "the digest", &digest, error);
    if (!status)
        status = img_der_end(&entry, "the digest's entry", error);
    if (status)
        return status;
    if (digest.end - digest.at != PR_IMG4_DIGEST_BYTES)
        return base_fail(error, EINVAL, "The digest in the firmware image has %zu bytes, not %u.",
                         (size_t)(digest.end - digest.at), PR_IMG4_DIGEST_BYTES);
    memcpy(image4->digest, digest.at, PR_IMG4_DIGEST_BYTES);
    return 0;
}

static int read_manifest(struct img_der *in, struct img_image4 *image4, struct base_error *error)
{
    struct img_der outer = {0}, manifest = {0};
    int status;

    if (in->at == in->end)
        return base_fail(error, EINVAL, "The firmware image has no manifest.");
    status = img_der_take(in, PR_DER_MANIFEST, "the manifest", &outer, error);
    if (!status)
        status = img_der_take(&outer, PR_DER_SEQUENCE, "the manifest's sequence", &manifest, error);
    if (!status)
        status = img_der_end(&outer, "the manifest", error);
    if (!status)
        status = img_der_word(&manifest, PR_IMG4_MANIFEST, error);
    if (!status)
        status = take_version(&manifest, error);
    if (!status)
        status = take_digest(&manifest, image4, error);
    return status ? status : img_der_end(&manifest, "the manifest's sequence", error);
}

int img_image4_parse(const void *bytes, size_t size, struct img_image4 *image4, struct base_error *error)
{
    struct img_der in = {bytes, bytes, (const uint8_t *)bytes + size}, whole = {0};
    int status;

    memset(image4, 0, sizeof(*image4));
    if (size > PR_IMAGE_FILE_MAX)
        return base_fail(error, EINVAL, "The firmware image has 0x%zx bytes; the limit is 0x%x.", size,
                         PR_IMAGE_FILE_MAX);
    status = img_der_take(&in, PR_DER_SEQUENCE, "the Image4 file", &whole, error);
    if (!status)
        status = img_der_end(&in, "the Image4 file", error);
    if (!status)
        status = img_der_word(&whole, PR_IMG4_MAGIC, error);
    if (!status)
        status = read_payload(&whole, image4, error);
    if (!status)
        status = read_manifest(&whole, image4, error);
    return status ? status : img_der_end(&whole, "its sequence", error);
}

int img_image4_read(const void *bytes, size_t size, struct img_image4 *image4, struct base_error *error)
{
    uint8_t digest[BASE_HASH_BYTES];
    int status = img_image4_parse(bytes, size, image4, error);

    if (status)
        return status;
    base_signing_hash(image4->payload, image4->payload_bytes, digest);
    if (memcmp(digest, image4->digest, sizeof(digest)) != 0)
        return base_fail(error, EBADMSG,
                         "The firmware image was altered: its payload does not have the manifest's digest.");
    return 0;
}
