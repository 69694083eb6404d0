/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who owns what, through iokit.h and machine.h: surfaces and programs of tasks, identities, connections of a
 * machine that ends, ids that have been given back, forks. Everything here happens in one order.
 */
#include "support.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "iorig.h"
#include "machine/internal.h"

static struct ane_machine *make(void)
{
    return iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED});
}

static const char *const open_entitlement[] = {"com.apple.ane.iokit-user-access", "com.apple.ane.memory"};

static ane_task_t make_task(const char *team, uint8_t hash)
{
    uint8_t cdhash[20];
    ane_task_t task;

    memset(cdhash, hash, sizeof(cdhash));
    task = ane_task_create(open_entitlement, 2, team, hash ? cdhash : NULL);
    assert_int_not_equal(task, 0);
    return task;
}

static void says(const char *words)
{
    if (!strstr(ane_machine_error(), words))
        fail_msg("\"%s\" does not say \"%s\"", ane_machine_error(), words);
}

static void memory_map(const struct iorig_client *client, uint32_t surface, IOReturn expected)
{
    struct ane_memory_map map = {
        .surface = surface, .usage = ANE_MAP_INPUT, .size = 64, .token = client->session};
    uint64_t zero = 0, address = 0;
    uint32_t one = 1;

    assert_int_equal(IOConnectCallMethod(client->connect, ANE_DIRECT_MemoryMapRequest, &zero, 1, &map,
                                         sizeof(map), &address, &one, NULL, NULL),
                     expected);
}

/* Another task can neither map, nor bind, nor have statistics written to a surface whose id it guesses. */
static void a_surface_belongs_to_its_task(void **state)
{
    struct ane_machine *machine = make();
    ane_task_t a = make_task("TEAM", 1), b = make_task("OTHER", 2);
    struct iorig_client direct;
    uint32_t mine, theirs;

    (void)state;
    assert_int_equal(ane_surface_create(a, 64, &mine), 0);
    assert_int_equal(ane_surface_create(b, 64, &theirs), 0);
    assert_int_equal(iorig_open(ane_machine_service(machine), b, ANE_CLIENT_DIRECT_PATH, &direct),
                     kIOReturnSuccess);
    memory_map(&direct, mine, kIOReturnNotPermitted);
    says("belongs to another task");
    memory_map(&direct, theirs, kIOReturnSuccess);
    IOServiceClose(direct.connect);
    /* The process itself is a task too. */
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_DIRECT_PATH, &direct),
                     kIOReturnSuccess);
    memory_map(&direct, mine, kIOReturnNotPermitted);
    assert_int_equal(ane_surface_create(12345, 64, &mine), -EINVAL);
    ane_machine_destroy(machine);
    ane_surface_release(theirs);
    ane_task_release(a);
    ane_task_release(b);
}

