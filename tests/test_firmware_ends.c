/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ends without having run: calls and executions that wait for an event or outside of the machine, ended
 * by each command that ends them. Each is reported once, and nothing of it is left.
 */
#include "callrig.h"
#include "cacherig.h"
#include "rtkernel/heap.h"

#define EVENTS PR_EXE_PROCEDURE_CALL_WITH_EVENTS

/* Of setup: the first process is not secure, the second is. */
enum { PLAIN, SECURE };

static int setup(void **state)
{
    const struct pr_body_pmu pmu = {FWRIG_PMU};
    struct fwrig *rig = fwrig_create();
    union fwrig_process process;
    uint32_t id;

    *state = rig;
    fwrig_boot_started(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_SET_SNE_PMU_BASE2, &pmu, sizeof(pmu)), PR_STATUS_OK);
    fwrig_load(rig);
    fwrig_process_make(&process, 4 | PR_PROCESS_SECURE);
    assert_int_equal(fwrig_process(rig, 0, &process, &id), PR_STATUS_OK);
    assert_int_equal(id, SECURE);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static size_t heap_used(struct fwrig *rig)
{
    return rt_heap_info(callrig_fw(rig)->kernel, RT_ARENA_SYSTEM).used;
}

static uint32_t about(struct fwrig *rig, uint32_t id, uint32_t process)
{
    struct fwrig_command c = {.header = {.id = id, .program_id = 0, .process_id = process}};

    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c.header), 0));
    return PR_REPLY_STATUS(&c.header);
}

static uint32_t call_of(struct fwrig *rig, uint32_t process, uint64_t cookie)
{
    union fwrig_call call;

    fwrig_call_make(&call, cookie);
    call.call.process_id = process;
    return fwrig_call(rig, &call);
}

/* A call that waits until counter 5 is 10. */
static void hold(struct fwrig *rig, uint32_t process, uint64_t cookie)
{
    struct callrig c;

    callrig_make(&c, EVENTS, cookie);
    c.head->call.process_id = process;
    callrig_event(&c, false, 5, 10);
    callrig_event(&c, true, 6, 1);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
}

static void expect_event(struct fwrig *rig, uint64_t cookie, enum pr_status status)
{
    struct pr_program_event event;

    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, cookie);
    assert_int_equal(event.status, status);
}

static void expect_nothing(struct fwrig *rig)
{
    _Alignas(8) uint8_t message[FWRIG_MESSAGE_BYTES];

    assert_int_equal(fwrig_message(rig, message), 0);
}

/* A request of the process with two sets; with `wait`, its executions wait for counter 5. */
static uint64_t install(struct fwrig *rig, uint32_t process, bool wait)
{
    const struct pr_event wait_for = {.type = PR_EVENT_FIRMWARE, .id = 5, .value = 10};
    struct cacherig_install install;
    uint64_t handler;

    cacherig_install_make(&install);
    install.header.process_id = process;
    if (wait) {
        install.header.id = PR_CMD_PROCEDURE_CALL_CACHE_REQUEST_WITH_SHARED_EVENTS;
        install.body.wait_events = 1;
        memcpy(install.body.link, &wait_for, sizeof(wait_for));
    }
    assert_int_equal(cacherig_install(rig, &install, &handler), PR_STATUS_OK);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(cacherig_recycle(rig, handler, i), PR_STATUS_OK);
    return handler;
}

static uint32_t invalidate(struct fwrig *rig, uint32_t process, uint64_t handler, uint32_t *in_flight)
{
    struct {
        struct pr_command_header header;
        struct pr_body_cache_invalidate body;
    } c = {.header = {.id = PR_CMD_PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST,
                      .size = sizeof(c.body),
                      .process_id = process},
           .body = {.cache_handler = handler}};

    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c), 0));
    *in_flight = c.body.in_flight;
    return PR_REPLY_STATUS(&c.header);
}

