/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/arguments.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "broker/admission.h"
#include "broker/model.h"

static bool is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

void brk_arguments_partition(const struct brk_client *client, char name[64])
{
    snprintf(name, 64, "%u", client->who.uid);
}

static IOReturn check_form(const struct pr_broker_load *load, struct base_error *error)
{
    if (!is_text(load->model, sizeof(load->model)) || !is_text(load->name, sizeof(load->name)) ||
        !is_text(load->identity, sizeof(load->identity)) ||
        !is_text(load->cache_id[0], sizeof(load->cache_id[0])) ||
        !is_text(load->cache_id[1], sizeof(load->cache_id[1])))
        return brk_refuse(error, kIOReturnBadArgument,
                          "Load: a model, name, identity or cache identifier has no end in its field.");
    if (!base_is_zero(load->pad, sizeof(load->pad)) || load->flags & ~(uint32_t)PR_BROKER_LOAD_FLAGS)
        return brk_refuse(error, kIOReturnBadArgument,
                          "Load: flags 0x%x are not all known (0x%x), or reserved bytes are not 0.",
                          load->flags, (unsigned)PR_BROKER_LOAD_FLAGS);
    if (load->queue_depth > PR_BROKER_DEPTH)
        return brk_refuse(error, kIOReturnBadArgument, "Load: a queue depth of %u; the limit is %u.",
                          load->queue_depth, PR_BROKER_DEPTH);
    return kIOReturnSuccess;
}

static IOReturn check_model(uint32_t method, const struct pr_broker_load *load, struct base_error *error)
{
    bool is_image = method == PR_BROKER_LOAD_IMAGE;

    if (is_image != !!(load->flags & PR_BROKER_PRECOMPILED))
        return brk_refuse(error, kIOReturnBadArgument,
                          "Load: isPreCompiled is for images, and every image has it.");
    if (is_image ? load->model[0] != '\0' : !brk_model_is_key(load->model))
        return brk_refuse(error, kIOReturnBadArgument,
                          "Load: a model is named by the 64 hexadecimal digits of its identifier, an image "
                          "by none.");
    return kIOReturnSuccess;
}

/* Arguments that only the caller's own values may have. */
static IOReturn check_owner(const struct brk_client *client, const struct pr_broker_load *load,
                            struct base_error *error)
{
    char partition[64];

    brk_arguments_partition(client, partition);
    if (load->owner && load->owner != client->who.pid)
        return brk_refuse(error, kIOReturnNotPermitted,
                          "Load: the owning process is %u; the caller is %u, and may name no other.",
                          load->owner, client->who.pid);
    if (load->identity[0] && strcmp(load->identity, client->who.team) != 0)
        return brk_refuse(error, kIOReturnNotPermitted,
                          "Load: the identity is a team that is not the caller's.");
    if (load->cache_id[1][0] && strcmp(load->cache_id[1], partition) != 0)
        return brk_refuse(error, kIOReturnNotPermitted,
                          "Load: the second cache identifier is a partition; the caller's is \"%s\".",
                          partition);
    if (load->cache_id[0][0] && strcmp(load->cache_id[0], load->model) != 0)
        return brk_refuse(error, kIOReturnBadArgument,
                          "Load: the first cache identifier is not the model's identifier.");
    return kIOReturnSuccess;
}

static IOReturn check_flags(const struct brk_client *client, const struct pr_broker_load *load,
                            struct base_error *error)
{
    IOReturn result = kIOReturnSuccess;

    if (load->memory_pool)
        return brk_refuse(error, kIOReturnUnsupported,
                          "Load: memory pool %u; no pool but 0 exists, and no source describes one.",
                          load->memory_pool);
    if (load->flags & PR_BROKER_LATE_LATCH)
        return brk_refuse(error, kIOReturnUnsupported,
                          "Load: enableLateLatch is not served; no source says what it does.");
    if (load->flags & PR_BROKER_AGGRESSIVE_POWER_SAVING)
        result = brk_admission_require(&client->who, PR_ENTITLEMENT_BIT(AGGRESSIVE_POWER_SAVING),
                                       "Load with aggressive power saving", error);
    if (!result && load->flags & PR_BROKER_SHARE)
        result = brk_admission_require(&client->who, PR_ENTITLEMENT_BIT(MODEL_SHARE),
                                       "Load of a shared model", error);
    if (result)
        return result;
    if ((load->flags & (PR_BROKER_POWER_SAVING | PR_BROKER_AGGRESSIVE_POWER_SAVING)) ==
        PR_BROKER_AGGRESSIVE_POWER_SAVING)
        return brk_refuse(error, kIOReturnBadArgument,
                          "Load: aggressive power saving is asked for without power saving.");
    if (load->flags & PR_BROKER_SHARE && !client->who.has_signature)
        return brk_refuse(error, kIOReturnNotPermitted,
                          "Load: a model is shared by processes with the same team and code-directory hash; "
                          "the executable of process %u could not be read, so it has no signature.",
                          client->who.pid);
    return kIOReturnSuccess;
}

