/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real-time kernel's other parts: heap, mutex, mailbox, signal,
 * state machine, log, format, registers and window.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "rtkernel/format.h"
#include "rtkernel/fsm.h"
#include "rtkernel/heap.h"
#include "rtkernel/log.h"
#include "rtkernel/mailbox.h"
#include "rtkernel/memory.h"
#include "rtkernel/mutex.h"
#include "rtkernel/signal.h"
#include "rtkernel/task.h"
#include "rtport.h"

#define CARVE_OUT (1u << 20)
#define FRAMEWORK (64u << 10)
#define STACK     4096u

struct rig {
    struct rt_port *port;
    struct rt_kernel *kernel;
    struct rt_mutex *mutex;
    struct rt_mailbox *mailbox;
    struct rt_signal *signal;
    struct rt_fsm fsm;
    void (*body[3])(void *arg); /* tasks of priority 2, 3, 4 */
    char trace[256];
    int result[16];
    uint64_t number[8];
};

static void note(struct rig *rig, const char *text)
{
    const size_t length = strlen(rig->trace);

    snprintf(rig->trace + length, sizeof(rig->trace) - length, "%s", text);
}

static void setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = arg;
    struct rt_task *task;

    rig->kernel = kernel;
    rt_mutex_create(kernel, &rig->mutex);
    rt_mailbox_create(kernel, &rig->mailbox);
    rt_signal_create(kernel, &rig->signal);
    for (unsigned i = 0; i < 3; i++) {
        if (rig->body[i])
            rt_task_create(kernel, &task, (const char *const[]){"two", "three", "four"}[i], i + 2, STACK,
                           rig->body[i], rig);
    }
}

static void run(struct rig *rig, const char *expected)
{
    rig->port = rtport_create(CARVE_OUT, FRAMEWORK);
    assert_int_equal(rtport_start(rig->port, setup, rig, RT_FOREVER), RTPORT_IDLE);
    assert_string_equal(rig->trace, expected);
}

/*
 * The heap against a plain model: what is allocated is whole, separate,
 * aligned and cleared; what is freed comes back.
 */
#define BLOCKS 60

static void the_heap_keeps_blocks_apart(void **state)
{
    struct rig rig = {.port = NULL};
    struct rt_heap_info before, after;
    struct test_rng rng;
    uint8_t *block[BLOCKS] = {NULL};
    size_t bytes[BLOCKS];
    unsigned refused = 0;

    (void)state;
    run(&rig, "");
    test_rng_init(&rng, 1);
    before = rt_heap_info(rig.kernel, RT_ARENA_FRAMEWORK);
    assert_int_equal(before.total, FRAMEWORK);
    assert_int_equal(before.free, FRAMEWORK);
    assert_int_equal(before.largest, FRAMEWORK - RT_HEAP_OVERHEAD);
    assert_string_equal(before.name, "framework");
    for (unsigned round = 0; round < 20000; round++) {
        const unsigned i = test_rng_u32(&rng) % BLOCKS;

        if (block[i]) {
            for (size_t at = 0; at < bytes[i]; at++)
                assert_int_equal(block[i][at], (uint8_t)(i + 1));
            rt_heap_free(rig.kernel, block[i]);
            block[i] = NULL;
            continue;
        }
        bytes[i] = (size_t)test_rng_range(&rng, 0, 5000);
        block[i] = rt_heap_alloc(rig.kernel, RT_ARENA_FRAMEWORK, bytes[i]);
        if (!block[i]) {
            assert_true(rt_heap_info(rig.kernel, RT_ARENA_FRAMEWORK).largest < bytes[i]);
            refused++;
            continue;
        }
        assert_int_equal((uintptr_t)block[i] % 16, 0);
        for (size_t at = 0; at < bytes[i]; at++)
            assert_int_equal(block[i][at], 0);
        memset(block[i], (int)(i + 1), bytes[i]);
    }
    assert_true(refused > 0);
    for (unsigned i = 0; i < BLOCKS; i++)
        rt_heap_free(rig.kernel, block[i]);
    after = rt_heap_info(rig.kernel, RT_ARENA_FRAMEWORK);
    assert_int_equal(after.free, before.free);
    assert_int_equal(after.largest, before.largest);
    assert_int_equal(after.blocks, 0);
    rtport_destroy(rig.port);
}

