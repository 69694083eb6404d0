/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for events and signal them: types, order, and every way in which a held call ends. */
#include "callrig.h"

#include "firmware/event.h"
#include "rtkernel/fault.h"

#define TABLE FWRIG_STATS
#define WITH  PR_EXE_PROCEDURE_CALL_WITH_EVENTS
#define QUEUE 4u

static int setup(void **state)
{
    const struct pr_body_shared_events table = {.address = TABLE, .events = 64};
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    fwrig_load(rig);
    memset(fwrig_memory(rig, TABLE, 64 * 16), 0, 64 * 16);
    assert_int_equal(fwrig_control(rig, PR_CMD_INIT_SHARED_EVENT_INFO, &table, sizeof(table)), PR_STATUS_OK);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static uint64_t *row(struct fwrig *rig, uint64_t id)
{
    return (void *)fwrig_memory(rig, TABLE + id * 16, 16);
}

static void add(struct callrig *c, bool signal, uint32_t type, uint32_t mask, uint64_t id, uint64_t value)
{
    callrig_event(c, signal, id, value);
    c->event[c->tail.wait_events + c->tail.signal_events - 1].type = type;
    c->event[c->tail.wait_events + c->tail.signal_events - 1].target_mask = mask;
}

/* A call that waits for one event and signals another; its status. */
static uint32_t call(struct fwrig *rig, uint64_t cookie, uint32_t type, uint64_t wait, uint64_t value,
                     uint64_t signal, uint64_t to)
{
    struct callrig c;

    callrig_make(&c, WITH, cookie);
    if (value)
        add(&c, false, type, 0, wait, value);
    add(&c, true, type, 0, signal, to);
    return callrig_send(rig, &c);
}

static void ring(struct fwrig *rig)
{
    fwrig_write(rig, PR_CTRL_DOORBELL, 1u << 8);
    fwrig_run(rig);
}

/* The call on the engine ends well, and is the one with that cookie. */
static void finish(struct fwrig *rig, uint64_t cookie)
{
    struct pr_program_event event;

    callrig_retire(rig, QUEUE, 0);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, cookie);
    assert_int_equal(event.status, PR_STATUS_OK);
}

static void expect_aborted(struct fwrig *rig, uint64_t cookie)
{
    struct pr_program_event event;

    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, cookie);
    assert_int_equal(event.status, PR_STATUS_ABORTED);
    assert_int_equal(event.detail, 0);
}

/* One waits for what the other signals; it is accepted at once, and pushed when the other has ended. */
static void a_call_begins_when_its_waits_hold(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(call(rig, 1, PR_EVENT_FIRMWARE, 5, 2, 6, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 0);
    assert_int_equal(fwrig_counter(rig, "held"), 1);
    assert_int_equal(call(rig, 2, PR_EVENT_FIRMWARE, 0, 0, 5, 1), PR_STATUS_OK);
    finish(rig, 2);
    assert_int_equal(fwrig_pushes(rig), 1); /* 1 is not 2 */
    assert_int_equal(call(rig, 3, PR_EVENT_FIRMWARE, 0, 0, 5, 3), PR_STATUS_OK);
    finish(rig, 3);
    assert_int_equal(fwrig_pushes(rig), 3);
    assert_int_equal(fwrig_counter(rig, "held"), 0);
    finish(rig, 1);
    /* What holds already is not held; a value does not fall. */
    assert_int_equal(call(rig, 4, PR_EVENT_FIRMWARE, 5, 3, 5, 1), PR_STATUS_OK);
    finish(rig, 4);
    assert_int_equal(call(rig, 5, PR_EVENT_FIRMWARE, 5, 3, 5, 1), PR_STATUS_OK);
    finish(rig, 5);
    assert_int_equal(fwrig_counter(rig, "held-ever"), 1);
    callrig_expect_free(rig);
}

static void rows_are_read_and_written(void **state)
{
    const struct pr_body_time time = {.host_ns = 5000};
    struct fwrig *rig = *state;

    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_SHOW, &time, sizeof(time)), PR_STATUS_OK);
    assert_int_equal(call(rig, 1, PR_EVENT_SHARED, 63, UINT64_MAX, 0, 7), PR_STATUS_OK);
    *row(rig, 63) = UINT64_MAX - 1;
    ring(rig);
    assert_int_equal(fwrig_pushes(rig), 0);
    *row(rig, 63) = UINT64_MAX;
    assert_int_equal(fwrig_pushes(rig), 0); /* it is not polled */
    ring(rig);
    assert_int_equal(fwrig_pushes(rig), 1);
    fwrig_pass(rig, 250);
    finish(rig, 1);
    assert_int_equal(row(rig, 0)[0], 7);
    assert_int_equal(row(rig, 0)[1], 5250);
    /* A signal below the value leaves the row as it is. */
    row(rig, 0)[0] = 100;
    row(rig, 0)[1] = 1;
    assert_int_equal(call(rig, 2, PR_EVENT_SHARED, 0, 100, 0, 99), PR_STATUS_OK);
    finish(rig, 2);
    assert_int_equal(row(rig, 0)[0], 100);
    assert_int_equal(row(rig, 0)[1], 1);
    /* A row of the host's that is gone has the value 0. */
    assert_int_equal(call(rig, 3, PR_EVENT_SHARED, 0, 101, 1, 1), PR_STATUS_OK);
    fwrig_hole(rig, TABLE, 16);
    ring(rig);
    assert_int_equal(fwrig_counter(rig, "held"), 1);
    fwrig_hole(rig, 0, 0);
    *row(rig, 0) = 101;
    ring(rig);
    finish(rig, 3);
    callrig_expect_free(rig);
}

