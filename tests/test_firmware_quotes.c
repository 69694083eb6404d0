/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the seeds quote of the firmware: every rule of rule.def is broken by a test, and every line of
 * log_line.h is read in the log, with its values. Those that another suite has are named with it, and the
 * suite is looked at; the others are here, the rules at their limits.
 */
#include "callrig.h"

#include <stdio.h>
#include <stdlib.h>

#include "cacherig.h"
#include "protocol/control_bodies.h"
#include "protocol/inference.h"
#include "protocol/log_line.h"
#include "protocol/rule.h"

#define PROPERTIES (FWRIG_STATS + 0x1000u)

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

/* ---- rules ---- */

/* No suite: broken here. `reason`: no message can break it. */
static const struct {
    enum pr_rule rule;
    const char *suite, *reason;
} witnesses[] = {
#define IN(rule, suite)                                   \
    {                                                     \
        PR_RULE_##rule, "test_firmware_" suite ".c", NULL \
    }
#define HERE(rule)                 \
    {                              \
        PR_RULE_##rule, NULL, NULL \
    }
#define NEVER(rule, reason)          \
    {                                \
        PR_RULE_##rule, NULL, reason \
    }
    IN(MESSAGE_SIZE, "matrix"),
    IN(FW_PRIORITY, "matrix"),
    IN(PRIORITY, "rules"),
    NEVER(QUEUE_ID,
          "a level is a priority that was checked before; test_firmware_schedule.c breaks it inside"),
    IN(EXELOOP_SIZE, "rules"),
    IN(ENDPOINT_BOUND, "matrix"),
    HERE(ENDPOINT_RING),
    HERE(ENDPOINT_TARGETS),
    HERE(ENDPOINT_TARGET),
    HERE(ENDPOINT_TYPE),
    IN(PROGRAM_ID, "rules"),
    IN(PROCESS_ID, "rules"),
    IN(PROCEDURE_ID, "rules"),
    IN(CONTENT_TYPE, "rules"),
    IN(CONTENT_TYPE_CACHE, "cache_install"),
    IN(OUTPUT_SETS, "rules"),
    IN(PARTITIONS_LEAST, "rules"),
    IN(PARTITIONS_MOST, "rules"),
    IN(STATS_BASE, "rules"),
    IN(STATS_SIZE, "rules"),
    IN(CALL_SIZE, "rules"),
    IN(BUFFER_COUNT, "rules"),
    IN(BUFFER_HIGH, "rules"),
    IN(CUSTOM_BARS, "rules"),
    IN(BAR_TYPE, "rules"),
    IN(BAR_CONFIG, "rules"),
    IN(BAR_ID, "rules"),
    IN(BAR_TWICE, "rules"),
    IN(BAR_VALUE, "rules"),
    IN(BAR_BUFFER_SIZE, "rules"),
    IN(ORDER_OFFSET, "rules"),
    IN(ORDER_LEAST, "rules"),
    IN(ORDER_MOST, "rules"),
    IN(ORDER_CONTAINER, "rules"),
    IN(ORDER_ENTRY, "rules"),
    IN(SIGNAL_EVENTS, "rules"),
    IN(WAIT_EVENTS, "rules"),
    IN(EVENTS, "rules"),
    IN(EVENT_MASKS, "rules"),
    IN(EVENT_ORDER, "rules"),
    IN(EVENT_TYPE, "rules"),
    IN(EVENT_ID, "rules"),
    IN(EVENT_TARGET, "rules"),
    IN(SHARED_EVENTS, "rules"),
    IN(CALL_FLAGS, "rules"),
    IN(IN_FLIGHT, "rules"),
    IN(CACHE_INDEX, "cache_install"),
    IN(CACHE_STATE, "cache"),
    IN(CACHE_PARTITIONS, "cache_install"),
    IN(CACHE_REQUESTS, "cache_install"),
    IN(CACHE_SETS, "cache_install"),
    IN(CACHE_LINK, "cache_install"),
    IN(CACHE_GROUP, "cache_install"),
    IN(CACHE_FOLLOW, "cache_install"),
    IN(CACHE_FLAGS, "cache_install"),
    IN(CACHE_DISABLED, "cache"),
    IN(CACHE_DISABLE_TRUE, "cache"),
    IN(TRIGGER_TIME, "cache"),
    IN(TRIGGER_INPUTS, "cache"),
    IN(TRIGGER_BUFFERS, "chain"),
    IN(SET_TYPE, "cache"),
    IN(SET_ID, "cache"),
    IN(SET_BUFFERS, "cache"),
    IN(SET_STATE, "cache"),
    HERE(INFERENCE_BUFFERS),
    HERE(INFERENCE_PROPERTY),
    HERE(PREMAP_BUFFERS),
    HERE(BUILT_IN_PROGRAM),
    HERE(BUILT_IN_NETWORK),
    HERE(REG_VALUE),
    HERE(RPC_LENGTH),
    HERE(RPC_MAGIC),
    HERE(RPC_SLOT),
    IN(DATA_FILE_FLAG, "exeloop"),
#undef IN
#undef HERE
#undef NEVER
};
#define WITNESSES (sizeof(witnesses) / sizeof(witnesses[0]))

