/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that share a machine. */
#include "partyrig.h"

#include <stdlib.h>
#include <string.h>

#include "graphrig.h"
#include "support.h"

struct partyrig_bundle partyrig_bundle;

int partyrig_compile(void **state)
{
    struct cc_program *program;
    struct gr g;
    uint32_t a;

    (void)state;
    gr_open(&g, 1, GR_WHOLE);
    a = gr_input(&g, "a", CC_FP16, GR(1, PARTYRIG_CHANNELS, 1, PARTYRIG_WIDTH));
    gr_output(&g, gr_binary(&g, CC_OP_ADD, a,
                            gr_input(&g, "b", CC_FP16, GR(1, PARTYRIG_CHANNELS, 1, PARTYRIG_WIDTH))));
    program = gr_lower(&g);
    partyrig_bundle.bytes = gr_payload(program, &partyrig_bundle.size);
    cc_program_destroy(program);
    gr_close(&g);
    return 0;
}

int partyrig_forget(void **state)
{
    (void)state;
    free(partyrig_bundle.bytes);
    return 0;
}

ane_task_t partyrig_task(const char *team, uint8_t hash)
{
    static const char *const entitlement[] = {"com.apple.ane.iokit-user-access", "com.apple.ane.memory",
                                              "com.apple.ane.allow-dataChaining-access"};
    uint8_t cdhash[20];
    ane_task_t task;

    memset(cdhash, hash, sizeof(cdhash));
    task = ane_task_create(entitlement, 3, team, hash ? cdhash : NULL);
    assert_int_not_equal(task, 0);
    return task;
}

void partyrig_fill(uint32_t surface, uint16_t value)
{
    uint16_t *halfs = ane_surface_base(surface);

    for (size_t i = 0; i < ane_surface_lookup(surface) / 2; i++)
        halfs[i] = value;
}

uint32_t partyrig_surface(ane_task_t task, size_t bytes, uint16_t value)
{
    uint32_t id;

    assert_int_equal(ane_surface_create(task, bytes, &id), 0);
    partyrig_fill(id, value);
    return id;
}

void partyrig_expect(const char *what, uint32_t surface, uint16_t value)
{
    const uint16_t *halfs = ane_surface_base(surface);

    for (size_t i = 0; i < ane_surface_lookup(surface) / 2; i++)
        if (halfs[i] != value)
            fail_msg("%s: element %zu is 0x%04x and not 0x%04x", what, i, halfs[i], value);
}

void partyrig_surfaces(struct partyrig *p, uint16_t a, uint16_t b)
{
    p->a = partyrig_surface(p->task, PARTYRIG_BYTES, a);
    p->b = partyrig_surface(p->task, PARTYRIG_BYTES, b);
    p->y = partyrig_surface(p->task, PARTYRIG_BYTES, PARTYRIG_NOT_WRITTEN);
}

void partyrig_open(struct partyrig *p, io_service_t service, ane_task_t task)
{
    *p = (struct partyrig){.task = task};
    assert_int_equal(iorig_open(service, task, ANE_CLIENT_CONTROL, &p->control), kIOReturnSuccess);
    assert_int_equal(iorig_open(service, task, ANE_CLIENT_DIRECT_PATH, &p->direct), kIOReturnSuccess);
}

void partyrig_load(struct partyrig *p, const char *name)
{
    if (iorig_create_named(&p->control, ANE_PROGRAM_RT, name, partyrig_bundle.bytes, partyrig_bundle.size,
                           &p->token))
        fail_msg("%s", ane_machine_error());
}

void partyrig_close(struct partyrig *p)
{
    IOServiceClose(p->direct.connect);
    IOServiceClose(p->control.connect);
    for (unsigned i = 0; i < 3; i++)
        ane_surface_release(p->surface[i]);
    ane_task_release(p->task);
}

IOReturn partyrig_run(const struct partyrig *p, const struct iorig_client *client, uint64_t token)
{
    struct ane_request_reply reply;

    return iorig_request(client, token, 1, ANE_REQUEST_PRIORITY, p->surface, 2, 1, &reply);
}

IOReturn partyrig_map(const struct iorig_client *client, uint32_t surface, uint32_t usage, uint64_t *address)
{
    struct ane_memory_map map = {
        .surface = surface, .usage = usage, .size = ane_surface_lookup(surface), .token = client->session};
    const uint64_t zero = 0;
    uint32_t one = 1;

    *address = 0;
    return IOConnectCallMethod(client->connect, ANE_DIRECT_MemoryMapRequest, &zero, 1, &map, sizeof(map),
                               address, &one, NULL, NULL);
}

IOReturn partyrig_send(const struct partyrig *p, const struct iorig_client *client, ane_port_t port)
{
    struct ane_request request = {.token = p->token,
                                  .priority = ANE_REQUEST_PRIORITY,
                                  .inputs = 2,
                                  .outputs = 1,
                                  .surface = {p->a, p->b, p->y}};
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    uint64_t reference = 0;
    size_t size = sizeof(reply);

    return IOConnectCallAsyncMethod(client->connect, ANE_CONTROL_ProgramSendRequest, port, &reference, 1,
                                    &doorbell, 1, &request, sizeof(request), NULL, NULL, &reply, &size);
}
