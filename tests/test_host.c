/* SPDX-License-Identifier: Apache-2.0 */
/* The host's primitives under machine/lock.c: one thread at a time, none forgotten. */
#include "machine/host.h"

#include <pthread.h>
#include <unistd.h>

#include "support.h"

enum { THREADS = 6, TURNS = 3000, TRIES = 1000 };

struct crowd {
    struct mach_host_mutex mutex;
    atomic_uint inbound;
    unsigned inside, turns; /* plain: protected by the mutex */
    atomic_uint wrong;
};

static void enter(struct crowd *c)
{
    if (!mach_host_mutex_try(&c->mutex)) {
        mach_host_count_add(&c->inbound, 1);
        if (!mach_host_mutex_lock(&c->mutex))
            atomic_fetch_add(&c->wrong, 1);
        mach_host_count_add(&c->inbound, -1);
    }
    if (c->inside++)
        atomic_fetch_add(&c->wrong, 1);
}

static void leave(struct crowd *c)
{
    c->inside--;
    mach_host_mutex_unlock(&c->mutex);
}

/* In some of its turns a thread gives way, in both manners, as one that drives does. */
static void *take_turns(void *context)
{
    struct crowd *c = context;

    for (unsigned i = 0; i < TURNS; i++) {
        enter(c);
        c->turns++;
        if (i % 4 == 0 && mach_host_count(&c->inbound)) {
            c->inside--;
            mach_host_give_way(&c->mutex, &c->inbound, i % 8 == 0);
            if (c->inside++)
                atomic_fetch_add(&c->wrong, 1);
        }
        leave(c);
    }
    return NULL;
}

static void one_is_inside(void **state)
{
    static struct crowd c;
    pthread_t thread[THREADS];

    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take_turns, &c), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(c.turns, THREADS * TURNS);
    assert_int_equal(atomic_load(&c.wrong), 0);
    assert_true(mach_host_mutex_try(&c.mutex)); /* it is free */
}

static void a_holder_is_refused(void **state)
{
    struct mach_host_mutex mutex = {0};

    (void)state;
    assert_true(mach_host_mutex_lock(&mutex));
    assert_false(mach_host_mutex_try(&mutex));
    assert_false(mach_host_mutex_lock(&mutex));
    mach_host_mutex_unlock(&mutex);
    assert_true(mach_host_mutex_try(&mutex));
    mach_host_mutex_unlock(&mutex);
}

struct guest {
    struct crowd crowd;
    atomic_bool came;
};

static void *come_in(void *context)
{
    struct guest *g = context;

    enter(&g->crowd);
    atomic_store(&g->came, true);
    leave(&g->crowd);
    return NULL;
}

/* One that looks and one that sleeps at the mutex both come in while its holder gives way. */
static void the_holder_gives_way(void **state)
{
    (void)state;
    for (unsigned asleep = 0; asleep < 2; asleep++) {
        struct guest g = {.came = false};
        pthread_t thread;
        unsigned tries = 0;

        assert_true(mach_host_mutex_try(&g.crowd.mutex));
        assert_int_equal(pthread_create(&thread, NULL, come_in, &g), 0);
        while (!mach_host_count(&g.crowd.inbound))
            usleep(10);
        usleep(asleep * 5000);
        assert_false(atomic_load(&g.came));
        /* Each is bounded, and the other thread may not get to run. */
        while (!atomic_load(&g.came) && ++tries < TRIES)
            mach_host_give_way(&g.crowd.mutex, &g.crowd.inbound, false);
        assert_true(atomic_load(&g.came));
        mach_host_mutex_unlock(&g.crowd.mutex);
        pthread_join(thread, NULL);
        assert_int_equal(atomic_load(&g.crowd.wrong), 0);
    }
}

/* Nothing is released for a thread that is not there yet. */
static void brief_turns_wait_for_none(void **state)
{
    struct crowd c = {.inbound = 1};

    (void)state;
    assert_true(mach_host_mutex_try(&c.mutex));
    mach_host_give_way(&c.mutex, &c.inbound, true);
    assert_int_equal(atomic_load(&c.mutex.admitted), 1);
    assert_false(mach_host_mutex_lock(&c.mutex)); /* still the holder's */
    mach_host_mutex_unlock(&c.mutex);
}

static void *wake_later(void *context)
{
    usleep(2000);
    mach_host_wake(context);
    return NULL;
}

static void sleepers_are_woken(void **state)
{
    atomic_uint word = 0;
    pthread_t thread;

    (void)state;
    assert_false(mach_host_sleep(&word, mach_host_now() + 1000000));
    assert_int_equal(pthread_create(&thread, NULL, wake_later, &word), 0);
    assert_true(mach_host_sleep(&word, MACH_HOST_FOREVER));
    pthread_join(thread, NULL);
    assert_true(mach_host_sleep(&word, 0)); /* it is set already */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_inside),        cmocka_unit_test(a_holder_is_refused),
        cmocka_unit_test(the_holder_gives_way), cmocka_unit_test(brief_turns_wait_for_none),
        cmocka_unit_test(sleepers_are_woken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
