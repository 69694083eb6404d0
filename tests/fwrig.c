/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's surroundings for tests of the firmware: processor,
 * memory, registers, fabric, task manager.
 */
#include "fwrig_state.h"

#include <stdio.h>
#include <string.h>

#include "rtkernel/fault.h"
#include "rtkernel/irq.h"
#include "rtkernel/kernel.h"
#include "rtkernel/state.h"
#include "rtkernel/status.h"

#define NO_WINDOW UINT64_MAX

struct hostcpu *hostcpu_of(struct rt_port *port)
{
    return &port->cpu;
}

/* Everything but the three blocks of memory, which the port has already. */
static void begin(struct rt_port *port)
{
    port->reset = (struct fw_reset){.port = port,
                                    .carve_out = port->reset.carve_out,
                                    .bytes = FW_CARVE_OUT_BYTES - FW_RETAINED_BYTES,
                                    .retained_bytes = FW_RETAINED_BYTES,
                                    .stack_extra = HOSTCPU_STACK_EXTRA};
    port->cpu.kernel = port->reset.carve_out;
    port->reset.retained = (uint8_t *)port->reset.carve_out + port->reset.bytes;
    memset(port->reset.retained, 0xa5, FW_RETAINED_BYTES); /* DRAM at power-on: anything */
    memset(port->memory, 0, FWRIG_BYTES);
    port->flip_window = NO_WINDOW;
    (void)fwrig_arguments(fwrig_of(port));
}

struct fwrig *fwrig_create(void)
{
    struct rt_port *port = calloc(1, sizeof(*port));

    check(port, "no memory");
    port->memory = aligned_alloc(0x4000, FWRIG_BYTES);
    port->reset.carve_out = aligned_alloc(0x4000, FW_CARVE_OUT_BYTES);
    check(port->memory && port->reset.carve_out, "no memory");
    hostcpu_create(&port->cpu, "fwrig");
    begin(port);
    return fwrig_of(port);
}

static void stop(struct rt_port *port)
{
    if (!port->entered)
        return;
    if (port->cpu.contexts)
        rt_kernel_close(port->cpu.kernel);
    port->entered = false;
}

void fwrig_renew(struct fwrig *rig)
{
    struct rt_port *port = port_of(rig);
    uint8_t *memory = port->memory;
    void *carve_out = port->reset.carve_out, *stack = port->cpu.boot_stack;

    stop(port);
    host_context_drop(&port->cpu.booting);
    memset(port, 0, sizeof(*port));
    port->memory = memory;
    port->reset.carve_out = carve_out;
    port->cpu.boot_stack = stack;
    port->cpu.rig = "fwrig";
    port->cpu.masked = true;
    begin(port);
}

void fwrig_destroy(struct fwrig *rig)
{
    struct rt_port *port = port_of(rig);

    stop(port);
    free(port->reset.carve_out);
    hostcpu_destroy(&port->cpu);
    free(port->memory);
    free(port);
}

uint8_t *fwrig_memory(struct fwrig *rig, uint64_t address, size_t bytes)
{
    check(address >= FWRIG_BASE && bytes <= FWRIG_BYTES && address - FWRIG_BASE <= FWRIG_BYTES - bytes,
          "no such memory");
    return port_of(rig)->memory + (address - FWRIG_BASE);
}

void fwrig_hole(struct fwrig *rig, uint64_t address, uint64_t bytes)
{
    port_of(rig)->hole = address;
    port_of(rig)->hole_bytes = bytes;
}

void fwrig_flip(struct fwrig *rig, uint64_t address, uint64_t bytes, uint8_t byte)
{
    struct rt_port *port = port_of(rig);

    port->flip = address;
    port->flip_bytes = bytes;
    port->flip_byte = byte;
    port->flip_window = NO_WINDOW;
}

uint64_t fwrig_flips(const struct fwrig *rig)
{
    return port_of(rig)->flips;
}

/* ---- the processor ---- */

static void run_vector(void *arg)
{
    struct rt_port *port = arg;

    fw_reset_vector(&port->reset);
}

static enum fwrig_end resume(struct rt_port *port, uint64_t limit)
{
    check(port->entered, "run before enter");
    return (enum fwrig_end)(port->cpu.end == FWRIG_IDLE ? hostcpu_run(&port->cpu, limit) : port->cpu.end);
}

enum fwrig_end fwrig_enter(struct fwrig *rig)
{
    struct rt_port *port = port_of(rig);

