/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port of the native core (rtkernel/port.h): everything that the firmware can reach goes through here, to
 * the bus, the DART, the system registers and the clock. Interrupts and exceptions are taken at register
 * accesses, at unmask and while waiting.
 */
#include <inttypes.h>
#include <stdio.h>

#include "machine/cpu.h"
#include "machine/mark.h"
#include "rtkernel/irq.h"
#include "rtkernel/kernel.h"
#include "rtkernel/port.h"
#include "rtkernel/task.h"

_Static_assert(sizeof(struct host_context) <= sizeof(struct rt_context), "a host context fits");

#define FIRMWARE_STREAM 0u
#define PSTATE_EL1H     0x5u
#define PSTATE_I        0x80u

static void deliver(struct rt_port *port)
{
    while (port->pending && !port->masked) {
        unsigned line = (unsigned)__builtin_ctzll(port->pending);

        port->pending &= port->pending - 1;
        port->masked = true;
        rt_kernel_interrupt(mach_cpu_kernel(port), line);
        port->masked = false;
    }
}

/* The processor does not go on from here; a restart drops this stack. */
static _Noreturn void stay(struct rt_port *port)
{
    port->stopped = true;
    for (;;)
        mach_cpu_leave(port);
}

/* In the carve-out as others see it; 0 on another stack. */
static uint64_t stack_address(const struct rt_port *port, const void *frame)
{
    const uintptr_t base = (uintptr_t)port->carveout.memory, at = (uintptr_t)frame;

    return at >= base && at - base < port->carveout.bytes ? port->carveout.address + (at - base) : 0;
}

static uint64_t image_offset(const void *code)
{
    return (uint64_t)(uintptr_t)code - (uint64_t)(uintptr_t)fw_reset_vector;
}

struct exception {
    enum rt_fault_class fault_class;
    const void *at; /* the firmware's instruction */
    uint64_t esr, far;
    const char *text;
};

/*
 * The processor takes an exception. Before there is a kernel it has no handler. The registers are the
 * host's and say nothing, except for those that have a meaning on the controller: addresses are relative to
 * the reset vector and to the carve-out.
 */
static _Noreturn void take_exception(struct rt_port *port, const struct exception *e)
{
    const struct rt_registers registers = {
        .sp = stack_address(port, __builtin_frame_address(0)),
        .pc = image_offset(e->at),
        .pstate = PSTATE_EL1H | (port->masked ? PSTATE_I : 0),
        .esr = e->esr,
        .far = e->far,
    };
    struct rt_fault fault = {.fault_class = e->fault_class, .has_registers = true, .registers = registers};

    if (port->kernel_made)
        rt_kernel_exception(mach_cpu_kernel(port), e->fault_class, &registers, e->text);
    snprintf(fault.text, sizeof(fault.text), "%s", e->text);
    rt_port_fault(port, &fault);
}

/* An error that the processor reports asynchronously has a syndrome, an interrupt has none. */
static _Noreturn void take_injected(struct rt_port *port, const void *at)
{
    const enum rt_fault_class fault_class = port->injected.fault_class;
    const struct exception e = {
        .fault_class = fault_class,
        .at = at,
        .esr = fault_class == RT_FAULT_SYNC  ? PR_ESR(PR_EXCEPTION_UNKNOWN)
               : fault_class == RT_FAULT_NMI ? PR_ESR(PR_EXCEPTION_SERROR)
                                             : 0,
        .text = port->injected.text,
    };

    port->injected.due = false;
    take_exception(port, &e);
}

/*
 * The boundary between two instructions: the processor stops here if it has stopped itself, and takes
 * exceptions and interrupts.
 */
static __attribute__((noinline)) void take_pending(struct rt_port *port, const void *at)
{
    if (port->order != MACH_ORDER_NONE)
        stay(port);
    if (port->injected.due)
        take_injected(port, at);
    deliver(port);
}

static inline void end_access(struct rt_port *port, const void *at)
{
    if (port->pending || port->order != MACH_ORDER_NONE || port->injected.due)
        take_pending(port, at);
}

uint32_t rt_port_read32(struct rt_port *port, uint64_t address)
{
    uint32_t value = soc_bus_read32(port->machine->bus, SOC_MASTER_CONTROLLER, address);

    end_access(port, __builtin_return_address(0));
    return value;
}

