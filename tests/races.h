/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The races of races.c: each runs for about so many seconds and returns how many
 * operations it did; a failure ends the process.
 */
#ifndef TESTS_RACES_H
#define TESTS_RACES_H

#include "outrig.h"

/* X(name, function, what it holds the library to) */
#define RACES(X)                                                                                             \
    X("call-close", race_call_close, "calls that race with IOServiceClose answer closed")                    \
    X("evict-close", race_evict_close, "16 direct-path clients on 7 domains close with requests in flight")  \
    X("close-requests", race_close_requests, "close and reopen while 3, 8 and 24 threads send requests")     \
    X("close-mixed", race_close_mixed, "clients that close, register accesses and ane_machine_run at once")  \
    X("close-programs", race_close_programs,                                                                 \
      "programs are destroyed while a client attached to them closes")                                       \
    X("programs", race_programs, "create and destroy with 17, 32 and 64 threads on clients of their own")    \
    X("streams", race_streams, "25 and 64 threads in execute_sync of one process")                           \
    X("orphans", race_orphans, "a prepare that fails after its program's owner has closed gives it back")    \
    X("waiters", race_waiters, "1,100 threads wait for a domain while 7 clients work")                       \
    X("domains", race_domains, "9, 12, 20 and 40 clients on 7 domains, idle between calls: none is refused") \
    X("destroy-open", race_destroy_open, "a machine is destroyed while connections are open")                \
    X("release-destroy", race_release_destroy, "ane_surface_release while the machine is destroyed")         \
    X("fork-destroy", race_fork_destroy, "ane_machine_destroy in a forked child leaves the parent's alone")  \
    X("fork", race_fork, "a child forked while other threads are inside makes and uses a machine")

#define X(name, function, what) unsigned long function(double seconds);
RACES(X)
#undef X

#endif
