/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupt lines, watched by handlers and eventfds: who is called, when, on which thread; handlers that call
 * the machine, remove themselves and let time pass; and removal while another thread is in a handler.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bare.h"
#include "programs.h"

#define DART_ERROR 0x40
#define CALLS_MAX  32
#define QUEUE      4u
#define NOWHERE    0x50000000u /* nothing is mapped there */

struct call {
    enum ane_line line;
    int level;
    uint64_t time;
};

struct subject {
    struct ane_machine *machine;
    struct bare bare;
    struct bare_request request;
    struct call call[CALLS_MAX];
    unsigned calls;
    bool inside; /* a handler runs */
    pthread_t thread;
};

static void make(struct subject *s)
{
    struct ane_machine_config config = {.size = sizeof(config), .chip = ANE_CHIP_T8103};
    struct test_program program;

    memset(s, 0, sizeof(*s));
    assert_int_equal(ane_machine_create(&config, &s->machine), 0);
    bare_start(&s->bare, s->machine, 400);
    test_assemble(&program, "%s", test_text_relu);
    td_set_shape(program.bytes, &(struct td_shape){1, 1, 1, 8});
    s->request =
        bare_load(&s->bare, program.bytes, program.size, 0, program.first_words, program.count, QUEUE);
    s->request.bar[4] = s->request.bar[5] = bare_buffer(&s->bare, 64).iova;
}

static void acknowledge(struct subject *s)
{
    uint32_t info;

    assert_int_equal(bare_finish(&s->bare, &s->request, &info), 1);
}

static void record(void *context, enum ane_line line, int level)
{
    struct subject *s = context;

    assert_false(s->inside);
    assert_true(s->calls < CALLS_MAX);
    s->inside = true;
    s->thread = pthread_self();
    s->call[s->calls++] = (struct call){line, level, ane_machine_now(s->machine)};
    assert_int_equal(line == ANE_LINE_ENGINE ? ane_machine_interrupt(s->machine)
                                             : ane_machine_dart_interrupt(s->machine),
                     level);
    s->inside = false;
}

static void expect_call(const struct subject *s, unsigned index, enum ane_line line, int level)
{
    assert_true(index < s->calls);
    assert_int_equal(s->call[index].line, line);
    assert_int_equal(s->call[index].level, level);
}

static void a_handler_is_called_at_the_time_of_the_change(void **state)
{
    struct subject s, unwatched;
    uint64_t completed;

    (void)state;
    make(&unwatched);
    bare_push(&unwatched.bare, &unwatched.request);
    assert_int_equal(ane_machine_run(unwatched.machine, UINT64_MAX), ANE_RUN_IDLE);
    completed = ane_machine_now(unwatched.machine);
    ane_machine_destroy(unwatched.machine);

    make(&s);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, record, &s), 0);
    bare_push(&s.bare, &s.request);
    assert_int_equal(s.calls, 0);
    assert_int_equal(ane_machine_run(s.machine, UINT64_MAX), ANE_RUN_IDLE);
    assert_int_equal(s.calls, 1);
    expect_call(&s, 0, ANE_LINE_ENGINE, 1);
    assert_int_equal(s.call[0].time, completed);
    assert_true(pthread_equal(s.thread, pthread_self()));
    acknowledge(&s);
    assert_int_equal(s.calls, 2);
    expect_call(&s, 1, ANE_LINE_ENGINE, 0);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, NULL, NULL), 0);
    assert_true(bare_run(&s.bare, &s.request));
    assert_int_equal(s.calls, 2);
    ane_machine_destroy(s.machine);
}

static void a_line_that_is_high_is_reported_at_once(void **state)
{
    struct subject s;

    (void)state;
    make(&s);
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_run(s.machine, UINT64_MAX), ANE_RUN_IDLE);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, record, &s), 0);
    assert_int_equal(s.calls, 1);
    expect_call(&s, 0, ANE_LINE_ENGINE, 1);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_DART, record, &s), 0);
    assert_int_equal(s.calls, 1);
    ane_machine_destroy(s.machine); /* with handlers */
}

