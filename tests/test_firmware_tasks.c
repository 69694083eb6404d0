/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware's tasks: that there are ten, that each does what it is named for, and what they report. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "fwrig.h"

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

/* The names and levels of docs/firmware.md. */
static void there_are_ten_tasks(void **state)
{
    static const struct {
        const char *name;
        unsigned level;
    } tasks[] = {{"intmgr", 1},  {"exeloop", 2},  {"server", 3},  {"callmgr", 4},
                 {"dartmgr", 4}, {"tunables", 5}, {"hostrpc", 5}, {"loadmon", 6}};
    const char *text = fwrig_report(*state, PR_REPORT_TASKS, 0x1800);
    unsigned lines = 0;

    assert_non_null(text);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 1 + 10); /* the columns' names, and ten tasks */
    assert_non_null(strstr(text, "\nidle "));
    assert_non_null(strstr(text, "\nterminator "));
    for (unsigned i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
        char name[32], state_name[32];
        const char *line;
        unsigned level;

        snprintf(name, sizeof(name), "\n%s ", tasks[i].name);
        line = strstr(text, name);
        assert_non_null(line);
        assert_int_equal(sscanf(line + 1, "%*s %31s %u", state_name, &level), 2);
        assert_int_equal(level, tasks[i].level);
        assert_string_equal(state_name, strcmp(tasks[i].name, "server") ? "WAITING" : "RUNNABLE");
    }
}

/* What a suspended task leaves undone, and does once it is resumed. */
struct job {
    const char *task;
    void (*begin)(struct fwrig *rig);
    bool (*done)(struct fwrig *rig);
};

static uint32_t slot; /* of the message under way */

static void post(struct fwrig *rig, enum pr_channel channel, const void *message, size_t bytes)
{
    slot = fwrig_cursor(rig, channel);
    memcpy(fwrig_memory(rig, FWRIG_POOL, bytes), message, bytes);
    fwrig_post(rig, channel, FWRIG_POOL, bytes, 0);
}

static void post_about(struct fwrig *rig, uint32_t id, uint32_t program, uint32_t process, const void *body,
                       size_t bytes)
{
    struct fwrig_command command = {
        .header = {.id = id, .size = (uint32_t)bytes, .program_id = program, .process_id = process}};

    if (bytes)
        memcpy(command.body, body, bytes);
    post(rig, PR_CHANNEL_IO, &command, sizeof(command.header) + bytes);
}

static void post_command(struct fwrig *rig, uint32_t id, uint32_t program, const void *body, size_t bytes)
{
    post_about(rig, id, program, program, body, bytes);
}

/* The control message under way has come back, with success. */
static bool answered(struct fwrig *rig)
{
    return fwrig_slot_returned(rig, PR_CHANNEL_IO, slot) &&
           PR_REPLY_STATUS(&fwrig_reply(rig)->header) == PR_STATUS_OK;
}

static void begin_call(struct fwrig *rig)
{
    union fwrig_call call;

    fwrig_call_make(&call, 1);
    post(rig, PR_CHANNEL_DATA_CHAIN_H2T, &call, PR_CALL_BYTES(2));
}

static bool call_pushed(struct fwrig *rig)
{
    return fwrig_pushes(rig) == 1 && fwrig_slot_returned(rig, PR_CHANNEL_DATA_CHAIN_H2T, slot);
}

static void begin_ping(struct fwrig *rig)
{
    post_command(rig, PR_CMD_PING, PR_NO_ID, NULL, 0);
}

static void begin_load(struct fwrig *rig)
{
    struct container_image image;
    struct pr_body_load load = {.container = FWRIG_CONTAINERS};

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    load.bytes = image.size;
    memcpy(fwrig_memory(rig, FWRIG_CONTAINERS, image.size), image.bytes, image.size);
    post_command(rig, PR_CMD_LOAD_PROGRAM, PR_NO_ID, &load, sizeof(load));
}

static void begin_premap(struct fwrig *rig)
{
    const struct pr_body_premap premap = {
        .operations = 1,
        .buffers = 1,
        .pool = PR_POOL_PREMAP,
        .buffer = {.valid = 1, .index = IMAGE_INPUT, .address = FWRIG_IN, .bytes = IMAGE_INPUT_BYTES}};

    post_command(rig, PR_CMD_PREMAP_BUFFER, 0, &premap, sizeof(premap));
}

