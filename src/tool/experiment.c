/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An experiment: the working descriptor with one word changed, pushed by register accesses. A queue that is
 * not idle after a virtual second is what a driver calls a hang; the machine is not used again then.
 */
#include "tool/experiment.h"

#include <string.h>

#include <anemone/machine.h>

#include "protocol/board.h"
#include "protocol/dart_regs.h"
#include "protocol/tm_regs.h"
#include "tool/tool.h"

enum { QUEUE = 4, WAIT_NS = 1000000000 };

/* Pages: two of the table, then those of the device, mapped in this order from the second page on. */
enum { TABLE_FIRST, TABLE_SECOND, DEVICE, TEXT = DEVICE, SOURCE, RESULT, PAGES };

struct bench {
    struct ane_machine *machine;
    struct ane_machine_map map;
    uint64_t memory; /* physical address of the pages */
};

static uint64_t physical(const struct bench *b, unsigned page)
{
    return b->memory + (uint64_t)page * PR_PAGE_BYTES;
}

static void *page_at(const struct bench *b, unsigned page)
{
    return ane_machine_dram(b->machine, physical(b, page), PR_PAGE_BYTES);
}

static uint32_t iova(unsigned page)
{
    return (page - DEVICE + 1) * PR_PAGE_BYTES;
}

static void map_pages(const struct bench *b)
{
    uint64_t *first = page_at(b, TABLE_FIRST), *second = page_at(b, TABLE_SECOND);
    struct pr_leaf leaf = {.valid = true, .frame = physical(b, TABLE_SECOND)};

    first[0] = pr_leaf_encode(PR_LEAF_SEED, &leaf);
    for (unsigned page = DEVICE; page < PAGES; page++) {
        leaf.frame = physical(b, page);
        second[iova(page) / PR_PAGE_BYTES] = pr_leaf_encode(PR_LEAF_SEED, &leaf);
    }
    for (unsigned i = 0; i < PR_DART_COUNT; i++)
        ane_machine_write32(b->machine, b->map.dart[i] + PR_DART_TTBR,
                            pr_dart_ttbr_make(physical(b, TABLE_FIRST)));
}

static void load(const struct bench *b, const struct pr_experiment *experiment)
{
    uint8_t *text = page_at(b, TEXT);

    memset(page_at(b, RESULT), 0, PR_PAGE_BYTES);
    pr_experiment_descriptor(text);
    pr_put_le32(text + experiment->offset, experiment->value);
    pr_put_le32(page_at(b, SOURCE), PR_EXPERIMENT_X0 | (uint32_t)PR_EXPERIMENT_X1 << 16);
}

static void manager(const struct bench *b, uint32_t reg, uint32_t value)
{
    ane_machine_write32(b->machine, b->map.task_manager + reg, value);
}

static void queue(const struct bench *b, uint32_t reg, uint32_t value)
{
    ane_machine_write32(b->machine, b->map.task_queues + QUEUE * PR_TQ_STRIDE + reg, value);
}

static void push(const struct bench *b)
{
    uint32_t size = (PR_TD_WORDS_FULL - 1u) << PR_TM_INFO_SIZE_LO;

    manager(b, PR_TM_TQ_EN, PR_TM_TQ_EN_ON);
    queue(b, PR_TQ_STATUS, PR_TQ_STATUS_IN_USE);
    queue(b, PR_TQ_BAR1, iova(TEXT));
    queue(b, PR_TQ_BAR1 + 4 * PR_EXPERIMENT_BAR_RESULT, iova(RESULT));
    queue(b, PR_TQ_BAR1 + 4 * PR_EXPERIMENT_BAR_SOURCE, iova(SOURCE));
    queue(b, PR_TQ_SIZE1, size);
    queue(b, PR_TQ_ADDR1, iova(TEXT));
    manager(b, PR_TM_REQ_ADDR, iova(TEXT));
    manager(b, PR_TM_REQ_INFO, size | 1);
    manager(b, PR_TM_REQ_PUSH, pr_tq_priority[QUEUE] | QUEUE << PR_TM_PUSH_QUEUE_LO);
}

static void judge(const struct bench *b, struct tool_experiment *result)
{
    const uint8_t *y = page_at(b, RESULT);
    bool idle = ane_machine_read32(b->machine, b->map.task_manager + PR_TM_STATUS) & PR_TM_STATUS_IDLE;

    *result = (struct tool_experiment){.did = PR_DID_HANG};
    if (!idle)
        return;
    for (unsigned i = 0; i < PR_EXPERIMENT_OUTPUTS; i++)
        result->y[i] = pr_le16(y + 2 * i);
    result->did = result->y[0] == 0 && result->y[1] == PR_EXPERIMENT_X1 ? PR_DID_SAME : PR_DID_CHANGE;
}

static bool begin(struct bench *b)
{
    struct ane_machine_config config = {
        .size = sizeof(config), .chip = ANE_CHIP_T8103, .page_table = ANE_PAGE_TABLE_SEED, .threads = 1};

    if (b->machine)
        return true;
    b->map.size = sizeof(b->map);
    if (ane_machine_create(&config, &b->machine) || ane_machine_map(b->machine, &b->map) ||
        ane_machine_dram_alloc(b->machine, (uint64_t)PAGES * PR_PAGE_BYTES, &b->memory))
        return false;
    map_pages(b);
    return true;
}

static void end(struct bench *b)
{
    ane_machine_destroy(b->machine);
    b->machine = NULL;
}

static bool run(struct bench *b, const struct pr_experiment *experiment, struct tool_experiment *result)
{
    if (!begin(b))
        return false;
    load(b, experiment);
    push(b);
    if (ane_machine_run(b->machine, WAIT_NS) < 0)
        return false;
    judge(b, result);
    if (result->did == PR_DID_HANG)
        end(b);
    return true;
}

bool tool_experiments_run(struct tool_experiment *results)
{
    struct bench b = {0};
    bool good = true;

    for (unsigned i = 0; good && i < pr_experiment_count; i++)
        good = run(&b, &pr_experiment_table[i], &results[i]);
    if (!good)
        tool_say("%s", ane_machine_error());
    end(&b);
    return good;
}

bool tool_experiment_agrees(const struct pr_experiment *experiment, const struct tool_experiment *result)
{
    if (experiment->did != result->did)
        return false;
    return experiment->did != PR_DID_CHANGE || !memcmp(experiment->y, result->y, sizeof(result->y));
}
