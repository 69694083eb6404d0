/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Task descriptors, version 7 (H13): header words, register-write records, and the register image they build.
 *
 *   descriptor = 10 header words (11 when TDE is set), then records until the declared size
 *   record     = [31:26] count - 1, [25:0] register byte address; then count words
 *
 * The tables are protocol/td_header.def, td_regs.def and td_values.def; everything here is derived from them.
 */
#ifndef PROGRAM_TD_H
#define PROGRAM_TD_H

#include "protocol/bits.h"
#include "protocol/problem.h"
#include "protocol/td_frame.h"
#include "protocol/text.h"
#include "protocol/tm_regs.h"

#define PR_TD_RECORDS_MAX (PR_TD_WORDS_MAX / 2)

enum pr_td_block {
#define PR_TD_BLOCK(id, name, base, words) PR_BLOCK_##id,
#include "program/td_regs.def"
    PR_BLOCK_COUNT
};

enum pr_td_reg {
#define PR_TD_REG(block, id, name, address, count) PR_REG_##id,
#include "program/td_regs.def"
    PR_REG_COUNT
};

enum pr_td_field {
#define PR_TD_FIELD(reg, id, name, lo, width, use, source, where, accepted, meaning, action) PR_F_##id,
#include "program/td_regs.def"
    PR_F_COUNT
};

/* The words of the whole register image: the sum of the block table. */
enum {
    PR_IMAGE_WORDS = 0
#define PR_TD_BLOCK(id, name, base, words) +(words)
#include "program/td_regs.def"
};

struct pr_block_info {
    const char *name;
    uint32_t base;
    uint32_t words;
    uint32_t first; /* index of its first word in the image */
};

struct pr_reg_info {
    const char *name;
    enum pr_td_block block;
    uint32_t address;
    uint32_t count; /* > 1: an array of registers, 4 bytes apart */
    uint32_t first; /* index of its first word in the image */
};

/* What a value of a coded field means: "DMA, staged". */
struct pr_value_info {
    uint16_t field; /* enum pr_td_field */
    uint16_t value;
    const char *text;
};

extern const struct pr_block_info pr_block_table[PR_BLOCK_COUNT];
extern const struct pr_reg_info pr_reg_table[PR_REG_COUNT];
extern const struct pr_field_info pr_field_table[PR_F_COUNT];
extern const struct pr_value_info pr_value_table[];
extern const unsigned pr_value_count;

/*
 * The values of all registers a descriptor can write, in block order: what a queue carries from one
 * descriptor to the next.
 */
struct pr_image {
    uint32_t word[PR_IMAGE_WORDS];
};

struct pr_record {
    uint16_t offset;  /* word offset of the record header in the descriptor */
    uint16_t count;   /* words that follow */
    uint32_t address; /* register byte address of the first */
};

/* A descriptor that has been read: a copy of its words, its header length and the places of its records. */
struct pr_td {
    uint32_t words;        /* declared size */
    uint32_t header_words; /* 10 or 11 */
    uint32_t record_count;
    uint32_t word[PR_TD_WORDS_MAX];
    struct pr_record record[PR_TD_RECORDS_MAX];
};

/* Index in the image of the register at `address`, or -1 when no block holds it. */
int pr_image_index(uint32_t address);
/* The register at an image index, and which element of an array it is. */
enum pr_td_reg pr_image_reg(uint32_t index, uint32_t *element);
/* The bits of the word at an image index that fields of the table cover. */
uint32_t pr_image_known_bits(uint32_t index);

uint32_t pr_image_get(const struct pr_image *image, enum pr_td_field field);
uint32_t pr_image_get_at(const struct pr_image *image, enum pr_td_field field, uint32_t element);
void pr_image_put(struct pr_image *image, enum pr_td_field field, uint32_t value);
void pr_image_put_at(struct pr_image *image, enum pr_td_field field, uint32_t element, uint32_t value);

/* What a value of a field means, or NULL when the table has no word for it. */
const char *pr_value_text(enum pr_td_field field, uint32_t value);

/* The bits of header word `word` that fields of the table cover. */
uint32_t pr_header_known_bits(uint32_t word);

/* A header field of a descriptor that has been read. A field of word 10 is 0 when the header has 10 words. */
uint32_t pr_td_header(const struct pr_td *td, enum pr_td_header_field field);

/*
 * Reads `words` words (the size the chain or the queue declared) from `bytes`. Checks framing: header length,
 * records inside the size and inside known blocks. On failure fills `problem` and returns false.
 */
bool pr_td_read(const void *bytes, uint32_t words, struct pr_td *td, struct pr_problem *problem);

/*
 * Set bits, in header and records, that no field covers: false, naming word and bits. A word that a published
 * experiment explains as a whole (experiments.def) counts as covered.
 */
bool pr_td_explained(const struct pr_td *td, struct pr_problem *problem);

/* Who hears what a lenient reading ignores: `report` gets each finding, which is gone after the call. */
struct pr_ignore {
    void (*report)(void *context, const struct pr_problem *ignored);
    void *context;
};

/*
 * The same two, leniently: a record outside the known blocks is reported and not kept, unexplained bits are
 * reported. What breaks the framing, and what was published to hang an M1, still fails. `ignore` NULL: as
 * above.
 */
bool pr_td_read_lenient(const void *bytes, uint32_t words, const struct pr_ignore *ignore, struct pr_td *td,
                        struct pr_problem *problem);
bool pr_td_explained_lenient(const struct pr_td *td, const struct pr_ignore *ignore,
                             struct pr_problem *problem);
/*
 * The names of a problem's place: its register, "Common.InDim", and its field, "InDim.Win" or "Header.TBE".
 * What the problem does not have is not written.
 */
void pr_td_place(const struct pr_problem *problem, struct pr_text *reg, struct pr_text *field);

/* Applies the register writes to an image. */
void pr_td_apply(const struct pr_td *td, struct pr_image *image);

#endif
