/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports for the user on stderr, each once. A program that tries a request again and again after its timeout
 * would fill a disk with copies of one report: a second of the machine's time passes in microseconds.
 */
#ifndef ACCEL_REPEAT_H
#define ACCEL_REPEAT_H

#include <pthread.h>
#include <stdint.h>

/* Reports that are known again: those of the last so many kinds. */
#define ACC_REPEAT_KINDS 16u

struct acc_repeat {
    pthread_mutex_t lock;
    uint64_t kind[ACC_REPEAT_KINDS]; /* a hash of the text; 0: none */
    unsigned next;                   /* the place that is used next */
    uint64_t again, said;            /* reports that came again, and how many of them were said */
};
#define ACC_REPEAT_INIT                   \
    {                                     \
        .lock = PTHREAD_MUTEX_INITIALIZER \
    }

/*
 * An acc_report_fn; its context is a struct acc_repeat. A report that differs from an earlier one in the
 * process's number alone is not written: a line has the count at the 1st, 10th, 100th of those.
 */
void acc_repeat_report(void *context, const char *text);
/* Says the count when it is not what was said last. */
void acc_repeat_end(struct acc_repeat *repeat);

#endif
