/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that ends has its connections closed, whatever its requests are doing: queued, in the firmware,
 * waiting there for an event or for an output set of a chain, or waiting to be wired. Nothing of it is left,
 * and a bystander goes on.
 */
#include "support.h"

#include <inttypes.h>
#include <string.h>

#include "driver/state.h"
#include "machine/internal.h"
#include "partyrig.h"

/* What the requests of the process wait for: every set of these is tried. */
enum {
    RUNS = 1u << 0,   /* one in the firmware, when time passes; others queued behind it */
    EVENT = 1u << 1,  /* held in the firmware for an event that is not signalled */
    CHAIN = 1u << 2,  /* a trigger without an output set */
    MAPPED = 1u << 3, /* memory pinned by selector 5 */
    ALL = 0xf,
};
#define QUEUED 5u

static struct ane_machine *machine;
static struct partyrig bystander;
static ane_port_t port;

static ane_task_t make_task(uint8_t hash)
{
    static const char *const keys[] = {"com.apple.ane.iokit-user-access", "com.apple.ane.memory",
                                       "com.apple.ane.allow-dataChaining-access", "com.apple.ane.allow-data"};
    const uint8_t cdhash[20] = {hash};
    const ane_task_t task = ane_task_create(keys, 4, "TEAM", cdhash);

    assert_int_not_equal(task, 0);
    return task;
}

static void open_party(struct partyrig *p, uint8_t hash)
{
    struct ane_program_prepare prepare;

    partyrig_open(p, ane_machine_service(machine), make_task(hash));
    partyrig_load(p, "unwound");
    assert_int_equal(iorig_prepare(&p->control, p->token, &prepare), kIOReturnSuccess);
    partyrig_surfaces(p, PARTYRIG_ONE, PARTYRIG_ONE);
}

static int boot(void **state)
{
    (void)state;
    machine = iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED});
    open_party(&bystander, 1);
    assert_int_equal(ane_port_create(&port), 0);
    return 0;
}

static int halt(void **state)
{
    (void)state;
    partyrig_close(&bystander);
    assert_int_equal(ane_port_release(port), 0);
    ane_machine_destroy(machine);
    return 0;
}

static void bystander_works(void)
{
    const struct iorig_client *client[2] = {&bystander.direct, &bystander.control};

    for (unsigned i = 0; i < 2; i++) {
        partyrig_fill(bystander.y, PARTYRIG_NOT_WRITTEN);
        if (partyrig_run(&bystander, client[i], bystander.token))
            fail_msg("%s", ane_machine_error());
        partyrig_expect("y", bystander.y, 0x4000); /* 2 */
    }
}

static void post_held(const struct partyrig *p)
{
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request request = {.token = p->token,
                                  .priority = ANE_REQUEST_PRIORITY,
                                  .inputs = 2,
                                  .outputs = 1,
                                  .surface = {p->a, p->b, p->y},
                                  .wait_events = 1};
    struct ane_request_reply reply;
    uint64_t reference = 0;
    size_t size = sizeof(reply);
    uint32_t event;

    assert_int_equal(ane_event_create(p->direct.connect, 0, &event), kIOReturnSuccess);
    request.event[0] = (struct ane_request_event){.type = ANE_EVENT_SHARED, .event = event, .value = 1};
    if (IOConnectCallAsyncMethod(p->direct.connect, ANE_DIRECT_ProgramSendRequest, port, &reference, 1,
                                 &doorbell, 1, &request, sizeof(request), NULL, NULL, &reply, &size))
        fail_msg("%s", ane_machine_error());
}

static void post_trigger(const struct partyrig *p)
{
    const struct ane_chaining_args args = {
        .version = ANE_CHAINING_ARGS_VERSION, .sets = 1, .priority = ANE_REQUEST_PRIORITY};
    const uint32_t place = partyrig_surface(p->task, sizeof(args), 0);
    const struct ane_chaining_prepare in = {p->token, place, 0};
    struct ane_chaining_reply chain = {0};
    struct ane_inputs_ready ready = {.timestamp = 1, .inputs = 2, .doorbell = ANE_REQUEST_DOORBELL};
    size_t size = sizeof(chain);
    uint64_t reference = 0;

    memcpy(ane_surface_base(place), &args, sizeof(args));
    if (IOConnectCallMethod(p->control.connect, ANE_CONTROL_ProgramChainingPrepare, NULL, 0, &in, sizeof(in),
                            NULL, NULL, &chain, &size))
        fail_msg("%s", ane_machine_error());
    ane_surface_release(place);
    ready.handle = chain.handle;
    ready.input[0].surface = p->a;
    ready.input[1].surface = p->b;
    if (IOConnectCallAsyncMethod(p->direct.connect, ANE_DIRECT_ProgramInputsReady, port, &reference, 1, NULL,
                                 0, &ready, sizeof(ready), NULL, NULL, NULL, NULL))
        fail_msg("%s", ane_machine_error());
}

