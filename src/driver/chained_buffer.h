/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers of chains: surfaces that a caller names, mapped for the client that prepared the chain. */
#ifndef DRIVER_CHAINED_BUFFER_H
#define DRIVER_CHAINED_BUFFER_H

#include "driver/state.h"

/* What a buffer is bound for. */
struct drv_chained_role {
    const struct drv_client *caller; /* may use the surface itself */
    struct drv_client *owner;        /* for whom it is mapped; it has a domain and is busy */
    uint32_t usage;                  /* enum pr_usage */
    uint32_t type;                   /* enum pr_buffer_type */
};

/*
 * Maps one buffer of at least so many bytes and describes it, as generic buffer `index`. The caller counts
 * its use.
 */
IOReturn drv_chained_buffer_bind(const struct drv_chained_role *role, const struct ane_chained_buffer *buffer,
                                 uint32_t index, uint64_t least, struct drv_mapping **mapping,
                                 struct pr_buffer *to);

/* A list in a surface of the caller's, copied once: so many bytes at an offset that is a multiple of 8. */
IOReturn drv_chained_buffer_copy(const struct drv_client *caller, uint32_t surface, uint64_t offset, void *to,
                                 uint64_t bytes, const char *what);

#endif
