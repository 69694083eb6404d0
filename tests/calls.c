/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixed calls of selectors, valid and invalid, from eight threads on one machine:
 *
 *     calls COUNT [SEED]
 *
 * Each thread is a caller with a control, a direct-path and a hints client; two threads have one identity.
 * A valid call must succeed, and a request must give the right result; an invalid one must be refused with
 * the code that its kind of mistake has. At the end everything is given back. Prints TAP.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outrig.h"

#define THREADS      8u
#define DEFAULT_SEED 0x414e454d4f4e45u
#define BYTES_MAX    4096u /* more than the largest argument */

struct method {
    uint32_t type, selector;
    const char *name;
    uint32_t size[4]; /* scalars in, struct in, scalars out, struct out */
};
#define CONTROL(selector, name, a, b, c, d) {ANE_CLIENT_CONTROL, selector, #name, {a, b, c, d}},
#define DIRECT(selector, name, a, b, c, d)  {ANE_CLIENT_DIRECT_PATH, selector, #name, {a, b, c, d}},
static const struct method methods[] = {ANE_CONTROL_SELECTORS(CONTROL) ANE_DIRECT_SELECTORS(DIRECT)};
#define METHODS (sizeof(methods) / sizeof(methods[0]))

static const char *const keys[] = {
    "com.apple.ane.iokit-user-access",
    "com.apple.ane.allow-dataChaining-access",
    "com.apple.ane.realtime-priority-client",
    "com.apple.ane.allow-system-reserved-priorities",
    "com.apple.ane.memory",
    "com.apple.ane.allow-data",
    "com.apple.private.ane.allow-set-client-hints",
    "com.apple.private.ane.allow-share-coalition-hints",
};

struct caller {
    struct outrig_client client[4]; /* by type */
    struct outrig_data data;
    uint64_t token;
    _Atomic uint64_t known_token; /* for threads of other identities to try */
    _Atomic uint32_t known_surface;
};

static struct shared {
    io_service_t service;
    ane_task_t task[THREADS / 2];
    struct caller caller[THREADS];
    unsigned long calls; /* of each thread */
} shared;

/* The bytes of one call. */
struct arguments {
    uint64_t scalar[BYTES_MAX / 8], scalar_out[BYTES_MAX / 8];
    uint8_t bytes[BYTES_MAX], bytes_out[BYTES_MAX];
};

static void expect(IOReturn status, IOReturn wanted, const char *call)
{
    if (status != wanted)
        crew_fail("%s answered 0x%x where 0x%x was expected: %s", call, (unsigned)status, (unsigned)wanted,
                  ane_machine_error());
}

static IOReturn call_method(const struct caller *caller, const struct method *method, const uint32_t size[4],
                            struct arguments *arguments, unsigned missing)
{
    uint32_t scalars_out = size[2];
    size_t bytes_out = size[3];

    return IOConnectCallMethod(
        caller->client[method->type].connect, method->selector, missing == 0 ? NULL : arguments->scalar,
        size[0], missing == 1 ? NULL : arguments->bytes, size[1], missing == 2 ? NULL : arguments->scalar_out,
        &scalars_out, missing == 3 ? NULL : arguments->bytes_out, &bytes_out);
}

static const struct method *any_method(struct crew_worker *worker)
{
    return &methods[crew_random(worker, METHODS)];
}

static void fill(struct crew_worker *worker, struct arguments *arguments)
{
    for (unsigned i = 0; i < BYTES_MAX; i++)
        arguments->bytes[i] = (uint8_t)crew_random(worker, 256);
    for (unsigned i = 0; i < 4; i++)
        arguments->scalar[i] = crew_random(worker, UINT64_MAX);
}

/* Invalid calls. */

static void wrong_size(struct crew_worker *worker, struct caller *caller, struct arguments *arguments)
{
    const struct method *method = any_method(worker);
    unsigned which = (unsigned)crew_random(worker, 4);
    uint32_t size[4];

    memcpy(size, method->size, sizeof(size));
    size[which] += size[which] && crew_random(worker, 2) ? UINT32_MAX : 1;
    crew_at(worker, method->name);
    expect(call_method(caller, method, size, arguments, 4), kIOReturnBadArgument, method->name);
}

static void missing_pointer(struct crew_worker *worker, struct caller *caller, struct arguments *arguments)
{
    const struct method *method;
    unsigned which;

    do {
        method = any_method(worker);
        which = (unsigned)crew_random(worker, 4);
    } while (!method->size[which]);
    crew_at(worker, method->name);
    expect(call_method(caller, method, method->size, arguments, which), kIOReturnBadArgument, method->name);
}

/* Random bytes where a struct is due are never accepted. */
static void noise(struct crew_worker *worker, struct caller *caller, struct arguments *arguments)
{
    const struct method *method;

    do
        method = any_method(worker);
    while (!method->size[1]);
    fill(worker, arguments);
    crew_at(worker, method->name);
    if (call_method(caller, method, method->size, arguments, 4) == kIOReturnSuccess)
        crew_fail("%s accepted random bytes.", method->name);
}

