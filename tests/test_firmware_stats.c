/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics: the map of a buffer, and each part of a record in the bytes of the buffer. Offsets and sizes
 * are written out as docs/protocol.md has them.
 */
#include "support.h"

#include <string.h>

#include "fwrig.h"
#include "protocol/bits.h"
#include "protocol/stats.h"

#define ROOM   0x400u /* of the buffer, and what is looked at */
#define UNSEEN 0xee

#define HEADER 0x28u
#define ENGINE 0x20u
#define TOTALS 0x0cu
#define EVENT  0x14u
#define DEBUG  0x10u

static uint32_t map_at(struct fwrig *rig, uint64_t address, uint64_t bytes)
{
    const struct pr_body_premap body = {
        .operations = 1,
        .buffers = 1,
        .pool = PR_POOL_STATS,
        .buffer = {.valid = PR_BUFFER_VALID, .address = address, .bytes = bytes},
    };
    struct fwrig_command command = {
        .header = {.size = sizeof(body), .id = PR_CMD_PREMAP_BUFFER, .priority = 4}};

    memcpy(command.body, &body, sizeof(body));
    if (!fwrig_send(rig, PR_CHANNEL_IO, &command, sizeof(command.header) + sizeof(body),
                    sizeof(command.header) + sizeof(body)))
        return FWRIG_LOST;
    return PR_REPLY_STATUS(&command.header);
}

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    fwrig_load(rig);
    assert_int_equal(map_at(rig, FWRIG_STATS, ROOM), PR_STATUS_OK);
    memset(fwrig_memory(rig, FWRIG_STATS, ROOM), UNSEEN, ROOM);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

static uint32_t begin(struct fwrig *rig, uint64_t address, uint64_t bytes)
{
    union fwrig_call call;

    fwrig_call_make(&call, 77);
    call.call.procedure = 1;
    call.call.stats = (struct pr_buffer){.valid = PR_BUFFER_VALID, .address = address, .bytes = bytes};
    return fwrig_call(rig, &call);
}

/* A call with a buffer, which ends after so many nanoseconds; its event has to come. */
static void run(struct fwrig *rig, uint64_t address, uint64_t bytes, uint64_t ns, uint32_t code)
{
    struct pr_program_event event;

    assert_int_equal(begin(rig, address, bytes), PR_STATUS_OK);
    fwrig_pass(rig, ns);
    fwrig_retire(rig, 4, code, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.cookie, 77);
}

static void profile(struct fwrig *rig, uint32_t level)
{
    const struct pr_body_property property = {PR_CHANNEL_IO, 0x00a1, level};

    assert_int_equal(fwrig_control(rig, PR_CMD_CH_PROPERTY_WRITE, &property, sizeof(property)), PR_STATUS_OK);
}

static const uint8_t *record(struct fwrig *rig)
{
    return fwrig_memory(rig, FWRIG_STATS, ROOM);
}

static bool untouched(const uint8_t *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (from[i] != UNSEEN)
            return false;
    return true;
}

static void has_the_header_of_table_29_9(void **state)
{
    struct fwrig *rig = *state;
    const uint8_t *stats = record(rig);

    for (uint32_t i = 1; i <= 2; i++) {
        run(rig, FWRIG_STATS, HEADER, 1000 * i, 0);
        assert_int_equal(pr_le16(stats), 0x0101);
        assert_int_equal(pr_le16(stats + 2), 0);
        assert_int_equal(pr_le64(stats + 0x04), 1000 * i);
        assert_int_equal(pr_le32(stats + 0x0c), 0); /* program */
        assert_int_equal(pr_le64(stats + 0x10), 0);
        assert_int_equal(pr_le32(stats + 0x18), 1); /* procedure */
        assert_int_equal(pr_le64(stats + 0x1c), i);
        assert_int_equal(pr_le32(stats + 0x24), 0);
        assert_true(untouched(stats + HEADER, ROOM - HEADER));
    }
}

