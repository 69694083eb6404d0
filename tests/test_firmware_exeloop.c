/* SPDX-License-Identifier: Apache-2.0 */
/* The other arms of the execution loop: calls with events, data files, process ids, and what has no arm. */
#include "callrig.h"

#include <stdio.h>

#include "rtkernel/heap.h"

#define EVENTS PR_EXE_PROCEDURE_CALL_WITH_EVENTS
#define BUFFER FWRIG_OUT /* where the base domain has a buffer of the program */

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

static void expect_event(struct fwrig *rig, uint64_t cookie)
{
    struct pr_program_event event;

    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, cookie);
    assert_int_equal(event.status, PR_STATUS_OK);
}

static uint64_t used_bytes(const struct fwrig *rig)
{
    return rt_heap_info(callrig_fw(rig)->kernel, RT_ARENA_SYSTEM).used;
}

/* The second call waits for what the first signals; a third that waits for less is not held. */
static void a_call_waits_for_another(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t used = used_bytes(rig);
    struct callrig c;

    callrig_make(&c, EVENTS, 1);
    callrig_event(&c, true, 5, 10);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 1);
    callrig_make(&c, EVENTS, 2);
    callrig_event(&c, false, 5, 10);
    callrig_event(&c, true, 6, 1);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 1);
    assert_int_equal(callrig_fw(rig)->process[0].calls, 2);
    callrig_make(&c, EVENTS, 3);
    callrig_event(&c, false, 5, 0);
    callrig_event(&c, true, 7, 1);
    c.head->call.priority = 3;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 2);
    callrig_retire(rig, 3, 0);
    expect_event(rig, 3);
    assert_int_equal(fwrig_pushes(rig), 2);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 1);
    assert_int_equal(fwrig_pushes(rig), 3);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 2);
    callrig_expect_free(rig);
    assert_int_equal(used_bytes(rig), used);
}

/* The signal is the call's, after the last of its requests. */
static void a_call_of_two_requests_signals_once(void **state)
{
    struct fwrig *rig = *state;
    struct container_image image;
    struct callrig c;

    callrig_partitions(&image);
    assert_int_equal(callrig_load(rig, &image), 1);
    callrig_make(&c, EVENTS, 1);
    c.head->call.program_id = c.head->call.process_id = 1;
    c.head->call.partitions = 2;
    callrig_event(&c, true, 5, 10);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    callrig_make(&c, EVENTS, 2);
    callrig_event(&c, false, 5, 10);
    callrig_event(&c, true, 6, 1);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 2);
    callrig_retire(rig, 4, 0);
    assert_int_equal(fwrig_pushes(rig), 2);
    callrig_retire(rig, 4, 0);
    assert_int_equal(fwrig_pushes(rig), 3);
    expect_event(rig, 1);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 2);
    callrig_expect_free(rig);
}

/* A held call has all its requests; a failed one signals nothing. */
static void a_held_call_is_dispatched_whole(void **state)
{
    struct fwrig *rig = *state;
    struct container_image image;
    struct pr_program_event event;
    struct callrig c;

    callrig_partitions(&image);
    assert_int_equal(callrig_load(rig, &image), 1);
    callrig_make(&c, EVENTS, 1);
    c.head->call.program_id = c.head->call.process_id = 1;
    c.head->call.partitions = 2;
    callrig_event(&c, false, 5, 10);
    callrig_event(&c, true, 6, 1);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    callrig_make(&c, EVENTS, 2);
    callrig_event(&c, true, 5, 10);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    callrig_retire(rig, 4, PR_TM_CODE_TRANSLATION);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.status, PR_STATUS_TRANSLATION);
    assert_int_equal(fwrig_pushes(rig), 1);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 2);
    assert_int_equal(fwrig_pushes(rig), 4);
    assert_int_equal(fwrig_push_at(rig, 2)->address, FWRIG_TEXT);
    assert_int_equal(fwrig_push_at(rig, 3)->address, FWRIG_TEXT + 0x400);
    callrig_retire(rig, 4, 0);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 1);
    callrig_expect_free(rig);
}

