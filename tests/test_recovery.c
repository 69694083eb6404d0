/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine whose firmware fails, as its clients see it: exceptions are injected into the controller's
 * processor, the engine is stopped, aborts are lost. Every recovery is followed by a dispatch whose result is
 * checked.
 */
#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/state.h"
#include "folder.h"
#include "iorig.h"
#include "machine/internal.h"
#include "protocol/dump.h"
#include "protocol/execution.h"
#include "protocol/message.h"
#include "protocol/tm_regs.h"
#include "rtkernel/fault.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CRASHES 100u
#else
#define CRASHES 10000u
#endif

#define CHANNELS 4u
#define WIDTH    40u

struct subject {
    struct ane_machine *machine;
    struct iorig_accumulator a;
    struct soc_bus_tap tap;
    bool crash_at_push; /* the controller fails when it has pushed a call and given its slot back */
    bool pushed;
    unsigned lost_pushes; /* so many stores to REQ_PUSH are lost */
    bool stays_full;      /* after that no queue becomes vacant, until the processor is stopped */
    bool is_full;
    unsigned hits;
};

static bool is_vacancy(uint64_t offset)
{
    return offset >= PR_ENGINE_TQ && offset < PR_ENGINE_TQ + PR_TQ_COUNT * PR_TQ_STRIDE &&
           (offset - PR_ENGINE_TQ) % PR_TQ_STRIDE == PR_TQ_VACANT;
}

static bool see_push(struct subject *s)
{
    s->pushed = true;
    if (!s->lost_pushes)
        return true;
    s->lost_pushes--;
    s->hits++;
    s->is_full = s->stays_full;
    return false;
}

static bool see(void *context, struct soc_access *access)
{
    struct subject *s = context;
    uint64_t offset = access->address - s->machine->board->container;

    if (access->master == SOC_MASTER_HOST) {
        s->is_full = s->is_full && offset != PR_CTRL_CPU_CONTROL;
        return true;
    }
    if (!access->write)
        return !s->is_full || !is_vacancy(offset);
    if (offset == PR_ENGINE_TM + PR_TM_REQ_PUSH)
        return see_push(s);
    if (s->crash_at_push && s->pushed && offset == PR_CTRL_HOST_DOORBELL) {
        s->crash_at_push = false;
        s->hits++;
        mach_cpu_inject(s->machine, RT_FAULT_SYNC, "a store was made up to fail");
    }
    return true;
}

static void make_with(struct subject *s, struct ane_machine_config config)
{
    *s = (struct subject){.tap = {.see = see, .context = s}};
    config.clock = ANE_CLOCK_CLOSED;
    s->machine = iorig_machine(config);
    iorig_accumulator_make(&s->a, ane_machine_service(s->machine), CHANNELS, WIDTH);
    soc_bus_tap_add(s->machine->bus, &s->tap);
}

static void make(struct subject *s)
{
    make_with(s, (struct ane_machine_config){0});
}

static void end(struct subject *s)
{
    iorig_accumulator_release(&s->a);
    ane_machine_destroy(s->machine);
}

static uint64_t counter(const struct subject *s, const char *name)
{
    return ane_machine_counter(s->machine, name);
}

static void clear_state(struct subject *s)
{
    memset(ane_surface_base(s->a.state), 0, ane_surface_lookup(s->a.state));
}

/* One step from a state of zeros makes it one. */
static void dispatches(struct subject *s)
{
    clear_state(s);
    if (iorig_accumulator_step(&s->a))
        fail_msg("%s", ane_machine_error());
    assert_true(iorig_accumulator_value(&s->a) == 1.0);
}

static void inject(struct subject *s, unsigned fault_class, const char *text)
{
    assert_true(mach_enter(s->machine));
    mach_cpu_inject(s->machine, fault_class, text);
    mach_leave(s->machine);
}

static void says(const char *text)
{
    if (!strstr(ane_machine_error(), text))
        fail_msg("\"%s\" does not say \"%s\"", ane_machine_error(), text);
}

/* The last dump, taken apart; the bytes are static. */
static struct pr_dump last_dump(struct subject *s)
{
    static uint8_t bytes[PR_DUMP_FILE_BYTES_MAX];
    size_t size = sizeof(bytes);
    struct pr_problem problem = {0};
    struct pr_dump dump;

