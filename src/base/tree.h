/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash of a program's part: SHA-256 over the hashes of its leaves. A leaf is BASE_TREE_LEAF bytes, the
 * last one what is left. The root is SHA-256 of the 16 characters "anemone leaves 1", the SHA-256 of each
 * leaf in order, and the number of bytes as eight bytes, the lowest first. Leaves do not depend on each
 * other, so several are computed at a time, in less time than one after the other. Does not depend on the
 * processor or on the pieces.
 */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include "base/hash.h"

#define BASE_TREE_LEAF  ((size_t)65536)
#define BASE_TREE_PIECE (16 * BASE_TREE_LEAF) /* pieces of a multiple of this are hashed fastest */

struct base_tree {
    struct base_hash root, leaf; /* leaf: the one that is not complete */
    uint64_t bytes;
};

void base_tree_begin(struct base_tree *tree);
void base_tree_add(struct base_tree *tree, const void *bytes, size_t size);
void base_tree_end(struct base_tree *tree, uint8_t digest[BASE_HASH_BYTES]);
/* All of it in one call. */
void base_tree_of(const void *bytes, size_t size, uint8_t digest[BASE_HASH_BYTES]);
/*
 * Of a whole file, wherever the descriptor is. -EFBIG: above `most` bytes; -ENOMEM; or the error of read.
 */
int base_tree_of_file(int file, uint64_t most, uint8_t digest[BASE_HASH_BYTES]);

#endif
