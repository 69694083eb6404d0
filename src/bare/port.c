/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtkernel/port.h on bare AArch64. Interrupts are the processor's own: what port.h calls "delivers" happens
 * at any instruction while PSTATE.I is clear. Of PSTATE only I is changed here; A and F stay clear, so that
 * errors and fast interrupts are reported where they happen.
 */
#include "rtkernel/port.h"

#include "bare/bare_board.h"
#include "bare/frame.h"
#include "bare/port_state.h"
#include "protocol/controller.h"
#include "rtkernel/format.h"

#define PSTATE_I (1u << 7)

_Static_assert(BARE_CONTEXT_SP + sizeof(uint64_t) <= sizeof(struct rt_context), "a context fits");

extern char bare_image_begin[];
void bare_context_begin(void);

static struct rt_port port;

struct rt_port *bare_port(void)
{
    return &port;
}

struct rt_port *bare_port_open(void *carve_out)
{
    port = (struct rt_port){.kernel = carve_out};
    return &port;
}

uint32_t rt_port_read32(struct rt_port *self, uint64_t address)
{
    (void)self;
    return *(const volatile uint32_t *)(uintptr_t)address;
}

void rt_port_write32(struct rt_port *self, uint64_t address, uint32_t value)
{
    (void)self;
    *(volatile uint32_t *)(uintptr_t)address = value;
}

void rt_port_write_words(struct rt_port *self, uint64_t address, const uint32_t *value, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        rt_port_write32(self, address + 4ull * i, value[i]);
}

uint64_t rt_port_read64(struct rt_port *self, uint64_t address)
{
    (void)self;
    return *(const volatile uint64_t *)(uintptr_t)address;
}

void rt_port_write64(struct rt_port *self, uint64_t address, uint64_t value)
{
    (void)self;
    *(volatile uint64_t *)(uintptr_t)address = value;
}

/* A number that no instruction of the image names: the same fault as that of the instruction. */
static _Noreturn void refuse_sysreg(const char *access, uint32_t id)
{
    char text[RT_TEXT_BYTES];

    rt_format(text, sizeof(text), "%s system register S%u_%u_C%u_C%u_%u, which this processor does not have",
              access, id >> 14, id >> 11 & 7, id >> 7 & 15, id >> 3 & 15, id & 7);
    bare_fail(RT_FAULT_SYNC, NULL, text);
}

uint64_t rt_port_sysreg_read(struct rt_port *self, uint32_t id)
{
    uint64_t value;

    (void)self;
    switch (id) {
#define X(name, text, op0, op1, crn, crm, op2, meaning)                                         \
    case PR_SYSREG_##name:                                                                      \
        __asm__ volatile("mrs %0, S" #op0 "_" #op1 "_C" #crn "_C" #crm "_" #op2 : "=r"(value)); \
        return value;
        PR_SYSTEM_REGISTERS(X)
#undef X
    default: refuse_sysreg("read of", id);
    }
}

void rt_port_sysreg_write(struct rt_port *self, uint32_t id, uint64_t value)
{
    (void)self;
    switch (id) {
#define X(name, text, op0, op1, crn, crm, op2, meaning)                                             \
    case PR_SYSREG_##name:                                                                          \
        __asm__ volatile("msr S" #op0 "_" #op1 "_C" #crn "_C" #crm "_" #op2 ", %0" : : "r"(value)); \
        return;
        PR_SYSTEM_REGISTERS(X)
#undef X
    default: refuse_sysreg("write to", id);
    }
}

void rt_port_barrier(struct rt_port *self)
{
    (void)self;
    __asm__ volatile("dsb sy\n\tisb" ::: "memory");
}

uint32_t rt_port_irq_mask(struct rt_port *self)
{
    uint64_t daif;

    (void)self;
    __asm__ volatile("mrs %0, daif\n\tmsr daifset, #2" : "=r"(daif) : : "memory");
    return (uint32_t)daif & PSTATE_I;
}

void rt_port_irq_restore(struct rt_port *self, uint32_t previous)
{
    (void)self;
    if (!previous)
        __asm__ volatile("msr daifclr, #2" ::: "memory");
}

void rt_port_irq_raise(struct rt_port *self, unsigned line)
{
    const uint32_t previous = rt_port_irq_mask(self);

    bare_board_irq_raise(line);
    rt_port_irq_restore(self, previous);
}

/* Masked while it looks and waits: a line that comes in between ends the wait all the same. */
void rt_port_wait(struct rt_port *self)
{
    const uint32_t previous = rt_port_irq_mask(self);

    while (!bare_board_irq_pending())
        bare_board_wait();
    if (previous) {
        while (bare_board_irq_pending())
            (void)bare_board_irq_take();
    }
    rt_port_irq_restore(self, previous);
}

void rt_port_context_make(struct rt_port *self, struct rt_context *context, void *stack, size_t bytes,
                          void (*entry)(void *arg), void *arg)
{
    self->kernel_made = true;
    *context = (struct rt_context){0};
    context->word[0] = (uintptr_t)arg;
    context->word[1] = (uintptr_t)entry;
    context->word[11] = (uintptr_t)bare_context_begin;
    context->word[BARE_CONTEXT_SP / 8] = (uintptr_t)stack + bytes;
}

void rt_port_context_drop(struct rt_port *self, struct rt_context *context)
{
    (void)self;
    (void)context;
}

uint64_t rt_port_now(struct rt_port *self)
{
    (void)self;
    return bare_board_now();
}

void rt_port_timer_set(struct rt_port *self, uint64_t deadline)
{
    (void)self;
    bare_board_timer_set(deadline);
}

void *rt_port_window(struct rt_port *self, uint64_t address, size_t bytes)
{
    (void)self;
    return bare_board_window(address, bytes);
}

bool bare_probe(uint64_t address)
{
    uint64_t value;

    return bare_peek(address & ~7ull, &value);
}

void rt_port_log(struct rt_port *self, const struct rt_port_line *line)
{
    (void)self;
    bare_board_print(line->line, line->length);
}

void rt_port_mark(struct rt_port *self, uint32_t code, const uint64_t *word, size_t words)
{
    (void)self;
    bare_board_mark(code, word, words);
}

void rt_port_refuse(struct rt_port *self, const char *text, size_t length)
{
    (void)self;
    bare_board_refuse(text, length);
}

/*
 * Frame records: the caller's x29, then where it returns to. They may be what was overwritten, so each is
 * looked at with care, and each lies above the one before unless the stack has changed.
 */
size_t rt_port_call_stack(struct rt_port *self, uint64_t *frame, size_t most)
{
    const uint64_t base = (uintptr_t)bare_image_begin;
    uint64_t record = (uintptr_t)__builtin_frame_address(0), next, from;
    size_t count = 0;

    if (self->failed) {
        record = self->failed->x[29];
        if (most)
            frame[count++] = self->failed->pc - base;
    }
    while (count < most && record && record % 8 == 0 && bare_peek(record, &next) &&
           bare_peek(record + 8, &from) && from) {
        frame[count++] = from - base;
        record = next;
    }
    return count;
}

_Noreturn void rt_port_fault(struct rt_port *self, const struct rt_fault *fault)
{
    (void)self;
    bare_board_fault(fault);
}

_Noreturn void rt_port_halt(struct rt_port *self)
{
    (void)self;
    bare_board_halt();
}