    assert_int_equal(ane_machine_dump(s->machine, bytes, &size), 0);
    if (!pr_dump_read(bytes, size, &dump, &problem))
        fail_msg("%s", problem.text);
    return dump;
}

/* Each class of the platform's handler in turn; every second one while the engine has the call. */
static void a_crash(struct subject *s, unsigned i)
{
    s->pushed = false;
    if (i % 2)
        s->crash_at_push = true;
    else
        inject(s, i / 2 % RT_FAULT_ASSERT, "injected");
    assert_int_equal(iorig_accumulator_step(&s->a), kIOReturnAborted);
    says("The request was aborted; the engine has been restarted.");
}

static void ten_thousand_crashes(void **state)
{
    struct subject s;
    uint64_t dram, pages;

    (void)state;
    make(&s);
    dispatches(&s);
    a_crash(&s, 0); /* what is made at the first failure stays */
    dispatches(&s);
    dram = counter(&s, "dram.used");
    pages = counter(&s, "driver.client_pages");
    for (unsigned i = 1; i < CRASHES; i++) {
        a_crash(&s, i);
        dispatches(&s);
        if (counter(&s, "dram.used") != dram || counter(&s, "driver.client_pages") != pages)
            fail_msg("after %u crashes %ju bytes of DRAM are in use, %ju before", i,
                     (uintmax_t)counter(&s, "dram.used"), (uintmax_t)dram);
    }
    assert_int_equal(counter(&s, "driver.crashes"), CRASHES);
    assert_int_equal(counter(&s, "driver.recoveries"), CRASHES);
    assert_int_equal(counter(&s, "driver.dumps"), CRASHES);
    assert_int_equal(counter(&s, "driver.dumps_incomplete"), 0);
    assert_int_equal(counter(&s, "driver.cancelled"), CRASHES);
    end(&s);
}

static void a_dump_names_the_call(void **state)
{
    struct pr_dump_exception exception;
    struct pr_dump_engine engine;
    struct pr_dump_commands commands;
    struct pr_dump_tasks tasks;
    struct pr_dump dump;
    struct subject s;

    (void)state;
    make(&s);
    assert_int_equal(ane_machine_dump(s.machine, &dump, &(size_t){sizeof(dump)}), -ENOENT);
    dispatches(&s);
    a_crash(&s, 1);
    assert_int_equal(s.hits, 1);
    dump = last_dump(&s);
    assert_true(dump.head.complete == 1 && dump.head.sections == PR_DUMP_SECTION_COUNT);
    assert_true(pr_dump_copy(&dump, PR_DUMP_EXCEPTION, &exception, sizeof(exception)));
    assert_int_equal(exception.fault_class, RT_FAULT_SYNC);
    assert_string_equal(exception.text, "a store was made up to fail");
    assert_true(pr_dump_copy(&dump, PR_DUMP_ENGINE, &engine, sizeof(engine)));
    assert_int_equal(engine.count, 1);
    assert_true(engine.call[0].program == 0 && engine.call[0].process == 0 &&
                engine.call[0].descriptors == 1);
    /* Newest first: the call, not answered, then the one before. */
    assert_true(pr_dump_copy(&dump, PR_DUMP_COMMANDS, &commands, sizeof(commands)));
    assert_true(commands.count > 2);
    assert_int_equal(commands.command[0].id, PR_EXE_PROCEDURE_CALL);
    assert_int_equal(commands.command[0].status, PR_DUMP_UNANSWERED);
    assert_true(commands.command[0].time >= commands.command[1].time);
    assert_true(pr_dump_copy(&dump, PR_DUMP_TASKS, &tasks, sizeof(tasks)));
    assert_true(tasks.count >= 10);
    dispatches(&s);
    end(&s);
}

/* What crashes at every boot command that it is given. */
static void a_crash_during_recovery(void **state)
{
    struct subject s;

    (void)state;
    make(&s);
    dispatches(&s);
    inject(&s, RT_FAULT_SYNC, "the first");
    /* The dump and the boot take some time; then the second comes. */
    while (!counter(&s, "driver.crashes") || !mach_cpu_alive(s.machine->cpu) ||
           soc_bus_read32(s.machine->bus, SOC_MASTER_HOST,
                          s.machine->board->container + PR_CTRL_CPU_STATUS) != PR_CPU_STATUS_RUNNING ||
           counter(&s, "driver.dumps") == 0)
        ane_machine_run(s.machine, 10000);
    while (s.machine->controller.scratch[3] || !s.machine->controller.scratch[7])
        ane_machine_run(s.machine, 10000);
    inject(&s, RT_FAULT_SYNC, "the second");
    dispatches(&s);
    assert_int_equal(counter(&s, "driver.crashes"), 2);
    end(&s);
}

