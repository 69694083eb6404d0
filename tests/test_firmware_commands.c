/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control commands that set or ask one thing each: what they change is seen by another command, a register, a
 * report or the log, and what is malformed is refused and counted, with the firmware as it was.
 */
#include "support.h"

#include <string.h>

#include "fwrig.h"
#include "protocol/command_class.h"
#include "protocol/control_bodies.h"
#include "protocol/property.h"

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

static uint32_t word(struct fwrig *rig, uint32_t id, uint32_t value)
{
    return fwrig_control(rig, id, &value, sizeof(value));
}

static uint32_t send_header(struct fwrig *rig, enum pr_channel channel, struct pr_command_header header)
{
    struct fwrig_command command = {.header = header};

    assert_true(fwrig_send(rig, channel, &command, sizeof(header) + header.size, 0));
    return PR_REPLY_STATUS(&command.header);
}

/* A command without a body about a program and a process. */
static uint32_t about(struct fwrig *rig, uint32_t id, uint32_t program, uint32_t process)
{
    return send_header(rig, PR_CHANNEL_IO,
                       (struct pr_command_header){.id = id, .program_id = program, .process_id = process});
}

static const uint32_t *reply_words(struct fwrig *rig)
{
    return (const void *)fwrig_reply(rig)->body;
}

static void expect_log(struct fwrig *rig, const char *text)
{
    if (!strstr(fwrig_log(rig), text))
        fail_msg("the log does not say \"%s\":\n%s", text, fwrig_log(rig));
}

static void run_call(struct fwrig *rig, uint32_t priority)
{
    struct pr_program_event event;
    union fwrig_call call;

    fwrig_call_make(&call, 1);
    call.call.priority = priority;
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_OK);
    fwrig_retire(rig, priority, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
}

/* The register says the same; 24 MHz and pages of 16 KiB are the chip's. */
static void platform_is_that_of_the_registers(void **state)
{
    struct fwrig *rig = *state;
    const uint32_t room[4] = {0};
    const uint32_t *words = reply_words(rig);

    assert_int_equal(fwrig_control(rig, PR_CMD_PLATFORM_INFO, room, sizeof(room)), PR_STATUS_OK);
    assert_int_equal(words[0], fwrig_read(rig, PR_CTRL_CHIP_REVISION));
    assert_int_equal(words[1], 1);
    assert_int_equal(words[2], 24000000);
    assert_int_equal(words[3], 0x4000);
}

static struct pr_body_config_ext config(struct fwrig *rig)
{
    struct pr_body_config_ext ext = {0};

    assert_int_equal(fwrig_control(rig, PR_CMD_CONFIG_GET_EXT, &ext, sizeof(ext)), PR_STATUS_OK);
    memcpy(&ext, fwrig_reply(rig)->body, sizeof(ext));
    return ext;
}

static void config_shows_what_was_set(void **state)
{
    struct fwrig *rig = *state;
    struct pr_body_config_ext ext = config(rig);

    assert_true(ext.timebase_hz == 24000000 && ext.engines == 1 && ext.protocol_version == 0x90511);
    assert_true(ext.run_mode == 0 && ext.dsid == 0xffffffff && ext.rpc == 1 && ext.profiling == 0);
    assert_int_equal(word(rig, PR_CMD_FW_RUN_MODE, 1), PR_STATUS_OK);
    assert_int_equal(word(rig, PR_CMD_DSID_SET, 77), PR_STATUS_OK);
    assert_int_equal(word(rig, PR_CMD_RPC_ENABLE, 0), PR_STATUS_OK);
    assert_int_equal(word(rig, PR_CMD_SET_SNE_RPC_CHECK_CMD, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_START, NULL, 0), PR_STATUS_OK);
    ext = config(rig);
    assert_true(ext.run_mode == 1 && ext.dsid == 77 && ext.rpc == 2 && ext.profiling == 1);
}