/* A value of a word of a command's body, which this rule holds for or not. */
#define END UINT64_MAX
static const struct bound {
    enum pr_rule rule;
    uint32_t id, bytes, words[16];
    uint32_t place; /* of the value's low half */
    uint64_t good[3], bad[4];
} bounds[] = {
#define HOST_BELL 0x85848000u, 2u /* container + 0x1848000 */
#define TARGETS   HOST_BELL, 64, 0, HOST_BELL, 1, 0, HOST_BELL, 2, 0
    {PR_RULE_ENDPOINT_TYPE, PR_CMD_IPC_ENDPOINT_UNSET, 4, {1}, 0, {1, END}, {0, 2, 0xffffffff, END}},
    {PR_RULE_ENDPOINT_TYPE, PR_CMD_IPC_ENDPOINT_UNSET2, 4, {1}, 0, {1, END}, {0, 2, END}},
    {PR_RULE_ENDPOINT_TYPE, PR_CMD_IPC_ENDPOINT_SET2, 0x38, {1, 3, TARGETS}, 0, {1, END}, {0, 2, END}},
    {PR_RULE_ENDPOINT_TARGETS, PR_CMD_IPC_ENDPOINT_SET2, 0x38, {1, 1, TARGETS}, 1, {1, 3, END}, {0, 4, END}},
    {PR_RULE_ENDPOINT_TARGET,
     PR_CMD_IPC_ENDPOINT_SET2,
     0x38,
     {1, 2, TARGETS},
     2,
     {0x285848000ull, END},
     {0x285848004ull, 0x285847ffcull, END}},
    {PR_RULE_REG_VALUE, PR_CMD_IPC_ENDPOINT_SET2, 0x38, {1, 3, TARGETS}, 12, {1, END}, {0, END}},
    {PR_RULE_BUILT_IN_PROGRAM, PR_CMD_INFERENCE_CALL, 24, {0}, 1, {0, 3, END}, {4, 0xffffffff, END}},
    {PR_RULE_BUILT_IN_NETWORK, PR_CMD_INFERENCE_CALL, 24, {0}, 2, {0, END}, {1, 0xffffffff, END}},
#define RPC 0x55aa55aa, 0, 0xffffffff, 0, FWRIG_BASE
    {PR_RULE_RPC_LENGTH, PR_CMD_BACK_CHANNEL_RPC, 32, {RPC}, 1, {0, 0x800000, END}, {0x800001, END}},
    {PR_RULE_RPC_MAGIC, PR_CMD_BACK_CHANNEL_RPC, 32, {RPC}, 0, {0x55aa55aa, END}, {0, 0x55aa55ab, END}},
    {PR_RULE_RPC_SLOT, PR_CMD_BACK_CHANNEL_RPC, 32, {RPC}, 2, {0xffffffff, END}, {0, 8, 0xfffffffe, END}},
#define MAP(pool, index) 1, 1, pool, 0, 1, index, 0, 0, 0, 0, FWRIG_IN, 0, 0x1000
    {PR_RULE_PREMAP_BUFFERS, PR_CMD_PREMAP_BUFFER, 0x40, {MAP(1, IMAGE_INPUT)}, 1, {1, END}, {0, 2, END}},
    {PR_RULE_PREMAP_BUFFERS, PR_CMD_PREMAP_BUFFER, 0x40, {MAP(2, 0)}, 1, {1, END}, {0, 2, END}},
    {PR_RULE_PREMAP_BUFFERS, PR_CMD_PREMAP_BUFFER, 0x40, {MAP(3, 0)}, 1, {1, END}, {0, 2, END}},
};
#define BOUNDS (sizeof(bounds) / sizeof(bounds[0]))

