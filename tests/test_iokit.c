/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole tree below the runtime, through iokit.h: the resident accumulator, sabotage at every wall,
 * threads, clients that close, several machines, and the warm path's promises.
 */
#include "support.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "iorig.h"
#include "machine/internal.h"
#include "sabotage.h"

static struct ane_machine *make_clocked(uint32_t clock)
{
    return iorig_machine((struct ane_machine_config){.trace = 1, .clock = clock});
}

static struct ane_machine *make(void)
{
    return make_clocked(ANE_CLOCK_OPEN);
}

static void the_accumulator_counts(void **state)
{
    struct ane_machine *machine = make();
    struct iorig_accumulator a;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 4, 40);
    for (unsigned i = 1; i <= 4; i++) {
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
        assert_true(iorig_accumulator_value(&a) == i);
    }
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

/* What each broken wall must be called. */
static const struct {
    enum sabotage_kind kind;
    const char *word;
} walls[] = {
    {SABOTAGE_DROP_DOORBELL, "never took"},          {SABOTAGE_CORRUPT_SLOT, "completion never arrived"},
    {SABOTAGE_CLEAR_PTE, "read of 0x4000, no page"}, {SABOTAGE_ZERO_BAR, "read of 0x0, no page"},
    {SABOTAGE_DROP_PUSH, "push never reached"},      {SABOTAGE_CUT_ENGINE_LINE, "interrupt never came"},
    {SABOTAGE_DROP_COMPLETION, "doorbell was lost"}, {SABOTAGE_CUT_HOST_LINE, "interrupt lost"},
    {SABOTAGE_CLOSE_WINDOW, "fabric rejected"},
};

static void every_wall_is_real(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(walls) / sizeof(walls[0]); i++) {
        /* A lost request times out in virtual time. */
        struct ane_machine *machine = make_clocked(ANE_CLOCK_CLOSED);
        struct iorig_accumulator a;
        struct sabotage s;
        IOReturn status;

        iorig_accumulator_make(&a, ane_machine_service(machine), 4, 40);
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
        sabotage_begin(&s, machine, walls[i].kind);
        status = iorig_accumulator_step(&a);
        print_message("# %s: 0x%x: %s\n", sabotage_text(walls[i].kind), (unsigned)status,
                      ane_machine_error());
        assert_true(s.hits > 0);
        assert_int_not_equal(status, kIOReturnSuccess);
        assert_non_null(strstr(ane_machine_error(), walls[i].word));
        sabotage_end(&s);
        IOServiceClose(a.client.connect);
        ane_surface_release(a.x);
        ane_surface_release(a.state);
        ane_machine_destroy(machine);
    }
}

/* Stages are contiguous: those of a request add up to the virtual time of its call. */
static void a_profile_divides_every_request(void **state)
{
    struct ane_machine *machine = make_clocked(ANE_CLOCK_CLOSED);
    struct ane_machine_profile profile;
    struct iorig_accumulator a;
    uint64_t passed = 0, sum = 0;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 4, 40);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_int_equal(ane_machine_profile(machine, 1, NULL), 0);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t before = ane_machine_now(machine);

        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
        passed += ane_machine_now(machine) - before;
    }
    assert_int_equal(ane_machine_profile(machine, 0, &profile), 0);
    assert_int_equal(profile.requests, 3);
    for (unsigned i = 0; i < ANE_STAGES; i++)
        sum += profile.virtual_ns[i];
    assert_true(passed > 0 && sum == passed);
    /* Off: nothing is counted. */
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_int_equal(ane_machine_profile(machine, 0, &profile), 0);
    assert_int_equal(profile.requests, 0);
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

#define THREADS 8
#define STEPS   200

struct worker {
    io_service_t service;
    unsigned number;
    double value;
};

static void *accumulate(void *context)
{
    struct worker *worker = context;
    struct iorig_accumulator a;

    iorig_accumulator_make(&a, worker->service, 1 + worker->number, 20 + worker->number);
    for (unsigned i = 0; i < STEPS; i++)
        if (iorig_accumulator_step(&a))
            return NULL;
    worker->value = iorig_accumulator_value(&a);
    iorig_accumulator_release(&a);
    return NULL;
}

