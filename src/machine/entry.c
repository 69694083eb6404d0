/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls into a machine: who may enter, the calling thread's error, and what a fork leaves to the child.
 * mach_enter clears the thread's sentence, so one that is there afterwards is of this call. A child process
 * must not touch a machine of its parent; the generation distinguishes them without a system call. Locks are
 * taken before a fork in one order, and released in the reverse one: default machine, session with the
 * service, surfaces, tables, traces.
 */
#include <errno.h>

#include "machine/internal.h"
#include "machine/tracing.h"
#include "service/client.h"

struct base_error *mach_error(void)
{
    return base_error_of_thread();
}

struct base_error *mach_error_begin(void)
{
    struct base_error *error = base_error_of_thread();

    error->text[0] = '\0';
    return error;
}

const char *ane_machine_error(void)
{
    return base_error_of_thread()->text;
}

/* Forks between this process and the one that loaded the library. Reading it costs no system call. */
static atomic_ulong fork_generation;

/*
 * A fork while other threads hold one of the process's tables would leave the child with a table that is
 * locked for ever. So the forking thread takes them first.
 */
static void before_fork(void)
{
    mach_service_fork_begin();
    svc_client_fork_begin();
    mach_surface_fork_begin();
    mach_tables_lock();
    mach_tracing_fork_begin();
}

static void after_fork(void)
{
    mach_tracing_fork_end(false);
    mach_tables_unlock();
    mach_surface_fork_end(false);
    svc_client_fork_end(false);
    mach_service_fork_end(false);
}

/* The child begins with no machine, no connection and no surface: those of its parent are not its own. */
static void in_child(void)
{
    atomic_fetch_add(&fork_generation, 1);
    mach_tracing_fork_end(true);
    mach_port_forked();
    mach_connect_forked();
    mach_tables_unlock();
    mach_surface_fork_end(true);
    svc_client_fork_end(true);
    mach_service_fork_end(true);
}

static __attribute__((constructor)) void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

unsigned long mach_fork_generation(void)
{
    return atomic_load(&fork_generation);
}

bool mach_is_inherited(const struct ane_machine *m)
{
    if (atomic_load(&fork_generation) == m->family)
        return false;
    base_fail(mach_error(), EPERM, "A machine cannot be used in a forked child; make a new one there.");
    return true;
}

bool mach_enter_dead(struct ane_machine *m)
{
    mach_error_begin();
    if (!m) {
        base_fail(mach_error(), EINVAL, "The machine is NULL.");
        return false;
    }
    if (mach_is_inherited(m))
        return false;
    if (mach_lock_enter(&m->lock))
        return true;
    base_fail(mach_error(), EDEADLK, "The trace function must not call the machine it traces.");
    return false;
}

bool mach_enter(struct ane_machine *m)
{
    if (!mach_enter_dead(m))
        return false;
    if (!mach_panicked(m))
        return true;
    mach_leave(m);
    return false;
}

void mach_leave(struct ane_machine *m)
{
    if (m->lock.due)
        mach_lines_report(m);
    mach_lock_leave(&m->lock);
}