static void a_user_event_is_a_notification(void **state)
{
    struct fwrig *rig = *state;
    _Alignas(8) uint8_t message[FWRIG_MESSAGE_BYTES];
    const struct pr_notify_user *user = (const void *)message;
    struct pr_program_event event;
    struct callrig c;

    callrig_make(&c, WITH, 1);
    add(&c, true, PR_EVENT_USER, 0, 0x123456789ull, 0x42);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    callrig_retire(rig, QUEUE, 0);
    assert_true(fwrig_message(rig, message));
    assert_int_equal(user->head.id, PR_CMD_USER_EVENT);
    assert_int_equal(user->event, 0x123456789ull);
    assert_int_equal(user->value, 0x42);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, 1);
    /* No call waits for one. */
    callrig_make(&c, WITH, 2);
    add(&c, false, PR_EVENT_USER, 0, 1, 1);
    add(&c, true, PR_EVENT_USER, 0, 1, 1);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(callrig_fw(rig)->broken[PR_RULE_EVENT_TYPE], 1);
}

/* Each target of the masks is rung once more than by the completion itself; a failed call signals nothing. */
static void signals_ring_by_mask(void **state)
{
    const struct pr_doorbell_target target[] = {{.reg = FWRIG_HOST_DOORBELL, .bits = 1u << 6},
                                                {.reg = 0x206468000ull, .bits = 1},
                                                {.reg = FWRIG_HOST_DOORBELL, .bits = 1u << 20}};
    struct fwrig *rig = *state;
    struct pr_program_event event;
    unsigned rings = 0;

    assert_int_equal(fwrig_bind_targets(rig, target, 3), PR_STATUS_OK);
    for (uint32_t mask = 0; mask < 8; mask++) {
        struct callrig c;
        unsigned stores[3] = {0};
        size_t before;

        callrig_make(&c, WITH, mask);
        add(&c, true, PR_EVENT_FIRMWARE, mask & 3, 1, 1 + mask);
        add(&c, true, PR_EVENT_FIRMWARE, mask & 6, 2, 1 + mask);
        assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
        before = fwrig_fabric_count(rig);
        callrig_retire(rig, QUEUE, 0);
        for (size_t i = before; i < fwrig_fabric_count(rig); i++)
            if (fwrig_fabric_at(rig, i)->kind == FWRIG_STORE) {
                stores[0] += fwrig_fabric_at(rig, i)->bits == 1u << 6;
                stores[2] += fwrig_fabric_at(rig, i)->bits == 1u << 20;
            }
        assert_int_equal(stores[0], 1 + (mask & 1));
        assert_int_equal(stores[2], 1 + (mask >> 2 & 1));
        rings += 1 + (mask >> 1 & 1);
        assert_int_equal(fwrig_gpu_rings(rig), rings);
        assert_true(fwrig_event(rig, &event, true));
    }
    assert_true(fwrig_fabric_guarded(rig));
    assert_int_equal(call(rig, 9, PR_EVENT_SHARED, 0, 0, 3, 9), PR_STATUS_OK);
    callrig_retire(rig, QUEUE, PR_TM_CODE_TRANSLATION);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.status, PR_STATUS_TRANSLATION);
    assert_int_equal(*row(rig, 3), 0);
}

