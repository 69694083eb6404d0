/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of kernel_list.h that end the kernel: the text of the fault is the result. */
#include "kernel_bench.h"
#include "rtkernel/fault.h"
#include "rtkernel/irq.h"
#include "rtkernel/mutex.h"
#include "rtkernel/port.h"
#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/task.h"

static void raise_with(struct kernel_bench *bench, void (*handler)(void *arg, unsigned line))
{
    const uint32_t previous = rt_irq_mask(bench->kernel);

    rt_irq_attach(bench->kernel, KERNEL_LINE, handler, bench);
    rt_port_irq_raise(rt_kernel_port(bench->kernel), KERNEL_LINE);
    rt_irq_restore(bench->kernel, previous);
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

const struct kernel_fault kernel_fault_list[] = {
    {"take_in_interrupt", take_in_interrupt, "rt_semaphore_take called in interrupt context", true},
    {"receive_in_interrupt", receive_in_interrupt, "rt_queue_receive called in interrupt context", true},
    {"sleep_masked", sleep_masked, "rt_task_sleep called in a critical section", false},
    {"exit_with_mutex", exit_with_mutex, "bench exits with a mutex", false},
    {"assertion", assertion, "the step of time is not 0", false},
};
const unsigned kernel_fault_list_count = sizeof(kernel_fault_list) / sizeof(kernel_fault_list[0]);
