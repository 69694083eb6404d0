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

static uint32_t block_read(void *context, uint32_t offset)
{
    seen_offset = offset;
    return *(uint32_t *)context;
}

static void block_write(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    seen_offset = offset;
    seen_value = value;
}

static void the_bus_finds_blocks_and_counts_nobody(void **state)
{
    struct soc_clock *clock;
    struct soc_trace trace;
    struct soc_bus *bus;
    uint32_t answer = 42;
    struct soc_block block = {"block", 0x1008000, 0x8000, block_read, block_write, &answer};
    struct soc_block other = {"other", 0x100c000, 0x4000, block_read, block_write, &answer};

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
    assert_int_equal(soc_bus_read32(bus, 0x1008004), 42);
    assert_int_equal(seen_offset, 4);
    soc_bus_write32(bus, 0x100fffc, 7);
    assert_int_equal(seen_offset, 0x7ffc);
    assert_int_equal(seen_value, 7);
    assert_int_equal(soc_bus_unanswered(bus), 0);
    assert_int_equal(soc_bus_read32(bus, 0x1010000), 0);
    assert_int_equal(soc_bus_read32(bus, 0x1008002), 0); /* not aligned */
    assert_int_equal(soc_bus_read32(bus, 0), 0);
    soc_bus_write32(bus, UINT64_MAX - 3, 1);
    assert_int_equal(soc_bus_unanswered(bus), 4);
    soc_bus_destroy(bus);
    soc_clock_destroy(clock);
}

static void count_call(void *context)
{
    ++*(unsigned *)context;
}

static void a_line_calls_on_the_rise_and_after_unmasking(void **state)
{
    struct soc_clock *clock;
    struct soc_trace trace;
    struct soc_lines lines;
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
    soc_lines_mask(&lines, 3, true);
    soc_lines_set(&lines, 3, true);
    assert_int_equal(calls, 1);
    assert_true(soc_lines_level(&lines, 3));
    soc_lines_mask(&lines, 3, false);
    assert_int_equal(calls, 2);
    soc_lines_set(&lines, 2, true); /* nobody is wired */
    soc_clock_destroy(clock);
}

static void switching_a_partition_off_loses_state(void **state)
{
    struct soc_clock *clock;
    struct soc_trace trace;
    struct soc_pmu pmu;
    unsigned lost = 0;

    (void)state;
    assert_int_equal(soc_clock_create(&clock, NULL), 0);
    soc_trace_init(&trace, clock);
    soc_pmu_init(&pmu, &trace, count_call, &lost);
    assert_true(soc_pmu_on(&pmu));
    soc_pmu_write32(&pmu, 2 * PR_PMU_STRIDE, PR_PMU_OFF);
    assert_int_equal(lost, 1);
    assert_false(soc_pmu_on(&pmu));
    assert_int_equal(soc_pmu_read32(&pmu, 2 * PR_PMU_STRIDE) & 0xff, 0);
    soc_pmu_write32(&pmu, 2 * PR_PMU_STRIDE, PR_PMU_ON);
    assert_int_equal(soc_pmu_read32(&pmu, 2 * PR_PMU_STRIDE) & 0xff, PR_PMU_READY);
    assert_true(soc_pmu_on(&pmu));
    assert_int_equal(lost, 1);
    soc_pmu_write32(&pmu, PR_PMU_DOMAINS * PR_PMU_STRIDE, PR_PMU_OFF); /* no such partition */
    soc_pmu_write32(&pmu, 4, PR_PMU_OFF);
    assert_true(soc_pmu_on(&pmu));
    soc_clock_destroy(clock);
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
        cmocka_unit_test(a_line_calls_on_the_rise_and_after_unmasking),
        cmocka_unit_test(switching_a_partition_off_loses_state),
        cmocka_unit_test(a_trace_line_has_time_layer_and_changes_the_hash),
    };

    return cmocka_run_group_tests_name("soc", tests, NULL, NULL);
}
