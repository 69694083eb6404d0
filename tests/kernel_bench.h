/* SPDX-License-Identifier: Apache-2.0 */
/* What the cases of kernel_list.h are written with. */
#ifndef TESTS_KERNEL_BENCH_H
#define TESTS_KERNEL_BENCH_H

#include "kernel_list.h"

/* The cases, in the order they run. A case is a function kernel_case_NAME. */
#define KERNEL_CASES(X)         \
    X(priority_order)           \
    X(level_order)              \
    X(give_preempts)            \
    X(preempted_keeps_place)    \
    X(create_preempts)          \
    X(sleep_order)              \
    X(five_states)              \
    X(suspend_ready)            \
    X(suspend_waiting)          \
    X(suspend_self)             \
    X(critical_section)         \
    X(tasks_come_and_go)        \
    X(delete_waiting_task)      \
    X(task_arguments)           \
    X(task_pool)                \
    X(stack_use)                \
    X(interrupt_wakes_pump)     \
    X(interrupts_in_order)      \
    X(resume_in_interrupt)      \
    X(spurious_interrupt)       \
    X(semaphore_limits)         \
    X(semaphore_waiters)        \
    X(semaphore_handoff)        \
    X(semaphore_timeout)        \
    X(queue_full)               \
    X(queue_empty)              \
    X(queue_edges)              \
    X(queue_wraps)              \
    X(queue_timeout)            \
    X(wait_any_order)           \
    X(wait_any_timeout)         \
    X(mailbox_word)             \
    X(mailbox_handoff)          \
    X(refused_posts)            \
    X(signal_flags)             \
    X(signal_timeout)           \
    X(timer_once)               \
    X(timer_period)             \
    X(timer_stop)               \
    X(timer_interrupt)          \
    X(mutex_owner)              \
    X(mutex_circle)             \
    X(inversion_with_semaphore) \
    X(inversion_with_mutex)     \
    X(inherit_along_chain)      \
    X(inherit_from_two)         \
    X(inherit_until_timeout)    \
    X(inherit_until_deleted)    \
    X(inherited_order)          \
    X(delete_with_waiter)       \
    X(heap_blocks)              \
    X(heap_exhausted)           \
    X(heap_statistics)          \
    X(pool_counts)              \
    X(report_lines)             \
    X(machine_table)            \
    X(log_ring)

#define X(name) int kernel_case_##name(struct kernel_bench *bench);
KERNEL_CASES(X)
#undef X

/*
 * A task that calls body(actor) and ends. More urgent than the caller's 0 is none: it runs when that waits.
 */
struct rt_task *kernel_bench_actor(struct kernel_bench *bench, char letter, unsigned priority,
                                   void (*body)(struct kernel_actor *actor));
/* Waits until every actor has ended and its stack is back. */
void kernel_bench_join(struct kernel_bench *bench);
/* 0 when the trace is that. */
int kernel_bench_expect(struct kernel_bench *bench, const char *trace);

/* What happens goes into the trace, in order. */
void kernel_bench_note(struct kernel_bench *bench, const char *text);
void kernel_bench_note_char(struct kernel_bench *bench, char c);
void kernel_bench_note_number(struct kernel_bench *bench, uint64_t number);
void kernel_bench_note_status(struct kernel_bench *bench, int status);
/* A body: notes its letter. */
void kernel_bench_say(struct kernel_actor *actor);

/* So many steps of time. */
void kernel_bench_sleep(struct kernel_bench *bench, unsigned steps);

#endif
