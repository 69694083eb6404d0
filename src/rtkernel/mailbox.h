/* SPDX-License-Identifier: Apache-2.0 */
/* Mailboxes: one 64-bit word, or none. */
#ifndef RTKERNEL_MAILBOX_H
#define RTKERNEL_MAILBOX_H

#include <stdint.h>

#include "rtkernel/status.h"

struct rt_kernel;
struct rt_mailbox;

/* RT_ENOSPC when the pool is exhausted. Any context. */
int rt_mailbox_create(struct rt_kernel *kernel, struct rt_mailbox **mailbox);
/* RT_EBUSY while a task waits there. Any context. */
int rt_mailbox_delete(struct rt_mailbox *mailbox);
/* Hands the word to a waiting task, or leaves it there. RT_EAGAIN when one is there already. Any context. */
int rt_mailbox_post(struct rt_mailbox *mailbox, uint64_t word);
/* RT_EAGAIN or RT_ETIMEDOUT. Blocks while it is empty, unless the timeout is 0. */
int rt_mailbox_fetch(struct rt_mailbox *mailbox, uint64_t *word, uint64_t timeout);

#endif
