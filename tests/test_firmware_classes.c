/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every command of the host's has a class, and the firmware does what the class says. Every command of the
 * table below in four wrong forms: refused with the status of the form, counted, and followed by a right one.
 */
#include "support.h"

#include <string.h>

#include "fwrig.h"
#include "protocol/command_class.h"
#include "protocol/control_bodies.h"

static int setup(void **state)
{
    *state = fwrig_create();
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static uint32_t send_with(struct fwrig *rig, enum pr_channel channel, uint32_t id, uint32_t priority,
                          const void *body, size_t bytes)
{
    struct fwrig_command command = {.header = {.id = id,
                                               .size = (uint32_t)bytes,
                                               .priority = priority,
                                               .program_id = PR_NO_ID,
                                               .process_id = PR_NO_ID}};

    if (bytes)
        memcpy(command.body, body, bytes);
    assert_true(fwrig_send(rig, channel, &command, sizeof(command.header) + bytes, 0));
    return PR_REPLY_STATUS(&command.header);
}

static unsigned count_rows(const char *name)
{
    unsigned rows = 0;

    for (unsigned i = 0; i < PR_CLASS_COUNT; i++)
        rows += !strcmp(pr_command_class_table[i].name, name);
    return rows;
}

static void every_command_of_the_host_has_one_class(void **state)
{
    unsigned expected = 1; /* START has no number of the logger's */

    (void)state;
    assert_int_equal(count_rows("START"), 1);
    for (unsigned i = 0; i < PR_DISPATCHED_COUNT; i++) {
        const bool sent = pr_dispatched_table[i].direction != PR_DIRECTION_F2H;

        expected += sent;
        if (count_rows(pr_dispatched_table[i].name) != sent)
            fail_msg("%s", pr_dispatched_table[i].name);
    }
    assert_int_equal(PR_CLASS_COUNT, expected);
}

/*
 * A priority of 8 keeps what is served from being done, so that no command disturbs the next: the firmware
 * reaches the rule about the priority, or one about sizes, only for a command that it knows.
 */
static bool served(struct fwrig *rig, const struct pr_command_class *row)
{
    static const enum pr_channel channels[] = {PR_CHANNEL_IO, PR_CHANNEL_DEBUG, PR_CHANNEL_BUF_H2T};

    for (unsigned i = 0; i < sizeof(channels) / sizeof(channels[0]); i++) {
        const uint32_t status = send_with(rig, channels[i], row->id, 8, NULL, 0);

        if (strstr(row->channel, pr_channel_table[channels[i]].name) && status == PR_STATUS_UNKNOWN_COMMAND)
            return false;
        if (status != PR_STATUS_UNKNOWN_COMMAND)
            return status == PR_STATUS_BAD_SIZE || status == PR_STATUS_BAD_ARGUMENT;
    }
    return false;
}

static void the_firmware_does_what_the_class_says(void **state)
{
    struct fwrig *rig = *state;

    fwrig_boot_started(rig);
    for (unsigned i = 0; i < PR_CLASS_COUNT; i++) {
        const struct pr_command_class *row = &pr_command_class_table[i];

        if (!strcmp(row->channel, "DATA_CHAIN_H2T"))
            continue; /* test_firmware_call.c, test_firmware_cache.c */
        if (served(rig, row) != (row->letter != 'C'))
            fail_msg("%s is not of class %c", row->name, row->letter);
        if (row->letter == 'C' && !strstr(fwrig_log(rig), row->text))
            fail_msg("%s is refused without a reason", row->name);
    }
    assert_int_equal(send_with(rig, PR_CHANNEL_IO, PR_CMD_EXCLAVE_MODE_START, 0, NULL, 0),
                     PR_STATUS_UNKNOWN_COMMAND);
    assert_non_null(strstr(fwrig_log(rig), "CMD = 0x31 [EXCLAVE_MODE_START] is not supported on channel IO: "
                                           "SwitchExclaveMode not supported"));
}

/* A right body, or its first words, and what it is answered with. `longer`: a larger body is right too. */
struct form {
    uint32_t id;
    uint32_t bytes;
    uint32_t words[4];
    bool longer;
    enum pr_status status;
};
static const struct form forms[] = {
    {PR_CMD_PLATFORM_INFO, 16, {0}, true, PR_STATUS_OK},
    {PR_CMD_CONFIG_GET_EXT, 32, {0}, true, PR_STATUS_OK},
    {PR_CMD_BOOT, 8, {0}, true, PR_STATUS_OK},
    {PR_CMD_PROGRAM_INTERFACE_VERSION_CHECK, 4, {0x10000}, false, PR_STATUS_OK},
    {PR_CMD_DEBUG_COMMAND_DATA_CHECK, 16, {0x55aa55aa}, false, PR_STATUS_OK},
    {PR_CMD_CH_PROPERTY_WRITE, 12, {0, 0x10a4, 1}, false, PR_STATUS_OK},
    {PR_CMD_CH_PROPERTY_READ, 12, {0, 0x10a4}, false, PR_STATUS_OK},
    {PR_CMD_TRACE_ENABLE, 4, {1}, false, PR_STATUS_OK},
    {PR_CMD_FW_RUN_MODE, 4, {1}, false, PR_STATUS_OK},
    {PR_CMD_RPC_ENABLE, 4, {1}, false, PR_STATUS_OK},
    {PR_CMD_SET_SNE_RPC_CHECK_CMD, 4, {1}, false, PR_STATUS_OK},
    {PR_CMD_DSID_SET, 4, {1}, false, PR_STATUS_OK},
    {PR_CMD_TIMEPROFILE_START, 0, {0}, false, PR_STATUS_OK},
    {PR_CMD_TIMEPROFILE_STOP, 16, {0}, true, PR_STATUS_OK},
    {PR_CMD_REG_FILE_LOAD, 8, {0}, false, PR_STATUS_OK},
    {PR_CMD_CH_BUFFER_POOL_CONFIG_GET, 16, {PR_CHANNEL_BUF_T2H}, false, PR_STATUS_OK},
    {PR_CMD_CH_BUFFER_POOL_CONFIG_SET, 8, {PR_CHANNEL_BUF_T2H, 3}, false, PR_STATUS_OK},
    {PR_CMD_CH_BUFFER_RECYCLE_MODE_SET, 8, {PR_CHANNEL_BUF_T2H, 1}, false, PR_STATUS_OK},
    {PR_CMD_CH_BUFFER_RECYCLE_START, 0, {0}, false, PR_STATUS_OK},
    {PR_CMD_CH_BUFFER_RECYCLE_STOP, 0, {0}, false, PR_STATUS_OK},
    {PR_CMD_SECURE_MODE_START, 4, {0}, false, PR_STATUS_WRONG_STATE}, /* no base of the PMU */
    {PR_CMD_SECURE_MODE_STOP, 4, {0}, false, PR_STATUS_WRONG_STATE},
    {PR_CMD_SECURE_MODE_RESUME_TRANSITION, 0, {0}, false, PR_STATUS_WRONG_STATE},
    {PR_CMD_BACK_CHANNEL_RPC, 32, {0x55aa55aa, 0, 0xffffffff}, false, PR_STATUS_OK},
    {PR_CMD_REQUEST_PROGRAM_ID, 0, {0}, false, PR_STATUS_OK},
    {PR_CMD_RETURN_PROGRAM_ID, 0, {0}, false, PR_STATUS_NO_PROGRAM},
    {PR_CMD_REQUEST_PROCESS_ID, 0, {0}, false, PR_STATUS_NO_PROGRAM},
    {PR_CMD_RETURN_PROCESS_ID, 0, {0}, false, PR_STATUS_NO_PROCESS},
    {PR_CMD_INFERENCE_CALL, 24, {0}, false, PR_STATUS_OK}, /* a built-in network is opened */
};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

static void expect_rejected(struct fwrig *rig, const struct form *form, const char *how, uint32_t priority,
                            uint32_t bytes, enum pr_status expected)
{
    const uint8_t *body = (const void *)form->words;
    uint8_t large[64] = {0};
    const uint64_t before = fwrig_counter(rig, "rejected");
    uint32_t status;

    memcpy(large, body, sizeof(form->words));
    status = send_with(rig, PR_CHANNEL_IO, form->id, priority, large, bytes);
    if (status != expected)
        fail_msg("%s, %s: status %u, not %u", pr_command_name(form->id), how, status, expected);
    if (fwrig_counter(rig, "rejected") != before + 1)
        fail_msg("%s, %s: not counted", pr_command_name(form->id), how);
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), PR_STATUS_OK);
}

