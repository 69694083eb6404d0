/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk along a chain of descriptors. A link is given only after its bytes are known to be inside the
 * stream, and every walk ends: a loop is found when the walk begins, and the link that closes it is the last.
 */
#include "program/chain.h"

#include <string.h>

#define NO_LOOP   UINT32_MAX
#define NO_OFFSET UINT32_MAX

/* What can be wrong with a link, in the order of reporting. */
enum fault {
    FIRST_SIZE,
    FIRST_OUTSIDE,
    END_EARLY,
    END_MISSING,
    SIZE_ALONE,
    POINTER_ALONE,
    NEXT_SIZE,
    NEXT_ALIGN,
    NEXT_OUTSIDE,
    NEXT_LOOP,
    TOO_LONG,
    TOO_SHORT,
    FAULTS
};

static uint32_t header_get(const struct pr_chain *chain, uint32_t offset, enum pr_td_header_field field)
{
    const struct pr_field_info *info = &pr_header_table[field];

    return pr_bits_get(pr_le32(chain->bytes + offset + 4u * info->owner), info->lo, info->width);
}

static bool fits(const struct pr_chain *chain, uint32_t offset, uint32_t words)
{
    return offset <= chain->size && 4ull * words <= chain->size - offset;
}

/* Where the descriptor at an offset sends the walk, or NO_OFFSET when that ends or breaks it. */
static uint32_t follow(const struct pr_chain *chain, uint32_t offset)
{
    uint32_t pointer;

    if (offset == NO_OFFSET)
        return NO_OFFSET;
    pointer = header_get(chain, offset, PR_H_NEXT_POINTER);
    return pointer && pointer % PR_TD_ALIGN == 0 && fits(chain, pointer, PR_TD_HEADER_WORDS) ? pointer
                                                                                             : NO_OFFSET;
}

/*
 * Brent's method, because this room does not allocate: finds the length of the loop, then where it begins,
 * and from these the index of the link that closes it. A chain visits at most size / PR_TD_ALIGN + 1 places,
 * so this is linear.
 */
static uint32_t find_loop(const struct pr_chain *chain)
{
    uint32_t slow = 0, fast = follow(chain, 0), power = 1, length = 1, start = 0;

    for (; fast != NO_OFFSET && fast != slow; length++) {
        if (length == power) {
            slow = fast;
            power *= 2;
            length = 0;
        }
        fast = follow(chain, fast);
    }
    if (fast == NO_OFFSET)
        return NO_LOOP;
    slow = fast = 0;
    for (uint32_t i = 0; i < length; i++)
        fast = follow(chain, fast);
    for (; slow != fast; start++) {
        slow = follow(chain, slow);
        fast = follow(chain, fast);
    }
    return start + length - 1;
}

void pr_chain_begin(struct pr_chain *chain, const void *bytes, size_t size, uint32_t first_words,
                    uint32_t count)
{
    memset(chain, 0, sizeof(*chain));
    chain->bytes = bytes;
    chain->size = size;
    chain->declared = count;
    chain->closing = NO_LOOP;
    chain->last.words = chain->next.words = first_words;
    if (first_words < PR_TD_HEADER_WORDS || first_words > PR_TD_WORDS_MAX)
        chain->faults = 1u << FIRST_SIZE;
    else if (!fits(chain, 0, first_words))
        chain->faults = 1u << FIRST_OUTSIDE;
    else
        chain->closing = find_loop(chain);
    chain->ended = chain->faults != 0;
}

/* The faults of the link given last that end the walk. */
static uint32_t broken_next(const struct pr_chain *chain, uint32_t pointer, uint32_t words)
{
    if (words == 1)
        return 1u << POINTER_ALONE;
    if (words < PR_TD_HEADER_WORDS)
        return 1u << NEXT_SIZE;
    if (pointer % PR_TD_ALIGN)
        return 1u << NEXT_ALIGN;
    if (!fits(chain, pointer, words))
        return 1u << NEXT_OUTSIDE;
    if (chain->last.index == chain->closing)
        return 1u << NEXT_LOOP;
    if (chain->declared && chain->last.index + 1 >= chain->declared)
        return 1u << TOO_LONG;
    return 0;
}

static void advance(struct pr_chain *chain)
{
    uint32_t at = chain->next.offset;
    uint32_t pointer = header_get(chain, at, PR_H_NEXT_POINTER);
    uint32_t words = header_get(chain, at, PR_H_NEXT_SIZE) + 1;
    bool end_mark = header_get(chain, at, PR_H_EON);

    chain->last = chain->next;
    if (pointer == 0) {
        chain->ended = true;
        if (!end_mark)
            chain->faults |= 1u << END_MISSING;
        if (words != 1)
            chain->faults |= 1u << SIZE_ALONE;
        if (chain->last.index + 1 < chain->declared)
            chain->faults |= 1u << TOO_SHORT;
        return;
    }
    if (end_mark)
        chain->faults |= 1u << END_EARLY;
    chain->faults |= broken_next(chain, pointer, words);
    chain->ended = broken_next(chain, pointer, words) != 0;
    chain->next = (struct pr_chain_link){chain->last.index + 1, pointer, words};
}

/* The header field a fault is about. */
static enum pr_td_header_field fault_field(enum fault fault)
{
    switch (fault) {
    case END_EARLY:
    case END_MISSING: return PR_H_EON;
    case SIZE_ALONE:
    case NEXT_SIZE: return PR_H_NEXT_SIZE;
    default: return PR_H_NEXT_POINTER;
    }
}

