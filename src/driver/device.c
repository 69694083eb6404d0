/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device. The controller runs from a successful drv_start until drv_destroy; `running` and `interrupts`
 * are true exactly in between. What the firmware announces during boot is checked before anything is made
 * from it. After boot its surfaces are freed only when the controller has stopped. drv_wait releases the gate
 * around every wait; boot does not take it, because there are no clients yet.
 */
#include "driver/device.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "driver/block.h"
#include "driver/client.h"
#include "driver/command.h"
#include "driver/domain.h"
#include "driver/fault.h"
#include "driver/firmware.h"
#include "driver/kext.h"
#include "driver/mailbox.h"
#include "driver/mapper.h"
#include "driver/program.h"
#include "driver/quota.h"
#include "driver/request.h"
#include "driver/ring.h"

/* What boot accepts from scratch 1 and 3. */
#define IPC_BYTES_MAX  0x1000000u
#define HEAP_BYTES_MAX 0x4000000u
#define TEMPLATE_C0    4u /* command facts 6 */
/* Properties and settings that boot writes (command facts 4.1 and 4.3; the setting's numbers are chosen). */
#define PROPERTY_READ_ONLY_IMAGE  0x10a4u
#define SETTING_SWITCH_LATENCY    1u
#define SETTING_SWITCH_LATENCY_US 100u
#define SETTINGS                  1u /* how many of them */
/* A body of so many settings: the count, then the rows in use. */
#define SETTING_BYTES(rows) \
    (offsetof(struct pr_body_setting, row) + (rows) * sizeof(((struct pr_body_setting *)0)->row[0]))

enum { BASE_CONTAINER, BASE_PMU, BASE_DART };

/*
 * Table 29.2. The roles are the seeds', the container, the power states and the DART are the board's; what is
 * marked so is chosen: the seeds name these apertures, no public source places them.
 */
static const struct {
    int base;
    int64_t offset;
    uint64_t bytes; /* 0: the whole container */
} aperture_table[PR_APERTURE_COUNT] = {
    [PR_APERTURE_ANE] = {BASE_CONTAINER, 0, 0},
    [PR_APERTURE_PS] = {BASE_PMU, 0, 0x4000},
    [PR_APERTURE_PWGATE] = {BASE_PMU, -0xc000,
                            0xc000}, /* chosen: the power slice below the states (guide facts 7.1) */
    [PR_APERTURE_PTD] = {BASE_DART, 0, PR_DART_WINDOW_BYTES},          /* chosen: the first DART */
    [PR_APERTURE_ANEHAL1] = {BASE_CONTAINER, PR_ENGINE_REGS, 0x24000}, /* chosen: descriptor registers */
    [PR_APERTURE_ANEHAL2] = {BASE_CONTAINER, PR_ENGINE_TM, 0x4000},    /* chosen: task manager and queues */
    [PR_APERTURE_ANEHAL3] = {BASE_CONTAINER, PR_CTRL_TIMEBASE_LO, 0x4000}, /* chosen: time base */
};
_Static_assert(PR_ENGINE_TM + 0x4000 == PR_ENGINE_REGS_END, "task manager and queues are one window");

static const char *const aperture_name[PR_APERTURE_COUNT] = {
#define X(id, name, role) [PR_APERTURE_##id] = name,
    PR_APERTURES(X)
#undef X
};

IOReturn drv_refuse(struct drv *d, IOReturn code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(d->last.text, sizeof(d->last.text), format, args);
    va_end(args);
    if (d->error)
        *d->error = d->last;
    SOC_TRACE(d->platform.trace, DRV_REFUSED, (unsigned)code, d->last.text);
    return code;
}

const char *drv_last_error(const struct drv *d)
{
    return d->last.text;
}

struct drv_stats drv_stats_get(const struct drv *d)
{
    struct drv_stats stats = d->stats;

