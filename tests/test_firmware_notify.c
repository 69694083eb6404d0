/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notifications of the firmware: each is sent when what it reports has happened, with its values, and not
 * otherwise; and what settings and properties change.
 */
#include "support.h"

#include <string.h>

#include "fwrig.h"
#include "protocol/control_bodies.h"
#include "protocol/notification.h"
#include "protocol/rule.h"

union message {
    uint8_t bytes[FWRIG_MESSAGE_BYTES];
    struct pr_notification_head head;
    struct pr_program_event event;
    struct pr_notify_error error;
    struct pr_notify_signpost signpost;
    struct pr_notify_signposts signposts;
    struct pr_notify_signpost64 signpost64;
    struct pr_notify_signposts64 signposts64;
    struct pr_notify_load load;
    struct pr_notify_sync sync;
    struct pr_notify_debug debug;
    struct pr_notify_prefetch prefetch;
};

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

static uint32_t property(struct fwrig *rig, uint32_t number, uint32_t value)
{
    const struct pr_body_property body = {0, number, value};

    return fwrig_control(rig, PR_CMD_CH_PROPERTY_WRITE, &body, sizeof(body));
}

static uint32_t call_with(struct fwrig *rig, uint32_t priority, uint64_t cookie)
{
    union fwrig_call call;

    fwrig_call_make(&call, cookie);
    call.call.priority = priority;
    return fwrig_call(rig, &call);
}

/* The next message, which must be of that kind. */
static void expect(struct fwrig *rig, uint32_t id, union message *message)
{
    assert_true(fwrig_message(rig, message));
    if (message->head.id != id)
        fail_msg("message 0x%x %s, not 0x%x %s", message->head.id, pr_command_name(message->head.id), id,
                 pr_command_name(id));
}

static void expect_none(struct fwrig *rig)
{
    union message message;

    if (fwrig_message(rig, &message))
        fail_msg("message 0x%x %s", message.head.id, pr_command_name(message.head.id));
}

static void expect_log(struct fwrig *rig, const char *text)
{
    if (!strstr(fwrig_log(rig), text))
        fail_msg("the log does not say \"%s\":\n%s", text, fwrig_log(rig));
}

/* Errors of channels. */

static void unreadable_slots_are_reported(void **state)
{
    static const struct {
        enum pr_channel channel;
        uint64_t address, length;
    } rows[] = {
        {PR_CHANNEL_IO, 0xdeadbeee0ull, 24},
        {PR_CHANNEL_IO, FWRIG_POOL, 23},
        {PR_CHANNEL_DEBUG, 0, 24},
        {PR_CHANNEL_BUF_H2T, 0x90000000u, 40},
        {PR_CHANNEL_DATA_CHAIN_H2T, 0x90000000u, 0x60},
        {PR_CHANNEL_DATA_CHAIN_H2T, FWRIG_POOL, 7},
        {PR_CHANNEL_DATA_CHAIN_H2T, 0, UINT64_MAX},
    };
    struct fwrig *rig = *state;
    union message m;

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fwrig_post(rig, rows[i].channel, rows[i].address, rows[i].length, 0);
        fwrig_run(rig);
        expect(rig, PR_CMD_CH_ERROR_NOTIFICATION, &m);
        if (m.error.error != PR_CHANNEL_ERROR_UNREADABLE || m.error.channel != (uint32_t)rows[i].channel ||
            m.error.address != rows[i].address || m.error.length != rows[i].length)
            fail_msg("row %u", i);
        expect_none(rig);
    }
    /* a message whose status has a place is answered there */
    memset(fwrig_memory(rig, FWRIG_POOL, 0x2000), 0, 0x2000);
    fwrig_post(rig, PR_CHANNEL_DATA_CHAIN_H2T, FWRIG_POOL, UINT64_MAX, 0);
    fwrig_run(rig);
    assert_int_equal(pr_le16(fwrig_memory(rig, FWRIG_POOL + 6, 2)), PR_STATUS_BAD_SIZE);
    expect_none(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), PR_STATUS_OK);
}

