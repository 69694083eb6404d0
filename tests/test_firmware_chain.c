/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links and follows of cache requests: what one execution writes the next one reads, at the same address and
 * without a message; and random operations against a model.
 */
#include "support.h"

#include <string.h>

#include "cacherig.h"
#include "rtkernel/heap.h"

static int setup(void **state)
{
    struct fwrig *rig = fwrig_create();

    *state = rig;
    fwrig_boot_started(rig);
    fwrig_load(rig);
    return 0;
}

static int teardown(void **state)
{
    fwrig_destroy(*state);
    return 0;
}

/* A request with a link to itself, whose sets the host has given. */
static uint64_t resident(struct fwrig *rig, uint32_t sets, uint32_t flags)
{
    struct cacherig_install install;
    uint64_t handler;

    cacherig_install_make(&install);
    install.body.output_sets = sets;
    install.body.flags = flags;
    cacherig_install_link(&install, 0);
    assert_int_equal(cacherig_install(rig, &install, &handler), 0);
    for (uint32_t i = 0; i < sets; i++)
        assert_int_equal(cacherig_recycle(rig, handler, i), 0);
    return handler;
}

static void an_output_is_the_next_input(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = resident(rig, 2, PR_CACHE_AUTO_RECYCLE);

    assert_int_equal(cacherig_trigger_linked(rig, handler, 1),
                     PR_STATUS_BAD_ARGUMENT); /* nothing to link to */
    assert_int_equal(cacherig_trigger(rig, handler, 1), 0);
    cacherig_retire(rig, 0);
    cacherig_expect(rig, handler, 1, 0, PR_STATUS_OK);
    for (uint64_t i = 1; i < 9; i++) {
        assert_int_equal(cacherig_trigger_linked(rig, handler, i + 1), 0);
        assert_int_equal(fwrig_pushes(rig), i + 1);
        assert_int_equal(cacherig_in(rig, i), cacherig_out(rig, i - 1));
        assert_int_equal(cacherig_out(rig, i), CACHERIG_SET(i % 2)); /* the other one was recycled */
        cacherig_retire(rig, 0);
        cacherig_expect(rig, handler, i + 1, i % 2, PR_STATUS_OK);
    }
    assert_int_equal(cacherig_in(rig, 0), CACHERIG_INPUT(1));
}

/* Triggers behind an execution that has not ended wait for it: the host sends nothing in between. */
static void triggers_wait_for_what_they_read(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = resident(rig, 3, PR_CACHE_AUTO_RECYCLE);

    assert_int_equal(cacherig_trigger(rig, handler, 1), 0);
    for (uint64_t i = 2; i < 8; i++)
        assert_int_equal(cacherig_trigger_linked(rig, handler, i), 0);
    for (uint64_t i = 1; i < 8; i++) {
        assert_int_equal(fwrig_pushes(rig), i);
        cacherig_retire(rig, 0);
        cacherig_expect(rig, handler, i, (uint32_t)(i - 1) % 3, PR_STATUS_OK);
        if (i > 1)
            assert_int_equal(cacherig_in(rig, i - 1), cacherig_out(rig, i - 2));
    }
    assert_int_equal(fwrig_pushes(rig), 7);
}

static void a_given_input_replaces_the_link(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = resident(rig, 2, PR_CACHE_AUTO_RECYCLE);

    for (uint64_t i = 1; i < 4; i++) {
        assert_int_equal(cacherig_trigger(rig, handler, i), 0);
        cacherig_retire(rig, 0);
        cacherig_expect(rig, handler, i, (uint32_t)(i - 1) % 2, PR_STATUS_OK);
        assert_int_equal(cacherig_in(rig, i - 1), CACHERIG_INPUT(i));
    }
}

