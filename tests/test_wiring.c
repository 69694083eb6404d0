/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwiring and wiring against a made-up controller: what is in use stays, and whatever the firmware, memory
 * or another caller does in between, a program is either wired or not, and works afterwards.
 */
#include "drvrig.h"

#include <string.h>

#include "base/alloc.h"
#include "driver/state.h"

#define KERNEL 0x9000u /* three pages */

static struct drvrig rig;
static struct drv_client *client;
static uint64_t token;
static uint32_t surface[4], first_pages, value;

static int boot(void **state)
{
    (void)state;
    drvrig_make(&rig, true);
    first_pages = rig.used;
    client = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    token = drvrig_program(&rig, client, 1, KERNEL, 0x100);
    for (unsigned i = 0; i < 4; i++)
        surface[i] = drvrig_surface(&rig, 64);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    if (client)
        drv_client_close(client);
    client = drvrig_client(&rig, ANE_CLIENT_CONTROL); /* reaps */
    drv_client_close(client);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
    for (unsigned i = 0; i < 4; i++)
        drvrig_surface_end(&rig, surface[i]);
    assert_int_equal(rig.used, first_pages);
    drvrig_drop(&rig);
    return 0;
}

static void works(void)
{
    drvrig_copy(&rig, client, token, surface, ++value);
}

static struct drv_reclaimed pass(uint64_t limit, uint32_t passes)
{
    struct drv_reclaimed now = {0};
    struct base_error error;

    if (drv_reclaim_pass(rig.driver, limit, passes, &now, &error))
        fail_msg("%s", error.text);
    return now;
}

static enum drv_program_state state_of(uint64_t wanted)
{
    const struct drv_program *program = rig.driver->programs;

    while (program && program->token != wanted)
        program = program->next;
    assert_non_null(program);
    return program->state;
}

/* A second call, made when the first waits. */
static void (*meanwhile)(void);

static int wait_with_a_call(void *context, const bool *done, struct drv_deadline *deadline)
{
    void (*call)(void) = meanwhile;

    meanwhile = NULL;
    rig.driver->platform.wait = rig.platform.wait;
    call();
    return rig.platform.wait(context, done, deadline);
}

static void call_in_wait(void (*call)(void))
{
    meanwhile = call;
    rig.driver->platform.wait = wait_with_a_call;
}

static void fall_asleep(void)
{
    struct base_error error;

    if (drv_sleep(rig.driver, &error))
        fail_msg("%s", error.text);
}

static void nothing_is_unwired(void)
{
    assert_int_equal(pass(0, 0).unwired, 0);
}

static void requests_keep_a_program(void **state)
{
    (void)state;
    /* In the firmware, seen from inside the wait for its end. */
    call_in_wait(nothing_is_unwired);
    works();
    assert_null(meanwhile);
    /* In the queue of its band. */
    rig.hold = true;
    for (unsigned i = 0; i < 2; i++) {
        struct ane_request request;

        drvrig_request(&request, token, 1, 1, surface + 2 * i);
        assert_int_equal(drvrig_post(client, &request), kIOReturnSuccess);
    }
    drvrig_work(&rig);
    nothing_is_unwired();
    assert_true(drvrig_finish_one(&rig, PR_STATUS_OK));
    drvrig_work(&rig);
    nothing_is_unwired();
    assert_true(drvrig_finish_one(&rig, PR_STATUS_OK));
    rig.hold = false;
    drvrig_work(&rig);
    assert_int_equal(rig.messages, 2);
    assert_int_equal(pass(0, 0).unwired, 1);
    works();
}

static IOReturn prepare_chain(void)
{
    const struct ane_chaining_args args = {
        .version = ANE_CHAINING_ARGS_VERSION, .sets = 2, .priority = ANE_REQUEST_PRIORITY};
    const uint32_t place = drvrig_surface(&rig, sizeof(args));
    const struct ane_chaining_prepare in = {token, place, 0};
    struct ane_chaining_reply chain;
    IOReturn result;

    memcpy(drvrig_surface_base(&rig, place), &args, sizeof(args));
    result = drvrig_call(client, ANE_CONTROL_ProgramChainingPrepare, NULL, 0, &in, sizeof(in), NULL, 0,
                         &chain, sizeof(chain));
    drvrig_surface_end(&rig, place);
    return result;
}