static void the_run_mode_is_reported(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(fwrig_counter(rig, "run-mode"), 0);
    assert_int_equal(word(rig, PR_CMD_FW_RUN_MODE, 1), PR_STATUS_OK);
    assert_int_equal(word(rig, PR_CMD_FW_RUN_MODE, 2), PR_STATUS_BAD_ARGUMENT);
    expect_log(rig, "run mode 2 is refused: it must be below 2");
    assert_int_equal(fwrig_counter(rig, "run-mode"), 1);
}

static uint32_t property(struct fwrig *rig, uint32_t id, uint32_t channel, uint32_t number, uint32_t value)
{
    const struct pr_body_property body = {channel, number, value};

    return fwrig_control(rig, id, &body, sizeof(body));
}

/* Command facts 4.3: each property with values inside and outside its bounds. */
static void properties_are_kept_within_their_bounds(void **state)
{
    static const struct {
        uint32_t number, good, bad;
    } rows[] = {{0x00a1, 3, 2},           {0x00a1, 1, 4}, {0x00a1, 1, 32},         {0x10a4, 1, 2},
                {0x10a6, 1, 0},           {0x10aa, 1, 2}, {0x10aa, 1, 0xffffffff}, {0x1803, 0xffff, 0x10000},
                {0x1804, 0xfffe, 0x10000}};
    struct fwrig *rig = *state;

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(property(rig, PR_CMD_CH_PROPERTY_WRITE, 0, rows[i].number, rows[i].good), 0);
        if (property(rig, PR_CMD_CH_PROPERTY_WRITE, 0, rows[i].number, rows[i].bad) != PR_STATUS_BAD_ARGUMENT)
            fail_msg("property 0x%x = 0x%x", rows[i].number, rows[i].bad);
        assert_int_equal(property(rig, PR_CMD_CH_PROPERTY_READ, 0, rows[i].number, 0x55), PR_STATUS_OK);
        assert_int_equal(reply_words(rig)[2], rows[i].good);
    }
    expect_log(rig, "property 0xa1 = 0x2 is refused: procedure-call log level is 0, 1 or 3");
    /* Unknown ones: written without an error and not kept, so there is nothing to read. */
    assert_int_equal(property(rig, PR_CMD_CH_PROPERTY_WRITE, 0, 0x10a3, 1), PR_STATUS_OK);
    expect_log(rig, "property 0x10a3 = 0x1 is not kept: its meaning among those of programs is not known");
    assert_int_equal(property(rig, PR_CMD_CH_PROPERTY_WRITE, 0, 0x110a4, 1), PR_STATUS_OK);
    expect_log(rig, "property 0x110a4 = 0x1 is not kept: its meaning is not known");
    assert_int_equal(property(rig, PR_CMD_CH_PROPERTY_READ, 0, 0x10a3, 0), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(property(rig, PR_CMD_CH_PROPERTY_READ, 8, 0x10a4, 0), PR_STATUS_BAD_ARGUMENT);
    expect_log(rig, "property 0x10a4 of channel 8: there are 8 channels");
}

static unsigned count_calls_logged(struct fwrig *rig)
{
    unsigned count = 0;

    for (const char *at = fwrig_log(rig); (at = strstr(at, "[PROC CALL]")); at++)
        count++;
    return count;
}

