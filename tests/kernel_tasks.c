/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of kernel_list.h: scheduling, states, interrupts. */
#include "kernel_bench.h"
#include "rtkernel/irq.h"
#include "rtkernel/memory.h"
#include "rtkernel/pool.h"
#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/mutex.h"
#include "rtkernel/task.h"

int kernel_case_priority_order(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, '5', 5, kernel_bench_say);
    kernel_bench_actor(bench, '7', 7, kernel_bench_say);
    kernel_bench_actor(bench, '2', 2, kernel_bench_say);
    kernel_bench_actor(bench, '3', 3, kernel_bench_say);
    kernel_bench_actor(bench, 'e', 5, kernel_bench_say); /* behind the other one of level 5 */
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "235e7");
}

static void say_twice(struct kernel_actor *actor)
{
    kernel_bench_say(actor);
    rt_task_yield(actor->bench->kernel);
    kernel_bench_say(actor);
}

int kernel_case_level_order(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'a', 4, say_twice);
    kernel_bench_actor(bench, 'b', 4, say_twice);
    kernel_bench_actor(bench, 'c', 4, say_twice);
    kernel_bench_actor(bench, 'd', 5, say_twice); /* alone on its level */
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "abcabcdd");
}

static void take_and_say(struct kernel_actor *actor)
{
    if (!rt_semaphore_take(actor->bench->semaphore, RT_FOREVER))
        kernel_bench_say(actor);
}

static void give_thrice(struct kernel_actor *actor)
{
    for (unsigned i = 0; i < 3; i++) {
        kernel_bench_say(actor);
        rt_semaphore_give(actor->bench->semaphore);
    }
    kernel_bench_note(actor->bench, ".");
}

/* The urgent task runs inside the call that gives; an equal and a less urgent one run later. */
int kernel_case_give_preempts(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'h', 2, take_and_say);
    kernel_bench_actor(bench, 'e', 4, take_and_say);
    kernel_bench_actor(bench, 'g', 4, give_thrice);
    kernel_bench_actor(bench, 'l', 6, take_and_say);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "ghgg.el");
}

int kernel_case_preempted_keeps_place(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'h', 2, take_and_say);
    kernel_bench_actor(bench, 'g', 5, give_thrice);
    kernel_bench_actor(bench, 'n', 5, kernel_bench_say);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "ghgg.n");
}

static void create_two(struct kernel_actor *actor)
{
    kernel_bench_say(actor);
    kernel_bench_actor(actor->bench, 'x', 2, kernel_bench_say);
    kernel_bench_say(actor);
    kernel_bench_actor(actor->bench, 'y', 6, kernel_bench_say);
    kernel_bench_say(actor);
}

int kernel_case_create_preempts(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'c', 3, create_two);
    kernel_bench_sleep(bench, 5);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "cxccy");
}

/* For 'a' one step, for 'b' three, for 'c' five. */
static void sleep_and_say(struct kernel_actor *actor)
{
    kernel_bench_sleep(actor->bench, 2 * (unsigned)(actor->letter - 'a') + 1);
    kernel_bench_say(actor);
}

int kernel_case_sleep_order(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'c', 2, sleep_and_say);
    kernel_bench_actor(bench, 'a', 6, sleep_and_say);
    kernel_bench_actor(bench, 'b', 4, sleep_and_say);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "abc");
}

static void receive_one(struct kernel_actor *actor)
{
    uint8_t message[16];

    rt_queue_receive(actor->bench->queue, message, sizeof(message), RT_FOREVER);
}

static void lock_and_unlock(struct kernel_actor *actor)
{
    rt_mutex_lock(actor->bench->mutex[0], RT_FOREVER);
    rt_mutex_unlock(actor->bench->mutex[0]);
}

static void note_states(struct kernel_bench *bench)
{
    for (unsigned i = 0; i < bench->actors; i++) {
        kernel_bench_note(bench, rt_task_state_name(rt_task_state(bench->actor[i].task)));
        kernel_bench_note(bench, " ");
    }
}

