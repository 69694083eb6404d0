/* SPDX-License-Identifier: Apache-2.0 */
/* All decisions are searches over small arrays. */
#include "rtmodel.h"

#include <string.h>

#include "rtkernel/status.h"
#include "rtkernel/task.h"

void rtmodel_init(struct rtmodel *model)
{
    memset(model, 0, sizeof(*model));
    model->current = RTMODEL_NONE;
    for (int i = 0; i < RTMODEL_EACH; i++) {
        model->owner[i] = RTMODEL_NONE;
        model->queue[i].spaces = RTMODEL_DEPTH;
    }
}

static void make_ready(struct rtmodel *model, int t)
{
    model->task[t].ready = true;
    model->task[t].rank = ++model->last;
}

void rtmodel_add(struct rtmodel *model, int task, unsigned priority)
{
    model->task[task] = (struct rtmodel_task){.exists = true, .base = priority, .priority = priority};
    make_ready(model, task);
}

static int best_ready(const struct rtmodel *model)
{
    int best = RTMODEL_NONE;

    for (int t = 0; t < RTMODEL_TASKS; t++) {
        const struct rtmodel_task *task = &model->task[t], *other = &model->task[best < 0 ? t : best];

        if (task->ready && (best < 0 || task->priority < other->priority ||
                            (task->priority == other->priority && task->rank < other->rank)))
            best = t;
    }
    return best;
}

static bool waits_for(const struct rtmodel *model, int t, enum rtmodel_call call, int object)
{
    const struct rtmodel_task *task = &model->task[t];

    return task->exists && task->waits && task->waits_in == call && task->object == object;
}

/* The one that is served first, among those after `after` in their order (NONE: among all). */
static int waiter_after(const struct rtmodel *model, enum rtmodel_call call, int object, int after)
{
    const struct rtmodel_task *bound = &model->task[after < 0 ? 0 : after];
    int best = RTMODEL_NONE;

    for (int t = 0; t < RTMODEL_TASKS; t++) {
        const struct rtmodel_task *task = &model->task[t], *other = &model->task[best < 0 ? t : best];

        if (!waits_for(model, t, call, object))
            continue;
        if (after >= 0 && (task->priority < bound->priority ||
                           (task->priority == bound->priority && task->arrival <= bound->arrival)))
            continue;
        if (best < 0 || task->priority < other->priority ||
            (task->priority == other->priority && task->arrival < other->arrival))
            best = t;
    }
    return best;
}

static int first_waiter(const struct rtmodel *model, enum rtmodel_call call, int object)
{
    return waiter_after(model, call, object, RTMODEL_NONE);
}

static unsigned priority_due(const struct rtmodel *model, int t)
{
    unsigned priority = model->task[t].base;

    for (int m = 0; m < RTMODEL_EACH; m++) {
        for (int w = 0; model->owner[m] == t && w < RTMODEL_TASKS; w++) {
            if (waits_for(model, w, RTMODEL_LOCK, m) && model->task[w].priority < priority)
                priority = model->task[w].priority;
        }
    }
    return priority;
}

static void inherit(struct rtmodel *model, int t)
{
    while (t >= 0 && priority_due(model, t) != model->task[t].priority) {
        struct rtmodel_task *task = &model->task[t];
        const unsigned due = priority_due(model, t);

        if (task->ready)
            task->rank = due < task->priority ? ++model->last : --model->first;
        if (task->waits)
            task->arrival = ++model->stamp;
        task->priority = due;
        model->inheritances++;
        t = task->waits && task->waits_in == RTMODEL_LOCK ? model->owner[task->object] : RTMODEL_NONE;
    }
}

static void wake(struct rtmodel *model, int t, int result)
{
    struct rtmodel_task *task = &model->task[t];
    const bool locking = task->waits_in == RTMODEL_LOCK;

    task->waits = false;
    model->event[t].set = false;
    if (locking)
        inherit(model, model->owner[task->object]);
    task->result = result;
    task->goes_on = true;
    if (!task->suspended)
        make_ready(model, t);
}