static void trace_enable_sets_the_call_log(void **state)
{
    struct fwrig *rig = *state;

    fwrig_load(rig);
    run_call(rig, 4);
    assert_int_equal(count_calls_logged(rig), 0);
    assert_int_equal(word(rig, PR_CMD_TRACE_ENABLE, 3), PR_STATUS_OK);
    run_call(rig, 4);
    assert_int_equal(count_calls_logged(rig), 1);
    assert_int_equal(property(rig, PR_CMD_CH_PROPERTY_READ, 0, 0x00a1, 0), PR_STATUS_OK);
    assert_int_equal(reply_words(rig)[2], 3);
    assert_int_equal(fwrig_counter(rig, "call-log"), 3);
    assert_int_equal(word(rig, PR_CMD_TRACE_ENABLE, 2), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(word(rig, PR_CMD_TRACE_ENABLE, 0), PR_STATUS_OK);
    run_call(rig, 4);
    assert_int_equal(count_calls_logged(rig), 1);
}

static unsigned drain_terminal(struct fwrig *rig, const char *text)
{
    unsigned found = 0;
    const char *line;

    while ((line = fwrig_terminal(rig)))
        found += strstr(line, text) != NULL;
    return found;
}

static void rpc_enable_stops_and_starts_the_lines(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(word(rig, PR_CMD_PRINT_ENABLE, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, 0x7777, NULL, 0), PR_STATUS_UNKNOWN_COMMAND);
    assert_int_equal(drain_terminal(rig, "0x7777"), 1);
    assert_int_equal(word(rig, PR_CMD_RPC_ENABLE, 0), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, 0x7778, NULL, 0), PR_STATUS_UNKNOWN_COMMAND);
    assert_int_equal(drain_terminal(rig, ""), 0);
    expect_log(rig, "0x7778");
    assert_int_equal(word(rig, PR_CMD_RPC_ENABLE, 2), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(word(rig, PR_CMD_RPC_ENABLE, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, 0x7779, NULL, 0), PR_STATUS_UNKNOWN_COMMAND);
    assert_int_equal(drain_terminal(rig, "0x7779"), 1);
}

static uint32_t return_buffer(struct fwrig *rig, uint64_t address)
{
    struct {
        struct pr_command_header header;
        struct pr_body_buffer_return body;
    } command = {{.id = PR_CMD_CH_BUFFER_RETURN, .size = sizeof(command.body)},
                 {.address = address, .tag = PR_BUFFER_LOAD_REPORT}};

    assert_true(fwrig_send(rig, PR_CHANNEL_BUF_H2T, &command, sizeof(command), 0));
    return PR_REPLY_STATUS(&command.header);
}

static void rpc_check_logs_commands_of_buf_h2t(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(word(rig, PR_CMD_PRINT_ENABLE, 1), PR_STATUS_OK);
    assert_int_equal(return_buffer(rig, 1), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(drain_terminal(rig, "RPC check"), 0);
    assert_int_equal(word(rig, PR_CMD_SET_SNE_RPC_CHECK_CMD, 1), PR_STATUS_OK);
    assert_int_equal(return_buffer(rig, 1), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(drain_terminal(rig, "RPC check: CMD = 0x1c [CH_BUFFER_RETURN], 0x10 bytes: "), 1);
    assert_int_equal(word(rig, PR_CMD_SET_SNE_RPC_CHECK_CMD, 3), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(word(rig, PR_CMD_SET_SNE_RPC_CHECK_CMD, 0), PR_STATUS_OK);
    assert_int_equal(return_buffer(rig, 1), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(drain_terminal(rig, "RPC check:"), 0);
}

static void a_profile_counts_time_and_calls(void **state)
{
    struct fwrig *rig = *state;
    struct pr_body_profile profile = {0};

    fwrig_load(rig);
    run_call(rig, 4);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_STOP, &profile, sizeof(profile)),
                     PR_STATUS_WRONG_STATE);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_START, NULL, 0), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_START, NULL, 0), PR_STATUS_WRONG_STATE);
    fwrig_pass(rig, 700);
    run_call(rig, 4);
    run_call(rig, 2);
    fwrig_pass(rig, 300);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_STOP, &profile, sizeof(profile)), PR_STATUS_OK);
    memcpy(&profile, fwrig_reply(rig)->body, sizeof(profile));
    assert_int_equal(profile.span_ns, 1000);
    assert_int_equal(profile.calls, 2);
}