static void crashes_faster_than_the_interval(void **state)
{
    struct subject s;
    uint64_t first, last;

    (void)state;
    make(&s);
    first = ane_machine_now(s.machine);
    for (unsigned i = 0; i < 20; i++)
        a_crash(&s, i);
    last = ane_machine_now(s.machine);
    assert_true(last - first >= 19 * PR_RECOVERY_INTERVAL_NS);
    dispatches(&s);
    end(&s);
}

/* A call that comes while the channels are not ready waits as long as its client's timeout. */
static void a_client_does_not_wait_for_ever(void **state)
{
    struct iorig_accumulator hasty;
    struct subject s;
    uint64_t began;

    (void)state;
    make(&s);
    iorig_accumulator_make_timed(&hasty, ane_machine_service(s.machine), CHANNELS, WIDTH, 5);
    a_crash(&s, 0);
    inject(&s, RT_FAULT_SYNC, "at once again");
    while (counter(&s, "driver.dumps") < 2)
        ane_machine_run(s.machine, 100000);
    began = ane_machine_now(s.machine);
    assert_int_equal(iorig_accumulator_step(&hasty), kIOReturnTimeout);
    says("waited 5 ms for the device, which is being restarted");
    assert_true(ane_machine_now(s.machine) - began < PR_RECOVERY_INTERVAL_NS);
    dispatches(&s);
    if (iorig_accumulator_step(&hasty))
        fail_msg("%s", ane_machine_error());
    iorig_accumulator_release(&hasty);
    end(&s);
}

/*
 * The call is lost on its way to the engine: the firmware ends it at its deadline, and nothing is restarted.
 */
static void a_stuck_queue_is_aborted(void **state)
{
    struct subject s;
    uint64_t began;

    (void)state;
    make(&s);
    s.lost_pushes = 1;
    began = ane_machine_now(s.machine);
    assert_true(iorig_accumulator_step(&s.a) != kIOReturnSuccess);
    assert_int_equal(s.hits, 1);
    assert_true(ane_machine_now(s.machine) - began >= PR_DEADLINE_NS);
    dispatches(&s);
    assert_int_equal(counter(&s, "driver.recoveries"), 0);
    end(&s);
}

/* The queue of a lost call does not become vacant when it is aborted: the firmware asks for a reset. */
static void an_abort_that_does_not_clear(void **state)
{
    struct subject s;
    uint64_t began;

    (void)state;
    make(&s);
    dispatches(&s);
    s.lost_pushes = 1;
    s.stays_full = true;
    began = ane_machine_now(s.machine);
    assert_int_equal(iorig_accumulator_step(&s.a), kIOReturnAborted);
    assert_int_equal(s.hits, 1);
    assert_true(ane_machine_now(s.machine) - began >= 2 * PR_DEADLINE_NS);
    dispatches(&s);
    assert_int_equal(counter(&s, "driver.recoveries"), 1);
    assert_int_equal(counter(&s, "driver.crashes"), 0);
    end(&s);
}

static void a_dispatch_wakes_the_device(void **state)
{
    struct subject s;
    uint64_t dram;

    (void)state;
    make(&s);
    dispatches(&s);
    dram = counter(&s, "dram.used");
    for (unsigned i = 0; i < 50; i++) {
        if (ane_machine_sleep(s.machine))
            fail_msg("%s", ane_machine_error());
        if (i % 2)
            assert_int_equal(ane_machine_wake(s.machine), 0);
        dispatches(&s);
        assert_int_equal(counter(&s, "dram.used"), dram);
    }
    assert_int_equal(counter(&s, "driver.recoveries"), 0);
    end(&s);
}

