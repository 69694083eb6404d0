/* SPDX-License-Identifier: Apache-2.0 */
/* A driver without a machine. */
#include "drvrig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "protocol/channel.h"
#include "protocol/dart_regs.h"
#include "protocol/tm_regs.h"

#define PAGE      PR_PAGE_BYTES
#define BUS_BASE  0x280000000ull
#define BUS_BYTES 0x10000000ull
#define MAILBOX   0x1840000u

const struct drv_identity drvrig_identity = {.entitlements = PR_ENTITLEMENTS_ALL, .developer = true};

static const struct pr_board *board(void)
{
    return &pr_board_table[PR_CHIP_T6000];
}

/* Memory. */

/*
 * Page i of the array is at this page of physical memory: a buffer, which is contiguous in the array, has no
 * two pages that are neighbours.
 */
#define SCATTER   1021u
#define UNSCATTER 341u
_Static_assert(SCATTER *UNSCATTER % DRVRIG_PAGES == 1, "one undoes the other");

static uint64_t physical_of(uint32_t page)
{
    return board()->dram + (uint64_t)(page * SCATTER % DRVRIG_PAGES) * PAGE;
}

uint8_t *drvrig_memory(const struct drvrig *rig, uint64_t address)
{
    uint64_t page = (address - board()->dram) / PAGE;

    assert_true(address >= board()->dram && page < DRVRIG_PAGES);
    return rig->dram + page * UNSCATTER % DRVRIG_PAGES * PAGE + address % PAGE;
}

static void give_extents(uint32_t first, uint32_t count, struct drv_pages *pages)
{
    pages->extent = calloc(count, sizeof(*pages->extent));
    assert_non_null(pages->extent);
    pages->extents = count;
    for (uint32_t i = 0; i < count; i++)
        pages->extent[i] = (struct pr_extent){physical_of(first + i), PAGE};
}

static int dram_take(struct drvrig *rig, uint64_t bytes, struct drv_pages *taken)
{
    uint32_t pages = (uint32_t)(bytes / PAGE), found = 0;

    assert_true(bytes > 0 && bytes % PAGE == 0);
    if (bytes / PAGE > DRVRIG_PAGES)
        return -ENOMEM;
    for (uint32_t i = 0; i < DRVRIG_PAGES; i++) {
        found = rig->run[i] ? 0 : found + 1;
        if (found < pages)
            continue;
        i -= pages - 1;
        memset(rig->run + i, 1, pages);
        memset(rig->dram + (uint64_t)i * PAGE, 0, bytes);
        rig->length[i] = pages;
        rig->used += pages;
        *taken = (struct drv_pages){.bytes = bytes, .host = rig->dram + (uint64_t)i * PAGE};
        give_extents(i, pages, taken);
        return 0;
    }
    return -ENOMEM;
}

static int dram_alloc(void *context, uint64_t bytes, bool view, struct drv_pages *pages)
{
    struct drvrig *rig = context;
    int status = ++rig->alloc_calls == rig->alloc_fails_at ? -ENOMEM : dram_take(rig, bytes, pages);

    if (!status && !view)
        pages->host = NULL;
    return status;
}

static void dram_free(void *context, struct drv_pages *pages)
{
    struct drvrig *rig = context;
    uint32_t first = (uint32_t)((drvrig_memory(rig, pages->extent->physical) - rig->dram) / PAGE);

    assert_true(first < DRVRIG_PAGES && rig->length[first] == pages->extents);
    memset(rig->run + first, 0, rig->length[first]);
    memset(rig->dram + (uint64_t)first * PAGE, 0xdb, (uint64_t)rig->length[first] * PAGE);
    rig->used -= rig->length[first];
    rig->length[first] = 0;
    free(pages->extent);
}

static int surface_get(void *context, uint32_t id, uint32_t task, struct drv_pages *pages,
                       struct base_error *error)
{
    struct drvrig *rig = context;

    if (id == 0 || id >= DRVRIG_SURFACES || !rig->surface[id].there)
        return base_fail(error, ENOENT, "There is no surface %u.", id);
    if (rig->surface[id].task != task)
        return base_fail(error, EPERM, "Surface %u belongs to another task.", id);
    rig->surface[id].uses++;
    *pages = rig->surface[id].pages;
    return 0;
}