static void a_chain_keeps_its_program(void **state)
{
    (void)state;
    rig.chains = true;
    assert_int_equal(prepare_chain(), kIOReturnSuccess);
    nothing_is_unwired();
    assert_int_equal(drvrig_unprepare(client, token), kIOReturnSuccess);
    assert_int_equal(pass(0, 0).unwired, 1);
}

/* Nothing of it is left in memory, in the tables of its client or in the firmware. */
static void an_unwired_program_has_no_pages(void **state)
{
    struct ane_program_prepare prepare;
    uint32_t used;

    (void)state;
    used = rig.used;
    works();
    assert_int_equal(drv_stats_get(rig.driver).in_flight, 0);
    pass(0, 0);
    assert_int_equal(state_of(token), DRV_PROGRAM_UNWIRED);
    /* Text, three pages of kernel, working set, container; less, since buffers of the request are kept. */
    assert_true(rig.used <= used - 6 + 2);
    for (unsigned i = 0; i < DRVRIG_PROGRAMS; i++)
        assert_false(rig.program[i].there);
    for (unsigned i = 0; i < DRVRIG_PROCESSES; i++)
        assert_false(rig.process[i].there);
    assert_int_equal(drvrig_prepare(client, token, &prepare), kIOReturnSuccess);
    assert_int_equal(state_of(token), DRV_PROGRAM_READY);
    works();
}

/* The firmware refuses, fails at, or does not answer a command that unwiring takes. */
static void a_firmware_that_does_not_let_go(void **state)
{
    static const uint32_t command[] = {PR_CMD_TERMINATE_PROCESS, PR_CMD_UNLOAD_PROGRAM};

    (void)state;
    works();
    for (unsigned i = 0; i < 2; i++) {
        rig.crash_command = command[i];
        rig.crash_commands = 1;
        pass(0, 0);
        works();
    }
    rig.bad_command = PR_CMD_UNLOAD_PROGRAM;
    rig.bad_status = PR_STATUS_NO_RESOURCES;
    pass(0, 0);
    assert_int_equal(state_of(token), DRV_PROGRAM_READY);
    rig.bad_status = 0;
    works();
    rig.silent_command = PR_CMD_UNLOAD_PROGRAM;
    pass(0, 0);
    rig.silent_command = 0xffffffffu;
    assert_int_equal(state_of(token), DRV_PROGRAM_UNWIRING);
    drvrig_crash(&rig); /* the restart answers it */
    works();
    pass(0, 0);
    assert_int_equal(state_of(token), DRV_PROGRAM_UNWIRED);
    works();
}

/* One that it refuses to terminate is terminated later, or forgotten by a restart: its program can go. */
static void a_firmware_that_keeps_a_process(void **state)
{
    (void)state;
    for (unsigned restart = 0; restart < 2; restart++) {
        works();
        rig.bad_command = PR_CMD_TERMINATE_PROCESS;
        rig.bad_status = PR_STATUS_NO_RESOURCES;
        assert_int_equal(pass(0, 0).unwired, restart);
        rig.bad_status = 0;
        if (restart)
            drvrig_crash(&rig);
        drvrig_work(&rig);
        while (rig.driver->recovery.phase && drvrig_fire(&rig))
            drvrig_work(&rig);
        works();
        assert_int_equal(pass(0, 0).unwired, restart + 1);
    }
}

/* Others call while the worker waits for the firmware. */

static void destroy_it(void)
{
    assert_int_equal(drvrig_destroy(client, token), kIOReturnSuccess);
}

static void close_it(void)
{
    drv_client_close(client);
    client = NULL;
}

static void pass_again(void)
{
    pass(0, 0);
}

