/* SPDX-License-Identifier: Apache-2.0 */
/* Masked while outside: a kernel call made from there must not switch the test's own stack away. */
#include "hostcpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rtkernel/irq.h"
#include "rtkernel/status.h"

_Static_assert(sizeof(struct host_context) <= sizeof(struct rt_context), "a host context fits");

#define BOOT_STACK (256u << 10)
#define TIMER_BIT  (1ull << RT_IRQ_TIMER)

void hostcpu_check(const struct hostcpu *cpu, bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s: %s\n", cpu->rig, what);
        abort();
    }
}

void hostcpu_create(struct hostcpu *cpu, const char *rig)
{
    cpu->rig = rig;
    cpu->masked = true;
    cpu->boot_stack = aligned_alloc(64, BOOT_STACK);
    hostcpu_check(cpu, cpu->boot_stack, "no memory");
}

void hostcpu_destroy(struct hostcpu *cpu)
{
    host_context_drop(&cpu->booting);
    free(cpu->boot_stack);
}

void hostcpu_reset(struct hostcpu *cpu, void (*entry)(void *arg), void *arg)
{
    host_context_drop(&cpu->booting);
    host_context_make(&cpu->booting, cpu->boot_stack, BOOT_STACK, entry, arg);
    cpu->running = &cpu->booting;
    cpu->masked = true;
    cpu->end = 0;
}

int hostcpu_run(struct hostcpu *cpu, uint64_t limit)
{
    cpu->limit = limit;
    host_context_switch(&cpu->host, cpu->running);
    return cpu->end;
}

void hostcpu_leave(struct hostcpu *cpu, int end)
{
    const bool masked = cpu->masked;

    cpu->end = end;
    cpu->masked = true;
    host_context_switch(cpu->running, &cpu->host);
    cpu->masked = masked;
}

void hostcpu_raise_at(struct hostcpu *cpu, uint64_t time, unsigned line)
{
    hostcpu_check(cpu, cpu->raises < HOSTCPU_RAISES, "too many raises");
    cpu->raise[cpu->raises].time = time;
    cpu->raise[cpu->raises++].line = line;
}

/* What time has brought. */
static void catch_up(struct hostcpu *cpu)
{
    if (cpu->timer && cpu->now >= cpu->timer) {
        cpu->timer = 0;
        cpu->pending |= TIMER_BIT;
    }
    for (unsigned i = 0; i < cpu->raises;) {
        if (cpu->now < cpu->raise[i].time) {
            i++;
            continue;
        }
        cpu->pending |= 1ull << cpu->raise[i].line;
        cpu->raise[i] = cpu->raise[--cpu->raises];
    }
}

static uint64_t next_event(const struct hostcpu *cpu)
{
    uint64_t next = cpu->timer ? cpu->timer : RT_FOREVER;

    for (unsigned i = 0; i < cpu->raises; i++) {
        if (cpu->raise[i].time < next)
            next = cpu->raise[i].time;
    }
    return next;
}

void hostcpu_deliver(struct hostcpu *cpu)
{
    catch_up(cpu);
    while (!cpu->masked && cpu->pending) {
        const unsigned line = (unsigned)__builtin_ctzll(cpu->pending);

        cpu->pending &= cpu->pending - 1;
        cpu->masked = true;
        rt_kernel_interrupt(cpu->kernel, line);
        cpu->masked = false;
        catch_up(cpu);
    }
}

uint32_t hostcpu_mask(struct hostcpu *cpu)
{
    const uint32_t previous = cpu->masked;

    cpu->masked = true;
    return previous;
}

/* Before the kernel runs no handler can be called: the wait itself is what the interrupt ends. */
void hostcpu_wait(struct hostcpu *cpu)
{
    for (;;) {
        const uint64_t next = next_event(cpu);

        if (cpu->pending)
            break;
        if (next <= cpu->limit && next != RT_FOREVER) {
            cpu->now = next > cpu->now ? next : cpu->now;
            catch_up(cpu);
            continue;
        }
        if (cpu->limit != RT_FOREVER && cpu->limit > cpu->now)
            cpu->now = cpu->limit;
        hostcpu_leave(cpu, 0);
    }
    if (cpu->masked)
        cpu->pending = 0;
    hostcpu_deliver(cpu);
}

void rt_port_irq_restore(struct rt_port *port, uint32_t previous)
{
    struct hostcpu *cpu = hostcpu_of(port);

    cpu->masked = previous;
    if (!previous)
        hostcpu_deliver(cpu);
}

static struct host_context *inside(struct rt_context *context)
{
    return (struct host_context *)(void *)context;
}

void rt_port_context_make(struct rt_port *port, struct rt_context *context, void *stack, size_t bytes,
                          void (*entry)(void *arg), void *arg)
{
    hostcpu_of(port)->contexts++;
    hostcpu_of(port)->last_stack = stack;
    host_context_make(inside(context), stack, bytes, entry, arg);
}

/* The boot code is not a task: the kernel has no context for it that lasts. */
void rt_port_context_switch(struct rt_port *port, struct rt_context *from, struct rt_context *to)
{
    struct hostcpu *cpu = hostcpu_of(port);
    struct host_context *leaving = cpu->running == &cpu->booting ? &cpu->booting : inside(from);

    hostcpu_check(cpu, cpu->masked, "switch with interrupts enabled");
    cpu->running = inside(to);
    host_context_switch(leaving, cpu->running);
}

void rt_port_context_drop(struct rt_port *port, struct rt_context *context)
{
    hostcpu_of(port)->contexts--;
    host_context_drop(inside(context));
}

void rt_port_timer_set(struct rt_port *port, uint64_t deadline)
{
    hostcpu_of(port)->timer = deadline;
}

static void keep_line(struct rt_port *port, const char *line, size_t length)
{
    struct hostcpu *cpu = hostcpu_of(port);

    hostcpu_check(cpu, line[length] == '\0', "a line without its end");
    if (cpu->logged + length + 2 > sizeof(cpu->log))
        cpu->logged = 0;
    memcpy(cpu->log + cpu->logged, line, length);
    cpu->logged += length;
    cpu->log[cpu->logged++] = '\n';
    cpu->log[cpu->logged] = '\0';
}

void rt_port_log(struct rt_port *port, const struct rt_port_line *line)
{
    char whole[RT_LOG_WIDTH];

    snprintf(whole, sizeof(whole), "%s %s: %s", line->level, line->origin, line->text);
    hostcpu_check(hostcpu_of(port), !strcmp(whole, line->line), "a line that is not made of its parts");
    keep_line(port, line->line, line->length);
}

void rt_port_mark(struct rt_port *port, uint32_t code, const uint64_t *word, size_t words)
{
    struct hostcpu *cpu = hostcpu_of(port);

    hostcpu_check(cpu, words <= HOSTCPU_MARK_WORDS, "a mark with too many words");
    cpu->marks++;
    cpu->mark = code;
    memcpy(cpu->mark_word, word, words * sizeof(word[0]));
}

void rt_port_refuse(struct rt_port *port, const char *text, size_t length)
{
    keep_line(port, text, length);
}