/* 64 slots of IO_T2H and as many places in front of it; the rest is lost, and the host hears how many. */
static void lost_notifications_are_counted(void **state)
{
    struct fwrig *rig = *state;
    uint32_t sequence = 0;
    union message m;

    for (unsigned i = 0; i < 64 + 64 + 5; i++) {
        fwrig_post(rig, PR_CHANNEL_IO, 0x90000000u + 2 * i, 24, 0);
        fwrig_run(rig);
    }
    assert_int_equal(fwrig_counter(rig, "notifications-lost"), 5);
    for (unsigned i = 0; i < 64 + 64; i++) {
        expect(rig, PR_CMD_CH_ERROR_NOTIFICATION, &m);
        assert_int_equal(m.error.address, 0x90000000u + 2 * i);
        assert_true(!i || m.head.sequence == sequence + 1);
        sequence = m.head.sequence;
    }
    expect(rig, PR_CMD_CH_ERROR_NOTIFICATION, &m);
    assert_int_equal(m.error.error, PR_CHANNEL_ERROR_LOST);
    assert_int_equal(m.error.channel, PR_CHANNEL_IO_T2H);
    assert_int_equal(m.error.length, 5);
    expect_none(rig);
}

/* One more that nobody waits for, or one more that is lost. */
static void flood(struct fwrig *rig)
{
    fwrig_post(rig, PR_CHANNEL_IO, 0x90000000u, 24, 0);
    fwrig_run(rig);
}

/* Every slot of IO_T2H is the host's, and every place of the firmware's is taken. */
static void fill(struct fwrig *rig)
{
    for (unsigned i = 0; i < 64 + 64; i++)
        flood(rig);
}

/* However many notifications come, the event of a call goes after those that were there when it ended. */
static void notifications_do_not_keep_events_back(void **state)
{
    struct fwrig *rig = *state;
    union message m = {0};
    unsigned taken = 0;

    fwrig_load(rig);
    fill(rig);
    assert_int_equal(call_with(rig, 4, 7), PR_STATUS_OK);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    for (; m.head.id != PR_CMD_PROGRAM_EVENT && taken < 1000; taken++) {
        assert_true(fwrig_message(rig, &m));
        flood(rig);
    }
    assert_int_equal(taken, 64 + 64 + 1);
}

/* What the host has to answer is not lost among what nobody waits for. */
static void steps_of_a_switch_are_not_lost(void **state)
{
    const struct pr_body_pmu pmu = {FWRIG_PMU};
    const struct pr_body_u32 word = {0};
    struct fwrig *rig = *state;
    union message m;

    assert_int_equal(fwrig_control(rig, PR_CMD_SET_SNE_PMU_BASE2, &pmu, sizeof(pmu)), PR_STATUS_OK);
    fill(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_SECURE_MODE_START, &word, sizeof(word)), PR_STATUS_OK);
    flood(rig);
    for (unsigned i = 0; i < 64 + 64; i++)
        expect(rig, PR_CMD_CH_ERROR_NOTIFICATION, &m);
    expect(rig, PR_CMD_SECURE_MODE_EVENT, &m);
    expect(rig, PR_CMD_SECURE_MODE_EVENT, &m);
    expect(rig, PR_CMD_CH_ERROR_NOTIFICATION, &m);
    assert_int_equal(m.error.error, PR_CHANNEL_ERROR_LOST);
    assert_int_equal(m.error.length, 1);
    expect_none(rig);
}

/* Signposts. */

