/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of programs, as program create judges them. */
#ifndef DRIVER_SIGNATURE_H
#define DRIVER_SIGNATURE_H

#include "driver/state.h"

/* The arguments carry hashes, so a signature follows the image. */
bool drv_signature_present(const struct ane_program_args *args);
/*
 * Judges a private copy of the image before anything is made from it. `signature` is NULL when none follows.
 * kIOReturnNotPermitted for hashes, a signature or a key that are wrong, and for none unless the caller is a
 * developer.
 */
IOReturn drv_signature_check(struct drv_client *client, const struct ane_program_args *args,
                             const void *image, const struct ane_program_signature *signature);

#endif
