/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware's rebase: a process's own addresses, what is rebased when, and what reaches the buffer registers. */
#include "support.h"

#include <string.h>

#include "fwrig.h"

/* Where the second domain has the program; the base domain has nothing there. */
#define TEXT_2    0x21000000u
#define KERNEL_2  0x22000000u
#define SCRATCH_2 0x23000000u

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

static void second_make(union fwrig_process *process)
{
    fwrig_process_make(process, 4);
    process->part.buffer[0].address = TEXT_2;
    process->part.buffer[1].address = KERNEL_2;
    process->part.buffer[2].address = SCRATCH_2;
}

static const struct fwrig_push *call_of(struct fwrig *rig, uint32_t process, uint32_t procedure)
{
    const size_t before = fwrig_pushes(rig);
    union fwrig_call call;

    fwrig_call_make(&call, before);
    call.call.process_id = process;
    call.call.procedure = procedure;
    call.call.priority = (uint32_t)before % 8;
    assert_int_equal(fwrig_call(rig, &call), 0);
    assert_int_equal(fwrig_pushes(rig), before + 1);
    return fwrig_push_at(rig, before);
}

static uint32_t bar(const struct fwrig_push *push, uint32_t number)
{
    return push->file[PR_TQ_BAR1 / 4 + number];
}

static void each_process_has_its_own_addresses(void **state)
{
    struct fwrig *rig = *state;
    const struct fwrig_push *push;
    union fwrig_process second;
    uint32_t id;

    second_make(&second);
    assert_int_equal(fwrig_process(rig, 0, &second, &id), 0);
    assert_int_equal(id, 1);
    assert_non_null(strstr(fwrig_log(rig), "text at 0x1bc421000000"));
    push = call_of(rig, 1, 1);
    assert_int_equal(push->address, TEXT_2 + 0x400);
    assert_int_equal(push->file[PR_TQ_STREAM / 4], 4);
    assert_int_equal(bar(push, 0), TEXT_2);
    assert_int_equal(bar(push, 1), KERNEL_2);
    assert_int_equal(bar(push, 9), SCRATCH_2);
    assert_int_equal(bar(push, 4), FWRIG_OUT);
    push = call_of(rig, 0, 1);
    assert_int_equal(push->address, FWRIG_TEXT + 0x400);
    assert_int_equal(push->file[PR_TQ_STREAM / 4], 3);
    assert_int_equal(bar(push, 0), FWRIG_TEXT);
    assert_int_equal(bar(push, 9), IMAGE_SCRATCH);
}

static void expect_refused(struct fwrig *rig, const union fwrig_process *process, const char *why)
{
    uint32_t id;

    assert_int_equal(fwrig_process(rig, 0, process, &id), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(id, PR_NO_ID);
    assert_non_null(strstr(fwrig_log(rig), why));
}

static void refuses_other_buffers(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_process p;
    uint32_t id;

    second_make(&p);
    p.part.buffers = 2;
    expect_refused(rig, &p, "has 2 buffers of its program, which has 3 of its own");
    second_make(&p);
    p.part.buffer[1].index = PR_PROCESS_TEXT;
    expect_refused(rig, &p, "is there twice");
    second_make(&p);
    p.part.buffer[2].index = IMAGE_INPUT; /* calls bind it */
    expect_refused(rig, &p, "buffer 0x7 of a process, 0x4000 bytes at 0x23000000, is not one of");
    second_make(&p);
    p.part.buffer[2].index = 0x200;
    expect_refused(rig, &p, "buffer 0x200 of a process");
    second_make(&p);
    p.part.buffer[0].bytes = IMAGE_TEXT_BYTES - 1;
    expect_refused(rig, &p, "is smaller than the container says");
    second_make(&p);
    p.part.buffer[1].address = 0xe0000000u - IMAGE_KERNEL_BYTES + 64;
    expect_refused(rig, &p, "ends above 0xe0000000");
    p.part.buffer[1].address = 1ull << 32 | KERNEL_2;
    expect_refused(rig, &p, "0x4000 bytes at 0x122000000, ends above");
    p.part.buffer[1].address = KERNEL_2 + 32;
    expect_refused(rig, &p, "at 0x22000020, has a reserved word");
    second_make(&p);
    p.part.buffer[1].reserved = 1;
    expect_refused(rig, &p, "at 0x22000000, has a reserved word");
    /* At the very end it fits, and nothing was kept of those refused. */
    second_make(&p);
    p.part.buffer[1].address = 0xe0000000u - IMAGE_KERNEL_BYTES;
    assert_int_equal(fwrig_process(rig, 0, &p, &id), 0);
    assert_int_equal(id, 1);
}

static void the_body_has_the_size_it_declares(void **state)
{
    struct fwrig *rig = *state;
    struct fwrig_command create = {
        .header = {.id = PR_CMD_CREATE_PROCESS, .size = PR_PROCESS_BYTES(2), .process_id = PR_NO_ID}};
    union fwrig_process p;

    fwrig_process_make(&p, 3);
    memcpy(create.body, &p, sizeof(p));
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &create, sizeof(create.header) + create.header.size, 0));
    assert_int_equal(PR_REPLY_STATUS(&create.header), PR_STATUS_BAD_SIZE);
    /* A count whose bytes are a small number again in 32 bits. */
    p.part.buffers = 0xaaaaaaabu;
    create.header = (struct pr_command_header){
        .id = PR_CMD_CREATE_PROCESS, .size = PR_PROCESS_BYTES(p.part.buffers), .process_id = PR_NO_ID};
    memcpy(create.body, &p, sizeof(p));
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &create, sizeof(create.header) + create.header.size, 0));
    assert_int_equal(PR_REPLY_STATUS(&create.header), PR_STATUS_BAD_SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_process_has_its_own_addresses, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_other_buffers, setup, teardown),
        cmocka_unit_test_setup_teardown(the_body_has_the_size_it_declares, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
