/* SPDX-License-Identifier: Apache-2.0 */
/*
 * INFERENCE_CALL through the firmware: one command with a pre-mapped property buffer becomes a procedure call
 * for each sub-packet, or is refused whole.
 */
#include "support.h"

#include <string.h>

#include "fwrig.h"
#include "protocol/inference.h"

#define PROPERTIES (FWRIG_STATS + 0x1000)
#define COOKIE     0x1122334455667700ull

/* A command with room for its body; buffers: the property buffer, input, output. */
struct inference {
    struct pr_command_header header;
    struct {
        uint32_t buffers, built_in, network, zero;
        uint64_t cookie;
        struct pr_buffer buffer[4];
    } body;
};

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

static void expect_log(struct fwrig *rig, const char *text)
{
    if (!strstr(fwrig_log(rig), text))
        fail_msg("the log does not say \"%s\":\n%s", text, fwrig_log(rig));
}

static uint32_t premap(struct fwrig *rig, uint32_t pool, uint64_t address, uint64_t bytes)
{
    struct fwrig_command c = {.header = {.id = PR_CMD_PREMAP_BUFFER, .size = sizeof(struct pr_body_premap)}};
    const struct pr_body_premap body = {.operations = 1,
                                        .buffers = 1,
                                        .pool = pool,
                                        .buffer = {.valid = 1, .address = address, .bytes = bytes}};

    memcpy(c.body, &body, sizeof(body));
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c.header) + sizeof(body), 0));
    return PR_REPLY_STATUS(&c.header);
}

static struct pr_inference_properties *properties(struct fwrig *rig)
{
    return (void *)fwrig_memory(rig, PROPERTIES, sizeof(struct pr_inference_properties));
}

/* A sound one of program 0, process 0, procedure 0, with one sub-packet. */
static struct inference sound(struct fwrig *rig)
{
    struct inference call = {.header = {.id = PR_CMD_INFERENCE_CALL, .size = PR_INFERENCE_BYTES(3)},
                             .body = {.buffers = 3, .cookie = COOKIE}};
    union fwrig_call plain;

    fwrig_call_make(&plain, 0);
    call.body.buffer[0] = (struct pr_buffer){
        .valid = 1, .address = PROPERTIES, .bytes = sizeof(struct pr_inference_properties)};
    memcpy(&call.body.buffer[1], plain.part.buffer, 2 * sizeof(struct pr_buffer));
    *properties(rig) = (struct pr_inference_properties){
        .packets = 1, .packet = {{.command = PR_SUB_PACKET_PROCEDURE_CALL, .priority = 4}}};
    return call;
}

static uint32_t send(struct fwrig *rig, struct inference call)
{
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &call, sizeof(call.header) + call.header.size, 0));
    return PR_REPLY_STATUS(&call.header);
}

static void prepare(struct fwrig *rig)
{
    assert_int_equal(premap(rig, PR_POOL_PROPERTY, PROPERTIES, sizeof(struct pr_inference_properties)), 0);
}

/* Each sub-packet is a call of its own procedure and priority; the event's cookie has its index. */
static void each_sub_packet_is_a_call(void **state)
{
    static const struct {
        uint32_t procedure, priority, address;
    } row[] = {{0, 4, FWRIG_TEXT}, {1, 7, FWRIG_TEXT + 0x400}, {0, 1, FWRIG_TEXT}};
    struct fwrig *rig = *state;
    struct pr_program_event event;
    struct inference call;

    prepare(rig);
    call = sound(rig);
    properties(rig)->packets = 3;
    for (unsigned i = 0; i < 3; i++)
        properties(rig)->packet[i] = (struct pr_sub_packet){.command = PR_SUB_PACKET_PROCEDURE_CALL,
                                                            .procedure = row[i].procedure,
                                                            .priority = row[i].priority};
    assert_int_equal(send(rig, call), PR_STATUS_OK);
    assert_int_equal(fwrig_counter(rig, "sub-packets"), 3);
    assert_int_equal(fwrig_pushes(rig), 3);
    for (unsigned i = 0; i < 3; i++) {
        const struct fwrig_push *push = fwrig_push_at(rig, i);

        assert_int_equal(push->queue, row[i].priority);
        assert_int_equal(push->address, row[i].address);
        assert_int_equal(push->file[(PR_TQ_BAR1 + 4 * 5) / 4], FWRIG_IN);
        assert_int_equal(push->file[(PR_TQ_BAR1 + 4 * 4) / 4], FWRIG_OUT);
    }
    for (unsigned i = 3; i-- > 0;) {
        fwrig_retire(rig, row[i].priority, 0, true);
        fwrig_run(rig);
        assert_true(fwrig_event(rig, &event, true));
        assert_true(event.cookie == (COOKIE | i) && event.status == 0 && event.process_id == 0);
    }
    assert_false(fwrig_event(rig, &event, true));
}

