/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two locks, as the published driver has. `space_lock` guards device addresses, the page table and banks;
 * `engine_lock` the registers from a push to the end of its request, and the recovery. A buffer is unmapped
 * with both held: descriptors are a program's bytes and may point at buffers of others, so that no bank may
 * go while any request runs. engine_lock is taken first.
 *
 * The order of register accesses is the published driver's (drv).
 */
#include "accel/device.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "accel/pagetable.h"
#include "accel/report.h"
#include "accel/space.h"
#include "base/alloc.h"
#include "protocol/board.h"
#include "protocol/td_frame.h"
#include "protocol/tm_regs.h"

/* What the published driver uses for every request (drv). */
#define QUEUE      4u
#define NETWORK    0x40u
#define TIMEOUT_NS 1000000000ull
#define STREAM     0u

_Static_assert(ACC_TILES == PR_TQ_BARS, "a tile has a base register");
_Static_assert(ACC_TILE_BYTES == PR_PAGE_BYTES, "a tile is a page");

struct acc_device {
    struct ane_machine *machine;
    struct ane_machine_map map;
    acc_report_fn report;
    void *report_context;
    pthread_mutex_t engine_lock, space_lock;
    uint64_t problems; /* of the machine that were reported; with engine_lock */
    struct acc_space space;
    struct acc_pagetable table;
};

static uint32_t manager_read(const struct acc_device *d, uint32_t reg)
{
    return ane_machine_read32(d->machine, d->map.task_manager + reg);
}

static void manager(const struct acc_device *d, uint32_t reg, uint32_t value)
{
    ane_machine_write32(d->machine, d->map.task_manager + reg, value);
}

static uint64_t queue_at(const struct acc_device *d, uint32_t queue, uint32_t reg)
{
    return d->map.task_queues + (uint64_t)queue * PR_TQ_STRIDE + reg;
}

static void queue(const struct acc_device *d, uint32_t reg, uint32_t value)
{
    ane_machine_write32(d->machine, queue_at(d, QUEUE, reg), value);
}

static uint32_t queue_read(const struct acc_device *d, uint32_t reg)
{
    return ane_machine_read32(d->machine, queue_at(d, QUEUE, reg));
}

static void invalidate(const struct acc_device *d)
{
    for (unsigned i = 0; i < PR_DART_COUNT; i++) {
        ane_machine_write32(d->machine, d->map.dart[i] + PR_DART_STREAM_SELECT, 1u << STREAM);
        ane_machine_write32(d->machine, d->map.dart[i] + PR_DART_STREAM_COMMAND, PR_DART_COMMAND_INVALIDATE);
    }
}

/* The domains of the engine, not what it shares with other devices. */
static void power(const struct acc_device *d, uint32_t value)
{
    for (uint32_t i = 0; i < d->map.domains; i++)
        if (!strncmp(d->map.domain[i].name, "ane_", 4))
            ane_machine_write32(d->machine, d->map.domain[i].address, value);
}

/* DARTs, then the task manager: what a kernel does when it attaches the device, and when power returns. */
static void bring_up(const struct acc_device *d)
{
    const uint32_t ttbr = pr_dart_ttbr_make(d->table.root);

    power(d, PR_PMU_ON);
    for (unsigned i = 0; i < PR_DART_COUNT; i++) {
        const uint64_t dart = d->map.dart[i];

        ane_machine_write32(d->machine, dart + PR_DART_ERROR,
                            ane_machine_read32(d->machine, dart + PR_DART_ERROR));
        ane_machine_write32(d->machine, dart + PR_DART_TTBR, ttbr);
        ane_machine_write32(d->machine, dart + PR_DART_TCR, PR_DART_TCR_TRANSLATE);
    }
    invalidate(d);
    manager(d, PR_TM_TQ_EN, manager_read(d, PR_TM_TQ_EN) | PR_TM_TQ_EN_ON);
    for (uint32_t q = 0; q < PR_TQ_COUNT; q++)
        ane_machine_write32(d->machine, queue_at(d, q, PR_TQ_PRTY), pr_tq_priority[q]);
    manager(d, PR_TM_IRQ_EN1, PR_TM_IRQ_EN1_ON);
    manager(d, PR_TM_IRQ_EN2, PR_TM_IRQ_EN2_ON);
}

int acc_device_create(const struct acc_device_config *config, struct acc_device **device,
                      struct base_error *error)
{
    struct acc_device *d;
    int status;

