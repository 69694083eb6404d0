/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every command of the host's and every message of the execution loop in every wrong form: too short, too
 * long, of no priority, before the endpoint is bound, for a program that is not loaded, at an address where
 * nothing is. What each must be answered with is in the tables here, from the sizes of the bodies and from
 * docs/protocol.md; the counter of the disposition and of the rule are compared, and a right call is
 * dispatched after each.
 */
#include "callrig.h"

#include <stdio.h>

#include "cacherig.h"
#include "protocol/command_class.h"
#include "protocol/control_bodies.h"
#include "protocol/inference.h"

#define NOTHING    0x90000000u /* no memory is mapped there */
#define DEAD       5u          /* no such program, no such process */
#define NO_RULE    PR_RULES    /* none is broken */
#define ANY_RULE   (PR_RULES + 1u)
#define BODY_BYTES 0x60u
#define LONGEST    (0x1b88u - 24u) /* a message has fewer than 0x1b89 bytes */

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

/* A firmware that runs, with program 0 and its process 0. */
static void begin(struct fwrig *rig)
{
    fwrig_renew(rig);
    fwrig_boot_started(rig);
    fwrig_load(rig);
}

static void dispatch(struct fwrig *rig, const char *what)
{
    struct pr_program_event event = {.status = 1};
    union fwrig_call call;
    uint32_t status;

    fwrig_call_make(&call, 77);
    status = fwrig_call(rig, &call);
    callrig_retire(rig, 4, 0);
    if (status || !fwrig_event(rig, &event, true) || event.status || event.cookie != 77)
        fail_msg("%s: the right call behind it has status %u and ends with %u", what, status, event.status);
}

/* What the firmware counted before a message. */
struct counts {
    uint64_t dropped, rejected;
    uint32_t broken[PR_RULES];
};

static struct counts count(const struct fwrig *rig)
{
    const struct fw *fw = callrig_fw(rig);
    struct counts counts = {fw->count[FW_DROPPED], fw->count[FW_REJECTED], {0}};

    memcpy(counts.broken, fw->broken, sizeof(counts.broken));
    return counts;
}

/* docs/protocol.md: which statuses are a drop, and which a rejection. */
static bool drops(uint32_t status)
{
    return status == PR_STATUS_NO_PROGRAM || status == PR_STATUS_NO_PROCESS;
}

static bool rejects(uint32_t status)
{
    return status == PR_STATUS_BAD_SIZE || status == PR_STATUS_UNKNOWN_COMMAND ||
           status == PR_STATUS_BAD_ARGUMENT || status == PR_STATUS_BAD_CONTAINER;
}

static void expect_counts(const struct fwrig *rig, const struct counts *before, const char *what,
                          uint64_t dropped, uint64_t rejected, unsigned rule)
{
    const struct counts after = count(rig);

    if (after.dropped != before->dropped + dropped || after.rejected != before->rejected + rejected)
        fail_msg("%s: %u dropped and %u rejected, not %u and %u", what,
                 (unsigned)(after.dropped - before->dropped), (unsigned)(after.rejected - before->rejected),
                 (unsigned)dropped, (unsigned)rejected);
    for (unsigned i = 0; rule != ANY_RULE && i < PR_RULES; i++)
        if (after.broken[i] != before->broken[i] + (i == rule))
            fail_msg("%s: the rule %s is broken %u times", what, pr_rule_table[i].text,
                     after.broken[i] - before->broken[i]);
}

/* The message cannot be read: its slot comes back and a notification says where it was. */
static void expect_unreadable(struct fwrig *rig, enum pr_channel channel, uint64_t bytes, const char *what)
{
    _Alignas(8) uint8_t message[FWRIG_MESSAGE_BYTES];
    const struct pr_notify_error *error = (const void *)message;
    const uint32_t number = fwrig_cursor(rig, channel);

    while (fwrig_message(rig, message))
        continue;
    fwrig_post(rig, channel, NOTHING, bytes, 0);
    assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
    if (!fwrig_slot_returned(rig, channel, number) || !fwrig_message(rig, message) ||
        error->head.id != PR_CMD_CH_ERROR_NOTIFICATION || error->channel != (uint32_t)channel ||
        error->address != NOTHING || error->length != bytes)
        fail_msg("%s: a message that cannot be read is not reported", what);
}

