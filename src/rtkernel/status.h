/* SPDX-License-Identifier: Apache-2.0 */
/* What kernel calls return: 0 or a count, or one of these. The numbers are Linux's errno values, negated. */
#ifndef RTKERNEL_STATUS_H
#define RTKERNEL_STATUS_H

enum rt_status {
    RT_OK = 0,
    RT_EPERM = -1,      /* the caller does not own the mutex */
    RT_EAGAIN = -11,    /* it would have to wait, and the timeout is 0 */
    RT_ENOMEM = -12,    /* the arena has no block of that size */
    RT_EBUSY = -16,     /* a task waits there, or the line is taken */
    RT_EINVAL = -22,    /* an argument is out of range */
    RT_ENOSPC = -28,    /* the pool is exhausted */
    RT_EDEADLK = -35,   /* the caller has the mutex already */
    RT_EOVERFLOW = -75, /* the semaphore is at its limit */
    RT_EMSGSIZE = -90,  /* the message is wider than the queue */
    RT_ETIMEDOUT = -110,
};

/* Timeouts are nanoseconds from now. */
#define RT_NO_WAIT 0ull /* try; the call does not block and may be made in interrupt context */
#define RT_FOREVER 0xffffffffffffffffull

#endif