static void eight_threads_share_a_machine(void **state)
{
    struct ane_machine *machine = make();
    struct worker worker[THREADS];
    pthread_t thread[THREADS];

    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        worker[i] = (struct worker){.service = ane_machine_service(machine), .number = i};
        assert_int_equal(pthread_create(&thread[i], NULL, accumulate, &worker[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < THREADS; i++)
        assert_true(worker[i].value == STEPS);
    ane_machine_destroy(machine);
}

struct stepper {
    struct iorig_accumulator *a;
    IOReturn status;
    unsigned steps;
};

static void *step_until_closed(void *context)
{
    struct stepper *stepper = context;

    while (!(stepper->status = iorig_accumulator_step(stepper->a)))
        stepper->steps++;
    return NULL;
}

static void a_client_closed_by_another_thread_ends_cleanly(void **state)
{
    struct ane_machine *machine = make();
    uint64_t used = ane_machine_counter(machine, "dram.used");

    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        struct iorig_accumulator a;
        struct stepper stepper = {.a = &a};
        pthread_t thread;

        iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
        assert_int_equal(pthread_create(&thread, NULL, step_until_closed, &stepper), 0);
        usleep(500 * round);
        assert_int_equal(IOServiceClose(a.client.connect), kIOReturnSuccess);
        pthread_join(thread, NULL);
        assert_true(stepper.status == kIOReturnAborted || stepper.status == ANE_RETURN_CLOSED);
        ane_surface_release(a.x);
        ane_surface_release(a.state);
    }
    assert_int_equal(drv_stats_get(machine->driver).clients, 0);
    assert_int_equal(drv_stats_get(machine->driver).programs, 0);
    assert_int_equal(drv_stats_get(machine->driver).surfaces_mapped, 0);
    assert_int_equal(ane_machine_counter(machine, "dram.used"), used);
    ane_machine_destroy(machine);
}

static void three_machines_at_once(void **state)
{
    struct ane_machine *one = make(), *two = make();
    struct iorig_accumulator a, b, c;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(one), 2, 8);
    iorig_accumulator_make(&b, ane_machine_service(two), 3, 9);
    iorig_accumulator_make(&c, IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn")), 4, 10);
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
        assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
        assert_int_equal(iorig_accumulator_step(&c), kIOReturnSuccess);
        assert_int_equal(iorig_accumulator_step(&b), kIOReturnSuccess);
        assert_true(iorig_accumulator_value(&a) == i && iorig_accumulator_value(&b) == 2 * i &&
                    iorig_accumulator_value(&c) == i);
    }
    iorig_accumulator_release(&a);
    iorig_accumulator_release(&b);
    iorig_accumulator_release(&c);
    ane_machine_destroy(one);
    ane_machine_destroy(two);
}

