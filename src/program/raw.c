/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every record boundary is a size that frames, so the longest one is taken: a descriptor ends where no record
 * follows, or one of registers that it has written, which no known descriptor does. The end is certain only
 * before zeros, before the next descriptor and at the end of the bytes.
 */
#include "program/raw.h"

#include <string.h>

#include "base/array.h"
#include "program/chain.h"

#define BLOCKS_LEAST 3u /* written by the first descriptor of every known program: Common and two more */

static const uint32_t known_sizes[] = {
#define X(id, words, source) words,
    PR_RAW_SIZES(X)
#undef X
};
/* The sizes that are always tried, for messages. */
#define X(id, words, source) #words ", "
static const char tried[] = "Tried: " PR_RAW_SIZES(X);
#undef X
#define X(id, words, source) \
    _Static_assert((words) > PR_TD_HEADER_WORDS && (words) <= PR_TD_WORDS_MAX, "a descriptor has this size");
PR_RAW_SIZES(X)
#undef X

enum stop { STOP_END, STOP_ZERO, STOP_CUT, STOP_OTHER };

/* The records of a first descriptor whose size is not known. */
struct walk {
    const uint8_t *bytes;
    uint32_t limit;                               /* words that the descriptor may have */
    uint32_t whole;                               /* words up to the last record that is whole */
    uint32_t blocks;                              /* bit b: block b is written */
    uint32_t written[(PR_IMAGE_WORDS + 31) / 32]; /* bit i: word i of the image is written */
    uint32_t known;                               /* a size of the table that is a boundary, or 0 */
    enum stop stop;                               /* what is at `whole` */
};

static uint32_t header_get(const uint8_t *bytes, enum pr_td_header_field field)
{
    const struct pr_field_info *info = &pr_header_table[field];

    return pr_bits_get(pr_le32(bytes + 4u * info->owner), info->lo, info->width);
}

static uint32_t header_words(const uint8_t *bytes)
{
    return header_get(bytes, PR_H_TDE) ? PR_TD_HEADER_WORDS_EXTENDED : PR_TD_HEADER_WORDS;
}

static void note_boundary(struct walk *w, uint32_t at)
{
    w->whole = at;
    for (unsigned i = 0; i < BASE_COUNT_OF(known_sizes); i++)
        if (known_sizes[i] == at)
            w->known = at;
}

/* Marks the registers of a record. False, and nothing is marked, when one of them was marked before. */
static bool mark(struct walk *w, uint32_t first, uint32_t count)
{
    uint32_t element;

    for (uint32_t i = first; i < first + count; i++)
        if (w->written[i / 32] >> i % 32 & 1)
            return false;
    for (uint32_t i = first; i < first + count; i++)
        w->written[i / 32] |= 1u << i % 32;
    w->blocks |= 1u << pr_reg_table[pr_image_reg(first, &element)].block;
    return true;
}

/* The words of the record at a place, with its header word; 0 when there is none, and `stop` says why. */
static uint32_t take_record(struct walk *w, uint32_t at)
{
    uint32_t word = pr_le32(w->bytes + 4u * at), count = pr_bits_get(word, 26, 6) + 1;
    int first = pr_image_index(word & 0x3ffffffu);

    if (word == 0) {
        w->stop = STOP_ZERO;
        return 0;
    }
    if (first < 0 || pr_image_index((word & 0x3ffffffu) + 4 * (count - 1)) != first + (int)count - 1) {
        w->stop = STOP_OTHER;
        return 0;
    }
    if (count >= w->limit - at) {
        w->stop = STOP_CUT;
        return 0;
    }
    if (!mark(w, (uint32_t)first, count)) {
        w->stop = STOP_OTHER;
        return 0;
    }
    return 1 + count;
}

static void walk_records(struct walk *w, const uint8_t *bytes, size_t size)
{
    uint32_t at, taken, next = header_get(bytes, PR_H_NEXT_POINTER);

    memset(w, 0, sizeof(*w));
    w->bytes = bytes;
    w->limit = size / 4 < PR_TD_WORDS_MAX ? (uint32_t)(size / 4) : PR_TD_WORDS_MAX;
    if (next && next / 4 < w->limit)
        w->limit = next / 4;
    w->stop = STOP_END;
    for (at = w->whole = header_words(bytes); at < w->limit; at += taken, note_boundary(w, at)) {
        taken = take_record(w, at);
        if (!taken)
            return;
    }
}