/* Targets that are not bound, rows that are not there, a third shared event: each with its rule. */
static void records_are_checked(void **state)
{
    static const struct {
        uint32_t type, mask;
        uint64_t id;
        bool signal;
        enum pr_rule rule; /* PR_RULES: it is sound */
    } rows[] = {
        {PR_EVENT_FIRMWARE, 0, 31, false, PR_RULES},
        {PR_EVENT_FIRMWARE, 0, 32, false, PR_RULE_EVENT_ID},
        {PR_EVENT_SHARED, 0, 63, false, PR_RULES},
        {PR_EVENT_SHARED, 0, 64, false, PR_RULE_EVENT_ID},
        {PR_EVENT_SHARED, 0, 64, true, PR_RULE_EVENT_ID},
        {PR_EVENT_USER, 0, UINT64_MAX, true, PR_RULES},
        {0, 0, 0, true, PR_RULE_EVENT_TYPE},
        {4, 0, 0, true, PR_RULE_EVENT_TYPE},
        {PR_EVENT_SHARED, 1, 0, true, PR_RULES},
        {PR_EVENT_SHARED, 2, 0, true, PR_RULE_EVENT_TARGET},
        {PR_EVENT_SHARED, 8, 0, true, PR_RULE_EVENT_TARGET},
        {PR_EVENT_SHARED, 1, 0, false, PR_RULE_EVENT_TARGET},
    };
    struct fwrig *rig = *state;
    struct callrig c;

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint32_t before = rows[i].rule < PR_RULES ? callrig_fw(rig)->broken[rows[i].rule] : 0;

        callrig_make(&c, WITH, i + 1);
        add(&c, rows[i].signal, rows[i].type, rows[i].mask, rows[i].id, 0);
        add(&c, true, PR_EVENT_FIRMWARE, 0, 0, 0);
        assert_int_equal(callrig_send(rig, &c),
                         rows[i].rule < PR_RULES ? PR_STATUS_BAD_ARGUMENT : PR_STATUS_OK);
        if (rows[i].rule < PR_RULES) {
            assert_int_equal(callrig_fw(rig)->broken[rows[i].rule], before + 1);
            continue;
        }
        callrig_retire(rig, QUEUE, 0);
        while (fwrig_event(rig, &(struct pr_program_event){0}, true))
            ;
        callrig_expect_free(rig);
    }
    callrig_make(&c, WITH, 99);
    for (unsigned i = 0; i < 16; i++)
        add(&c, true, PR_EVENT_SHARED, 0, i % 2, i);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    c.event[15].id = 2;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(callrig_fw(rig)->broken[PR_RULE_SHARED_EVENTS], 1);
}

static uint32_t cancel(struct fwrig *rig, uint64_t cookie)
{
    const struct pr_body_shared_events body = {.address = cookie, .flags = 1};

    assert_int_equal(fwrig_control(rig, PR_CMD_INIT_SHARED_EVENT_INFO, &body, sizeof(body)), PR_STATUS_OK);
    return ((const struct pr_body_shared_events *)(const void *)fwrig_reply(rig)->body)->events;
}

static uint32_t terminate(struct fwrig *rig)
{
    struct fwrig_command c = {.header = {.id = PR_CMD_TERMINATE_PROCESS, .program_id = 0, .process_id = 0}};

    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c.header), 0));
    return PR_REPLY_STATUS(&c.header);
}

