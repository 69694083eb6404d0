/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware's answers in words. Every status has a text; unknown ones share one. */
#include "protocol/message.h"

const char *pr_status_text(uint32_t status)
{
    switch (status) {
#define X(id, value, text) \
    case value: return text;
        PR_STATUSES(X)
#undef X
    default: return "unknown status";
    }
}
