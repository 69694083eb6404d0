/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulated core beside the native one: the same results and the same messages of the firmware, after a
 * boot, dispatches, refusals and a restart; and what only a core that executes an image can show: an image
 * from a file, an image that fails, one that never waits, and one that reads what is not mapped.
 */
#include "support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/signing.h"
#include "bootrig.h"
#include "folder.h"
#include "image/image.h"
#include "iorig.h"
#include "machine/internal.h"
#include "protocol/core.h"
#include "rtkernel/fault.h"

static bool can_run; /* the library has the core, and its image has code */

/* Asks once, because a build may be without either. */
static int find_core(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1, .core = ANE_CORE_EMULATED};
    struct ane_machine *machine;
    int status = ane_machine_create(&config, &machine);

    (void)state;
    can_run = status == 0;
    if (status == -ENOTSUP)
        print_message("# skipped: %s\n", ane_machine_error());
    else if (status)
        print_message("# %s\n", ane_machine_error());
    if (can_run)
        ane_machine_destroy(machine);
    return status && status != -ENOTSUP;
}

static void need_core(void)
{
    if (!can_run)
        skip();
}

/* What the firmware says: to its log, to the driver, and when it does not start. */
struct messages {
    char text[1 << 16];
    size_t length;
    unsigned lines;
};

static void keep(struct messages *messages, const char *line)
{
    size_t length = strlen(line);

    assert_true(messages->length + length < sizeof(messages->text));
    memcpy(messages->text + messages->length, line, length + 1);
    messages->length += length;
    messages->lines++;
}

static void keep_message(void *context, const char *line, size_t length)
{
    const char *text = strchr(line, ' '); /* behind the time */

    (void)length;
    /* The emulated core's task switches are its own: only the native one traces them. */
    if (text && (!strncmp(text, " drv firmware: ", 15) || !strncmp(text, " fw ", 4)) &&
        strncmp(text, " fw run ", 8) != 0)
        keep(context, text);
}

static struct ane_machine *make(uint32_t core, struct messages *messages)
{
    struct ane_machine_config config = {.size = sizeof(config),
                                        .firmware = 1,
                                        .clock = ANE_CLOCK_CLOSED,
                                        .core = core,
                                        .trace = 1,
                                        .trace_fn = keep_message,
                                        .trace_context = messages};
    struct ane_machine *machine;

    memset(messages, 0, sizeof(*messages));
    if (ane_machine_create(&config, &machine))
        fail_msg("%s", ane_machine_error());
    return machine;
}

#define CHANNELS 2u
#define WIDTH    33u
#define STEPS    20u

/* The accumulator's bytes after some dispatches. */
static void accumulate(struct ane_machine *machine, uint8_t *bytes, size_t size)
{
    struct iorig_accumulator a;

    iorig_accumulator_make(&a, ane_machine_service(machine), CHANNELS, WIDTH);
    for (unsigned i = 0; i < STEPS; i++)
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
    assert_true(iorig_accumulator_value(&a) == STEPS);
    memcpy(bytes, ane_surface_base(a.state), size);
    iorig_accumulator_release(&a);
}

static void both_cores_give_the_same(void **state)
{
    static struct messages messages[2];
    uint8_t bytes[2][CHANNELS * 64];
    uint64_t time[2];

    (void)state;
    need_core();
    for (uint32_t core = 0; core < 2; core++) {
        struct ane_machine *machine = make(core, &messages[core]);

        accumulate(machine, bytes[core], sizeof(bytes[core]));
        time[core] = ane_machine_now(machine);
        ane_machine_destroy(machine);
    }
    assert_memory_equal(bytes[0], bytes[1], sizeof(bytes[0]));
    assert_true(messages[0].lines > 0);
    assert_string_equal(messages[0].text, messages[1].text);
    assert_true(time[0] == time[1]);
}

/* The controller is stopped and booted again, ten times, and answers. */
static void a_restarted_core_is_as_new(void **state)
{
    static struct messages messages[2];

    (void)state;
    need_core();
    for (uint32_t core = 0; core < 2; core++) {
        struct ane_machine *machine = make(core, &messages[core]);
        struct bootrig rig;

        bootrig_make(&rig, machine);
        for (unsigned i = 0; i < 10; i++) {
            assert_true(bootrig_boot(&rig));
            assert_true(bootrig_answers(&rig));
        }
        rig.args.page_bytes = 0x1000;
        assert_false(bootrig_boot(&rig));
        ane_machine_destroy(machine);
    }
    assert_non_null(strstr(messages[0].text, "MMU invalid page size: 1000"));
    assert_string_equal(messages[0].text, messages[1].text);
}