    *device = NULL;
    if (config->machine && config->machine->firmware)
        return base_fail(error, EINVAL, "The accelerator's machine is a bare one; firmware must be 0.");
    d = base_alloc(sizeof(*d));
    if (!d)
        return base_fail(error, ENOMEM, "No memory for the accelerator's device.");
    d->report = config->report;
    d->report_context = config->report_context;
    status = ane_machine_create(config->machine, &d->machine);
    if (status) {
        base_fail(error, -status, "%s", ane_machine_error());
        goto free_device;
    }
    d->map.size = sizeof(d->map);
    status = ane_machine_map(d->machine, &d->map);
    if (status) {
        base_fail(error, -status, "%s", ane_machine_error());
        goto destroy_machine;
    }
    status = acc_pagetable_create(&d->table, d->machine, (enum ane_page_table)d->map.page_table, error);
    if (status)
        goto destroy_machine;
    pthread_mutex_init(&d->engine_lock, NULL);
    pthread_mutex_init(&d->space_lock, NULL);
    bring_up(d);
    *device = d;
    return 0;
destroy_machine:
    ane_machine_destroy(d->machine);
free_device:
    base_free(d);
    return status;
}

void acc_device_destroy(struct acc_device *device)
{
    if (!device)
        return;
    ane_machine_destroy(device->machine);
    while (device->space.first) {
        struct acc_range *range = device->space.first;

        device->space.first = range->next;
        base_free(range);
    }
    pthread_mutex_destroy(&device->engine_lock);
    pthread_mutex_destroy(&device->space_lock);
    base_free(device);
}

void acc_device_report(struct acc_device *device, const char *text)
{
    if (device->report)
        device->report(device->report_context, text);
}

struct ane_machine *acc_device_machine(struct acc_device *device)
{
    return device->machine;
}

/* With the space's lock. */
static int map_range(struct acc_device *d, int file, uint64_t offset, struct acc_range *range,
                     struct base_error *error)
{
    int status = acc_space_place(&d->space, range);

    if (status)
        return base_fail(error, -status,
                         "No hole of 0x%" PRIx64
                         " bytes is left in the engine's address space, 0x%x to 0x%x.",
                         range->bytes, ACC_SPACE_FIRST, ACC_SPACE_END);
    status = ane_machine_bank_add(d->machine, file, offset, range->bytes, &range->bank);
    if (status) {
        base_fail(error, -status, "%s", ane_machine_error());
        goto remove_range;
    }
    status = acc_pagetable_map(&d->table, range->iova, range->bank, range->bytes, error);
    if (status)
        goto remove_bank;
    invalidate(d);
    return 0;
remove_bank:
    ane_machine_bank_remove(d->machine, range->bank);
remove_range:
    acc_space_remove(&d->space, range->iova);
    return status;
}

int acc_device_map(struct acc_device *device, int file, uint64_t offset, uint64_t bytes, uint32_t *iova,
                   struct base_error *error)
{
    struct acc_range *range = base_alloc(sizeof(*range));
    int status;

    if (!range)
        return base_fail(error, ENOMEM, "No memory for a buffer's device addresses.");
    range->bytes = bytes;
    pthread_mutex_lock(&device->space_lock);
    status = map_range(device, file, offset, range, error);
    *iova = range->iova;
    pthread_mutex_unlock(&device->space_lock);
    if (status)
        base_free(range);
    return status;
}

void acc_device_unmap(struct acc_device *device, uint32_t iova)
{
    struct acc_range *range;

    pthread_mutex_lock(&device->engine_lock);
    pthread_mutex_lock(&device->space_lock);
    range = acc_space_remove(&device->space, iova);
    if (range) {
        acc_pagetable_unmap(&device->table, range->iova, range->bytes);
        invalidate(device);
        ane_machine_bank_remove(device->machine, range->bank);
    }
    pthread_mutex_unlock(&device->space_lock);
    pthread_mutex_unlock(&device->engine_lock);
    base_free(range);
}

static void push(const struct acc_device *d, const struct acc_request *request)
{
    queue(d, PR_TQ_STATUS, PR_TQ_STATUS_IN_USE);
    for (uint32_t i = 0; i < ACC_TILES; i++)
        queue(d, PR_TQ_BAR1 + 4 * i, request->bar[i]);
    queue(d, PR_TQ_SIZE1, ((request->td_size >> 2) - 1) << PR_TM_INFO_SIZE_LO);
    queue(d, PR_TQ_ADDR1, request->first);
    queue(d, PR_TQ_NID1, NETWORK << PR_TQ_NID_LO | PR_TQ_NID_VALID);
    manager(d, PR_TM_REQ_ADDR, queue_read(d, PR_TQ_ADDR1));
    manager(d, PR_TM_REQ_INFO, queue_read(d, PR_TQ_SIZE1) | request->td_count);
    manager(d, PR_TM_REQ_PUSH, pr_tq_priority[QUEUE] | QUEUE << PR_TM_PUSH_QUEUE_LO);
}

