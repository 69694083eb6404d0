/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenarios of the real-time kernel that any port can run: freestanding C over rtkernel's headers and port.h.
 * The same lines come out on every port, so two ports are compared by comparing what they print.
 *
 * The program that runs them boots a kernel, creates one task of priority 0 and calls kernel_list_run there.
 * The cases of the second list end the kernel: each needs a kernel of its own, and the program compares the
 * text of the fault. Both need KERNEL_CARVE_OUT bytes and a port without other users of its interrupt lines.
 */
#ifndef TESTS_KERNEL_LIST_H
#define TESTS_KERNEL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rtkernel/kernel.h"
#include "rtkernel/rt_limits.h"

struct rt_mailbox;
struct rt_mutex;
struct rt_queue;
struct rt_semaphore;
struct rt_signal;
struct rt_task;
struct rt_timer;

struct kernel_bench;

#define KERNEL_CARVE_OUT (4u << 20)
#define KERNEL_FRAMEWORK (64u << 10)
#define KERNEL_STACK     4096u /* of the task that calls kernel_list_run, and of those it creates */
#define KERNEL_LINE      20u   /* this line and the next are raised by software */

struct kernel_actor {
    struct kernel_bench *bench;
    struct rt_task *task;
    void (*body)(struct kernel_actor *actor);
    char letter;
};

struct kernel_bench {
    /* The program's. */
    struct rt_kernel *kernel;
    void (*print)(struct kernel_bench *bench, const char *line); /* a line without its end */
    void *arg;
    /*
     * Nanoseconds between two moments whose order a case relies on: any number on a virtual clock, a
     * millisecond or more on a real one.
     */
    uint64_t step;

    /* The running case's: made before it, deleted after it. */
    struct rt_semaphore *semaphore; /* 0 of 3 units */
    struct rt_semaphore *done;      /* a unit for each actor that has ended */
    struct rt_queue *queue;         /* 2 messages of 16 bytes */
    struct rt_mailbox *mailbox;
    struct rt_signal *signal;
    struct rt_mutex *mutex[3];
    struct rt_timer *timer;
    struct kernel_actor actor[8];
    unsigned actors;
    unsigned count;
    bool inherits; /* the case uses a mutex where it could use a semaphore */
    char trace[256];
    size_t length;
};

struct kernel_case {
    const char *name;
    int (*run)(struct kernel_bench *bench); /* 0: passed */
};

struct kernel_fault {
    const char *name;
    void (*run)(struct kernel_bench *bench); /* does not return */
    const char *text;                        /* of the fault */
    bool in_interrupt;
};

extern const struct kernel_case kernel_list[];
extern const unsigned kernel_list_count;
extern const struct kernel_fault kernel_fault_list[];
extern const unsigned kernel_fault_list_count;

/* Runs every case of kernel_list, prints a line for each, "ok" or "not ok"; how many failed. */
unsigned kernel_list_run(struct kernel_bench *bench);
/* In a kernel of its own: runs a case of kernel_fault_list, which ends in rt_port_fault. */
void kernel_list_fault(struct kernel_bench *bench, unsigned number);

#endif