static void logs_the_call_and_its_events(void **state)
{
    const struct pr_body_property on = {.property = 0x00a1, .value = 1};
    struct fwrig *rig = *state;
    struct callrig c;

    assert_int_equal(fwrig_control(rig, PR_CMD_CH_PROPERTY_WRITE, &on, sizeof(on)), 0);
    callrig_make(&c, EVENTS, 1);
    callrig_event(&c, false, 3, 0);
    callrig_event(&c, true, 31, 123456789012ull);
    callrig_event(&c, true, 4, 1);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    assert_non_null(strstr(fwrig_log(rig), "[EXELOOP] CMD=0x211 [PROC CALL WITH EVENTS] at 0 : ProgId=0 "
                                           "ProcId=0 Proc=0 Pri=4\n"));
    assert_non_null(
        strstr(fwrig_log(rig), "Bufs = 2 Priority = 4 CustomBars = 0 WaitEvents = 1 SignalEvents = 2\n"));
    assert_non_null(strstr(fwrig_log(rig), "waitEvent[0]: type=1 mask=0 id=3 value=0\n"));
    assert_non_null(strstr(fwrig_log(rig), "signalEvent[0]: type=1 mask=0 id=31 value=123456789012\n"));
    assert_non_null(strstr(fwrig_log(rig), "signalEvent[1]: type=1 mask=0 id=4 value=1\n"));
}

static uint32_t send_message(struct fwrig *rig, const void *message, size_t bytes)
{
    uint8_t copy[0x80] = {0};

    memcpy(copy, message, bytes);
    assert_true(fwrig_send(rig, PR_CHANNEL_DATA_CHAIN_H2T, copy, bytes, 0));
    return pr_le16(copy + 6);
}

static uint32_t send_ids(struct fwrig *rig, uint32_t program, uint32_t process)
{
    const struct pr_exe_process_id message = {
        .head = {.id = PR_EXE_RETURN_PROCESS_ID}, .program_id = program, .process_id = process};

    return send_message(rig, &message, sizeof(message));
}

static uint32_t request_id(struct fwrig *rig, uint32_t program)
{
    struct fwrig_command request = {
        .header = {.id = PR_CMD_REQUEST_PROCESS_ID, .program_id = program, .process_id = PR_NO_ID}};

    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &request, sizeof(request.header), 0));
    assert_int_equal(PR_REPLY_STATUS(&request.header), PR_STATUS_OK);
    return request.header.process_id;
}

static void process_ids_come_back(void **state)
{
    struct fwrig *rig = *state;
    const struct fw *fw = callrig_fw(rig);
    const struct pr_exe_process_id shorter = {.head = {.id = PR_EXE_RETURN_PROCESS_ID}};
    union fwrig_process create;
    struct fwrig_command end = {.header = {.id = PR_CMD_TERMINATE_PROCESS, .program_id = 0, .process_id = 1}};

    assert_int_equal(request_id(rig, 0), 1); /* 0 is in use */
    assert_int_equal(request_id(rig, 0), 2);
    assert_int_equal(send_ids(rig, 0, 1), PR_STATUS_OK);
    assert_int_equal(send_ids(rig, 0, 1), PR_STATUS_NO_PROCESS); /* once */
    assert_int_equal(request_id(rig, 0), 1);                     /* it is free again */
    assert_int_equal(send_ids(rig, 1, 2), PR_STATUS_NO_PROCESS); /* another program's */
    assert_int_equal(send_ids(rig, 0, 0), PR_STATUS_NO_PROCESS); /* in use and not reserved */
    assert_int_equal(send_ids(rig, 0, 288), PR_STATUS_NO_PROCESS);
    assert_int_equal(send_ids(rig, PR_NO_ID, PR_NO_ID), PR_STATUS_NO_PROCESS);
    assert_int_equal(fw->count[FW_DROPPED], 5);
    assert_int_equal(send_message(rig, &shorter, sizeof(shorter) - 1), PR_STATUS_BAD_SIZE);
    assert_int_equal(fw->broken[PR_RULE_CALL_SIZE], 1);
    assert_int_equal(fw->count[FW_REJECTED], 1);
    /* Reserved and in use: only when the process has ended. */
    fwrig_process_make(&create, 3);
    end.header.id = PR_CMD_CREATE_PROCESS;
    end.header.size = PR_PROCESS_BYTES(FWRIG_OWN);
    memcpy(end.body, &create, end.header.size);
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &end, sizeof(end.header) + end.header.size, 0));
    assert_int_equal(PR_REPLY_STATUS(&end.header), PR_STATUS_OK);
    assert_int_equal(send_ids(rig, 0, 1), PR_STATUS_BUSY);
    end.header = (struct pr_command_header){.id = PR_CMD_TERMINATE_PROCESS, .program_id = 0, .process_id = 1};
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &end, sizeof(end.header), 0));
    assert_int_equal(PR_REPLY_STATUS(&end.header), PR_STATUS_OK);
    assert_int_equal(send_ids(rig, 0, 1), PR_STATUS_OK);
}