/* Only a load decides whether a model is shared: an image has no identifier, an instance is of a resident. */
static IOReturn check_share(uint32_t method, const struct pr_broker_load *load, struct base_error *error)
{
    if (load->flags & PR_BROKER_SHARE && method != PR_BROKER_LOAD)
        return brk_refuse(error, kIOReturnBadArgument,
                          "Only the load of a compiled model can share it with other processes.");
    return kIOReturnSuccess;
}

IOReturn brk_arguments_load(const struct brk_client *client, uint32_t method,
                            const struct pr_broker_load *load, struct base_error *error)
{
    IOReturn result = check_form(load, error);

    if (!result)
        result = check_model(method, load, error);
    if (!result)
        result = check_owner(client, load, error);
    if (!result)
        result = check_flags(client, load, error);
    return result ? result : check_share(method, load, error);
}

IOReturn brk_arguments_adapter(const struct pr_broker_adapter *adapter, uint64_t bytes,
                               struct base_error *error)
{
    uint64_t sum = 0;

    if (!adapter->files || adapter->files > PR_BROKER_FILES || adapter->reserved)
        return brk_refuse(error, kIOReturnBadArgument, "Adapter: %u weight files; 1 to %u are possible.",
                          adapter->files, PR_BROKER_FILES);
    for (uint32_t i = 0; i < adapter->files; i++) {
        const struct pr_broker_file *file = &adapter->file[i];

        if (!file->size || file->target % PR_BROKER_FILE_ALIGN || file->offset % PR_BROKER_FILE_ALIGN)
            return brk_refuse(error, kIOReturnBadArgument,
                              "Adapter: weight file %u is empty, or not at multiples of %u.", i,
                              PR_BROKER_FILE_ALIGN);
        if (file->offset > bytes || file->size > bytes - file->offset)
            return brk_refuse(error, kIOReturnBadArgument,
                              "Adapter: weight file %u has %" PRIu64 " bytes at %" PRIu64
                              "; the memory file has %" PRIu64 ".",
                              i, file->size, file->offset, bytes);
        sum += file->size;
        if (sum > PR_BROKER_IMAGE_BYTES)
            return brk_refuse(error, kIOReturnBadArgument,
                              "Adapter: the weight files have more than %llu "
                              "bytes together.",
                              PR_BROKER_IMAGE_BYTES);
    }
    for (uint32_t i = adapter->files; i < PR_BROKER_FILES; i++)
        if (adapter->file[i].target || adapter->file[i].offset || adapter->file[i].size)
            return brk_refuse(error, kIOReturnBadArgument, "Adapter: record %u is behind the last file.", i);
    return kIOReturnSuccess;
}

IOReturn brk_arguments_compile(const struct brk_client *client, const struct pr_broker_compile *compile,
                               struct base_error *error)
{
    if (compile->flags & ~(uint32_t)PR_BROKER_COMPILE_FLAGS)
        return brk_refuse(error, kIOReturnBadArgument, "Compile: flags 0x%x are not all known.",
                          compile->flags);
    if (!is_text(compile->name, sizeof(compile->name)) || !compile->name[0] || strchr(compile->name, '/') ||
        !strcmp(compile->name, ".") || !strcmp(compile->name, ".."))
        return brk_refuse(error, kIOReturnBadArgument,
                          "Compile: a model is named by a file of the folder that comes with the call.");
    return compile->flags & PR_BROKER_COMPILE_LONG
               ? brk_admission_require(&client->who, PR_ENTITLEMENT_BIT(SECONDARY_COMPILER),
                                       "Compile with the longer-duration service", error)
               : kIOReturnSuccess;
}

IOReturn brk_arguments_purge(const struct pr_broker_purge *purge, struct base_error *error)
{
    if (!is_text(purge->model, sizeof(purge->model)) || !base_is_zero(purge->pad, sizeof(purge->pad)) ||
        (purge->model[0] && !brk_model_is_key(purge->model)))
        return brk_refuse(error, kIOReturnBadArgument,
                          "Purge: a model is named by the 64 hexadecimal digits of its identifier, all of "
                          "them by none.");
    return kIOReturnSuccess;
}