static void as_many_as_there_are(void **state)
{
    struct fwrig *rig = *state;
    struct inference call;

    prepare(rig);
    call = sound(rig);
    for (unsigned i = 0; i < PR_SUB_PACKETS_MAX; i++)
        properties(rig)->packet[i] =
            (struct pr_sub_packet){.command = PR_SUB_PACKET_PROCEDURE_CALL, .priority = i % 8};
    properties(rig)->packets = PR_SUB_PACKETS_MAX;
    assert_int_equal(send(rig, call), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), PR_SUB_PACKETS_MAX); /* two on each queue */
    properties(rig)->packets = PR_SUB_PACKETS_MAX + 1;
    assert_int_equal(send(rig, call), PR_STATUS_BAD_ARGUMENT);
    properties(rig)->packets = 0;
    assert_int_equal(send(rig, call), PR_STATUS_BAD_ARGUMENT);
    expect_log(rig, "does not hold 1 to 16 sub-packets");
}

/* 127 calls of a process: what does not fit as a whole is not begun. */
static void it_is_accepted_whole_or_not(void **state)
{
    struct fwrig *rig = *state;
    struct inference call;

    prepare(rig);
    call = sound(rig);
    properties(rig)->packets = 16;
    for (unsigned i = 0; i < 16; i++)
        properties(rig)->packet[i] =
            (struct pr_sub_packet){.command = PR_SUB_PACKET_PROCEDURE_CALL, .priority = 3};
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(send(rig, call), PR_STATUS_OK);
    assert_int_equal(send(rig, call), PR_STATUS_NO_RESOURCES); /* 112 + 16 */
    assert_int_equal(fwrig_counter(rig, "sub-packets"), 112);
    properties(rig)->packets = 15;
    assert_int_equal(send(rig, call), PR_STATUS_OK);
    properties(rig)->packets = 1;
    assert_int_equal(send(rig, call), PR_STATUS_NO_RESOURCES);
    assert_int_equal(fwrig_counter(rig, "sub-packets"), 127);
}

static void refuses_bad_ones(void **state)
{
    struct fwrig *rig = *state;
    struct inference call;
    uint64_t calls = 0;

    prepare(rig);
#define REFUSED(change, expected)                                \
    do {                                                         \
        call = sound(rig);                                       \
        change;                                                  \
        assert_int_equal(send(rig, call), PR_STATUS_##expected); \
        assert_int_equal(fwrig_pushes(rig), calls);              \
    } while (0)
    REFUSED(call.header.size -= 1, BAD_SIZE);
    REFUSED(call.header.size += 0x30, BAD_SIZE);
    REFUSED(call.body.buffers = 66, BAD_SIZE);
    REFUSED(call.header.priority = 8, BAD_ARGUMENT);
    REFUSED(call.body.zero = 1, BAD_ARGUMENT);
    REFUSED(call.body.cookie |= 1, BAD_ARGUMENT);
    REFUSED(call.body.built_in = 1, BAD_ARGUMENT);
    REFUSED(call.body.network = 1, BAD_ARGUMENT);
    REFUSED(call.header.procedure_id = 3, BAD_ARGUMENT);
    REFUSED((call.body.buffers = 2, call.header.size -= 0x30), BAD_ARGUMENT);
    expect_log(rig, "pMsg->bufNbr == 1 + pAneProgramDesc2->procedures[procedureId].numIoBuffers");
    REFUSED((call.body.buffers = 4, call.header.size += 0x30), BAD_ARGUMENT);
    REFUSED((call.body.buffers = 0, call.header.size -= 0x90), BAD_ARGUMENT);
    REFUSED(call.body.buffer[0].address += 0x4000, BAD_ARGUMENT);
    expect_log(rig, "the property buffer is pre-mapped");
    REFUSED(call.body.buffer[0].bytes += 1, BAD_ARGUMENT);
    REFUSED(call.body.buffer[0].bytes = 8, BAD_ARGUMENT);
    REFUSED((call.body.buffer[0].bytes = 24, properties(rig)->packets = 2), BAD_ARGUMENT);
    REFUSED(properties(rig)->zero = 1, BAD_ARGUMENT);
    REFUSED(properties(rig)->packet[0].command = 0, BAD_ARGUMENT);
    REFUSED(properties(rig)->packet[0].flags = 1, BAD_ARGUMENT);
    REFUSED(properties(rig)->packet[0].priority = 8, BAD_ARGUMENT);
    REFUSED(properties(rig)->packet[0].procedure = 3, BAD_ARGUMENT);
    REFUSED(properties(rig)->packet[0].procedure = 2, BAD_ARGUMENT); /* its content type is not called */
    REFUSED(properties(rig)->packets = 2, BAD_ARGUMENT);             /* the second is empty */
    REFUSED(call.body.buffer[2].bytes = 1, BAD_ARGUMENT);
    REFUSED(call.body.buffer[1].address |= 1ull << 32, BAD_ARGUMENT);
    REFUSED(call.body.buffer[2].index = IMAGE_INPUT, BAD_ARGUMENT);
#undef REFUSED
    calls++;
    call = sound(rig);
    assert_int_equal(send(rig, call), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 1);
}

/* Seeds ch. 30: dropped, with the line as quoted, and counted. */
static void what_is_not_running_is_dropped(void **state)
{
    struct fwrig *rig = *state;
    struct inference call;
    uint64_t dropped;

    prepare(rig);
    dropped = fwrig_counter(rig, "dropped");
    call = sound(rig);
    call.header.process_id = 5;
    assert_int_equal(send(rig, call), PR_STATUS_NO_PROCESS);
    expect_log(rig, "CSNE_CMD_INFERENCE_CALL dropped. prog 0 process 5 not running.");
    call.header.program_id = 9;
    assert_int_equal(send(rig, call), PR_STATUS_NO_PROGRAM);
    expect_log(rig, "CSNE_CMD_INFERENCE_CALL dropped. prog 9 process 5 not running.");
    call.header.program_id = 0;
    call.header.process_id = 0xfffffffe;
    assert_int_equal(send(rig, call), PR_STATUS_NO_PROCESS);
    assert_int_equal(fwrig_counter(rig, "dropped"), dropped + 3);
    assert_int_equal(fwrig_pushes(rig), 0);
    assert_int_equal(send(rig, sound(rig)), PR_STATUS_OK);
}

static void calls_wait_for_the_start(void **state)
{
    struct fwrig *rig = *state;

    prepare(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_STOP, &(uint32_t){0}, 4), PR_STATUS_OK);
    assert_int_equal(send(rig, sound(rig)), PR_STATUS_NOT_READY);
    assert_int_equal(fwrig_control(rig, PR_CMD_START, &(uint32_t){0}, 4), PR_STATUS_OK);
    assert_int_equal(send(rig, sound(rig)), PR_STATUS_OK);
}

