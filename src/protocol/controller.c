/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons for which a boot is refused, in words. Every number has a text; unknown ones share one. */
#include "protocol/controller.h"

const char *pr_boot_refusal_text(uint32_t reason)
{
    switch (reason) {
#define X(id, value, text) \
    case value: return text;
        PR_BOOT_REFUSALS(X)
#undef X
    default: return "unknown reason";
    }
}