/* ---- control commands ---- */

#define IO       PR_CHANNEL_IO
#define ANY_SIZE 1u  /* shorter and longer bodies are right too */
#define LONGER   2u  /* longer ones are */
#define LIVE     4u  /* the header names program 0 and process 0 */
#define PROGRAM  16u /* the program alone */
#define ENDS     8u  /* a right one leaves a firmware that takes no calls, or not this one */
/*
 * `status` of the right form on a firmware that runs; `dead`: when the header names what is not there.
 * `at`: the word of the body that is an address, and what it is refused with when nothing is there.
 */
struct row {
    uint32_t id;
    enum pr_channel channel;
    uint32_t bytes, flags;
    enum pr_status status, dead;
    uint32_t words[BODY_BYTES / 4];
    uint32_t at;
    enum pr_status nowhere;
};
#define ROW(name, channel, bytes, flags, status, ...)                                             \
    {                                                                                             \
        PR_CMD_##name, channel, bytes, flags, PR_STATUS_##status, PR_STATUS_##status, __VA_ARGS__ \
    }
#define SAME(name, bytes, flags, status, ...) ROW(name, IO, bytes, flags, status, {__VA_ARGS__}, 0, 0)
#define DIFF(name, bytes, flags, status, dead, ...)                                                \
    {                                                                                              \
        PR_CMD_##name, IO, bytes, flags, PR_STATUS_##status, PR_STATUS_##dead, {__VA_ARGS__}, 0, 0 \
    }
#define AT(name, bytes, flags, status, dead, word, nowhere, ...)                                    \
    {                                                                                               \
        PR_CMD_##name, IO, bytes, flags, PR_STATUS_##status, PR_STATUS_##dead, {__VA_ARGS__}, word, \
            PR_STATUS_##nowhere                                                                     \
    }
#define C_CLASS(name) SAME(name, 0, ANY_SIZE, UNKNOWN_COMMAND, 0)
#define INSTALL(name, bytes, ...) \
    DIFF(name, bytes, LIVE, OK, NO_PROGRAM, 0, 0, 0, 0, 0, 0, 2, 1, 1, __VA_ARGS__)
#define HOST_BELL 0x85848000u, 2u /* container + 0x1848000 */
#define PMU       0x8e08c000u, 2u
/* Text, kernel and the buffer of a fixed address. */
#define OWN                                                                                                  \
    0xfffffffeu, 0, FWRIG_TEXT, 0, IMAGE_TEXT_BYTES, 0, 0xffffffffu, 0, FWRIG_KERNEL, 0, IMAGE_KERNEL_BYTES, \
        0, IMAGE_MIDDLE, 0, IMAGE_SCRATCH, 0, IMAGE_SCRATCH_BYTES, 0

