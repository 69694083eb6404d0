/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepared forms, in buckets by address and incoming image. Programs of several domains have descriptors at
 * the same address, which share a bucket.
 */
#include "engine/prepared.h"

#include <string.h>

#include "base/alloc.h"

static size_t bytes_of(uint32_t words)
{
    return sizeof(struct eng_prepared) + 4 * (size_t)words;
}

bool eng_prepared_open(struct eng_prepared_store *store)
{
    store->making = base_alloc(bytes_of(PR_TD_WORDS_MAX));
    return store->making;
}

void eng_prepared_close(struct eng_prepared_store *store)
{
    eng_prepared_forget(store);
    base_free(store->making);
    store->making = NULL;
}

void eng_prepared_forget(struct eng_prepared_store *store)
{
    for (unsigned i = 0; i < ENG_PREPARED_BUCKETS && store->count; i++)
        while (store->bucket[i]) {
            struct eng_prepared *p = store->bucket[i];

            store->bucket[i] = p->next;
            store->count--;
            base_free(p);
        }
}

static unsigned bucket_of(uint32_t address, uint64_t before)
{
    return (unsigned)((address / PR_TD_ALIGN + (uint32_t)before * 0x9e3779b1u) % ENG_PREPARED_BUCKETS);
}

struct eng_prepared *eng_prepared_find(const struct eng_prepared_store *store, uint32_t address,
                                       uint32_t words, uint64_t before, const uint32_t *fetched,
                                       uint64_t generation, uint32_t stream)
{
    struct eng_prepared *p = store->bucket[bucket_of(address, before)];

    for (; p; p = p->next) {
        const void *bytes = fetched;

        if (p->address != address || p->words != words || p->before != before)
            continue;
        if (!fetched && p->fetch_generation == generation && p->fetch_stream == stream)
            bytes = p->fetch;
        if (bytes && !memcmp(bytes, p->word, 4 * (size_t)words))
            return p;
    }
    return NULL;
}

struct eng_prepared *eng_prepared_keep(struct eng_prepared_store *store)
{
    struct eng_prepared *p = base_alloc(bytes_of(store->making->words)), **bucket;

    if (!p)
        return store->making;
    memcpy(p, store->making, bytes_of(store->making->words));
    bucket = &store->bucket[bucket_of(p->address, p->before)];
    p->next = *bucket;
    *bucket = p;
    store->count++;
    return p;
}
