/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mapper. It makes one segment for each page and hands them to the page-protection layer. An entry that
 * was valid is invalidated in all three DARTs before its page, or the page of its table, can be used for
 * anything else.
 */
#include "driver/mapper.h"

#include <errno.h>
#include <inttypes.h>

#include "driver/protection.h"
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
    for (uint32_t i = 0; i < PR_DART_DOMAINS; i++) {
        struct drv_domain *domain = &d->domain[i];

        domain->number = i;
        domain->streams = i ? 1u << (PR_DART_DOMAIN_STREAM_FIRST + i - 1) : PR_DART_BASE_STREAMS;
        domain->space.first = DRV_FIRST_ADDRESS;
        domain->space.end = PR_DART_APERTURE_BYTES;
    }
}

/*
 * All traffic through the changed entries is over when the command is. A page that becomes mapped needs none
 * of this: the translation buffers do not keep invalid entries.
 */
void drv_mapper_invalidate(struct drv *d, uint32_t streams)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!d->powered)
        return; /* what they had is lost */
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

void drv_mapper_read_config(struct drv *d)
{
    if (d->powered)
        d->dart_config = dart_read(d, 0, PR_DART_CONFIG);
}

void drv_mapper_point_streams(struct drv *d, const struct drv_domain *domain, bool on)
{
    uint32_t ttbr = on ? pr_dart_ttbr_make(drv_protection_table(domain)) : 0;

    if (!d->powered)
        return; /* written when they come on */
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

/* Segments of one mapping on their way to the page-protection layer. */
#define BATCH 64u
struct batch {
    struct drv *driver;
    struct drv_domain *domain;
    enum drv_protection_write what;
    uint32_t count;
    struct pr_segment segment[BATCH];
};

static void batch_flush(struct batch *batch)
{
    drv_protection_write(batch->driver, batch->domain, batch->what, batch->segment, batch->count);
    batch->count = 0;
}

static void batch_add(struct batch *batch, uint64_t iova, uint64_t physical, uint32_t protection)
{
    if (batch->count == BATCH)
        batch_flush(batch);
    batch->segment[batch->count++] =
        (struct pr_segment){.iova = iova, .phys = physical, .size = PR_PAGE_BYTES, .prot = protection};
}

int drv_mapper_map(struct drv *d, struct drv_domain *domain, uint32_t usage, uint64_t iova,
                   const struct drv_pages *pages)
{
    struct batch batch = {.driver = d, .domain = domain, .what = DRV_PROTECTION_MAP};
    uint32_t protection = drv_usage_protection(usage, d->dart_config);
    uint64_t at = iova;
    int status;

    if (usage & PR_USAGE_FIRMWARE_FLAG && domain->number)
        return -EPERM;
    status = drv_protection_reserve(d, domain, iova, pr_round_up(pages->bytes, PR_PAGE_BYTES));
    if (status)
        return status;
    for (uint32_t i = 0; i < pages->extents; i++)
        for (uint64_t done = 0; done < pages->extent[i].bytes; done += PR_PAGE_BYTES, at += PR_PAGE_BYTES)
            batch_add(&batch, at, pages->extent[i].physical + done, protection);
    batch_flush(&batch);
    domain->mappings++;
    SOC_TRACE(d->platform.trace, DRV_MAP, domain->number, usage, protection, iova, pages->extent->physical,
              pages->bytes, pages->extents);
    return 0;
}

void drv_mapper_unmap(struct drv *d, struct drv_domain *domain, uint64_t iova, uint64_t bytes)
{
    struct batch batch = {.driver = d, .domain = domain, .what = DRV_PROTECTION_UNMAP};
    uint64_t whole = pr_round_up(bytes, PR_PAGE_BYTES);

    domain->mappings--;
    SOC_TRACE(d->platform.trace, DRV_UNMAP, domain->number, iova, bytes);
    for (uint64_t done = 0; done < whole; done += PR_PAGE_BYTES)
        batch_add(&batch, iova + done, 0, PR_PROT_READ_WRITE);
    batch_flush(&batch);
    drv_protection_detach(domain, iova, whole);
    drv_mapper_invalidate(d, domain->streams);
    drv_protection_free(d, domain, iova, whole);
}