static uint32_t send_body(struct fwrig *rig, uint32_t id, bool live, const void *body, uint32_t bytes)
{
    struct fwrig_command command = {
        .header = {
            .id = id, .size = bytes, .program_id = live ? 0 : PR_NO_ID, .process_id = live ? 0 : PR_NO_ID}};

    memcpy(command.body, body, bytes);
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &command, sizeof(command.header) + bytes, 0));
    return PR_REPLY_STATUS(&command.header);
}

/* The rule's words with the value, its counter and its status; or neither. */
static void expect_rule(struct fwrig *rig, enum pr_rule rule, uint32_t before, uint32_t status, bool holds,
                        uint64_t value)
{
    const struct pr_rule_row *row = &pr_rule_table[rule];
    char words[256];

    (void)snprintf(words, sizeof(words), "%s does not hold: 0x%llx\n", row->text, (unsigned long long)value);
    if (status != (uint32_t)(holds ? PR_STATUS_OK : row->status) ||
        callrig_fw(rig)->broken[rule] != before + !holds || (strstr(fwrig_log(rig), words) != NULL) == holds)
        fail_msg("%s with 0x%llx: status %u\n%s", row->name, (unsigned long long)value, status,
                 fwrig_log(rig));
}

static void check_bound(struct fwrig *rig, const struct bound *bound, uint64_t value, bool holds)
{
    const uint32_t before = callrig_fw(rig)->broken[bound->rule];
    uint32_t words[16], status;

    memcpy(words, bound->words, sizeof(words));
    words[bound->place] = (uint32_t)value;
    fwrig_log_clear(rig);
    status = send_body(rig, bound->id, bound->id == PR_CMD_PREMAP_BUFFER, words, bound->bytes);
    expect_rule(rig, bound->rule, before, status, holds, value);
}

static void rules_of_commands_at_their_limits(void **state)
{
    struct fwrig *rig = *state;

    for (unsigned i = 0; i < BOUNDS; i++) {
        for (unsigned k = 0; bounds[i].good[k] != END; k++)
            check_bound(rig, &bounds[i], bounds[i].good[k], true);
        for (unsigned k = 0; bounds[i].bad[k] != END; k++)
            check_bound(rig, &bounds[i], bounds[i].bad[k], false);
    }
}

/* The ring is that of the channel: another channel, another place, another length. */
static void the_ring_of_the_endpoint(void **state)
{
    struct fwrig *rig = *state;
    const struct pr_body_endpoint right = {
        1, PR_CHANNEL_DATA_CHAIN_H2T, FWRIG_IPC + pr_ipc_ring_offset(PR_CHANNEL_DATA_CHAIN_H2T), 16 * 64};
    const struct fw *fw = callrig_fw(rig);

    for (unsigned i = 0; i < 4; i++) {
        const uint32_t before = fw->broken[PR_RULE_ENDPOINT_RING];
        struct pr_body_endpoint body = right;
        uint32_t status;

        body.channel -= i == 1;
        body.ring += i == 2 ? 64 : 0;
        body.bytes -= i == 3;
        fwrig_log_clear(rig);
        status = send_body(rig, PR_CMD_IPC_ENDPOINT_SET, false, &body, sizeof(body));
        expect_rule(rig, PR_RULE_ENDPOINT_RING, before, status, i == 0, i == 1 ? body.channel : body.ring);
    }
}

