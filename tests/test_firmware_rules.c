/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the call family, each at the last value that holds and at the first that does not: the status,
 * the rule's counter, the disposition's counter and the words in the log; and a right call after each.
 */
#include "callrig.h"

#include <stdio.h>

#include "protocol/log_line.h"

#define PLAIN  PR_EXE_PROCEDURE_CALL
#define BARS   PR_EXE_PROCEDURE_CALL_WITH_BARS
#define EVENTS PR_EXE_PROCEDURE_CALL_WITH_EVENTS

/* The content type of procedure 2, by program. Procedure 0 has two partitions, entry 1 is the second. */
static const uint32_t contents[] = {4, 0, 3, 1, 2, 5, 6};
#define PROGRAMS (sizeof(contents) / sizeof(contents[0]))

static int setup(void **state)
{
    const struct pr_body_premap map = {
        .operations = 1,
        .buffers = 1,
        .pool = PR_POOL_STATS,
        .buffer = {.valid = PR_BUFFER_VALID, .address = FWRIG_STATS, .bytes = 0x1000}};
    struct fwrig_command command = {.header = {.id = PR_CMD_PREMAP_BUFFER, .size = sizeof(map)}};
    struct fwrig *rig = fwrig_create();
    struct container_image image;

    *state = rig;
    fwrig_boot_started(rig);
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        callrig_partitions(&image);
        image.procedure[2].content = contents[i];
        assert_int_equal(callrig_load(rig, &image), i);
    }
    memcpy(command.body, &map, sizeof(map));
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &command, sizeof(command.header) + sizeof(map), 0));
    assert_int_equal(PR_REPLY_STATUS(&command.header), PR_STATUS_OK);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

#define SET(name, ...)                                        \
    static void set_##name(struct callrig *c, uint64_t value) \
    {                                                         \
        __VA_ARGS__;                                          \
    }
/* A length of the message: what the call has, and so many bytes more or fewer. */
static void set_length(struct callrig *c, uint64_t value)
{
    uint8_t message[0x2000];

    c->more = (int32_t)((int64_t)value - (int64_t)callrig_write(c, message));
}
SET(program, c->head->call.program_id = (uint32_t)value)
SET(process, c->head->call.process_id = (uint32_t)value)
SET(procedure, c->head->call.procedure = (uint32_t)value)
SET(priority, c->head->call.priority = (uint32_t)value)
SET(output_sets, c->head->call.output_sets = (uint32_t)value)
SET(partitions, c->head->call.partitions = (uint32_t)value)
SET(stats_address, c->head->call.stats.address = value; c->head->call.stats.bytes = 0x28)
SET(stats_bytes, c->head->call.stats.address = FWRIG_STATS; c->head->call.stats.bytes = value)
SET(buffer_address, c->head->part.buffer[0].address = value)
SET(custom_bars, c->tail.custom_bars = (uint32_t)value)
SET(bar_type, callrig_bar(c, 4, FWRIG_OUT, 0x2000); c->bar[0].type = (uint32_t)value)
SET(bar_config, callrig_bar(c, 4, FWRIG_OUT, 0x2000); c->bar[0].config = (uint32_t)value)
SET(bar_id, callrig_bar(c, (uint32_t)value, FWRIG_OUT, 0x4000))
SET(bar_twice, callrig_bar(c, 4, FWRIG_OUT, 0x2000); callrig_bar(c, (uint32_t)value, FWRIG_OUT, 0x2000))
SET(bar_value, callrig_bar(c, 4, value, 0x2000))
SET(bar_bytes, callrig_bar(c, 4, FWRIG_OUT, value))
SET(flags, callrig_event(c, true, 0, 1); c->tail.flags = (uint32_t)value)
SET(bar_flags, c->tail.flags = (uint32_t)value)
SET(signal_mask, callrig_event(c, true, 0, 1); c->event[0].target_mask = (uint32_t)value)
SET(event_type, callrig_event(c, true, 0, 1); c->event[0].type = (uint32_t)value)
SET(event_id, callrig_event(c, true, value, 1))
SET(event_masks, callrig_event(c, true, 0, 1); c->tail.event_masks = (uint32_t)value)
SET(event_order, callrig_event(c, true, 0, 1); c->tail.sub_network_order = (uint32_t)value)

