/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of every form, cache requests, secure mode, and all that ends calls, in any order, with a host that
 * returns slots when it likes: what was accepted is reported once, and at the end nothing is left.
 */
#include "callrig.h"
#include "cacherig.h"
#include "rtkernel/heap.h"

#define STEPS     3000u
#define PROCESSES 2u /* of program 0; the second is secure */
#define REQUESTS  4u
#define SECOND    1000000000ull

struct host {
    struct fwrig *rig;
    struct test_rng rng;
    uint64_t handler[REQUESTS];
    uint32_t owner[REQUESTS];
    uint64_t number;                   /* of the last call or trigger: its cookie */
    uint8_t accepted[STEPS + 1];       /* by that number: 1 once the firmware has it */
    uint8_t reported[STEPS + 1];       /* how often */
    uint64_t ran, ended, calls, chain; /* reported OK, and not; accepted calls, and triggers */
};

static bool maybe(struct host *h, int64_t one_in)
{
    return test_rng_range(&h->rng, 1, one_in) == 1;
}

static const struct fw *firmware(const struct host *h)
{
    return fwrig_firmware(h->rig);
}

static void create_process(struct host *h, uint32_t number)
{
    union fwrig_process process;
    uint32_t id;

    fwrig_process_make(&process, number ? 4 | PR_PROCESS_SECURE : 3);
    assert_int_equal(fwrig_process(h->rig, 0, &process, &id), PR_STATUS_OK);
    assert_int_equal(id, number);
}

static void start_host(struct host *h)
{
    const struct pr_body_pmu pmu = {FWRIG_PMU};
    struct container_image image;
    struct pr_body_load load = {.container = FWRIG_CONTAINERS};

    memset(h, 0, sizeof(*h));
    h->rig = fwrig_create();
    fwrig_boot_started(h->rig);
    assert_int_equal(fwrig_control(h->rig, PR_CMD_SET_SNE_PMU_BASE2, &pmu, sizeof(pmu)), PR_STATUS_OK);
    callrig_partitions(&image);
    load.bytes = image.size;
    image_text(fwrig_memory(h->rig, FWRIG_TEXT, IMAGE_TEXT_BYTES));
    memcpy(fwrig_memory(h->rig, FWRIG_CONTAINERS, image.size), image.bytes, image.size);
    assert_int_equal(fwrig_control(h->rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), PR_STATUS_OK);
    for (uint32_t i = 0; i < PROCESSES; i++)
        create_process(h, i);
}

/* ---- messages of the firmware ---- */

static void note(struct host *h, uint64_t number, uint32_t status)
{
    assert_in_range(number, 1, STEPS);
    h->reported[number]++;
    h->ran += status == PR_STATUS_OK;
    h->ended += status != PR_STATUS_OK;
}

static bool take_message(struct host *h)
{
    union {
        _Alignas(8) uint8_t bytes[FWRIG_MESSAGE_BYTES];
        struct pr_program_event call;
        struct pr_notify_chaining chained;
    } m;

    if (!fwrig_message(h->rig, m.bytes))
        return false;
    if (m.call.id == PR_CMD_PROGRAM_EVENT)
        note(h, m.call.cookie, m.call.status);
    else if (m.call.id == PR_CMD_DATA_CHAINING_EVENT &&
             (m.chained.status || m.chained.set != PR_NO_ID || m.chained.state != PR_CACHE_AVAILABLE))
        note(h, ~m.chained.cookie, m.chained.status);
    return true;
}

/* ---- what is sent ---- */

