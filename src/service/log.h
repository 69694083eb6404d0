/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's log: one line on stderr for each event worth knowing, whole or not at all, from any thread.
 * Lines begin with the time unless stderr is the journal, which has a clock of its own.
 */
#ifndef SERVICE_LOG_H
#define SERVICE_LOG_H

/* Control characters, which a client's path may have, become '?'. */
void svc_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
