/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's calls in their order: create, prepare, request, unprepare, destroy. Ports that share a buffer
 * (program/e5.h) share a surface; a request has the surfaces of inputs, then of outputs.
 */
#include "tool/device.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/store/bundle.h"

enum {
    ELEMENT_BYTES = 2,
    TIMEOUT_MS = 3600 * 1000
}; /* the exact policy is slow: an hour, the most there is */

/* One program on the way through the driver. */
struct load {
    struct tool_device *device;
    struct pr_e5 *e5;
    uint8_t *main;
    size_t main_bytes;
    uint64_t token;
    bool created, prepared;
    uint32_t inputs, outputs;             /* buffers */
    uint32_t surface[PR_E5_PORT_BUFFERS]; /* by buffer: outputs first, as their registers are */
    struct base_error *error;
};

static bool fail(struct base_error *error, const char *what)
{
    base_fail(error, EIO, "%s: %s", what, ane_machine_error());
    return false;
}

bool tool_device_open(struct tool_device *device, enum ane_numerics numerics, uint32_t threads,
                      struct base_error *error)
{
    const struct ane_machine_config config = {
        .size = sizeof(config), .firmware = 1, .numerics = numerics, .threads = threads};
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD, .timeout = TIMEOUT_MS};
    size_t size = sizeof(info);

    *device = (struct tool_device){0};
    if (ane_machine_create(&config, &device->machine))
        return fail(error, "The machine cannot be made");
    if (IOServiceOpen(ane_machine_service(device->machine), 0, ANE_CLIENT_CONTROL, &device->connect) ||
        IOConnectCallMethod(device->connect, ANE_CONTROL_DeviceOpen, NULL, 0, &info, sizeof(info), NULL, NULL,
                            &info, &size))
        return fail(error, "The device cannot be opened");
    return true;
}

void tool_device_close(struct tool_device *device)
{
    if (device->connect)
        IOServiceClose(device->connect);
    ane_machine_destroy(device->machine);
    *device = (struct tool_device){0};
}

static bool call(struct load *l, uint32_t selector, void *argument, size_t bytes, bool answers)
{
    return !IOConnectCallMethod(l->device->connect, selector, NULL, 0, argument, bytes, NULL, NULL,
                                answers ? argument : NULL, answers ? &bytes : NULL);
}

/* The bundle's two parts as program create takes them: head, main.e5, zeros, constants. */
static bool create(struct load *l, const struct cc_program *program)
{
    struct ane_program_bundle head = {.main_bytes = l->main_bytes, .weights_bytes = program->constant_bytes};
    uint64_t weights = pr_round_up(sizeof(head) + l->main_bytes, ANE_PROGRAM_BUNDLE_ALIGN);
    struct ane_program_create create = {.size = ANE_PROGRAM_IMAGE + weights + program->constant_bytes};
    struct ane_program_args *args;
    uint8_t *image;

    if (ane_surface_create(0, create.size, &create.surface))
        return fail(l->error, "There is no surface for the program");
    args = ane_surface_base(create.surface);
    *args = (struct ane_program_args){.representation = ANE_PROGRAM_RT,
                                      .version = ANE_PROGRAM_ARGS_VERSION,
                                      .image_size = weights + program->constant_bytes,
                                      .procedures = 1,
                                      .qos = ANE_REQUEST_QOS,
                                      .flags = ANE_PROGRAM_ARGS_FLAGS,
                                      .name = "compare"};
    image = (uint8_t *)args + ANE_PROGRAM_IMAGE;
    memcpy(image, &head, sizeof(head));
    memcpy(image + sizeof(head), l->main, l->main_bytes);
    if (program->constant_bytes)
        memcpy(image + weights, program->constant, program->constant_bytes);
    l->created = call(l, ANE_CONTROL_ProgramCreate, &create, sizeof(create), false);
    l->token = args->token;
    if (!l->created)
        fail(l->error, "The program cannot be loaded");
    ane_surface_release(create.surface);
    return l->created;
}

static bool prepare(struct load *l)
{
    struct ane_program_prepare prepare = {
        .token = l->token, .qos = ANE_REQUEST_QOS, .priority = ANE_REQUEST_PRIORITY};

    l->prepared = call(l, ANE_CONTROL_ProgramPrepare, &prepare, sizeof(prepare), true);
    return l->prepared || fail(l->error, "The program cannot be prepared");
}

static uint32_t *surface_of(struct load *l, const struct pr_e5_port *port)
{
    return &l->surface[port->bar - PR_E5_PORT_BAR];
}

