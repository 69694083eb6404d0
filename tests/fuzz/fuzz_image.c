/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a firmware image, and as the executable in one: read or refused in a sentence. What was read
 * can be loaded, and is then found where it was loaded. The executable is tried alone because no change of
 * it passes the wrapper's digest.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sentence(const struct base_error *error)
{
    require(error->text[0] != '\0' && error->text[strlen(error->text) - 1] == '.');
}

static void check_loaded(const struct img_image *image)
{
    uint8_t *run = malloc(PR_IMAGE_RUN_BYTES);
    uint64_t vector = img_image_vector(image, 0);

    require(run != NULL);
    require(vector < PR_IMAGE_RUN_BYTES && vector % PR_PAGE_BYTES == 0);
    img_image_load(image, run);
    require(img_image_is_at(image, run));
    free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct base_error error = {{0}};
    struct img_image image;

    if (img_image_read(data, size, &image, &error))
        check_sentence(&error);
    else
        check_loaded(&image);
    error.text[0] = '\0';
    if (img_macho_read(data, size, &image.macho, &error))
        check_sentence(&error);
    else
        check_loaded(&image);
    return 0;
}
