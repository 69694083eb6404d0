/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of programs on the whole machine: unwired when idle, wired again when used, with the same results.
 */
#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "driver/state.h"
#include "machine/internal.h"
#include "modelrig.h"
#include "rtkernel/fault.h"

/* 1,024 x 512 halves: 1 MiB. */
#define ROWS    1024u
#define COLUMNS 512u
#define CHANGED 40u
#define MIB     (1ull << 20)

static struct modelrig rig;

static int open_models(void **state)
{
    (void)state;
    modelrig_open(&rig, (struct ane_machine_config){.threads = 1}, ROWS, COLUMNS, CHANGED);
    assert_int_equal(modelrig_weight_bytes(&rig), MIB);
    return 0;
}

static int close_models(void **state)
{
    (void)state;
    modelrig_close(&rig);
    return 0;
}

static struct ane_machine_residency reclaim(uint64_t limit, uint32_t passes)
{
    struct ane_machine_residency now = {.size = sizeof(now)};

    assert_int_equal(ane_machine_reclaim(rig.machine, limit, passes, &now), 0);
    assert_int_equal(now.unwired, ane_machine_counter(rig.machine, "driver.unwired"));
    assert_int_equal(now.rewired, ane_machine_counter(rig.machine, "driver.rewired"));
    return now;
}

static uint64_t used(void)
{
    return ane_machine_counter(rig.machine, "dram.used");
}

/* A base, two adapters and an instance with the base's weights; a model of its own. */
struct family {
    uint64_t base, adapter[2], same, other;
};
#define WEIGHTED 4u /* programs with memory of their own */

static struct family make_family(void)
{
    struct family f = {.base = modelrig_base(&rig)};

    f.adapter[0] = modelrig_adapter(&rig, f.base, 1, 0);
    f.adapter[1] = modelrig_adapter(&rig, f.base, 2, 0);
    f.same = modelrig_adapter(&rig, f.base, MODELRIG_BASE, 0);
    f.other = modelrig_base(&rig);
    return f;
}

static void check_family(const struct family *f)
{
    modelrig_check(&rig, f->adapter[1], 2);
    modelrig_check(&rig, f->same, MODELRIG_BASE);
    modelrig_check(&rig, f->base, MODELRIG_BASE);
    modelrig_check(&rig, f->other, MODELRIG_BASE);
    modelrig_check(&rig, f->adapter[0], 1);
}

static void idle_programs_leave_dram(void **state)
{
    const struct family f = make_family();
    struct ane_machine_residency now = reclaim(UINT64_MAX, 0);
    const uint64_t wired = now.wired, before = used();

    (void)state;
    assert_true(now.programs == 5 && now.unwired == 0 && now.pageable == 0 && wired > 2 * MIB);
    check_family(&f);
    for (unsigned round = 1; round <= 3; round++) {
        now = reclaim(0, 0);
        assert_int_equal(now.wired, 0);
        /* Containers and working sets are not kept: a page each of four programs. */
        assert_int_equal(now.pageable, wired - 2 * WEIGHTED * PR_PAGE_BYTES);
        assert_true(used() <= before - wired);
        assert_int_equal(now.unwired, WEIGHTED * round);
        check_family(&f);
        now = reclaim(UINT64_MAX, 0);
        assert_true(now.wired == wired && now.pageable == 0 && now.rewired == WEIGHTED * round);
        assert_true(now.asleep == 0 && now.sleeps == 0);
    }
    /* Unwired ones are destroyed like others, an adapter before its base. */
    reclaim(0, 0);
    assert_int_equal(iorig_destroy(&rig.client, f.base), kIOReturnBusy);
    assert_int_equal(iorig_destroy(&rig.client, f.adapter[0]), kIOReturnSuccess);
    modelrig_check(&rig, f.adapter[1], 2);
    reclaim(0, 0);
    assert_int_equal(iorig_unprepare(&rig.client, f.other), kIOReturnSuccess);
    assert_int_equal(iorig_destroy(&rig.client, f.other), kIOReturnSuccess);
    modelrig_check(&rig, f.same, MODELRIG_BASE);
    reclaim(0, 0);
    /* The others are left to the close. */
}

/* An instance of a base that is not wired. */
static void instances_wire_their_base(void **state)
{
    const uint64_t base = modelrig_base(&rig);
    uint64_t adapter, same;

    (void)state;
    reclaim(0, 0);
    adapter = modelrig_adapter(&rig, base, 3, 0);
    modelrig_check(&rig, adapter, 3);
    assert_int_equal(reclaim(0, 0).wired, 0);
    same = modelrig_adapter(&rig, base, MODELRIG_BASE, 0);
    modelrig_check(&rig, same, MODELRIG_BASE);
    modelrig_check(&rig, base, MODELRIG_BASE);
    modelrig_check(&rig, adapter, 3);
}

