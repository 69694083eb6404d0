/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page-protection layer. A second-level table exists while one of its entries is valid, or while it is
 * reserved for a write that follows. Words are stored whole, because a DART may walk at any time.
 */
#include "driver/protection.h"

#include <assert.h>
#include <errno.h>

#include "base/alloc.h"
#include "driver/block.h"

struct drv_tables {
    struct drv_pages first;
    struct {
        struct drv_pages pages; /* no extent: none */
        uint32_t used;          /* valid entries */
    } second[DRV_TABLES];
};

static uint32_t first_index(uint64_t iova)
{
    return (uint32_t)(iova >> PR_DART_L1_SHIFT);
}

static uint32_t second_index(uint64_t iova)
{
    return (uint32_t)(iova >> PR_DART_L2_SHIFT) % PR_DART_TABLE_ENTRIES;
}

static void store(const struct drv_pages *table, uint32_t index, uint64_t word)
{
    __atomic_store_n((uint64_t *)table->host + index, word, __ATOMIC_RELEASE);
}

static uint64_t leaf_word(const struct drv *d, const struct pr_segment *segment)
{
    return pr_segment_leaf((enum pr_leaf_form)d->platform.leaf_form, segment);
}

int drv_protection_open(struct drv *d, struct drv_domain *domain)
{
    int status;

    if (domain->tables)
        return 0;
    domain->tables = base_alloc(sizeof(*domain->tables));
    if (!domain->tables)
        return -ENOMEM;
    status = drv_pages_take(d, PR_PAGE_BYTES, true, &domain->tables->first);
    if (status) {
        base_free(domain->tables);
        domain->tables = NULL;
    }
    return status;
}

bool drv_protection_is_open(const struct drv_domain *domain)
{
    return domain->tables;
}

uint64_t drv_protection_table(const struct drv_domain *domain)
{
    return domain->tables->first.extent->physical;
}

static void drop_table(struct drv *d, struct drv_tables *tables, uint32_t index)
{
    drv_pages_give(d, &tables->second[index].pages);
    tables->second[index].used = 0;
}

void drv_protection_close(struct drv *d, struct drv_domain *domain)
{
    for (uint32_t i = 0; i < DRV_TABLES; i++)
        if (domain->tables->second[i].pages.extent)
            drop_table(d, domain->tables, i);
    drv_pages_give(d, &domain->tables->first);
    base_free(domain->tables);
    domain->tables = NULL;
}

static bool is_empty(const struct drv_tables *tables, uint32_t index)
{
    return tables->second[index].pages.extent && !tables->second[index].used;
}

void drv_protection_detach(struct drv_domain *domain, uint64_t iova, uint64_t bytes)
{
    for (uint32_t i = first_index(iova); i <= first_index(iova + bytes - 1); i++)
        if (is_empty(domain->tables, i))
            store(&domain->tables->first, i, 0);
}

void drv_protection_free(struct drv *d, struct drv_domain *domain, uint64_t iova, uint64_t bytes)
{
    for (uint32_t i = first_index(iova); i <= first_index(iova + bytes - 1); i++)
        if (is_empty(domain->tables, i))
            drop_table(d, domain->tables, i);
}

static int make_table(struct drv *d, struct drv_tables *tables, uint32_t index)
{
    struct drv_pages *pages = &tables->second[index].pages;
    struct pr_segment segment = {.prot = PR_PROT_READ_WRITE};
    int status;

    if (pages->extent)
        return 0;
    status = drv_pages_take(d, PR_PAGE_BYTES, true, pages);
    if (status)
        return status;
    segment.phys = pages->extent->physical;
    store(&tables->first, index, leaf_word(d, &segment));
    return 0;
}

int drv_protection_reserve(struct drv *d, struct drv_domain *domain, uint64_t iova, uint64_t bytes)
{
    int status = 0;

    for (uint32_t i = first_index(iova); i <= first_index(iova + bytes - 1) && !status; i++)
        status = make_table(d, domain->tables, i);
    if (status) {
        /* No walk can have used them: they never had an entry. */
        drv_protection_detach(domain, iova, bytes);
        drv_protection_free(d, domain, iova, bytes);
    }
    return status;
}

void drv_protection_write(struct drv *d, struct drv_domain *domain, enum drv_protection_write what,
                          const struct pr_segment *segment, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = first_index(segment[i].iova), second = second_index(segment[i].iova);
        const struct drv_pages *table = &domain->tables->second[first].pages;
        uint64_t before;

        assert(segment[i].size == PR_PAGE_BYTES && !segment[i].reserved && table->extent);
        assert(pr_protection_valid(segment[i].prot));
        before = ((const uint64_t *)table->host)[second];
        store(table, second, what == DRV_PROTECTION_MAP ? leaf_word(d, &segment[i]) : 0);
        if (what == DRV_PROTECTION_MAP && !before)
            domain->tables->second[first].used++;
        if (what == DRV_PROTECTION_UNMAP && before)
            domain->tables->second[first].used--;
    }
}