static void begin_process(struct fwrig *rig)
{
    union fwrig_process process;

    fwrig_process_make(&process, 3);
    post_about(rig, PR_CMD_CREATE_PROCESS, 0, PR_NO_ID, &process, PR_PROCESS_BYTES(FWRIG_OWN));
}

static void begin_start(struct fwrig *rig)
{
    const struct pr_body_u32 one = {1};

    assert_int_equal(fwrig_control(rig, PR_CMD_STOP, &one, sizeof(one)), PR_STATUS_OK);
    fwrig_write(rig, PR_ENGINE_TM + PR_TM_TQ_EN, 0);
    post_command(rig, PR_CMD_START, PR_NO_ID, &one, sizeof(one));
}

static bool registers_loaded(struct fwrig *rig)
{
    return answered(rig) && fwrig_read(rig, PR_ENGINE_TM + PR_TM_TQ_EN) == PR_TM_TQ_EN_ON;
}

static void begin_line(struct fwrig *rig)
{
    const struct pr_body_u32 on = {1};

    assert_int_equal(fwrig_control(rig, PR_CMD_PRINT_ENABLE, &on, sizeof(on)), PR_STATUS_OK);
    post_command(rig, 0x7777, PR_NO_ID, NULL, 0);
}

static bool line_there(struct fwrig *rig)
{
    const char *line = fwrig_terminal(rig);

    return line && strstr(line, "0x7777");
}

static void begin_load_report(struct fwrig *rig)
{
    post_command(rig, PR_CMD_QUIESCE_STATE, PR_NO_ID, &(struct pr_body_quiesce){0},
                 sizeof(struct pr_body_quiesce));
}

static bool report_there(struct fwrig *rig)
{
    struct pr_load_report report;

    return fwrig_buffer(rig, &report) != 0;
}

/* The timeout interrupt is taken either way; the abort is what the interrupt manager drives. */
static void begin_timeout(struct fwrig *rig)
{
    begin_call(rig);
    fwrig_pass(rig, 2000000000);
}

static bool queue_aborted(struct fwrig *rig)
{
    return fwrig_aborted(rig) == 1u << 4;
}

/* Islands are switched by calls and by commands: one task does both, and none comes between. */
static void begin_gating(struct fwrig *rig)
{
    const struct pr_body_pmu pmu = {FWRIG_PMU};

    assert_int_equal(fwrig_control(rig, PR_CMD_SET_SNE_PMU_BASE2, &pmu, sizeof(pmu)), PR_STATUS_OK);
    post_command(rig, PR_CMD_SET_DYNAMIC_POWERGATE, PR_NO_ID, &(struct pr_body_u32){1},
                 sizeof(struct pr_body_u32));
}

static void begin_power(struct fwrig *rig)
{
    post_command(rig, PR_CMD_POWER_DEVICE_OFF, PR_NO_ID, &(struct pr_body_u32){PR_POWER_MCACHE},
                 sizeof(struct pr_body_u32));
}

static void each_task_does_what_it_is_named_for(void **state)
{
    static const struct job jobs[] = {
        {"exeloop", begin_call, call_pushed},     {"server", begin_ping, answered},
        {"callmgr", begin_load, answered},        {"dartmgr", begin_premap, answered},
        {"dartmgr", begin_process, answered},     {"tunables", begin_start, registers_loaded},
        {"hostrpc", begin_line, line_there},      {"loadmon", begin_load_report, report_there},
        {"intmgr", begin_timeout, queue_aborted}, {"exeloop", begin_gating, answered},
        {"exeloop", begin_power, answered},
    };

    for (unsigned i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        struct fwrig *rig = fwrig_create();

        fwrig_boot_started(rig);
        fwrig_load(rig);
        fwrig_suspend(rig, jobs[i].task);
        jobs[i].begin(rig);
        assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
        if (jobs[i].done(rig))
            fail_msg("job %u is done while %s is suspended", i, jobs[i].task);
        fwrig_resume(rig, jobs[i].task);
        if (!jobs[i].done(rig))
            fail_msg("job %u is not done after %s was resumed", i, jobs[i].task);
        fwrig_destroy(rig);
    }
    (void)state;
}

/* While one task is suspended, what the others do goes on. */
static void the_others_go_on(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;
    union fwrig_call call;

    fwrig_load(rig);
    fwrig_suspend(rig, "callmgr");
    fwrig_suspend(rig, "dartmgr");
    fwrig_suspend(rig, "tunables");
    fwrig_suspend(rig, "loadmon");
    fwrig_suspend(rig, "hostrpc");
    fwrig_suspend(rig, "intmgr");
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), PR_STATUS_OK);
    begin_load(rig);
    assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
    fwrig_call_make(&call, 7);
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_OK); /* a call needs the execution loop alone */
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, 7);
}