    stats.client_requests = DRV_REQUESTS_PER_CLIENT;
    stats.client_programs = DRV_PROGRAMS_PER_CLIENT;
    for (const struct drv_client *client = d->clients; client; client = client->next)
        stats.client_pages += drv_quota_pages(client);
    return stats;
}

int drv_wait(struct drv *d, const bool *done, struct drv_deadline *deadline)
{
    struct base_error *error = d->error;
    int status;

    d->error = NULL;
    drv_gate_leave(&d->gate);
    status = d->platform.wait(d->platform.context, done, deadline);
    drv_gate_enter(&d->gate, &d->platform);
    d->error = error;
    /* What was waited for has been: *done may be false again, or true only now. */
    return *done ? 0 : status;
}

void drv_device_pause(struct drv *d)
{
    struct drv_deadline poll = {.timer = true, .ns = DRV_POLL_NS};
    const bool never = false;

    d->platform.wait(d->platform.context, &never, &poll);
}

int drv_create(const struct drv_platform *platform, struct drv **driver, struct base_error *error)
{
    struct drv *d;

    if (platform->leaf_form >= PR_LEAF_FORMS)
        return base_fail(error, EINVAL, "Page-table entry form %u is not one of the %u known.",
                         platform->leaf_form, PR_LEAF_FORMS);
    d = base_alloc(sizeof(*d));
    if (!d)
        return base_fail(error, ENOMEM, "No memory for the driver.");
    d->platform = *platform;
    d->token =
        0x100000000ull; /* tokens are never small numbers that a surface or a slot could be taken for */
    drv_mapper_init(d);
    d->page_quota = DRV_CLIENT_PAGES;
    drv_balancer_init(&d->balancer, PR_DEVICE_ENGINES);
    *driver = d;
    return 0;
}

static void map_apertures(struct drv *d)
{
    const struct pr_board *board = d->platform.board;
    const uint64_t base[] = {
        [BASE_CONTAINER] = board->container, [BASE_PMU] = board->pmu, [BASE_DART] = board->dart[0]};

    for (unsigned i = 0; i < PR_APERTURE_COUNT; i++) {
        d->aperture[i].base = base[aperture_table[i].base] + (uint64_t)aperture_table[i].offset;
        d->aperture[i].bytes = aperture_table[i].bytes ? aperture_table[i].bytes : board->container_bytes;
        SOC_TRACE(d->platform.trace, DRV_APERTURE, i + 1, aperture_name[i], d->aperture[i].base,
                  d->aperture[i].bytes);
    }
}

static uint64_t power_word(const struct drv *d, unsigned domain)
{
    return d->aperture[PR_APERTURE_PS].base + domain * PR_PMU_STRIDE;
}

static void power_off(struct drv *d)
{
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++)
        soc_bus_write32(d->platform.bus, SOC_MASTER_HOST, power_word(d, i), PR_PMU_OFF);
}

static int power_on(struct drv *d, struct base_error *error)
{
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++)
        soc_bus_write32(d->platform.bus, SOC_MASTER_HOST, power_word(d, i), PR_PMU_ON);
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++) {
        uint32_t state = 0;

        for (unsigned poll = 0; poll < DRV_POLLS; poll++) {
            state = soc_bus_read32(d->platform.bus, SOC_MASTER_HOST, power_word(d, i)) & 0xff;
            if (state == PR_PMU_READY)
                break;
            drv_device_pause(d);
        }
        if (state != PR_PMU_READY)
            return base_fail(error, ETIMEDOUT,
                             "Power domain %u did not come on: its state is 0x%x, not 0x%x.", i, state,
                             PR_PMU_READY);
    }
    return 0;
}

bool drv_device_is_powered(struct drv *d)
{
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++)
        if ((soc_bus_read32(d->platform.bus, SOC_MASTER_HOST, power_word(d, i)) & 0xff) != PR_PMU_READY)
            return false;
    return true;
}