static void set_buffers(struct callrig *c, uint64_t value)
{
    c->head->call.buffers = (uint32_t)value;
    c->buffers = value <= PR_CALL_BUFFERS_MAX ? (uint32_t)value : 2;
}

static void set_content(struct callrig *c, uint64_t value)
{
    uint32_t program = 0;

    while (contents[program] != value)
        program++;
    c->head->call.program_id = c->head->call.process_id = program;
    c->head->call.procedure = 2;
}

static void set_signals(struct callrig *c, uint64_t value)
{
    callrig_event(c, false, 0, 0);
    for (uint64_t i = 0; i < value && i < PR_SIGNAL_EVENTS_MAX; i++)
        callrig_event(c, true, i, 1);
    c->tail.signal_events = (uint32_t)value;
}

static void set_waits(struct callrig *c, uint64_t value)
{
    for (uint64_t i = 0; i < value && i < PR_WAIT_EVENTS_MAX; i++)
        callrig_event(c, false, 31 - i, 0);
    c->tail.wait_events = value < PR_WAIT_EVENTS_MAX ? (uint32_t)value : PR_WAIT_EVENTS_MAX;
    callrig_event(c, true, 0, 1);
    c->tail.wait_events = (uint32_t)value;
}

static void set_events(struct callrig *c, uint64_t value)
{
    c->tail.event_masks = 1;
    for (uint64_t i = 0; i < value; i++)
        callrig_event(c, true, 0, 1);
}

/* The rule has how many there are when one more comes. */
static void set_shared(struct callrig *c, uint64_t value)
{
    for (uint64_t i = 0; i <= value; i++) {
        callrig_event(c, true, i, 1);
        c->event[i].type = PR_EVENT_SHARED;
    }
}

static const uint32_t first_procedure[PR_EXECUTE_ORDER_MAX];

static void set_order_offset(struct callrig *c, uint64_t value)
{
    callrig_order(c, 1, first_procedure);
    c->tail.execute_order_offset = (uint32_t)value;
}

static void set_order_count(struct callrig *c, uint64_t value)
{
    callrig_order(c, value < PR_EXECUTE_ORDER_MAX ? (uint32_t)value : PR_EXECUTE_ORDER_MAX, first_procedure);
    c->tail.execute_order = (uint32_t)value;
}

/* Its end. The message is not longer than the container, or another rule would be broken first. */
static void set_order_end(struct callrig *c, uint64_t value)
{
    callrig_order(c, 1, first_procedure);
    c->tail.execute_order_offset = (uint32_t)value - 4;
    c->more = value > 0x1700 ? -(int32_t)(value - 0x1700) : 0;
}

/* The length of a message whose execute order ends at 0xe4. */
static void set_order_length(struct callrig *c, uint64_t value)
{
    callrig_order(c, 1, first_procedure);
    set_length(c, value);
}

static void set_order_entry(struct callrig *c, uint64_t value)
{
    callrig_order(c, 2, (const uint32_t[]){0, (uint32_t)value});
}

static void set_order_partitions(struct callrig *c, uint64_t value)
{
    callrig_order(c, 1, first_procedure);
    c->head->call.partitions = (uint32_t)value;
}

