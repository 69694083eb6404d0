/* SPDX-License-Identifier: Apache-2.0 */
/* Dispositions. A command that may be repeated later (busy, not ready, a full table) is none of them. */
#include "firmware/disposition.h"

enum fw_disposition fw_disposition_of(enum pr_status status)
{
    switch (status) {
    case PR_STATUS_NO_PROGRAM:
    case PR_STATUS_NO_PROCESS: return FW_DROPPED;
    case PR_STATUS_BAD_SIZE:
    case PR_STATUS_UNKNOWN_COMMAND:
    case PR_STATUS_BAD_ARGUMENT:
    case PR_STATUS_BAD_CONTAINER: return FW_REJECTED;
    default: return FW_DISPOSITION_COUNT;
    }
}

const char *fw_disposition_name(enum fw_disposition disposition)
{
    static const char *const names[FW_DISPOSITION_COUNT] = {
#define X(id, name) name,
        FW_DISPOSITIONS(X)
#undef X
    };

    return disposition < FW_DISPOSITION_COUNT ? names[disposition] : "refused";
}

void fw_disposition_count(struct fw *fw, enum pr_status status)
{
    const enum fw_disposition disposition = fw_disposition_of(status);

    if (disposition < FW_DISPOSITION_COUNT)
        fw->count[disposition]++;
}
