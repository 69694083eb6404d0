/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Physical memory: one reserved host range, memory files placed in it. A run of DRAM is cleared when it is
 * freed, so that its next owner reads none of the old bytes.
 */
#include "soc/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "protocol/board.h"
#include "soc/buddy.h"

#if defined(__SANITIZE_ADDRESS__)
#define POISONING 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONING 1
#endif
#endif
#ifdef POISONING
#include <sanitizer/asan_interface.h>
#define POISON(at, bytes)   __asan_poison_memory_region(at, bytes)
#define UNPOISON(at, bytes) __asan_unpoison_memory_region(at, bytes)
#else
#define POISON(at, bytes)   ((void)(at), (void)(bytes))
#define UNPOISON(at, bytes) ((void)(at), (void)(bytes))
#endif

#define SURFACE_SPACE (64ull << 30) /* physical addresses after DRAM where surface banks are placed */
#define BANKS_MAX     4096u
#define CLEAR_BY_STORE \
    (4u * PR_PAGE_BYTES) /* runs up to this are cleared by stores, longer ones by giving pages back */

struct bank {
    uint64_t start; /* offset in the reserved range */
    uint64_t bytes;
    int file;   /* -1: free */
    bool owned; /* the file was made here and is closed with the bank */
};

/* A range by offsets; an end of 0: none. */
struct watch {
    uint64_t start, end;
    void (*seen)(void *context);
    void *context;
};

struct soc_memory {
    uint64_t base;
    uint64_t dram_bytes;
    uint8_t *host; /* the reserved range: DRAM, then surfaces */
    uint64_t host_bytes;
    struct watch watch;
    struct soc_buddy *dram;
    uint8_t *owner; /* per page of DRAM, of the run that starts there: enum soc_owner */
    struct soc_buddy *surfaces;
    uint16_t *bank_at;           /* per page of the surface space: bank index + 1 */
    struct bank bank[BANKS_MAX]; /* 0 is DRAM */
};

static int new_file(uint64_t bytes, const char *name, int *file, struct base_error *error)
{
    int fd = base_file_memory(name, bytes);

    if (fd < 0)
        return base_fail(error, ENOMEM, "A memory file of 0x%" PRIx64 " bytes for %s failed: %s.", bytes,
                         name, strerror(-fd));
    *file = fd;
    return 0;
}

static void close_file(struct bank *bank)
{
    if (bank->owned)
        close(bank->file);
    bank->file = -1;
}

/* Maps a bank's file, new or (from >= 0) the caller's, at its place in the reserved range. */
static int place(struct soc_memory *m, unsigned index, uint64_t start, uint64_t bytes, const char *name,
                 int from, struct base_error *error)
{
    struct bank *bank = &m->bank[index];
    int status = from < 0 ? new_file(bytes, name, &bank->file, error) : 0;

    if (status)
        return status;
    bank->owned = from < 0;
    if (!bank->owned)
        bank->file = from;
    if (!base_alloc_allowed() || mmap(m->host + start, bytes, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_FIXED | MAP_NORESERVE, bank->file, 0) == MAP_FAILED) {
        close_file(bank);
        return base_fail(error, ENOMEM, "Mapping 0x%" PRIx64 " bytes for %s failed.", bytes, name);
    }
    bank->start = start;
    bank->bytes = bytes;
    return 0;
}