/* Three calls of 5, 7.5 and 0.5 microseconds, one after the other: latency and busy time are the same. */
static void has_a_descriptor_of_the_engine(void **state)
{
    static const uint32_t ns[] = {5000, 7500, 500}, sum_us[] = {5, 12, 13};
    struct fwrig *rig = *state;
    const uint8_t *stats = record(rig), *engine = stats + HEADER;

    for (uint32_t i = 0; i < 3; i++) {
        run(rig, FWRIG_STATS, ROOM, ns[i], 0);
        assert_int_equal(pr_le32(stats + 0x24), ENGINE + TOTALS);
        assert_int_equal(pr_le32(engine), 0);        /* id */
        assert_int_equal(pr_le32(engine + 0x04), 1); /* a neural engine */
        assert_true(pr_le32(engine + 0x08) < 256);   /* of the call objects */
        assert_int_equal(pr_le32(engine + 0x0c), 0); /* index */
        assert_int_equal(pr_le32(engine + 0x10), i + 1);
        assert_int_equal(pr_le32(engine + 0x14), 3 * (i + 1)); /* accepted, pushed, ended */
        assert_int_equal(pr_le32(engine + 0x18), sum_us[i]);
        assert_int_equal(pr_le32(engine + 0x1c), sum_us[i]);
        assert_true(untouched(engine + ENGINE + TOTALS, ROOM - HEADER - ENGINE - TOTALS));
    }
}

/* Two calls are on the queue together for 4 microseconds: the engine is busy once, both wait for it. */
static void counts_busy_time_once(void **state)
{
    struct fwrig *rig = *state;
    const uint8_t *engine = record(rig) + HEADER;

    assert_int_equal(begin(rig, FWRIG_STATS, ROOM), PR_STATUS_OK);
    assert_int_equal(begin(rig, FWRIG_STATS, ROOM), PR_STATUS_OK);
    assert_int_equal(fwrig_pushes(rig), 2);
    fwrig_pass(rig, 4000);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    fwrig_pass(rig, 2000);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_int_equal(pr_le32(engine + 0x10), 2);
    assert_int_equal(pr_le32(engine + 0x18), 6);
    assert_int_equal(pr_le32(engine + 0x1c), 4 + 6);
}

/* The totals run for a process, also over calls whose buffer has no room for them. */
static void totals_run_for_a_process(void **state)
{
    struct fwrig *rig = *state;
    const uint8_t *totals = record(rig) + HEADER + ENGINE;
    union fwrig_process process;
    union fwrig_call call;
    uint32_t id;

    run(rig, FWRIG_STATS, ROOM, 1, 0);
    assert_int_equal(pr_le32(totals), 1); /* the engine's */
    assert_int_equal(pr_le32(totals + 4), 1);
    assert_int_equal(pr_le32(totals + 8), 3);
    run(rig, FWRIG_STATS, HEADER, 1, 0); /* no descriptor, but the events happen */
    run(rig, FWRIG_STATS, ROOM, 1, 0);
    assert_int_equal(pr_le32(totals), 2);
    assert_int_equal(pr_le32(totals + 4), 3);
    assert_int_equal(pr_le32(totals + 8), 9);
    /* Another process has mapped nothing: its calls run and are not written. */
    fwrig_process_make(&process, 3);
    assert_int_equal(fwrig_process(rig, 0, &process, &id), PR_STATUS_OK);
    memset(fwrig_memory(rig, FWRIG_STATS, ROOM), UNSEEN, ROOM);
    fwrig_call_make(&call, 77);
    call.call.process_id = id;
    call.call.stats = (struct pr_buffer){.address = FWRIG_STATS, .bytes = ROOM};
    assert_int_equal(fwrig_call(rig, &call), PR_STATUS_OK);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(untouched(record(rig), ROOM));
    assert_int_equal(fwrig_counter(rig, "statistics-unmapped"), 1);
}

static void check_event(const uint8_t *event, uint16_t kind, uint64_t time, uint64_t value)
{
    assert_int_equal(pr_le16(event), kind);
    assert_int_equal(pr_le16(event + 2), 0);
    assert_int_equal(pr_le64(event + 4), time);
    assert_int_equal(pr_le64(event + 12), value);
}

