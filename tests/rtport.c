/* SPDX-License-Identifier: Apache-2.0 */
/* A port of the real-time kernel for tests. */
#include "rtport.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostcpu.h"

struct rt_port {
    struct hostcpu cpu;
    struct rt_boot boot;
    void (*setup)(struct rt_kernel *kernel, void *arg);
    void *setup_arg;
    struct rt_fault fault;
    uint64_t reg[RTPORT_REGISTERS];
    uint32_t doorbells;
    uint64_t fabric;
    uint8_t shared[RTPORT_SHARED_BYTES];
};

struct hostcpu *hostcpu_of(struct rt_port *port)
{
    return &port->cpu;
}

static void check(const struct rt_port *port, bool good, const char *what)
{
    hostcpu_check(&port->cpu, good, what);
}

struct rt_port *rtport_create(size_t carve_out, size_t framework)
{
    struct rt_port *port = calloc(1, sizeof(*port));

    if (!port)
        abort();
    hostcpu_create(&port->cpu, "rtport");
    port->boot = (struct rt_boot){.base = aligned_alloc(4096, (carve_out + 4095) & ~(size_t)4095),
                                  .bytes = carve_out,
                                  .framework_bytes = framework,
                                  .stack_extra = HOSTCPU_STACK_EXTRA,
                                  .log_level = RT_LOG_DEBUG,
                                  .port = port};
    check(port, port->boot.base, "no memory");
    memset(port->boot.base, 0x5c, carve_out); /* boot may not rely on what is there */
    return port;
}

void rtport_destroy(struct rt_port *port)
{
    if (port->cpu.kernel)
        rt_kernel_close(port->cpu.kernel);
    hostcpu_destroy(&port->cpu);
    free(port->boot.base);
    free(port);
}

struct rt_boot *rtport_boot_arguments(struct rt_port *port)
{
    return &port->boot;
}

static void boot(void *arg)
{
    struct rt_port *port = arg;

    check(port, !rt_kernel_boot(&port->boot, &port->cpu.kernel, NULL), port->cpu.log);
    port->setup(port->cpu.kernel, port->setup_arg);
    rt_kernel_start(port->cpu.kernel);
}

enum rtport_end rtport_start(struct rt_port *port, void (*setup)(struct rt_kernel *kernel, void *arg),
                             void *arg, uint64_t until)
{
    port->setup = setup;
    port->setup_arg = arg;
    hostcpu_reset(&port->cpu, boot, port);
    return rtport_run(port, until);
}

enum rtport_end rtport_run(struct rt_port *port, uint64_t until)
{
    check(port, port->cpu.end == RTPORT_IDLE, "run after the end");
    return (enum rtport_end)hostcpu_run(&port->cpu, until);
}

struct rt_kernel *rtport_kernel(struct rt_port *port)
{
    return port->cpu.kernel;
}

void rtport_raise(struct rt_port *port, unsigned line)
{
    port->cpu.pending |= 1ull << line;
}

void rtport_raise_at(struct rt_port *port, uint64_t time, unsigned line)
{
    hostcpu_raise_at(&port->cpu, time, line);
}

void rtport_spend(struct rt_port *port, uint64_t nanoseconds)
{
    port->cpu.now += nanoseconds;
}

uint64_t rtport_now(const struct rt_port *port)
{
    return port->cpu.now;
}

uint64_t rtport_timer(const struct rt_port *port)
{
    return port->cpu.timer;
}

const struct rt_fault *rtport_fault(const struct rt_port *port)
{
    return &port->fault;
}

const char *rtport_log(const struct rt_port *port)
{
    return port->cpu.log;
}

int rtport_contexts(const struct rt_port *port)
{
    return port->cpu.contexts;
}

const void *rtport_last_stack(const struct rt_port *port)
{
    return port->cpu.last_stack;
}

uint32_t rt_port_read32(struct rt_port *port, uint64_t address)
{
    return (uint32_t)rt_port_read64(port, address);
}

void rt_port_write32(struct rt_port *port, uint64_t address, uint32_t value)
{
    rt_port_write64(port, address, value);
}

void rt_port_write_words(struct rt_port *port, uint64_t address, const uint32_t *value, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        rt_port_write32(port, address + 4ull * i, value[i]);
}

uint64_t rt_port_read64(struct rt_port *port, uint64_t address)
{
    uint64_t value;

    hostcpu_deliver(&port->cpu);
    if (address == RTPORT_DOORBELL)
        return port->doorbells;
    check(port, address / 8 < RTPORT_REGISTERS, "read of no register");
    value = port->reg[address / 8];
    return value;
}

void rt_port_write64(struct rt_port *port, uint64_t address, uint64_t value)
{
    if (address == RTPORT_DOORBELL) {
        port->doorbells++;
        rtport_raise(port, (unsigned)value);
    } else {
        check(port, address / 8 < RTPORT_REGISTERS, "write to no register");
        port->reg[address / 8] = value;
    }
    hostcpu_deliver(&port->cpu);
}

uint64_t rt_port_sysreg_read(struct rt_port *port, uint32_t id)
{
    if (id == RT_SYSREG_MPIDR_EL1)
        return RTPORT_MPIDR;
    check(port, id == RT_SYSREG_S3_3_C15_C8_0, "read of no system register");
    return port->fabric;
}

void rt_port_sysreg_write(struct rt_port *port, uint32_t id, uint64_t value)
{
    check(port, id == RT_SYSREG_S3_3_C15_C8_0, "write to no system register");
    port->fabric = value;
}

void rt_port_barrier(struct rt_port *port)
{
    (void)port;
}

uint32_t rt_port_irq_mask(struct rt_port *port)
{
    return hostcpu_mask(&port->cpu);
}

void rt_port_wait(struct rt_port *port)
{
    hostcpu_wait(&port->cpu);
}

uint64_t rt_port_now(struct rt_port *port)
{
    return port->cpu.now;
}

void *rt_port_window(struct rt_port *port, uint64_t address, size_t bytes)
{
    if (address < RTPORT_SHARED || bytes > RTPORT_SHARED_BYTES ||
        address - RTPORT_SHARED > RTPORT_SHARED_BYTES - bytes)
        return NULL;
    return port->shared + (address - RTPORT_SHARED);
}

void rt_port_irq_raise(struct rt_port *port, unsigned line)
{
    rtport_raise(port, line);
}

size_t rt_port_call_stack(struct rt_port *port, uint64_t *frame, size_t most)
{
    static const uint64_t made_up[] = {0x1000, 0x2000, 0x3000};
    size_t count = 0;

    (void)port;
    for (; count < most && count < sizeof(made_up) / sizeof(made_up[0]); count++)
        frame[count] = made_up[count];
    return count;
}

_Noreturn void rt_port_fault(struct rt_port *port, const struct rt_fault *fault)
{
    port->fault = *fault;
    hostcpu_leave(&port->cpu, RTPORT_FAULTED);
    abort();
}

_Noreturn void rt_port_halt(struct rt_port *port)
{
    hostcpu_leave(&port->cpu, RTPORT_HALTED);
    abort();
}
