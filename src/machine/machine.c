/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One machine put together: board, memory, clock, DARTs, engine; and the functions of machine.h. A machine
 * that cannot be completed ends as every other one does, in take_apart.
 */
#include <anemone/machine.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "firmware/firmware.h"
#include "machine/internal.h"
#include "machine/tracing.h"
#include "protocol/timing.h"
#include "protocol/tm_regs.h"
#include "soc/timebase.h"

_Static_assert(ANE_DOMAINS_MAX >= PR_DOMAINS_MAX, "the map has room for a board's power domains");

#define ENGINE_POWER  PR_POWERED_BIT(PR_POWERED_ENGINE)
#define DART_POWER(n) PR_POWERED_BIT(PR_POWERED_DART0 + (n))
#define EVERY_DART    (DART_POWER(DART_PORTS) - DART_POWER(0))

/*
 * The driver of a machine with firmware switches the engine's own words alone, and does not invalidate a TLB
 * while the device sleeps. So the DARTs share the fate of the engine there (chosen).
 */
static void power_lost(void *context, uint32_t blocks)
{
    struct ane_machine *m = context;

    if (m->cpu && blocks & ENGINE_POWER)
        blocks |= EVERY_DART;
    if (blocks & ENGINE_POWER)
        eng_reset(m->engine);
    if (blocks & EVERY_DART)
        dart_reset(m->dart, (blocks & EVERY_DART) >> PR_POWERED_DART0);
    if (m->cpu && blocks & ENGINE_POWER)
        soc_controller_reset(&m->controller);
}

uint32_t mach_dart_needs(const struct ane_machine *m, unsigned dart)
{
    return DART_POWER(dart) | (m->cpu ? ENGINE_POWER : 0);
}

static void clock_gated(void *context, bool gated)
{
    struct ane_machine *m = context;

    eng_gate(m->engine, gated);
}

bool mach_powered(struct ane_machine *m, uint32_t blocks, const char *name)
{
    if (soc_pmu_serves(&m->pmu, blocks))
        return true;
    SOC_TRACE(&m->trace, BUS_UNPOWERED, name);
    return false;
}

static uint32_t engine_read(void *context, enum soc_master master, uint32_t offset)
{
    struct ane_machine *m = context;

    (void)master;
    return mach_powered(m, ENGINE_POWER, "engine") ? eng_read32(m->engine, offset) : 0;
}

static void engine_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct ane_machine *m = context;

    (void)master;
    if (mach_powered(m, ENGINE_POWER, "engine"))
        eng_write32(m->engine, offset, value);
}

static uint32_t window_read(void *context, enum soc_master master, uint32_t offset)
{
    struct mach_window *w = context;

    (void)master;
    return mach_powered(w->machine, mach_dart_needs(w->machine, w->port), "dart")
               ? dart_read32(w->machine->dart, w->port, offset)
               : 0;
}

static void window_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    struct mach_window *w = context;

    (void)master;
    if (!mach_powered(w->machine, mach_dart_needs(w->machine, w->port), "dart"))
        return;
    dart_write32(w->machine->dart, w->port, offset, value);
    if (dart_write_restarts(offset))
        eng_restart(w->machine->engine);
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
    struct soc_block gpu = {
        .name = "gpu-doorbell",
        .base = PR_GPU_DOORBELL,
        .bytes = SOC_BUS_GRANULE,
        .read = soc_gpu_read32,
        .write = soc_gpu_write32,
        .context = &m->gpu,
    };
    int status = soc_bus_attach(m->bus, &engine, error);

    if (!status)
        status = soc_pmu_attach(&m->pmu, m->bus, error);
    if (!status)
        status = soc_timebase_attach(m->clock, m->bus, m->board->container, error);
    if (!status)
        status = soc_bus_attach(m->bus, &gpu, error);
    if (!status)
        status = mach_fault_attach(m, error);
    for (unsigned i = 0; i < PR_DART_COUNT && !status; i++) {
        struct soc_block window = {
            .name = name[i],
            .base = m->board->dart[i],
            .bytes = PR_DART_WINDOW_BYTES,
            .read = window_read,
            .write = window_write,
            .context = &m->window[i],
        };

        m->window[i] = (struct mach_window){m, (enum dart_port)i};
        status = soc_bus_attach(m->bus, &window, error);
    }
    return status;
}

