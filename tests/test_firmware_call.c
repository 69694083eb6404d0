/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Procedure calls through the firmware: to the queue's registers, back as events, refused, waiting, overdue.
 */
#include "support.h"

#include <string.h>

#include "fwrig.h"

#define CALL_BIT  (1u << 7)
#define EVENT_BIT (1u << 6)

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    fwrig_load(rig);
    fwrig_rang(rig);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static uint32_t call_with(struct fwrig *rig, uint32_t priority, uint64_t cookie)
{
    union fwrig_call call;

    fwrig_call_make(&call, cookie);
    call.call.priority = priority;
    return fwrig_call(rig, &call);
}

static uint32_t file(const struct fwrig_push *push, uint32_t reg)
{
    return push->file[reg / 4];
}

static void writes_35_words_and_pushes(void **state)
{
    struct fwrig *rig = *state;
    const struct fwrig_push *push;
    union fwrig_call call;

    fwrig_call_make(&call, 0x1122334455667788ull);
    assert_int_equal(fwrig_call(rig, &call), 0);
    assert_int_equal(fwrig_rang(rig), CALL_BIT); /* the slot is back */
    assert_int_equal(fwrig_pushes(rig), 1);
    push = fwrig_push_at(rig, 0);
    assert_int_equal(push->queue, 4);
    assert_int_equal(push->priority, 5); /* the weight of level 4 */
    assert_int_equal(push->address, FWRIG_TEXT);
    assert_int_equal(push->info, 11u << 16 | 1);
    for (uint32_t bar = 0; bar < PR_TQ_BARS; bar++) {
        const uint32_t expected = bar == 0   ? FWRIG_TEXT
                                  : bar == 1 ? FWRIG_KERNEL
                                  : bar == 4 ? FWRIG_OUT
                                  : bar == 5 ? FWRIG_IN
                                  : bar == 9 ? IMAGE_SCRATCH
                                             : 0;

        assert_int_equal(file(push, PR_TQ_BAR1 + 4 * bar), expected);
    }
    assert_int_equal(file(push, PR_TQ_NID1), 1u << 8 | 1);
    assert_int_equal(file(push, PR_TQ_SIZE1), 11u << 16);
    assert_int_equal(file(push, PR_TQ_ADDR1), FWRIG_TEXT);
    assert_int_equal(file(push, PR_TQ_STREAM), 3);

    fwrig_call_make(&call, 2);
    call.call.procedure = 1;
    call.call.priority = 7;
    assert_int_equal(fwrig_call(rig, &call), 0);
    push = fwrig_push_at(rig, 1);
    assert_int_equal(push->queue, 7);
    assert_int_equal(push->priority, 31);
    assert_int_equal(push->address, FWRIG_TEXT + 0x400);
    assert_int_equal(push->info, 9u << 16 | 2);
    assert_int_equal(file(push, PR_TQ_NID1), 2u << 8 | 1);
}

