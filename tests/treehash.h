/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of a program's part as abi.h says it, by libsodium alone. */
#ifndef TESTS_TREEHASH_H
#define TESTS_TREEHASH_H

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

static inline void treehash_of(const uint8_t *bytes, size_t size, uint8_t digest[32])
{
    uint8_t leaf[32], count[8];
    crypto_hash_sha256_state root;

    crypto_hash_sha256_init(&root);
    crypto_hash_sha256_update(&root, (const uint8_t *)"anemone leaves 1", 16);
    for (size_t at = 0; at < size; at += 65536) {
        crypto_hash_sha256(leaf, bytes + at, size - at < 65536 ? size - at : 65536);
        crypto_hash_sha256_update(&root, leaf, sizeof(leaf));
    }
    for (unsigned i = 0; i < 8; i++)
        count[i] = (uint8_t)((uint64_t)size >> 8 * i);
    crypto_hash_sha256_update(&root, count, sizeof(count));
    crypto_hash_sha256_final(&root, digest);
}

#endif
