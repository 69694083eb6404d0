/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared memory is hostile: a second thread flips bytes of commands, containers and
 * arguments while they are checked and used. Whatever comes of it is a status; nothing
 * crashes, and when it stops the next request is right.
 */
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "inside.h"
#include "iorig.h"
#include "protocol/channel.h"
#include "protocol/container.h"

struct flipper {
    uint8_t *bytes;
    size_t size;
    atomic_bool stop;
    pthread_t thread;
    uint64_t flips;
};

static void *flip(void *context)
{
    struct flipper *f = context;
    struct test_rng rng;

    test_rng_init(&rng, 77);
    while (!atomic_load(&f->stop)) {
        size_t at = (size_t)test_rng_range(&rng, 0, (int64_t)f->size - 1);
        uint8_t bit = (uint8_t)(1u << test_rng_range(&rng, 0, 7));

        f->bytes[at] ^= bit;
        for (volatile unsigned i = 0; i < 50; i++)
            ;
        f->bytes[at] ^= bit;
        f->flips++;
    }
    return NULL;
}

static void flipper_start(struct flipper *f, void *bytes, size_t size)
{
    f->bytes = bytes;
    f->size = size;
    f->flips = 0;
    atomic_store(&f->stop, false);
    assert_int_equal(pthread_create(&f->thread, NULL, flip, f), 0);
}

static void flipper_stop(struct flipper *f)
{
    atomic_store(&f->stop, true);
    pthread_join(f->thread, NULL);
    assert_true(f->flips > 0);
}

static struct ane_machine *make(void)
{
    return iorig_machine((struct ane_machine_config){.trace = 0});
}

/* A closed client is replaced: a request that was hit may have cost its connection's slot. */
static void prove_alive(struct ane_machine *machine)
{
    struct iorig_accumulator a;

    assert_true(mach_cpu_alive(machine->cpu));
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 24);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
        assert_true(iorig_accumulator_value(&a) == i);
    }
    iorig_accumulator_release(&a);
}

static void commands_change_under_the_firmware(void **state)
{
    struct ane_machine *machine = make();
    const struct pr_slot *slot;
    struct iorig_accumulator a;
    struct flipper f;
    unsigned good = 0, bad = 0;

    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* the race is the point */
#endif
    iorig_accumulator_make(&a, ane_machine_service(machine), 1, 16);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    slot = inside_ring(machine);
    /* The call's message: header, statistics descriptor, three buffer descriptors. */
    flipper_start(&f, inside_memory(machine, slot[0].address & ~PR_SLOT_OWNER, 0xf0), 0xf0);
    for (unsigned i = 0; i < 20000; i++) {
        if (iorig_accumulator_step(&a))
            bad++;
        else
            good++;
    }
    flipper_stop(&f);
    print_message("# %u requests passed, %u were refused, %llu flips\n", good, bad,
                  (unsigned long long)f.flips);
    assert_true(good > 0);
    IOServiceClose(a.client.connect);
    ane_surface_release(a.x);
    ane_surface_release(a.state);
    prove_alive(machine);
    ane_machine_destroy(machine);
}

/* The container of a loaded program in DRAM. */
static uint8_t *find_container(struct ane_machine *machine)
{
    uint64_t base = soc_memory_base(machine->memory), bytes = 64ull << 20;
    uint8_t *memory = soc_memory_at(machine->memory, base, bytes);

    for (uint64_t at = 0; at + sizeof(struct pr_container_package) < bytes; at += PR_PAGE_BYTES) {
        struct pr_container_package package;

        memcpy(&package, memory + at, sizeof(package));
        if (package.magic == PR_CONTAINER_PACKAGE && package.version == PR_CONTAINER_VERSION)
            return memory + at;
    }
    return NULL;
}

static void containers_change_under_the_firmware(void **state)
{
    struct ane_machine *machine = make();
    static uint8_t image[1 << 20];
    size_t size = iorig_image_add(image, sizeof(image), 1, 16);
    struct iorig_client client;
    struct flipper f;
    uint8_t *container;
    uint64_t token;
    unsigned good = 0, bad = 0;

    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    skip(); /* the race is the point; freed DRAM is poisoned while the other thread writes to it */
#endif
    assert_int_equal(iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &client),
                     kIOReturnSuccess);
    assert_int_equal(iorig_create(&client, image, size, &token), kIOReturnSuccess);
    container = find_container(machine);
    assert_non_null(container);
    assert_int_equal(iorig_destroy(&client, token), kIOReturnSuccess);
    /* The next program's container is built in the same pages. */
    flipper_start(&f, container, 0x600);
    /* Until the other thread has hit a few, but not for ever: what counts is that nothing breaks. */
    for (unsigned i = 0; i < 2000 || (bad < 10 && i < 50000); i++) {
        if (iorig_create(&client, image, size, &token)) {
            bad++;
        } else {
            good++;
            assert_int_equal(iorig_destroy(&client, token), kIOReturnSuccess);
        }
    }
    flipper_stop(&f);
    memset(container, 0, f.size); /* free pages are clean again, whatever a lost store left there */
    print_message("# %u programs loaded, %u were refused, %llu flips\n", good, bad,
                  (unsigned long long)f.flips);
    IOServiceClose(client.connect);
    prove_alive(machine);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_change_under_the_firmware),
        cmocka_unit_test(containers_change_under_the_firmware),
    };

    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