/* A driver's handler: it drains the events and lowers the line, which is reported after it has returned. */
static void acknowledging(void *context, enum ane_line line, int level)
{
    struct subject *s = context;
    unsigned before = s->calls + 1;

    record(context, line, level);
    if (level)
        acknowledge(s);
    assert_int_equal(s->calls, before);
    assert_int_equal(ane_machine_read32(NULL, 0), UINT32_MAX); /* leaves a sentence */
}

static void a_handler_lowers_its_own_line(void **state)
{
    struct subject s;

    (void)state;
    make(&s);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, acknowledging, &s), 0);
    for (unsigned i = 0; i < 3; i++) {
        bare_push(&s.bare, &s.request);
        assert_int_equal(ane_machine_run(s.machine, UINT64_MAX), ANE_RUN_IDLE);
        assert_string_equal(ane_machine_error(), ""); /* that of the call, not of the handler */
        assert_int_equal(s.calls, 2 * i + 2);
        expect_call(&s, 2 * i, ANE_LINE_ENGINE, 1);
        expect_call(&s, 2 * i + 1, ANE_LINE_ENGINE, 0);
    }
    ane_machine_destroy(s.machine);
}

/* It lets time pass itself, and pushes the next request: the outer run ends when all is done. */
static void pushing(void *context, enum ane_line line, int level)
{
    struct subject *s = context;

    record(context, line, level);
    if (!level)
        return;
    acknowledge(s);
    if (s->calls < 7)
        bare_push(&s->bare, &s->request);
    assert_int_equal(ane_machine_run(s->machine, 10), s->calls < 7 ? ANE_RUN_LIMIT : ANE_RUN_IDLE);
}

static void a_handler_may_run_the_machine(void **state)
{
    struct subject s;

    (void)state;
    make(&s);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, pushing, &s), 0);
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_run(s.machine, UINT64_MAX), ANE_RUN_IDLE);
    assert_int_equal(s.calls, 8);
    for (unsigned i = 0; i < 8; i++)
        expect_call(&s, i, ANE_LINE_ENGINE, i % 2 == 0);
    assert_int_equal(ane_machine_counter(s.machine, "engine.requests"), 4);
    ane_machine_destroy(s.machine);
}

/* The limit of the outer run is its own, also when the handler has run past it. */
static void overrunning(void *context, enum ane_line line, int level)
{
    struct subject *s = context;

    record(context, line, level);
    if (!level)
        return;
    acknowledge(s);
    s->request.bar[5] = NOWHERE; /* stuck: time passes */
    bare_push(&s->bare, &s->request);
    assert_int_equal(ane_machine_run(s->machine, 5000000), ANE_RUN_STUCK);
}

static void a_handler_may_run_past_the_limit(void **state)
{
    struct subject s;

    (void)state;
    make(&s);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, overrunning, &s), 0);
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_STUCK);
    assert_int_equal(ane_machine_now(s.machine), s.call[0].time + 5000000);
    assert_int_equal(s.calls, 2);
    ane_machine_destroy(s.machine);
}

static void removing(void *context, enum ane_line line, int level)
{
    struct subject *s = context;

    record(context, line, level);
    ane_machine_destroy(s->machine); /* does nothing */
    assert_non_null(strstr(ane_machine_error(), "handler"));
    assert_int_equal(ane_machine_line_handler(s->machine, line, NULL, NULL), 0);
    acknowledge(s);
}

static void a_handler_removes_itself(void **state)
{
    struct subject s;

    (void)state;
    make(&s);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, removing, &s), 0);
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_run(s.machine, UINT64_MAX), ANE_RUN_IDLE);
    assert_true(bare_run(&s.bare, &s.request));
    assert_int_equal(s.calls, 1);
    ane_machine_destroy(s.machine);
}

/* As Linux's DART driver does: it writes the captured word back, without mapping anything. */
static void clearing(void *context, enum ane_line line, int level)
{
    struct subject *s = context;

    record(context, line, level);
    if (level)
        ane_machine_write32(s->machine, s->bare.map.dart[1] + DART_ERROR, bare_dart(&s->bare, 1, DART_ERROR));
}

