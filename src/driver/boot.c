/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ANE_Init. Phases follow each other in the order of the table `phases`; one that waits has a deadline in
 * virtual time, set when it was entered. What the firmware announces is checked before anything is made from
 * it. Interrupts are off from the first phase until the third handshake is over: after that the first
 * commands are answered by interrupts.
 *
 * A later boot uses the surfaces of the one before, unless the firmware asks for other sizes: the command
 * pool stays in any case, because requests that wait in the driver are written there.
 */
#include "driver/boot.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "driver/block.h"
#include "driver/command.h"
#include "driver/debug_work.h"
#include "driver/device.h"
#include "driver/dump.h"
#include "driver/fault.h"
#include "driver/mailbox.h"
#include "driver/power.h"
#include "driver/request.h"
#include "driver/ring.h"
#include "driver/rtbuddy.h"

/* What boot accepts from scratch 1 and 3. */
#define IPC_BYTES_MAX  0x1000000u
#define HEAP_BYTES_MAX 0x4000000u
#define TEMPLATE_C0    4u /* command facts 6 */
/* Properties and settings that boot writes (command facts 4.1 and 4.3; the setting's value is chosen). */
#define PROPERTY_READ_ONLY_IMAGE  0x10a4u
#define SETTING_SWITCH_LATENCY_US 100u
#define SETTINGS                  1u /* how many of them */
/* A body of so many settings: the count, then the rows in use. */
#define SETTING_BYTES(rows) \
    (offsetof(struct pr_body_setting, row) + (rows) * sizeof(((struct pr_body_setting *)0)->row[0]))

static uint64_t now(const struct drv *d)
{
    return d->platform.now(d->platform.context);
}

static bool is_late(const struct drv *d)
{
    return now(d) >= d->boot.deadline;
}

/* Power. */

static int request_power(struct drv *d, struct base_error *error)
{
    (void)error;
    d->stats.boots++;
    d->interrupts = false;
    drv_power_request(d);
    return 0;
}

static int await_power(struct drv *d, struct base_error *error)
{
    return drv_power_resume(d, is_late(d), error);
}

/* Reset. */

/* Nothing of an earlier firmware is pending; then the endpoint, the scratch words, the vector, and run. */
static int release_reset(struct drv *d, struct base_error *error)
{
    int status;

    drv_mailbox_write(d, PR_CTRL_CPU_CONTROL, 0);
    drv_mailbox_write(d, PR_CTRL_HOST_ACK, ~0u);
    status = drv_rtbuddy_enable(d, drv_mailbox_inbound, error);
    if (status)
        return status;
    for (unsigned i = 0; i < PR_SCRATCH_COUNT - 1; i++)
        drv_mailbox_write(d, PR_CTRL_SCRATCH(i), 0);
    drv_mailbox_write(d, PR_CTRL_SCRATCH(7), d->boot.warm ? PR_BOOT_WARM : PR_BOOT_COLD);
    drv_mailbox_write(d, PR_CTRL_RVBAR_HI, (uint32_t)(d->vector >> 32));
    drv_mailbox_write(d, PR_CTRL_RVBAR_LO, (uint32_t)d->vector | PR_RVBAR_LOCK);
    drv_mailbox_write(d, PR_CTRL_CPU_CONTROL, PR_CPU_RUN);
    return 0;
}

/* Handshakes. */

static bool boot_refused(uint32_t scratch7, struct base_error *error, int *status)
{
    if ((scratch7 & 0xfff00000u) != PR_BOOT_REFUSED)
        return false;
    *status = base_fail(error, EPROTO, "The firmware refused to boot: %s (scratch 7 is 0x%x).",
                        pr_boot_refusal_text(scratch7 & 0xfffffu), scratch7);
    return true;
}

/*
 * 0 when a scratch word has a value. 1: not yet. -EPROTO: refused, with a sentence. -ETIMEDOUT: without one.
 */
static int look_at_scratch(struct drv *d, unsigned number, uint32_t value, struct base_error *error)
{
    int status;

    if (drv_mailbox_read(d, PR_CTRL_SCRATCH(number)) == value)
        return 0;
    if (boot_refused(drv_mailbox_read(d, PR_CTRL_SCRATCH(7)), error, &status))
        return status;
    return is_late(d) ? -ETIMEDOUT : 1;
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
    int status;

    if (block->bytes == bytes)
        return 0;
    drv_block_drop(d, block);
    status = drv_block_make(d, usage, bytes, block);
    return status ? base_fail(error, -status, "No memory for %" PRIu64 " bytes of the firmware's surfaces.",
                              bytes)
                  : 0;
}

void drv_boot_drop_shared(struct drv *d)
{
    for (unsigned i = 0; i < DRV_SHARED_BLOCKS; i++)
        drv_block_drop(d, &d->shared_block[i]);
}