    stop(port);
    memset(port->reset.carve_out, 0, port->reset.bytes);
    memset(port->cursor, 0, sizeof(port->cursor));
    hostcpu_reset(&port->cpu, run_vector, port);
    port->entered = true;
    port->cpu.pending = port->cpu.timer = 0;
    port->fabric = PR_FABRIC_RESET;
    port->uncorrectable = false;
    for (unsigned i = 0; i < PR_PMU_DOMAINS; i++)
        port->power[i] = PR_PMU_READY;
    memset(port->held, 0, sizeof(port->held));
    memset(port->foreign, 0, sizeof(port->foreign));
    return resume(port, port->cpu.now);
}

enum fwrig_end fwrig_run(struct fwrig *rig)
{
    return resume(port_of(rig), port_of(rig)->cpu.now);
}

enum fwrig_end fwrig_pass(struct fwrig *rig, uint64_t nanoseconds)
{
    struct rt_port *port = port_of(rig);
    const uint64_t until = port->cpu.now + nanoseconds;
    enum fwrig_end end = resume(port, until);

    port->cpu.now = until;
    return end;
}

const char *fwrig_log(const struct fwrig *rig)
{
    return port_of(rig)->cpu.log;
}

void fwrig_log_clear(struct fwrig *rig)
{
    port_of(rig)->cpu.logged = 0;
    port_of(rig)->cpu.log[0] = '\0';
}

const char *fwrig_fault_text(const struct fwrig *rig)
{
    return port_of(rig)->fault;
}

uint64_t fwrig_now(const struct fwrig *rig)
{
    return port_of(rig)->cpu.now;
}

bool fwrig_timer_set(const struct fwrig *rig)
{
    return port_of(rig)->cpu.timer != 0;
}

/* The first block of its arena, behind the block's head. */
const void *fwrig_firmware(const struct fwrig *rig)
{
    const struct rt_kernel *kernel = port_of(rig)->reset.carve_out;

    return kernel->arena[RT_ARENA_FRAMEWORK].base + RT_HEAP_BEFORE;
}

static struct rt_task *find_task(struct rt_port *port, const char *name)
{
    struct rt_kernel *kernel = port->cpu.kernel;

    for (unsigned i = 0; i < RT_TASK_COUNT; i++)
        if (kernel->pool[RT_POOL_TASK].used >> i & 1 && !strcmp(kernel->task[i].name, name))
            return &kernel->task[i];
    check(false, "no such task");
    return NULL;
}

void fwrig_suspend(struct fwrig *rig, const char *task)
{
    check(!rt_task_suspend(find_task(port_of(rig), task)), "a task cannot be suspended");
}

/* An interrupt without a reason makes the kernel choose again. */
void fwrig_resume(struct fwrig *rig, const char *task)
{
    check(!rt_task_resume(find_task(port_of(rig), task)), "a task cannot be resumed");
    fwrig_raise(rig, FW_LINE_DOORBELL);
    (void)fwrig_run(rig);
}

void fwrig_except(struct fwrig *rig, unsigned fault_class, const struct rt_registers *registers,
                  const char *text)
{
    struct rt_port *port = port_of(rig);

    port->except = text;
    port->except_class = fault_class;
    port->except_registers = *registers;
}

void fwrig_inside(struct fwrig *rig, void (*body)(struct fw *fw))
{
    port_of(rig)->inside = body;
}

unsigned fwrig_mark(const struct fwrig *rig, uint32_t code, const uint64_t **word)
{
    const struct hostcpu *cpu = &((const struct rt_port *)rig)->cpu;

    check(!cpu->marks || cpu->mark == code, "a mark of another kind");
    *word = cpu->mark_word;
    return cpu->marks;
}

static void go_inside(struct rt_port *port)
{
    void (*body)(struct fw * fw) = port->inside;

    port->inside = NULL;
    if (body)
        body((struct fw *)fwrig_firmware((struct fwrig *)port));
}

static void take_exception(struct rt_port *port)
{
    const char *text = port->except;

    port->except = NULL;
    if (text)
        rt_kernel_exception(port->cpu.kernel, (enum rt_fault_class)port->except_class,
                            &port->except_registers, text);
}

void fwrig_raise(struct fwrig *rig, unsigned line)
{
    port_of(rig)->cpu.pending |= 1ull << line;
}

uint8_t *fwrig_retained(struct fwrig *rig)
{
    return port_of(rig)->reset.retained;
}