static bool idle(const struct acc_device *d)
{
    return manager_read(d, PR_TM_STATUS) & PR_TM_STATUS_IDLE;
}

/* The driver's poll of STATUS; false after its timeout, or when no time can pass any more. */
static bool wait_idle(const struct acc_device *d)
{
    const uint64_t end = ane_machine_now(d->machine) + TIMEOUT_NS;

    while (!idle(d)) {
        const uint64_t now = ane_machine_now(d->machine);

        if (now >= end || ane_machine_run(d->machine, end - now) != ANE_RUN_LIMIT)
            return idle(d);
    }
    return true;
}

/* Takes all events of a line; false when one of them says that its request failed. */
static bool drain(const struct acc_device *d, uint32_t line)
{
    const uint32_t step = PR_TM_IRQ0_INFO - PR_TM_IRQ0_COUNT;
    bool good = true;

    for (uint32_t left = manager_read(d, line); left; left--) {
        const uint32_t info = manager_read(d, line + step);

        for (uint32_t word = 2; word <= (PR_TM_IRQ0_UNK2 - PR_TM_IRQ0_COUNT) / step; word++)
            manager_read(d, line + word * step);
        good = good && info >> PR_TM_EVENT_KIND_LO == PR_TM_EVENT_COMPLETED;
    }
    return good;
}

static bool finish(const struct acc_device *d)
{
    bool good = drain(d, PR_TM_IRQ0_COUNT);

    manager(d, PR_TM_IRQ_ACK, manager_read(d, PR_TM_IRQ_ACK) | PR_TM_IRQ_ACK_0);
    good = drain(d, PR_TM_IRQ1_COUNT) && good;
    manager(d, PR_TM_IRQ_ACK, manager_read(d, PR_TM_IRQ_ACK) | PR_TM_IRQ_ACK_1);
    queue(d, PR_TQ_STATUS, 0);
    return good;
}

/* With the space's lock: all zeros but for the first word, into which a library puts the network's number. */
static bool first_is_empty(const struct acc_device *d, const struct acc_request *request)
{
    const struct acc_range *range = acc_space_before(&d->space, request->first);
    const uint32_t *word = NULL;

    if (range && range->iova == request->first)
        word = ane_machine_dram(d->machine, range->bank, PR_TD_HEADER_WORDS * sizeof(*word));
    for (unsigned i = 1; word && i < PR_TD_HEADER_WORDS; i++)
        if (__atomic_load_n(&word[i], __ATOMIC_RELAXED))
            return false;
    return word;
}

/* With the engine's lock: what happened is still in the registers. */
static void describe(struct acc_device *d, const struct acc_request *request, struct acc_report *report)
{
    struct acc_report_facts facts = {
        .request = request, .queue = QUEUE, .problem.size = sizeof(facts.problem)};

    facts.has_problem = !ane_machine_problem(d->machine, &facts.problem) && facts.problem.count > d->problems;
    d->problems = facts.has_problem ? facts.problem.count : d->problems;
    for (unsigned i = 0; i < PR_TM_ERRORS; i++)
        facts.error[i] = manager_read(d, PR_TM_ERROR1 + 4 * i);
    for (unsigned i = 0; i < PR_DART_COUNT; i++) {
        facts.dart[i].error = ane_machine_read32(d->machine, d->map.dart[i] + PR_DART_ERROR);
        facts.dart[i].address = ane_machine_read32(d->machine, d->map.dart[i] + PR_DART_ERROR_ADDR_LO);
    }
    pthread_mutex_lock(&d->space_lock);
    facts.space = &d->space;
    facts.first_is_empty = first_is_empty(d, request);
    acc_report_write(report, &facts);
    pthread_mutex_unlock(&d->space_lock);
}

int acc_device_submit(struct acc_device *device, const struct acc_request *request)
{
    struct acc_report report;
    bool good;

    pthread_mutex_lock(&device->engine_lock);
    push(device, request);
    good = wait_idle(device) && !ane_machine_dart_interrupt(device->machine);
    good = finish(device) && good;
    if (!good) {
        describe(device, request, &report);
        power(device, PR_PMU_OFF);
        bring_up(device);
    }
    pthread_mutex_unlock(&device->engine_lock);
    if (!good)
        acc_device_report(device, report.text);
    return good ? 0 : -ETIMEDOUT;
}
