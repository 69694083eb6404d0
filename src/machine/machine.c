/* SPDX-License-Identifier: Apache-2.0 */
/* One machine put together: board, memory, clock, DARTs, engine; and the functions of machine.h. */
#include <anemone/machine.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dart/dart.h"
#include "engine/engine.h"
#include "protocol/board.h"
#include "protocol/task.h"
#include "soc/bus.h"
#include "soc/clock.h"
#include "soc/lines.h"
#include "soc/memory.h"
#include "soc/pmu.h"
#include "soc/trace.h"

#define DRAM_DEFAULT (4ull << 30)
#define DRAM_MAX (64ull << 30)
#define THREADS_MAX 64u
#define LINE_ENGINE 0u

_Static_assert((int)ANE_CHIP_T6000 == (int)PR_CHIP_T6000 && (int)ANE_CHIP_T8103 == (int)PR_CHIP_T8103, "same numbering");
_Static_assert((int)ANE_PAGE_TABLE_SEED == (int)PR_LEAF_SEED && (int)ANE_PAGE_TABLE_T8020 == (int)PR_LEAF_T8020 &&
                   (int)ANE_PAGE_TABLE_T6000 == (int)PR_LEAF_T6000,
               "same numbering");
_Static_assert((int)ANE_NUMERICS_M1 == (int)ENG_M1 && (int)ANE_NUMERICS_IEEE == (int)ENG_IEEE, "same numbering");

struct dart_window {
    struct ane_machine *machine;
    enum dart_port port;
};

struct ane_machine {
    pthread_mutex_t lock; /* one caller at a time drives the machine */
    unsigned long family; /* fork generation it was made in */
    const struct pr_board *board;
    struct soc_memory *memory;
    struct soc_clock *clock;
    struct soc_trace trace;
    struct soc_lines lines;
    struct soc_pmu pmu;
    struct soc_bus *bus;
    struct dart *dart;
    struct eng *engine;
    struct dart_window window[PR_DART_COUNT];
    ane_trace_fn trace_fn;
    void *trace_context;
};

static _Thread_local struct base_error last_error;

const char *ane_machine_error(void)
{
    return last_error.text;
}

/* How many forks lie between this process and the one that loaded the library: asking costs no system call. */
static atomic_ulong fork_generation;
static pthread_once_t fork_watch = PTHREAD_ONCE_INIT;

static void forked(void)
{
    atomic_fetch_add(&fork_generation, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forked);
}

/* Admits a call: false in a forked child, or when the trace function calls back into its machine. */
static bool enter(struct ane_machine *m)
{
    last_error.text[0] = '\0';
    if (atomic_load(&fork_generation) != m->family) {
        base_fail(&last_error, EPERM, "A machine cannot be used in a forked child; make a new one there.");
        return false;
    }
    if (pthread_mutex_lock(&m->lock)) {
        base_fail(&last_error, EDEADLK, "The trace function must not call the machine it traces.");
        return false;
    }
    return true;
}

static void leave(struct ane_machine *m)
{
    pthread_mutex_unlock(&m->lock);
}

