/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a file to a bundle. The graph is read and checked before its key is made; only a checked graph has a
 * key. The cache is an optimisation: what fails there goes into report->trouble and never into the status. A
 * bundle is written to a folder beside its place and renamed, so a reader sees a whole bundle or none.
 */
#include "compiler/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "compiler/fallback.h"
#include "compiler/store/bundle.h"
#include "compiler/store/cache.h"
#include "compiler/store/files.h"
#include "compiler/graph/graph.h"
#include "compiler/onnx/onnx.h"
#include "compiler/pass/passes.h"
#include "compiler/report/placement.h"
#include "program/anec.h"

#define TEXT_BYTES_MAX (256u << 20) /* weights are files of their own */
#define ONNX_BYTES_MAX (2ull << 30) /* the limit of the format: more is in files of their own */

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* The folder that a model's weight files are relative to. */
static int folder_of(const char *model, char folder[CC_PATH_BYTES], struct base_error *error)
{
    const char *slash = strrchr(model, '/');
    size_t length = slash ? (size_t)(slash - model) : 1;

    if (length >= CC_PATH_BYTES)
        return base_fail(error, ENAMETOOLONG, "%.200s: the path has more than %u bytes.", model,
                         CC_PATH_BYTES - 1);
    memcpy(folder, slash ? model : ".", length);
    if (slash == model)
        folder[length++] = '/';
    folder[length] = '\0';
    return 0;
}

/* Whether the file is a compiled program, by its first bytes. */
static bool is_program(int file)
{
    uint8_t head[PR_PROGRAM_HEAD_BYTES];
    ssize_t size = read(file, head, sizeof(head));

    return size > 0 && pr_program_format(head, (size_t)size) != PR_PROGRAM_UNKNOWN;
}

