/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed pools: how many objects of each kind there are, and how many are still to be had. */
#ifndef RTKERNEL_POOL_H
#define RTKERNEL_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "rtkernel/rt_limits.h"

struct rt_kernel;

enum rt_pool_kind {
#define X(id, member, count, name) RT_POOL_##id,
    RT_POOLS(X)
#undef X
        RT_POOL_KINDS,
};

enum {
#define X(id, member, count, name) RT_##id##_COUNT = (count),
    RT_POOLS(X)
#undef X
};

struct rt_pool_info {
    const char *name;
    uint32_t total, available;
};

/* Any context. */
struct rt_pool_info rt_pool_info(const struct rt_kernel *kernel, enum rt_pool_kind kind);
/*
 * All pools as text, for reports: a line of column names and a line per pool, in whole lines as far as
 * `bytes`, at least 1, allows. Its length, without the end. Any context.
 */
size_t rt_pool_text(const struct rt_kernel *kernel, char *text, size_t bytes);

#endif