/* Of a walk that found a record. */
static bool choose_words(const struct walk *w, struct pr_raw *raw, struct pr_problem *problem)
{
    raw->basis = PR_RAW_FRAMED;
    raw->first_words = w->whole;
    if (w->stop == STOP_END || w->stop == STOP_ZERO)
        return true;
    raw->basis = PR_RAW_PUBLISHED;
    raw->first_words = w->known;
    if (w->known)
        return true;
    if (problem)
        problem->offset = 4 * w->whole;
    if (w->stop == STOP_CUT)
        return pr_problem_set(problem, PR_PROBLEM_TRUNCATED,
                              "The records are whole up to word %u; the one there (%x) does not end before "
                              "word %u, where the bytes or the next descriptor end it. %s%u words; --words N "
                              "gives the size.",
                              w->whole, pr_le32(w->bytes + 4u * w->whole), w->limit, tried, w->whole);
    return pr_problem_set(
        problem, PR_PROBLEM_FORMAT,
        "The records are whole up to word %u; the word there (%x) is neither a new record nor 0, "
        "so the descriptor's size is not certain. %s%u words; --words N gives the size.",
        w->whole, pr_le32(w->bytes + 4u * w->whole), tried, w->whole);
}

static bool find_words(const uint8_t *bytes, size_t size, struct pr_raw *raw, struct pr_problem *problem)
{
    struct walk w;

    walk_records(&w, bytes, size);
    if (w.blocks == 0 && w.stop != STOP_CUT) {
        if (problem)
            problem->offset = 4 * w.whole;
        return pr_problem_set(
            problem, PR_PROBLEM_FORMAT,
            "No record follows a header of %u words, so no size of a first descriptor fits. "
            "%sand every size from %u to %u words.",
            header_words(bytes), tried, header_words(bytes), PR_TD_WORDS_MAX);
    }
    return choose_words(&w, raw, problem);
}

static bool check_words(size_t size, uint32_t words, struct pr_problem *problem)
{
    if (words < PR_TD_HEADER_WORDS || words > PR_TD_WORDS_MAX)
        return pr_problem_set(problem, PR_PROBLEM_LIMIT, "A descriptor has %u to %u words, not %u.",
                              PR_TD_HEADER_WORDS, PR_TD_WORDS_MAX, words);
    if (words > size / 4)
        return pr_problem_set(problem, PR_PROBLEM_TRUNCATED,
                              "The first descriptor was given %u words; there are %ju bytes.", words,
                              (uint64_t)size);
    return true;
}

/* Bits that no field covers, and a first descriptor without a task, are marks of other files. */
static bool is_plausible(const uint8_t *bytes, size_t size)
{
    struct walk w;
    uint32_t blocks = 0;

    for (uint32_t i = 0; i < header_words(bytes); i++)
        if (pr_le32(bytes + 4u * i) & ~pr_header_known_bits(i))
            return false;
    walk_records(&w, bytes, size);
    for (uint32_t set = w.blocks; set; set &= set - 1)
        blocks++;
    return blocks >= BLOCKS_LEAST && w.blocks >> PR_BLOCK_COMMON & 1;
}

/*
 * True when the descriptor that the first one names is not in these bytes: a btsp buffer holds the first one
 * alone, and the others come from the buffer that TBase names.
 */
static bool next_is_elsewhere(const uint8_t *bytes, size_t size, const struct pr_raw *raw)
{
    uint32_t next = header_get(bytes, PR_H_NEXT_POINTER);

    if (!next || next % PR_TD_ALIGN || header_get(bytes, PR_H_NEXT_SIZE) + 1 < PR_TD_HEADER_WORDS ||
        !raw->network)
        return false;
    return next > size || size - next < 4u * PR_TD_HEADER_WORDS ||
           base_is_zero(bytes + next, 4u * PR_TD_HEADER_WORDS);
}

