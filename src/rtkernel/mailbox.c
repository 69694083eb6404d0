/* SPDX-License-Identifier: Apache-2.0 */
/* Mailboxes. A full mailbox has no waiters, because a posted word goes to the first waiter, if any. */
#include "rtkernel/mailbox.h"

#include "rtkernel/sched.h"

int rt_mailbox_create(struct rt_kernel *kernel, struct rt_mailbox **mailbox)
{
    const uint32_t previous = rt_sched_enter(kernel);
    const int slot = rt_pool_take(kernel, RT_POOL_MAILBOX);

    if (slot >= 0) {
        *mailbox = &kernel->mailbox[slot];
        **mailbox = (struct rt_mailbox){.kernel = kernel, .mark = RT_MARK(RT_POOL_MAILBOX)};
        rt_link_init(&(*mailbox)->waiters);
    }
    rt_sched_leave(kernel, previous);
    return slot < 0 ? slot : RT_OK;
}

int rt_mailbox_delete(struct rt_mailbox *mailbox)
{
    struct rt_kernel *kernel = mailbox->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    const bool idle = rt_link_alone(&mailbox->waiters);

    RT_CHECK_LIVE(mailbox, MAILBOX);
    if (idle) {
        mailbox->mark = 0;
        rt_pool_release(kernel, RT_POOL_MAILBOX, (size_t)(mailbox - kernel->mailbox));
    }
    rt_sched_leave(kernel, previous);
    return idle ? RT_OK : RT_EBUSY;
}

int rt_mailbox_post(struct rt_mailbox *mailbox, uint64_t word)
{
    struct rt_kernel *kernel = mailbox->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    int result = RT_OK;

    RT_CHECK_LIVE(mailbox, MAILBOX);
    if (mailbox->full) {
        kernel->refused_posts++;
        result = RT_EAGAIN;
    } else if (!rt_link_alone(&mailbox->waiters)) {
        rt_sched_first(&mailbox->waiters)->wait_word = word;
        rt_sched_wake(rt_sched_first(&mailbox->waiters), RT_OK);
    } else {
        mailbox->word = word;
        mailbox->full = true;
    }
    rt_sched_leave(kernel, previous);
    return result;
}

int rt_mailbox_fetch(struct rt_mailbox *mailbox, uint64_t *word, uint64_t timeout)
{
    struct rt_kernel *kernel = mailbox->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    int result = RT_OK;

    RT_CHECK_LIVE(mailbox, MAILBOX);
    if (timeout)
        rt_sched_check_block(kernel, previous, __func__);
    if (mailbox->full) {
        *word = mailbox->word;
        mailbox->full = false;
    } else if (!timeout) {
        result = RT_EAGAIN;
    } else {
        result =
            rt_sched_block(kernel, &mailbox->waiters, RT_TASK_WAITING, rt_timeline_deadline(kernel, timeout));
        if (!result)
            *word = kernel->current->wait_word;
    }
    rt_sched_leave(kernel, previous);
    return result;
}
