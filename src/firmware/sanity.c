/* SPDX-License-Identifier: Apache-2.0 */
#include "firmware/sanity.h"

#include "base/array.h"
#include "firmware/log.h"

static void broken(struct fw *fw, const char *what, uint32_t number, uint32_t value)
{
    fw->exeloop.insane++;
    fw_log(fw, RT_LOG_ERROR, "sanity: nothing is in flight, and %s %u is %u", what, number, value);
}

void fw_sanity_check(struct fw *fw)
{
    const struct fw_exeloop *e = &fw->exeloop;

    fw->exeloop.checks++;
    for (unsigned i = 0; i < PR_PRIORITIES; i++)
        if (e->level[i].credit != FW_CREDIT)
            broken(fw, "the credit of level", i, e->level[i].credit);
    for (unsigned i = 0; i < BASE_COUNT_OF(e->networks); i++)
        if (e->networks[i])
            broken(fw, "the word of network ids", i, e->networks[i]);
}