static void follow_chain(const uint8_t *bytes, size_t size, uint32_t count, struct pr_raw *raw)
{
    struct pr_chain_link link;
    enum pr_chain_step step;
    struct pr_chain chain;

    pr_chain_begin(&chain, bytes, size, raw->first_words, 0);
    while ((!count || raw->descriptors < count) &&
           (step = pr_chain_next(&chain, &link, NULL)) != PR_CHAIN_END) {
        if (step != PR_CHAIN_LINK)
            continue;
        raw->descriptors++;
        if (link.offset + 4ull * link.words > raw->end)
            raw->end = link.offset + 4ull * link.words;
    }
    for (raw->behind = raw->end; raw->behind < size && !bytes[raw->behind];)
        raw->behind++;
}

bool pr_raw_find(const void *bytes, size_t size, uint32_t words, uint32_t count, struct pr_raw *raw,
                 struct pr_problem *problem)
{
    memset(raw, 0, sizeof(*raw));
    if (problem)
        memset(problem, 0, sizeof(*problem));
    if (size < 4u * PR_TD_HEADER_WORDS_EXTENDED)
        return pr_problem_set(problem, PR_PROBLEM_TRUNCATED,
                              "A descriptor's header and one record need more than %u bytes; there are %ju.",
                              4u * PR_TD_HEADER_WORDS_EXTENDED, (uint64_t)size);
    if (base_is_zero(bytes, 4u * PR_TD_HEADER_WORDS))
        return pr_problem_set(problem, PR_PROBLEM_FORMAT,
                              "There are zeros where the header of the first descriptor should be.");
    raw->first_words = words;
    if (words ? !check_words(size, words, problem) : !find_words(bytes, size, raw, problem))
        return false;
    raw->network = header_get(bytes, PR_H_NID);
    raw->plausible = is_plausible(bytes, size);
    if (next_is_elsewhere(bytes, size, raw)) {
        raw->next = header_get(bytes, PR_H_NEXT_POINTER);
        count = 1;
    }
    follow_chain(bytes, size, count, raw);
    return true;
}

void pr_raw_explain(const struct pr_raw *raw, struct pr_problem *note)
{
    static const char *const how[] = {
        [PR_RAW_GIVEN] = "as given",
        [PR_RAW_FRAMED] = "because its records end there",
        [PR_RAW_PUBLISHED] = "because its records end there and compilers use this size",
    };

    memset(note, 0, sizeof(*note));
    note->outcome = PR_OUTCOME_HARMLESS;
    pr_problem_set(note, PR_PROBLEM_NONE,
                   "A stream without a container: the first descriptor has %u words (td_size %x), %s; the "
                   "chain has %u.",
                   raw->first_words, 4 * raw->first_words, how[raw->basis], raw->descriptors);
}

bool pr_raw_explain_rest(const struct pr_raw *raw, uint64_t size, struct pr_problem *note)
{
    memset(note, 0, sizeof(*note));
    note->outcome = PR_OUTCOME_HARMLESS;
    note->offset = (uint32_t)raw->end;
    if (raw->end >= size)
        return false;
    if (raw->behind >= size)
        pr_problem_set(note, PR_PROBLEM_NONE, "%ju bytes of zeros follow the stream, which ends at %jx.",
                       size - raw->end, raw->end);
    else
        pr_problem_set(
            note, PR_PROBLEM_NONE,
            "%ju bytes follow the stream, which ends at %jx; from %jx on they are not zero. They are "
            "taken for the kernel.",
            size - raw->end, raw->end, raw->behind);
    return true;
}

bool pr_raw_explain_next(const struct pr_raw *raw, struct pr_problem *note)
{
    if (!raw->next)
        return false;
    memset(note, 0, sizeof(*note));
    note->outcome = PR_OUTCOME_HARMLESS;
    pr_problem_set(note, PR_PROBLEM_NONE,
                   "Only the first descriptor is here; the next one, at %x, is fetched from the buffer that "
                   "TBase names. Check a dump of that buffer for the others.",
                   raw->next);
    return true;
}
