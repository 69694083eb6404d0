/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secure mode through every layer: a client with raw access injects the commands at virtual times, the driver
 * resumes the transitions, and requests of others wait in the firmware meanwhile.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include <anemone/catalogue.h>
#include <anemone/iokit.h>

#include "iorig.h"
#include "machine/internal.h"
#include "protocol/commands.h"
#include "rtkernel/fault.h"

#define US 1000ull
#define MS 1000000ull

/* What matters of the trace, one word each, in order. */
static char seen[4096];

static void keep(void *context, const char *line, size_t length)
{
    static const struct {
        const char *text, *word;
    } row[] = {{" drv secure mode: quiesced", "quiesced "},
               {" drv secure mode: paused", "paused "},
               {" drv secure mode: entered", "entered "},
               {" drv secure mode: left, 0 calls wait", "left "},
               {" drv secure mode: left, 1 calls wait", "left-1 "},
               {" pmu domain=1 state=0x300", "off "},
               {" pmu domain=1 state=0xff", "on "},
               {" pmu domain=1 state=0x3ff", "on "}, /* by the driver: both flags stay set */
               {" eng push ", "push "}};

    (void)context;
    (void)length;
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        if (strstr(line, row[i].text))
            strncat(seen, row[i].word, sizeof(seen) - strlen(seen) - 1);
}

static struct ane_machine *machine;
static ane_task_t task;
static struct iorig_client owner, other;
static struct iorig_accumulator a, b;

static int make(void **state)
{
    const char *const keys[] = {"com.apple.ane.iokit-user-access", "com.apple.ane.memory",
                                "privileged-virtual-machine-access"};

    (void)state;
    machine =
        iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED, .trace = 1, .trace_fn = keep});
    task = ane_task_create(keys, 3, NULL, NULL);
    assert_int_equal(iorig_open(ane_machine_service(machine), task, ANE_CLIENT_DIRECT_PATH, &owner), 0);
    assert_int_equal(iorig_open(ane_machine_service(machine), task, ANE_CLIENT_DIRECT_PATH, &other), 0);
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    iorig_accumulator_make(&b, ane_machine_service(machine), 2, 16);
    seen[0] = '\0';
    return 0;
}

static int drop(void **state)
{
    (void)state;
    ane_machine_destroy(machine);
    ane_task_release(task);
    return 0;
}

static IOReturn send(const struct iorig_client *client, uint32_t id)
{
    struct ane_command command = {.id = id, .bytes = 4};
    size_t size = sizeof(command);

    return ane_catalogue_call(client->connect, ANE_CATALOGUE_SendCommand, NULL, 0, &command, sizeof(command),
                              NULL, NULL, &command, &size);
}

/* Calls at a virtual time; each leaves its status. */
struct action {
    void (*run)(struct action *action);
    const struct iorig_client *client;
    struct iorig_accumulator *accumulator;
    uint32_t id;
    IOReturn status;
};

static void command(struct action *action)
{
    action->status = send(action->client, action->id);
}

static void step(struct action *action)
{
    action->status = iorig_accumulator_step(action->accumulator);
}

static void close_it(struct action *action)
{
    action->status = IOServiceClose(action->client->connect);
}

static void crash(struct action *action)
{
    assert_true(mach_enter(machine)); /* on a thread of its own */
    mach_cpu_inject(machine, RT_FAULT_SYNC, "in secure mode");
    mach_leave(machine);
    action->status = kIOReturnSuccess;
}

static void run_action(void *context)
{
    struct action *action = context;

    action->run(action);
}

static void at(uint64_t ns, struct action *action)
{
    action->status = kIOReturnError;
    assert_int_equal(ane_machine_call_at(machine, ane_machine_now(machine) + ns, run_action, action), 0);
}

static void run_all(void)
{
    assert_int_equal(ane_machine_run(machine, UINT64_MAX), 0);
}

static void expect_error(const char *text)
{
    if (!strstr(ane_machine_error(), text))
        fail_msg("\"%s\" does not say \"%s\"", ane_machine_error(), text);
}

/*
 * Two requests come in the mode: none is pushed before the engine was power-cycled on the way out, and both
 * end well. One of a band is in the firmware, so one waits there.
 */