void fwrig_forget(struct fwrig *rig)
{
    struct rt_port *port = port_of(rig);

    memset(port->reset.retained, 0xa5, port->reset.retained_bytes);
    memset(port->sysreg, 0, sizeof(port->sysreg));
}

uint64_t fwrig_accesses(const struct fwrig *rig)
{
    return port_of(rig)->accesses;
}

uint64_t fwrig_power_reads(const struct fwrig *rig)
{
    return port_of(rig)->power_reads;
}

/* Overwrites what the last window showed: what has been checked must not be read there again. */
static void flip(struct rt_port *port)
{
    if (port->flip_window == NO_WINDOW)
        return;
    memset(port->memory + (port->flip_window - FWRIG_BASE), port->flip_byte, port->flip_window_bytes);
    port->flip_window = NO_WINDOW;
    port->flips++;
}

/* ---- registers ---- */

static uint32_t event_read(struct rt_port *port, unsigned line, uint32_t offset)
{
    const struct fwrig_end_event *event = &port->event[line][0];

    if (offset && !port->events[line])
        return 0;
    switch (offset) {
    case 0: return port->events[line];
    case PR_TM_IRQ0_INFO - PR_TM_IRQ0_COUNT: return event->info;
    case PR_TM_IRQ0_UNK1 - PR_TM_IRQ0_COUNT: return event->detail;
    case PR_TM_IRQ0_UNK2 - PR_TM_IRQ0_COUNT:
        port->events[line]--;
        memmove(port->event[line], port->event[line] + 1, port->events[line] * sizeof(*event));
        return 0;
    default: return 0;
    }
}

static void latch(struct rt_port *port, uint32_t value)
{
    const uint32_t queue = pr_bits_get(value, PR_TM_PUSH_QUEUE_LO, PR_TM_PUSH_QUEUE_WIDTH);
    struct fwrig_push *push = &port->push[port->pushes % FWRIG_PUSHES];

    check(port->held[queue] + port->foreign[queue] < 2, "push to a full queue");
    check(port->tm[PR_TM_TQ_EN / 4] & PR_TM_TQ_EN_ON, "push to queues that are off");
    check(port->tq[queue][PR_TQ_STATUS / 4] == PR_TQ_STATUS_IN_USE, "push to a queue that is not in use");
    if (!port->drop_pushes)
        port->network[queue][port->held[queue]++] =
            pr_bits_get(port->tq[queue][PR_TQ_NID1 / 4], PR_TQ_NID_LO, PR_TQ_NID_WIDTH);
    *push = (struct fwrig_push){.queue = queue,
                                .priority = value & 0xff,
                                .address = port->tm[PR_TM_REQ_ADDR / 4],
                                .info = port->tm[PR_TM_REQ_INFO / 4]};
    memcpy(push->file, port->tq[queue], sizeof(push->file));
    port->pushes++;
}

static uint32_t tm_read(struct rt_port *port, uint32_t offset)
{
    if (offset >= PR_TM_IRQ0_COUNT && offset <= PR_TM_IRQ0_UNK2)
        return event_read(port, 0, offset - PR_TM_IRQ0_COUNT);
    if (offset >= PR_TM_IRQ1_COUNT && offset <= PR_TM_IRQ1_UNK2)
        return event_read(port, 1, offset - PR_TM_IRQ1_COUNT);
    if (offset == PR_TM_ERROR1)
        return port->error1;
    if (offset == PR_TM_ERROR2)
        return port->error2;
    if (offset == PR_TM_STATUS) {
        for (unsigned i = 0; i < PR_TQ_COUNT; i++)
            if (port->held[i] || port->foreign[i])
                return 0;
        return PR_TM_STATUS_IDLE;
    }
    return port->tm[offset / 4];
}

static void tm_write(struct rt_port *port, uint32_t offset, uint32_t value)
{
    port->tm[offset / 4] = value;
    switch (offset) {
    case PR_TM_REQ_PUSH: latch(port, value); break;
    case PR_TM_ERROR1: port->error1 = port->error2 = PR_TM_ERROR_FINE; break;
    case PR_TM_ABORT:
        port->aborted |= value;
        for (unsigned i = 0; i < PR_TQ_COUNT; i++)
            if (value >> i & 1 && !port->keep_aborted)
                port->held[i] = port->foreign[i] = 0;
        break;
    }
}

