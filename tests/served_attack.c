/* SPDX-License-Identifier: Apache-2.0 */
#include "served_attack.h"

#include <stdio.h>
#include <string.h>

#include <anemone/catalogue.h>

#include "served_client.h"

#define SLOT 0u

/* ---- Calls ---- */

int32_t served_attack_message(struct served_attack *a, uint16_t type, const void *body, size_t size)
{
    int32_t status = served_wire_call(&a->wire, type, body, size, &a->reply);

    if (status == SERVED_WIRE_CLOSED)
        served_client_fail("Message %u ended the session, or has no reply.", type);
    snprintf(a->sentence, sizeof(a->sentence), "%.500s", status ? a->reply.sentence : "");
    served_reply_close(&a->reply);
    return status;
}

int32_t served_attack_broker(struct served_attack *a, uint16_t type, const void *body, size_t size,
                             int folder)
{
    int32_t status = served_wire_broker(a->broker, type, body, size, &folder, folder >= 0, &a->reply);
    size_t skip = type == PR_BROKER_SUBMIT ? sizeof(struct pr_broker_submitted) : 0;

    if (status == SERVED_WIRE_CLOSED)
        served_client_fail("Method %u ended the connection to the broker, or has no reply.", type);
    snprintf(a->sentence, sizeof(a->sentence), "%.500s", status ? a->reply.sentence + skip : "");
    served_reply_close(&a->reply);
    return status;
}

/* A call through the ring, with outputs of the sizes given. */
int32_t served_attack_call(struct served_attack *a, uint32_t operation, uint32_t connect, uint32_t selector,
                           const uint64_t *scalars, uint32_t scalars_in, const void *in, uint32_t struct_in,
                           uint32_t scalars_out, uint32_t struct_out)
{
    a->call = (struct pr_ring_slot){.operation = operation,
                                    .connect = connect,
                                    .selector = selector,
                                    .scalars_in = scalars_in,
                                    .struct_in = struct_in,
                                    .scalars_out = scalars_out,
                                    .struct_out = struct_out,
                                    .references = operation == PR_RING_ASYNC,
                                    .port = operation == PR_RING_ASYNC};
    if (scalars)
        memcpy(a->call.scalar_in, scalars, scalars_in * sizeof(*scalars));
    if (in)
        memcpy(a->call.in, in, struct_in);
    if (!served_wire_post(&a->wire, SLOT, &a->call))
        served_client_fail("Operation %u, selector %u has no outcome.", operation, selector);
    snprintf(a->sentence, sizeof(a->sentence), "%s", a->call.result ? a->call.sentence : "");
    return a->call.result;
}

static int32_t method(struct served_attack *a, uint32_t connect, uint32_t selector, const void *in,
                      uint32_t struct_in, uint32_t struct_out)
{
    return served_attack_call(a, PR_RING_METHOD, connect, selector, NULL, 0, in, struct_in, 0, struct_out);
}

static int32_t send_request(struct served_attack *a, uint32_t operation, uint32_t connect,
                            const struct ane_request *request)
{
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;

    return served_attack_call(a, operation, connect, ANE_DIRECT_ProgramSendRequest, &doorbell, 1, request,
                              sizeof(*request), 0, sizeof(struct ane_request_reply));
}

/* A request that is right but for what the caller changes. */
static struct ane_request right_request(const struct served_attack *a)
{
    return (struct ane_request){.token = a->instance.program,
                                .priority = a->instance.priority,
                                .category = ANE_REQUEST_CATEGORY,
                                .inputs = 2,
                                .outputs = 1,
                                .surface = {a->surface, a->surface, a->surface},
                                .offset = {0, SERVED_ATTACK_PLACE, 2 * SERVED_ATTACK_PLACE}};
}

/* ---- What is tried: each with one number ---- */

static int32_t close_connect(struct served_attack *a, uint64_t n)
{
    const struct pr_service_connect body = {.connect = (uint32_t)n};

    return served_attack_message(a, PR_SERVICE_CLOSE, &body, sizeof(body));
}

static int32_t release_surface(struct served_attack *a, uint64_t n)
{
    const struct pr_service_surface body = {.surface = (uint32_t)n};

    return served_attack_message(a, PR_SERVICE_SURFACE_RELEASE, &body, sizeof(body));
}

