/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache requests of the firmware: recycle, trigger, invalidate, groups, force-disable; every rule at its
 * limit, and every message in every state.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "cacherig.h"
#include "protocol/log_line.h"

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

/* A request with available sets. */
static uint64_t ready(struct fwrig *rig, uint32_t sets, uint32_t flags)
{
    const uint64_t handler = cacherig_request(rig, sets, flags);

    for (uint32_t i = 0; i < sets; i++)
        assert_int_equal(cacherig_recycle(rig, handler, i), 0);
    return handler;
}

static void runs_a_request(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = cacherig_request(rig, 2, 0);
    struct pr_notify_chaining event;

    assert_non_null(strstr(fwrig_log(rig), "cacheHandler: 0x"));
    assert_int_equal(cacherig_trigger(rig, handler, 5), 0); /* no set yet: it waits */
    assert_int_equal(fwrig_pushes(rig), 0);
    fwrig_rang(rig);
    assert_int_equal(cacherig_recycle(rig, handler, 1), 0);
    assert_int_equal(fwrig_pushes(rig), 1);
    assert_int_equal(cacherig_in(rig, 0), CACHERIG_INPUT(5));
    assert_int_equal(cacherig_out(rig, 0), CACHERIG_SET(1));
    assert_int_equal(fwrig_push_at(rig, 0)->address, FWRIG_TEXT);
    assert_int_equal(fwrig_push_at(rig, 0)->queue, CACHERIG_QUEUE);
    assert_false(fwrig_chaining(rig, &event));
    cacherig_retire(rig, 0);
    assert_true(fwrig_rang(rig) >> pr_channel_table[PR_CHANNEL_IO_T2H].bit & 1);
    assert_true(fwrig_chaining(rig, &event));
    assert_int_equal(event.state, PR_CACHE_IN_USE);
    assert_int_equal(event.cookie, ~(uint64_t)5);
    assert_int_equal(event.set, 1);
    assert_int_equal(fwrig_counter(rig, "finished"), 1);
    assert_int_equal(fwrig_counter(rig, "cache-executions"), 1);
    assert_false(fwrig_timer_set(rig));
}

static void sets_are_taken_in_the_order_of_recycling(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = cacherig_request(rig, 8, 0);
    static const uint32_t order[] = {3, 7, 0, 5};

    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(cacherig_recycle(rig, handler, order[i]), 0);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(cacherig_trigger(rig, handler, i + 1), 0);
        cacherig_retire(rig, 0);
        cacherig_expect(rig, handler, i + 1, order[i], PR_STATUS_OK);
    }
}

static void the_loop_logs_triggers_when_asked(void **state)
{
    struct fwrig *rig = *state;
    const struct pr_body_property level = {.property = 0xa1, .value = 1};
    const uint64_t handler = ready(rig, 1, 0);
    char line[128];

    assert_int_equal(fwrig_control(rig, PR_CMD_CH_PROPERTY_WRITE, &level, sizeof(level)), 0);
    assert_int_equal(cacherig_trigger(rig, handler, 1), 0);
    snprintf(line, sizeof(line), PR_LINE_TRIGGER, 0x209, (long long)fwrig_now(rig),
             (unsigned long long)handler);
    assert_non_null(strstr(fwrig_log(rig), line));
}

static void automatic_and_quiet(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = ready(rig, 1, PR_CACHE_AUTO_RECYCLE | PR_CACHE_QUIET);
    struct pr_notify_chaining event;

    for (uint64_t i = 1; i < 20; i++) {
        assert_int_equal(cacherig_trigger(rig, handler, i), 0);
        assert_int_equal(fwrig_pushes(rig), i);
        cacherig_retire(rig, 0);
    }
    assert_false(fwrig_chaining(rig, &event));
    assert_int_equal(cacherig_trigger(rig, handler, 20), 0);
    cacherig_retire(rig, PR_TM_CODE_TRANSLATION);
    cacherig_expect(rig, handler, 20, 0, PR_STATUS_TRANSLATION);
    assert_int_equal(cacherig_fw(rig)->cache.request[0].available, 0);
}

/* ---- the rules of recycles and triggers ---- */

