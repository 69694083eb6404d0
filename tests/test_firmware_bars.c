/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that set BARs themselves: what the task manager latches, and which BARs a program leaves to them. */
#include "callrig.h"

#define BARS PR_EXE_PROCEDURE_CALL_WITH_BARS

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    fwrig_load(rig);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static uint32_t bar_of(const struct fwrig *rig, size_t push, uint32_t bar)
{
    return fwrig_push_at(rig, push)->file[PR_TQ_BAR1 / 4 + bar];
}

static void finish(struct fwrig *rig)
{
    struct pr_program_event event;

    callrig_retire(rig, 4, 0);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.status, PR_STATUS_OK);
    callrig_expect_free(rig);
}

static void a_bar_of_the_call_is_in_the_register(void **state)
{
    struct fwrig *rig = *state;
    struct callrig c;

    callrig_make(&c, BARS, 1);
    callrig_bar(&c, 4, 0x00c00000, IMAGE_OUTPUT_BYTES);
    callrig_bar(&c, 9, 0xdfff0000, IMAGE_SCRATCH_BYTES);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 1);
    for (uint32_t bar = 0; bar < PR_TQ_BARS; bar++) {
        const uint32_t expected = bar == 0   ? FWRIG_TEXT
                                  : bar == 1 ? FWRIG_KERNEL
                                  : bar == 4 ? 0x00c00000
                                  : bar == 5 ? FWRIG_IN
                                  : bar == 9 ? 0xdfff0000
                                             : 0;

        assert_int_equal(bar_of(rig, 0, bar), expected);
    }
    finish(rig);
}

/* It holds for its call: the next one has its buffers again. */
static void a_bar_ends_with_its_call(void **state)
{
    struct fwrig *rig = *state;
    struct callrig c;

    callrig_make(&c, BARS, 1);
    callrig_bar(&c, 4, 0x00c00000, IMAGE_OUTPUT_BYTES);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    finish(rig);
    callrig_make(&c, PR_EXE_PROCEDURE_CALL, 2);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(bar_of(rig, 1, 4), FWRIG_OUT);
    assert_int_equal(bar_of(rig, 1, 9), IMAGE_SCRATCH);
    finish(rig);
    callrig_make(&c, BARS, 3); /* a tail without bars */
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(bar_of(rig, 2, 4), FWRIG_OUT);
    finish(rig);
}

/* A refused call leaves nothing of its bars behind. */
static void a_refused_bar_is_not_kept(void **state)
{
    struct fwrig *rig = *state;
    struct callrig c;

    callrig_make(&c, BARS, 1);
    callrig_bar(&c, 4, 0x00c00000, IMAGE_OUTPUT_BYTES);
    callrig_bar(&c, 4, 0x00d00000, IMAGE_OUTPUT_BYTES);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    callrig_make(&c, PR_EXE_PROCEDURE_CALL, 2);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(bar_of(rig, 0, 4), FWRIG_OUT);
    finish(rig);
}

/* A buffer whose BAR is set needs no descriptor; the other one still does. */
static void a_bar_takes_the_place_of_a_buffer(void **state)
{
    struct fwrig *rig = *state;
    struct callrig c;

    callrig_make(&c, BARS, 1);
    c.head->call.buffers = c.buffers = 1; /* the input alone */
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    callrig_bar(&c, 4, 0x00c00000, IMAGE_OUTPUT_BYTES);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(bar_of(rig, 0, 4), 0x00c00000);
    assert_int_equal(bar_of(rig, 0, 5), FWRIG_IN);
    finish(rig);
    c.head->call.buffers = c.buffers = 0;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    callrig_bar(&c, 5, 0x00c10000, IMAGE_INPUT_BYTES);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(bar_of(rig, 1, 5), 0x00c10000);
    finish(rig);
}

