/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that lies: bytes that change after they were read, random messages, random slots, random containers.
 */
#include "support.h"

#include <string.h>

#include "fwrig.h"

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    fwrig_load(rig);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

/* Every byte of the message is overwritten as soon as it has been copied: the push is that of the copy. */
static void messages_are_read_once(void **state)
{
    static const uint8_t bytes[] = {0x00, 0xff, 0x01, 0x5a};
    struct fwrig *rig = *state;
    struct pr_program_event event;
    union fwrig_call call;

    for (size_t i = 0; i < sizeof(bytes); i++) {
        const uint64_t flips = fwrig_flips(rig);
        const struct fwrig_push *push;

        fwrig_flip(rig, FWRIG_POOL, PR_COMMAND_POOL_BYTES, bytes[i]);
        fwrig_call_make(&call, 0x1234 + i);
        (void)fwrig_call(rig, &call);
        assert_true(fwrig_flips(rig) > flips);
        assert_int_equal(fwrig_pushes(rig), i + 1);
        push = fwrig_push_at(rig, i);
        assert_int_equal(push->queue, 4);
        assert_int_equal(push->file[PR_TQ_BAR1 / 4 + 4], FWRIG_OUT);
        assert_int_equal(push->file[PR_TQ_BAR1 / 4 + 5], FWRIG_IN);
        fwrig_flip(rig, 0, 0, 0);
        fwrig_retire(rig, 4, 0, true);
        fwrig_run(rig);
        assert_true(fwrig_event(rig, &event, true));
        assert_int_equal(event.cookie, 0x1234 + i);
    }
}

/* The other way round: a bad call does not become a good one. */
static void bad_messages_stay_bad(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_call call;

    fwrig_flip(rig, FWRIG_POOL, PR_COMMAND_POOL_BYTES, 0x01);
    fwrig_call_make(&call, 1);
    call.call.priority = 8; /* becomes 0x01010101 */
    (void)fwrig_call(rig, &call);
    fwrig_call_make(&call, 1);
    call.part.buffer[0].index = 0x200;
    (void)fwrig_call(rig, &call);
    assert_int_equal(fwrig_pushes(rig), 0);
}

static void slots_are_read_once(void **state)
{
    static const uint8_t bytes[] = {0xff, 0x01, 0x03};
    struct fwrig *rig = *state;
    union fwrig_call call;

    for (size_t i = 0; i < sizeof(bytes); i++) {
        const uint32_t slot = fwrig_cursor(rig, PR_CHANNEL_DATA_CHAIN_H2T);

        fwrig_call_make(&call, 1);
        call.call.priority = (uint32_t)i;
        memcpy(fwrig_memory(rig, FWRIG_POOL, sizeof(call)), &call, sizeof(call));
        fwrig_flip(rig, FWRIG_IPC + pr_ipc_ring_offset(PR_CHANNEL_DATA_CHAIN_H2T), 0x10 * PR_SLOT_BYTES,
                   bytes[i]);
        fwrig_post(rig, PR_CHANNEL_DATA_CHAIN_H2T, FWRIG_POOL, PR_CALL_BYTES(2), 0);
        fwrig_run(rig);
        fwrig_flip(rig, 0, 0, 0);
        assert_int_equal(fwrig_pushes(rig), i + 1);
        assert_int_equal(fwrig_push_at(rig, i)->queue, i);
        assert_true(fwrig_slot_returned(rig, PR_CHANNEL_DATA_CHAIN_H2T, slot));
    }
}