#define RECYCLE(change, bytes, RULE)                                                        \
    do {                                                                                    \
        const uint32_t before = cacherig_broken(rig, PR_RULE_##RULE);                       \
                                                                                            \
        cacherig_recycle_make(&r, handler, 0);                                              \
        change;                                                                             \
        cacherig_expect_broken(rig, PR_RULE_##RULE, before, cacherig_send(rig, &r, bytes)); \
    } while (0)

static void checks_a_recycle(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = cacherig_request(rig, 2, 0);
    const uint64_t rejected = fwrig_counter(rig, "rejected");
    struct pr_cache_recycle r;

    RECYCLE(r.set = 2, PR_CACHE_RECYCLE_BYTES(1), SET_ID);
    RECYCLE(r.set = 0xffffffffu, PR_CACHE_RECYCLE_BYTES(1), SET_ID);
    RECYCLE(r.buffer[0].type = PR_BUFFER_IN, PR_CACHE_RECYCLE_BYTES(1), SET_TYPE);
    RECYCLE(r.buffer[0].type = PR_BUFFER_INTERMEDIATE, PR_CACHE_RECYCLE_BYTES(1), SET_TYPE);
    RECYCLE(r.buffer[0].address |= 1ull << 32, PR_CACHE_RECYCLE_BYTES(1), BUFFER_HIGH);
    RECYCLE(r.buffers = 0, PR_CACHE_RECYCLE_BYTES(0), SET_BUFFERS); /* it had none */
    RECYCLE((r.buffers = 2, r.buffer[1] = r.buffer[0]), PR_CACHE_RECYCLE_BYTES(2), SET_BUFFERS);
    RECYCLE(r.buffer[0].index = IMAGE_INPUT, PR_CACHE_RECYCLE_BYTES(1), SET_BUFFERS);
    RECYCLE(r.buffers = 65, PR_CACHE_RECYCLE_BYTES(1), BUFFER_COUNT);
    RECYCLE(r.buffers = 64, PR_CACHE_RECYCLE_BYTES(63), CALL_SIZE);
    RECYCLE((void)0, PR_CACHE_RECYCLE_BYTES(1) - 1, CALL_SIZE);
    RECYCLE((void)0, PR_CACHE_RECYCLE_BYTES(0) - 1, CALL_SIZE);
    RECYCLE(r.cache_handler = 0, PR_CACHE_RECYCLE_BYTES(1), CACHE_STATE);
    RECYCLE(r.cache_handler += 1, PR_CACHE_RECYCLE_BYTES(1), CACHE_STATE);
    cacherig_recycle_make(&r, handler, 0);
    r.buffer[0].bytes--;
    assert_int_equal(cacherig_send(rig, &r, PR_CACHE_RECYCLE_BYTES(1)), PR_STATUS_BAD_ARGUMENT);
    cacherig_recycle_make(&r, handler, 0);
    r.buffer[0].address = 0xe0000000u - IMAGE_OUTPUT_BYTES + 16;
    assert_int_equal(cacherig_send(rig, &r, PR_CACHE_RECYCLE_BYTES(1)), PR_STATUS_BAD_ARGUMENT);
    r.buffer[0].address = 0xe0000000u - IMAGE_OUTPUT_BYTES;
    assert_int_equal(cacherig_send(rig, &r, PR_CACHE_RECYCLE_BYTES(1)), 0);
    assert_int_equal(fwrig_counter(rig, "rejected") - rejected, 14);
    RECYCLE((void)0, PR_CACHE_RECYCLE_BYTES(1), SET_STATE); /* it is available */
    assert_int_equal(cacherig_recycle(rig, handler, 1), 0);
    assert_int_equal(cacherig_trigger(rig, handler, 1), 0);
    assert_int_equal(cacherig_out(rig, 0), 0xe0000000u - IMAGE_OUTPUT_BYTES);
}

#define TRIGGER(change, bytes, RULE)                                                        \
    do {                                                                                    \
        const uint32_t before = cacherig_broken(rig, PR_RULE_##RULE);                       \
                                                                                            \
        cacherig_trigger_make(&t, handler, 100);                                            \
        change;                                                                             \
        cacherig_expect_broken(rig, PR_RULE_##RULE, before, cacherig_send(rig, &t, bytes)); \
    } while (0)

static void checks_a_trigger(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = ready(rig, 2, 0);
    struct pr_cache_trigger t;

    TRIGGER(t.timestamp = 0, PR_CACHE_TRIGGER_BYTES(1), TRIGGER_TIME);
    TRIGGER(t.buffers = 0, PR_CACHE_TRIGGER_BYTES(0), TRIGGER_BUFFERS);
    TRIGGER((t.buffers = 2, t.buffer[1] = t.buffer[0]), PR_CACHE_TRIGGER_BYTES(2), TRIGGER_BUFFERS);
    TRIGGER(t.buffer[0].index = IMAGE_OUTPUT, PR_CACHE_TRIGGER_BYTES(1), TRIGGER_BUFFERS);
    TRIGGER(t.buffers = 16, PR_CACHE_TRIGGER_BYTES(16), TRIGGER_BUFFERS);
    TRIGGER(t.buffers = 17, PR_CACHE_TRIGGER_BYTES(16), TRIGGER_INPUTS);
    TRIGGER(t.buffers = 0xffffffffu, PR_CACHE_TRIGGER_BYTES(1), TRIGGER_INPUTS);
    TRIGGER(t.buffer[0].address |= 1ull << 32, PR_CACHE_TRIGGER_BYTES(1), BUFFER_HIGH);
    TRIGGER((void)0, PR_CACHE_TRIGGER_BYTES(1) - 1, CALL_SIZE);
    TRIGGER((void)0, PR_CACHE_TRIGGER_BYTES(2), CALL_SIZE);
    TRIGGER((void)0, 8, CALL_SIZE);
    cacherig_trigger_make(&t, handler, 100);
    t.buffer[0].valid = 0;
    assert_int_equal(cacherig_send(rig, &t, PR_CACHE_TRIGGER_BYTES(1)), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fwrig_pushes(rig), 0);
    /* Strictly rising. */
    assert_int_equal(cacherig_trigger(rig, handler, 100), 0);
    TRIGGER(t.timestamp = 99, PR_CACHE_TRIGGER_BYTES(1), TRIGGER_TIME);
    TRIGGER(t.timestamp = 100, PR_CACHE_TRIGGER_BYTES(1), TRIGGER_TIME);
    assert_int_equal(cacherig_trigger(rig, handler, 101), 0);
    assert_int_equal(fwrig_pushes(rig), 2);
}

static void outstanding_triggers_are_127_at_most(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = cacherig_request(rig, 1, PR_CACHE_AUTO_RECYCLE);
    struct pr_cache_trigger t;

    for (uint64_t i = 1; i <= 127; i++)
        assert_int_equal(cacherig_trigger(rig, handler, i), 0);
    TRIGGER(t.timestamp = 128, PR_CACHE_TRIGGER_BYTES(1), IN_FLIGHT);
    assert_int_equal(cacherig_recycle(rig, handler, 0), 0);
    for (uint64_t i = 1; i <= 127; i++) {
        assert_int_equal(fwrig_pushes(rig), i);
        cacherig_retire(rig, 0);
        cacherig_expect(rig, handler, i, 0, PR_STATUS_OK);
    }
    assert_int_equal(cacherig_trigger(rig, handler, 128), 0);
}

/* The host returns no slot of IO_T2H: events wait, in their order, and none is lost. */
static void events_wait_for_the_host(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = ready(rig, 1, PR_CACHE_AUTO_RECYCLE);
    const uint32_t slots = pr_channel_table[PR_CHANNEL_IO_T2H].slots;
    uint64_t count = 0;

    for (; count < slots + FW_NOTIFICATIONS + 20; count++) {
        assert_int_equal(cacherig_trigger(rig, handler, count + 1), 0);
        cacherig_retire(rig, 0);
    }
    assert_int_equal(cacherig_fw(rig)->notify.lost_ever, 0);
    for (uint64_t i = 1; i <= count; i++)
        cacherig_expect(rig, handler, i, 0, PR_STATUS_OK);
}

static void a_closed_loop_takes_no_trigger(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = cacherig_request(rig, 1, 0);
    struct pr_body_quiesce quiesce = {0};
    uint32_t word = 0;

    assert_int_equal(cacherig_trigger(rig, handler, 1), 0); /* waits for a set */
    assert_int_equal(fwrig_control(rig, PR_CMD_QUIESCE_STATE, &quiesce, sizeof(quiesce)), 0);
    assert_int_equal(cacherig_trigger(rig, handler, 2), PR_STATUS_NOT_READY);
    assert_int_equal(cacherig_recycle(rig, handler, 0), 0);
    assert_int_equal(fwrig_pushes(rig), 0);
    assert_int_equal(fwrig_control(rig, PR_CMD_START, &word, sizeof(word)), 0);
    assert_int_equal(fwrig_pushes(rig), 1); /* what waited goes on */
}

/* ---- states ---- */

enum message {
    INSTALL_LINKED,
    INSTALL_FOLLOWING,
    INSTALL_MEMBER,
    RECYCLE,
    TRIGGER,
    SELECT,
    INVALIDATE,
    MESSAGES
};

static uint32_t send_message(struct fwrig *rig, enum message message, uint64_t handler, uint64_t time)
{
    struct cacherig_install install;

    cacherig_install_make(&install);
    switch (message) {
    case INSTALL_LINKED:
        cacherig_install_link(&install, handler);
        return cacherig_install(rig, &install, NULL);
    case INSTALL_FOLLOWING: install.body.follow = handler; return cacherig_install(rig, &install, NULL);
    case INSTALL_MEMBER: install.body.group = handler; return cacherig_install(rig, &install, NULL);
    case RECYCLE: return cacherig_recycle(rig, handler, 1);
    case TRIGGER: return cacherig_trigger(rig, handler, time);
    case SELECT: return cacherig_select(rig, handler, handler);
    default: return cacherig_invalidate(rig, handler, NULL);
    }
}

/* Every message in every state; nothing but IN_USE takes any. */
static void every_message_in_every_state(void **state)
{
    struct fwrig *rig = *state;
    static const enum pr_status outside[MESSAGES] = {
        PR_STATUS_BAD_ARGUMENT, PR_STATUS_BAD_ARGUMENT, PR_STATUS_BAD_ARGUMENT, PR_STATUS_WRONG_STATE,
        PR_STATUS_WRONG_STATE,  PR_STATUS_WRONG_STATE,  PR_STATUS_WRONG_STATE};
    const uint64_t handler = cacherig_request(rig, 2, 0);
    const struct fw_cache_request *request = &cacherig_fw(rig)->cache.request[0];
    struct pr_notify_chaining event;
    uint64_t dropped;
    uint32_t in_flight;
    char line[128];

    assert_int_equal(cacherig_recycle(rig, handler, 0), 0);
    assert_int_equal(rt_fsm_state(&request->machine), PR_CACHE_IN_USE);
    for (int m = 0; m < INVALIDATE; m++)
        assert_int_equal(send_message(rig, (enum message)m, handler, 1), 0);
    assert_int_equal(fwrig_pushes(rig), 1);
    assert_int_equal(cacherig_invalidate(rig, handler, &in_flight), 0);
    assert_int_equal(in_flight, 1);
    assert_int_equal(rt_fsm_state(&request->machine), PR_CACHE_INVALIDATING);
    dropped = fwrig_counter(rig, "dropped");
    for (int m = 0; m < MESSAGES; m++)
        assert_int_equal(send_message(rig, (enum message)m, handler, 2), outside[m]);
    snprintf(line, sizeof(line), PR_LINE_TRIGGER_DROPPED, (unsigned long long)handler, 2);
    assert_non_null(strstr(fwrig_log(rig), line));
    assert_int_equal(fwrig_counter(rig, "dropped"), dropped + 1);
    cacherig_retire(rig, 0);
    cacherig_expect(rig, handler, 1, 0, PR_STATUS_OK);
    assert_true(fwrig_chaining(rig, &event));
    assert_int_equal(event.state, PR_CACHE_AVAILABLE);
    assert_int_equal(event.set, PR_NO_ID);
    assert_int_equal(rt_fsm_state(&request->machine), PR_CACHE_AVAILABLE);
    for (int m = 0; m < MESSAGES; m++)
        assert_int_equal(send_message(rig, (enum message)m, handler, 3), outside[m]);
    snprintf(line, sizeof(line), PR_LINE_TRIGGER_DROPPED, (unsigned long long)handler, 0);
    assert_non_null(strstr(fwrig_log(rig), line));
    assert_int_equal(fwrig_counter(rig, "cache-triggers-dropped"), 2);
    assert_int_equal(fwrig_pushes(rig), 1);
}

static void an_invalidation_ends_what_waits(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = cacherig_request(rig, 1, 0);
    uint32_t in_flight = 7;

    for (uint64_t i = 1; i <= 100; i++)
        assert_int_equal(cacherig_trigger(rig, handler, i), 0);
    assert_int_equal(cacherig_invalidate(rig, handler, &in_flight), 0);
    assert_int_equal(in_flight, 0);
    for (uint64_t i = 1; i <= 100; i++)
        cacherig_expect(rig, handler, i, PR_NO_ID, PR_STATUS_ABORTED);
    assert_int_equal(cacherig_fw(rig)->process[0].requests, 0);
}

static void a_process_takes_its_requests_with_it(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = ready(rig, 1, 0), other = cacherig_request(rig, 1, 0);
    struct pr_command_header end = {.id = PR_CMD_TERMINATE_PROCESS};

    assert_int_equal(cacherig_trigger(rig, handler, 1), 0);
    assert_int_equal(cacherig_trigger(rig, other, 1), 0); /* waits */
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &end, sizeof(end), 0));
    assert_int_equal(PR_REPLY_STATUS(&end), PR_STATUS_BUSY);
    assert_int_equal(cacherig_fw(rig)->process[0].requests, 2);
    cacherig_retire(rig, 0);
    end = (struct pr_command_header){.id = PR_CMD_TERMINATE_PROCESS};
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &end, sizeof(end), 0));
    assert_int_equal(PR_REPLY_STATUS(&end), PR_STATUS_OK);
    cacherig_expect(rig, handler, 1, 0, PR_STATUS_OK);
    cacherig_expect(rig, other, 1, PR_NO_ID, PR_STATUS_ABORTED);
    assert_int_equal(cacherig_trigger(rig, handler, 2), PR_STATUS_WRONG_STATE);
    assert_int_equal(cacherig_trigger(rig, other, 2), PR_STATUS_WRONG_STATE);
}

