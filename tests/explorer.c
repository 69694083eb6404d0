/* SPDX-License-Identifier: Apache-2.0 */
/* Depth-first search over schedules, by running the scenario again for each. */
#include "explorer.h"

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/context.h"

#define STACK_BYTES (64u << 10)
#define DEPTH_MAX   4096u
#define SEEN_BITS   22u
#define SCHEDULES   20000000u

enum condition { READY, WANTS_MUTEX, ASLEEP, AWAITS_FLAG, ENDED };

struct thread {
    struct host_context context;
    uint8_t *stack;
    void (*fn)(struct explorer_run *run);
    enum condition condition;
    atomic_uint *word;
    uint64_t until;
    const bool *flag;
    bool timed_out;
    void *slot;
    uint64_t history;
};

struct choice {
    uint8_t options, chosen;
    uint8_t action[2 * EXPLORER_THREADS];
};

static const struct explorer_scenario *scenario;
static struct explorer_run run;
static struct thread thread[EXPLORER_THREADS];
static struct host_context scheduler;
static int current, owner; /* -1: none */
static struct choice path[DEPTH_MAX];
static unsigned depth, known; /* steps of this run; of them, those that repeat the last */
static uint64_t *seen;
static struct explorer_result result;

#define TIMEOUT EXPLORER_THREADS /* added to a thread's number in an action */

static void fail_schedule(const char *what)
{
    fprintf(stderr, "# %s: %s. Schedule:", scenario->name, what);
    for (unsigned i = 0; i < depth; i++)
        fprintf(stderr, " %s%c", path[i].action[path[i].chosen] >= TIMEOUT ? "late-" : "",
                'A' + path[i].action[path[i].chosen] % TIMEOUT);
    fprintf(stderr, "\n");
    fail_msg("%s: %s", scenario->name, what);
}

void explorer_expect(bool condition, const char *what)
{
    if (!condition)
        fail_schedule(what);
}

/* Hashing. */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ (value + 0x632be59bd9b4e019ull)) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

static unsigned thread_of(const void *pointer)
{
    for (unsigned i = 0; i < scenario->threads; i++)
        if ((const uint8_t *)pointer >= thread[i].stack &&
            (const uint8_t *)pointer < thread[i].stack + STACK_BYTES)
            return i;
    return EXPLORER_THREADS;
}

static uint64_t shared_hash(void)
{
    uint64_t hash = mix(1, (uint64_t)run.lock.driving << 32 | (uint64_t)run.lock.due << 33 | run.lock.acting);

    hash = mix(hash, atomic_load(&run.lock.inbound));
    hash = mix(hash, soc_clock_now(run.clock));
    hash = mix(hash, soc_clock_next(run.clock));
    for (unsigned i = 0; i < EXPLORER_FLAGS; i++)
        hash = mix(hash, run.flag[i]);
    for (const struct mach_waiter *w = run.lock.waiters; w; w = w->next)
        hash = mix(mix(hash, thread_of(w)), w->virtual_at ^ (uint64_t)w->over << 62 ^
                                                (uint64_t)w->asleep << 61 ^ (uint64_t)w->held << 60);
    return hash;
}

static uint64_t state_hash(void)
{
    uint64_t hash = mix(shared_hash(), (uint64_t)(owner + 1));

    for (unsigned i = 0; i < scenario->threads; i++) {
        hash = mix(hash, thread[i].history);
        hash = mix(hash, thread[i].condition);
        if (thread[i].condition == ASLEEP)
            hash = mix(hash, atomic_load(thread[i].word));
    }
    return hash ? hash : 1;
}

/* False when it was seen before. */
static bool remember(uint64_t hash)
{
    uint64_t at = hash >> (64 - SEEN_BITS);

    while (seen[at]) {
        if (seen[at] == hash)
            return false;
        at = (at + 1) & ((1u << SEEN_BITS) - 1);
    }
    seen[at] = hash;
    result.states++;
    if (result.states > (1u << SEEN_BITS) / 2)
        fail_schedule("too many states to explore");
    return true;
}

/* The threads' side. */

static void note(uint64_t value)
{
    thread[current].history = mix(thread[current].history, value);
}

static void pause_as(enum condition condition)
{
    thread[current].condition = condition;
    note(condition); /* where it is: one step further */
    host_context_switch(&thread[current].context, &scheduler);
}

bool mach_host_mutex_try(struct mach_host_mutex *mutex)
{
    (void)mutex;
    pause_as(READY);
    note(owner < 0);
    if (owner >= 0)
        return false;
    owner = current;
    note(shared_hash());
    return true;
}

bool mach_host_mutex_lock(struct mach_host_mutex *mutex)
{
    (void)mutex;
    explorer_expect(owner != current, "a thread takes the mutex twice");
    pause_as(WANTS_MUTEX);
    owner = current;
    note(shared_hash());
    return true;
}

/* The invariant of lock.h, whenever the mutex is free. */
static void check_invariant(void)
{
    bool sleepers = false, over = false, left = !soc_clock_idle(run.clock);

    for (const struct mach_waiter *w = run.lock.waiters; w; w = w->next) {
        sleepers = sleepers || w->asleep;
        over = over || (w->asleep && (*w->done || (w->until_idle && soc_clock_idle(run.clock))));
        left = left || w->virtual_at != UINT64_MAX;
    }
    if (!sleepers || (!over && !left))
        return;
    explorer_expect(run.lock.driving || run.lock.acting || atomic_load(&run.lock.inbound),
                    "sleepers are left with nobody to wake them");
}