#define END UINT64_MAX
/* `elsewhere`: this rule holds for the good values, but another one does not for all of them. */
struct row {
    enum pr_rule rule;
    uint16_t id;
    void (*set)(struct callrig *c, uint64_t value);
    uint64_t good[4], bad[5]; /* END ends them */
    bool elsewhere;
};
static const struct row rows[] = {
    {PR_RULE_EXELOOP_SIZE, PLAIN, set_length, {0x1700, END}, {0x1701, 0x1b89, END}, true},
    {PR_RULE_CALL_SIZE, PLAIN, set_length, {0xc0, END}, {0xbf, 0xc1, 0x5f, 8, END}, false},
    {PR_RULE_CALL_SIZE, BARS, set_length, {0xe0, END}, {0xdf, 0xe1, 0x5f, END}, false},
    {PR_RULE_CALL_SIZE, BARS, set_order_length, {0xe4, END}, {0xe3, 0xe5, 0xe0, END}, false},
    {PR_RULE_BUFFER_COUNT, PLAIN, set_buffers, {2, 64, END}, {65, 0xffffffff, END}, true},
    {PR_RULE_PROGRAM_ID, PLAIN, set_program, {143, END}, {144, 0xffffffff, END}, true},
    {PR_RULE_PROCESS_ID, PLAIN, set_process, {287, END}, {288, 0xffffffff, END}, true},
    {PR_RULE_PROCEDURE_ID, PLAIN, set_procedure, {0, 2, END}, {3, 0xffffffff, END}, false},
    {PR_RULE_CONTENT_TYPE, PLAIN, set_content, {0, 3, 4, END}, {1, 2, 5, 6, END}, false},
    {PR_RULE_PRIORITY, PLAIN, set_priority, {0, 1, 2, 7}, {8, 0xffffffff, END}, false},
    {PR_RULE_OUTPUT_SETS, PLAIN, set_output_sets, {1, END}, {0, 2, END}, false},
    {PR_RULE_PARTITIONS_LEAST, PLAIN, set_partitions, {1, END}, {0, END}, false},
    {PR_RULE_PARTITIONS_MOST, PLAIN, set_partitions, {2, END}, {3, 0xffffffff, END}, false},
    {PR_RULE_PARTITIONS_MOST, BARS, set_order_partitions, {1, END}, {2, END}, false},
    {PR_RULE_STATS_BASE, PLAIN, set_stats_address, {FWRIG_STATS, END}, {FWRIG_STATS - 1, 1, END}, false},
    {PR_RULE_STATS_SIZE, PLAIN, set_stats_bytes, {0, 0x28, END}, {1, 0x27, END}, false},
    {PR_RULE_BUFFER_HIGH, PLAIN, set_buffer_address, {FWRIG_IN, END}, {1ull << 32, 1ull << 63, END}, false},
    {PR_RULE_CUSTOM_BARS, BARS, set_custom_bars, {0, 32, END}, {33, 0xffffffff, END}, true},
    {PR_RULE_CUSTOM_BARS, EVENTS, set_custom_bars, {32, END}, {33, 0xffffffff, END}, true},
    {PR_RULE_BAR_TYPE, BARS, set_bar_type, {1, END}, {0, 2, END}, false},
    {PR_RULE_BAR_CONFIG, BARS, set_bar_config, {1, END}, {0, 2, END}, false},
    {PR_RULE_BAR_ID, BARS, set_bar_id, {4, 5, 9, END}, {0, 10, 32, 0xffffffff, END}, false},
    {PR_RULE_BAR_TWICE, BARS, set_bar_twice, {5, END}, {4, END}, false},
    {PR_RULE_BAR_VALUE,
     BARS,
     set_bar_value,
     {0, 0xdfffe000, END},
     {0xdfffe010, 0xe0000000, 1ull << 32, 8, END},
     false},
    {PR_RULE_BAR_BUFFER_SIZE, BARS, set_bar_bytes, {0x2000, END}, {0x1fff, 0, END}, false},
    {PR_RULE_ORDER_OFFSET, BARS, set_order_offset, {0xe0, 0xe8, END}, {0xdf, 0, END}, false},
    {PR_RULE_ORDER_LEAST, BARS, set_order_count, {1, END}, {0, END}, false},
    {PR_RULE_ORDER_MOST, BARS, set_order_count, {128, END}, {129, 0xffffffff, END}, false},
    {PR_RULE_ORDER_CONTAINER, BARS, set_order_end, {0xe4, 0x1700, END}, {0x1701, 0x1704, END}, false},
    {PR_RULE_ORDER_ENTRY, BARS, set_order_entry, {0, 2, END}, {3, 0xffffffff, END}, false},
    {PR_RULE_SIGNAL_EVENTS, EVENTS, set_signals, {1, 16, END}, {0, 17, 0xffffffff, END}, false},
    {PR_RULE_WAIT_EVENTS, EVENTS, set_waits, {0, 32, END}, {33, 0xffffffff, END}, false},
    {PR_RULE_EVENTS, EVENTS, set_events, {1, END}, {0, END}, false},
    {PR_RULE_EVENT_MASKS, EVENTS, set_event_masks, {1, END}, {0, 2, END}, false},
    {PR_RULE_EVENT_ORDER, EVENTS, set_event_order, {0, END}, {1, END}, false},
    {PR_RULE_EVENT_TYPE, EVENTS, set_event_type, {PR_EVENT_FIRMWARE, END}, {0, 4, END}, false},
    {PR_RULE_EVENT_ID, EVENTS, set_event_id, {0, 31, END}, {32, 1ull << 32, END}, false},
    {PR_RULE_EVENT_TARGET, EVENTS, set_signal_mask, {0, END}, {8, END}, false},
    {PR_RULE_SHARED_EVENTS, EVENTS, set_shared, {1, END}, {2, END}, true},
    {PR_RULE_CALL_FLAGS, EVENTS, set_flags, {0, 1, END}, {2, END}, false},
    {PR_RULE_CALL_FLAGS, BARS, set_bar_flags, {0, END}, {1, END}, false},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Rules of the family that a single message does not break: they have tests of their own below. */
static const enum pr_rule others[] = {PR_RULE_CONTENT_TYPE_CACHE, PR_RULE_IN_FLIGHT};

static void finish(struct fwrig *rig, unsigned level, const char *what, uint64_t value)
{
    struct pr_program_event event = {.status = 1};

    for (unsigned i = 0; i <= PR_EXECUTE_ORDER_MAX && !fwrig_event(rig, &event, true); i++)
        callrig_retire(rig, level, 0);
    if (event.status)
        fail_msg("%s with 0x%llx did not end well", what, (unsigned long long)value);
    callrig_expect_free(rig);
}

static void run_right(struct fwrig *rig)
{
    struct callrig c;

    callrig_make(&c, PLAIN, 7);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    finish(rig, 4, "a right call", 0);
}

static uint32_t send_row(struct fwrig *rig, const struct row *row, uint64_t value, uint32_t *level)
{
    struct callrig c;

    callrig_make(&c, row->id, 1);
    row->set(&c, value);
    *level = c.head->call.priority;
    fwrig_log_clear(rig);
    return callrig_send(rig, &c);
}

static void expect_good(struct fwrig *rig, const struct row *row, uint64_t value)
{
    const char *name = pr_rule_table[row->rule].name;
    const uint32_t before = callrig_fw(rig)->broken[row->rule];
    uint32_t level;
    const uint32_t status = send_row(rig, row, value, &level);

    if (callrig_fw(rig)->broken[row->rule] != before)
        fail_msg("%s is broken by 0x%llx", name, (unsigned long long)value);
    if (!row->elsewhere && status)
        fail_msg("%s: 0x%llx has status %u: %s", name, (unsigned long long)value, status, fwrig_log(rig));
    if (!status)
        finish(rig, level, name, value);
}

static void expect_bad(struct fwrig *rig, const struct row *row, uint64_t value)
{
    const struct pr_rule_row *rule = &pr_rule_table[row->rule];
    const struct fw *fw = callrig_fw(rig);
    const bool dropped = rule->status == PR_STATUS_NO_PROGRAM || rule->status == PR_STATUS_NO_PROCESS;
    const uint32_t before = fw->broken[row->rule];
    const uint64_t drops = fw->count[FW_DROPPED], rejects = fw->count[FW_REJECTED];
    const size_t pushes = fwrig_pushes(rig);
    /* The words of one rule fill a line of 160 bytes: its value is on the next. */
    const char *gap = row->rule == PR_RULE_ORDER_CONTAINER ? "\nwarning exeloop: " : " ";
    char words[256];
    uint32_t level;
    const uint32_t status = send_row(rig, row, value, &level);

    if (status != (uint32_t)rule->status || fw->broken[row->rule] != before + 1)
        fail_msg("%s: 0x%llx has status %u, broken %u times: %s", rule->name, (unsigned long long)value,
                 status, fw->broken[row->rule] - before, fwrig_log(rig));
    if (fw->count[FW_DROPPED] != drops + dropped || fw->count[FW_REJECTED] != rejects + !dropped)
        fail_msg("%s: 0x%llx is not counted", rule->name, (unsigned long long)value);
    (void)snprintf(words, sizeof(words), "%s%sdoes not hold: 0x%llx\n", rule->text, gap,
                   (unsigned long long)value);
    if (!strstr(fwrig_log(rig), words))
        fail_msg("%s: 0x%llx has other words: %s", rule->name, (unsigned long long)value, fwrig_log(rig));
    assert_int_equal(fwrig_pushes(rig), pushes);
    callrig_expect_free(rig);
    run_right(rig);
}

static void every_rule_at_its_limits(void **state)
{
    struct fwrig *rig = *state;

    for (size_t i = 0; i < ROWS; i++) {
        for (unsigned k = 0; k < 4 && rows[i].good[k] != END; k++)
            expect_good(rig, &rows[i], rows[i].good[k]);
        for (unsigned k = 0; k < 5 && rows[i].bad[k] != END; k++)
            expect_bad(rig, &rows[i], rows[i].bad[k]);
    }
}

static bool has_case(enum pr_rule rule)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].rule == rule)
            return true;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i] == rule)
            return true;
    return false;
}