/* Why a file that is not called .mil or .onnx is not compiled. */
static int refuse_model(const char *model, struct base_error *error)
{
    struct stat info;
    bool program;
    int file;

    /* A pipe must not block the compiler, and to open a device may do something. */
    if (!stat(model, &info) && !S_ISREG(info.st_mode))
        return base_fail(error, EINVAL, "%s: not a file and not a folder.", model);
    file = open(model, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return base_fail(error, errno, "%s: cannot be opened: %s.", model, strerror(errno));
    program = is_program(file);
    close(file);
    if (program)
        return base_fail(error, EINVAL,
                         "%s: a compiled program is not compiled again; it can be run as it is.", model);
    return base_fail(
        error, EINVAL,
        "%s: a model is a .mil or .onnx file, the folder of a bundle or, to be run, a compiled program "
        "(.hwx, .anec).",
        model);
}

static int read_text(const char *model, const char *folder, struct cc_graph **graph, struct base_error *error)
{
    struct base_error inner;
    uint8_t *text;
    size_t size;
    int status = cc_file_read(model, TEXT_BYTES_MAX, &text, &size, error);

    if (status)
        return status;
    status = cc_mil_read((const char *)text, size, folder, graph, &inner);
    base_free(text);
    return status ? base_fail(error, -status, "%s: %s", model, inner.text) : 0;
}

static int read_onnx(const char *model, const char *folder, const struct cc_binding *bindings,
                     uint32_t binding_count, struct cc_graph **graph, struct base_error *error)
{
    struct cc_onnx_model *decoded = NULL;
    struct base_error inner;
    uint8_t *bytes;
    size_t size;
    int status = cc_file_read(model, ONNX_BYTES_MAX, &bytes, &size, error);

    if (status)
        return status;
    status = cc_onnx_open(bytes, size, &decoded, &inner);
    if (status) {
        base_free(bytes);
    } else {
        cc_onnx_give(decoded, bytes);
        status = cc_onnx_import(decoded, folder, bindings, binding_count, graph, &inner);
        cc_onnx_close(decoded);
    }
    return status ? base_fail(error, -status, "%s: %s", model, inner.text) : 0;
}

int cc_model_read(const char *model, const struct cc_binding *bindings, uint32_t binding_count,
                  struct cc_graph **graph, struct base_error *error)
{
    char folder[CC_PATH_BYTES];
    struct base_error inner;
    bool onnx = ends_with(model, ".onnx");
    int status;

    *graph = NULL;
    if (!onnx && !ends_with(model, ".mil"))
        return refuse_model(model, error);
    if (!onnx && binding_count)
        return base_fail(error, EINVAL, "%s: only inputs of an ONNX model are given a shape or a value.",
                         model);
    if ((status = folder_of(model, folder, error)))
        return status;
    status = onnx ? read_onnx(model, folder, bindings, binding_count, graph, error)
                  : read_text(model, folder, graph, error);
    if (status)
        return status;
    status = cc_graph_check(*graph, &inner);
    if (!status)
        return 0;
    cc_graph_destroy(*graph);
    *graph = NULL;
    return base_fail(error, -status, "%s: %s", model, inner.text);
}

/* Removes slashes at the end: the name of a folder may have them, rename() does not take them. */
static int output_path(const char *wanted, char to[CC_PATH_BYTES], struct base_error *error)
{
    size_t length = strlen(wanted);

    if (!length)
        return base_fail(error, EINVAL, "The path of the output is empty.");
    while (length > 1 && wanted[length - 1] == '/')
        length--;
    if (length >= CC_PATH_BYTES)
        return base_fail(error, ENAMETOOLONG, "%.200s: the path has more than %u bytes.", wanted,
                         CC_PATH_BYTES - 1);
    memcpy(to, wanted, length);
    to[length] = '\0';
    return 0;
}

static int check_replaceable(const char *to, struct base_error *error)
{
    struct base_error why = {{0}};

    if (!cc_bundle_check(to, &why))
        return 0;
    return base_fail(error, EEXIST,
                     "%s: it exists and is not a whole bundle, so it is not replaced; "
                     "remove it or choose another path. %s",
                     to, why.text);
}

/* Renames `building` to `to`. What is there is moved aside first, and back if the rename fails. */
static int replace(const char *building, const char *to, struct base_error *error)
{
    char old[CC_PATH_BYTES];
    int status = cc_folder_make_beside(to, old, error);

    if (status)
        return status;
    if (rename(to, old)) {
        status = base_fail(error, errno, "%s: cannot be replaced: %s.", to, strerror(errno));
        rmdir(old);
        return status;
    }
    if (rename(building, to)) {
        status = base_fail(error, errno, "%s: cannot be replaced: %s.", to, strerror(errno));
        rename(old, to);
        return status;
    }
    cc_bundle_delete(old);
    return 0;
}

/* Writes the bundle to a path; a bundle that is there is replaced, anything else is not. */
static int write_out(const struct cc_bundle *bundle, const char *wanted, struct base_error *error)
{
    char to[CC_PATH_BYTES], building[CC_PATH_BYTES];
    struct stat info;
    bool there;
    int status = output_path(wanted, to, error);

    if (status)
        return status;
    there = !lstat(to, &info);
    if (there)
        status = check_replaceable(to, error);
    if (!status)
        status = cc_folder_make_beside(to, building, error);
    if (status)
        return status;
    /* The message names the path that was given, not the one that is written first. */
    status = cc_bundle_save(building, bundle, NULL);
    if (status)
        base_fail(error, -status, "%s: cannot be written: %s.", to, strerror(-status));
    else if (there)
        status = replace(building, to, error);
    else if (rename(building, to))
        status = base_fail(error, errno, "%s: cannot be created: %s.", to, strerror(errno));
    if (status)
        cc_bundle_delete(building);
    return status;
}

/* Another form of weights is another program, also when the graph is the same. */
static void make_key(const struct cc_graph *graph, enum cc_weights weights, char key[CC_KEY_BYTES])
{
    cc_cache_key(graph, key);
    if (weights == CC_WEIGHTS_SPARSE)
        cc_cache_key_option(cc_weights_name(weights), key);
}

/* Replaces the graph by what the passes make of it. `placement` NULL: none is asked for. */
static int lower(struct cc_graph **graph, enum cc_weights weights, struct cc_placement **placement,
                 struct cc_program **program, struct base_error *error)
{
    struct base_error inner;
    int status = placement ? cc_placement_create(*graph, placement, &inner) : 0;

    if (!status)
        status = cc_passes(graph, &inner);
    if (!status)
        status = cc_lower(
            *graph, (placement ? CC_LOWER_REPORT : 0) | (weights == CC_WEIGHTS_SPARSE ? CC_LOWER_SPARSE : 0),
            program, &inner);
    if (!status && placement)
        status = cc_placement_add(*placement, *graph, *program, &inner);
    if (!status && placement)
        cc_placement_end(*placement);
    if (status)
        *error = inner;
    return status;
}

static uint32_t count_operations(const struct cc_graph *graph)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < graph->ops; i++)
        count += graph->op[i].kind != CC_OP_INPUT && graph->op[i].kind != CC_OP_CONST;
    return count;
}

