/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that test_qemu.sh runs on qemu's virt board: the cases of kernel_list.h, with the lines that
 * test_kernel_list.c prints on the host, then the checks of the processor's port. Its status is 1 when any
 * of them failed.
 */
#include "bare/bare_board.h"
#include "bare/virt.h"
#include "bare_kernel_run.h"
#include "kernel_list.h"
#include "rtkernel/task.h"

#define STEP 1000000u /* of the list, in nanoseconds: longer than what a case computes between two moments */

struct job {
    struct kernel_bench bench;
    unsigned failures;
    int fault; /* a case of the second list, or -1 */
};

static void print_line(struct kernel_bench *bench, const char *line)
{
    (void)bench;
    bare_kernel_print("%s", line);
}

static void bench_task(void *arg)
{
    struct job *job = arg;

    if (job->fault < 0)
        job->failures = kernel_list_run(&job->bench);
    else
        kernel_list_fault(&job->bench, (unsigned)job->fault);
}

static void setup(struct rt_kernel *kernel, void *arg)
{
    struct job *job = arg;
    struct rt_task *task;

    job->bench = (struct kernel_bench){.kernel = kernel, .print = print_line, .arg = job, .step = STEP};
    rt_task_create(kernel, &task, "bench", 0, KERNEL_STACK, bench_task, job);
}

static unsigned run_list(void)
{
    static struct job job;

    job.fault = -1;
    job.failures = 0;
    if (bare_kernel_run(setup, &job) == BARE_KERNEL_IDLE)
        return job.failures;
    bare_kernel_print("the list was not finished: %s", bare_kernel_fault()->text);
    return 1;
}

static unsigned run_faults(void)
{
    static struct job job;
    unsigned failures = 0;

    for (unsigned i = 0; i < kernel_fault_list_count; i++) {
        job.fault = (int)i;
        if (bare_kernel_run(setup, &job) == BARE_KERNEL_FAULTED)
            bare_kernel_print("fault %u - %s: %s", i + 1, kernel_fault_list[i].name,
                              bare_kernel_fault()->text);
        else
            failures++;
    }
    return failures;
}

_Noreturn void bare_board_main(void)
{
    unsigned failures = run_list();

    failures += run_faults();
    failures += bare_kernel_check_processor();
    bare_virt_exit(failures != 0);
}