static int give(struct rtmodel *model, int s)
{
    const int waiter = first_waiter(model, RTMODEL_TAKE, s);

    if (waiter >= 0)
        wake(model, waiter, RT_OK);
    else if (model->units[s] == RTMODEL_LIMIT)
        return RT_EOVERFLOW;
    else
        model->units[s]++;
    return RT_OK;
}

/* For a sender that has a space. */
static void put(struct rtmodel *model, int q, uint64_t message)
{
    const int waiter = first_waiter(model, RTMODEL_RECEIVE, q);

    model->queue[q].message[model->queue[q].held++] = message;
    if (waiter >= 0)
        wake(model, waiter, RT_OK);
    else
        model->queue[q].messages++;
}

/* For a receiver that has a message. */
static uint64_t get(struct rtmodel *model, int q)
{
    const uint64_t message = model->queue[q].message[0];
    const int waiter = first_waiter(model, RTMODEL_SEND, q);

    model->queue[q].held--;
    memmove(&model->queue[q].message[0], &model->queue[q].message[1], model->queue[q].held * sizeof(message));
    if (waiter >= 0)
        wake(model, waiter, RT_OK);
    else
        model->queue[q].spaces++;
    return message;
}

static int post(struct rtmodel *model, int m, uint64_t word)
{
    const int waiter = first_waiter(model, RTMODEL_FETCH, m);

    if (model->mailbox[m].full)
        return RT_EAGAIN;
    if (waiter >= 0) {
        model->task[waiter].value = word;
        wake(model, waiter, RT_OK);
    } else {
        model->mailbox[m].full = true;
        model->mailbox[m].word = word;
    }
    return RT_OK;
}

static void raise_flags(struct rtmodel *model, int s, uint32_t flags)
{
    int waiter, order[RTMODEL_TASKS], count = 0;

    model->flags[s] |= flags;
    for (waiter = first_waiter(model, RTMODEL_WAIT, s); waiter >= 0;
         waiter = waiter_after(model, RTMODEL_WAIT, s, waiter))
        order[count++] = waiter;
    for (int i = 0; i < count; i++) {
        const uint32_t taken = model->flags[s] & (uint32_t)model->task[order[i]].wanted;

        if (taken) {
            model->flags[s] &= ~taken;
            model->task[order[i]].value = taken;
            wake(model, order[i], RT_OK);
        }
    }
}

static uint64_t after(uint64_t now, uint64_t nanoseconds)
{
    return now + nanoseconds ? now + nanoseconds : 1;
}

static void set_event(struct rtmodel *model, int e, uint64_t deadline)
{
    model->event[e].set = true;
    model->event[e].deadline = deadline;
    model->event[e].order = ++model->stamp;
}

static int next_event(const struct rtmodel *model)
{
    int next = RTMODEL_NONE;

    for (int e = 0; e < RTMODEL_EVENTS; e++) {
        const struct rtmodel_event *event = &model->event[e], *other = &model->event[next < 0 ? e : next];

        if (event->set && (next < 0 || event->deadline < other->deadline ||
                           (event->deadline == other->deadline && event->order < other->order)))
            next = e;
    }
    return next;
}

static void fire(struct rtmodel *model, int e)
{
    struct rtmodel_event *event = &model->event[e];
    uint64_t deadline = event->deadline;

    event->set = false;
    if (e < RTMODEL_TASKS) {
        model->timeouts++;
        wake(model, e, RT_ETIMEDOUT);
        return;
    }
    (void)give(model, e - RTMODEL_TASKS);
    if (event->period) {
        while (deadline <= model->now)
            deadline += event->period;
        set_event(model, e, deadline);
    }
}

static void expire(struct rtmodel *model)
{
    for (int e = next_event(model); e >= 0 && model->event[e].deadline <= model->now; e = next_event(model))
        fire(model, e);
}

/* What a woken task still does inside its call. */
static void go_on(struct rtmodel *model, int t)
{
    struct rtmodel_task *task = &model->task[t];

    task->goes_on = false;
    if (task->result)
        return;
    if (task->waits_in == RTMODEL_SEND)
        put(model, task->object, task->wanted);
    else if (task->waits_in == RTMODEL_RECEIVE)
        task->value = get(model, task->object);
}

