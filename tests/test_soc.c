/* SPDX-License-Identifier: Apache-2.0 */
/* The small parts of the board: bus, interrupt lines, power states, trace. */
#include "support.h"

#include <errno.h>
#include <string.h>

#include "soc/bus.h"
#include "soc/clock.h"
#include "soc/lines.h"
#include "soc/pmu.h"
#include "soc/trace.h"

static uint32_t seen_offset, seen_value;
static enum soc_master seen_master;

static uint32_t block_read(void *context, enum soc_master master, uint32_t offset)
{
    seen_master = master;
    seen_offset = offset;
    return *(uint32_t *)context;
}

static void block_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    (void)context;
    seen_master = master;
    seen_offset = offset;
    seen_value = value;
}

static void the_bus_finds_blocks_and_counts_nobody(void **state)
{
    struct soc_clock *clock;
    struct soc_trace trace;
    struct soc_bus *bus;
    uint32_t answer = 42;
    struct soc_block block = {"block", 0x1008000, 0x8000, block_read, block_write, &answer, NULL};
    struct soc_block other = {"other", 0x100c000, 0x4000, block_read, block_write, &answer, NULL};

    (void)state;
    assert_int_equal(soc_clock_create(&clock, NULL), 0);
    soc_trace_init(&trace, clock);
    assert_int_equal(soc_bus_create(0x1000000, 0x20000, &trace, &bus, NULL), 0);
    assert_int_equal(soc_bus_attach(bus, &block, NULL), 0);
    assert_int_equal(soc_bus_attach(bus, &other, NULL), -EEXIST);
    other.base = 0x101e000;
    assert_int_equal(soc_bus_attach(bus, &other, NULL), -EINVAL);
    other.base = 0x1020000;
    assert_int_equal(soc_bus_attach(bus, &other, NULL), -EINVAL);
    other.base = 0xffc000;
    assert_int_equal(soc_bus_attach(bus, &other, NULL), -EINVAL);
    assert_int_equal(soc_bus_read32(bus, SOC_MASTER_HOST, 0x1008004), 42);
    assert_int_equal(seen_offset, 4);
    soc_bus_write32(bus, SOC_MASTER_HOST, 0x100fffc, 7);
    assert_int_equal(seen_offset, 0x7ffc);
    assert_int_equal(seen_value, 7);
    assert_int_equal(seen_master, SOC_MASTER_HOST);
    soc_bus_write32(bus, SOC_MASTER_CONTROLLER, 0x1008000, 7);
    assert_int_equal(seen_master, SOC_MASTER_CONTROLLER);
    assert_int_equal(soc_bus_read32(bus, SOC_MASTER_HOST, 0x1008000), 42);
    assert_int_equal(seen_master, SOC_MASTER_HOST);
    assert_int_equal(soc_bus_unanswered(bus), 0);
    assert_int_equal(soc_bus_read32(bus, SOC_MASTER_HOST, 0x1010000), 0);
    assert_int_equal(soc_bus_read32(bus, SOC_MASTER_HOST, 0x1008002), 0); /* not aligned */
    assert_int_equal(soc_bus_read32(bus, SOC_MASTER_HOST, 0), 0);
    soc_bus_write32(bus, SOC_MASTER_HOST, UINT64_MAX - 3, 1);
    assert_int_equal(soc_bus_unanswered(bus), 4);
    soc_bus_destroy(bus);
    soc_clock_destroy(clock);
}

/* A tap that notes what it sees, and changes or drops what it is asked to. */
struct watcher {
    struct soc_bus_tap tap;
    struct soc_access seen;
    unsigned count;
    bool drop;
    uint32_t change; /* added to the value */
};

static bool watch(void *context, struct soc_access *access)
{
    struct watcher *w = context;

    w->count++;
    w->seen = *access;
    access->value += w->change;
    return !w->drop;
}