static void held_calls_are_cancelled(void **state)
{
    const struct pr_body_shared_events table = {.address = TABLE, .events = 64};
    struct fwrig *rig = *state;

    for (uint64_t cookie = 1; cookie <= 4; cookie++)
        assert_int_equal(call(rig, cookie, PR_EVENT_SHARED, 0, 1, 1, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_INIT_SHARED_EVENT_INFO, &table, sizeof(table)),
                     PR_STATUS_BUSY);
    assert_int_equal(cancel(rig, 9), 0);
    assert_int_equal(cancel(rig, 3), 1);
    expect_aborted(rig, 3);
    assert_int_equal(cancel(rig, 0), 3);
    for (unsigned i = 0; i < 3; i++)
        expect_aborted(rig, (uint64_t[]){1, 2, 4}[i]);
    assert_int_equal(*row(rig, 1), 0); /* nothing was signalled */
    callrig_expect_free(rig);
    /* A process ends with its held calls, but not with one that runs. */
    assert_int_equal(call(rig, 5, PR_EVENT_SHARED, 0, 1, 1, 1), PR_STATUS_OK);
    assert_int_equal(call(rig, 6, PR_EVENT_SHARED, 0, 0, 1, 1), PR_STATUS_OK);
    assert_int_equal(terminate(rig), PR_STATUS_BUSY);
    expect_aborted(rig, 5);
    finish(rig, 6);
    assert_int_equal(call(rig, 7, PR_EVENT_SHARED, 0, 1, 1, 1), PR_STATUS_OK);
    assert_int_equal(terminate(rig), PR_STATUS_OK);
    expect_aborted(rig, 7);
    callrig_expect_free(rig);
}

/* A held call of two engine requests is one call: it is ended or dispatched as a whole. */
static void a_held_call_has_all_its_requests(void **state)
{
    struct fwrig *rig = *state;
    struct container_image image;
    struct callrig c;
    uint32_t program;

    callrig_partitions(&image);
    program = callrig_load(rig, &image);
    callrig_make(&c, WITH, 1);
    c.head->call.program_id = c.head->call.process_id = program;
    c.head->call.partitions = 2;
    add(&c, false, PR_EVENT_SHARED, 0, 0, 1);
    add(&c, true, PR_EVENT_SHARED, 0, 1, 1);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(cancel(rig, 1), 1);
    expect_aborted(rig, 1);
    callrig_expect_free(rig);
    c.head->call.cookie = 2;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    *row(rig, 0) = 1;
    ring(rig);
    assert_int_equal(fwrig_pushes(rig), 2);
    callrig_retire(rig, QUEUE, 0);
    assert_int_equal(*row(rig, 1), 0);
    finish(rig, 2);
    assert_int_equal(*row(rig, 1), 1);
    callrig_expect_free(rig);
}

/* STOP is refused while a call is held, QUIESCE_STATE ends it. */
static void life_commands_see_held_calls(void **state)
{
    const struct pr_body_u32 one = {1};
    struct pr_body_quiesce quiesce = {0};
    struct fwrig *rig = *state;

    assert_int_equal(call(rig, 1, PR_EVENT_SHARED, 0, 1, 1, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_STOP, &one, sizeof(one)), PR_STATUS_BUSY);
    assert_int_equal(fwrig_control(rig, PR_CMD_QUIESCE_STATE, &quiesce, sizeof(quiesce)), PR_STATUS_OK);
    memcpy(&quiesce, fwrig_reply(rig)->body, sizeof(quiesce));
    assert_int_equal(quiesce.calls, 1);
    assert_int_equal(quiesce.state, PR_EXECUTION_RUN);
    expect_aborted(rig, 1);
    assert_int_equal(fwrig_control(rig, PR_CMD_START, &one, sizeof(one)), PR_STATUS_OK);
    assert_int_equal(call(rig, 2, PR_EVENT_SHARED, 0, 0, 1, 1), PR_STATUS_OK);
    finish(rig, 2);
    callrig_expect_free(rig);
}

