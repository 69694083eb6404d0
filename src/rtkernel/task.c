/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks, the idle task and the terminator. A task that exits still runs on its stack until the switch away
 * from it, so the terminator frees stack, slot and queues afterwards.
 */
#include "rtkernel/task.h"

#include "rtkernel/format.h"
#include "rtkernel/memory.h"
#include "rtkernel/queue.h"
#include "rtkernel/sched.h"
#include "rtkernel/semaphore.h"

#define TERMINATOR_PRIORITY 1 /* the system band */
#define STACK_MAX           (1u << 24)

const char *rt_task_state_name(enum rt_task_state state)
{
    switch (state) {
    case RT_TASK_RUNNABLE: return "RUNNABLE";
    case RT_TASK_SUSPENDED: return "SUSPENDED";
    case RT_TASK_WAITING: return "WAITING";
    case RT_TASK_SEMWAIT: return "SEMWAIT";
    case RT_TASK_BLOCKED: return "BLOCKED";
    default: return "?";
    }
}

/* A switch to a new context arrives here, with interrupts masked like every switch. */
static void begin(void *arg)
{
    struct rt_task *task = arg;

    rt_port_irq_restore(task->kernel->port, 0);
    task->entry(task->arg);
    rt_task_exit(task->kernel);
}

/* The port's part of a stack, below what the task asked for, is zeros: it is large and hardly used. */
static size_t first_filled(const struct rt_task *task)
{
    const size_t extra = task->kernel->stack_extra / sizeof(*task->stack);

    return extra > RT_STACK_GUARDS ? extra : RT_STACK_GUARDS;
}

static void prepare_stack(struct rt_task *task)
{
    const size_t words = task->stack_bytes / sizeof(*task->stack);

    for (size_t i = 0; i < RT_STACK_GUARDS; i++)
        task->stack[i] = RT_STACK_GUARD;
    for (size_t i = first_filled(task); i < words; i++)
        task->stack[i] = RT_STACK_FILL;
    rt_port_context_make(task->kernel->port, &task->context, task->stack, task->stack_bytes, begin, task);
}

/* A task that is in no list yet. */
static int make(struct rt_kernel *kernel, struct rt_task **task, const char *name, unsigned priority,
                size_t stack_bytes, void (*entry)(void *arg), void *arg)
{
    const int slot = rt_pool_take(kernel, RT_POOL_TASK);
    struct rt_task *made;

    if (slot < 0)
        return slot;
    made = &kernel->task[slot];
    rt_memset(made, 0, sizeof(*made));
    made->stack_bytes = (stack_bytes + kernel->stack_extra + 15) & ~(size_t)15;
    made->stack = rt_heap_alloc(kernel, RT_ARENA_SYSTEM, made->stack_bytes);
    if (!made->stack) {
        rt_pool_release(kernel, RT_POOL_TASK, (size_t)slot);
        return RT_ENOMEM;
    }
    made->kernel = kernel;
    made->mark = RT_MARK(RT_POOL_TASK);
    made->base = made->priority = (uint8_t)priority;
    made->entry = entry;
    made->arg = arg;
    rt_link_init(&made->link);
    rt_link_init(&made->held);
    rt_link_init(&made->timeout.link);
    rt_memory_copy_name(made->name, sizeof(made->name), name);
    prepare_stack(made);
    *task = made;
    return RT_OK;
}

int rt_task_create(struct rt_kernel *kernel, struct rt_task **task, const char *name, unsigned priority,
                   size_t stack_bytes, void (*entry)(void *arg), void *arg)
{
    uint32_t previous;
    int result;

    if (priority >= RT_PRIORITY_LEVELS || stack_bytes < RT_STACK_MIN || stack_bytes > STACK_MAX)
        return RT_EINVAL;
    previous = rt_sched_enter(kernel);
    rt_sched_check_context(kernel, __func__);
    result = make(kernel, task, name, priority, stack_bytes, entry, arg);
    if (!result)
        rt_sched_ready(*task);
    rt_sched_leave(kernel, previous);
    return result;
}

static bool is_system(const struct rt_task *task)
{
    return task == task->kernel->idle || task == task->kernel->terminator;
}

/* The terminator takes it from here; the task must be in no other list. */
static void hand_over(struct rt_task *task)
{
    struct rt_kernel *kernel = task->kernel;

    task->state = RT_TASK_BLOCKED;
    task->ended = true;
    rt_link_insert(&kernel->dead, &task->link);
    rt_sched_give(&kernel->dead_count);
}

_Noreturn void rt_task_exit(struct rt_kernel *kernel)
{
    const uint32_t previous = rt_sched_enter(kernel);
    struct rt_task *task = kernel->current;

    rt_sched_check_block(kernel, previous, __func__);
    if (!rt_link_alone(&task->held))
        rt_fault_assert(kernel, "%s exits with a mutex", task->name);
    hand_over(task);
    rt_sched_dispatch(kernel);
    rt_fault_assert(kernel, "%s was resumed after its exit", task->name);
}