static void passes_count(void **state)
{
    const uint64_t a = modelrig_base(&rig), b = modelrig_base(&rig);
    const uint64_t both = reclaim(UINT64_MAX, 0).wired;

    (void)state;
    /* Both were made before the pass that has just been: one pass without a use. */
    modelrig_check(&rig, a, MODELRIG_BASE);
    assert_int_equal(reclaim(0, 2).unwired, 0);
    assert_int_equal(reclaim(0, 2).unwired, 1); /* b: three passes; a: two, of which the first saw its use */
    modelrig_check(&rig, b, MODELRIG_BASE);
    assert_int_equal(reclaim(both, 0).unwired, 1); /* not above the limit */
    modelrig_check(&rig, a, MODELRIG_BASE);
    modelrig_check(&rig, b, MODELRIG_BASE);
    /* One too much: the one that was idle longest. */
    assert_int_equal(reclaim(both - 1, 0).unwired, 2);
    modelrig_check(&rig, b, MODELRIG_BASE);
    assert_int_equal(ane_machine_counter(rig.machine, "driver.rewired"), 1);
    modelrig_check(&rig, a, MODELRIG_BASE);
    assert_int_equal(ane_machine_counter(rig.machine, "driver.rewired"), 2);
}

static void kept_ones_stay(void **state)
{
    const uint64_t base = modelrig_base(&rig), other = modelrig_base(&rig),
                   adapter = modelrig_adapter(&rig, base, 1, 0),
                   kept = modelrig_adapter(&rig, base, 2, ANE_INSTANCE_KEEP_WIRED);
    struct ane_machine_residency now = reclaim(0, 0);

    (void)state;
    /* The other one and the adapter go; the base stays with its instance. */
    assert_true(now.unwired == 2 && now.wired >= MIB);
    modelrig_check(&rig, kept, 2);
    modelrig_check(&rig, base, MODELRIG_BASE);
    assert_int_equal(ane_machine_counter(rig.machine, "driver.rewired"), 0);
    modelrig_check(&rig, adapter, 1);
    modelrig_check(&rig, other, MODELRIG_BASE);
    assert_int_equal(iorig_destroy(&rig.client, kept), kIOReturnSuccess);
    assert_int_equal(reclaim(0, 0).wired, 0);
}

/* While the device sleeps, and after a restart: programs leave DRAM without a command, and the device sleeps
 * on. */
static void unwired_without_firmware(void **state)
{
    const struct family f = make_family();
    struct ane_machine_residency now;

    (void)state;
    assert_int_equal(ane_machine_sleep(rig.machine), 0);
    now = reclaim(0, 0);
    assert_true(now.wired == 0 && now.asleep == 1 && now.sleeps == 0);
    check_family(&f);
    reclaim(0, 0);
    mach_cpu_inject(rig.machine, RT_FAULT_SYNC, "made up");
    (void)modelrig_run(&rig, f.same);
    check_family(&f);
    assert_int_equal(ane_machine_counter(rig.machine, "driver.recoveries"), 1);
    assert_int_equal(reclaim(0, 0).wired, 0);
    check_family(&f);
}

/* Of 64 MiB of DRAM so much is left as one model takes, and half of it. */
static void take_dram(struct ane_machine *machine)
{
    uint64_t at;

    while (64 * MIB - ane_machine_counter(machine, "dram.used") > 3 * MIB / 2 + MIB / 8)
        assert_int_equal(ane_machine_dram_alloc(machine, MIB / 8, &at), 0);
}

static int open_small(void **state)
{
    (void)state;
    modelrig_open(&rig, (struct ane_machine_config){.threads = 1, .dram_bytes = 64 * MIB}, ROWS, COLUMNS,
                  CHANGED);
    return 0;
}

/* Two models of which DRAM has room for one: each use of one takes the other out. */
static void full_dram_unwires(void **state)
{
    const uint64_t a = modelrig_base(&rig), b = modelrig_base(&rig);

    (void)state;
    reclaim(0, 0);
    take_dram(rig.machine);
    for (unsigned i = 0; i < 3; i++) {
        modelrig_check(&rig, a, MODELRIG_BASE);
        modelrig_check(&rig, b, MODELRIG_BASE);
    }
    assert_int_equal(ane_machine_counter(rig.machine, "driver.unwired"), 2 + 5);
    assert_int_equal(ane_machine_counter(rig.machine, "driver.rewired"), 6);
}

/* What stays leaves no room: the code says so, and the program is as it was. */
static void full_dram_is_refused(void **state)
{
    const uint64_t a = modelrig_base(&rig), b = modelrig_base(&rig);
    uint64_t kept;

    (void)state;
    reclaim(0, 0);
    take_dram(rig.machine);
    modelrig_check(&rig, b, MODELRIG_BASE);
    kept = modelrig_adapter(&rig, b, 1, ANE_INSTANCE_KEEP_WIRED);
    assert_int_equal(modelrig_run(&rig, a), kIOReturnNoMemory);
    assert_non_null(strstr(ane_machine_error(), "cannot be wired again"));
    modelrig_check(&rig, kept, 1);
    modelrig_check(&rig, b, MODELRIG_BASE);
    assert_int_equal(modelrig_run(&rig, a), kIOReturnNoMemory);
    assert_int_equal(iorig_destroy(&rig.client, kept), kIOReturnSuccess);
    modelrig_check(&rig, a, MODELRIG_BASE);
}