static void put_bytes(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

/* One more process of program 0; its number. */
static uint32_t create_process(struct fwrig *rig)
{
    union fwrig_process create;
    uint32_t id;

    fwrig_process_make(&create, 3);
    assert_int_equal(fwrig_process(rig, 0, &create, &id), 0);
    return id;
}

/* The head of a call byte by byte, without the structs that driver and firmware share; the status it gets. */
static uint16_t send_bytes(struct fwrig *rig, uint16_t id, const uint32_t field[4], uint8_t elsewhere)
{
    uint8_t message[0xc0]; /* a head of 0x60 bytes and two buffers of 0x30 */
    union fwrig_call sound;

    fwrig_call_make(&sound, 9);
    memcpy(message, &sound, sizeof(message));
    memset(message, elsewhere, 0x18);
    put_bytes(message + 4, id, 2);
    for (unsigned i = 0; i < 4; i++)
        put_bytes(message + 8 + 4 * i, field[i], 4);
    assert_true(fwrig_send(rig, PR_CHANNEL_DATA_CHAIN_H2T, message, sizeof(message), 0));
    return (uint16_t)(message[6] | message[7] << 8);
}

/* u16 id at +4, programId at +8, procId at +0xc, proc at +0x10, priority at +0x14: no two of them equal. */
static void reads_the_head_at_its_bytes(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    assert_int_equal(create_process(rig), 1);
    assert_int_equal(create_process(rig), 2);
    for (unsigned i = 0; i < 2; i++) {
        /* The four bytes before the id and the two behind it are not part of it. */
        assert_int_equal(send_bytes(rig, 0x204, (const uint32_t[]){0, 2, 1, 7}, i ? 0xff : 0), 0);
        assert_int_equal(fwrig_pushes(rig), i + 1);
        assert_int_equal(fwrig_push_at(rig, i)->queue, 7);
        assert_int_equal(fwrig_push_at(rig, i)->address, FWRIG_TEXT + 0x400); /* procedure 1 */
        fwrig_retire(rig, 7, 0, true);
        fwrig_run(rig);
        assert_true(fwrig_event(rig, &event, true));
        assert_true(event.program_id == 0 && event.process_id == 2);
    }
    /* One field at a time is wrong: no such command, program, process; bad argument. */
    assert_int_equal(send_bytes(rig, 0x304, (const uint32_t[]){0, 2, 1, 7}, 0), 2);
    assert_int_equal(send_bytes(rig, 0x204, (const uint32_t[]){77, 2, 1, 7}, 0), 4);
    assert_int_equal(send_bytes(rig, 0x204, (const uint32_t[]){0, 77, 1, 7}, 0), 5);
    assert_int_equal(send_bytes(rig, 0x204, (const uint32_t[]){0, 2, 77, 7}, 0), 3);
    assert_int_equal(send_bytes(rig, 0x204, (const uint32_t[]){0, 2, 1, 77}, 0), 3);
    assert_int_equal(fwrig_pushes(rig), 2);
}

static void reports_the_end(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;
    size_t before;

    assert_int_equal(call_with(rig, 4, 0xc00c1e), 0);
    assert_int_equal(fwrig_rang(rig), CALL_BIT);
    assert_true(fwrig_timer_set(rig));
    assert_false(fwrig_event(rig, &event, true));
    before = fwrig_fabric_count(rig);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_int_equal(fwrig_rang(rig), EVENT_BIT);
    assert_int_equal(fwrig_fabric_count(rig) - before, 4);
    assert_int_equal(fwrig_fabric_at(rig, before)->kind, FWRIG_WINDOW_OPENED);
    assert_int_equal(fwrig_fabric_at(rig, before + 1)->kind, FWRIG_STORE);
    assert_int_equal(fwrig_fabric_at(rig, before + 2)->kind, FWRIG_BARRIER);
    assert_int_equal(fwrig_fabric_at(rig, before + 3)->kind, FWRIG_WINDOW_CLOSED);
    assert_true(fwrig_fabric_guarded(rig));
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.sequence, 0);
    assert_int_equal(event.id, PR_CMD_PROGRAM_EVENT);
    assert_int_equal(event.cookie, 0xc00c1e);
    assert_int_equal(event.program_id, 0);
    assert_int_equal(event.process_id, 0);
    assert_int_equal(event.status, PR_STATUS_OK);
    assert_int_equal(event.state, PR_EVENT_FINISHED);
    assert_int_equal(event.detail, 0);
    assert_false(fwrig_event(rig, &event, true));
    assert_false(fwrig_timer_set(rig)); /* idle: nothing makes time pass */
    assert_int_equal(fwrig_read(rig, PR_ENGINE_TM + PR_TM_IRQ0_COUNT), 0);
    assert_int_equal(fwrig_read(rig, PR_ENGINE_TM + PR_TM_IRQ1_COUNT), 0);
    /* The next has the next number. */
    assert_int_equal(call_with(rig, 0, 5), 0);
    fwrig_retire(rig, 0, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.sequence, 1);
    assert_int_equal(event.cookie, 5);
}

