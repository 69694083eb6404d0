/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page tables. A range takes 32 MiB blocks where it is aligned to them and pages elsewhere; a block that a
 * later range needs in part is split into pages first. No descriptor changes once translation is on, so no
 * TLB entry is ever stale. Formats: Arm ARM DDI 0487, D8.3, 16 KiB granule.
 */
#include "bare/map.h"

#include "bare/bare_board.h"
#include "bare/frame.h"

#define ENTRIES     2048u
#define BLOCK       (32ull << 20)
#define TOP         (1ull << 36)
#define PAGE_TABLES 8u /* a board's ranges that are not aligned to blocks, and the image */

#define TYPE_BLOCK    1ull
#define TYPE_TABLE    3ull
#define TYPE_PAGE     3ull
#define TYPE_MASK     3ull
#define ADDRESS       0xfffffc000ull
#define ATTR_INDEX(n) ((uint64_t)(n) << 2)
#define READ_ONLY     (1ull << 7)
#define INNER_SHARED  (3ull << 8)
#define OUTER_SHARED  (2ull << 8)
#define ACCESSED      (1ull << 10)
#define NO_EXECUTE    (3ull << 53) /* at EL1 and at EL0 */
#define NO_USER_CODE  (1ull << 54)

/* MAIR_EL1: attribute n of enum bare_memory. Write-back, non-cacheable, Device-nGnRE. */
#define MAIR (0xffull << 8 * BARE_NORMAL | 0x44ull << 8 * BARE_SHARED | 0x04ull << 8 * BARE_DEVICE)
/* TCR_EL1: 36 bits below, nothing above; walks cached and inner shareable; 16 KiB; 36 bits of output. */
#define TCR (28ull | 1ull << 8 | 1ull << 10 | 3ull << 12 | 2ull << 14 | 1ull << 23 | 1ull << 32)
/* SCTLR_EL1: the bits that read as one; MMU, data cache, stack alignment, instruction cache, WXN. */
#define SCTLR (0x30d00800ull | 1ull << 0 | 1ull << 2 | 1ull << 3 | 1ull << 12 | 1ull << 19)

extern char bare_image_begin[], bare_image_data[], bare_image_end[];
extern char bare_exception_guard[], bare_boot_guard[];

static struct {
    _Alignas(BARE_PAGE) uint64_t root[ENTRIES];
    _Alignas(BARE_PAGE) uint64_t pages[PAGE_TABLES][ENTRIES];
    unsigned used;
} map;

static uint64_t attributes(enum bare_memory memory)
{
    return ATTR_INDEX(memory) | ACCESSED | NO_EXECUTE | (memory == BARE_NORMAL ? INNER_SHARED : OUTER_SHARED);
}

/* The table of pages of a block, made from what the block's entry is now. */
static uint64_t *page_table(uint64_t address)
{
    uint64_t *entry = &map.root[address / BLOCK], *table;

    if ((*entry & TYPE_MASK) == TYPE_TABLE)
        return (uint64_t *)(uintptr_t)(*entry & ADDRESS);
    if (map.used == PAGE_TABLES)
        __builtin_trap();
    table = map.pages[map.used++];
    for (unsigned i = 0; *entry && i < ENTRIES; i++)
        table[i] = (*entry & ~TYPE_MASK) + (uint64_t)i * BARE_PAGE + TYPE_PAGE;
    *entry = (uintptr_t)table | TYPE_TABLE;
    return table;
}

static void map_range(uint64_t base, uint64_t bytes, uint64_t bits)
{
    if (base % BARE_PAGE || bytes % BARE_PAGE || bytes > TOP || base > TOP - bytes)
        __builtin_trap();
    while (bytes) {
        const bool whole = base % BLOCK == 0 && bytes >= BLOCK;
        const uint64_t step = whole ? BLOCK : BARE_PAGE;

        if (whole)
            map.root[base / BLOCK] = base | bits | TYPE_BLOCK;
        else
            page_table(base)[base / BARE_PAGE % ENTRIES] = base | bits | TYPE_PAGE;
        base += step;
        bytes -= step;
    }
}

static void unmap_page(const char *at)
{
    page_table((uintptr_t)at)[(uintptr_t)at / BARE_PAGE % ENTRIES] = 0;
}

void bare_map_make(void)
{
    const uint64_t begin = (uintptr_t)bare_image_begin, data = (uintptr_t)bare_image_data,
                   end = (uintptr_t)bare_image_end;
    const struct bare_range *list;
    const size_t count = bare_board_ranges(&list);

    for (size_t i = 0; i < count; i++)
        map_range(list[i].base, list[i].bytes, attributes(list[i].memory));
    map_range(begin, data - begin, (attributes(BARE_NORMAL) & ~NO_EXECUTE) | NO_USER_CODE | READ_ONLY);
    map_range(data, end - data, attributes(BARE_NORMAL));
    unmap_page(bare_exception_guard);
    unmap_page(bare_boot_guard);
}

void bare_map_enable(void)
{
    __asm__ volatile("dsb sy\n\t"
                     "msr mair_el1, %0\n\t"
                     "msr tcr_el1, %1\n\t"
                     "msr ttbr0_el1, %2\n\t"
                     "isb\n\t"
                     "tlbi vmalle1\n\t"
                     "ic iallu\n\t"
                     "dsb sy\n\t"
                     "isb\n\t"
                     "msr sctlr_el1, %3\n\t"
                     "isb"
                     :
                     : "r"(MAIR), "r"(TCR), "r"(map.root), "r"(SCTLR)
                     : "memory");
}