static void closed_connection(struct crew_worker *worker, struct caller *caller, struct arguments *arguments)
{
    const struct method *method = any_method(worker);
    struct caller gone = {0};
    struct outrig_client *client = &gone.client[method->type];

    crew_at(worker, "IOServiceOpen");
    outrig_good(
        IOServiceOpen(shared.service, caller->client[method->type].task, method->type, &client->connect),
        "IOServiceOpen");
    outrig_good(IOServiceClose(client->connect), "IOServiceClose");
    crew_at(worker, method->name);
    expect(call_method(&gone, method, method->size, arguments, 4), ANE_RETURN_CLOSED, method->name);
}

static const struct caller *stranger(struct crew_worker *worker)
{
    unsigned other;

    do
        other = (unsigned)crew_random(worker, THREADS);
    while (other / 2 == worker->number / 2);
    return &shared.caller[other];
}

static IOReturn send(const struct caller *caller, uint32_t type, const struct ane_request *request)
{
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    size_t size = sizeof(reply);

    return IOConnectCallMethod(caller->client[type].connect, ANE_CONTROL_ProgramSendRequest, &doorbell, 1,
                               request, sizeof(*request), NULL, NULL, &reply, &size);
}

static struct ane_request request_of(const struct caller *caller)
{
    struct ane_request request = {.token = caller->token,
                                  .priority = ANE_REQUEST_PRIORITY,
                                  .qos = ANE_REQUEST_QOS,
                                  .category = ANE_REQUEST_CATEGORY,
                                  .inputs = 2,
                                  .outputs = 1};

    for (unsigned i = 0; i < 3; i++) {
        request.surface[i] = caller->data.surface;
        request.offset[i] = i * 0x1000u;
    }
    return request;
}

/* A request with one thing of another caller's. */
static void foreign(struct crew_worker *worker, struct caller *caller, struct arguments *arguments)
{
    struct ane_request request = request_of(caller);
    const struct caller *other = stranger(worker);

    (void)arguments;
    crew_at(worker, "a request with something foreign");
    switch (crew_random(worker, 3)) {
    case 0:
        request.session = caller->client[ANE_CLIENT_CONTROL].session + 1 + crew_random(worker, 1000);
        expect(send(caller, ANE_CLIENT_CONTROL, &request), kIOReturnBadArgument, "a foreign session");
        break;
    case 1:
        request.token = other->known_token;
        expect(send(caller, ANE_CLIENT_CONTROL, &request), kIOReturnNotFound, "a foreign program");
        break;
    default:
        request.surface[crew_random(worker, 3)] = other->known_surface;
        expect(send(caller, ANE_CLIENT_CONTROL, &request), kIOReturnNotPermitted, "a foreign surface");
    }
}

/* Valid calls. */

static void request_well(struct crew_worker *worker, struct caller *caller, struct arguments *arguments)
{
    const uint32_t type = crew_random(worker, 2) ? ANE_CLIENT_CONTROL : ANE_CLIENT_DIRECT_PATH;

    (void)arguments;
    outrig_good(outrig_request(worker, &caller->client[type], caller->token, &caller->data), "a request");
}

static void make_program(struct crew_worker *worker, struct caller *caller)
{
    crew_at(worker, "program create");
    outrig_good(outrig_create(&caller->client[ANE_CLIENT_CONTROL], &caller->token), "program create");
    outrig_good(outrig_prepare(&caller->client[ANE_CLIENT_CONTROL], caller->token), "program prepare");
    caller->known_token = caller->token;
}

/* The direct-path client is attached to the program until it closes, so it closes first. */
static void reload(struct crew_worker *worker, struct caller *caller, struct arguments *arguments)
{
    struct outrig_client *direct = &caller->client[ANE_CLIENT_DIRECT_PATH];

    (void)arguments;
    crew_at(worker, "reload");
    outrig_good(IOServiceClose(direct->connect), "IOServiceClose");
    outrig_good(outrig_unprepare(&caller->client[ANE_CLIENT_CONTROL], caller->token), "program unprepare");
    outrig_good(outrig_destroy(&caller->client[ANE_CLIENT_CONTROL], caller->token), "program destroy");
    make_program(worker, caller);
    outrig_good(outrig_open(shared.service, direct->task, ANE_CLIENT_DIRECT_PATH, direct), "IOServiceOpen");
}

static void status_well(struct crew_worker *worker, struct caller *caller, struct arguments *arguments)
{
    const io_connect_t connect = caller->client[ANE_CLIENT_CONTROL].connect;
    struct ane_status status;
    size_t size = sizeof(status);
    uint64_t version;
    uint32_t count = 1;

    (void)arguments;
    crew_at(worker, "ANE_GetStatus");
    outrig_good(
        IOConnectCallMethod(connect, ANE_CONTROL_GetStatus, NULL, 0, NULL, 0, NULL, NULL, &status, &size),
        "ANE_GetStatus");
    if (status.state != ANE_DEVICE_RUNNING || status.processes != 1 || status.requests)
        crew_fail("ANE_GetStatus: state %u, %u processes, %u requests.", status.state, status.processes,
                  status.requests);
    outrig_good(
        IOConnectCallMethod(connect, ANE_CONTROL_GetVersion, NULL, 0, NULL, 0, &version, &count, NULL, NULL),
        "ANE_GetVersion");
}