static void surface_put(void *context, uint32_t id)
{
    struct drvrig *rig = context;

    assert_true(id > 0 && id < DRVRIG_SURFACES && rig->surface[id].uses > 0);
    rig->surface[id].uses--;
}

uint32_t drvrig_surface(struct drvrig *rig, uint64_t bytes)
{
    for (uint32_t id = 1; id < DRVRIG_SURFACES; id++)
        if (!rig->surface[id].there) {
            struct drvrig_surface *surface = &rig->surface[id];

            *surface = (struct drvrig_surface){.bytes = bytes, .there = true};
            assert_int_equal(dram_take(rig, pr_round_up(bytes, PAGE), &surface->pages), 0);
            surface->pages.bytes = bytes;
            surface->address = surface->pages.extent->physical;
            return id;
        }
    fail_msg("no surface left");
    return 0;
}

void drvrig_surface_end(struct drvrig *rig, uint32_t id)
{
    rig->surface[id].there = false;
    dram_free(rig, &rig->surface[id].pages);
}

void *drvrig_surface_base(struct drvrig *rig, uint32_t id)
{
    return rig->surface[id].pages.host;
}

/* A walk that shares nothing with the driver's or the DART's: the seeds' leaf form. */
uint64_t drvrig_walk(const struct drvrig *rig, unsigned dart, uint32_t stream, uint64_t iova)
{
    const uint32_t *reg = rig->dart[dart];
    uint32_t ttbr = reg[(0x200 + stream * 16) / 4];
    uint64_t table = (uint64_t)(ttbr & 0x7fffffffu) << 12, word;

    if (iova >= 0xe0000000ull || !(ttbr >> 31) || !(reg[0xfc / 4] >> stream & 1) ||
        reg[(0x100 + stream * 4) / 4] != 0x80)
        return 0;
    memcpy(&word, drvrig_memory(rig, table + (iova >> 25) * 8), 8);
    if (!(word >> 63))
        return 0;
    table = word & 0x7fffffffc000ull;
    memcpy(&word, drvrig_memory(rig, table + (iova >> 14 & 2047) * 8), 8);
    return word >> 63 ? (word & 0x7fffffffc000ull) + iova % PAGE : 0;
}

void *drvrig_at(struct drvrig *rig, unsigned dart, uint32_t stream, uint64_t iova, uint64_t bytes)
{
    uint64_t first = drvrig_walk(rig, dart, stream, iova);
    uint8_t *host = first ? drvrig_memory(rig, first) : NULL;

    for (uint64_t at = iova - iova % PAGE; host && at < iova + bytes; at += PAGE) {
        uint64_t page = drvrig_walk(rig, dart, stream, at);

        if (!page || drvrig_memory(rig, page) - host != (int64_t)(at - iova))
            return NULL;
    }
    return host;
}

void *drvrig_base_at(struct drvrig *rig, uint64_t iova, uint64_t bytes)
{
    void *seen = drvrig_at(rig, 0, 0, iova, bytes);

    assert_non_null(seen);
    for (unsigned dart = 0; dart < 3; dart++)
        for (uint32_t stream = 0; stream < 3; stream++)
            assert_ptr_equal(drvrig_at(rig, dart, stream, iova, bytes), seen);
    return seen;
}

/* Registers. Every access of the driver is the host's. */

static void from_host(enum soc_master master)
{
    assert_int_equal(master, SOC_MASTER_HOST);
}

static uint32_t pmu_read(void *context, enum soc_master master, uint32_t offset)
{
    struct drvrig *rig = context;

    from_host(master);
    rig->mmio++;
    return offset % 8 == 0 && offset / 8 < PR_PMU_DOMAINS ? rig->pmu[offset / 8] : 0;
}

static void reset_darts(struct drvrig *rig)
{
    memset(rig->dart, 0, sizeof(rig->dart));
    for (unsigned i = 0; i < PR_DART_COUNT; i++)
        rig->dart[i][0x60 / 4] = 0x80000025u; /* Table 28.2 */
}

static void power_lost(struct drvrig *rig)
{
    reset_darts(rig);
    memset(rig->scratch, 0, sizeof(rig->scratch));
    rig->cpu = rig->doorbell = rig->host_pending = 0;
    rig->line = false;
    rig->boot = 0;
}

