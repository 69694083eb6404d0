/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of protocol/service_ring.h for a side that sleeps: its word is 1 while it sleeps or is about to.
 * Words are in memory that two processes share.
 */
#ifndef SERVICE_FUTEX_H
#define SERVICE_FUTEX_H

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void svc_futex_wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* After the state has changed: wakes the other side if it sleeps. */
static inline void svc_futex_wake_sleeper(uint32_t *asleep)
{
    if (__atomic_load_n(asleep, __ATOMIC_SEQ_CST) != 1)
        return;
    __atomic_store_n(asleep, 0, __ATOMIC_SEQ_CST);
    svc_futex_wake(asleep);
}

/* Sleeps while the word is 1. It may return for no reason. */
static inline void svc_futex_sleep(uint32_t *asleep)
{
    syscall(SYS_futex, asleep, FUTEX_WAIT, 1, NULL, NULL, 0);
}

#endif
