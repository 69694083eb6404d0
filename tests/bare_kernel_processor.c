/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of the port itself: what a fault's record holds for each kind of exception, and what survives an
 * interrupt. Each check is a kernel of its own, whose task "victim" runs the body. Syndromes are those of the
 * Arm ARM (DDI 0487, D17.2.37): class << 26 | 1 << 25 | fault status.
 */
#include "bare_kernel_run.h"

#include "bare/bare_board.h"
#include "bare/virt.h"
#include "bare_kernel_asm.h"
#include "protocol/controller.h"
#include "rtkernel/kernel.h"
#include "rtkernel/port.h"
#include "rtkernel/task.h"

#define STACK 4096u

#define ESR_LOAD_UNMAPPED   0x96000006u /* data abort, translation fault at level 2 */
#define ESR_STORE_READ_ONLY 0x9600004fu /* data abort, write, permission fault at level 3 */
#define ESR_NOT_EXECUTABLE  0x8600000fu /* instruction abort, permission fault at level 3 */
#define ESR_CLASS(esr)      ((unsigned)((esr) >> 26))
#define PSTATE_MODE(pstate) ((unsigned)(pstate)&0xf)
#define EL1_SP_EL0          4u

extern char bare_image_begin[], bare_exception_guard[], bare_boot_guard[];

/* What the body and the hook of a check leave behind. */
static struct {
    struct rt_kernel *kernel;
    uint64_t inner, outer; /* return addresses */
    uint32_t code;         /* what cannot be executed */
    volatile uint32_t flag;
    uint64_t changed;
    volatile bool good; /* a hook that does not return sets it too */
} seen;

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* The fault is that of a task, with all that an exception of the processor leaves. */
static bool is_exception(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return end == BARE_KERNEL_FAULTED && fault->fault_class == RT_FAULT_SYNC && fault->has_registers &&
           !fault->in_interrupt && same(fault->task, "victim") && fault->processor == 0 &&
           fault->thread < RT_THREAD_BOOT && PSTATE_MODE(fault->registers.pstate) == EL1_SP_EL0;
}

static bool is_load_fault(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return is_exception(end, fault) && fault->registers.esr == ESR_LOAD_UNMAPPED &&
           fault->registers.far == BARE_VIRT_NOTHING && fault->registers.pc == (uintptr_t)bare_kernel_load_at;
}

static void load_nothing(void *arg)
{
    (void)arg;
    bare_kernel_load(BARE_VIRT_NOTHING);
}

static bool has_registers(enum bare_kernel_end end, const struct rt_fault *fault)
{
    bool good = is_load_fault(end, fault) && fault->registers.x[0] == BARE_VIRT_NOTHING;

    for (unsigned i = 2; i <= 28; i++)
        good = good && fault->registers.x[i] == BARE_KERNEL_MARK + i;
    return good && fault->registers.sp == fault->registers.x[29];
}

static __attribute__((noinline)) void inner(bool assertion)
{
    seen.inner = (uintptr_t)__builtin_return_address(0);
    if (assertion)
        rt_fault_assert(seen.kernel, "asserted");
    bare_kernel_load(BARE_VIRT_NOTHING);
    seen.flag = 1; /* no tail call */
}

static __attribute__((noinline)) void outer(bool assertion)
{
    seen.outer = (uintptr_t)__builtin_return_address(0);
    inner(assertion);
    seen.flag = 1;
}

static void fail_below(void *arg)
{
    (void)arg;
    outer(false);
    seen.flag = 1;
}

static void assert_below(void *arg)
{
    (void)arg;
    outer(true);
    seen.flag = 1;
}

/* Where the two return addresses are, one after the other; 0 when they are not. */
static size_t place_of_calls(const struct rt_fault *fault)
{
    const uint64_t base = (uintptr_t)bare_image_begin;

    for (size_t i = 1; i + 1 < fault->frames; i++) {
        if (fault->frame[i] == seen.inner - base && fault->frame[i + 1] == seen.outer - base)
            return i;
    }
    return 0;
}

/* The instruction, its caller inner, then outer and the task. */
static bool has_call_stack(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return is_load_fault(end, fault) && place_of_calls(fault) == 2 &&
           fault->frame[0] == (uintptr_t)bare_kernel_load_at - (uintptr_t)bare_image_begin;
}

static bool has_assertion_stack(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return end == BARE_KERNEL_FAULTED && fault->fault_class == RT_FAULT_ASSERT &&
           same(fault->text, "asserted") && place_of_calls(fault);
}

