/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published experiments with single registers on an M1 (experiments.def): the working descriptor, what each
 * change to it did, and which register values they explain. A value is explained for its register and for
 * the whole word only.
 */
#ifndef PROGRAM_EXPERIMENT_H
#define PROGRAM_EXPERIMENT_H

#include "program/td_write.h"

/* X(id, name, what it is) */
#define PR_EXPERIMENT_SERIES(X)                                       \
    X(EXPT1, "expt1", "values that registers have in other programs") \
    X(MODES, "modes", "modes of MACCfg")                              \
    X(EXPT2, "expt2", "the value of each register plus and minus one")

enum pr_experiment_series {
#define X(id, name, text) PR_SERIES_##id,
    PR_EXPERIMENT_SERIES(X)
#undef X
        PR_SERIES_COUNT
};

enum pr_experiment_did { PR_DID_SAME, PR_DID_CHANGE, PR_DID_HANG };

enum { PR_EXPERIMENT_OUTPUTS = 2 };

struct pr_experiment {
    enum pr_experiment_series series;
    const char *name;   /* as published */
    uint32_t offset;    /* of the word in the descriptor, in bytes */
    enum pr_td_reg reg; /* the register */
    uint32_t element;   /* of it, when it is an array */
    uint32_t value;     /* what was written in place of the working value */
    enum pr_experiment_did did;
    uint16_t y[PR_EXPERIMENT_OUTPUTS]; /* fp16 bits of the result's first elements; of no meaning with HANG */
};

extern const struct pr_experiment pr_experiment_table[];
extern const unsigned pr_experiment_count;

const char *pr_experiment_series_name(enum pr_experiment_series series);
const char *pr_experiment_series_text(enum pr_experiment_series series);
/* The register's address. */
uint32_t pr_experiment_address(const struct pr_experiment *experiment);

/* What the experiments use, in every run. */
enum {
    PR_EXPERIMENT_BAR_SOURCE = 5,
    PR_EXPERIMENT_BAR_RESULT = 4,
    PR_EXPERIMENT_X0 = 0xc200, /* -3 */
    PR_EXPERIMENT_X1 = 0x4500, /* 5 */
};
/* The working descriptor, little-endian: PR_TD_WORDS_FULL words. */
void pr_experiment_descriptor(uint8_t words[4 * PR_TD_WORDS_FULL]);

/*
 * The whole word `value` of the register at `address`, in a task of the neural engines or of the planar one,
 * is one that was seen to run on an M1.
 */
bool pr_experiment_explains(uint32_t address, uint32_t value, bool planar);
/* It was seen to hang one, in a task of the neural engine. */
bool pr_experiment_hangs(uint32_t address, uint32_t value, bool planar);

#endif
