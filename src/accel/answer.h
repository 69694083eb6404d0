/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One system call of a program and its answer, in three steps: acc_answer_prepare finds out what the call is
 * about; acc_answer_work does what it asks, which for some waits for the engine; acc_answer_send lets the
 * program go on. A program that ends meanwhile needs no answer, and is not an error.
 */
#ifndef ACCEL_ANSWER_H
#define ACCEL_ANSWER_H

#include <linux/seccomp.h>
#include <stdbool.h>

#include "accel/node.h"
#include "accel/table.h"
#include "accel/target.h"

/* A kernel may have longer structs than these headers; the rest stays 0. */
#define ACC_ANSWER_SPARE 256u
union acc_notice {
    struct seccomp_notif call;
    char spare[sizeof(struct seccomp_notif) + ACC_ANSWER_SPARE];
};

enum acc_answer_kind {
    ACC_ANSWER_PASS,  /* the kernel goes on with the call */
    ACC_ANSWER_VALUE, /* `value` is all */
    ACC_ANSWER_OPEN,  /* a descriptor */
    ACC_ANSWER_IOCTL, /* a call of `file` */
};

struct acc_answer {
    struct acc_table *table;
    struct acc_target target;
    enum acc_answer_kind kind;
    bool waits;            /* acc_answer_work may wait for the engine */
    long value;            /* 0 or more, or a negative errno; of an open: a descriptor of this process */
    uint32_t open_flags;   /* of an open: O_CLOEXEC or 0 */
    struct acc_file *file; /* held */
    uint32_t request;
    uint64_t argument;
};

/* Whether this kernel's structs fit. True as well when it has none: the filter is refused then. */
bool acc_answer_fits(void);
void acc_answer_prepare(struct acc_answer *answer, struct acc_table *table, int listener,
                        const struct seccomp_notif *call);
void acc_answer_work(struct acc_answer *answer);
void acc_answer_send(struct acc_answer *answer);

#endif
