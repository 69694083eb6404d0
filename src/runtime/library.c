/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has been read. It is loaded once; its bytes are released when the device has a copy. */
#include "runtime/library.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "program/anec.h"
#include "runtime/composite.h"
#include "runtime/function.h"

#define IMAGE_LIMIT (1ull << 31)

static void end(void *handle)
{
    e5rt_program_library_t library = handle;

    if (library->loaded && !library->composite)
        e5_device_unload(&library->program);
    e5_composite_end(library->composite);
    cc_bundle_release(&library->bundle);
    base_free(library->port);
    pthread_mutex_destroy(&library->lock);
}

e5rt_program_library_t e5_library_make(const char *path, uint32_t ports)
{
    e5rt_program_library_t library = e5_handle_make(E5_LIBRARY, sizeof(*library), end);
    const char *slash = strrchr(path, '/');

    if (!library)
        return NULL;
    pthread_mutex_init(&library->lock, NULL);
    snprintf(library->name, sizeof(library->name), "%s", slash && slash[1] ? slash + 1 : path);
    library->port = base_alloc_array(ports, sizeof(*library->port));
    if (library->port)
        return library;
    e5_handle_drop(library);
    return NULL;
}

static int64_t read_file(const char *path, uint8_t **bytes, size_t *size)
{
    struct base_error error;
    int status = base_file_read(path, IMAGE_LIMIT, bytes, size, &error);

    if (status == -ENOMEM)
        return e5_fail_memory("the program image");
    return status ? e5_fail(E5RT_INVALID_ARGUMENT, "%s", error.text) : E5RT_OK;
}

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), wanted = strlen(end);

    return length > wanted && !strcmp(path + length - wanted, end);
}

/*
 * The name only decides who reports the error: a file with such a name that is not a program is refused as a
 * program, and not read as the text of a model.
 */
bool e5_library_is_image(const char *path)
{
    uint8_t head[PR_PROGRAM_HEAD_BYTES];
    struct stat about;
    size_t size;
    bool found;
    int file;

    if (ends_with(path, ".hwx") || ends_with(path, ".anec"))
        return true;
    if (stat(path, &about) || !S_ISREG(about.st_mode))
        return false;
    size = (uint64_t)about.st_size < sizeof(head) ? (size_t)about.st_size : sizeof(head);
    file = open(path, O_RDONLY | O_CLOEXEC);
    found =
        file >= 0 && !base_file_fill(file, head, size) && pr_program_format(head, size) != PR_PROGRAM_UNKNOWN;
    if (file >= 0)
        close(file);
    return found;
}

/* Ports. */

static struct e5_layout *next_port(e5rt_program_library_t library)
{
    return &library->port[library->inputs + library->outputs];
}

/*
 * The order of reads in a raw image of several descriptors is not known, so an output never shares an input's
 * memory there.
 */
static bool image_ports(e5rt_program_library_t library, const struct pr_hwx *hwx, struct pr_problem *problem)
{
    for (int outputs = 0; outputs < 2; outputs++)
        for (uint32_t i = 0; i < hwx->port_count; i++) {
            struct e5_layout *port = next_port(library);

            if ((hwx->port[i].direction == PR_HWX_OUTPUT) != outputs)
                continue;
            if (!e5_layout_from_hwx(port, &hwx->port[i], problem))
                return false;
            port->last_read = hwx->td_count - 1;
            port->buffer = library->inputs + library->outputs;
            *(outputs ? &library->outputs : &library->inputs) += 1;
        }
    library->buffers_in = library->inputs;
    library->buffers_out = library->outputs;
    return true;
}

/* The records are walked from the last, so the first read that is found is the last. */
static void note_read(struct e5_layout *const *port, const struct pr_e5 *e5, uint32_t place, uint32_t index,
                      uint32_t record)
{
    if (place == PR_E5_PORT && index < e5->ports && !port[index]->last_read)
        port[index]->last_read = record;
}

