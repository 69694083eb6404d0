/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input twice: as the text of a stream, and as the bytes of one. What is accepted survives the way there
 * and back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../listing_text.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STREAM_MOST 0x10000u /* longer ones only take time */

static void as_text(const char *text, size_t length)
{
    struct pr_assembly size, result;
    struct pr_problem problem;
    uint8_t *bytes;

    if (!pr_assemble(text, length, NULL, 0, &size, &problem)) {
        require(problem.kind == PR_PROBLEM_FORMAT && strncmp(problem.text, "Line ", 5) == 0);
        return;
    }
    require(size.size <= PR_LISTING_BYTES_MAX && (size.descriptors == 0) == (size.first_words == 0));
    if (size.size > STREAM_MOST)
        return;
    bytes = malloc(size.size ? size.size : 1);
    require(bytes != NULL);
    require(pr_assemble(text, length, bytes, size.size, &result, &problem));
    require(memcmp(&size, &result, sizeof(size)) == 0);
    require(listing_text_survives(bytes, result.size, result.first_words, &problem));
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pr_problem problem;

    as_text((const char *)data, size);
    require(size > STREAM_MOST || listing_text_survives(data, size, (uint32_t)(size / 4 & 0x3ff), &problem));
    return 0;
}