/*
 * A runnable task may have been handed what it waited for, a message or a mutex, and would take it along:
 * only one that still waits can be ended.
 */
int rt_task_delete(struct rt_task *task)
{
    struct rt_kernel *kernel = task->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    int result = RT_OK;

    RT_CHECK_LIVE(task, TASK);
    rt_sched_check_context(kernel, __func__);
    if (is_system(task)) {
        result = RT_EINVAL;
    } else if (task->state == RT_TASK_RUNNABLE || task->ended || !rt_link_alone(&task->held)) {
        result = RT_EBUSY;
    } else {
        rt_sched_step_out(task);
        task->waiting_any = false;
        hand_over(task);
    }
    rt_sched_leave(kernel, previous);
    return result;
}

struct rt_task *rt_task_current(struct rt_kernel *kernel)
{
    return kernel->current;
}

const char *rt_task_name(const struct rt_task *task)
{
    RT_CHECK_LIVE(task, TASK);
    return task->name;
}

static enum rt_task_state state_of(const struct rt_task *task)
{
    return task->suspended ? RT_TASK_SUSPENDED : (enum rt_task_state)task->state;
}

enum rt_task_state rt_task_state(const struct rt_task *task)
{
    RT_CHECK_LIVE(task, TASK);
    return state_of(task);
}

int rt_task_suspend(struct rt_task *task)
{
    struct rt_kernel *kernel = task->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    int result = RT_OK;

    RT_CHECK_LIVE(task, TASK);
    rt_sched_check_context(kernel, __func__);
    if (is_system(task)) {
        result = RT_EINVAL;
    } else if (!task->suspended) {
        if (task == kernel->current)
            rt_sched_check_block(kernel, previous, __func__);
        task->suspended = true;
        if (task == kernel->current)
            rt_sched_dispatch(kernel);
        else if (task->state == RT_TASK_RUNNABLE)
            rt_sched_unready(task);
    }
    rt_sched_leave(kernel, previous);
    return result;
}

int rt_task_resume(struct rt_task *task)
{
    struct rt_kernel *kernel = task->kernel;
    const uint32_t previous = rt_sched_enter(kernel);

    RT_CHECK_LIVE(task, TASK);
    if (task->suspended) {
        task->suspended = false;
        if (task->state == RT_TASK_RUNNABLE)
            rt_sched_ready(task);
    }
    rt_sched_leave(kernel, previous);
    return RT_OK;
}

void rt_task_yield(struct rt_kernel *kernel)
{
    const uint32_t previous = rt_sched_enter(kernel);

    rt_sched_check_block(kernel, previous, __func__);
    rt_sched_ready(kernel->current);
    rt_sched_dispatch(kernel);
    rt_sched_leave(kernel, previous);
}

void rt_task_sleep(struct rt_kernel *kernel, uint64_t nanoseconds)
{
    const uint32_t previous = rt_sched_enter(kernel);

    rt_sched_check_block(kernel, previous, __func__);
    rt_sched_block(kernel, NULL, RT_TASK_WAITING, rt_timeline_deadline(kernel, nanoseconds));
    rt_sched_leave(kernel, previous);
}

int rt_task_queues(struct rt_task *task, size_t width, uint32_t depth, uint32_t irq_depth)
{
    struct rt_kernel *kernel = task->kernel;
    struct rt_queue *input, *interrupts;
    int result;

    RT_CHECK_LIVE(task, TASK);
    rt_sched_check_context(kernel, __func__);
    if (task->input)
        return RT_EBUSY;
    result = rt_queue_create(kernel, &input, width, depth);
    if (result)
        return result;
    result = rt_queue_create(kernel, &interrupts, width, irq_depth);
    if (result) {
        rt_queue_delete(input);
        return result;
    }
    input->owner = interrupts->owner = task;
    task->interrupts = interrupts;
    task->input = input;
    return RT_OK;
}

struct rt_queue *rt_task_input(const struct rt_task *task)
{
    RT_CHECK_LIVE(task, TASK);
    return task->input;
}

struct rt_queue *rt_task_interrupts(const struct rt_task *task)
{
    RT_CHECK_LIVE(task, TASK);
    return task->interrupts;
}

static struct rt_queue *queue_with_message(const struct rt_task *task)
{
    if (task->interrupts->messages.count)
        return task->interrupts;
    return task->input->messages.count ? task->input : NULL;
}

/*
 * Waits until there is a message. It may be gone when the task runs: a queue does not belong to its owner
 * alone.
 */
static int await_message(struct rt_kernel *kernel, struct rt_task *task, uint64_t timeout)
{
    const uint64_t deadline = rt_timeline_deadline(kernel, timeout);
    int result = RT_OK;

    while (!result && !queue_with_message(task)) {
        task->waiting_any = true;
        result = rt_sched_block(kernel, NULL, RT_TASK_WAITING, deadline);
    }
    return result;
}