static void another_call_comes_between(void **state)
{
    (void)state;
    works();
    rig.command_count = 0;
    call_in_wait(works);
    pass(0, 0);
    assert_int_equal(state_of(token), DRV_PROGRAM_READY);
    for (unsigned i = 0; i < rig.command_count; i++)
        assert_int_not_equal(rig.commands[i], PR_CMD_UNLOAD_PROGRAM); /* it is in use again */
    call_in_wait(pass_again);
    pass(0, 0);
    works();
    call_in_wait(destroy_it);
    pass(0, 0);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
    token = drvrig_program(&rig, client, 1, KERNEL, 0x100);
    works();
    call_in_wait(close_it);
    pass(0, 0);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
}

/* A direct-path client of the owner's task leaves, and the owner destroys the program it was attached to. */
static void destroyed_beside_a_close(void **state)
{
    struct drv_client *direct = drvrig_client(&rig, ANE_CLIENT_DIRECT_PATH);

    (void)state;
    drvrig_copy(&rig, direct, token, surface, ++value);
    call_in_wait(destroy_it);
    drv_client_close(direct);
    assert_null(meanwhile);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
}

/* A chain that the firmware has made and forgotten again is none. */
static void asleep_while_a_chain_is_made(void **state)
{
    (void)state;
    rig.chains = true;
    works();
    call_in_wait(fall_asleep);
    assert_int_equal(prepare_chain(), kIOReturnAborted);
    assert_null(meanwhile);
    assert_int_equal(prepare_chain(), kIOReturnSuccess);
}

/*
 * Two callers start one process. The first attempt fails with the firmware; the second caller runs first
 * afterwards, and what it has started stays.
 */
static void use_beside(void)
{
    drvrig_copy(&rig, client, token, surface + 2, ++value);
}

static void use_beside_next(void)
{
    call_in_wait(use_beside);
}

static void two_callers_start_one_process(void **state)
{
    struct ane_request_reply reply;
    struct ane_request request;
    uint32_t mappings;

    (void)state;
    works();
    drvrig_copy(&rig, client, token, surface + 2, ++value);
    mappings = client->domain->mappings;
    assert_int_equal(pass(0, 0).unwired, 1);
    rig.crash_command = PR_CMD_CREATE_PROCESS;
    rig.crash_commands = 1;
    call_in_wait(use_beside_next); /* the first wait is for the load */
    drvrig_request(&request, token, 1, 1, surface);
    assert_int_equal(drvrig_send(client, &request, &reply), kIOReturnAborted);
    assert_null(meanwhile);
    assert_int_equal(client->processes->state, DRV_PROCESS_LIVE);
    works();
    assert_int_equal(client->domain->mappings, mappings);
}

/* The device falls asleep while a call waits: the call goes on, and wakes it. */
static void asleep_in_a_wait(void **state)
{
    (void)state;
    works();
    pass(0, 0);
    call_in_wait(fall_asleep);
    works();
    assert_null(meanwhile);
}

/* The same while a request is bound: room for its intermediate buffer is made by unwiring another program. */
static void asleep_before_a_request_is_sent(void **state)
{
    const uint64_t other = drvrig_program(&rig, client, 1, KERNEL, 0x100);

    (void)state;
    drvrig_copy(&rig, client, other, surface, ++value);
    rig.alloc_fails_at = rig.alloc_calls + 1;
    call_in_wait(fall_asleep);
    works();
    assert_null(meanwhile);
}

/* Two threads of the owner destroy a program whose unload is with the firmware: one of them does. */
static void destroy_again(void)
{
    assert_int_equal(drvrig_destroy(client, token), kIOReturnNotFound);
}

static void destroy_first(void)
{
    assert_int_equal(state_of(token), DRV_PROGRAM_UNWIRING);
    call_in_wait(destroy_again);
    assert_int_equal(drvrig_destroy(client, token), kIOReturnSuccess);
    assert_null(meanwhile);
}

static void destroyed_twice_while_it_is_unwired(void **state)
{
    (void)state;
    works();
    assert_int_equal(drvrig_unprepare(client, token), kIOReturnSuccess);
    call_in_wait(destroy_first);
    pass(0, 0);
    assert_null(meanwhile);
    assert_int_equal(drv_stats_get(rig.driver).programs, 0);
}

