/* SPDX-License-Identifier: Apache-2.0 */
/* The scenarios of kernel_list.h on the host's port. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "kernel_list.h"
#include "rtkernel/task.h"
#include "rtport.h"

struct run {
    struct kernel_bench bench;
    unsigned failures, lines;
    int fault; /* a case of the second list, or -1 */
};

static void print_line(struct kernel_bench *bench, const char *line)
{
    struct run *run = bench->arg;

    printf("# %s\n", line);
    run->lines++;
}

static void bench_task(void *arg)
{
    struct run *run = arg;

    if (run->fault < 0)
        run->failures = kernel_list_run(&run->bench);
    else
        kernel_list_fault(&run->bench, (unsigned)run->fault);
}

static void setup(struct rt_kernel *kernel, void *arg)
{
    struct run *run = arg;
    struct rt_task *task;

    run->bench = (struct kernel_bench){.kernel = kernel, .print = print_line, .arg = run, .step = 1000};
    rt_task_create(kernel, &task, "bench", 0, KERNEL_STACK, bench_task, run);
}

static void every_case_passes(void **state)
{
    struct rt_port *port = rtport_create(KERNEL_CARVE_OUT, KERNEL_FRAMEWORK);
    struct run run = {.fault = -1};

    (void)state;
    assert_int_equal(rtport_start(port, setup, &run, RT_FOREVER), RTPORT_IDLE);
    assert_int_equal(run.lines, kernel_list_count);
    assert_int_equal(run.failures, 0);
    rtport_destroy(port);
}

static void every_fault_has_its_text(void **state)
{
    (void)state;
    for (unsigned i = 0; i < kernel_fault_list_count; i++) {
        struct rt_port *port = rtport_create(KERNEL_CARVE_OUT, KERNEL_FRAMEWORK);
        struct run run = {.fault = (int)i};

        assert_int_equal(rtport_start(port, setup, &run, RT_FOREVER), RTPORT_FAULTED);
        assert_string_equal(rtport_fault(port)->text, kernel_fault_list[i].text);
        assert_int_equal(rtport_fault(port)->in_interrupt, kernel_fault_list[i].in_interrupt);
        if (!kernel_fault_list[i].in_interrupt)
            assert_string_equal(rtport_fault(port)->task, "bench");
        printf("# fault %u - %s: %s\n", i + 1, kernel_fault_list[i].name, rtport_fault(port)->text);
        rtport_destroy(port);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_passes),
        cmocka_unit_test(every_fault_has_its_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