static void an_arena_can_be_used_up(void **state)
{
    struct rig rig = {.port = NULL};
    void *all;

    (void)state;
    run(&rig, "");
    assert_null(rt_heap_alloc(rig.kernel, RT_ARENA_FRAMEWORK, FRAMEWORK - RT_HEAP_OVERHEAD + 1));
    assert_null(rt_heap_alloc(rig.kernel, RT_ARENA_FRAMEWORK, SIZE_MAX));
    all = rt_heap_alloc(rig.kernel, RT_ARENA_FRAMEWORK, FRAMEWORK - RT_HEAP_OVERHEAD);
    assert_non_null(all);
    assert_null(rt_heap_alloc(rig.kernel, RT_ARENA_FRAMEWORK, 0));
    assert_int_equal(rt_heap_info(rig.kernel, RT_ARENA_FRAMEWORK).free, 0);
    assert_non_null(rt_heap_alloc(rig.kernel, RT_ARENA_SYSTEM, 100)); /* the other one does not mind */
    rt_heap_free(rig.kernel, all);
    assert_int_equal(rt_heap_info(rig.kernel, RT_ARENA_FRAMEWORK).free, FRAMEWORK);
    rtport_destroy(rig.port);
}

static void the_extent_ends_above_the_highest_block(void **state)
{
    struct rig rig = {.port = NULL};
    uint8_t *base, *block[3];
    size_t before;

    (void)state;
    run(&rig, "");
    base = (uint8_t *)rig.kernel;
    before = rt_kernel_extent(rig.kernel);
    assert_true(before > rt_kernel_bytes() + FRAMEWORK && before < CARVE_OUT);
    for (unsigned i = 0; i < 3; i++) {
        block[i] = rt_heap_alloc(rig.kernel, RT_ARENA_SYSTEM, 1000);
        assert_int_equal(rt_kernel_extent(rig.kernel), (size_t)(block[i] - base) + 1008);
    }
    rt_heap_free(rig.kernel, block[1]);
    assert_int_equal(rt_kernel_extent(rig.kernel), (size_t)(block[2] - base) + 1008);
    rt_heap_free(rig.kernel, block[2]);
    assert_int_equal(rt_kernel_extent(rig.kernel), (size_t)(block[0] - base) + 1008);
    assert_non_null(rt_heap_alloc(rig.kernel, RT_ARENA_FRAMEWORK, 1000));
    assert_int_equal(rt_kernel_extent(rig.kernel), (size_t)(block[0] - base) + 1008);
    rt_heap_free(rig.kernel, block[0]);
    assert_int_equal(rt_kernel_extent(rig.kernel), before);
    rtport_destroy(rig.port);
}

/* Mutex: the reset mutex's life. */
static void lock_second(void *arg)
{
    struct rig *rig = arg;

    rt_task_sleep(rig->kernel, 10);
    note(rig, "2?");
    rig->result[0] = rt_mutex_lock(rig->mutex, RT_NO_WAIT);
    rig->result[1] = rt_mutex_unlock(rig->mutex);
    rig->result[2] = rt_mutex_lock(rig->mutex, 5);
    rig->number[0] = rtport_now(rig->port);
    rig->result[3] = rt_mutex_lock(rig->mutex, RT_FOREVER);
    note(rig, "2!");
    rig->result[4] = rt_mutex_unlock(rig->mutex);
    note(rig, "2.");
}

static void lock_third(void *arg)
{
    struct rig *rig = arg;

    rt_task_sleep(rig->kernel, 5); /* waits first, but is less urgent */
    note(rig, "3?");
    rt_mutex_lock(rig->mutex, RT_FOREVER);
    note(rig, "3!");
    rt_mutex_unlock(rig->mutex);
    note(rig, "3.");
}

static void lock_first(void *arg)
{
    struct rig *rig = arg;

    rig->result[5] = rt_mutex_lock(rig->mutex, RT_FOREVER);
    rig->result[6] = rt_mutex_lock(rig->mutex, RT_FOREVER);
    rig->result[7] = rt_mutex_owner(rig->mutex) == rt_task_current(rig->kernel);
    rig->result[8] = rt_mutex_delete(rig->mutex);
    rt_task_sleep(rig->kernel, 50);
    note(rig, "4<");
    rt_mutex_unlock(rig->mutex);
    note(rig, "4>");
    rig->result[9] = rt_mutex_delete(rig->mutex);
}

static void a_mutex_has_one_owner(void **state)
{
    static const int expected[10] = {RT_EAGAIN,  RT_EPERM, RT_ETIMEDOUT, RT_OK, RT_OK, RT_OK,
                                     RT_EDEADLK, 1,        RT_EBUSY,     RT_OK};
    struct rig rig = {.body = {lock_second, lock_third, lock_first}};

    (void)state;
    run(&rig, "3?2?4<2!2.3!3.4>");
    assert_memory_equal(rig.result, expected, sizeof(expected));
    assert_int_equal(rig.number[0], 15);
    rtport_destroy(rig.port);
}

