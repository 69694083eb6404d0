/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as descriptors, pushed to a queue of a bare machine: the task manager ends idle or with its error
 * registers set, no byte outside what the page table grants changes, and the next good request runs. Before
 * that they go through check and inspect, as a file would.
 *
 * Input: word 0 low 9 bits: size of the first descriptor in words - 1; bit 15: the machine is lenient;
 * high half: descriptor count; then the stream.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <anemone/machine.h>

#include "judge.h"

#define PAGE       0x4000u
#define TEXT_PAGES 2u
#define DATA_PAGES 6u
#define CANARY     0x5a

struct rig {
    struct ane_machine *machine;
    struct ane_machine_map map;
    uint64_t memory; /* canary, text, canary, data, canary */
    uint64_t table;
};

enum { TEXT = 1, DATA = TEXT + TEXT_PAGES + 1, END = DATA + DATA_PAGES, RIG_PAGES = END + 1 };

static uint8_t *page_at(struct rig *r, unsigned page, unsigned count)
{
    return ane_machine_dram(r->machine, r->memory + (uint64_t)page * PAGE, (uint64_t)count * PAGE);
}

static void write_tm(struct rig *r, uint32_t offset, uint32_t value)
{
    ane_machine_write32(r->machine, r->map.task_manager + offset, value);
}

/*
 * Device address of a page of the rig: text at 0x4000, data at 0x40000 and
 * again at 0x200000, so that addresses can alias.
 */
static void map_page(struct rig *r, uint32_t iova, unsigned page)
{
    uint64_t *second = ane_machine_dram(r->machine, r->table + PAGE, PAGE);

    second[iova / PAGE] = (r->memory + (uint64_t)page * PAGE) | 1ull << 63;
}

static void enable(struct rig *r)
{
    for (unsigned i = 0; i < 3; i++)
        ane_machine_write32(r->machine, r->map.dart[i] + 0x200, (uint32_t)(r->table >> 12) | 1u << 31);
    write_tm(r, 0x0c, 0x1000);
}

static void make(struct rig *r, uint32_t lenient)
{
    struct ane_machine_config config = {.size = sizeof(config),
                                        .page_table = ANE_PAGE_TABLE_SEED,
                                        .dram_bytes = 4u << 20,
                                        .max_work = 1u << 20,
                                        .lenient = lenient};

    r->map.size = sizeof(r->map);
    if (ane_machine_create(&config, &r->machine) || ane_machine_map(r->machine, &r->map) ||
        ane_machine_dram_alloc(r->machine, RIG_PAGES * PAGE, &r->memory) ||
        ane_machine_dram_alloc(r->machine, 2 * PAGE, &r->table))
        abort();
    *(uint64_t *)ane_machine_dram(r->machine, r->table, 8) = (r->table + PAGE) | 1ull << 63;
    for (unsigned i = 0; i < TEXT_PAGES; i++)
        map_page(r, PAGE + i * PAGE, TEXT + i);
    for (unsigned i = 0; i < DATA_PAGES; i++) {
        map_page(r, 0x40000 + i * PAGE, DATA + i);
        map_page(r, 0x200000 + i * PAGE, DATA + i);
    }
    enable(r);
}

static void push(struct rig *r, uint32_t words, uint32_t count)
{
    uint64_t queue = r->map.task_queues + 4 * 0x148;

    ane_machine_write32(r->machine, queue, 1);
    ane_machine_write32(r->machine, queue + 0x20, PAGE);
    for (unsigned i = 1; i < 32; i++)
        ane_machine_write32(r->machine, queue + 0x20 + 4 * i, i % 3 ? 0x40000 + (i % 5) * 0x1000 : 0x200000);
    write_tm(r, 0x00, PAGE);
    write_tm(r, 0x04, (words - 1) << 16 | count);
    write_tm(r, 0x08, 0x405);
}

static void check_canary(struct rig *r, unsigned page)
{
    const uint8_t *bytes = page_at(r, page, 1);

    for (unsigned i = 0; i < PAGE; i++)
        if (bytes[i] != CANARY)
            abort();
}

static void power_cycle(struct rig *r)
{
    ane_machine_write32(r->machine, r->map.pmu, 0x300);
    ane_machine_write32(r->machine, r->map.pmu, 0xf);
    enable(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rig rigs[2];
    static struct pr_check_program program;
    struct rig *rig;
    uint32_t head;

    if (size < 4)
        return 0;
    memcpy(&head, data, 4);
    rig = &rigs[head >> 15 & 1];
    if (!rig->machine)
        make(rig, head >> 15 & 1);
    size -= 4;
    if (size > TEXT_PAGES * PAGE)
        size = TEXT_PAGES * PAGE;
    program = (struct pr_check_program){
        .text = data + 4, .text_bytes = size, .first_words = (head & 0x1ff) + 1, .count = head >> 16 & 15};
    judge(&program);
    for (unsigned i = 0; i < RIG_PAGES; i++)
        memset(page_at(rig, i, 1), i == 0 || i == DATA - 1 || i == END ? CANARY : 0, PAGE);
    memcpy(page_at(rig, TEXT, TEXT_PAGES), data + 4, size);
    push(rig, (head & 0x1ff) + 1, head >> 16 & 15);
    if (ane_machine_run(rig->machine, 1000000000000ull) < 0)
        abort();
    if (!(ane_machine_read32(rig->machine, rig->map.task_manager + 0x54) & 1) &&
        ane_machine_read32(rig->machine, rig->map.task_manager + 0x58) == 0x22222222)
        abort(); /* stuck without a reason */
    check_canary(rig, 0);
    check_canary(rig, DATA - 1);
    check_canary(rig, END);
    power_cycle(rig);
    if (!(ane_machine_read32(rig->machine, rig->map.task_manager + 0x54) & 1))
        abort();
    return 0;
}
