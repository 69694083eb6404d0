/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quality of service: the classes of the public <sys/qos.h>; the place that each has in a queue of requests
 * of one priority; and the priority that the broker gives to programs of the class (both chosen;
 * docs/provenance.md). 0 is most urgent. The two functions are those of seeds ch. 27: queue index and program
 * priority. A class never maps to a reserved priority (0 and 1), and the default class to the priority that
 * was measured in requests, 5.
 */
#ifndef PROTOCOL_QOS_H
#define PROTOCOL_QOS_H

#include <stdint.h>

/* X(id, class, queue index, program priority); the most urgent first. */
#define PR_QOS_CLASSES(X)           \
    X(USER_INTERACTIVE, 0x21, 0, 3) \
    X(USER_INITIATED, 0x19, 1, 4)   \
    X(DEFAULT, 0x15, 2, 5)          \
    X(UTILITY, 0x11, 3, 6)          \
    X(BACKGROUND, 0x09, 4, 7)

#define PR_QOS_LEAST_INDEX    5u /* of what is below every class */
#define PR_QOS_LEAST_PRIORITY 7u

enum pr_qos_class {
#define X(id, class, index, priority) PR_QOS_##id = (class),
    PR_QOS_CLASSES(X)
#undef X
};

/* The index of the class, or of the next class below a number that is none. */
static inline uint32_t pr_qos_queue_index(uint32_t qos)
{
#define X(id, class, index, priority) \
    if (qos >= (class))               \
        return index;
    PR_QOS_CLASSES(X)
#undef X
    return PR_QOS_LEAST_INDEX;
}

/* The same for the priority of a program's requests. */
static inline uint32_t pr_qos_program_priority(uint32_t qos)
{
#define X(id, class, index, priority) \
    if (qos >= (class))               \
        return priority;
    PR_QOS_CLASSES(X)
#undef X
    return PR_QOS_LEAST_PRIORITY;
}

#endif
