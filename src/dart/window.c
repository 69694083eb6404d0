/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host windows.
 *
 * Host mappings are counted as the kernel counts them: a window is one mapping, plus one for each place
 * where neighbouring pages are not the same mapping. A chunk counts such places left of each page it
 * shows, and right of a page whose neighbour is not shown.
 */
#include "dart/window.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "soc/memory.h"

#define CHUNK_BYTES ((size_t)DART_CHUNK_PAGES * PR_PAGE_BYTES)

/* Pages first..last of a domain; empty when the domain is NULL. */
struct span {
    const struct dart_domain *domain;
    uint32_t first, last;
};

static bool span_has_page(const struct span *span, uint32_t page)
{
    return span->domain && page >= span->first && page <= span->last;
}

static bool span_has_chunk(const struct span *span, const struct dart_domain *domain, uint32_t chunk)
{
    return span->domain == domain && chunk >= span->first / DART_CHUNK_PAGES &&
           chunk <= span->last / DART_CHUNK_PAGES;
}

static void *host_map(void *at, size_t bytes, int protection, int flags, int file, uint64_t offset)
{
    if (base_alloc_allowed())
        return mmap(at, bytes, protection, flags, file, (off_t)offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

#define RESERVE_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/* Takes addresses that were given back, unless other code of the process has mapped them by now. */
static bool host_retake(void *at, size_t bytes)
{
    return host_map(at, bytes, PROT_NONE, RESERVE_FLAGS | MAP_FIXED_NOREPLACE, -1, 0) == at;
}

/*
 * Puts reserved addresses back where pages were shown. At its limit of mappings the kernel only allows
 * unmapping.
 */
static bool host_reserve(void *at, size_t bytes)
{
    return host_map(at, bytes, PROT_NONE, RESERVE_FLAGS | MAP_FIXED, -1, 0) != MAP_FAILED ||
           (!munmap(at, bytes) && host_retake(at, bytes));
}

/* After a mapping failed: the kernel may have removed the reservation before the failure. */
static bool host_repair(void *at, size_t bytes)
{
    return !msync(at, bytes, MS_ASYNC) || host_retake(at, bytes);
}

static uint8_t *window_at(const struct dart_domain *domain, uint32_t page)
{
    return domain->window + (size_t)page * PR_PAGE_BYTES;
}

/* Whether page b follows page a in one memory file: then the kernel makes one mapping of them. */
static bool follows_in_file(const struct dart_domain *domain, struct dart_entry a, struct dart_entry b)
{
    const struct soc_memory *memory = domain->core->memory;
    uint64_t a_offset, b_offset;
    int a_file, b_file;

    return !soc_memory_file_at(memory, dart_entry_address(a), &a_file, &a_offset) &&
           !soc_memory_file_at(memory, dart_entry_address(b), &b_file, &b_offset) && a_file == b_file &&
           b_offset == a_offset + PR_PAGE_BYTES;
}

/* Whether page - 1 and page are different host mappings, if the pages of `with` were shown too. */
static bool edge(const struct dart_domain *domain, uint32_t page, const struct span *with)
{
    struct dart_entry a = domain->entries[page - 1], b = domain->entries[page];
    bool a_shown = a.mapped || span_has_page(with, page - 1);
    bool b_shown = b.mapped || span_has_page(with, page);

    if (!a_shown || !b_shown)
        return a_shown != b_shown;
    return !follows_in_file(domain, a, b);
}

/* Edges from the left side of the span's first page to the right side of its last. */
static uint32_t span_edges(const struct span *span, const struct span *with)
{
    uint32_t edges = 0;

    for (uint32_t page = span->first ? span->first : 1; page <= span->last + 1 && page < PR_DART_PAGES;
         page++)
        edges += edge(span->domain, page, with);
    return edges;
}

static void chunk_count(struct dart_domain *domain, uint32_t index)
{
    const struct span none = {0};
    struct dart_chunk *chunk = &domain->chunk[index];
    uint32_t start = index * DART_CHUNK_PAGES;

    domain->core->stats.vmas -= chunk->vmas;
    chunk->vmas = chunk->mapped = 0;
    for (uint32_t page = start; chunk->filled && page < start + DART_CHUNK_PAGES; page++) {
        if (!domain->entries[page].mapped)
            continue;
        chunk->mapped++;
        chunk->vmas += page > 0 && edge(domain, page, &none);
        chunk->vmas += page + 1 < PR_DART_PAGES && !domain->entries[page + 1].mapped;
    }
    domain->core->stats.vmas += chunk->vmas;
}

/* Counts the chunks first..last again, and their neighbours, whose outer edges may have changed. */
static void chunks_count(struct dart_domain *domain, uint32_t first, uint32_t last)
{
    struct dart_stats *stats = &domain->core->stats;

    for (uint32_t i = first ? first - 1 : 0; i <= last + 1 && i < DART_CHUNKS; i++)
        chunk_count(domain, i);
    if (stats->vmas > stats->vmas_peak)
        stats->vmas_peak = stats->vmas;
}

static void chunk_hide(struct dart_domain *domain, uint32_t index)
{
    for (uint32_t page = index * DART_CHUNK_PAGES; page < (index + 1) * DART_CHUNK_PAGES; page++)
        domain->entries[page].mapped = 0;
}

/*
 * The host would not put reserved addresses back, and what is mapped there now is unknown, so these addresses
 * are never used again, nor given back. Their mappings stay counted. The next grant reserves another window.
 */
static void window_abandon(struct dart_domain *domain)
{
    for (uint32_t i = 0; i < DART_CHUNKS; i++) {
        if (!domain->chunk[i].filled)
            continue;
        chunk_count(domain, i);
        chunk_hide(domain, i);
        domain->chunk[i].vmas = domain->chunk[i].mapped = 0;
    }
    domain->window = NULL;
    dart_domain_changed(domain);
}

static bool pinned(const struct dart_core *core, const struct dart_chunk *chunk)
{
    return chunk->used > core->pin_floor;
}

/* Takes one chunk out of its window; its entries stay. */
static void chunk_drop(struct dart_domain *domain, uint32_t index)
{
    domain->core->stats.window_drops++;
    dart_domain_changed(domain);
    if (!host_reserve(window_at(domain, index * DART_CHUNK_PAGES), CHUNK_BYTES)) {
        window_abandon(domain);
        return;
    }
    chunk_hide(domain, index);
    chunks_count(domain, index, index);
}

/*
 * Whether dropping a chunk leaves no more host mappings than before. Out of the middle of a long run it
 * would leave more: such a chunk waits until one at the end of the run has gone.
 */
static bool droppable(const struct dart_domain *domain, uint32_t index)
{
    const struct span none = {0};
    const struct dart_entry *entries = domain->entries;
    uint32_t first = index * DART_CHUNK_PAGES, next = first + DART_CHUNK_PAGES, left_open = 0;

    if (!domain->chunk[index].mapped)
        return false;
    if (first > 0)
        left_open += entries[first].mapped && entries[first - 1].mapped;
    if (next < PR_DART_PAGES)
        left_open += entries[next].mapped && !edge(domain, next, &none);
    return domain->chunk[index].vmas >= left_open;
}

/* Drops the chunk that was used least recently, but none of `keep` and none that is pinned. */
static bool drop_oldest(struct dart_core *core, const struct span *keep)
{
    struct dart_domain *from = NULL;
    uint32_t oldest = 0;

    for (unsigned d = 0; d < DART_DOMAINS; d++) {
        struct dart_domain *domain = &core->domain[d];

        for (uint32_t i = 0; domain->window && i < DART_CHUNKS; i++) {
            const struct dart_chunk *chunk = &domain->chunk[i];

            if (pinned(core, chunk) || span_has_chunk(keep, domain, i) || !droppable(domain, i))
                continue;
            if (!from || chunk->used < from->chunk[oldest].used) {
                from = domain;
                oldest = i;
            }
        }
    }
    if (from)
        chunk_drop(from, oldest);
    return from;
}

/* Host mappings that no drop can free, beside the span's own. */
static uint32_t vmas_kept(const struct dart_core *core, const struct span *span)
{
    uint32_t kept = 0;

    for (unsigned d = 0; d < DART_DOMAINS; d++) {
        const struct dart_domain *domain = &core->domain[d];

        kept += domain->window != NULL;
        for (uint32_t i = 0; domain->window && i < DART_CHUNKS; i++)
            if (pinned(core, &domain->chunk[i]) && !span_has_chunk(span, domain, i))
                kept += domain->chunk[i].vmas;
    }
    return kept;
}

/* Host mappings in use once the span's pages are shown too. */
static uint32_t vmas_with(const struct dart_core *core, const struct span *span)
{
    const struct span none = {0};

    return core->stats.vmas + span_edges(span, span) - span_edges(span, &none);
}

/*
 * Whether the mappings of the span's pages fit into the budget, after dropping what is needed and
 * allowed: its own chunks last.
 */
static bool make_room(struct dart_core *core, const struct span *span)
{
    const struct span none = {0};

    if (vmas_kept(core, span) + span_edges(span, span) > core->budget)
        return false;
    for (uint32_t wanted = vmas_with(core, span); wanted > core->budget; wanted = vmas_with(core, span)) {
        uint32_t before = core->stats.vmas;
        bool dropped = false;

        while (wanted - (before - core->stats.vmas) > core->budget && drop_oldest(core, span))
            dropped = true;
        if (!dropped && !drop_oldest(core, &none))
            return false;
    }
    return span->domain->window;
}

/*
 * The page after the run that starts at `page`: pages that are not shown yet and are contiguous in one memory
 * file.
 */
static uint32_t run_end(const struct dart_domain *domain, uint32_t page, uint32_t last)
{
    const struct span all = {domain, page, last};

    do
        page++;
    while (page <= last && !domain->entries[page].mapped && !edge(domain, page, &all));
    return page;
}

static bool run_map(struct dart_domain *domain, uint32_t page, uint32_t end, const struct span *keep)
{
    size_t bytes = (size_t)(end - page) * PR_PAGE_BYTES;
    uint64_t offset;
    int file;

    if (soc_memory_file_at(domain->core->memory, dart_entry_address(domain->entries[page]), &file, &offset))
        return false;
    while (host_map(window_at(domain, page), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                    offset) == MAP_FAILED) {
        bool full = errno == ENOMEM;

        if (!host_repair(window_at(domain, page), bytes)) {
            window_abandon(domain);
            return false;
        }
        if (!full || !drop_oldest(domain->core, keep) || !domain->window)
            return false;
    }
    for (; page < end; page++)
        domain->entries[page].mapped = 1;
    return true;
}

static bool runs_map(struct dart_domain *domain, const struct span *span)
{
    uint32_t end;

    for (uint32_t page = span->first; page <= span->last; page = end) {
        end = page + 1;
        if (domain->entries[page].mapped)
            continue;
        end = run_end(domain, page, span->last);
        if (!run_map(domain, page, end, span))
            return false;
    }
    return true;
}

static bool window_reserve(struct dart_domain *domain)
{
    struct dart_core *core = domain->core;
    const struct span none = {0};
    void *at;

    while (core->stats.vmas + 1 > core->budget)
        if (!drop_oldest(core, &none))
            return false;
    at = host_map(NULL, PR_DART_APERTURE_BYTES, PROT_NONE, RESERVE_FLAGS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    domain->window = at;
    if (++core->stats.vmas > core->stats.vmas_peak)
        core->stats.vmas_peak = core->stats.vmas;
    return true;
}

/* A part of a range is of no use and would only keep the host at its limit. */
static void span_drop(struct dart_domain *domain, const struct span *span)
{
    for (uint32_t i = span->first / DART_CHUNK_PAGES; i <= span->last / DART_CHUNK_PAGES && domain->window;
         i++)
        if (domain->chunk[i].mapped && !pinned(domain->core, &domain->chunk[i]))
            chunk_drop(domain, i);
}

bool dart_window_map(struct dart_domain *domain, uint32_t first, uint32_t last)
{
    const struct span span = {domain, first, last};
    bool done;

    if ((!domain->window && !window_reserve(domain)) || !make_room(domain->core, &span))
        return false;
    done = runs_map(domain, &span);
    chunks_count(domain, first / DART_CHUNK_PAGES, last / DART_CHUNK_PAGES);
    if (!done)
        span_drop(domain, &span);
    return done;
}

void dart_window_touch(struct dart_domain *domain, uint32_t first, uint32_t last)
{
    uint64_t now = ++domain->core->clock;

    for (uint32_t i = first / DART_CHUNK_PAGES; i <= last / DART_CHUNK_PAGES; i++)
        domain->chunk[i].used = now;
}

void dart_window_clear(struct dart_domain *domain)
{
    uint32_t first = DART_CHUNKS, last = 0;

    for (uint32_t i = 0; domain->window && i < DART_CHUNKS; i++) {
        if (!domain->chunk[i].mapped)
            continue;
        first = first < i ? first : i;
        last = i;
    }
    if (first == DART_CHUNKS)
        return;
    if (!host_reserve(window_at(domain, first * DART_CHUNK_PAGES), (last - first + 1) * CHUNK_BYTES)) {
        window_abandon(domain);
        return;
    }
    for (uint32_t i = first; i <= last; i++) {
        domain->core->stats.vmas -= domain->chunk[i].vmas;
        domain->chunk[i].vmas = domain->chunk[i].mapped = 0;
    }
}

void dart_window_release(struct dart_domain *domain)
{
    if (domain->window)
        munmap(domain->window, PR_DART_APERTURE_BYTES);
}