static void expect_idle(struct fwrig *rig, size_t heap)
{
    callrig_expect_free(rig);
    assert_int_equal(callrig_fw(rig)->events.count, 0);
    assert_int_equal(callrig_fw(rig)->secure.waiting, 0);
    assert_int_equal(heap_used(rig), heap);
}

/* The flag of a call with events: all requests end, of any process, before the call begins. */
static void a_call_ends_all_cache_requests(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t waits = install(rig, PLAIN, false), runs = install(rig, PLAIN, false),
                   other = install(rig, SECURE, false);
    struct callrig c;

    for (uint64_t time = 1; time <= 3; time++)
        assert_int_equal(cacherig_trigger(rig, waits, time), PR_STATUS_OK);
    cacherig_retire(rig, 0);
    cacherig_retire(rig, 0);
    assert_int_equal(cacherig_trigger(rig, runs, 1), PR_STATUS_OK);
    cacherig_expect(rig, waits, 1, 0, PR_STATUS_OK);
    cacherig_expect(rig, waits, 2, 1, PR_STATUS_OK);
    callrig_make(&c, EVENTS, 1);
    callrig_event(&c, true, 6, 1);
    c.tail.flags = PR_CALL_FORCE_DISABLE_CACHE | 2;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT); /* a refused call ends nothing */
    assert_int_equal(cacherig_fw(rig)->process[PLAIN].requests, 2);
    c.tail.flags = PR_CALL_FORCE_DISABLE_CACHE;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    cacherig_expect(rig, waits, 3, PR_NO_ID, PR_STATUS_ABORTED);
    assert_int_equal(cacherig_fw(rig)->process[SECURE].requests, 0);
    assert_int_equal(cacherig_trigger(rig, runs, 2), PR_STATUS_WRONG_STATE);
    assert_int_equal(cacherig_trigger(rig, other, 1), PR_STATUS_WRONG_STATE);
    callrig_retire(rig, CACHERIG_QUEUE, 0);
    cacherig_expect(rig, runs, 1, 0, PR_STATUS_OK);
    assert_int_equal(cacherig_fw(rig)->process[PLAIN].requests, 0);
    callrig_retire(rig, CACHERIG_QUEUE, 0);
    expect_event(rig, 1, PR_STATUS_OK);
    (void)install(rig, PLAIN, false); /* it is no disable: the next is installed */
}

/* An execution that waits for an event has not begun: an invalidation does not wait for it. */
static void an_invalidation_ends_executions_that_wait(void **state)
{
    struct fwrig *rig = *state;
    const size_t heap = heap_used(rig);

    for (uint32_t process = PLAIN; process <= SECURE; process++) {
        const uint64_t handler = install(rig, process, process == PLAIN);
        uint32_t in_flight = 9;

        for (uint64_t time = 1; time <= 3; time++)
            assert_int_equal(cacherig_trigger(rig, handler, time), PR_STATUS_OK);
        assert_int_equal(fwrig_pushes(rig), 0);
        assert_int_equal(callrig_fw(rig)->events.count + callrig_fw(rig)->secure.waiting, 2);
        assert_int_equal(invalidate(rig, process, handler, &in_flight), PR_STATUS_OK);
        assert_int_equal(in_flight, 0);
        cacherig_expect(rig, handler, 3, PR_NO_ID, PR_STATUS_ABORTED);
        cacherig_expect(rig, handler, 1, 0, PR_STATUS_ABORTED);
        cacherig_expect(rig, handler, 2, 1, PR_STATUS_ABORTED);
        expect_nothing(rig);
        expect_idle(rig, heap);
    }
}

/*
 * On the way to secure mode triggers of other processes are dropped and counted; they do not wait for its
 * end.
 */