/* Every byte is written: a frame with a hole could step over the guard words. */
static __attribute__((noinline)) unsigned descend(unsigned depth)
{
    volatile unsigned char used[512];

    for (unsigned i = 0; i < sizeof(used); i++)
        used[i] = (unsigned char)depth;
    if (depth)
        used[0] = (unsigned char)descend(depth - 1);
    return used[0];
}

static void overflow_stack(void *arg)
{
    (void)arg;
    (void)descend(STACK / 512);
    rt_task_yield(seen.kernel);
}

static bool found_overflow(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return end == BARE_KERNEL_FAULTED && fault->fault_class == RT_FAULT_ASSERT &&
           same(fault->text, "stack of victim overflowed: 4096 bytes are not enough");
}

static void lose_stack(void *arg)
{
    (void)arg;
    bare_kernel_push(BARE_VIRT_NOTHING);
}

static bool found_bad_stack(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return is_exception(end, fault) && fault->registers.far == BARE_VIRT_NOTHING - 16 &&
           fault->registers.sp == BARE_VIRT_NOTHING;
}

static void write_code(void *arg)
{
    (void)arg;
    rt_port_write32(rt_kernel_port(seen.kernel), (uintptr_t)bare_image_begin, 0);
}

static bool found_write(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return is_exception(end, fault) && fault->registers.esr == ESR_STORE_READ_ONLY &&
           fault->registers.far == (uintptr_t)bare_image_begin;
}

static void execute_data(void *arg)
{
    (void)arg;
    ((void (*)(void))(uintptr_t)&seen.code)();
}

static bool found_execution(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return is_exception(end, fault) && fault->registers.esr == ESR_NOT_EXECUTABLE &&
           fault->registers.pc == (uintptr_t)&seen.code;
}

/* In protocol's table, but not in qemu's processor: the instruction is undefined. */
static void read_fabric(void *arg)
{
    (void)arg;
    (void)rt_port_sysreg_read(rt_kernel_port(seen.kernel), RT_SYSREG_S3_3_C15_C8_0);
}

static bool found_undefined(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return is_exception(end, fault) && ESR_CLASS(fault->registers.esr) == 0;
}

static void write_unlisted(void *arg)
{
    (void)arg;
    rt_port_sysreg_write(rt_kernel_port(seen.kernel), RT_SYSREG(3u, 5u, 15u, 7u, 6u), 1);
}

static bool found_unlisted(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return end == BARE_KERNEL_FAULTED && fault->fault_class == RT_FAULT_SYNC && !fault->has_registers &&
           same(fault->text, "write to system register S3_5_C15_C7_6, which this processor does not have");
}

static void load_again(void *arg, const struct rt_fault *fault)
{
    (void)arg;
    (void)fault;
    bare_kernel_load(BARE_VIRT_NOTHING + 0x100000);
}

static void fail_in_hook(void *arg)
{
    (void)arg;
    rt_fault_hook(seen.kernel, load_again, NULL);
    bare_kernel_load(BARE_VIRT_NOTHING);
}

static void descend_in_hook(void *arg, const struct rt_fault *fault)
{
    (void)arg;
    (void)fault;
    seen.good = true;
    (void)descend(1000);
    seen.good = false;
}

static void overflow_in_hook(void *arg)
{
    (void)arg;
    rt_fault_hook(seen.kernel, descend_in_hook, NULL);
    bare_kernel_load(BARE_VIRT_NOTHING);
}

static bool found_first(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return is_load_fault(end, fault) && seen.good;
}

/* This board raises neither of the two, so the vectors are entered by hand. */
static void take_fast_interrupt(void *arg)
{
    (void)arg;
    bare_kernel_take(0x100);
}

static bool found_fast_interrupt(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return end == BARE_KERNEL_FAULTED && fault->fault_class == RT_FAULT_FIQ && fault->has_registers;
}

static void take_error(void *arg)
{
    (void)arg;
    bare_kernel_take(0x180);
}

static bool found_error(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return end == BARE_KERNEL_FAULTED && fault->fault_class == RT_FAULT_NMI && fault->has_registers;
}

static void tick(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 20; i++)
        rt_task_sleep(seen.kernel, 100000);
    seen.flag = 1;
}

static void hold_registers(void *arg)
{
    struct rt_task *ticker;

    (void)arg;
    rt_task_create(seen.kernel, &ticker, "ticker", 0, STACK, tick, NULL);
    seen.changed = bare_kernel_hold(&seen.flag);
    seen.good = true;
}

