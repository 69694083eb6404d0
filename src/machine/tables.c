/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock of the process's tables (services, connections, tasks) and the holds on machines. A hold keeps a
 * machine from being destroyed: every open connection has one, and every call that found a machine through a
 * table. It is refused once the machine's end has begun.
 *
 * The lock may be taken inside a machine's lock, never around it.
 */
#include "machine/internal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void mach_tables_lock(void)
{
    pthread_mutex_lock(&lock);
}

void mach_tables_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void mach_tables_wait(void)
{
    pthread_cond_wait(&changed, &lock);
}

void mach_tables_changed(void)
{
    pthread_cond_broadcast(&changed);
}

/* Threads of the parent that waited do not exist in the child. */
void mach_tables_forked(void)
{
    changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

bool mach_hold_locked(struct ane_machine *m)
{
    if (m->ending)
        return false;
    m->holds++;
    return true;
}

bool mach_hold(struct ane_machine *m)
{
    bool held;

    mach_tables_lock();
    held = mach_hold_locked(m);
    mach_tables_unlock();
    return held;
}

void mach_release_locked(struct ane_machine *m)
{
    if (--m->holds == 0 && m->ending)
        mach_tables_changed();
}

void mach_release(struct ane_machine *m)
{
    mach_tables_lock();
    mach_release_locked(m);
    mach_tables_unlock();
}