/* How many messages are to come. */
static unsigned fill_states(const struct partyrig *p, unsigned states)
{
    unsigned messages = 0;
    uint64_t address;

    if (states & MAPPED)
        assert_int_equal(partyrig_map(&p->direct, p->a, 1, &address), kIOReturnSuccess);
    if (states & EVENT) {
        post_held(p);
        messages++;
    }
    if (states & CHAIN) {
        post_trigger(p);
        messages++;
    }
    for (unsigned i = 0; states & RUNS && i < QUEUED; i++, messages++)
        if (partyrig_send(p, i % 2 ? &p->control : &p->direct, port))
            fail_msg("%s", ane_machine_error());
    return messages;
}

struct pools {
    uint32_t clients, programs, domains, mapped;
    uint64_t used, client_pages;
};

static struct pools count_pools(void)
{
    const struct drv *d = machine->driver;
    const struct drv_stats stats = drv_stats_get(d);
    struct pools pools = {.clients = stats.clients,
                          .programs = stats.programs,
                          .mapped = stats.surfaces_mapped,
                          .used = ane_machine_counter(machine, "dram.used"),
                          .client_pages = stats.client_pages};

    for (unsigned i = 0; i < DRV_REQUESTS; i++)
        assert_int_equal(d->request[i].state, DRV_REQUEST_FREE);
    for (unsigned i = 0; i < DRV_COMMANDS; i++)
        assert_false(d->command[i].busy);
    for (unsigned i = 0; i < PR_SHARED_EVENT_ROWS; i++)
        assert_true(!d->event[i].live && !d->event[i].uses);
    for (unsigned i = 0; i < PR_PROCESSES_MAX; i++)
        assert_null(d->stray[i]);
    for (unsigned i = 0; i < DRV_BANDS; i++)
        assert_true(!d->band[i].running && !d->band[i].queue);
    for (unsigned i = 1; i < PR_DART_DOMAINS; i++)
        pools.domains += d->domain[i].client != NULL;
    assert_true(!d->chains && !d->request_waiters && !d->command_waiters && !d->domain_waiters &&
                !d->address_waiters && !stats.in_flight);
    return pools;
}

/* The connections of the process are closed, by the one who serves it, in either order. */
static void end_party(struct partyrig *p, bool control_first, unsigned messages)
{
    struct ane_port_message message;

    IOServiceClose(control_first ? p->control.connect : p->direct.connect);
    IOServiceClose(control_first ? p->direct.connect : p->control.connect);
    for (unsigned i = 0; i < messages; i++) {
        assert_int_equal(ane_port_receive(port, &message, 0), 0);
        assert_true(message.result == kIOReturnAborted || message.result == kIOReturnSuccess);
    }
    for (unsigned i = 0; i < 3; i++)
        ane_surface_release(p->surface[i]);
    ane_task_release(p->task);
}

static void every_state_is_unwound(void **state)
{
    static const uint64_t passing[] = {0, 500, 5000};
    struct pools before;

    (void)state;
    bystander_works();
    before = count_pools();
    for (unsigned states = 0; states <= ALL; states++)
        for (unsigned i = 0; i < 3; i++)
            for (unsigned order = 0; order < 2; order++) {
                struct partyrig victim;
                struct pools after;
                unsigned messages;

                open_party(&victim, 2);
                messages = fill_states(&victim, states);
                (void)ane_machine_run(machine, passing[i]);
                end_party(&victim, order, messages);
                after = count_pools();
                if (memcmp(&before, &after, sizeof(before)))
                    fail_msg("states 0x%x, %" PRIu64 " ns, order %u: %u clients, %u programs, %u domains, "
                             "%u surfaces, %" PRIu64 " bytes; before %u, %u, %u, %u, %" PRIu64,
                             states, passing[i], order, after.clients, after.programs, after.domains,
                             after.mapped, after.used, before.clients, before.programs, before.domains,
                             before.mapped, before.used);
                bystander_works();
            }
}

/* The same with programs that are not wired, or go in between. */
static void unwired_programs_are_unwound(void **state)
{
    struct pools before;

    (void)state;
    bystander_works();
    before = count_pools();
    for (unsigned order = 0; order < 2; order++) {
        struct partyrig victim;
        unsigned messages;

        open_party(&victim, 2);
        assert_int_equal(ane_machine_reclaim(machine, 0, 0, NULL), 0);
        end_party(&victim, order, 0);
        open_party(&victim, 2);
        assert_int_equal(ane_machine_reclaim(machine, 0, 0, NULL), 0);
        messages = fill_states(&victim, RUNS);
        assert_int_equal(ane_machine_reclaim(machine, 0, 0, NULL), 0);
        end_party(&victim, order, messages);
        bystander_works();
        assert_int_equal(count_pools().used, before.used);
        assert_int_equal(count_pools().programs, before.programs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_state_is_unwound, boot, halt),
        cmocka_unit_test_setup_teardown(unwired_programs_are_unwound, boot, halt),
    };

    return cmocka_run_group_tests(tests, partyrig_compile, partyrig_forget);
}