/* Table 29.1. */
int kernel_case_five_states(struct kernel_bench *bench)
{
    rt_mutex_lock(bench->mutex[0], RT_FOREVER);
    kernel_bench_actor(bench, 's', 2, take_and_say);
    kernel_bench_actor(bench, 'w', 2, receive_one);
    kernel_bench_actor(bench, 'b', 2, lock_and_unlock);
    kernel_bench_sleep(bench, 1);
    kernel_bench_actor(bench, 'r', 2, kernel_bench_say);
    kernel_bench_actor(bench, 'p', 2, kernel_bench_say);
    rt_task_suspend(bench->actor[4].task);
    note_states(bench);
    rt_task_resume(bench->actor[4].task);
    rt_mutex_unlock(bench->mutex[0]);
    rt_semaphore_give(bench->semaphore);
    rt_queue_send(bench->queue, "", 0, RT_FOREVER);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "SEMWAIT WAITING BLOCKED RUNNABLE SUSPENDED rps");
}

int kernel_case_suspend_ready(struct kernel_bench *bench)
{
    struct rt_task *task = kernel_bench_actor(bench, 'a', 3, kernel_bench_say);

    kernel_bench_actor(bench, 'b', 4, kernel_bench_say);
    rt_task_suspend(task);
    kernel_bench_sleep(bench, 1);
    rt_task_suspend(task); /* changes nothing */
    rt_task_resume(task);
    rt_task_resume(task);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "ba");
}

/* What it waits for comes while it is parked: it is runnable once resumed. */
int kernel_case_suspend_waiting(struct kernel_bench *bench)
{
    struct rt_task *task = kernel_bench_actor(bench, 'a', 3, take_and_say);

    kernel_bench_sleep(bench, 1);
    rt_task_suspend(task);
    note_states(bench);
    rt_semaphore_give(bench->semaphore);
    kernel_bench_sleep(bench, 1);
    note_states(bench);
    rt_task_resume(task);
    note_states(bench);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "SUSPENDED SUSPENDED RUNNABLE a");
}

static void suspend_self(struct kernel_actor *actor)
{
    kernel_bench_say(actor);
    kernel_bench_note_status(actor->bench, rt_task_suspend(rt_task_current(actor->bench->kernel)));
    kernel_bench_say(actor);
}

int kernel_case_suspend_self(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'a', 3, suspend_self);
    kernel_bench_sleep(bench, 1);
    note_states(bench);
    rt_task_resume(bench->actor[0].task);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "aSUSPENDED OK a");
}

static void give_masked(struct kernel_actor *actor)
{
    struct rt_kernel *kernel = actor->bench->kernel;
    const uint32_t outer = rt_irq_mask(kernel), inner = rt_irq_mask(kernel);

    rt_semaphore_give(actor->bench->semaphore);
    rt_irq_restore(kernel, inner);
    kernel_bench_say(actor);
    rt_irq_restore(kernel, outer);
    kernel_bench_say(actor);
}

int kernel_case_critical_section(struct kernel_bench *bench)
{
    kernel_bench_actor(bench, 'h', 2, take_and_say);
    kernel_bench_actor(bench, 'g', 5, give_masked);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "ghg");
}

static void count_up(struct kernel_actor *actor)
{
    actor->bench->count++;
}

static void exit_early(struct kernel_actor *actor)
{
    actor->bench->count++;
    rt_semaphore_give(actor->bench->done);
    rt_task_exit(actor->bench->kernel);
}

/* More tasks than the pool has, one after the other. */
int kernel_case_tasks_come_and_go(struct kernel_bench *bench)
{
    for (unsigned i = 0; i < 2 * RT_TASK_COUNT; i++) {
        struct rt_task *task = kernel_bench_actor(bench, 't', 2 + i % 6, i % 2 ? count_up : exit_early);

        if (i % 3 == 0)
            kernel_bench_note_status(bench, rt_task_queues(task, 8, 1, 1) ? RT_EINVAL : RT_OK);
        kernel_bench_join(bench);
        bench->length = 0;
    }
    kernel_bench_note_number(bench, bench->count);
    return kernel_bench_expect(bench, "48");
}

static void wait_for_queue(struct kernel_actor *actor)
{
    uint8_t message[16];

    rt_queue_receive(actor->bench->queue, message, sizeof(message), RT_FOREVER);
}