/* The engine reads and writes buffers at every multiple of 16 bytes (Table 28.9), and at no other place. */
static void a_buffer_begins_on_the_dma_granule(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    struct ane_machine *machine;
    struct iorig_accumulator a;
    uint32_t surface[3];

    (void)state;
    assert_int_equal(ane_machine_create(&config, &machine), 0);
    iorig_accumulator_make(&a, ane_machine_service(machine), 1, 32);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(ane_surface_create(0, 4096, &surface[i]), 0);
    for (uint64_t at = 0; at < 128; at += 8) {
        struct ane_request request = {.token = a.token,
                                      .priority = ANE_REQUEST_PRIORITY,
                                      .qos = ANE_REQUEST_QOS,
                                      .category = ANE_REQUEST_CATEGORY,
                                      .inputs = 2,
                                      .outputs = 1,
                                      .surface = {surface[0], surface[1], surface[2]},
                                      .offset = {at, 2 * at, 3 * at}};
        uint16_t *x = ane_surface_base(surface[0]), *y = ane_surface_base(surface[1]),
                 *sum = ane_surface_base(surface[2]);
        size_t size = sizeof(reply);
        IOReturn result;

        for (unsigned i = 0; i < 2048; i++) {
            x[i] = y[i] = 0x4400; /* 4 */
            sum[i] = 0x7777;
        }
        for (unsigned i = 0; i < 32; i++) {
            x[at / 2 + i] = 0x3c00; /* 1 */
            y[at + i] = 0x4000;     /* 2 */
        }
        result = IOConnectCallMethod(a.client.connect, ANE_CONTROL_ProgramSendRequest, &doorbell, 1, &request,
                                     sizeof(request), NULL, NULL, &reply, &size);
        assert_int_equal(result, at % 16 ? kIOReturnBadArgument : kIOReturnSuccess);
        for (unsigned i = 0; i < 2048; i++)
            assert_int_equal(sum[i],
                             at % 16 == 0 && i >= 3 * at / 2 && i < 3 * at / 2 + 32 ? 0x4200 : 0x7777);
    }
    for (unsigned i = 0; i < 3; i++)
        ane_surface_release(surface[i]);
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

static void a_warm_path_asks_the_host_for_nothing(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct ane_machine *machine;
    struct iorig_accumulator a;
    struct rusage before, after;
    unsigned long allocations;

    (void)state;
    assert_int_equal(ane_machine_create(&config, &machine), 0);
    iorig_accumulator_make(&a, ane_machine_service(machine), 1, 32);
    for (unsigned i = 0; i < PR_LOAD_CALLS + 100; i++) /* past the first load report */
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    allocations = base_alloc_count();
    getrusage(RUSAGE_THREAD, &before);
    for (unsigned i = 0; i < 10000; i++)
        if (iorig_accumulator_step(&a))
            fail();
    getrusage(RUSAGE_THREAD, &after);
    assert_int_equal(base_alloc_count(), allocations);
    assert_int_equal(after.ru_majflt, before.ru_majflt);
    assert_int_equal(after.ru_nvcsw, before.ru_nvcsw); /* voluntary: the thread never slept */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_int_equal(after.ru_minflt, before.ru_minflt);
#endif
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

/* In a child that may only read, write and exit: a system call on the warm path would end it. */
static void a_thousand_warm_dispatches_in_seccomp(void **state)
{
    pid_t child;
    int status;

    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizers make system calls of their own */
#endif
    child = fork();
    if (child == 0) {
        struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
        struct ane_machine *machine;
        struct iorig_accumulator a;

        if (ane_machine_create(&config, &machine))
            _exit(2);
        iorig_accumulator_make(&a, ane_machine_service(machine), 1, 32);
        for (unsigned i = 0; i < 10; i++)
            if (iorig_accumulator_step(&a))
                _exit(3);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        for (unsigned i = 0; i < 1000; i++)
            if (iorig_accumulator_step(&a))
                syscall(SYS_exit, 4);
        syscall(SYS_exit, 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void only_the_entitled_open(void **state)
{
    struct ane_machine *machine = make();
    const char *const names[] = {"com.apple.ane.iokit-user-access"};
    ane_task_t stranger = ane_task_create(NULL, 0, "TEAM", NULL),
               broker = ane_task_create(names, 1, "TEAM", NULL);
    struct iorig_client client;
    static uint8_t image[1 << 20];
    size_t size = iorig_image_add(image, sizeof(image), 1, 8);
    uint64_t token;

    (void)state;
    assert_int_equal(iorig_open(ane_machine_service(machine), stranger, ANE_CLIENT_CONTROL, &client),
                     kIOReturnUnsupported);
    assert_int_equal(iorig_open(ane_machine_service(machine), broker, ANE_CLIENT_CONTROL, &client),
                     kIOReturnSuccess);
    assert_int_equal(iorig_create(&client, image, size, &token),
                     kIOReturnNotPermitted); /* raw images need the developer flag */
    assert_int_equal(IOServiceClose(client.connect), kIOReturnSuccess);
    assert_int_equal(IOServiceClose(client.connect), ANE_RETURN_CLOSED);
    assert_int_equal(IOServiceClose(77), kIOReturnBadArgument);
    assert_int_equal(iorig_open(0, 0, ANE_CLIENT_CONTROL, &client), kIOReturnNoDevice);
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, 77, &client), kIOReturnBadArgument);
    ane_task_release(stranger);
    ane_task_release(broker);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_accumulator_counts),
        cmocka_unit_test(every_wall_is_real),
        cmocka_unit_test(a_profile_divides_every_request),
        cmocka_unit_test(eight_threads_share_a_machine),
        cmocka_unit_test(a_client_closed_by_another_thread_ends_cleanly),
        cmocka_unit_test(three_machines_at_once),
        cmocka_unit_test(a_buffer_begins_on_the_dma_granule),
        cmocka_unit_test(a_warm_path_asks_the_host_for_nothing),
        cmocka_unit_test(a_thousand_warm_dispatches_in_seccomp),
        cmocka_unit_test(only_the_entitled_open),
    };

    return cmocka_run_group_tests_name("iokit", tests, NULL, NULL);
}
