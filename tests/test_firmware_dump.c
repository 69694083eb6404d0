/* SPDX-License-Identifier: Apache-2.0 */
/* The post-mortem dump: what is in each section, in which order, and that the firmware waits for the host. */
#include "support.h"

#include <string.h>

#include "fwrig.h"
#include "protocol/execution.h"
#include "rtkernel/fault.h"

#define HOST_OFFSET 5000000ull /* between the clocks */

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();
    const struct pr_body_time time = {.host_ns = HOST_OFFSET};

    *state = rig;
    fwrig_arguments(rig)->unknown_id_panics = 1;
    fwrig_boot_started(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_SHOW, &time, sizeof(time)), PR_STATUS_OK);
    fwrig_load(rig);
    fwrig_rang(rig);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static uint32_t call_with(struct fwrig *rig, uint32_t priority, uint64_t cookie)
{
    union fwrig_call call;

    fwrig_call_make(&call, cookie);
    call.call.priority = priority;
    return fwrig_call(rig, &call);
}

/* A message that the execution loop must not get. */
static void fail_by_assertion(struct fwrig *rig)
{
    union fwrig_call call;

    fwrig_call_make(&call, 1);
    call.call.head.id = 0x205;
    assert_int_equal(fwrig_call(rig, &call), FWRIG_LOST);
}

static union {
    uint8_t bytes[PR_DUMP_AREA_BYTES];
    struct pr_dump_exception exception;
    struct pr_dump_syndrome syndrome;
    struct pr_dump_registers registers;
    struct pr_dump_cache cache;
    struct pr_dump_restarts restarts;
    struct pr_dump_commands commands;
    struct pr_dump_task task;
    struct pr_dump_stack stack;
    struct pr_dump_engine engine;
    struct pr_dump_tasks tasks;
} dump;

static size_t take(struct fwrig *rig, enum pr_dump_section section)
{
    memset(&dump, 0xee, sizeof(dump));
    return fwrig_dump_take(rig, section, &dump);
}

