/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far long work of the calling thread is. The work names its phase and counts steps in it; a watcher, if
 * the thread has one, is called with them. Without a watcher a step costs one comparison.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdint.h>

/* `done` of `total` steps of the phase `what`; done < total. */
typedef void base_progress_watcher(void *context, uint32_t done, uint32_t total, const char *what);

/* From now on, for this thread; NULL: no watcher any more. */
void base_progress_watch(base_progress_watcher *watcher, void *context);
/* A phase begins; the string stays the caller's, for as long as the phase lasts. */
void base_progress_phase(const char *what);
void base_progress_step(uint32_t done, uint32_t total);

#endif
