/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of both bands at virtual times, through every layer: who runs when, by the rules alone. What a
 * descriptor costs is read from the trace; when another one starts follows from it.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "graphrig.h"
#include "partyrig.h"
#include "protocol/execution.h"
#include "protocol/tm_regs.h"
#include "protocol/timing.h"
#include "protocol/trace.h"

#define STEPS 6u /* additions of the program, one descriptor each at least */

/* What the trace says, in order. */
enum kind { SCHEDULE, PUSH, START, RETIRE };
struct event {
    enum kind kind;
    uint64_t ns, queue, descriptor, cost, user;
};
static struct log {
    struct event event[256];
    unsigned count;
    bool header; /* has passed */
} seen;

static void add(const struct event *event)
{
    if (seen.count < sizeof(seen.event) / sizeof(seen.event[0]))
        seen.event[seen.count++] = *event;
}

static void keep(void *context, const void *bytes, size_t length)
{
    struct pr_trace_record r;
    size_t taken;

    (void)context;
    if (!seen.header) {
        seen.header = true;
        return;
    }
    if (!pr_trace_decode(bytes, length, &r, &taken, NULL))
        return;
    switch (r.event) {
    case PR_TRACE_FW_SCHEDULE:
        add(&(struct event){SCHEDULE, r.ns, pr_trace_at(&r, FW_SCHEDULE, hwq).number, 0, 0,
                            pr_trace_at(&r, FW_SCHEDULE, user).number});
        break;
    case PR_TRACE_ENG_PUSH:
        add(&(struct event){PUSH, r.ns, pr_trace_at(&r, ENG_PUSH, queue).number, 0, 0, 0});
        break;
    case PR_TRACE_ENG_START:
        add(&(struct event){START, r.ns, pr_trace_at(&r, ENG_START, queue).number,
                            pr_trace_at(&r, ENG_START, descriptor).number,
                            pr_trace_at(&r, ENG_START, cost).number, 0});
        break;
    case PR_TRACE_ENG_RETIRE:
        add(&(struct event){RETIRE, r.ns, pr_trace_at(&r, ENG_RETIRE, queue).number, 0, 0, 0});
        break;
    default: break;
    }
}

/* y = a + b + b + ..., a chain that no other order of sums gives more cheaply. */
static int compile(void **state)
{
    struct cc_program *program;
    struct gr g;
    uint32_t a, b;

    (void)state;
    gr_open(&g, 1, GR_WHOLE);
    a = gr_input(&g, "a", CC_FP16, GR(1, PARTYRIG_CHANNELS, 1, PARTYRIG_WIDTH));
    b = gr_input(&g, "b", CC_FP16, GR(1, PARTYRIG_CHANNELS, 1, PARTYRIG_WIDTH));
    for (unsigned i = 0; i < STEPS; i++)
        a = gr_binary(&g, CC_OP_ADD, a, b);
    gr_output(&g, a);
    program = gr_lower(&g);
    partyrig_bundle.bytes = gr_payload(program, &partyrig_bundle.size);
    cc_program_destroy(program);
    gr_close(&g);
    return 0;
}

static struct ane_machine *machine;
static struct partyrig party[3]; /* two of the normal band, one of the realtime band */
enum { FIRST, SECOND, URGENT };

static uint64_t charged[3]; /* the engine's time of each party, when the test began */

static void read_times(uint64_t ns[3])
{
    struct ane_machine_client client[6];

    assert_int_equal(ane_machine_clients(machine, client, 6), 6);
    for (unsigned i = 0; i < 3; i++)
        ns[i] = client[2 * i].engine_ns + client[2 * i + 1].engine_ns;
}

static void make(void)
{
    const char *const keys[] = {"com.apple.ane.iokit-user-access", "com.apple.ane.memory",
                                "com.apple.ane.realtime-priority-client",
                                "com.apple.ane.allow-system-reserved-priorities"};

    struct ane_program_prepare prepare = {.qos = ANE_REQUEST_QOS, .priority = ANE_REQUEST_PRIORITY};

    seen.header = false;
    machine = iorig_machine(
        (struct ane_machine_config){.clock = ANE_CLOCK_CLOSED, .trace = 1, .trace_record_fn = keep});
    for (unsigned i = 0; i < 3; i++) {
        partyrig_open(&party[i], ane_machine_service(machine),
                      ane_task_create(keys, i < 2 ? 2 : 4, NULL, NULL));
        partyrig_load(&party[i], "chain");
        assert_int_equal(iorig_prepare(&party[i].control, party[i].token, &prepare), kIOReturnSuccess);
        partyrig_surfaces(&party[i], (uint16_t)(PARTYRIG_ONE + 0x400 * i), PARTYRIG_ONE); /* 1, 2, 4 */
        assert_int_equal(partyrig_run(&party[i], &party[i].control, party[i].token), kIOReturnSuccess);
        partyrig_fill(party[i].y, PARTYRIG_NOT_WRITTEN);
    }
    read_times(charged);
    seen.count = 0;
}

