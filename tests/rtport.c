/* SPDX-License-Identifier: Apache-2.0 */
/* A port of the real-time kernel for tests. */
#include "rtport.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/context.h"
#include "rtkernel/status.h"

_Static_assert(sizeof(struct host_context) <= sizeof(struct rt_context), "a host context fits");

#define BOOT_STACK  (256u << 10)
#define STACK_EXTRA (32u << 10) /* printf, and the sanitizers' frames */
#define RAISES      1024u
#define TIMER_BIT   (1ull << RT_IRQ_TIMER)

struct rt_port {
    struct rt_boot boot;
    struct rt_kernel *kernel;
    struct host_context host;     /* the test's own stack */
    struct host_context booting;  /* the boot code's */
    struct host_context *running; /* inside */
    void *boot_stack;
    void (*setup)(struct rt_kernel *kernel, void *arg);
    void *setup_arg;

    bool masked;
    uint64_t pending; /* a bit per line */
    uint64_t now, limit;
    uint64_t timer;
    struct {
        uint64_t time;
        unsigned line;
    } raise[RAISES];
    unsigned raises;

    enum rtport_end end;
    struct rt_fault fault;
    int contexts;
    const void *last_stack;
    uint64_t reg[RTPORT_REGISTERS];
    uint32_t doorbells;
    uint64_t fabric;
    uint8_t shared[RTPORT_SHARED_BYTES];
    char log[16384];
    size_t logged;
};

static void check(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "rtport: %s\n", what);
        abort();
    }
}

struct rt_port *rtport_create(size_t carve_out, size_t framework)
{
    struct rt_port *port = calloc(1, sizeof(*port));

    check(port, "no memory");
    port->boot_stack = malloc(BOOT_STACK);
    port->boot = (struct rt_boot){.base = aligned_alloc(4096, (carve_out + 4095) & ~(size_t)4095),
                                  .bytes = carve_out,
                                  .framework_bytes = framework,
                                  .stack_extra = STACK_EXTRA,
                                  .log_level = RT_LOG_DEBUG,
                                  .port = port};
    check(port->boot_stack && port->boot.base, "no memory");
    memset(port->boot.base, 0x5c, carve_out); /* boot may not rely on what is there */
    port->masked = true;
    return port;
}

void rtport_destroy(struct rt_port *port)
{
    if (port->kernel)
        rt_kernel_close(port->kernel);
    host_context_drop(&port->booting);
    free(port->boot.base);
    free(port->boot_stack);
    free(port);
}

struct rt_boot *rtport_boot_arguments(struct rt_port *port)
{
    return &port->boot;
}

static void boot(void *arg)
{
    struct rt_port *port = arg;

    check(!rt_kernel_boot(&port->boot, &port->kernel, NULL), port->log);
    port->setup(port->kernel, port->setup_arg);
    rt_kernel_start(port->kernel);
}

/* Masked while outside: a kernel call made from there must not switch the test's own stack away. */
static void leave(struct rt_port *port, enum rtport_end end)
{
    const bool masked = port->masked;

    port->end = end;
    port->masked = true;
    host_context_switch(port->running, &port->host);
    port->masked = masked;
}

enum rtport_end rtport_start(struct rt_port *port, void (*setup)(struct rt_kernel *kernel, void *arg),
                             void *arg, uint64_t until)
{
    port->setup = setup;
    port->setup_arg = arg;
    host_context_make(&port->booting, port->boot_stack, BOOT_STACK, boot, port);
    port->running = &port->booting;
    return rtport_run(port, until);
}

enum rtport_end rtport_run(struct rt_port *port, uint64_t until)
{
    check(port->end == RTPORT_IDLE, "run after the end");
    port->limit = until;
    host_context_switch(&port->host, port->running);
    return port->end;
}

struct rt_kernel *rtport_kernel(struct rt_port *port)
{
    return port->kernel;
}

void rtport_raise(struct rt_port *port, unsigned line)
{
    port->pending |= 1ull << line;
}

void rtport_raise_at(struct rt_port *port, uint64_t time, unsigned line)
{
    check(port->raises < RAISES, "too many raises");
    port->raise[port->raises].time = time;
    port->raise[port->raises++].line = line;
}

void rtport_spend(struct rt_port *port, uint64_t nanoseconds)
{
    port->now += nanoseconds;
}

uint64_t rtport_now(const struct rt_port *port)
{
    return port->now;
}

uint64_t rtport_timer(const struct rt_port *port)
{
    return port->timer;
}

const struct rt_fault *rtport_fault(const struct rt_port *port)
{
    return &port->fault;
}

const char *rtport_log(const struct rt_port *port)
{
    return port->log;
}

int rtport_contexts(const struct rt_port *port)
{
    return port->contexts;
}

const void *rtport_last_stack(const struct rt_port *port)
{
    return port->last_stack;
}

/* What time has brought. */
static void catch_up(struct rt_port *port)
{
    if (port->timer && port->now >= port->timer) {
        port->timer = 0;
        port->pending |= TIMER_BIT;
    }
    for (unsigned i = 0; i < port->raises;) {
        if (port->now < port->raise[i].time) {
            i++;
            continue;
        }
        port->pending |= 1ull << port->raise[i].line;
        port->raise[i] = port->raise[--port->raises];
    }
}