static void rings_up_to_three_targets(void **state)
{
    const struct pr_doorbell_target target[] = {{.reg = FWRIG_HOST_DOORBELL, .bits = EVENT_BIT},
                                                {.reg = FWRIG_HOST_DOORBELL, .bits = 1u << 20},
                                                {.reg = FWRIG_HOST_DOORBELL, .bits = 1u << 21}};
    struct fwrig *rig = *state;
    size_t before;

    fwrig_boot_started(rig);
    assert_int_equal(fwrig_bind_targets(rig, target, 3), PR_STATUS_OK);
    fwrig_load(rig);
    assert_int_equal(call_with(rig, 4, 1), 0);
    fwrig_rang(rig);
    before = fwrig_fabric_count(rig);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_int_equal(fwrig_fabric_count(rig) - before, 3 * 4);
    assert_int_equal(fwrig_fabric_at(rig, before + 1)->bits, EVENT_BIT);
    assert_int_equal(fwrig_fabric_at(rig, before + 5)->bits, 1u << 20);
    assert_int_equal(fwrig_fabric_at(rig, before + 9)->bits, 1u << 21);
    assert_int_equal(fwrig_rang(rig), EVENT_BIT | 1u << 20 | 1u << 21);
    assert_true(fwrig_fabric_guarded(rig));
}

static void fails_with_what_the_engine_says(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    assert_int_equal(call_with(rig, 4, 1), 0);
    fwrig_set_error(rig, 0xaabb040c, 0x00a01000);
    fwrig_retire(rig, 4, PR_TM_CODE_TRANSLATION, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.status, PR_STATUS_TRANSLATION);
    assert_int_equal(event.detail, 0x00a01000aabb040cull);
    assert_int_equal(fwrig_failure()->error[0], 0xaabb040c);
    assert_int_equal(fwrig_failure()->error[1], 0x00a01000);
    assert_int_equal(fwrig_failure()->status, PR_TM_STATUS_IDLE);
    assert_int_equal(fwrig_read(rig, PR_ENGINE_TM + PR_TM_ERROR1), PR_TM_ERROR_FINE);
    /* The next call is not touched by it. */
    assert_int_equal(call_with(rig, 4, 2), 0);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.status, PR_STATUS_OK);
}