/* In the order of the table, each right form finds what the one before has left. */
static void wrong_forms_are_rejected_and_counted(void **state)
{
    struct fwrig *rig = *state;

    fwrig_boot_started(rig);
    for (unsigned i = 0; i < FORMS; i++) {
        const struct form *form = &forms[i];
        uint8_t large[64] = {0};

        memcpy(large, form->words, sizeof(form->words));
        if (form->bytes)
            expect_rejected(rig, form, "short", 0, form->bytes - 1, PR_STATUS_BAD_SIZE);
        if (!form->longer)
            expect_rejected(rig, form, "long", 0, form->bytes + 1, PR_STATUS_BAD_SIZE);
        expect_rejected(rig, form, "bad priority", 8, form->bytes, PR_STATUS_BAD_ARGUMENT);
        if (send_with(rig, PR_CHANNEL_IO, form->id, 7, large, form->bytes) != form->status)
            fail_msg("%s", pr_command_name(form->id));
    }
}

/* The channel is not ready before the last handshake: answered, not done, and done when sent again. */
static void a_channel_that_is_not_ready_does_nothing(void **state)
{
    struct fwrig *rig = *state;
    const uint32_t slots = pr_channel_table[PR_CHANNEL_IO].slots;

    for (unsigned first = 0; first < FORMS; first += slots) {
        const unsigned end = first + slots < FORMS ? first + slots : FORMS;

        fwrig_enter(rig);
        fwrig_write(rig, PR_CTRL_SCRATCH(0), FWRIG_ARGS);
        fwrig_write(rig, PR_CTRL_SCRATCH(1), 0);
        fwrig_write(rig, PR_CTRL_SCRATCH(7), PR_HANDSHAKE_GO);
        fwrig_run(rig);
        for (unsigned i = first; i < end; i++) {
            struct fwrig_command *c =
                (void *)fwrig_memory(rig, FWRIG_POOL + 0x1000ull * (i - first), sizeof(*c));

            *c = (struct fwrig_command){.header = {.id = forms[i].id, .size = forms[i].bytes}};
            memcpy(c->body, forms[i].words, sizeof(forms[i].words));
            fwrig_post(rig, PR_CHANNEL_IO, FWRIG_POOL + 0x1000ull * (i - first),
                       sizeof(c->header) + forms[i].bytes, 0);
        }
        fwrig_write(rig, PR_CTRL_SCRATCH(3), PR_HANDSHAKE_WAKE);
        fwrig_run(rig);
        for (unsigned i = first; i < end; i++) {
            const struct fwrig_command *c =
                (const void *)fwrig_memory(rig, FWRIG_POOL + 0x1000ull * (i - first), sizeof(*c));

            if (PR_REPLY_STATUS(&c->header) != PR_STATUS_NOT_READY)
                fail_msg("%s", pr_command_name(forms[i].id));
        }
        assert_int_equal(fwrig_counter(rig, "run-mode"), 0);
        assert_int_equal(fwrig_counter(rig, "dsid"), 0xffffffff);
        assert_int_equal(fwrig_counter(rig, "load-buffers"), 4);
        assert_int_equal(fwrig_counter(rig, "rejected"), 0);
        assert_int_equal(fwrig_control(rig, PR_CMD_FW_RUN_MODE, &(uint32_t){1}, 4), PR_STATUS_OK);
        assert_int_equal(fwrig_counter(rig, "run-mode"), 1);
    }
}

