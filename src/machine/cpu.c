/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the controller's processor on this host: it is started at the reset vector, entered by an event
 * of the clock when an interrupt is pending, and left when it waits. The native core runs the firmware on
 * stacks of its own (native.c), the emulated one executes the image (emulated.c).
 */
#include "machine/cpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "protocol/timing.h"
#include "rtkernel/kernel.h"
#include "rtkernel/port.h"

/*
 * Added to the firmware's own stack sizes: the model's code below a register access, and a signal handler of
 * the process above it.
 */
#define MODEL_STACK  (48u << 10)
#define SIGNAL_STACK (128u << 10) /* what docs/caveats.md promises */
/* What a slice of an emulated core takes when it does not wait: 10 ns for each instruction (chosen). */
#define SLICE_NS (10ull * MACH_EMULATED_SLICE)

static void enter_firmware(void *context);

static void schedule_after(struct rt_port *port, uint64_t ns)
{
    if (port->stopped || port->inside || port->wake)
        return;
    port->wake = soc_clock_after(port->machine->clock, ns, SOC_EVENT_FOREGROUND, enter_firmware, port);
}

static void schedule(struct rt_port *port)
{
    schedule_after(port, PR_TIMING_CONTROLLER_NS);
}

void mach_cpu_raise(struct rt_port *port, unsigned line)
{
    port->pending |= 1ull << line;
    schedule(port);
}

static void run_reset_vector(void *arg)
{
    struct rt_port *port = arg;

    fw_reset_vector(&port->reset);
}

static void stop(struct rt_port *port)
{
    struct soc_clock *clock = port->machine->clock;

    soc_clock_cancel(clock, port->wake);
    soc_clock_cancel(clock, port->timer);
    port->wake = port->timer = 0;
    if (port->kernel_made) {
        port->used = rt_kernel_extent(mach_cpu_kernel(port));
        rt_kernel_close(mach_cpu_kernel(port));
    }
    if (port->running)
        host_context_drop(&port->boot);
    port->kernel_made = false;
    port->running = NULL;
    port->stopped = true;
}

/* What the processor's ROM checks: the vector is the entry of the image, and memory holds the image. */
static bool image_is_there(const struct rt_port *port)
{
    const struct ane_machine *m = port->machine;
    uint64_t vector = m->controller.rvbar & ~(uint64_t)(PR_PAGE_BYTES - 1) & 0xffffffffffffull;

    return vector == img_image_vector(&m->core.image, m->image) &&
           img_image_is_at(&m->core.image, port->image);
}

static void refuse_image(const struct rt_port *port)
{
    struct ane_machine *m = port->machine;

    SOC_TRACE(&m->trace, ASC_NO_CODE, m->controller.rvbar);
    soc_bus_write32(m->bus, SOC_MASTER_CONTROLLER, m->board->container + PR_CTRL_SCRATCH(7),
                    PR_BOOT_REFUSED | PR_REFUSAL_IMAGE);
}

static void start_native(struct rt_port *port)
{
    port->reset.zeroed = !port->used; /* it never ran: all of it is as the host gave it */
    mach_carveout_clear(&port->carveout, port->used);
    port->used = port->carveout.bytes; /* until the kernel knows */
    host_context_make(&port->boot, port->carveout.stack, port->carveout.stack_bytes, run_reset_vector, port);
    port->running = &port->boot;
}

static bool start_emulated(struct rt_port *port)
{
    struct ane_machine *m = port->machine;

    memset(soc_memory_at(m->memory, m->carveout, m->carveout_bytes), 0,
           m->carveout_bytes - FW_RETAINED_BYTES);
    if (mach_emulated_reset(port->emulated, m->core.image.macho.entry))
        return true;
    SOC_TRACE(&m->trace, FW_REFUSED, "the host has no memory for the emulated core");
    return false;
}

/* At the reset vector, in a carve-out that is cleared up to the retained block. */
static void start(struct rt_port *port)
{
    struct ane_machine *m = port->machine;

    if (!image_is_there(port)) {
        refuse_image(port);
        return;
    }
    if (!port->emulated)
        start_native(port);
    else if (!start_emulated(port))
        return;
    port->masked = true;
    port->stopped = false;
    port->pending = 0;
    port->injected.due = false;
    soc_controller_sysreg_reset(&m->controller);
    schedule(port);
}

/*
 * A store of the firmware may stop the processor that executes it: that waits until enter_firmware is back.
 */
void mach_cpu_run(struct rt_port *port, bool run)
{
    if (port->inside) {
        port->order = run ? MACH_ORDER_START : MACH_ORDER_STOP;
        return;
    }
    stop(port);
    if (run)
        start(port);
}

/*
 * A trace function may need more stack than the firmware has: the trace is delivered from the stack of the
 * thread that drives.
 */
static void take_entry(void *context, const struct soc_trace_entry *entry)
{
    struct rt_port *port = context;

    if (!port->inside || port->emulated) {
        soc_trace_deliver(&port->machine->trace, entry);
        return;
    }
    port->entry = entry;
    mach_cpu_leave(port);
}

