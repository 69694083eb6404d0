/* SPDX-License-Identifier: Apache-2.0 */
/* A bare driver against machine.h. */
#include "bare.h"

#include <assert.h>
#include <string.h>

#define TTBR           0x200
#define STREAM_SELECT  0x34
#define STREAM_COMMAND 0x20
#define INVALIDATE     (1u << 20)

#define TM_REQ_ADDR 0x00
#define TM_REQ_INFO 0x04
#define TM_REQ_PUSH 0x08
#define TM_TQ_EN    0x0c
#define TM_LINE0    0x14
#define TM_LINE1    0x28
#define TM_STATUS   0x54
#define TM_IRQ_EN1  0x68
#define TM_IRQ_ACK  0x6c
#define TM_IRQ_EN2  0x70

#define TQ_STRIDE 0x148
#define TQ_STATUS 0x000
#define TQ_PRTY   0x010
#define TQ_BAR1   0x020
#define TQ_NID1   0x0a0
#define TQ_SIZE1  0x130
#define TQ_ADDR1  0x134

static const uint32_t priority[8] = {1, 2, 3, 4, 5, 6, 0x1e, 0x1f};

uint32_t bare_tm(struct bare *bare, uint32_t offset)
{
    return ane_machine_read32(bare->machine, bare->map.task_manager + offset);
}

void bare_tm_write(struct bare *bare, uint32_t offset, uint32_t value)
{
    ane_machine_write32(bare->machine, bare->map.task_manager + offset, value);
}

uint32_t bare_tq(struct bare *bare, uint32_t queue, uint32_t offset)
{
    return ane_machine_read32(bare->machine, bare->map.task_queues + queue * TQ_STRIDE + offset);
}

void bare_tq_write(struct bare *bare, uint32_t queue, uint32_t offset, uint32_t value)
{
    ane_machine_write32(bare->machine, bare->map.task_queues + queue * TQ_STRIDE + offset, value);
}

uint32_t bare_dart(struct bare *bare, unsigned which, uint32_t offset)
{
    return ane_machine_read32(bare->machine, bare->map.dart[which] + offset);
}

static uint64_t entry(const struct bare *bare, uint64_t pa)
{
    switch (bare->form) {
    case ANE_PAGE_TABLE_T8020: /* bit 0 valid, address bits 35:12, whole page */
        return (pa & 0xffffff000ull) | 0xfffull << 40 | 1;
    case ANE_PAGE_TABLE_T6000: /* bit 0 valid, address >> 4 in bits 37:10, whole page */
        return (pa >> 4 & 0x3ffffffc00ull) | 0xfffull << 40 | 1;
    default: /* bit 63 valid, address unshifted */ return pa | 1ull << 63;
    }
}

static uint64_t entry_address(const struct bare *bare, uint64_t word)
{
    switch (bare->form) {
    case ANE_PAGE_TABLE_T8020: return (word & 0xffffff000ull) | (bare->map.dram & ~0xfffffffffull);
    case ANE_PAGE_TABLE_T6000: return (word & 0x3ffffffc00ull) << 4;
    default: return word & ~(1ull << 63);
    }
}

static uint64_t page(struct bare *bare)
{
    uint64_t pa;

    assert(!ane_machine_dram_alloc(bare->machine, BARE_PAGE, &pa));
    return pa;
}

static uint64_t *slot(struct bare *bare, uint32_t iova)
{
    uint64_t *first = ane_machine_dram(bare->machine, bare->table, BARE_PAGE);
    uint64_t *second;

    if (!first[iova >> 25])
        first[iova >> 25] = entry(bare, page(bare));
    second = ane_machine_dram(bare->machine, entry_address(bare, first[iova >> 25]), BARE_PAGE);
    return &second[iova >> 14 & 2047];
}

void bare_map(struct bare *bare, uint32_t iova, uint64_t pa)
{
    *slot(bare, iova) = pa ? entry(bare, pa) : 0;
}

uint64_t bare_physical(struct bare *bare, uint32_t iova)
{
    return entry_address(bare, *slot(bare, iova)) + iova % BARE_PAGE;
}

