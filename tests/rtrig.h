/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests of the real-time kernel share: one kernel with a few
 * objects, and tasks that record what they do.
 */
#ifndef TESTS_RTRIG_H
#define TESTS_RTRIG_H

#include "support.h"

#include <stdio.h>
#include <string.h>

#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/task.h"
#include "rtport.h"

#define CARVE_OUT (4u << 20)
#define STACK     4096u
#define TASKS     8

struct rtrig;

struct rtrig_actor {
    struct rtrig *rig;
    struct rt_task *task;
    char letter;
};

/* Tasks write what they do into the trace, the test compares it. */
struct rtrig {
    struct rt_port *port;
    struct rt_kernel *kernel;
    struct rt_semaphore *semaphore;
    struct rt_queue *queue, *back;
    struct rtrig_actor actor[TASKS];
    unsigned actors;
    char trace[512];
    size_t length;
    int result[8];
    uint64_t time[8];
    uint64_t count;
};

static inline void rtrig_note(struct rtrig *rig, const char *text)
{
    const size_t room = sizeof(rig->trace) - rig->length;

    rig->length += (size_t)snprintf(rig->trace + rig->length, room, "%s", text);
    if (rig->length >= sizeof(rig->trace))
        rig->length = sizeof(rig->trace) - 1;
}

static inline void rtrig_note_char(struct rtrig *rig, char c)
{
    rtrig_note(rig, (char[]){c, '\0'});
}

static inline struct rt_task *rtrig_add(struct rtrig *rig, char letter, unsigned priority,
                                        void (*entry)(void *arg))
{
    struct rtrig_actor *actor = &rig->actor[rig->actors++];

    actor->rig = rig;
    actor->letter = letter;
    if (rt_task_create(rig->kernel, &actor->task, (char[]){letter, '\0'}, priority, STACK, entry, actor))
        rtrig_note(rig, "[not created]");
    return actor->task;
}

static inline void rtrig_begin(struct rtrig *rig)
{
    memset(rig, 0, sizeof(*rig));
    rig->port = rtport_create(CARVE_OUT, 64u << 10);
}

static inline void rtrig_end(struct rtrig *rig)
{
    rtport_destroy(rig->port);
}

/* Boots with that setup, runs to the end and compares the trace. */
static inline void rtrig_run(struct rtrig *rig, void (*setup)(struct rt_kernel *kernel, void *arg),
                             const char *expected)
{
    rtrig_begin(rig);
    assert_int_equal(rtport_start(rig->port, setup, rig, RT_FOREVER), RTPORT_IDLE);
    assert_string_equal(rig->trace, expected);
    rtrig_end(rig);
}

static inline struct rtrig *rtrig_enter(struct rt_kernel *kernel, void *arg)
{
    struct rtrig *rig = arg;

    rig->kernel = kernel;
    rt_semaphore_create(kernel, &rig->semaphore, 0, 100);
    rt_queue_create(kernel, &rig->queue, 16, 2);
    rt_queue_create(kernel, &rig->back, 16, 2);
    return rig;
}

#endif
