/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a descriptor may cost the host. No buffer is mapped, so a task that is let in ends with a fault, and
 * one that would keep the host busy for minutes ends before that, with a limit.
 */
#include "taskrig.h"

#include "protocol/problem.h"

static uint32_t outcome(uint32_t numerics, const struct step *step)
{
    struct ane_machine_config config = {
        .size = sizeof(config), .page_table = ANE_PAGE_TABLE_SEED, .numerics = numerics};
    static struct test_program program;
    struct bare_request request;
    struct ane_machine *machine;
    struct bare bare;
    struct ane_machine_problem problem = {.size = sizeof(problem)};
    uint32_t kind;

    taskrig_assemble(&program, step, 1);
    assert_int_equal(ane_machine_create(&config, &machine), 0);
    bare_start(&bare, machine, 64);
    request = bare_load(&bare, program.bytes, program.size, 0, program.first_words, program.count, 4);
    request.bar[4] = request.bar[5] = 0x20000000;
    assert_false(bare_run(&bare, &request));
    assert_int_equal(ane_machine_problem(machine, &problem), 0);
    kind = problem.kind;
    ane_machine_destroy(machine);
    return kind;
}

static const struct spot surface = {.type = BY_DMA, .bar = 5, .row = 0x40, .plane = 0x40, .group = 0x400000};
/* Channels beside each other: the result of many groups fits the address space. */
static const struct spot turned = {.type = BY_DMA, .bar = 4, .row = 0x40, .plane = 0x40, .group = 0x20000};

static struct step task_of(uint32_t w, uint32_t h, uint32_t cin, uint32_t cout, uint32_t groups,
                           const char *mac)
{
    return (struct step){.w = w,
                         .h = h,
                         .cin = cin,
                         .cout = cout,
                         .groups = groups,
                         .src = surface,
                         .dst = turned,
                         .mac = mac,
                         .cfg = "OutTranspose=1"};
}

/* The largest of 2^16 channels for each of 2^16: one element at a time. */
static void folds_of_single_elements(void **state)
{
    struct step step = task_of(1, 1, 65536, 65536, 1, "OpMode=3 KernelMode=1");

    (void)state;
    assert_int_equal(outcome(ANE_NUMERICS_M1, &step), PR_PROBLEM_LIMIT);
    step.cout = 1024;
    assert_int_equal(outcome(ANE_NUMERICS_M1, &step), PR_PROBLEM_TRANSLATION);
}

/* Windows of channels of their own, each of one element. */
static void windows_of_single_elements(void **state)
{
    struct step step = task_of(1, 1, 65536, 65536, 8191, "KernelMode=1");

    (void)state;
    step.group_cfg = DEPTHWISE;
    step.conv = "Kw=13 Kh=29 Sx=1 Sy=1";
    assert_int_equal(outcome(ANE_NUMERICS_M1, &step), PR_PROBLEM_LIMIT);
    step.groups = 8;
    assert_int_equal(outcome(ANE_NUMERICS_M1, &step), PR_PROBLEM_TRANSLATION);
}

/* Sums of products that `m1-exact` makes one by one, and the others do not. */
static void exact_sums(void **state)
{
    struct step step = task_of(64, 64, 4096, 4096, 1, "KernelMode=1");

    (void)state;
    step.dst.row = 0x100000;
    step.dst.plane = 0x2000;
    assert_int_equal(outcome(ANE_NUMERICS_M1_EXACT, &step), PR_PROBLEM_LIMIT);
    assert_int_equal(outcome(ANE_NUMERICS_M1, &step), PR_PROBLEM_TRANSLATION);
    step.cout = 64;
    assert_int_equal(outcome(ANE_NUMERICS_M1_EXACT, &step), PR_PROBLEM_TRANSLATION);
}

/* Weights that are read for one output each. */
static void single_outputs(void **state)
{
    struct step step = task_of(1, 1, 4096, 4096, 8191, "KernelMode=1");

    (void)state;
    assert_int_equal(outcome(ANE_NUMERICS_M1, &step), PR_PROBLEM_LIMIT);
    step.groups = 64;
    assert_int_equal(outcome(ANE_NUMERICS_M1, &step), PR_PROBLEM_TRANSLATION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_of_single_elements),
        cmocka_unit_test(windows_of_single_elements),
        cmocka_unit_test(exact_sums),
        cmocka_unit_test(single_outputs),
    };

    return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}
