/* SPDX-License-Identifier: Apache-2.0 */
/* Callers' identities. An id is never given out twice, so that a released one names no other task. */
#include <anemone/iokit.h>

#include <errno.h>
#include <string.h>

#include "machine/internal.h"
#include "protocol/entitlement.h"
#include "protocol/service.h"

#define TASKS_MAX 512u
/* In the service each process may have two, one of them the broker's; and so has each of two brokers. */
_Static_assert(2 * (PR_SERVICE_SESSIONS + PR_SERVICE_OBSERVERS + PR_SERVICE_GUESTS + 2) <= TASKS_MAX,
               "a task for every session");

struct task {
    ane_task_t id; /* 0: free */
    struct drv_identity identity;
};

/* Both under the lock of the tables. */
static struct task task_table[TASKS_MAX];
static ane_task_t last_id;

static const struct drv_identity the_process = {.entitlements = PR_ENTITLEMENTS_ALL, .developer = true};

/* The set that the list names; keys that the driver does not know mean nothing to it. */
static uint32_t entitlement_set(const char *const *entitlements, unsigned count)
{
    uint32_t set = 0;

    for (unsigned i = 0; i < count; i++)
        for (unsigned id = 0; id < PR_ENTITLEMENT_COUNT; id++)
            if (!strcmp(entitlements[i], pr_entitlement_key(id)))
                set |= 1u << id;
    return set;
}

static int check(const char *const *entitlements, unsigned count, const char *team_id)
{
    struct base_error *error = mach_error_begin();
    const size_t most = sizeof(the_process.team) - 1;

    if (count && !entitlements)
        return base_fail(error, EINVAL, "Task create: %u entitlements are announced and the list is NULL.",
                         count);
    for (unsigned i = 0; i < count; i++)
        if (!entitlements[i])
            return base_fail(error, EINVAL, "Task create: entitlement %u of %u is NULL.", i, count);
    if (team_id && strlen(team_id) > most)
        return base_fail(error, EINVAL, "Task create: the team has %zu characters; the limit is %zu.",
                         strlen(team_id), most);
    return 0;
}

/* The identity's task is its own id, unless it acts for another. */
static ane_task_t add(const struct drv_identity *identity)
{
    ane_task_t id = 0;

    mach_tables_lock();
    for (unsigned i = 0; i < TASKS_MAX && !id && last_id < UINT32_MAX; i++)
        if (!task_table[i].id) {
            id = ++last_id;
            task_table[i] = (struct task){id, *identity};
            if (!identity->task)
                task_table[i].identity.task = id;
        }
    mach_tables_unlock();
    return id;
}

ane_task_t ane_task_create(const char *const *entitlements, unsigned count, const char *team_id,
                           const uint8_t *cdhash)
{
    struct drv_identity identity = {0};
    ane_task_t id;

    if (check(entitlements, count, team_id))
        return 0;
    identity.entitlements = entitlement_set(entitlements, count);
    identity.developer = identity.entitlements & PR_ENTITLEMENT_BIT(RAW_IMAGES);
    if (team_id)
        memcpy(identity.team, team_id, strlen(team_id) + 1);
    if (cdhash) {
        identity.has_signature = true;
        memcpy(identity.cdhash, cdhash, sizeof(identity.cdhash));
    }
    id = add(&identity);
    if (!id)
        base_fail(mach_error(), ENOSPC, "Task create: %u tasks exist already; release one.", TASKS_MAX);
    return id;
}

ane_task_t ane_task_delegate(ane_task_t task, const char *const *entitlements, unsigned count)
{
    struct drv_identity identity;
    ane_task_t id;

    if (check(entitlements, count, NULL))
        return 0;
    if (!task) {
        base_fail(mach_error(), EINVAL, "Task delegate: task 0 is the process itself, which needs no other.");
        return 0;
    }
    if (!mach_task_identity(task, &identity))
        return 0;
    identity.entitlements = entitlement_set(entitlements, count);
    id = add(&identity);
    if (!id)
        base_fail(mach_error(), ENOSPC, "Task delegate: %u tasks exist already; release one.", TASKS_MAX);
    return id;
}

/* With the tables locked. */
static struct task *find_task(ane_task_t id)
{
    for (unsigned i = 0; i < TASKS_MAX; i++)
        if (task_table[i].id == id)
            return &task_table[i];
    return NULL;
}

void ane_task_release(ane_task_t id)
{
    struct task *task;

    mach_tables_lock();
    task = id ? find_task(id) : NULL;
    if (task)
        *task = (struct task){0};
    mach_tables_unlock();
}

bool mach_task_identity(ane_task_t id, struct drv_identity *identity)
{
    const struct task *task;

    if (!id) {
        *identity = the_process;
        return true;
    }
    mach_tables_lock();
    task = find_task(id);
    if (task)
        *identity = task->identity;
    mach_tables_unlock();
    if (!task)
        base_fail(mach_error(), EINVAL, "There is no task %u; it was released, or never made.", id);
    return task;
}

uint32_t mach_task_acts_for(ane_task_t id)
{
    const struct task *task;
    uint32_t acts_for;

    mach_tables_lock();
    task = id ? find_task(id) : NULL;
    acts_for = task ? task->identity.task : id;
    mach_tables_unlock();
    return acts_for;
}