static int32_t open_for_task(struct served_attack *a, uint64_t n)
{
    const struct pr_service_open body = {
        .entry = a->device, .type = ANE_CLIENT_DIRECT_PATH, .task = (uint32_t)n};

    return served_attack_message(a, PR_SERVICE_OPEN, &body, sizeof(body));
}

static int32_t surface_for_task(struct served_attack *a, uint64_t n)
{
    const struct pr_service_surface_create body = {.bytes = SERVED_ATTACK_PLACE, .task = (uint32_t)n};

    return served_attack_message(a, PR_SERVICE_SURFACE, &body, sizeof(body));
}

static int32_t open_at_entry(struct served_attack *a, uint64_t n)
{
    const struct pr_service_open body = {.entry = (uint32_t)n, .type = ANE_CLIENT_DIRECT_PATH};

    return served_attack_message(a, PR_SERVICE_OPEN, &body, sizeof(body));
}

static int32_t bind_at(struct served_attack *a, uint64_t n, unsigned place)
{
    struct ane_request request = right_request(a);

    if (place < 3)
        request.surface[place] = (uint32_t)n;
    else
        request.stats_surface = (uint32_t)n;
    return send_request(a, PR_RING_METHOD, a->direct, &request);
}

static int32_t bind_input(struct served_attack *a, uint64_t n)
{
    return bind_at(a, n, 0);
}

static int32_t bind_second(struct served_attack *a, uint64_t n)
{
    return bind_at(a, n, 1);
}

static int32_t bind_output(struct served_attack *a, uint64_t n)
{
    return bind_at(a, n, 2);
}

static int32_t bind_statistics(struct served_attack *a, uint64_t n)
{
    return bind_at(a, n, 3);
}

static int32_t bind_asynchronous(struct served_attack *a, uint64_t n)
{
    struct ane_request request = right_request(a);

    request.surface[2] = (uint32_t)n;
    return send_request(a, PR_RING_ASYNC, a->direct, &request);
}

static int32_t bind_control(struct served_attack *a, uint64_t n)
{
    struct ane_request request = right_request(a);

    request.surface[0] = (uint32_t)n;
    return send_request(a, PR_RING_METHOD, a->control, &request);
}

static int32_t submit(struct served_attack *a, uint64_t instance, uint32_t surface)
{
    struct pr_broker_submit body = {.instance = instance, .doorbell = ANE_REQUEST_DOORBELL};
    struct ane_request request = right_request(a);

    request.surface[0] = surface;
    memcpy(body.request, &request, sizeof(body.request));
    return served_attack_broker(a, PR_BROKER_SUBMIT, &body, sizeof(body), -1);
}

static int32_t submit_surface(struct served_attack *a, uint64_t n)
{
    return submit(a, a->instance.instance, (uint32_t)n);
}

static int32_t submit_instance(struct served_attack *a, uint64_t n)
{
    return submit(a, n, a->surface);
}

static int32_t release_instance(struct served_attack *a, uint64_t n)
{
    const struct pr_broker_handle body = {.instance = n};

    return served_attack_broker(a, PR_BROKER_RELEASE, &body, sizeof(body), -1);
}

static int32_t map_surface(struct served_attack *a, uint64_t n)
{
    const struct ane_memory_map map = {
        .token = a->session, .surface = (uint32_t)n, .usage = ANE_MAP_INPUT, .size = SERVED_ATTACK_PLACE};
    const uint64_t zero = 0;

    return served_attack_call(a, PR_RING_METHOD, a->direct, ANE_DIRECT_MemoryMapRequest, &zero, 1, &map,
                              sizeof(map), 1, 0);
}

static int32_t map_session(struct served_attack *a, uint64_t n)
{
    const struct ane_memory_map map = {
        .token = n, .surface = a->surface, .usage = ANE_MAP_INPUT, .size = SERVED_ATTACK_PLACE};
    const uint64_t zero = 0;

    return served_attack_call(a, PR_RING_METHOD, a->direct, ANE_DIRECT_MemoryMapRequest, &zero, 1, &map,
                              sizeof(map), 1, 0);
}