/* What it waited for goes to the next one. */
int kernel_case_delete_waiting_task(struct kernel_bench *bench)
{
    struct rt_task *first = kernel_bench_actor(bench, 'a', 3, take_and_say);

    kernel_bench_note_status(bench, rt_task_delete(first)); /* still runnable */
    kernel_bench_actor(bench, 'b', 4, take_and_say);
    kernel_bench_sleep(bench, 1);
    kernel_bench_note_status(bench, rt_task_delete(first));
    kernel_bench_note_status(bench, rt_task_delete(first)); /* not reaped yet */
    rt_semaphore_give(bench->semaphore);
    rt_semaphore_give(bench->done); /* in its place */
    kernel_bench_join(bench);
    first = kernel_bench_actor(bench, 'c', 3, wait_for_queue);
    kernel_bench_sleep(bench, 1);
    rt_task_suspend(first);
    kernel_bench_note_status(bench, rt_task_delete(first));
    rt_semaphore_give(bench->done);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "EBUSY OK EBUSY bOK ");
}

static void nothing(void *arg)
{
    (void)arg;
}

int kernel_case_task_arguments(struct kernel_bench *bench)
{
    struct rt_kernel *kernel = bench->kernel;
    struct rt_task *task;

    kernel_bench_note_status(bench, rt_task_create(kernel, &task, "x", 8, KERNEL_STACK, nothing, NULL));
    kernel_bench_note_status(bench, rt_task_create(kernel, &task, "x", 3, RT_STACK_MIN - 1, nothing, NULL));
    kernel_bench_note_status(bench, rt_task_create(kernel, &task, "x", 3, KERNEL_CARVE_OUT, nothing, NULL));
    return kernel_bench_expect(bench, "EINVAL EINVAL ENOMEM ");
}

int kernel_case_task_pool(struct kernel_bench *bench)
{
    struct rt_task *task;
    int status = RT_OK;

    while (!status) {
        status = rt_task_create(bench->kernel, &task, "filler", 4, RT_STACK_MIN, nothing, NULL);
        bench->count += !status;
    }
    kernel_bench_note_number(bench, bench->count);
    kernel_bench_note(bench, " ");
    kernel_bench_note_status(bench, status);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "21 ENOSPC ");
}

struct stack_row {
    const char *name;
    size_t used;
};

static void find_row(void *arg, const struct rt_task_info *info)
{
    struct stack_row *row = arg;

    if (info->name[0] == row->name[0] && !info->name[1])
        row->used = info->stack_used;
}

/* Small frames, one below the other. */
static __attribute__((noinline)) unsigned dive(uintptr_t from, size_t bytes)
{
    volatile uint8_t here[64];

    here[0] = 1;
    if (from - (uintptr_t)__builtin_frame_address(0) < bytes)
        return dive(from, bytes) + here[0];
    return here[0];
}

static void use_stack(struct kernel_actor *actor)
{
    if (actor->letter == 'd')
        actor->bench->count += dive((uintptr_t)__builtin_frame_address(0), 2048) != 0;
    rt_semaphore_take(actor->bench->semaphore, RT_FOREVER);
}

int kernel_case_stack_use(struct kernel_bench *bench)
{
    struct stack_row deep = {"d", 0}, flat = {"f", 0};

    kernel_bench_actor(bench, 'd', 3, use_stack);
    kernel_bench_actor(bench, 'f', 3, use_stack);
    kernel_bench_sleep(bench, 1);
    rt_task_list(bench->kernel, find_row, &deep);
    rt_task_list(bench->kernel, find_row, &flat);
    kernel_bench_note(bench, deep.used >= 2048 ? "deep " : "[deep] ");
    kernel_bench_note(bench, flat.used > 0 && flat.used < deep.used ? "flat" : "[flat]");
    rt_semaphore_give(bench->semaphore);
    rt_semaphore_give(bench->semaphore);
    kernel_bench_join(bench);
    return kernel_bench_expect(bench, "deep flat");
}

/* The shape of a subsystem: a handler that posts, a pump that works. */
static void post_line(void *arg, unsigned line)
{
    struct kernel_bench *bench = arg;
    const uint8_t number = (uint8_t)(line - KERNEL_LINE);

    kernel_bench_note(bench, rt_kernel_in_interrupt(bench->kernel) ? "!" : "[task]");
    rt_queue_try_send(rt_task_interrupts(bench->actor[0].task), &number, 1);
}

