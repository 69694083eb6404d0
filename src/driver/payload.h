/* SPDX-License-Identifier: Apache-2.0 */
/* What a client hands over to create a program: the arguments and what follows them in its surface. */
#ifndef DRIVER_PAYLOAD_H
#define DRIVER_PAYLOAD_H

#include "driver/state.h"

struct drv_payload {
    struct ane_program_args args; /* copied */
    const uint8_t *image;         /* in the client's surface */
    uint64_t bytes;               /* from there to the end of what the client named */
    uint32_t surface;             /* that surface, and where in it the image is */
    uint64_t offset;
    struct ane_program_bundle head; /* copied, of a bundle whose weights are in a surface of their own */
};

/* Also copies the head. */
IOReturn drv_payload_check(struct drv *driver, struct drv_payload *payload);
/* What the program will take of its client's quota. */
uint64_t drv_payload_bytes(const struct drv_payload *payload);
/*
 * Fills the program from a copy of the image, once its signature is checked. On failure nothing is left and
 * the reason is the driver's last error.
 */
IOReturn drv_payload_load(struct drv_client *client, const struct drv_payload *payload,
                          struct drv_program *program);

#endif
