/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of the execution loop beyond EXEC: the gates of what touches hardware, secure mode, PAUSE, and
 * what arrives meanwhile.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "firmware/abort.h"
#include "firmware/call.h"
#include "firmware/completion.h"
#include "firmware/exeloop.h"
#include "firmware/queue.h"
#include "firmware/secure.h"
#include "fwrig.h"
#include "protocol/notification.h"

#define SECOND 1000000000ull

/* Of setup: the first process is not secure, the second is. */
enum { PLAIN, SECURE };

static void set_pmu(struct fwrig *rig)
{
    const struct pr_body_pmu pmu = {FWRIG_PMU};

    assert_int_equal(fwrig_control(rig, PR_CMD_SET_SNE_PMU_BASE2, &pmu, sizeof(pmu)), PR_STATUS_OK);
}

static void load(struct fwrig *rig)
{
    union fwrig_process process;
    uint32_t id;

    fwrig_load(rig);
    fwrig_process_make(&process, 4 | PR_PROCESS_SECURE);
    assert_int_equal(fwrig_process(rig, 0, &process, &id), PR_STATUS_OK);
    assert_int_equal(id, SECURE);
}

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    set_pmu(rig);
    load(rig);
    fwrig_rang(rig);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static uint32_t call_of(struct fwrig *rig, uint32_t process, uint64_t cookie)
{
    union fwrig_call call;

    fwrig_call_make(&call, cookie);
    call.call.process_id = process;
    return fwrig_call(rig, &call);
}

static uint32_t word_to(struct fwrig *rig, uint32_t id, uint32_t value)
{
    const struct pr_body_u32 body = {value};

    return fwrig_control(rig, id, &body, sizeof(body));
}

static uint32_t start(struct fwrig *rig)
{
    return word_to(rig, PR_CMD_SECURE_MODE_START, 0);
}

static uint32_t stop(struct fwrig *rig)
{
    return word_to(rig, PR_CMD_SECURE_MODE_STOP, 0);
}

static uint32_t resume(struct fwrig *rig)
{
    return fwrig_control(rig, PR_CMD_SECURE_MODE_RESUME_TRANSITION, NULL, 0);
}

static const struct fw *firmware(struct fwrig *rig)
{
    return fwrig_firmware(rig);
}

static enum pr_execution_state state_of(struct fwrig *rig)
{
    return rt_fsm_state(&firmware(rig)->exeloop.machine);
}

/* The next message as an event of the mode; how long it is, or 0. */
static size_t next_event(struct fwrig *rig, struct pr_notify_secure *event)
{
    _Alignas(8) uint8_t message[FWRIG_MESSAGE_BYTES];
    const size_t bytes = fwrig_message(rig, message);

    memcpy(event, message, sizeof(*event));
    return bytes;
}

/* The next message is this step, with so many calls that wait. */
static void expect_step(struct fwrig *rig, enum pr_secure_phase phase, uint32_t waiting)
{
    struct pr_notify_secure event;

    assert_int_equal(next_event(rig, &event), sizeof(event));
    assert_int_equal(event.head.id, PR_CMD_SECURE_MODE_EVENT);
    assert_int_equal(event.phase, phase);
    assert_int_equal(event.waiting, waiting);
}

static void expect_nothing(struct fwrig *rig)
{
    struct pr_notify_secure event;

    assert_int_equal(next_event(rig, &event), 0);
}

static void finish(struct fwrig *rig, uint64_t cookie)
{
    struct pr_program_event event;

    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.id, PR_CMD_PROGRAM_EVENT);
    assert_true(event.cookie == cookie && event.status == PR_STATUS_OK);
}

static void enter(struct fwrig *rig, uint32_t waiting)
{
    assert_int_equal(start(rig), PR_STATUS_OK);
    expect_step(rig, PR_SECURE_QUIESCED, waiting);
    expect_step(rig, PR_SECURE_PAUSED, waiting);
    assert_int_equal(resume(rig), PR_STATUS_OK);
    expect_step(rig, PR_SECURE_ENTERED, waiting);
    assert_int_equal(state_of(rig), PR_EXECUTION_EXEC_SECURE);
}

static void expect_log(struct fwrig *rig, const char *text)
{
    if (!strstr(fwrig_log(rig), text))
        fail_msg("the log does not say \"%s\":\n%s", text, fwrig_log(rig));
}

