/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Granted ranges. A range is granted only after every one of its pages has been checked; a remembered grant
 * is used again only while the domain's generation is the same, and never with strict_tlb.
 */
#include "dart/range.h"

#include <assert.h>
#include <string.h>

#include "dart/window.h"
#include "soc/memory.h"
#include "soc/trace.h"

#define PAGE_OFFSET(address) ((address) & (PR_PAGE_BYTES - 1))
#define SUB_UNIT             4u

/* The result of examining every page of a range. */
struct scan {
    uint64_t address; /* physical, of the first byte */
    bool contiguous;  /* physically */
    bool mapped;      /* the window shows every page */
};

static bool same_translation(struct dart_entry a, struct dart_entry b)
{
    return a.frame == b.frame && a.sub_start == b.sub_start && a.sub_end == b.sub_end &&
           a.no_read == b.no_read && a.no_write == b.no_write;
}

/*
 * strict_tlb: the entry in use should be what the table says now. It is used in any case, as the hardware
 * would.
 */
static void entry_verify(struct dart_domain *domain, uint32_t page)
{
    struct dart_entry now = {0};
    enum pr_dart_level level;
    uint32_t code = dart_domain_walk(domain, page, &now, &level);

    if (!code && same_translation(now, domain->entries[page]))
        return;
    domain->core->stats.missing_invalidates++;
    SOC_TRACE(domain->core->trace, DART_MISSING_INVALIDATE, domain->table, (uint64_t)page << PR_PAGE_SHIFT,
              dart_entry_address(domain->entries[page]), dart_entry_address(now), code);
}

/* Makes the entry of a page present, or reports why it cannot be. */
static bool entry_load(struct dart_domain *domain, uint32_t page, struct dart_fault *fault)
{
    struct dart_entry entry;

    if (domain->entries[page].present) {
        entry_verify(domain, page);
        return true;
    }
    fault->code = dart_domain_walk(domain, page, &entry, &fault->level);
    if (fault->code)
        return false;
    domain->entries[page] = entry;
    domain->chunk[page / DART_CHUNK_PAGES].filled = true;
    return true;
}

/*
 * The first byte of [from, to) in a page that its sub-page range does not allow; `to` when all are
 * allowed.
 */
static uint64_t sub_page_limit(struct dart_entry entry, uint32_t page, uint64_t from, uint64_t to)
{
    uint64_t start = (uint64_t)page << PR_PAGE_SHIFT;
    uint64_t low = start + entry.sub_start * SUB_UNIT;
    uint64_t high = start + entry.sub_end * SUB_UNIT + SUB_UNIT;

    if (from < low || from >= high)
        return from;
    return to < high ? to : high;
}

/* Whether the bytes [from, to) of a page may be accessed. */
static bool page_check(struct dart_entry entry, uint32_t page, uint64_t from, uint64_t to,
                       enum dart_access access, struct dart_fault *fault)
{
    fault->level = PR_DART_LEVEL_PAGE;
    if (access == DART_WRITE ? entry.no_write : entry.no_read) {
        fault->code = access == DART_WRITE ? PR_DART_ERROR_WRITE_FAULT : PR_DART_ERROR_READ_FAULT;
        fault->address = from;
        return false;
    }
    if (entry.sub_start == 0 && entry.sub_end == PR_LEAF_SUB_END)
        return true;
    fault->code = PR_DART_ERROR_SUBPAGE_PROT;
    fault->address = sub_page_limit(entry, page, from, to);
    return fault->address == to;
}

static bool range_scan(struct dart_domain *domain, uint64_t iova, uint64_t end, enum dart_access access,
                       struct scan *scan, struct dart_fault *fault)
{
    uint32_t first = (uint32_t)(iova >> PR_PAGE_SHIFT);
    uint32_t last = (uint32_t)((end - 1) >> PR_PAGE_SHIFT);
    bool strict = domain->core->strict;
    uint64_t expected = 0;

    scan->contiguous = scan->mapped = true;
    for (uint32_t page = first; page <= last; page++) {
        uint64_t from = page == first ? iova : (uint64_t)page << PR_PAGE_SHIFT;
        uint64_t to = page == last ? end : ((uint64_t)page + 1) << PR_PAGE_SHIFT;
        struct dart_entry entry;

        if (!domain->entries[page].present || strict) {
            fault->address = from;
            if (!entry_load(domain, page, fault))
                return false;
        }
        entry = domain->entries[page];
        if (!page_check(entry, page, from, to, access, fault))
            return false;
        if (page == first)
            scan->address = dart_entry_address(entry) + PAGE_OFFSET(iova);
        else if (entry.frame != expected)
            scan->contiguous = false;
        if (!entry.mapped)
            scan->mapped = false;
        expected = (uint64_t)entry.frame + 1;
    }
    return true;
}

void dart_range_touch(const struct dart_range *range)
{
    dart_window_touch(range->domain, (uint32_t)(range->iova >> PR_PAGE_SHIFT),
                      (uint32_t)((range->iova + range->bytes - 1) >> PR_PAGE_SHIFT));
}