static bool all_zero(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Copies the caller's configuration, whatever version of the struct it was built with. */
static int take_config(const struct ane_machine_config *from, struct ane_machine_config *config,
                       struct base_error *error)
{
    size_t known = sizeof(*config);

    *config = (struct ane_machine_config){.size = known};
    if (from && (from->size < offsetof(struct ane_machine_config, dram_bytes) || from->size > 4096))
        return base_fail(error, EINVAL, "The configuration's size is %zu; set it to sizeof(struct ane_machine_config), %zu here.",
                         from->size, known);
    if (from && from->size > known && !all_zero((const uint8_t *)from + known, from->size - known))
        return base_fail(error, EINVAL, "The configuration sets fields that this version of the library does not know.");
    if (from)
        memcpy(config, from, from->size < known ? from->size : known);
    if (!config->dram_bytes)
        config->dram_bytes = DRAM_DEFAULT;
    if (config->chip >= PR_CHIP_COUNT)
        return base_fail(error, EINVAL, "Chip %u is unknown; t6000 is 0 and t8103 is 1.", config->chip);
    if (config->numerics > ANE_NUMERICS_IEEE)
        return base_fail(error, EINVAL, "Numerics %u are unknown; m1 is 0 and ieee is 1.", config->numerics);
    if (config->page_table >= PR_LEAF_FORMS)
        return base_fail(error, EINVAL, "Page-table form %u is unknown; seed is 0, t8020 1, t6000 2.", config->page_table);
    if (config->dram_bytes > DRAM_MAX)
        return base_fail(error, EINVAL, "DRAM of 0x%" PRIx64 " bytes was asked for; the limit is 0x%" PRIx64 ".",
                         config->dram_bytes, (uint64_t)DRAM_MAX);
    if (config->engines > 1)
        return base_fail(error, EINVAL, "%u engines were asked for; the M1 has one.", config->engines);
    if (config->firmware)
        return base_fail(error, EINVAL, "This machine has no controller yet: firmware must be 0.");
    if (config->threads > THREADS_MAX)
        return base_fail(error, EINVAL, "%u worker threads were asked for; the limit is %u.", config->threads, THREADS_MAX);
    return 0;
}

static void power_lost(void *context)
{
    struct ane_machine *m = context;

    eng_reset(m->engine);
    dart_reset(m->dart);
}

static bool powered(struct ane_machine *m, const char *block)
{
    if (soc_pmu_on(&m->pmu))
        return true;
    SOC_TRACE(&m->trace, SOC_LAYER_BUS, "unpowered block=%s", block);
    return false;
}

static uint32_t engine_read(void *context, uint32_t offset)
{
    struct ane_machine *m = context;

    return powered(m, "engine") ? eng_read32(m->engine, offset) : 0;
}

static void engine_write(void *context, uint32_t offset, uint32_t value)
{
    struct ane_machine *m = context;

    if (powered(m, "engine"))
        eng_write32(m->engine, offset, value);
}

static uint32_t window_read(void *context, uint32_t offset)
{
    struct dart_window *w = context;

    return powered(w->machine, "dart") ? dart_read32(w->machine->dart, w->port, offset) : 0;
}

static void window_write(void *context, uint32_t offset, uint32_t value)
{
    struct dart_window *w = context;

    if (powered(w->machine, "dart"))
        dart_write32(w->machine->dart, w->port, offset, value);
}

static int attach_blocks(struct ane_machine *m, struct base_error *error)
{
    static const char *const name[PR_DART_COUNT] = {"dart0", "dart1", "dart2"};
    struct soc_block engine = {
        .name = "engine",
        .base = m->board->container + PR_ENGINE_REGS,
        .bytes = PR_ENGINE_REGS_END - PR_ENGINE_REGS,
        .read = engine_read,
        .write = engine_write,
        .context = m,
    };
    struct soc_block pmu = {
        .name = "pmu",
        .base = m->board->pmu,
        .bytes = SOC_BUS_GRANULE,
        .read = soc_pmu_read32,
        .write = soc_pmu_write32,
        .context = &m->pmu,
    };
    int status = soc_bus_attach(m->bus, &engine, error);

    if (!status)
        status = soc_bus_attach(m->bus, &pmu, error);
    for (unsigned i = 0; i < PR_DART_COUNT && !status; i++) {
        struct soc_block window = {
            .name = name[i],
            .base = m->board->dart[i],
            .bytes = PR_DART_WINDOW_BYTES,
            .read = window_read,
            .write = window_write,
            .context = &m->window[i],
        };

        m->window[i] = (struct dart_window){m, (enum dart_port)i};
        status = soc_bus_attach(m->bus, &window, error);
    }
    return status;
}

static int make_bus(struct ane_machine *m, struct base_error *error)
{
    uint64_t low = m->board->container, high = low + m->board->container_bytes;
    int status;

    if (m->board->pmu < low)
        low = m->board->pmu;
    if (m->board->pmu + SOC_BUS_GRANULE > high)
        high = m->board->pmu + SOC_BUS_GRANULE;
    status = soc_bus_create(low, high - low, &m->trace, &m->bus, error);
    return status ? status : attach_blocks(m, error);
}

static int make_silicon(struct ane_machine *m, const struct ane_machine_config *config, struct base_error *error)
{
    struct dart_config dart = {
        .form = (enum pr_leaf_form)config->page_table,
        .vma_budget = config->vma_budget,
        .strict_tlb = config->strict_tlb,
    };
    struct eng_config engine = {
        .policy = (enum eng_policy)config->numerics,
        .path = config->reference ? ENG_PATH_REFERENCE : ENG_PATH_FAST,
        .threads = config->threads,
        .max_work = config->max_work,
        .line = LINE_ENGINE,
    };
    int status = soc_memory_create(m->board->dram, config->dram_bytes, &m->memory, error);

    if (!status)
        status = dart_create(&dart, m->memory, &m->trace, &m->dart, error);
    if (!status)
        status = eng_create(&engine, m->dart, m->clock, &m->lines, &m->trace, &m->engine, error);
    return status ? status : make_bus(m, error);
}

static int init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    int status = pthread_mutexattr_init(&attributes);

    if (status)
        return status;
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    status = pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return status;
}

