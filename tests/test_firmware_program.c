/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of program slots with its validity bytes, and what happens to programs and processes that are in
 * use: a process with calls that are queued, running or not yet reported is not ended, a program with
 * processes is not unloaded, in either order; what has ended is not called.
 */
#include "support.h"

#include <string.h>

#include "firmware/state.h"
#include "fwrig.h"

enum { STRIDE = 0x20, SLOTS = 144, LEVEL = 4 };

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

static uint32_t about(struct fwrig *rig, uint32_t id, uint32_t program, uint32_t process)
{
    struct pr_command_header header = {.id = id, .program_id = program, .process_id = process};

    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &header, sizeof(header), 0));
    return PR_REPLY_STATUS(&header);
}

static uint32_t load(struct fwrig *rig)
{
    struct container_image image;
    struct pr_body_load body;

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    memcpy(fwrig_memory(rig, FWRIG_CONTAINERS, image.size), image.bytes, image.size);
    body = (struct pr_body_load){.container = FWRIG_CONTAINERS, .bytes = image.size};
    return fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &body, sizeof(body));
}

/* The byte that the seeds' validator reads: table + programId * 0x20. */
static uint8_t valid(const struct fwrig *rig, uint32_t program)
{
    const struct fw *fw = fwrig_firmware(rig);

    return ((const uint8_t *)fw->program_slot)[program * STRIDE];
}

static uint32_t count_valid(const struct fwrig *rig)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < SLOTS; i++)
        count += valid(rig, i);
    return count;
}

static void every_slot_has_a_validity_byte(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_call call;

    assert_int_equal(sizeof(((struct fw *)0)->program_slot), SLOTS * STRIDE);
    assert_true(valid(rig, 0) == 1 && count_valid(rig) == 1);
    for (uint32_t i = 1; i < SLOTS; i++) {
        assert_int_equal(load(rig), PR_STATUS_OK);
        assert_true(valid(rig, i) == 1 && count_valid(rig) == i + 1);
    }
    assert_int_equal(load(rig), PR_STATUS_NO_RESOURCES);
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 100, PR_NO_ID), PR_STATUS_OK);
    assert_true(valid(rig, 100) == 0 && count_valid(rig) == SLOTS - 1);
    fwrig_call_make(&call, 1);
    call.call.program_id = 100;
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_NO_PROGRAM);
    assert_int_equal(load(rig), PR_STATUS_OK);
    assert_int_equal(count_valid(rig), SLOTS);
    assert_int_equal(((const struct fw *)fwrig_firmware(rig))->program_slot[100].loads, 2);
}

/* A byte that says no is enough: the validator does not look at what else is there. */
static void the_validator_reads_the_byte(void **state)
{
    struct fwrig *rig = *state;
    struct fw *fw = (struct fw *)(uintptr_t)fwrig_firmware(rig);
    union fwrig_call call;

    fwrig_call_make(&call, 1);
    fw->program_slot[0].valid = 0;
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_NO_PROGRAM);
    fw->program_slot[0].valid = 1;
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_OK);
}

static void call(struct fwrig *rig, uint64_t cookie)
{
    union fwrig_call message;

    fwrig_call_make(&message, cookie);
    message.call.priority = LEVEL;
    assert_int_equal(fwrig_call(rig, &message), PR_STATUS_OK);
}

static void expect_busy(struct fwrig *rig)
{
    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, 0, 0), PR_STATUS_BUSY);
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 0, PR_NO_ID), PR_STATUS_BUSY);
}

/* Three calls: two run, one is queued. None is lost by the commands that come too early. */
static void what_is_used_does_not_end(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;
    union fwrig_call late;
    uint64_t dropped;

    for (uint64_t i = 1; i <= 3; i++)
        call(rig, i);
    assert_int_equal(fwrig_pushes(rig), 2);
    for (uint64_t i = 1; i <= 3; i++) {
        expect_busy(rig);
        fwrig_retire(rig, LEVEL, 0, true);
        fwrig_run(rig);
        assert_true(fwrig_event(rig, &event, true));
        assert_true(event.cookie == i && event.status == PR_STATUS_OK);
    }
    /* The program's order: not before its process. */
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 0, PR_NO_ID), PR_STATUS_BUSY);
    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, 0, 0), PR_STATUS_OK);
    dropped = fwrig_counter(rig, "dropped");
    fwrig_call_make(&late, 4);
    assert_int_equal(fwrig_call(rig, &late), PR_STATUS_NO_PROCESS);
    assert_int_equal(fwrig_counter(rig, "dropped"), dropped + 1);
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 0, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(fwrig_call(rig, &late), PR_STATUS_NO_PROGRAM);
    assert_int_equal(fwrig_counter(rig, "dropped"), dropped + 2);
    assert_int_equal(fwrig_pushes(rig), 3);
}

/* A call whose event has no slot yet is still a call of the process. */
static void what_is_not_reported_does_not_end(void **state)
{
    struct fwrig *rig = *state;
    const uint32_t slots = pr_channel_table[PR_CHANNEL_IO_T2H].slots;
    struct pr_program_event event;

    for (uint32_t i = 0; i <= slots; i++) {
        call(rig, i);
        fwrig_retire(rig, LEVEL, 0, true);
        fwrig_run(rig);
    }
    expect_busy(rig);
    assert_true(fwrig_event(rig, &event, true)); /* room for the last one */
    fwrig_run(rig);
    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, 0, 0), PR_STATUS_OK);
    for (uint32_t i = 1; i <= slots; i++) {
        assert_true(fwrig_event(rig, &event, true));
        assert_int_equal(event.cookie, i);
    }
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 0, PR_NO_ID), PR_STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(every_slot_has_a_validity_byte),
        T(the_validator_reads_the_byte),
        T(what_is_used_does_not_end),
        T(what_is_not_reported_does_not_end),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