static void without_the_flag_the_host_recycles(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = resident(rig, 2, 0);

    assert_int_equal(cacherig_trigger(rig, handler, 1), 0);
    assert_int_equal(cacherig_recycle(rig, handler, 0), PR_STATUS_WRONG_STATE); /* the engine writes it */
    cacherig_retire(rig, 0);
    assert_int_equal(cacherig_trigger_linked(rig, handler, 2), 0);
    assert_int_equal(cacherig_recycle(rig, handler, 0), PR_STATUS_WRONG_STATE); /* the engine reads it */
    cacherig_retire(rig, 0);
    assert_int_equal(cacherig_trigger_linked(rig, handler, 3), 0); /* no set: it waits */
    assert_int_equal(fwrig_pushes(rig), 2);
    assert_int_equal(cacherig_recycle(rig, handler, 1), PR_STATUS_WRONG_STATE); /* it will be read */
    assert_int_equal(cacherig_recycle_again(rig, handler, 0), 0);
    assert_int_equal(fwrig_pushes(rig), 3);
    assert_int_equal(cacherig_in(rig, 2), CACHERIG_SET(1));
    assert_int_equal(cacherig_out(rig, 2), CACHERIG_SET(0));
    cacherig_retire(rig, 0);
    /* The host takes the latest output away: links bring nothing until there is another. */
    assert_int_equal(cacherig_recycle_again(rig, handler, 0), 0);
    assert_int_equal(cacherig_trigger_linked(rig, handler, 4), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(cacherig_trigger(rig, handler, 4), 0);
    assert_int_equal(fwrig_pushes(rig), 4);
}

static void what_follows_a_failure_is_not_run(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = resident(rig, 3, PR_CACHE_AUTO_RECYCLE);

    assert_int_equal(cacherig_trigger(rig, handler, 1), 0);
    assert_int_equal(cacherig_trigger_linked(rig, handler, 2), 0);
    assert_int_equal(cacherig_trigger_linked(rig, handler, 3), 0);
    assert_int_equal(cacherig_trigger(rig, handler, 4), 0); /* begins a new chain */
    cacherig_retire(rig, PR_TM_CODE_TRANSLATION);
    cacherig_expect(rig, handler, 1, 0, PR_STATUS_TRANSLATION);
    cacherig_expect(rig, handler, 2, PR_NO_ID, PR_STATUS_ABORTED);
    cacherig_expect(rig, handler, 3, PR_NO_ID, PR_STATUS_ABORTED);
    assert_int_equal(fwrig_pushes(rig), 2);
    assert_int_equal(cacherig_in(rig, 1), CACHERIG_INPUT(4));
    cacherig_retire(rig, 0);
    cacherig_expect(rig, handler, 4, 1, PR_STATUS_OK);
    /* The set of the failure is the host's. */
    assert_int_equal(cacherig_fw(rig)->cache.request[0].available, 1);
    assert_int_equal(cacherig_recycle_again(rig, handler, 0), 0);
    assert_int_equal(cacherig_trigger_linked(rig, handler, 5), 0);
    assert_int_equal(cacherig_in(rig, 2), CACHERIG_SET(1));
}

/* A first request, and a second of another procedure that follows it; with sets of their own. */
struct pair {
    uint64_t first, second;
};
static struct pair follow(struct fwrig *rig, uint32_t flags, uint32_t second_sets)
{
    struct cacherig_install install;
    struct pair pair;

    pair.first = cacherig_request(rig, 2, flags);
    cacherig_install_make(&install);
    install.header.procedure_id = 1;
    install.body.output_sets = second_sets;
    install.body.flags = flags;
    install.body.follow = pair.first;
    cacherig_install_link(&install, pair.first);
    assert_int_equal(cacherig_install(rig, &install, &pair.second), 0);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(cacherig_recycle(rig, pair.first, i), 0);
    for (uint32_t i = 0; i < second_sets; i++) {
        struct pr_cache_recycle message;

        cacherig_recycle_make(&message, pair.second, i);
        message.buffer[0].address = CACHERIG_SET(8 + i);
        assert_int_equal(cacherig_send(rig, &message, PR_CACHE_RECYCLE_BYTES(1)), 0);
    }
    return pair;
}

static void two_procedures_run_from_one_trigger(void **state)
{
    struct fwrig *rig = *state;
    const struct pair pair = follow(rig, PR_CACHE_AUTO_RECYCLE, 1);
    const uint32_t slot = fwrig_cursor(rig, PR_CHANNEL_DATA_CHAIN_H2T);

    for (uint64_t i = 1; i < 6; i++) {
        assert_int_equal(cacherig_trigger(rig, pair.first, i), 0);
        assert_int_equal(fwrig_pushes(rig), 2 * i - 1);
        assert_int_equal(fwrig_push_at(rig, 2 * i - 2)->address, FWRIG_TEXT);
        cacherig_retire(rig, 0);
        assert_int_equal(fwrig_pushes(rig), 2 * i);
        assert_int_equal(fwrig_push_at(rig, 2 * i - 1)->address, FWRIG_TEXT + 0x400);
        assert_int_equal(cacherig_in(rig, 2 * i - 1), cacherig_out(rig, 2 * i - 2));
        assert_int_equal(cacherig_out(rig, 2 * i - 1), CACHERIG_SET(8));
        cacherig_expect(rig, pair.first, i, (uint32_t)(i - 1) % 2, PR_STATUS_OK);
        cacherig_retire(rig, 0);
        cacherig_expect(rig, pair.second, i, 0, PR_STATUS_OK);
    }
    /* A slot, and so a doorbell, of the host's for each two executions. */
    assert_int_equal((fwrig_cursor(rig, PR_CHANNEL_DATA_CHAIN_H2T) - slot) & 0xf, 5);
}

/* Each follower reads the execution that it follows, not a later one of its source. */
static void followers_read_their_own_source(void **state)
{
    struct fwrig *rig = *state;
    const struct pair pair = follow(rig, 0, 2);

    assert_int_equal(cacherig_trigger(rig, pair.first, 1), 0);
    assert_int_equal(cacherig_trigger(rig, pair.first, 2), 0);
    assert_int_equal(fwrig_pushes(rig), 2);
    cacherig_retire(rig, 0);
    cacherig_retire(rig, 0);
    assert_int_equal(fwrig_pushes(rig), 4);
    assert_int_equal(cacherig_in(rig, 2), CACHERIG_SET(0));
    assert_int_equal(cacherig_in(rig, 3), CACHERIG_SET(1));
    cacherig_expect(rig, pair.first, 1, 0, PR_STATUS_OK);
    cacherig_expect(rig, pair.first, 2, 1, PR_STATUS_OK);
    cacherig_retire(rig, 0);
    cacherig_retire(rig, 0);
    cacherig_expect(rig, pair.second, 1, 0, PR_STATUS_OK);
    cacherig_expect(rig, pair.second, 2, 1, PR_STATUS_OK);
}

/* The host knows by it how many events with the trigger's cookie it has to wait for. */
static void an_event_says_how_many_follow(void **state)
{
    struct fwrig *rig = *state;
    const struct pair pair = follow(rig, 0, 2);
    struct pr_notify_chaining event;

    assert_int_equal(cacherig_trigger(rig, pair.first, 1), 0);
    cacherig_retire(rig, 0);
    assert_true(fwrig_chaining(rig, &event));
    assert_true(event.cache_handler == pair.first && event.following == 1);
    cacherig_retire(rig, 0);
    assert_true(fwrig_chaining(rig, &event));
    assert_true(event.cache_handler == pair.second && event.following == 0);
    assert_int_equal(cacherig_trigger(rig, pair.first, 2), 0);
    cacherig_retire(rig, PR_TM_CODE_TRANSLATION);
    assert_true(fwrig_chaining(rig, &event));
    assert_true(event.cache_handler == pair.first && event.following == 0);
}

static void nothing_follows_a_failure(void **state)
{
    struct fwrig *rig = *state;
    const struct pair pair = follow(rig, 0, 2);
    struct pr_notify_chaining event;

    assert_int_equal(cacherig_trigger(rig, pair.first, 1), 0);
    cacherig_retire(rig, PR_TM_CODE_TRANSLATION);
    cacherig_expect(rig, pair.first, 1, 0, PR_STATUS_TRANSLATION);
    assert_int_equal(fwrig_pushes(rig), 1);
    assert_false(fwrig_chaining(rig, &event));
}

/* What a follower reads stays until it has ended, also when its source is invalidated meanwhile. */
static void a_source_ends_after_its_readers(void **state)
{
    struct fwrig *rig = *state;
    const struct pair pair = follow(rig, 0, 1);
    struct pr_notify_chaining event;
    uint32_t in_flight;

    assert_int_equal(cacherig_trigger(rig, pair.first, 1), 0);
    assert_int_equal(cacherig_trigger(rig, pair.first, 2), 0);
    cacherig_retire(rig, 0);
    cacherig_retire(rig, 0);
    assert_int_equal(fwrig_pushes(rig), 3); /* the second follower waits for a set */
    cacherig_expect(rig, pair.first, 1, 0, PR_STATUS_OK);
    cacherig_expect(rig, pair.first, 2, 1, PR_STATUS_OK);
    assert_int_equal(cacherig_invalidate(rig, pair.first, &in_flight), 0);
    assert_int_not_equal(in_flight, 0);
    cacherig_expect(rig, pair.second, 2, PR_NO_ID, PR_STATUS_ABORTED);
    assert_int_equal(cacherig_trigger(rig, pair.first, 3), PR_STATUS_WRONG_STATE);
    cacherig_retire(rig, 0);
    cacherig_expect(rig, pair.second, 1, 0, PR_STATUS_OK);
    assert_true(fwrig_chaining(rig, &event));
    assert_int_equal(event.cache_handler, pair.first);
    assert_int_equal(event.state, PR_CACHE_AVAILABLE);
    assert_int_equal(event.set, PR_NO_ID);
    assert_int_equal(event.status, 0);
    /* The follower goes on by the host's triggers. */
    assert_int_equal(cacherig_recycle_again(rig, pair.second, 0), 0);
    assert_int_equal(cacherig_trigger(rig, pair.second, 9), 0);
    assert_int_equal(cacherig_in(rig, 3), CACHERIG_INPUT(9));
}

/* A follower whose inputs no link brings is dropped, and the host hears of it. */
static void a_follower_without_inputs_is_dropped(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t first = cacherig_request(rig, 1, 0);
    struct cacherig_install install;
    uint64_t second;

    cacherig_install_make(&install);
    install.body.follow = first;
    assert_int_equal(cacherig_install(rig, &install, &second), 0);
    assert_int_equal(cacherig_recycle(rig, first, 0), 0);
    assert_int_equal(cacherig_trigger(rig, first, 1), 0);
    cacherig_retire(rig, 0);
    assert_int_equal(fwrig_counter(rig, "cache-triggers-dropped"), 1);
    assert_int_equal(cacherig_broken(rig, PR_RULE_TRIGGER_BUFFERS), 1);
    cacherig_expect(rig, second, 1, PR_NO_ID, PR_STATUS_BAD_ARGUMENT);
    cacherig_expect(rig, first, 1, 0, PR_STATUS_OK);
}

/* The host waits for a follower that it knows of: that it was dropped is reported in any case. */
static void a_dropped_follower_is_reported_in_any_case(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t first = cacherig_request(rig, 1, 0);
    _Alignas(8) uint8_t message[FWRIG_MESSAGE_BYTES];
    struct cacherig_install install;
    uint64_t second;

    cacherig_install_make(&install);
    install.body.follow = first;
    assert_int_equal(cacherig_install(rig, &install, &second), 0);
    assert_int_equal(cacherig_recycle(rig, first, 0), 0);
    assert_int_equal(cacherig_trigger(rig, first, 1), 0);
    for (unsigned i = 0; i < 64 + 64 + 1; i++) { /* no slot of IO_T2H is left, and no place */
        fwrig_post(rig, PR_CHANNEL_IO, 0x90000000u, 24, 0);
        fwrig_run(rig);
    }
    cacherig_retire(rig, 0);
    for (unsigned i = 0; i < 64 + 64; i++)
        assert_true(fwrig_message(rig, message));
    cacherig_expect(rig, second, 1, PR_NO_ID, PR_STATUS_BAD_ARGUMENT);
    cacherig_expect(rig, first, 1, 0, PR_STATUS_OK);
}

/* ---- against a model ---- */

#define SETS  4u
#define STEPS 200u

/* One request without links: sets in the order of their recycling, triggers in theirs. */
struct model {
    uint32_t available[SETS], count;
    uint64_t waiting[256];
    uint32_t waits, first;
    struct {
        uint64_t time;
        uint32_t set;
    } running[8];
    uint32_t runs;
    bool with_host[SETS];
    uint64_t time;
    size_t pushes;
};

static void model_start(struct model *m)
{
    while (m->count && m->first < m->waits && m->runs < 8) {
        m->running[m->runs].time = m->waiting[m->first++];
        m->running[m->runs++].set = m->available[0];
        memmove(m->available, m->available + 1, --m->count * sizeof(m->available[0]));
    }
}

/* What is on the queue, two at most, has the inputs and sets of the model, and each set once. */
static void compare(struct fwrig *rig, struct model *m, size_t retired)
{
    const struct fw_cache_request *request = &cacherig_fw(rig)->cache.request[0];
    uint32_t seen = 0;

    assert_int_equal(request->available, m->count);
    assert_int_equal(request->outstanding, m->runs + m->waits - m->first);
    for (uint32_t i = 0; i < m->runs; i++) {
        assert_false(seen >> m->running[i].set & 1);
        seen |= 1u << m->running[i].set;
        if (retired + i >= fwrig_pushes(rig))
            continue;
        assert_int_equal(cacherig_out(rig, retired + i), CACHERIG_SET(m->running[i].set));
        assert_int_equal(cacherig_in(rig, retired + i), CACHERIG_INPUT(m->running[i].time % 16));
    }
    for (uint32_t i = 0; i < m->count; i++) {
        assert_false(seen >> m->available[i] & 1);
        seen |= 1u << m->available[i];
    }
    for (uint32_t i = 0; i < SETS; i++)
        assert_int_equal(m->with_host[i], !(seen >> i & 1));
}

static void random_operations_lose_no_set(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t handler = cacherig_request(rig, SETS, 0);
    struct model m = {.with_host = {true, true, true, true}};
    struct test_rng rng;
    size_t retired = 0;

    test_rng_init(&rng, 13);
    for (unsigned step = 0; step < STEPS; step++) {
        const uint32_t set = (uint32_t)test_rng_range(&rng, 0, SETS - 1);

        switch ((uint64_t)test_rng_range(&rng, 0, 2)) {
        case 0:
            assert_int_equal(cacherig_recycle(rig, handler, set),
                             m.with_host[set] ? PR_STATUS_OK : PR_STATUS_WRONG_STATE);
            if (m.with_host[set])
                m.available[m.count++] = set;
            m.with_host[set] = false;
            break;
        case 1:
            m.time += 1 + (uint64_t)test_rng_range(&rng, 0, 2);
            assert_int_equal(cacherig_trigger(rig, handler, m.time), PR_STATUS_OK);
            m.waiting[m.waits++] = m.time;
            break;
        default:
            if (!m.runs)
                break;
            cacherig_retire(rig, 0);
            cacherig_expect(rig, handler, m.running[0].time, m.running[0].set, PR_STATUS_OK);
            m.with_host[m.running[0].set] = true;
            memmove(m.running, m.running + 1, --m.runs * sizeof(m.running[0]));
            retired++;
        }
        model_start(&m);
        compare(rig, &m, retired);
    }
    assert_true(retired > 10);
}

/* ---- many requests ---- */

/* Four groups: alone, resident, a pair of members, and one that follows the first. */
#define REQUESTS 5u
struct host {
    uint64_t handler[REQUESTS]; /* 0: not installed */
    uint64_t time;
    uint64_t accepted, reported, dropped;
    uint64_t recycled;
};

static void install_one(struct fwrig *rig, struct host *h, unsigned which, struct test_rng *rng)
{
    struct cacherig_install install;

    cacherig_install_make(&install);
    install.header.procedure_id = which % 2;
    install.header.priority = (uint32_t)test_rng_range(rng, 3, 4);
    install.body.output_sets = 3;
    install.body.flags = test_rng_bool(rng) ? PR_CACHE_AUTO_RECYCLE : 0;
    if (which == 1)
        cacherig_install_link(&install, 0);
    if (which == 3) {
        install.body.group = h->handler[2];
        cacherig_install_link(&install, 0);
    }
    if (which == 4 && h->handler[0]) {
        install.body.follow = h->handler[0];
        cacherig_install_link(&install, h->handler[0]);
    }
    assert_int_equal(cacherig_install(rig, &install, &h->handler[which]), 0);
}

/* Each accepted trigger, and each follower, is reported once; requests may end in between. */
static void take_events(struct fwrig *rig, struct host *h)
{
    struct pr_notify_chaining event;

    while (fwrig_chaining(rig, &event)) {
        const bool ended = event.state == PR_CACHE_AVAILABLE && event.set == PR_NO_ID && !event.status;

        h->reported += !ended;
    }
}

/* Of each group: where its sets are. */
static void check_sets(const struct fw *fw, const struct fw_cache_request *group)
{
    uint32_t available = 0;

    for (unsigned i = 0; i < group->available; i++)
        available |= 1u << group->order[(group->oldest + i) % PR_CACHE_SETS_MAX];
    for (unsigned i = 0; i < group->sets; i++) {
        const struct fw_output_set *set = &group->set[i];
        const bool is_available = rt_fsm_state(&set->machine) == PR_OUTPUT_SET_AVAILABLE;

        assert_int_equal(is_available, available >> i & 1);
        if (set->execution == FW_NO_EXECUTION)
            continue;
        assert_false(is_available);
        assert_int_equal(fw->cache.execution[set->execution].set, i);
        assert_true(fw->cache.execution[set->execution].references > 0);
    }
}

static unsigned list_length(const struct fw *fw, uint16_t number)
{
    unsigned length = 0;

    for (; number != FW_NO_EXECUTION; number = fw->cache.execution[number].next)
        length++;
    return length;
}

/* An execution is free, is to be reported, or has references; a running one shares its set with no other. */
static void check_executions(const struct fw *fw)
{
    bool held[FW_EXECUTIONS] = {0};
    uint32_t written[PR_CACHE_REQUESTS_MAX] = {0};
    unsigned live = 0, busy = 0;

    for (uint16_t n = fw->cache.free.head; n != FW_NO_EXECUTION; n = fw->cache.execution[n].next)
        held[n] = true;
    for (unsigned n = 0; n < FW_EXECUTIONS; n++) {
        const struct fw_execution *x = &fw->cache.execution[n];
        const unsigned group = fw->cache.request[x->request].first;

        live += !held[n];
        if (held[n] || x->state != FW_EXECUTION_RUNNING)
            continue;
        assert_false(written[group] >> x->set & 1);
        written[group] |= 1u << x->set;
        for (unsigned i = 0; i < PR_CACHE_LINKS_MAX; i++)
            if (x->source[i] != FW_NO_EXECUTION)
                assert_int_equal(fw->cache.execution[x->source[i]].state, FW_EXECUTION_ENDED);
    }
    assert_int_equal(live + list_length(fw, fw->cache.free.head), FW_EXECUTIONS);
    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++)
        busy += fw->cache.request[i].busy;
    assert_true(busy <= live);
}