/* bufNbr is one more than the procedure's two; the property buffer is one that was mapped. */
static void rules_of_inference_calls(void **state)
{
    struct fwrig *rig = *state;
    const struct pr_body_premap map = {.operations = 1,
                                       .buffers = 1,
                                       .pool = PR_POOL_PROPERTY,
                                       .buffer = {.valid = 1, .address = PROPERTIES, .bytes = 0x18}};
    const struct pr_inference_properties one = {.packets = 1, .packet = {{.command = 1, .priority = 4}}};
    struct {
        uint32_t buffers, zero[3];
        uint64_t cookie;
        struct pr_buffer buffer[4];
    } body = {.cookie = 0x100};
    const struct fw *fw = callrig_fw(rig);
    union fwrig_call call;

    fwrig_call_make(&call, 0);
    memcpy(&body.buffer[1], call.part.buffer, 2 * sizeof(struct pr_buffer));
    memcpy(fwrig_memory(rig, PROPERTIES, sizeof(one)), &one, sizeof(one));
    assert_int_equal(send_body(rig, PR_CMD_PREMAP_BUFFER, true, &map, sizeof(map)), PR_STATUS_OK);
    for (uint32_t buffers = 1; buffers <= 4; buffers++) {
        const uint32_t before = fw->broken[PR_RULE_INFERENCE_BUFFERS];

        body.buffer[0] = map.buffer;
        body.buffers = buffers;
        fwrig_log_clear(rig);
        expect_rule(rig, PR_RULE_INFERENCE_BUFFERS, before,
                    send_body(rig, PR_CMD_INFERENCE_CALL, true, &body, 0x18 + 0x30 * buffers), buffers == 3,
                    buffers);
    }
    body.buffers = 3;
    body.buffer[0].address = PROPERTIES + 8;
    fwrig_log_clear(rig);
    expect_rule(rig, PR_RULE_INFERENCE_PROPERTY, 0,
                send_body(rig, PR_CMD_INFERENCE_CALL, true, &body, 0x18 + 0x30 * 3), false, PROPERTIES + 8);
}

/* The suite's text, with an end. */
static char *read_suite(const char *suite)
{
    char path[512];
    size_t size;
    char *text;

    (void)snprintf(path, sizeof(path), TEST_SOURCE_ROOT "/tests/%s", suite);
    text = (char *)test_file_read(path, &size);
    assert_non_null(text);
    text = realloc(text, size + 1);
    assert_non_null(text);
    text[size] = '\0';
    return text;
}

/* The name as an argument or behind PR_RULE_, and not the beginning of a longer one. */
static bool names_rule(const char *text, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = text; (at = strstr(at, name)); at += length)
        if ((at[-1] == ' ' || at[-1] == '(' || at[-1] == '_') && strchr("),]; ", at[length]) &&
            (at[-1] != '_' || !strncmp(at - 8, "PR_RULE_", 8)))
            return true;
    return false;
}

static bool is_bound_here(enum pr_rule rule)
{
    for (unsigned i = 0; i < BOUNDS; i++)
        if (bounds[i].rule == rule)
            return true;
    return rule == PR_RULE_ENDPOINT_RING || rule == PR_RULE_INFERENCE_BUFFERS ||
           rule == PR_RULE_INFERENCE_PROPERTY;
}

static void every_rule_has_a_witness(void **state)
{
    (void)state;
    assert_int_equal(WITNESSES, PR_RULES);
    for (unsigned i = 0; i < WITNESSES; i++) {
        const char *name = pr_rule_table[witnesses[i].rule].name;
        unsigned rows = 0;

        for (unsigned j = 0; j < WITNESSES; j++)
            rows += witnesses[j].rule == witnesses[i].rule;
        assert_int_equal(rows, 1);
        if (witnesses[i].suite) {
            char *text = read_suite(witnesses[i].suite);

            if (!names_rule(text, name))
                fail_msg("%s does not break %s", witnesses[i].suite, name);
            free(text);
        } else if (!witnesses[i].reason && !is_bound_here(witnesses[i].rule)) {
            fail_msg("%s is not broken", name);
        }
    }
}

/* ---- lines ---- */