static void expect_disabled(struct fwrig *rig)
{
    const uint32_t before = cacherig_broken(rig, PR_RULE_CACHE_DISABLED);
    struct cacherig_install install;

    cacherig_install_make(&install);
    cacherig_expect_broken(rig, PR_RULE_CACHE_DISABLED, before, cacherig_install(rig, &install, NULL));
}

static void force_disable(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = ready(rig, 1, 0), idle = cacherig_request(rig, 1, 0);
    uint32_t word = 0, broken = cacherig_broken(rig, PR_RULE_CACHE_DISABLE_TRUE);

    cacherig_expect_broken(rig, PR_RULE_CACHE_DISABLE_TRUE, broken, cacherig_disable(rig, 0));
    cacherig_expect_broken(rig, PR_RULE_CACHE_DISABLE_TRUE, broken + 1, cacherig_disable(rig, 2));
    assert_int_equal(cacherig_trigger(rig, handler, 1), 0);
    assert_int_equal(cacherig_disable(rig, 1), 0);
    assert_int_equal(cacherig_trigger(rig, handler, 2), PR_STATUS_WRONG_STATE);
    assert_int_equal(cacherig_trigger(rig, idle, 2), PR_STATUS_WRONG_STATE);
    expect_disabled(rig);
    cacherig_retire(rig, 0);
    cacherig_expect(rig, handler, 1, 0, PR_STATUS_OK);
    expect_disabled(rig);
    assert_int_equal(cacherig_disable(rig, 1), 0);
    assert_int_equal(fwrig_control(rig, PR_CMD_STOP, &word, sizeof(word)), 0);
    expect_disabled(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_START, &word, sizeof(word)), 0);
    (void)cacherig_request(rig, 1, 0);
}