/* Every kind of object of the kernel's is in use. */
static void every_kind_of_object_is_used(void **state)
{
    const char *text = fwrig_report(*state, PR_REPORT_POOLS, 0x1800), *line = text;
    unsigned kinds = 0;

    assert_non_null(text);
    while ((line = strchr(line, '\n')) && line[1]) {
        unsigned total, available;
        char name[32];

        line++;
        assert_int_equal(sscanf(line, "%31s %u %u", name, &total, &available), 3);
        if (available >= total)
            fail_msg("no object of %s is in use", name);
        kinds++;
    }
    assert_int_equal(kinds, 7);
}

static void dispositions_are_counted(void **state)
{
    struct fwrig *rig = *state;
    union fwrig_call call;

    fwrig_load(rig);
    assert_int_equal(fwrig_counter(rig, "warned"), 0);
    fwrig_call_make(&call, 1);
    call.call.process_id = 5; /* not running */
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_NO_PROCESS);
    assert_int_equal(fwrig_counter(rig, "dropped"), 1);
    assert_int_equal(fwrig_counter(rig, "rejected"), 0);
    call.call.process_id = 0;
    call.call.priority = 8;
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fwrig_control(rig, 0x7777, NULL, 0), PR_STATUS_UNKNOWN_COMMAND);
    assert_int_equal(fwrig_counter(rig, "rejected"), 2);
    assert_int_equal(fwrig_counter(rig, "dropped"), 1);
    assert_int_equal(fwrig_counter(rig, "faulted"), 0);
    assert_int_equal(fwrig_counter(rig, "finished"), 0);
}

static void reports_end_with_a_whole_line(void **state)
{
    struct fwrig *rig = *state;
    char first[256];
    const char *text = fwrig_report(rig, PR_REPORT_ARENAS, 0x1800), *end;

    assert_non_null(text);
    end = strchr(text, '\n');
    assert_non_null(end);
    assert_true((size_t)(end - text) < sizeof(first));
    memcpy(first, text, (size_t)(end - text) + 1);
    first[end - text + 1] = '\0';
    /* Room for one line and a part of the next. */
    text = fwrig_report(rig, PR_REPORT_ARENAS, strlen(first) + 5);
    assert_non_null(text);
    assert_string_equal(text, first);
    text = fwrig_report(rig, PR_REPORT_ARENAS, 0);
    assert_non_null(text);
    assert_string_equal(text, "");
    assert_null(fwrig_report(rig, PR_REPORTS, 0x1800));
    assert_non_null(strstr(fwrig_log(rig), "report 5: there are 5"));
}

static uint32_t return_buffer(struct fwrig *rig, uint64_t address, uint32_t tag)
{
    struct {
        struct pr_command_header header;
        struct pr_body_buffer_return body;
    } command = {{.id = PR_CMD_CH_BUFFER_RETURN, .size = sizeof(command.body)},
                 {.address = address, .tag = tag}};

    assert_true(fwrig_send(rig, PR_CHANNEL_BUF_H2T, &command, sizeof(command), 0));
    return PR_REPLY_STATUS(&command.header);
}

static void quiesce(struct fwrig *rig)
{
    const struct pr_body_quiesce none = {0};

    assert_int_equal(fwrig_control(rig, PR_CMD_QUIESCE_STATE, &none, sizeof(none)), PR_STATUS_OK);
}