/* The error registers hold the first error of all queues: a call is not told of another queue's. */
static void leaves_the_error_of_another_queue(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    assert_int_equal(call_with(rig, 4, 1), 0);
    fwrig_set_error(rig, 0x00020502, 0x00a01000);
    fwrig_retire(rig, 4, PR_TM_CODE_TRANSLATION, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.status, PR_STATUS_TRANSLATION);
    assert_int_equal(event.detail, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(fwrig_failure()->error[i], PR_TM_ERROR_FINE);
    assert_int_equal(fwrig_read(rig, PR_ENGINE_TM + PR_TM_ERROR1), 0x00020502);
}

/* Each check of docs/protocol.md by itself: the status, a ring, nothing pushed. */
#define REJECTED(change, expected)                                   \
    do {                                                             \
        fwrig_call_make(&c, 1);                                      \
        change;                                                      \
        fwrig_rang(rig);                                             \
        assert_int_equal(fwrig_call(rig, &c), PR_STATUS_##expected); \
        assert_int_equal(fwrig_rang(rig), CALL_BIT);                 \
        assert_int_equal(fwrig_pushes(rig), 0);                      \
    } while (0)

static void rejects_bad_calls(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_call c;

    REJECTED(c.call.program_id = 144, NO_PROGRAM);
    REJECTED(c.call.program_id = 1, NO_PROGRAM);
    REJECTED(c.call.program_id = PR_NO_ID, NO_PROGRAM);
    REJECTED(c.call.process_id = 288, NO_PROCESS);
    REJECTED(c.call.process_id = 1, NO_PROCESS);
    REJECTED(c.call.process_id = PR_NO_ID, NO_PROCESS);
    REJECTED(c.call.procedure = 3, BAD_ARGUMENT);
    REJECTED(c.call.procedure = 0xffffffffu, BAD_ARGUMENT);
    REJECTED(c.call.procedure = 2, BAD_ARGUMENT); /* content type 1 */
    REJECTED(c.call.priority = 8, BAD_ARGUMENT);
    REJECTED(c.call.output_sets = 0, BAD_ARGUMENT);
    REJECTED(c.call.output_sets = 2, BAD_ARGUMENT);
    REJECTED(c.call.partitions = 0, BAD_ARGUMENT);
    REJECTED((c.call.stats.address = FWRIG_STATS, c.call.stats.bytes = 0x27), BAD_ARGUMENT);
    REJECTED(c.part.buffer[0].valid = 2, BAD_ARGUMENT);
    REJECTED(c.part.buffer[0].index = 4, BAD_ARGUMENT);
    REJECTED(c.part.buffer[0].index = 0xffffffffu, BAD_ARGUMENT);
    REJECTED(c.part.buffer[0].index = IMAGE_OUTPUT, BAD_ARGUMENT); /* twice */
    REJECTED(c.part.buffer[0].index = IMAGE_MIDDLE, BAD_ARGUMENT); /* the program's own */
    REJECTED(c.part.buffer[0].index = IMAGE_TEXT, BAD_ARGUMENT);
    REJECTED(c.part.buffer[0].index = IMAGE_KERNEL, BAD_ARGUMENT);
    REJECTED(c.part.buffer[0].address = 0x100000000ull, BAD_ARGUMENT);
    REJECTED(c.part.buffer[0].address += 8, BAD_ARGUMENT);
    REJECTED(c.part.buffer[1].bytes = IMAGE_OUTPUT_BYTES - 1, BAD_ARGUMENT);
    REJECTED(c.call.buffers = 1, BAD_ARGUMENT); /* the output has no buffer */
    assert_non_null(strstr(fwrig_log(rig), "6 dropped, 19 rejected"));
    assert_false(fwrig_timer_set(rig));
}

static void send_raw(struct fwrig *rig, const union fwrig_call *c, uint64_t length, uint32_t expected)
{
    const uint32_t slot = fwrig_cursor(rig, PR_CHANNEL_DATA_CHAIN_H2T);

    memcpy(fwrig_memory(rig, FWRIG_POOL, sizeof(*c)), c, sizeof(*c));
    fwrig_rang(rig);
    fwrig_post(rig, PR_CHANNEL_DATA_CHAIN_H2T, FWRIG_POOL, length, 0);
    fwrig_run(rig);
    assert_true(fwrig_slot_returned(rig, PR_CHANNEL_DATA_CHAIN_H2T, slot));
    /* a message that has no place for its status is also reported on IO_T2H */
    assert_int_equal(fwrig_rang(rig), length < 8 ? CALL_BIT | EVENT_BIT : CALL_BIT);
    assert_int_equal(pr_le16(fwrig_memory(rig, FWRIG_POOL + 6, 2)), expected);
    assert_int_equal(fwrig_pushes(rig), 0);
}

static void rejects_bad_lengths_and_ids(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_call c;

    fwrig_call_make(&c, 1);
    send_raw(rig, &c, PR_CALL_BYTES(2) - 1, PR_STATUS_BAD_SIZE);
    send_raw(rig, &c, PR_CALL_BYTES(3), PR_STATUS_BAD_SIZE);
    send_raw(rig, &c, 0x5f, PR_STATUS_BAD_SIZE);
    send_raw(rig, &c, 8, PR_STATUS_BAD_SIZE);
    send_raw(rig, &c, sizeof(c) + 1, PR_STATUS_BAD_SIZE);
    send_raw(rig, &c, UINT64_MAX, PR_STATUS_BAD_SIZE);
    send_raw(rig, &c, 4, 0); /* no room for an answer */
    c.call.buffers = 65;
    send_raw(rig, &c, PR_CALL_BYTES(64), PR_STATUS_BAD_ARGUMENT);
    c.call.buffers = 0x5555557u; /* 0x60 + 0x30 n wraps to something small */
    send_raw(rig, &c, PR_CALL_BYTES(2), PR_STATUS_BAD_ARGUMENT);
    fwrig_call_make(&c, 1);
    c.call.head.id = 0x205;
    send_raw(rig, &c, PR_CALL_BYTES(2), PR_STATUS_UNKNOWN_COMMAND);
    assert_non_null(strstr(fwrig_log(rig), "Cmd 0x205 is not supported through ExeLoop cmd channel\n"));
    fwrig_post(rig, PR_CHANNEL_DATA_CHAIN_H2T, 0x90000000u, PR_CALL_BYTES(2), 0);
    fwrig_run(rig);
    assert_int_equal(fwrig_rang(rig), CALL_BIT | EVENT_BIT);
    assert_int_equal(call_with(rig, 4, 1), 0);
}

static void panics_at_an_unknown_id_when_asked_to(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_call c;

    fwrig_arguments(rig)->unknown_id_panics = 1;
    fwrig_boot_started(rig);
    fwrig_call_make(&c, 1);
    c.call.head.id = PR_EXE_BACK_CHANNEL_RPC; /* known */
    assert_int_equal(fwrig_call(rig, &c), PR_STATUS_BAD_SIZE);
    c.call.head.id = 0x205;
    assert_int_equal(fwrig_call(rig, &c), FWRIG_LOST);
    assert_int_equal(fwrig_dump_drain(rig), FWRIG_FAULTED);
    assert_string_equal(fwrig_fault_text(rig), "Cmd 0x205 is not supported through ExeLoop cmd channel");
}

static void is_not_ready_before_start(void **state)
{
    struct fwrig *rig = *state;
    size_t before;

    assert_true(fwrig_boot(rig));
    fwrig_bind(rig);
    fwrig_load(rig);
    before = fwrig_pushes(rig);
    assert_int_equal(call_with(rig, 4, 1), PR_STATUS_NOT_READY);
    assert_int_equal(fwrig_pushes(rig), before);
}

static uint32_t terminate(struct fwrig *rig)
{
    struct fwrig_command c = {.header = {.id = PR_CMD_TERMINATE_PROCESS, .program_id = 0, .process_id = 0}};

    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c.header), 0));
    return PR_REPLY_STATUS(&c.header);
}

