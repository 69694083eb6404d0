/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mapper. A second-level table exists exactly while one of its entries is valid; an entry that was valid
 * is invalidated in all three DARTs before its page, or the page of its table, can be used for anything else.
 */
#include "driver/mapper.h"

#include <inttypes.h>
#include <stdio.h>

#include "driver/block.h"
#include "driver/usage.h"

#define BUSY_POLLS 1000u

static uint32_t dart_read(struct drv *d, unsigned dart, uint32_t offset)
{
    return soc_bus_read32(d->platform.bus, SOC_MASTER_HOST, d->platform.board->dart[dart] + offset);
}

static void dart_write(struct drv *d, unsigned dart, uint32_t offset, uint32_t value)
{
    soc_bus_write32(d->platform.bus, SOC_MASTER_HOST, d->platform.board->dart[dart] + offset, value);
}

void drv_mapper_init(struct drv *d)
{
    d->shared.first = DRV_SHARED_FIRST;
    d->shared.end = PR_DART_APERTURE_BYTES;
    for (uint32_t i = 0; i < PR_DART_DOMAINS; i++) {
        struct drv_domain *domain = &d->domain[i];

        domain->number = i;
        domain->streams = i ? 1u << (PR_DART_DOMAIN_STREAM_FIRST + i - 1) : PR_DART_BASE_STREAMS;
        domain->space.first = DRV_OWN_FIRST;
        domain->space.end = DRV_SHARED_FIRST;
    }
}

/*
 * All traffic through the changed entries is over when the command is. A page that becomes mapped needs none
 * of this: the translation buffers do not keep invalid entries.
 */
void drv_mapper_invalidate(struct drv *d, uint32_t streams)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (unsigned dart = 0; dart < PR_DART_COUNT; dart++) {
        dart_write(d, dart, PR_DART_STREAM_SELECT, streams);
        dart_write(d, dart, PR_DART_STREAM_COMMAND, PR_DART_COMMAND_INVALIDATE);
        for (unsigned i = 0; dart_read(d, dart, PR_DART_STREAM_COMMAND) & PR_DART_COMMAND_BUSY; i++)
            if (i == BUSY_POLLS) {
                drv_trace(d, "dart %u: the invalidation of streams 0x%x never ended", dart, streams);
                break;
            }
    }
}

void drv_mapper_point_streams(struct drv *d, const struct drv_domain *domain, bool on)
{
    uint32_t ttbr = on ? pr_dart_ttbr_make(domain->table.extent->physical) : 0;

    for (unsigned dart = 0; dart < PR_DART_COUNT; dart++) {
        uint32_t enabled = dart_read(d, dart, PR_DART_ENABLED_STREAMS);

        for (uint32_t stream = 0; stream < PR_DART_STREAMS; stream++) {
            if (!(domain->streams >> stream & 1))
                continue;
            dart_write(d, dart, PR_DART_TTBR + stream * PR_DART_TTBRS * 4, ttbr);
            dart_write(d, dart, PR_DART_TCR + stream * 4, on ? PR_DART_TCR_TRANSLATE : 0);
        }
        dart_write(d, dart, PR_DART_ENABLED_STREAMS,
                   on ? enabled | domain->streams : enabled & ~domain->streams);
    }
}

static void drop_table(struct drv *d, struct drv_domain *domain, uint32_t first)
{
    drv_pages_give(d, &domain->second[first].pages);
    domain->second[first].used = 0;
}

void drv_mapper_drop_tables(struct drv *d, struct drv_domain *domain)
{
    for (uint32_t i = 0; i < DRV_TABLES; i++)
        if (domain->second[i].pages.extent)
            drop_table(d, domain, i);
}

/*
 * Both classes give the same word (Table 28.4): in the seeds' form there are no other bits, and in the
 * hardware forms an output stays readable, because a program may read back what it has written there.
 */
static uint64_t make_entry(const struct drv *d, uint64_t frame)
{
    const struct pr_leaf leaf = {.valid = true, .frame = frame, .sub_end = 0xfff};

    return pr_leaf_encode((enum pr_leaf_form)d->platform.leaf_form, &leaf);
}

static uint64_t *first_entry(const struct drv_domain *domain, uint32_t first)
{
    return (uint64_t *)domain->table.host + first;
}

static int make_table(struct drv *d, struct drv_domain *domain, uint32_t first)
{
    struct drv_pages *pages = &domain->second[first].pages;
    int status;

    if (pages->extent)
        return 0;
    status = drv_pages_take(d, PR_PAGE_BYTES, true, pages);
    if (!status)
        __atomic_store_n(first_entry(domain, first), make_entry(d, pages->extent->physical),
                         __ATOMIC_RELEASE);
    return status;
}