static void pump_two(struct kernel_actor *actor)
{
    struct rt_queue *from;
    uint8_t message[16];

    for (unsigned i = 0; i < 2; i++) {
        rt_task_wait_any(actor->bench->kernel, message, sizeof(message), &from, RT_FOREVER);
        kernel_bench_note(actor->bench, from == rt_task_interrupts(actor->task) ? "i" : "t");
        kernel_bench_note_number(actor->bench, message[0]);
    }
}

static void raise_both(struct kernel_actor *actor)
{
    kernel_bench_say(actor);
    rt_irq_raise(actor->bench->kernel, KERNEL_LINE);
    kernel_bench_say(actor);
    rt_irq_raise(actor->bench->kernel, KERNEL_LINE + 1);
    kernel_bench_say(actor);
}

static void attach_both(struct kernel_bench *bench, void (*handler)(void *arg, unsigned line))
{
    rt_irq_attach(bench->kernel, KERNEL_LINE, handler, bench);
    rt_irq_attach(bench->kernel, KERNEL_LINE + 1, handler, bench);
}

int kernel_case_interrupt_wakes_pump(struct kernel_bench *bench)
{
    rt_task_queues(kernel_bench_actor(bench, 'p', 2, pump_two), 16, 2, 2);
    kernel_bench_actor(bench, 'r', 5, raise_both);
    attach_both(bench, post_line);
    kernel_bench_join(bench);
    attach_both(bench, NULL);
    return kernel_bench_expect(bench, "r!i0r!i1r");
}

static void raise_masked(struct kernel_actor *actor)
{
    const uint32_t previous = rt_irq_mask(actor->bench->kernel);

    rt_irq_raise(actor->bench->kernel, KERNEL_LINE + 1);
    rt_irq_raise(actor->bench->kernel, KERNEL_LINE);
    rt_irq_raise(actor->bench->kernel, KERNEL_LINE);
    kernel_bench_say(actor);
    rt_irq_restore(actor->bench->kernel, previous);
    kernel_bench_say(actor);
}

static void note_line(void *arg, unsigned line)
{
    kernel_bench_note_number(arg, line - KERNEL_LINE);
}

/* Held back while masked; a line that is raised twice is taken once; the lowest is taken first. */
int kernel_case_interrupts_in_order(struct kernel_bench *bench)
{
    attach_both(bench, note_line);
    kernel_bench_actor(bench, 'r', 5, raise_masked);
    kernel_bench_join(bench);
    attach_both(bench, NULL);
    return kernel_bench_expect(bench, "r01r");
}

static void resume_first(void *arg, unsigned line)
{
    struct kernel_bench *bench = arg;

    note_line(arg, line);
    rt_task_resume(bench->actor[0].task);
    kernel_bench_note(bench, "."); /* it runs after the handler */
}

static void raise_one(struct kernel_actor *actor)
{
    kernel_bench_say(actor);
    rt_irq_raise(actor->bench->kernel, KERNEL_LINE);
    kernel_bench_say(actor);
}

int kernel_case_resume_in_interrupt(struct kernel_bench *bench)
{
    rt_irq_attach(bench->kernel, KERNEL_LINE, resume_first, bench);
    rt_task_suspend(kernel_bench_actor(bench, 'a', 2, kernel_bench_say));
    kernel_bench_actor(bench, 'r', 5, raise_one);
    kernel_bench_join(bench);
    rt_irq_attach(bench->kernel, KERNEL_LINE, NULL, NULL);
    return kernel_bench_expect(bench, "r0.ar");
}

int kernel_case_spurious_interrupt(struct kernel_bench *bench)
{
    const uint64_t before = rt_irq_spurious(bench->kernel);

    rt_irq_raise(bench->kernel, KERNEL_LINE);
    kernel_bench_note_number(bench, rt_irq_spurious(bench->kernel) - before);
    kernel_bench_note(bench, " ");
    kernel_bench_note_status(bench, rt_irq_attach(bench->kernel, RT_IRQ_LINES, note_line, bench));
    kernel_bench_note_status(bench, rt_irq_attach(bench->kernel, KERNEL_LINE, note_line, bench));
    kernel_bench_note_status(bench, rt_irq_attach(bench->kernel, KERNEL_LINE, note_line, bench));
    kernel_bench_note_status(bench, rt_irq_attach(bench->kernel, KERNEL_LINE, NULL, NULL));
    return kernel_bench_expect(bench, "1 EINVAL OK EBUSY OK ");
}