static void a_call_leaves_signposts(void **state)
{
    struct fwrig *rig = *state;
    uint64_t time;
    union message m;

    fwrig_load(rig);
    assert_int_equal(word(rig, PR_CMD_TRACE_ENABLE, 4 | 2), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(call_with(rig, 4, 0x55), 0);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    expect(rig, PR_CMD_PROGRAM_EVENT, &m); /* no signposts without the bit */
    assert_int_equal(word(rig, PR_CMD_TRACE_ENABLE, 4), PR_STATUS_OK);
    assert_int_equal(call_with(rig, 4, 0x1234567890ull), 0);
    expect(rig, PR_CMD_CH_SIGNPOST_NOTIFICATION_GROUP, &m);
    time = m.signposts.time;
    assert_int_equal(m.signposts.count, 2);
    assert_int_equal(m.signposts.post[0].code, PR_SIGNPOST_ACCEPTED);
    assert_int_equal(m.signposts.post[0].argument[0], 0); /* program 0, process 0 */
    assert_int_equal(m.signposts.post[0].argument[1], 0x34567890u);
    assert_int_equal(m.signposts.post[1].code, PR_SIGNPOST_PUSHED);
    assert_int_equal(m.signposts.post[1].argument[0], 4);
    assert_int_equal(m.signposts.post[1].argument[1], 2); /* the second network id */
    expect_none(rig);
    fwrig_pass(rig, 700);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    expect(rig, PR_CMD_CH_SIGNPOST_NOTIFICATION, &m);
    assert_int_equal(m.signpost.code, PR_SIGNPOST_RETIRED);
    assert_int_equal(m.signpost.argument[0], 4);
    assert_int_equal(m.signpost.argument[1], 2);
    assert_int_equal(m.signpost.time, time + 700);
    expect(rig, PR_CMD_CH_SIGNPOST64_NOTIFICATION, &m);
    assert_int_equal(m.signpost64.code, PR_SIGNPOST_SPAN);
    assert_int_equal(m.signpost64.argument[0], 0);
    assert_int_equal(m.signpost64.argument[1], 700);
    expect(rig, PR_CMD_PROGRAM_EVENT, &m);
    expect(rig, PR_CMD_CH_SIGNPOST_NOTIFICATION, &m);
    assert_int_equal(m.signpost.code, PR_SIGNPOST_REPORTED);
    assert_int_equal(m.signpost.argument[0], 0);
    assert_int_equal(m.signpost.argument[1], 0x34567890u);
    expect_none(rig);
}

/* Two calls that retire together. */
static void spans_of_one_time_are_a_group(void **state)
{
    struct fwrig *rig = *state;
    union message m;

    fwrig_load(rig);
    assert_int_equal(word(rig, PR_CMD_TRACE_ENABLE, 4), PR_STATUS_OK);
    assert_int_equal(call_with(rig, 4, 1), 0);
    fwrig_pass(rig, 100);
    assert_int_equal(call_with(rig, 5, 2), 0);
    fwrig_pass(rig, 50);
    expect(rig, PR_CMD_CH_SIGNPOST_NOTIFICATION_GROUP, &m);
    expect(rig, PR_CMD_CH_SIGNPOST_NOTIFICATION_GROUP, &m);
    fwrig_retire(rig, 4, 0, false);
    fwrig_retire(rig, 5, 0, true);
    fwrig_run(rig);
    expect(rig, PR_CMD_CH_SIGNPOST_NOTIFICATION_GROUP, &m);
    assert_int_equal(m.signposts.count, 2);
    expect(rig, PR_CMD_CH_SIGNPOST64_NOTIFICATION_GROUP, &m);
    assert_int_equal(m.signposts64.count, 2);
    assert_int_equal(m.signposts64.code[1], PR_SIGNPOST_SPAN);
    assert_int_equal(m.signposts64.argument[0][1], 150);
    assert_int_equal(m.signposts64.argument[1][1], 50);
    expect(rig, PR_CMD_PROGRAM_EVENT, &m);
    expect(rig, PR_CMD_PROGRAM_EVENT, &m);
    expect(rig, PR_CMD_CH_SIGNPOST_NOTIFICATION_GROUP, &m);
    assert_int_equal(m.signposts.post[1].code, PR_SIGNPOST_REPORTED);
    assert_int_equal(m.signposts.post[1].argument[1], 2);
    expect_none(rig);
}

/* The load. */

static void watermarks_are_reported_when_crossed(void **state)
{
    struct fwrig *rig = *state;
    union message m;

    fwrig_load(rig);
    assert_int_equal(property(rig, 0x1803, 0x2000), PR_STATUS_OK);
    assert_int_equal(property(rig, 0x1804, 0xc000), PR_STATUS_OK);
    assert_int_equal(call_with(rig, 4, 1), 0);
    fwrig_pass(rig, 1000000);
    expect(rig, PR_CMD_CPU_LOAD_NOTIFICATION, &m);
    assert_int_equal(m.load.score, 0xffff);
    assert_int_equal(m.load.above, 1);
    assert_int_equal(m.load.span_ns, 1000000);
    assert_int_equal(m.load.busy_ns, 1000000);
    /* half of the next span: between the watermarks, nothing is crossed */
    fwrig_pass(rig, 500000);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    expect(rig, PR_CMD_PROGRAM_EVENT, &m);
    fwrig_pass(rig, 500000);
    expect_none(rig);
    assert_int_equal(fwrig_counter(rig, "load-score"), 0x7fff);
    /* and none of the one after */
    fwrig_pass(rig, 1000000);
    expect(rig, PR_CMD_CPU_LOAD_NOTIFICATION, &m);
    assert_int_equal(m.load.score, 0);
    assert_int_equal(m.load.above, 0);
    assert_false(fwrig_timer_set(rig)); /* an idle firmware measures no more */
    /* without a high watermark nothing is measured */
    assert_int_equal(property(rig, 0x1804, 0), PR_STATUS_OK);
    assert_int_equal(call_with(rig, 4, 2), 0);
    fwrig_pass(rig, 1000000);
    expect_none(rig);
}

/* Errors of data movement. */

static void a_failed_transfer_is_reported(void **state)
{
    struct fwrig *rig = *state;
    union message m;

    fwrig_load(rig);
    assert_int_equal(call_with(rig, 4, 9), 0);
    fwrig_set_error(rig, 0x00030402, 0x00a01000); /* source 2 of queue 4: a translation */
    fwrig_retire(rig, 4, PR_TM_CODE_TRANSLATION, true);
    fwrig_run(rig);
    expect(rig, PR_CMD_TM_SYNC_ERR_NOTIFICATION, &m);
    assert_int_equal(m.sync.queue, 4);
    assert_int_equal(m.sync.network, 1);
    assert_int_equal(m.sync.error[0], 0x00030402);
    assert_int_equal(m.sync.error[1], 0x00a01000);
    assert_int_equal(m.sync.program_id, 0);
    expect(rig, PR_CMD_PROGRAM_EVENT, &m);
    assert_int_equal(m.event.status, PR_STATUS_TRANSLATION);
    /* a descriptor's fetch is not a transfer of an operand */
    assert_int_equal(call_with(rig, 4, 10), 0);
    fwrig_set_error(rig, 0x00010402, 0x00a01000);
    fwrig_retire(rig, 4, PR_TM_CODE_TRANSLATION, true);
    fwrig_run(rig);
    expect(rig, PR_CMD_PROGRAM_EVENT, &m);
    expect_none(rig);
}

/* Run mode diagnostic. */

static void diagnostic_mode_reports_what_is_refused(void **state)
{
    const struct pr_body_rpc wrong = {.magic = 0x12345678, .slot = PR_NO_ID};
    struct fwrig *rig = *state;
    union message m;

    assert_int_equal(fwrig_control(rig, PR_CMD_BACK_CHANNEL_RPC, &wrong, sizeof(wrong)),
                     PR_STATUS_BAD_ARGUMENT);
    expect_none(rig);
    assert_int_equal(word(rig, PR_CMD_FW_RUN_MODE, PR_RUN_DIAGNOSTIC), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_BACK_CHANNEL_RPC, &wrong, sizeof(wrong)),
                     PR_STATUS_BAD_ARGUMENT);
    expect(rig, PR_CMD_DBG_EVENT, &m);
    assert_int_equal(m.debug.rule, PR_RULE_RPC_MAGIC);
    assert_int_equal(m.debug.count, 2);
    assert_int_equal(m.debug.value, 0x12345678);
    expect(rig, PR_CMD_DBG_EVENT, &m); /* and the command that broke it */
    assert_int_equal(m.debug.rule, PR_NO_ID);
    assert_int_equal(m.debug.count, PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(m.debug.value, PR_CMD_BACK_CHANNEL_RPC);
    assert_int_equal(fwrig_control(rig, PR_CMD_PING, NULL, 0), PR_STATUS_OK);
    expect_none(rig);
    assert_int_equal(word(rig, PR_CMD_FW_RUN_MODE, PR_RUN_NORMAL), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_EXCLAVE_MODE_START, NULL, 0), PR_STATUS_UNKNOWN_COMMAND);
    expect_none(rig);
}