/* The section names the BARs of operation 0 that a call may set; those of operation 1 it leaves out. */
static void a_program_names_the_bars_that_may_be_set(void **state)
{
    static const struct pr_program_bar bars[] = {{0, 5}, {0, 9}};
    struct fwrig *rig = *state;
    struct container_image image;
    struct callrig c;

    image_make_with(&image, FWRIG_TEXT, FWRIG_KERNEL, bars, 2);
    assert_int_equal(callrig_load(rig, &image), 1);
    for (uint32_t bar = 0; bar < PR_TQ_BARS; bar++)
        for (uint32_t procedure = 0; procedure < 2; procedure++) {
            const bool allowed = procedure == 0 && (bar == 5 || bar == 9);

            callrig_make(&c, BARS, 1);
            c.head->call.program_id = c.head->call.process_id = 1;
            c.head->call.procedure = procedure;
            callrig_bar(&c, bar, 0x00c00000, 0x4000);
            if (callrig_send(rig, &c) != (allowed ? PR_STATUS_OK : PR_STATUS_BAD_ARGUMENT))
                fail_msg("bar %u of procedure %u", bar, procedure);
            if (allowed) {
                assert_int_equal(bar_of(rig, fwrig_pushes(rig) - 1, bar), 0x00c00000);
                finish(rig);
            }
        }
    assert_int_equal(callrig_fw(rig)->broken[PR_RULE_BAR_ID], 2 * PR_TQ_BARS - 2);
}

/* Where the container has a wide BAR, the call's is a register all the same: its form is 32 bits. */
static void a_bar_of_the_call_is_not_wide(void **state)
{
    struct fwrig *rig = *state;
    struct container_image image;
    struct callrig c;

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    image.record[3].flags = PR_REBASE_WIDE; /* bar 4 of operation 0 */
    assert_int_equal(callrig_load(rig, &image), 1);
    callrig_make(&c, BARS, 1);
    c.head->call.program_id = c.head->call.process_id = 1;
    callrig_bar(&c, 4, 0x00c00000, IMAGE_OUTPUT_BYTES);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(callrig_fw(rig)->wide_bars[4], 0);
    assert_int_equal(bar_of(rig, 0, 4), 0x00c00000);
    finish(rig);
}

static void logs_the_call_and_its_bars(void **state)
{
    const struct pr_body_property on = {.property = 0x00a1, .value = 1};
    struct fwrig *rig = *state;
    struct callrig c;

    callrig_make(&c, BARS, 1);
    callrig_bar(&c, 4, 0x00c00000, IMAGE_OUTPUT_BYTES);
    callrig_bar(&c, 9, 0x00d00000, 0x5000);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_null(strstr(fwrig_log(rig), "PROC CALL"));
    assert_int_equal(fwrig_control(rig, PR_CMD_CH_PROPERTY_WRITE, &on, sizeof(on)), 0);
    fwrig_pass(rig, 77);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_non_null(strstr(fwrig_log(rig), "[EXELOOP] CMD=0x20c [PROC CALL WITH BARS] at 77 : ProgId=0 "
                                           "ProcId=0 Proc=0 Pri=4\n"));
    assert_non_null(
        strstr(fwrig_log(rig), "Bufs = 2 Priority = 4 CustomBars = 2 WaitEvents = 0 SignalEvents = 0\n"));
    assert_non_null(strstr(fwrig_log(rig), "bar[0]: type=1 cfg=1 barId=4 value=0xc00000 bufSize=8192\n"));
    assert_non_null(strstr(fwrig_log(rig), "bar[1]: type=1 cfg=1 barId=9 value=0xd00000 bufSize=20480\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(a_bar_of_the_call_is_in_the_register),
        T(a_bar_ends_with_its_call),
        T(a_refused_bar_is_not_kept),
        T(a_bar_takes_the_place_of_a_buffer),
        T(a_program_names_the_bars_that_may_be_set),
        T(a_bar_of_the_call_is_not_wide),
        T(logs_the_call_and_its_bars),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