static void a_tap_sees_changes_and_drops(void **state)
{
    struct watcher first = {.tap = {watch, &first, NULL}}, second = {.tap = {watch, &second, NULL}};
    struct soc_clock *clock;
    struct soc_trace trace;
    struct soc_bus *bus;
    uint32_t answer = 42;
    struct soc_block block = {"block", 0x1008000, 0x4000, block_read, block_write, &answer, NULL};

    (void)state;
    assert_int_equal(soc_clock_create(&clock, NULL), 0);
    soc_trace_init(&trace, clock);
    assert_int_equal(soc_bus_create(0x1000000, 0x20000, &trace, &bus, NULL), 0);
    assert_int_equal(soc_bus_attach(bus, &block, NULL), 0);
    soc_bus_tap_add(bus, &first.tap);
    soc_bus_tap_add(bus, &second.tap);

    second.change = 5;
    soc_bus_write32(bus, SOC_MASTER_CONTROLLER, 0x1008010, 7);
    assert_true(second.seen.write && second.seen.master == SOC_MASTER_CONTROLLER);
    assert_true(second.seen.address == 0x1008010 && second.seen.value == 7);
    assert_int_equal(first.seen.value, 12); /* the newest tap is the first to see it */
    assert_int_equal(seen_value, 12);

    /* A read gets the block's value, whatever a tap adds, unless it is dropped. */
    assert_int_equal(soc_bus_read32(bus, SOC_MASTER_HOST, 0x1008004), 42);
    assert_true(!first.seen.write && first.seen.master == SOC_MASTER_HOST);
    first.drop = true;
    assert_int_equal(soc_bus_read32(bus, SOC_MASTER_HOST, 0x1008008), 5);
    assert_int_equal(seen_offset, 4);
    soc_bus_write32(bus, SOC_MASTER_HOST, 0x1008010, 100);
    assert_int_equal(seen_value, 12);
    assert_int_equal(soc_bus_read32(bus, SOC_MASTER_HOST, 0x1010000), 5);
    assert_int_equal(soc_bus_unanswered(bus), 0);

    /* One in the middle of the list, then the other. */
    soc_bus_tap_remove(bus, &first.tap);
    soc_bus_write32(bus, SOC_MASTER_HOST, 0x1008010, 100);
    assert_int_equal(seen_value, 105);
    soc_bus_tap_remove(bus, &second.tap);
    soc_bus_write32(bus, SOC_MASTER_HOST, 0x1008010, 200);
    assert_int_equal(seen_value, 200);
    assert_true(first.count == 5 && second.count == 6);
    soc_bus_destroy(bus);
    soc_clock_destroy(clock);
}

static void count_call(void *context)
{
    ++*(unsigned *)context;
}

struct cutter {
    struct soc_lines_tap tap;
    unsigned seen;
    bool cut;
};

static bool cut_line(void *context, unsigned line, bool level)
{
    struct cutter *cutter = context;

    (void)level;
    cutter->seen += line == 3;
    return !cutter->cut;
}

static void a_line_calls_on_the_rise_unless_a_tap_drops_it(void **state)
{
    struct soc_clock *clock;
    struct soc_trace trace;
    struct soc_lines lines;
    struct cutter cutter = {.tap = {cut_line, &cutter, NULL}};
    unsigned calls = 0;

    (void)state;
    assert_int_equal(soc_clock_create(&clock, NULL), 0);
    soc_trace_init(&trace, clock);
    soc_lines_init(&lines, &trace);
    soc_lines_wire(&lines, 3, count_call, &calls);
    soc_lines_set(&lines, 3, true);
    soc_lines_set(&lines, 3, true);
    assert_int_equal(calls, 1);
    soc_lines_set(&lines, 3, false);
    soc_lines_tap_add(&lines, &cutter.tap);
    soc_lines_set(&lines, 3, false); /* not a change */
    assert_int_equal(cutter.seen, 0);
    cutter.cut = true;
    soc_lines_set(&lines, 3, true);
    assert_int_equal(calls, 1);
    assert_false(soc_lines_level(&lines, 3));
    cutter.cut = false;
    soc_lines_set(&lines, 3, true);
    assert_int_equal(calls, 2);
    assert_int_equal(cutter.seen, 2);
    soc_lines_tap_remove(&lines, &cutter.tap);
    soc_lines_set(&lines, 3, false);
    soc_lines_set(&lines, 3, true);
    assert_int_equal(calls, 3);
    assert_int_equal(cutter.seen, 2);
    soc_lines_set(&lines, 2, true); /* nobody is wired */
    soc_clock_destroy(clock);
}