static void process_goes_when_its_calls_are_reported(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    assert_int_equal(call_with(rig, 4, 1), 0);
    assert_int_equal(terminate(rig), PR_STATUS_BUSY);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(terminate(rig), PR_STATUS_OK);
    assert_int_equal(call_with(rig, 4, 1), PR_STATUS_NO_PROCESS);
}

/* Five calls of one level: two on the queue, three wait; each that ends lets the oldest waiting go. */
static void keeps_order_and_credit(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(call_with(rig, 3, 100 + i), 0);
    assert_int_equal(fwrig_pushes(rig), 2);
    assert_int_equal(call_with(rig, 2, 200), 0); /* another level has its own */
    assert_int_equal(fwrig_pushes(rig), 3);
    assert_int_equal(fwrig_push_at(rig, 2)->queue, 2);
    for (uint64_t i = 0; i < 5; i++) {
        fwrig_retire(rig, 3, 0, true);
        fwrig_run(rig);
        assert_int_equal(fwrig_pushes(rig), 3 + (i < 3 ? i + 1 : 3));
        assert_true(fwrig_event(rig, &event, true));
        assert_int_equal(event.cookie, 100 + i);
    }
    assert_true(fwrig_timer_set(rig));
    fwrig_retire(rig, 2, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, 200);
    assert_false(fwrig_timer_set(rig));
}

static void network_ids_go_round(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    assert_int_equal(call_with(rig, 7, 0), 0); /* keeps id 1 */
    for (uint32_t i = 0; i < 300; i++) {
        const uint32_t expected = 2 + i % 254; /* 2 to 255, and past 1 */

        assert_int_equal(call_with(rig, 0, i), 0);
        assert_int_equal(fwrig_push_at(rig, i + 1)->file[PR_TQ_NID1 / 4], expected << 8 | 1);
        fwrig_retire(rig, 0, 0, true);
        fwrig_run(rig);
        assert_true(fwrig_event(rig, &event, true));
    }
}