static void boot_mode_and_restarts_are_reported(void **state)
{
    struct fwrig *rig = *state;
    const uint32_t room[2] = {9, 9};

    assert_int_equal(fwrig_control(rig, PR_CMD_BOOT, room, sizeof(room)), PR_STATUS_OK);
    assert_true(reply_words(rig)[0] == 0 && reply_words(rig)[1] == 0);
    fwrig_select_warm(rig, true);
    fwrig_boot_started(rig);
    fwrig_boot_started(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_BOOT, room, sizeof(room)), PR_STATUS_OK);
    assert_true(reply_words(rig)[0] == 1 && reply_words(rig)[1] == 2);
}

static uint32_t data_check(struct fwrig *rig, enum pr_channel channel, uint32_t magic, uint32_t bytes,
                           const char *data)
{
    struct fwrig_command command = {
        .header = {.id = PR_CMD_DEBUG_COMMAND_DATA_CHECK, .size = 16 + (uint32_t)strlen(data)}};

    memcpy(command.body, &magic, 4);
    memcpy(command.body + 4, &bytes, 4);
    memcpy(command.body + 16, data, strlen(data));
    assert_true(fwrig_send(rig, channel, &command, sizeof(command.header) + command.header.size, 0));
    return PR_REPLY_STATUS(&command.header);
}