static void containers_are_read_once(void **state)
{
    struct fwrig *rig = *state;
    struct container_image image;
    struct pr_body_load load = {.container = FWRIG_CONTAINERS, .bytes = 0};
    union fwrig_process process;
    union fwrig_call call;

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    load.bytes = image.size;
    memcpy(fwrig_memory(rig, FWRIG_CONTAINERS, image.size), image.bytes, image.size);
    fwrig_flip(rig, FWRIG_CONTAINERS, image.size, 0xff);
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), 0);
    fwrig_flip(rig, 0, 0, 0);
    assert_int_equal(fwrig_memory(rig, FWRIG_CONTAINERS, 1)[0], 0xff); /* it is gone */
    assert_int_equal(fwrig_reply(rig)->header.program_id, 1);
    fwrig_process_make(&process, 0);
    assert_int_equal(fwrig_process(rig, 1, &process, NULL), 0);
    fwrig_call_make(&call, 1);
    call.call.program_id = 1;
    call.call.process_id = 1;
    assert_int_equal(fwrig_call(rig, &call), 0);
    assert_int_equal(fwrig_push_at(rig, 0)->file[PR_TQ_BAR1 / 4 + 9], IMAGE_SCRATCH);
}

static void boot_arguments_are_read_once(void **state)
{
    struct fwrig *rig = *state;

    fwrig_flip(rig, FWRIG_ARGS, PR_BOOT_ARGS_BYTES, 0xff);
    fwrig_boot_started(rig);
    fwrig_flip(rig, 0, 0, 0);
    fwrig_load(rig);
}

/* The rings go away under it: nothing answers any more, nothing falls over. */
static void survives_unmapped_rings(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;
    union fwrig_call call;

    fwrig_call_make(&call, 1);
    assert_int_equal(fwrig_call(rig, &call), 0);
    fwrig_hole(rig, FWRIG_IPC, pr_ipc_bytes());
    fwrig_retire(rig, 4, 0, true);
    fwrig_post(rig, PR_CHANNEL_IO, FWRIG_POOL, 24, 0);
    fwrig_post(rig, PR_CHANNEL_DATA_CHAIN_H2T, FWRIG_POOL, PR_CALL_BYTES(2), 0);
    assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
    fwrig_hole(rig, 0, 0);
    fwrig_write(rig, PR_CTRL_DOORBELL, 0xffffffffu);
    assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
    assert_true(fwrig_event(rig, &event, true)); /* it was kept */
    assert_int_equal(event.cookie, 1);
}

/* One of the sound messages, or noise, with some bytes changed. */
static size_t random_message(struct test_rng *rng, enum pr_channel channel, uint8_t *message, size_t capacity)
{
    const bool call = channel == PR_CHANNEL_DATA_CHAIN_H2T;
    union fwrig_call sound;
    size_t length;

    test_rng_bytes(rng, message, capacity);
    if (call && test_rng_range(rng, 0, 9)) {
        fwrig_call_make(&sound, test_rng_u64(rng));
        sound.call.priority = test_rng_u32(rng) % 9;
        memcpy(message, &sound, sizeof(sound));
        length = PR_CALL_BYTES(2);
    } else {
        length = (size_t)test_rng_range(rng, 0, 0x100);
        if (!call && test_rng_bool(rng)) {
            struct pr_command_header header = {.id = pr_wire_table[test_rng_u32(rng) % PR_WIRE_COUNT].id,
                                               .program_id = test_rng_u32(rng) % 3,
                                               .process_id = test_rng_u32(rng) % 3};

            header.size = length >= sizeof(header) ? (uint32_t)(length - sizeof(header)) : 0;
            memcpy(message, &header, sizeof(header));
        }
    }
    for (int64_t i = test_rng_range(rng, -4, 6); i > 0; i--)
        message[test_rng_u32(rng) % (call ? PR_CALL_BYTES(2) : 0x40)] = (uint8_t)test_rng_u32(rng);
    return length;
}