static bool outranked(const struct rtmodel *model)
{
    const int best = best_ready(model);

    return best >= 0 && model->task[best].priority < model->task[model->current].priority;
}

/* The running task is put aside, or has been: another one runs, until one returns from its call. */
static void dispatch(struct rtmodel *model)
{
    for (;;) {
        int next = best_ready(model);

        while (next < 0 && next_event(model) >= 0) { /* idle */
            model->now = model->event[next_event(model)].deadline;
            expire(model);
            next = best_ready(model);
        }
        model->current = next;
        if (next < 0)
            return;
        model->task[next].ready = false;
        if (model->task[next].goes_on)
            go_on(model, next);
        if (!outranked(model))
            return;
        model->preemptions++;
        model->task[next].ready = true;
        model->task[next].rank = --model->first;
    }
}

static void leave(struct rtmodel *model)
{
    if (!outranked(model))
        return;
    model->preemptions++;
    model->task[model->current].ready = true;
    model->task[model->current].rank = --model->first;
    dispatch(model);
}

void rtmodel_start(struct rtmodel *model)
{
    dispatch(model);
}

/* The running task waits, or is refused because it would have to. */
static void block(struct rtmodel *model, const struct rtmodel_op *op)
{
    struct rtmodel_task *task = &model->task[model->current];

    if (!op->timeout) {
        task->result = RT_EAGAIN;
        return;
    }
    task->waits = true;
    task->waits_in = op->call;
    task->object = op->object;
    task->wanted = op->value;
    task->arrival = ++model->stamp;
    if (op->call == RTMODEL_LOCK)
        inherit(model, model->owner[op->object]);
    if (op->timeout != RT_FOREVER)
        set_event(model, model->current, after(model->now, op->timeout));
    dispatch(model);
}

static void take(struct rtmodel *model, const struct rtmodel_op *op)
{
    if (model->units[op->object])
        model->units[op->object]--;
    else
        block(model, op);
}

static void send(struct rtmodel *model, const struct rtmodel_op *op)
{
    if (!model->queue[op->object].spaces) {
        block(model, op);
        return;
    }
    model->queue[op->object].spaces--;
    put(model, op->object, op->value);
    leave(model);
}

static void receive(struct rtmodel *model, const struct rtmodel_op *op)
{
    if (!model->queue[op->object].messages) {
        block(model, op);
        return;
    }
    model->queue[op->object].messages--;
    model->task[model->current].value = get(model, op->object);
    leave(model);
}

static void fetch(struct rtmodel *model, const struct rtmodel_op *op)
{
    if (!model->mailbox[op->object].full) {
        block(model, op);
        return;
    }
    model->mailbox[op->object].full = false;
    model->task[model->current].value = model->mailbox[op->object].word;
}

static void wait_flags(struct rtmodel *model, const struct rtmodel_op *op)
{
    const uint32_t got = model->flags[op->object] & (uint32_t)op->value;

    if (!got) {
        block(model, op);
        return;
    }
    model->flags[op->object] &= ~got;
    model->task[model->current].value = got;
}

/* Whether `t` waits, by way of owners, for something that `whom` has. */
static bool depends_on(const struct rtmodel *model, int t, int whom)
{
    const struct rtmodel_task *task = &model->task[t];

    return t == whom || (task->waits && task->waits_in == RTMODEL_LOCK &&
                         depends_on(model, model->owner[task->object], whom));
}

static void lock(struct rtmodel *model, const struct rtmodel_op *op)
{
    const int owner = model->owner[op->object];

    if (owner < 0) {
        model->owner[op->object] = model->current;
    } else if (depends_on(model, owner, model->current)) {
        model->circles += owner != model->current;
        model->task[model->current].result = RT_EDEADLK;
    } else {
        block(model, op);
    }
}

static void unlock(struct rtmodel *model, const struct rtmodel_op *op)
{
    const int waiter = first_waiter(model, RTMODEL_LOCK, op->object);

    if (model->owner[op->object] != model->current) {
        model->task[model->current].result = RT_EPERM;
        return;
    }
    model->owner[op->object] = waiter;
    if (waiter >= 0)
        wake(model, waiter, RT_OK);
    inherit(model, model->current);
    leave(model);
}