static bool queues_are(struct fwrig *rig, uint32_t all, uint32_t each)
{
    for (uint32_t i = 0; i < PR_TQ_COUNT; i++)
        if (fwrig_read(rig, PR_ENGINE_TQ + i * PR_TQ_STRIDE + PR_TQ_STATUS) != each)
            return false;
    return fwrig_read(rig, PR_ENGINE_TM + PR_TM_TQ_EN) == all;
}

/* Every step of the switch, what the registers show at it, and the same way back. */
static void the_switch_goes_step_by_step(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t gated = fwrig_counter(rig, "islands-gated");

    for (unsigned way = 0; way < 2; way++) {
        assert_int_equal(way ? stop(rig) : start(rig), PR_STATUS_OK);
        expect_step(rig, PR_SECURE_QUIESCED, 0);
        expect_step(rig, PR_SECURE_PAUSED, 0);
        expect_nothing(rig);
        assert_int_equal(state_of(rig), PR_EXECUTION_PAUSE);
        assert_true(queues_are(rig, 0, 0));
        assert_int_equal(fwrig_counter(rig, "islands-gated"), gated + 1 + way);
        for (unsigned domain = 0; domain < PR_PMU_DOMAINS; domain++)
            assert_int_equal(fwrig_power(rig, domain) & 0xff, PR_PMU_READY);
        assert_int_equal(resume(rig), PR_STATUS_OK);
        expect_step(rig, way ? PR_SECURE_LEFT : PR_SECURE_ENTERED, 0);
        expect_nothing(rig);
        assert_int_equal(state_of(rig), way ? PR_EXECUTION_RUN : PR_EXECUTION_EXEC_SECURE);
        assert_true(queues_are(rig, PR_TM_TQ_EN_ON, PR_TQ_STATUS_IN_USE));
        assert_int_equal(call_of(rig, way ? PLAIN : SECURE, 10 + way), PR_STATUS_OK);
        finish(rig, 10 + way);
        assert_int_equal(fwrig_push_at(rig, way)->file[PR_TQ_STREAM / 4], way ? 3 : 4);
        assert_int_equal(state_of(rig), way ? PR_EXECUTION_RUN : PR_EXECUTION_EXEC_SECURE);
    }
    assert_int_equal(fwrig_counter(rig, "secure-switches"), 2);
    assert_int_equal(fwrig_counter(rig, "secure-timeouts"), 0);
}

/* The reply does not wait for the call in flight, the switch does. Later calls wait, in order. */
static void what_is_in_flight_ends_first(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(call_of(rig, PLAIN, 1), PR_STATUS_OK);
    assert_int_equal(start(rig), PR_STATUS_OK);
    expect_nothing(rig);
    assert_int_equal(call_of(rig, PLAIN, 2), PR_STATUS_OK);
    assert_int_equal(call_of(rig, SECURE, 3), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 1);
    assert_int_equal(resume(rig), PR_STATUS_WRONG_STATE);
    assert_int_equal(state_of(rig), PR_EXECUTION_EXEC);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    {
        struct pr_program_event event;

        assert_true(fwrig_event(rig, &event, true));
        assert_int_equal(event.cookie, 1);
    }
    expect_step(rig, PR_SECURE_QUIESCED, 2);
    expect_step(rig, PR_SECURE_PAUSED, 2);
    assert_int_equal(call_of(rig, PLAIN, 4), PR_STATUS_OK);
    assert_int_equal(resume(rig), PR_STATUS_OK);
    expect_step(rig, PR_SECURE_ENTERED, 3);
    assert_int_equal(fwrig_pushes(rig), 2); /* the secure one */
    assert_int_equal(fwrig_counter(rig, "secure-calls-waiting"), 2);
    assert_int_equal(call_of(rig, PLAIN, 5), PR_STATUS_OK);
    assert_int_equal(stop(rig), PR_STATUS_OK);
    expect_nothing(rig); /* the secure one is in flight */
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    {
        struct pr_program_event event;

        assert_true(fwrig_event(rig, &event, true));
        assert_int_equal(event.cookie, 3);
    }
    expect_step(rig, PR_SECURE_QUIESCED, 3);
    expect_step(rig, PR_SECURE_PAUSED, 3);
    assert_int_equal(resume(rig), PR_STATUS_OK);
    expect_step(rig, PR_SECURE_LEFT, 3);
    finish(rig, 2);
    finish(rig, 4);
    finish(rig, 5);
    assert_int_equal(state_of(rig), PR_EXECUTION_RUN);
    assert_int_equal(fwrig_counter(rig, "secure-calls-waiting"), 0);
}