static void reset_controller(struct drv *d)
{
    for (unsigned i = 0; i < PR_SCRATCH_COUNT; i++)
        drv_mailbox_write(d, PR_CTRL_SCRATCH(i), 0);
    /* 1 and 0 select a warm and a cold boot; this one is cold. */
    drv_mailbox_write(d, PR_CTRL_SCRATCH(7), 1);
    drv_mailbox_write(d, PR_CTRL_SCRATCH(7), 0);
    drv_mailbox_write(d, PR_CTRL_RVBAR_HI, (uint32_t)(d->vector >> 32));
    drv_mailbox_write(d, PR_CTRL_RVBAR_LO, (uint32_t)d->vector | PR_RVBAR_LOCK);
    drv_mailbox_write(d, PR_CTRL_CPU_CONTROL, 0);
    drv_mailbox_write(d, PR_CTRL_CPU_CONTROL, PR_CPU_RUN);
}

static bool boot_refused(uint32_t scratch7, struct base_error *error, int *status)
{
    if ((scratch7 & 0xfff00000u) != PR_BOOT_REFUSED)
        return false;
    *status = base_fail(error, EPROTO, "The firmware refused to boot: %s (scratch 7 is 0x%x).",
                        pr_boot_refusal_text(scratch7 & 0xfffffu), scratch7);
    return true;
}

/* Waits until a scratch word has a value. -EPROTO: refused, with a sentence. -ETIMEDOUT: without one. */
static int await_scratch(struct drv *d, unsigned number, uint32_t value, bool rings, struct base_error *error)
{
    int status;

    for (unsigned poll = 0; poll < DRV_POLLS; poll++) {
        if (drv_mailbox_read(d, PR_CTRL_SCRATCH(number)) == value)
            return 0;
        if (boot_refused(drv_mailbox_read(d, PR_CTRL_SCRATCH(7)), error, &status))
            return status;
        drv_device_pause(d);
        if (rings)
            drv_mailbox_poll(d);
    }
    return -ETIMEDOUT;
}

/* The firmware says in scratch 0, 1 and 3 what it needs. */
static int read_wishes(struct drv *d, uint32_t *channels, uint64_t *ipc_bytes, uint64_t *heap_bytes,
                       struct base_error *error)
{
    *channels = drv_mailbox_read(d, PR_CTRL_SCRATCH(PR_WAKE_CHANNELS));
    *ipc_bytes = (uint64_t)drv_mailbox_read(d, PR_CTRL_SCRATCH(PR_WAKE_IPC_BYTES_LESS_1)) + 1;
    *heap_bytes = drv_mailbox_read(d, PR_CTRL_SCRATCH(PR_WAKE_EXTRA_HEAP));
    if (*channels == 0 || *channels >= PR_CHANNEL_TABLE_LIMIT)
        return base_fail(error, EPROTO, "The firmware announces %u channels; 1 to %u are possible.",
                         *channels, PR_CHANNEL_TABLE_LIMIT - 1);
    if (*ipc_bytes < (uint64_t)*channels * PR_CHANNEL_RECORD_BYTES || *ipc_bytes > IPC_BYTES_MAX)
        return base_fail(error, EPROTO,
                         "The firmware asks for an IPC surface of %" PRIu64
                         " bytes; its table alone has %u, the limit is %u.",
                         *ipc_bytes, *channels * PR_CHANNEL_RECORD_BYTES, IPC_BYTES_MAX);
    if (*heap_bytes == 0 || *heap_bytes > HEAP_BYTES_MAX)
        return base_fail(error, EPROTO,
                         "The firmware asks for %" PRIu64 " bytes of heap; 1 to %u are possible.",
                         *heap_bytes, HEAP_BYTES_MAX);
    return 0;
}

static int make_block(struct drv *d, uint32_t usage, uint64_t bytes, struct drv_block *block,
                      struct base_error *error)
{
    int status = drv_block_make(d, usage, bytes, block);

    return status ? base_fail(error, -status, "No memory for %" PRIu64 " bytes of the firmware's surfaces.",
                              bytes)
                  : 0;
}