void mach_host_mutex_unlock(struct mach_host_mutex *mutex)
{
    (void)mutex;
    pause_as(READY);
    explorer_expect(owner == current, "a thread releases a mutex that it does not hold");
    owner = -1;
    check_invariant();
}

void mach_host_give_way(struct mach_host_mutex *mutex, atomic_uint *inbound, bool brief)
{
    (void)inbound, (void)brief;
    mach_host_mutex_unlock(mutex);
    mach_host_mutex_lock(mutex);
}

void mach_host_count_add(atomic_uint *count, int change)
{
    pause_as(READY);
    atomic_fetch_add(count, (unsigned)change);
}

unsigned mach_host_count(atomic_uint *count)
{
    pause_as(READY);
    note(atomic_load(count));
    return atomic_load(count);
}

bool mach_host_sleep(atomic_uint *word, uint64_t until)
{
    struct thread *self = &thread[current];

    self->word = word;
    self->until = until;
    self->timed_out = false;
    pause_as(ASLEEP);
    note(self->timed_out);
    return !self->timed_out;
}

void mach_host_wake(atomic_uint *word)
{
    pause_as(READY);
    atomic_store(word, 1);
}

void mach_host_slot_set(void *pointer)
{
    thread[current].slot = pointer;
}

void *mach_host_slot(void)
{
    return thread[current].slot;
}

uint64_t mach_host_now(void)
{
    return 1;
}

void explorer_await_flag(const bool *flag)
{
    thread[current].flag = flag;
    pause_as(AWAITS_FLAG);
}

static void begin(void *argument)
{
    struct thread *self = argument;

    self->fn(&run);
    pause_as(ENDED);
}

/* The scheduler's side. */

static bool can_run(const struct thread *t)
{
    switch (t->condition) {
    case READY: return true;
    case WANTS_MUTEX: return owner < 0;
    case ASLEEP: return atomic_load(t->word) != 0;
    case AWAITS_FLAG: return *t->flag;
    case ENDED: break;
    }
    return false;
}

static void list_options(struct choice *choice)
{
    *choice = (struct choice){0};
    for (unsigned i = 0; i < scenario->threads; i++)
        if (can_run(&thread[i]))
            choice->action[choice->options++] = (uint8_t)i;
    for (unsigned i = 0; i < scenario->threads && scenario->timeouts; i++)
        if (thread[i].condition == ASLEEP && thread[i].until != MACH_HOST_FOREVER && !can_run(&thread[i]))
            choice->action[choice->options++] = (uint8_t)(TIMEOUT + i);
}

static void step(uint8_t action)
{
    current = action % TIMEOUT;
    thread[current].timed_out = action >= TIMEOUT;
    thread[current].condition = READY;
    host_context_switch(&scheduler, &thread[current].context);
    current = -1;
}

static bool all_ended(void)
{
    for (unsigned i = 0; i < scenario->threads; i++)
        if (thread[i].condition != ENDED)
            return false;
    return true;
}

static void reset(void)
{
    run = (struct explorer_run){0};
    assert_int_equal(soc_clock_create(&run.clock, NULL), 0);
    owner = current = -1;
    mach_lock_init(&run.lock, run.clock);
    for (unsigned i = 0; i < scenario->threads; i++) {
        uint8_t *stack = thread[i].stack;

        thread[i] = (struct thread){.stack = stack, .fn = scenario->thread[i]};
        host_context_make(&thread[i].context, stack, STACK_BYTES, begin, &thread[i]);
    }
    if (scenario->setup)
        scenario->setup(&run);
    depth = 0;
}

static void clear(void)
{
    for (unsigned i = 0; i < scenario->threads; i++)
        host_context_drop(&thread[i].context);
    soc_clock_destroy(run.clock);
}

static void check_end(void)
{
    explorer_expect(all_ended(), "threads are asleep for ever");
    explorer_expect(!run.lock.waiters && !run.lock.runs && !run.lock.driving && !run.lock.acting &&
                        !atomic_load(&run.lock.inbound),
                    "the lock is not clean at the end");
}

/* One schedule, to its end or to a state that was seen before. */
static void follow(void)
{
    reset();
    while (depth < DEPTH_MAX) {
        struct choice *choice = &path[depth];

        if (depth >= known) {
            if (!remember(state_hash()))
                break;
            list_options(choice);
            if (!choice->options) {
                check_end();
                break;
            }
        }
        depth++;
        step(choice->action[choice->chosen]);
    }
    if (depth == DEPTH_MAX)
        fail_schedule("a schedule does not end");
    if (depth > result.longest)
        result.longest = depth;
    clear();
}

/* The next schedule: the last choice that has an alternative takes it. */
static bool backtrack(void)
{
    while (depth > 0) {
        struct choice *choice = &path[depth - 1];

        if (choice->chosen + 1u < choice->options) {
            choice->chosen++;
            known = depth;
            return true;
        }
        depth--;
    }
    return false;
}

struct explorer_result explorer_explore(const struct explorer_scenario *wanted)
{
    scenario = wanted;
    result = (struct explorer_result){0};
    seen = calloc(1u << SEEN_BITS, sizeof(*seen));
    assert_non_null(seen);
    for (unsigned i = 0; i < EXPLORER_THREADS; i++) {
        thread[i].stack = calloc(1, STACK_BYTES);
        assert_non_null(thread[i].stack);
    }
    known = 0;
    do {
        follow();
        result.schedules++;
        if (result.schedules > SCHEDULES)
            fail_schedule("too many schedules to explore");
    } while (backtrack());
    for (unsigned i = 0; i < EXPLORER_THREADS; i++)
        free(thread[i].stack);
    free(seen);
    return result;
}
