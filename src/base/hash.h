/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256, of bytes at once or in pieces. The result does not depend on the processor or on the pieces. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include <sodium.h>

#define BASE_HASH_BYTES 32u

struct base_hash {
    crypto_hash_sha256_state state;
};

void base_hash_begin(struct base_hash *hash);
void base_hash_add(struct base_hash *hash, const void *bytes, size_t size);
void base_hash_end(struct base_hash *hash, uint8_t digest[BASE_HASH_BYTES]);
/* All of it in one call. */
void base_hash_of(const void *bytes, size_t size, uint8_t digest[BASE_HASH_BYTES]);
/* Of two ranges of one size, in little more time than of one. */
void base_hash_of_two(const void *first, const void *second, size_t size,
                      uint8_t first_digest[BASE_HASH_BYTES], uint8_t second_digest[BASE_HASH_BYTES]);
/* Of `count` ranges of one size that follow each other; sixteen at once take the least time for each. */
void base_hash_of_many(const void *ranges, size_t size, size_t count, uint8_t (*digest)[BASE_HASH_BYTES]);

#endif
