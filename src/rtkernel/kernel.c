/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boot, start, and the calls that do not belong to an object. The carve-out holds the kernel's struct, then
 * the framework arena, then the system arena. Sizes are checked before the first byte of it is written. The
 * kernel's own tasks are created last, because their stacks are allocated in an arena. Interrupts stay masked
 * from boot until the first task runs.
 */
#include "rtkernel/kernel.h"

#include "rtkernel/format.h"
#include "rtkernel/memory.h"
#include "rtkernel/sched.h"

#define BASE_ALIGNMENT 64u

size_t rt_kernel_bytes(void)
{
    return (sizeof(struct rt_kernel) + BASE_ALIGNMENT - 1) & ~(size_t)(BASE_ALIGNMENT - 1);
}

static int refuse(const struct rt_boot *boot, struct rt_refusal *refusal, int status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int refuse(const struct rt_boot *boot, struct rt_refusal *refusal, int status, const char *format, ...)
{
    struct rt_refusal mine;
    size_t length;
    va_list args;

    if (!refusal)
        refusal = &mine;
    va_start(args, format);
    length = rt_format_list(refusal->text, sizeof(refusal->text), format, args);
    va_end(args);
    rt_port_refuse(boot->port, refusal->text, length);
    return status;
}

static size_t whole_blocks(size_t bytes)
{
    return (bytes + 15) & ~(size_t)15;
}

static int check(const struct rt_boot *boot, struct rt_refusal *refusal)
{
    unsigned long long heap;

    if (!boot->base || (uintptr_t)boot->base % BASE_ALIGNMENT || boot->log_level >= RT_LOG_LEVELS)
        return refuse(boot, refusal, RT_EINVAL, "carve-out must begin at a multiple of %u", BASE_ALIGNMENT);
    if (boot->bytes < rt_kernel_bytes())
        return refuse(boot, refusal, RT_ENOMEM, "carve-out 0x%zx has no room for the kernel, 0x%zx",
                      boot->bytes, rt_kernel_bytes());
    heap = boot->bytes - rt_kernel_bytes();
    if (heap / 2 < boot->framework_bytes || heap <= 2 * whole_blocks(boot->framework_bytes))
        return refuse(boot, refusal, RT_ENOMEM,
                      "heap 0x%llx must exceed twice the framework reservation 0x%zx", heap,
                      boot->framework_bytes);
    return RT_OK;
}

static void init_arenas(struct rt_kernel *kernel, const struct rt_boot *boot)
{
    uint8_t *heap = (uint8_t *)boot->base + rt_kernel_bytes();
    const size_t bytes = boot->bytes - rt_kernel_bytes();
    const size_t framework = whole_blocks(boot->framework_bytes);

    rt_heap_init(kernel, RT_ARENA_FRAMEWORK, heap, framework, boot->zeroed);
    rt_heap_init(kernel, RT_ARENA_SYSTEM, heap + framework, bytes - framework, boot->zeroed);
}

static void init_lists(struct rt_kernel *kernel)
{
    for (unsigned i = 0; i < RT_PRIORITY_LEVELS; i++)
        rt_link_init(&kernel->ready[i]);
    rt_link_init(&kernel->timeline);
    rt_link_init(&kernel->dead);
    rt_semaphore_init(kernel, &kernel->dead_count, 0, RT_TASK_COUNT);
#define X(id, member, count, name) kernel->pool[RT_POOL_##id] = (struct rt_pool){0, (count), (count)};
    RT_POOLS(X)
#undef X
}

int rt_kernel_boot(const struct rt_boot *boot, struct rt_kernel **kernel, struct rt_refusal *refusal)
{
    struct rt_kernel *made = boot->base;
    int result = check(boot, refusal);

    if (result)
        return result;
    rt_memset(made, 0, sizeof(*made));
    made->port = boot->port;
    made->stack_extra = boot->stack_extra;
    made->log_level = boot->log_level;
    (void)rt_port_irq_mask(made->port);
    init_lists(made);
    init_arenas(made, boot);
    result = rt_task_create_system(made);
    if (result)
        return refuse(boot, refusal, result, "heap 0x%llx has no room for the stacks of idle and terminator",
                      (unsigned long long)made->arena[RT_ARENA_SYSTEM].bytes);
    *kernel = made;
    return RT_OK;
}

_Noreturn void rt_kernel_start(struct rt_kernel *kernel)
{
    rt_assert(kernel, !kernel->current, "the kernel is started already");
    rt_sched_start(kernel);
}

void rt_kernel_close(struct rt_kernel *kernel)
{
    for (unsigned i = 0; i < RT_TASK_COUNT; i++) {
        if (kernel->pool[RT_POOL_TASK].used >> i & 1)
            rt_port_context_drop(kernel->port, &kernel->task[i].context);
    }
}

size_t rt_kernel_extent(const struct rt_kernel *kernel)
{
    const uint8_t *base = (const uint8_t *)kernel, *end = base + rt_kernel_bytes();

    for (unsigned i = 0; i < RT_ARENAS; i++) {
        const uint8_t *top = rt_heap_top(kernel, (enum rt_arena_id)i);

        if (top > end)
            end = top;
    }
    return (size_t)(end - base);
}

struct rt_port *rt_kernel_port(const struct rt_kernel *kernel)
{
    return kernel->port;
}

bool rt_kernel_in_interrupt(const struct rt_kernel *kernel)
{
    return kernel->in_interrupt;
}

uint64_t rt_kernel_refused_posts(const struct rt_kernel *kernel)
{
    return kernel->refused_posts;
}

uint64_t rt_kernel_switches(const struct rt_kernel *kernel)
{
    return kernel->switches;
}