/* A secure call waits for the mode; without an answer of the host's the engine is not secure. */
static void without_an_answer_the_engine_is_not_secure(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(call_of(rig, SECURE, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 0);
    assert_int_equal(start(rig), PR_STATUS_OK);
    expect_step(rig, PR_SECURE_QUIESCED, 1);
    expect_step(rig, PR_SECURE_PAUSED, 1);
    assert_int_equal(call_of(rig, PLAIN, 2), PR_STATUS_OK);
    fwrig_pass(rig, 2 * SECOND - 1);
    expect_nothing(rig);
    fwrig_pass(rig, 1);
    expect_step(rig, PR_SECURE_LEFT, 2);
    expect_log(rig,
               "the host did not resume the transition within 2 seconds: the engine is not in secure mode");
    assert_int_equal(fwrig_counter(rig, "secure-timeouts"), 1);
    assert_int_equal(resume(rig), PR_STATUS_WRONG_STATE);
    finish(rig, 2);
    assert_int_equal(fwrig_counter(rig, "secure-calls-waiting"), 1);
    enter(rig, 1);
    finish(rig, 1);
    /* The way back: it ends there too. */
    assert_int_equal(stop(rig), PR_STATUS_OK);
    expect_step(rig, PR_SECURE_QUIESCED, 0);
    expect_step(rig, PR_SECURE_PAUSED, 0);
    fwrig_pass(rig, 2 * SECOND);
    expect_step(rig, PR_SECURE_LEFT, 0);
    assert_int_equal(state_of(rig), PR_EXECUTION_RUN);
    assert_int_equal(fwrig_counter(rig, "secure-timeouts"), 2);
    assert_int_equal(call_of(rig, PLAIN, 3), PR_STATUS_OK);
    finish(rig, 3);
    assert_false(fwrig_timer_set(rig));
}

/* An answer in time: nothing comes of the deadline later. */
static void an_answer_ends_the_deadline(void **state)
{
    struct fwrig *rig = *state;

    enter(rig, 0);
    assert_false(fwrig_timer_set(rig));
    fwrig_pass(rig, 3 * SECOND);
    expect_nothing(rig);
    assert_int_equal(state_of(rig), PR_EXECUTION_EXEC_SECURE);
}

/* Sleep, power and another switch are refused from the begin of one to the end of the way back. */
static void expect_refused(struct fwrig *rig)
{
    const enum pr_execution_state before = state_of(rig);

    assert_int_equal(start(rig), PR_STATUS_WRONG_STATE);
    assert_int_equal(word_to(rig, PR_CMD_STOP, 0), PR_STATUS_WRONG_STATE);
    assert_int_equal(fwrig_control(rig, PR_CMD_QUIESCE_STATE, &(struct pr_body_quiesce){0},
                                   sizeof(struct pr_body_quiesce)),
                     PR_STATUS_WRONG_STATE);
    expect_log(rig, "quiesce is refused: the engine is in secure mode, or on the way; send SECURE_MODE_STOP");
    assert_int_equal(fwrig_control(rig, PR_CMD_SUSPEND, NULL, 0), PR_STATUS_WRONG_STATE);
    assert_int_equal(fwrig_control(rig, PR_CMD_POWER_DOWN, NULL, 0), PR_STATUS_WRONG_STATE);
    assert_int_equal(word_to(rig, PR_CMD_POWER_DEVICE_OFF, PR_POWER_ISLANDS), PR_STATUS_WRONG_STATE);
    assert_int_equal(word_to(rig, PR_CMD_POWER_DEVICE_OFF, PR_POWER_MCACHE), PR_STATUS_WRONG_STATE);
    assert_int_equal(word_to(rig, PR_CMD_SET_DYNAMIC_POWERGATE, 1), PR_STATUS_WRONG_STATE);
    assert_int_equal(state_of(rig), before);
}

static void what_is_refused_meanwhile(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(stop(rig), PR_STATUS_WRONG_STATE);
    expect_log(rig, "a switch from secure mode is refused: the engine is not in secure mode");
    assert_int_equal(resume(rig), PR_STATUS_WRONG_STATE);
    expect_log(rig, "no transition waits for the host to resume it");
    assert_int_equal(word_to(rig, PR_CMD_SECURE_MODE_START, 1), PR_STATUS_BAD_ARGUMENT);
    expect_log(rig, "a switch to secure mode is refused: its word is not 0");
    assert_int_equal(call_of(rig, PLAIN, 1), PR_STATUS_OK);
    assert_int_equal(start(rig), PR_STATUS_OK);
    expect_refused(rig);
    assert_int_equal(stop(rig), PR_STATUS_WRONG_STATE);
    expect_log(rig, "a switch from secure mode is refused: a switch is under way");
    finish(rig, 1);
    expect_step(rig, PR_SECURE_QUIESCED, 0);
    expect_step(rig, PR_SECURE_PAUSED, 0);
    expect_refused(rig);
    assert_int_equal(resume(rig), PR_STATUS_OK);
    expect_step(rig, PR_SECURE_ENTERED, 0);
    expect_refused(rig);
    expect_log(rig, "a switch to secure mode is refused: the engine is in secure mode");
    assert_int_equal(stop(rig), PR_STATUS_OK);
    expect_refused(rig);
    assert_int_equal(resume(rig), PR_STATUS_OK);
    /* And afterwards nothing is. */
    assert_int_equal(word_to(rig, PR_CMD_POWER_DEVICE_OFF, PR_POWER_ISLANDS), PR_STATUS_OK);
    assert_int_equal(start(rig), PR_STATUS_WRONG_STATE);
    expect_log(rig, "a switch to secure mode is refused: the execution loop is closed");
    assert_int_equal(word_to(rig, PR_CMD_POWER_DEVICE_ON, PR_POWER_ISLANDS), PR_STATUS_OK);
    assert_int_equal(word_to(rig, PR_CMD_STOP, 0), PR_STATUS_OK);
}

static void the_mode_needs_the_pmu(void **state)
{
    struct fwrig *rig = fwrig_create();

    (void)state;
    fwrig_boot_started(rig);
    assert_int_equal(start(rig), PR_STATUS_WRONG_STATE);
    expect_log(rig, "a switch to secure mode is refused: the PMU's base is not set");
    set_pmu(rig);
    enter(rig, 0);
    fwrig_destroy(rig);
}

/* The table of calls bounds what waits: 127 of a process, 256 of all; each goes on afterwards, in order. */
static void calls_wait_in_order_and_are_bounded(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_process process;
    uint32_t id[2], sent = 0;

    for (unsigned i = 0; i < 2; i++) {
        fwrig_process_make(&process, 5);
        assert_int_equal(fwrig_process(rig, 0, &process, &id[i]), PR_STATUS_OK);
    }
    enter(rig, 0);
    for (; sent < 127; sent++)
        assert_int_equal(call_of(rig, PLAIN, sent), PR_STATUS_OK);
    assert_int_equal(call_of(rig, PLAIN, sent), PR_STATUS_NO_RESOURCES);
    for (; sent < FW_CALLS; sent++)
        assert_int_equal(call_of(rig, id[sent % 2], sent), PR_STATUS_OK);
    assert_int_equal(call_of(rig, id[0], sent), PR_STATUS_NO_RESOURCES);
    assert_int_equal(call_of(rig, SECURE, sent), PR_STATUS_NO_RESOURCES); /* the table is full */
    assert_int_equal(fwrig_pushes(rig), 0);
    assert_int_equal(stop(rig), PR_STATUS_OK);
    expect_step(rig, PR_SECURE_QUIESCED, FW_CALLS);
    expect_step(rig, PR_SECURE_PAUSED, FW_CALLS);
    assert_int_equal(resume(rig), PR_STATUS_OK);
    expect_step(rig, PR_SECURE_LEFT, FW_CALLS);
    for (uint32_t i = 0; i < FW_CALLS; i++)
        finish(rig, i);
    assert_int_equal(state_of(rig), PR_EXECUTION_RUN);
}

/* Triggers do not wait: those of processes that are not secure are dropped and counted. */
static bool dropped[2];
static void trigger(struct fw *fw)
{
    for (unsigned i = 0; i < 2; i++)
        dropped[i] = fw_secure_drops(fw, &fw->process[i]);
}

static void expect_drops(struct fwrig *rig, bool drops, uint64_t count)
{
    fwrig_inside(rig, trigger);
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), PR_STATUS_OK);
    assert_int_equal(dropped[PLAIN], drops);
    assert_false(dropped[SECURE]);
    assert_int_equal(fwrig_counter(rig, "secure-triggers-dropped"), count);
}