static uint32_t first_index(uint64_t iova)
{
    return (uint32_t)(iova >> PR_DART_L1_SHIFT);
}

static uint32_t second_index(uint64_t iova)
{
    return (uint32_t)(iova >> PR_DART_L2_SHIFT) % PR_DART_TABLE_ENTRIES;
}

static uint64_t *second_entry(const struct drv_domain *domain, uint64_t iova)
{
    return (uint64_t *)domain->second[first_index(iova)].pages.host + second_index(iova);
}

/* Clears [iova, end) and frees the tables that become empty, after their entries are invalidated. */
static void clear_entries(struct drv *d, struct drv_domain *domain, uint64_t iova, uint64_t end)
{
    uint32_t first = first_index(iova), last = first_index(end - 1);

    for (uint64_t at = iova; at < end; at += PR_PAGE_BYTES) {
        uint64_t *entry = second_entry(domain, at);

        if (*entry) {
            __atomic_store_n(entry, 0, __ATOMIC_RELEASE);
            domain->second[first_index(at)].used--;
        }
    }
    for (uint32_t i = first; i <= last; i++)
        if (!domain->second[i].used)
            __atomic_store_n(first_entry(domain, i), 0, __ATOMIC_RELEASE);
    drv_mapper_invalidate(d, domain->streams);
    for (uint32_t i = first; i <= last; i++)
        if (domain->second[i].pages.extent && !domain->second[i].used)
            drop_table(d, domain, i);
}

int drv_mapper_map(struct drv *d, struct drv_domain *domain, uint32_t usage, uint64_t iova,
                   const struct drv_pages *pages)
{
    uint64_t end = iova + pr_round_up(pages->bytes, PR_PAGE_BYTES), at = iova;

    for (uint32_t i = first_index(iova); i <= first_index(end - 1); i++) {
        int status = make_table(d, domain, i);

        if (status) {
            for (uint32_t k = first_index(iova); k <= i; k++)
                if (domain->second[k].pages.extent && !domain->second[k].used) {
                    __atomic_store_n(first_entry(domain, k), 0, __ATOMIC_RELEASE);
                    drop_table(d, domain, k);
                }
            return status;
        }
    }
    for (uint32_t i = 0; i < pages->extents; i++)
        for (uint64_t done = 0; done < pages->extent[i].bytes; done += PR_PAGE_BYTES) {
            __atomic_store_n(second_entry(domain, at), make_entry(d, pages->extent[i].physical + done),
                             __ATOMIC_RELEASE);
            domain->second[first_index(at)].used++;
            at += PR_PAGE_BYTES;
        }
    drv_trace(d,
              "map domain=%u usage=%u class=%u iova=0x%" PRIx64 " physical=0x%" PRIx64 " bytes=0x%" PRIx64
              " extents=%u",
              domain->number, usage, drv_usage_class(usage), iova, pages->extent->physical, pages->bytes,
              pages->extents);
    return 0;
}

void drv_mapper_unmap(struct drv *d, struct drv_domain *domain, uint64_t iova, uint64_t bytes)
{
    drv_trace(d, "unmap domain=%u iova=0x%" PRIx64 " bytes=0x%" PRIx64, domain->number, iova, bytes);
    clear_entries(d, domain, iova, iova + pr_round_up(bytes, PR_PAGE_BYTES));
}

static const char *fault_text(uint32_t error)
{
    /* The bit that says which way the access went is not a reason. */
#define X(id, bit, text)                                                                   \
    if (PR_DART_ERROR_##id != PR_DART_ERROR_WRITE && error & (uint32_t)PR_DART_ERROR_##id) \
        return text;
    PR_DART_ERRORS(X)
#undef X
    return "no reason given";
}

void drv_mapper_take_faults(struct drv *d, char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (unsigned dart = 0; dart < PR_DART_COUNT; dart++) {
        uint32_t error = dart_read(d, dart, PR_DART_ERROR);
        uint64_t address;
        int written;

        if (!(error & PR_DART_ERROR_FLAG))
            continue;
        address = dart_read(d, dart, PR_DART_ERROR_ADDR_LO) |
                  (uint64_t)dart_read(d, dart, PR_DART_ERROR_ADDR_HI) << 32;
        dart_write(d, dart, PR_DART_ERROR, error);
        written =
            snprintf(text + at, size - at, "; DART %u error 0x%x: stream %u, %s of 0x%" PRIx64 ", %s", dart,
                     error, pr_bits_get(error, PR_DART_ERROR_STREAM_LO, PR_DART_ERROR_STREAM_WIDTH),
                     error & (uint32_t)PR_DART_ERROR_WRITE ? "write" : "read", address, fault_text(error));
        if (written < 0 || (size_t)written >= size - at)
            return;
        at += (size_t)written;
    }
}
