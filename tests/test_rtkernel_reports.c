/* SPDX-License-Identifier: Apache-2.0 */
/* What the real-time kernel reports of itself: tasks, pools and arenas, as data and as text. */
#include "rtrig.h"

#include "rtkernel/heap.h"
#include "rtkernel/memory.h"
#include "rtkernel/mutex.h"
#include "rtkernel/pool.h"
#include "rtkernel/format.h"

#define TEXT_BYTES 2048u

static struct rt_mutex *mutex;

static void hold(void *arg)
{
    struct rtrig *rig = ((struct rtrig_actor *)arg)->rig;

    rt_mutex_lock(mutex, RT_FOREVER);
    rt_semaphore_take(rig->semaphore, RT_FOREVER);
}

static void want(void *arg)
{
    struct rtrig *rig = ((struct rtrig_actor *)arg)->rig;

    rt_task_sleep(rig->kernel, 1);
    rt_mutex_lock(mutex, RT_FOREVER);
}

static void setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);

    rt_mutex_create(kernel, &mutex);
    rtrig_add(rig, 'l', 6, hold);
    rtrig_add(rig, 'h', 2, want);
}

static void start(struct rtrig *rig)
{
    rtrig_begin(rig);
    assert_int_equal(rtport_start(rig->port, setup, rig, RT_FOREVER), RTPORT_IDLE);
}

struct rows {
    struct rt_task_info row[8];
    unsigned count;
};

static void keep(void *arg, const struct rt_task_info *info)
{
    struct rows *rows = arg;

    rows->row[rows->count++] = *info;
}

static void the_list_has_priorities_stacks_and_threads(void **state)
{
    struct rows rows = {.count = 0};
    struct rtrig rig;

    (void)state;
    start(&rig);
    rt_task_list(rig.kernel, keep, &rows);
    assert_int_equal(rows.count, 4);
    assert_string_equal(rows.row[2].name, "l");
    assert_int_equal(rows.row[2].state, RT_TASK_SEMWAIT);
    assert_int_equal(rows.row[2].base_priority, 6);
    assert_int_equal(rows.row[2].priority, 2); /* inherited */
    assert_int_equal(rows.row[3].state, RT_TASK_BLOCKED);
    assert_int_equal(rows.row[3].runs, 2); /* at its start and after its sleep */
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(rows.row[i].thread, i);
        assert_int_equal(rows.row[i].stack_used + rows.row[i].stack_free, rows.row[i].stack_bytes);
        assert_true(rows.row[i].stack_free > 0);
    }
    rtrig_end(&rig);
}

static void park(void *arg)
{
    rt_semaphore_take(((struct rtrig_actor *)arg)->rig->semaphore, RT_FOREVER);
}

static void many_setup(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = rtrig_enter(kernel, arg);
    struct rt_task *task;

    rig->actor[0].rig = rig;
    for (unsigned i = 0; i < 20; i++)
        rt_task_create(kernel, &task, "many", 4, STACK, park, &rig->actor[0]);
}

static void note_thread(void *arg, const struct rt_task_info *info)
{
    rtrig_note_char(arg, (char)('0' + info->thread));
}

/* Ten threads are for tasks; there are more slots than that. */
static void a_thread_is_the_slot_modulo_ten(void **state)
{
    struct rtrig rig;

    (void)state;
    rtrig_begin(&rig);
    assert_int_equal(rtport_start(rig.port, many_setup, &rig, RT_FOREVER), RTPORT_IDLE);
    rt_task_list(rig.kernel, note_thread, &rig);
    assert_string_equal(rig.trace, "0123456789012345678901");
    rtrig_end(&rig);
}

/* The text is the rows, in the columns that its first line names. */
static void the_list_as_text(void **state)
{
    struct rows rows = {.count = 0};
    char text[TEXT_BYTES], expected[TEXT_BYTES];
    struct rtrig rig;
    size_t length;

    (void)state;
    start(&rig);
    rt_task_list(rig.kernel, keep, &rows);
    length =
        (size_t)snprintf(expected, sizeof(expected), "task state priority base stack free thread runs\n");
    for (unsigned i = 0; i < rows.count; i++) {
        const struct rt_task_info *row = &rows.row[i];

        length +=
            (size_t)snprintf(expected + length, sizeof(expected) - length, "%s %s %u %u %zu %zu %u %llu\n",
                             row->name, rt_task_state_name(row->state), row->priority, row->base_priority,
                             row->stack_bytes, row->stack_free, row->thread, (unsigned long long)row->runs);
    }
    assert_int_equal(rt_task_list_text(rig.kernel, text, sizeof(text)), length);
    assert_string_equal(text, expected);
    assert_non_null(strstr(text, "\nl SEMWAIT 2 6 "));
    rtrig_end(&rig);
}

