/* SPDX-License-Identifier: Apache-2.0 */
#include "firmware/order.h"

#include "firmware/call.h"
#include "firmware/rule.h"

_Static_assert(PR_PROCEDURES_MAX <= PR_EXECUTE_ORDER_MAX, "the partitions of a procedure fit");

void fw_order_own(struct fw *fw, uint32_t procedure, uint32_t partitions)
{
    fw->exeloop.requests = partitions;
    for (uint32_t i = 0; i < partitions; i++)
        fw->exeloop.request[i] = (uint16_t)(procedure + i);
}

enum pr_status fw_order_custom(struct fw *fw, const struct fw_program *program, const uint8_t *entries,
                               uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t entry = pr_le32(entries + 4 * (size_t)i);
        enum pr_status status =
            fw_rule(fw, PR_RULE_ORDER_ENTRY, entry < program->container.procedures, entry);

        if (!status)
            status = fw_call_content(fw, program, entry);
        if (status)
            return status;
        fw->exeloop.request[i] = (uint16_t)entry;
    }
    fw->exeloop.requests = count;
    return PR_STATUS_OK;
}
