/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with some bytes: one record per finding, with the place and a whole sentence. */
#ifndef PROTOCOL_PROBLEM_H
#define PROTOCOL_PROBLEM_H

#include "protocol/bits.h"

/*
 * The kinds of finding; the number is what `ane_machine_problem` shows: X(id, value, text, outcome, advice).
 * The outcome is that of a real engine when the finding itself does not say. The advice is one sentence for
 * who wrote the descriptor or the driver.
 */
#define PR_PROBLEM_KINDS(X)                                                                              \
    X(NONE, 0x00, "no problem", UNKNOWN, "Nothing needs to be done.")                                    \
    X(TRUNCATED, 0x01, "bytes end too early", HANG,                                                      \
      "Give the size in words that the descriptor has: in REQ_INFO for the first, in the header of the " \
      "one before for the others.")                                                                      \
    X(OVER_DECLARED, 0x02, "declared size runs past the records", HANG,                                  \
      "Declare the size that the records have, without the padding behind them.")                        \
    X(UNKNOWN_RECORD, 0x03, "record outside the known register blocks", HANG,                            \
      "Compare the declared size and the record's first register with the table of docs/descriptor.md.") \
    X(UNEXPLAINED_BITS, 0x04, "bits set that no public source explains", UNKNOWN,                        \
      "Clear the bits, or use lenient, which ignores them.")                                             \
    X(CHAIN, 0x05, "descriptor chain is broken", UNKNOWN,                                                \
      "Correct NextPointer, TBE or the buffer that TBase selects in the descriptor named.")              \
    X(LOOP, 0x06, "descriptor chain loops", HANG,                                                        \
      "End the chain: NextPointer of the last descriptor is 0, or the count in REQ_INFO ends it.")       \
    X(UNSUPPORTED, 0x07, "a decoded field asks for something this model does not do", UNKNOWN,           \
      "Use a value of the field that docs/descriptor.md lists; an engine may run this one.")             \
    X(INCONSISTENT, 0x08, "two fields contradict each other", UNKNOWN,                                   \
      "Correct the field named, or the one that it has to agree with.")                                  \
    X(LIMIT, 0x09, "a limit is exceeded", UNKNOWN,                                                       \
      "Split the task, or raise the limit when it is the machine's own (max_work).")                     \
    X(BINDING, 0x0a, "a buffer is not there, or too small", FAULT,                                       \
      "Bind a buffer of at least the size named to that buffer register.")                               \
    X(FORMAT, 0x0b, "not a file of this format", UNKNOWN, "Give a file of the format named.")            \
    X(TRANSLATION, 0x0c, "the DART refused an address", FAULT,                                           \
      "Map the page for that stream in all three DARTs and invalidate the TLB; ERROR and ERROR_ADDR of " \
      "the DART whose ERROR is not 0 name the access.")                                                  \
    X(STATE, 0x0d, "the device is not in the state this needs", UNKNOWN,                                 \
      "Before a push enable the queues (TQ_EN), set the queue's STATUS, and wait until VACANT is not 0.")

enum pr_problem_kind {
#define X(id, value, text, outcome, advice) PR_PROBLEM_##id = value,
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
    uint16_t reg;            /* 1 + enum pr_td_reg of program/td.h when the place is a register, or 0 */
    uint16_t field;          /* 1 + enum pr_td_field, or 1 + enum pr_td_header_field when reg is 0; 0: none */
    char text[240];          /* one sentence */
};

/* No finding. Most of its text is not written. */
static inline void pr_problem_clear(struct pr_problem *problem)
{
    problem->kind = PR_PROBLEM_NONE;
    problem->outcome = PR_OUTCOME_UNKNOWN;
    problem->descriptor = problem->offset = problem->address = problem->bits = 0;
    problem->reg = problem->field = 0;
    problem->text[0] = 0;
}

/* The tables' texts. */
const char *pr_problem_kind_text(enum pr_problem_kind kind);
const char *pr_problem_advice(enum pr_problem_kind kind);
const char *pr_outcome_text(enum pr_outcome outcome);
/* What follows for the engine when the finding itself does not say. */
enum pr_outcome pr_problem_outcome(enum pr_problem_kind kind);

/*
 * Fills `problem` (which may be NULL) and returns false, so that a check can end with `return
 * pr_problem_set(...)`. The format is that of pr_text_printf.
 */
bool pr_problem_set(struct pr_problem *problem, enum pr_problem_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

#endif