/* From the lowest block to the highest. */
static int make_bus(struct ane_machine *m, struct base_error *error)
{
    const uint64_t granule[] = {m->board->pmu, m->board->reg[PR_APERTURE_PWGATE].base, PR_GPU_DOORBELL};
    uint64_t low = m->board->container, high = low + m->board->container_bytes;
    int status;

    for (unsigned i = 0; i < BASE_COUNT_OF(granule); i++) {
        low = granule[i] < low ? granule[i] : low;
        high = granule[i] + SOC_BUS_GRANULE > high ? granule[i] + SOC_BUS_GRANULE : high;
    }
    status = soc_bus_create(low, high - low, &m->trace, &m->bus, error);
    return status ? status : attach_blocks(m, error);
}

static void processor_control(void *context, bool run)
{
    struct ane_machine *m = context;

    mach_cpu_run(m->cpu, run);
}

static bool processor_alive(void *context)
{
    const struct ane_machine *m = context;

    return mach_cpu_alive(m->cpu);
}

static void engine_line_rose(void *context)
{
    struct ane_machine *m = context;

    mach_cpu_raise(m->cpu, FW_LINE_ENGINE);
}

static void doorbell_line_rose(void *context)
{
    struct ane_machine *m = context;

    mach_cpu_raise(m->cpu, FW_LINE_DOORBELL);
}

/*
 * The controller: the first run of DRAM, which has room for the firmware's image and its carve-out; its
 * registers and its lines.
 */
static int make_controller(struct ane_machine *m, const struct ane_machine_config *config,
                           struct base_error *error)
{
    int status;

    status = mach_core_create(&m->core, config, error);
    if (status)
        return status;
    m->carveout_bytes = FW_CARVE_OUT_BYTES;
    status = soc_memory_alloc(m->memory, SOC_OWNER_FIRMWARE, PR_IMAGE_RUN_BYTES + m->carveout_bytes,
                              &m->image, error);
    m->carveout = m->image + PR_IMAGE_RUN_BYTES;
    if (!status)
        status = mach_cpu_create(m, error);
    if (status)
        return status;
    m->controller = (struct soc_controller){
        .clock = m->clock,
        .lines = &m->lines,
        .trace = &m->trace,
        .revision = m->board->revision,
        .doorbell_line = MACH_LINE_DOORBELL,
        .host_line = MACH_LINE_HOST,
        .pick_up_ns = m->timed ? PR_TIMING_PICK_UP_NS : 0,
        .processor = processor_control,
        .alive = processor_alive,
        .context = m,
    };
    soc_lines_wire(&m->lines, MACH_LINE_ENGINE, engine_line_rose, m);
    soc_lines_wire(&m->lines, MACH_LINE_DOORBELL, doorbell_line_rose, m);
    return soc_controller_attach(&m->controller, m->bus, m->board->container, error);
}

/* The driver boots the firmware; then the machine can be found as a service. */
static int boot(struct ane_machine *m, struct base_error *error)
{
    int status;

    if (!mach_enter(m))
        return -EPERM;
    status = mach_driver_start(m, mach_error());
    mach_leave(m);
    if (status)
        return status;
    m->service = mach_service_add(m);
    return m->service
               ? 0
               : base_fail(error, ENOSPC, "There are too many machines with firmware in this process.");
}

static int make_silicon(struct ane_machine *m, const struct ane_machine_config *config,
                        struct base_error *error)
{
    struct dart_config dart = {
        .form = (enum pr_leaf_form)(config->page_table - ANE_PAGE_TABLE_SEED),
        .vma_budget = config->vma_budget,
        .strict_tlb = config->strict_tlb,
        .lines = &m->lines,
        .line = MACH_LINE_DART,
    };
    struct eng_config engine = {
        .policy = (enum eng_policy)config->numerics,
        .path = config->reference ? ENG_PATH_REFERENCE : ENG_PATH_FAST,
        .threads = config->threads,
        .max_work = config->max_work,
        .line = MACH_LINE_ENGINE,
        .lenient = config->lenient,
        .cost = config->chip == PR_CHIP_T8103 ? &pr_cost_m1 : &pr_cost_m1_max,
        .faults_stall = !config->firmware,
    };
    int status = soc_memory_create(m->board->dram, config->dram_bytes, &m->memory, error);

    if (!status) {
        soc_memory_scatter(m->memory, config->scatter);
        status = dart_create(&dart, m->memory, &m->trace, &m->dart, error);
    }
    if (!status)
        status = eng_create(&engine, m->dart, m->clock, &m->lines, &m->trace, &m->engine, error);
    return status ? status : make_bus(m, error);
}