/* A call that has ended, two on a queue and one that waits, a refused one, and a control command. */
static void an_assertion_is_dumped(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    assert_int_equal(call_with(rig, 4, 400), PR_STATUS_OK);
    fwrig_retire(rig, 4, 2, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    fwrig_pass(rig, 1000);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(call_with(rig, 5, 500 + i), PR_STATUS_OK);
    assert_int_equal(call_with(rig, 8, 1), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), PR_STATUS_OK);
    fwrig_set_error(rig, 0x123, 0x456);
    fwrig_pass(rig, 250);
    fwrig_rang(rig);
    fail_by_assertion(rig);

    assert_int_equal(take(rig, PR_DUMP_EXCEPTION), sizeof(dump.exception));
    assert_int_equal(dump.exception.fault_class, 4);
    assert_string_equal(dump.exception.class_name, "assertion");
    assert_string_equal(dump.exception.text, "Cmd 0x205 is not supported through ExeLoop cmd channel");
    assert_int_equal(dump.exception.time, 1250);
    assert_int_equal(dump.exception.host_time, HOST_OFFSET + 1250);
    assert_int_equal(take(rig, PR_DUMP_SYNDROME), 16);
    assert_true(dump.syndrome.far == 0 && dump.syndrome.esr == 0);
    assert_int_equal(take(rig, PR_DUMP_REGISTERS), sizeof(dump.registers));
    assert_int_equal(dump.registers.valid, 0);
    assert_int_equal(take(rig, PR_DUMP_CACHE), 56);
    assert_true(dump.cache.l2c_err_sts & PR_FABRIC_LINK);
    assert_true(dump.cache.pwr_dn_save >> 63);
    assert_int_equal(take(rig, PR_DUMP_RESTARTS), 8);
    assert_int_equal(dump.restarts.count, 0);

    (void)take(rig, PR_DUMP_COMMANDS);
    /*
     * START, MCACHE_SIZE_GET, the two of the endpoint, time, load, process; four calls; the refused one;
     * PING. The id that failed is no command.
     */
    assert_int_equal(dump.commands.total, 13);
    assert_int_equal(dump.commands.count, 13);
    assert_int_equal(dump.commands.command[0].id, PR_CMD_PING);
    assert_int_equal(dump.commands.command[0].channel, PR_CHANNEL_IO);
    assert_int_equal(dump.commands.command[0].status, PR_STATUS_OK);
    assert_int_equal(dump.commands.command[0].time, HOST_OFFSET + 1000);
    assert_int_equal(dump.commands.command[1].id, 0x204);
    assert_int_equal(dump.commands.command[1].status, PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(dump.commands.command[2].id, 0x204);
    assert_int_equal(dump.commands.command[2].channel, PR_CHANNEL_DATA_CHAIN_H2T);
    assert_int_equal(dump.commands.command[2].status, PR_DUMP_UNANSWERED);
    assert_true(dump.commands.command[2].program == 0 && dump.commands.command[2].process == 0);
    assert_int_equal(dump.commands.command[5].id, 0x204);
    assert_int_equal(dump.commands.command[5].status, PR_STATUS_TRANSLATION);
    assert_int_equal(dump.commands.command[12].id, PR_CMD_START);

    assert_int_equal(take(rig, PR_DUMP_TASK), sizeof(dump.task));
    assert_string_equal(dump.task.name, "exeloop");
    assert_int_equal(dump.task.in_interrupt, 0);
    assert_true(dump.task.thread < PR_HARDWARE_THREADS);
    (void)take(rig, PR_DUMP_STACK);

    (void)take(rig, PR_DUMP_ENGINE);
    assert_int_equal(dump.engine.tm_status & PR_TM_STATUS_IDLE, 0);
    assert_int_equal(dump.engine.error[0], 0x123);
    assert_int_equal(dump.engine.error[1], 0x456);
    assert_int_equal(dump.engine.state, PR_EXECUTION_EXEC);
    assert_int_equal(dump.engine.power, 3);
    assert_int_equal(dump.engine.count, 3);
    for (unsigned i = 0; i < 3; i++) {
        const struct pr_dump_call *call = &dump.engine.call[i];

        assert_int_equal(call->cookie, 500 + i);
        assert_int_equal(call->age_ns, 250);
        assert_int_equal(call->place, i < 2);
        assert_int_equal(call->network, i < 2 ? i + 2 : 0);
        assert_true(call->level == 5 && call->stream == 3 && call->procedure == 0);
        assert_int_equal(call->text, FWRIG_TEXT);
        assert_int_equal(call->descriptors, 1);
    }

    (void)take(rig, PR_DUMP_TASKS);
    assert_int_equal(dump.tasks.count, 10);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(4)), 0xdeadffffu);
    assert_true(fwrig_rang(rig) >> 31);
    assert_int_equal(fwrig_run(rig), FWRIG_FAULTED);
    assert_string_equal(fwrig_fault_text(rig), "Cmd 0x205 is not supported through ExeLoop cmd channel");
}

static void an_exception_has_registers(void **state)
{
    static const char *const names[] = {"non-maskable interrupt", "interrupt", "fast interrupt",
                                        "synchronous abort"};

    for (unsigned fault_class = 0; fault_class < 4; fault_class++) {
        struct rt_registers registers = {
            .sp = 0x1000, .pc = 0x2000, .pstate = 0x3c5, .esr = 0x96000010, .far = 0xdeadbeef};
        struct fwrig *rig = *state;

        for (unsigned i = 0; i < 31; i++)
            registers.x[i] = 100 + i;
        fwrig_boot_started(rig);
        fwrig_rang(rig);
        fwrig_except(rig, fault_class, &registers, "injected");
        (void)fwrig_control(rig, PR_CMD_PING, NULL, 0); /* the first read is the handler's */
        (void)take(rig, PR_DUMP_EXCEPTION);
        assert_int_equal(dump.exception.fault_class, fault_class);
        assert_string_equal(dump.exception.class_name, names[fault_class]);
        assert_string_equal(dump.exception.text, "injected");
        (void)take(rig, PR_DUMP_SYNDROME);
        assert_true(dump.syndrome.far == 0xdeadbeef && dump.syndrome.esr == 0x96000010);
        (void)take(rig, PR_DUMP_REGISTERS);
        assert_int_equal(dump.registers.valid, 1);
        for (unsigned i = 0; i < 31; i++)
            assert_int_equal(dump.registers.x[i], 100 + i);
        assert_true(dump.registers.sp == 0x1000 && dump.registers.pc == 0x2000);
        assert_int_equal(dump.registers.pstate, 0x3c5);
        for (unsigned section = PR_DUMP_CACHE; section < PR_DUMP_TASK; section++)
            (void)take(rig, (enum pr_dump_section)section);
        assert_int_equal(dump.commands.count <= 32, 1);
        (void)take(rig, PR_DUMP_TASK);
        assert_int_equal(dump.task.in_interrupt, 1);
        assert_int_equal(dump.task.line, FW_LINE_DOORBELL);
        assert_int_equal(fwrig_dump_drain(rig), FWRIG_FAULTED);
    }
}

