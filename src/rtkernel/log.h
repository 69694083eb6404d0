/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log: each line goes to the port and into a ring inside the kernel, where it can be read after a crash.
 * A line is "level who: text", where who is the task's name, "irq N" or "boot".
 */
#ifndef RTKERNEL_LOG_H
#define RTKERNEL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "rtkernel/rt_limits.h"

struct rt_kernel;

enum rt_log_level {
    RT_LOG_ERROR,
    RT_LOG_WARNING,
    RT_LOG_INFO,
    RT_LOG_DEBUG,
    RT_LOG_LEVELS,
};

struct rt_log_line {
    uint64_t time;
    uint64_t number; /* from 0 at boot */
    char text[RT_LOG_WIDTH];
};

/* The format is rt_format's. Lines above rt_boot.log_level cost a comparison. Any context. */
void rt_log(struct rt_kernel *kernel, enum rt_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* A line of the ring, 0 being the newest; NULL when there is none that old. Valid until the next rt_log. */
const struct rt_log_line *rt_log_recent(const struct rt_kernel *kernel, unsigned age);

#endif