static void drop(void)
{
    for (unsigned i = 0; i < 3; i++)
        partyrig_close(&party[i]);
    ane_machine_destroy(machine);
}

/* A request of a party at a virtual time. */
struct action {
    const struct partyrig *from;
    uint32_t priority;
    IOReturn status;
};

static void send(void *context)
{
    struct action *action = context;
    struct ane_request_reply reply;

    action->status = iorig_request(&action->from->control, action->from->token, 7, action->priority,
                                   action->from->surface, 2, 1, &reply);
}

static void at(uint64_t when, struct action *action)
{
    action->status = kIOReturnError;
    assert_int_equal(ane_machine_call_at(machine, when, send, action), 0);
}

/* The n-th event of a kind, of a queue or, with 8, of any; it must be there. */
static const struct event *find(enum kind kind, uint64_t queue, unsigned n)
{
    for (unsigned i = 0; i < seen.count; i++)
        if (seen.event[i].kind == kind && (queue == 8 || seen.event[i].queue == queue) && n-- == 0)
            return &seen.event[i];
    fail_msg("the trace does not have event %u of kind %d on queue %u", n, kind, (unsigned)queue);
    return NULL;
}

static unsigned count(enum kind kind, uint64_t queue)
{
    unsigned found = 0;

    for (unsigned i = 0; i < seen.count; i++)
        found += seen.event[i].kind == kind && seen.event[i].queue == queue;
    return found;
}

static uint64_t end_of(const struct event *start)
{
    return start->ns + start->cost;
}

/* What the descriptors of a queue have cost. */
static uint64_t cost_of(uint64_t queue)
{
    uint64_t cost = 0;

    for (unsigned i = 0; i < seen.count; i++)
        cost += seen.event[i].kind == START && seen.event[i].queue == queue ? seen.event[i].cost : 0;
    return cost;
}

/*
 * The engine's time of each party: that of its descriptors, and the way of each end to the firmware. The rest
 * of the descriptor at whose end the realtime request began is that one's.
 */
static void expect_times(uint64_t rest)
{
    static const struct {
        uint64_t queue, requests;
    } of[3] = {{5, 2}, {3, 1}, {1, 1}};
    uint64_t now[3];

    read_times(now);
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t cost = cost_of(of[i].queue) + (i == URGENT ? rest : 0) - (i == FIRST ? rest : 0);

        assert_in_range(now[i] - charged[i], cost, cost + of[i].requests * PR_TIMING_CONTROLLER_NS);
    }
}

/*
 * How long after its push the second descriptor of a request is half done, alone. A request that is sent so
 * much later than another one is pushed in the middle of that descriptor.
 */
static uint64_t measure(void)
{
    struct action alone = {.from = &party[FIRST], .priority = 5};
    uint64_t begin, half;

    make();
    begin = ane_machine_now(machine) + 1000;
    at(begin, &alone);
    assert_int_equal(ane_machine_run(machine, UINT64_MAX), 0);
    assert_int_equal(alone.status, kIOReturnSuccess);
    assert_true(count(START, 5) >= STEPS);
    half = find(START, 5, 1)->ns + find(START, 5, 1)->cost / 2 - find(PUSH, 5, 0)->ns;
    drop();
    return half;
}

/*
 * The first party's request runs; its second one (level 5) and then the other party's (level 3) come, and
 * wait in the driver, which has one of a band in the firmware. The realtime party's comes last, in the middle
 * of a descriptor. By the rules: the realtime request at the next boundary and to its end, the rest of what
 * ran, then level 3, then level 5.
 */
