/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every size that is fixed when the kernel is built. Ch. 29 names the seven pools but not their capacities:
 * the numbers are chosen here.
 */
#ifndef RTKERNEL_RT_LIMITS_H
#define RTKERNEL_RT_LIMITS_H

/* The pools: id, member of struct rt_kernel, capacity (64 at most), name in reports. */
#define RT_POOLS(X)                           \
    X(TASK, task, 24, "tasks")                \
    X(SEMAPHORE, semaphore, 64, "semaphores") \
    X(MAILBOX, mailbox, 16, "mailboxes")      \
    X(QUEUE, queue, 48, "queues")             \
    X(SIGNAL, signal, 16, "signals")          \
    X(TIMER, timer, 32, "timers")             \
    X(MUTEX, mutex, 16, "mutexes")

#define RT_PRIORITY_LEVELS 8 /* 0 is the most urgent; 0 and 1 are the system band (Table 29.6) */

#define RT_IRQ_LINES 32

/*
 * Hardware threads of the processor (ch. 29: THID0 to THID10). Which one runs what is chosen here: a task's
 * is its slot in the pool, modulo the first ten; boot code and interrupt handlers are on the last.
 */
#define RT_THREADS     11
#define RT_THREAD_BOOT (RT_THREADS - 1)

#define RT_CALL_STACK_FRAMES 32 /* of a fault's call stack, at most */

#define RT_NAME_BYTES 16 /* of a task's name, with its end */

/* Stack sizes do not contain what the port asks for on top (rt_boot.stack_extra). */
#define RT_STACK_MIN    2048
#define RT_STACK_SYSTEM 4096 /* idle and terminator */

#define RT_TIMER_MESSAGE_BYTES 16 /* what a timer can post */

#define RT_FSM_PENDING 8 /* events posted from within actions and not yet run */

#define RT_LOG_LINES 64
#define RT_LOG_WIDTH 160 /* bytes of a line, with its end */

#define RT_TEXT_BYTES 128 /* a refusal or a fault, in one sentence */

#endif
