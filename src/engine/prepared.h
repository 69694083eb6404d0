/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepared forms: a descriptor decoded for a given incoming register image, and what was granted to it last.
 * A form is used again for equal bytes and an equal image only.
 *
 * An image is named by a number. Number 0 is the image after reset; every other number was given once, to the
 * image that a form left, and is never given again, so equal numbers mean equal images.
 */
#ifndef ENGINE_PREPARED_H
#define ENGINE_PREPARED_H

#include "dart/dart.h"
#include "program/kernel.h"
#include "program/task.h"

#define ENG_PREPARED_MAX     8192u /* forms kept; when there are more, all are forgotten (chosen) */
#define ENG_PREPARED_BUCKETS 1024u

/* Ranges of a form's operands: good while the DART's generation, the stream and the BARs are the same. */
struct eng_grants {
    uint64_t generation; /* 0: none */
    uint32_t stream;
    uint32_t src_bar[2], dst_bar, kernel_bar; /* values of the BARs of operands that are in DRAM */
    bool judged, staged;                      /* the result has to be staged, once that was found out */
    struct dart_range src[2], dst, kernel[PR_ENGINES_MAX];
    struct pr_kernel_bytes bytes[PR_ENGINES_MAX];
};

struct eng_prepared {
    struct eng_prepared *next; /* in its bucket */
    uint64_t before, left;     /* numbers of the incoming image and of `after` */
    uint32_t address;
    uint32_t words;
    struct pr_image after;
    struct pr_task task;
    uint64_t src_span[2], dst_span;
    uint32_t nid;
    bool last; /* no NextPointer */
    uint32_t next_bar;
    uint32_t next_pointer, next_words;
    uint64_t cost_ns;
    /* Where its words were read last. */
    uint64_t fetch_generation; /* 0: nowhere */
    uint32_t fetch_stream;
    const uint8_t *fetch;
    struct eng_grants grants;
    uint32_t word[];
};

struct eng_prepared_store {
    struct eng_prepared *bucket[ENG_PREPARED_BUCKETS];
    uint32_t count;
    uint64_t images;             /* numbers given */
    struct eng_prepared *making; /* room for one of any size, where a descriptor is decoded */
};

bool eng_prepared_open(struct eng_prepared_store *store);
void eng_prepared_close(struct eng_prepared_store *store);

/*
 * The form of a descriptor of so many words at an address, for an incoming image; or NULL. `fetched` is NULL
 * to try where the words were read last: then only a form read with this stream and generation is found.
 */
struct eng_prepared *eng_prepared_find(const struct eng_prepared_store *store, uint32_t address,
                                       uint32_t words, uint64_t before, const uint32_t *fetched,
                                       uint64_t generation, uint32_t stream);
/*
 * Keeps a copy of store->making, which is complete. Without memory for it, store->making itself is returned,
 * and is good until the next one is made.
 */
struct eng_prepared *eng_prepared_keep(struct eng_prepared_store *store);
static inline bool eng_prepared_full(const struct eng_prepared_store *store)
{
    return store->count >= ENG_PREPARED_MAX;
}
/* Forgets all. No form, and no image inside one, may be in use. */
void eng_prepared_forget(struct eng_prepared_store *store);

#endif
