/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victim FOLDER: a client of every kind of thing that the service has numbers for. It prints "holds" with
 * those, and looks after each line of standard input whether all of it is as it was.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <anemone/broker.h>

#include "served_attack.h"
#include "served_client.h"
#include "service/client.h"

#define PLACE       0x1000u
#define SECRET      0x5a
#define EVENT_VALUE 41u
#define INSTANCES   20u

struct victim {
    struct ane_broker *broker;
    struct ane_broker_instance instance;
    struct served_attack_numbers numbers;
    io_connect_t connect, control;
    uint32_t surface, event;
    uint8_t *base;
    uint64_t session, sequence, chain;
    struct served_operands operands;
};

static void load(struct victim *v, const char *folder)
{
    char path[512];
    const struct ane_broker_compile compile = {.size = sizeof(compile), .path = path};
    struct ane_broker_arguments arguments = {.size = sizeof(arguments)};
    struct ane_broker_model model = {.size = sizeof(model)};

    snprintf(path, sizeof(path), "%s/difference.mil", folder);
    v->instance.size = sizeof(v->instance);
    served_client_good(ane_broker_connect(&v->broker), "ane_broker_connect");
    served_client_good(ane_broker_compile(v->broker, &compile, &model), "ane_broker_compile");
    close(model.main);
    arguments.model = model.model;
    /* Instances are counted for each connection: the number that stays is none of the attacker's. */
    for (unsigned i = 0; i <= INSTANCES; i++) {
        if (i)
            served_client_good(ane_broker_release(v->broker, v->instance.instance), "ane_broker_release");
        served_client_good(ane_broker_load(v->broker, &arguments, &v->instance), "ane_broker_load");
    }
    snprintf(v->numbers.model, sizeof(v->numbers.model), "%s", model.model);
}

static uint64_t open_client(uint32_t type, io_connect_t *connect)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD};
    io_service_t service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    size_t size = sizeof(info);

    served_client_good(IOServiceOpen(service, 0, type, connect), "IOServiceOpen");
    served_client_good(IOConnectCallMethod(*connect, ANE_DIRECT_DeviceOpen, NULL, 0, &info, sizeof(info),
                                           NULL, NULL, &info, &size),
                       "selector 0");
    return info.token;
}

/* A chain of the program that the broker has loaded, from a control client of the process. */
static void make_chain(struct victim *v)
{
    struct ane_program_prepare prepare = {.token = v->instance.program, .priority = ANE_REQUEST_PRIORITY};
    struct ane_chaining_prepare chaining = {.token = v->instance.program};
    struct ane_chaining_reply reply;
    struct ane_chaining_args args = {
        .version = ANE_CHAINING_ARGS_VERSION, .sets = 1, .priority = ANE_REQUEST_PRIORITY};
    size_t size = sizeof(prepare);

    open_client(ANE_CLIENT_CONTROL, &v->control);
    served_client_good(IOConnectCallMethod(v->control, ANE_CONTROL_ProgramPrepare, NULL, 0, &prepare,
                                           sizeof(prepare), NULL, NULL, &prepare, &size),
                       "selector 4");
    if (ane_surface_create(0, sizeof(args), &chaining.surface))
        served_client_fail("ane_surface_create: %s", ane_machine_error());
    memcpy(ane_surface_base(chaining.surface), &args, sizeof(args));
    size = sizeof(reply);
    served_client_good(IOConnectCallMethod(v->control, ANE_CONTROL_ProgramChainingPrepare, NULL, 0, &chaining,
                                           sizeof(chaining), NULL, NULL, &reply, &size),
                       "selector 9");
    v->chain = reply.handle;
    ane_surface_release(chaining.surface);
}

static void open_device(struct victim *v)
{
    v->session = open_client(ANE_CLIENT_DIRECT_PATH, &v->connect);
    served_client_good(ane_event_create(v->connect, EVENT_VALUE, &v->event), "ane_event_create");
    if (ane_surface_create(0, 4 * PLACE, &v->surface))
        served_client_fail("ane_surface_create: %s", ane_machine_error());
    v->base = ane_surface_base(v->surface);
    memset(v->base, SECRET, 4 * PLACE);
}

