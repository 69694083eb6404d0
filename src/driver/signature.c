/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures. A signature that is there is judged for every caller. One that is absent is the business of the
 * developer flag, which the process itself has.
 */
#include "driver/signature.h"

#include <string.h>

#include "base/array.h"
#include "base/signing.h"
#include "base/tree.h"

_Static_assert(sizeof(struct ane_program_signature) == sizeof(struct base_signature), "the same bytes");
_Static_assert(sizeof(((struct ane_program_args *)0)->hash) == 2 * BASE_HASH_BYTES, "two hashes");

bool drv_signature_present(const struct ane_program_args *args)
{
    return !base_is_zero(args->hash, sizeof(args->hash));
}

static bool hashes_equal(const struct ane_program_args *args, const struct drv_signed *program,
                         struct base_hashes *hashes)
{
    base_tree_of(program->part[0], program->bytes[0], hashes->part[0]);
    if (program->bytes[1] && !program->part[1])
        memcpy(hashes->part[1], program->hash, sizeof(program->hash));
    else
        base_tree_of(program->part[1], program->bytes[1], hashes->part[1]);
    return !memcmp(hashes, args->hash, sizeof(*hashes));
}

static bool is_trusted(const struct drv *d, const uint8_t key[BASE_KEY_BYTES])
{
    uint8_t trusted[BASE_KEY_BYTES];

    return d->platform.trusted_key && d->platform.trusted_key(d->platform.context, trusted) &&
           !memcmp(trusted, key, sizeof(trusted));
}

IOReturn drv_signature_check(struct drv_client *client, const struct ane_program_args *args,
                             const struct drv_signed *program, const struct ane_program_signature *given)
{
    struct drv *d = client->driver;
    struct base_hashes hashes;
    struct base_signature signature;

    if (!drv_signature_present(args))
        return client->identity.developer
                   ? kIOReturnSuccess
                   : drv_refuse(d, kIOReturnNotPermitted,
                                "Program create: the program is not signed for this caller: it has no "
                                "signature, and the task does not hold %s.",
                                pr_entitlement_key(PR_ENTITLEMENT_RAW_IMAGES));
    if (!given)
        return drv_refuse(d, kIOReturnNotPermitted,
                          "Program create: the arguments have hashes, and no signature follows the image.");
    memcpy(&signature, given, sizeof(signature));
    if (!hashes_equal(args, program, &hashes))
        return drv_refuse(d, kIOReturnNotPermitted,
                          "Program create: the hashes are not those of the program; it was changed after it "
                          "was signed.");
    if (!is_trusted(d, signature.key))
        return drv_refuse(
            d, kIOReturnNotPermitted,
            "Program create: the program is signed with a key that this machine does not trust; "
            "compile it again as this user.");
    if (!base_signing_verify(&hashes, &signature))
        return drv_refuse(d, kIOReturnNotPermitted, "Program create: the signature is wrong.");
    return kIOReturnSuccess;
}