static void triggers_are_dropped_and_counted(void **state)
{
    struct fwrig *rig = *state;
    struct pr_notify_secure event;

    expect_drops(rig, false, 0);
    assert_int_equal(start(rig), PR_STATUS_OK);
    expect_drops(rig, true, 1);
    assert_int_equal(resume(rig), PR_STATUS_OK);
    expect_drops(rig, true, 2);
    assert_int_equal(stop(rig), PR_STATUS_OK);
    expect_drops(rig, true, 3);
    assert_int_equal(resume(rig), PR_STATUS_OK);
    do
        assert_int_equal(next_event(rig, &event), sizeof(event));
    while (event.phase != PR_SECURE_LEFT);
    assert_int_equal(event.dropped, 3);
    expect_drops(rig, false, 3);
}

/* A queue that is stuck is aborted in secure mode as outside of it, and the mode goes on. */
static void the_deadline_of_a_queue_holds_in_secure_mode(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    enter(rig, 0);
    assert_int_equal(call_of(rig, SECURE, 1), PR_STATUS_OK);
    fwrig_pass(rig, 2 * SECOND);
    assert_int_equal(fwrig_aborted(rig), 1u << 4);
    assert_true(fwrig_event(rig, &event, true));
    assert_true(event.cookie == 1 && event.status != PR_STATUS_OK);
    assert_int_equal(call_of(rig, SECURE, 2), PR_STATUS_OK);
    finish(rig, 2);
    assert_int_equal(state_of(rig), PR_EXECUTION_EXEC_SECURE);
    assert_false(fwrig_timer_set(rig));
}