/* A shared surface may be used by the task it was shared with, by no third one, and by neither afterwards. */
static void a_surface_is_shared_by_name(void **state)
{
    struct ane_machine *machine = make();
    ane_task_t a = make_task("TEAM", 1), b = make_task("OTHER", 2), c = make_task("THIRD", 3);
    struct iorig_client second, third;
    uint32_t surface;

    (void)state;
    assert_int_equal(ane_surface_create(a, 64, &surface), 0);
    assert_int_equal(iorig_open(ane_machine_service(machine), b, ANE_CLIENT_DIRECT_PATH, &second),
                     kIOReturnSuccess);
    assert_int_equal(iorig_open(ane_machine_service(machine), c, ANE_CLIENT_DIRECT_PATH, &third),
                     kIOReturnSuccess);
    assert_int_equal(ane_surface_share(surface, b, b), -EINVAL);
    assert_int_equal(ane_surface_share(surface, a, 12345), -EINVAL);
    assert_int_equal(ane_surface_share(surface + 1, a, b), -ENOENT);
    assert_int_equal(ane_surface_share(surface, c, b), -EPERM);
    assert_int_equal(ane_surface_unshare(surface, c, b), -EPERM);
    assert_int_equal(ane_surface_unshare(surface + 1, a, b), -ENOENT);
    memory_map(&second, surface, kIOReturnNotPermitted);
    assert_int_equal(ane_surface_share(surface, a, b), 0);
    assert_int_equal(ane_surface_share(surface, a, b), 0);
    memory_map(&second, surface, kIOReturnSuccess);
    memory_map(&third, surface, kIOReturnNotPermitted);
    says("has not shared it");
    /* A mapping that the client has already does not let it map again. */
    assert_int_equal(ane_surface_unshare(surface, a, b), 0);
    assert_int_equal(ane_surface_unshare(surface, a, b), 0);
    memory_map(&second, surface, kIOReturnNotPermitted);
    assert_int_equal(ane_surface_share(surface, a, b), 0);
    ane_surface_release(surface);
    memory_map(&second, surface, kIOReturnBadArgument);
    assert_int_equal(ane_surface_share(surface, a, b), -ENOENT);
    ane_machine_destroy(machine);
    ane_task_release(a);
    ane_task_release(b);
    ane_task_release(c);
}

/*
 * A request over a shared surface sees the owner's bytes; once it is unshared, it is refused though bound
 * before.
 */
static void a_shared_surface_is_bound_until_it_is_unshared(void **state)
{
    struct ane_machine *machine = make();
    ane_task_t owner = make_task("TEAM", 1);
    struct iorig_accumulator sum;
    struct ane_request_reply reply;
    uint32_t ones, surfaces[3];

    (void)state;
    iorig_accumulator_make(&sum, ane_machine_service(machine), 1, 8);
    assert_int_equal(ane_surface_create(owner, ane_surface_lookup(sum.x), &ones), 0);
    memcpy(ane_surface_base(ones), ane_surface_base(sum.x), ane_surface_lookup(sum.x));
    surfaces[0] = ones;
    surfaces[1] = surfaces[2] = sum.state;
    assert_int_equal(iorig_request(&sum.client, sum.token, 0, 5, surfaces, 2, 1, &reply),
                     kIOReturnNotPermitted);
    assert_int_equal(ane_surface_share(ones, owner, 0), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(iorig_request(&sum.client, sum.token, 0, 5, surfaces, 2, 1, &reply),
                         kIOReturnSuccess);
    assert_true(iorig_accumulator_value(&sum) == 2);
    assert_int_equal(ane_surface_unshare(ones, owner, 0), 0);
    assert_int_equal(iorig_request(&sum.client, sum.token, 0, 5, surfaces, 2, 1, &reply),
                     kIOReturnNotPermitted);
    assert_true(iorig_accumulator_value(&sum) == 2);
    iorig_accumulator_release(&sum);
    ane_surface_release(ones);
    ane_machine_destroy(machine);
    ane_task_release(owner);
}

/* A client may own 128 of the firmware's 144 programs; the others are left to other clients. */
static void programs_of_one_client_are_limited(void **state)
{
    static uint8_t image[1 << 16];
    const size_t size = iorig_image_add(image, sizeof(image), 1, 8);
    struct ane_machine *machine = make();
    struct iorig_client greedy, other;
    uint64_t token, first = 0;

    (void)state;
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &greedy),
                     kIOReturnSuccess);
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &other),
                     kIOReturnSuccess);
    for (unsigned i = 0; i < 128; i++)
        assert_int_equal(iorig_create(&greedy, image, size, i ? &token : &first), kIOReturnSuccess);
    assert_int_equal(iorig_create(&greedy, image, size, &token), kIOReturnNoResources);
    assert_non_null(strstr(drv_last_error(machine->driver), "has 128 programs; the limit is 128"));
    assert_int_equal(drv_stats_get(machine->driver).over_quota, 1);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(iorig_create(&other, image, size, &token), kIOReturnSuccess);
    /* The firmware's limit: one that is idle makes room. */
    assert_int_equal(iorig_create(&other, image, size, &token), kIOReturnSuccess);
    assert_int_equal(iorig_destroy(&greedy, first), kIOReturnSuccess);
    assert_int_equal(iorig_create(&greedy, image, size, &token), kIOReturnSuccess);
    IOServiceClose(greedy.connect);
    IOServiceClose(other.connect);
    ane_machine_destroy(machine);
}

