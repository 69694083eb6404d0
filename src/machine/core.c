/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/core.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"

int ane_core_named(const char *name)
{
    static const char *const names[] = {[ANE_CORE_NATIVE] = "native", [ANE_CORE_EMULATED] = "emulated"};

    for (unsigned i = 0; name && i < BASE_COUNT_OF(names); i++)
        if (!strcmp(name, names[i]))
            return (int)i;
    return -1;
}

static int take_image(struct mach_core *core, const char *path, struct base_error *error)
{
    int status;

    core->bytes = img_image_built(&core->size);
    if (!path)
        return 0;
    status = base_file_read(path, PR_IMAGE_FILE_MAX, &core->file, &core->size, error);
    core->bytes = core->file;
    return status;
}

static bool is_built(const struct mach_core *core)
{
    size_t size;
    const void *built = img_image_built(&size);

    return core->bytes == built || (size == core->size && !memcmp(built, core->bytes, size));
}

static int check_core(const struct mach_core *core, struct base_error *error)
{
    if (core->emulated && core->image.no_code)
        return base_fail(error, ENOTSUP,
                         "The firmware image has no code for the emulated core: it was built without a cross "
                         "compiler. Install one and build again, or choose the native core.");
    if (!core->emulated && !is_built(core))
        return base_fail(error, ENOTSUP,
                         "The native core runs only the firmware image that this library was built with; for "
                         "another one, choose the emulated core.");
    return 0;
}

int mach_core_create(struct mach_core *core, const struct ane_machine_config *config,
                     struct base_error *error)
{
    int status;

    *core = (struct mach_core){.emulated = config->core == ANE_CORE_EMULATED};
    status = take_image(core, config->firmware_image, error);
    if (!status)
        status =
            (core->file ? img_image_read : img_image_parse)(core->bytes, core->size, &core->image, error);
    return status ? status : check_core(core, error);
}

void mach_core_destroy(struct mach_core *core)
{
    base_free(core->file);
    core->file = NULL;
}
