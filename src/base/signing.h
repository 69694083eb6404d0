/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures of programs: Ed25519 with a key of the user's. The key is a file of 32 bytes (the seed), made
 * when it is first needed: $ANEMONE_KEY, else $XDG_DATA_HOME/anemone/signing.key, else
 * $HOME/.local/share/anemone/signing.key. A process that can neither read nor make it has a key in memory.
 */
#ifndef BASE_SIGNING_H
#define BASE_SIGNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"

#define BASE_KEY_BYTES       32u
#define BASE_SIGNATURE_BYTES 64u

/* Hashes of a program's two parts (base/tree.h). */
struct base_hashes {
    uint8_t part[2][BASE_HASH_BYTES];
};

/* Who signed, and what came of it; also the contents of a bundle's file `signature`. */
struct base_signature {
    uint8_t key[BASE_KEY_BYTES];
    uint8_t signature[BASE_SIGNATURE_BYTES];
};

/* The public key of the process's user. 1, with a sentence, when it is in memory alone. Any thread calls. */
int base_signing_key(uint8_t key[BASE_KEY_BYTES], struct base_error *warning);
/* Signs the hashes of a program's two parts with the user's key. Returns as base_signing_key. */
int base_signing_sign(const struct base_hashes *hashes, struct base_signature *signature,
                      struct base_error *warning);
/* Whether the signature is that of its own key for these hashes. */
bool base_signing_verify(const struct base_hashes *hashes, const struct base_signature *signature);
/* SHA-256. */
void base_signing_hash(const void *bytes, size_t size, uint8_t hash[BASE_HASH_BYTES]);
/* The same of a whole file, wherever the descriptor is. -EFBIG: above `most` bytes; or the error of read. */
int base_signing_hash_file(int file, uint64_t most, uint8_t hash[BASE_HASH_BYTES]);

#endif