/* A program of the process: `user` opens, and tries to attach to it. */
static IOReturn attach(struct ane_machine *machine, const struct iorig_client *owner, ane_task_t user)
{
    static uint8_t image[1 << 16];
    struct ane_program_prepare prepare;
    struct iorig_client other;
    uint64_t token;
    IOReturn status;

    assert_int_equal(iorig_create(owner, image, iorig_image_add(image, sizeof(image), 1, 8), &token),
                     kIOReturnSuccess);
    assert_int_equal(iorig_open(ane_machine_service(machine), user, ANE_CLIENT_CONTROL, &other),
                     kIOReturnSuccess);
    status = iorig_prepare(&other, token, &prepare);
    IOServiceClose(other.connect);
    assert_int_equal(iorig_destroy(owner, token), kIOReturnSuccess);
    return status;
}

static void identities_are_equal_by_signature_alone(void **state)
{
    struct ane_machine *machine = make();
    ane_task_t self = make_task("self", 0), unsigned_one = make_task(NULL, 0);
    struct iorig_client owner;

    (void)state;
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &owner),
                     kIOReturnSuccess);
    assert_int_equal(attach(machine, &owner, 0), kIOReturnSuccess);
    assert_int_equal(attach(machine, &owner, self), kIOReturnNotFound);
    assert_int_equal(attach(machine, &owner, unsigned_one), kIOReturnNotFound);
    IOServiceClose(owner.connect);
    ane_machine_destroy(machine);
    ane_task_release(self);
    ane_task_release(unsigned_one);
}

static void a_released_task_names_nothing(void **state)
{
    struct ane_machine *machine = make();
    ane_task_t first = make_task(NULL, 0), next;
    struct iorig_client client;
    char team[64];

    (void)state;
    ane_task_release(first);
    next = make_task("TEAM", 3);
    assert_int_not_equal(next, first);
    assert_int_equal(iorig_open(ane_machine_service(machine), first, ANE_CLIENT_CONTROL, &client),
                     kIOReturnBadArgument);
    says("There is no task");
    ane_task_release(next);
    /* A team that would be cut off is refused; it could equal another's. */
    memset(team, 'T', sizeof(team));
    team[32] = '\0';
    assert_int_equal(ane_task_create(open_entitlement, 2, team, NULL), 0);
    says("32 characters; the limit is 31");
    assert_int_equal(ane_task_create(NULL, 1, NULL, NULL), 0);
    for (unsigned i = 0; i < 1000; i++) {
        next = make_task(NULL, 0);
        assert_true(next > first);
        first = next;
        ane_task_release(next);
    }
    ane_machine_destroy(machine);
}

#define CONNECTIONS 110u /* ten times as many are more than the table has rows */

static void a_machine_closes_what_is_open_on_it(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 10; round++) {
        struct ane_machine *machine = make();
        io_service_t service = ane_machine_service(machine);
        io_connect_t connect[CONNECTIONS], again;

        for (unsigned i = 0; i < CONNECTIONS; i++)
            assert_int_equal(IOServiceOpen(service, 0, ANE_CLIENT_CONTROL, &connect[i]), kIOReturnSuccess);
        ane_machine_destroy(machine);
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            assert_int_equal(IOConnectCallMethod(connect[i], ANE_CONTROL_DeviceClose, NULL, 0, NULL, 0, NULL,
                                                 NULL, NULL, NULL),
                             ANE_RETURN_CLOSED);
            says("closed");
            assert_int_equal(IOServiceClose(connect[i]), ANE_RETURN_CLOSED);
        }
        assert_int_equal(IOServiceOpen(service, 0, ANE_CLIENT_CONTROL, &again), kIOReturnNoDevice);
    }
}