/* What the power states of a board told the machine. */
struct gate {
    unsigned lost, changes;
    uint32_t blocks; /* of the last loss */
    bool gated;
};

static void note_lost(void *context, uint32_t blocks)
{
    struct gate *gate = context;

    gate->lost++;
    gate->blocks = blocks;
}

static void note_gate(void *context, bool gated)
{
    struct gate *gate = context;

    gate->changes++;
    gate->gated = gated;
}

struct power {
    struct soc_clock *clock;
    struct soc_trace trace;
    struct soc_pmu pmu;
    struct gate gate;
};

static void power_make(struct power *p, enum pr_chip chip)
{
    *p = (struct power){0};
    assert_int_equal(soc_clock_create(&p->clock, NULL), 0);
    soc_trace_init(&p->trace, p->clock);
    soc_pmu_init(&p->pmu, &pr_board_table[chip], &p->trace, note_lost, note_gate, &p->gate);
}

static bool all_serve(const struct power *p)
{
    return soc_pmu_serves(&p->pmu, PR_POWERED_BIT(PR_POWERED_COUNT) - 1);
}

static void switching_a_partition_off_loses_state(void **state)
{
    struct power p;
    uint64_t base, word;

    (void)state;
    power_make(&p, PR_CHIP_T6000);
    base = p.pmu.board->pmu;
    word = base + 2 * PR_PMU_STRIDE;
    assert_true(all_serve(&p));
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, word, PR_PMU_OFF);
    assert_int_equal(p.gate.lost, 1);
    assert_false(soc_pmu_serves(&p.pmu, PR_POWERED_BIT(PR_POWERED_ENGINE)));
    assert_int_equal(soc_pmu_read32(&p.pmu, word) & 0xff, 0);
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, word, PR_PMU_ON);
    assert_int_equal(soc_pmu_read32(&p.pmu, word) & 0xff, PR_PMU_READY);
    assert_true(all_serve(&p));
    assert_int_equal(p.gate.lost, 1);
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, base + PR_PMU_DOMAINS * PR_PMU_STRIDE,
                    PR_PMU_OFF); /* no such partition */
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, base + 4, PR_PMU_OFF);
    assert_true(all_serve(&p));
    soc_clock_destroy(p.clock);
}

/* The controller's stores keep the state; the words read as written, and the host's stores are as before. */
static void the_controller_gates_clocks(void **state)
{
    struct power p;
    uint64_t first, second;

    (void)state;
    power_make(&p, PR_CHIP_T6000);
    first = p.pmu.board->pmu + 1 * PR_PMU_STRIDE;
    second = p.pmu.board->pmu + 4 * PR_PMU_STRIDE;
    soc_pmu_write32(&p.pmu, SOC_MASTER_CONTROLLER, first, PR_PMU_OFF);
    soc_pmu_write32(&p.pmu, SOC_MASTER_CONTROLLER, second, PR_PMU_OFF);
    assert_true(p.gate.gated && p.gate.changes == 1 && p.gate.lost == 0 && all_serve(&p));
    assert_int_equal(soc_pmu_read32(&p.pmu, first), PR_PMU_OFF);
    soc_pmu_write32(&p.pmu, SOC_MASTER_CONTROLLER, first, PR_PMU_ON);
    assert_true(p.gate.gated && p.gate.changes == 1);
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, second, PR_PMU_ON);
    assert_true(!p.gate.gated && p.gate.changes == 2 && p.gate.lost == 0);
    assert_int_equal(soc_pmu_read32(&p.pmu, second) & 0xff, PR_PMU_READY);
    /* The host takes the power of a gated partition; gating it then does not bring the power back. */
    soc_pmu_write32(&p.pmu, SOC_MASTER_CONTROLLER, first, PR_PMU_OFF);
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, first, PR_PMU_OFF);
    assert_true(!p.gate.gated && p.gate.lost == 1 && !all_serve(&p));
    soc_pmu_write32(&p.pmu, SOC_MASTER_CONTROLLER, first, PR_PMU_OFF);
    assert_true(!p.gate.gated && p.gate.lost == 1 && !all_serve(&p));
    soc_clock_destroy(p.clock);
}

