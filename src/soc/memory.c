/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Physical memory: one reserved host range, memory files placed in it. A run of DRAM is cleared when it is
 * freed, so that its next owner reads none of the old bytes. Of long runs, the host keeps KEPT_MAX bytes of
 * pages, since it takes longer to get a page from it than to clear one; the others are given back.
 *
 * DRAM is in the range as it is in physical memory. A surface is one piece of the range, whatever its
 * physical pages are: `frame` leads from a physical page of a surface to its host page.
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
#include "soc/scatter.h"

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

#define SURFACE_SPACE (64ull << 30) /* after DRAM, of physical addresses and of the reserved range */
#define SURFACE_PAGES (SURFACE_SPACE / PR_PAGE_BYTES)
#define BANKS_MAX     4096u
#define CLEAR_BY_STORE \
    (4u * PR_PAGE_BYTES) /* runs up to this are cleared by stores, longer ones by giving pages back */

#define KEPT_MAX (16u << 20)
#define KEPT     0x80u /* in `owner`: the page is free, and the host has not got it back */

struct bank {
    uint64_t start; /* offset in the reserved range */
    uint64_t bytes;
    uint64_t offset; /* of its bytes in the file */
    int file;
    bool taken;               /* false: free */
    bool owned;               /* the file was made here and is closed with the bank */
    struct pr_extent *extent; /* of a surface: its physical pages */
    uint32_t extents;
};

/* A physical page of the surface space. All zero: no surface has it. */
struct frame {
    uint32_t host;   /* its page in the surface part of the reserved range */
    uint16_t behind; /* how many pages of its extent follow */
    uint16_t bank;   /* index */
};
_Static_assert(PR_EXTENT_BYTES_MAX / PR_PAGE_BYTES <= UINT16_MAX, "pages of an extent are counted");
_Static_assert(BANKS_MAX <= UINT16_MAX, "a bank is named in its pages; DRAM, bank 0, has none");

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
    uint8_t *owner; /* per page of DRAM, of the run that starts there: enum soc_owner; or KEPT */
    uint64_t kept;  /* bytes of pages with KEPT */
    struct soc_scatter scatter;
    struct soc_buddy *names;     /* physical pages of the surface space */
    struct soc_buddy *surfaces;  /* pages of the reserved range after DRAM */
    struct frame *frame;         /* per physical page of the surface space */
    uint64_t changes;            /* surfaces added and removed */
    unsigned banks;              /* no bank from here on was ever taken */
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
    bank->taken = false;
}

/* What a bank's bytes are. */
struct source {
    const char *name;
    int file; /* -1: a new one */
    uint64_t offset;
    bool contiguous; /* in physical memory */
};