/* The data set. */

static uint32_t load_image(struct fwrig *rig, uint64_t kernel_bytes, uint64_t constant_bytes)
{
    struct container_image image;
    struct pr_body_load load;

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    image.section[PR_SECTION_KERNEL]->address_bytes = kernel_bytes;
    if (constant_bytes) {
        image.buffer[2].type = PR_BUFFER_IN; /* the one of a fixed address */
        image.buffer[2].bytes = constant_bytes;
    }
    image_text(fwrig_memory(rig, FWRIG_TEXT, IMAGE_TEXT_BYTES));
    memcpy(fwrig_memory(rig, FWRIG_CONTAINERS, image.size), image.bytes, image.size);
    load = (struct pr_body_load){.container = FWRIG_CONTAINERS, .bytes = image.size};
    return fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load));
}

static void expect_prefetch(struct fwrig *rig, uint32_t event, uint32_t program, uint64_t bytes)
{
    union message m;

    expect(rig, PR_CMD_PREFETCH_DSID_EVENT, &m);
    assert_int_equal(m.prefetch.dsid, 7);
    assert_int_equal(m.prefetch.event, event);
    assert_int_equal(m.prefetch.program_id, program);
    assert_int_equal(m.prefetch.bytes, bytes);
}

static void a_data_set_is_prefetched(void **state)
{
    struct fwrig *rig = *state;
    struct fwrig_command unload = {.header = {.id = PR_CMD_UNLOAD_PROGRAM}};

    assert_int_equal(word(rig, PR_CMD_DSID_SET, 7), PR_STATUS_OK);
    assert_int_equal(load_image(rig, 0x4000, 0), PR_STATUS_OK);
    expect_prefetch(rig, PR_PREFETCH_DONE, 0, 0x4000);
    expect_log(rig, "Dsid (7) Event (0x1)");
    assert_int_equal(load_image(rig, 0x4000, 0x1000), PR_STATUS_OK); /* constants too */
    expect_prefetch(rig, PR_PREFETCH_DONE, 1, 0x5000);
    assert_int_equal(fwrig_counter(rig, "prefetched-bytes"), 0x9000);
    assert_int_equal(fwrig_counter(rig, "prefetched-programs"), 2);
    /* the cache has 0x200000 bytes: one byte more than what is left, and exactly that */
    assert_int_equal(load_image(rig, 0x200000 - 0x9000 + 1, 0), PR_STATUS_OK);
    expect_prefetch(rig, PR_PREFETCH_DROPPED, 2, 0x200000 - 0x9000 + 1);
    expect_log(rig, "Dsid (7) Event (0x2)");
    assert_int_equal(load_image(rig, 0x200000 - 0x9000, 0), PR_STATUS_OK);
    expect_prefetch(rig, PR_PREFETCH_DONE, 3, 0x200000 - 0x9000);
    assert_true(fwrig_send(rig, PR_CHANNEL_IO, &unload, sizeof(unload.header), 0));
    assert_int_equal(PR_REPLY_STATUS(&unload.header), PR_STATUS_OK);
    assert_int_equal(fwrig_counter(rig, "prefetched-bytes"), 0x200000 - 0x4000);
    assert_int_equal(word(rig, PR_CMD_POWER_DEVICE_OFF, PR_POWER_MCACHE), PR_STATUS_OK);
    expect_prefetch(rig, PR_PREFETCH_DROPPED, PR_NO_ID, 0x200000 - 0x4000);
    assert_int_equal(fwrig_counter(rig, "prefetched-programs"), 0);
    assert_int_equal(load_image(rig, 0x4000, 0), PR_STATUS_OK); /* off: no prefetch */
    expect_prefetch(rig, PR_PREFETCH_DROPPED, 0, 0x4000);
    expect_none(rig);
}