void rt_port_write32(struct rt_port *port, uint64_t address, uint32_t value)
{
    soc_controller_store(&port->machine->controller, address, value);
    end_access(port, __builtin_return_address(0));
}

void rt_port_write_words(struct rt_port *port, uint64_t address, const uint32_t *value, uint32_t count)
{
    if (soc_bus_write_words(port->machine->bus, SOC_MASTER_CONTROLLER, address, value, count)) {
        end_access(port, __builtin_return_address(0));
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        rt_port_write32(port, address + 4ull * i, value[i]);
}

uint64_t rt_port_read64(struct rt_port *port, uint64_t address)
{
    uint64_t low = soc_bus_read32(port->machine->bus, SOC_MASTER_CONTROLLER, address);

    return low | (uint64_t)rt_port_read32(port, address + 4) << 32;
}

void rt_port_write64(struct rt_port *port, uint64_t address, uint64_t value)
{
    soc_controller_store(&port->machine->controller, address, (uint32_t)value);
    if (port->order != MACH_ORDER_NONE)
        stay(port);
    rt_port_write32(port, address + 4, (uint32_t)(value >> 32));
}

/*
 * An access to a register that this processor does not have is trapped. The syndrome has op0, op2, op1, CRn
 * and CRm of the register, and bit 0 for a read.
 */
static _Noreturn void refuse_sysreg(struct rt_port *port, bool read, uint32_t id, const void *at)
{
    const uint32_t op0 = id >> 14, op1 = id >> 11 & 7, crn = id >> 7 & 15, crm = id >> 3 & 15, op2 = id & 7;
    char text[RT_TEXT_BYTES];
    const struct exception e = {
        .fault_class = RT_FAULT_SYNC,
        .at = at,
        .esr = PR_ESR(PR_EXCEPTION_SYSTEM_REGISTER) | (op0 & 3) << 20 | op2 << 17 | op1 << 14 | crn << 10 |
               crm << 1 | read,
        .text = text,
    };

    snprintf(text, sizeof(text), "%s system register S%u_%u_C%u_C%u_%u, which this processor does not have",
             read ? "read of" : "write to", op0, op1, crn, crm, op2);
    take_exception(port, &e);
}

uint64_t rt_port_sysreg_read(struct rt_port *port, uint32_t id)
{
    uint64_t value;

    if (!soc_controller_sysreg_read(&port->machine->controller, id, &value))
        refuse_sysreg(port, true, id, __builtin_return_address(0));
    return value;
}

void rt_port_sysreg_write(struct rt_port *port, uint32_t id, uint64_t value)
{
    if (!soc_controller_sysreg_write(&port->machine->controller, id, value))
        refuse_sysreg(port, false, id, __builtin_return_address(0));
}

/* The devices are this thread: program order is theirs. Others see memory after what released it. */
void rt_port_barrier(struct rt_port *port)
{
    (void)port;
    atomic_thread_fence(memory_order_acq_rel);
}

uint32_t rt_port_irq_mask(struct rt_port *port)
{
    bool was = port->masked;

    port->masked = true;
    return was;
}

void rt_port_irq_restore(struct rt_port *port, uint32_t previous)
{
    port->masked = previous;
    end_access(port, __builtin_return_address(0));
}

void rt_port_irq_raise(struct rt_port *port, unsigned line)
{
    mach_cpu_raise(port, line);
}

size_t rt_port_call_stack(struct rt_port *port, uint64_t *frame, size_t most)
{
    size_t count;

    if (!port->inside)
        return 0;
    count = host_context_frames(port->running, __builtin_frame_address(0), frame, most);
    for (size_t i = 0; i < count; i++)
        frame[i] -= (uint64_t)(uintptr_t)fw_reset_vector;
    return count;
}

/* The fault of a processor whose memory was changed by others. */
static _Noreturn void fail_damaged(struct rt_port *port, const void *at)
{
    char text[RT_TEXT_BYTES];
    const struct exception e = {
        .fault_class = RT_FAULT_SYNC,
        .at = at,
        .esr = PR_ESR(PR_EXCEPTION_DATA_ABORT) | PR_ESR_EXTERNAL_ABORT,
        .far = port->damage,
        .text = text,
    };

    snprintf(text, sizeof(text), "the firmware's carve-out was changed from outside at 0x%" PRIx64,
             port->damage);
    take_exception(port, &e);
}

void rt_port_wait(struct rt_port *port)
{
    while (!port->pending && !port->injected.due) {
        mach_cpu_leave(port);
        if (port->damage)
            fail_damaged(port, __builtin_return_address(0));
    }
    if (port->injected.due)
        take_injected(port, __builtin_return_address(0));
    /* Before the kernel runs there is no handler to call: the interrupt only ends the wait. */
    if (port->masked)
        port->pending = 0;
    deliver(port);
}

void rt_port_context_make(struct rt_port *port, struct rt_context *context, void *stack, size_t bytes,
                          void (*entry)(void *arg), void *arg)
{
    port->kernel_made = true;
    host_context_make((struct host_context *)context, stack, bytes, entry, arg);
    mach_carveout_guard(&port->carveout, stack, bytes, true);
}

void rt_port_context_switch(struct rt_port *port, struct rt_context *from, struct rt_context *to)
{
    struct host_context *leaving = port->running == &port->boot ? &port->boot : (struct host_context *)from;

    /* Traced before the change: delivering a line switches away from the stack that is in use. */
    SOC_TRACE(&port->machine->trace, FW_RUN, rt_task_name(rt_task_current(mach_cpu_kernel(port))));
    port->running = (struct host_context *)to;
    host_context_switch(leaving, port->running);
}

void rt_port_context_drop(struct rt_port *port, struct rt_context *context)
{
    struct host_context *host = (struct host_context *)context;

    mach_carveout_guard(&port->carveout, host->stack, host->bytes, false);
    host_context_drop(host);
}

uint64_t rt_port_now(struct rt_port *port)
{
    return soc_clock_now(port->machine->clock);
}

static void timer_fired(void *context)
{
    struct rt_port *port = context;

    port->timer = 0;
    mach_cpu_raise(port, RT_IRQ_TIMER);
}

void rt_port_timer_set(struct rt_port *port, uint64_t deadline)
{
    uint64_t now = rt_port_now(port);

    soc_clock_cancel(port->machine->clock, port->timer);
    port->timer = 0;
    if (deadline)
        port->timer = soc_clock_after(port->machine->clock, deadline > now ? deadline - now : 0,
                                      SOC_EVENT_FOREGROUND, timer_fired, port);
}

/* What is in a window of the DART may be hidden for others, and is asked for each time. */
static __attribute__((noinline)) void *find_window(struct rt_port *port, struct mach_cpu_window *window,
                                                   uint64_t address, size_t bytes)
{
    struct dart *dart = port->machine->dart;
    struct dart_range range;

    if (dart_range_get(dart, DART_PORT_TASK, FIRMWARE_STREAM, address, bytes, DART_READ, &range))
        return NULL;
    if (range.host && !range.window)
        *window = (struct mach_cpu_window){dart_generation(dart), address, bytes, range.host};
    return range.host;
}

void *rt_port_window(struct rt_port *port, uint64_t address, size_t bytes)
{
    struct mach_cpu_window *window =
        &port->window[(uint32_t)((address + bytes) * 0x9e3779b97f4a7c15ull >> 32) % MACH_CPU_WINDOWS];

    if (window->address == address && window->bytes == bytes && window->generation &&
        window->generation == dart_generation(port->machine->dart))
        return window->host;
    return find_window(port, window, address, bytes);
}

void rt_port_log(struct rt_port *port, const struct rt_port_line *line)
{
    SOC_TRACE(&port->machine->trace, FW_LOG, line->level, line->origin, line->text);
}

void rt_port_mark(struct rt_port *port, uint32_t code, const uint64_t *word, size_t words)
{
    mach_mark(port->machine, code, word, words);
}

void rt_port_refuse(struct rt_port *port, const char *text, size_t length)
{
    (void)length;
    SOC_TRACE(&port->machine->trace, FW_REFUSED, text);
}

void rt_port_fault(struct rt_port *port, const struct rt_fault *fault)
{
    SOC_TRACE(&port->machine->trace, FW_FAULT, (unsigned)fault->fault_class, fault->task, fault->text);
    stay(port);
}

void rt_port_halt(struct rt_port *port)
{
    SOC_TRACE(&port->machine->trace, FW_HALT);
    stay(port);
}