/* The line as it is read, and by whom; no suite: here. */
static const struct {
    const char *format, *suite, *text;
} lines[] = {
#define IN(line, suite, text) [PR_LINE_NUMBER_##line] = {PR_LINE_##line, "test_firmware" suite ".c", text}
#define HERE(line, text)      [PR_LINE_NUMBER_##line] = {PR_LINE_##line, NULL, text}
    HERE(COMMAND, "CMD = 0x12 [PING]"),
    IN(CALL, "_call", "[EXELOOP] CMD=0x204 [PROC CALL] at 55 : ProgId=0 ProcId=0 Proc=0 Pri=3"),
    IN(CALL_BARS, "_bars", "[EXELOOP] CMD=0x20c [PROC CALL WITH BARS] at 77 : ProgId=0 "),
    IN(CALL_EVENTS, "_exeloop", "[EXELOOP] CMD=0x211 [PROC CALL WITH EVENTS] at 0 : ProgId=0 "),
    HERE(TRIGGER, "[EXELOOP] CMD=0x209 [CR TRIGGER] at 33 : cacheHandler 0x100000001\n"),
    HERE(CACHE_HANDLER, "cacheHandler: 0x100000001\n"),
    IN(SHAPE, "_exeloop", "Bufs = 2 Priority = 4 CustomBars = 0 WaitEvents = 1 SignalEvents = 2"),
    IN(BAR, "_bars", "bar[0]: type=1 cfg=1 barId=4 value=0xc00000 bufSize=8192"),
    IN(WAIT_EVENT, "_exeloop", "waitEvent[0]: type=1 mask=0 id=3 value=0"),
    IN(SIGNAL_EVENT, "_exeloop", "signalEvent[0]: type=1 mask=0 id=31 value=123456789012"),
    IN(PROCEDURE, "_rules", "getProcedureCallType(): invalid procedureId=3, tot=3"),
    IN(QUEUE_FULL, "_schedule", "[isHWReady] priority queue is full!"),
    IN(INFERENCE, "_inference", "CSNE_CMD_INFERENCE_CALL dropped. prog 9 process 5 not running."),
    HERE(TRIGGER_DROPPED, "cacheHandler (0x100000001) in wrong state (2) for trigger. trigger dropped.\n"),
    IN(PREFETCH, "_notify", "Dsid (7) Event (0x1)"),
    IN(UNSUPPORTED, "_call", "Cmd 0x205 is not supported through ExeLoop cmd channel"),
    IN(RPC_DIRTY, "_rpc", "RPCEventMap[0] is dirty. (No ack from driver)"),
    IN(IPC_WRITER, "_endpoint", "IPC Writer regAddr 0x206468000 regValue 0x1"),
    IN(PAGE_SIZE, "_boot", "MMU invalid page size: 1000"),
    IN(L2C, "", "Uncorrectable L2C error overflow"),
#undef IN
#undef HERE
};
_Static_assert(sizeof(lines) / sizeof(lines[0]) == PR_LINE_COUNT, "every line has a row");

static void every_line_is_read_by_a_suite(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PR_LINE_COUNT; i++) {
        char *text;

        assert_non_null(lines[i].format);
        assert_memory_equal(lines[i].text, lines[i].format, strcspn(lines[i].format, "%"));
        if (!lines[i].suite)
            continue;
        text = read_suite(lines[i].suite);
        if (!strstr(text, lines[i].text))
            fail_msg("%s does not read \"%s\"", lines[i].suite, lines[i].text);
        free(text);
    }
}

static void expect_line(struct fwrig *rig, unsigned line)
{
    if (!strstr(fwrig_log(rig), lines[line].text))
        fail_msg("the log has no \"%s\":\n%s", lines[line].text, fwrig_log(rig));
}

static void lines_of_commands_and_triggers(void **state)
{
    const struct pr_body_property level = {.property = 0xa1, .value = 1};
    struct fwrig *rig = *state;
    struct fwrig_command ping = {.header = {.id = PR_CMD_PING, .priority = 8}};
    uint64_t handler;

    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &ping, sizeof(ping.header), 0));
    expect_line(rig, PR_LINE_NUMBER_COMMAND);
    handler = cacherig_request(rig, 2, 0);
    assert_int_equal(handler, 0x100000001);
    expect_line(rig, PR_LINE_NUMBER_CACHE_HANDLER);
    assert_int_equal(fwrig_control(rig, PR_CMD_CH_PROPERTY_WRITE, &level, sizeof(level)), PR_STATUS_OK);
    assert_int_equal(cacherig_recycle(rig, handler, 0), PR_STATUS_OK);
    (void)fwrig_pass(rig, 33);
    assert_int_equal(cacherig_trigger(rig, handler, 1), PR_STATUS_OK);
    expect_line(rig, PR_LINE_NUMBER_TRIGGER);
    /* its execution runs: it is invalidating */
    assert_int_equal(cacherig_invalidate(rig, handler, NULL), PR_STATUS_OK);
    assert_int_equal(cacherig_trigger(rig, handler, 2), PR_STATUS_WRONG_STATE);
    expect_line(rig, PR_LINE_NUMBER_TRIGGER_DROPPED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(every_rule_has_a_witness), T(rules_of_commands_at_their_limits), T(the_ring_of_the_endpoint),
        T(rules_of_inference_calls), T(every_line_is_read_by_a_suite),     T(lines_of_commands_and_triggers),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
