/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: to the kernel's log, and to the host's TERMINAL channel once that has been enabled, which the
 * hostrpc task sends them to (hostrpc.c). Tasks only.
 */
#ifndef FIRMWARE_LOG_H
#define FIRMWARE_LOG_H

#include "firmware/state.h"
#include "rtkernel/log.h"

void fw_log(struct fw *fw, enum rt_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/*
 * For what happens while a line is on its way to the host, or before there are tasks: the kernel's log alone.
 */
#define fw_log_quiet(fw, level, ...) rt_log((fw)->kernel, level, __VA_ARGS__)

#endif
