/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Built-in networks in the firmware: the table of rows, the load at the first use, what the host may not end,
 * and the text against the assembler. tests/test_builtin.c runs one on the engine.
 */
#include "support.h"

#include <string.h>

#include "builtin_text.h"
#include "fwrig.h"
#include "programs.h"
#include "protocol/control_bodies.h"
#include "protocol/inference.h"

struct reply {
    uint32_t status, program, process;
};

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static struct reply open_network(struct fwrig *rig, uint32_t row, uint32_t network)
{
    struct fwrig_command c = {.header = {.id = PR_CMD_INFERENCE_CALL,
                                         .size = PR_INFERENCE_BYTES(0),
                                         .program_id = PR_NO_ID,
                                         .process_id = PR_NO_ID}};
    const struct pr_body_inference body = {.built_in = row, .network = network};

    memcpy(c.body, &body, sizeof(body));
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c.header) + sizeof(body), 0));
    return (struct reply){PR_REPLY_STATUS(&c.header), c.header.program_id, c.header.process_id};
}

static uint32_t about(struct fwrig *rig, uint32_t id, uint32_t program, uint32_t process)
{
    struct pr_command_header header = {.id = id, .program_id = program, .process_id = process};

    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &header, sizeof(header), 0));
    return PR_REPLY_STATUS(&header);
}

static void expect_log(struct fwrig *rig, const char *text)
{
    if (!strstr(fwrig_log(rig), text))
        fail_msg("the log does not say \"%s\":\n%s", text, fwrig_log(rig));
}

static struct pr_body_quiesce counts(struct fwrig *rig)
{
    struct pr_body_quiesce quiesce = {0};

    assert_int_equal(fwrig_control(rig, PR_CMD_QUIESCE_STATE, &quiesce, sizeof(quiesce)), PR_STATUS_OK);
    memcpy(&quiesce, fwrig_reply(rig)->body, sizeof(quiesce));
    return quiesce;
}

/* The first use loads it, into slots like any other; the next one finds it. */
static void it_is_loaded_at_its_first_use(void **state)
{
    struct fwrig *rig = *state;
    struct reply first, again, other;

    fwrig_load(rig); /* program 0, process 0 */
    assert_int_equal(fwrig_counter(rig, "built-in-programs"), 0);
    first = open_network(rig, 0, PR_NET_COPY);
    assert_true(first.status == PR_STATUS_OK && first.program == 1 && first.process == 1);
    expect_log(rig, "built-in program 0: network 0 is program 1, process 1");
    again = open_network(rig, 0, PR_NET_COPY);
    assert_true(again.status == PR_STATUS_OK && again.program == 1 && again.process == 1);
    other = open_network(rig, PR_BUILT_IN_PROGRAMS_MAX - 1, PR_NET_COPY);
    assert_true(other.status == PR_STATUS_OK && other.program == 2 && other.process == 2);
    assert_int_equal(fwrig_counter(rig, "built-in-programs"), 2);
    assert_true(counts(rig).programs == 3 && counts(rig).processes == 3);
}

static void rows_and_networks_are_bounded(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(open_network(rig, PR_BUILT_IN_PROGRAMS_MAX, 0).status, PR_STATUS_BAD_ARGUMENT);
    expect_log(rig, "builtinProgramId < maxProgramServerSupported");
    assert_int_equal(open_network(rig, 0, PR_NET_TOT).status, PR_STATUS_BAD_ARGUMENT);
    expect_log(rig, "id < CAneBuiltInNetworkId::ANE_NET_TOT");
    assert_int_equal(open_network(rig, 0xffffffff, 0xffffffff).status, PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fwrig_counter(rig, "built-in-programs"), 0);
    assert_int_equal(open_network(rig, 0, 0).status, PR_STATUS_OK);
}

static void the_host_does_not_end_it(void **state)
{
    struct fwrig *rig = *state;
    const struct reply opened = open_network(rig, 0, 0);

    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, opened.program, opened.process),
                     PR_STATUS_WRONG_STATE);
    expect_log(rig, "process 0 is that of a built-in network and does not end");
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, opened.program, PR_NO_ID), PR_STATUS_WRONG_STATE);
    expect_log(rig, "program 0 is a built-in network and is not unloaded");
    assert_int_equal(open_network(rig, 0, 0).program, opened.program);
}