static void note(struct cc_report *report, const char *what, const struct base_error *why)
{
    base_fail(&report->trouble, 0, "%s: %s", what, why->text);
}

/* A key that no other process has makes every entry of the cache a miss there. */
static void note_key(struct cc_report *report)
{
    struct base_error why = {{0}};
    uint8_t key[BASE_KEY_BYTES];

    if (base_signing_key(key, &why) && !report->trouble.text[0])
        report->trouble = why;
}

/* An entry that is larger than the cache may be is removed at once: the bundle is in memory alone then. */
static void trim(const char *cache, struct cc_bundle *bundle, struct cc_report *report)
{
    struct base_error why = {{0}};
    uint64_t limit = cc_cache_limit(&report->trouble);

    if (cc_cache_trim(cache, limit, &why)) {
        note(report, "The cache was not trimmed", &why);
    } else if (access(bundle->path, F_OK)) {
        base_fail(&report->trouble, 0,
                  "The bundle is larger than the cache may be (%" PRIu64 " bytes, " CC_CACHE_BYTES_VARIABLE
                  "), so it is not kept.",
                  limit);
        base_free(bundle->path);
        bundle->path = NULL;
    }
}

/* Makes the bundle an entry of the cache. False, and why, when that is not possible. */
static bool keep(const char *cache, const struct cc_options *options, struct cc_bundle *bundle,
                 struct cc_report *report, struct base_error *why)
{
    char path[CC_PATH_BYTES];

    if (cc_path_join(path, cache, report->key, why))
        return false;
    /* An entry that cannot be removed stays, and is the same program. */
    if (options->force)
        cc_cache_remove(cache, report->key, NULL);
    if (cc_cache_add(cache, report->key, bundle, why))
        return false;
    base_free(bundle->path);
    bundle->path = base_strdup(path);
    if (!bundle->path) {
        base_fail(why, ENOMEM, "There is no memory for a path.");
        return false;
    }
    trim(cache, bundle, report);
    return true;
}

/* As one program of the engine or, if that is refused and the caller allows it, with host segments. */
static int make(struct cc_graph **graph, const char *model, const struct cc_options *options,
                struct cc_bundle *bundle, struct cc_report *report, struct base_error *error)
{
    struct cc_placement **placement = options->report ? &report->placement : NULL;
    const char *stated = options->leave_unsigned ? NULL : model;
    struct cc_program *program = NULL;
    struct cc_graph *whole = NULL;
    struct base_error inner = {{0}}, refusal;
    int status = options->allow_fallback ? cc_graph_copy(*graph, &whole) : 0;

    if (status)
        return base_fail(error, ENOMEM, "%s: there is no memory for a second graph.", model);
    status = lower(graph, options->weights, placement, &program, &inner);
    report->refused = status && status != -ENOMEM;
    if (!status) {
        base_progress_phase("store");
        program->model = stated;
        status = cc_bundle_of(program, report->key, !options->leave_unsigned, bundle, &inner);
    } else if (report->refused && whole) {
        refusal = inner;
        cc_placement_destroy(report->placement);
        report->placement = NULL;
        cc_cache_key_fallback(report->key);
        status = cc_fallback(whole, report->key, stated, !options->leave_unsigned, &refusal, bundle,
                             placement, &inner);
    }
    cc_graph_destroy(whole);
    cc_program_destroy(program);
    return status ? base_fail(error, -status, "%s: %s", model, inner.text) : 0;
}

