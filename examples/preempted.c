/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain that realtime requests interrupt, as a trace to look at. One client has a chain of low priority
 * whose output is its own next input, and triggers it four times. Another client sends two requests of
 * priority 1 meanwhile. The engine takes them at the next boundary of descriptors, and then goes on with the
 * execution that it has left. All of it is in virtual time, with the delays of an M1, so every run writes the
 * same bytes.
 *
 *     anemone compile preempted.mil --output preempted.bundle
 *     cc preempted.c $(pkg-config --cflags --libs anemone) -o preempted
 *     ./preempted preempted.bundle preempted.bin
 *     anemone trace preempted.bin --viewer >preempted.json
 *
 * prints "4 executions and 2 requests are right". docs/trace.md shows preempted.json in a viewer.
 */
#include <anemone/iokit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 32 * 32 * 64, BYTES = 2 * ELEMENTS, EXECUTIONS = 4, REQUESTS = 2 };
enum { BACKGROUND = 6, REALTIME = 1 };                /* priorities */
enum { TRACE_ENABLE = 0x22, SIGNPOSTS = 4 };          /* the command, and its bit: docs/protocol.md */
static const uint64_t URGENT_NS[] = {120000, 400000}; /* when the requests come, after the triggers */

static void check(IOReturn result, const char *what)
{
    if (result == kIOReturnSuccess)
        return;
    fprintf(stderr, "preempted: %s: 0x%x: %s\n", what, (unsigned)result, ane_machine_error());
    exit(1);
}

static IOReturn call(io_connect_t connect, uint32_t selector, const void *in, size_t size, void *out,
                     size_t out_size)
{
    return IOConnectCallMethod(connect, selector, NULL, 0, in, size, NULL, NULL, out, out ? &out_size : NULL);
}

static void write_trace(void *file, const void *bytes, size_t length)
{
    fwrite(bytes, 1, length, file);
}

static struct ane_machine *make_machine(FILE *file)
{
    const struct ane_machine_config config = {.size = sizeof(config),
                                              .firmware = 1,
                                              .clock = ANE_CLOCK_CLOSED,
                                              .timing = ANE_TIMING_M1,
                                              .trace = 1,
                                              .trace_record_fn = write_trace,
                                              .trace_context = file};
    struct ane_machine *machine;

    check(ane_machine_create(&config, &machine), "machine");
    return machine;
}

static io_connect_t open_client(struct ane_machine *machine, uint32_t type)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD, .callback = ANE_DEVICE_INFO_BOARD};
    io_connect_t connect;

    check(IOServiceOpen(ane_machine_service(machine), 0, type, &connect), "open");
    check(call(connect, ANE_CONTROL_DeviceOpen, &info, sizeof(info), &info, sizeof(info)), "device open");
    return connect;
}

/* Every element of it the same. */
static uint32_t make_surface(size_t bytes, uint16_t value)
{
    uint32_t surface;
    uint16_t *halfs;

    check(ane_surface_create(0, bytes, &surface), "surface");
    halfs = ane_surface_base(surface);
    for (size_t i = 0; i < bytes / sizeof(*halfs); i++)
        halfs[i] = value;
    return surface;
}

/* A whole file; a missing one is empty. */
static size_t read_file(const char *folder, const char *name, uint8_t *to, size_t room)
{
    char path[512];
    size_t size;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "rb");
    size = file ? fread(to, 1, room, file) : 0;
    if (file)
        fclose(file);
    return size;
}

/* The bundle as selector 3 takes it: arguments, struct ane_program_bundle, main.e5, weights.bin. */
static uint64_t load(io_connect_t control, const char *folder, uint32_t priority)
{
    enum { ROOM = 1 << 20 };
    const uint32_t surface = make_surface(ROOM, 0);
    uint8_t *base = ane_surface_base(surface), *payload = base + ANE_PROGRAM_IMAGE;
    struct ane_program_args args = {.representation = ANE_PROGRAM_RT,
                                    .version = ANE_PROGRAM_ARGS_VERSION,
                                    .procedures = 1,
                                    .name = "preempted"};
    struct ane_program_create create = {.surface = surface};
    struct ane_program_prepare prepare = {.priority = priority};
    struct ane_program_bundle bundle = {0};
    size_t at;

    bundle.main_bytes = read_file(folder, "main.e5", payload + sizeof(bundle), ROOM / 2);
    at = (sizeof(bundle) + bundle.main_bytes + ANE_PROGRAM_BUNDLE_ALIGN - 1) / ANE_PROGRAM_BUNDLE_ALIGN *
         ANE_PROGRAM_BUNDLE_ALIGN;
    bundle.weights_bytes = read_file(folder, "weights.bin", payload + at, ROOM / 4);
    memcpy(payload, &bundle, sizeof(bundle));
    args.image_size = at + bundle.weights_bytes;
    memcpy(base, &args, sizeof(args));
    create.size = ANE_PROGRAM_IMAGE + args.image_size;
    check(call(control, ANE_CONTROL_ProgramCreate, &create, sizeof(create), NULL, 0), "program create");
    memcpy(&prepare.token, base, sizeof(prepare.token));
    check(call(control, ANE_CONTROL_ProgramPrepare, &prepare, sizeof(prepare), &prepare, sizeof(prepare)),
          "program prepare");
    ane_surface_release(surface);
    return prepare.token;
}

/* The client of the chain. */
static struct background {
    io_connect_t control, direct;
    uint32_t lists, x, zeros, state[2];
    struct ane_inputs_ready ready[EXECUTIONS];
} background;