static void random_step(struct fwrig *rig, struct test_rng *rng)
{
    static const enum pr_channel channels[] = {PR_CHANNEL_IO, PR_CHANNEL_DEBUG, PR_CHANNEL_BUF_H2T,
                                               PR_CHANNEL_DATA_CHAIN_H2T, PR_CHANNEL_DATA_CHAIN_H2T};
    const enum pr_channel channel = channels[test_rng_u32(rng) % 5];
    struct pr_program_event event;
    uint64_t length;

    switch (test_rng_range(rng, 0, 11)) {
    case 0:
        fwrig_retire(rig, test_rng_u32(rng) % 8, test_rng_bool(rng) ? 0 : test_rng_u32(rng) % 16, true);
        break;
    case 1: (void)fwrig_event(rig, &event, true); break;
    case 2: fwrig_post(rig, channel, test_rng_u64(rng) & ~1ull, test_rng_u64(rng), test_rng_u64(rng)); break;
    case 3: fwrig_write(rig, PR_CTRL_DOORBELL, test_rng_u32(rng)); break;
    case 4: (void)fwrig_pass(rig, test_rng_u64(rng) % 3000000000ull); break;
    case 5: fwrig_write(rig, PR_CTRL_SCRATCH(test_rng_u32(rng) % 8), test_rng_u32(rng)); break;
    default:
        length = random_message(rng, channel, fwrig_memory(rig, FWRIG_POOL, 0x2000), 0x2000);
        fwrig_post(rig, channel, FWRIG_POOL, length, test_rng_u32(rng) % 0x200);
        break;
    }
}

static void survives_random_hosts(void **state)
{
    struct fwrig *rig = *state;
    struct test_rng rng;

    test_rng_init(&rng, 1);
    for (unsigned i = 0; i < 20000; i++) {
        enum fwrig_end end;

        random_step(rig, &rng);
        end = fwrig_run(rig);
        if (end == FWRIG_FAULTED ||
            (fwrig_read(rig, PR_CTRL_SCRATCH(4)) == (0xdead0000u | PR_DUMP_EXCEPTION)))
            fail_msg("step %u ended the firmware: %s", i, fwrig_log(rig));
        /* What the host lost track of does not matter here; POWER_DOWN may be among the messages. */
        if (i % 1000 == 999 || end == FWRIG_HALTED) {
            fwrig_boot_started(rig);
            fwrig_load(rig);
        }
    }
}

static void survives_random_containers(void **state)
{
    struct fwrig *rig = *state;
    struct container_image image;
    struct test_rng rng;
    unsigned loaded = 0;

    test_rng_init(&rng, 2);
    for (unsigned i = 0; i < 3000; i++) {
        struct pr_body_load load = {.container = FWRIG_CONTAINERS, .bytes = 0};
        uint8_t *bytes;

        image_make(&image, FWRIG_TEXT, test_rng_bool(&rng) ? FWRIG_KERNEL : 0);
        load.bytes = image.size;
        bytes = fwrig_memory(rig, FWRIG_CONTAINERS, image.size);
        memcpy(bytes, image.bytes, image.size);
        image_text(fwrig_memory(rig, FWRIG_TEXT, IMAGE_TEXT_BYTES));
        for (int64_t k = test_rng_range(&rng, 0, 3); k > 0; k--) {
            bytes[test_rng_u32(&rng) % image.size] ^= (uint8_t)(1u << test_rng_u32(&rng) % 8);
            if (test_rng_bool(&rng))
                fwrig_memory(rig, FWRIG_TEXT, IMAGE_TEXT_BYTES)[test_rng_u32(&rng) % IMAGE_TEXT_BYTES] ^= 1;
        }
        if (fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)) == PR_STATUS_OK) {
            struct fwrig_command unload = {
                .header = {.id = PR_CMD_UNLOAD_PROGRAM, .program_id = fwrig_reply(rig)->header.program_id}};

            loaded++;
            assert_true(fwrig_send(rig, PR_CHANNEL_IO, &unload, sizeof(unload.header), 0));
            assert_int_equal(PR_REPLY_STATUS(&unload.header), 0);
        }
    }
    assert_true(loaded > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(messages_are_read_once),   T(bad_messages_stay_bad),        T(slots_are_read_once),
        T(containers_are_read_once), T(boot_arguments_are_read_once), T(survives_unmapped_rings),
        T(survives_random_hosts),    T(survives_random_containers),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