/* A reset of queue 4 ends the held calls of its level, and no other. */
static void a_reset_ends_the_calls_of_its_level(void **state)
{
    const struct pr_body_reset reset = {QUEUE, QUEUE};
    struct pr_reset_notification notification;
    struct fwrig *rig = *state;
    struct callrig c;

    assert_int_equal(call(rig, 1, PR_EVENT_SHARED, 0, 1, 1, 1), PR_STATUS_OK);
    callrig_make(&c, WITH, 2);
    c.head->call.priority = QUEUE + 1;
    add(&c, false, PR_EVENT_SHARED, 0, 0, 1);
    add(&c, true, PR_EVENT_SHARED, 0, 1, 1);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(call(rig, 3, PR_EVENT_SHARED, 0, 0, 1, 1), PR_STATUS_OK);
    fwrig_keep_aborted(rig, true);
    fwrig_pass(rig, 5000000000ull);
    assert_true(fwrig_notification(rig, &notification));
    /* While the host has not reset the queue, nothing begins. */
    *row(rig, 0) = 1;
    ring(rig);
    assert_int_equal(fwrig_counter(rig, "held"), 2);
    fwrig_keep_aborted(rig, false);
    fwrig_write(rig, PR_ENGINE_TM + PR_TM_ABORT, 1u << QUEUE);
    assert_int_equal(fwrig_control(rig, PR_CMD_RESET, &reset, sizeof(reset)), PR_STATUS_OK);
    expect_aborted(rig, 3);
    expect_aborted(rig, 1);
    assert_int_equal(fwrig_pushes(rig), 2);
    fwrig_retire(rig, QUEUE + 1, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &(struct pr_program_event){0}, true));
    callrig_expect_free(rig);
}

/* The two seconds are those of a queue. Nothing runs, so no timer does. */
static void no_deadline_applies(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(call(rig, 1, PR_EVENT_SHARED, 0, 1, 1, 1), PR_STATUS_OK);
    assert_false(fwrig_timer_set(rig));
    fwrig_pass(rig, 100ull * 1000000000ull);
    assert_int_equal(fwrig_counter(rig, "timeouts"), 0);
    *row(rig, 0) = 1;
    ring(rig);
    fwrig_pass(rig, 1999999999ull);
    assert_int_equal(fwrig_aborted(rig), 0);
    finish(rig, 1);
    /* From its push on it has one. */
    assert_int_equal(call(rig, 2, PR_EVENT_SHARED, 0, 2, 1, 1), PR_STATUS_OK);
    fwrig_pass(rig, 5ull * 1000000000ull);
    *row(rig, 0) = 2;
    ring(rig);
    fwrig_pass(rig, 2100000000ull);
    assert_int_equal(fwrig_aborted(rig) & 1u << QUEUE, 1u << QUEUE);
}

/* A loop that is closed begins no call; opened, it looks. */
static void a_closed_loop_holds_on(void **state)
{
    const struct pr_body_u32 cache = {PR_POWER_MCACHE};
    struct fwrig *rig = *state;

    assert_int_equal(call(rig, 1, PR_EVENT_SHARED, 0, 1, 1, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_POWER_DEVICE_OFF, &cache, sizeof(cache)), PR_STATUS_OK);
    *row(rig, 0) = 1;
    ring(rig);
    assert_int_equal(fwrig_pushes(rig), 0);
    assert_int_equal(fwrig_control(rig, PR_CMD_POWER_DEVICE_ON, &cache, sizeof(cache)), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 1);
    finish(rig, 1);
}