static bool engine_stuck(void *context)
{
    const struct ane_machine *m = context;

    return eng_stuck(m->engine);
}

/* A clock and a lock; everything else is made around them. */
static struct ane_machine *make_empty(struct base_error *error)
{
    struct ane_machine *m = base_alloc(sizeof(*m));

    if (!m) {
        base_fail(error, ENOMEM, "No memory for a machine.");
        return NULL;
    }
    m->family = mach_fork_generation();
    if (soc_clock_create(&m->clock, error)) {
        base_free(m);
        return NULL;
    }
    if (mach_lock_init(&m->lock, m->clock)) {
        base_fail(error, ENOMEM, "No memory for a machine's lock.");
        soc_clock_destroy(m->clock);
        base_free(m);
        return NULL;
    }
    m->lock.report = mach_lines_report;
    m->lock.stuck = engine_stuck;
    m->lock.context = m;
    mach_lines_init(m);
    return m;
}

/* No thread is inside: all have left, or none has entered yet. */
static void take_apart(struct ane_machine *m)
{
    mach_service_remove(m);
    drv_destroy(m->driver);
    mach_port_detach(m);
    mach_surfaces_detach(m);
    mach_cpu_destroy(m->cpu);
    mach_core_destroy(&m->core);
    soc_bus_destroy(m->bus);
    if (m->profile.descriptors.on)
        mach_descriptors_stop(m);
    eng_destroy(m->engine);
    dart_destroy(m->dart);
    soc_memory_destroy(m->memory);
    mach_banks_close(m);
    mach_lines_end(m);
    mach_dump_free(m);
    mach_lock_destroy(&m->lock);
    soc_clock_destroy(m->clock);
    mach_tracing_close(m->tracing);
    base_free(m);
}

int ane_machine_create(const struct ane_machine_config *config, struct ane_machine **machine)
{
    return mach_create_tapped(config, NULL, NULL, machine);
}

int mach_create_tapped(const struct ane_machine_config *config,
                       void (*install)(void *context, struct ane_machine *machine), void *context,
                       struct ane_machine **machine)
{
    struct ane_machine_config taken;
    struct mach_tracing *tracing;
    struct ane_machine *m;
    struct base_error *error = mach_error_begin();
    int status;

    if (!machine)
        return base_fail(error, EINVAL, "ane_machine_create was given no place for the machine.");
    *machine = NULL;
    status = mach_config_take(config, &taken, error);
    if (status)
        return status;
    m = make_empty(error);
    if (!m)
        return -ENOMEM;
    status = mach_tracing_open(&taken, &m->tracing, error);
    if (status)
        goto fail;
    m->board = &pr_board_table[taken.chip];
    m->leaf_form = taken.page_table - ANE_PAGE_TABLE_SEED;
    m->engines = taken.engines;
    m->internal_build = taken.internal_build;
    m->in_flight = taken.in_flight;
    m->closed_clock = taken.clock == ANE_CLOCK_CLOSED;
    m->timed = taken.timing == ANE_TIMING_M1;
    m->panic_on_fault = taken.panic_on_fault;
    soc_trace_init(&m->trace, m->clock);
    if (taken.trace)
        soc_trace_start(&m->trace, &(struct soc_trace_out){.line = taken.trace_fn,
                                                           .record = taken.trace_record_fn,
                                                           .context = taken.trace_context});
    soc_lines_init(&m->lines, &m->trace);
    soc_pmu_init(&m->pmu, m->board, &m->trace, power_lost, clock_gated, m);
    m->gpu = (struct soc_gpu){.trace = &m->trace};
    status = mach_dump_init(m, taken.dump_folder, error);
    if (!status)
        status = make_silicon(m, &taken, error);
    if (!status && taken.firmware)
        status = make_controller(m, &taken, error);
    if (!status && install)
        install(context, m);
    if (!status && taken.firmware)
        status = boot(m, error);
    if (status)
        goto fail;
    *machine = m;
    return 0;
fail:
    tracing = m->tracing;
    m->tracing = NULL;
    take_apart(m);
    mach_tracing_drop(tracing);
    return status;
}

/*
 * From outside in: no new call finds the machine; what is open on it is closed, so that calls inside return;
 * injected calls end; then no thread is inside and its parts are destroyed.
 */