static void drop_surfaces(struct drv *d)
{
    drv_block_drop(d, &d->args);
    drv_block_drop(d, &d->pool);
    drv_block_drop(d, &d->heap);
    drv_block_drop(d, &d->ipc);
    for (unsigned i = 0; i < DRV_SHARED_BLOCKS; i++)
        drv_block_drop(d, &d->shared_block[i]);
}

static int make_surfaces(struct drv *d, uint64_t ipc_bytes, uint64_t heap_bytes, struct base_error *error)
{
    int status = make_block(d, PR_USAGE_FIRMWARE_SURFACE, ipc_bytes, &d->ipc, error);

    if (!status)
        status = make_block(d, PR_USAGE_FIRMWARE_HEAP, heap_bytes, &d->heap, error);
    if (!status)
        status = make_block(d, PR_USAGE_FIRMWARE_SURFACE, PR_COMMAND_POOL_BYTES, &d->pool, error);
    if (!status)
        status = make_block(d, PR_USAGE_FIRMWARE_SURFACE, PR_BOOT_ARGS_BYTES, &d->args, error);
    return status;
}

static void write_boot_args(struct drv *d)
{
    uint64_t doorbell = d->aperture[PR_APERTURE_ANE].base + PR_CTRL_HOST_DOORBELL;
    struct pr_boot_args args = {
        .image = d->platform.firmware_image,
        .ipc = d->ipc.iova,
        .shared_base = d->domain[0].space.first,
        .shared_bytes = d->domain[0].space.end - d->domain[0].space.first,
        .heap = d->heap.iova,
        .heap_bytes = d->heap.bytes,
        .ipc_bytes = d->ipc.bytes,
        .pool = d->pool.iova,
        .pool_bytes = d->pool.bytes,
        .slot_bytes = PR_SLOT_BYTES,
        .chip_revision = d->platform.board->revision,
        .protocol_version = PR_PROTOCOL_VERSION,
        .ring_version = PR_RING_VERSION,
        .page_bytes = PR_PAGE_BYTES,
        .host_doorbell = {{(uint32_t)doorbell, (uint32_t)(doorbell >> 32),
                           1u << pr_channel_table[PR_CHANNEL_IO_T2H].bit}},
        .template_c0 = TEMPLATE_C0,
        .framework_bytes = PR_FRAMEWORK_BYTES,
    };

    memcpy(d->args.host, &args, sizeof(args));
    drv_mailbox_write(d, PR_CTRL_SCRATCH(0), (uint32_t)d->args.iova);
    drv_mailbox_write(d, PR_CTRL_SCRATCH(1), (uint32_t)(d->args.iova >> 32));
    drv_mailbox_write(d, PR_CTRL_SCRATCH(7), PR_HANDSHAKE_GO);
}

/* Where messages are: the first cells are for control commands, the others for calls. */
static void cut_pool(struct drv *d)
{
    memset(d->command, 0, sizeof(d->command));
    for (unsigned i = 0; i < DRV_COMMANDS; i++) {
        d->command[i].message = (uint8_t *)d->pool.host + i * DRV_CELL_BYTES;
        d->command[i].address = d->pool.iova + i * DRV_CELL_BYTES;
    }
    drv_request_init(d, (uint8_t *)d->pool.host + DRV_COMMANDS * DRV_CELL_BYTES,
                     d->pool.iova + DRV_COMMANDS * DRV_CELL_BYTES);
}