static void the_order_is_that_of_the_rules(void **state)
{
    static const uint64_t queue_order[] = {5, 1, 3, 5}, retire_order[] = {1, 5, 3, 5};
    struct action first = {.from = &party[FIRST], .priority = 5}, again = first,
                  second = {.from = &party[SECOND], .priority = 3},
                  urgent = {.from = &party[URGENT], .priority = 1};
    const uint64_t half = measure();
    const struct event *push, *before, *start;
    unsigned descriptors;
    uint64_t now;

    (void)state;
    make();
    now = ane_machine_now(machine) + 1000;
    at(now, &first);
    at(now + 1, &again);
    at(now + 2, &second);
    at(now + half, &urgent);
    assert_int_equal(ane_machine_run(machine, UINT64_MAX), 0);
    assert_true(!first.status && !again.status && !second.status && !urgent.status);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(find(SCHEDULE, 8, i)->queue, queue_order[i]);
        assert_int_equal(find(PUSH, 8, i)->queue, queue_order[i]);
        assert_int_equal(find(RETIRE, 8, i)->queue, retire_order[i]);
    }
    assert_int_equal(find(SCHEDULE, 8, 0)->user, find(SCHEDULE, 8, 3)->user);
    assert_int_not_equal(find(SCHEDULE, 8, 0)->user, find(SCHEDULE, 8, 2)->user);
    assert_int_not_equal(find(SCHEDULE, 8, 1)->user, find(SCHEDULE, 8, 2)->user);

    /* The realtime request is pushed in the middle of the second descriptor and starts at its end. */
    push = find(PUSH, 1, 0);
    before = find(START, 5, 1);
    start = find(START, 1, 0);
    assert_true(push->ns > before->ns && push->ns < end_of(before));
    assert_int_equal(start->ns, end_of(before));
    assert_int_equal(start->ns - push->ns, before->cost - (push->ns - before->ns));

    /* It is not interrupted, and what it interrupted goes on at its end with the next descriptor. */
    descriptors = count(START, 1);
    assert_true(descriptors >= STEPS);
    for (unsigned i = 1; i < descriptors; i++)
        assert_int_equal(find(START, 1, i)->ns, end_of(find(START, 1, i - 1)));
    start = find(START, 5, 2);
    assert_int_equal(start->ns, end_of(find(START, 1, descriptors - 1)));
    assert_int_equal(start->descriptor, before->descriptor + 1);

    expect_times(end_of(before) - push->ns);
    /* 1 + 6, 2 + 6 and 4 + 6 as halfs. */
    partyrig_expect("the first party", party[FIRST].y, 0x4700);
    partyrig_expect("the second party", party[SECOND].y, 0x4800);
    partyrig_expect("the realtime party", party[URGENT].y, 0x4900);
    drop();
}

/* The engine's queue 5 loses what it has, by a store of the host's that the firmware does not see. */
static void abort_queue_5(void *context)
{
    struct ane_machine_map map = {.size = sizeof(map)};

    (void)context;
    assert_int_equal(ane_machine_map(machine, &map), 0);
    ane_machine_write32(machine, map.task_manager + PR_TM_ABORT, PR_TM_ABORT_QUEUE(5));
}

/*
 * The same, and the queue that was interrupted is aborted in the middle of the realtime request. That one is
 * not disturbed; the call of the queue ends at the firmware's deadline with an error, the one that waited
 * behind it goes on, and so does the queue.
 */
static void an_interrupted_queue_is_aborted_and_goes_on(void **state)
{
    struct action first = {.from = &party[FIRST], .priority = 5},
                  second = {.from = &party[SECOND], .priority = 5},
                  urgent = {.from = &party[URGENT], .priority = 1};
    const uint64_t half = measure();
    uint64_t now;

    (void)state;
    make();
    now = ane_machine_now(machine) + 1000;
    at(now, &first);
    at(now + 1, &second);
    at(now + half, &urgent);
    assert_int_equal(ane_machine_call_at(machine, now + 2 * half, abort_queue_5, NULL), 0);
    assert_int_equal(ane_machine_run(machine, UINT64_MAX), 0);
    assert_int_equal(urgent.status, kIOReturnSuccess);
    assert_int_not_equal(first.status, kIOReturnSuccess);
    assert_int_equal(second.status, kIOReturnSuccess);
    assert_int_equal(count(START, 1), count(START, 5) - 2); /* two of the first party's, then a whole one */
    assert_true(find(START, 5, 2)->ns - find(PUSH, 5, 0)->ns >= PR_DEADLINE_NS);
    partyrig_expect("the realtime party", party[URGENT].y, 0x4900);
    partyrig_expect("the second party", party[SECOND].y, 0x4800);
    partyrig_fill(party[FIRST].y, PARTYRIG_NOT_WRITTEN);
    first.status = kIOReturnError;
    send(&first);
    assert_int_equal(first.status, kIOReturnSuccess);
    partyrig_expect("the first party", party[FIRST].y, 0x4700);
    drop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_that_of_the_rules),
        cmocka_unit_test(an_interrupted_queue_is_aborted_and_goes_on),
    };

    return cmocka_run_group_tests_name("preemption", tests, compile, partyrig_forget);
}