static void a_dump_has_held_calls(void **state)
{
    struct pr_dump_engine engine = {0};
    uint8_t section[PR_DUMP_AREA_BYTES];
    struct fwrig *rig = *state;

    assert_int_equal(call(rig, 1, PR_EVENT_SHARED, 0, 0, 1, 1), PR_STATUS_OK);
    assert_int_equal(call(rig, 2, PR_EVENT_SHARED, 0, 1, 1, 1), PR_STATUS_OK);
    fwrig_rang(rig);
    fwrig_except(rig, 3, &(struct rt_registers){0}, "by hand");
    fwrig_write(rig, PR_CTRL_DOORBELL, 1u << 1);
    fwrig_run(rig);
    for (unsigned i = 1; i <= PR_DUMP_ENGINE; i++) {
        const size_t bytes = fwrig_dump_take(rig, (enum pr_dump_section)i, section);

        if (i == PR_DUMP_ENGINE)
            memcpy(&engine, section, bytes);
    }
    assert_int_equal(engine.count, 2);
    assert_true(engine.call[0].cookie == 1 && engine.call[0].place == PR_DUMP_CALL_RUNNING);
    assert_true(engine.call[1].cookie == 2 && engine.call[1].place == PR_DUMP_CALL_HELD);
    (void)fwrig_dump_drain(rig);
}

/*
 * Random calls over four counters, against a model: which calls begin after each end, in which order. They
 * end one after the other.
 */
#define MODEL_CALLS 64u
struct model {
    uint64_t value[4];
    struct {
        bool held, begun, ended;
        uint64_t wait, value, signal, to;
    } call[MODEL_CALLS];
    unsigned calls, order[MODEL_CALLS], begun;
};

static void model_look(struct model *m)
{
    for (unsigned i = 0; i < m->calls; i++)
        if (m->call[i].held && m->value[m->call[i].wait] >= m->call[i].value) {
            m->call[i].held = false;
            m->order[m->begun++] = i;
        }
}

static void model_end(struct model *m, unsigned i)
{
    if (m->value[m->call[i].signal] < m->call[i].to)
        m->value[m->call[i].signal] = m->call[i].to;
    model_look(m);
}

static void random_calls_follow_a_model(void **state)
{
    struct fwrig *rig = *state;
    struct test_rng rng;

    test_rng_init(&rng, 4);
    for (unsigned round = 0; round < 20; round++) {
        struct model m = {.calls = 0};
        unsigned ended = 0;

        for (unsigned i = 0; i < 4; i++)
            m.value[i] = callrig_fw(rig)->events.counter[i];
        while (m.calls < MODEL_CALLS || ended < m.begun) {
            if (m.calls < MODEL_CALLS && (ended == m.begun || test_rng_range(&rng, 0, 2))) {
                const unsigned i = m.calls++;

                m.call[i].wait = test_rng_range(&rng, 0, 3);
                m.call[i].value = m.value[m.call[i].wait] + test_rng_range(&rng, 0, 2);
                m.call[i].signal = test_rng_range(&rng, 0, 3);
                m.call[i].to = m.value[m.call[i].signal] + test_rng_range(&rng, 0, 3);
                m.call[i].held = true;
                model_look(&m);
                assert_int_equal(call(rig, i + 1, PR_EVENT_FIRMWARE, m.call[i].wait, m.call[i].value,
                                      m.call[i].signal, m.call[i].to),
                                 PR_STATUS_OK);
            } else {
                finish(rig, m.order[ended] + 1);
                model_end(&m, m.order[ended++]);
            }
            for (unsigned i = 0; i < 4; i++)
                assert_int_equal(callrig_fw(rig)->events.counter[i], m.value[i]);
            assert_int_equal(callrig_fw(rig)->events.count, m.calls - m.begun);
        }
        (void)cancel(rig, 0);
        while (fwrig_event(rig, &(struct pr_program_event){0}, true))
            ;
        callrig_expect_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(a_call_begins_when_its_waits_hold),
        T(rows_are_read_and_written),
        T(a_user_event_is_a_notification),
        T(signals_ring_by_mask),
        T(records_are_checked),
        T(held_calls_are_cancelled),
        T(a_held_call_has_all_its_requests),
        T(life_commands_see_held_calls),
        T(a_reset_ends_the_calls_of_its_level),
        T(no_deadline_applies),
        T(a_closed_loop_holds_on),
        T(a_dump_has_held_calls),
        T(random_calls_follow_a_model),
    };

    return cmocka_run_group_tests_name("firmware_event", tests, NULL, NULL);
}