static void bounds_calls_in_flight(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;
    union fwrig_call c;
    uint32_t accepted = 0;

    for (uint32_t i = 0; i < 127; i++)
        assert_int_equal(call_with(rig, 4, i), 0);
    assert_int_equal(call_with(rig, 4, 0), PR_STATUS_NO_RESOURCES);
    /* Other processes share what is left of the table of 256. */
    for (uint32_t process = 1; process < 3; process++) {
        assert_int_equal(create_process(rig), process);
        for (uint32_t i = 0; i < 127; i++) {
            fwrig_call_make(&c, i);
            c.call.process_id = process;
            accepted += fwrig_call(rig, &c) == 0;
        }
    }
    assert_int_equal(accepted, 256 - 127);
    assert_int_equal(fwrig_pushes(rig), 2);
    /* The host returns nothing for a while: 64 events go out, the others are kept and come later. */
    for (uint32_t i = 0; i < 256; i++) {
        fwrig_retire(rig, 4, 0, true);
        fwrig_run(rig);
    }
    for (uint32_t i = 0; i < 256; i++) {
        assert_true(fwrig_event(rig, &event, true));
        assert_int_equal(event.sequence, i);
        assert_int_equal(event.cookie, i % 127);
    }
}

static void aborts_a_stuck_queue(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(call_with(rig, 6, i), 0);
    fwrig_pass(rig, 1000000000);
    assert_int_equal(call_with(rig, 1, 10), 0);
    fwrig_set_error(rig, 0x00180603, 0);
    fwrig_pass(rig, 999999999);
    assert_int_equal(fwrig_aborted(rig), 0);
    fwrig_pass(rig, 1);
    assert_int_equal(fwrig_aborted(rig), 1u << 6);
    assert_int_equal(fwrig_read(rig, PR_ENGINE_TM + PR_TM_ERROR1), PR_TM_ERROR_FINE);
    /* Both on the queue end; the one that waited goes. */
    for (uint64_t i = 0; i < 2; i++) {
        assert_true(fwrig_event(rig, &event, true));
        assert_int_equal(event.cookie, i);
        assert_int_equal(event.status, PR_STATUS_STUCK);
        /* The queue stopped on the older one: the error is not the other's. */
        assert_int_equal(event.detail, i == 0 ? 0x00180603 : 0);
    }
    assert_false(fwrig_event(rig, &event, true));
    assert_int_equal(fwrig_pushes(rig), 4);
    assert_int_equal(fwrig_push_at(rig, 3)->queue, 6);
    /* The other queue has its own two seconds, and makes them. */
    fwrig_pass(rig, 900000000);
    fwrig_retire(rig, 1, 0, true);
    fwrig_retire(rig, 6, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, 10);
    assert_int_equal(event.status, PR_STATUS_OK);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, 2);
    assert_int_equal(event.status, PR_STATUS_OK);
    assert_false(fwrig_timer_set(rig));
    fwrig_pass(rig, 10000000000ull);
    assert_int_equal(fwrig_aborted(rig), 1u << 6);
}

/* Progress on a queue starts its two seconds anew. */
static void slow_queues_are_not_aborted(void **state)
{
    struct fwrig *rig = *state;

    for (uint64_t i = 0; i < 6; i++)
        assert_int_equal(call_with(rig, 6, i), 0);
    for (uint64_t i = 0; i < 6; i++) {
        fwrig_pass(rig, 1900000000);
        fwrig_retire(rig, 6, 0, true);
        fwrig_run(rig);
    }
    assert_int_equal(fwrig_aborted(rig), 0);
    assert_int_equal(fwrig_pushes(rig), 6);
}