/* The switch waits for a queue that does not clear, and goes on after the host's reset. */
static void a_reset_ends_what_a_switch_waits_for(void **state)
{
    const struct pr_body_reset range = {4, 4};
    struct pr_reset_notification reset;
    struct pr_program_event event;
    struct fwrig *rig = *state;

    assert_int_equal(call_of(rig, PLAIN, 1), PR_STATUS_OK);
    assert_int_equal(start(rig), PR_STATUS_OK);
    fwrig_keep_aborted(rig, true);
    fwrig_pass(rig, 4 * SECOND + SECOND / 50);
    assert_true(fwrig_notification(rig, &reset));
    expect_nothing(rig);
    fwrig_keep_aborted(rig, false);
    assert_int_equal(fwrig_control(rig, PR_CMD_RESET, &range, sizeof(range)), PR_STATUS_OK);
    assert_true(fwrig_event(rig, &event, true));
    assert_true(event.cookie == 1 && event.status == PR_STATUS_ABORTED);
    expect_step(rig, PR_SECURE_QUIESCED, 0);
    expect_step(rig, PR_SECURE_PAUSED, 0);
    assert_int_equal(resume(rig), PR_STATUS_OK);
    expect_step(rig, PR_SECURE_ENTERED, 0);
}

/* Islands that are switched by themselves are off before the switch and after it. */
static void islands_that_are_gated_are_cycled_too(void **state)
{
    struct fwrig *rig = *state;
    uint64_t gated;

    assert_int_equal(word_to(rig, PR_CMD_SET_DYNAMIC_POWERGATE, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_power(rig, 1) & 0xff, 0);
    gated = fwrig_counter(rig, "islands-gated");
    assert_int_equal(start(rig), PR_STATUS_OK);
    assert_int_equal(fwrig_power(rig, 1) & 0xff, PR_PMU_READY);
    assert_int_equal(resume(rig), PR_STATUS_OK);
    assert_int_equal(fwrig_counter(rig, "islands-gated"), gated + 1);
    assert_int_equal(fwrig_power(rig, 1) & 0xff, 0);
    for (unsigned step = PR_SECURE_QUIESCED; step <= PR_SECURE_ENTERED; step++)
        expect_step(rig, (enum pr_secure_phase)step, 0);
    fwrig_write(rig, PR_ENGINE_TM + PR_TM_TQ_EN, 0); /* forgotten */
    assert_int_equal(call_of(rig, SECURE, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_power(rig, 1) & 0xff, PR_PMU_READY);
    finish(rig, 1);
    assert_int_equal(fwrig_power(rig, 1) & 0xff, 0);
}

/* Gates. Each body is what a handler does, at a time when no call is in flight. */
static void submit(struct fw *fw)
{
    const uint16_t number = fw_call_take(fw, &fw->exeloop.free);

    fw->call[number].follow = FW_NO_CALL;
    fw_queue_submit(fw, number);
}

static void abort_queue(struct fw *fw)
{
    fw_queue_abort(fw, 4);
}

static void look_at_an_aborted_queue(struct fw *fw)
{
    (void)fw_queue_vacant(fw, 4);
}

static void take_error(struct fw *fw)
{
    fw_completion_take_error(fw, 4, &fw->call[0]);
}

static void look_at_an_overdue_queue(struct fw *fw)
{
    fw->exeloop.level[4].waiting = fw->exeloop.free;
    fw->exeloop.level[4].since = rt_port_now(fw->port) - PR_DEADLINE_NS;
    fw_abort_overdue(fw);
}

static void post_dispatch(struct fw *fw)
{
    rt_fsm_post(&fw->exeloop.machine, FW_EVENT_DISPATCH, 0);
}

static void post_drain(struct fw *fw)
{
    rt_fsm_post(&fw->exeloop.machine, FW_EVENT_DRAIN, 0);
}

static void post_enter(struct fw *fw)
{
    rt_fsm_post(&fw->exeloop.machine, FW_EVENT_ENTER_SECURE, 0);
}

static void post_exit(struct fw *fw)
{
    rt_fsm_post(&fw->exeloop.machine, FW_EVENT_EXIT_SECURE, 0);
}

static void expect_assertion(struct fwrig *rig, void (*body)(struct fw *fw), const char *text)
{
    fwrig_inside(rig, body);
    (void)fwrig_control(rig, PR_CMD_PING, NULL, 0);
    assert_int_equal(fwrig_dump_drain(rig), FWRIG_FAULTED);
    assert_string_equal(fwrig_fault_text(rig), text);
}

/* Seeds ch. 29: the state must be EXEC or EXEC-SECURE before a handler touches the engine. */
static void a_handler_touches_the_engine_in_exec_only(void **state)
{
    static const struct {
        void (*body)(struct fw *fw);
        const char *what;
    } gate[] = {{submit, "a look at vacancy"},
                {abort_queue, "an abort"},
                {look_at_an_aborted_queue, "a look at an aborted queue"},
                {take_error, "a look at the error registers"},
                {look_at_an_overdue_queue, "a look at an overdue queue"}};
    struct fwrig *rig = *state;
    char text[128];

    for (unsigned i = 0; i < sizeof(gate) / sizeof(gate[0]); i++) {
        fwrig_boot_started(rig);
        (void)snprintf(text, sizeof(text), "%s in RUN, outside EXEC and EXEC-SECURE", gate[i].what);
        expect_assertion(rig, gate[i].body, text);
        fwrig_boot_started(rig);
        set_pmu(rig);
        assert_int_equal(start(rig), PR_STATUS_OK);
        (void)snprintf(text, sizeof(text), "%s in PAUSE, outside EXEC and EXEC-SECURE", gate[i].what);
        expect_assertion(rig, gate[i].body, text);
    }
}

/* The same in EXEC-SECURE is none. */
static void a_gate_is_open_in_exec_secure(void **state)
{
    struct fwrig *rig = *state;

    enter(rig, 0);
    fwrig_inside(rig, abort_queue);
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), PR_STATUS_OK);
    assert_int_equal(fwrig_aborted(rig), 1u << 4);
}