static void the_darts_have_a_line_of_their_own(void **state)
{
    struct subject s;

    (void)state;
    make(&s);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_DART, clearing, &s), 0);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, record, &s), 0);
    s.request.bar[5] = NOWHERE;
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_STUCK);
    assert_int_equal(s.calls, 2); /* and not again and again */
    expect_call(&s, 0, ANE_LINE_DART, 1);
    expect_call(&s, 1, ANE_LINE_DART, 0);
    bare_map(&s.bare, NOWHERE, bare_physical(&s.bare, s.request.bar[4]) & ~(uint64_t)(BARE_PAGE - 1));
    bare_invalidate(&s.bare);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_IDLE);
    expect_call(&s, 2, ANE_LINE_ENGINE, 1);
    ane_machine_destroy(s.machine);
}

static void record_edge(void *context, enum ane_line line, int level)
{
    struct subject *s = context;

    s->call[s->calls++ % CALLS_MAX] = (struct call){line, level, 0};
}

/* One write lowers the line and, because another fault waits, raises it: both are reported. */
static void a_fall_and_a_rise_in_one_call_are_both_reported(void **state)
{
    struct subject s;

    (void)state;
    make(&s);
    s.request.first += 0x40000000; /* a fetch faults at once */
    bare_push(&s.bare, &s.request);
    s.request.first += 0x100000;
    s.request.queue = 6;
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_DART, record_edge, &s), 0);
    ane_machine_write32(s.machine, s.bare.map.dart[0] + DART_ERROR, bare_dart(&s.bare, 0, DART_ERROR));
    assert_int_equal(ane_machine_dart_interrupt(s.machine), 1);
    assert_int_equal(s.calls, 3);
    for (unsigned i = 0; i < 3; i++)
        expect_call(&s, i, ANE_LINE_DART, i % 2 == 0);
    ane_machine_destroy(s.machine);
}

static uint64_t read_count(int file)
{
    uint64_t count = 0;

    return read(file, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

static void an_eventfd_counts_rises(void **state)
{
    struct subject s;
    int file = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    (void)state;
    make(&s);
    assert_int_equal(ane_machine_line_eventfd(s.machine, ANE_LINE_ENGINE, file), 0);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, record, &s), 0);
    assert_int_equal(read_count(file), 0);
    for (unsigned i = 0; i < 3; i++)
        assert_true(bare_run(&s.bare, &s.request));
    assert_int_equal(read_count(file), 3);
    assert_int_equal(s.calls, 6);
    /* High already; and a second one replaces the first. */
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_run(s.machine, UINT64_MAX), ANE_RUN_IDLE);
    assert_int_equal(read_count(file), 1);
    assert_int_equal(ane_machine_line_eventfd(s.machine, ANE_LINE_ENGINE, file), 0);
    assert_int_equal(read_count(file), 1);
    /* A count that is full does not stop the machine. */
    assert_int_equal(write(file, &(uint64_t){UINT64_MAX - 1}, 8), 8);
    acknowledge(&s);
    assert_true(bare_run(&s.bare, &s.request));
    assert_true(read_count(file) == UINT64_MAX - 1);
    assert_int_equal(ane_machine_line_eventfd(s.machine, ANE_LINE_ENGINE, -1), 0);
    assert_true(bare_run(&s.bare, &s.request));
    assert_int_equal(read_count(file), 0);
    close(file);
    ane_machine_destroy(s.machine);
}

/* With this limit no descriptor is left. */
static rlim_t first_free_descriptor(void)
{
    int file = dup(STDIN_FILENO);

    assert_true(file >= 0);
    close(file);
    return (rlim_t)file;
}