static const struct row rows[] = {
    SAME(START, 4, 0, WRONG_STATE, 1), /* it runs */
    SAME(STOP, 4, ENDS, OK, 1),
    SAME(RESET, 8, 0, WRONG_STATE, 0, 7), /* none is wanted */
    SAME(CONFIG_GET, 8, ANY_SIZE, OK, 0),
    SAME(PRINT_ENABLE, 4, 0, OK, 1),
    SAME(REG_FILE_LOAD, 8, 0, WRONG_STATE, 0), /* a program was loaded */
    SAME(BUILDINFO, 0x40, ANY_SIZE, OK, 0),
    SAME(TIMEPROFILE_START, 0, 0, OK, 0),
    SAME(TIMEPROFILE_STOP, 16, ANY_SIZE, WRONG_STATE, 0), /* none was started */
    SAME(TIMEPROFILE_SHOW, 16, 0, OK, 1),
    SAME(FW_RUN_MODE, 4, 0, OK, 0),
    SAME(POWER_DOWN, 0, ENDS, OK, 0),
    AT(SET_SNE_PMU_BASE, 8, 0, OK, OK, 1, BAD_ARGUMENT, PMU),
    SAME(SET_SNE_RPC_CHECK_CMD, 4, 0, OK, 1),
    SAME(RPC_ENABLE, 4, 0, OK, 1),
    SAME(PLATFORM_INFO, 16, ANY_SIZE, OK, 0),
    SAME(BOOT, 8, ANY_SIZE, OK, 0),
    SAME(PING, 0, ANY_SIZE, OK, 0),
    SAME(CONFIG_GET_EXT, 32, ANY_SIZE, OK, 0),
    SAME(POWER_DEVICE_ON, 4, 0, OK, 0),
    SAME(POWER_DEVICE_OFF, 4, ENDS, OK, 0),
    AT(IPC_ENDPOINT_SET, 0x18, 0, OK, OK, 3, BAD_ARGUMENT, 1, 7, 0, 0, 16 * 64, 0),
    SAME(IPC_ENDPOINT_UNSET, 4, 0, OK, 1),
    ROW(CH_INFO_GET, PR_CHANNEL_DEBUG, 4, LONGER, OK, {PR_REPORT_TASKS}, 0, 0),
    SAME(CH_BUFFER_RECYCLE_MODE_SET, 8, 0, OK, PR_CHANNEL_BUF_T2H, 1),
    SAME(CH_BUFFER_RECYCLE_START, 0, 0, WRONG_STATE, 0), /* the mode is by return */
    SAME(CH_BUFFER_RECYCLE_STOP, 0, 0, WRONG_STATE, 0),
    ROW(CH_BUFFER_RETURN, PR_CHANNEL_BUF_H2T, 16, 0, BAD_ARGUMENT, {0, 0, 1}, 1, PR_STATUS_BAD_ARGUMENT),
    SAME(CH_BUFFER_POOL_CONFIG_GET, 16, 0, OK, PR_CHANNEL_BUF_T2H),
    SAME(CH_BUFFER_POOL_CONFIG_SET, 8, 0, OK, PR_CHANNEL_BUF_T2H, 2),
    C_CLASS(CH_DATA_FILE_LOAD),
    SAME(CH_PROPERTY_WRITE, 12, 0, OK, 0, 0x10a4, 1),
    SAME(CH_PROPERTY_READ, 12, 0, OK, 0, 0x10a4),
    SAME(TRACE_ENABLE, 4, 0, OK, 1),
    SAME(RESOURCE_INFO_GET, 0x5c, ANY_SIZE, OK, 0),
    SAME(STATS_BUFFER_SIZE_GET, 16, ANY_SIZE, OK, 0),
    SAME(SUSPEND, 0, 0, WRONG_STATE, 0), /* not quiesced */
    SAME(DSID_SET, 4, 0, WRONG_STATE, 1),
    SAME(MCACHE_SIZE_GET, 4, ANY_SIZE, OK, 1),
    SAME(SECURE_MODE_START, 4, 0, WRONG_STATE, 0), /* no base of the PMU */
    SAME(SECURE_MODE_STOP, 4, 0, WRONG_STATE, 0),
    AT(SET_SNE_PMU_BASE2, 8, 0, OK, OK, 1, BAD_ARGUMENT, PMU),
    AT(IPC_ENDPOINT_SET2, 0x38, 0, OK, OK, 3, BAD_ARGUMENT, 1, 1, HOST_BELL, 64, 0),
    SAME(IPC_ENDPOINT_UNSET2, 4, 0, OK, 1),
    SAME(SET_DYNAMIC_POWERGATE, 4, 0, WRONG_STATE, 1), /* no base of the PMU */
    SAME(ANE_DEFAULT_SETTING_SET, 16, 0, WRONG_STATE, 1, 0, 1, 100),
    AT(INIT_SHARED_EVENT_INFO, 16, 0, OK, OK, 1, BAD_ARGUMENT, FWRIG_STATS, 0, 4, 0),
    C_CLASS(EXCLAVE_MODE_START),
    C_CLASS(EXCLAVE_MODE_STOP),
    SAME(QUIESCE_STATE, 16, ANY_SIZE | ENDS, OK, 0),
    SAME(CPU_LOAD_GET, 48, ANY_SIZE, OK, 0),
    SAME(SECURE_MODE_RESUME_TRANSITION, 0, 0, WRONG_STATE, 0),
    SAME(CH_POWER_CONTROL, 8, 0, OK, PR_CHANNEL_DEBUG, 1),
    AT(LOAD_PROGRAM, 32, 0, OK, NO_PROGRAM, 1, BAD_ARGUMENT, FWRIG_CONTAINERS, 0, 0, 0),
    DIFF(UNLOAD_PROGRAM, 0, ANY_SIZE | LIVE, BUSY, NO_PROGRAM, 0), /* it has a process */
    DIFF(CREATE_PROCESS, 0x50, PROGRAM, OK, NO_PROGRAM, 3, 3, OWN),
    DIFF(TERMINATE_PROCESS, 0, ANY_SIZE | LIVE | ENDS, OK, NO_PROCESS, 0),
    C_CLASS(LOAD_AFPP),
    C_CLASS(UNLOAD_AFPP),
    SAME(PROGRAM_INTERFACE_VERSION_CHECK, 4, 0, OK, 0x10000),
    INSTALL(PROCEDURE_CALL_CACHE_REQUEST, 0x40, 0),
    SAME(PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST, 16, LIVE, WRONG_STATE, 1, 1), /* no such request */
    AT(PREMAP_BUFFER, 0x40, LIVE, OK, NO_PROGRAM, 11, BAD_ARGUMENT, 1, 1, PR_POOL_STATS, 0, 1, 0, 0, 0, 0, 0,
       FWRIG_STATS, 0, 0x1000),
    INSTALL(PROCEDURE_CALL_CACHE_REQUEST_WITH_CUSTOM_BARS, 0x60, 0, 1, 0, 0, 0, 0, 0, 1, 1, 5, 0, FWRIG_IN, 0,
            0x1000, 0),
    INSTALL(PROCEDURE_CALL_CACHE_REQUEST_WITH_SHARED_EVENTS, 0x58, 0, 0, 0, 1, 0, 0, 0, PR_EVENT_FIRMWARE, 0,
            3, 0, 1, 0),
    SAME(FORCE_DISABLE_CACHE_REQUESTS, 4, 0, OK, 1),
    SAME(REQUEST_PROGRAM_ID, 0, 0, OK, 0),
    DIFF(RETURN_PROGRAM_ID, 0, LIVE, NO_PROGRAM, NO_PROGRAM, 0), /* not reserved */
    DIFF(REQUEST_PROCESS_ID, 0, LIVE, OK, NO_PROGRAM, 0),
    DIFF(RETURN_PROCESS_ID, 0, LIVE, NO_PROCESS, NO_PROCESS, 0),
    DIFF(INFERENCE_CALL, 24, 0, OK, NO_PROGRAM, 0), /* a built-in network is opened */
    AT(BACK_CHANNEL_RPC, 32, 0, OK, OK, 5, BAD_ARGUMENT, 0x55aa55aa, 0x40, 0xffffffff, 0, FWRIG_IN, 0),
    SAME(DEBUG_COMMAND_DATA_CHECK, 16, 0, OK, 0x55aa55aa),
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

enum wrong { SIZE_SHORT, SIZE_LONG, BODY_SHORT, BODY_LONG, PRIORITY, UNBOUND, DEAD_PROGRAM, NOWHERE, WRONGS };
static const char *const wrong_names[WRONGS] = {"its size is above the slot's",
                                                "its size is below the slot's",
                                                "a short body",
                                                "a long body",
                                                "priority 8",
                                                "no endpoint",
                                                "no program, process",
                                                "no such address"};

static void make(struct fwrig *rig, const struct row *row, enum wrong wrong, uint8_t *message)
{
    struct container_image image;
    struct pr_command_header *header = (void *)message;
    uint32_t *words = (void *)(header + 1);

    memset(message, 0, 0x200);
    *header = (struct pr_command_header){
        .id = row->id,
        .size = row->bytes,
        .program_id = row->flags & (LIVE | PROGRAM) ? 0 : PR_NO_ID,
        .process_id = row->flags & LIVE ? 0 : PR_NO_ID,
        .priority = 4,
    };
    memcpy(words, row->words, sizeof(row->words));
    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    if (row->id == PR_CMD_LOAD_PROGRAM)
        words[2] = (uint32_t)image.size;
    if (row->id == PR_CMD_IPC_ENDPOINT_SET)
        words[2] = FWRIG_IPC + pr_ipc_ring_offset(PR_CHANNEL_DATA_CHAIN_H2T);
    if (wrong == BODY_SHORT || wrong == BODY_LONG)
        header->size += wrong == BODY_LONG ? 1 : (uint32_t)-1;
    if (wrong == PRIORITY)
        header->priority = 8;
    if (wrong == DEAD_PROGRAM)
        header->program_id = DEAD;
    if (wrong == DEAD_PROGRAM && !(row->flags & PROGRAM))
        header->process_id = DEAD;
    if (wrong == NOWHERE && row->at) {
        words[row->at - 1] = NOTHING;
        words[row->at] = 0;
    }
    memcpy(fwrig_memory(rig, FWRIG_POOL, 0x200), message, 0x200);
}

/* The status, also of a command that ends the processor. */
static uint32_t post(struct fwrig *rig, enum pr_channel channel, uint64_t length)
{
    const uint32_t number = fwrig_cursor(rig, channel);

    fwrig_post(rig, channel, FWRIG_POOL, length, 0x1b88);
    assert_int_not_equal(fwrig_run(rig), FWRIG_FAULTED);
    assert_true(fwrig_slot_returned(rig, channel, number));
    return PR_REPLY_STATUS(&fwrig_reply(rig)->header);
}

/* What a form must be answered with; false when the command has no such form. */
static bool expected(const struct row *row, enum wrong wrong, uint32_t *status, unsigned *rule)
{
    const bool known = row->status != PR_STATUS_UNKNOWN_COMMAND;

    *status = PR_STATUS_BAD_SIZE;
    *rule = NO_RULE;
    switch (wrong) {
    case SIZE_SHORT: *rule = PR_RULE_MESSAGE_SIZE; return true;
    case SIZE_LONG: return true;
    case BODY_SHORT: *rule = ANY_RULE; return row->bytes && !(row->flags & ANY_SIZE);
    case BODY_LONG: *rule = ANY_RULE; return !(row->flags & (ANY_SIZE | LONGER));
    case PRIORITY:
        *status = known ? PR_STATUS_BAD_ARGUMENT : PR_STATUS_UNKNOWN_COMMAND;
        *rule = known ? PR_RULE_FW_PRIORITY : NO_RULE;
        return true;
    default:
        *status = wrong == UNBOUND ? row->status : wrong == DEAD_PROGRAM ? row->dead : row->nowhere;
        *rule = *status ? ANY_RULE : NO_RULE;
        return wrong != NOWHERE || row->at;
    }
}

static void check_cell(struct fwrig *rig, const struct row *row, enum wrong wrong)
{
    const bool done = wrong == UNBOUND || wrong == DEAD_PROGRAM;
    _Alignas(8) uint8_t message[0x200];
    char what[128];
    uint32_t status, is;
    struct counts before;
    unsigned rule;

    if (!expected(row, wrong, &status, &rule))
        return;
    (void)snprintf(what, sizeof(what), "%s, %s", pr_command_name(row->id), wrong_names[wrong]);
    begin(rig);
    if (wrong == UNBOUND)
        assert_int_equal(fwrig_control(rig, PR_CMD_IPC_ENDPOINT_UNSET, &(uint32_t){1}, 4), PR_STATUS_OK);
    make(rig, row, wrong, message);
    if (wrong == SIZE_SHORT)
        fwrig_reply(rig)->header.size++;
    before = count(rig);
    is = post(rig, row->channel,
              sizeof(struct pr_command_header) + ((struct pr_command_header *)(void *)message)->size +
                  (wrong == SIZE_LONG));
    if (is != status)
        fail_msg("%s: status %u, not %u\n%s", what, is, status, fwrig_log(rig));
    expect_counts(rig, &before, what, drops(status), rejects(status), rule);
    if (done && row->flags & ENDS && !(wrong == DEAD_PROGRAM && row->dead != row->status))
        begin(rig);
    else if (done)
        fwrig_bind(rig);
    dispatch(rig, what);
}

static void every_command_in_every_wrong_form(void **state)
{
    struct fwrig *rig = *state;

    for (unsigned i = 0; i < ROWS; i++) {
        for (unsigned wrong = 0; wrong < WRONGS; wrong++)
            check_cell(rig, &rows[i], (enum wrong)wrong);
        begin(rig);
        expect_unreadable(rig, rows[i].channel, sizeof(struct pr_command_header) + rows[i].bytes,
                          pr_command_name(rows[i].id));
        dispatch(rig, pr_command_name(rows[i].id));
    }
}

/* The longest message that there may be, of a command that takes any body, and one byte more. */
static void the_longest_message(void **state)
{
    struct fwrig *rig = *state;
    struct pr_command_header *header;

    begin(rig);
    header = &fwrig_reply(rig)->header;
    for (uint32_t more = 0; more < 2; more++) {
        const struct counts before = count(rig);
        const uint32_t expected_status = more ? PR_STATUS_BAD_SIZE : PR_STATUS_OK;

        *header = (struct pr_command_header){.id = PR_CMD_PING, .size = LONGEST + more};
        assert_int_equal(post(rig, IO, sizeof(*header) + LONGEST + more), expected_status);
        expect_counts(rig, &before, "the longest message", 0, more, more ? PR_RULE_MESSAGE_SIZE : NO_RULE);
        dispatch(rig, "the longest message");
    }
}

static bool has_row(const struct pr_command_class *class)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (rows[i].id == class->id && strstr(class->channel, pr_channel_table[rows[i].channel].name))
            return true;
    return !strcmp(class->channel, "DATA_CHAIN_H2T");
}

