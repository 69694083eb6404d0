/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's block of performance counters for one request (chosen; the seed says that the kernel arms and
 * drains one, and that the firmware does not touch it). It is at the end of the pages of the request's
 * statistics surface. Times are virtual nanoseconds.
 */
#ifndef PROTOCOL_COUNTERS_H
#define PROTOCOL_COUNTERS_H

#include <stdint.h>

#define PR_COUNTERS_MAGIC 0x0102u
#define PR_COUNTERS_BYTES 0x40u

struct pr_counters {
    uint32_t magic;
    uint32_t status;    /* enum pr_status of the end */
    uint64_t sequence;  /* of the request */
    uint64_t armed;     /* the request was bound */
    uint64_t sent;      /* its doorbell was rung */
    uint64_t accepted;  /* its slot came back; 0 when that was not seen */
    uint64_t completed; /* its event came */
    uint64_t reserved[2];
};
_Static_assert(sizeof(struct pr_counters) == PR_COUNTERS_BYTES, "no padding");

#endif