static void describe(const struct pr_chain *chain, enum fault fault, struct pr_problem *p)
{
    const struct pr_chain_link *last = &chain->last, *next = &chain->next;

    switch (fault) {
    case FIRST_SIZE:
        pr_problem_set(p, PR_PROBLEM_LIMIT,
                       "The first descriptor declares %u words; the size must be %u to %u.", last->words,
                       PR_TD_HEADER_WORDS, PR_TD_WORDS_MAX);
        break;
    case FIRST_OUTSIDE:
        pr_problem_set(p, PR_PROBLEM_TRUNCATED,
                       "The first descriptor declares %u words, but the stream has %ju bytes.", last->words,
                       chain->size);
        break;
    case END_EARLY:
        pr_problem_set(p, PR_PROBLEM_INCONSISTENT,
                       "Descriptor %u has EON set, which marks the last one, but its NextPointer is %x.",
                       last->index, next->offset);
        break;
    case END_MISSING:
        pr_problem_set(p, PR_PROBLEM_INCONSISTENT,
                       "Descriptor %u is the last one (NextPointer 0), but EON is not set.", last->index);
        break;
    case SIZE_ALONE:
        pr_problem_set(p, PR_PROBLEM_INCONSISTENT, "Descriptor %u has NextSize %u, but NextPointer 0.",
                       last->index, header_get(chain, last->offset, PR_H_NEXT_SIZE));
        break;
    case POINTER_ALONE:
        pr_problem_set(p, PR_PROBLEM_INCONSISTENT, "Descriptor %u has NextPointer %x, but NextSize 0.",
                       last->index, next->offset);
        break;
    case NEXT_SIZE:
        pr_problem_set(p, PR_PROBLEM_CHAIN,
                       "Descriptor %u has NextSize %u, so %u words; a header alone needs %u.", last->index,
                       next->words - 1, next->words, PR_TD_HEADER_WORDS);
        break;
    case NEXT_ALIGN:
        pr_problem_set(p, PR_PROBLEM_CHAIN,
                       "Descriptor %u has NextPointer %x, which is not a multiple of %x.", last->index,
                       next->offset, PR_TD_ALIGN);
        break;
    case NEXT_OUTSIDE:
        pr_problem_set(p, PR_PROBLEM_CHAIN,
                       "Descriptor %u sends the chain to %x for %u words, but the stream ends at %jx.",
                       last->index, next->offset, next->words, chain->size);
        break;
    case NEXT_LOOP:
        pr_problem_set(p, PR_PROBLEM_LOOP,
                       "Descriptor %u sends the chain back to %x, where it has been before.", last->index,
                       next->offset);
        break;
    case TOO_LONG:
        pr_problem_set(p, PR_PROBLEM_CHAIN,
                       "The program declares %u descriptors, but descriptor %u goes on to another one at %x.",
                       chain->declared, last->index, next->offset);
        break;
    default:
        pr_problem_set(p, PR_PROBLEM_CHAIN,
                       "The program declares %u descriptors, but the chain ends after %u.", chain->declared,
                       last->index + 1);
        break;
    }
}

/* The marks' own effect is not known; a count that is too small runs so many, as seen on hardware. */
static enum pr_outcome fault_outcome(enum fault fault)
{
    switch (fault) {
    case END_EARLY:
    case END_MISSING:
    case SIZE_ALONE: return PR_OUTCOME_UNKNOWN;
    case TOO_LONG: return PR_OUTCOME_PARTIAL;
    default: return PR_OUTCOME_HANG;
    }
}

/* Removes the first fault from the set and describes it in *problem, if there is one. */
static void take_fault(struct pr_chain *chain, struct pr_problem *problem)
{
    const struct pr_field_info *info;
    unsigned fault = 0;

    while (!(chain->faults >> fault & 1))
        fault++;
    chain->faults &= ~(1u << fault);
    if (!problem)
        return;
    info = &pr_header_table[fault_field((enum fault)fault)];
    memset(problem, 0, sizeof(*problem));
    problem->descriptor = chain->last.index;
    if (fault > FIRST_OUTSIDE) {
        problem->offset = 4u * info->owner;
        problem->bits =
            pr_bits_get(pr_le32(chain->bytes + chain->last.offset + 4u * info->owner), info->lo, info->width);
    }
    describe(chain, (enum fault)fault, problem);
    problem->outcome = fault_outcome((enum fault)fault);
}

enum pr_chain_step pr_chain_next(struct pr_chain *chain, struct pr_chain_link *link,
                                 struct pr_problem *problem)
{
    if (chain->faults) {
        take_fault(chain, problem);
        return PR_CHAIN_FAULT;
    }
    if (chain->ended)
        return PR_CHAIN_END;
    *link = chain->next;
    advance(chain);
    return PR_CHAIN_LINK;
}

bool pr_chain_read(const void *bytes, size_t size, uint32_t first_words, uint32_t count,
                   struct pr_chain_link *links, uint32_t capacity, uint32_t *found,
                   struct pr_problem *problem)
{
    struct pr_chain chain;
    struct pr_chain_link link;

    *found = 0;
    pr_chain_begin(&chain, bytes, size, first_words, count);
    for (;;) {
        switch (pr_chain_next(&chain, &link, problem)) {
        case PR_CHAIN_FAULT: return false;
        case PR_CHAIN_END: return true;
        case PR_CHAIN_LINK:
            if (*found < capacity)
                links[*found] = link;
            ++*found;
            break;
        }
    }
}
