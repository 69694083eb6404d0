/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reset vector: handshakes, boot arguments, the kernel, the tasks, the channel table. The boot arguments
 * are copied once, and the copy is used. A refused boot leaves its reason in scratch 7 and waits for a reset.
 * Warm or cold is read before the first wake, which overwrites it.
 */
#include "firmware/channel.h"
#include "firmware/dump.h"
#include "firmware/intmgr.h"
#include "firmware/log.h"
#include "firmware/power.h"
#include "firmware/process.h"
#include "firmware/retained.h"
#include "firmware/setting.h"
#include "firmware/shared.h"
#include "firmware/stats.h"
#include "firmware/tasks.h"
#include "firmware/tunables.h"
#include "protocol/log_line.h"
#include "rtkernel/format.h"
#include "rtkernel/heap.h"
#include "rtkernel/kernel.h"
#include "rtkernel/log.h"

#define SURFACE_ALIGN 0x40u
#define IMAGE_LIMIT   (1ull << 48) /* physical addresses that the reset vector's register holds */

/* Before there is a kernel or a state: what the processor was entered with, and what the host said. */
struct boot {
    const struct fw_reset *reset;
    uint64_t registers; /* physical base of the engine container */
    bool warm;
    struct rt_kernel *kernel;
    struct pr_boot_args args;
};

static uint32_t scratch_read(const struct boot *b, unsigned n)
{
    return rt_port_read32(b->reset->port, b->registers + PR_CTRL_SCRATCH(n));
}

static void scratch_write(const struct boot *b, unsigned n, uint32_t value)
{
    rt_port_write32(b->reset->port, b->registers + PR_CTRL_SCRATCH(n), value);
}