static struct dart_grant *grant_slot(struct dart_domain *domain, uint32_t iova, uint32_t bytes)
{
    return &domain->grant[((iova >> 6 ^ bytes << 7) * 0x9e3779b1u >> 16) % DART_GRANTS];
}

/* A repeated grant costs only this lookup, until an entry or a host mapping of the domain goes away. */
static bool grant_recall(struct dart_domain *domain, uint32_t iova, uint32_t bytes, enum dart_access access,
                         struct dart_range *range)
{
    const struct dart_grant *grant = grant_slot(domain, iova, bytes);

    if (grant->generation != domain->generation || grant->iova != iova || grant->bytes != bytes ||
        !(grant->access >> access & 1) || domain->core->strict)
        return false;
    range->window = grant->window;
    if (grant->window) {
        range->host = domain->window + iova;
        dart_range_touch(range);
    } else {
        range->host = soc_memory_at(domain->core->memory, grant->address, bytes);
    }
    return range->host;
}

static void grant_remember(struct dart_domain *domain, const struct dart_range *range,
                           enum dart_access access, uint64_t address)
{
    uint32_t bytes = (uint32_t)range->bytes;
    struct dart_grant *grant = grant_slot(domain, (uint32_t)range->iova, bytes);
    bool again = grant->generation == domain->generation && grant->iova == range->iova &&
                 grant->bytes == bytes && grant->window == range->window;

    *grant = (struct dart_grant){
        .generation = domain->generation,
        .address = address,
        .iova = (uint32_t)range->iova,
        .bytes = bytes,
        .access = (again ? grant->access : 0) | 1u << access,
        .window = range->window,
    };
}

/*
 * A host address for the range: that of DRAM where the pages are physically contiguous, else that of the
 * window, else none.
 */
static void range_place(struct dart_domain *domain, const struct scan *scan, enum dart_access access,
                        struct dart_range *range)
{
    uint32_t first = (uint32_t)(range->iova >> PR_PAGE_SHIFT);
    uint32_t last = (uint32_t)((range->iova + range->bytes - 1) >> PR_PAGE_SHIFT);

    if (scan->contiguous)
        range->host = soc_memory_at(domain->core->memory, scan->address, range->bytes);
    if (!range->host && (scan->mapped || dart_window_map(domain, first, last))) {
        dart_window_touch(domain, first, last);
        range->host = domain->window + range->iova;
        range->window = true;
    }
    if (range->host)
        grant_remember(domain, range, access, scan->address);
    else
        domain->core->stats.slow_grants++;
}

bool dart_range_grant(struct dart_domain *domain, uint64_t iova, uint64_t bytes, enum dart_access access,
                      struct dart_range *range, struct dart_fault *fault)
{
    uint64_t inside = PR_DART_APERTURE_BYTES - iova;
    struct scan scan = {0};

    if (inside > bytes)
        inside = bytes;
    *range = (struct dart_range){.domain = domain, .iova = iova, .bytes = bytes};
    if (!bytes || (inside == bytes && grant_recall(domain, (uint32_t)iova, (uint32_t)bytes, access, range)))
        return true;
    if (!range_scan(domain, iova, iova + inside, access, &scan, fault))
        return false;
    if (inside < bytes) {
        *fault = (struct dart_fault){PR_DART_ERROR_NO_TTBR, PR_DART_APERTURE_BYTES, PR_DART_LEVEL_STREAM};
        return false;
    }
    range_place(domain, &scan, access, range);
    return true;
}

bool dart_range_bypass(struct dart_core *core, uint64_t address, uint64_t bytes, struct dart_range *range,
                       struct dart_fault *fault)
{
    uint8_t *host = bytes ? soc_memory_at(core->memory, address, bytes) : NULL;

    if (bytes && !host) {
        *fault = (struct dart_fault){PR_DART_ERROR_NO_DAPF_MATCH, address, PR_DART_LEVEL_STREAM};
        return false;
    }
    *range = (struct dart_range){.domain = &core->bypass, .iova = address, .bytes = bytes, .host = host};
    return true;
}

/* Host address of the page under a device address, and how many of `bytes` lie in it. */
static void *page_at(const struct dart_range *range, uint64_t offset, uint64_t bytes, uint64_t *part)
{
    uint64_t iova = range->iova + offset, page = iova >> PR_PAGE_SHIFT;
    const struct dart_domain *domain = range->domain;

    *part = PR_PAGE_BYTES - PAGE_OFFSET(iova);
    if (*part > bytes)
        *part = bytes;
    if (domain->entries && !domain->entries[page].present)
        return NULL;
    return soc_memory_at(domain->core->memory,
                         (dart_domain_frame(domain, page) << PR_PAGE_SHIFT) + PAGE_OFFSET(iova), *part);
}