static bool pass_entry(struct rt_port *port)
{
    if (!port->entry)
        return false;
    soc_trace_deliver(&port->machine->trace, port->entry);
    port->entry = NULL;
    return true;
}

/* The firmware does not run; others may look at its memory. */
static void show_carveout(struct rt_port *port)
{
    mach_carveout_show(&port->carveout, port->kernel_made ? rt_kernel_extent(mach_cpu_kernel(port)) : 0);
}

/* A host address in the carve-out, or a DART entry for it, is about to be given out. */
static void carveout_seen(void *context)
{
    struct rt_port *port = context;

    if (port->carveout.exposed)
        return;
    port->carveout.exposed = true;
    show_carveout(port);
}

/* Carries out what a store of the firmware asked of its own processor. */
static void apply_order(struct rt_port *port)
{
    enum mach_cpu_order order = port->order;

    port->order = MACH_ORDER_NONE;
    mach_cpu_run(port, order == MACH_ORDER_START);
}

static void run_native(struct rt_port *port)
{
    do
        host_context_switch(&port->host, port->running);
    while (pass_entry(port));
}

/* Runs the firmware until it waits or stops. */
static void enter_firmware(void *context)
{
    struct rt_port *port = context;
    enum mach_emulated_end end = MACH_EMULATED_WAITS;

    port->wake = 0;
    if (port->stopped)
        return;
    if (port->carveout.exposed)
        port->damage = mach_carveout_changed(&port->carveout);
    port->inside = true;
    if (port->emulated)
        end = mach_emulated_run(port->emulated);
    else
        run_native(port);
    port->inside = false;
    port->stopped |= end == MACH_EMULATED_ENDED;
    if (port->order != MACH_ORDER_NONE)
        apply_order(port);
    else if (end == MACH_EMULATED_BUSY)
        schedule_after(port, SLICE_NS);
    else if (port->carveout.exposed)
        show_carveout(port);
}

static void emulated_raise(void *context, unsigned line)
{
    mach_cpu_raise(context, line);
}

static void emulated_timer_set(void *context, uint64_t deadline)
{
    rt_port_timer_set(context, deadline);
}

static bool emulated_stopped_itself(void *context)
{
    const struct rt_port *port = context;

    return port->order != MACH_ORDER_NONE;
}

/* The emulated core works in DRAM itself: its carve-out needs no second memory and is not watched. */
static int create_emulated(struct rt_port *port, struct base_error *error)
{
    const struct mach_emulated_calls calls = {
        .context = port,
        .pending = &port->pending,
        .raise = emulated_raise,
        .timer_set = emulated_timer_set,
        .stopped_itself = emulated_stopped_itself,
    };

    return mach_emulated_create(port->machine, &calls, &port->emulated, error);
}

int mach_cpu_create(struct ane_machine *m, struct base_error *error)
{
    struct rt_port *port = base_alloc(sizeof(*port));
    int status;

    if (!port)
        return base_fail(error, ENOMEM, "No memory for the controller.");
    m->cpu = port;
    port->machine = m;
    port->stopped = true;
    port->image = soc_memory_at(m->memory, m->image, PR_IMAGE_RUN_BYTES);
    soc_trace_divert(&m->trace, take_entry, port);
    if (m->core.emulated)
        return create_emulated(port, error);
    status = mach_carveout_create(&port->carveout, m->carveout,
                                  soc_memory_at(m->memory, m->carveout, m->carveout_bytes), m->carveout_bytes,
                                  FW_RETAINED_BYTES, error);
    if (status)
        return status;
    soc_memory_watch(m->memory, m->carveout, m->carveout_bytes, carveout_seen, port);
    port->reset = (struct fw_reset){
        .port = port,
        .carve_out = port->carveout.memory,
        .bytes = port->carveout.bytes - FW_RETAINED_BYTES,
        .retained = mach_carveout_retained(&port->carveout),
        .retained_bytes = FW_RETAINED_BYTES,
        .stack_extra = MODEL_STACK + SIGNAL_STACK + 2 * port->carveout.page, /* a whole page is the guard */
    };
    return 0;
}

void mach_cpu_destroy(struct rt_port *port)
{
    struct ane_machine *m;

    if (!port)
        return;
    m = port->machine;
    stop(port);
    soc_trace_divert(&m->trace, NULL, NULL);
    soc_memory_watch(m->memory, 0, 0, NULL, NULL);
    mach_carveout_destroy(&port->carveout);
    mach_emulated_destroy(port->emulated);
    base_free(port);
}

void mach_cpu_inject(struct ane_machine *m, unsigned fault_class, const char *text)
{
    struct rt_port *port = m->cpu;

    if (port->stopped || port->injected.due)
        return;
    if (port->emulated) {
        mach_emulated_inject(port->emulated, fault_class);
        schedule(port);
        return;
    }
    port->injected.due = true;
    port->injected.fault_class = (enum rt_fault_class)fault_class;
    snprintf(port->injected.text, sizeof(port->injected.text), "%s", text);
    schedule(port);
}

bool mach_cpu_alive(const struct rt_port *port)
{
    return !port->stopped;
}
