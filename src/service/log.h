/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's log: one line on stderr for each event worth knowing, whole or not at all, from any thread.
 * A line that stderr has no room for is left out: no call here waits for a reader.
 * Lines begin with the time unless stderr is the journal, which has a clock of its own.
 */
#ifndef SERVICE_LOG_H
#define SERVICE_LOG_H

/* Control characters, which a client's path may have, become '?'. */
void svc_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * The same for what a client causes, who could fill a disk with it: above SVC_LOG_LINES in a second lines are
 * left out, and counted in the next one.
 */
#define SVC_LOG_LINES 50u
void svc_log_client(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
