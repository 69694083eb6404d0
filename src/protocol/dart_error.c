/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of the DART in words. */
#include "protocol/dart_error.h"

const char *pr_dart_fault_type_text(uint64_t type)
{
    switch (type) {
#define X(id, value, text) \
    case PR_DART_FAULT_##id: return text;
        PR_DART_FAULT_TYPES(X)
#undef X
    default: return "unknown fault";
    }
}

const char *pr_dart_error_text(uint32_t status)
{
    /* The bit that says which way the access went is not a reason. */
#define X(id, bit, text)                                                                    \
    if (PR_DART_ERROR_##id != PR_DART_ERROR_WRITE && status & (uint32_t)PR_DART_ERROR_##id) \
        return text;
    PR_DART_ERRORS(X)
#undef X
    return "no reason given";
}