/* The three handshakes. -EAGAIN: the second wake is missing. */
static int handshake(struct drv *d, struct base_error *error)
{
    uint64_t ipc_bytes, heap_bytes, table;
    uint32_t channels;
    int status;

    status = await_scratch(d, 7, PR_HANDSHAKE_WAKE, false, error);
    if (status == -ETIMEDOUT)
        return base_fail(error, ETIMEDOUT,
                         "First wake missing: the controller did not come up at 0x%" PRIx64
                         " (scratch 7 is 0x%x).",
                         d->vector, drv_mailbox_read(d, PR_CTRL_SCRATCH(7)));
    if (!status)
        status = read_wishes(d, &channels, &ipc_bytes, &heap_bytes, error);
    if (!status)
        status = make_surfaces(d, ipc_bytes, heap_bytes, error);
    if (status)
        return status;
    cut_pool(d);
    write_boot_args(d);
    status = await_scratch(d, 7, PR_HANDSHAKE_WAKE, false, error);
    if (status == -ETIMEDOUT)
        return base_fail(
            error, EAGAIN,
            "Second wake missing: the firmware did not publish its channels (scratch 7 is 0x%x).",
            drv_mailbox_read(d, PR_CTRL_SCRATCH(7)));
    if (status)
        return status;
    table = drv_mailbox_read(d, PR_CTRL_SCRATCH(0)) | (uint64_t)drv_mailbox_read(d, PR_CTRL_SCRATCH(1)) << 32;
    status = drv_ring_read_table(d, table, channels, error);
    if (status)
        return status;
    drv_ring_init_slots(d);
    drv_mailbox_write(d, PR_CTRL_SCRATCH(3), PR_HANDSHAKE_WAKE);
    status = await_scratch(d, 3, PR_HANDSHAKE_DONE, true, error);
    if (status == -ETIMEDOUT)
        return base_fail(error, ETIMEDOUT,
                         "Third handshake missing: the firmware did not clear scratch 3 (it is 0x%x).",
                         drv_mailbox_read(d, PR_CTRL_SCRATCH(3)));
    return status;
}

static int boot_command(struct drv *d, uint32_t id, void *body, uint32_t bytes, struct base_error *error)
{
    const struct drv_command_args args = {
        .id = id, .program = PR_NO_ID, .process = PR_NO_ID, .body = body, .bytes = bytes};

    SOC_TRACE(d->platform.trace, DRV_BOOT_COMMAND, id, pr_command_name(id));
    return drv_command_run_polled(d, &args, error);
}

static uint64_t controller_ns(struct drv *d)
{
    uint64_t ticks =
        drv_mailbox_read(d, PR_CTRL_TIMEBASE_LO) | (uint64_t)drv_mailbox_read(d, PR_CTRL_TIMEBASE_HI) << 32;

    return ticks * 1000 / (PR_TIMEBASE_HZ / 1000000);
}

/* The bodies of the first commands, in and out. */
struct boot_bodies {
    struct pr_body_u32 print, start, cache;
    struct pr_body_pmu pmu;
    struct pr_body_time time;
    struct pr_body_property property;
    struct pr_body_resources resources;
    struct pr_body_setting setting;
};

/* Read when the command is sent, not before: boot takes time. */
static void fill_time(struct drv *d, struct boot_bodies *bodies)
{
    bodies->time = (struct pr_body_time){d->platform.now(d->platform.context), controller_ns(d)};
}

#define BODY(member) offsetof(struct boot_bodies, member), sizeof(((struct boot_bodies *)0)->member)
/* What goes with each command of PR_BOOT_COMMANDS; they are sent in the order of that table. */
#define BODY_PRINT_ENABLE            BODY(print), NULL
#define BODY_START                   BODY(start), NULL
#define BODY_SET_SNE_PMU_BASE2       BODY(pmu), NULL
#define BODY_TIMEPROFILE_SHOW        BODY(time), fill_time
#define BODY_CH_PROPERTY_WRITE       BODY(property), NULL
#define BODY_RESOURCE_INFO_GET       BODY(resources), NULL
#define BODY_ANE_DEFAULT_SETTING_SET offsetof(struct boot_bodies, setting), SETTING_BYTES(SETTINGS), NULL
#define BODY_MCACHE_SIZE_GET         BODY(cache), NULL
#define BODY_INIT_SHARED_EVENT_INFO  0, 0, NULL
static const struct {
    uint32_t id;
    size_t offset, bytes;                                    /* of its body */
    void (*fill)(struct drv *d, struct boot_bodies *bodies); /* just before it is sent; may be NULL */
} first_command[] = {
#define X(command, purpose) {PR_CMD_##command, BODY_##command},
    PR_BOOT_COMMANDS(X)
#undef X
};