/* An adapter whose file goes over two of its base's three pages. */
#define FILE_TARGET 0x3fc0u
#define FILE_BYTES  0x100u
static uint64_t adapter_of(uint64_t base)
{
    const uint64_t file = 0x80, size = FILE_BYTES;
    const uint32_t place = drvrig_surface(&rig, file + size);
    const struct ane_instance_create create = {.surface = place, .size = file + size};
    uint8_t *bytes = drvrig_surface_base(&rig, place);
    struct ane_program_prepare prepare;
    uint64_t made;

    memset(bytes, 0x5a, file + size);
    memcpy(bytes, &(struct ane_instance_args){.base = base, .version = 1, .weights = 1},
           sizeof(struct ane_instance_args));
    memcpy(bytes + sizeof(struct ane_instance_args),
           &(struct ane_instance_weights){.target = FILE_TARGET, .offset = file, .size = size},
           sizeof(struct ane_instance_weights));
    if (drvrig_call(client, ANE_CONTROL_ProgramCreateInstance, NULL, 0, &create, sizeof(create), NULL, 0,
                    NULL, 0))
        fail_msg("%s", drv_last_error(rig.driver));
    memcpy(&made, bytes, sizeof(made));
    drvrig_surface_end(&rig, place);
    assert_int_equal(drvrig_prepare(client, made, &prepare), kIOReturnSuccess);
    return made;
}

/* The bytes that the firmware sees at the adapter's kernel; `out` as the base's otherwise. */
static void check_adapter(uint64_t adapter)
{
    for (const struct drv_program *program = rig.driver->programs; program; program = program->next) {
        if (program->token != adapter)
            continue;
        for (uint64_t at = 0; at < KERNEL; at += 0x40) {
            const uint8_t *byte = drvrig_base_at(&rig, program->kernel.iova + at, 1);
            const uint8_t *below = drvrig_base_at(&rig, program->base->kernel.iova + at, 1);

            assert_int_equal(*byte, at >= FILE_TARGET && at < FILE_TARGET + FILE_BYTES ? 0x5a : *below);
        }
    }
}

/* Every allocation fails once, in DRAM and of the host, while a program is unwired and wired again. */
static void memory_runs_out_anywhere(void **state)
{
    const uint64_t adapter = adapter_of(token);
    struct ane_request_reply reply;
    struct ane_request request;
    unsigned refused = 0, at = 1;

    (void)state;
    works();
    check_adapter(adapter);
    for (unsigned host = 0; host < 2; host++)
        for (at = 1; at < 60; at++) {
            IOReturn result;

            pass(0, 0);
            assert_int_equal(pass(UINT64_MAX, 0).wired, 0);
            if (host)
                base_alloc_fail_nth(at);
            else
                rig.alloc_fails_at = rig.alloc_calls + at;
            drvrig_request(&request, adapter, 1, 1, surface);
            result = drvrig_send(client, &request, &reply);
            base_alloc_fail_nth(0);
            rig.alloc_fails_at = 0;
            assert_true(result == kIOReturnSuccess || result == kIOReturnNoMemory);
            refused += result != kIOReturnSuccess;
            drvrig_copy(&rig, client, adapter, surface, ++value);
            check_adapter(adapter);
            works();
        }
    assert_true(refused > 10);
    /* And while they go. */
    for (at = 1; at < 6; at++) {
        base_alloc_fail_nth(at);
        pass(0, 0);
        base_alloc_fail_nth(0);
        works();
        drvrig_copy(&rig, client, adapter, surface, ++value);
        check_adapter(adapter);
    }
}

/* The first use of a client takes tables of its domain: an idle program makes room for them, too. */
static void memory_for_a_domain(void **state)
{
    const uint64_t second = drvrig_program(&rig, client, 1, KERNEL, 0x100);
    struct drv_client *other = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    struct ane_program_prepare prepare;

    (void)state;
    for (unsigned at = 1; at < 4; at++) {
        works();
        rig.alloc_fails_at = rig.alloc_calls + at;
        if (drvrig_prepare(other, second, &prepare))
            fail_msg("allocation %u: %s", at, drv_last_error(rig.driver));
        drv_client_close(other);
        other = drvrig_client(&rig, ANE_CLIENT_CONTROL);
        rig.alloc_fails_at = 0;
    }
    drv_client_close(other);
}

