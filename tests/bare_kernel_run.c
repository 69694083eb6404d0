/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each kernel is booted on a stack of its own, so that its end can go back to the program, whichever stack it
 * was found on. The memory holds a pattern before: boot may not rely on what is there.
 */
#include "bare_kernel_run.h"

#include "bare/bare_board.h"
#include "bare/virt.h"
#include "kernel_list.h"
#include "rtkernel/format.h"
#include "rtkernel/memory.h"
#include "rtkernel/port.h"

#define BOOT_STACK 0x2000u

static struct {
    struct rt_context program, boot;
    _Alignas(16) unsigned char stack[BOOT_STACK];
    void (*setup)(struct rt_kernel *kernel, void *arg);
    void *arg;
    void (*early)(struct rt_port *port);
    enum bare_kernel_end end;
    struct rt_fault fault;
} run;

static _Noreturn void leave(enum bare_kernel_end end)
{
    run.end = end;
    bare_context_resume(&run.program);
}

_Noreturn void bare_virt_idle(void)
{
    leave(BARE_KERNEL_IDLE);
}

_Noreturn void bare_board_fault(const struct rt_fault *fault)
{
    run.fault = *fault;
    leave(BARE_KERNEL_FAULTED);
}

_Noreturn void bare_board_halt(void)
{
    leave(BARE_KERNEL_HALTED);
}

static void boot(void *arg)
{
    struct rt_port *port = bare_port_open((void *)BARE_VIRT_MEMORY);
    struct rt_boot boot = {.base = (void *)BARE_VIRT_MEMORY,
                           .bytes = KERNEL_CARVE_OUT,
                           .framework_bytes = KERNEL_FRAMEWORK,
                           .log_level = RT_LOG_DEBUG,
                           .port = port};
    struct rt_kernel *kernel;

    (void)arg;
    if (run.early) {
        run.early(port);
        rt_port_halt(port);
    }
    if (rt_kernel_boot(&boot, &kernel, NULL))
        bare_virt_exit(3);
    run.setup(kernel, run.arg);
    rt_kernel_start(kernel);
}

static enum bare_kernel_end start(void)
{
    struct rt_port *port = bare_port_open(NULL);

    bare_board_reset();
    rt_memset((void *)BARE_VIRT_MEMORY, 0x5c, KERNEL_CARVE_OUT);
    rt_port_context_make(port, &run.boot, run.stack, sizeof(run.stack), boot, NULL);
    rt_port_context_switch(port, &run.program, &run.boot);
    return run.end;
}

enum bare_kernel_end bare_kernel_run(void (*setup)(struct rt_kernel *kernel, void *arg), void *arg)
{
    run.setup = setup;
    run.arg = arg;
    run.early = NULL;
    return start();
}

enum bare_kernel_end bare_kernel_run_early(void (*entry)(struct rt_port *port))
{
    run.early = entry;
    return start();
}

const struct rt_fault *bare_kernel_fault(void)
{
    return &run.fault;
}

void bare_kernel_print(const char *format, ...)
{
    char line[256] = "# ";
    size_t length;
    va_list args;

    va_start(args, format);
    length = rt_format_list(line + 2, sizeof(line) - 2, format, args);
    va_end(args);
    bare_board_print(line, length + 2);
}