static void pmu_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct drvrig *rig = context;

    from_host(master);
    rig->mmio++;
    rig->pmu[offset / 8] = value == 0xf && !rig->no_power ? 0xff : value;
    if ((value & 0xf) != 0xf)
        power_lost(rig);
}

static unsigned dart_of(const struct drvrig *rig, const uint32_t *context)
{
    return (unsigned)(context - rig->dart[0]) / (0x300 / 4);
}

static struct drvrig *the_rig; /* the register blocks of the three DARTs get their window as context */

static uint32_t dart_read(void *context, enum soc_master master, uint32_t offset)
{
    from_host(master);
    the_rig->mmio++;
    if (offset == 0x20 && the_rig->endless_invalidate)
        return PR_DART_COMMAND_BUSY;
    return offset < 0x300 && offset != 0x20 ? ((uint32_t *)context)[offset / 4] : 0;
}

static void dart_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    uint32_t *reg = context;

    from_host(master);
    the_rig->mmio++;
    if (offset >= 0x300)
        return;
    if (offset == 0x20)
        the_rig->invalidates[dart_of(the_rig, context)] |= value >> 20 & 1 ? reg[0x34 / 4] : 0;
    if (offset == 0x40)
        reg[0x40 / 4] = reg[0x50 / 4] = reg[0x54 / 4] = 0;
    else
        reg[offset / 4] = value;
}

static uint32_t vector_read(void *context, enum soc_master master, uint32_t offset)
{
    struct drvrig *rig = context;

    from_host(master);
    return offset ? (uint32_t)(rig->rvbar >> 32) : (uint32_t)rig->rvbar;
}

static void vector_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct drvrig *rig = context;

    from_host(master);
    if (offset == 0)
        rig->rvbar = (rig->rvbar & ~0xffffffffull) | value;
    else
        rig->rvbar = (rig->rvbar & 0xffffffffull) | (uint64_t)value << 32;
}

static uint32_t no_read(void *context, enum soc_master master, uint32_t offset)
{
    from_host(master);
    (void)context;
    (void)offset;
    return 0;
}

static void no_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    from_host(master);
    (void)context;
    (void)offset;
    (void)value;
}

static uint32_t tm_read(void *context, enum soc_master master, uint32_t offset)
{
    (void)context;
    from_host(master);
    fail_msg("the host reads compute register 0x%x", offset);
    return 0;
}

static uint32_t status_read(void *context, enum soc_master master, uint32_t offset)
{
    from_host(master);
    return offset == 0x2028 ? ((struct drvrig *)context)->engine_status : 0;
}

static uint32_t cpu_read(void *context, enum soc_master master, uint32_t offset)
{
    struct drvrig *rig = context;

    from_host(master);
    return offset != 0x48 ? 0 : !(rig->cpu & 0x10) ? 0x2a : rig->stopped ? 0x2c : 0x2b;
}

/* Nothing of what ran before is left. */
static void reset_processor(struct drvrig *rig)
{
    rig->boot = 1;
    rig->boots++;
    rig->selected = rig->scratch[7];
    rig->stopped = false;
    rig->crashing = 0;
    rig->log_buffer = 0;
    rig->doorbell = 0;
    memset(rig->program, 0, sizeof(rig->program));
    memset(rig->process, 0, sizeof(rig->process));
    memset(rig->call, 0, sizeof(rig->call));
}

static void cpu_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct drvrig *rig = context;

    from_host(master);
    if (offset != 0x44)
        return;
    if (value & 0x10 && !(rig->cpu & 0x10))
        reset_processor(rig);
    if (!(value & 0x10))
        rig->boot = 0;
    rig->cpu = value;
}

static uint32_t mailbox_read(void *context, enum soc_master master, uint32_t offset)
{
    struct drvrig *rig = context;

    from_host(master);
    rig->mmio++;
    if (offset >= 0x48 && offset < 0x68)
        return rig->scratch[(offset - 0x48) / 4];
    return offset == 0xc000 ? rig->host_pending : 0;
}

static void mailbox_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct drvrig *rig = context;

    from_host(master);
    rig->mmio++;
    if (offset >= 0x48 && offset < 0x68)
        rig->scratch[(offset - 0x48) / 4] = value;
    else if (offset == 0x4000)
        rig->doorbell |= value;
    else if (offset == 0x10000) {
        rig->host_pending &= ~value;
        rig->line = rig->line && rig->host_pending;
    }
}