static void check_debug(const uint8_t *debug, uint16_t kind, uint32_t value, uint64_t time)
{
    assert_int_equal(pr_le16(debug), kind);
    assert_int_equal(pr_le16(debug + 2), 0);
    assert_int_equal(pr_le32(debug + 4), value);
    assert_int_equal(pr_le64(debug + 8), time);
}

static void events_are_gated(void **state)
{
    struct fwrig *rig = *state;
    const uint8_t *stats = record(rig), *events = stats + HEADER + ENGINE + TOTALS;
    const uint8_t *debug = events + 3 * EVENT;
    uint64_t accepted;

    profile(rig, 1); /* logs calls, and no more */
    run(rig, FWRIG_STATS, ROOM, 1000, 0);
    assert_int_equal(pr_le32(stats + 0x24), ENGINE + TOTALS);
    assert_int_equal(*events, UNSEEN);
    profile(rig, 3);
    accepted = fwrig_now(rig);
    run(rig, FWRIG_STATS, ROOM, 3000, 0);
    assert_int_equal(pr_le32(stats + 0x24), ENGINE + TOTALS + 3 * EVENT + DEBUG);
    check_event(events, 0x0101, accepted, 4);         /* priority */
    check_event(events + EVENT, 0x0102, accepted, 2); /* the second network id */
    check_event(events + 2 * EVENT, 0x0103, accepted + 3000, PR_STATUS_OK);
    check_debug(debug, 0x0201, 0, accepted + 3000); /* no other call is under way */
    assert_true(untouched(debug + DEBUG, 64));
    assert_int_equal(pr_le32(stats + HEADER + ENGINE), 1 + 1 + 3 + 1);
    /* A call that fails says so. */
    fwrig_set_error(rig, 0xaabb040c, 0x00a01000);
    run(rig, FWRIG_STATS, ROOM, 1000, PR_TM_CODE_TRANSLATION);
    assert_int_equal(pr_le64(events + 2 * EVENT + 12), PR_STATUS_TRANSLATION);
    check_debug(debug + DEBUG, 0x0203, 0xaabb040c, accepted + 4000);
    profile(rig, 0);
    run(rig, FWRIG_STATS, ROOM, 1000, 0);
    assert_int_equal(pr_le32(stats + 0x24), ENGINE + TOTALS);
}

/*
 * Three calls for a queue that takes two, with a threshold of 5 microseconds: the third waits for 7 and says
 * so. At the end of the first two others are under way, and of the second one.
 */
static void a_late_call_says_so(void **state)
{
    const struct {
        uint64_t count;
        uint32_t row, microseconds;
    } setting = {1, PR_SETTING_SWITCH_LATENCY, 5};
    struct fwrig *rig = fwrig_create();
    const uint8_t *stats = fwrig_memory(rig, FWRIG_STATS, ROOM);
    const uint8_t *debug = stats + HEADER + ENGINE + TOTALS + 3 * EVENT;
    uint64_t accepted;

    (void)state;
    fwrig_boot_started(rig);
    assert_int_equal(fwrig_control(rig, PR_CMD_ANE_DEFAULT_SETTING_SET, &setting, sizeof(setting)), 0);
    fwrig_load(rig);
    assert_int_equal(map_at(rig, FWRIG_STATS, ROOM), PR_STATUS_OK);
    profile(rig, 3);
    accepted = fwrig_now(rig);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(begin(rig, FWRIG_STATS, ROOM), PR_STATUS_OK);
    fwrig_pass(rig, 7000);
    for (uint32_t i = 0; i < 3; i++) {
        fwrig_retire(rig, 4, 0, true);
        fwrig_run(rig);
        check_debug(debug, 0x0201, 2 - i, accepted + 7000);
        assert_int_equal(pr_le32(stats + 0x24), ENGINE + TOTALS + 3 * EVENT + (i == 2 ? 2 : 1) * DEBUG);
    }
    check_debug(debug + DEBUG, 0x0202, 7, accepted + 7000);
    fwrig_destroy(rig);
}