int ane_machine_create(const struct ane_machine_config *config, struct ane_machine **machine)
{
    struct ane_machine_config taken;
    struct ane_machine *m;
    int status;

    last_error.text[0] = '\0';
    if (!machine)
        return base_fail(&last_error, EINVAL, "ane_machine_create was given no place for the machine.");
    *machine = NULL;
    status = take_config(config, &taken, &last_error);
    if (status)
        return status;
    m = base_alloc(sizeof(*m));
    if (!m || init_lock(&m->lock)) {
        base_free(m);
        return base_fail(&last_error, ENOMEM, "No memory for a machine.");
    }
    pthread_once(&fork_watch, watch_forks);
    m->family = atomic_load(&fork_generation);
    m->board = &pr_board_table[taken.chip];
    status = soc_clock_create(&m->clock, &last_error);
    if (status)
        goto fail;
    soc_trace_init(&m->trace, m->clock);
    if (taken.trace)
        soc_trace_start(&m->trace, taken.trace_fn, taken.trace_context);
    soc_lines_init(&m->lines, &m->trace);
    soc_pmu_init(&m->pmu, &m->trace, power_lost, m);
    status = make_silicon(m, &taken, &last_error);
    if (status)
        goto fail;
    *machine = m;
    return 0;
fail:
    ane_machine_destroy(m);
    return status;
}

void ane_machine_destroy(struct ane_machine *machine)
{
    if (!machine)
        return;
    soc_bus_destroy(machine->bus);
    eng_destroy(machine->engine);
    dart_destroy(machine->dart);
    soc_memory_destroy(machine->memory);
    soc_clock_destroy(machine->clock);
    pthread_mutex_destroy(&machine->lock);
    base_free(machine);
}

uint32_t ane_machine_read32(struct ane_machine *machine, uint64_t address)
{
    uint32_t value;

    if (!enter(machine))
        return 0;
    value = soc_bus_read32(machine->bus, address);
    leave(machine);
    return value;
}

void ane_machine_write32(struct ane_machine *machine, uint64_t address, uint32_t value)
{
    if (!enter(machine))
        return;
    soc_bus_write32(machine->bus, address, value);
    leave(machine);
}

int ane_machine_dram_alloc(struct ane_machine *machine, uint64_t bytes, uint64_t *address)
{
    int status;

    if (!enter(machine))
        return -EPERM;
    status = soc_memory_alloc(machine->memory, bytes, address, &last_error);
    leave(machine);
    return status;
}

int ane_machine_dram_free(struct ane_machine *machine, uint64_t address)
{
    int status;

    if (!enter(machine))
        return -EPERM;
    status = soc_memory_free(machine->memory, address, &last_error);
    leave(machine);
    return status;
}