/*
 * Rows are used in turn, so that a stale id names nothing for 2^32 surfaces; every new id names its surface.
 */
static void a_stale_surface_id_names_nothing(void **state)
{
    uint32_t first, id = 0, last = 0;

    (void)state;
    assert_int_equal(ane_surface_create(0, 64, &first), 0);
    ane_surface_release(first);
    for (unsigned i = 0; i < 10000; i++) {
        assert_int_equal(ane_surface_create(0, 64, &id), 0);
        assert_non_null(ane_surface_base(id));
        assert_int_equal(ane_surface_lookup(id), 64);
        assert_int_not_equal(id, last);
        assert_null(ane_surface_base(first));
        ane_surface_release(id);
        assert_null(ane_surface_base(id));
        last = id;
    }
    assert_int_equal(ane_surface_create(0, 5, NULL), -EINVAL);
    says("no place for the id");
}

/* A surface costs one descriptor, bound or not; the last one is refused with the host's reason. */
static void surfaces_run_out_of_descriptors(void **state)
{
    struct ane_machine *machine = make();
    struct rlimit usual, few;
    struct iorig_client direct;
    uint32_t id[64], count = 0;
    int status;

    (void)state;
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_DIRECT_PATH, &direct),
                     kIOReturnSuccess);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = (struct rlimit){(rlim_t)dup(0) + 32, usual.rlim_max};
    close((int)few.rlim_cur - 32);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (!(status = ane_surface_create(0, 64, &id[count])) && count < 63) {
        memory_map(&direct, id[count], kIOReturnSuccess);
        count++;
    }
    assert_int_equal(status, -EMFILE);
    says("Too many open files");
    assert_true(count >= 30);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    ane_machine_destroy(machine);
    while (count > 0)
        ane_surface_release(id[--count]);
}

/* A child of its own: what it does to the parent's machine does nothing, and it can make one itself. */
static void a_forked_child_leaves_the_machine_alone(void **state)
{
    struct ane_machine *machine = make();
    struct iorig_accumulator a;
    pid_t child;
    int status;

    (void)state;
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 16);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    child = fork();
    if (child == 0) {
        struct ane_machine *own;
        struct iorig_accumulator b;

        ane_machine_destroy(machine);
        if (!strstr(ane_machine_error(), "forked child"))
            _exit(2);
        if (IOServiceClose(a.client.connect) != ANE_RETURN_CLOSED)
            _exit(3);
        if (ane_machine_default(NULL, &own))
            _exit(4);
        iorig_accumulator_make(&b, ane_machine_service(own), 2, 16);
        if (iorig_accumulator_step(&b) || iorig_accumulator_value(&b) != 1)
            _exit(5);
        iorig_accumulator_release(&b);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_true(iorig_accumulator_value(&a) == 2);
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

/* A size that does not fit 32 bits is not the size that it ends in. */
static void sizes_are_not_cut_off(void **state)
{
    struct ane_machine *machine = make();
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD};
    size_t size = sizeof(info) + (1ull << 32);
    io_connect_t connect;

    (void)state;
    assert_int_equal(IOServiceOpen(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &connect),
                     kIOReturnSuccess);
    assert_int_equal(IOConnectCallMethod(connect, ANE_CONTROL_DeviceOpen, NULL, 0, &info, sizeof(info), NULL,
                                         NULL, &info, &size),
                     kIOReturnBadArgument);
    says("sizes");
    ane_machine_destroy(machine);
}

