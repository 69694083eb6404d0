/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: the first frame of a new one, and what the sanitizers need to know about stacks that come and go.
 * The words of a frame are those that host_context_swap of context.S pops; both files change together. With a
 * sanitizer every switch is announced before it happens and completed on the stack that it leads to.
 */
#include "machine/context.h"

#include <stdint.h>
#include <stdlib.h>
#include <unwind.h>

#if HOST_CONTEXT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if HOST_CONTEXT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

_Static_assert(offsetof(struct host_context, sp) == 0, "context.S stores there");

/* Words of a frame as host_context_swap pops it, from the stack pointer up. */
#if defined(__x86_64__)
enum { FRAME_RETURN = 0, FRAME_ARGUMENT = 1, FRAME_FUNCTION = 2, FRAME_WORDS = 3 };
#else
enum { FRAME_FUNCTION = 1, FRAME_ARGUMENT = 0, FRAME_RETURN = 11, FRAME_WORDS = 20 };
#endif

void host_context_begin(void);

/* Arrived on this stack, for the first time or again. */
static void arrived(struct host_context *self)
{
#if HOST_CONTEXT_ASAN
    const void *bottom;
    size_t size;

    __sanitizer_finish_switch_fiber(self->fake_stack, &bottom, &size);
    /* how the bounds of a thread's own stack become known */
    self->from->stack = (void *)(uintptr_t)bottom;
    self->from->bytes = size;
#else
    (void)self;
#endif
}

static void first_frame(void *arg)
{
    struct host_context *self = arg;

    arrived(self);
    self->entry(self->arg);
    abort();
}

void host_context_make(struct host_context *context, void *stack, size_t bytes, void (*entry)(void *arg),
                       void *arg)
{
    uintptr_t top = ((uintptr_t)stack + bytes) & ~(uintptr_t)15;
    uintptr_t *frame = (uintptr_t *)top - FRAME_WORDS;

    *context = (struct host_context){.sp = frame, .stack = stack, .bytes = bytes, .entry = entry, .arg = arg};
    for (unsigned i = 0; i < FRAME_WORDS; i++)
        frame[i] = 0;
    frame[FRAME_FUNCTION] = (uintptr_t)first_frame;
    frame[FRAME_ARGUMENT] = (uintptr_t)context;
    frame[FRAME_RETURN] = (uintptr_t)host_context_begin;
#if HOST_CONTEXT_TSAN
    context->fiber = __tsan_create_fiber(0);
#endif
}

void host_context_drop(struct host_context *context)
{
    if (!context->entry)
        return;
#if HOST_CONTEXT_ASAN
    /* frames that never returned have left their marks */
    __asan_unpoison_memory_region(context->stack, context->bytes);
#endif
#if HOST_CONTEXT_TSAN
    __tsan_destroy_fiber(context->fiber);
#endif
    context->entry = NULL;
    context->fiber = NULL;
}

struct walk {
    uintptr_t frame;
    uint64_t *address;
    size_t count, most;
};

/*
 * The unwinder begins with its own caller: what lies below the frame that was asked for is passed over. The
 * stack ends with host_context_begin, which is no part of the list.
 */
static _Unwind_Reason_Code take_frame(struct _Unwind_Context *at, void *arg)
{
    struct walk *walk = arg;

    if (_Unwind_GetCFA(at) <= walk->frame)
        return _URC_NO_REASON;
    if (walk->count == walk->most || _Unwind_GetRegionStart(at) == (uintptr_t)host_context_begin)
        return _URC_END_OF_STACK;
    walk->address[walk->count++] = _Unwind_GetIP(at);
    return _URC_NO_REASON;
}

size_t host_context_frames(const struct host_context *context, const void *frame, uint64_t *address,
                           size_t most)
{
    struct walk walk = {.frame = (uintptr_t)frame, .address = address, .most = most};
    const uintptr_t low = (uintptr_t)context->stack;

    if (walk.frame >= low && walk.frame - low < context->bytes)
        (void)_Unwind_Backtrace(take_frame, &walk);
    return walk.count;
}

#if HOST_CONTEXT_ASAN || HOST_CONTEXT_TSAN
/* Not instrumented: entry and exit of this function are seen by different contexts. */
__attribute__((noinline, no_sanitize("address"), no_sanitize("thread"))) void host_context_switch(
    struct host_context *from, struct host_context *to)
{
    to->from = from;
#if HOST_CONTEXT_TSAN
    if (!from->entry)
        from->fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
#if HOST_CONTEXT_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->bytes);
#endif
    host_context_swap(from, to);
    arrived(from);
}
#endif