/* The first write and the last read of each port, from the records. `port` has the layouts by port number. */
static void trace_uses(struct e5_layout *const *port, const struct pr_e5 *e5)
{
    for (uint32_t i = e5->records; i-- > 0;) {
        struct pr_e5_record r;

        pr_e5_record(e5, i, &r);
        note_read(port, e5, r.src[0].place, r.src[0].index, i);
        note_read(port, e5, r.src[1].place, r.src[1].index, i);
        note_read(port, e5, r.kernel_place, r.kernel_index, i);
        if (r.dst.place == PR_E5_PORT && r.dst.index < e5->ports)
            port[r.dst.index]->first_write = i;
    }
}

static void place_port(struct e5_layout *port, const struct pr_e5_port *from, e5rt_program_library_t library)
{
    /* Outputs have the first buffers of a program, and inputs the first surfaces of a request. */
    uint32_t number = from->bar - PR_E5_PORT_BAR;

    port->buffer = port->input ? number - library->buffers_out : library->buffers_in + number;
    port->shared = from->packed;
    port->offset = from->offset;
}

static bool bundle_ports(e5rt_program_library_t library, const struct pr_e5 *e5, struct pr_problem *problem)
{
    struct e5_layout *by_number[PR_E5_PORTS_MAX] = {0};

    library->buffers_in = pr_e5_buffers(e5, PR_HWX_INPUT);
    library->buffers_out = pr_e5_buffers(e5, PR_HWX_OUTPUT);
    for (int outputs = 0; outputs < 2; outputs++)
        for (uint32_t i = 0; i < e5->ports; i++) {
            struct e5_layout *port = next_port(library);

            if ((e5->port[i].direction == PR_HWX_OUTPUT) != outputs)
                continue;
            if (!e5_layout_from_e5(port, &e5->port[i], problem))
                return false;
            place_port(port, &e5->port[i], library);
            port->first_write = e5->records;
            by_number[i] = port;
            *(outputs ? &library->outputs : &library->inputs) += 1;
        }
    trace_uses(by_number, e5);
    return true;
}

/* Two ports that share a short name are distinguished by their symbols. */
static void tell_apart(e5rt_program_library_t library)
{
    uint32_t count = library->inputs + library->outputs;

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++)
            if (i != j && library->port[i].input == library->port[j].input &&
                !strcmp(library->port[i].name, library->port[j].name)) {
                snprintf(library->port[i].name, sizeof(library->port[i].name), "%s", library->port[i].symbol);
                snprintf(library->port[j].name, sizeof(library->port[j].name), "%s", library->port[j].symbol);
            }
}

int e5_library_find(e5rt_program_library_t library, bool input, const char *name)
{
    uint32_t from = input ? 0 : library->inputs, to = from + (input ? library->inputs : library->outputs);

    for (uint32_t i = from; i < to; i++)
        if (!strcmp(library->port[i].name, name))
            return (int)i;
    for (uint32_t i = from; i < to; i++)
        if (!strcmp(library->port[i].symbol, name))
            return (int)i;
    return -1;
}

/* Making. */

/* The driver takes images: an .anec becomes one. */
static int64_t convert(struct cc_bundle *bundle, const struct pr_hwx *hwx)
{
    size_t size = pr_anec_write_image(bundle->main, hwx, NULL, 0);
    uint8_t *image = size ? base_alloc(size) : NULL;

    if (!image)
        return e5_fail_memory("the program image");
    pr_anec_write_image(bundle->main, hwx, image, size);
    base_free(bundle->main);
    bundle->main = image;
    bundle->main_bytes = size;
    return E5RT_OK;
}

