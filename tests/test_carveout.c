/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DRAM that belongs to somebody else: runs of the driver and of the firmware are not
 * freed by a caller of machine.h, and damage to the firmware's carve-out is a fault of
 * the modelled controller and not of the process.
 */
#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "bootrig.h"
#include "firmware/firmware.h"
#include "iorig.h"
#include "machine/carveout.h"
#include "machine/internal.h"

static struct ane_machine *make(void)
{
    return iorig_machine((struct ane_machine_config){.clock = ANE_CLOCK_CLOSED});
}

/* Every page of DRAM that is in use, from the first to the last that the machine has taken. */
static void runs_of_others_cannot_be_freed(void **state)
{
    struct ane_machine *machine = make();
    struct ane_machine_map map = {.size = sizeof(map)};
    struct iorig_accumulator a;
    uint64_t used, mine;
    unsigned refused = 0;

    (void)state;
    assert_int_equal(ane_machine_map(machine, &map), 0);
    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 33);
    assert_int_equal(ane_machine_dram_alloc(machine, 3 * PR_PAGE_BYTES, &mine), 0);
    used = ane_machine_counter(machine, "dram.used");
    for (uint64_t offset = 0; offset < map.dram_bytes / 16; offset += PR_PAGE_BYTES) {
        if (map.dram + offset == mine)
            continue;
        assert_int_equal(ane_machine_dram_free(machine, map.dram + offset), -EINVAL);
        refused += strstr(ane_machine_error(), "belongs to") != NULL;
    }
    assert_true(refused > 10); /* the carve-out, page tables, surfaces of the firmware, the program */
    assert_int_equal(ane_machine_dram_free(machine, map.dram), -EINVAL);
    assert_non_null(strstr(ane_machine_error(), "belongs to the firmware"));
    assert_int_equal(ane_machine_counter(machine, "dram.used"), used);
    assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_true(iorig_accumulator_value(&a) == 1);
    used = ane_machine_counter(machine, "dram.used"); /* the request has mapped its surfaces */
    assert_int_equal(ane_machine_dram_free(machine, mine), 0);
    assert_int_equal(ane_machine_counter(machine, "dram.used"), used - 3 * PR_PAGE_BYTES);
    assert_int_equal(ane_machine_dram_free(machine, mine), -EINVAL);
    iorig_accumulator_release(&a);
    ane_machine_destroy(machine);
}

/* A machine with a client, and the memory of its firmware as anybody who uses the board sees it. */
struct subject {
    struct ane_machine *machine;
    struct iorig_accumulator a;
    uint8_t *carve_out;
    uint64_t bytes;
    unsigned steps;
};

static char said[4096]; /* the last line that the firmware logged about a fault */

static void keep_fault(void *context, const char *line, size_t length)
{
    (void)context;
    /* the log's line comes before the dump, which waits for the host; the fault's own comes after it */
    if (strstr(line, " fw ") && strstr(line, "changed from outside") && length < sizeof(said))
        memcpy(said, line, length + 1);
}

static void subject_make(struct subject *v)
{
    struct ane_machine_config config = {
        .size = sizeof(config), .firmware = 1, .clock = ANE_CLOCK_CLOSED, .trace = 1, .trace_fn = keep_fault};

    said[0] = '\0';
    *v = (struct subject){0};
    assert_int_equal(ane_machine_create(&config, &v->machine), 0);
    iorig_accumulator_make(&v->a, ane_machine_service(v->machine), 2, 33);
    v->bytes = v->machine->image_bytes;
    v->carve_out = ane_machine_dram(v->machine, v->machine->image, v->bytes);
    assert_non_null(v->carve_out);
}

/*
 * One request. True when it was done, with the right result; otherwise
 * the controller has failed and said why.
 */
static bool subject_works(struct subject *v)
{
    if (!iorig_accumulator_step(&v->a)) {
        v->steps++;
        assert_true(iorig_accumulator_value(&v->a) == v->steps);
        return true;
    }
    assert_non_null(strstr(said, "carve-out was changed from outside at 0x"));
    return false;
}

static void subject_end(struct subject *v)
{
    IOServiceClose(v->a.client.connect);
    ane_surface_release(v->a.x);
    ane_surface_release(v->a.state);
    ane_machine_destroy(v->machine);
}

/*
 * A single bit or a block, anywhere. Half of all damage is in the lower eighth, which is sure to be in use.
 */
static void damage(struct test_rng *rng, const struct subject *v)
{
    uint64_t limit = test_rng_range(rng, 0, 1) ? v->bytes : v->bytes / 8;
    uint64_t at = (uint64_t)test_rng_range(rng, 0, (int64_t)limit - 1);
    uint64_t bytes = (uint64_t)test_rng_range(rng, 1, 5000);

    if (test_rng_range(rng, 0, 2)) {
        v->carve_out[at] ^= (uint8_t)(1u << test_rng_range(rng, 0, 7));
        return;
    }
    for (uint64_t i = at; i < at + bytes && i < v->bytes; i++)
        v->carve_out[i] = (uint8_t)test_rng_range(rng, 0, 255);
}