static void a_crash_is_known_after_sleep(void **state)
{
    struct pr_dump_restarts restarts;
    struct pr_dump dump;
    struct subject s;

    (void)state;
    make(&s);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(ane_machine_sleep(s.machine), 0);
        a_crash(&s, 1);
        dump = last_dump(&s);
        assert_true(pr_dump_copy(&dump, PR_DUMP_RESTARTS, &restarts, sizeof(restarts)));
        /* Of the boots before: this one's wake, and a recovery and a wake for each crash before. */
        assert_int_equal(restarts.count, 1 + 2 * i);
    }
    end(&s);
}

static void dumps_go_to_a_folder(void **state)
{
    char path[512];
    struct subject s;

    (void)state;
    make_with(&s, (struct ane_machine_config){.dump_folder = folder_name()});
    for (unsigned i = 0; i < 10; i++)
        a_crash(&s, i);
    for (unsigned i = 0; i < 10; i++) {
        size_t size = 0;
        uint8_t *bytes;

        snprintf(path, sizeof(path), "%s/firmware-dump-%u.aned", folder_name(), i);
        bytes = test_file_read(path, &size);
        assert_int_equal(bytes != NULL, i < 8);
        if (bytes)
            assert_true(pr_dump_begins(bytes, size));
        free(bytes);
    }
    end(&s);
    make_with(&s, (struct ane_machine_config){.dump_folder = "/nowhere/at/all"});
    a_crash(&s, 0);
    assert_int_equal(counter(&s, "driver.dumps_unwritten"), 1);
    dispatches(&s);
    end(&s);
}

static void the_firmware_reports(void **state)
{
    static const struct {
        const char *name, *holds;
    } rows[] = {{"tasks", "exeloop"},
                {"pools", "task"},
                {"arenas", ""},
                {"counters", "faulted"},
                {"cache", "enabled"}};
    struct subject s;
    char text[0x1800];

    (void)state;
    make(&s);
    for (unsigned i = 0; i < 4; i++) {
        size_t bytes = sizeof(text);

        if (ane_machine_report(s.machine, rows[i].name, text, &bytes))
            fail_msg("%s", ane_machine_error());
        assert_true(bytes > 0 && strlen(text) == bytes);
        if (!strstr(text, rows[i].holds))
            fail_msg("%s: %s", rows[i].name, text);
    }
    assert_int_equal(ane_machine_report(s.machine, "task", text, &(size_t){sizeof(text)}), -EINVAL);
    assert_int_equal(ane_machine_report(s.machine, "tasks", text, &(size_t){8}), -ENOSPC);
    end(&s);
}

/* Clients on threads of their own, in wall time, while the firmware fails again and again. */

#define THREADS 4u
#define STEPS   200u

/* Not ready: three crashes came before one boot was over. */
struct worker {
    struct iorig_accumulator a;
    unsigned good, aborted, not_ready, others;
    IOReturn other;
};

static void *work(void *context)
{
    struct worker *worker = context;

    for (unsigned i = 0; i < STEPS; i++) {
        IOReturn result = iorig_accumulator_step(&worker->a);

        worker->good += result == kIOReturnSuccess;
        worker->aborted += result == kIOReturnAborted;
        worker->not_ready += result == kIOReturnNotReady;
        if (result != kIOReturnSuccess && result != kIOReturnAborted && result != kIOReturnNotReady) {
            worker->others++;
            worker->other = result;
        }
    }
    return NULL;
}