static int64_t describe_image(const char *path, struct cc_bundle *bundle, struct pr_hwx *hwx,
                              e5rt_program_library_t *made)
{
    struct pr_problem problem = {0};
    bool is_anec = pr_program_format(bundle->main, bundle->main_bytes) == PR_PROGRAM_ANEC;

    if (!pr_program_read(bundle->main, bundle->main_bytes, hwx, &problem))
        return e5_fail(E5RT_INVALID_ARGUMENT, "%s: %s", path, problem.text);
    *made = e5_library_make(path, hwx->port_count);
    if (!*made)
        return e5_fail_memory("the program library");
    if (!image_ports(*made, hwx, &problem))
        return e5_fail(E5RT_INVALID_DATA_TYPE, "%s: %s", path, problem.text);
    tell_apart(*made);
    snprintf((*made)->function, sizeof((*made)->function), "main");
    (*made)->representation = ANE_PROGRAM_LEGACY;
    return is_anec ? convert(bundle, hwx) : E5RT_OK;
}

static int64_t describe_bundle(const char *path, struct cc_bundle *bundle, struct pr_e5 *e5,
                               e5rt_program_library_t *made)
{
    struct pr_problem problem = {0};

    if (!pr_e5_read(bundle->main, bundle->main_bytes, e5, &problem))
        return e5_fail(E5RT_INVALID_ARGUMENT, "%s: %s", path, problem.text);
    *made = e5_library_make(path, e5->ports);
    if (!*made)
        return e5_fail_memory("the program library");
    if (!bundle_ports(*made, e5, &problem))
        return e5_fail(E5RT_INVALID_DATA_TYPE, "%s: %s", path, problem.text);
    snprintf((*made)->function, sizeof((*made)->function), "%s", e5->function);
    (*made)->representation = ANE_PROGRAM_RT;
    return E5RT_OK;
}

/* Success: the library owns the bundle. Failure: the bundle is released. */
static int64_t finish(int64_t status, struct cc_bundle *bundle, e5rt_program_library_t made,
                      e5rt_program_library_t *library)
{
    if (status || !made) {
        cc_bundle_release(bundle);
        e5_handle_drop(made);
        return status;
    }
    made->bundle = *bundle;
    *library = made;
    return E5RT_OK;
}

int64_t e5_library_from_image(const char *path, e5rt_program_library_t *library)
{
    struct cc_bundle bundle = {0};
    e5rt_program_library_t made = NULL;
    struct pr_hwx *hwx;
    int64_t status = read_file(path, &bundle.main, &bundle.main_bytes);

    if (status)
        return status;
    hwx = base_alloc(sizeof(*hwx));
    status = hwx ? describe_image(path, &bundle, hwx, &made) : e5_fail_memory("the program image");
    base_free(hwx);
    return finish(status, &bundle, made, library);
}

int64_t e5_library_from_bundle(const char *path, struct cc_bundle *bundle, e5rt_program_library_t *library)
{
    e5rt_program_library_t made = NULL;
    struct pr_e5 *e5;
    int64_t status;

    if (bundle->parts)
        return e5_composite_make(path, bundle, library);
    e5 = base_alloc(sizeof(*e5));
    status = e5 ? describe_bundle(path, bundle, e5, &made) : e5_fail_memory("the bundle");

    base_free(e5);
    return finish(status, bundle, made, library);
}

int64_t e5_library_from_broker(const char *path, bool force, e5rt_program_library_t *library)
{
    char model[ANE_BROKER_MODEL];
    struct cc_bundle bundle = {0};
    e5rt_program_library_t made = NULL;
    int64_t status = e5_brokered_compile(path, force, &bundle, model);

    if (!status)
        status = e5_library_from_bundle(path, &bundle, &made);
    if (!made)
        return status;
    memcpy(made->model, model, sizeof(model));
    *library = made;
    return E5RT_OK;
}

/* A load failed, and there was no memory to keep them. */
static bool lost_weights(const struct cc_bundle *bundle)
{
    return bundle->weights_bytes && !bundle->weights && !bundle->weights_file;
}