/* Time, doorbells, other words and the answer to another section do not make it go on. */
static void the_firmware_waits_for_the_host(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_call call;

    fail_by_assertion(rig);
    fwrig_pass(rig, 100000000000ull);
    fwrig_call_make(&call, 2);
    assert_int_equal(fwrig_call(rig, &call), FWRIG_LOST);
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), FWRIG_LOST);
    fwrig_write(rig, PR_CTRL_SCRATCH(7), 0xacce0002u);
    assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
    fwrig_write(rig, PR_CTRL_SCRATCH(7), 1);
    assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(4)), 0xdead0001u);
    assert_int_equal(fwrig_dump_drain(rig), FWRIG_FAULTED);
    /* A reset at any time ends it, too. */
    fwrig_boot_started(rig);
    fwrig_rang(rig);
    fail_by_assertion(rig);
    (void)take(rig, PR_DUMP_EXCEPTION);
    fwrig_boot_started(rig);
    fwrig_load(rig);
}

static void the_ring_has_the_last_32(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    assert_int_equal(call_with(rig, 4, 1), PR_STATUS_OK);
    for (unsigned i = 0; i < 40; i++)
        assert_int_equal(fwrig_control(rig, i % 2 ? PR_CMD_PING : PR_CMD_BUILDINFO, NULL, 0), PR_STATUS_OK);
    /* The call ends when its place is taken: no other entry is changed by that. */
    fwrig_retire(rig, 4, 2, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.status, PR_STATUS_TRANSLATION);
    fwrig_rang(rig);
    fail_by_assertion(rig);
    for (unsigned section = 1; section <= PR_DUMP_COMMANDS; section++)
        (void)take(rig, (enum pr_dump_section)section);
    assert_int_equal(dump.commands.count, 32);
    assert_int_equal(dump.commands.total, 7 + 1 + 40);
    for (unsigned i = 0; i < 32; i++) {
        assert_int_equal(dump.commands.command[i].id, i % 2 ? PR_CMD_BUILDINFO : PR_CMD_PING);
        assert_int_equal(dump.commands.command[i].status, PR_STATUS_OK);
    }
    assert_int_equal(fwrig_dump_drain(rig), FWRIG_FAULTED);
}

/* The cache error that is the fault stays in its register, and does not end the dump. */
static void an_uncorrectable_error_is_dumped(void **state)
{
    struct fwrig *rig = *state;

    fwrig_uncorrectable(rig);
    fwrig_post(rig, PR_CHANNEL_IO, FWRIG_POOL, 24, 0);
    assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
    (void)take(rig, PR_DUMP_EXCEPTION);
    assert_string_equal(dump.exception.text, "Uncorrectable L2C error overflow");
    (void)take(rig, PR_DUMP_SYNDROME);
    (void)take(rig, PR_DUMP_REGISTERS);
    (void)take(rig, PR_DUMP_CACHE);
    assert_true(dump.cache.l2c_err_sts & PR_FABRIC_UNCORRECTABLE);
    assert_int_equal(fwrig_dump_drain(rig), FWRIG_FAULTED);
}

