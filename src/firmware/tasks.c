/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks. They run once the kernel is started, when all they need is made; none ends. */
#include "firmware/tasks.h"

#include "firmware/callmgr.h"
#include "firmware/dartmgr.h"
#include "firmware/exeloop.h"
#include "firmware/hostrpc.h"
#include "firmware/intmgr.h"
#include "firmware/life.h"
#include "firmware/loadmon.h"
#include "firmware/pump.h"
#include "firmware/secure.h"
#include "firmware/server.h"
#include "firmware/tunables.h"

/* What a task does with a record. */
static void (*const run[FW_TASK_COUNT])(struct fw *fw, const struct fw_record *record) = {
    [FW_TASK_INTMGR] = fw_intmgr_run,   [FW_TASK_EXELOOP] = fw_exeloop_run,
    [FW_TASK_SERVER] = fw_server_run,   [FW_TASK_CALLMGR] = fw_callmgr_run,
    [FW_TASK_DARTMGR] = fw_dartmgr_run, [FW_TASK_TUNABLES] = fw_tunables_run,
    [FW_TASK_HOSTRPC] = fw_hostrpc_run, [FW_TASK_LOADMON] = fw_loadmon_run,
};

static void entry(void *arg)
{
    struct fw_pump *pump = arg;

    if (pump->number == FW_TASK_HOSTRPC)
        fw_hostrpc_first(pump->fw);
    fw_pump_run(pump, run[pump->number]);
}

bool fw_tasks_create(struct fw *fw)
{
    static const struct {
        const char *name;
        unsigned level;
    } task[FW_TASK_COUNT] = {
#define X(id, name, level) {name, level},
        FW_TASKS(X)
#undef X
    };

    for (unsigned i = 0; i < FW_TASK_COUNT; i++)
        if (!fw_pump_create(fw, (enum fw_task)i, task[i].name, task[i].level, entry))
            return false;
    return fw_exeloop_create(fw) && fw_secure_create(fw) && fw_life_create(fw) && fw_loadmon_create(fw) &&
           fw_hostrpc_create(fw) && fw_dartmgr_create(fw) && fw_intmgr_create(fw);
}