/* The host's clock gate is the state 4 of lnx: nothing is lost. */
static void the_host_gates_a_clock(void **state)
{
    struct power p;
    uint64_t word;

    (void)state;
    power_make(&p, PR_CHIP_T8103);
    word = p.pmu.board->pmu + 3 * PR_PMU_STRIDE;
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, word, 0x4);
    assert_true(p.gate.gated && !p.gate.lost && all_serve(&p));
    assert_int_equal(soc_pmu_read32(&p.pmu, word), 0x244);
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, word, 0xf);
    assert_true(!p.gate.gated && !p.gate.lost);
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, word, 0);
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, word, 0x4); /* it has no state to keep */
    assert_true(!p.gate.gated && p.gate.lost == 1 && !all_serve(&p));
    soc_clock_destroy(p.clock);
}

/* A flag stays until a 1 is written to it; bits that are kept are read back; PARENT_OFF cannot be written. */
static void a_power_word_has_sticky_flags(void **state)
{
    struct power p;
    uint64_t word;

    (void)state;
    power_make(&p, PR_CHIP_T8103);
    word = p.pmu.board->pmu;
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, word, 0);
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, word, 0xf);
    assert_int_equal(soc_pmu_read32(&p.pmu, word), 0x3ff);
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, word, 0x10ff080f);
    assert_int_equal(soc_pmu_read32(&p.pmu, word), 0x10ff03ff);
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, word, 0x20f);
    assert_int_equal(soc_pmu_read32(&p.pmu, word), 0x1ff);
    soc_pmu_write32(&p.pmu, SOC_MASTER_HOST, word, 0x10f);
    assert_int_equal(soc_pmu_read32(&p.pmu, word), 0xff);
    soc_clock_destroy(p.clock);
}

static void keep_line(void *context, const char *line, size_t length)
{
    memcpy(context, line, length + 1);
}

static void a_trace_line_has_time_layer_and_changes_the_hash(void **state)
{
    struct soc_clock *clock;
    struct soc_trace trace, silent;
    char line[600];
    char text[700];

    (void)state;
    assert_int_equal(soc_clock_create(&clock, NULL), 0);
    soc_trace_init(&trace, clock);
    soc_trace_init(&silent, clock);
    SOC_TRACE(&trace, DART_RESET);
    assert_int_equal(trace.lines, 0);
    soc_trace_start(&trace, &(struct soc_trace_out){.line = keep_line, .context = line});
    soc_trace_start(&silent, NULL);
    SOC_TRACE(&trace, DART_INVALIDATE, 2u, 3u);
    SOC_TRACE(&silent, DART_INVALIDATE, 2u, 3u);
    assert_string_equal(line, "0 dart invalidate port=0x2 streams=0x3\n");
    assert_true(trace.hash == silent.hash);
    SOC_TRACE(&silent, DART_INVALIDATE, 2u, 4u);
    assert_true(trace.hash != silent.hash);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    SOC_TRACE(&trace, BUS_UNPOWERED, text);
    assert_int_equal(line[strlen(line) - 1], '\n');
    assert_true(strlen(line) < 512);
    soc_clock_destroy(clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bus_finds_blocks_and_counts_nobody),
        cmocka_unit_test(a_tap_sees_changes_and_drops),
        cmocka_unit_test(a_line_calls_on_the_rise_unless_a_tap_drops_it),
        cmocka_unit_test(switching_a_partition_off_loses_state),
        cmocka_unit_test(the_controller_gates_clocks),
        cmocka_unit_test(the_host_gates_a_clock),
        cmocka_unit_test(a_power_word_has_sticky_flags),
        cmocka_unit_test(a_trace_line_has_time_layer_and_changes_the_hash),
    };

    return cmocka_run_group_tests_name("soc", tests, NULL, NULL);
}
