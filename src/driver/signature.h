/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of programs, as program create judges them. */
#ifndef DRIVER_SIGNATURE_H
#define DRIVER_SIGNATURE_H

#include "base/hash.h"
#include "driver/state.h"

/* The arguments carry hashes, so a signature follows the image. */
bool drv_signature_present(const struct ane_program_args *args);
/* What is signed: of one bundle main.e5 and the weights, of anything else all and nothing. */
struct drv_signed {
    const void *part[2];
    uint64_t bytes[2];
    /* Of the second part: made while it was copied, where it is signed and `part` is NULL. */
    uint8_t hash[BASE_HASH_BYTES];
};
/*
 * Judges a private copy of the program before it can be found. `signature` is NULL when none follows.
 * kIOReturnNotPermitted for hashes, a signature or a key that are wrong, and for none unless the caller is a
 * developer.
 */
IOReturn drv_signature_check(struct drv_client *client, const struct ane_program_args *args,
                             const struct drv_signed *program, const struct ane_program_signature *signature);

#endif