/* ---- the execution loop ---- */

/* A cell: the status and the rule that is broken. */
struct cell {
    bool exists;
    enum pr_status status;
    unsigned rule;
};
#define BREAKS(rule, status)                     \
    {                                            \
        true, PR_STATUS_##status, PR_RULE_##rule \
    }
#define REFUSED(status)                   \
    {                                     \
        true, PR_STATUS_##status, NO_RULE \
    }
#define ABSENT                  \
    {                           \
        false, PR_STATUS_OK, 0u \
    }
#define SIZES    BREAKS(CALL_SIZE, BAD_SIZE), BREAKS(CALL_SIZE, BAD_SIZE)
#define ENDPOINT BREAKS(ENDPOINT_BOUND, NOT_READY)
enum { ARM_SHORT, ARM_LONG, ARM_PRIORITY, ARM_UNBOUND, ARM_DEAD, ARM_ADDRESS, ARM_WRONGS };
static const char *const arm_wrongs[ARM_WRONGS] = {"short",       "long",    "priority 8",
                                                   "no endpoint", "no such", "no such address"};
#define CALLS BREAKS(PRIORITY, BAD_ARGUMENT), ENDPOINT, REFUSED(NO_PROGRAM), BREAKS(BUFFER_HIGH, BAD_ARGUMENT)
static const struct arm {
    uint32_t id;
    struct cell cell[ARM_WRONGS];
} arms[] = {
    {PR_EXE_PROCEDURE_CALL, {SIZES, CALLS}},
    {PR_EXE_PROCEDURE_CALL_WITH_BARS, {SIZES, CALLS}},
    {PR_EXE_PROCEDURE_CALL_WITH_EVENTS, {SIZES, CALLS}},
    {PR_EXE_CACHE_REQUEST_TRIGGER,
     {SIZES, ABSENT, ENDPOINT, BREAKS(CACHE_STATE, WRONG_STATE), BREAKS(BUFFER_HIGH, BAD_ARGUMENT)}},
    {PR_EXE_CACHE_REQUEST_SUBMIT,
     {SIZES, ABSENT, ENDPOINT, BREAKS(CACHE_STATE, WRONG_STATE), BREAKS(BUFFER_HIGH, BAD_ARGUMENT)}},
    {PR_EXE_PROCEDURE_CALL_VARIANT, {SIZES, ABSENT, ENDPOINT, BREAKS(CACHE_STATE, WRONG_STATE), ABSENT}},
    {PR_EXE_CH_DATA_FILE_LOAD2, {SIZES, ABSENT, ENDPOINT, REFUSED(NO_PROGRAM), REFUSED(BAD_ARGUMENT)}},
    {PR_EXE_RETURN_PROCESS_ID, {SIZES, ABSENT, ENDPOINT, REFUSED(NO_PROCESS), ABSENT}},
    {PR_EXE_BACK_CHANNEL_RPC,
     {SIZES, ABSENT, ENDPOINT, BREAKS(RPC_SLOT, WRONG_STATE), REFUSED(BAD_ARGUMENT)}},
};
#define ARMS (sizeof(arms) / sizeof(arms[0]))