void bare_invalidate(struct bare *bare)
{
    for (unsigned i = 0; i < 3; i++) {
        ane_machine_write32(bare->machine, bare->map.dart[i] + STREAM_SELECT, 0xffff);
        ane_machine_write32(bare->machine, bare->map.dart[i] + STREAM_COMMAND, INVALIDATE);
    }
}

void bare_enable(struct bare *bare)
{
    uint32_t ttbr = bare_dart(bare, 0, TTBR);

    ane_machine_write32(bare->machine, bare->map.dart[1] + TTBR, ttbr);
    ane_machine_write32(bare->machine, bare->map.dart[2] + TTBR, ttbr);
    bare_tm_write(bare, TM_TQ_EN, bare_tm(bare, TM_TQ_EN) | 0x1000);
    for (uint32_t q = 0; q < 8; q++)
        bare_tq_write(bare, q, TQ_PRTY, priority[q]);
    bare_tm_write(bare, TM_IRQ_EN1, 0x4000000);
    bare_tm_write(bare, TM_IRQ_EN2, 6);
}

void bare_start(struct bare *bare, struct ane_machine *machine, uint32_t pool_pages)
{
    memset(bare, 0, sizeof(*bare));
    bare->machine = machine;
    bare->map.size = sizeof(bare->map);
    assert(!ane_machine_map(machine, &bare->map));
    bare->form = bare->map.page_table;
    bare->table = page(bare);
    bare->next_iova = BARE_PAGE;
    bare->pool_pages = pool_pages;
    assert(!ane_machine_dram_alloc(machine, (uint64_t)pool_pages * BARE_PAGE, &bare->pool));
    ane_machine_write32(machine, bare->map.dart[0] + TTBR, (uint32_t)(bare->table >> 12) | 1u << 31);
    bare_enable(bare);
}

/*
 * A walk through the pool with a stride that has no common factor with its length: neighbours are far apart.
 */
static uint64_t scattered_page(struct bare *bare)
{
    uint64_t step = bare->pool_pages / 2 | 1;

    while (bare->pool_pages % step == 0 && step > 1)
        step -= 2;
    assert(bare->pool_next < bare->pool_pages);
    return bare->pool + bare->pool_next++ * step % bare->pool_pages * BARE_PAGE;
}

struct bare_buffer bare_buffer(struct bare *bare, uint32_t bytes)
{
    struct bare_buffer buffer = {bare->next_iova, bytes};
    uint32_t pages = (bytes + BARE_PAGE - 1) / BARE_PAGE;

    for (uint32_t i = 0; i < pages; i++)
        bare_map(bare, buffer.iova + i * BARE_PAGE, scattered_page(bare));
    bare->next_iova += (pages + 1) * BARE_PAGE; /* an unmapped page between buffers */
    bare_invalidate(bare);
    return buffer;
}

/* Host bytes behind an iova, up to the end of its page. */
static uint8_t *at(struct bare *bare, uint32_t iova, uint32_t *bytes)
{
    uint32_t left = BARE_PAGE - iova % BARE_PAGE;

    if (*bytes > left)
        *bytes = left;
    return ane_machine_dram(bare->machine, bare_physical(bare, iova), *bytes);
}

void bare_put(struct bare *bare, uint32_t iova, const void *from, uint32_t bytes)
{
    const uint8_t *source = from;

    while (bytes) {
        uint32_t part = bytes;

        memcpy(at(bare, iova, &part), source, part);
        iova += part;
        source += part;
        bytes -= part;
    }
}

void bare_get(struct bare *bare, uint32_t iova, void *to, uint32_t bytes)
{
    uint8_t *target = to;

    while (bytes) {
        uint32_t part = bytes;

        memcpy(target, at(bare, iova, &part), part);
        iova += part;
        target += part;
        bytes -= part;
    }
}

void bare_fill(struct bare *bare, uint32_t iova, uint8_t value, uint32_t bytes)
{
    while (bytes) {
        uint32_t part = bytes;

        memset(at(bare, iova, &part), value, part);
        iova += part;
        bytes -= part;
    }
}

static uint32_t u32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/*
 * Only what the public loaders look at: the sections of __TEXT and the
 * program descriptor. The file is trusted here.
 */
