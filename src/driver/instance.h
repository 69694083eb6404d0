/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances: a program's text once more, under a token and with processes of its own. One that brings weight
 * files has copies of the pages of the kernel that they change; the base stays as it is.
 */
#ifndef DRIVER_INSTANCE_H
#define DRIVER_INSTANCE_H

#include "driver/state.h"

/* Control selector 8. */
IOReturn drv_instance_create(struct drv_client *client, struct IOExternalMethodArguments *args);

/* The firmware's slot of an instance is its base's: it has weights of the base. */
bool drv_instance_adopts(const struct drv_program *program);
/* Whose intermediate buffer a program uses: its own, or its base's. */
const struct drv_program *drv_instance_intermediate(const struct drv_program *program);
/* A block of an instance's is its base's. */
bool drv_instance_shares(const struct drv_program *program, const struct drv_block *block);
/* Those blocks are as the base's are now. */
void drv_instance_share(struct drv_program *program);
/* The container of an instance with weight files, whose kernel is known; its base is wired. */
IOReturn drv_instance_container(struct drv *driver, struct drv_program *program);
/* Before the blocks of an instance are dropped: those of its base are no longer its. */
void drv_instance_unshare(struct drv_program *program);

#endif
