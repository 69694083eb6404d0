/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of kernel_list.h that end the kernel: the text of the fault is the result. */
#include "kernel_bench.h"
#include "rtkernel/fault.h"
#include "rtkernel/fsm.h"
#include "rtkernel/heap.h"
#include "rtkernel/irq.h"
#include "rtkernel/mutex.h"
#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/task.h"
#include "rtkernel/timer.h"

static void raise_with(struct kernel_bench *bench, void (*handler)(void *arg, unsigned line))
{
    rt_irq_attach(bench->kernel, KERNEL_LINE, handler, bench);
    rt_irq_raise(bench->kernel, KERNEL_LINE);
}

static void take(void *arg, unsigned line)
{
    (void)line;
    rt_semaphore_take(((struct kernel_bench *)arg)->semaphore, RT_FOREVER);
}

static void take_in_interrupt(struct kernel_bench *bench)
{
    raise_with(bench, take);
}

static void receive(void *arg, unsigned line)
{
    uint8_t message[16];

    (void)line;
    rt_queue_receive(((struct kernel_bench *)arg)->queue, message, sizeof(message), 1);
}

static void receive_in_interrupt(struct kernel_bench *bench)
{
    raise_with(bench, receive);
}

static void sleep_masked(struct kernel_bench *bench)
{
    (void)rt_irq_mask(bench->kernel);
    kernel_bench_sleep(bench, 1);
}

static void exit_with_mutex(struct kernel_bench *bench)
{
    rt_mutex_lock(bench->mutex[0], RT_FOREVER);
    rt_task_exit(bench->kernel);
}

static void assertion(struct kernel_bench *bench)
{
    rt_assert(bench->kernel, bench->step == 0, "the step of time is not 0");
}

static void send_after_delete(struct kernel_bench *bench)
{
    rt_queue_delete(bench->queue);
    rt_queue_send(bench->queue, "x", 1, RT_FOREVER);
}

static void lock_after_delete(struct kernel_bench *bench)
{
    rt_mutex_delete(bench->mutex[1]);
    rt_mutex_lock(bench->mutex[1], RT_FOREVER);
}

static void fire_after_delete(struct kernel_bench *bench)
{
    rt_timer_start(bench->timer, bench->step, 0);
    rt_semaphore_delete(bench->semaphore);
    kernel_bench_sleep(bench, 100);
}

static void overrun(struct kernel_bench *bench)
{
    uint8_t *block = rt_heap_alloc(bench->kernel, RT_ARENA_FRAMEWORK, 13);

    block[13] = 0;
    rt_heap_free(bench->kernel, block);
}

static void free_twice(struct kernel_bench *bench)
{
    void *block = rt_heap_alloc(bench->kernel, RT_ARENA_FRAMEWORK, 13);

    rt_heap_free(bench->kernel, block);
    rt_heap_free(bench->kernel, block);
}

/* Two states; the first has no row for `back`. */
static const char *const state_names[] = {"HERE", "THERE"};
static const char *const event_names[] = {"go", "back"};
static const struct rt_fsm_row rows[] = {{0, 0, 1, NULL}, {1, 1, 0, NULL}};
static const struct rt_fsm_table table = {
    .name = "walk",
    .state_names = state_names,
    .event_names = event_names,
    .states = 2,
    .events = 2,
    .strict = RT_FSM_STRICT,
    .rows = rows,
    .row_count = 2,
};

static void undeclared_transition(struct kernel_bench *bench)
{
    struct rt_fsm fsm;

    rt_fsm_init(&fsm, bench->kernel, &table, NULL);
    rt_fsm_post(&fsm, 0, 0);
    rt_fsm_post(&fsm, 1, 0);
    rt_fsm_post(&fsm, 1, 0);
}

static void post_event(void *arg, unsigned line)
{
    struct kernel_bench *bench = arg;
    struct rt_fsm fsm;

    (void)line;
    rt_fsm_init(&fsm, bench->kernel, &table, NULL);
    rt_fsm_post(&fsm, 0, 0);
}

static void event_in_interrupt(struct kernel_bench *bench)
{
    raise_with(bench, post_event);
}

static void allocate(void *arg, unsigned line)
{
    (void)line;
    (void)rt_heap_alloc(((struct kernel_bench *)arg)->kernel, RT_ARENA_SYSTEM, 1);
}

static void allocate_in_interrupt(struct kernel_bench *bench)
{
    raise_with(bench, allocate);
}

const struct kernel_fault kernel_fault_list[] = {
    {"take_in_interrupt", take_in_interrupt, "rt_semaphore_take called in interrupt context", true},
    {"receive_in_interrupt", receive_in_interrupt, "rt_queue_receive called in interrupt context", true},
    {"sleep_masked", sleep_masked, "rt_task_sleep called in a critical section", false},
    {"exit_with_mutex", exit_with_mutex, "bench exits with a mutex", false},
    {"send_after_delete", send_after_delete, "rt_queue_send: the queue was deleted", false},
    {"lock_after_delete", lock_after_delete, "rt_mutex_lock: the mutex was deleted", false},
    {"fire_after_delete", fire_after_delete, "a timer fired: the semaphore was deleted", true},
    {"overrun", overrun, "rt_heap_free: the block was overrun", false},
    {"free_twice", free_twice, "rt_heap_free: the block was freed before", false},
    {"undeclared_transition", undeclared_transition, "walk: event back in state HERE", false},
    {"event_in_interrupt", event_in_interrupt, "rt_fsm_post called in interrupt context", true},
    {"allocate_in_interrupt", allocate_in_interrupt, "rt_heap_alloc called in interrupt context", true},
    {"assertion", assertion, "the step of time is not 0", false},
};
const unsigned kernel_fault_list_count = sizeof(kernel_fault_list) / sizeof(kernel_fault_list[0]);