/*
 * Requests of several threads while the worker takes out whatever is idle: thirty each, and more until it has
 * taken out some that were used again.
 */
static struct family shared;
static atomic_uint running;
static atomic_bool taken;

struct worker {
    pthread_t thread;
    uint64_t token;
    uint32_t variant;
};

static void *work(void *context)
{
    struct worker *worker = context;
    struct modelrig own = rig;

    assert_int_equal(ane_surface_create(0, ane_surface_lookup(rig.y), &own.y), 0);
    for (unsigned i = 0; i < 30 || !atomic_load(&taken); i++)
        modelrig_check(&own, worker->token, worker->variant);
    ane_surface_release(own.y);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* Also while the device sleeps again and again: a request that is under way then goes on. */
static void requests_beside_the_worker(void **state)
{
    struct ane_machine_residency now = {.size = sizeof(now)};
    struct worker worker[5];
    unsigned passes = 0;

    (void)state;
    shared = make_family();
    worker[0] = (struct worker){.token = shared.base, .variant = MODELRIG_BASE};
    worker[1] = (struct worker){.token = shared.adapter[0], .variant = 1};
    worker[2] = (struct worker){.token = shared.adapter[1], .variant = 2};
    worker[3] = (struct worker){.token = shared.same, .variant = MODELRIG_BASE};
    worker[4] = (struct worker){.token = shared.other, .variant = MODELRIG_BASE};
    atomic_store(&running, 5);
    atomic_store(&taken, false);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
    while (atomic_load(&running)) {
        assert_int_equal(ane_machine_reclaim(rig.machine, 0, 0, &now), 0);
        atomic_store(&taken, now.unwired > WEIGHTED);
        if (++passes % 4 == 0)
            (void)ane_machine_sleep(rig.machine);
    }
    for (unsigned i = 0; i < 5; i++)
        pthread_join(worker[i].thread, NULL);
    check_family(&shared);
}

/* More programs than the firmware has slots, 144: those that are idle make room. */
static void more_programs_than_slots(void **state)
{
    enum { COUNT = 150 };
    static struct iorig_accumulator a[COUNT];

    (void)state;
    for (unsigned i = 0; i < COUNT; i++)
        iorig_accumulator_make(&a[i], ane_machine_service(rig.machine), 2, 16);
    for (unsigned round = 1; round <= 2; round++)
        for (unsigned i = 0; i < COUNT; i++) {
            if (iorig_accumulator_step(&a[i]))
                fail_msg("%s", ane_machine_error());
            assert_true(iorig_accumulator_value(&a[i]) == round);
        }
    assert_int_equal(ane_machine_counter(rig.machine, "driver.unwired"), 0); /* there is memory for all */
    for (unsigned i = 0; i < COUNT; i++)
        iorig_accumulator_release(&a[i]);
}

/* The same calls, with passes between them: the same trace. */
static uint64_t hash_of_a_run(void)
{
    const struct ane_machine_config config = {.threads = 1, .clock = ANE_CLOCK_CLOSED};
    struct family f;
    uint64_t hash;

    modelrig_open(&rig, config, ROWS, COLUMNS, CHANGED);
    f = make_family();
    for (unsigned i = 0; i < 3; i++) {
        check_family(&f);
        reclaim(i * MIB, 0);
        if (i == 1)
            assert_int_equal(ane_machine_sleep(rig.machine), 0);
        modelrig_check(&rig, f.adapter[0], 1);
        reclaim(0, 1);
    }
    hash = ane_machine_trace_hash(rig.machine);
    modelrig_close(&rig);
    return hash;
}

static void passes_are_reproducible(void **state)
{
    const uint64_t first = hash_of_a_run();

    (void)state;
    assert_true(first == hash_of_a_run());
}

static void wrong_arguments(void **state)
{
    struct ane_machine_residency now = {.size = sizeof(now) - 1};
    struct ane_machine_config config = {.size = sizeof(config)};
    struct ane_machine *bare;

    (void)state;
    assert_int_equal(ane_machine_reclaim(rig.machine, 0, 0, &now), -EINVAL);
    assert_int_equal(ane_machine_reclaim(rig.machine, 0, 0, NULL), 0);
    assert_int_equal(ane_machine_reclaim(NULL, 0, 0, NULL), -EPERM);
    assert_int_equal(ane_machine_create(&config, &bare), 0);
    assert_int_equal(ane_machine_reclaim(bare, 0, 0, NULL), -ENODEV);
    ane_machine_destroy(bare);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_models, close_models)
    const struct CMUnitTest tests[] = {
        CASE(idle_programs_leave_dram),
        CASE(instances_wire_their_base),
        CASE(passes_count),
        CASE(kept_ones_stay),
        CASE(unwired_without_firmware),
        cmocka_unit_test_setup_teardown(full_dram_unwires, open_small, close_models),
        cmocka_unit_test_setup_teardown(full_dram_is_refused, open_small, close_models),
        CASE(requests_beside_the_worker),
        CASE(more_programs_than_slots),
        cmocka_unit_test(passes_are_reproducible),
        CASE(wrong_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