static void requests_wait_for_the_end_of_the_mode(void **state)
{
    struct action start = {.run = command, .client = &owner, .id = PR_CMD_SECURE_MODE_START},
                  stop = {.run = command, .client = &owner, .id = PR_CMD_SECURE_MODE_STOP},
                  first = {.run = step, .accumulator = &a}, second = {.run = step, .accumulator = &b};

    (void)state;
    at(0, &start);
    at(1 * MS, &first);
    at(1 * MS + 10 * US, &second);
    at(5 * MS, &stop);
    run_all();
    assert_string_equal(seen, "off on quiesced paused entered off on quiesced paused push left-1 push ");
    assert_int_equal(start.status, kIOReturnSuccess);
    assert_int_equal(stop.status, kIOReturnSuccess);
    assert_int_equal(first.status, kIOReturnSuccess);
    assert_int_equal(second.status, kIOReturnSuccess);
    assert_true(iorig_accumulator_value(&a) == 1 && iorig_accumulator_value(&b) == 1);
    /* Again, with nothing in between. */
    seen[0] = '\0';
    assert_int_equal(send(&owner, PR_CMD_SECURE_MODE_START), kIOReturnSuccess);
    run_all();
    assert_int_equal(send(&owner, PR_CMD_SECURE_MODE_STOP), kIOReturnSuccess);
    run_all();
    assert_string_equal(seen, "off on quiesced paused entered off on quiesced paused left ");
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
}

static void the_mode_has_one_owner(void **state)
{
    (void)state;
    assert_int_equal(send(&other, PR_CMD_SECURE_MODE_STOP), kIOReturnNotPermitted);
    expect_error("the client does not own the secure mode");
    assert_int_equal(send(&other, PR_CMD_SECURE_MODE_RESUME_TRANSITION), kIOReturnNotPermitted);
    assert_int_equal(send(&owner, PR_CMD_SECURE_MODE_START), kIOReturnSuccess);
    run_all();
    assert_int_equal(send(&other, PR_CMD_SECURE_MODE_START), kIOReturnNotPermitted);
    expect_error("the secure mode has an owner, or is being left");
    assert_int_equal(send(&other, PR_CMD_SECURE_MODE_STOP), kIOReturnNotPermitted);
    assert_int_equal(send(&owner, PR_CMD_SECURE_MODE_STOP), kIOReturnSuccess);
    run_all();
    assert_int_equal(send(&other, PR_CMD_SECURE_MODE_START), kIOReturnSuccess);
    run_all();
    assert_string_equal(seen, "off on quiesced paused entered off on quiesced paused left "
                              "off on quiesced paused entered ");
}

/* The owner ends without a word: the driver ends the mode, and the request that waited goes on. */
static void the_mode_ends_with_its_owner(void **state)
{
    struct action start = {.run = command, .client = &owner, .id = PR_CMD_SECURE_MODE_START},
                  first = {.run = step, .accumulator = &a}, end = {.run = close_it, .client = &owner};

    (void)state;
    at(0, &start);
    at(1 * MS, &first);
    at(2 * MS, &end);
    run_all();
    assert_string_equal(seen, "off on quiesced paused entered off on quiesced paused push left-1 ");
    assert_int_equal(end.status, kIOReturnSuccess);
    assert_int_equal(first.status, kIOReturnSuccess);
    assert_int_equal(send(&other, PR_CMD_SECURE_MODE_START), kIOReturnSuccess);
}

/* Sleep is refused in the mode, and the device is usable afterwards. */
static void the_device_does_not_sleep_in_the_mode(void **state)
{
    (void)state;
    assert_int_equal(send(&owner, PR_CMD_SECURE_MODE_START), kIOReturnSuccess);
    run_all();
    assert_int_not_equal(ane_machine_sleep(machine), 0);
    expect_error("owns the engine in secure mode");
    assert_int_equal(send(&owner, PR_CMD_SECURE_MODE_STOP), kIOReturnSuccess);
    run_all();
    assert_int_equal(ane_machine_sleep(machine), 0);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
}

/* A crash in the mode: the recovered firmware is outside of it, requests go on, and the owner is none. */
static void a_crash_ends_the_mode(void **state)
{
    struct action start = {.run = command, .client = &owner, .id = PR_CMD_SECURE_MODE_START},
                  first = {.run = step, .accumulator = &a}, fail = {.run = crash},
                  second = {.run = step, .accumulator = &b};

    (void)state;
    at(0, &start);
    at(1 * MS, &first);
    at(2 * MS, &fail);
    at(100 * MS, &second);
    run_all();
    assert_int_equal(first.status, kIOReturnAborted); /* the firmware had it */
    assert_int_equal(second.status, kIOReturnSuccess);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_int_equal(send(&other, PR_CMD_SECURE_MODE_START), kIOReturnSuccess);
    run_all();
    assert_string_equal(seen,
                        "off on quiesced paused entered off on push push off on quiesced paused entered ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, make, drop)
        T(requests_wait_for_the_end_of_the_mode), T(the_mode_has_one_owner), T(the_mode_ends_with_its_owner),
        T(the_device_does_not_sleep_in_the_mode), T(a_crash_ends_the_mode),
#undef T
    };

    return cmocka_run_group_tests_name("secure", tests, NULL, NULL);
}