/* Program 1 has a mutable buffer, process 2 is reserved for program 0, and a request is installed. */
static uint64_t begin_arms(struct fwrig *rig)
{
    struct fwrig_command reserve = {
        .header = {.id = PR_CMD_REQUEST_PROCESS_ID, .program_id = 0, .process_id = PR_NO_ID}};
    struct container_image image;

    begin(rig);
    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    image.buffer[1].type = PR_BUFFER_MUTABLE;
    assert_int_equal(callrig_load(rig, &image), 1);
    assert_true(fwrig_send(rig, IO, &reserve, sizeof(reserve.header), 0));
    assert_int_equal(reserve.header.process_id, 2);
    return cacherig_request(rig, 2, 0);
}

static size_t make_call(uint32_t id, bool dead, bool high, bool wrong_priority, uint8_t *message)
{
    struct callrig c;

    callrig_make(&c, (uint16_t)id, 5);
    if (id == PR_EXE_PROCEDURE_CALL_WITH_EVENTS)
        callrig_event(&c, true, 1, 1);
    if (dead)
        c.head->call.program_id = c.head->call.process_id = DEAD;
    if (high)
        c.head->part.buffer[0].address = 1ull << 32;
    if (wrong_priority)
        c.head->call.priority = 8;
    return callrig_write(&c, message);
}