bool bare_program_read(const uint8_t *file, size_t size, struct bare_program *program)
{
    uint32_t commands = u32(file + 16), command = 32;

    memset(program, 0, sizeof(*program));
    program->bytes = file;
    if (size < 32 || u32(file) != 0xbeefface)
        return false;
    for (uint32_t i = 0; i < commands; i++, command += u32(file + command + 4)) {
        const uint8_t *c = file + command;

        if (u32(c) == 0x19 && !memcmp(c + 8, "__TEXT", 7)) {
            program->text = u32(c + 72 + 48);
            program->text_bytes = u32(c + 72 + 40);
            program->constants = u32(c + 72 + 80 + 32) - u32(c + 72 + 32);
            program->blob_bytes = program->constants + u32(c + 72 + 80 + 40);
        }
        if (u32(c) == 4 && u32(c + 8) == 1) {
            program->first_words = u32(c + 0x818) + 1;
            program->count = u32(c + 0x81c);
        }
    }
    return program->text && program->count;
}

struct bare_request bare_load(struct bare *bare, const void *blob, uint32_t bytes, uint32_t constants,
                              uint32_t first_words, uint32_t count, uint32_t queue)
{
    struct bare_request request = {.queue = queue, .first_words = first_words, .count = count};
    struct bare_buffer command = bare_buffer(bare, bytes);
    struct bare_buffer first = bare_buffer(bare, 4 * first_words);
    uint32_t word;

    bare_put(bare, command.iova, blob, bytes);
    bare_put(bare, first.iova, blob, 4 * first_words);
    memcpy(&word, blob, 4);
    word = (word & 0x0f00ffff) | 0x40 << 16;
    bare_put(bare, first.iova, &word, 4);
    request.bar[0] = command.iova;
    request.bar[1] = command.iova + constants;
    request.first = first.iova;
    return request;
}

void bare_push(struct bare *bare, const struct bare_request *request)
{
    uint32_t q = request->queue;

    bare_tq_write(bare, q, TQ_STATUS, 1);
    for (uint32_t i = 0; i < BARE_BARS; i++)
        bare_tq_write(bare, q, TQ_BAR1 + 4 * i, request->bar[i]);
    bare_tq_write(bare, q, TQ_SIZE1, (request->first_words - 1) << 16);
    bare_tq_write(bare, q, TQ_ADDR1, request->first);
    bare_tq_write(bare, q, TQ_NID1, 0x4001);
    bare_tm_write(bare, TM_REQ_ADDR, bare_tq(bare, q, TQ_ADDR1));
    bare_tm_write(bare, TM_REQ_INFO, bare_tq(bare, q, TQ_SIZE1) | request->count);
    bare_tm_write(bare, TM_REQ_PUSH, priority[q] | q << 8);
}

bool bare_wait(struct bare *bare)
{
    for (unsigned i = 0; i < 1000; i++) {
        if (bare_tm(bare, TM_STATUS) & 1)
            return true;
        ane_machine_run(bare->machine, 1000000);
    }
    return bare_tm(bare, TM_STATUS) & 1;
}

unsigned bare_finish(struct bare *bare, const struct bare_request *request, uint32_t *info)
{
    unsigned events = bare_tm(bare, TM_LINE0);

    for (unsigned line = 0; line < 2; line++) {
        uint32_t base = line ? TM_LINE1 : TM_LINE0;

        for (unsigned n = bare_tm(bare, base); n; n--) {
            *info = bare_tm(bare, base + 4);
            bare_tm(bare, base + 8);
            bare_tm(bare, base + 12);
            bare_tm(bare, base + 16);
        }
    }
    bare_tm_write(bare, TM_IRQ_ACK, bare_tm(bare, TM_IRQ_ACK) | 2);
    bare_tm_write(bare, TM_IRQ_ACK, bare_tm(bare, TM_IRQ_ACK) | 4);
    bare_tq_write(bare, request->queue, TQ_STATUS, 0);
    return events;
}

bool bare_run(struct bare *bare, const struct bare_request *request)
{
    uint32_t info = 0;

    bare_push(bare, request);
    if (!bare_wait(bare))
        return false;
    return bare_finish(bare, request, &info) == 1 && info >> 24 == 0x05;
}