static uint64_t next_event(const struct rt_port *port)
{
    uint64_t next = port->timer ? port->timer : RT_FOREVER;

    for (unsigned i = 0; i < port->raises; i++) {
        if (port->raise[i].time < next)
            next = port->raise[i].time;
    }
    return next;
}

/* A handler may make another task run: this returns when the interrupted one is back. */
static void deliver(struct rt_port *port)
{
    catch_up(port);
    while (!port->masked && port->pending) {
        const unsigned line = (unsigned)__builtin_ctzll(port->pending);

        port->pending &= port->pending - 1;
        port->masked = true;
        rt_kernel_interrupt(port->kernel, line);
        port->masked = false;
        catch_up(port);
    }
}

uint32_t rt_port_read32(struct rt_port *port, uint64_t address)
{
    return (uint32_t)rt_port_read64(port, address);
}

void rt_port_write32(struct rt_port *port, uint64_t address, uint32_t value)
{
    rt_port_write64(port, address, value);
}

uint64_t rt_port_read64(struct rt_port *port, uint64_t address)
{
    uint64_t value;

    deliver(port);
    if (address == RTPORT_DOORBELL)
        return port->doorbells;
    check(address / 8 < RTPORT_REGISTERS, "read of no register");
    value = port->reg[address / 8];
    return value;
}

void rt_port_write64(struct rt_port *port, uint64_t address, uint64_t value)
{
    if (address == RTPORT_DOORBELL) {
        port->doorbells++;
        rtport_raise(port, (unsigned)value);
    } else {
        check(address / 8 < RTPORT_REGISTERS, "write to no register");
        port->reg[address / 8] = value;
    }
    deliver(port);
}

uint64_t rt_port_sysreg_read(struct rt_port *port, uint32_t id)
{
    check(id == RT_SYSREG_S3_3_C15_C8_0, "read of no system register");
    return port->fabric;
}

void rt_port_sysreg_write(struct rt_port *port, uint32_t id, uint64_t value)
{
    check(id == RT_SYSREG_S3_3_C15_C8_0, "write to no system register");
    port->fabric = value;
}

void rt_port_barrier(struct rt_port *port)
{
    (void)port;
}

uint32_t rt_port_irq_mask(struct rt_port *port)
{
    const uint32_t previous = port->masked;

    port->masked = true;
    return previous;
}

void rt_port_irq_restore(struct rt_port *port, uint32_t previous)
{
    port->masked = previous;
    if (!previous)
        deliver(port);
}

void rt_port_wait(struct rt_port *port)
{
    for (;;) {
        const uint64_t next = next_event(port);

        if (port->pending)
            break;
        if (next <= port->limit && next != RT_FOREVER) {
            port->now = next > port->now ? next : port->now;
            catch_up(port);
            continue;
        }
        if (port->limit != RT_FOREVER && port->limit > port->now)
            port->now = port->limit;
        leave(port, RTPORT_IDLE);
    }
    if (port->masked)
        port->pending = 0;
    deliver(port);
}

static struct host_context *inside(struct rt_context *context)
{
    return (struct host_context *)(void *)context;
}

void rt_port_context_make(struct rt_port *port, struct rt_context *context, void *stack, size_t bytes,
                          void (*entry)(void *arg), void *arg)
{
    port->contexts++;
    port->last_stack = stack;
    host_context_make(inside(context), stack, bytes, entry, arg);
}

void rt_port_context_switch(struct rt_port *port, struct rt_context *from, struct rt_context *to)
{
    check(port->masked, "switch with interrupts enabled");
    port->running = inside(to);
    host_context_switch(inside(from), inside(to));
}

void rt_port_context_drop(struct rt_port *port, struct rt_context *context)
{
    port->contexts--;
    host_context_drop(inside(context));
}

uint64_t rt_port_now(struct rt_port *port)
{
    return port->now;
}

void rt_port_timer_set(struct rt_port *port, uint64_t deadline)
{
    port->timer = deadline;
}

void *rt_port_window(struct rt_port *port, uint64_t address, size_t bytes)
{
    if (address < RTPORT_SHARED || bytes > RTPORT_SHARED_BYTES ||
        address - RTPORT_SHARED > RTPORT_SHARED_BYTES - bytes)
        return NULL;
    return port->shared + (address - RTPORT_SHARED);
}

static void keep_line(struct rt_port *port, const char *line, size_t length)
{
    check(line[length] == '\0', "a line without its end");
    if (port->logged + length + 2 > sizeof(port->log))
        return;
    memcpy(port->log + port->logged, line, length);
    port->logged += length;
    port->log[port->logged++] = '\n';
    port->log[port->logged] = '\0';
}

void rt_port_log(struct rt_port *port, const struct rt_port_line *line)
{
    char whole[RT_LOG_WIDTH];

    snprintf(whole, sizeof(whole), "%s %s: %s", line->level, line->origin, line->text);
    check(!strcmp(whole, line->line), "a line that is not made of its parts");
    keep_line(port, line->line, line->length);
}

void rt_port_refuse(struct rt_port *port, const char *text, size_t length)
{
    keep_line(port, text, length);
}

_Noreturn void rt_port_fault(struct rt_port *port, const struct rt_fault *fault)
{
    port->fault = *fault;
    leave(port, RTPORT_FAULTED);
    abort();
}

_Noreturn void rt_port_halt(struct rt_port *port)
{
    leave(port, RTPORT_HALTED);
    abort();
}