static void pools_as_text(void **state)
{
    char text[TEXT_BYTES];
    struct rtrig rig;

    (void)state;
    start(&rig);
    rt_pool_text(rig.kernel, text, sizeof(text));
    assert_string_equal(text, "pool total available\n"
                              "tasks 24 20\n"
                              "semaphores 64 63\n"
                              "mailboxes 16 16\n"
                              "queues 48 46\n"
                              "signals 16 16\n"
                              "timers 32 32\n"
                              "mutexes 16 15\n");
    rtrig_end(&rig);
}

static void arenas_as_text_and_numbers(void **state)
{
    const uint64_t total = 64u << 10;
    char text[TEXT_BYTES], expected[160];
    struct rt_heap_info info;
    struct rtrig rig;
    void *block[2];

    (void)state;
    start(&rig);
    block[0] = rt_heap_alloc(rig.kernel, RT_ARENA_FRAMEWORK, 1000); /* 32 before, 8 after: 1040 */
    block[1] = rt_heap_alloc(rig.kernel, RT_ARENA_FRAMEWORK, 500);  /* 540, in grains of 16: 544 */
    assert_null(rt_heap_alloc(rig.kernel, RT_ARENA_FRAMEWORK, total));
    rt_heap_free(rig.kernel, block[1]);
    info = rt_heap_info(rig.kernel, RT_ARENA_FRAMEWORK);
    assert_int_equal(info.total, total);
    assert_int_equal(info.used, 1040);
    assert_int_equal(info.peak, 1040 + 544);
    assert_int_equal(info.free, total - 1040);
    assert_int_equal(info.largest, total - 1040 - RT_HEAP_OVERHEAD);
    assert_int_equal(info.failures, 1);
    assert_int_equal(info.blocks, 1);
    rt_heap_text(rig.kernel, text, sizeof(text));
    assert_ptr_equal(strstr(text, "arena total used peak largest blocks failures\nsystem "), text);
    snprintf(expected, sizeof(expected), "\nframework %llu 1040 1584 %llu 1 1\n", (unsigned long long)total,
             (unsigned long long)(total - 1040 - RT_HEAP_OVERHEAD));
    assert_non_null(strstr(text, expected));
    rt_heap_free(rig.kernel, block[0]);
    rt_heap_check(rig.kernel);
    rtrig_end(&rig);
}

/* For every size: what fits is whole lines of the whole text, with its end inside the size. */
static void a_small_text_ends_after_a_line(void **state)
{
    char whole[TEXT_BYTES], text[TEXT_BYTES];
    struct rtrig rig;
    size_t length;

    (void)state;
    start(&rig);
    length = rt_pool_text(rig.kernel, whole, sizeof(whole));
    for (size_t bytes = 1; bytes <= length + 1; bytes++) {
        size_t got;

        memset(text, 0x7f, sizeof(text));
        got = rt_pool_text(rig.kernel, text, bytes);
        assert_true(got < bytes);
        assert_memory_equal(text, whole, got);
        assert_int_equal(text[got], 0);
        assert_true(!got || text[got - 1] == '\n');
        assert_int_equal(text[bytes], 0x7f);
        /* the next line would not have fitted */
        assert_true(got == length || got + strcspn(whole + got, "\n") + 2 > bytes);
    }
    assert_int_equal(rt_pool_text(rig.kernel, text, length + 1), length);
    rtrig_end(&rig);
}

static void a_line_that_is_left_out_ends_the_text(void **state)
{
    char text[16];
    struct rt_lines lines = {.text = text, .bytes = sizeof(text)};

    (void)state;
    rt_format_line(&lines, "%s", "first");
    rt_format_line(&lines, "%s", "too long a line");
    rt_format_line(&lines, "%s", "x");
    assert_string_equal(text, "first\n");
    assert_int_equal(lines.length, 6);
    assert_true(lines.full);
}

static void names_are_cut_and_bytes_are_moved(void **state)
{
    char name[6], bytes[] = "abcdef";
    struct rtrig rig;

    (void)state;
    rt_memory_copy_name(name, sizeof(name), "short");
    assert_string_equal(name, "short");
    rt_memory_copy_name(name, sizeof(name), "too long");
    assert_string_equal(name, "too l");
    rt_memory_copy_name(name, 1, "x");
    assert_string_equal(name, "");
    rt_memmove(bytes + 1, bytes, 4);
    assert_string_equal(bytes, "aabcdf");
    rt_memcpy(bytes + 3, "xy", 2);
    assert_string_equal(bytes, "aabxyf");
    start(&rig);
    assert_ptr_equal(rt_kernel_port(rig.kernel), rig.port);
    rtrig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_has_priorities_stacks_and_threads),
        cmocka_unit_test(a_thread_is_the_slot_modulo_ten),
        cmocka_unit_test(the_list_as_text),
        cmocka_unit_test(pools_as_text),
        cmocka_unit_test(arenas_as_text_and_numbers),
        cmocka_unit_test(a_small_text_ends_after_a_line),
        cmocka_unit_test(a_line_that_is_left_out_ends_the_text),
        cmocka_unit_test(names_are_cut_and_bytes_are_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