/* The whole on the engine is preferred to a composite. */
static int find(const char *cache, const struct cc_options *options, struct cc_bundle *bundle,
                struct cc_report *report, struct base_error *why)
{
    char key[CC_KEY_BYTES];
    int found = cc_cache_find(cache, report->key, !options->leave_unsigned, bundle, why);

    if (found || !options->allow_fallback)
        return found;
    memcpy(key, report->key, sizeof(key));
    cc_cache_key_fallback(key);
    found = cc_cache_find(cache, key, !options->leave_unsigned, bundle, why);
    if (found == 1)
        memcpy(report->key, key, sizeof(key));
    return found;
}

/* A hit has no report: it is made once more for it. */
static int make_report(struct cc_graph **graph, const char *model, const struct cc_options *options,
                       struct cc_report *report, struct base_error *error)
{
    struct cc_bundle unwanted = {0};
    struct cc_report again = {0};
    int status;

    memcpy(again.key, report->key, sizeof(again.key));
    status = make(graph, model, options, &unwanted, &again, error);
    report->placement = again.placement;
    cc_bundle_release(&unwanted);
    return status;
}

/* From the cache, or compiled and put there. */
static int build(struct cc_graph **graph, const char *model, const struct cc_options *options,
                 struct cc_bundle *bundle, struct cc_report *report, struct base_error *error)
{
    char cache[CC_PATH_BYTES];
    struct base_error why = {{0}};
    bool usable = !cc_cache_folder(options->cache, cache, sizeof(cache), &why);
    int status = 0, found = 0;

    if (usable && !options->force) {
        found = find(cache, options, bundle, report, &why);
        usable = found >= 0;
    }
    report->hit = found == 1;
    if (!report->hit && options->look)
        return base_fail(error, ENODATA, "%s: the cache does not have it.", model);
    if (!report->hit) {
        status = make(graph, model, options, bundle, report, error);
        if (!status && usable)
            usable = keep(cache, options, bundle, report, &why);
    } else if (options->report) {
        status = make_report(graph, model, options, report, error);
    }
    if (status && report->hit)
        cc_bundle_release(bundle);
    if (!usable)
        note(report, "The cache cannot be used, so the program was compiled in memory and is not kept", &why);
    if (!options->leave_unsigned)
        note_key(report);
    return status;
}

static int compile_model(const char *model, const struct cc_options *options, struct cc_bundle *bundle,
                         struct cc_report *report, struct base_error *error)
{
    struct cc_graph *graph = NULL;
    int status;

    base_progress_phase("read");
    status = cc_model_read(model, options->bindings, options->binding_count, &graph, error);
    if (status || !graph)
        return status;
    report->operations = count_operations(graph);
    status = cc_weights_apply(graph, options->weights, &report->weights, error);
    if (!status) {
        make_key(graph, options->weights, report->key);
        status = build(&graph, model, options, bundle, report, error);
    }
    cc_graph_destroy(graph);
    return status;
}

