/* SPDX-License-Identifier: Apache-2.0 */
/* A buddy allocator of page numbers: runs of any length, cut from and given back to power-of-two blocks. */
#ifndef SOC_BUDDY_H
#define SOC_BUDDY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct soc_buddy;

int soc_buddy_create(uint64_t pages, struct soc_buddy **buddy, struct base_error *error);
void soc_buddy_destroy(struct soc_buddy *buddy);
/* A run of `pages` pages; false when there is none. */
bool soc_buddy_take(struct soc_buddy *buddy, uint64_t pages, uint64_t *first);
/* Length of the taken run that starts at `first`; 0 when none does. */
uint64_t soc_buddy_run(const struct soc_buddy *buddy, uint64_t first);
/* Gives back the taken run that starts at `first`. */
void soc_buddy_give(struct soc_buddy *buddy, uint64_t first);
uint64_t soc_buddy_used(const struct soc_buddy *buddy);

#endif