/* A call of any form. */
static void send_call(struct host *h)
{
    static const uint16_t forms[] = {PR_EXE_PROCEDURE_CALL, PR_EXE_PROCEDURE_CALL_WITH_BARS,
                                     PR_EXE_PROCEDURE_CALL_WITH_EVENTS};
    static const uint32_t order[5] = {0};
    const unsigned form = (unsigned)test_rng_range(&h->rng, 0, 2);
    struct callrig c;

    callrig_make(&c, forms[form], ++h->number);
    c.head->call.process_id = (uint32_t)test_rng_range(&h->rng, 0, PROCESSES - 1);
    c.head->call.priority = (uint32_t)test_rng_range(&h->rng, 3, 4);
    c.head->call.partitions = (uint32_t)test_rng_range(&h->rng, 1, 2);
    if (form == 2 || (form == 1 && maybe(h, 3))) {
        const uint64_t id = (uint64_t)test_rng_range(&h->rng, 0, 2);

        if (maybe(h, 2))
            callrig_event(&c, false, id, firmware(h)->events.counter[id] + (maybe(h, 4) ? 0 : 1));
        callrig_event(&c, true, (id + 1) % 3, firmware(h)->events.counter[(id + 1) % 3] + 1);
        if (maybe(h, 60) && form == 2)
            c.tail.flags = PR_CALL_FORCE_DISABLE_CACHE;
    }
    if (form == 1 && maybe(h, 2)) {
        c.head->call.partitions = 1;
        callrig_order(&c, (uint32_t)test_rng_range(&h->rng, 1, 5), order);
    }
    h->accepted[h->number] = callrig_send(h->rig, &c) == PR_STATUS_OK;
    h->calls += h->accepted[h->number];
    for (unsigned i = 0; c.tail.flags && h->accepted[h->number] && i < REQUESTS; i++)
        h->handler[i] = 0;
}

static void install(struct host *h, unsigned i)
{
    const uint64_t id = (uint64_t)test_rng_range(&h->rng, 0, 2);
    const struct pr_event event = {
        .type = PR_EVENT_FIRMWARE, .id = id, .value = firmware(h)->events.counter[id] + 1};
    struct cacherig_install install;

    cacherig_install_make(&install);
    install.header.process_id = h->owner[i] = (uint32_t)test_rng_range(&h->rng, 0, PROCESSES - 1);
    install.header.priority = (uint32_t)test_rng_range(&h->rng, 3, 4);
    install.body.flags = maybe(h, 2) ? PR_CACHE_AUTO_RECYCLE : 0;
    if (maybe(h, 3)) {
        install.header.id = PR_CMD_PROCEDURE_CALL_CACHE_REQUEST_WITH_SHARED_EVENTS;
        install.body.wait_events = 1;
        memcpy(install.body.link, &event, sizeof(event));
    } else if (maybe(h, 2)) {
        cacherig_install_link(&install, 0);
    }
    if (cacherig_install(h->rig, &install, &h->handler[i])) {
        h->handler[i] = 0; /* disabled until a START, or no index is free yet */
        return;
    }
    for (uint32_t set = 0; set < 2; set++)
        assert_int_equal(cacherig_recycle(h->rig, h->handler[i], set), PR_STATUS_OK);
}

static void invalidate(struct host *h, unsigned i)
{
    struct {
        struct pr_command_header header;
        struct pr_body_cache_invalidate body;
    } c = {.header = {.id = PR_CMD_PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST,
                      .size = sizeof(c.body),
                      .process_id = h->owner[i]},
           .body = {.cache_handler = h->handler[i]}};

    assert_true(fwrig_send(h->rig, PR_CHANNEL_IO, &c, sizeof(c), 0));
    assert_int_equal(PR_REPLY_STATUS(&c.header), PR_STATUS_OK);
    h->handler[i] = 0;
}

static void trigger(struct host *h, unsigned i)
{
    const uint64_t number = ++h->number;

    h->accepted[number] = (maybe(h, 2) ? cacherig_trigger(h->rig, h->handler[i], number)
                                       : cacherig_trigger_linked(h->rig, h->handler[i], number)) == 0;
    h->chain += h->accepted[number];
}

static void use_request(struct host *h)
{
    const unsigned i = (unsigned)test_rng_range(&h->rng, 0, REQUESTS - 1);

    if (!h->handler[i])
        install(h, i);
    else if (maybe(h, 12))
        invalidate(h, i);
    else if (maybe(h, 3))
        (void)cacherig_recycle_again(h->rig, h->handler[i], (uint32_t)test_rng_range(&h->rng, 0, 1));
    else
        trigger(h, i);
}