/* Mailbox and signal. */
static void fetch_words(void *arg)
{
    struct rig *rig = arg;

    rig->result[0] = rt_mailbox_fetch(rig->mailbox, &rig->number[0], RT_NO_WAIT);
    rig->result[1] = rt_mailbox_fetch(rig->mailbox, &rig->number[0], 10);
    rig->result[2] = rt_mailbox_fetch(rig->mailbox, &rig->number[0], RT_FOREVER);
    note(rig, "f");
    rt_task_sleep(rig->kernel, 100);
    rig->result[3] = rt_mailbox_fetch(rig->mailbox, &rig->number[1], RT_FOREVER);
    rig->result[4] = rt_mailbox_fetch(rig->mailbox, &rig->number[2], RT_NO_WAIT);
    rig->result[8] = rt_mailbox_delete(rig->mailbox);
}

static void post_words(void *arg)
{
    struct rig *rig = arg;

    rt_task_sleep(rig->kernel, 20);
    rig->result[9] = rt_mailbox_delete(rig->mailbox);
    note(rig, "<");
    rig->result[5] = rt_mailbox_post(rig->mailbox, 0x1111222233334444);
    note(rig, ">");
    rig->result[6] = rt_mailbox_post(rig->mailbox, 2);
    rig->result[7] = rt_mailbox_post(rig->mailbox, 3);
}

static void a_mailbox_holds_one_word(void **state)
{
    static const int expected[10] = {RT_EAGAIN, RT_ETIMEDOUT, RT_OK,     RT_OK, RT_EAGAIN,
                                     RT_OK,     RT_OK,        RT_EAGAIN, RT_OK, RT_EBUSY};
    struct rig rig = {.body = {fetch_words, post_words}};

    (void)state;
    run(&rig, "<f>");
    assert_memory_equal(rig.result, expected, sizeof(expected));
    assert_int_equal(rig.number[0], 0x1111222233334444);
    assert_int_equal(rig.number[1], 2);
    rtport_destroy(rig.port);
}

static void wait_flags_two(void *arg)
{
    struct rig *rig = arg;
    uint32_t taken = 0;

    rig->result[0] = rt_signal_wait(rig->signal, 0, &taken, RT_FOREVER);
    rig->result[1] = rt_signal_wait(rig->signal, 0xff, &taken, RT_NO_WAIT);
    rig->result[2] = rt_signal_wait(rig->signal, 0xff, &taken, 10);
    rt_signal_wait(rig->signal, 0x0f, &taken, RT_FOREVER);
    note(rig, "2");
    rig->number[0] = taken;
}

static void wait_flags_three(void *arg)
{
    struct rig *rig = arg;
    uint32_t taken = 0;

    rt_signal_wait(rig->signal, 0x3c, &taken, RT_FOREVER);
    note(rig, "3");
    rig->number[1] = taken;
}

static void raise_flags(void *arg)
{
    struct rig *rig = arg;
    uint32_t taken = 0;

    rt_task_sleep(rig->kernel, 20);
    note(rig, "<");
    rt_signal_raise(rig->signal, 0x100);
    note(rig, "|");
    rt_signal_raise(rig->signal, 0x9c); /* 0x0c is wanted twice and goes to the more urgent one */
    note(rig, ">");
    rig->result[3] = rt_signal_wait(rig->signal, 0xffff, &taken, RT_NO_WAIT);
    rig->number[2] = taken;
}

static void a_signal_gives_each_flag_to_one_task(void **state)
{
    static const int expected[4] = {RT_EINVAL, RT_EAGAIN, RT_ETIMEDOUT, RT_OK};
    struct rig rig = {.body = {wait_flags_two, wait_flags_three, raise_flags}};

    (void)state;
    run(&rig, "<|23>");
    assert_memory_equal(rig.result, expected, sizeof(expected));
    assert_int_equal(rig.number[0], 0x0c);
    assert_int_equal(rig.number[1], 0x10);
    assert_int_equal(rig.number[2], 0x180);
    rtport_destroy(rig.port);
}

/* A state machine like the execution loop's: RUN and EXEC, driven by dispatch and drain. */
enum { RUN, EXEC, STATES };
enum { DISPATCH, DRAIN, NUDGE, EVENTS };