static void any_event_in_pause_is_a_failed_assertion(void **state)
{
    static const struct {
        void (*body)(struct fw *fw);
        const char *text;
    } row[] = {{post_dispatch, "exeloop: event dispatch in state PAUSE"},
               {post_drain, "exeloop: event drain in state PAUSE"},
               {post_enter, "exeloop: event enter-secure in state PAUSE"},
               {post_exit, "exeloop: event exit-secure in state PAUSE"}};
    struct fwrig *rig = *state;

    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        fwrig_boot_started(rig);
        set_pmu(rig);
        assert_int_equal(start(rig), PR_STATUS_OK);
        assert_int_equal(state_of(rig), PR_EXECUTION_PAUSE);
        expect_assertion(rig, row[i].body, row[i].text);
    }
}

/* A crash ends the mode: the next boot is not secure, and what waited is lost with all other calls. */
static void a_crash_ends_the_mode(void **state)
{
    struct fwrig *rig = *state;

    enter(rig, 0);
    assert_int_equal(call_of(rig, PLAIN, 1), PR_STATUS_OK);
    expect_assertion(rig, post_enter, "exeloop: event enter-secure in state EXEC-SECURE");
    fwrig_boot_started(rig);
    set_pmu(rig);
    load(rig);
    assert_int_equal(fwrig_counter(rig, "secure-mode"), 0);
    assert_int_equal(fwrig_counter(rig, "secure-calls-waiting"), 0);
    assert_int_equal(call_of(rig, PLAIN, 2), PR_STATUS_OK);
    finish(rig, 2);
    enter(rig, 0);
}