static bool kept_registers(enum bare_kernel_end end, const struct rt_fault *fault)
{
    (void)fault;
    return end == BARE_KERNEL_IDLE && seen.good && !seen.changed && seen.flag;
}

static void look_at_memory(void *arg)
{
    struct rt_port *port = rt_kernel_port(seen.kernel);
    const uint64_t end = BARE_VIRT_MEMORY + BARE_VIRT_MEMORY_BYTES;

    (void)arg;
    seen.good = bare_probe(BARE_VIRT_MEMORY) && !bare_probe(BARE_VIRT_NOTHING) && !bare_probe(0) &&
                rt_port_window(port, end - 8, 8) && !rt_port_window(port, end - 8, 16) &&
                !rt_port_window(port, ~0ull - 3, 8) && !bare_probe((uintptr_t)bare_exception_guard) &&
                !bare_probe((uintptr_t)bare_boot_guard);
}

static bool saw_memory(enum bare_kernel_end end, const struct rt_fault *fault)
{
    (void)fault;
    return end == BARE_KERNEL_IDLE && seen.good;
}

static void load_early(struct rt_port *port)
{
    (void)port;
    bare_kernel_load(BARE_VIRT_NOTHING);
}

static bool found_early(enum bare_kernel_end end, const struct rt_fault *fault)
{
    return end == BARE_KERNEL_FAULTED && fault->fault_class == RT_FAULT_SYNC && fault->has_registers &&
           fault->registers.esr == ESR_LOAD_UNMAPPED && same(fault->task, "");
}

/* Without a kernel there is no handler: the line only ends the wait. */
static void wait_early(struct rt_port *port)
{
    rt_port_irq_raise(port, 3);
    rt_port_wait(port);
    seen.good = !bare_board_irq_pending();
}

static bool waited_early(enum bare_kernel_end end, const struct rt_fault *fault)
{
    (void)fault;
    return end == BARE_KERNEL_HALTED && seen.good;
}

static const struct check {
    const char *name;
    void (*body)(void *arg);
    void (*early)(struct rt_port *port); /* in place of a kernel with a task */
    bool (*good)(enum bare_kernel_end end, const struct rt_fault *fault);
} checks[] = {
    {"a load from an unmapped address is a fault with its registers", load_nothing, NULL, has_registers},
    {"its call stack is that of the task", fail_below, NULL, has_call_stack},
    {"the call stack of an assertion", assert_below, NULL, has_assertion_stack},
    {"a stack that overflows is found at the next switch", overflow_stack, NULL, found_overflow},
    {"a stack pointer to nothing is a fault", lose_stack, NULL, found_bad_stack},
    {"code cannot be written", write_code, NULL, found_write},
    {"data cannot be executed", execute_data, NULL, found_execution},
    {"a system register that the processor does not have", read_fabric, NULL, found_undefined},
    {"a system register that no table lists", write_unlisted, NULL, found_unlisted},
    {"a fault in the fault hook: the first is reported", fail_in_hook, NULL, is_load_fault},
    {"a fault hook without end: the first is reported", overflow_in_hook, NULL, found_first},
    {"a fast interrupt is a fault of its class", take_fast_interrupt, NULL, found_fast_interrupt},
    {"an asynchronous error is the non-maskable class", take_error, NULL, found_error},
    {"interrupts leave every register as it was", hold_registers, NULL, kept_registers},
    {"memory, nothing, and the pages below the stacks", look_at_memory, NULL, saw_memory},
    {"a fault before there is a kernel", NULL, load_early, found_early},
    {"a wait before there is a kernel", NULL, wait_early, waited_early},
};

static void setup(struct rt_kernel *kernel, void *arg)
{
    const struct check *check = arg;
    struct rt_task *victim;

    seen.kernel = kernel;
    rt_task_create(kernel, &victim, "victim", 3, STACK, check->body, NULL);
}

static bool passes(const struct check *check)
{
    enum bare_kernel_end end;

    seen.flag = 0;
    seen.good = false;
    end = check->early ? bare_kernel_run_early(check->early) : bare_kernel_run(setup, (void *)check);
    return check->good(end, bare_kernel_fault());
}

unsigned bare_kernel_check_processor(void)
{
    unsigned failures = 0;

    for (unsigned i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        const bool good = passes(&checks[i]);

        bare_kernel_print("processor %sok - %s", good ? "" : "not ", checks[i].name);
        failures += !good;
    }
    return failures;
}
