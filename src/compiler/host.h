/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host segment: a graph that this processor computes, in double precision (compiler/eval). Elements of its
 * ports are packed row-major. Results are rounded once, to the type of their port.
 */
#ifndef COMPILER_HOST_H
#define COMPILER_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct cc_host;

#define CC_HOST_RANK_MAX 5u

enum cc_host_type { CC_HOST_FP16, CC_HOST_FP32, CC_HOST_INT32 };

struct cc_host_port {
    const char *name; /* the segment's */
    enum cc_host_type type;
    uint32_t rank, dim[CC_HOST_RANK_MAX];
    size_t bytes;
};

/* Of a graph as bytes (graph/file.h); they are not needed afterwards. Checked; a bool port is refused. */
int cc_host_open(const uint8_t *bytes, size_t size, struct cc_host **host, struct base_error *error);
void cc_host_close(struct cc_host *host);
uint32_t cc_host_inputs(const struct cc_host *host);
uint32_t cc_host_outputs(const struct cc_host *host);
/* Inputs, then outputs. */
struct cc_host_port cc_host_port(const struct cc_host *host, uint32_t number);
/* Elements per port, inputs and then outputs. Any thread may call. */
int cc_host_run(const struct cc_host *host, void *const *elements, struct base_error *error);
/* Wall time that all runs of this process have taken. */
uint64_t cc_host_spent_ns(void);

#endif