static void every_rule_of_the_family_has_a_case(void **state)
{
    (void)state;
    assert_true(has_case(PR_RULE_EXELOOP_SIZE) && has_case(PR_RULE_PRIORITY));
    for (unsigned rule = PR_RULE_PROGRAM_ID; rule <= PR_RULE_IN_FLIGHT; rule++)
        if (!has_case((enum pr_rule)rule))
            fail_msg("%s has no case", pr_rule_table[rule].name);
}

static void the_number_of_calls_in_flight(void **state)
{
    struct fwrig *rig = *state;
    const struct fw *fw = callrig_fw(rig);
    struct pr_program_event event;
    struct callrig c;

    /* Requests are not calls: two partitions each, and entries for all. */
    for (unsigned i = 0; i < 127; i++) {
        callrig_make(&c, PLAIN, i);
        c.head->call.partitions = 2;
        assert_int_equal(callrig_send(rig, &c), PR_STATUS_OK);
    }
    assert_int_equal(fw->process[0].calls, 127);
    callrig_make(&c, PLAIN, 127);
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_NO_RESOURCES);
    assert_int_equal(fw->broken[PR_RULE_IN_FLIGHT], 1);
    assert_non_null(strstr(fwrig_log(rig), "fewer than 127 requests are in flight does not hold: 0x7f\n"));
    for (unsigned i = 0; i < 127; i++) {
        callrig_retire(rig, 4, 0);
        assert_false(fwrig_event(rig, &event, true));
        callrig_retire(rig, 4, 0);
        assert_true(fwrig_event(rig, &event, true));
        assert_true(event.cookie == i && !event.status);
    }
    callrig_expect_free(rig);
    run_right(rig);
}