static size_t put(uint8_t *message, const void *bytes, size_t size)
{
    memcpy(message, bytes, size);
    return size;
}

/* The message in one wrong form, or the right one (ARM_WRONGS); its bytes. */
static size_t make_arm(uint32_t id, unsigned wrong, uint64_t handler, uint8_t *message)
{
    const bool dead = wrong == ARM_DEAD, away = wrong == ARM_ADDRESS;
    const uint64_t request = dead ? handler + (1ull << 40) : handler;
    const struct pr_cache_active active = {{.id = (uint16_t)id}, request, request};
    const struct pr_exe_process_id ids = {{.id = (uint16_t)id}, 0, dead ? DEAD : 2};
    const struct pr_exe_rpc rpc = {.head = {.id = (uint16_t)id},
                                   .magic = 0x55aa55aa,
                                   .length = dead ? 0 : 0x40,
                                   .slot = dead ? DEAD : PR_NO_ID,
                                   .address = away ? NOTHING : FWRIG_IN};
    const struct pr_exe_data_file file = {.head = {.id = (uint16_t)id},
                                          .program_id = dead ? DEAD : 1,
                                          .process_id = 1,
                                          .index = IMAGE_OUTPUT,
                                          .source = away ? NOTHING : FWRIG_IN,
                                          .bytes = 0x10,
                                          .destination = FWRIG_OUT};
    struct pr_cache_trigger trigger;
    struct pr_cache_recycle recycle;

    memset(message, 0, 0x2000);
    switch (id) {
    case PR_EXE_CACHE_REQUEST_TRIGGER:
        cacherig_trigger_make(&trigger, request, 1);
        trigger.buffer[0].address |= (uint64_t)away << 32;
        return put(message, &trigger, PR_CACHE_TRIGGER_BYTES(1));
    case PR_EXE_CACHE_REQUEST_SUBMIT:
        cacherig_recycle_make(&recycle, request, 0);
        recycle.buffer[0].address |= (uint64_t)away << 32;
        return put(message, &recycle, PR_CACHE_RECYCLE_BYTES(1));
    case PR_EXE_PROCEDURE_CALL_VARIANT: return put(message, &active, sizeof(active));
    case PR_EXE_CH_DATA_FILE_LOAD2: return put(message, &file, sizeof(file));
    case PR_EXE_RETURN_PROCESS_ID: return put(message, &ids, sizeof(ids));
    case PR_EXE_BACK_CHANNEL_RPC: return put(message, &rpc, sizeof(rpc));
    default: return make_call(id, dead, away, wrong == ARM_PRIORITY, message);
    }
}