static bool is_folder(const char *path)
{
    struct stat info;

    return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* A folder that is not a bundle may be another form of a model. */
static int open_folder(const char *model, struct cc_bundle *bundle, char key[CC_KEY_BYTES],
                       struct base_error *error)
{
    char manifest[CC_PATH_BYTES], text[CC_PATH_BYTES];
    int status = cc_path_join(manifest, model, "manifest.json", error);

    if (!status)
        status = cc_path_join(text, model, "model.mil", error);
    if (status)
        return status;
    if (access(manifest, F_OK) && errno == ENOENT)
        return base_fail(error, ENOENT, "%s: the folder has no manifest.json, so it is not a bundle%s.",
                         model, access(text, F_OK) ? "" : "; it has a model.mil, which can be compiled");
    return cc_bundle_open(model, bundle, key, error);
}

/* A bundle that the cache does not have is where the output is. */
static int write_output(struct cc_bundle *bundle, const char *output, struct base_error *error)
{
    int status = write_out(bundle, output, error);

    if (status || bundle->path)
        return status;
    bundle->path = base_strdup(output);
    return bundle->path ? 0 : base_fail(error, ENOMEM, "There is no memory for a path.");
}

/* A bundle that is given; as an entry of the cache, if that is one of bundles that are not signed. */
static int take_bundle(const char *model, const struct cc_options *options, struct cc_bundle *bundle,
                       struct cc_report *report, struct base_error *error)
{
    char cache[CC_PATH_BYTES];
    struct base_error why = {{0}};
    int status = open_folder(model, bundle, report->key, error);

    if (status || !options->leave_unsigned)
        return status;
    if (bundle->parts)
        return base_fail(error, EOPNOTSUPP,
                         "%s: the bundle has host segments, which a served process cannot run; "
                         "ANEMONE_SERVICE=none in the environment gives it a machine of its own.",
                         model);
    status = cc_bundle_rekey(bundle, report->key, error);
    if (status)
        return status;
    if (cc_cache_folder(options->cache, cache, sizeof(cache), &why) ||
        !keep(cache, options, bundle, report, &why))
        note(report, "The cache cannot be used, so the bundle is not kept", &why);
    return 0;
}

int cc_compile(const char *model, const struct cc_options *options, struct cc_bundle *bundle,
               struct cc_report *report, struct base_error *error)
{
    static const struct cc_options defaults;
    struct cc_report unwanted = {0};
    uint64_t start = now_ns();
    int status;

    options = options ? options : &defaults;
    report = report ? report : &unwanted;
    memset(report, 0, sizeof(*report));
    memset(bundle, 0, sizeof(*bundle));
    if (is_folder(model) && options->binding_count)
        status =
            base_fail(error, EINVAL, "%s: only inputs of an ONNX model are given a shape or a value.", model);
    else if (is_folder(model))
        status = take_bundle(model, options, bundle, report, error);
    else
        status = compile_model(model, options, bundle, report, error);
    if (!status)
        status = cc_bundle_measure(bundle, report, error);
    if (!status && options->output)
        status = write_output(bundle, options->output, error);
    report->compile_ns = now_ns() - start;
    if (status || report == &unwanted) {
        cc_placement_destroy(report->placement);
        cc_weights_report_destroy(report->weights);
        report->placement = NULL;
        report->weights = NULL;
    }
    if (status)
        cc_bundle_release(bundle);
    return status;
}

int cc_compile_find(const char *model, const struct cc_options *options, struct base_error *error)
{
    static const struct cc_options defaults;
    char cache[CC_PATH_BYTES], key[CC_KEY_BYTES];
    struct cc_weights_report *weights = NULL;
    struct cc_bundle bundle = {0};
    struct cc_graph *graph = NULL;
    int status;

    if (is_folder(model)) {
        status = open_folder(model, &bundle, key, error);
        cc_bundle_release(&bundle);
        return status ? status : 1;
    }
    options = options ? options : &defaults;
    status = cc_model_read(model, options->bindings, options->binding_count, &graph, error);
    if (!status && graph)
        status = cc_weights_apply(graph, options->weights, &weights, error);
    cc_weights_report_destroy(weights);
    if (!status && graph)
        make_key(graph, options->weights, key);
    cc_graph_destroy(graph);
    if (status || !graph)
        return status;
    if (cc_cache_folder(options->cache, cache, sizeof(cache), NULL))
        return 0;
    status = cc_cache_find(cache, key, true, &bundle, NULL);
    if (!status && options->allow_fallback) {
        cc_cache_key_fallback(key);
        status = cc_cache_find(cache, key, true, &bundle, NULL);
    }
    cc_bundle_release(&bundle);
    return status == 1;
}