void ane_machine_destroy(struct ane_machine *machine)
{
    mach_error_begin();
    if (!machine || !mach_enter_dead(machine))
        return;
    if (mach_lines_in_handler(machine)) {
        base_fail(mach_error(), EDEADLK, "A line handler cannot end the machine that calls it.");
        mach_leave(machine);
        return;
    }
    mach_injections_cancel(machine);
    mach_leave(machine);
    mach_service_remove(machine);
    mach_connect_end_all(machine);
    mach_injections_join(machine);
    mach_async_stop(machine);
    take_apart(machine);
}

uint32_t ane_machine_read32(struct ane_machine *machine, uint64_t address)
{
    uint32_t value;

    if (!mach_enter(machine))
        return UINT32_MAX;
    value = soc_bus_read32(machine->bus, SOC_MASTER_HOST, address);
    mach_leave(machine);
    return value;
}

void ane_machine_write32(struct ane_machine *machine, uint64_t address, uint32_t value)
{
    if (!mach_enter(machine))
        return;
    soc_bus_write32(machine->bus, SOC_MASTER_HOST, address, value);
    mach_leave(machine);
}

int ane_machine_dram_alloc(struct ane_machine *machine, uint64_t bytes, uint64_t *address)
{
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    status = address ? soc_memory_alloc(machine->memory, SOC_OWNER_CALLER, bytes, address, mach_error())
                     : base_fail(mach_error(), EINVAL, "DRAM alloc: no place for the address was given.");
    mach_leave(machine);
    return status;
}

int ane_machine_dram_free(struct ane_machine *machine, uint64_t address)
{
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    status = soc_memory_free(machine->memory, SOC_OWNER_CALLER, address, mach_error());
    mach_leave(machine);
    return status;
}

void *ane_machine_dram(struct ane_machine *machine, uint64_t address, uint64_t bytes)
{
    void *at;

    if (!mach_enter(machine))
        return NULL;
    at = soc_memory_at(machine->memory, address, bytes);
    if (!at)
        base_fail(mach_error(), EFAULT,
                  "0x%" PRIx64 " bytes at 0x%" PRIx64 " are not inside DRAM, which is 0x%" PRIx64
                  " bytes at 0x%" PRIx64 ".",
                  bytes, address, soc_memory_bytes(machine->memory), soc_memory_base(machine->memory));
    mach_leave(machine);
    return at;
}

int ane_machine_run(struct ane_machine *machine, uint64_t max_virtual_ns)
{
    static const enum ane_run run[] = {
        [MACH_RAN_IDLE] = ANE_RUN_IDLE, [MACH_RAN_LIMIT] = ANE_RUN_LIMIT, [MACH_RAN_STUCK] = ANE_RUN_STUCK};
    enum mach_ran ran;

    if (!mach_enter(machine))
        return -EPERM;
    ran = mach_lock_run(&machine->lock, max_virtual_ns);
    mach_leave(machine);
    return (int)run[ran];
}

uint64_t ane_machine_now(struct ane_machine *machine)
{
    uint64_t now;

    if (!mach_enter(machine))
        return 0;
    now = soc_clock_now(machine->clock);
    mach_leave(machine);
    return now;
}

uint64_t ane_machine_trace_hash(struct ane_machine *machine)
{
    uint64_t hash;

    if (!mach_enter(machine))
        return 0;
    hash = machine->trace.hash;
    mach_leave(machine);
    return hash;
}

int ane_machine_map(struct ane_machine *machine, struct ane_machine_map *map)
{
    const struct pr_board *board;

    mach_error_begin();
    if (!machine)
        return base_fail(mach_error(), EINVAL, "The machine is NULL.");
    if (!map || map->size != sizeof(*map))
        return base_fail(mach_error(), EINVAL, "The map's size must be %zu.", sizeof(*map));
    board = machine->board;
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
        .dart_interrupt = board->dart_interrupt,
        .engine = board->container + PR_ENGINE_WINDOW,
        .engine_bytes = PR_ENGINE_WINDOW_BYTES,
        .dart_bytes = PR_DART_WINDOW_BYTES,
        .page_table = machine->leaf_form + ANE_PAGE_TABLE_SEED,
        .domains = board->domains,
    };
    for (uint32_t i = 0; i < board->domains; i++)
        map->domain[i] = (struct ane_machine_domain){board->domain[i].name, board->domain[i].address};
    return 0;
}
