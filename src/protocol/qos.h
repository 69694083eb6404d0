/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quality of service: the classes of the public <sys/qos.h>, and the place that each has in a queue of
 * requests of one priority (chosen; docs/provenance.md). 0 is most urgent, as it is for priorities.
 */
#ifndef PROTOCOL_QOS_H
#define PROTOCOL_QOS_H

#include <stdint.h>

/* X(id, class, queue index); the most urgent first. */
#define PR_QOS_CLASSES(X)        \
    X(USER_INTERACTIVE, 0x21, 0) \
    X(USER_INITIATED, 0x19, 1)   \
    X(DEFAULT, 0x15, 2)          \
    X(UTILITY, 0x11, 3)          \
    X(BACKGROUND, 0x09, 4)

#define PR_QOS_LEAST_INDEX 5u /* of what is below every class */

enum pr_qos_class {
#define X(id, class, index) PR_QOS_##id = (class),
    PR_QOS_CLASSES(X)
#undef X
};

/* The index of the class, or of the next class below a number that is none. */
static inline uint32_t pr_qos_queue_index(uint32_t qos)
{
#define X(id, class, index) \
    if (qos >= (class))     \
        return index;
    PR_QOS_CLASSES(X)
#undef X
    return PR_QOS_LEAST_INDEX;
}

#endif