static void property_buffers_are_mapped_first(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(send(rig, sound(rig)), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(premap(rig, PR_POOL_PROPERTY, 0, 0x108), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(premap(rig, PR_POOL_PROPERTY, PROPERTIES, 0), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(premap(rig, PR_POOL_PROPERTY, PROPERTIES, 23), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(premap(rig, PR_POOL_PROPERTY, 0xd0000000, 0x108), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(send(rig, sound(rig)), PR_STATUS_BAD_ARGUMENT);
    prepare(rig);
    prepare(rig); /* the same one takes no second place */
    for (unsigned i = 1; i < PR_PROPERTY_MAPS; i++)
        assert_int_equal(premap(rig, PR_POOL_PROPERTY, PROPERTIES + 0x1000 * i, 0x108), 0);
    assert_int_equal(send(rig, sound(rig)), PR_STATUS_OK);
    /* The oldest goes when one more comes. */
    assert_int_equal(premap(rig, PR_POOL_PROPERTY, PROPERTIES + 0x1000 * PR_PROPERTY_MAPS, 0x108), 0);
    assert_int_equal(send(rig, sound(rig)), PR_STATUS_BAD_ARGUMENT);
    prepare(rig);
    /* The mapping goes away behind the firmware's back. */
    assert_int_equal(send(rig, sound(rig)), PR_STATUS_OK);
    fwrig_hole(rig, PROPERTIES, 0x10);
    {
        struct inference call = {.header = {.id = PR_CMD_INFERENCE_CALL, .size = PR_INFERENCE_BYTES(3)},
                                 .body = {.buffers = 3}};

        call.body.buffer[0] = (struct pr_buffer){.valid = 1, .address = PROPERTIES, .bytes = 0x108};
        assert_int_equal(send(rig, call), PR_STATUS_BAD_ARGUMENT);
    }
}

/* What the host writes after the copy does not matter. */
static void the_property_buffer_is_read_once(void **state)
{
    struct fwrig *rig = *state;
    struct inference call;

    prepare(rig);
    call = sound(rig);
    fwrig_flip(rig, PROPERTIES, sizeof(struct pr_inference_properties), 0xff);
    assert_int_equal(send(rig, call), PR_STATUS_OK);
    assert_true(fwrig_flips(rig) > 0);
    assert_int_equal(fwrig_pushes(rig), 1);
    assert_int_equal(fwrig_push_at(rig, 0)->queue, 4);
    fwrig_flip(rig, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(each_sub_packet_is_a_call),         T(as_many_as_there_are),
        T(it_is_accepted_whole_or_not),       T(refuses_bad_ones),
        T(what_is_not_running_is_dropped),    T(calls_wait_for_the_start),
        T(property_buffers_are_mapped_first), T(the_property_buffer_is_read_once),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