static void damage_between_requests_is_a_fault_of_the_controller(void **state)
{
    struct subject v, other;
    struct test_rng rng;
    unsigned faults = 0, unharmed = 0;

    (void)state;
    test_rng_init(&rng, 18);
    subject_make(&other);
    subject_make(&v);
    for (unsigned i = 0; i < 60; i++) {
        damage(&rng, &v);
        if (subject_works(&v)) {
            unharmed++;
            continue;
        }
        faults++;
        (void)iorig_accumulator_step(&v.a); /* every call comes back, from a dead controller too */
        subject_end(&v);
        subject_make(&v);
        assert_true(subject_works(&v));
        assert_true(subject_works(&other));
    }
    print_message("# %u faults, %u times nothing in use was hit\n", faults, unharmed);
    assert_true(faults > 5 && unharmed > 5);
    subject_end(&v);
    subject_end(&other);
}

/* The same with commands, and a restart in place of a new machine. */
static void a_controller_is_restarted_after_damage(void **state)
{
    struct subject v, other;
    struct bootrig rig;
    struct test_rng rng;
    unsigned faults = 0, unharmed = 0;

    (void)state;
    test_rng_init(&rng, 180);
    subject_make(&other);
    subject_make(&v);
    bootrig_make(&rig, v.machine);
    assert_true(bootrig_boot(&rig));
    for (unsigned i = 0; i < 500; i++) {
        said[0] = '\0';
        damage(&rng, &v);
        if (bootrig_answers(&rig)) {
            unharmed++;
            assert_int_equal(said[0], '\0');
            continue;
        }
        faults++;
        assert_non_null(strstr(said, "carve-out was changed from outside at 0x"));
        assert_false(bootrig_answers(&rig));
        assert_true(bootrig_boot(&rig) && bootrig_answers(&rig));
        assert_true(subject_works(&other));
    }
    print_message("# %u faults, %u times nothing in use was hit\n", faults, unharmed);
    assert_true(faults > 50 && unharmed > 50);
    subject_end(&v);
    subject_end(&other);
}

struct writer {
    const struct subject *subject;
    struct test_rng rng;
    atomic_bool end;
};

static void *write_damage(void *arg)
{
    struct writer *writer = arg;

    while (!atomic_load(&writer->end))
        damage(&writer->rng, writer->subject);
    return NULL;
}