static uint32_t send_header(struct fwrig *rig, struct pr_command_header header)
{
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &header, sizeof(header), 0));
    return PR_REPLY_STATUS(&header);
}

static void expect_log(struct fwrig *rig, const char *text)
{
    if (!strstr(fwrig_log(rig), text))
        fail_msg("the log does not say \"%s\":\n%s", text, fwrig_log(rig));
}

/* Table 30.1: a priority of 0 to 7, a procedure of the program that is named, and the marks of none. */
static void the_header_is_checked(void **state)
{
    struct fwrig *rig = *state;
    struct pr_command_header ping = {.id = PR_CMD_PING, .program_id = PR_NO_ID, .process_id = PR_NO_ID};

    fwrig_boot_started(rig);
    fwrig_load(rig);
    for (uint32_t priority = 0; priority < 10; priority++) {
        ping.priority = priority;
        assert_int_equal(send_header(rig, ping), priority < 8 ? PR_STATUS_OK : PR_STATUS_BAD_ARGUMENT);
    }
    expect_log(rig, "[PING]: priority 8; it must be below 8");
    expect_log(rig, "fwPriority < 8 does not hold: 0x8");
    expect_log(rig, "fwPriority < 8 does not hold: 0x9");
    ping.priority = 0;
    ping.procedure_id = 0xffffffff; /* no program is named */
    assert_int_equal(send_header(rig, ping), PR_STATUS_OK);
    ping.program_id = 0;
    assert_int_equal(send_header(rig, ping), PR_STATUS_BAD_ARGUMENT);
    expect_log(rig, "[PING]: procedure 4294967295; program 0 has ");
    ping.procedure_id = 0;
    assert_int_equal(send_header(rig, ping), PR_STATUS_OK);
    ping.id = 0xffffffff;
    assert_int_equal(send_header(rig, ping), PR_STATUS_UNKNOWN_COMMAND);
    expect_log(rig, "CMD = 0xffffffff is the mark of no command, on channel IO");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(every_command_of_the_host_has_one_class),  T(the_firmware_does_what_the_class_says),
        T(wrong_forms_are_rejected_and_counted),     T(the_header_is_checked),
        T(a_channel_that_is_not_ready_does_nothing),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
