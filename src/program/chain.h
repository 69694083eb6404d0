/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of descriptors in a stream: the first at offset 0 with a declared size, each next where NextPointer
 * says, with NextSize + 1 words. NextPointer 0 ends the chain, so a chain never comes back to its first
 * descriptor. Only header words 1 and 7 are needed to walk, so a walk goes on past descriptors that are
 * broken otherwise.
 */
#ifndef PROGRAM_CHAIN_H
#define PROGRAM_CHAIN_H

#include "protocol/problem.h"
#include "program/td.h"

struct pr_chain_link {
    uint32_t index;  /* in the chain, from 0 */
    uint32_t offset; /* bytes from the start of the stream */
    uint32_t words;  /* the declared size; 4 * words bytes from the offset on are inside the stream */
};

/* A walk under way. Its members belong to chain.c. */
struct pr_chain {
    const uint8_t *bytes;
    uint64_t size;
    uint32_t declared;               /* descriptors; 0 when the number is not declared */
    uint32_t closing;                /* index of the link that closes a loop, or UINT32_MAX */
    struct pr_chain_link last, next; /* the link given last, and the one to give */
    uint32_t faults;                 /* what is wrong with the last and has not been reported yet */
    bool ended;                      /* there is no next */
};

enum pr_chain_step {
    PR_CHAIN_LINK,  /* `link` is the next descriptor */
    PR_CHAIN_FAULT, /* `problem` is about the link given last, or the first; the walk may go on */
    PR_CHAIN_END,
};

/* Begins a walk. A count of 0 means that any length will do. The bytes must stay while the walk lasts. */
void pr_chain_begin(struct pr_chain *chain, const void *bytes, size_t size, uint32_t first_words,
                    uint32_t count);
enum pr_chain_step pr_chain_next(struct pr_chain *chain, struct pr_chain_link *link,
                                 struct pr_problem *problem);

/*
 * Fills up to `capacity` links and sets `found` to the length of the chain, which may be more. False at the
 * first fault, with the links before it filled.
 */
bool pr_chain_read(const void *bytes, size_t size, uint32_t first_words, uint32_t count,
                   struct pr_chain_link *links, uint32_t capacity, uint32_t *found,
                   struct pr_problem *problem);

#endif
