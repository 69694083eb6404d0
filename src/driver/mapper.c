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
                SOC_TRACE(d->platform.trace, DRV_INVALIDATE_STUCK, dart, streams);
                break;
            }
    }
}

void drv_mapper_point_streams(struct drv *d, const struct drv_domain *domain, bool on)
{
    uint32_t ttbr = on ? pr_dart_ttbr_make(domain->table) : 0;

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
    drv_pages_give(d, domain->second[first].address, PR_PAGE_BYTES);
    domain->second[first].address = 0;
    domain->second[first].entries = NULL;
    domain->second[first].used = 0;
}

void drv_mapper_drop_tables(struct drv *d, struct drv_domain *domain)
{
    for (uint32_t i = 0; i < DRV_TABLES; i++)
        if (domain->second[i].address)
            drop_table(d, domain, i);
    domain->mappings = 0;
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

static int make_table(struct drv *d, struct drv_domain *domain, uint32_t first)
{
    uint64_t physical;
    void *host;
    int status;

    if (domain->second[first].address)
        return 0;
    status = drv_pages_take(d, PR_PAGE_BYTES, &physical, &host);
    if (status)
        return status;
    domain->second[first].address = physical;
    domain->second[first].entries = host;
    __atomic_store_n(&domain->entries[first], make_entry(d, physical), __ATOMIC_RELEASE);
    return 0;
}

static uint32_t first_index(uint64_t iova)
{
    return (uint32_t)(iova >> PR_DART_L1_SHIFT);
}

static uint32_t second_index(uint64_t iova)
{
    return (uint32_t)(iova >> PR_DART_L2_SHIFT) % PR_DART_TABLE_ENTRIES;
}

/* Clears [iova, end) and frees the tables that become empty, after their entries are invalidated. */
static void clear_entries(struct drv *d, struct drv_domain *domain, uint64_t iova, uint64_t end)
{
    uint32_t first = first_index(iova), last = first_index(end - 1);

    for (uint64_t at = iova; at < end; at += PR_PAGE_BYTES) {
        uint64_t *entry = &domain->second[first_index(at)].entries[second_index(at)];

        if (*entry) {
            __atomic_store_n(entry, 0, __ATOMIC_RELEASE);
            domain->second[first_index(at)].used--;
        }
    }
    for (uint32_t i = first; i <= last; i++)
        if (!domain->second[i].used)
            __atomic_store_n(&domain->entries[i], 0, __ATOMIC_RELEASE);
    drv_mapper_invalidate(d, domain->streams);
    for (uint32_t i = first; i <= last; i++)
        if (domain->second[i].address && !domain->second[i].used)
            drop_table(d, domain, i);
}

int drv_mapper_map(struct drv *d, struct drv_domain *domain, uint32_t usage, uint64_t iova, uint64_t physical,
                   uint64_t bytes)
{
    uint64_t end = iova + pr_round_up(bytes, PR_PAGE_BYTES);

    for (uint32_t i = first_index(iova); i <= first_index(end - 1); i++) {
        int status = make_table(d, domain, i);

        if (status) {
            for (uint32_t k = first_index(iova); k <= i; k++)
                if (domain->second[k].address && !domain->second[k].used) {
                    __atomic_store_n(&domain->entries[k], 0, __ATOMIC_RELEASE);
                    drop_table(d, domain, k);
                }
            return status;
        }
    }
    for (uint64_t at = iova; at < end; at += PR_PAGE_BYTES) {
        uint64_t *entry = &domain->second[first_index(at)].entries[second_index(at)];

        __atomic_store_n(entry, make_entry(d, physical + (at - iova)), __ATOMIC_RELEASE);
        domain->second[first_index(at)].used++;
    }
    domain->mappings++;
    SOC_TRACE(d->platform.trace, DRV_MAP, domain->number, usage, drv_usage_class(usage), iova, physical,
              bytes);
    return 0;
}

void drv_mapper_unmap(struct drv *d, struct drv_domain *domain, uint64_t iova, uint64_t bytes)
{
    domain->mappings--;
    SOC_TRACE(d->platform.trace, DRV_UNMAP, domain->number, iova, bytes);
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
