/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes: a program prepared by one client, with a slot of the firmware's for the stream of the client's
 * domain.
 */
#ifndef DRIVER_PROCESS_H
#define DRIVER_PROCESS_H

#include "driver/state.h"

/* The client's process of a program, or NULL. */
struct drv_process *drv_process_find(const struct drv_client *client, uint64_t token);
/* The same; refused when there is none, or when it is not prepared. */
IOReturn drv_process_find_prepared(struct drv_client *client, uint64_t token, struct drv_process **found);
/* One of the client's instances opted out of unwiring (ANE_INSTANCE_KEEP_WIRED). */
bool drv_process_keeps_wired(const struct drv_client *client);
/*
 * The quality of service of requests that name none: what hints say of the client, else what prepare has
 * said, else what the program was created with.
 */
uint32_t drv_process_qos(const struct drv_process *process);
/* Parked; NULL without memory. */
struct drv_process *drv_process_add(struct drv_client *client, struct drv_program *program);
void drv_process_remove(struct drv_process *process);

/* Pinned: its client keeps the domain, and the process is neither parked nor ended. */
void drv_process_pin(struct drv_process *process);
void drv_process_unpin(struct drv_process *process);
/* Gives a pinned process a domain and a slot if it has none. May wait. */
IOReturn drv_process_run(struct drv_process *process, struct drv_deadline *deadline);
/* The intermediate buffer of a band that a process with the same one has already; NULL: none has. */
struct drv_mapping *drv_process_sibling_buffer(const struct drv_process *process, unsigned band);
/* No process of the client uses it for further requests. */
void drv_process_disown_buffer(struct drv_client *client, const struct drv_mapping *mapping);
/* Ends a process of which no request is in flight: its chains, unmapped, terminated, no longer found. */
void drv_process_end(struct drv_process *process);

/*
 * The process a request is for, pinned and running. A direct-path client, which has no selector to prepare
 * with, is attached to a program of the same identity at its first request.
 */
IOReturn drv_process_get(struct drv_client *client, uint64_t token, struct drv_deadline *deadline,
                         struct drv_process **process);
/*
 * Unpinned after a failure: one that was never prepared or attached goes, and with it a program that is not
 * needed any more.
 */
void drv_process_drop_unused(struct drv_process *process);

/* Sends what could not be sent before: terminations of processes that no client has. */
void drv_process_reap(struct drv *driver);

/* The firmware was restarted: processes lose their slots. Those that a call uses are marked `restore`. */
void drv_process_lose_all(struct drv_client *client);
/*
 * A parked process of a client with a domain is started without a caller: its program is READY. False: it
 * could not be sent. `posted` follows when it is answered, and tidies up if it was refused.
 */
bool drv_process_post(struct drv_process *process, struct pr_body_process *body, struct drv_answer *answer);
void drv_process_posted(struct drv_process *process);

/*
 * Eviction: processes lose their slots. The first marks them, the second terminates them in the firmware and
 * waits.
 */
void drv_process_park_all(struct drv_client *client);
void drv_process_terminate_parked(struct drv_client *client);
/*
 * The same for a program that is about to be unwired, whose clients keep their domains; the second terminates
 * one process, and returns false when there is none left.
 */
void drv_process_rest_all(struct drv_program *program);
bool drv_process_terminate_rested(struct drv_program *program);

#endif