static int64_t load(e5rt_program_library_t library)
{
    const struct e5_image image = {.model = library->model[0] ? library->model : NULL,
                                   .representation = library->representation,
                                   .bytes = library->bundle.main,
                                   .size = library->bundle.main_bytes,
                                   .bundle = &library->bundle};
    struct e5_loaded loaded;
    int64_t status;

    if (lost_weights(&library->bundle) && !image.model)
        return e5_fail_memory("the weights of the program, which failed to load before");
    status = e5_device_load(&image, library->name, &loaded);
    if (status)
        return status;
    if (loaded.inputs != library->buffers_in || loaded.outputs != library->buffers_out) {
        e5_device_unload(&loaded);
        return e5_fail(E5RT_INVALID_OPERATION,
                       "Program %s has %u buffers of inputs and %u of outputs; the driver wants %u and %u.",
                       library->name, library->buffers_in, library->buffers_out, loaded.inputs,
                       loaded.outputs);
    }
    library->program = loaded;
    library->loaded = true;
    cc_bundle_release(&library->bundle); /* the device has its own copy */
    memset(&library->bundle, 0, sizeof(library->bundle));
    return E5RT_OK;
}

static int64_t load_composite(e5rt_program_library_t library)
{
    int64_t status = e5_composite_load(library->composite);

    library->loaded = !status;
    return status;
}

int64_t e5_library_load(e5rt_program_library_t library)
{
    int64_t status;

    pthread_mutex_lock(&library->lock);
    status = library->loaded ? E5RT_OK : library->composite ? load_composite(library) : load(library);
    pthread_mutex_unlock(&library->lock);
    return status;
}

/* The calls. */

int64_t e5rt_program_library_create(e5rt_program_library_t *library, const char *bundle_path)
{
    struct cc_bundle bundle = {0};
    struct base_error error = {{0}};
    bool served = false;
    int64_t status = e5_check_given(library, "the place for the library", __func__);

    if (status)
        return status;
    *library = NULL;
    if (!bundle_path || !bundle_path[0])
        return e5_fail(E5RT_INVALID_ARGUMENT, "Invalid E5 path specified. @ GetE5PathFromCompositeBundle");
    if (e5_library_is_image(bundle_path))
        return e5_library_from_image(bundle_path, library);
    status = e5_brokered_decide(&served);
    if (status)
        return status;
    if (served)
        return e5_library_from_broker(bundle_path, false, library);
    status = e5_fail_errno(cc_bundle_read_signed(bundle_path, &bundle, &error), &error);
    return status ? status : e5_library_from_bundle(bundle_path, &bundle, library);
}

int64_t e5rt_program_library_get_num_functions(e5rt_program_library_t library, uint64_t *count)
{
    int64_t status = e5_check(library, E5_LIBRARY, __func__);

    if (!status)
        status = e5_check_given(count, "the place for the count", __func__);
    if (!status)
        *count = 1;
    return status;
}

int64_t e5rt_program_library_get_function_names(e5rt_program_library_t library, uint64_t count,
                                                const char **names)
{
    int64_t status = e5_check(library, E5_LIBRARY, __func__);

    if (!status && count)
        status = e5_check_given(names, "the place for the names", __func__);
    if (status)
        return status;
    if (count > 1)
        return e5_fail(E5RT_OUT_OF_BOUNDS,
                       "%s: %" PRIu64 " names were asked for; the library has 1 function.", __func__, count);
    if (count)
        names[0] = library->function;
    return E5RT_OK;
}

int64_t e5rt_program_library_retain_program_function(e5rt_program_library_t library, const char *name,
                                                     e5rt_program_function_t *function)
{
    int64_t status = e5_check_given(function, "the place for the function", __func__);

    if (status)
        return status;
    *function = NULL;
    status = e5_check(library, E5_LIBRARY, __func__);
    if (!status)
        status = e5_check_given(name, "the function's name", __func__);
    if (status)
        return status;
    if (strcmp(name, library->function) != 0)
        return e5_fail(E5RT_INVALID_ARGUMENT, "There is no function %.64s in %s; it has %s.", name,
                       library->name, library->function);
    *function = e5_function_make(library);
    return *function ? E5RT_OK : e5_fail_memory("the function");
}

int64_t e5rt_program_library_release(e5rt_program_library_t *library)
{
    return e5_handle_release(library, E5_LIBRARY, __func__);
}