/* The sentence is for the port; the host gets the number. Only a reset ends the wait. */
static _Noreturn void refuse(const struct boot *b, enum pr_boot_refusal reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static _Noreturn void refuse(const struct boot *b, enum pr_boot_refusal reason, const char *format, ...)
{
    char text[RT_TEXT_BYTES];
    size_t length;
    va_list args;

    va_start(args, format);
    length = rt_format_list(text, sizeof(text), format, args);
    va_end(args);
    rt_port_refuse(b->reset->port, text, length);
    scratch_write(b, 7, PR_BOOT_REFUSED | (uint32_t)reason);
    for (;;)
        rt_port_wait(b->reset->port);
}

static void first_wake(const struct boot *b)
{
    scratch_write(b, PR_WAKE_CHANNELS, PR_CHANNEL_COUNT);
    scratch_write(b, PR_WAKE_IPC_BYTES_LESS_1, pr_ipc_bytes() - 1);
    scratch_write(b, PR_WAKE_FLAGS, 0);
    scratch_write(b, PR_WAKE_EXTRA_HEAP, PR_EXTRA_HEAP_BYTES);
    scratch_write(b, 7, PR_HANDSHAKE_WAKE);
    while (scratch_read(b, 7) != PR_HANDSHAKE_GO)
        rt_port_wait(b->reset->port);
}

static void copy_arguments(struct boot *b)
{
    const uint64_t address = scratch_read(b, 0) | (uint64_t)scratch_read(b, 1) << 32;
    const void *window = rt_port_window(b->reset->port, address, sizeof(b->args));

    if (!window)
        refuse(b, PR_REFUSAL_BOOT_ARGUMENTS, "%s: nothing is mapped at 0x%llx",
               pr_boot_refusal_text(PR_REFUSAL_BOOT_ARGUMENTS), (unsigned long long)address);
    rt_memcpy(&b->args, window, sizeof(b->args));
}

/* Another major version is another protocol; another minor one is good enough (warn_versions). */
static void check_versions(const struct boot *b)
{
    const struct pr_boot_args *args = &b->args;
    const uint32_t revision = rt_port_read32(b->reset->port, b->registers + PR_CTRL_CHIP_REVISION);

    if (args->chip_revision != revision)
        refuse(b, PR_REFUSAL_CHIP_REVISION, "%s: %x, this is %x",
               pr_boot_refusal_text(PR_REFUSAL_CHIP_REVISION), args->chip_revision, revision);
    if (PR_VERSION_MAJOR(args->protocol_version) != PR_VERSION_MAJOR(PR_PROTOCOL_VERSION))
        refuse(b, PR_REFUSAL_PROTOCOL_VERSION, "%s: %x, this is %x",
               pr_boot_refusal_text(PR_REFUSAL_PROTOCOL_VERSION), args->protocol_version,
               PR_PROTOCOL_VERSION);
    if (PR_VERSION_MAJOR(args->ring_version) != PR_VERSION_MAJOR(PR_RING_VERSION))
        refuse(b, PR_REFUSAL_RING_VERSION, "%s: %x, this is %x",
               pr_boot_refusal_text(PR_REFUSAL_RING_VERSION), args->ring_version, PR_RING_VERSION);
    if (args->page_bytes != PR_PAGE_BYTES)
        refuse(b, PR_REFUSAL_PAGE_SIZE, PR_LINE_PAGE_SIZE, args->page_bytes);
}

static void warn_version(struct fw *fw, const char *what, uint32_t given, uint32_t own)
{
    if (given == own)
        return;
    fw->count[FW_WARNED]++;
    fw_log_quiet(fw, RT_LOG_WARNING, "%s version %x differs from %x in its minor part: it goes on", what,
                 given, own);
}

static void warn_versions(const struct boot *b, struct fw *fw)
{
    warn_version(fw, "protocol", b->args.protocol_version, PR_PROTOCOL_VERSION);
    warn_version(fw, "ring-buffer", b->args.ring_version, PR_RING_VERSION);
}

static bool mapped(const struct boot *b, uint64_t address, uint64_t bytes, uint64_t needed)
{
    return bytes >= needed && rt_port_window(b->reset->port, address, needed);
}

static void boot_kernel(struct boot *b)
{
    const struct rt_boot boot = {.base = b->reset->carve_out,
                                 .bytes = b->reset->bytes,
                                 .framework_bytes = b->args.framework_bytes,
                                 .stack_extra = b->reset->stack_extra,
                                 .zeroed = b->reset->zeroed,
                                 .log_level = RT_LOG_INFO,
                                 .port = b->reset->port};
    struct rt_refusal refusal;

    if (rt_kernel_boot(&boot, &b->kernel, &refusal))
        refuse(b, PR_REFUSAL_HEAP, "%s", refusal.text);
    if (!mapped(b, b->args.heap, b->args.heap_bytes, PR_EXTRA_HEAP_BYTES))
        refuse(b, PR_REFUSAL_HEAP, "extra heap: 0x%llx bytes at 0x%llx are not 0x%x mapped ones",
               (unsigned long long)b->args.heap_bytes, (unsigned long long)b->args.heap, PR_EXTRA_HEAP_BYTES);
}

static _Noreturn void refuse_argument(const struct boot *b, const char *what, uint64_t value,
                                      const char *rule)
{
    refuse(b, PR_REFUSAL_ARGUMENT, "%s: %s 0x%llx %s", pr_boot_refusal_text(PR_REFUSAL_ARGUMENT), what,
           (unsigned long long)value, rule);
}

static void check_arguments(const struct boot *b)
{
    const struct pr_boot_args *args = &b->args;

    if (args->image % PR_PAGE_BYTES || args->image >= IMAGE_LIMIT)
        refuse_argument(b, "image", args->image, "is not a page below 2^48");
    if (args->slot_bytes != PR_SLOT_BYTES)
        refuse_argument(b, "slot", args->slot_bytes, "does not have the bytes of a slot");
    if (args->ipc % SURFACE_ALIGN)
        refuse_argument(b, "IPC surface", args->ipc, "is not aligned to 64 bytes");
    if (args->heap % SURFACE_ALIGN)
        refuse_argument(b, "extra heap", args->heap, "is not aligned to 64 bytes");
    if (args->pool % SURFACE_ALIGN)
        refuse_argument(b, "command pool", args->pool, "is not aligned to 64 bytes");
}

static void check_surfaces(const struct boot *b)
{
    const struct pr_boot_args *args = &b->args;

    if (!mapped(b, args->ipc, args->ipc_bytes, pr_ipc_bytes()) ||
        !mapped(b, args->pool, args->pool_bytes, PR_COMMAND_POOL_BYTES))
        refuse(b, PR_REFUSAL_IPC, "%s", pr_boot_refusal_text(PR_REFUSAL_IPC));
}

static struct fw *make_state(const struct boot *b)
{
    struct fw *fw = rt_heap_alloc(b->kernel, RT_ARENA_FRAMEWORK, sizeof(*fw));

    if (!fw)
        refuse(b, PR_REFUSAL_HEAP, "framework reservation 0x%llx has no room for the firmware, 0x%zx",
               (unsigned long long)b->args.framework_bytes, sizeof(*fw));
    fw->kernel = b->kernel;
    fw->port = b->reset->port;
    fw->registers = b->registers;
    fw->heap = b->args.heap;
    fw->unknown_id_panics = b->args.unknown_id_panics != 0;
    for (unsigned i = 0; i < PR_DOORBELL_TARGETS; i++)
        fw->target[i] = (struct fw_target){.address = b->registers + PR_CTRL_HOST_DOORBELL};
    return fw;
}

static void init_state(const struct boot *b, struct fw *fw)
{
    fw->warm = b->warm;
    fw_retained_boot(fw, b->reset, b->warm);
    warn_versions(b, fw);
    fw_power_init(fw);
    fw_setting_init(fw);
    fw_tunables_init(fw);
    fw_process_init(fw);
    fw_stats_init(fw);
    if (!fw_tasks_create(fw))
        refuse(b, PR_REFUSAL_HEAP, "no room for the tasks");
}

/* Scratch 3 still says how much heap is wanted; whatever the host puts there is its answer. */
static void second_wake(const struct boot *b)
{
    const uint32_t before = scratch_read(b, 3);
    uint32_t answer;

    scratch_write(b, 0, (uint32_t)b->args.ipc);
    scratch_write(b, 1, (uint32_t)(b->args.ipc >> 32));
    rt_port_barrier(b->reset->port);
    scratch_write(b, 7, PR_HANDSHAKE_WAKE);
    while ((answer = scratch_read(b, 3)) == before)
        rt_port_wait(b->reset->port);
    if (answer != PR_HANDSHAKE_WAKE)
        refuse(b, PR_REFUSAL_MAGIC, "%s: %x", pr_boot_refusal_text(PR_REFUSAL_MAGIC), answer);
}

/* The control channels become ready in turn, in the order of the table. */
static void open_channels(struct fw *fw)
{
    for (unsigned i = 0; i < PR_CHANNEL_COUNT; i++)
        fw_channel_open(fw, (enum pr_channel)i);
}

_Noreturn void fw_reset_vector(const struct fw_reset *reset)
{
    struct boot b = {.reset = reset, .registers = rt_port_sysreg_read(reset->port, PR_SYSREG_CBAR)};
    struct fw *fw;

    b.warm = scratch_read(&b, 7) == PR_BOOT_WARM;
    first_wake(&b);
    copy_arguments(&b);
    check_versions(&b);
    check_arguments(&b);
    boot_kernel(&b);
    fw = make_state(&b);
    init_state(&b, fw);
    check_surfaces(&b);
    fw_dump_install(fw);
    fw_channel_publish(fw, b.args.ipc);
    second_wake(&b);
    open_channels(fw);
    fw_intmgr_attach(fw);
    scratch_write(&b, 3, PR_HANDSHAKE_DONE);
    rt_kernel_start(b.kernel);
}