static void without_a_data_set_nothing_is_prefetched(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(load_image(rig, 0x4000, 0), PR_STATUS_OK);
    expect_none(rig);
    assert_int_equal(fwrig_counter(rig, "prefetched-bytes"), 0);
}

/* Properties. */

static void finish(struct fwrig *rig, uint64_t cookie)
{
    struct pr_program_event event;

    assert_int_equal(call_with(rig, 4, cookie), 0);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
}

static void performance_mode_keeps_the_islands_on(void **state)
{
    const struct pr_body_pmu pmu = {FWRIG_PMU};
    struct fwrig *rig = *state;

    fwrig_load(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_SET_SNE_PMU_BASE2, &pmu, sizeof(pmu)), PR_STATUS_OK);
    assert_int_equal(word(rig, PR_CMD_SET_DYNAMIC_POWERGATE, 1), PR_STATUS_OK);
    finish(rig, 1);
    assert_int_equal(fwrig_power(rig, 1) & 0xff, 0);
    assert_int_equal(property(rig, 0x10aa, 1), PR_STATUS_OK);
    finish(rig, 2);
    assert_int_equal(fwrig_power(rig, 1) & 0xff, PR_PMU_READY);
    assert_int_equal(property(rig, 0x10aa, 0), PR_STATUS_OK);
    finish(rig, 3);
    assert_int_equal(fwrig_power(rig, 1) & 0xff, 0);
}