/* Two callers use an adapter that is not wired. The first waits for room for its base, the second has it. */

static uint64_t wanted;

static void use_it(void)
{
    drvrig_copy(&rig, client, wanted, surface + 2, ++value);
}

static void two_callers_wire_one_program(void **state)
{
    const uint64_t other = drvrig_program(&rig, client, 1, KERNEL, 0x100);

    (void)state;
    wanted = adapter_of(token);
    pass(0, 0);
    assert_int_equal(pass(0, 0).wired, 0);
    drvrig_copy(&rig, client, other, surface, ++value);
    rig.alloc_fails_at = rig.alloc_calls + 1;
    call_in_wait(use_it);
    drvrig_copy(&rig, client, wanted, surface, ++value);
    assert_null(meanwhile);
    assert_int_equal(drv_stats_get(rig.driver).rewired, 3); /* the other one, the base, the adapter */
    check_adapter(wanted);
    works();
}

/* An instance with the weights of a base that the firmware does not load. */
static void an_instance_of_a_base_that_is_refused(void **state)
{
    const uint32_t place = drvrig_surface(&rig, sizeof(struct ane_instance_args));
    const struct ane_instance_create create = {.surface = place, .size = sizeof(struct ane_instance_args)};

    (void)state;
    assert_int_equal(pass(0, 0).wired, 0);
    memcpy(drvrig_surface_base(&rig, place), &(struct ane_instance_args){.base = token, .version = 1},
           sizeof(struct ane_instance_args));
    rig.bad_command = PR_CMD_LOAD_PROGRAM;
    rig.bad_status = PR_STATUS_NO_RESOURCES;
    assert_int_equal(drvrig_call(client, ANE_CONTROL_ProgramCreateInstance, NULL, 0, &create, sizeof(create),
                                 NULL, 0, NULL, 0),
                     kIOReturnNoResources);
    rig.bad_status = 0;
    assert_int_equal(drv_stats_get(rig.driver).programs, 1);
    drvrig_surface_end(&rig, place);
    works();
    assert_int_equal(drvrig_destroy(client, token), kIOReturnSuccess);
}

/* The firmware is full. While one caller waits for a slot, another uses both the program and the slot. */

static uint64_t third;

static void use_both(void)
{
    drvrig_copy(&rig, client, third, surface + 2, ++value);
    drvrig_copy(&rig, client, token, surface + 2, ++value);
}

/* The first wait is for the load. */
static void use_both_next(void)
{
    call_in_wait(use_both);
}

static void two_callers_want_one_slot(void **state)
{
    const uint32_t processes = rig.driver->limits.processes;
    const uint64_t second = drvrig_program(&rig, client, 1, KERNEL, 0x100);

    (void)state;
    third = drvrig_program(&rig, client, 1, KERNEL, 0x100);
    assert_int_equal(pass(0, 0).wired, 0);
    works();
    drvrig_copy(&rig, client, second, surface, ++value);
    rig.driver->limits.processes = 2;
    call_in_wait(use_both_next);
    drvrig_copy(&rig, client, third, surface, ++value);
    assert_null(meanwhile);
    rig.driver->limits.processes = processes;
    works();
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, boot, drop)
    const struct CMUnitTest tests[] = {
        CASE(requests_keep_a_program),
        CASE(a_chain_keeps_its_program),
        CASE(an_unwired_program_has_no_pages),
        CASE(a_firmware_that_does_not_let_go),
        CASE(another_call_comes_between),
        CASE(memory_runs_out_anywhere),
        CASE(two_callers_wire_one_program),
        CASE(two_callers_want_one_slot),
        CASE(destroyed_twice_while_it_is_unwired),
        CASE(memory_for_a_domain),
        CASE(asleep_in_a_wait),
        CASE(asleep_while_a_chain_is_made),
        CASE(asleep_before_a_request_is_sent),
        CASE(two_callers_start_one_process),
        CASE(destroyed_beside_a_close),
        CASE(a_firmware_that_keeps_a_process),
        CASE(an_instance_of_a_base_that_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