/* A call of 3 us in a span of 10 us; four buffers, then none until one is returned. */
static void load_is_reported(void **state)
{
    struct fwrig *rig = *state;
    struct fwrig_command get = {.header = {.id = PR_CMD_CPU_LOAD_GET,
                                           .size = sizeof(struct pr_load_report),
                                           .program_id = PR_NO_ID,
                                           .process_id = PR_NO_ID}};
    struct pr_body_time time = {.host_ns = 1000000};
    struct pr_load_report report;
    struct pr_program_event event;
    uint64_t buffer[4];
    union fwrig_call call;

    fwrig_load(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_SHOW, &time, sizeof(time)), PR_STATUS_OK);
    fwrig_call_make(&call, 1);
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_OK);
    fwrig_pass(rig, 3000);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    fwrig_pass(rig, 7000);
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &get, sizeof(get.header) + sizeof(report),
                           sizeof(get.header) + sizeof(report)));
    memcpy(&report, get.body, sizeof(report));
    assert_true(report.span_ns == 10000 && report.busy_ns == 3000 && report.calls == 1);
    quiesce(rig);
    buffer[0] = fwrig_buffer(rig, &report);
    assert_true(buffer[0] != 0);
    assert_int_equal(report.sequence, 0);
    assert_int_equal(report.lost, 0);
    assert_int_equal(report.time, 1000000 + 10000);
    assert_int_equal(report.span_ns, 10000);
    assert_int_equal(report.busy_ns, 3000);
    assert_int_equal(report.calls, 1);
    for (unsigned i = 1; i < 4; i++) {
        fwrig_pass(rig, 50);
        quiesce(rig);
        buffer[i] = fwrig_buffer(rig, &report);
        assert_true(buffer[i] && buffer[i] != buffer[i - 1]);
        assert_int_equal(report.sequence, i);
        assert_int_equal(report.span_ns, 50);
        assert_true(report.busy_ns == 0 && report.calls == 0);
    }
    quiesce(rig);
    quiesce(rig);
    assert_int_equal(fwrig_buffer(rig, &report), 0);
    assert_int_equal(return_buffer(rig, buffer[2] + 8, PR_BUFFER_LOAD_REPORT), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(return_buffer(rig, buffer[2], 9), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(return_buffer(rig, buffer[2], PR_BUFFER_LOAD_REPORT), PR_STATUS_OK);
    assert_int_equal(return_buffer(rig, buffer[2], PR_BUFFER_LOAD_REPORT), PR_STATUS_BAD_ARGUMENT);
    quiesce(rig);
    assert_int_equal(fwrig_buffer(rig, &report), buffer[2]);
    assert_int_equal(report.sequence, 4);
    assert_int_equal(report.lost, 2);
}

static void load_is_reported_after_so_many_calls(void **state)
{
    struct fwrig *rig = *state;
    struct pr_load_report report;
    struct pr_program_event event;
    union fwrig_call call;

    fwrig_load(rig);
    fwrig_call_make(&call, 1);
    for (unsigned i = 0; i < 4096; i++) {
        assert_int_equal(fwrig_buffer(rig, &report), 0);
        assert_int_equal(fwrig_call(rig, &call), PR_STATUS_OK);
        fwrig_pass(rig, 10);
        fwrig_retire(rig, 4, 0, true);
        fwrig_run(rig);
        assert_true(fwrig_event(rig, &event, true));
    }
    assert_true(fwrig_buffer(rig, &report) != 0);
    assert_int_equal(report.calls, 4096);
    assert_int_equal(report.busy_ns, 40960);
}

/* Commands of several tasks in one ring are done in their order: each needs the one before. */
static void commands_keep_their_order(void **state)
{
    struct fwrig *rig = *state;
    const uint32_t ids[] = {PR_CMD_CREATE_PROCESS, PR_CMD_TERMINATE_PROCESS, PR_CMD_UNLOAD_PROGRAM,
                            PR_CMD_PING};
    union fwrig_process process;

    fwrig_load(rig);
    fwrig_process_make(&process, 3);
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t bytes = i ? 0 : PR_PROCESS_BYTES(FWRIG_OWN);
        struct fwrig_command command = {
            .header = {.id = ids[i], .size = bytes, .program_id = 0, .process_id = i ? 1 : PR_NO_ID}};

        memcpy(command.body, &process, sizeof(process));
        memcpy(fwrig_memory(rig, FWRIG_POOL + 0x400ull * i, sizeof(command)), &command, sizeof(command));
        fwrig_post(rig, PR_CHANNEL_IO, FWRIG_POOL + 0x400ull * i, sizeof(command.header) + bytes, 0);
    }
    fwrig_run(rig);
    for (unsigned i = 0; i < 4; i++) {
        const struct pr_command_header *header =
            (const void *)fwrig_memory(rig, FWRIG_POOL + 0x400ull * i, sizeof(*header));

        /* process 0 of fwrig_load is still there: the program is busy */
        assert_int_equal(PR_REPLY_STATUS(header), i == 2 ? PR_STATUS_BUSY : PR_STATUS_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(there_are_ten_tasks),       T(each_task_does_what_it_is_named_for),
        T(the_others_go_on),          T(every_kind_of_object_is_used),
        T(dispositions_are_counted),  T(reports_end_with_a_whole_line),
        T(load_is_reported),          T(load_is_reported_after_so_many_calls),
        T(commands_keep_their_order),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