static int32_t map_program(struct served_attack *a, uint64_t n)
{
    const struct ane_memory_map map = {.token = a->session,
                                       .surface = a->surface,
                                       .usage = ANE_MAP_INPUT,
                                       .size = SERVED_ATTACK_PLACE,
                                       .program = n};
    const uint64_t zero = 0;

    return served_attack_call(a, PR_RING_METHOD, a->direct, ANE_DIRECT_MemoryMapRequest, &zero, 1, &map,
                              sizeof(map), 1, 0);
}

static int32_t unmap_surface(struct served_attack *a, uint64_t n)
{
    const struct ane_memory_map map = {.token = a->session, .surface = (uint32_t)n};

    return method(a, a->direct, ANE_DIRECT_MemoryUnMapRequest, &map, sizeof(map), 0);
}

static int32_t unmap_buffers(struct served_attack *a, uint64_t n)
{
    return served_attack_call(a, PR_RING_CATALOGUE, a->direct, ANE_CATALOGUE_UnmapDartBuffers, &n, 1, NULL, 0,
                              1, 0);
}

static int32_t create_from(struct served_attack *a, uint64_t n)
{
    const struct ane_program_create create = {.surface = (uint32_t)n, .size = SERVED_ATTACK_PLACE};

    return method(a, a->control, ANE_CONTROL_ProgramCreate, &create, sizeof(create), 0);
}

static int32_t instance_from(struct served_attack *a, uint64_t n)
{
    const struct ane_instance_create create = {.surface = (uint32_t)n, .size = SERVED_ATTACK_PLACE};

    return method(a, a->control, ANE_CONTROL_ProgramCreateInstance, &create, sizeof(create), 0);
}

static int32_t instance_of(struct served_attack *a, uint64_t n)
{
    const struct ane_instance_args args = {.base = n, .version = ANE_INSTANCE_ARGS_VERSION};
    const struct ane_instance_create create = {
        .surface = a->surface, .offset = 3 * SERVED_ATTACK_PLACE, .size = sizeof(args)};

    memcpy(a->base + 3 * SERVED_ATTACK_PLACE, &args, sizeof(args));
    return method(a, a->control, ANE_CONTROL_ProgramCreateInstance, &create, sizeof(create), 0);
}

static int32_t chain_from(struct served_attack *a, uint64_t n)
{
    const struct ane_chaining_prepare body = {.token = a->instance.program, .surface = (uint32_t)n};

    return method(a, a->control, ANE_CONTROL_ProgramChainingPrepare, &body, sizeof(body),
                  sizeof(struct ane_chaining_reply));
}

static int32_t chain_of(struct served_attack *a, uint64_t n)
{
    const struct ane_chaining_args args = {
        .version = ANE_CHAINING_ARGS_VERSION, .sets = 1, .priority = ANE_REQUEST_PRIORITY};
    const struct ane_chaining_prepare body = {
        .token = n, .surface = a->surface, .offset = 3 * SERVED_ATTACK_PLACE};

    memcpy(a->base + 3 * SERVED_ATTACK_PLACE, &args, sizeof(args));
    return method(a, a->control, ANE_CONTROL_ProgramChainingPrepare, &body, sizeof(body),
                  sizeof(struct ane_chaining_reply));
}

static int32_t item_to(struct served_attack *a, uint64_t n)
{
    const uint64_t scalars[2] = {n, 0};

    return served_attack_call(a, PR_RING_METHOD, a->control, ANE_CONTROL_GetDebugWorkProcessorItem, scalars,
                              2, NULL, 0, 0, 0);
}

static int32_t run_program(struct served_attack *a, uint64_t n)
{
    struct ane_request request = right_request(a);

    request.token = n;
    return send_request(a, PR_RING_METHOD, a->direct, &request);
}

static int32_t run_on_control(struct served_attack *a, uint64_t n)
{
    struct ane_request request = right_request(a);

    request.token = n;
    return send_request(a, PR_RING_METHOD, a->control, &request);
}

static int32_t run_in_session(struct served_attack *a, uint64_t n)
{
    struct ane_request request = right_request(a);

    request.session = n;
    return send_request(a, PR_RING_METHOD, a->direct, &request);
}

static int32_t run_after_event(struct served_attack *a, uint64_t n)
{
    struct ane_request request = right_request(a);

    request.wait_events = 1;
    request.event[0] = (struct ane_request_event){.type = ANE_EVENT_SHARED, .event = n, .value = 1};
    return send_request(a, PR_RING_METHOD, a->direct, &request);
}

