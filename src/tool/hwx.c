/* SPDX-License-Identifier: Apache-2.0 */
/* The image is read back before it is written to the file, so that a file is one that can be loaded. */
#include "tool/hwx.h"

#include "base/alloc.h"
#include "program/e5_image.h"
#include "tool/tool.h"

/* What is needed while an image is made. */
struct making {
    struct pr_e5 e5;
    struct pr_e5_parts parts;
    struct pr_e5_image image;
    struct pr_hwx read_back;
    uint8_t *bytes;
    size_t size;
};

static bool fail(const char *path, const char *what)
{
    tool_say("%s: %s", path, what);
    return false;
}

static bool expand(struct making *making, struct cc_bundle *bundle, const char *path)
{
    struct base_error error = {{0}};
    struct pr_problem problem = {0};

    if (bundle->parts)
        return fail(path, "the network has host segments; an image is one program of the engine.");
    if (!pr_e5_read(bundle->main, bundle->main_bytes, &making->e5, &problem))
        return fail(path, problem.text);
    pr_e5_image_measure(&making->e5, &making->parts);
    if (making->e5.constant_bytes != bundle->weights_bytes)
        return fail(path, "the bundle's constants have another size than its program states.");
    if (making->e5.ports > PR_E5_PORT_BUFFERS) {
        tool_say("%s: the network has %u inputs and outputs; an image has %u buffers, one for each.", path,
                 making->e5.ports, (unsigned)PR_E5_PORT_BUFFERS);
        return false;
    }
    making->parts.text = base_alloc(making->parts.text_bytes);
    making->parts.scalars = base_alloc(making->parts.scalars_bytes);
    if (!making->parts.text || !making->parts.scalars)
        return fail(path, "no memory for its descriptors.");
    if (cc_bundle_weights(bundle, &error))
        return fail(path, error.text);
    return pr_e5_image_make(&making->e5, bundle->weights, &making->parts, &making->image, &problem) ||
           fail(path, problem.text);
}

static bool make_bytes(struct making *making, const char *path)
{
    struct pr_problem problem = {0};

    making->size = pr_hwx_write(&making->image.program, NULL, 0);
    if (!making->size)
        return fail(path, "the ports of this network do not fit into an image.");
    making->bytes = base_alloc(making->size);
    if (!making->bytes)
        return fail(path, "no memory for the image.");
    pr_hwx_write(&making->image.program, making->bytes, making->size);
    return pr_hwx_read(making->bytes, making->size, &making->read_back, &problem) || fail(path, problem.text);
}

bool tool_hwx_write(struct cc_bundle *bundle, const char *path)
{
    struct making *making = base_alloc(sizeof(*making));
    bool good;

    if (!making)
        return fail(path, "no memory for the image.");
    good = expand(making, bundle, path) && make_bytes(making, path) &&
           tool_file_write(path, making->bytes, making->size);
    base_free(making->bytes);
    base_free(making->parts.scalars);
    base_free(making->parts.text);
    base_free(making);
    return good;
}