/* Each size of a buffer from the header to the whole record: what fits, and nothing behind it. */
static void a_small_buffer_gets_what_fits(void **state)
{
    static const uint32_t part[] = {HEADER, ENGINE, TOTALS, EVENT, EVENT, EVENT, DEBUG};
    struct fwrig *rig = *state;
    const uint8_t *stats = record(rig);
    uint32_t whole = 0, last = 0;

    profile(rig, 3);
    for (unsigned i = 0; i < sizeof(part) / sizeof(part[0]); i++)
        whole += part[i];
    for (uint32_t bytes = HEADER; bytes <= whole + 1; bytes++) {
        uint32_t expected = 0;

        for (unsigned i = 0; i < sizeof(part) / sizeof(part[0]) && expected + part[i] <= bytes; i++)
            expected += part[i];
        memset(fwrig_memory(rig, FWRIG_STATS, ROOM), UNSEEN, ROOM);
        run(rig, FWRIG_STATS, bytes, 1000, 0);
        assert_int_equal(pr_le32(stats + 0x24), expected - HEADER);
        assert_true(untouched(stats + expected, ROOM - expected));
        last = expected;
    }
    assert_int_equal(last, whole);
}

/* Listing 29.5, and the bounds of a map. */
static void maps_only_what_is_there(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(map_at(rig, 0, ROOM), PR_STATUS_OK);
    assert_int_equal(map_at(rig, FWRIG_STATS + 0x1000, 0), PR_STATUS_OK);
    fwrig_hole(rig, FWRIG_STATS + 0x8000, 0x4000);
    assert_int_equal(map_at(rig, FWRIG_STATS + 0x7000, 0x2000), PR_STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(fwrig_log(rig), "0x2000 bytes at 0x707000 are not mapped"));
    assert_int_equal(map_at(rig, FWRIG_STATS, ~0ull), PR_STATUS_BAD_ARGUMENT);
    /* None of them is a destination. */
    memset(fwrig_memory(rig, FWRIG_STATS, 0x8000), UNSEEN, 0x8000);
    run(rig, FWRIG_STATS + 0x1000, ROOM, 1, 0);
    run(rig, FWRIG_STATS + 0x7000, ROOM, 1, 0);
    run(rig, FWRIG_STATS + 1, ROOM, 1, 0); /* one byte past the end */
    run(rig, FWRIG_STATS, ROOM + 1, 1, 0);
    run(rig, FWRIG_STATS + 0x100, ~0ull, 1, 0);
    run(rig, 0, ROOM, 1, 0);
    run(rig, FWRIG_STATS, 0, 1, 0);
    assert_true(untouched(fwrig_memory(rig, FWRIG_STATS, 0x8000), 0x8000));
    assert_int_equal(fwrig_counter(rig, "statistics-unmapped"), 5);
    /* A part of a mapped buffer is one. */
    run(rig, FWRIG_STATS + 0x10, ROOM - 0x10, 1, 0);
    assert_int_equal(pr_le16(fwrig_memory(rig, FWRIG_STATS + 0x10, 2)), 0x0101);
    assert_true(untouched(record(rig), 0x10));
}

/* A buffer that goes after the call was accepted is not written, and the call ends well. */
static void a_buffer_that_goes_is_not_written(void **state)
{
    struct fwrig *rig = *state;
    struct pr_program_event event;

    assert_int_equal(map_at(rig, FWRIG_STATS + 0x8000, ROOM), PR_STATUS_OK);
    assert_int_equal(begin(rig, FWRIG_STATS + 0x8000, ROOM), PR_STATUS_OK);
    fwrig_hole(rig, FWRIG_STATS + 0x8000, 0x4000);
    fwrig_retire(rig, 4, 0, true);
    fwrig_run(rig);
    assert_true(fwrig_event(rig, &event, true));
    assert_int_equal(event.status, PR_STATUS_OK);
    run(rig, FWRIG_STATS, ROOM, 1, 0);
    assert_int_equal(pr_le32(record(rig) + HEADER + ENGINE), 1); /* one valid record, of this call */
}

