/* SPDX-License-Identifier: Apache-2.0 */
/* What a client hands over to create a program: the arguments and what follows them in its surface. */
#ifndef DRIVER_PAYLOAD_H
#define DRIVER_PAYLOAD_H

#include "driver/state.h"

struct drv_payload {
    struct ane_program_args args; /* copied */
    const uint8_t *image;         /* in the client's surface */
    uint64_t bytes;               /* from there to the end of what the client named */
};

IOReturn drv_payload_check(struct drv *driver, const struct drv_payload *payload);
/*
 * Fills the program from a copy of the image, once its signature is checked. On failure nothing is left and
 * the reason is the driver's last error.
 */
IOReturn drv_payload_load(struct drv_client *client, const struct drv_payload *payload,
                          struct drv_program *program);

#endif
