/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiler's handles. Each keeps copies of the paths it was given, so a configuration may be released
 * before the compiler that was made with it. Nothing is kept here between two compilations: the cache is the
 * compiler's.
 */
#include "compiler/compile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/library.h"

struct e5rt_e5_compiler_config_options {
    struct e5_handle handle;
    char *cache; /* NULL: the default folder */
};

struct e5rt_e5_compiler {
    struct e5_handle handle;
    char *cache;
};

struct e5rt_e5_compiler_options {
    struct e5_handle handle;
    uint64_t devices;
    bool force;
};

/* Configuration. */

static void end_config(void *handle)
{
    e5rt_e5_compiler_config_options_t config = handle;

    base_free(config->cache);
}

int64_t e5rt_e5_compiler_config_options_create(e5rt_e5_compiler_config_options_t *config)
{
    int64_t status = e5_check_given(config, "the place for the configuration", __func__);

    if (status)
        return status;
    *config = e5_handle_make(E5_CONFIG, sizeof(**config), end_config);
    return *config ? E5RT_OK : e5_fail_memory("the compiler's configuration");
}

int64_t e5rt_e5_compiler_config_options_set_cache_bundle_location(e5rt_e5_compiler_config_options_t config,
                                                                  const char *path)
{
    int64_t status = e5_check(config, E5_CONFIG, __func__);
    char *copy;

    if (!status)
        status = e5_check_given(path, "the path", __func__);
    if (status)
        return status;
    if (!path[0])
        return e5_fail(E5RT_INVALID_ARGUMENT, "%s: the path is empty.", __func__);
    copy = base_strdup(path);
    if (!copy)
        return e5_fail_memory("a path");
    base_free(config->cache);
    config->cache = copy;
    return E5RT_OK;
}

int64_t e5rt_e5_compiler_config_options_release(e5rt_e5_compiler_config_options_t *config)
{
    return e5_handle_release(config, E5_CONFIG, __func__);
}

/* Compiler. */

static void end_compiler(void *handle)
{
    e5rt_e5_compiler_t compiler = handle;

    base_free(compiler->cache);
}

int64_t e5rt_e5_compiler_create(e5rt_e5_compiler_t *compiler)
{
    return e5rt_e5_compiler_create_with_config(compiler, NULL);
}

int64_t e5rt_e5_compiler_create_with_config(e5rt_e5_compiler_t *compiler,
                                            e5rt_e5_compiler_config_options_t config)
{
    e5rt_e5_compiler_t made;
    int64_t status = e5_check_given(compiler, "the place for the compiler", __func__);

    if (status)
        return status;
    *compiler = NULL;
    status = e5_check_optional(config, E5_CONFIG, __func__);
    if (status)
        return status;
    made = e5_handle_make(E5_COMPILER, sizeof(*made), end_compiler);
    if (!made)
        return e5_fail_memory("a compiler");
    if (config && config->cache) {
        made->cache = base_strdup(config->cache);
        if (!made->cache) {
            e5_handle_drop(made);
            return e5_fail_memory("a path");
        }
    }
    *compiler = made;
    return E5RT_OK;
}

int64_t e5rt_e5_compiler_release(e5rt_e5_compiler_t *compiler)
{
    return e5_handle_release(compiler, E5_COMPILER, __func__);
}

/* Options. */

int64_t e5rt_e5_compiler_options_create(e5rt_e5_compiler_options_t *options)
{
    int64_t status = e5_check_given(options, "the place for the options", __func__);

    if (status)
        return status;
    *options = e5_handle_make(E5_OPTIONS, sizeof(**options), NULL);
    if (!*options)
        return e5_fail_memory("the compiler's options");
    (*options)->devices = E5RT_DEVICE_ANE;
    return E5RT_OK;
}

int64_t e5rt_e5_compiler_options_set_compute_device_types_mask(e5rt_e5_compiler_options_t options,
                                                               uint64_t mask)
{
    int64_t status = e5_check(options, E5_OPTIONS, __func__);

    if (status)
        return status;
    if (mask & ~(uint64_t)E5RT_DEVICE_ALL)
        return e5_fail(E5RT_INVALID_ARGUMENT,
                       "Device mask 0x%" PRIx64 " names unknown devices; 1 CPU, 2 GPU and 4 ANE exist.",
                       mask);
    if (!(mask & E5RT_DEVICE_ANE))
        return e5_fail(E5RT_INVALID_ARGUMENT,
                       "Device mask 0x%" PRIx64 " leaves out the neural engine (4), the only device here.",
                       mask);
    options->devices = mask;
    return E5RT_OK;
}

