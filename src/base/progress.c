/* SPDX-License-Identifier: Apache-2.0 */
#include "base/progress.h"

#include <stddef.h>

static _Thread_local struct {
    base_progress_watcher *watcher;
    void *context;
    const char *phase;
} current;

void base_progress_watch(base_progress_watcher *watcher, void *context)
{
    current.watcher = watcher;
    current.context = context;
    current.phase = "";
}

void base_progress_phase(const char *what)
{
    current.phase = what;
    base_progress_step(0, 1);
}

void base_progress_step(uint32_t done, uint32_t total)
{
    if (current.watcher)
        current.watcher(current.context, done, total, current.phase);
}