static void damage_during_requests_is_survived(void **state)
{
    struct subject v, other;

    (void)state;
    subject_make(&other);
    for (unsigned round = 0; round < 12; round++) {
        struct writer writer = {.subject = &v};
        pthread_t thread;

        subject_make(&v);
        test_rng_init(&writer.rng, 1800 + round);
        assert_int_equal(pthread_create(&thread, NULL, write_damage, &writer), 0);
        for (unsigned i = 0; i < 200 && subject_works(&v); i++)
            ;
        (void)iorig_accumulator_step(&v.a);
        atomic_store(&writer.end, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
        subject_end(&v);
        assert_true(subject_works(&other));
    }
    subject_end(&other);
}

static void the_fault_names_the_address(void **state)
{
    struct subject v;
    const char *named;
    char expected[80];

    (void)state;
    subject_make(&v);
    assert_true(subject_works(&v));
    v.carve_out[0x345] ^= 0x10;
    assert_false(subject_works(&v));
    snprintf(expected, sizeof(expected), "changed from outside at 0x%llx",
             (unsigned long long)v.machine->image + 0x340); /* the word */
    named = strstr(said, expected);
    assert_non_null(named);
    assert_non_null(strchr("\n\"", named[strlen(expected)])); /* in the log, or in the fault's record */
    subject_end(&v);
}

/* The end of the heap is free: nobody notices, as on the device. */
static void free_heap_may_be_changed(void **state)
{
    struct subject v;
    size_t at;

    (void)state;
    subject_make(&v);
    at = v.bytes - FW_RETAINED_BYTES - 0x1000;
    memset(v.carve_out + at, 0x77, 0x1000);
    for (unsigned i = 0; i < 10; i++)
        assert_true(subject_works(&v));
    assert_int_equal(v.carve_out[at + 0xfff], 0x77);
    subject_end(&v);
}

static bool holds(const struct subject *v, const char *text)
{
    return memmem(v->carve_out, v->bytes, text, strlen(text) + 1);
}

/* The names of the firmware's tasks are in its kernel's memory. */
static void the_carve_out_can_be_read(void **state)
{
    struct bootrig rig;
    struct subject v;

    (void)state;
    subject_make(&v);
    assert_true(holds(&v, "exeloop") && holds(&v, "terminator"));
    assert_true(subject_works(&v));
    assert_true(holds(&v, "exeloop") && holds(&v, "terminator"));
    /* A restart clears it. */
    bootrig_make(&rig, v.machine);
    bootrig_write(&rig, PR_CTRL_CPU_CONTROL, 0);
    bootrig_write(&rig, PR_CTRL_CPU_CONTROL, PR_CPU_RUN);
    assert_false(holds(&v, "exeloop") || holds(&v, "terminator"));
    assert_true(bootrig_boot(&rig) && bootrig_answers(&rig));
    assert_true(holds(&v, "exeloop") && holds(&v, "terminator"));
    subject_end(&v);
}

/* The retained block is as the last run, or whoever wrote to DRAM since, left it; the rest is cleared. */
static void a_restart_keeps_the_retained_block(void **state)
{
    enum { BYTES = 0x40000, KEPT = FW_RETAINED_BYTES };
    static uint64_t dram[BYTES / 8];
    struct mach_carveout c;
    uint8_t *memory, *shown = (uint8_t *)dram;

    (void)state;
    assert_int_equal(mach_carveout_create(&c, 0x10000, dram, BYTES, KEPT, NULL), 0);
    memory = (uint8_t *)c.memory;
    assert_ptr_equal(mach_carveout_retained(&c), memory + BYTES - KEPT);
    memset(memory, 0x5a, BYTES);
    mach_carveout_clear(&c, 0x2000);
    assert_int_equal(memory[0x1fff], 0);
    assert_int_equal(memory[0x2000], 0x5a);
    mach_carveout_clear(&c, SIZE_MAX);
    assert_int_equal(memory[0], 0);
    assert_int_equal(memory[BYTES - KEPT - 1], 0);
    assert_int_equal(memory[BYTES - KEPT], 0x5a);
    assert_int_equal(memory[BYTES - 1], 0x5a);

    c.exposed = true;
    memory[8] = 0x11;
    mach_carveout_show(&c, 0x1000);
    assert_int_equal(shown[8], 0x11);
    assert_int_equal(shown[BYTES - 1], 0x5a);
    assert_int_equal(mach_carveout_changed(&c), 0);
    shown[BYTES - KEPT + 9] = 0x66;
    assert_int_equal(mach_carveout_changed(&c), 0x10000 + BYTES - KEPT + 8);
    mach_carveout_clear(&c, BYTES);
    assert_int_equal(shown[8], 0);
    assert_int_equal(memory[BYTES - KEPT + 9], 0x66);
    assert_int_equal(memory[BYTES - 1], 0x5a);
    mach_carveout_destroy(&c);
}

/* Without a pointer: surfaces of the firmware that a page table puts into the carve-out. */
static void a_mapping_onto_the_carve_out_is_survived(void **state)
{
    struct ane_machine *machine = make();
    struct bootrig rig;
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 181);
    bootrig_make(&rig, machine);
    for (unsigned i = 0; i < 60; i++) {
        const struct bare_buffer *buffers[] = {&rig.ipc, &rig.heap, &rig.pool, &rig.arguments};
        const struct bare_buffer *buffer = buffers[i % 4];
        uint32_t iova =
            buffer->iova + (uint32_t)test_rng_range(&rng, 0, buffer->bytes / BARE_PAGE) * BARE_PAGE;
        uint64_t before = bare_physical(&rig.bare, iova);
        uint64_t pages = machine->image_bytes / BARE_PAGE / (i % 2 ? 1 : 8);

        bare_map(&rig.bare, iova,
                 machine->image + (uint64_t)test_rng_range(&rng, 0, (int64_t)pages - 1) * BARE_PAGE);
        if (bootrig_boot(&rig))
            for (unsigned k = 0; k < 3; k++)
                (void)bootrig_answers(&rig);
        bare_map(&rig.bare, iova, before);
        assert_true(bootrig_boot(&rig) && bootrig_answers(&rig));
    }
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_others_cannot_be_freed),
        cmocka_unit_test(damage_between_requests_is_a_fault_of_the_controller),
        cmocka_unit_test(a_controller_is_restarted_after_damage),
        cmocka_unit_test(damage_during_requests_is_survived),
        cmocka_unit_test(the_fault_names_the_address),
        cmocka_unit_test(free_heap_may_be_changed),
        cmocka_unit_test(the_carve_out_can_be_read),
        cmocka_unit_test(a_restart_keeps_the_retained_block),
        cmocka_unit_test(a_mapping_onto_the_carve_out_is_survived),
    };

    return cmocka_run_group_tests_name("carveout", tests, NULL, NULL);
}