static uint64_t drvrig_now(void *context)
{
    return ((struct drvrig *)context)->now;
}

static int drvrig_after(void *context, uint64_t ns, void (*fn)(void *argument), void *argument)
{
    struct drvrig *rig = context;

    for (unsigned i = 0; i < DRVRIG_TIMERS; i++)
        if (!rig->timer[i].fn) {
            rig->timer[i].fn = fn;
            rig->timer[i].argument = argument;
            rig->timer[i].at = rig->now + ns;
            return 0;
        }
    return -ENOSPC;
}

/* The timer that is due first, or NULL. */
static struct drvrig_timer *first_timer(struct drvrig *rig)
{
    struct drvrig_timer *first = NULL;

    for (unsigned i = 0; i < DRVRIG_TIMERS; i++)
        if (rig->timer[i].fn && (!first || rig->timer[i].at < first->at))
            first = &rig->timer[i];
    return first;
}

bool drvrig_fire(struct drvrig *rig)
{
    struct drvrig_timer *first = first_timer(rig), timer;

    if (!first)
        return false;
    timer = *first;
    first->fn = NULL;
    if (timer.at > rig->now)
        rig->now = timer.at;
    timer.fn(timer.argument);
    return true;
}

static int drvrig_wait(void *context, const bool *done, struct drv_deadline *deadline)
{
    struct drvrig *rig = context;
    uint64_t timeout_ns = deadline ? deadline->ns : 0;

    for (;;) {
        while (!*done && drvrig_step(rig))
            ;
        if (*done)
            return 0;
        if (drvrig_fire(rig))
            continue;
        if (!rig->admit || (timeout_ns < 1000000 && !(deadline && deadline->quiet)))
            break;
        void (*admit)(struct drvrig *) = rig->admit;
        unsigned before = rig->admitted++;

        admit(rig);
        if (rig->admit == admit && rig->admitted == before + 1 && !*done && !rig->host_pending &&
            !rig->doorbell)
            break;
    }
    rig->now += timeout_ns;
    return -ETIMEDOUT;
}

static int port_reserve(void *context, uint32_t port, struct base_error *error)
{
    struct drvrig *rig = context;

    if (port != DRVRIG_PORT)
        return base_fail(error, ENOENT, "There is no port %u.", port);
    rig->reserved++;
    return 0;
}

static void port_cancel(void *context, uint32_t port)
{
    struct drvrig *rig = context;

    assert_true(port == DRVRIG_PORT && rig->reserved > 0);
    rig->reserved--;
}

static int port_watch(void *context, uint32_t request, const struct drv_deadline *deadline)
{
    struct drvrig *rig = context;

    assert_true(request < DRV_WATCHES && deadline->ns > 0 && rig->watched < rig->reserved);
    rig->watched++;
    return 0;
}

static void port_deliver(void *context, uint32_t request, uint32_t port, const struct drv_message *message)
{
    struct drvrig *rig = context;

    assert_true(request < DRV_WATCHES && port == DRVRIG_PORT && rig->watched > 0);
    rig->watched--;
    rig->reserved--;
    rig->message[rig->messages++ % 64] = *message;
}

static void keep_bytes(void *context, const void *bytes, size_t length)
{
    struct drvrig *rig = context;

    if (rig->records_size + length > DRVRIG_RECORDS)
        return;
    memcpy(rig->records + rig->records_size, bytes, length);
    rig->records_size += length;
}

bool drvrig_traced(const struct drvrig *rig, enum pr_trace_event_id event, unsigned nth,
                   struct pr_trace_record *record)
{
    struct pr_trace_reader reader;

    assert_true(pr_trace_begin(&reader, rig->records, rig->records_size, NULL));
    while (pr_trace_next(&reader, record, NULL))
        if (record->event == event && nth-- == 0)
            return true;
    return false;
}

static void keep_dump(void *context, const void *bytes, size_t size)
{
    struct drvrig *rig = context;

    assert_true(size <= sizeof(rig->dump));
    memcpy(rig->dump, bytes, size);
    rig->dump_bytes = size;
    rig->dumps++;
}

static void trace_start(struct drvrig *rig)
{
    const struct soc_trace_out out = {.record = keep_bytes, .context = rig};

    assert_int_equal(soc_clock_create(&rig->clock, NULL), 0);
    soc_trace_init(&rig->trace, rig->clock);
    soc_trace_start(&rig->trace, &out);
}