/* One request, whose operands stay in the surface. */
static void request(struct victim *v)
{
    const struct ane_request request = {.token = v->instance.program,
                                        .sequence = ++v->sequence,
                                        .priority = v->instance.priority,
                                        .qos = v->instance.qos,
                                        .category = ANE_REQUEST_CATEGORY,
                                        .inputs = 2,
                                        .outputs = 1,
                                        .surface = {v->surface, v->surface, v->surface},
                                        .offset = {0, PLACE, 2 * PLACE}};
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    size_t size = sizeof(reply);

    memset(v->base + 2 * PLACE, 0xff, SERVED_BYTES);
    served_client_good(IOConnectCallMethod(v->connect, ANE_DIRECT_ProgramSendRequest, &doorbell, 1, &request,
                                           sizeof(request), NULL, NULL, &reply, &size),
                       "a request of the victim");
    if (served_model_check(&served_models[1], &v->operands, v->base + 2 * PLACE) < SERVED_VALUES)
        served_client_fail("A wrong result of the victim.");
    served_client_good(ane_broker_submit(v->broker, v->instance.instance, &request, &reply),
                       "ane_broker_submit of the victim");
}

static void check(struct victim *v)
{
    uint8_t operands[2][SERVED_BYTES];
    uint64_t value = 0;

    served_operands_put(&v->operands, operands[0], operands[1]);
    for (unsigned i = 0; i < 2; i++)
        if (memcmp(v->base + i * PLACE, operands[i], SERVED_BYTES) != 0)
            served_client_fail("An operand of the victim was changed.");
    for (unsigned i = 0; i < 4 * PLACE; i++)
        if (i % PLACE >= SERVED_BYTES && v->base[i] != SECRET)
            served_client_fail("Byte 0x%x of the victim's surface was changed to 0x%02x.", i, v->base[i]);
    if (served_model_check(&served_models[1], &v->operands, v->base + 2 * PLACE) < SERVED_VALUES)
        served_client_fail("The result in the victim's surface was changed.");
    served_client_good(ane_event_value(v->connect, v->event, &value), "ane_event_value");
    if (value != EVENT_VALUE)
        served_client_fail("The victim's event was changed from %u to %d.", EVENT_VALUE, (int)value);
    request(v);
}

int served_client_victim(int argc, char **argv)
{
    static struct victim v;
    struct pr_service_welcome welcome;
    uint64_t random = 3;
    char line[64];

    if (argc != 1)
        served_client_fail("victim FOLDER");
    load(&v, argv[0]);
    open_device(&v);
    make_chain(&v);
    served_operands_make(&v.operands, &random);
    served_operands_put(&v.operands, v.base, v.base + PLACE);
    if (!svc_client_welcome(&welcome))
        served_client_fail("The victim is not a client of the service.");
    request(&v);
    v.numbers.number[SERVED_SURFACE] = v.surface;
    v.numbers.number[SERVED_PROGRAM] = v.instance.program;
    v.numbers.number[SERVED_INTERMEDIATE] = v.instance.intermediate;
    v.numbers.number[SERVED_INSTANCE] = v.instance.instance;
    v.numbers.number[SERVED_EVENT] = v.event;
    v.numbers.number[SERVED_CONNECT] = v.connect;
    v.numbers.number[SERVED_SESSION] = v.session;
    v.numbers.number[SERVED_TASK] = welcome.task;
    v.numbers.number[SERVED_CHAIN] = v.chain;
    printf("holds %s", v.numbers.model);
    for (unsigned i = 0; i < SERVED_NUMBERS; i++)
        printf(" 0x%" PRIx64, v.numbers.number[i]);
    served_client_say("%s", "");
    while (fgets(line, sizeof(line), stdin)) {
        check(&v);
        served_client_say("unchanged");
    }
    return 0;
}