static bool has_mutex(const struct rtmodel *model, int t)
{
    for (int m = 0; m < RTMODEL_EACH; m++) {
        if (model->owner[m] == t)
            return true;
    }
    return false;
}

static void suspend(struct rtmodel *model, int t)
{
    model->task[t].suspended = true;
    model->task[t].ready = false;
    if (t == model->current)
        dispatch(model);
}

static void resume(struct rtmodel *model, int t)
{
    struct rtmodel_task *task = &model->task[t];

    if (!task->suspended)
        return;
    task->suspended = false;
    if (!task->waits)
        make_ready(model, t);
}

static int delete_task(struct rtmodel *model, int t)
{
    struct rtmodel_task *task = &model->task[t];

    if (!task->waits || has_mutex(model, t))
        return RT_EBUSY;
    task->exists = task->waits = false;
    model->event[t].set = false;
    model->deletions++;
    if (task->waits_in == RTMODEL_LOCK)
        inherit(model, model->owner[task->object]);
    return RT_OK;
}

/* What a handler may do, too. */
static int act(struct rtmodel *model, enum rtmodel_call call, const struct rtmodel_op *op)
{
    switch (call) {
    case RTMODEL_GIVE: return give(model, op->object);
    case RTMODEL_POST: return post(model, op->object, op->value);
    case RTMODEL_RAISE: raise_flags(model, op->object, (uint32_t)op->value); return RT_OK;
    case RTMODEL_RESUME: resume(model, op->object); return RT_OK;
    case RTMODEL_SEND:
        if (!model->queue[op->object].spaces)
            return RT_EAGAIN;
        model->queue[op->object].spaces--;
        put(model, op->object, op->value);
        return RT_OK;
    default: return RT_EINVAL;
    }
}

static void other_call(struct rtmodel *model, const struct rtmodel_op *op)
{
    const int timer = RTMODEL_TASKS + op->object;

    switch (op->call) {
    case RTMODEL_DELETE: model->task[model->current].result = delete_task(model, op->object); break;
    case RTMODEL_CREATE: rtmodel_add(model, op->object, (unsigned)op->value); break;
    case RTMODEL_START:
        model->event[timer].period = op->period;
        set_event(model, timer, after(model->now, op->value));
        break;
    case RTMODEL_STOP: model->event[timer].set = false; break;
    case RTMODEL_SPEND:
        model->now += op->value;
        expire(model);
        break;
    case RTMODEL_INTERRUPT: (void)act(model, op->inside, op); break;
    default: model->task[model->current].result = act(model, op->call, op); break;
    }
    leave(model);
}

void rtmodel_step(struct rtmodel *model, const struct rtmodel_op *op)
{
    model->task[model->current].result = RT_OK;
    switch (op->call) {
    case RTMODEL_TAKE: take(model, op); break;
    case RTMODEL_SEND: send(model, op); break;
    case RTMODEL_RECEIVE: receive(model, op); break;
    case RTMODEL_FETCH: fetch(model, op); break;
    case RTMODEL_WAIT: wait_flags(model, op); break;
    case RTMODEL_LOCK: lock(model, op); break;
    case RTMODEL_UNLOCK: unlock(model, op); break;
    case RTMODEL_SLEEP: block(model, op); break;
    case RTMODEL_YIELD:
        make_ready(model, model->current);
        dispatch(model);
        break;
    case RTMODEL_SUSPEND: suspend(model, op->object); break;
    default: other_call(model, op); break;
    }
}

bool rtmodel_has_state(const struct rtmodel *model, int t, int state)
{
    const struct rtmodel_task *task = &model->task[t];

    if (task->suspended)
        return state == RT_TASK_SUSPENDED;
    if (!task->waits)
        return state == RT_TASK_RUNNABLE;
    switch (task->waits_in) {
    case RTMODEL_TAKE: return state == RT_TASK_SEMWAIT;
    case RTMODEL_LOCK: return state == RT_TASK_BLOCKED;
    default: return state == RT_TASK_WAITING;
    }
}