static int32_t run_and_signal(struct served_attack *a, uint64_t n)
{
    struct ane_request request = right_request(a);

    request.signal_events = 1;
    request.event[0] = (struct ane_request_event){.type = ANE_EVENT_SHARED, .event = n, .value = 99};
    return send_request(a, PR_RING_METHOD, a->direct, &request);
}

static int32_t prepare_program(struct served_attack *a, uint64_t n)
{
    const struct ane_program_prepare body = {.token = n, .priority = ANE_REQUEST_PRIORITY};

    return method(a, a->control, ANE_CONTROL_ProgramPrepare, &body, sizeof(body), sizeof(body));
}

static int32_t unprepare_program(struct served_attack *a, uint64_t n)
{
    const struct ane_program_prepare body = {.token = n};

    return method(a, a->control, ANE_CONTROL_ProgramUnprepare, &body, sizeof(body), 0);
}

static int32_t destroy_program(struct served_attack *a, uint64_t n)
{
    const struct ane_program_destroy body = {.token = n};

    return method(a, a->control, ANE_CONTROL_ProgramDestroy, &body, sizeof(body), 0);
}

static int32_t destroy_in_session(struct served_attack *a, uint64_t n)
{
    const struct ane_program_destroy body = {.token = a->instance.program, .session = n};

    return method(a, a->control, ANE_CONTROL_ProgramDestroy, &body, sizeof(body), 0);
}

static int32_t hint_in_session(struct served_attack *a, uint64_t n)
{
    const struct ane_session_hint body = {.hint = ANE_HINT_QUEUE_DEPTH, .value = 2, .session = n};

    return method(a, a->direct, ANE_DIRECT_SessionHintRequest, &body, sizeof(body),
                  sizeof(struct ane_session_hint_reply));
}

static int32_t event_call(struct served_attack *a, uint64_t n, uint32_t which)
{
    const uint64_t scalars[3] = {n, 1, 0};
    static const uint32_t in[] = {1, 1, 2, 3, 1};

    return served_attack_call(a, PR_RING_EVENT, a->direct, which, scalars, in[which], NULL, 0,
                              which == PR_RING_EVENT_VALUE, 0);
}

static int32_t event_value(struct served_attack *a, uint64_t n)
{
    return event_call(a, n, PR_RING_EVENT_VALUE);
}

static int32_t event_signal(struct served_attack *a, uint64_t n)
{
    return event_call(a, n, PR_RING_EVENT_SIGNAL);
}

static int32_t event_wait(struct served_attack *a, uint64_t n)
{
    return event_call(a, n, PR_RING_EVENT_WAIT);
}

static int32_t event_release(struct served_attack *a, uint64_t n)
{
    return event_call(a, n, PR_RING_EVENT_RELEASE);
}

static int32_t event_on_connect(struct served_attack *a, uint64_t n)
{
    const uint64_t value = 1;

    return served_attack_call(a, PR_RING_EVENT, (uint32_t)n, PR_RING_EVENT_CREATE, &value, 1, NULL, 0, 1, 0);
}

static int32_t set_of_chain(struct served_attack *a, uint64_t n)
{
    const struct ane_output_set set = {.handle = n, .outputs = 1, .surface = a->surface};

    return method(a, a->direct, ANE_DIRECT_ProgramOutputSetEnqueue, &set, sizeof(set), 0);
}

static int32_t trigger_chain(struct served_attack *a, uint64_t n)
{
    struct ane_inputs_ready ready = {
        .handle = n, .timestamp = 1, .inputs = 2, .doorbell = ANE_REQUEST_DOORBELL};

    ready.input[0].surface = ready.input[1].surface = a->surface;
    return method(a, a->direct, ANE_DIRECT_ProgramInputsReady, &ready, sizeof(ready), 0);
}

static int32_t activate_chain(struct served_attack *a, uint64_t n)
{
    const struct ane_active_procedure body = {.handle = n};

    return method(a, a->direct, ANE_DIRECT_ProgramChainingSetActiveProcedure, &body, sizeof(body), 0);
}