static uint32_t reg_read(struct rt_port *port, uint32_t offset)
{
    if (offset >= PR_CTRL_SCRATCH(0) && offset < PR_CTRL_SCRATCH(PR_SCRATCH_COUNT))
        return port->scratch[(offset - PR_CTRL_SCRATCH(0)) / 4];
    if (offset >= PR_ENGINE_TM && offset < PR_ENGINE_TM + 0x100)
        return tm_read(port, offset - PR_ENGINE_TM);
    if (offset >= PR_ENGINE_TQ && offset < PR_ENGINE_TQ + PR_TQ_COUNT * PR_TQ_STRIDE) {
        const uint32_t queue = (offset - PR_ENGINE_TQ) / PR_TQ_STRIDE,
                       reg = (offset - PR_ENGINE_TQ) % PR_TQ_STRIDE;

        if (reg == PR_TQ_VACANT)
            return 2 - port->held[queue] - port->foreign[queue];
        return port->tq[queue][reg / 4];
    }
    switch (offset) {
    case PR_CTRL_DOORBELL_PENDING: return port->doorbell_pending;
    case PR_CTRL_HOST_PENDING: return port->host_pending;
    case PR_CTRL_CHIP_REVISION: return FWRIG_REVISION;
    default: check(false, "read of no register"); return 0;
    }
}

/* A full history begins again. */
static void remember(struct rt_port *port, enum fwrig_fabric_kind kind, uint32_t bits)
{
    if (port->history_count == FWRIG_FABRIC)
        port->history_count = 0;
    port->history[port->history_count++] = (struct fwrig_fabric){kind, bits, port->cpu.masked};
}

static void host_store(struct rt_port *port, uint32_t bits)
{
    remember(port, FWRIG_STORE, bits);
    if (port->uncorrectable)
        port->fabric |= PR_FABRIC_UNCORRECTABLE;
    if (port->fabric & PR_FABRIC_WINDOW || port->rejects) {
        port->rejects -= port->rejects != 0;
        port->fabric |= PR_FABRIC_REJECT;
        return;
    }
    port->host_pending |= bits;
    port->rang |= bits;
}

static void reg_write(struct rt_port *port, uint32_t offset, uint32_t value, bool host)
{
    if (offset >= PR_CTRL_SCRATCH(0) && offset < PR_CTRL_SCRATCH(PR_SCRATCH_COUNT)) {
        const uint32_t number = (offset - PR_CTRL_SCRATCH(0)) / 4;

        port->scratch[number] = value;
        if (host && (number == 3 || number == 7))
            port->cpu.pending |= 1ull << FW_LINE_DOORBELL;
        return;
    }
    if (offset >= PR_ENGINE_TM && offset < PR_ENGINE_TM + 0x100) {
        tm_write(port, offset - PR_ENGINE_TM, value);
        return;
    }
    if (offset >= PR_ENGINE_TQ && offset < PR_ENGINE_TQ + PR_TQ_COUNT * PR_TQ_STRIDE) {
        const uint32_t queue = (offset - PR_ENGINE_TQ) / PR_TQ_STRIDE,
                       reg = (offset - PR_ENGINE_TQ) % PR_TQ_STRIDE;

        port->tq[queue][reg / 4] = value;
        return;
    }
    switch (offset) {
    case PR_CTRL_DOORBELL:
        port->doorbell_pending |= value;
        port->cpu.pending |= 1ull << FW_LINE_DOORBELL;
        break;
    case PR_CTRL_DOORBELL_ACK: port->doorbell_pending &= ~value; break;
    case PR_CTRL_HOST_DOORBELL: host_store(port, value); break;
    case PR_CTRL_HOST_ACK: port->host_pending &= ~value; break;
    default: check(false, "write to no register"); break;
    }
}

uint32_t fwrig_read(struct fwrig *rig, uint32_t offset)
{
    return reg_read(port_of(rig), offset);
}

void fwrig_write(struct fwrig *rig, uint32_t offset, uint32_t value)
{
    reg_write(port_of(rig), offset, value, true);
}

/* ---- the port ---- */

/* A power-state register follows its target at once. NULL: not one of them. */
static uint32_t *power_word(struct rt_port *port, uint64_t address)
{
    const uint64_t domain = (address - FWRIG_PMU) / PR_PMU_STRIDE;

    return address >= FWRIG_PMU && domain < PR_PMU_DOMAINS && address % PR_PMU_STRIDE == 0
               ? &port->power[domain]
               : NULL;
}