/* The checksums are from the published test vectors of FNV-1a, 32 bits. */
static void data_is_checked(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(data_check(rig, PR_CHANNEL_IO, 0x55aa55aa, 6, "foobar"), PR_STATUS_OK);
    assert_int_equal(reply_words(rig)[2], 0xbf9cf968);
    assert_int_equal(data_check(rig, PR_CHANNEL_DEBUG, 0x55aa55aa, 1, "a"), PR_STATUS_OK);
    assert_int_equal(reply_words(rig)[2], 0xe40c292c);
    assert_int_equal(data_check(rig, PR_CHANNEL_IO, 0x55aa55aa, 0, ""), PR_STATUS_OK);
    assert_int_equal(reply_words(rig)[2], 0x811c9dc5);
    assert_int_equal(data_check(rig, PR_CHANNEL_IO, 0x55aa55ab, 1, "a"), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(data_check(rig, PR_CHANNEL_IO, 0x55aa55aa, 0x800001, "a"), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(data_check(rig, PR_CHANNEL_IO, 0x55aa55aa, 2, "a"), PR_STATUS_BAD_SIZE);
    assert_int_equal(data_check(rig, PR_CHANNEL_IO, 0x55aa55aa, 0, "a"), PR_STATUS_BAD_SIZE);
}

static uint32_t priority_register(unsigned queue)
{
    return PR_ENGINE_TQ + queue * PR_TQ_STRIDE + PR_TQ_PRTY;
}

static uint32_t load_registers(struct fwrig *rig, uint32_t count, const uint32_t *rows, size_t words)
{
    uint32_t body[2 + 8] = {count};

    memcpy(body + 2, rows, words * 4);
    return fwrig_control(rig, PR_CMD_REG_FILE_LOAD, body, 8 + words * 4);
}

static void a_register_file_reaches_the_queues(void **state)
{
    struct fwrig *rig = *state;
    const uint32_t rows[] = {priority_register(2), 9, priority_register(7), 20};
    const uint32_t bad[][4] = {{priority_register(2), 5, priority_register(7), 0},
                               {priority_register(2), 5, priority_register(7), 32},
                               {priority_register(2), 5, PR_ENGINE_TM + PR_TM_TQ_EN, 0},
                               {priority_register(2), 5, priority_register(8), 5},
                               {priority_register(2), 5, 0, 5}};
    const struct pr_body_pmu pmu = {FWRIG_PMU};

    assert_int_equal(load_registers(rig, 2, rows, 4), PR_STATUS_OK);
    assert_int_equal(fwrig_read(rig, priority_register(2)), 9);
    assert_int_equal(fwrig_read(rig, priority_register(7)), 20);
    assert_int_equal(fwrig_read(rig, priority_register(6)), 30);
    /* All or none. */
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(load_registers(rig, 2, bad[i], 4), PR_STATUS_BAD_ARGUMENT);
        assert_int_equal(fwrig_read(rig, priority_register(2)), 9);
    }
    assert_int_equal(load_registers(rig, 1, rows, 4), PR_STATUS_BAD_SIZE);
    assert_int_equal(load_registers(rig, 3, rows, 4), PR_STATUS_BAD_SIZE);
    assert_int_equal(load_registers(rig, 0x20000000, rows, 0), PR_STATUS_BAD_SIZE);
    /* Islands that lose power get them again. */
    assert_int_equal(fwrig_control(rig, PR_CMD_SET_SNE_PMU_BASE2, &pmu, sizeof(pmu)), PR_STATUS_OK);
    assert_int_equal(word(rig, PR_CMD_POWER_DEVICE_OFF, PR_POWER_ISLANDS), PR_STATUS_OK);
    fwrig_write(rig, priority_register(2), 0);
    assert_int_equal(load_registers(rig, 1, (const uint32_t[]){priority_register(3), 11}, 2), PR_STATUS_OK);
    assert_int_equal(fwrig_read(rig, priority_register(3)), 4); /* it is off */
    assert_int_equal(word(rig, PR_CMD_POWER_DEVICE_ON, PR_POWER_ISLANDS), PR_STATUS_OK);
    assert_int_equal(fwrig_read(rig, priority_register(2)), 9);
    assert_int_equal(fwrig_read(rig, priority_register(3)), 11);
    /* A push carries the weight; after the first load there is no other. */
    fwrig_load(rig);
    run_call(rig, 2);
    assert_int_equal(fwrig_push_at(rig, 0)->priority, 9);
    assert_int_equal(load_registers(rig, 2, rows, 4), PR_STATUS_WRONG_STATE);
}

static void quiesce(struct fwrig *rig)
{
    const struct pr_body_quiesce none = {0};

    assert_int_equal(fwrig_control(rig, PR_CMD_QUIESCE_STATE, &none, sizeof(none)), PR_STATUS_OK);
}

static uint32_t pool(struct fwrig *rig, uint32_t id, uint32_t channel, uint32_t buffers)
{
    const struct pr_body_pool body = {.channel = channel, .buffers = buffers};

    return fwrig_control(rig, id, &body, id == PR_CMD_CH_BUFFER_POOL_CONFIG_SET ? 8 : sizeof(body));
}

static void expect_pool(struct fwrig *rig, uint32_t buffers, uint32_t held)
{
    assert_int_equal(pool(rig, PR_CMD_CH_BUFFER_POOL_CONFIG_GET, PR_CHANNEL_BUF_T2H, 0), PR_STATUS_OK);
    assert_int_equal(reply_words(rig)[1], buffers);
    assert_int_equal(reply_words(rig)[2], 0x40);
    assert_int_equal(reply_words(rig)[3], held);
}

/* Two buffers instead of four: the third report is lost, and again none after all four are back in use. */
static void the_pool_of_buffers_has_a_size(void **state)
{
    const uint32_t set = PR_CMD_CH_BUFFER_POOL_CONFIG_SET;
    struct fwrig *rig = *state;
    struct pr_load_report report;
    uint64_t buffer[4];

    expect_pool(rig, 4, 0);
    assert_int_equal(pool(rig, set, PR_CHANNEL_BUF_T2H, 0), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(pool(rig, set, PR_CHANNEL_BUF_T2H, 5), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(pool(rig, set, PR_CHANNEL_IO, 2), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(pool(rig, PR_CMD_CH_BUFFER_POOL_CONFIG_GET, PR_CHANNEL_IO, 0), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(pool(rig, set, PR_CHANNEL_BUF_T2H, 2), PR_STATUS_OK);
    for (unsigned i = 0; i < 3; i++)
        quiesce(rig);
    for (unsigned i = 0; i < 2; i++)
        assert_true((buffer[i] = fwrig_buffer(rig, &report)) != 0);
    assert_int_equal(fwrig_buffer(rig, &report), 0);
    assert_int_equal(fwrig_counter(rig, "load-reports-lost"), 1);
    assert_int_equal(fwrig_counter(rig, "load-buffers"), 2);
    expect_pool(rig, 2, 2);
    assert_int_equal(pool(rig, set, PR_CHANNEL_BUF_T2H, 4), PR_STATUS_BUSY);
    assert_int_equal(return_buffer(rig, buffer[0]), PR_STATUS_OK);
    assert_int_equal(pool(rig, set, PR_CHANNEL_BUF_T2H, 4), PR_STATUS_BUSY);
    assert_int_equal(return_buffer(rig, buffer[1]), PR_STATUS_OK);
    assert_int_equal(pool(rig, set, PR_CHANNEL_BUF_T2H, 4), PR_STATUS_OK);
    for (unsigned i = 0; i < 4; i++)
        quiesce(rig);
    for (unsigned i = 0; i < 4; i++)
        assert_true(fwrig_buffer(rig, &report) != 0);
    assert_int_equal(fwrig_counter(rig, "load-reports-lost"), 1);
    expect_pool(rig, 4, 4);
}

static uint32_t recycle_mode(struct fwrig *rig, uint32_t channel, uint32_t mode)
{
    const struct pr_body_recycle_mode body = {channel, mode};

    return fwrig_control(rig, PR_CMD_CH_BUFFER_RECYCLE_MODE_SET, &body, sizeof(body));
}

static void buffers_are_recycled_while_started(void **state)
{
    const uint32_t start = PR_CMD_CH_BUFFER_RECYCLE_START, stop = PR_CMD_CH_BUFFER_RECYCLE_STOP;
    struct fwrig *rig = *state;
    struct pr_load_report report;
    uint64_t buffer[2];

    assert_int_equal(pool(rig, PR_CMD_CH_BUFFER_POOL_CONFIG_SET, PR_CHANNEL_BUF_T2H, 2), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, start, NULL, 0), PR_STATUS_WRONG_STATE);
    assert_int_equal(fwrig_control(rig, stop, NULL, 0), PR_STATUS_WRONG_STATE);
    assert_int_equal(recycle_mode(rig, PR_CHANNEL_BUF_T2H, 2), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(recycle_mode(rig, PR_CHANNEL_IO, 1), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(recycle_mode(rig, PR_CHANNEL_BUF_T2H, PR_RECYCLE_AUTOMATIC), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, start, NULL, 0), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, start, NULL, 0), PR_STATUS_WRONG_STATE);
    assert_int_equal(recycle_mode(rig, PR_CHANNEL_BUF_T2H, PR_RECYCLE_BY_RETURN), PR_STATUS_WRONG_STATE);
    /* The oldest is written again, each time. */
    for (unsigned i = 0; i < 6; i++) {
        uint64_t address;

        quiesce(rig);
        address = fwrig_buffer(rig, &report);
        assert_true(address != 0);
        assert_int_equal(report.sequence, i);
        if (i < 2)
            buffer[i] = address;
        assert_int_equal(address, buffer[i % 2]);
    }
    /* One that comes back is taken before one that the host has. */
    assert_int_equal(return_buffer(rig, buffer[1]), PR_STATUS_OK);
    quiesce(rig);
    assert_int_equal(fwrig_buffer(rig, &report), buffer[1]);
    assert_int_equal(fwrig_counter(rig, "load-reports-lost"), 0);
    assert_int_equal(fwrig_control(rig, stop, NULL, 0), PR_STATUS_OK);
    quiesce(rig);
    assert_int_equal(fwrig_buffer(rig, &report), 0);
    assert_int_equal(fwrig_counter(rig, "load-reports-lost"), 1);
    expect_pool(rig, 2, 2);
}

static void the_dsid_is_set_before_the_first_load(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(fwrig_counter(rig, "dsid"), 0xffffffff);
    assert_int_equal(word(rig, PR_CMD_DSID_SET, 0xffffffff), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(word(rig, PR_CMD_DSID_SET, 5), PR_STATUS_OK);
    assert_int_equal(fwrig_counter(rig, "dsid"), 5);
    fwrig_load(rig);
    assert_int_equal(word(rig, PR_CMD_DSID_SET, 6), PR_STATUS_WRONG_STATE);
    expect_log(rig, "DSID 6 is refused: 1 programs were loaded before");
    assert_int_equal(fwrig_counter(rig, "dsid"), 5);
}

/* Loads the program that fwrig_load has left in memory. */
static uint32_t load_as(struct fwrig *rig, uint32_t id)
{
    struct container_image image;
    struct fwrig_command c = {
        .header = {.id = PR_CMD_LOAD_PROGRAM, .size = sizeof(struct pr_body_load), .program_id = id}};

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    memcpy(c.body, &(struct pr_body_load){.container = FWRIG_CONTAINERS, .bytes = image.size},
           sizeof(struct pr_body_load));
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c.header) + c.header.size, 0));
    return PR_REPLY_STATUS(&c.header);
}

static void program_ids_are_reserved(void **state)
{
    struct fwrig *rig = *state;

    fwrig_load(rig); /* program 0 */
    assert_int_equal(about(rig, PR_CMD_REQUEST_PROGRAM_ID, PR_NO_ID, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(fwrig_reply(rig)->header.program_id, 1);
    assert_int_equal(load_as(rig, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(fwrig_reply(rig)->header.program_id, 2);
    assert_int_equal(load_as(rig, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_reply(rig)->header.program_id, 1);
    assert_int_equal(load_as(rig, 1), PR_STATUS_BUSY);
    assert_int_equal(fwrig_reply(rig)->header.program_id, PR_NO_ID);
    assert_int_equal(about(rig, PR_CMD_RETURN_PROGRAM_ID, 1, PR_NO_ID), PR_STATUS_BUSY);
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 1, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(load_as(rig, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(fwrig_reply(rig)->header.program_id, 3); /* 1 is still reserved */
    assert_int_equal(about(rig, PR_CMD_RETURN_PROGRAM_ID, 1, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(load_as(rig, 1), PR_STATUS_NO_PROGRAM); /* returned */
    expect_log(rig, "program id 1 is not reserved");
    assert_int_equal(about(rig, PR_CMD_RETURN_PROGRAM_ID, 1, PR_NO_ID), PR_STATUS_NO_PROGRAM);
    assert_int_equal(about(rig, PR_CMD_RETURN_PROGRAM_ID, 0, PR_NO_ID), PR_STATUS_NO_PROGRAM);
    assert_int_equal(about(rig, PR_CMD_RETURN_PROGRAM_ID, 144, PR_NO_ID), PR_STATUS_NO_PROGRAM);
    assert_int_equal(about(rig, PR_CMD_RETURN_PROGRAM_ID, PR_NO_ID, PR_NO_ID), PR_STATUS_NO_PROGRAM);
    assert_int_equal(load_as(rig, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(fwrig_reply(rig)->header.program_id, 1);
    for (unsigned i = 4; i < 144; i++)
        assert_int_equal(about(rig, PR_CMD_REQUEST_PROGRAM_ID, PR_NO_ID, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(about(rig, PR_CMD_REQUEST_PROGRAM_ID, PR_NO_ID, PR_NO_ID), PR_STATUS_NO_RESOURCES);
    assert_int_equal(load_as(rig, PR_NO_ID), PR_STATUS_NO_RESOURCES);
}

static uint32_t create_as(struct fwrig *rig, uint32_t program, uint32_t id)
{
    union fwrig_process process;
    struct fwrig_command c = {.header = {.id = PR_CMD_CREATE_PROCESS,
                                         .size = PR_PROCESS_BYTES(FWRIG_OWN),
                                         .program_id = program,
                                         .process_id = id}};

    fwrig_process_make(&process, 3);
    memcpy(c.body, &process, c.header.size);
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &c, sizeof(c.header) + c.header.size, 0));
    return PR_REPLY_STATUS(&c.header);
}

static void process_ids_are_reserved(void **state)
{
    struct fwrig *rig = *state;

    fwrig_load(rig); /* program 0, process 0 */
    assert_int_equal(load_as(rig, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(about(rig, PR_CMD_REQUEST_PROCESS_ID, 7, PR_NO_ID), PR_STATUS_NO_PROGRAM);
    assert_int_equal(about(rig, PR_CMD_REQUEST_PROCESS_ID, 1, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(fwrig_reply(rig)->header.process_id, 1);
    assert_int_equal(create_as(rig, 0, 1), PR_STATUS_NO_PROCESS); /* it is program 1's */
    assert_int_equal(create_as(rig, 1, 0), PR_STATUS_NO_PROCESS);
    assert_int_equal(create_as(rig, 1, 288), PR_STATUS_NO_PROCESS);
    assert_int_equal(create_as(rig, 1, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(fwrig_reply(rig)->header.process_id, 2);
    assert_int_equal(create_as(rig, 1, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_reply(rig)->header.process_id, 1);
    assert_int_equal(create_as(rig, 1, 1), PR_STATUS_BUSY);
    assert_int_equal(about(rig, PR_CMD_RETURN_PROCESS_ID, 1, 1), PR_STATUS_BUSY);
    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, 1, 1), PR_STATUS_OK);
    assert_int_equal(about(rig, PR_CMD_RETURN_PROCESS_ID, 0, 1), PR_STATUS_NO_PROCESS);
    assert_int_equal(about(rig, PR_CMD_RETURN_PROCESS_ID, 1, 1), PR_STATUS_OK);
    assert_int_equal(about(rig, PR_CMD_RETURN_PROCESS_ID, 1, 1), PR_STATUS_NO_PROCESS);
    assert_int_equal(create_as(rig, 1, 1), PR_STATUS_NO_PROCESS);
    /* An id goes with its program. */
    assert_int_equal(about(rig, PR_CMD_REQUEST_PROCESS_ID, 1, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(about(rig, PR_CMD_TERMINATE_PROCESS, 1, 2), PR_STATUS_OK);
    assert_int_equal(about(rig, PR_CMD_UNLOAD_PROGRAM, 1, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(create_as(rig, 0, PR_NO_ID), PR_STATUS_OK);
    assert_int_equal(fwrig_reply(rig)->header.process_id, 1);
}

static void the_interface_version_is_compared(void **state)
{
    struct fwrig *rig = *state;
    const uint32_t id = PR_CMD_PROGRAM_INTERFACE_VERSION_CHECK;

    assert_int_equal(word(rig, id, 0x10000), PR_STATUS_OK);
    assert_int_equal(fwrig_counter(rig, "warned"), 0);
    assert_int_equal(word(rig, id, 0x10003), PR_STATUS_OK);
    assert_int_equal(reply_words(rig)[0], 0x10000);
    assert_int_equal(fwrig_counter(rig, "warned"), 1);
    expect_log(rig, "program interface version 10003 differs from 10000 in its minor part");
    assert_int_equal(word(rig, id, 0x20000), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(word(rig, id, 0), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fwrig_counter(rig, "warned"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(platform_is_that_of_the_registers),
        T(config_shows_what_was_set),
        T(the_run_mode_is_reported),
        T(properties_are_kept_within_their_bounds),
        T(trace_enable_sets_the_call_log),
        T(rpc_enable_stops_and_starts_the_lines),
        T(rpc_check_logs_commands_of_buf_h2t),
        T(a_profile_counts_time_and_calls),
        T(boot_mode_and_restarts_are_reported),
        T(data_is_checked),
        T(a_register_file_reaches_the_queues),
        T(the_pool_of_buffers_has_a_size),
        T(buffers_are_recycled_while_started),
        T(the_dsid_is_set_before_the_first_load),
        T(program_ids_are_reserved),
        T(process_ids_are_reserved),
        T(the_interface_version_is_compared),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