void drvrig_make(struct drvrig *rig, bool boot)
{
    static struct soc_trace quiet;
    struct base_error error;
    struct soc_bus *bus;
    const uint64_t container = board()->container;

    memset(rig, 0, sizeof(*rig));
    for (unsigned i = 0; i < 3; i++)
        rig->call_error[i] = PR_TM_ERROR_FINE;
    the_rig = rig;
    rig->dram = calloc(DRVRIG_PAGES, PAGE);
    rig->records = malloc(DRVRIG_RECORDS);
    assert_true(rig->dram && rig->records);
    trace_start(rig);
    assert_int_equal(soc_bus_create(BUS_BASE, BUS_BYTES, &quiet, &bus, &error), 0);
    const struct soc_block blocks[] = {
        {"pmu", board()->pmu, 0x4000, pmu_read, pmu_write, rig, NULL},
        {"dart0", board()->dart[0], 0x4000, dart_read, dart_write, rig->dart[0], NULL},
        {"dart1", board()->dart[1], 0x4000, dart_read, dart_write, rig->dart[1], NULL},
        {"dart2", board()->dart[2], 0x4000, dart_read, dart_write, rig->dart[2], NULL},
        {"status", container + 0xc000, 0x4000, status_read, no_write, rig, NULL},
        {"vector", container + 0x1050000, 0x4000, vector_read, vector_write, rig, NULL},
        {"time", container + 0x1170000, 0x4000, no_read, no_write, rig, NULL},
        {"cpu", container + 0x1400000, 0x4000, cpu_read, cpu_write, rig, NULL},
        {"mailbox", container + MAILBOX, 0x1c000, mailbox_read, mailbox_write, rig, NULL},
        {"tm", container + 0x1c24000, 0x4000, tm_read, no_write, rig, NULL},
    };
    for (unsigned i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
        assert_int_equal(soc_bus_attach(bus, &blocks[i], &error), 0);
    reset_darts(rig);
    rig->silent_command = 0xffffffffu;
    rig->engine_status = 0xa2;
    rig->platform = (struct drv_platform){.context = rig,
                                          .bus = bus,
                                          .trace = &rig->trace,
                                          .board = board(),
                                          .firmware_image = DRVRIG_IMAGE,
                                          .leaf_form = PR_LEAF_SEED,
                                          .engines = 1,
                                          .alloc = dram_alloc,
                                          .free = dram_free,
                                          .surface_get = surface_get,
                                          .surface_put = surface_put,
                                          .now = drvrig_now,
                                          .wait = drvrig_wait,
                                          .after = drvrig_after,
                                          .dump = keep_dump,
                                          .port_reserve = port_reserve,
                                          .port_cancel = port_cancel,
                                          .port_watch = port_watch,
                                          .port_deliver = port_deliver};
    if (!boot)
        return;
    assert_int_equal(drv_create(&rig->platform, &rig->driver, &error), 0);
    if (drv_start(rig->driver, &error))
        fail_msg("%s", error.text);
}

void drvrig_drop(struct drvrig *rig)
{
    rig->admit = NULL;
    drv_destroy(rig->driver);
    for (uint32_t id = 0; id < DRVRIG_SURFACES; id++)
        if (rig->surface[id].there) {
            assert_int_equal(rig->surface[id].uses, 0);
            drvrig_surface_end(rig, id);
        }
    assert_int_equal(rig->used, 0);
    soc_bus_destroy(rig->platform.bus);
    free(rig->dram);
    soc_clock_destroy(rig->clock);
    free(rig->records);
}

/* Clients. */

IOReturn drvrig_call(struct drv_client *client, uint32_t selector, const uint64_t *scalar, uint32_t scalars,
                     const void *in, uint32_t in_bytes, uint64_t *scalar_out, uint32_t scalars_out, void *out,
                     uint32_t out_bytes)
{
    struct IOExternalMethodArguments args = {.selector = selector,
                                             .scalarInput = scalar,
                                             .scalarInputCount = scalars,
                                             .structureInput = in,
                                             .structureInputSize = in_bytes,
                                             .scalarOutput = scalar_out,
                                             .scalarOutputCount = scalars_out,
                                             .structureOutput = out,
                                             .structureOutputSize = out_bytes};

    return drv_client_call(client, selector, &args, NULL);
}