/*
 * The boot arguments are at an address that the DART does not translate: the load aborts, and the boot
 * refuses.
 */
static void an_unmapped_window_is_refused(void **state)
{
    static struct messages messages[2];

    (void)state;
    need_core();
    for (uint32_t core = 0; core < 2; core++) {
        struct ane_machine *machine = make(core, &messages[core]);
        struct bootrig rig;

        bootrig_make(&rig, machine);
        rig.args.heap = 0x40000000;
        assert_false(bootrig_boot(&rig));
        assert_int_equal(bootrig_read(&rig, PR_CTRL_SCRATCH(7)), PR_BOOT_REFUSED | PR_REFUSAL_HEAP);
        rig.args.heap = rig.heap.iova;
        assert_true(bootrig_boot(&rig) && bootrig_answers(&rig));
        ane_machine_destroy(machine);
    }
    assert_non_null(strstr(messages[0].text, "at 0x40000000 are not"));
    assert_string_equal(messages[0].text, messages[1].text);
}

/*
 * The firmware fails in each class in turn; the driver drains the dump and boots it again; the result counts
 * on.
 */
static void a_failed_core_is_recovered(void **state)
{
    static struct messages messages[2];
    unsigned aborted[2] = {0}, recovered[2] = {0};

    (void)state;
    need_core();
    for (uint32_t core = 0; core < 2; core++) {
        struct ane_machine *machine = make(core, &messages[core]);
        struct iorig_accumulator a;

        iorig_accumulator_make(&a, ane_machine_service(machine), CHANNELS, WIDTH);
        for (unsigned i = 0; i < 20; i++) {
            mach_cpu_inject(machine, i % RT_FAULT_ASSERT, "injected");
            aborted[core] += iorig_accumulator_step(&a) == kIOReturnAborted;
            assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
            recovered[core] += iorig_accumulator_value(&a) == i + 1;
        }
        iorig_accumulator_release(&a);
        ane_machine_destroy(machine);
    }
    assert_int_equal(recovered[0], 20);
    assert_int_equal(recovered[1], 20);
    assert_int_equal(aborted[0], aborted[1]);
    assert_non_null(strstr(messages[0].text, "injected"));
    assert_non_null(strstr(messages[1].text, "asynchronous error at pc 0x1"));
}

/* The private registers are the processor's: on the bus no block answers there. */
static void the_host_does_not_see_private_registers(void **state)
{
    static struct messages messages;
    struct ane_machine *machine;
    uint64_t before;

    (void)state;
    need_core();
    machine = make(ANE_CORE_EMULATED, &messages);
    before = ane_machine_counter(machine, "bus.unanswered");
    (void)ane_machine_read32(machine, machine->board->container + PR_CORE_IRQ_TAKE);
    assert_int_equal(ane_machine_counter(machine, "bus.unanswered"), before + 1);
    ane_machine_destroy(machine);
}

/* The built image with the first words of its code replaced, in a file. */
static const char *image_with(const uint32_t *words, size_t count)
{
    size_t size;
    const uint8_t *built = img_image_built(&size);
    uint8_t *bytes = malloc(size), digest[BASE_HASH_BYTES];
    struct img_image image;
    uint8_t *at;

    assert_non_null(bytes);
    memcpy(bytes, built, size);
    assert_int_equal(img_image_read(bytes, size, &image, NULL), 0);
    at = bytes + (image.macho.segment[0].bytes - bytes);
    memcpy(at, words, count * sizeof(*words));
    base_signing_hash(image.image4.payload, image.image4.payload_bytes, digest);
    for (at = bytes + size - sizeof(digest); memcmp(at, image.image4.digest, sizeof(digest)) != 0; at--)
        assert_true(at > bytes);
    memcpy(at, digest, sizeof(digest));
    folder_write("other", bytes, size);
    free(bytes);
    return folder_path("other");
}

static int boot_other(const uint32_t *words, size_t count)
{
    struct ane_machine_config config = {.size = sizeof(config),
                                        .firmware = 1,
                                        .clock = ANE_CLOCK_CLOSED,
                                        .core = ANE_CORE_EMULATED,
                                        .firmware_image = image_with(words, count)};
    struct ane_machine *machine;
    int status = ane_machine_create(&config, &machine);

    if (!status)
        ane_machine_destroy(machine);
    return status;
}