/* A doorbell that is rejected for good does not keep the sections from being taken. */
static void a_rejected_doorbell_does_not_end_the_dump(void **state)
{
    struct fwrig *rig = *state;

    fwrig_reject(rig, 8);
    fail_by_assertion(rig);
    assert_int_equal(fwrig_rang(rig), 0);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(4)), 0xdead0001u);
    fwrig_write(rig, PR_CTRL_SCRATCH(7), 0xacce0001u);
    fwrig_run(rig);
    (void)take(rig, PR_DUMP_SYNDROME);
    assert_int_equal(fwrig_dump_drain(rig), FWRIG_FAULTED);
}

/* The host has taken the memory away, or never gave it: the log is all there is. */
static void without_an_area_there_is_no_dump(void **state)
{
    const struct rt_registers registers = {0};
    struct fwrig *rig = *state;
    union fwrig_call call;

    fwrig_hole(rig, FWRIG_HEAP, PR_EXTRA_HEAP_BYTES);
    fwrig_call_make(&call, 1);
    call.call.head.id = 0x205;
    (void)fwrig_call(rig, &call);
    assert_int_equal(fwrig_run(rig), FWRIG_FAULTED);
    assert_non_null(strstr(fwrig_log(rig), "the dump ends at section 1: its area is not mapped"));
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(4)), 0);
    fwrig_hole(rig, 0, 0);
    /* In the boot code, once there is a kernel: the wait for the third handshake reads scratch 3. */
    fwrig_enter(rig);
    fwrig_write(rig, PR_CTRL_SCRATCH(0), FWRIG_ARGS);
    fwrig_write(rig, PR_CTRL_SCRATCH(1), 0);
    fwrig_write(rig, PR_CTRL_SCRATCH(7), PR_HANDSHAKE_GO);
    fwrig_run(rig);
    fwrig_except(rig, RT_FAULT_SYNC, &registers, "early");
    fwrig_write(rig, PR_CTRL_SCRATCH(3), PR_HANDSHAKE_WAKE);
    assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(4)), 0xdead0001u); /* the surfaces are mapped by then */
    fwrig_rang(rig);
    for (unsigned section = 1; section <= PR_DUMP_SECTION_COUNT; section++) {
        fwrig_write(rig, PR_CTRL_SCRATCH(7), 0xacce0000u | section);
        fwrig_run(rig);
    }
    assert_int_equal(fwrig_run(rig), FWRIG_FAULTED);
}

/* A fault inside the dump goes to the port, with the first fault. */
static void a_second_fault_ends_the_dump(void **state)
{
    const struct rt_registers registers = {0};
    struct fwrig *rig = *state;

    fail_by_assertion(rig);
    (void)take(rig, PR_DUMP_EXCEPTION);
    fwrig_except(rig, RT_FAULT_SYNC, &registers, "second");
    fwrig_write(rig, PR_CTRL_SCRATCH(7), 0xacce0002u);
    assert_int_equal(fwrig_run(rig), FWRIG_FAULTED);
    assert_string_equal(fwrig_fault_text(rig), "Cmd 0x205 is not supported through ExeLoop cmd channel");
    assert_int_equal(fwrig_read(rig, PR_CTRL_SCRATCH(4)), 0xdead0002u);
}

/* A thousand faults, each dumped and booted again: warm boots count them, and keep the ring. */
static void faults_are_recovered_from_a_thousand_times(void **state)
{
    struct fwrig *rig = *state;

    fwrig_select_warm(rig, true);
    for (unsigned i = 0; i < 1000; i++) {
        fail_by_assertion(rig);
        for (unsigned section = 1; section <= PR_DUMP_RESTARTS; section++)
            (void)take(rig, (enum pr_dump_section)section);
        assert_int_equal(dump.restarts.count, i);
        (void)take(rig, PR_DUMP_COMMANDS);
        assert_int_equal(dump.commands.total, 7 + 4 * i);
        assert_int_equal(fwrig_dump_drain(rig), FWRIG_FAULTED);
        fwrig_boot_started(rig);
        fwrig_rang(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(an_assertion_is_dumped),
        T(an_exception_has_registers),
        T(the_firmware_waits_for_the_host),
        T(the_ring_has_the_last_32),
        T(an_uncorrectable_error_is_dumped),
        T(a_rejected_doorbell_does_not_end_the_dump),
        T(without_an_area_there_is_no_dump),
        T(a_second_fault_ends_the_dump),
        T(faults_are_recovered_from_a_thousand_times),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