static void hint_well(struct crew_worker *worker, struct caller *caller, struct arguments *arguments)
{
    const struct outrig_client *direct = &caller->client[ANE_CLIENT_DIRECT_PATH];
    struct ane_session_hint hint = {
        .hint = ANE_HINT_RESIDENT, .value = (uint32_t)crew_random(worker, 2), .session = direct->session};
    struct ane_session_hint_reply reply;
    size_t size = sizeof(reply);

    (void)arguments;
    crew_at(worker, "ANE_SessionHintRequest");
    outrig_good(IOConnectCallMethod(direct->connect, ANE_DIRECT_SessionHintRequest, NULL, 0, &hint,
                                    sizeof(hint), NULL, NULL, &reply, &size),
                "ANE_SessionHintRequest");
    if (reply.session != direct->session || reply.value != hint.value)
        crew_fail("ANE_SessionHintRequest: the reply is not this session's.");
}

static void map_well(struct crew_worker *worker, struct caller *caller, struct arguments *arguments)
{
    const struct outrig_client *direct = &caller->client[ANE_CLIENT_DIRECT_PATH];
    uint64_t address;

    (void)arguments;
    crew_at(worker, "ANE_MemoryMapRequest");
    outrig_good(outrig_map(direct, caller->data.surface, &address), "ANE_MemoryMapRequest");
    outrig_good(outrig_unmap(direct, caller->data.surface, address), "ANE_MemoryUnMapRequest");
}

static const struct {
    unsigned weight;
    void (*run)(struct crew_worker *worker, struct caller *caller, struct arguments *arguments);
} steps[] = {
    {40, request_well}, {1, reload},          {6, status_well}, {6, hint_well},         {6, map_well},
    {12, wrong_size},   {8, missing_pointer}, {10, noise},      {3, closed_connection}, {8, foreign},
};
#define WEIGHTS 100u

static void open_all(struct crew_worker *worker, struct caller *caller, ane_task_t task)
{
    for (uint32_t type = ANE_CLIENT_CONTROL; type <= ANE_CLIENT_DIRECT_PATH; type++)
        outrig_good(outrig_open(shared.service, task, type, &caller->client[type]), "IOServiceOpen");
    outrig_data_make(&caller->data, task);
    caller->known_surface = caller->data.surface;
    make_program(worker, caller);
}

static void run(struct crew_worker *worker)
{
    struct caller *caller = &shared.caller[worker->number];
    static _Thread_local struct arguments arguments;

    for (unsigned long i = 0; i < shared.calls; i++) {
        unsigned at = (unsigned)crew_random(worker, WEIGHTS), step = 0;

        while (at >= steps[step].weight)
            at -= steps[step++].weight;
        steps[step].run(worker, caller, &arguments);
    }
}

static void close_all(struct caller *caller)
{
    for (uint32_t type = ANE_CLIENT_CONTROL; type <= ANE_CLIENT_DIRECT_PATH; type++)
        outrig_good(IOServiceClose(caller->client[type].connect), "IOServiceClose");
    outrig_data_release(&caller->data);
}

static void make_tasks(void)
{
    for (unsigned i = 0; i < THREADS / 2; i++) {
        const uint8_t cdhash[20] = {(uint8_t)(i + 1)};

        shared.task[i] = ane_task_create(keys, sizeof(keys) / sizeof(keys[0]), "TEAM", cdhash);
        if (!shared.task[i])
            crew_fail("ane_task_create: %s", ane_machine_error());
    }
}

int main(int argc, char **argv)
{
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    struct crew_worker workers[THREADS] = {{0}};
    struct ane_machine *machine;
    unsigned total = 0;
    uint64_t used;

    if (!count) {
        fprintf(stderr, "usage: calls COUNT [SEED]\n");
        return 2;
    }
    crew_begin("calls", argc > 2 ? strtoull(argv[2], NULL, 0) : DEFAULT_SEED);
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        total += steps[i].weight;
    if (total != WEIGHTS)
        crew_fail("The weights of the steps are %u in all.", total);
    outrig_compile();
    machine = outrig_machine();
    used = outrig_dram_used(machine);
    shared.service = ane_machine_service(machine);
    shared.calls = (count + THREADS - 1) / THREADS;
    make_tasks();
    for (unsigned i = 0; i < THREADS; i++)
        open_all(crew_main(), &shared.caller[i], shared.task[i / 2]);
    crew_start(workers, THREADS, run, &shared);
    crew_join(workers, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        close_all(&shared.caller[i]);
    outrig_tables_check(machine, used);
    ane_machine_destroy(machine);
    for (unsigned i = 0; i < THREADS / 2; i++)
        ane_task_release(shared.task[i]);
    crew_pass("%lu mixed calls from %u threads: every answer as expected", shared.calls * THREADS, THREADS);
    return 0;
}
