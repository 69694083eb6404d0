/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session that looks at a service: who its clients are and what they use (STATUS of protocol/service.h).
 * What comes is checked here: text is printable and ends, and there are as many clients as a service has.
 */
#ifndef TOOL_OBSERVER_H
#define TOOL_OBSERVER_H

#include <stdbool.h>
#include <sys/un.h>

#include "base/error.h"
#include "protocol/service.h"
#include "tool/json.h"

struct tool_observer {
    int socket;
    uint32_t serial;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    struct pr_service_welcome welcome; /* what the service's policy gives to this process, too */
};

struct tool_status {
    struct pr_service_status_page page; /* but its rows */
    unsigned clients;
    struct pr_service_client client[PR_SERVICE_SESSIONS];
};

/*
 * Begins a session at `path`; NULL: what ANEMONE_SERVICE names, else the first of the default places where
 * one answers. 0, or a negative errno with a sentence; -ENOENT when no service is there.
 */
int tool_observer_open(struct tool_observer *observer, const char *path, struct base_error *error);
/* 0, or a negative errno with a sentence. */
int tool_observer_read(struct tool_observer *observer, struct tool_status *status, struct base_error *error);
void tool_observer_close(struct tool_observer *observer);

/*
 * The clients as a table on stdout, those that used the engine most first, at most `lines` of them (0: all);
 * or the service and its clients as members of a JSON object. Rates are those since `before`, which may be
 * the same as `now`: then they are 0.
 */
void tool_observer_print(struct tool_status *now, const struct tool_status *before, unsigned lines);
void tool_observer_json(struct tool_status *now, const struct tool_status *before, struct json *json);

#endif
