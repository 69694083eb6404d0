/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler of the firmware: the key of a submission, the enable of its queue, and a queue that is full.
 */
#include "support.h"

#include <string.h>

#include "firmware/call.h"
#include "firmware/queue.h"
#include "fwrig.h"
#include "protocol/log_line.h"

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

static uint32_t call_with(struct fwrig *rig, uint32_t process, uint32_t priority, uint64_t cookie)
{
    union fwrig_call call;

    fwrig_call_make(&call, cookie);
    call.call.process_id = process;
    call.call.priority = priority;
    return fwrig_call(rig, &call);
}

static void finish(struct fwrig *rig, uint32_t queue, uint64_t cookie)
{
    struct pr_program_event event;

    fwrig_retire(rig, queue, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, cookie);
}

static unsigned count_log(struct fwrig *rig, const char *text)
{
    unsigned count = 0;

    for (const char *at = fwrig_log(rig); (at = strstr(at, text)); at++)
        count++;
    return count;
}

static uint32_t create(struct fwrig *rig, uint32_t user)
{
    union fwrig_process process;
    uint32_t id;

    fwrig_process_make(&process, 5 | user << 8);
    assert_int_equal(fwrig_process(rig, 0, &process, &id), PR_STATUS_OK);
    return id;
}

/* Seeds ch. 30: (userId, jobId, fwPriority, hwqId, tqId, queueId), in that order, marked at each push. */
static void a_push_is_marked_with_its_key(void **state)
{
    struct fwrig *rig = *state;
    const uint32_t other = create(rig, 0xbeef);
    const uint64_t *key;
    uint64_t job;

    assert_int_equal(fwrig_mark(rig, PR_MARK_SCHEDULE, &key), 0);
    assert_int_equal(call_with(rig, 0, 5, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_mark(rig, PR_MARK_SCHEDULE, &key), 1);
    assert_true(key[0] == 0 && key[2] == 5 && key[3] == 5 && key[4] == 1 && key[5] == 5);
    job = key[1];
    /* No user before; the next job has a later number, and the next network id. */
    assert_int_equal(call_with(rig, other, 1, 2), PR_STATUS_OK);
    assert_int_equal(fwrig_mark(rig, PR_MARK_SCHEDULE, &key), 2);
    assert_true(key[0] == 0xbeef && key[1] == job + 1 && key[2] == 1 && key[3] == 1 && key[4] == 2 &&
                key[5] == 1);
    assert_int_equal(fwrig_push_at(rig, 1)->queue, 1);
    finish(rig, 1, 2);
    finish(rig, 5, 1);
    /* A call that waits is marked when it is pushed. */
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(call_with(rig, other, 7, i), PR_STATUS_OK);
    assert_int_equal(fwrig_mark(rig, PR_MARK_SCHEDULE, &key), 4);
    finish(rig, 7, 0);
    assert_int_equal(fwrig_mark(rig, PR_MARK_SCHEDULE, &key), 5);
    assert_int_equal(key[1], job + 4);
}

/* Bits of the word that mean nothing are refused, and so is a stream that they would change. */
static void a_process_word_has_no_other_bits(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_process process;

    for (unsigned bit = 24; bit < 31; bit++) {
        fwrig_process_make(&process, 5 | 1u << bit);
        assert_int_equal(fwrig_process(rig, 0, &process, NULL), PR_STATUS_BAD_ARGUMENT);
    }
    fwrig_process_make(&process, PR_PROCESS_USER_BITS(0xffffu) | PR_PROCESS_SECURE | 0x10);
    assert_int_equal(fwrig_process(rig, 0, &process, NULL), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(PR_PROCESS_STREAM(PR_PROCESS_USER_BITS(0xffffu) | 0x10), 0x10);
}

/* Seeds ch. 29: the submit path enables the queue. What another master has switched off is on again. */
static void each_push_enables_its_queue(void **state)
{
    struct fwrig *rig = *state;

    for (uint32_t queue = 0; queue < PR_TQ_COUNT; queue++) {
        fwrig_write(rig, PR_ENGINE_TQ + queue * PR_TQ_STRIDE + PR_TQ_STATUS, 0);
        assert_int_equal(call_with(rig, 0, queue, queue), PR_STATUS_OK);
        assert_int_equal(fwrig_push_at(rig, queue)->file[PR_TQ_STATUS / 4], PR_TQ_STATUS_IN_USE);
        finish(rig, queue, queue);
    }
}

/* Two requests fill a queue. It is said once, until no call waits, and then again. */
static void a_full_queue_is_logged_once(void **state)
{
    struct fwrig *rig = *state;

    for (unsigned round = 1; round <= 2; round++) {
        assert_int_equal(call_with(rig, 0, 4, 0), PR_STATUS_OK);
        assert_int_equal(call_with(rig, 0, 4, 1), PR_STATUS_OK);
        assert_int_equal(count_log(rig, "[isHWReady] priority queue is full!"), round - 1);
        for (uint64_t i = 2; i < 6; i++)
            assert_int_equal(call_with(rig, 0, 4, i), PR_STATUS_OK);
        assert_int_equal(count_log(rig, "[isHWReady] priority queue is full!"), round);
        for (uint64_t i = 0; i < 6; i++)
            finish(rig, 4, i);
        assert_int_equal(count_log(rig, "[isHWReady] priority queue is full!"), round);
    }
    assert_string_equal(PR_LINE_QUEUE_FULL, "[isHWReady] priority queue is full!");
}

/* Credit is left, but the queue is another master's. */
static void an_occupied_queue_is_full(void **state)
{
    struct fwrig *rig = *state;

    fwrig_occupy(rig, 4, 2);
    assert_int_equal(call_with(rig, 0, 4, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 0);
    assert_int_equal(count_log(rig, "[isHWReady] priority queue is full!"), 1);
    assert_int_equal(call_with(rig, 0, 5, 2), PR_STATUS_OK); /* its neighbour is not */
    assert_int_equal(fwrig_pushes(rig), 1);
    assert_int_equal(count_log(rig, "[isHWReady] priority queue is full!"), 1);
}

/* No message reaches this guard: its rule about the priority comes first. */
static void submit_to_queue_8(struct fw *fw)
{
    const uint16_t number = fw_call_take(fw, &fw->exeloop.free);

    fw->call[number].level = 8;
    fw_queue_submit(fw, number);
}

static void the_submit_path_guards_the_queue(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(call_with(rig, 0, 8, 1), PR_STATUS_BAD_ARGUMENT);
    fwrig_inside(rig, submit_to_queue_8);
    (void)fwrig_control(rig, PR_CMD_PING, NULL, 0);
    assert_int_equal(fwrig_dump_drain(rig), FWRIG_FAULTED);
    assert_string_equal(fwrig_fault_text(rig), "queueId < priorityQCount does not hold: 8");
}

/* The dump has the key of each call, and where the call is. */
static void the_dump_has_the_keys(void **state)
{
    static union {
        struct pr_dump_engine engine;
        uint8_t bytes[PR_DUMP_AREA_BYTES];
    } dump;
    struct fwrig *rig = *state;
    const uint32_t other = create(rig, 77);
    union fwrig_process process;
    uint32_t secure;

    fwrig_process_make(&process, 6 | 78u << 8 | PR_PROCESS_SECURE);
    assert_int_equal(fwrig_process(rig, 0, &process, &secure), PR_STATUS_OK);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(call_with(rig, other, 6, i), PR_STATUS_OK);
    assert_int_equal(call_with(rig, secure, 3, 3), PR_STATUS_OK);
    fwrig_inside(rig, submit_to_queue_8);
    (void)fwrig_control(rig, PR_CMD_PING, NULL, 0);
    for (unsigned section = PR_DUMP_EXCEPTION; section <= PR_DUMP_ENGINE; section++)
        (void)fwrig_dump_take(rig, (enum pr_dump_section)section, &dump);
    assert_int_equal(dump.engine.count, 4);
    for (uint32_t i = 0; i < 3; i++) {
        const struct pr_dump_call *call = &dump.engine.call[i];

        assert_int_equal(call->place, i < 2 ? PR_DUMP_CALL_RUNNING : PR_DUMP_CALL_WAITING);
        assert_true(call->key[0] == 77 && call->key[2] == 6 && call->key[3] == 6 && call->key[5] == 6);
        assert_int_equal(call->key[1], dump.engine.call[0].key[1] + i);
        assert_int_equal(call->key[4], i < 2 ? i + 1 : 0);
    }
    assert_int_equal(dump.engine.call[3].place, PR_DUMP_CALL_OUTSIDE);
    assert_true(dump.engine.call[3].cookie == 3 && dump.engine.call[3].key[0] == 78 &&
                dump.engine.call[3].key[2] == 3);
    assert_int_equal(fwrig_dump_drain(rig), FWRIG_FAULTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(a_push_is_marked_with_its_key), T(a_process_word_has_no_other_bits),
        T(each_push_enables_its_queue),   T(a_full_queue_is_logged_once),
        T(an_occupied_queue_is_full),     T(the_submit_path_guards_the_queue),
        T(the_dump_has_the_keys),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
