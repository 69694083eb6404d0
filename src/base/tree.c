/* SPDX-License-Identifier: Apache-2.0 */
/* A leaf that is not complete is in `leaf`; the root has the hashes of those before it. */
#include "base/tree.h"

#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"

#define TOGETHER (BASE_TREE_PIECE / BASE_TREE_LEAF)

static const char subject[16] = "anemone leaves 1";

void base_tree_begin(struct base_tree *tree)
{
    base_hash_begin(&tree->root);
    base_hash_add(&tree->root, subject, sizeof(subject));
    base_hash_begin(&tree->leaf);
    tree->bytes = 0;
}

static void end_leaf(struct base_tree *tree)
{
    uint8_t digest[BASE_HASH_BYTES];

    base_hash_end(&tree->leaf, digest);
    base_hash_add(&tree->root, digest, sizeof(digest));
    base_hash_begin(&tree->leaf);
}

/* Whole leaves. */
static void add_leaves(struct base_tree *tree, const uint8_t *bytes, size_t leaves)
{
    uint8_t digest[TOGETHER][BASE_HASH_BYTES];

    base_hash_of_many(bytes, BASE_TREE_LEAF, leaves, digest);
    base_hash_add(&tree->root, digest, leaves * sizeof(digest[0]));
}

void base_tree_add(struct base_tree *tree, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;

    while (size) {
        const size_t inside = (size_t)(tree->bytes % BASE_TREE_LEAF);
        size_t part = size / BASE_TREE_LEAF;

        if (!inside && part) {
            part = part < TOGETHER ? part : TOGETHER;
            add_leaves(tree, from, part);
            part *= BASE_TREE_LEAF;
        } else {
            part = size < BASE_TREE_LEAF - inside ? size : BASE_TREE_LEAF - inside;
            base_hash_add(&tree->leaf, from, part);
            if (inside + part == BASE_TREE_LEAF)
                end_leaf(tree);
        }
        tree->bytes += part;
        from += part;
        size -= part;
    }
}

void base_tree_end(struct base_tree *tree, uint8_t digest[BASE_HASH_BYTES])
{
    uint8_t count[8];

    if (tree->bytes % BASE_TREE_LEAF)
        end_leaf(tree);
    for (unsigned i = 0; i < sizeof(count); i++)
        count[i] = (uint8_t)(tree->bytes >> 8 * i);
    base_hash_add(&tree->root, count, sizeof(count));
    base_hash_end(&tree->root, digest);
}

void base_tree_of(const void *bytes, size_t size, uint8_t digest[BASE_HASH_BYTES])
{
    struct base_tree tree;

    base_tree_begin(&tree);
    base_tree_add(&tree, bytes, size);
    base_tree_end(&tree, digest);
}

static int add_file(struct base_tree *tree, int file, uint64_t most, uint8_t *piece)
{
    size_t kept = 0;
    uint64_t at = 0;

    for (;;) {
        const ssize_t got = pread(file, piece + kept, BASE_TREE_PIECE - kept, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        at += (uint64_t)got;
        kept += (size_t)got;
        if (at > most)
            return -EFBIG;
        if (got && kept < BASE_TREE_PIECE)
            continue;
        base_tree_add(tree, piece, kept);
        kept = 0;
        if (!got)
            return 0;
    }
}

int base_tree_of_file(int file, uint64_t most, uint8_t digest[BASE_HASH_BYTES])
{
    uint8_t *piece = base_alloc(BASE_TREE_PIECE);
    struct base_tree tree;
    int status;

    if (!piece)
        return -ENOMEM;
    base_tree_begin(&tree);
    status = add_file(&tree, file, most, piece);
    base_free(piece);
    if (!status)
        base_tree_end(&tree, digest);
    return status;
}