static void refuses_a_buffer_below_the_base(void **state)
{
    struct fwrig *rig = *state;

    assert_int_equal(begin(rig, FWRIG_STATS - 0x10, ROOM), PR_STATUS_BAD_ARGUMENT);
    assert_non_null(
        strstr(fwrig_log(rig), "stats.buffer >= pProc->pStatArrayBaseOrig does not hold: 0x6ffff0"));
    assert_int_equal(fwrig_pushes(rig), 0);
    assert_int_equal(map_at(rig, FWRIG_STATS - 0x1000, 0x800), PR_STATUS_OK);
    run(rig, FWRIG_STATS - 0x10, ROOM, 1, 0);
    assert_int_equal(begin(rig, FWRIG_STATS - 0x1001, ROOM), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(begin(rig, FWRIG_STATS, HEADER - 1), PR_STATUS_BAD_ARGUMENT);
    assert_non_null(strstr(fwrig_log(rig), "stats.size covers the three stats records does not hold: 0x27"));
}

/* 32 buffers are kept; a buffer that is mapped again has its place already, the next takes the oldest's. */
static void the_oldest_map_makes_room(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t next = FWRIG_STATS + 32ull * ROOM;

    for (uint64_t i = 0; i < 32; i++)
        assert_int_equal(map_at(rig, FWRIG_STATS + i * ROOM, ROOM), PR_STATUS_OK);
    assert_int_equal(map_at(rig, FWRIG_STATS + 5ull * ROOM, ROOM), PR_STATUS_OK);
    memset(fwrig_memory(rig, FWRIG_STATS, 33 * ROOM), UNSEEN, 33 * ROOM);
    run(rig, FWRIG_STATS, ROOM, 1, 0);
    run(rig, FWRIG_STATS + 31ull * ROOM, ROOM, 1, 0);
    assert_int_equal(record(rig)[0], 1);
    assert_int_equal(fwrig_memory(rig, FWRIG_STATS + 31ull * ROOM, 1)[0], 1);
    assert_int_equal(map_at(rig, next, ROOM), PR_STATUS_OK);
    memset(fwrig_memory(rig, FWRIG_STATS, 33 * ROOM), UNSEEN, 33 * ROOM);
    run(rig, FWRIG_STATS, ROOM, 1, 0);
    assert_true(untouched(record(rig), ROOM));
    run(rig, next, ROOM, 1, 0);
    run(rig, FWRIG_STATS + ROOM, ROOM, 1, 0);
    assert_int_equal(fwrig_memory(rig, next, 1)[0], 1);
    assert_int_equal(record(rig)[0], UNSEEN);
    assert_int_equal(fwrig_memory(rig, FWRIG_STATS + ROOM, 1)[0], 1);
}

/*
 * The power-status registers are not packed: a call with a record reads none of them, and makes as many other
 * accesses as one without.
 */
static void reads_no_register_for_a_record(void **state)
{
    const struct pr_body_pmu pmu = {.base = FWRIG_PMU};
    struct fwrig *rig = *state;
    uint64_t accesses[3], power;

    assert_int_equal(fwrig_control(rig, PR_CMD_SET_SNE_PMU_BASE2, &pmu, sizeof(pmu)), PR_STATUS_OK);
    profile(rig, 3);
    run(rig, FWRIG_STATS, ROOM, 1000, 0);
    power = fwrig_power_reads(rig);
    for (int i = 0; i < 3; i++) {
        const uint64_t before = fwrig_accesses(rig);

        run(rig, i == 1 ? FWRIG_STATS : 0, ROOM, 1000, 0);
        accesses[i] = fwrig_accesses(rig) - before;
    }
    assert_int_equal(accesses[0], accesses[2]);
    assert_int_equal(accesses[1], accesses[0]);
    assert_int_equal(fwrig_power_reads(rig), power);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(has_the_header_of_table_29_9),
        T(has_a_descriptor_of_the_engine),
        T(counts_busy_time_once),
        T(totals_run_for_a_process),
        T(events_are_gated),
        cmocka_unit_test(a_late_call_says_so),
        T(a_small_buffer_gets_what_fits),
        T(maps_only_what_is_there),
        T(a_buffer_that_goes_is_not_written),
        T(refuses_a_buffer_below_the_base),
        T(the_oldest_map_makes_room),
        T(reads_no_register_for_a_record),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