static void names_what_was_lost(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    /* The interrupt: the event stands there, and is not taken for the next call's. */
    assert_int_equal(call_with(rig, 4, 1), 0);
    assert_int_equal(call_with(rig, 4, 2), 0);
    assert_int_equal(call_with(rig, 4, 3), 0);
    fwrig_retire(rig, 4, 0, false);
    fwrig_pass(rig, 2000000000);
    for (uint64_t i = 1; i <= 2; i++) {
        assert_true(fwrig_event(rig, &event, true));
        assert_int_equal(event.cookie, i);
        assert_int_equal(event.status, PR_STATUS_LOST_INTERRUPT);
    }
    assert_false(fwrig_event(rig, &event, true));
    assert_int_equal(fwrig_pushes(rig), 3);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, 3);
    assert_int_equal(event.status, PR_STATUS_OK);
    /* The push. */
    fwrig_drop_pushes(rig);
    assert_int_equal(call_with(rig, 4, 4), 0);
    fwrig_pass(rig, 2000000000);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.status, PR_STATUS_NOT_STARTED);
}

/* Somebody else fills the queue: the call waits, and the deadline frees the queue for it. */
static void waits_for_vacancy(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    fwrig_occupy(rig, 4, 2);
    assert_int_equal(call_with(rig, 4, 1), 0);
    assert_int_equal(fwrig_pushes(rig), 0);
    fwrig_pass(rig, 2000000000);
    assert_int_equal(fwrig_aborted(rig), 1u << 4);
    assert_int_equal(fwrig_pushes(rig), 1);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.status, PR_STATUS_OK);
}

static void ignores_events_of_nobody(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    fwrig_retire(rig, 5, 0, true);
    fwrig_run(rig);
    assert_false(fwrig_event(rig, &event, true));
    assert_int_equal(call_with(rig, 5, 9), 0);
    fwrig_retire(rig, 5, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, 9);
}

static void logs_calls_when_asked(void **state)
{
    struct fwrig *rig = *state;
    const struct pr_body_property on = {.property = 0x00a1, .value = 1};

    assert_int_equal(call_with(rig, 4, 1), 0);
    assert_null(strstr(fwrig_log(rig), "PROC CALL"));
    assert_int_equal(fwrig_control(rig, PR_CMD_CH_PROPERTY_WRITE, &on, sizeof(on)), 0);
    fwrig_pass(rig, 55);
    assert_int_equal(call_with(rig, 3, 1), 0);
    assert_non_null(
        strstr(fwrig_log(rig), "[EXELOOP] CMD=0x204 [PROC CALL] at 55 : ProgId=0 ProcId=0 Proc=0 Pri=3"));
}

/* The warm path's register accesses: they are what a call costs. */
static void costs_few_accesses(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;
    uint64_t before;

    assert_int_equal(call_with(rig, 4, 1), 0);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    before = fwrig_accesses(rig);
    assert_int_equal(call_with(rig, 4, 2), 0);
    assert_true(fwrig_accesses(rig) - before <=
                2 + 1 + 1 + 35 + 1 + 3 + 1); /* doorbell, vacancy, enable, words, stream, push, ring */
    before = fwrig_accesses(rig);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_accesses(rig) - before <= 1 + 3 + 2 + 1); /* acknowledge, two lines, ring */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(writes_35_words_and_pushes),
        T(reports_the_end),
        T(rings_up_to_three_targets),
        T(fails_with_what_the_engine_says),
        T(leaves_the_error_of_another_queue),
        T(rejects_bad_calls),
        T(rejects_bad_lengths_and_ids),
        T(panics_at_an_unknown_id_when_asked_to),
        T(is_not_ready_before_start),
        T(process_goes_when_its_calls_are_reported),
        T(keeps_order_and_credit),
        T(network_ids_go_round),
        T(bounds_calls_in_flight),
        T(aborts_a_stuck_queue),
        T(slow_queues_are_not_aborted),
        T(names_what_was_lost),
        T(waits_for_vacancy),
        T(ignores_events_of_nobody),
        T(logs_calls_when_asked),
        T(costs_few_accesses),
        T(reads_the_head_at_its_bytes),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
