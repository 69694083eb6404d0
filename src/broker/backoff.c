/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are by process, and not by connection, so that a new connection is not a way around the wait. When
 * the table is full the row whose wait ended first, or ends first, is used again.
 */
#include "broker/backoff.h"

#define NS_PER_MS 1000000ull

static struct brk_backoff *find(struct brk_backoffs *backoffs, const struct pr_broker_client *who)
{
    for (unsigned i = 0; i < BRK_BACKOFFS; i++)
        if (backoffs->row[i].failures && backoffs->row[i].pid == who->pid && backoffs->row[i].uid == who->uid)
            return &backoffs->row[i];
    return NULL;
}

static struct brk_backoff *oldest(struct brk_backoffs *backoffs)
{
    struct brk_backoff *row = &backoffs->row[0];

    for (unsigned i = 1; i < BRK_BACKOFFS; i++)
        if (backoffs->row[i].until_ns < row->until_ns)
            row = &backoffs->row[i];
    *row = (struct brk_backoff){0};
    return row;
}

/* Doubled from the first failure in a row, up to the last. */
static uint64_t wait_ms(unsigned failures)
{
    uint64_t ms = PR_COMPILE_BACKOFF_MS;

    while (--failures && ms < PR_COMPILE_BACKOFF_MAX_MS)
        ms *= 2;
    return ms < PR_COMPILE_BACKOFF_MAX_MS ? ms : PR_COMPILE_BACKOFF_MAX_MS;
}

IOReturn brk_backoff_check(struct brk_backoffs *backoffs, const struct pr_broker_client *who,
                           struct base_error *error)
{
    uint64_t now = brk_now_ns(), until = 0;
    const struct brk_backoff *row;
    unsigned failures = 0;

    pthread_mutex_lock(&backoffs->lock);
    row = find(backoffs, who);
    if (row) {
        until = row->until_ns;
        failures = row->failures;
    }
    pthread_mutex_unlock(&backoffs->lock);
    if (until <= now)
        return kIOReturnSuccess;
    return brk_refuse(error, kIOReturnBusy,
                      "The compiler ended on the last %u models of process %u; it may compile again in %llu "
                      "ms.",
                      failures, who->pid, (unsigned long long)((until - now) / NS_PER_MS + 1));
}

void brk_backoff_failed(struct brk_backoffs *backoffs, const struct pr_broker_client *who)
{
    struct brk_backoff *row;

    pthread_mutex_lock(&backoffs->lock);
    row = find(backoffs, who);
    if (!row)
        row = oldest(backoffs);
    row->uid = who->uid;
    row->pid = who->pid;
    row->failures++;
    row->until_ns = brk_now_ns() + wait_ms(row->failures) * NS_PER_MS;
    pthread_mutex_unlock(&backoffs->lock);
}

void brk_backoff_worked(struct brk_backoffs *backoffs, const struct pr_broker_client *who)
{
    struct brk_backoff *row;

    pthread_mutex_lock(&backoffs->lock);
    row = find(backoffs, who);
    if (row)
        *row = (struct brk_backoff){0};
    pthread_mutex_unlock(&backoffs->lock);
}
