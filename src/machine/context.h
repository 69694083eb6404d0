/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutine stacks for the firmware's host port: hand-written switches for x86-64 and AArch64, no signals, no
 * system calls. A context may be made by one thread and continued by another, as long as only one at a time
 * runs it.
 *
 * What a switch keeps is what a C call keeps, except the floating-point control words: they belong to the
 * thread.
 */
#ifndef MACHINE_CONTEXT_H
#define MACHINE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define HOST_CONTEXT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOST_CONTEXT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define HOST_CONTEXT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOST_CONTEXT_TSAN 1
#endif
#endif
#ifndef HOST_CONTEXT_ASAN
#define HOST_CONTEXT_ASAN 0
#endif
#ifndef HOST_CONTEXT_TSAN
#define HOST_CONTEXT_TSAN 0
#endif

/* All zeroes is the context of a thread's own stack: it is filled by the first switch away from it. */
struct host_context {
    void *sp; /* context.S knows that it is the first member */
    void *stack;
    size_t bytes;
    void (*entry)(void *arg);
    void *arg;
    struct host_context *from; /* who switched here last */
    void *fiber;      /* the thread sanitizer's; a thread's own is looked up at each switch away from it */
    void *fake_stack; /* the address sanitizer's, while switched away */
};

/*
 * A context that calls entry(arg) on that stack when first switched to. Returning from entry aborts the
 * process.
 */
void host_context_make(struct host_context *context, void *stack, size_t bytes, void (*entry)(void *arg),
                       void *arg);
/*
 * It will not be continued, and its stack is free for other use. No effect on a thread's own context. Must
 * not be called while it runs.
 */
void host_context_drop(struct host_context *context);

/*
 * The return addresses of the running context, innermost first, from a frame of it (__builtin_frame_address)
 * to its entry; how many. None when the frame is not on its stack. All code on its stack has unwind tables,
 * which cost nothing until they are read.
 */
size_t host_context_frames(const struct host_context *context, const void *frame, uint64_t *address,
                           size_t most);

/* Stores the running state in `from`, continues `to`; returns when `from` is switched to. */
#if defined(__x86_64__)
/*
 * In its caller's code and left by a jump. With a call and a return, the processor would predict this return
 * and those of all callers wrong, since it predicts by the calls that came last, which were made on another
 * stack. So a function that is not left between two switches costs no wrong prediction. The compiler keeps
 * what the caller needs of registers on the stack, except for the frame pointer; the bytes below the stack
 * pointer belong to a caller that calls no other function.
 */
#define HOST_CONTEXT_RED_ZONE "128"
static inline __attribute__((always_inline)) void host_context_swap(struct host_context *from,
                                                                    struct host_context *to)
{
    __asm__ volatile("leaq -" HOST_CONTEXT_RED_ZONE "(%%rsp), %%rsp\n\t"
                     "pushq %%rbp\n\t"
                     "leaq 1f(%%rip), %%rax\n\t"
                     "pushq %%rax\n\t"
                     "movq %%rsp, (%%rdi)\n\t"
                     "movq (%%rsi), %%rsp\n\t"
                     "popq %%rax\n\t"
                     "jmpq *%%rax\n"
                     "1:\n\t"
                     "popq %%rbp\n\t"
                     "leaq " HOST_CONTEXT_RED_ZONE "(%%rsp), %%rsp"
                     : "+D"(from), "+S"(to)
                     :
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                       "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
}
#else
void host_context_swap(struct host_context *from, struct host_context *to);
#endif

#if HOST_CONTEXT_ASAN || HOST_CONTEXT_TSAN
/* The same, with notice to the sanitizers. */
void host_context_switch(struct host_context *from, struct host_context *to);
#else
static inline void host_context_switch(struct host_context *from, struct host_context *to)
{
    host_context_swap(from, to);
}
#endif

#endif