/* The host has nothing of its own loaded: the device may sleep. */
static void it_does_not_keep_the_device_awake(void **state)
{
    struct fwrig *rig = *state;

    fwrig_load(rig);
    assert_int_equal(open_network(rig, 0, 0).status, PR_STATUS_OK);
    assert_true(counts(rig).programs == 2); /* this is QUIESCE_STATE */
    assert_int_equal(fwrig_control(rig, PR_CMD_SUSPEND, NULL, 0), PR_STATUS_BUSY);
    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, 0, 0), PR_STATUS_OK);
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 0, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_SUSPEND, NULL, 0), PR_STATUS_OK);
}

/* A table without a free slot: refused, nothing is left over, and it works when a slot is free again. */
static void it_needs_a_program_and_a_process(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_process process;
    uint32_t id;

    fwrig_load(rig);
    fwrig_process_make(&process, 3);
    for (uint32_t i = 1; i < PR_PROCESSES_MAX; i++)
        assert_int_equal(fwrig_process(rig, 0, &process, &id), 0);
    assert_int_equal(open_network(rig, 0, 0).status, PR_STATUS_NO_RESOURCES);
    assert_true(counts(rig).programs == 1 && counts(rig).processes == PR_PROCESSES_MAX);
    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, 0, 7), PR_STATUS_OK);
    assert_int_equal(open_network(rig, 0, 0).process, 7);
    fwrig_hole(rig, FWRIG_HEAP, PR_EXTRA_HEAP_BYTES);
    assert_int_equal(open_network(rig, 1, 0).status, PR_STATUS_NO_RESOURCES);
}

/* The words that the engine gets are those of the assembler's text. */
static void the_text_is_what_the_assembler_makes(void **state)
{
    struct fwrig *rig = *state;
    static struct test_program program;
    struct inference_call {
        struct pr_command_header header;
        uint8_t body[PR_INFERENCE_BYTES(3)];
    } call = {.header = {.id = PR_CMD_INFERENCE_CALL,
                         .size = PR_INFERENCE_BYTES(3),
                         .program_id = PR_NO_ID,
                         .process_id = PR_NO_ID}};
    struct pr_body_inference *body = (void *)call.body;
    struct fwrig_command map = {
        .header = {.id = PR_CMD_PREMAP_BUFFER, .size = sizeof(struct pr_body_premap)}};
    const struct pr_body_premap property = {.operations = 1,
                                            .buffers = 1,
                                            .pool = PR_POOL_PROPERTY,
                                            .buffer = {.valid = 1, .address = FWRIG_STATS, .bytes = 24}};
    const struct fwrig_push *push;

    assert_int_equal(open_network(rig, 2, 0).status, PR_STATUS_OK);
    memcpy(map.body, &property, sizeof(property));
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &map, sizeof(map.header) + sizeof(property), 0));
    memcpy(fwrig_memory(rig, FWRIG_STATS, 24),
           &(struct pr_inference_properties){.packets = 1, .packet = {{.command = 1, .priority = 2}}}, 24);
    body->buffers = 3;
    body->built_in = 2;
    body->buffer[0] = property.buffer;
    body->buffer[1] = (struct pr_buffer){.valid = 1, .index = 0, .address = FWRIG_IN, .bytes = 64};
    body->buffer[2] = (struct pr_buffer){.valid = 1, .index = 1, .address = FWRIG_OUT, .bytes = 64};
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &call, sizeof(call), 0));
    assert_int_equal(PR_REPLY_STATUS(&call.header), PR_STATUS_OK);
    assert_true(call.header.program_id == 0 && call.header.process_id == 0);
    assert_int_equal(fwrig_pushes(rig), 1);
    push = fwrig_push_at(rig, 0);
    test_assemble(&program, "%s", builtin_text_copy);
    assert_int_equal(push->info, (program.first_words - 1) << 16 | 1);
    assert_int_equal(push->file[PR_TQ_STREAM / 4], PR_BUILT_IN_STREAM);
    assert_int_equal(push->file[(PR_TQ_BAR1 + 4 * 5) / 4], FWRIG_IN);
    assert_int_equal(push->file[(PR_TQ_BAR1 + 4 * 4) / 4], FWRIG_OUT);
    assert_int_equal(push->file[PR_TQ_BAR1 / 4], push->address);
    assert_memory_equal(fwrig_memory(rig, push->address, program.size), program.bytes, program.size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(it_is_loaded_at_its_first_use),    T(rows_and_networks_are_bounded),
        T(the_host_does_not_end_it),         T(it_does_not_keep_the_device_awake),
        T(it_needs_a_program_and_a_process), T(the_text_is_what_the_assembler_makes),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