static void on_dispatch(void *context, unsigned event, uint64_t argument)
{
    struct rig *rig = context;

    rig->number[0] += argument;
    note(rig, event == DISPATCH && rt_fsm_state(&rig->fsm) == EXEC ? "d" : "[wrong]");
    rt_fsm_post(&rig->fsm, NUDGE, 7); /* runs after this action, not inside it */
    rt_fsm_post(&rig->fsm, DRAIN, 0);
    note(rig, ".");
}

static void on_drain(void *context, unsigned event, uint64_t argument)
{
    (void)event;
    (void)argument;
    note(context, "r");
}

static void on_nudge(void *context, unsigned event, uint64_t argument)
{
    (void)event;
    note(context, argument == 7 ? "n" : "[wrong]");
}

static void a_state_machine_runs_its_table(void **state)
{
    static const char *const state_names[STATES] = {"RUN", "EXEC"};
    static const char *const event_names[EVENTS] = {"dispatch", "drain", "nudge"};
    static const struct rt_fsm_row rows[] = {
        {RUN, DISPATCH, EXEC, on_dispatch},
        {EXEC, DRAIN, RUN, on_drain},
        {EXEC, NUDGE, EXEC, on_nudge},
    };
    static const struct rt_fsm_table table = {
        .name = "loop",
        .state_names = state_names,
        .event_names = event_names,
        .states = STATES,
        .events = EVENTS,
        .first = RUN,
        .strict = RT_FSM_LENIENT,
        .rows = rows,
        .row_count = 3,
    };
    struct rig rig = {.port = NULL};

    (void)state;
    run(&rig, "");
    rt_fsm_init(&rig.fsm, rig.kernel, &table, &rig);
    assert_string_equal(rt_fsm_state_name(&rig.fsm), "RUN");
    rt_fsm_post(&rig.fsm, DRAIN, 0); /* no row */
    assert_int_equal(rig.fsm.ignored, 1);
    rt_fsm_post(&rig.fsm, DISPATCH, 40);
    rt_fsm_post(&rig.fsm, DISPATCH, 2);
    assert_string_equal(rig.trace, "d.nrd.nr");
    assert_int_equal(rig.number[0], 42);
    assert_int_equal(rt_fsm_state(&rig.fsm), RUN);
    rtport_destroy(rig.port);
}

/* Expected texts are the C library's. */
#define SAME(...)                                                    \
    do {                                                             \
        char mine[64], libc[64];                                     \
        assert_int_equal(rt_format(mine, sizeof(mine), __VA_ARGS__), \
                         snprintf(libc, sizeof(libc), __VA_ARGS__)); \
        assert_string_equal(mine, libc);                             \
    } while (0)

static void format_agrees_with_the_c_library(void **state)
{
    char small[8];

    (void)state;
    SAME("plain");
    SAME("%d %i %d", 0, -1, INT32_MIN);
    SAME("%u %x %X", UINT32_MAX, 0xbeef, 0xBEEF);
    SAME("%lld %llu %llx", (long long)INT64_MIN, (unsigned long long)UINT64_MAX, 0x1bc400000000ull);
    SAME("%ld %lu %lx %zu %zx", -5L, 5ul, 0x55ul, (size_t)77, (size_t)0x77);
    SAME("%08x|%8x|%3d|%03d|%1d", 0x1234, 0x1234, -7, -7, 1234);
    SAME("%#04x|%#x|%#8x|%#08X|%#04x", 0x5, 0x204, 0x204, 0x2d, 0);
    SAME("%s|%5s|%.2s|%c|%%", "text", "abc", "xyz", 'c');
    SAME("%.3s", (char[3]){'a', 'b', 'c'}); /* without an end */
    assert_int_equal(rt_format(small, sizeof(small), "%s", "far too long"), 7);
    assert_string_equal(small, "far too");
    assert_int_equal(rt_format(small, 1, "%d", 5), 0);
    assert_string_equal(small, "");
    assert_int_equal(rt_format(NULL, 0, "%d", 5), 0);
}

static void log_lines(void *arg)
{
    struct rig *rig = arg;

    rt_log(rig->kernel, RT_LOG_WARNING, "Cmd 0x%x is not supported", 0x77u);
    rt_port_write32(rig->port, RTPORT_DOORBELL, 9);
}

static void log_from_handler(void *arg, unsigned line)
{
    struct rig *rig = arg;

    rt_log(rig->kernel, RT_LOG_INFO, "line %u", line);
}

static void log_attach(void *arg)
{
    struct rig *rig = arg;

    rt_irq_attach(rig->kernel, 9, log_from_handler, rig);
    rt_log(rig->kernel, RT_LOG_DEBUG, "ready");
}