/* ---- what ends ---- */

static bool is_vacant(struct host *h, unsigned queue)
{
    return fwrig_read(h->rig, PR_ENGINE_TQ + queue * PR_TQ_STRIDE + PR_TQ_VACANT) == 2;
}

static void retire(struct host *h)
{
    for (unsigned queue = 3; queue <= 4; queue++)
        if (!is_vacant(h, queue))
            fwrig_retire(h->rig, queue, maybe(h, 8) ? PR_TM_CODE_TRANSLATION : 0, true);
    assert_int_equal(fwrig_run(h->rig), FWRIG_IDLE);
}

static void cancel(struct host *h, uint64_t cookie)
{
    const struct pr_body_shared_events body = {.address = cookie, .flags = PR_SHARED_EVENTS_CANCEL};

    assert_int_equal(fwrig_control(h->rig, PR_CMD_INIT_SHARED_EVENT_INFO, &body, sizeof(body)), PR_STATUS_OK);
}

static void terminate(struct host *h)
{
    const uint32_t process = (uint32_t)test_rng_range(&h->rng, 0, PROCESSES - 1);
    struct fwrig_command c = {
        .header = {.id = PR_CMD_TERMINATE_PROCESS, .program_id = 0, .process_id = process}};

    assert_true(fwrig_send(h->rig, PR_CHANNEL_IO, &c, sizeof(c.header), 0));
    if (PR_REPLY_STATUS(&c.header) == PR_STATUS_BUSY)
        return;
    assert_int_equal(PR_REPLY_STATUS(&c.header), PR_STATUS_OK);
    for (unsigned i = 0; i < REQUESTS; i++)
        if (h->owner[i] == process)
            h->handler[i] = 0;
    create_process(h, process);
}

/* Refused in secure mode; the command waits for what is in flight, so it is sent while nothing is. */
static void quiesce(struct host *h)
{
    const struct pr_body_u32 word = {1};
    const struct pr_body_quiesce body = {0};

    if (firmware(h)->exeloop.active)
        return;
    if (fwrig_control(h->rig, PR_CMD_QUIESCE_STATE, &body, sizeof(body)) != PR_STATUS_OK)
        return;
    assert_int_equal(firmware(h)->events.count, 0);
    assert_int_equal(firmware(h)->secure.waiting, 0);
    assert_int_equal(fwrig_control(h->rig, PR_CMD_START, &word, sizeof(word)), PR_STATUS_OK);
}

/* The next step to secure mode or back, or none. */
static void switch_mode(struct host *h)
{
    const struct pr_body_u32 word = {0};

    if (firmware(h)->secure.phase == FW_SECURE_PAUSED)
        (void)fwrig_control(h->rig, PR_CMD_SECURE_MODE_RESUME_TRANSITION, NULL, 0);
    else
        (void)fwrig_control(h->rig,
                            firmware(h)->secure.phase == FW_SECURE_ON ? PR_CMD_SECURE_MODE_STOP
                                                                      : PR_CMD_SECURE_MODE_START,
                            &word, sizeof(word));
}

/* The host resets the queues that the firmware asks for: they are empty, and it says so. */
static void reset(struct host *h)
{
    const struct fw_intmgr *m = &firmware(h)->intmgr;
    const struct pr_body_reset range = {m->first, m->last};

    for (unsigned queue = m->first; queue <= m->last; queue++)
        fwrig_write(h->rig, PR_ENGINE_TM + PR_TM_ABORT, PR_TM_ABORT_QUEUE(queue));
    assert_int_equal(fwrig_control(h->rig, PR_CMD_RESET, &range, sizeof(range)), PR_STATUS_OK);
}