int64_t e5rt_e5_compiler_options_set_force_recompilation(e5rt_e5_compiler_options_t options, int force)
{
    int64_t status = e5_check(options, E5_OPTIONS, __func__);

    if (!status)
        options->force = force != 0;
    return status;
}

int64_t e5rt_e5_compiler_options_set_segmenter(e5rt_e5_compiler_options_t options, const char *segmenter)
{
    int64_t status = e5_check(options, E5_OPTIONS, __func__);

    if (!status)
        status = e5_check_given(segmenter, "the segmenter", __func__);
    if (!status && strcmp(segmenter, "graph") != 0)
        status =
            e5_fail(E5RT_INVALID_ARGUMENT, "Segmenter %.64s is unknown; the only one is graph.", segmenter);
    return status;
}

int64_t e5rt_e5_compiler_options_release(e5rt_e5_compiler_options_t *options)
{
    return e5_handle_release(options, E5_OPTIONS, __func__);
}

/* Compiling. */

static int64_t check_model(e5rt_e5_compiler_t compiler, const char *model, e5rt_e5_compiler_options_t options,
                           const char *call)
{
    int64_t status = e5_check(compiler, E5_COMPILER, call);

    if (!status)
        status = e5_check_optional(options, E5_OPTIONS, call);
    if (!status && (!model || !model[0]))
        status = e5_fail(E5RT_INVALID_ARGUMENT, "Invalid E5 path specified. @ GetE5PathFromCompositeBundle");
    return status;
}

/* The broker keeps compiled models in the cache of the user, so a folder of the caller's is not used. */
static int64_t compile_served(e5rt_e5_compiler_t compiler, const char *model,
                              e5rt_e5_compiler_options_t options, e5rt_program_library_t *library)
{
    int64_t status = e5_library_from_broker(model, options && options->force, library);
    char text[512];

    if (status || !compiler->cache || e5rt_get_last_warning_message()[0])
        return status;
    snprintf(text, sizeof(text),
             "The cache folder %.300s is not used: this process is served, and the broker keeps the models "
             "of each user in a cache of its own.",
             compiler->cache);
    e5_warn(text);
    return status;
}

int64_t e5rt_e5_compiler_compile(e5rt_e5_compiler_t compiler, const char *model_path,
                                 e5rt_e5_compiler_options_t options, e5rt_program_library_t *library)
{
    struct cc_options wanted = {0};
    struct cc_bundle bundle = {0};
    struct cc_report report = {0};
    struct base_error error = {{0}};
    bool served = false;
    int64_t status = e5_check_given(library, "the place for the library", __func__);

    if (status)
        return status;
    *library = NULL;
    e5_warn("");
    status = check_model(compiler, model_path, options, __func__);
    if (status)
        return status;
    if (e5_library_is_image(model_path))
        return e5_library_from_image(model_path, library);
    status = e5_brokered_decide(&served);
    if (status)
        return status;
    if (served)
        return compile_served(compiler, model_path, options, library);
    wanted.cache = compiler->cache;
    wanted.force = options && options->force;
    wanted.allow_fallback = options && options->devices & E5RT_DEVICE_CPU;
    status = e5_fail_errno(cc_compile(model_path, &wanted, &bundle, &report, &error), &error);
    if (status)
        return status;
    e5_warn(report.trouble.text);
    return e5_library_from_bundle(model_path, &bundle, library);
}

static int64_t find(e5rt_e5_compiler_t compiler, const char *model, bool host, int *found)
{
    const struct cc_options wanted = {.cache = compiler->cache, .allow_fallback = host};
    struct base_error error = {{0}};
    bool served = false;
    int64_t status = e5_brokered_decide(&served);

    if (status)
        return status;
    if (served)
        return e5_brokered_find(model, found);
    *found = cc_compile_find(model, &wanted, &error);
    return *found < 0 ? e5_fail_errno(*found, &error) : E5RT_OK;
}

int64_t e5rt_e5_compiler_is_new_compile_required(e5rt_e5_compiler_t compiler, const char *model_path,
                                                 e5rt_e5_compiler_options_t options, int *required)
{
    int64_t status = check_model(compiler, model_path, options, __func__);
    int found = 1;

    if (!status)
        status = e5_check_given(required, "the place for the answer", __func__);
    if (status)
        return status;
    /* A raw image is compiled already. */
    if (!e5_library_is_image(model_path))
        status = find(compiler, model_path, options && options->devices & E5RT_DEVICE_CPU, &found);
    if (status)
        return status;
    *required = !found || (options && options->force);
    return E5RT_OK;
}