static struct pr_exe_data_file make_file(uint32_t program, uint32_t index)
{
    return (struct pr_exe_data_file){.head = {.id = PR_EXE_CH_DATA_FILE_LOAD2},
                                     .program_id = program,
                                     .process_id = program,
                                     .index = index,
                                     .source = FWRIG_IN,
                                     .bytes = 0x1234,
                                     .destination = BUFFER,
                                     .offset = 0x10};
}

/* Program 1 has a mutable buffer in place of the output. */
static void load_mutable(struct fwrig *rig)
{
    struct container_image image;

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    image.buffer[1].type = PR_BUFFER_MUTABLE;
    assert_int_equal(callrig_load(rig, &image), 1);
}

static void a_data_file_needs_the_flag(void **state)
{
    struct fwrig *rig = *state;
    struct pr_exe_data_file file = make_file(0, IMAGE_MIDDLE);
    struct fwrig_command end = {.header = {.id = PR_CMD_TERMINATE_PROCESS, .program_id = 1, .process_id = 1}};

    memset(fwrig_memory(rig, FWRIG_IN, 0x2000), 0x11, 0x2000);
    assert_int_equal(send_message(rig, &file, sizeof(file)), PR_STATUS_WRONG_STATE);
    assert_int_equal(callrig_fw(rig)->broken[PR_RULE_DATA_FILE_FLAG], 1);
    assert_int_equal(fwrig_memory(rig, BUFFER, 0x20)[0x10], 0);
    load_mutable(rig);
    assert_int_equal(send_message(rig, &file, sizeof(file)), PR_STATUS_OK);
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &end, sizeof(end.header), 0));
    end.header = (struct pr_command_header){.id = PR_CMD_UNLOAD_PROGRAM, .program_id = 1};
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &end, sizeof(end.header), 0));
    assert_int_equal(PR_REPLY_STATUS(&end.header), PR_STATUS_OK);
    assert_int_equal(send_message(rig, &file, sizeof(file)), PR_STATUS_WRONG_STATE);
}

static void a_data_file_is_copied(void **state)
{
    struct fwrig *rig = *state;
    struct pr_exe_data_file file = make_file(1, IMAGE_OUTPUT);
    uint8_t *source = fwrig_memory(rig, FWRIG_IN, 0x4000), *to = fwrig_memory(rig, BUFFER, 0x4000);

    load_mutable(rig);
    for (unsigned i = 0; i < 0x4000; i++)
        source[i] = (uint8_t)(i * 7 + i / 256);
    memset(to, 0xee, 0x4000);
    assert_int_equal(send_message(rig, &file, sizeof(file)), PR_STATUS_OK);
    for (unsigned i = 0; i < 0x4000; i++)
        if (to[i] != (i >= 0x10 && i < 0x10 + 0x1234 ? source[i - 0x10] : 0xee))
            fail_msg("byte 0x%x is 0x%x", i, to[i]);
    /* All of the buffer, and not one byte more. */
    file.offset = 0;
    file.bytes = IMAGE_OUTPUT_BYTES;
    assert_int_equal(send_message(rig, &file, sizeof(file)), PR_STATUS_OK);
    assert_memory_equal(to, source, IMAGE_OUTPUT_BYTES);
    assert_int_equal(to[IMAGE_OUTPUT_BYTES], 0xee);
}