/* Code that does not boot, and must not end the host. */
static const struct {
    const char *what;
    uint32_t word[4];
} stray[] = {
    {"b .: never waits", {0x14000000}},
    {"wfi, b . - 4: waits for good", {0xd503207f, 0x17ffffff}},
    {"brk #1 before there are vectors", {0xd4200020}},
    {"an undefined word", {0}},
    {"svc #0", {0xd4000001}},
    {"hvc #0", {0xd4000002}},
    {"smc #0", {0xd4000003}},
    {"hlt #0xf000", {0xd45e0000}},
    {"eret with nothing in SPSR and ELR", {0xd69f03e0}},
    {"a load from address 0", {0xd2800001, 0xf9400020}},
    {"a store there", {0xd2800001, 0xf9000020}},
    {"a branch there", {0xd2800000, 0xd61f0000}},
    {"a branch to an odd address", {0xd2800020, 0xd61f0000}},
    {"a branch into registers", {0xd2b08000, 0xf2c00040, 0xd61f0000}},
    {"a branch into shared memory", {0xd2c001e0, 0xd61f0000}},
    {"ldp from registers", {0xd2b08000, 0xf2c00040, 0xa9400801, 0x14000000}},
    {"ldxr from registers", {0xd2b08000, 0xf2c00040, 0xc85f7c01, 0x14000000}},
    {"dc zva on registers", {0xd2b08000, 0xf2c00040, 0xd50b7420, 0x14000000}},
    {"a vector register", {0x4e080c00}},
    {"a register that no processor has", {0xd53bff20}},
    {"MMU on without tables", {0xd2800020, 0xd5181000, 0xd5033fdf}},
};

/* What is executed is what is in the file. */
static void an_image_from_a_file_is_executed(void **state)
{
    const uint32_t nop = 0xd503201f; /* for the first instruction, which masks what is masked already */

    (void)state;
    need_core();
    assert_int_equal(boot_other(&nop, 1), 0);
    for (unsigned i = 0; i < sizeof(stray) / sizeof(stray[0]); i++) {
        int status = boot_other(stray[i].word, 4);

        if (status != -ETIMEDOUT || !strstr(ane_machine_error(), "First wake missing"))
            fail_msg("%s: %d, \"%s\"", stray[i].what, status, ane_machine_error());
    }
}

/* Its memory is DRAM itself: whatever is changed there, the host goes on. */
static void damage_is_the_firmwares_alone(void **state)
{
    static struct messages messages;
    struct test_rng rng;
    unsigned failed = 0;

    (void)state;
    need_core();
    test_rng_init(&rng, 77);
    for (unsigned i = 0; i < 20; i++) {
        struct ane_machine *machine = make(ANE_CORE_EMULATED, &messages);
        uint8_t *memory = ane_machine_dram(machine, machine->carveout, machine->carveout_bytes);
        struct iorig_accumulator a;

        assert_non_null(memory);
        iorig_accumulator_make(&a, ane_machine_service(machine), CHANNELS, WIDTH);
        for (unsigned k = 0; k < 20000; k++)
            memory[test_rng_range(&rng, 0, 0x80000)] = (uint8_t)test_rng_range(&rng, 0, 255);
        failed += iorig_accumulator_step(&a) != kIOReturnSuccess;
        IOServiceClose(a.client.connect);
        ane_surface_release(a.x);
        ane_surface_release(a.state);
        ane_machine_destroy(machine);
    }
    assert_true(failed > 0);
}

static void an_unknown_core_is_refused(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1, .core = 2};
    struct ane_machine *machine;

    (void)state;
    assert_int_equal(ane_machine_create(&config, &machine), -EINVAL);
    assert_string_equal(ane_machine_error(), "Core 2 is unknown; native is 0 and emulated is 1.");
    assert_int_equal(ane_core_named("native"), ANE_CORE_NATIVE);
    assert_int_equal(ane_core_named("emulated"), ANE_CORE_EMULATED);
    assert_int_equal(ane_core_named("fast"), -1);
    assert_int_equal(ane_core_named(NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_core_is_refused),
        cmocka_unit_test(both_cores_give_the_same),
        cmocka_unit_test(a_restarted_core_is_as_new),
        cmocka_unit_test(an_unmapped_window_is_refused),
        cmocka_unit_test(a_failed_core_is_recovered),
        cmocka_unit_test(the_host_does_not_see_private_registers),
        cmocka_unit_test(an_image_from_a_file_is_executed),
        cmocka_unit_test(damage_is_the_firmwares_alone),
    };

    return cmocka_run_group_tests_name("emulated", tests, find_core, NULL);
}