static uint32_t send_arm(struct fwrig *rig, uint8_t *message, size_t bytes)
{
    assert_true(fwrig_send(rig, PR_CHANNEL_DATA_CHAIN_H2T, message, bytes, 0));
    return pr_le16(message + 6);
}

/* A call or an execution of a right form ends before the next call. */
static void expect_right(struct fwrig *rig, const struct arm *arm)
{
    const uint64_t handler = begin_arms(rig);
    struct pr_program_event event;
    uint8_t message[0x2000];
    const size_t bytes = make_arm(arm->id, ARM_WRONGS, handler, message);
    const struct counts before = count(rig);

    if (send_arm(rig, message, bytes))
        fail_msg("0x%x: the right form is refused: %s", arm->id, fwrig_log(rig));
    expect_counts(rig, &before, "a right form", 0, 0, NO_RULE);
    if (fwrig_pushes(rig)) {
        callrig_retire(rig, 4, 0);
        assert_true(fwrig_event(rig, &event, true) && !event.status);
    }
    dispatch(rig, "a right form");
}

static void check_arm(struct fwrig *rig, const struct arm *arm, unsigned wrong)
{
    const struct cell *cell = &arm->cell[wrong];
    const bool trigger = arm->id == PR_EXE_CACHE_REQUEST_TRIGGER && wrong == ARM_DEAD; /* is a drop */
    const uint64_t handler = begin_arms(rig);
    uint8_t message[0x2000];
    const size_t bytes = make_arm(arm->id, wrong, handler, message);
    struct counts before;
    char what[64];
    uint32_t is;

    (void)snprintf(what, sizeof(what), "0x%x, %s", arm->id, arm_wrongs[wrong]);
    if (wrong == ARM_UNBOUND)
        assert_int_equal(fwrig_control(rig, PR_CMD_IPC_ENDPOINT_UNSET2, &(uint32_t){1}, 4), PR_STATUS_OK);
    before = count(rig);
    is = send_arm(rig, message, bytes + (wrong == ARM_LONG) - (wrong == ARM_SHORT));
    if (is != (uint32_t)cell->status)
        fail_msg("%s: status %u, not %u\n%s", what, is, cell->status, fwrig_log(rig));
    expect_counts(rig, &before, what, drops(is) || trigger, rejects(is), cell->rule);
    if (wrong == ARM_UNBOUND)
        fwrig_bind(rig);
    dispatch(rig, what);
}

