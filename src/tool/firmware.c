/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/firmware.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "image/image.h"
#include "tool/json.h"
#include "tool/tool.h"

#define HEX_TEXT (2 * PR_IMG4_DIGEST_BYTES + 1)

/* A sequence whose first element is the word IMG4; its length takes one to five bytes. */
bool tool_firmware_is(const uint8_t *bytes, size_t size)
{
    static const uint8_t word[] = {PR_DER_IA5, 4, 'I', 'M', 'G', '4'};

    for (size_t at = 2; at <= 6 && at + sizeof(word) <= size; at++)
        if (bytes[0] == PR_DER_SEQUENCE && !memcmp(bytes + at, word, sizeof(word)))
            return true;
    return false;
}

static const char *hex(const uint8_t *bytes, size_t count, char text[HEX_TEXT])
{
    for (size_t i = 0; i < count; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return text;
}

static void print_image(const char *path, const struct img_image *image)
{
    char text[HEX_TEXT];

    printf("# %s\n", path);
    printf("firmware  \"%s\", payload tag %s, 0x%zx bytes\n", image->image4.description, image->image4.tag,
           image->image4.payload_bytes);
    printf("digest    %s\n", hex(image->image4.digest, PR_IMG4_DIGEST_BYTES, text));
    printf("uuid      %s\n", hex(image->macho.uuid, PR_MACHO_UUID_BYTES, text));
    printf("entry     0x%" PRIx64 "\n", image->macho.entry);
    printf("code      %s\n", image->no_code ? "none: the image was built without a cross compiler" : "arm64");
    printf("segments\n");
    for (unsigned i = 0; i < image->macho.segments; i++) {
        const struct img_segment *s = &image->macho.segment[i];

        printf("  %-16s 0x%08" PRIx64 "  0x%" PRIx64 " bytes, 0x%" PRIx64 " of them at 0x%" PRIx64
               " of the executable  %c%c%c\n",
               s->name, s->address, s->memory_bytes, s->file_bytes, s->offset, s->protect & 1 ? 'r' : '-',
               s->protect & 2 ? 'w' : '-', s->protect & PR_MACHO_PROTECT_EXECUTE ? 'x' : '-');
    }
}

static void json_image(const struct img_image *image)
{
    char text[HEX_TEXT];
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "format", "firmware");
    json_string(&json, "tag", image->image4.tag);
    json_string(&json, "description", image->image4.description);
    json_string(&json, "digest", hex(image->image4.digest, PR_IMG4_DIGEST_BYTES, text));
    json_string(&json, "uuid", hex(image->macho.uuid, PR_MACHO_UUID_BYTES, text));
    json_number(&json, "entry", image->macho.entry);
    json_bool(&json, "code", !image->no_code);
    json_array(&json, "segments");
    for (unsigned i = 0; i < image->macho.segments; i++) {
        const struct img_segment *s = &image->macho.segment[i];

        json_object(&json, NULL);
        json_string(&json, "name", s->name);
        json_number(&json, "address", s->address);
        json_number(&json, "bytes", s->memory_bytes);
        json_number(&json, "file_offset", s->offset);
        json_number(&json, "file_bytes", s->file_bytes);
        json_number(&json, "protection", s->protect);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_end(&json);
}

int tool_firmware_show(const char *path, const uint8_t *bytes, size_t size, bool as_json)
{
    struct base_error error = {{0}};
    struct img_image image;

    if (img_image_read(bytes, size, &image, &error)) {
        tool_say("%s: %s", path, error.text);
        return TOOL_FAILURE;
    }
    if (as_json)
        json_image(&image);
    else
        print_image(path, &image);
    return TOOL_OK;
}
