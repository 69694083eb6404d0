/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with some bytes: one record per finding, with the place and a whole sentence. */
#ifndef PROTOCOL_PROBLEM_H
#define PROTOCOL_PROBLEM_H

#include "protocol/bits.h"

/* The kinds of finding; the number is what `ane_machine_problem` shows. */
#define PR_PROBLEM_KINDS(X)                                                           \
    X(NONE, 0x00, "no problem")                                                       \
    X(TRUNCATED, 0x01, "bytes end too early")                                         \
    X(OVER_DECLARED, 0x02, "declared size runs past the records")                     \
    X(UNKNOWN_RECORD, 0x03, "record outside the known register blocks")               \
    X(UNEXPLAINED_BITS, 0x04, "bits set that no public source explains")              \
    X(CHAIN, 0x05, "descriptor chain is broken")                                      \
    X(LOOP, 0x06, "descriptor chain loops")                                           \
    X(UNSUPPORTED, 0x07, "a decoded field asks for something this model does not do") \
    X(INCONSISTENT, 0x08, "two fields contradict each other")                         \
    X(LIMIT, 0x09, "a limit is exceeded")                                             \
    X(BINDING, 0x0a, "a buffer is not there, or too small")                           \
    X(FORMAT, 0x0b, "not a file of this format")                                      \
    X(TRANSLATION, 0x0c, "the DART refused an address")                               \
    X(STATE, 0x0d, "the device is not in the state this needs")

enum pr_problem_kind {
#define X(id, value, text) PR_PROBLEM_##id = value,
    PR_PROBLEM_KINDS(X)
#undef X
};

/* What the engine does with it, as far as it is known: X(id, sentence) */
#define PR_OUTCOMES(X)                                                                                    \
    X(UNKNOWN, "What the engine does then is not known.")                                                 \
    X(HANG, "The engine hangs: the task manager never becomes idle, and the driver's wait ends in -110.") \
    X(FAULT, "The DART faults on the address: the queue is stuck, and the driver's wait ends in -110.")   \
    X(FOREIGN, "The engine runs on, silently, with bytes that belong to something else.")                 \
    X(STALE, "The engine runs on, silently, with what was left there before.")                            \
    X(PARTIAL, "The engine runs only the number that was declared.")                                      \
    X(HARMLESS, "The engine runs.")                                                                       \
    X(PUBLISHED_HANG, "It hangs on an M1 (published).")

enum pr_outcome {
#define X(id, text) PR_OUTCOME_##id,
    PR_OUTCOMES(X)
#undef X
};

struct pr_problem {
    enum pr_problem_kind kind;
    enum pr_outcome outcome; /* what a judgement of a program adds */
    uint32_t descriptor;     /* index of the descriptor in its chain, from 0 */
    uint32_t offset;         /* byte offset inside the descriptor or file */
    uint32_t address;        /* register address, when there is one */
    uint32_t bits;           /* the bits or the value complained about */
    char text[240];          /* one sentence */
};

/* The tables' texts. */
const char *pr_problem_kind_text(enum pr_problem_kind kind);
const char *pr_outcome_text(enum pr_outcome outcome);

/*
 * Fills `problem` (which may be NULL) and returns false, so that a check can end with `return
 * pr_problem_set(...)`. The format is that of pr_text_printf.
 */
bool pr_problem_set(struct pr_problem *problem, enum pr_problem_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