void drv_boot_drop_surfaces(struct drv *d)
{
    drv_boot_drop_shared(d);
    drv_block_drop(d, &d->events);
    drv_block_drop(d, &d->args);
    drv_block_drop(d, &d->pool);
    drv_block_drop(d, &d->heap);
    drv_block_drop(d, &d->ipc);
}

static void write_boot_args(struct drv *d)
{
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

/* No command of an earlier boot is under way. */
static void free_commands(struct drv *d)
{
    for (unsigned i = 0; i < DRV_COMMANDS; i++)
        d->command[i].busy = false;
}

static int make_surfaces(struct drv *d, uint64_t ipc_bytes, uint64_t heap_bytes, struct base_error *error)
{
    const bool cut = !d->pool.bytes;
    int status = make_block(d, PR_USAGE_FIRMWARE_SURFACE, ipc_bytes, &d->ipc, error);

    if (!status)
        status = make_block(d, PR_USAGE_FIRMWARE_HEAP, heap_bytes, &d->heap, error);
    if (!status)
        status = make_block(d, PR_USAGE_FIRMWARE_SURFACE, PR_COMMAND_POOL_BYTES, &d->pool, error);
    if (!status)
        status = make_block(d, PR_USAGE_FIRMWARE_SURFACE, DRV_ANSWERS_OFFSET + DRV_HOLDERS * DRV_ANSWER_BYTES,
                            &d->args, error);
    if (!status)
        status = make_block(d, PR_USAGE_FIRMWARE_SURFACE,
                            (uint64_t)PR_SHARED_EVENT_ROWS * PR_SHARED_EVENT_BYTES, &d->events, error);
    if (status)
        return status;
    memset(d->ipc.host, 0, d->ipc.bytes);
    if (cut)
        cut_pool(d);
    free_commands(d);
    return 0;
}

/* The controller is alive: it gets what it asks for. */
static int await_first_wake(struct drv *d, struct base_error *error)
{
    uint64_t ipc_bytes, heap_bytes;
    int status = look_at_scratch(d, 7, PR_HANDSHAKE_WAKE, error);

    if (status == -ETIMEDOUT)
        return base_fail(error, ETIMEDOUT,
                         "First wake missing: the controller did not come up at 0x%" PRIx64
                         " (scratch 7 is 0x%x).",
                         d->vector, drv_mailbox_read(d, PR_CTRL_SCRATCH(7)));
    if (status)
        return status;
    status = read_wishes(d, &d->boot.channels, &ipc_bytes, &heap_bytes, error);
    if (!status)
        status = make_surfaces(d, ipc_bytes, heap_bytes, error);
    if (!status)
        write_boot_args(d);
    return status;
}

/* -EAGAIN: it is missing. */
static int await_second_wake(struct drv *d, struct base_error *error)
{
    uint64_t table;
    int status = look_at_scratch(d, 7, PR_HANDSHAKE_WAKE, error);

    if (status == -ETIMEDOUT)
        return base_fail(
            error, EAGAIN,
            "Second wake missing: the firmware did not publish its channels (scratch 7 is 0x%x).",
            drv_mailbox_read(d, PR_CTRL_SCRATCH(7)));
    if (status)
        return status;
    table = drv_mailbox_read(d, PR_CTRL_SCRATCH(0)) | (uint64_t)drv_mailbox_read(d, PR_CTRL_SCRATCH(1)) << 32;
    status = drv_ring_read_table(d, table, d->boot.channels, error);
    if (status)
        return status;
    drv_ring_init_slots(d);
    drv_mailbox_write(d, PR_CTRL_SCRATCH(3), PR_HANDSHAKE_WAKE);
    return 0;
}

static int await_third(struct drv *d, struct base_error *error)
{
    int status = look_at_scratch(d, 3, PR_HANDSHAKE_DONE, error);

    if (status == -ETIMEDOUT)
        return base_fail(error, ETIMEDOUT,
                         "Third handshake missing: the firmware did not clear scratch 3 (it is 0x%x).",
                         drv_mailbox_read(d, PR_CTRL_SCRATCH(3)));
    /* Interrupts are off, and the firmware may ask for memory before it acknowledges. */
    if (status == 1)
        drv_mailbox_poll(d);
    return status;
}

/* "The engine controller is ready" comes before the first command. */
static int enable_interrupts(struct drv *d, struct base_error *error)
{
    (void)error;
    d->interrupts = true;
    SOC_TRACE(d->platform.trace, DRV_READY);
    drv_interrupt(d);
    d->boot.command = 0;
    d->boot.posted = false;
    d->boot.body = (struct drv_boot_bodies){
        .print = {1},
        .start = {1},
        .pmu = {d->aperture[PR_APERTURE_PS].base},
        .property = {0, PROPERTY_READ_ONLY_IMAGE, 1},
        .setting = {.count = SETTINGS, .row = {{PR_SETTING_SWITCH_LATENCY, SETTING_SWITCH_LATENCY_US}}},
        .events = {.address = d->events.iova, .events = PR_SHARED_EVENT_ROWS},
    };
    return 0;
}

/* The first commands. */

static uint64_t controller_ns(struct drv *d)
{
    uint64_t ticks =
        drv_mailbox_read(d, PR_CTRL_TIMEBASE_LO) | (uint64_t)drv_mailbox_read(d, PR_CTRL_TIMEBASE_HI) << 32;

    return ticks * 1000 / (PR_TIMEBASE_HZ / 1000000);
}

/* Read when the command is sent, not before: boot takes time. */
static void fill_time(struct drv *d)
{
    d->boot.body.time = (struct pr_body_time){now(d), controller_ns(d)};
}

/* How far apart the clocks are, and how far they have moved since the last synchronisation. */
static int use_time(struct drv *d, struct base_error *error)
{
    const uint64_t offset = d->boot.body.time.host_ns - d->boot.body.time.controller_ns;

    (void)error;
    /* Without a sign: the controller may say anything. */
    d->sync.drift_ns = d->sync.count ? (int64_t)(offset - (uint64_t)d->sync.offset_ns) : 0;
    d->sync.offset_ns = (int64_t)offset;
    d->sync.count++;
    return 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The ring is the one that the firmware has published; its events ring the host alone. */
static void fill_endpoint(struct drv *d)
{
    const struct drv_ring *ring = &d->ring[PR_CHANNEL_DATA_CHAIN_H2T];

    d->boot.body.endpoint = (struct pr_body_endpoint){
        .endpoint = PR_ENDPOINT_DATA_CHAINING,
        .channel = PR_CHANNEL_DATA_CHAIN_H2T,
        .ring = d->ipc.iova + (uint64_t)((const uint8_t *)ring->slot - (const uint8_t *)d->ipc.host),
        .bytes = (uint64_t)ring->slots * PR_SLOT_BYTES,
    };
}

static void fill_targets(struct drv *d)
{
    d->boot.body.targets = (struct pr_body_endpoint2){
        .endpoint = PR_ENDPOINT_DATA_CHAINING,
        .targets = 1,
        .target = {{.reg = d->aperture[PR_APERTURE_ANE].base + PR_CTRL_HOST_DOORBELL,
                    .bits = 1u << d->ring[PR_CHANNEL_IO_T2H].bit}},
    };
}

/* The tables of the driver are as large as those of the firmware, up to its own limits. */
static int use_resources(struct drv *d, struct base_error *error)
{
    const struct pr_body_resources *resources = &d->boot.body.resources;

    if (!resources->programs || !resources->processes)
        return base_fail(error, EPROTO,
                         "The firmware has room for %u programs and %u processes; it needs 1 of each.",
                         resources->programs, resources->processes);
    d->limits = (struct drv_limits){.programs = least(resources->programs, PR_PROGRAMS_MAX),
                                    .processes = least(resources->processes, PR_PROCESSES_MAX)};
    SOC_TRACE(d->platform.trace, DRV_RESOURCES, resources->programs, resources->processes,
              resources->procedures, resources->engines);
    return 0;
}

static int use_cache(struct drv *d, struct base_error *error)
{
    (void)error;
    d->cache_bytes = d->boot.body.cache.value;
    return 0;
}

#define BODY(member) offsetof(struct drv_boot_bodies, member), sizeof(((struct drv_boot_bodies *)0)->member)
/* What goes with each command of PR_BOOT_COMMANDS and PR_BIND_COMMANDS, which are sent in their order. */
#define BODY_PRINT_ENABLE      BODY(print), NULL, NULL
#define BODY_START             BODY(start), NULL, NULL
#define BODY_SET_SNE_PMU_BASE2 BODY(pmu), NULL, NULL
#define BODY_TIMEPROFILE_SHOW  BODY(time), fill_time, use_time
#define BODY_CH_PROPERTY_WRITE BODY(property), NULL, NULL
#define BODY_RESOURCE_INFO_GET BODY(resources), NULL, use_resources
#define BODY_ANE_DEFAULT_SETTING_SET \
    offsetof(struct drv_boot_bodies, setting), SETTING_BYTES(SETTINGS), NULL, NULL
#define BODY_MCACHE_SIZE_GET        BODY(cache), NULL, use_cache
#define BODY_INIT_SHARED_EVENT_INFO BODY(events), NULL, NULL
#define BODY_IPC_ENDPOINT_SET       BODY(endpoint), fill_endpoint, NULL
#define BODY_IPC_ENDPOINT_SET2      BODY(targets), fill_targets, NULL
static const struct first_command {
    uint32_t id;
    size_t offset, bytes;                                /* of its body */
    void (*fill)(struct drv *d);                         /* just before it is sent; may be NULL */
    int (*use)(struct drv *d, struct base_error *error); /* what its reply says; may be NULL */
} first_command[] = {
#define X(command, purpose) {PR_CMD_##command, BODY_##command},
    PR_BOOT_COMMANDS(X) PR_BIND_COMMANDS(X)
#undef X
};

static int post_first(struct drv *d, const struct first_command *command, struct base_error *error)
{
    const struct drv_command_args args = {.id = command->id,
                                          .program = PR_NO_ID,
                                          .process = PR_NO_ID,
                                          .body = (uint8_t *)&d->boot.body + command->offset,
                                          .bytes = (uint32_t)command->bytes};

    if (command->fill)
        command->fill(d);
    SOC_TRACE(d->platform.trace, DRV_BOOT_COMMAND, command->id, pr_command_name(command->id));
    if (!drv_command_post(d, &args, &d->boot.answer))
        return base_fail(error, EBUSY, "Boot command %s found no free slot of IO.",
                         pr_command_name(command->id));
    d->boot.posted = true;
    d->boot.deadline = now(d) + (uint64_t)DRV_POLLS * DRV_POLL_NS;
    return 0;
}

static int judge_first(struct drv *d, const struct first_command *command, struct base_error *error)
{
    const char *name = pr_command_name(command->id);
    uint32_t status;

    if (!d->boot.answer.done)
        return is_late(d)
                   ? base_fail(error, ETIMEDOUT, "Boot command %s (0x%x) was not answered within %u ms.",
                               name, command->id, DRV_POLLS_MS)
                   : 1;
    d->boot.posted = false;
    status = PR_REPLY_STATUS(&d->boot.answer.header);
    if (status != PR_STATUS_OK)
        return base_fail(error, EPROTO, "The firmware refused boot command %s (0x%x): %s.", name, command->id,
                         pr_status_text(status));
    return command->use ? command->use(d, error) : 0;
}

static int run_first_commands(struct drv *d, struct base_error *error)
{
    int status = 0;

    while (!status && d->boot.command < BASE_COUNT_OF(first_command)) {
        const struct first_command *command = &first_command[d->boot.command];

        if (!d->boot.posted)
            status = post_first(d, command, error);
        if (!status)
            status = judge_first(d, command, error);
        if (!status)
            d->boot.command++;
    }
    return status;
}

static int finish(struct drv *d, struct base_error *error)
{
    if (drv_fault_start(d))
        return base_fail(error, ENOMEM, "No memory for the page of DART snapshots.");
    drv_fault_interrupt(d);
    drv_debug_work_booted(d);
    return 0;
}

/* Steps. */

static int (*const phases[])(struct drv *d, struct base_error *error) = {
    request_power, await_power,       release_reset,      await_first_wake, await_second_wake,
    await_third,   enable_interrupts, run_first_commands, finish,
};

static void start_over(struct drv *d)
{
    d->boot.phase = 0;
    d->boot.crashed = false;
    d->boot.deadline = now(d) + (uint64_t)DRV_POLLS * DRV_POLL_NS;
}

void drv_boot_begin(struct drv *d, bool warm)
{
    d->boot.tries = 0;
    d->boot.warm = warm;
    start_over(d);
}

/* The firmware failed before it was up; its dump is drained first. */
static int judge_crash(struct drv *d, struct base_error *error)
{
    return drv_dump_is_draining(d)
               ? 1
               : base_fail(error, EAGAIN, "The firmware failed while it booted: %s.", drv_dump_reason(d));
}

/* 1: the next boot is cold, because what the firmware retained may be why this one failed. */
static int try_again(struct drv *d, int status, struct base_error *error)
{
    d->stats.boot_failures++;
    d->boot.tries++;
    SOC_TRACE(d->platform.trace, DRV_BOOT_FAILED, d->boot.tries, DRV_BOOT_TRIES, error->text);
    if (status != -EAGAIN || d->boot.tries >= DRV_BOOT_TRIES)
        return status == -EAGAIN ? -ETIMEDOUT : status;
    d->interrupts = false;
    drv_power_off(d);
    d->boot.warm = false;
    start_over(d);
    return 1;
}

int drv_boot_step(struct drv *d, struct base_error *error)
{
    int status = 0;

    while (!status && d->boot.phase < BASE_COUNT_OF(phases)) {
        status = d->boot.crashed ? judge_crash(d, error) : phases[d->boot.phase](d, error);
        if (status)
            break;
        d->boot.phase++;
        d->boot.deadline = now(d) + (uint64_t)DRV_POLLS * DRV_POLL_NS;
    }
    return status < 0 ? try_again(d, status, error) : status;
}