static void clients_on_threads(void **state)
{
    struct worker worker[THREADS];
    pthread_t thread[THREADS];
    struct subject s;

    (void)state;
    s = (struct subject){.machine = iorig_machine((struct ane_machine_config){0})};
    iorig_accumulator_make(&s.a, ane_machine_service(s.machine), CHANNELS, WIDTH);
    for (unsigned i = 0; i < THREADS; i++) {
        worker[i] = (struct worker){.good = 0};
        iorig_accumulator_make(&worker[i].a, ane_machine_service(s.machine), CHANNELS, WIDTH);
        assert_int_equal(pthread_create(&thread[i], NULL, work, &worker[i]), 0);
    }
    for (unsigned i = 0; i < 50; i++) {
        inject(&s, RT_FAULT_SYNC, "while others work");
        assert_true(ane_machine_run(s.machine, 2 * PR_RECOVERY_INTERVAL_NS) >= 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_int_equal(worker[i].good + worker[i].aborted + worker[i].not_ready + worker[i].others, STEPS);
        assert_true(worker[i].good > 0);
        if (worker[i].others)
            fail_msg("thread %u: %u calls answered 0x%x or so", i, worker[i].others,
                     (unsigned)worker[i].other);
        iorig_accumulator_release(&worker[i].a);
    }
    dispatches(&s);
    /* One that comes before a recovery is over belongs to that. */
    assert_true(counter(&s, "driver.recoveries") > 0 &&
                counter(&s, "driver.recoveries") <= counter(&s, "driver.crashes"));
    end(&s);
}

/* Not a dump, cut anywhere, or changed in its heads: refused, never read past its end. */
static void a_hostile_file_is_refused(void **state)
{
    static uint8_t bytes[PR_DUMP_FILE_BYTES_MAX], copy[PR_DUMP_FILE_BYTES_MAX];
    struct pr_problem problem;
    struct pr_dump dump;
    struct subject s;
    size_t size = sizeof(bytes);

    (void)state;
    make(&s);
    a_crash(&s, 0);
    assert_int_equal(ane_machine_dump(s.machine, bytes, &size), 0);
    assert_true(pr_dump_read(bytes, size, &dump, &problem));
    for (size_t cut = 0; cut < size; cut += 1 + cut / 16)
        assert_false(pr_dump_read(bytes, cut, &dump, &problem));
    for (size_t at = 0; at < sizeof(struct pr_dump_file) + sizeof(struct pr_dump_part); at++) {
        if (at >= offsetof(struct pr_dump_file, complete) && at < sizeof(struct pr_dump_file))
            continue;
        memcpy(copy, bytes, size);
        copy[at] ^= 0x55;
        if (pr_dump_read(copy, size, &dump, &problem))
            fail_msg("byte %zu may be anything", at);
    }
    end(&s);
}

/* The program's descriptor is changed in memory, past the driver's check, to one that the engine refuses. */
static void spoil_descriptor(struct subject *s, uint64_t token)
{
    const uint32_t record_of_no_register = 0xf4012340;
    const struct drv_program *program = s->machine->driver->programs;

    while (program->token != token)
        program = program->next;
    memcpy((uint8_t *)program->text.host + 0x28, &record_of_no_register, sizeof(record_of_no_register));
}

/* One step of another program of the same client, from a state of zeros. */
static void dispatches_another(struct iorig_accumulator *a)
{
    static uint8_t image[1 << 20];
    struct ane_program_prepare prepare;
    const uint64_t before = a->token;

    memset(ane_surface_base(a->state), 0, ane_surface_lookup(a->state));
    assert_int_equal(
        iorig_create(&a->client, image, iorig_image_add(image, sizeof(image), CHANNELS, WIDTH), &a->token),
        kIOReturnSuccess);
    assert_int_equal(iorig_prepare(&a->client, a->token, &prepare), kIOReturnSuccess);
    if (iorig_accumulator_step(a))
        fail_msg("%s", ane_machine_error());
    assert_true(iorig_accumulator_value(a) == 1.0);
    assert_int_equal(iorig_destroy(&a->client, before), kIOReturnSuccess);
}

/* The queue stops on a descriptor: its call ends at the deadline, and neither client notices afterwards. */
static void a_descriptor_that_never_completes(void **state)
{
    struct iorig_accumulator first;
    struct subject s;
    uint64_t began;

    (void)state;
    make(&s);
    iorig_accumulator_make(&first, ane_machine_service(s.machine), CHANNELS, WIDTH);
    assert_int_equal(iorig_accumulator_step(&first), kIOReturnSuccess);
    spoil_descriptor(&s, first.token);
    began = ane_machine_now(s.machine);
    assert_int_equal(iorig_accumulator_step(&first), kIOReturnError);
    says("the task queue stopped on a descriptor");
    assert_true(ane_machine_now(s.machine) - began >= PR_DEADLINE_NS);
    assert_true(ane_machine_now(s.machine) - began < 2 * PR_DEADLINE_NS);
    assert_int_equal(counter(&s, "engine.stuck"), 1);
    dispatches(&s);
    dispatches_another(&first);
    dispatches(&s);
    assert_int_equal(counter(&s, "driver.recoveries"), 0);
    iorig_accumulator_release(&first);
    end(&s);
}

/* A machine that ends at a bad time, with two clients and two requests outstanding. */

static void post(const struct iorig_accumulator *a, ane_port_t port)
{
    const uint32_t surfaces[3] = {a->x, a->state, a->state};
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request request = {.token = a->token,
                                  .priority = ANE_REQUEST_PRIORITY,
                                  .qos = ANE_REQUEST_QOS,
                                  .category = ANE_REQUEST_CATEGORY,
                                  .inputs = 2,
                                  .outputs = 1};
    struct ane_request_reply reply;
    uint64_t reference = 1;
    size_t size = sizeof(reply);

    memcpy(request.surface, surfaces, sizeof(surfaces));
    assert_int_equal(IOConnectCallAsyncMethod(a->client.connect, ANE_CONTROL_ProgramSendRequest, port,
                                              &reference, 1, &doorbell, 1, &request, sizeof(request), NULL,
                                              NULL, &reply, &size),
                     kIOReturnSuccess);
}

/* The first request is with the firmware, the second is queued in the driver. */
static void make_busy(struct subject *s, struct iorig_accumulator *second, ane_port_t *port)
{
    make(s);
    iorig_accumulator_make(second, ane_machine_service(s->machine), CHANNELS, WIDTH);
    assert_int_equal(ane_port_create(port), 0);
    post(&s->a, *port);
    post(second, *port);
}

/* Every request has ended with one message; what the clients had is gone. */
static void end_busy(struct subject *s, struct iorig_accumulator *second, ane_port_t port)
{
    struct ane_port_message message;

    ane_machine_destroy(s->machine);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(ane_port_receive(port, &message, 0), 0);
        if (message.result != kIOReturnAborted && message.result != kIOReturnSuccess &&
            message.result != ANE_RETURN_CLOSED)
            fail_msg("message %u: 0x%x", i, (unsigned)message.result);
    }
    assert_int_equal(ane_port_receive(port, &message, 0), -ETIMEDOUT);
    assert_int_equal(ane_port_release(port), 0);
    assert_int_equal(iorig_accumulator_step(second), ANE_RETURN_CLOSED);
    for (unsigned i = 0; i < 2; i++) {
        struct iorig_accumulator *a = i ? second : &s->a;

        (void)IOServiceClose(a->client.connect);
        ane_surface_release(a->x);
        ane_surface_release(a->state);
    }
}

