/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone demo --bare`: a bare machine, the smallest driver that can run it, and one descriptor that adds
 * two tensors. It uses the public machine.h and shows each step, so that it can be read beside
 * docs/machine.md.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <anemone/machine.h>

#include "protocol/board.h"
#include "protocol/dart_regs.h"
#include "protocol/tm_regs.h"
#include "tool/demo.h"
#include "tool/sample.h"
#include "tool/tool.h"

enum { CHANNELS = TOOL_SAMPLE_CHANNELS, WIDTH = TOOL_SAMPLE_WIDTH, QUEUE = 4 };

/*
 * Device pages of the demo: descriptor, a, b, y. One physical run, mapped from the second page of the
 * aperture on.
 */
enum { PAGE_TEXT, PAGE_A, PAGE_B, PAGE_Y, PAGES };

struct demo {
    struct ane_machine *machine;
    struct ane_machine_map map;
    uint64_t memory; /* physical address of the run */
    uint32_t words;  /* of the descriptor */
};

static uint32_t iova(unsigned page)
{
    return (page + 1) * PR_PAGE_BYTES;
}

static void *page_at(const struct demo *d, unsigned page)
{
    return ane_machine_dram(d->machine, d->memory + page * PR_PAGE_BYTES, PR_PAGE_BYTES);
}

static void manager(const struct demo *d, uint32_t reg, uint32_t value)
{
    ane_machine_write32(d->machine, d->map.task_manager + reg, value);
}

static void queue(const struct demo *d, uint32_t reg, uint32_t value)
{
    ane_machine_write32(d->machine, d->map.task_queues + QUEUE * PR_TQ_STRIDE + reg, value);
}

/* Two table pages: one first-level entry, a second-level entry per page of the demo. */
static bool map_pages(const struct demo *d)
{
    uint64_t tables, *first, *second;
    struct pr_leaf leaf = {.valid = true};

    if (ane_machine_dram_alloc(d->machine, 2 * PR_PAGE_BYTES, &tables))
        return false;
    first = ane_machine_dram(d->machine, tables, PR_PAGE_BYTES);
    second = ane_machine_dram(d->machine, tables + PR_PAGE_BYTES, PR_PAGE_BYTES);
    leaf.frame = tables + PR_PAGE_BYTES;
    first[0] = pr_leaf_encode(PR_LEAF_SEED, &leaf);
    for (unsigned i = 0; i < PAGES; i++) {
        leaf.frame = d->memory + i * PR_PAGE_BYTES;
        second[i + 1] = pr_leaf_encode(PR_LEAF_SEED, &leaf);
    }
    for (unsigned i = 0; i < PR_DART_COUNT; i++)
        ane_machine_write32(d->machine, d->map.dart[i] + PR_DART_TTBR, pr_dart_ttbr_make(tables));
    printf("page table  at 0x%" PRIx64 ", TTBR 0x%x in all three DARTs, %d pages mapped\n", tables,
           pr_dart_ttbr_make(tables), PAGES);
    return true;
}

/* Bits of a whole number in half precision. */
static uint16_t half_of(unsigned value)
{
    unsigned exponent = 0;

    if (!value)
        return 0;
    while (value >> (exponent + 1))
        exponent++;
    return (uint16_t)((exponent + 15) << 10 | (value << 10 >> exponent & 0x3ff));
}

static bool load(struct demo *d)
{
    uint16_t *a = page_at(d, PAGE_A), *b = page_at(d, PAGE_B);

    d->words = tool_sample_text(page_at(d, PAGE_TEXT), PR_PAGE_BYTES);
    if (!d->words)
        return false;
    for (unsigned i = 0; i < CHANNELS * WIDTH; i++) {
        a[i] = half_of(i);
        b[i] = half_of(1000);
    }
    printf("descriptor  %u words assembled at device address 0x%x: a + b over [1, %d, 1, %d]\n", d->words,
           iova(PAGE_TEXT), CHANNELS, WIDTH);
    return true;
}

static void push(const struct demo *d)
{
    uint32_t size = (d->words - 1) << PR_TM_INFO_SIZE_LO;

    manager(d, PR_TM_TQ_EN, PR_TM_TQ_EN_ON);
    manager(d, PR_TM_IRQ_EN1, PR_TM_IRQ_EN1_ON);
    manager(d, PR_TM_IRQ_EN2, PR_TM_IRQ_EN2_ON);
    queue(d, PR_TQ_STATUS, PR_TQ_STATUS_IN_USE);
    queue(d, PR_TQ_BAR1 + 4 * 0, iova(PAGE_TEXT));
    queue(d, PR_TQ_BAR1 + 4 * 4, iova(PAGE_Y));
    queue(d, PR_TQ_BAR1 + 4 * 5, iova(PAGE_B));
    queue(d, PR_TQ_BAR1 + 4 * 6, iova(PAGE_A));
    queue(d, PR_TQ_SIZE1, size);
    queue(d, PR_TQ_ADDR1, iova(PAGE_TEXT));
    manager(d, PR_TM_REQ_ADDR, iova(PAGE_TEXT));
    manager(d, PR_TM_REQ_INFO, size | 1);
    manager(d, PR_TM_REQ_PUSH, pr_tq_priority[QUEUE] | QUEUE << PR_TM_PUSH_QUEUE_LO);
    printf("queue %d     pushed: REQ_PUSH = 0x%x\n", QUEUE,
           pr_tq_priority[QUEUE] | QUEUE << PR_TM_PUSH_QUEUE_LO);
}

static bool judge(const struct demo *d)
{
    const uint16_t *y = page_at(d, PAGE_Y);

    printf("result      y[0..7] =");
    for (unsigned i = 0; i < 8; i++)
        printf(" 0x%04x", y[i]);
    printf("  (1000 + 0, 1, 2, ... in half precision)\n");
    for (unsigned i = 0; i < CHANNELS * WIDTH; i++)
        if (y[i] != half_of(1000 + i)) {
            tool_say("element %u is 0x%04x and should be 0x%04x.", i, y[i], half_of(1000 + i));
            return false;
        }
    return true;
}

static bool run(struct demo *d)
{
    d->map.size = sizeof(d->map);
    if (ane_machine_map(d->machine, &d->map) ||
        ane_machine_dram_alloc(d->machine, PAGES * PR_PAGE_BYTES, &d->memory))
        return false;
    printf("board       %s: task manager 0x%" PRIx64 ", DARTs 0x%" PRIx64 "..., DRAM 0x%" PRIx64 "\n",
           d->map.board, d->map.task_manager, d->map.dart[0], d->map.dram);
    if (!map_pages(d) || !load(d))
        return false;
    push(d);
    if (ane_machine_run(d->machine, 1000000000))
        return false;
    if (!(ane_machine_read32(d->machine, d->map.task_manager + PR_TM_STATUS) & PR_TM_STATUS_IDLE)) {
        tool_say("the queue is stuck: ERROR1 is 0x%x.",
                 ane_machine_read32(d->machine, d->map.task_manager + PR_TM_ERROR1));
        return false;
    }
    printf("completion  interrupt line %s, event INFO 0x%08x, virtual time %" PRIu64 " ns\n",
           ane_machine_interrupt(d->machine) ? "high" : "low",
           ane_machine_read32(d->machine, d->map.task_manager + PR_TM_IRQ0_INFO),
           ane_machine_now(d->machine));
    return judge(d);
}

int tool_demo_bare(ane_trace_fn trace)
{
    struct ane_machine_config config = {
        .size = sizeof(config), .page_table = ANE_PAGE_TABLE_SEED, .trace = !!trace, .trace_fn = trace};
    struct demo d = {0};
    bool good;

    if (ane_machine_create(&config, &d.machine)) {
        tool_say("%s", ane_machine_error());
        return TOOL_FAILURE;
    }
    good = run(&d);
    if (!good && ane_machine_error()[0])
        tool_say("%s", ane_machine_error());
    ane_machine_destroy(d.machine);
    return good ? TOOL_OK : TOOL_FAILURE;
}