int rt_task_wait_any(struct rt_kernel *kernel, void *message, size_t capacity, struct rt_queue **from,
                     uint64_t timeout)
{
    const uint32_t previous = rt_sched_enter(kernel);
    struct rt_task *task = kernel->current;
    struct rt_queue *queue;
    int result = RT_OK;

    rt_sched_check_task(kernel, __func__);
    if (timeout)
        rt_sched_check_block(kernel, previous, __func__);
    if (!task->input || capacity < task->input->width)
        result = RT_EINVAL;
    else if (!queue_with_message(task))
        result = timeout ? await_message(kernel, task, timeout) : RT_EAGAIN;
    if (!result) {
        queue = queue_with_message(task);
        result = rt_queue_get(queue, message);
        if (from)
            *from = queue;
    }
    rt_sched_leave(kernel, previous);
    return result;
}

RT_READS_STACKS static size_t stack_used(const struct rt_task *task)
{
    const size_t words = task->stack_bytes / sizeof(*task->stack), filled = first_filled(task);
    size_t untouched = RT_STACK_GUARDS;

    while (untouched < words && task->stack[untouched] == (untouched < filled ? 0 : RT_STACK_FILL))
        untouched++;
    return task->stack_bytes - untouched * sizeof(*task->stack);
}

unsigned rt_task_thread(const struct rt_task *task)
{
    return (unsigned)(task - task->kernel->task) % RT_THREAD_BOOT;
}

static struct rt_task_info describe(const struct rt_task *task)
{
    const size_t used = stack_used(task);

    return (struct rt_task_info){.name = task->name,
                                 .state = state_of(task),
                                 .priority = task->priority,
                                 .base_priority = task->base,
                                 .stack_bytes = task->stack_bytes,
                                 .stack_used = used,
                                 .stack_free = task->stack_bytes - used,
                                 .thread = rt_task_thread(task),
                                 .runs = task->runs,
                                 .running = task == task->kernel->current};
}

void rt_task_list(struct rt_kernel *kernel, void (*each)(void *arg, const struct rt_task_info *info),
                  void *arg)
{
    const uint32_t previous = rt_sched_enter(kernel);

    for (unsigned i = 0; i < RT_TASK_COUNT; i++) {
        if (kernel->pool[RT_POOL_TASK].used >> i & 1) {
            const struct rt_task_info info = describe(&kernel->task[i]);

            each(arg, &info);
        }
    }
    rt_sched_leave(kernel, previous);
}

static void write_row(void *arg, const struct rt_task_info *info)
{
    rt_format_line(arg, "%s %s %u %u %zu %zu %u %llu", info->name, rt_task_state_name(info->state),
                   info->priority, info->base_priority, info->stack_bytes, info->stack_free, info->thread,
                   (unsigned long long)info->runs);
}

size_t rt_task_list_text(struct rt_kernel *kernel, char *text, size_t bytes)
{
    struct rt_lines lines = {.text = text, .bytes = bytes};

    rt_format_line(&lines, "task state priority base stack free thread runs");
    rt_task_list(kernel, write_row, &lines);
    return lines.length;
}

/* Flat: a switch of tasks inside a function that returns afterwards has its return predicted wrong. */
static void idle(void *arg) __attribute__((flatten));
static void idle(void *arg)
{
    struct rt_kernel *kernel = arg;

    for (;;)
        rt_port_wait(kernel->port);
}

static void reap(struct rt_kernel *kernel)
{
    const uint32_t previous = rt_sched_enter(kernel);
    struct rt_task *task = rt_sched_first(&kernel->dead);

    rt_link_remove(&task->link);
    rt_port_context_drop(kernel->port, &task->context);
    if (task->input) {
        task->input->owner = task->interrupts->owner = NULL;
        if (rt_queue_delete(task->input) || rt_queue_delete(task->interrupts))
            rt_fault_assert(kernel, "%s has ended, and a task waits on its queues", task->name);
    }
    task->mark = 0;
    rt_heap_free(kernel, task->stack);
    rt_pool_release(kernel, RT_POOL_TASK, (size_t)(task - kernel->task));
    rt_sched_leave(kernel, previous);
}

static void terminator(void *arg)
{
    struct rt_kernel *kernel = arg;

    for (;;) {
        rt_semaphore_take(&kernel->dead_count, RT_FOREVER);
        reap(kernel);
    }
}

int rt_task_create_system(struct rt_kernel *kernel)
{
    int result = make(kernel, &kernel->idle, "idle", RT_PRIORITY_IDLE, RT_STACK_SYSTEM, idle, kernel);

    if (result)
        return result;
    result = make(kernel, &kernel->terminator, "terminator", TERMINATOR_PRIORITY, RT_STACK_SYSTEM, terminator,
                  kernel);
    if (!result)
        rt_sched_ready(kernel->terminator);
    return result;
}