static void what_is_not_possible_is_refused(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct ane_machine *firmware;
    struct rlimit old, none;
    struct subject s;
    int pipes[2], file = eventfd(0, EFD_CLOEXEC);

    (void)state;
    make(&s);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINES, record, &s), -EINVAL);
    assert_int_equal(ane_machine_line_handler(s.machine, (enum ane_line) - 1, record, &s), -EINVAL);
    assert_int_equal(ane_machine_line_eventfd(s.machine, ANE_LINES, file), -EINVAL);
    assert_int_equal(ane_machine_line_eventfd(s.machine, ANE_LINE_DART, pipes[0]), -EINVAL);
    assert_int_equal(ane_machine_line_eventfd(s.machine, ANE_LINE_DART, -2), -EINVAL);
    assert_int_equal(ane_machine_line_eventfd(s.machine, ANE_LINE_DART, 1 << 20), -EINVAL);
    assert_int_equal(ane_machine_line_handler(NULL, ANE_LINE_ENGINE, record, &s), -EPERM);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = old;
    none.rlim_cur = first_free_descriptor();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(ane_machine_line_eventfd(s.machine, ANE_LINE_DART, file), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(ane_machine_create(&config, &firmware), 0);
    assert_int_equal(ane_machine_line_handler(firmware, ANE_LINE_ENGINE, record, &s), -ENOTSUP);
    assert_int_equal(ane_machine_line_eventfd(firmware, ANE_LINE_ENGINE, file), -ENOTSUP);
    ane_machine_destroy(firmware);
    assert_int_equal(s.calls, 0);
    close(pipes[0]);
    close(pipes[1]);
    close(file);
    ane_machine_destroy(s.machine);
}

/* A handler that stays until it is let go, on a thread of its own. */
struct slow {
    struct subject *subject;
    int entered, go; /* eventfds */
    atomic_bool returned;
    uint64_t time_in, time_out;
};

static void staying(void *context, enum ane_line line, int level)
{
    struct slow *slow = context;
    struct subject *s = slow->subject;

    (void)line;
    if (!level)
        return;
    slow->time_in = ane_machine_now(s->machine);
    assert_int_equal(write(slow->entered, &(uint64_t){1}, 8), 8);
    assert_int_equal(read_count(slow->go), 1);
    slow->time_out = ane_machine_now(s->machine);
    atomic_store(&slow->returned, true);
}

static void *run_to_idle(void *context)
{
    struct subject *s = context;

    ane_machine_run(s->machine, UINT64_MAX);
    return NULL;
}

static void *let_go_later(void *context)
{
    struct slow *slow = context;

    /* The other thread is about to wait for the handler; whether it waits already does not matter. */
    assert_int_equal(write(slow->go, &(uint64_t){1}, 8), 8);
    return NULL;
}

static void removal_waits_for_a_handler_of_another_thread(void **state)
{
    pthread_t runner, other, helper;
    struct subject s;
    struct slow slow = {.subject = &s, .entered = eventfd(0, EFD_CLOEXEC), .go = eventfd(0, EFD_CLOEXEC)};

    (void)state;
    make(&s);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, staying, &slow), 0);
    bare_push(&s.bare, &s.request);
    assert_int_equal(pthread_create(&runner, NULL, run_to_idle, &s), 0);
    assert_int_equal(read_count(slow.entered), 1);
    /* Another request and another run: no time passes while the handler runs. */
    s.request.queue = 6;
    bare_push(&s.bare, &s.request);
    assert_int_equal(pthread_create(&other, NULL, run_to_idle, &s), 0);
    assert_int_equal(ane_machine_now(s.machine), slow.time_in);
    assert_int_equal(pthread_create(&helper, NULL, let_go_later, &slow), 0);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, NULL, NULL), 0);
    assert_true(atomic_load(&slow.returned));
    assert_int_equal(slow.time_in, slow.time_out);
    pthread_join(helper, NULL);
    pthread_join(runner, NULL);
    pthread_join(other, NULL);
    assert_int_equal(ane_machine_counter(s.machine, "engine.requests"), 2);
    close(slow.entered);
    close(slow.go);
    ane_machine_destroy(s.machine);
}

/* A change that comes from another thread while a handler runs is left to the handler's thread. */
static void a_change_meanwhile_is_reported_afterwards(void **state)
{
    pthread_t runner;
    struct subject s;
    struct slow slow = {.subject = &s, .entered = eventfd(0, EFD_CLOEXEC), .go = eventfd(0, EFD_CLOEXEC)};

    (void)state;
    make(&s);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, staying, &slow), 0);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_DART, record, &s), 0);
    bare_push(&s.bare, &s.request);
    assert_int_equal(pthread_create(&runner, NULL, run_to_idle, &s), 0);
    assert_int_equal(read_count(slow.entered), 1);
    s.request.queue = 6;
    s.request.first = NOWHERE; /* the fetch faults at once, inside the write */
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_dart_interrupt(s.machine), 1);
    assert_int_equal(s.calls, 0);
    assert_int_equal(write(slow.go, &(uint64_t){1}, 8), 8);
    pthread_join(runner, NULL);
    assert_int_equal(s.calls, 1);
    expect_call(&s, 0, ANE_LINE_DART, 1);
    assert_true(pthread_equal(s.thread, runner));
    close(slow.entered);
    close(slow.go);
    ane_machine_destroy(s.machine);
}