static void step_once(struct fwrig *rig, struct host *h, struct test_rng *rng)
{
    const unsigned which = (unsigned)test_rng_range(rng, 0, REQUESTS - 1);
    const uint32_t set = (uint32_t)test_rng_range(rng, 0, 2);
    uint32_t status;

    if (!h->handler[which]) {
        if (which != 3 || h->handler[2])
            install_one(rig, h, which, rng);
        return;
    }
    switch (test_rng_range(rng, 0, 11)) {
    case 0:
        status = cacherig_invalidate(rig, h->handler[which], NULL);
        assert_int_equal(status, 0);
        h->handler[which] = 0;
        if (which == 2)
            h->handler[3] = 0;
        break;
    case 1: (void)cacherig_select(rig, h->handler[2], h->handler[2 + which % 2]); break;
    case 2:
    case 3:
    case 4: h->recycled += !cacherig_recycle(rig, h->handler[which], set); break;
    case 5:
    case 6: h->accepted += !cacherig_trigger(rig, h->handler[which], ++h->time); break;
    case 7: h->accepted += !cacherig_trigger_linked(rig, h->handler[which], ++h->time); break;
    default:
        status = test_rng_range(rng, 0, 9) ? 0 : PR_TM_CODE_TRANSLATION;
        for (unsigned queue = 3; queue <= 4; queue++)
            if (fwrig_read(rig, PR_ENGINE_TQ + queue * PR_TQ_STRIDE + PR_TQ_VACANT) < 2)
                fwrig_retire(rig, queue, status, true);
        assert_int_equal(fwrig_run(rig), FWRIG_IDLE);
    }
}