/* From the crash to the end of a second recovery, which also waits for the interval. */
static void destroyed_while_it_recovers(void **state)
{
    struct iorig_accumulator second;
    struct subject s;
    ane_port_t port;

    (void)state;
    for (uint64_t i = 0; i < 40; i++) {
        make_busy(&s, &second, &port);
        inject(&s, RT_FAULT_SYNC, "the first");
        ane_machine_run(s.machine, i * i * 20000);
        inject(&s, RT_FAULT_SYNC, "the second");
        ane_machine_run(s.machine, i * 50000);
        end_busy(&s, &second, port);
    }
}

static void destroyed_while_it_sleeps(void **state)
{
    struct iorig_accumulator second;
    struct subject s;
    ane_port_t port;

    (void)state;
    for (unsigned busy = 0; busy < 2; busy++) {
        make_busy(&s, &second, &port);
        if (!busy)
            ane_machine_run(s.machine, 10 * PR_RECOVERY_INTERVAL_NS);
        assert_int_equal(ane_machine_sleep(s.machine), 0);
        end_busy(&s, &second, port);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dump_names_the_call),
        cmocka_unit_test(a_crash_during_recovery),
        cmocka_unit_test(crashes_faster_than_the_interval),
        cmocka_unit_test(a_client_does_not_wait_for_ever),
        cmocka_unit_test(a_stuck_queue_is_aborted),
        cmocka_unit_test(a_descriptor_that_never_completes),
        cmocka_unit_test(an_abort_that_does_not_clear),
        cmocka_unit_test(a_dispatch_wakes_the_device),
        cmocka_unit_test(a_crash_is_known_after_sleep),
        cmocka_unit_test(dumps_go_to_a_folder),
        cmocka_unit_test(the_firmware_reports),
        cmocka_unit_test(a_hostile_file_is_refused),
        cmocka_unit_test(destroyed_while_it_recovers),
        cmocka_unit_test(destroyed_while_it_sleeps),
        cmocka_unit_test(clients_on_threads),
        cmocka_unit_test(ten_thousand_crashes),
    };

    return cmocka_run_group_tests_name("recovery", tests, NULL, NULL);
}