static void a_trigger_does_not_wait_for_the_end_of_secure_mode(void **state)
{
    struct fwrig *rig = *state;
    const struct pr_body_u32 word = {0};
    const uint64_t plain = install(rig, PLAIN, false), secure = install(rig, SECURE, false);

    assert_int_equal(fwrig_control(rig, PR_CMD_SECURE_MODE_START, &word, sizeof(word)), PR_STATUS_OK);
    assert_int_equal(cacherig_trigger(rig, plain, 1), PR_STATUS_WRONG_STATE);
    assert_int_equal(cacherig_trigger(rig, secure, 1), PR_STATUS_OK);
    assert_int_equal(callrig_fw(rig)->secure.dropped, 1);
    assert_int_equal(callrig_fw(rig)->secure.waiting, 1);
    assert_int_equal(fwrig_pushes(rig), 0);
    assert_int_equal(fwrig_control(rig, PR_CMD_SECURE_MODE_RESUME_TRANSITION, NULL, 0), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 1);
    assert_int_equal(cacherig_trigger(rig, plain, 2), PR_STATUS_WRONG_STATE);
    assert_int_equal(callrig_fw(rig)->secure.dropped, 2);
    assert_int_equal(fwrig_pushes(rig), 1);
}

/* A process ends with its calls outside of the machine, and leaves those of another. */
static void a_process_ends_with_calls_outside_of_the_machine(void **state)
{
    struct fwrig *rig = *state;
    const size_t heap = heap_used(rig);
    const struct pr_body_u32 word = {0};
    union fwrig_process process;
    uint32_t other;

    fwrig_process_make(&process, 5 | PR_PROCESS_SECURE);
    assert_int_equal(fwrig_process(rig, 0, &process, &other), PR_STATUS_OK);
    assert_int_equal(call_of(rig, SECURE, 1), PR_STATUS_OK);
    assert_int_equal(call_of(rig, other, 2), PR_STATUS_OK);
    assert_int_equal(call_of(rig, SECURE, 3), PR_STATUS_OK);
    hold(rig, SECURE, 4);
    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, SECURE), PR_STATUS_OK);
    for (unsigned i = 0; i < 3; i++)
        expect_event(rig, (uint64_t[]){4, 1, 3}[i], PR_STATUS_ABORTED);
    assert_int_equal(callrig_fw(rig)->secure.waiting, 1);
    /* In PAUSE too, where the machine takes no event. */
    assert_int_equal(call_of(rig, PLAIN, 5), PR_STATUS_OK);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 5, PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_SECURE_MODE_START, &word, sizeof(word)), PR_STATUS_OK);
    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, other), PR_STATUS_OK);
    expect_event(rig, 2, PR_STATUS_ABORTED);
    assert_true(heap_used(rig) < heap); /* two processes are gone */
    callrig_expect_free(rig);
}

/* A process ends with executions that wait, whatever would start when they are gone. */
static void a_process_ends_with_executions_that_wait(void **state)
{
    struct fwrig *rig = *state;

    for (uint32_t process = PLAIN; process <= SECURE; process++) {
        const uint64_t handler = install(rig, process, process == PLAIN);

        for (uint64_t time = 1; time <= 4; time++)
            assert_int_equal(cacherig_trigger(rig, handler, time), PR_STATUS_OK);
        assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, process), PR_STATUS_OK);
        for (unsigned i = 0; i < 4; i++) {
            struct pr_notify_chaining event;

            assert_true(fwrig_chaining(rig, &event));
            assert_int_equal(event.cache_handler, handler);
            assert_int_equal(event.status, PR_STATUS_ABORTED);
        }
        expect_nothing(rig);
        assert_int_equal(fwrig_pushes(rig), 0);
        callrig_expect_free(rig);
    }
}