#define REFUSED(change, status)                                                       \
    do {                                                                              \
        struct pr_exe_data_file file = make_file(1, IMAGE_OUTPUT);                    \
                                                                                      \
        change;                                                                       \
        assert_int_equal(send_message(rig, &file, sizeof(file)), PR_STATUS_##status); \
        for (unsigned i = 0; i < 0x4000; i++)                                         \
            assert_int_equal(to[i], 0xee);                                            \
    } while (0)

static void refuses_wrong_data_files(void **state)
{
    uint8_t longer[sizeof(struct pr_exe_data_file) + 1] = {0};
    struct fwrig *rig = *state;
    const struct fw *fw = callrig_fw(rig);
    const struct pr_exe_data_file whole = make_file(1, IMAGE_OUTPUT);
    uint8_t *to = fwrig_memory(rig, BUFFER, 0x4000);
    struct callrig c;

    load_mutable(rig);
    memset(to, 0xee, 0x4000);
    REFUSED(file.program_id = 144, NO_PROGRAM);
    REFUSED(file.program_id = 2, NO_PROGRAM);
    REFUSED(file.process_id = 288, NO_PROCESS);
    REFUSED(file.process_id = 0, NO_PROCESS); /* another program's */
    REFUSED(file.index = IMAGE_INPUT, BAD_ARGUMENT);
    REFUSED(file.index = 1, BAD_ARGUMENT);
    REFUSED(file.index = 0xffffffff, BAD_ARGUMENT);
    REFUSED(file.bytes = 0, BAD_ARGUMENT);
    REFUSED(file.bytes = IMAGE_OUTPUT_BYTES - 0x10 + 1, BAD_ARGUMENT);
    REFUSED(file.bytes = UINT64_MAX, BAD_ARGUMENT);
    REFUSED(file.offset = IMAGE_OUTPUT_BYTES, BAD_ARGUMENT);
    REFUSED(file.offset = UINT64_MAX, BAD_ARGUMENT);
    REFUSED(file.destination = 0xe0000000u - IMAGE_OUTPUT_BYTES + 1, BAD_ARGUMENT);
    REFUSED(file.destination = UINT64_MAX, BAD_ARGUMENT);
    REFUSED(file.destination = 0x90000000u, BAD_ARGUMENT); /* not mapped */
    REFUSED(file.source = 0x90000000u, BAD_ARGUMENT);
    REFUSED(file.source = UINT64_MAX, BAD_ARGUMENT);
    assert_int_equal(fw->broken[PR_RULE_PROGRAM_ID], 1);
    assert_int_equal(fw->broken[PR_RULE_PROCESS_ID], 1);
    assert_int_equal(fw->count[FW_DROPPED], 4);
    assert_int_equal(fw->count[FW_REJECTED], 13);
    assert_int_equal(send_message(rig, &whole, sizeof(whole) - 1), PR_STATUS_BAD_SIZE);
    memcpy(longer, &whole, sizeof(whole));
    assert_int_equal(send_message(rig, longer, sizeof(longer)), PR_STATUS_BAD_SIZE);
    assert_int_equal(fw->broken[PR_RULE_CALL_SIZE], 2);
    callrig_make(&c, PR_EXE_PROCEDURE_CALL, 3);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    callrig_retire(rig, 4, 0);
    expect_event(rig, 3);
}

/* Every arm is shut after STOP, but an id can be given back. */
static void arms_are_shut_after_stop(void **state)
{
    const struct pr_exe_data_file file = make_file(1, IMAGE_OUTPUT);
    struct fwrig *rig = *state;
    const struct pr_body_u32 one = {1};
    struct callrig c;

    assert_int_equal(request_id(rig, 0), 1);
    assert_int_equal(fwrig_control(rig, PR_CMD_STOP, &one, sizeof(one)), PR_STATUS_OK);
    for (unsigned i = 0; i < 3; i++) {
        static const uint16_t ids[] = {PR_EXE_PROCEDURE_CALL, PR_EXE_PROCEDURE_CALL_WITH_BARS, EVENTS};

        callrig_make(&c, ids[i], 1);
        callrig_event(&c, true, 0, 1);
        assert_int_equal(callrig_send(rig, &c), PR_STATUS_NOT_READY);
    }
    assert_non_null(strstr(fwrig_log(rig), "[EXELOOP] CMD=0x20c refused: the execution loop is not started"));
    assert_int_equal(send_message(rig, &file, sizeof(file)), PR_STATUS_NOT_READY);
    assert_int_equal(send_ids(rig, 0, 1), PR_STATUS_OK);
}

/* Ids that are commands of the other channel, and ids that no table has: one line, one counter. */
static void other_ids_have_no_arm(void **state)
{
    static const uint16_t ids[] = {0, 1, 0x2c, 0x2e, 0x200, 0x203, 0x205, 0x208, 0x20b, 0x213, 0x403, 0xffff};
    struct fwrig *rig = *state;

    for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        const struct pr_exe_process_id message = {.head = {.id = ids[i]}};
        char line[96];

        snprintf(line, sizeof(line), "Cmd 0x%x is not supported through ExeLoop cmd channel\n", ids[i]);
        assert_int_equal(send_message(rig, &message, sizeof(message)), PR_STATUS_UNKNOWN_COMMAND);
        assert_non_null(strstr(fwrig_log(rig), line));
        assert_int_equal(callrig_fw(rig)->exeloop.unknown, i + 1);
        assert_int_equal(callrig_fw(rig)->count[FW_REJECTED], i + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(a_call_waits_for_another),        T(a_call_of_two_requests_signals_once),
        T(a_held_call_is_dispatched_whole), T(logs_the_call_and_its_events),
        T(process_ids_come_back),           T(a_data_file_needs_the_flag),
        T(a_data_file_is_copied),           T(refuses_wrong_data_files),
        T(arms_are_shut_after_stop),        T(other_ids_have_no_arm),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