/* A handler of one machine drives another, whose handler drives the first. */
struct pair {
    struct subject a, b;
    unsigned inner;
};

static void inner_handler(void *context, enum ane_line line, int level)
{
    struct pair *pair = context;

    (void)line;
    if (!level)
        return;
    pair->inner++;
    pair->a.request.queue = 6;
    bare_push(&pair->a.bare, &pair->a.request);
    assert_int_equal(ane_machine_run(pair->a.machine, UINT64_MAX), ANE_RUN_IDLE);
}

static void outer_handler(void *context, enum ane_line line, int level)
{
    struct pair *pair = context;

    (void)line;
    if (!level || pair->inner)
        return;
    bare_push(&pair->b.bare, &pair->b.request);
    assert_int_equal(ane_machine_run(pair->b.machine, UINT64_MAX), ANE_RUN_IDLE);
}

static void handlers_of_two_machines_nest(void **state)
{
    static struct pair pair;

    (void)state;
    make(&pair.a);
    make(&pair.b);
    assert_int_equal(ane_machine_line_handler(pair.a.machine, ANE_LINE_ENGINE, outer_handler, &pair), 0);
    assert_int_equal(ane_machine_line_handler(pair.b.machine, ANE_LINE_ENGINE, inner_handler, &pair), 0);
    bare_push(&pair.a.bare, &pair.a.request);
    assert_int_equal(ane_machine_run(pair.a.machine, UINT64_MAX), ANE_RUN_IDLE);
    assert_int_equal(pair.inner, 1);
    assert_int_equal(ane_machine_counter(pair.a.machine, "engine.requests"), 2);
    ane_machine_destroy(pair.a.machine);
    ane_machine_destroy(pair.b.machine);
}

/* An injected call that runs the machine reports as any other thread does, and time waits for it. */
static void run_injected(void *context)
{
    struct subject *s = context;

    bare_push(&s->bare, &s->request);
    assert_int_equal(ane_machine_run(s->machine, 1000000), ANE_RUN_IDLE);
}

static void injected_calls_report_too(void **state)
{
    struct subject s;

    (void)state;
    make(&s);
    assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_ENGINE, pushing, &s), 0);
    assert_int_equal(ane_machine_call_at(s.machine, 1000, run_injected, &s), 0);
    assert_int_equal(ane_machine_run(s.machine, UINT64_MAX), ANE_RUN_IDLE);
    assert_int_equal(s.calls, 8);
    assert_int_equal(ane_machine_counter(s.machine, "engine.requests"), 4);
    ane_machine_destroy(s.machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handler_is_called_at_the_time_of_the_change),
        cmocka_unit_test(a_line_that_is_high_is_reported_at_once),
        cmocka_unit_test(a_handler_lowers_its_own_line),
        cmocka_unit_test(a_handler_may_run_the_machine),
        cmocka_unit_test(a_handler_may_run_past_the_limit),
        cmocka_unit_test(a_handler_removes_itself),
        cmocka_unit_test(the_darts_have_a_line_of_their_own),
        cmocka_unit_test(a_fall_and_a_rise_in_one_call_are_both_reported),
        cmocka_unit_test(an_eventfd_counts_rises),
        cmocka_unit_test(what_is_not_possible_is_refused),
        cmocka_unit_test(removal_waits_for_a_handler_of_another_thread),
        cmocka_unit_test(a_change_meanwhile_is_reported_afterwards),
        cmocka_unit_test(handlers_of_two_machines_nest),
        cmocka_unit_test(injected_calls_report_too),
    };

    return cmocka_run_group_tests_name("line", tests, NULL, NULL);
}