/* Maps a bank's file at its place in the reserved range. */
static int place(struct soc_memory *m, unsigned index, uint64_t start, uint64_t bytes,
                 const struct source *source, struct base_error *error)
{
    struct bank *bank = &m->bank[index];
    int status = source->file < 0 ? new_file(bytes, source->name, &bank->file, error) : 0;

    if (status)
        return status;
    bank->owned = source->file < 0;
    if (!bank->owned)
        bank->file = source->file;
    bank->offset = source->offset;
    if (!base_alloc_allowed() ||
        mmap(m->host + start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
             bank->file, (off_t)bank->offset) == MAP_FAILED) {
        close_file(bank);
        return base_fail(error, ENOMEM, "Mapping 0x%" PRIx64 " bytes for %s failed.", bytes, source->name);
    }
    bank->start = start;
    bank->bytes = bytes;
    bank->taken = true;
    if (index >= m->banks)
        m->banks = index + 1;
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
    static const struct source dram = {.name = "anemone-dram", .file = -1};
    struct soc_memory *m = base_alloc(sizeof(*m));
    int status = -ENOMEM;

    if (!m)
        return base_fail(error, ENOMEM, "No memory for the bank table.");
    m->base = base;
    m->dram_bytes = pr_round_up(bytes, PR_PAGE_BYTES);
    m->host_bytes = m->dram_bytes + SURFACE_SPACE;
    m->host = reserve(m->host_bytes, PROT_NONE);
    m->frame = reserve(SURFACE_PAGES * sizeof(*m->frame), PROT_READ | PROT_WRITE);
    m->owner = reserve(m->dram_bytes / PR_PAGE_BYTES, PROT_READ | PROT_WRITE);
    if (!m->host || !m->frame || !m->owner) {
        base_fail(error, ENOMEM, "The host refuses to reserve 0x%" PRIx64 " bytes of addresses.",
                  m->host_bytes);
        goto fail;
    }
    status = place(m, 0, 0, m->dram_bytes, &dram, error);
    if (!status)
        status = soc_buddy_create(m->dram_bytes / PR_PAGE_BYTES, &m->dram, error);
    if (!status)
        status = soc_buddy_create(SURFACE_PAGES, &m->names, error);
    if (!status)
        status = soc_buddy_create(SURFACE_PAGES, &m->surfaces, error);
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
    for (unsigned i = 0; i < memory->banks; i++) {
        if (memory->bank[i].taken)
            close_file(&memory->bank[i]);
        base_free(memory->bank[i].extent);
    }
    if (memory->host) {
        UNPOISON(memory->host, memory->dram_bytes);
        munmap(memory->host, memory->host_bytes);
    }
    if (memory->frame)
        munmap(memory->frame, SURFACE_PAGES * sizeof(*memory->frame));
    if (memory->owner)
        munmap(memory->owner, memory->dram_bytes / PR_PAGE_BYTES);
    soc_buddy_destroy(memory->dram);
    soc_buddy_destroy(memory->names);
    soc_buddy_destroy(memory->surfaces);
    base_free(memory);
}