/* Time passes: queues that hold something are aborted; with `wedged`, the host has to reset them. */
static void wait_long(struct host *h, bool wedged)
{
    fwrig_keep_aborted(h->rig, wedged);
    for (unsigned i = 0; i < 45; i++) {
        assert_int_equal(fwrig_pass(h->rig, SECOND / 10), FWRIG_IDLE);
        if (firmware(h)->intmgr.phase != FW_INTMGR_RESETTING)
            continue;
        fwrig_keep_aborted(h->rig, false);
        reset(h);
    }
    fwrig_keep_aborted(h->rig, false);
}

/* START permits requests again. */
static void disable(struct host *h)
{
    const struct pr_body_u32 on = {1};

    if (firmware(h)->exeloop.active || firmware(h)->secure.phase)
        return;
    (void)fwrig_control(h->rig, PR_CMD_FORCE_DISABLE_CACHE_REQUESTS, &on, sizeof(on));
    memset(h->handler, 0, sizeof(h->handler));
    quiesce(h);
}

static void end_some(struct host *h)
{
    switch (test_rng_range(&h->rng, 0, 7)) {
    case 0:
    case 1: cancel(h, h->number); break;
    case 2: cancel(h, 0); break;
    case 3:
    case 4: terminate(h); break;
    case 5: quiesce(h); break;
    case 6: disable(h); break;
    default: break;
    }
}

static void step(struct host *h)
{
    switch (test_rng_range(&h->rng, 0, 19)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: send_call(h); break;
    case 5:
    case 6:
    case 7:
    case 8: use_request(h); break;
    case 9: end_some(h); break;
    case 10: switch_mode(h); break;
    case 11:
        if (maybe(h, 12))
            wait_long(h, maybe(h, 2));
        break;
    case 12:
    case 13:
        while (!maybe(h, 30) && take_message(h))
            ;
        break;
    default: retire(h);
    }
}

/* ---- the end ---- */

static void end_all(struct host *h)
{
    for (unsigned i = 0; i < 2000 && (firmware(h)->exeloop.active || firmware(h)->secure.phase); i++) {
        if (firmware(h)->secure.phase != FW_SECURE_OFF)
            switch_mode(h);
        retire(h);
        if (i % 100 == 99)
            wait_long(h, false);
        while (take_message(h))
            ;
    }
    for (unsigned i = 0; i < REQUESTS; i++)
        if (h->handler[i])
            invalidate(h, i);
    cancel(h, 0);
    while (take_message(h))
        ;
}

static void expect_nothing_left(struct host *h)
{
    const struct fw *fw = firmware(h);
    unsigned executions = 0;

    callrig_expect_free(h->rig);
    for (uint16_t n = fw->cache.free.head; n != FW_NO_EXECUTION; n = fw->cache.execution[n].next)
        executions++;
    assert_int_equal(executions, FW_EXECUTIONS);
    assert_int_equal(fw->events.count + fw->secure.waiting + fw->exeloop.aborting, 0);
    assert_int_equal(fw->exeloop.insane + fw->notify.lost_ever, 0);
    for (unsigned i = 0; i < PR_PRIORITIES; i++)
        assert_int_equal(fw->exeloop.level[i].credit, FW_CREDIT);
    for (unsigned i = 0; i < PROCESSES; i++)
        assert_int_equal(fw->process[i].requests, 0);
    for (uint64_t n = 1; n <= h->number; n++)
        if (h->reported[n] != h->accepted[n])
            fail_msg("%llu was accepted %u times and reported %u times", (unsigned long long)n,
                     h->accepted[n], h->reported[n]);
}

static void any_order_reports_each_once(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 8; round++) {
        static struct host h;
        size_t used;

        start_host(&h);
        test_rng_init(&h.rng, 1000 + round);
        used = rt_heap_info(firmware(&h)->kernel, RT_ARENA_SYSTEM).used;
        for (unsigned i = 0; i < STEPS; i++)
            step(&h);
        end_all(&h);
        expect_nothing_left(&h);
        assert_int_equal(rt_heap_info(firmware(&h)->kernel, RT_ARENA_SYSTEM).used, used);
        assert_true(h.calls > 200 && h.chain > 10 && h.ran > 100 && h.ended > 50);
        fwrig_destroy(h.rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_order_reports_each_once)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