void dart_copy_in(const struct dart_range *range, uint64_t offset, void *to, uint64_t bytes)
{
    uint64_t part;

    assert(offset <= range->bytes && bytes <= range->bytes - offset);
    for (uint64_t done = 0; done < bytes; done += part) {
        const void *from = page_at(range, offset + done, bytes - done, &part);

        if (from)
            memcpy((uint8_t *)to + done, from, part);
        else
            memset((uint8_t *)to + done, 0, part); /* a surface that was taken away under a stale entry */
    }
}

void dart_copy_out(const struct dart_range *range, uint64_t offset, const void *from, uint64_t bytes)
{
    uint64_t part;

    assert(offset <= range->bytes && bytes <= range->bytes - offset);
    for (uint64_t done = 0; done < bytes; done += part) {
        void *to = page_at(range, offset + done, bytes - done, &part);

        if (to)
            memcpy(to, (const uint8_t *)from + done, part);
    }
}

/* The pages of a range, as numbers in its domain, and as one physical run if they are one. */
struct extent {
    const struct dart_domain *domain;
    uint64_t first, last;
    bool contiguous;
};

static uint64_t extent_frame(const struct extent *extent, uint64_t page)
{
    return dart_domain_frame(extent->domain, page);
}

static struct extent extent_of(const struct dart_range *range)
{
    struct extent extent = {
        .domain = range->domain,
        .first = range->iova >> PR_PAGE_SHIFT,
        .last = (range->iova + range->bytes - 1) >> PR_PAGE_SHIFT,
    };
    uint64_t address = (extent_frame(&extent, extent.first) << PR_PAGE_SHIFT) + PAGE_OFFSET(range->iova);

    extent.contiguous =
        extent.first == extent.last ||
        (range->host && range->host == soc_memory_at(range->domain->core->memory, address, range->bytes));
    return extent;
}

static bool run_has_frame(const struct extent *run, uint64_t frame)
{
    return frame - extent_frame(run, run->first) <= run->last - run->first;
}

static bool runs_overlap(const struct extent *a, const struct extent *b)
{
    return run_has_frame(a, extent_frame(b, b->first)) || run_has_frame(b, extent_frame(a, a->first));
}

static bool extent_has_frame(const struct extent *extent, uint64_t frame)
{
    if (extent->contiguous)
        return run_has_frame(extent, frame);
    for (uint64_t page = extent->first; page <= extent->last; page++)
        if (extent_frame(extent, page) == frame)
            return true;
    return false;
}

static bool run_overlaps(const struct extent *run, const struct extent *scattered)
{
    for (uint64_t page = scattered->first; page <= scattered->last; page++)
        if (run_has_frame(run, extent_frame(scattered, page)))
            return true;
    return false;
}

static void marks_set(uint64_t *marks, const struct extent *extent, bool set)
{
    for (uint64_t page = extent->first; page <= extent->last; page++) {
        uint32_t mark = extent_frame(extent, page) % DART_MARKS;

        if (set)
            marks[mark / 64] |= 1ull << mark % 64;
        else
            marks[mark / 64] &= ~(1ull << mark % 64);
    }
}

/* Two scattered extents: the frames of the shorter are marked, those of the other looked up. */
static bool scattered_overlap(uint64_t *marks, const struct extent *a, const struct extent *b)
{
    bool found = false;

    marks_set(marks, a, true);
    for (uint64_t page = b->first; page <= b->last && !found; page++) {
        uint64_t frame = extent_frame(b, page);
        uint32_t mark = frame % DART_MARKS;

        found = marks[mark / 64] >> mark % 64 & 1 && extent_has_frame(a, frame);
    }
    marks_set(marks, a, false);
    return found;
}

bool dart_ranges_overlap(const struct dart_range *a, const struct dart_range *b)
{
    struct extent x, y;

    if (!a->bytes || !b->bytes)
        return false;
    x = extent_of(a);
    y = extent_of(b);
    if (x.domain == y.domain && x.first <= y.last && y.first <= x.last)
        return true;
    if (x.contiguous && y.contiguous)
        return runs_overlap(&x, &y);
    if (x.contiguous)
        return run_overlaps(&x, &y);
    if (y.contiguous)
        return run_overlaps(&y, &x);
    if (x.last - x.first > y.last - y.first)
        return scattered_overlap(a->domain->core->marks, &y, &x);
    return scattered_overlap(a->domain->core->marks, &x, &y);
}

bool dart_range_repeats(const struct dart_range *range)
{
    uint64_t *marks = range->domain->core->marks;
    struct extent extent;
    bool found = false;

    if (!range->bytes)
        return false;
    extent = extent_of(range);
    if (extent.contiguous)
        return false;
    for (uint64_t page = extent.first; page <= extent.last; page++) {
        uint32_t mark = extent_frame(&extent, page) % DART_MARKS;

        found = found || marks[mark / 64] >> mark % 64 & 1;
        marks[mark / 64] |= 1ull << mark % 64;
    }
    marks_set(marks, &extent, false);
    return found;
}