/* The order of the checks: of two rules that a message breaks, the earlier one is named. */
static void the_first_broken_rule_is_named(void **state)
{
    struct fwrig *rig = *state;
    const struct fw *fw = callrig_fw(rig);
    struct callrig c;

    callrig_make(&c, BARS, 1);
    callrig_bar(&c, 10, 1ull << 40, 0); /* not a BAR of the procedure */
    c.head->part.buffer[1].address = 1ull << 32;
    c.head->call.partitions = 0;
    c.head->call.priority = 8;
    c.head->call.procedure = 3;
    c.head->call.process_id = 288;
    c.head->call.program_id = 144;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_NO_PROGRAM);
    c.head->call.program_id = 0;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_NO_PROCESS);
    c.head->call.process_id = 0;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fw->broken[PR_RULE_PROCEDURE_ID], 1);
    assert_non_null(strstr(fwrig_log(rig), "getProcedureCallType(): invalid procedureId=3, tot=3\n"));
    c.head->call.procedure = 0;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fw->broken[PR_RULE_PRIORITY], 1);
    c.head->call.priority = 4;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fw->broken[PR_RULE_PARTITIONS_LEAST], 1);
    c.head->call.partitions = 1;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fw->broken[PR_RULE_BUFFER_HIGH], 1);
    c.head->part.buffer[1].address = FWRIG_OUT;
    assert_int_equal(callrig_send(rig, &c), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fw->broken[PR_RULE_BAR_ID], 1);
    run_right(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        T(every_rule_at_its_limits),
        T(every_rule_of_the_family_has_a_case),
        T(the_number_of_calls_in_flight),
        T(the_first_broken_rule_is_named),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
