/* SPDX-License-Identifier: Apache-2.0 */
/* Programs, loaded once, by their owner. */
#ifndef DRIVER_PROGRAM_H
#define DRIVER_PROGRAM_H

#include "driver/state.h"

/* Selectors 3 to 6, on private copies of their structs. */
IOReturn drv_program_create(struct drv_client *client, const struct ane_program_create *create);
IOReturn drv_program_prepare(struct drv_client *client, struct ane_program_prepare *prepare);
IOReturn drv_program_unprepare(struct drv_client *client, const struct ane_program_prepare *prepare);
IOReturn drv_program_destroy(struct drv_client *client, const struct ane_program_destroy *destroy);

/*
 * The program of a token, if the client may use it: its own, or one of the same team and code-directory hash.
 */
struct drv_program *drv_program_find(struct drv_client *client, uint64_t token);
IOReturn drv_program_not_found(struct drv *driver, uint64_t token);
/* kIOReturnNoResources when the client has as many programs as it may have; instances count. */
IOReturn drv_program_check_quota(const struct drv_client *client);
/* The memory of a program that is not its base's; how many blocks it is. */
#define DRV_PROGRAM_BLOCKS 5u
unsigned drv_program_blocks(const struct drv_program *program,
                            const struct drv_block *block[DRV_PROGRAM_BLOCKS]);
/* A new program of the client's, unknown to the firmware, for drv_program_free; NULL without memory. */
struct drv_program *drv_program_make(struct drv_client *client);
void drv_program_free(struct drv *driver, struct drv_program *program);
/*
 * The firmware loads it, or an instance takes its base's slot; then clients find it. May wait. On failure it
 * is gone, or goes as soon as the firmware has let go of it.
 */
IOReturn drv_program_enter(struct drv_program *program);
/* It is used now. */
void drv_program_touch(struct drv_program *program);
/* The one way to another state. */
void drv_program_set_state(struct drv_program *program, enum drv_program_state state);
/* The last to leave a program without an owner unloads it. May wait; the program may be gone afterwards. */
void drv_program_unload_orphan(struct drv *driver, struct drv_program *program);
/* Ends what could not be ended in time: the firmware was late, or its queue full. May wait. */
void drv_program_reap(struct drv *driver);

/* The client goes: processes end, programs are unloaded or left to those that still use them. */
void drv_program_leave_all(struct drv_client *client);
/* After the controller has stopped: without a command to it. */
void drv_program_forget_all(struct drv_client *client);
void drv_program_drop_all(struct drv *driver);

#endif