static int first_commands(struct drv *d, struct base_error *error)
{
    struct boot_bodies bodies = {
        .print = {1},
        .start = {1},
        .pmu = {d->aperture[PR_APERTURE_PS].base},
        .property = {0, PROPERTY_READ_ONLY_IMAGE, 1},
        .setting = {.count = SETTINGS, .row = {{SETTING_SWITCH_LATENCY, SETTING_SWITCH_LATENCY_US}}},
    };
    int status = 0;

    for (unsigned i = 0; i < BASE_COUNT_OF(first_command) && !status; i++) {
        if (first_command[i].fill)
            first_command[i].fill(d, &bodies);
        status = boot_command(d, first_command[i].id, (uint8_t *)&bodies + first_command[i].offset,
                              (uint32_t)first_command[i].bytes, error);
    }
    if (!status)
        SOC_TRACE(d->platform.trace, DRV_RESOURCES, bodies.resources.programs, bodies.resources.processes,
                  bodies.resources.procedures, bodies.resources.engines);
    return status;
}

static int boot_once(struct drv *d, struct base_error *error)
{
    int status = power_on(d, error);

    if (status)
        return status;
    status = drv_domain_open(d, &d->domain[0]);
    if (status)
        return base_fail(error, -status, "No memory for the base domain's page table.");
    reset_controller(d);
    status = handshake(d, error);
    if (status)
        drop_surfaces(d);
    return status;
}

/* The controller stops and forgets; what it could reach may be given back. */
static void stop_hardware(struct drv *d)
{
    d->interrupts = d->running = false;
    drv_mailbox_write(d, PR_CTRL_CPU_CONTROL, 0);
    drv_mailbox_write(d, PR_CTRL_HOST_ACK, ~0u);
    drv_fault_stop(d);
    drop_surfaces(d);
    drv_domain_close(d, &d->domain[0]);
    power_off(d);
}

int drv_start(struct drv *d, struct base_error *error)
{
    struct base_error own;
    int status = 0;

    if (!error)
        error = &own;
    if (d->running)
        return base_fail(error, EALREADY, "The driver runs already.");
    status = drv_kext_check(&d->platform, error);
    if (!status)
        status = drv_firmware_load(d, error);
    if (status)
        return status;
    map_apertures(d);
    for (unsigned try = 1; try <= DRV_BOOT_TRIES; try++) {
        d->stats.boots++;
        status = boot_once(d, error);
        if (!status)
            break;
        d->stats.boot_failures++;
        SOC_TRACE(d->platform.trace, DRV_BOOT_FAILED, try, DRV_BOOT_TRIES, error->text);
        if (status != -EAGAIN)
            break;
        power_off(d);
    }
    if (!status) {
        status = first_commands(d, error);
        if (!status && drv_fault_start(d))
            status = base_fail(error, ENOMEM, "No memory for the page of DART snapshots.");
        d->stats.boot_failures += status != 0;
    }
    if (status) {
        drv_refuse(d, 0, "%s", error->text);
        stop_hardware(d);
        return status == -EAGAIN ? -ETIMEDOUT : status;
    }
    d->running = d->interrupts = true;
    SOC_TRACE(d->platform.trace, DRV_READY);
    drv_interrupt(d);
    drv_fault_interrupt(d);
    return 0;
}

void drv_destroy(struct drv *d)
{
    if (!d)
        return;
    if (d->running) {
        /* Nothing is sent any more: the controller stops, then everything it could reach goes. */
        drv_mailbox_write(d, PR_CTRL_CPU_CONTROL, 0);
        d->interrupts = d->running = false;
        drv_client_drop_all(d);
        drv_program_drop_all(d);
        stop_hardware(d);
    }
    base_free(d);
}