/* Two sets that the firmware recycles by itself, and one link: output 0 is the next execution's input 1. */
static uint64_t make_chain(struct background *b, uint64_t token)
{
    const struct {
        struct ane_chaining_args args;
        struct ane_chaining_link link;
    } plan = {{.version = ANE_CHAINING_ARGS_VERSION,
               .sets = 2,
               .flags = ANE_CHAINING_AUTO_RECYCLE,
               .priority = BACKGROUND,
               .links = 1},
              {.output = 0, .input = 1}};
    const struct ane_chaining_prepare prepare = {.token = token, .surface = b->lists};
    struct ane_chaining_reply reply;

    memcpy(ane_surface_base(b->lists), &plan, sizeof(plan));
    check(call(b->control, ANE_CONTROL_ProgramChainingPrepare, &prepare, sizeof(prepare), &reply,
               sizeof(reply)),
          "chaining prepare");
    return reply.handle;
}

static void post_set(struct background *b, uint64_t handle, uint32_t set)
{
    const struct ane_chained_buffer list = {.surface = b->state[set]};
    const struct ane_output_set arguments = {.handle = handle, .set = set, .outputs = 1, .surface = b->lists};

    memcpy(ane_surface_base(b->lists), &list, sizeof(list));
    check(call(b->direct, ANE_DIRECT_ProgramOutputSetEnqueue, &arguments, sizeof(arguments), NULL, 0),
          "output set");
}

static void make_background(struct background *b, struct ane_machine *machine, const char *folder)
{
    uint64_t handle;

    b->control = open_client(machine, ANE_CLIENT_CONTROL);
    b->direct = open_client(machine, ANE_CLIENT_DIRECT_PATH);
    b->lists = make_surface(4096, 0);
    b->x = make_surface(BYTES, 0x3c00); /* 1 */
    b->zeros = make_surface(BYTES, 0);
    b->state[0] = make_surface(BYTES, 0);
    b->state[1] = make_surface(BYTES, 0);
    handle = make_chain(b, load(b->control, folder, BACKGROUND));
    post_set(b, handle, 0);
    post_set(b, handle, 1);
    for (uint32_t i = 0; i < EXECUTIONS; i++)
        b->ready[i] = (struct ane_inputs_ready){
            .handle = handle,
            .timestamp = i + 1,
            .inputs = 2,
            .doorbell = ANE_REQUEST_DOORBELL,
            .input = {{.surface = b->x}, {.surface = i ? 0 : b->zeros}}}; /* then the link brings it */
}

static void trigger(void *context)
{
    check(call(background.direct, ANE_DIRECT_ProgramInputsReady, context, sizeof(struct ane_inputs_ready),
               NULL, 0),
          "trigger");
}

/* The client of the requests. */
static struct urgent {
    io_connect_t control;
    uint32_t result;
    struct ane_request request;
} urgent;

static void make_urgent(struct urgent *u, struct ane_machine *machine, const char *folder)
{
    u->control = open_client(machine, ANE_CLIENT_CONTROL);
    u->result = make_surface(BYTES, 0);
    u->request = (struct ane_request){
        .token = load(u->control, folder, REALTIME),
        .priority = REALTIME,
        .qos = ANE_REQUEST_QOS,
        .category = ANE_REQUEST_CATEGORY,
        .inputs = 2,
        .outputs = 1,
        .surface = {make_surface(BYTES, 0x3c00), make_surface(BYTES, 0x4000), u->result}}; /* 1 and 2 */
}

static void request(void *context)
{
    const struct urgent *u = context;
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    size_t size = sizeof(reply);

    check(IOConnectCallMethod(u->control, ANE_CONTROL_ProgramSendRequest, &doorbell, 1, &u->request,
                              sizeof(u->request), NULL, NULL, &reply, &size),
          "request");
}

/* The firmware says when a call is accepted, pushed, retired and reported. */
static void enable_signposts(io_connect_t direct)
{
    struct ane_command command = {.id = TRACE_ENABLE, .bytes = 4, .body = {SIGNPOSTS}};
    size_t size = sizeof(command);

    check(ane_catalogue_call(direct, ANE_CATALOGUE_SendCommand, NULL, 0, &command, sizeof(command), NULL,
                             NULL, &command, &size),
          "signposts");
}

static void expect(const char *what, uint32_t surface, uint16_t value)
{
    const uint16_t *halfs = ane_surface_base(surface);

    for (size_t i = 0; i < ELEMENTS; i++)
        if (halfs[i] != value) {
            printf("%s: element %zu is 0x%04x and not 0x%04x\n", what, i, halfs[i], value);
            exit(1);
        }
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "preempted.bundle";
    FILE *file = fopen(argc > 2 ? argv[2] : "preempted.bin", "wb");
    struct ane_machine *machine;
    uint64_t begin;

    if (!file) {
        perror("preempted: the trace cannot be written");
        return 1;
    }
    machine = make_machine(file);
    make_background(&background, machine, folder);
    make_urgent(&urgent, machine, folder);
    enable_signposts(background.direct);
    begin = ane_machine_now(machine) + 1000;
    for (unsigned i = 0; i < EXECUTIONS; i++)
        check(ane_machine_call_at(machine, begin + i, trigger, &background.ready[i]), "trigger");
    for (unsigned i = 0; i < REQUESTS; i++)
        check(ane_machine_call_at(machine, begin + URGENT_NS[i], request, &urgent), "request");
    check(ane_machine_run(machine, UINT64_MAX), "run");
    expect("the chain", background.state[(EXECUTIONS - 1) % 2], 0x4c00); /* 16 */
    expect("the requests", urgent.result, 0x4600);                       /* 6 */
    printf("%d executions and %d requests are right\n", EXECUTIONS, REQUESTS);
    IOServiceClose(urgent.control);
    IOServiceClose(background.direct);
    IOServiceClose(background.control);
    ane_machine_destroy(machine);
    return fclose(file) ? 1 : 0;
}