/* Any order of commands, calls, ends and time: no assertion fails, and each accepted call has one event. */
static unsigned take_events(struct fwrig *rig)
{
    _Alignas(8) uint8_t message[PR_NOTIFICATION_BYTES_MAX];
    unsigned events = 0;

    while (fwrig_message(rig, message))
        events += ((const struct pr_notification_head *)message)->id == PR_CMD_PROGRAM_EVENT;
    return events;
}

static void retire_oldest(struct fwrig *rig)
{
    if (firmware(rig)->exeloop.level[4].running.head == FW_NO_CALL)
        return;
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
}

static unsigned act(struct fwrig *rig, struct test_rng *rng)
{
    switch (test_rng_range(rng, 0, 7)) {
    case 0: (void)start(rig); break;
    case 1: (void)stop(rig); break;
    case 2: (void)resume(rig); break;
    case 3: return call_of(rig, PLAIN, 1) == PR_STATUS_OK;
    case 4: return call_of(rig, SECURE, 2) == PR_STATUS_OK;
    case 5: (void)fwrig_pass(rig, SECOND / 4 * (uint64_t)test_rng_range(rng, 0, 5)); break;
    default: retire_oldest(rig); break;
    }
    return 0;
}

static void any_order_loses_no_call(void **state)
{
    struct fwrig *rig = *state;
    unsigned accepted = 0, events = 0;
    struct test_rng rng;

    test_rng_init(&rng, 13);
    for (unsigned i = 0; i < 2000; i++) {
        accepted += act(rig, &rng);
        events += take_events(rig);
        assert_string_equal(fwrig_fault_text(rig), "");
    }
    /* The mode is entered and left until nothing waits: each call gets its turn. */
    for (unsigned i = 0; i < 2000 && events < accepted; i++) {
        retire_oldest(rig);
        (void)resume(rig);
        if (i % 700 == 0)
            (void)(firmware(rig)->secure.phase == FW_SECURE_ON ? stop(rig) : start(rig));
        events += take_events(rig);
    }
    assert_true(accepted > 0);
    assert_int_equal(events, accepted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(the_switch_goes_step_by_step),
        T(what_is_in_flight_ends_first),
        T(without_an_answer_the_engine_is_not_secure),
        T(an_answer_ends_the_deadline),
        T(what_is_refused_meanwhile),
        cmocka_unit_test(the_mode_needs_the_pmu),
        T(calls_wait_in_order_and_are_bounded),
        T(triggers_are_dropped_and_counted),
        T(the_deadline_of_a_queue_holds_in_secure_mode),
        T(a_reset_ends_what_a_switch_waits_for),
        T(islands_that_are_gated_are_cycled_too),
        T(a_handler_touches_the_engine_in_exec_only),
        T(a_gate_is_open_in_exec_secure),
        T(any_event_in_pause_is_a_failed_assertion),
        T(a_crash_ends_the_mode),
        T(any_order_loses_no_call),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
