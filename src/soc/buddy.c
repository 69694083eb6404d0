/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buddy allocator of page numbers. A free block is aligned to its size, and two free buddies are always
 * joined, below the largest order.
 */
#include "soc/buddy.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/alloc.h"

#define ORDERS 33
#define NONE   UINT32_MAX

/* Per page: meaningful for the first page of a free block or of a taken run. */
struct page {
    uint32_t next, prev; /* list of free blocks of one order */
    uint32_t run;        /* taken run's length, 0 otherwise */
    uint8_t free_order;  /* order + 1 of the free block, 0 otherwise */
};

struct soc_buddy {
    uint64_t pages;
    uint64_t used;
    uint32_t head[ORDERS];
    struct page *page; /* lazily backed: untouched pages take no memory */
};

static void push(struct soc_buddy *b, uint64_t at, unsigned order)
{
    struct page *page = &b->page[at];

    page->free_order = (uint8_t)(order + 1);
    page->prev = NONE;
    page->next = b->head[order];
    if (page->next != NONE)
        b->page[page->next].prev = (uint32_t)at;
    b->head[order] = (uint32_t)at;
}

static void unlink_block(struct soc_buddy *b, uint64_t at)
{
    struct page *page = &b->page[at];

    if (page->next != NONE)
        b->page[page->next].prev = page->prev;
    if (page->prev != NONE)
        b->page[page->prev].next = page->next;
    else
        b->head[page->free_order - 1] = page->next;
    page->free_order = 0;
}

/* Frees an aligned block, joining it with its buddy as long as that is free too. */
static void free_block(struct soc_buddy *b, uint64_t at, unsigned order)
{
    while (order + 1 < ORDERS) {
        uint64_t buddy = at ^ (1ull << order);

        if (buddy + (1ull << order) > b->pages || b->page[buddy].free_order != order + 1)
            break;
        unlink_block(b, buddy);
        at &= ~(1ull << order);
        order++;
    }
    push(b, at, order);
}

static void free_range(struct soc_buddy *b, uint64_t at, uint64_t count)
{
    while (count) {
        unsigned order = 0;

        while (order + 1 < ORDERS && at % (2ull << order) == 0 && (2ull << order) <= count)
            order++;
        free_block(b, at, order);
        at += 1ull << order;
        count -= 1ull << order;
    }
}

int soc_buddy_create(uint64_t pages, struct soc_buddy **buddy, struct base_error *error)
{
    struct soc_buddy *b;
    void *table = MAP_FAILED;

    if (pages == 0 || pages >= NONE)
        return base_fail(error, EINVAL, "A memory of %llu pages cannot be managed.",
                         (unsigned long long)pages);
    b = base_alloc(sizeof(*b));
    if (b && base_alloc_allowed())
        table = mmap(NULL, pages * sizeof(struct page), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED) {
        base_free(b);
        return base_fail(error, ENOMEM, "No memory for the page table of %llu pages.",
                         (unsigned long long)pages);
    }
    b->pages = pages;
    b->page = table;
    for (unsigned i = 0; i < ORDERS; i++)
        b->head[i] = NONE;
    free_range(b, 0, pages);
    *buddy = b;
    return 0;
}

void soc_buddy_destroy(struct soc_buddy *buddy)
{
    if (!buddy)
        return;
    munmap(buddy->page, buddy->pages * sizeof(struct page));
    base_free(buddy);
}

bool soc_buddy_take(struct soc_buddy *buddy, uint64_t pages, uint64_t *first)
{
    unsigned order = 0;
    uint64_t at;

    if (pages == 0 || pages > buddy->pages)
        return false;
    while ((1ull << order) < pages)
        order++;
    while (order < ORDERS && buddy->head[order] == NONE)
        order++;
    if (order == ORDERS)
        return false;
    at = buddy->head[order];
    unlink_block(buddy, at);
    free_range(buddy, at + pages, (1ull << order) - pages);
    buddy->page[at].run = (uint32_t)pages;
    buddy->used += pages;
    *first = at;
    return true;
}

uint64_t soc_buddy_run(const struct soc_buddy *buddy, uint64_t first)
{
    return first < buddy->pages ? buddy->page[first].run : 0;
}

void soc_buddy_give(struct soc_buddy *buddy, uint64_t first)
{
    uint64_t pages = buddy->page[first].run;

    buddy->page[first].run = 0;
    buddy->used -= pages;
    free_range(buddy, first, pages);
}

uint64_t soc_buddy_used(const struct soc_buddy *buddy)
{
    return buddy->used;
}