static void the_log_names_who_speaks(void **state)
{
    struct rig rig = {.body = {log_attach, log_lines}};

    (void)state;
    run(&rig, "");
    assert_string_equal(rtport_log(rig.port),
                        "debug two: ready\nwarning three: Cmd 0x77 is not supported\ninfo irq 9: line 9\n");
    assert_string_equal(rt_log_recent(rig.kernel, 0)->text, "info irq 9: line 9");
    assert_string_equal(rt_log_recent(rig.kernel, 2)->text, "debug two: ready");
    assert_int_equal(rt_log_recent(rig.kernel, 2)->number, 0);
    assert_null(rt_log_recent(rig.kernel, 3));
    rtport_destroy(rig.port);
}

static void log_much(void *arg)
{
    struct rig *rig = arg;

    for (unsigned i = 0; i < RT_LOG_LINES + 10; i++)
        rt_log(rig->kernel, RT_LOG_INFO, "%u", i);
    rt_log(rig->kernel, RT_LOG_ERROR, "%0300d", 1);
}

static void the_log_ring_keeps_the_newest(void **state)
{
    struct rig rig = {.body = {log_much}};

    (void)state;
    run(&rig, "");
    assert_int_equal(strlen(rt_log_recent(rig.kernel, 0)->text), RT_LOG_WIDTH - 1);
    assert_string_equal(rt_log_recent(rig.kernel, 1)->text, "info two: 73");
    assert_string_equal(rt_log_recent(rig.kernel, RT_LOG_LINES - 1)->text, "info two: 11");
    assert_null(rt_log_recent(rig.kernel, RT_LOG_LINES));
    rtport_destroy(rig.port);
}

/*
 * The guarded doorbell of Listing 29.3 needs registers, the system
 * register and a window: the port's other half.
 */
static void touch_the_port(void *arg)
{
    struct rig *rig = arg;
    uint32_t *shared = rt_port_window(rig->port, RTPORT_SHARED + 8, 8);
    const uint32_t previous = rt_irq_mask(rig->kernel);

    rt_port_sysreg_write(rig->port, RT_SYSREG_S3_3_C15_C8_0, 1ull << 39);
    rt_port_write32(rig->port, RTPORT_DOORBELL, 9); /* masked: taken at the restore */
    rt_port_barrier(rig->port);
    note(rig, "(");
    rt_irq_restore(rig->kernel, previous);
    note(rig, ")");
    rig->number[0] = rt_port_sysreg_read(rig->port, RT_SYSREG_S3_3_C15_C8_0);
    rt_port_write64(rig->port, 8, 0x1122334455667788);
    rig->number[1] = rt_port_read64(rig->port, 8);
    rig->number[2] = rt_port_read32(rig->port, RTPORT_DOORBELL);
    shared[1] = 5;
    rig->number[3] = rt_memcmp(rt_port_window(rig->port, RTPORT_SHARED + 12, 4), &(uint32_t){5}, 4) == 0;
    rig->number[4] = rt_port_window(rig->port, RTPORT_SHARED + RTPORT_SHARED_BYTES - 4, 8) == NULL;
}

static void note_interrupt(void *arg, unsigned line)
{
    (void)line;
    note(arg, "!");
}

static void attach_note(void *arg)
{
    rt_irq_attach(((struct rig *)arg)->kernel, 9, note_interrupt, arg);
}

static void the_port_serves_registers_and_memory(void **state)
{
    struct rig rig = {.body = {attach_note, touch_the_port}};

    (void)state;
    run(&rig, "(!)");
    assert_int_equal(RT_SYSREG_S3_3_C15_C8_0, 0xdfc0);
    assert_int_equal(rig.number[0], 1ull << 39);
    assert_int_equal(rig.number[1], 0x1122334455667788);
    assert_int_equal(rig.number[2], 1);
    assert_int_equal(rig.number[3], 1);
    assert_int_equal(rig.number[4], 1);
    rtport_destroy(rig.port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_heap_keeps_blocks_apart),
        cmocka_unit_test(the_extent_ends_above_the_highest_block),
        cmocka_unit_test(an_arena_can_be_used_up),
        cmocka_unit_test(a_mutex_has_one_owner),
        cmocka_unit_test(a_mailbox_holds_one_word),
        cmocka_unit_test(a_signal_gives_each_flag_to_one_task),
        cmocka_unit_test(a_state_machine_runs_its_table),
        cmocka_unit_test(format_agrees_with_the_c_library),
        cmocka_unit_test(the_log_names_who_speaks),
        cmocka_unit_test(the_log_ring_keeps_the_newest),
        cmocka_unit_test(the_port_serves_registers_and_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
