/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Granted ranges: checked page by page, placed at a host address, remembered. Copies and overlap are in
 * dart.h.
 */
#ifndef DART_RANGE_H
#define DART_RANGE_H

#include "dart/domain.h"

/*
 * Overlap marks frames by the low bits of their number: exact for 16 GiB of DRAM, confirmed otherwise. A
 * power of two.
 */
#define DART_MARKS (1u << 20)

struct dart_fault {
    uint32_t code;    /* enum pr_dart_error */
    uint64_t address; /* the first byte that failed */
    enum pr_dart_level level;
};

/* Grants a range of physical memory, which lies in one bank, or reports what failed. */
bool dart_range_bypass(struct dart_core *core, uint64_t address, uint64_t bytes, struct dart_range *range,
                       struct dart_fault *fault);
/* Grants a range that begins inside the aperture, or reports what failed. */
bool dart_range_grant(struct dart_domain *domain, uint64_t iova, uint64_t bytes, enum dart_access access,
                      struct dart_range *range, struct dart_fault *fault);

#endif
