/* SPDX-License-Identifier: Apache-2.0 */
/* The viewer's form from records that were made by hand: spans that are cut, calls that overlap, arrows. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <anemone/abi.h>

#include "trace/viewer.h"

static struct trace_viewer *viewer;
static char *text;
static size_t bytes;

static int begin(void **state)
{
    (void)state;
    viewer = calloc(1, sizeof(*viewer));
    assert_non_null(viewer);
    trace_viewer_begin(viewer, open_memstream(&text, &bytes));
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(viewer);
    free(text);
    return 0;
}

static const char *finish(void)
{
    trace_viewer_end(viewer);
    fclose(viewer->file);
    return text;
}

static unsigned count(const char *what)
{
    unsigned found = 0;

    for (const char *at = text; (at = strstr(at, what)); at++)
        found++;
    return found;
}

#define EVENT(name, when)    struct pr_trace_record r = {.ns = (when), .event = PR_TRACE_##name}
#define SET(name, field, to) pr_trace_at(&r, name, field).number = (to)

static void call(uint64_t ns, uint64_t client)
{
    EVENT(CLIENT_CALL, ns);

    SET(CLIENT_CALL, client, client);
    SET(CLIENT_CALL, selector, ANE_CONTROL_ProgramSendRequest);
    SET(CLIENT_CALL, in, sizeof(struct ane_request));
    SET(CLIENT_CALL, out, sizeof(struct ane_request_reply));
    trace_viewer_record(viewer, &r);
}

static void give_back(uint64_t ns, uint64_t client)
{
    EVENT(CLIENT_RETURN, ns);

    SET(CLIENT_RETURN, client, client);
    SET(CLIENT_RETURN, selector, ANE_CONTROL_ProgramSendRequest);
    trace_viewer_record(viewer, &r);
}

static void push(uint64_t ns, uint64_t client, uint64_t queue)
{
    {
        EVENT(FW_SCHEDULE, ns);

        SET(FW_SCHEDULE, user, client);
        SET(FW_SCHEDULE, hwq, queue);
        trace_viewer_record(viewer, &r);
    }
    {
        EVENT(ENG_PUSH, ns);

        SET(ENG_PUSH, queue, queue);
        trace_viewer_record(viewer, &r);
    }
}

static void start(uint64_t ns, uint64_t queue, uint64_t cost)
{
    EVENT(ENG_START, ns);

    SET(ENG_START, queue, queue);
    SET(ENG_START, cost, cost);
    pr_trace_at(&r, ENG_START, unit).text = "ne";
    pr_trace_at(&r, ENG_START, unit).length = 2;
    trace_viewer_record(viewer, &r);
}

static void retire(uint64_t ns, uint64_t queue)
{
    EVENT(ENG_RETIRE, ns);

    SET(ENG_RETIRE, queue, queue);
    trace_viewer_record(viewer, &r);
}

/* The descriptor would last until 1500. What is pushed to the queue then begins anew. */
static void an_abort_ends_a_descriptor(void **state)
{
    EVENT(ENG_ABORT, 1200);

    (void)state;
    push(900, 1, 5);
    start(1000, 5, 500);
    SET(ENG_ABORT, queue, 5);
    trace_viewer_record(viewer, &r);
    push(1250, 1, 5);
    start(1300, 5, 100);
    retire(1400, 5);
    finish();
    assert_int_equal(count("\"ph\": \"E\""), 2);
    assert_int_equal(count("\"ph\": \"E\", \"pid\": 4, \"tid\": 111, \"ts\": 1.200}"), 1);
    assert_int_equal(count("\"ph\": \"E\", \"pid\": 4, \"tid\": 111, \"ts\": 1.400}"), 1);
    assert_int_equal(count("\"ph\": \"X\""), 1);
    assert_int_equal(count("\"ts\": 1.250, \"dur\": 0.150"), 1);
}

/* A queue that waits without a descriptor of another one between is not interrupted. */
static void a_pause_is_no_interruption(void **state)
{
    (void)state;
    push(0, 1, 5);
    start(100, 5, 100);
    start(300, 5, 100); /* nothing from 200 to 300 */
    push(350, 2, 1);
    start(400, 1, 100);
    start(500, 5, 100);
    retire(600, 5);
    finish();
    assert_int_equal(count("interrupted by queue"), 1);
    assert_int_equal(count("interrupted by queue 1"), 1);
    assert_int_equal(count("\"ts\": 0.400, \"dur\": 0.100"), 1);
    assert_int_equal(count(", interrupted\""), 1);
}

/* The second push of a queue begins to count when the first has retired. */
static void jobs_follow_each_other(void **state)
{
    (void)state;
    push(100, 1, 5);
    push(150, 1, 5);
    start(200, 5, 100);
    retire(300, 5);
    start(300, 5, 100);
    retire(400, 5);
    finish();
    assert_int_equal(count("\"ts\": 0.100, \"dur\": 0.200"), 1);
    assert_int_equal(count("\"ts\": 0.300, \"dur\": 0.100"), 1);
}

static void arrows_need_one_request(void **state)
{
    (void)state;
    call(100, 1);
    call(110, 2);
    call(120, 2);
    push(200, 2, 5); /* of which of the two */
    start(200, 5, 100);
    retire(300, 5);
    push(300, 1, 5);
    start(300, 5, 100);
    retire(400, 5);
    give_back(410, 2);
    give_back(420, 1);
    give_back(430, 2);
    finish();
    assert_int_equal(count("\"ph\": \"t\""), 1);
    assert_int_equal(count("\"ph\": \"t\", \"pid\": 4, \"tid\": 111, \"ts\": 0.300"), 1);
    assert_int_equal(count("\"ph\": \"f\""), 1);
    assert_int_equal(count("\"name\": \"client 2, call 2\""), 1);
    assert_int_equal(count("\"name\": \"client 1, call 2\""), 0);
    assert_int_equal(count("\"name\": \"ProgramSendRequest\""), 6);
}

/* More calls than lanes, and returns without a call, are moments. */
static void calls_without_a_lane(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; i++)
        call(i, UINT64_MAX);
    for (unsigned i = 0; i < 150; i++)
        give_back(100 + i, UINT64_MAX);
    finish();
    assert_int_equal(count("\"ph\": \"B\""), TRACE_LANES);
    assert_int_equal(count("\"ph\": \"E\""), TRACE_LANES);
    assert_int_equal(count("\"ph\": \"i\""), 250 - 2 * TRACE_LANES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_abort_ends_a_descriptor, begin, end),
        cmocka_unit_test_setup_teardown(a_pause_is_no_interruption, begin, end),
        cmocka_unit_test_setup_teardown(jobs_follow_each_other, begin, end),
        cmocka_unit_test_setup_teardown(arrows_need_one_request, begin, end),
        cmocka_unit_test_setup_teardown(calls_without_a_lane, begin, end),
    };

    return cmocka_run_group_tests_name("viewer", tests, NULL, NULL);
}