void soc_memory_scatter(struct soc_memory *memory, uint32_t seed)
{
    memory->scatter.random = seed;
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

/* The pages of a run are in use from now on. */
static void own_run(struct soc_memory *m, enum soc_owner owner, uint64_t page, uint64_t pages)
{
    for (uint64_t i = page; i < page + pages && m->kept; i++) {
        m->kept -= m->owner[i] & KEPT ? PR_PAGE_BYTES : 0;
        m->owner[i] = 0;
    }
    UNPOISON(m->host + page * PR_PAGE_BYTES, pages * PR_PAGE_BYTES);
    m->owner[page] = (uint8_t)owner;
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
    own_run(memory, owner, page, pages);
    *address = memory->base + page * PR_PAGE_BYTES;
    return 0;
}

/* Writes zeros through the file: no page need be mapped for that. */
static bool clear_file(const struct soc_memory *m, uint64_t offset, uint64_t bytes)
{
    static const uint8_t zeros[4 * PR_PAGE_BYTES];

    for (uint64_t at = 0; at < bytes; at += sizeof(zeros))
        if (base_file_put_at(m->bank[0].file, zeros, bytes - at < sizeof(zeros) ? bytes - at : sizeof(zeros),
                             (off_t)(offset + at)))
            return false;
    return true;
}

/* The host has a page for every byte of it: to clear it takes no further memory. */
static bool is_resident(const struct soc_memory *m, uint64_t offset, uint64_t bytes)
{
    enum { STEP = 1 << 20, SMALLEST = 4096 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char there[STEP / SMALLEST];

    for (uint64_t at = 0; at < bytes; at += STEP) {
        const uint64_t part = bytes - at < STEP ? bytes - at : STEP;

        if (mincore(m->host + offset + at, part, there))
            return false;
        for (size_t i = 0; i * page < part; i++)
            if (!(there[i] & 1))
                return false;
    }
    return true;
}

/* A long run whose pages the host does not get back. */
static bool keep(struct soc_memory *m, uint64_t offset, uint64_t bytes)
{
    if (bytes <= CLEAR_BY_STORE || bytes > KEPT_MAX - m->kept || !is_resident(m, offset, bytes) ||
        !clear_file(m, offset, bytes))
        return false;
    memset(m->owner + offset / PR_PAGE_BYTES, KEPT, bytes / PR_PAGE_BYTES);
    m->kept += bytes;
    return true;
}

/* The contents are discarded, so that the next owner reads zeros. */
static void forget(struct soc_memory *m, uint64_t offset, uint64_t bytes)
{
    if (keep(m, offset, bytes)) {
        POISON(m->host + offset, bytes);
        return;
    }
    /* The analyzer takes a buffer's view for the memory's own range, which is mapped as long as it exists. */
    if (bytes <= CLEAR_BY_STORE || madvise(m->host + offset, bytes, MADV_REMOVE))
        memset(m->host + offset, 0, bytes); /* NOLINT(clang-analyzer-core.NonNullParamChecker) */
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

/* The buffer's pages in their order at one host address, or NULL. */
static void *map_view(const struct soc_memory *m, const struct soc_buffer *buffer)
{
    uint8_t *view, *at;

    if (buffer->extents == 1)
        return soc_memory_at(m, buffer->extent[0].physical, buffer->bytes);
    at = view = reserve(buffer->bytes, PROT_NONE);
    for (uint32_t i = 0; view && i < buffer->extents; i++) {
        const struct pr_extent *extent = &buffer->extent[i];

        if (!base_alloc_allowed() ||
            mmap(at, extent->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, m->bank[0].file,
                 (off_t)(extent->physical - m->base)) == MAP_FAILED) {
            munmap(view, buffer->bytes);
            return NULL;
        }
        at += extent->bytes;
    }
    return view;
}

int soc_memory_buffer_alloc(struct soc_memory *memory, enum soc_owner owner, uint64_t bytes, bool view,
                            struct soc_buffer *buffer, struct base_error *error)
{
    uint64_t pages = bytes / PR_PAGE_BYTES + (bytes % PR_PAGE_BYTES != 0);
    struct soc_buffer made = {.bytes = pages * PR_PAGE_BYTES};

    if (!bytes)
        return base_fail(error, EINVAL, "A buffer of 0 bytes was asked for; the unit is a page of 0x%x.",
                         PR_PAGE_BYTES);
    if (pages > memory->dram_bytes / PR_PAGE_BYTES || !base_alloc_allowed() ||
        soc_scatter_take(&memory->scatter, memory->dram, memory->base, pages, &made.extent, &made.extents))
        return base_fail(error, ENOMEM,
                         "%" PRIu64 " free pages for a buffer are not left; 0x%" PRIx64 " of 0x%" PRIx64
                         " bytes of DRAM are in use.",
                         pages, soc_memory_used(memory), memory->dram_bytes);
    for (uint32_t i = 0; i < made.extents; i++) {
        uint64_t offset = made.extent[i].physical - memory->base;

        own_run(memory, owner, offset / PR_PAGE_BYTES, made.extent[i].bytes / PR_PAGE_BYTES);
    }
    if (view)
        made.host = map_view(memory, &made);
    if (view && !made.host) {
        const uint32_t extents = made.extents;

        soc_memory_buffer_free(memory, &made);
        return base_fail(error, ENOMEM, "The host refuses %u mappings for a view of 0x%" PRIx64 " bytes.",
                         extents, bytes);
    }
    *buffer = made;
    return 0;
}

void soc_memory_buffer_free(struct soc_memory *memory, struct soc_buffer *buffer)
{
    if (buffer->host && buffer->extents > 1)
        munmap(buffer->host, buffer->bytes);
    for (uint32_t i = 0; i < buffer->extents; i++)
        forget(memory, buffer->extent[i].physical - memory->base, buffer->extent[i].bytes);
    soc_scatter_give(memory->dram, memory->base, buffer->extent, buffer->extents);
}

static unsigned free_bank(const struct soc_memory *m)
{
    for (unsigned i = 1; i < BANKS_MAX; i++)
        if (!m->bank[i].taken)
            return i;
    return 0;
}

/* Physical addresses of surfaces begin where DRAM ends. */
static uint64_t surface_base(const struct soc_memory *m)
{
    return m->base + m->dram_bytes;
}

/* Leads from the bank's physical pages to its host pages; or (off) from none of them. */
static void lead(struct soc_memory *m, const struct bank *bank, bool on)
{
    uint32_t host = (uint32_t)((bank->start - m->dram_bytes) / PR_PAGE_BYTES);

    for (uint32_t i = 0; i < bank->extents; i++) {
        struct frame *frame = &m->frame[(bank->extent[i].physical - surface_base(m)) / PR_PAGE_BYTES];

        for (uint64_t left = bank->extent[i].bytes / PR_PAGE_BYTES; left--; frame++) {
            uint16_t behind = left < UINT16_MAX ? (uint16_t)left : UINT16_MAX;

            *frame = on ? (struct frame){host++, behind, (uint16_t)(bank - m->bank)} : (struct frame){0};
        }
    }
}

/* Physical pages for a bank: scattered, or one run. */
static int take_names(struct soc_memory *m, struct bank *bank, uint64_t pages, bool contiguous)
{
    uint64_t first;

    if (!contiguous)
        return soc_scatter_take(&m->scatter, m->names, surface_base(m), pages, &bank->extent, &bank->extents);
    bank->extent = base_alloc(sizeof(*bank->extent));
    if (bank->extent && soc_buddy_take(m->names, pages, &first)) {
        bank->extent[0] = (struct pr_extent){surface_base(m) + first * PR_PAGE_BYTES, pages * PR_PAGE_BYTES};
        bank->extents = 1;
        return 0;
    }
    base_free(bank->extent);
    bank->extent = NULL;
    return -ENOMEM;
}

static int add_bank(struct soc_memory *memory, const struct source *source, uint64_t bytes, uint64_t *address,
                    struct base_error *error)
{
    uint64_t pages = bytes / PR_PAGE_BYTES + (bytes % PR_PAGE_BYTES != 0), page;
    unsigned index = free_bank(memory);
    struct bank *bank = &memory->bank[index];
    int status;

    if (!bytes || !index)
        return base_fail(error, bytes ? ENOSPC : EINVAL,
                         "A surface of 0x%" PRIx64 " bytes cannot be made (at most %u exist).", bytes,
                         BANKS_MAX - 1);
    if (pages > SURFACE_PAGES || !soc_buddy_take(memory->surfaces, pages, &page))
        goto no_pages;
    if (take_names(memory, bank, pages, source->contiguous)) {
        soc_buddy_give(memory->surfaces, page);
        goto no_pages;
    }
    status =
        place(memory, index, memory->dram_bytes + page * PR_PAGE_BYTES, pages * PR_PAGE_BYTES, source, error);
    if (status) {
        soc_scatter_give(memory->names, surface_base(memory), bank->extent, bank->extents);
        bank->extent = NULL;
        soc_buddy_give(memory->surfaces, page);
        return status;
    }
    lead(memory, bank, true);
    memory->changes++;
    *address = bank->extent[0].physical;
    return 0;
no_pages:
    return base_fail(error, ENOMEM, "No physical addresses are left for a surface of %" PRIu64 " pages.",
                     pages);
}

int soc_memory_bank_add(struct soc_memory *memory, uint64_t bytes, uint64_t *address,
                        struct base_error *error)
{
    static const struct source surface = {.name = "anemone-surface", .file = -1};

    return add_bank(memory, &surface, bytes, address, error);
}

int soc_memory_bank_attach(struct soc_memory *memory, int file, uint64_t bytes, uint64_t *address,
                           struct base_error *error)
{
    const struct source surface = {.name = "anemone-surface", .file = file};

    return add_bank(memory, &surface, bytes, address, error);
}

int soc_memory_bank_place(struct soc_memory *memory, int file, uint64_t offset, uint64_t bytes,
                          uint64_t *address, struct base_error *error)
{
    const struct source bank = {.name = "a bank", .file = file, .offset = offset, .contiguous = true};

    return add_bank(memory, &bank, bytes, address, error);
}

int soc_memory_dram_file(const struct soc_memory *memory)
{
    return memory->bank[0].file;
}

/* The physical page of a surface at an address, or NULL. */
static const struct frame *frame_of(const struct soc_memory *m, uint64_t address)
{
    uint64_t offset = address - surface_base(m);

    if (offset >= SURFACE_SPACE || !m->frame[offset / PR_PAGE_BYTES].bank)
        return NULL;
    return &m->frame[offset / PR_PAGE_BYTES];
}

/* The bank whose first page is at this address, or NULL. */
static const struct bank *bank_named(const struct soc_memory *m, uint64_t address)
{
    const struct frame *frame = frame_of(m, address);
    const struct bank *bank = frame ? &m->bank[frame->bank] : NULL;

    return bank && bank->extent[0].physical == address ? bank : NULL;
}

int soc_memory_bank_remove(struct soc_memory *memory, uint64_t address, struct base_error *error)
{
    const struct bank *found = bank_named(memory, address);
    struct bank *bank;

    if (!found)
        return base_fail(error, EINVAL, "No surface starts at 0x%" PRIx64 ".", address);
    bank = &memory->bank[found - memory->bank];
    /* If this fails, the old mapping stays, but no address leads to it any more. */
    (void)mmap(memory->host + bank->start, bank->bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    lead(memory, bank, false);
    memory->changes++;
    close_file(bank);
    soc_scatter_give(memory->names, surface_base(memory), bank->extent, bank->extents);
    bank->extent = NULL;
    soc_buddy_give(memory->surfaces, (bank->start - memory->dram_bytes) / PR_PAGE_BYTES);
    return 0;
}

int soc_memory_bank_file(const struct soc_memory *memory, uint64_t address)
{
    const struct frame *frame = frame_of(memory, address);

    return frame ? memory->bank[frame->bank].file : -1;
}

bool soc_memory_bank_buffer(const struct soc_memory *memory, uint64_t address, struct soc_buffer *buffer)
{
    const struct bank *bank = bank_named(memory, address);

    if (bank)
        *buffer = (struct soc_buffer){bank->extent, bank->extents, bank->bytes, memory->host + bank->start};
    return bank;
}

void *soc_memory_at(const struct soc_memory *memory, uint64_t address, uint64_t bytes)
{
    uint64_t offset = address - memory->base;
    const struct frame *frame;

    if (offset < memory->dram_bytes) {
        if (bytes > memory->dram_bytes - offset)
            return NULL;
        if (offset < memory->watch.end && offset + bytes > memory->watch.start)
            memory->watch.seen(memory->watch.context);
        return memory->host + offset;
    }
    frame = frame_of(memory, address);
    offset = address % PR_PAGE_BYTES;
    if (!frame || bytes > (frame->behind + 1ull) * PR_PAGE_BYTES - offset)
        return NULL;
    return memory->host + memory->dram_bytes + (uint64_t)frame->host * PR_PAGE_BYTES + offset;
}

const uint64_t *soc_memory_changes(const struct soc_memory *memory)
{
    return &memory->changes;
}

void soc_memory_watch(struct soc_memory *memory, uint64_t address, uint64_t bytes,
                      void (*seen)(void *context), void *context)
{
    uint64_t start = address - memory->base;

    memory->watch = (struct watch){start, bytes ? start + bytes : 0, seen, context};
}

int soc_memory_file_at(const struct soc_memory *memory, uint64_t address, int *file, uint64_t *offset)
{
    const struct frame *frame;

    if (address - memory->base < memory->dram_bytes) {
        *file = memory->bank[0].file;
        *offset = address - memory->base;
        return 0;
    }
    frame = frame_of(memory, address);
    if (!frame)
        return -EFAULT;
    *file = memory->bank[frame->bank].file;
    *offset = memory->dram_bytes + (uint64_t)frame->host * PR_PAGE_BYTES - memory->bank[frame->bank].start +
              memory->bank[frame->bank].offset + address % PR_PAGE_BYTES;
    return 0;
}