static void *reserve(uint64_t bytes, int protection)
{
    void *at = MAP_FAILED;

    if (base_alloc_allowed())
        at = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

int soc_memory_create(uint64_t base, uint64_t bytes, struct soc_memory **memory, struct base_error *error)
{
    struct soc_memory *m = base_alloc(sizeof(*m));
    int status = -ENOMEM;

    if (!m)
        return base_fail(error, ENOMEM, "No memory for the bank table.");
    m->base = base;
    m->dram_bytes = pr_round_up(bytes, PR_PAGE_BYTES);
    m->host_bytes = m->dram_bytes + SURFACE_SPACE;
    for (unsigned i = 0; i < BANKS_MAX; i++)
        m->bank[i].file = -1;
    m->host = reserve(m->host_bytes, PROT_NONE);
    m->bank_at = reserve(SURFACE_SPACE / PR_PAGE_BYTES * sizeof(*m->bank_at), PROT_READ | PROT_WRITE);
    m->owner = reserve(m->dram_bytes / PR_PAGE_BYTES, PROT_READ | PROT_WRITE);
    if (!m->host || !m->bank_at || !m->owner) {
        base_fail(error, ENOMEM, "The host refuses to reserve 0x%" PRIx64 " bytes of addresses.",
                  m->host_bytes);
        goto fail;
    }
    status = place(m, 0, 0, m->dram_bytes, "anemone-dram", -1, error);
    if (!status)
        status = soc_buddy_create(m->dram_bytes / PR_PAGE_BYTES, &m->dram, error);
    if (!status)
        status = soc_buddy_create(SURFACE_SPACE / PR_PAGE_BYTES, &m->surfaces, error);
    if (status)
        goto fail;
    *memory = m;
    return 0;
fail:
    soc_memory_destroy(m);
    return status;
}

void soc_memory_destroy(struct soc_memory *memory)
{
    if (!memory)
        return;
    for (unsigned i = 0; i < BANKS_MAX; i++)
        if (memory->bank[i].file >= 0)
            close_file(&memory->bank[i]);
    if (memory->host) {
        UNPOISON(memory->host, memory->dram_bytes);
        munmap(memory->host, memory->host_bytes);
    }
    if (memory->bank_at)
        munmap(memory->bank_at, SURFACE_SPACE / PR_PAGE_BYTES * sizeof(*memory->bank_at));
    if (memory->owner)
        munmap(memory->owner, memory->dram_bytes / PR_PAGE_BYTES);
    soc_buddy_destroy(memory->dram);
    soc_buddy_destroy(memory->surfaces);
    base_free(memory);
}

uint64_t soc_memory_base(const struct soc_memory *memory)
{
    return memory->base;
}

uint64_t soc_memory_bytes(const struct soc_memory *memory)
{
    return memory->dram_bytes;
}

uint64_t soc_memory_used(const struct soc_memory *memory)
{
    return soc_buddy_used(memory->dram) * PR_PAGE_BYTES;
}

int soc_memory_alloc(struct soc_memory *memory, enum soc_owner owner, uint64_t bytes, uint64_t *address,
                     struct base_error *error)
{
    uint64_t pages = bytes / PR_PAGE_BYTES + (bytes % PR_PAGE_BYTES != 0), page;

    if (!bytes)
        return base_fail(error, EINVAL, "An allocation of 0 bytes was asked for; the unit is a page of 0x%x.",
                         PR_PAGE_BYTES);
    if (!base_alloc_allowed() || !soc_buddy_take(memory->dram, pages, &page))
        return base_fail(error, ENOMEM,
                         "No run of %" PRIu64 " free pages is left; 0x%" PRIx64 " of 0x%" PRIx64
                         " bytes of DRAM are in use.",
                         pages, soc_memory_used(memory), memory->dram_bytes);
    UNPOISON(memory->host + page * PR_PAGE_BYTES, pages * PR_PAGE_BYTES);
    memory->owner[page] = (uint8_t)owner;
    *address = memory->base + page * PR_PAGE_BYTES;
    return 0;
}

/* The contents are discarded, so that the next owner reads zeros. */
static void forget(struct soc_memory *m, uint64_t offset, uint64_t bytes)
{
    if (bytes <= CLEAR_BY_STORE || madvise(m->host + offset, bytes, MADV_REMOVE))
        memset(m->host + offset, 0, bytes);
    POISON(m->host + offset, bytes);
}

int soc_memory_free(struct soc_memory *memory, enum soc_owner owner, uint64_t address,
                    struct base_error *error)
{
    static const char *const name[SOC_OWNERS] = {"the caller of machine.h", "the driver", "the firmware"};
    uint64_t offset = address - memory->base, page = offset / PR_PAGE_BYTES, pages = 0;

    if (offset < memory->dram_bytes && offset % PR_PAGE_BYTES == 0)
        pages = soc_buddy_run(memory->dram, page);
    if (!pages)
        return base_fail(error, EINVAL, "No allocated run starts at 0x%" PRIx64 ".", address);
    if (memory->owner[page] != owner)
        return base_fail(error, EINVAL, "The run at 0x%" PRIx64 " belongs to %s; only its owner can free it.",
                         address, name[memory->owner[page]]);
    forget(memory, offset, pages * PR_PAGE_BYTES);
    soc_buddy_give(memory->dram, page);
    return 0;
}

static unsigned free_bank(const struct soc_memory *m)
{
    for (unsigned i = 1; i < BANKS_MAX; i++)
        if (m->bank[i].file < 0)
            return i;
    return 0;
}

static int add_bank(struct soc_memory *memory, int from, uint64_t bytes, uint64_t *address,
                    struct base_error *error)
{
    uint64_t pages = bytes / PR_PAGE_BYTES + (bytes % PR_PAGE_BYTES != 0), page;
    unsigned index = free_bank(memory);
    int status;

    if (!bytes || !index)
        return base_fail(error, bytes ? ENOSPC : EINVAL,
                         "A surface of 0x%" PRIx64 " bytes cannot be made (at most %u exist).", bytes,
                         BANKS_MAX - 1);
    if (!soc_buddy_take(memory->surfaces, pages, &page))
        return base_fail(error, ENOMEM, "No physical addresses are left for a surface of %" PRIu64 " pages.",
                         pages);
    status = place(memory, index, memory->dram_bytes + page * PR_PAGE_BYTES, pages * PR_PAGE_BYTES,
                   "anemone-surface", from, error);
    if (status) {
        soc_buddy_give(memory->surfaces, page);
        return status;
    }
    for (uint64_t i = 0; i < pages; i++)
        memory->bank_at[page + i] = (uint16_t)(index + 1);
    *address = memory->base + memory->bank[index].start;
    return 0;
}

int soc_memory_bank_add(struct soc_memory *memory, uint64_t bytes, uint64_t *address,
                        struct base_error *error)
{
    return add_bank(memory, -1, bytes, address, error);
}

int soc_memory_bank_attach(struct soc_memory *memory, int file, uint64_t bytes, uint64_t *address,
                           struct base_error *error)
{
    return add_bank(memory, file, bytes, address, error);
}

static const struct bank *bank_of(const struct soc_memory *m, uint64_t offset)
{
    unsigned index;

    if (offset < m->dram_bytes)
        return &m->bank[0];
    if (offset >= m->host_bytes)
        return NULL;
    index = m->bank_at[(offset - m->dram_bytes) / PR_PAGE_BYTES];
    return index ? &m->bank[index - 1] : NULL;
}

int soc_memory_bank_remove(struct soc_memory *memory, uint64_t address, struct base_error *error)
{
    uint64_t offset = address - memory->base, page = (offset - memory->dram_bytes) / PR_PAGE_BYTES;
    const struct bank *found = bank_of(memory, offset);
    struct bank *bank;

    if (!found || found == &memory->bank[0] || found->start != offset)
        return base_fail(error, EINVAL, "No surface starts at 0x%" PRIx64 ".", address);
    bank = &memory->bank[found - memory->bank];
    /* If this fails, the old mapping stays, but no address leads to it any more. */
    (void)mmap(memory->host + offset, bank->bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    for (uint64_t i = 0; i < bank->bytes / PR_PAGE_BYTES; i++)
        memory->bank_at[page + i] = 0;
    close_file(bank);
    soc_buddy_give(memory->surfaces, page);
    return 0;
}

int soc_memory_bank_file(const struct soc_memory *memory, uint64_t address)
{
    const struct bank *bank = bank_of(memory, address - memory->base);

    return bank && bank != &memory->bank[0] ? bank->file : -1;
}

void *soc_memory_at(const struct soc_memory *memory, uint64_t address, uint64_t bytes)
{
    uint64_t offset = address - memory->base;
    const struct bank *bank;

    if (offset < memory->dram_bytes) {
        if (bytes > memory->dram_bytes - offset)
            return NULL;
        if (offset < memory->watch.end && offset + bytes > memory->watch.start)
            memory->watch.seen(memory->watch.context);
        return memory->host + offset;
    }
    bank = bank_of(memory, offset);
    if (!bank || bytes > bank->bytes - (offset - bank->start))
        return NULL;
    return memory->host + offset;
}

void soc_memory_watch(struct soc_memory *memory, uint64_t address, uint64_t bytes,
                      void (*seen)(void *context), void *context)
{
    uint64_t start = address - memory->base;

    memory->watch = (struct watch){start, bytes ? start + bytes : 0, seen, context};
}

int soc_memory_file_at(const struct soc_memory *memory, uint64_t address, int *file, uint64_t *offset)
{
    const struct bank *bank = bank_of(memory, address - memory->base);

    if (!bank)
        return -EFAULT;
    *file = bank->file;
    *offset = address - memory->base - bank->start;
    return 0;
}