static void every_arm_in_every_wrong_form(void **state)
{
    struct fwrig *rig = *state;

    for (unsigned i = 0; i < ARMS; i++) {
        struct counts before;

        expect_right(rig, &arms[i]);
        for (unsigned wrong = 0; wrong < ARM_WRONGS; wrong++)
            if (arms[i].cell[wrong].exists)
                check_arm(rig, &arms[i], wrong);
        (void)begin_arms(rig);
        before = count(rig);
        expect_unreadable(rig, PR_CHANNEL_DATA_CHAIN_H2T, 0xc0, pr_exeloop_name(arms[i].id));
        expect_counts(rig, &before, "a message that cannot be read", 0, 1, NO_RULE);
        dispatch(rig, "a message that cannot be read");
    }
}

static void every_id_has_its_row(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PR_CLASS_COUNT; i++)
        if (!has_row(&pr_command_class_table[i]))
            fail_msg("%s has no row", pr_command_class_table[i].name);
    assert_int_equal(ARMS, PR_EXELOOP_COUNT);
    for (unsigned i = 0; i < PR_EXELOOP_COUNT; i++) {
        unsigned found = 0;

        for (unsigned j = 0; j < ARMS; j++)
            found += arms[j].id == pr_exeloop_table[i].id;
        assert_int_equal(found, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(every_id_has_its_row),
        T(every_command_in_every_wrong_form),
        T(the_longest_message),
        T(every_arm_in_every_wrong_form),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
