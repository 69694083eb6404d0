/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firmware's copy of a program: loaded once, unloaded at its end, and loaded again when the firmware was
 * restarted in between. The driver keeps the container and everything the program reads all that time.
 */
#ifndef DRIVER_LOAD_H
#define DRIVER_LOAD_H

#include "driver/state.h"

/* NEW becomes LOADED. May wait. */
IOReturn drv_load_send(struct drv_program *program);
/* LOADED becomes UNLOADED, or stays. May wait. */
void drv_load_unload(struct drv_program *program);
/* READY becomes LOST, or stays. May wait. */
void drv_load_leave(struct drv_program *program);
/* The firmware has the program, or an instance's base, when this returns kIOReturnSuccess. May wait. */
IOReturn drv_load_again(struct drv_program *program, struct drv_deadline *deadline);
/*
 * The next command that `program`, which is LOST, needs to be READY is sent, with `body` until it is
 * answered. False when none is needed any more: an instance has taken the slot of its base.
 */
bool drv_load_post(struct drv_program *program, struct pr_body_load *body, struct drv_answer *answer);
/* Clients find the program, and the firmware does not have it, or not for long. */
bool drv_load_is_away(const struct drv_program *program);
/* The firmware has the program, or an instance's base. */
bool drv_load_is_there(struct drv_program *program);
/* The firmware has forgotten every program, and every process without a client. */
void drv_load_lose_all(struct drv *driver);

/*
 * While a command about the program is under way it is not freed. The caller that held it calls
 * drv_program_unload_orphan afterwards.
 */
void drv_load_hold(struct drv_program *program);
void drv_load_unhold(struct drv_program *program);

#endif