static int32_t join_chain(struct served_attack *a, uint64_t n)
{
    const struct ane_chaining_args args = {
        .version = ANE_CHAINING_ARGS_VERSION, .sets = 1, .priority = ANE_REQUEST_PRIORITY, .group = n};
    const struct ane_chaining_prepare body = {
        .token = a->instance.program, .surface = a->surface, .offset = 3 * SERVED_ATTACK_PLACE};

    memcpy(a->base + 3 * SERVED_ATTACK_PLACE, &args, sizeof(args));
    return method(a, a->control, ANE_CONTROL_ProgramChainingPrepare, &body, sizeof(body),
                  sizeof(struct ane_chaining_reply));
}

/* ---- The table ---- */

const struct served_trial served_trials[] = {
    {"CLOSE", SERVED_CONNECT, close_connect, true},
    {"an event on the connection", SERVED_CONNECT, event_on_connect, true},
    {"OPEN for a task", SERVED_TASK, open_for_task, false},
    {"SURFACE for a task", SERVED_TASK, surface_for_task, false},
    {"OPEN at a connection's number", SERVED_CONNECT, open_at_entry, false},
    {"SURFACE_RELEASE", SERVED_SURFACE, release_surface, false},
    {"a request's input", SERVED_SURFACE, bind_input, true},
    {"a request's second input", SERVED_SURFACE, bind_second, true},
    {"a request's output", SERVED_SURFACE, bind_output, true},
    {"a request's statistics", SERVED_SURFACE, bind_statistics, true},
    {"an asynchronous request's output", SERVED_SURFACE, bind_asynchronous, true},
    {"a control client's input", SERVED_SURFACE, bind_control, false},
    {"an input through the broker", SERVED_SURFACE, submit_surface, true},
    {"MemoryMapRequest", SERVED_SURFACE, map_surface, true},
    {"MemoryUnMapRequest", SERVED_SURFACE, unmap_surface, false},
    {"UnmapDartBuffers", SERVED_SURFACE, unmap_buffers, false},
    {"ProgramCreate", SERVED_SURFACE, create_from, true},
    {"ProgramCreateInstance", SERVED_SURFACE, instance_from, true},
    {"ProgramChainingPrepare", SERVED_SURFACE, chain_from, false},
    {"GetDebugWorkProcessorItem", SERVED_SURFACE, item_to, false},
    {"a request", SERVED_PROGRAM, run_program, true},
    {"a control client's request", SERVED_PROGRAM, run_on_control, true},
    {"ProgramPrepare", SERVED_PROGRAM, prepare_program, true},
    {"ProgramUnprepare", SERVED_PROGRAM, unprepare_program, true},
    {"ProgramDestroy", SERVED_PROGRAM, destroy_program, false},
    {"an instance of the program", SERVED_PROGRAM, instance_of, false},
    {"a chain of the program", SERVED_PROGRAM, chain_of, false},
    {"a mapping for the program", SERVED_PROGRAM, map_program, true},
    {"a request for the intermediate buffer", SERVED_INTERMEDIATE, run_program, false},
    {"an instance of the intermediate buffer", SERVED_INTERMEDIATE, instance_of, false},
    {"SUBMIT", SERVED_INSTANCE, submit_instance, true},
    {"RELEASE", SERVED_INSTANCE, release_instance, true},
    {"an event's value", SERVED_EVENT, event_value, true},
    {"a signal", SERVED_EVENT, event_signal, true},
    {"a wait", SERVED_EVENT, event_wait, true},
    {"an event's release", SERVED_EVENT, event_release, true},
    {"a request that waits", SERVED_EVENT, run_after_event, true},
    {"a request that signals", SERVED_EVENT, run_and_signal, true},
    {"a request of the session", SERVED_SESSION, run_in_session, true},
    {"a mapping of the session", SERVED_SESSION, map_session, true},
    {"ProgramDestroy of the session", SERVED_SESSION, destroy_in_session, false},
    {"SessionHintRequest", SERVED_SESSION, hint_in_session, true},
    {"ProgramOutputSetEnqueue", SERVED_CHAIN, set_of_chain, false},
    {"ProgramInputsReady", SERVED_CHAIN, trigger_chain, false},
    {"ProgramChainingSetActiveProcedure", SERVED_CHAIN, activate_chain, false},
    {"a chain in the group", SERVED_CHAIN, join_chain, false},
};
const unsigned served_trial_count = sizeof(served_trials) / sizeof(served_trials[0]);