/* A sentence is the caller's own: cleared by the next call, and never another client's. */
static void a_sentence_belongs_to_its_call(void **state)
{
    struct ane_machine *machine = make();
    struct iorig_client a, b;

    (void)state;
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_DIRECT_PATH, &a),
                     kIOReturnSuccess);
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &b), kIOReturnSuccess);
    memory_map(&a, 3735928559u, kIOReturnBadArgument);
    says("There is no surface 3735928559");
    assert_int_equal(IOServiceClose(b.connect), kIOReturnSuccess);
    assert_string_equal(ane_machine_error(), "");
    assert_int_equal(
        IOConnectCallMethod(b.connect, ANE_CONTROL_DeviceClose, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL),
        ANE_RETURN_CLOSED);
    says("closed");
    assert_int_equal(IOServiceOpen(ane_machine_service(machine), 0, 77, &b.connect), kIOReturnBadArgument);
    says("type 77");
    assert_int_equal(IOServiceOpen(0, 0, ANE_CLIENT_CONTROL, &b.connect), kIOReturnNoDevice);
    says("no such service");
    ane_machine_destroy(machine);
}

/* NULL where a pointer is needed: a sentence, or nothing. */
static void null_is_refused(void **state)
{
    struct ane_machine *machine = make();
    struct ane_machine_map map = {.size = sizeof(map)};

    (void)state;
    assert_int_equal(ane_machine_default(NULL, NULL), 0);
    assert_int_equal(ane_machine_counter(machine, NULL), 0);
    assert_int_equal(ane_machine_dram_alloc(machine, 1, NULL), -EINVAL);
    assert_int_equal(ane_numerics_named(NULL), -1);
    assert_int_equal(ane_machine_call_at(machine, 0, NULL, NULL), -EINVAL);
    assert_int_equal(ane_machine_run(NULL, 0), -EPERM);
    says("NULL");
    assert_int_equal(ane_machine_read32(NULL, 0), UINT32_MAX);
    ane_machine_write32(NULL, 0, 0);
    assert_int_equal(ane_machine_dram_alloc(NULL, 1, NULL), -EPERM);
    assert_int_equal(ane_machine_dram_free(NULL, 0), -EPERM);
    assert_null(ane_machine_dram(NULL, 0, 1));
    assert_int_equal(ane_machine_now(NULL), 0);
    assert_int_equal(ane_machine_interrupt(NULL), 0);
    assert_int_equal(ane_machine_dart_interrupt(NULL), 0);
    assert_int_equal(ane_machine_fault(NULL, &(struct ane_machine_fault){.size = 0}), -EPERM);
    assert_int_equal(ane_machine_problem(NULL, &(struct ane_machine_problem){.size = 0}), -EPERM);
    assert_int_equal(ane_machine_trace_hash(NULL), 0);
    assert_int_equal(ane_machine_counter(NULL, "x"), 0);
    assert_int_equal(ane_machine_profile(NULL, 0, NULL), -EPERM);
    assert_int_equal(ane_machine_profile_descriptors(NULL, NULL, 0, NULL), -EPERM);
    assert_int_equal(ane_machine_map(NULL, &map), -EINVAL);
    assert_int_equal(ane_machine_service(NULL), 0);
    ane_machine_destroy(NULL);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_surface_belongs_to_its_task),
        cmocka_unit_test(a_surface_is_shared_by_name),
        cmocka_unit_test(a_shared_surface_is_bound_until_it_is_unshared),
        cmocka_unit_test(programs_of_one_client_are_limited),
        cmocka_unit_test(identities_are_equal_by_signature_alone),
        cmocka_unit_test(a_released_task_names_nothing),
        cmocka_unit_test(a_machine_closes_what_is_open_on_it),
        cmocka_unit_test(a_stale_surface_id_names_nothing),
        cmocka_unit_test(surfaces_run_out_of_descriptors),
        cmocka_unit_test(a_forked_child_leaves_the_machine_alone),
        cmocka_unit_test(sizes_are_not_cut_off),
        cmocka_unit_test(a_sentence_belongs_to_its_call),
        cmocka_unit_test(null_is_refused),
    };

    return cmocka_run_group_tests_name("ownership", tests, NULL, NULL);
}