void *ane_machine_dram(struct ane_machine *machine, uint64_t address, uint64_t bytes)
{
    void *at;

    if (!enter(machine))
        return NULL;
    at = soc_memory_at(machine->memory, address, bytes);
    if (!at)
        base_fail(&last_error, EFAULT,
                  "0x%" PRIx64 " bytes at 0x%" PRIx64 " are not inside DRAM, which is 0x%" PRIx64 " bytes at 0x%" PRIx64 ".",
                  bytes, address, soc_memory_bytes(machine->memory), soc_memory_base(machine->memory));
    leave(machine);
    return at;
}

int ane_machine_run(struct ane_machine *machine, uint64_t max_virtual_ns)
{
    bool idle;

    if (!enter(machine))
        return -EPERM;
    idle = soc_clock_run(machine->clock, max_virtual_ns);
    leave(machine);
    return idle ? 0 : 1;
}

uint64_t ane_machine_now(struct ane_machine *machine)
{
    uint64_t now;

    if (!enter(machine))
        return 0;
    now = soc_clock_now(machine->clock);
    leave(machine);
    return now;
}

int ane_machine_interrupt(struct ane_machine *machine)
{
    bool level;

    if (!enter(machine))
        return 0;
    level = soc_lines_level(&machine->lines, LINE_ENGINE);
    leave(machine);
    return level;
}

uint64_t ane_machine_trace_hash(struct ane_machine *machine)
{
    uint64_t hash;

    if (!enter(machine))
        return 0;
    hash = machine->trace.hash;
    leave(machine);
    return hash;
}

static uint64_t counter(struct ane_machine *m, const char *name)
{
    struct dart_stats dart = dart_stats_get(m->dart);
    struct eng_stats engine = eng_stats_get(m->engine);
    const struct {
        const char *name;
        uint64_t value;
    } table[] = {
        {"bus.unanswered", soc_bus_unanswered(m->bus)},
        {"clock.events", soc_clock_fired(m->clock)},
        {"dart.faults", dart.faults},
        {"dart.missing_invalidates", dart.missing_invalidates},
        {"dart.slow_grants", dart.slow_grants},
        {"dart.vmas", dart.vmas},
        {"dart.vmas_peak", dart.vmas_peak},
        {"dart.walks", dart.walks},
        {"dart.window_drops", dart.window_drops},
        {"dram.used", soc_memory_used(m->memory)},
        {"engine.aborted", engine.aborted},
        {"engine.descriptors", engine.descriptors},
        {"engine.faulted", engine.faulted},
        {"engine.requests", engine.requests},
        {"engine.reused", engine.reused},
        {"engine.stuck", engine.stuck},
        {"line.rises", m->lines.line[LINE_ENGINE].rises},
        {"trace.lines", m->trace.lines},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (!strcmp(table[i].name, name))
            return table[i].value;
    return 0;
}

uint64_t ane_machine_counter(struct ane_machine *machine, const char *name)
{
    uint64_t value;

    if (!enter(machine))
        return 0;
    value = counter(machine, name);
    leave(machine);
    return value;
}

int ane_machine_map(struct ane_machine *machine, struct ane_machine_map *map)
{
    const struct pr_board *board = machine->board;

    if (!map || map->size != sizeof(*map))
        return base_fail(&last_error, EINVAL, "The map's size must be %zu.", sizeof(*map));
    *map = (struct ane_machine_map){
        .size = sizeof(*map),
        .board = board->name,
        .container = board->container,
        .container_bytes = board->container_bytes,
        .task_manager = board->container + PR_ENGINE_TM,
        .task_queues = board->container + PR_ENGINE_TQ,
        .dart = {board->dart[0], board->dart[1], board->dart[2]},
        .dapf = board->dapf,
        .pmu = board->pmu,
        .dram = board->dram,
        .dram_bytes = soc_memory_bytes(machine->memory),
        .interrupt = board->interrupt,
    };
    return 0;
}