static void random_requests_keep_their_sets(void **state)
{
    struct fwrig *rig = *state;
    const struct fw *fw = cacherig_fw(rig);
    const uint64_t used = rt_heap_info(fw->kernel, RT_ARENA_SYSTEM).used;
    struct host h = {0};
    struct test_rng rng;

    test_rng_init(&rng, 14);
    for (unsigned step = 0; step < 2000; step++) {
        step_once(rig, &h, &rng);
        take_events(rig, &h);
        for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++)
            if (fw->cache.request[i].handler && fw->cache.request[i].first == i)
                check_sets(fw, &fw->cache.request[i]);
        check_executions(fw);
    }
    for (unsigned i = 0; i < REQUESTS; i++)
        if (h.handler[i] && i != 3)
            assert_int_equal(cacherig_invalidate(rig, h.handler[i], NULL), 0);
    for (unsigned i = 0; i < 40; i++)
        for (unsigned queue = 3; queue <= 4; queue++)
            if (fwrig_read(rig, PR_ENGINE_TQ + queue * PR_TQ_STRIDE + PR_TQ_VACANT) < 2) {
                fwrig_retire(rig, queue, 0, true);
                (void)fwrig_run(rig);
            }
    take_events(rig, &h);
    assert_int_equal(fw->process[0].requests, 0);
    assert_int_equal(fw->process[0].calls, 0);
    assert_int_equal(list_length(fw, fw->cache.free.head), FW_EXECUTIONS);
    assert_int_equal(rt_heap_info(fw->kernel, RT_ARENA_SYSTEM).used, used);
    /* Followers were accepted by the firmware itself, or dropped and reported once. */
    assert_true(h.accepted > 100 && h.recycled > 50 && h.reported >= h.accepted);
    assert_int_equal(fw->notify.lost_ever, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(an_output_is_the_next_input),
        T(triggers_wait_for_what_they_read),
        T(a_given_input_replaces_the_link),
        T(without_the_flag_the_host_recycles),
        T(what_follows_a_failure_is_not_run),
        T(two_procedures_run_from_one_trigger),
        T(a_dropped_follower_is_reported_in_any_case),
        T(followers_read_their_own_source),
        T(an_event_says_how_many_follow),
        T(nothing_follows_a_failure),
        T(a_source_ends_after_its_readers),
        T(a_follower_without_inputs_is_dropped),
        T(random_operations_lose_no_set),
        T(random_requests_keep_their_sets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