/* Nothing is in flight when the firmware is quiesced: then it can be stopped and gated. */
static void quiesce_ends_calls_outside_of_the_machine(void **state)
{
    struct fwrig *rig = *state;
    const size_t heap = heap_used(rig);
    const struct pr_body_u32 word = {0};
    struct pr_body_quiesce quiesce = {0};

    assert_int_equal(call_of(rig, SECURE, 1), PR_STATUS_OK);
    hold(rig, PLAIN, 2);
    assert_int_equal(fwrig_control(rig, PR_CMD_POWER_DOWN, NULL, 0), PR_STATUS_BUSY);
    assert_int_equal(fwrig_control(rig, PR_CMD_QUIESCE_STATE, &quiesce, sizeof(quiesce)), PR_STATUS_OK);
    memcpy(&quiesce, fwrig_reply(rig)->body, sizeof(quiesce));
    assert_int_equal(quiesce.calls, 2);
    expect_event(rig, 2, PR_STATUS_ABORTED);
    expect_event(rig, 1, PR_STATUS_ABORTED);
    expect_idle(rig, heap);
    assert_int_equal(fwrig_control(rig, PR_CMD_STOP, &word, sizeof(word)), PR_STATUS_OK);
}

/* The host cancels a call by its cookie, wherever it waits. */
static void a_call_outside_of_the_machine_is_cancelled(void **state)
{
    const struct pr_body_shared_events body = {.address = 2, .flags = PR_SHARED_EVENTS_CANCEL};
    struct fwrig *rig = *state;

    for (uint64_t cookie = 1; cookie <= 3; cookie++)
        assert_int_equal(call_of(rig, SECURE, cookie), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_INIT_SHARED_EVENT_INFO, &body, sizeof(body)), PR_STATUS_OK);
    expect_event(rig, 2, PR_STATUS_ABORTED);
    assert_int_equal(callrig_fw(rig)->secure.waiting, 2);
    assert_int_equal(callrig_fw(rig)->process[SECURE].calls, 2);
}

/* Links that read a member are gone with it: the group's sets are recycled as if there had been none. */
static void a_member_takes_its_links_with_it(void **state)
{
    struct fwrig *rig = *state;
    struct cacherig_install member, reader;
    uint64_t first, second, third;

    cacherig_install_make(&member);
    member.body.flags = PR_CACHE_AUTO_RECYCLE;
    assert_int_equal(cacherig_install(rig, &member, &first), PR_STATUS_OK);
    assert_int_equal(cacherig_recycle(rig, first, 0), PR_STATUS_OK);
    member.body.group = first;
    for (unsigned reader_first = 0; reader_first < 2; reader_first++) {
        assert_int_equal(cacherig_install(rig, &member, &second), PR_STATUS_OK);
        cacherig_install_make(&reader);
        cacherig_install_link(&reader, second);
        assert_int_equal(cacherig_install(rig, &reader, &third), PR_STATUS_OK);
        assert_int_equal(callrig_fw(rig)->cache.request[0].linked, 1);
        assert_int_equal(cacherig_invalidate(rig, reader_first ? third : second, NULL), PR_STATUS_OK);
        assert_int_equal(callrig_fw(rig)->cache.request[0].linked, 0);
        assert_int_equal(cacherig_trigger(rig, first, reader_first + 1), PR_STATUS_OK);
        cacherig_retire(rig, 0);
        cacherig_expect(rig, first, reader_first + 1, 0, PR_STATUS_OK);
        assert_int_equal(callrig_fw(rig)->cache.request[0].available, 1);
        assert_int_equal(cacherig_invalidate(rig, reader_first ? second : third, NULL), PR_STATUS_OK);
        assert_int_equal(callrig_fw(rig)->cache.request[0].linked, 0);
    }
}