static void sanity_checks_run_when_the_loop_is_idle(void **state)
{
    struct fwrig *rig = *state;

    fwrig_load(rig);
    finish(rig, 1);
    assert_int_equal(fwrig_counter(rig, "sanity-checks"), 0);
    assert_int_equal(property(rig, 0x10a6, 1), PR_STATUS_OK);
    finish(rig, 2);
    finish(rig, 3);
    assert_int_equal(fwrig_counter(rig, "sanity-checks"), 2);
    assert_int_equal(fwrig_counter(rig, "sanity-broken"), 0);
}

static void a_read_only_image_has_no_working_set(void **state)
{
    struct fwrig *rig = *state;
    struct container_image image;
    struct pr_body_load load;

    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    image_text(fwrig_memory(rig, FWRIG_TEXT, IMAGE_TEXT_BYTES));
    memcpy(fwrig_memory(rig, FWRIG_CONTAINERS, image.size), image.bytes, image.size);
    load = (struct pr_body_load){.container = FWRIG_CONTAINERS,
                                 .bytes = image.size,
                                 .working = FWRIG_TEXT + IMAGE_TEXT_BYTES - 8,
                                 .working_bytes = sizeof(struct pr_working_set)};
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_OK);
    assert_int_equal(property(rig, 0x10a4, 1), PR_STATUS_OK);
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_BAD_ARGUMENT);
    expect_log(rig, "the working set at 0x8007f8 is in the program's image, which is read-only");
    load.working = FWRIG_KERNEL - sizeof(struct pr_working_set) + 1;
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_BAD_ARGUMENT);
    load.working = FWRIG_TEXT + IMAGE_TEXT_BYTES; /* right behind it */
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_OK);
}

/* TIMEPROFILE_SHOW with the body of command facts 2. */
static void a_time_profile_is_shown(void **state)
{
    struct pr_body_profile_show show = {.one = 1};
    struct fwrig *rig = *state;

    fwrig_load(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_SHOW, &show, sizeof(show)), PR_STATUS_WRONG_STATE);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_START, NULL, 0), PR_STATUS_OK);
    finish(rig, 1);
    fwrig_pass(rig, 5000);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_SHOW, &show, sizeof(show)), PR_STATUS_OK);
    memcpy(&show, fwrig_reply(rig)->body, sizeof(show));
    assert_int_equal(show.calls, 1);
    assert_int_equal(show.span_ns, 5000);
    expect_log(rig, "time profile: 1 calls in 5000 ns");
    show.one = 0;
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_SHOW, &show, sizeof(show)),
                     PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_SHOW, &show, 20), PR_STATUS_BAD_SIZE);
    assert_int_equal(fwrig_control(rig, PR_CMD_TIMEPROFILE_SHOW, &show, 16), PR_STATUS_OK); /* the clocks */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(unreadable_slots_are_reported),
        T(lost_notifications_are_counted),
        T(notifications_do_not_keep_events_back),
        T(steps_of_a_switch_are_not_lost),
        T(a_call_leaves_signposts),
        T(spans_of_one_time_are_a_group),
        T(watermarks_are_reported_when_crossed),
        T(a_failed_transfer_is_reported),
        T(diagnostic_mode_reports_what_is_refused),
        T(a_data_set_is_prefetched),
        T(without_a_data_set_nothing_is_prefetched),
        T(performance_mode_keeps_the_islands_on),
        T(sanity_checks_run_when_the_loop_is_idle),
        T(a_read_only_image_has_no_working_set),
        T(a_time_profile_is_shown),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