static bool make_surfaces(struct load *l)
{
    for (uint32_t b = 0; b < l->inputs + l->outputs; b++) {
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < l->e5->ports; i++) {
            const struct pr_e5_port *port = &l->e5->port[i];
            uint64_t end = (uint64_t)port->offset + port->bytes;

            if (port->bar == PR_E5_PORT_BAR + b)
                bytes = end > bytes ? end : bytes;
        }
        if (ane_surface_create(0, bytes, &l->surface[b]))
            return fail(l->error, "There is no surface for a port");
    }
    return true;
}

/* Between packed rows and the engine's, whose rows begin on boundaries. */
static void move(struct load *l, const struct pr_e5_port *port, uint16_t *packed, bool to_engine)
{
    uint8_t *base = (uint8_t *)ane_surface_base(*surface_of(l, port)) + port->offset;
    uint64_t rows = (uint64_t)port->n * port->c * port->h;
    size_t bytes = (size_t)port->w * ELEMENT_BYTES;

    for (uint64_t r = 0; r < rows; r++) {
        uint8_t *at = base + r / port->h * port->plane + r % port->h * port->row;

        if (to_engine)
            memcpy(at, packed + r * port->w, bytes);
        else
            memcpy(packed + r * port->w, at, bytes);
    }
}

static void move_all(struct load *l, uint16_t *const *arrays, enum pr_hwx_direction direction)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < l->e5->ports; i++)
        if (l->e5->port[i].direction == direction)
            move(l, &l->e5->port[i], arrays[at++], direction == PR_HWX_INPUT);
}

static bool request(struct load *l)
{
    struct ane_request request = {.token = l->token,
                                  .sequence = ++l->device->sequence,
                                  .priority = ANE_REQUEST_PRIORITY,
                                  .qos = ANE_REQUEST_QOS,
                                  .category = ANE_REQUEST_CATEGORY,
                                  .inputs = l->inputs,
                                  .outputs = l->outputs};
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply = {0};
    size_t size = sizeof(reply);

    memcpy(request.surface, l->surface + l->outputs, l->inputs * sizeof(l->surface[0]));
    memcpy(request.surface + l->inputs, l->surface, l->outputs * sizeof(l->surface[0]));
    return !IOConnectCallMethod(l->device->connect, ANE_CONTROL_ProgramSendRequest, &doorbell, 1, &request,
                                sizeof(request), NULL, NULL, &reply, &size) ||
           fail(l->error, "The program does not run");
}

static void unload(struct load *l)
{
    struct ane_program_prepare prepare = {.token = l->token};
    struct ane_program_destroy destroy = {.token = l->token};

    if (l->prepared)
        call(l, ANE_CONTROL_ProgramUnprepare, &prepare, sizeof(prepare), false);
    if (l->created)
        call(l, ANE_CONTROL_ProgramDestroy, &destroy, sizeof(destroy), false);
    for (uint32_t b = 0; b < PR_E5_PORT_BUFFERS; b++)
        if (l->surface[b])
            ane_surface_release(l->surface[b]);
    base_free(l->main);
    base_free(l->e5);
}

static bool read_ports(struct load *l, const struct cc_program *program)
{
    struct pr_problem problem = {0};

    l->e5 = base_alloc(sizeof(*l->e5));
    if (!l->e5) {
        base_fail(l->error, ENOMEM, "There is no memory to read main.e5.");
        return false;
    }
    if (cc_bundle_main(program, &l->main, &l->main_bytes, l->error))
        return false;
    if (!pr_e5_read(l->main, l->main_bytes, l->e5, &problem)) {
        base_fail(l->error, EBADMSG, "main.e5: %s", problem.text);
        return false;
    }
    l->inputs = pr_e5_buffers(l->e5, PR_HWX_INPUT);
    l->outputs = pr_e5_buffers(l->e5, PR_HWX_OUTPUT);
    return true;
}

bool tool_device_run(struct tool_device *device, const struct cc_program *program, uint16_t *const *in,
                     uint16_t *const *out, struct base_error *error)
{
    struct load l = {.device = device, .error = error};
    bool good = read_ports(&l, program) && create(&l, program) && prepare(&l) && make_surfaces(&l);

    if (good)
        move_all(&l, in, PR_HWX_INPUT);
    good = good && request(&l);
    if (good)
        move_all(&l, out, PR_HWX_OUTPUT);
    unload(&l);
    return good;
}