/* ---- groups ---- */

static void a_group_runs_its_active_member(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t first = ready(rig, 2, 0);
    struct cacherig_install install;
    uint64_t second, other;

    cacherig_install_make(&install);
    install.header.procedure_id = 1;
    install.body.group = first;
    assert_int_equal(cacherig_install(rig, &install, &second), 0);
    other = cacherig_request(rig, 2, 0);
    assert_int_equal(cacherig_trigger(rig, second, 1), PR_STATUS_WRONG_STATE); /* not active */
    assert_int_equal(fwrig_counter(rig, "cache-triggers-dropped"), 1);
    assert_int_equal(cacherig_trigger(rig, first, 1), 0);
    assert_int_equal(fwrig_push_at(rig, 0)->address, FWRIG_TEXT);
    cacherig_retire(rig, 0);
    cacherig_expect(rig, first, 1, 0, PR_STATUS_OK);
    assert_int_equal(cacherig_select(rig, first, other), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(cacherig_select(rig, second, second), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(cacherig_select(rig, first, second), 0);
    /* The group's handle, and its own; both take the sets of the first. */
    assert_int_equal(cacherig_trigger(rig, first, 2), 0);
    assert_int_equal(fwrig_push_at(rig, 1)->address, FWRIG_TEXT + 0x400);
    assert_int_equal(cacherig_out(rig, 1), CACHERIG_SET(1));
    cacherig_retire(rig, 0);
    cacherig_expect(rig, second, 2, 1, PR_STATUS_OK);
    assert_int_equal(cacherig_recycle_again(rig, second, 0), 0);
    assert_int_equal(cacherig_trigger(rig, second, 3), 0);
    assert_int_equal(cacherig_out(rig, 2), CACHERIG_SET(0));
    cacherig_retire(rig, 0);
    cacherig_expect(rig, second, 3, 0, PR_STATUS_OK);
    /* When the active member goes, the first is active at once, also while the member's execution runs. */
    assert_int_equal(cacherig_recycle_again(rig, first, 0), 0);
    assert_int_equal(cacherig_recycle_again(rig, first, 1), 0);
    assert_int_equal(cacherig_trigger(rig, first, 4), 0);
    assert_int_equal(fwrig_push_at(rig, 3)->address, FWRIG_TEXT + 0x400);
    assert_int_equal(cacherig_invalidate(rig, second, NULL), 0);
    assert_int_equal(cacherig_trigger(rig, first, 4), 0);
    assert_int_equal(fwrig_push_at(rig, 4)->address, FWRIG_TEXT);
}

static void the_first_member_takes_the_others_with_it(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t first = ready(rig, 2, 0);
    struct cacherig_install install;
    struct pr_notify_chaining event;
    uint32_t in_flight;
    uint64_t second;

    cacherig_install_make(&install);
    install.body.group = first;
    assert_int_equal(cacherig_install(rig, &install, &second), 0);
    assert_int_equal(cacherig_select(rig, first, second), 0);
    assert_int_equal(cacherig_trigger(rig, first, 1), 0);
    assert_int_equal(cacherig_invalidate(rig, first, &in_flight), 0);
    assert_int_not_equal(in_flight, 0);
    assert_int_equal(cacherig_trigger(rig, second, 2), PR_STATUS_WRONG_STATE);
    cacherig_retire(rig, 0);
    cacherig_expect(rig, second, 1, 0, PR_STATUS_OK);
    assert_true(fwrig_chaining(rig, &event));
    assert_int_equal(event.cache_handler, second);
    assert_int_equal(event.state, PR_CACHE_AVAILABLE);
    assert_true(fwrig_chaining(rig, &event));
    assert_int_equal(event.cache_handler, first);
    assert_int_equal(event.state, PR_CACHE_AVAILABLE);
    assert_int_equal(cacherig_fw(rig)->process[0].requests, 0);
}

/* ---- the deadline, and the report ---- */

static void a_stuck_execution_is_aborted(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = ready(rig, 2, 0);

    for (uint64_t i = 1; i < 5; i++)
        assert_int_equal(cacherig_trigger(rig, handler, i), 0);
    (void)fwrig_pass(rig, 2100000000ull);
    assert_int_equal(fwrig_aborted(rig), 1u << CACHERIG_QUEUE);
    cacherig_expect(rig, handler, 1, 0, PR_STATUS_STUCK);
    cacherig_expect(rig, handler, 2, 1, PR_STATUS_STUCK);
    assert_int_equal(cacherig_recycle_again(rig, handler, 0), 0);
    assert_int_equal(fwrig_pushes(rig), 3);
    cacherig_retire(rig, 0);
    cacherig_expect(rig, handler, 3, 0, PR_STATUS_OK);
}

/* The abort does not clear the queue: the host resets it, and what waited for a set goes on after that. */
static void a_reset_ends_executions_once(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = ready(rig, 2, 0);
    struct pr_reset_notification reset;
    struct pr_body_reset range = {.first_queue = CACHERIG_QUEUE, .last_queue = CACHERIG_QUEUE};

    for (uint64_t i = 1; i < 4; i++)
        assert_int_equal(cacherig_trigger(rig, handler, i), 0);
    fwrig_keep_aborted(rig, true);
    (void)fwrig_pass(rig, 2100000000ull);
    (void)fwrig_pass(rig, 2100000000ull);
    assert_true(fwrig_notification(rig, &reset));
    assert_int_equal(cacherig_trigger(rig, handler, 4), PR_STATUS_NOT_READY);
    fwrig_keep_aborted(rig, false);
    fwrig_write(rig, PR_ENGINE_TM + PR_TM_ABORT, PR_TM_ABORT_QUEUE(CACHERIG_QUEUE));
    assert_int_equal(fwrig_control(rig, PR_CMD_RESET, &range, sizeof(range)), 0);
    cacherig_expect(rig, handler, 1, 0, PR_STATUS_ABORTED);
    cacherig_expect(rig, handler, 2, 1, PR_STATUS_ABORTED);
    assert_int_equal(fwrig_pushes(rig), 2);
    assert_int_equal(cacherig_recycle_again(rig, handler, 1), 0);
    assert_int_equal(fwrig_pushes(rig), 3);
    cacherig_retire(rig, 0);
    cacherig_expect(rig, handler, 3, 1, PR_STATUS_OK);
}

/* 127 calls of the process are under way: the trigger is accepted and starts when one has gone. */
static void executions_wait_for_calls(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = ready(rig, 1, 0);
    struct pr_program_event event;
    union fwrig_call call;

    for (unsigned i = 0; i < 127; i++) {
        fwrig_call_make(&call, i + 1);
        call.call.priority = 5;
        assert_int_equal(fwrig_call(rig, &call), 0);
    }
    assert_int_equal(cacherig_trigger(rig, handler, 1), 0);
    assert_int_equal(fwrig_pushes(rig), 2);
    fwrig_retire(rig, 5, 0, true);
    (void)fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(fwrig_push_at(rig, fwrig_pushes(rig) - 1)->queue, CACHERIG_QUEUE);
}

static void the_report_shows_requests_and_pools(void **state)
{
    struct fwrig *rig = *state;
    struct cacherig_install install;
    uint64_t handler;
    const char *text;
    char line[96];

    assert_non_null(
        strstr(fwrig_report(rig, PR_REPORT_CACHE, 0x1800), "cache requests enabled; 0 executions"));
    cacherig_install_make(&install);
    install.body.pool = 77;
    assert_int_equal(cacherig_install(rig, &install, &handler), 0);
    assert_int_equal(cacherig_recycle(rig, handler, 0), 0);
    assert_int_equal(cacherig_recycle(rig, handler, 1), 0);
    assert_int_equal(cacherig_trigger(rig, handler, 1), 0);
    cacherig_retire(rig, 0);
    text = fwrig_report(rig, PR_REPORT_CACHE, 0x1800);
    snprintf(line, sizeof(line),
             "request 0 0x%llx in use: process 0 procedure 0 priority 4, 1 ended, 0 failed",
             (unsigned long long)handler);
    assert_non_null(strstr(text, line));
    assert_non_null(strstr(text, "1 members, active"));
    assert_non_null(strstr(text, "2 sets, 1 available, 0 triggers wait"));
    assert_non_null(strstr(text, "pool 77: 2 buffers"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(runs_a_request),
        T(sets_are_taken_in_the_order_of_recycling),
        T(the_loop_logs_triggers_when_asked),
        T(automatic_and_quiet),
        T(checks_a_recycle),
        T(checks_a_trigger),
        T(outstanding_triggers_are_127_at_most),
        T(events_wait_for_the_host),
        T(a_closed_loop_takes_no_trigger),
        T(every_message_in_every_state),
        T(an_invalidation_ends_what_waits),
        T(a_process_takes_its_requests_with_it),
        T(force_disable),
        T(a_group_runs_its_active_member),
        T(the_first_member_takes_the_others_with_it),
        T(a_stuck_execution_is_aborted),
        T(a_reset_ends_executions_once),
        T(executions_wait_for_calls),
        T(the_report_shows_requests_and_pools),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