uint32_t rt_port_read32(struct rt_port *port, uint64_t address)
{
    const uint32_t *word = power_word(port, address);

    flip(port);
    take_exception(port);
    hostcpu_deliver(&port->cpu);
    port->power_reads += word != NULL;
    if (word)
        return *word;
    port->accesses++;
    return reg_read(port, (uint32_t)(address - FWRIG_CONTAINER));
}

static void gpu_store(struct rt_port *port, uint32_t value)
{
    remember(port, FWRIG_STORE, value);
    if (!(port->fabric & PR_FABRIC_WINDOW) && value == 1)
        port->gpu_rings++;
}

void rt_port_write32(struct rt_port *port, uint64_t address, uint32_t value)
{
    uint32_t *word = power_word(port, address);

    flip(port);
    port->accesses++;
    if (word)
        *word = (value & ~0xffu) | (value & 0xf) << 4 | (value & 0xf);
    else if (address == PR_GPU_DOORBELL)
        gpu_store(port, value);
    else
        reg_write(port, (uint32_t)(address - FWRIG_CONTAINER), value, false);
    hostcpu_deliver(&port->cpu);
}

void rt_port_write_words(struct rt_port *port, uint64_t address, const uint32_t *value, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        rt_port_write32(port, address + 4ull * i, value[i]);
}

uint64_t rt_port_read64(struct rt_port *port, uint64_t address)
{
    return rt_port_read32(port, address) | (uint64_t)rt_port_read32(port, address + 4) << 32;
}

void rt_port_write64(struct rt_port *port, uint64_t address, uint64_t value)
{
    rt_port_write32(port, address, (uint32_t)value);
    rt_port_write32(port, address + 4, (uint32_t)(value >> 32));
}

/* Those that only hold what was written. */
static uint64_t *plain_sysreg(struct rt_port *port, uint32_t id)
{
    static const uint32_t ids[FWRIG_SYSREGS] = {PR_SYSREG_L2C_ERR_ADR, PR_SYSREG_L2C_ERR_INF,
                                                PR_SYSREG_LSU_ERR_STS, PR_SYSREG_FED_ERR_STS,
                                                PR_SYSREG_MMU_ERR_STS, PR_SYSREG_PWR_DN_SAVE};

    for (unsigned i = 0; i < FWRIG_SYSREGS; i++)
        if (ids[i] == id)
            return &port->sysreg[i];
    check(false, "no such system register");
    return NULL;
}

uint64_t rt_port_sysreg_read(struct rt_port *port, uint32_t id)
{
    switch (id) {
    case PR_SYSREG_L2C_ERR_STS: go_inside(port); return port->fabric;
    case PR_SYSREG_CBAR: return FWRIG_CONTAINER;
    case PR_SYSREG_MPIDR: return 0;
    default: return *plain_sysreg(port, id);
    }
}

void rt_port_sysreg_write(struct rt_port *port, uint32_t id, uint64_t value)
{
    const uint64_t changed = port->fabric ^ value;

    if (id != PR_SYSREG_L2C_ERR_STS) {
        *plain_sysreg(port, id) = value;
        return;
    }
    port->fabric = value;
    if (changed & PR_FABRIC_WINDOW)
        remember(port, value & PR_FABRIC_WINDOW ? FWRIG_WINDOW_CLOSED : FWRIG_WINDOW_OPENED, 0);
}

void rt_port_irq_raise(struct rt_port *port, unsigned line)
{
    port->cpu.pending |= 1ull << line;
}

size_t rt_port_call_stack(struct rt_port *port, uint64_t *frame, size_t most)
{
    (void)port;
    (void)frame;
    (void)most;
    return 0;
}

/* Remembered only inside a guard. */
void rt_port_barrier(struct rt_port *port)
{
    flip(port);
    if (!(port->fabric & PR_FABRIC_WINDOW))
        remember(port, FWRIG_BARRIER, 0);
}

uint32_t rt_port_irq_mask(struct rt_port *port)
{
    flip(port);
    return hostcpu_mask(&port->cpu);
}

void rt_port_wait(struct rt_port *port)
{
    flip(port);
    hostcpu_wait(&port->cpu);
}

uint64_t rt_port_now(struct rt_port *port)
{
    flip(port);
    return port->cpu.now;
}

