/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key-value cache that stays with the engine, by the driver's calls alone: a chain whose output is its own
 * next input. Each step sends one entry and a position, and triggers the chain; the cache of 64 slots is read
 * once, at the end.
 *
 *     anemone compile keyvalue.mil --output keyvalue.bundle
 *     cc keyvalue.c $(pkg-config --cflags --libs anemone) -o keyvalue
 *     ./keyvalue keyvalue.bundle
 *
 * prints "64 slots are right".
 */
#include <anemone/iokit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 6, SLOTS = 64, ROW = 2 * SLOTS, TOKEN_ROW = 64 /* rows begin at multiples of 64 bytes */ };

static void check(IOReturn result, const char *what)
{
    if (result == kIOReturnSuccess)
        return;
    fprintf(stderr, "keyvalue: %s: 0x%x: %s\n", what, (unsigned)result, ane_machine_error());
    exit(1);
}

static IOReturn call(io_connect_t connect, uint32_t selector, const void *in, size_t size, void *out,
                     size_t out_size)
{
    return IOConnectCallMethod(connect, selector, NULL, 0, in, size, NULL, NULL, out, out ? &out_size : NULL);
}

static io_connect_t open_client(uint32_t type)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD, .callback = ANE_DEVICE_INFO_BOARD};
    io_service_t service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    io_connect_t connect;

    check(IOServiceOpen(service, 0, type, &connect), "open");
    check(call(connect, ANE_CONTROL_DeviceOpen, &info, sizeof(info), &info, sizeof(info)), "device open");
    return connect;
}

static uint32_t make_surface(size_t bytes)
{
    uint32_t surface;

    if (ane_surface_create(0, bytes, &surface)) {
        fprintf(stderr, "keyvalue: %s\n", ane_machine_error());
        exit(1);
    }
    return surface;
}

/* A whole file behind what is in the buffer; a missing one is empty. */
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
static uint64_t load(io_connect_t control, const char *folder)
{
    enum { ROOM = 1 << 20 };
    const uint32_t surface = make_surface(ROOM);
    uint8_t *base = ane_surface_base(surface), *payload = base + ANE_PROGRAM_IMAGE;
    struct ane_program_args args = {.representation = ANE_PROGRAM_RT,
                                    .version = ANE_PROGRAM_ARGS_VERSION,
                                    .procedures = 1,
                                    .name = "keyvalue"};
    struct ane_program_create create = {.surface = surface};
    struct ane_program_prepare prepare = {.priority = ANE_REQUEST_PRIORITY};
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

/* Two sets that the firmware recycles by itself, and one link: output 0 is the next execution's input 2. */
static uint64_t make_chain(io_connect_t control, uint64_t token, uint32_t lists)
{
    const struct {
        struct ane_chaining_args args;
        struct ane_chaining_link link;
    } plan = {{.version = ANE_CHAINING_ARGS_VERSION,
               .sets = 2,
               .flags = ANE_CHAINING_AUTO_RECYCLE,
               .priority = ANE_REQUEST_PRIORITY,
               .links = 1},
              {.output = 0, .input = 2}};
    const struct ane_chaining_prepare prepare = {.token = token, .surface = lists};
    struct ane_chaining_reply reply;

    memcpy(ane_surface_base(lists), &plan, sizeof(plan));
    check(call(control, ANE_CONTROL_ProgramChainingPrepare, &prepare, sizeof(prepare), &reply, sizeof(reply)),
          "chaining prepare");
    return reply.handle;
}

static void post_set(io_connect_t direct, uint64_t handle, uint32_t set, uint32_t state, uint32_t lists)
{
    const struct ane_chained_buffer list = {.surface = state};
    const struct ane_output_set arguments = {.handle = handle, .set = set, .outputs = 1, .surface = lists};

    memcpy(ane_surface_base(lists), &list, sizeof(list));
    check(call(direct, ANE_DIRECT_ProgramOutputSetEnqueue, &arguments, sizeof(arguments), NULL, 0),
          "output set");
}

/* Whole numbers from 0 to 2047 as fp16. */
static uint16_t half(unsigned value)
{
    unsigned exponent = 0;

    while (value >> (exponent + 1))
        exponent++;
    return (uint16_t)(value ? (exponent + 15) << 10 | ((value << (10 - exponent)) & 0x3ff) : 0);
}

static unsigned entry(unsigned slot, unsigned channel)
{
    return 1 + slot * CHANNELS + channel;
}

int main(int argc, char **argv)
{
    const io_connect_t control = open_client(ANE_CLIENT_CONTROL),
                       direct = open_client(ANE_CLIENT_DIRECT_PATH);
    const uint64_t token = load(control, argc > 1 ? argv[1] : "keyvalue.bundle");
    const uint32_t lists = make_surface(4096), entries = make_surface(CHANNELS * TOKEN_ROW),
                   position = make_surface(ROW), zeros = make_surface(CHANNELS * ROW);
    const uint32_t state[2] = {make_surface(CHANNELS * ROW), make_surface(CHANNELS * ROW)};
    struct ane_inputs_ready ready = {
        .inputs = 3,
        .doorbell = ANE_REQUEST_DOORBELL,
        .input = {{.surface = entries}, {.surface = position}, {.surface = zeros}}};
    const uint16_t *cache = ane_surface_base(state[(SLOTS - 1) % 2]);
    uint16_t *at = ane_surface_base(entries), *mask = ane_surface_base(position);

    ready.handle = make_chain(control, token, lists);
    post_set(direct, ready.handle, 0, state[0], lists);
    post_set(direct, ready.handle, 1, state[1], lists);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        for (unsigned c = 0; c < CHANNELS; c++)
            at[c * TOKEN_ROW / 2] = half(entry(slot, c));
        for (unsigned i = 0; i < SLOTS; i++)
            mask[i] = half(i == slot);
        ready.timestamp = slot + 1;
        check(call(direct, ANE_DIRECT_ProgramInputsReady, &ready, sizeof(ready), NULL, 0), "trigger");
        ready.input[2].surface = 0; /* from now on the link brings it */
    }
    for (unsigned c = 0; c < CHANNELS; c++)
        for (unsigned slot = 0; slot < SLOTS; slot++)
            if (cache[c * ROW / 2 + slot] != half(entry(slot, c))) {
                printf("slot %u of channel %u is wrong\n", slot, c);
                return 1;
            }
    printf("%d slots are right\n", SLOTS);
    IOServiceClose(direct);
    IOServiceClose(control);
    return 0;
}
