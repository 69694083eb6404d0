/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firmware's memory. Bytes go from it to the carve-out in DRAM; only those of the retained block go
 * back.
 */
#include "machine/carveout.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "protocol/bits.h"

#define STACK_BYTES (256u << 10)

/*
 * These loops read stacks, which carry the address sanitizer's marks, and DRAM, which other threads may write
 * at any time. A word is read once and only compared for equality.
 */
#define READS_STACKS __attribute__((noinline, no_sanitize("address"), no_sanitize("thread")))

int mach_carveout_create(struct mach_carveout *c, uint64_t address, void *dram, size_t bytes, size_t retained,
                         struct base_error *error)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), stack = pr_round_up(STACK_BYTES, page);
    size_t whole = page + stack + pr_round_up(bytes, page);
    uint8_t *at = MAP_FAILED;

    if (base_alloc_allowed())
        at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return base_fail(error, ENOMEM, "No memory for the controller: the host refuses 0x%zx bytes.", whole);
    if (mprotect(at, page, PROT_NONE)) {
        munmap(at, whole);
        return base_fail(error, ENOMEM, "No guard page for the controller's stack: %s.", strerror(errno));
    }
    *c = (struct mach_carveout){
        .mapping = at,
        .mapping_bytes = whole,
        .page = page,
        .stack = at + page,
        .stack_bytes = stack,
        .memory = (void *)(at + page + stack),
        .bytes = bytes,
        .retained = retained,
        .dram = dram,
        .address = address,
    };
    return 0;
}

void mach_carveout_destroy(struct mach_carveout *c)
{
    if (c->mapping)
        munmap(c->mapping, c->mapping_bytes);
    c->mapping = NULL;
}

void *mach_carveout_retained(const struct mach_carveout *c)
{
    return (uint8_t *)c->memory + c->bytes - c->retained;
}

/* A word of DRAM is read once: other threads may write it at any time. */
READS_STACKS static void take_retained(const struct mach_carveout *c)
{
    for (size_t i = (c->bytes - c->retained) / sizeof(*c->memory); i < c->bytes / sizeof(*c->memory); i++)
        c->memory[i] = __atomic_load_n(&c->dram[i], __ATOMIC_RELAXED);
}

/*
 * Pages of a known size stay the firmware's: giving them back to the host would cost a fault for each at the
 * next boot. When all is to be cleared they go back, because few of them were used.
 */
static void clear_memory(const struct mach_carveout *c, size_t used)
{
    const size_t most = c->bytes - c->retained, whole = most / c->page * c->page;
    size_t done = 0;

    if (used >= most) {
        used = most;
        done = madvise(c->memory, whole, MADV_DONTNEED) ? 0 : whole;
    }
    memset((uint8_t *)c->memory + done, 0, used - done);
}

void mach_carveout_clear(struct mach_carveout *c, size_t used)
{
    clear_memory(c, used);
    if (c->exposed) {
        take_retained(c);
        memset(c->dram, 0, c->shown);
    }
    c->shown = 0;
}

/*
 * Read-only and not inaccessible, because the kernel reads its stacks from below to measure them. An
 * overflow is a write, which faults. If the host refuses, the kernel's own guard words are still there.
 */
void mach_carveout_guard(const struct mach_carveout *c, void *stack, size_t bytes, bool on)
{
    size_t below = (size_t)((uint8_t *)stack - (uint8_t *)c->memory), at = pr_round_up(below, c->page);

    if (at + c->page <= below + bytes)
        (void)mprotect((uint8_t *)c->memory + at, c->page, on ? PROT_READ : PROT_READ | PROT_WRITE);
}

READS_STACKS static void show_words(const struct mach_carveout *c, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (__atomic_load_n(&c->dram[i], __ATOMIC_RELAXED) != c->memory[i])
            __atomic_store_n(&c->dram[i], c->memory[i], __ATOMIC_RELAXED);
}

void mach_carveout_show(struct mach_carveout *c, size_t used)
{
    const size_t words = c->bytes / sizeof(*c->memory);

    if (!c->exposed)
        return;
    show_words(c, 0, used / sizeof(*c->memory));
    show_words(c, words - c->retained / sizeof(*c->memory), words);
    c->shown = used;
}

READS_STACKS static uint64_t changed_word(const struct mach_carveout *c, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (__atomic_load_n(&c->dram[i], __ATOMIC_RELAXED) != c->memory[i])
            return c->address + i * sizeof(*c->memory);
    return 0;
}

uint64_t mach_carveout_changed(const struct mach_carveout *c)
{
    const size_t words = c->bytes / sizeof(*c->memory);
    uint64_t at;

    if (!c->exposed || !c->shown)
        return 0;
    at = changed_word(c, 0, c->shown / sizeof(*c->memory));
    return at ? at : changed_word(c, words - c->retained / sizeof(*c->memory), words);
}