static bool overlaps(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

void *rt_port_window(struct rt_port *port, uint64_t address, size_t bytes)
{
    flip(port);
    if (address < FWRIG_BASE || bytes > FWRIG_BYTES || address - FWRIG_BASE > FWRIG_BYTES - bytes)
        return NULL;
    if (port->hole_bytes && overlaps(address, bytes, port->hole, port->hole_bytes))
        return NULL;
    if (port->flip_bytes && overlaps(address, bytes, port->flip, port->flip_bytes)) {
        port->flip_window = address;
        port->flip_window_bytes = bytes;
    }
    return port->memory + (address - FWRIG_BASE);
}

void rt_port_fault(struct rt_port *port, const struct rt_fault *fault)
{
    memcpy(port->fault, fault->text, sizeof(port->fault));
    hostcpu_leave(&port->cpu, FWRIG_FAULTED);
    abort();
}

void rt_port_halt(struct rt_port *port)
{
    hostcpu_leave(&port->cpu, FWRIG_HALTED);
    abort();
}

/* ---- fabric ---- */

void fwrig_reject(struct fwrig *rig, unsigned count)
{
    port_of(rig)->rejects = count;
}

void fwrig_uncorrectable(struct fwrig *rig)
{
    port_of(rig)->uncorrectable = true;
}

uint64_t fwrig_fabric_get(const struct fwrig *rig)
{
    return port_of(rig)->fabric;
}

void fwrig_fabric_set(struct fwrig *rig, uint64_t value)
{
    port_of(rig)->fabric = value;
}

unsigned fwrig_gpu_rings(const struct fwrig *rig)
{
    return port_of(rig)->gpu_rings;
}

uint32_t fwrig_power(const struct fwrig *rig, unsigned domain)
{
    return port_of(rig)->power[domain];
}

size_t fwrig_fabric_count(const struct fwrig *rig)
{
    return port_of(rig)->history_count;
}

const struct fwrig_fabric *fwrig_fabric_at(const struct fwrig *rig, size_t i)
{
    check(i < port_of(rig)->history_count, "no such event on the fabric");
    return &port_of(rig)->history[i];
}

bool fwrig_fabric_guarded(const struct fwrig *rig)
{
    static const enum fwrig_fabric_kind order[] = {FWRIG_WINDOW_OPENED, FWRIG_STORE, FWRIG_BARRIER,
                                                   FWRIG_WINDOW_CLOSED};
    const struct rt_port *port = port_of(rig);

    for (size_t i = 0; i < port->history_count; i++)
        if (port->history[i].kind != order[i % 4] || !port->history[i].masked)
            return false;
    return port->history_count % 4 == 0;
}

/* ---- task manager ---- */

size_t fwrig_pushes(const struct fwrig *rig)
{
    return port_of(rig)->pushes;
}

const struct fwrig_push *fwrig_push_at(const struct fwrig *rig, size_t i)
{
    check(i < port_of(rig)->pushes && port_of(rig)->pushes - i <= FWRIG_PUSHES, "no such push");
    return &port_of(rig)->push[i % FWRIG_PUSHES];
}

uint32_t fwrig_aborted(const struct fwrig *rig)
{
    return port_of(rig)->aborted;
}

void fwrig_set_error(struct fwrig *rig, uint32_t error1, uint32_t error2)
{
    port_of(rig)->error1 = error1;
    port_of(rig)->error2 = error2;
}

void fwrig_keep_aborted(struct fwrig *rig, bool keep)
{
    port_of(rig)->keep_aborted = keep;
}

void fwrig_drop_pushes(struct fwrig *rig)
{
    port_of(rig)->drop_pushes = true;
}

void fwrig_occupy(struct fwrig *rig, unsigned queue, unsigned requests)
{
    port_of(rig)->foreign[queue] = requests;
}

void fwrig_retire(struct fwrig *rig, unsigned queue, uint32_t code, bool raise)
{
    struct rt_port *port = port_of(rig);
    const uint32_t network = port->network[queue][0], kind = code ? 0x0d : 0x05;

    if (port->held[queue]) {
        port->held[queue]--;
        port->network[queue][0] = port->network[queue][1];
    }
    for (unsigned line = 0; line < 2; line++) {
        check(port->events[line] < EVENTS, "too many events");
        port->event[line][port->events[line]++] =
            (struct fwrig_end_event){kind << 24 | network << 16, code << 8 | queue};
    }
    if (raise)
        port->cpu.pending |= 1ull << FW_LINE_ENGINE;
}