/* Words that say nothing of a call are 0x22222222: also of one that a reset ends before it was pushed. */
static void a_call_that_was_not_pushed_has_no_error(void **state)
{
    const struct pr_body_reset range = {4, 4};
    struct pr_reset_notification reset;
    struct fwrig *rig = *state;

    fwrig_keep_aborted(rig, true);
    for (uint64_t cookie = 1; cookie <= 3; cookie++)
        assert_int_equal(call_of(rig, PLAIN, cookie), PR_STATUS_OK);
    fwrig_pass(rig, 4100000000ull);
    assert_true(fwrig_notification(rig, &reset));
    fwrig_keep_aborted(rig, false);
    assert_int_equal(fwrig_control(rig, PR_CMD_RESET, &range, sizeof(range)), PR_STATUS_OK);
    for (uint64_t cookie = 1; cookie <= 3; cookie++) {
        expect_event(rig, cookie, PR_STATUS_ABORTED);
        for (unsigned i = 0; i < PR_TM_ERRORS; i++)
            assert_int_equal(fwrig_failure()->error[i], 0x22222222);
    }
    callrig_expect_free(rig);
}

/* What ended while IO_T2H was off is reported when it is on again, without another reason to look. */
static void a_channel_that_is_on_again_has_what_waited(void **state)
{
    struct pr_body_channel_power power = {.channel = PR_CHANNEL_IO_T2H};
    struct fwrig *rig = *state;
    struct pr_program_event event;

    assert_int_equal(call_of(rig, PLAIN, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_CH_POWER_CONTROL, &power, sizeof(power)), PR_STATUS_OK);
    callrig_retire(rig, 4, 0);
    assert_false(fwrig_event(rig, &event, false));
    power.on = 1;
    assert_int_equal(fwrig_control(rig, PR_CMD_CH_POWER_CONTROL, &power, sizeof(power)), PR_STATUS_OK);
    expect_event(rig, 1, PR_STATUS_OK);
    callrig_expect_free(rig);
}

/* Rows that a cache request names stay while it is installed: nothing is written behind a shorter table. */
static void a_table_stays_while_a_request_names_its_rows(void **state)
{
    const struct pr_event signal = {.type = PR_EVENT_SHARED, .id = 40, .value = 7};
    const uint64_t place = FWRIG_IN + 0x20000;
    struct pr_body_shared_events table = {.address = place, .events = 64};
    struct fwrig *rig = *state;
    struct cacherig_install install;
    uint64_t handler;

    assert_int_equal(fwrig_control(rig, PR_CMD_INIT_SHARED_EVENT_INFO, &table, sizeof(table)), PR_STATUS_OK);
    cacherig_install_make(&install);
    install.header.id = PR_CMD_PROCEDURE_CALL_CACHE_REQUEST_WITH_SHARED_EVENTS;
    install.body.signal_events = 1;
    memcpy(install.body.link, &signal, sizeof(signal));
    assert_int_equal(cacherig_install(rig, &install, &handler), PR_STATUS_OK);
    assert_int_equal(cacherig_recycle(rig, handler, 0), PR_STATUS_OK);
    table.events = 1;
    assert_int_equal(fwrig_control(rig, PR_CMD_INIT_SHARED_EVENT_INFO, &table, sizeof(table)),
                     PR_STATUS_BUSY);
    assert_int_equal(cacherig_trigger(rig, handler, 1), PR_STATUS_OK);
    cacherig_retire(rig, 0);
    cacherig_expect(rig, handler, 1, 0, PR_STATUS_OK);
    assert_int_equal(pr_le64(fwrig_memory(rig, place + 16 * 40, 8)), 7);
    assert_int_equal(cacherig_invalidate(rig, handler, NULL), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_INIT_SHARED_EVENT_INFO, &table, sizeof(table)), PR_STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(a_call_ends_all_cache_requests),
        T(an_invalidation_ends_executions_that_wait),
        T(a_process_ends_with_calls_outside_of_the_machine),
        T(a_process_ends_with_executions_that_wait),
        T(quiesce_ends_calls_outside_of_the_machine),
        T(a_trigger_does_not_wait_for_the_end_of_secure_mode),
        T(a_call_outside_of_the_machine_is_cancelled),
        T(a_member_takes_its_links_with_it),
        T(a_call_that_was_not_pushed_has_no_error),
        T(a_channel_that_is_on_again_has_what_waited),
        T(a_table_stays_while_a_request_names_its_rows),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
