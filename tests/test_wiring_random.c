/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random calls of several clients over programs, instances and adapters, with calls inside the waits of other
 * calls, a worker that unwires, memory that runs out, and a firmware that fails, refuses or sleeps. Whatever
 * happens, weights are right wherever a program is wired, and in the end everything has been given back.
 */
#include "drvrig.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "driver/state.h"

#define KERNEL  0xd000u /* four pages */
#define FILE_AT 0x80u   /* of an adapter, behind its arguments */
#define CLIENTS 9u      /* more than there are domains */
#define MODELS  24u
#define DEPTH   3u /* calls inside calls */
#define STEPS   1500u
#define RUNS    6u

static struct drvrig rig;
static struct test_rng rng;
static unsigned clients, models; /* of this walk: few meet more often */
static bool alone;               /* no call comes between */
static unsigned depth, runs = 6;
static uint32_t surface[DEPTH + 1][2], posted[2], value;
static uint8_t image[0x20000];
static size_t image_bytes;

static struct caller {
    struct drv_client *client; /* NULL: closed */
    unsigned calls;            /* under way */
    bool direct;
} caller[CLIENTS];

/* What was made, by its token; 0: none. */
static struct model {
    uint64_t token, base;
    unsigned owner;
    uint64_t target, size; /* of an adapter's file; size 0: it has none */
} model[MODELS];

static unsigned below(unsigned limit)
{
    return (unsigned)test_rng_range(&rng, 0, limit - 1);
}

static struct drv_program *find_program(uint64_t token)
{
    struct drv_program *program = rig.driver->programs;

    while (program && program->token != token)
        program = program->next;
    return program;
}

static struct model *find_model(uint64_t token)
{
    for (unsigned i = 0; i < models; i++)
        if (model[i].token == token)
            return &model[i];
    return NULL;
}

/* The byte all over the weights of a base program, and the files of an adapter. */
static uint8_t pattern_of(uint64_t token)
{
    return (uint8_t)(token * 37 + 11);
}

/* One call comes between, sometimes, while another waits; not while the gate is closed for good reasons. */
static void act(void);

static int wait_with_calls(void *context, const bool *done, struct drv_deadline *deadline)
{
    if (depth < DEPTH && !alone && !rig.driver->gate.closed && !rig.driver->gate.held && below(3) == 0) {
        depth++;
        act();
        depth--;
    }
    return rig.platform.wait(context, done, deadline);
}

static void mend(void)
{
    rig.bad_status = 0;
    rig.silent_command = 0xffffffffu;
    rig.crash_commands = 0;
    base_alloc_fail_nth(0);
    rig.alloc_fails_at = 0;
}

static void open_client(unsigned at)
{
    mend();
    alone = true;
    caller[at].direct = below(4) == 0;
    caller[at].client = drvrig_client(&rig, caller[at].direct ? ANE_CLIENT_DIRECT_PATH : ANE_CLIENT_CONTROL);
    alone = false;
}

static struct caller *any_caller(bool control)
{
    const unsigned first = below(clients);

    for (unsigned i = 0; i < clients; i++) {
        struct caller *c = &caller[(first + i) % clients];

        if (c->client && !(control && c->direct))
            return c;
    }
    return NULL;
}

static struct model *any_model(void)
{
    const unsigned first = below(models);

    for (unsigned i = 0; i < models; i++)
        if (model[(first + i) % models].token)
            return &model[(first + i) % models];
    return NULL;
}

/* Refusals are as good as successes here, in words that are about the call. */
static void expect(const char *what, IOReturn result)
{
    static const IOReturn good[] = {
        kIOReturnSuccess, kIOReturnNoMemory,    kIOReturnAborted,  kIOReturnNotFound,
        kIOReturnBusy,    kIOReturnNoResources, kIOReturnNotReady, kIOReturnTimeout,
    };

    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (result == good[i])
            return;
    fail_msg("%s: 0x%x: %s", what, result, drv_last_error(rig.driver));
}

static struct model *note(uint64_t token, unsigned owner)
{
    struct model *m = find_model(0);

    *m = (struct model){.token = token, .owner = owner};
    return m;
}

static void create(struct caller *c)
{
    uint64_t token;
    IOReturn result;

    if (!find_model(0))
        return;
    result = drvrig_create(&rig, c->client, image, image_bytes, &token);
    expect("create", result);
    if (result)
        return;
    memset(find_program(token)->kernel.host, pattern_of(token), KERNEL);
    if (find_model(0))
        note(token, (unsigned)(c - caller));
    else
        drvrig_destroy(c->client, token);
}

static void create_instance(struct caller *c)
{
    static const uint32_t flags[] = {0, 0, ANE_INSTANCE_SHARE_INTERMEDIATE, ANE_INSTANCE_KEEP_WIRED};
    const struct model *base = any_model();
    const uint64_t target = 64ull * below(KERNEL / 64), most = KERNEL - target;
    const uint64_t size = 1 + below((unsigned)(most < 0x6000 ? most : 0x6000));
    const bool weighted = below(3);
    struct ane_instance_create order = {.size = FILE_AT + size};
    struct ane_instance_args args = {.version = 1, .weights = weighted, .flags = flags[below(4)]};
    struct ane_instance_weights file = {.target = target, .offset = FILE_AT, .size = size};
    uint8_t *bytes;
    uint64_t token;
    IOReturn result;

    if (!base || base->base || !find_model(0))
        return;
    args.base = base->token;
    order.surface = drvrig_surface(&rig, order.size);
    bytes = drvrig_surface_base(&rig, order.surface);
    memset(bytes, pattern_of(args.base) ^ 0xff, order.size);
    memcpy(bytes, &args, sizeof(args));
    memcpy(bytes + sizeof(args), &file, sizeof(file));
    result = drvrig_call(c->client, ANE_CONTROL_ProgramCreateInstance, NULL, 0, &order, sizeof(order), NULL,
                         0, NULL, 0);
    expect("create instance", result);
    memcpy(&token, bytes, sizeof(token));
    drvrig_surface_end(&rig, order.surface);
    if (result)
        return;
    if (find_model(0)) {
        struct model *made = note(token, (unsigned)(c - caller));

        made->base = args.base;
        made->target = target;
        made->size = weighted ? size : 0;
    } else {
        drvrig_destroy(c->client, token);
    }
}

static void prepare(struct caller *c, const struct model *m)
{
    struct ane_program_prepare prepare;

    expect("prepare", drvrig_prepare(c->client, m->token, &prepare));
}

static void destroy(struct model *m)
{
    struct caller *c = &caller[m->owner];
    const uint64_t token = m->token;
    IOReturn result;

    if (!c->client)
        return;
    c->calls++;
    result = drvrig_destroy(c->client, token);
    c->calls--;
    expect("destroy", result);
    m = find_model(token);
    if (m && !result)
        m->token = 0;
}

static void request(struct caller *c, const struct model *m)
{
    const uint32_t *pair = surface[depth], wanted = ++value;
    struct ane_request_reply reply;
    struct ane_request request;
    IOReturn result;

    *(uint32_t *)drvrig_surface_base(&rig, pair[0]) = wanted;
    drvrig_request(&request, m->token, 1, 1, pair);
    result = drvrig_send(c->client, &request, &reply);
    expect("request", result);
    if (!result)
        assert_int_equal(*(uint32_t *)drvrig_surface_base(&rig, pair[1]), wanted);
    if (result == kIOReturnNotReady)
        prepare(c, m);
}

static void post(struct caller *c, const struct model *m)
{
    struct ane_request request;

    drvrig_request(&request, m->token, 1, 1, posted);
    expect("post", drvrig_post(c->client, &request));
}

static void pass(void)
{
    struct drv_reclaimed now;
    struct base_error error;

    if (drv_reclaim_pass(rig.driver, below(2) ? 0 : 40 * PR_PAGE_BYTES, below(2), &now, &error))
        fail_msg("%s", error.text);
}

static void fall_asleep(void)
{
    struct base_error error;

    drvrig_work(&rig); /* the rig does not wait for calls when it is told to be quiet */
    alone = true;
    (void)drv_sleep(rig.driver, &error); /* or it is refused; the next call wakes the device */
    alone = false;
}

static void close_client(unsigned at)
{
    struct caller *c = &caller[at];
    struct drv_client *client = c->client;

    if (c->calls || (c->client && below(3)))
        return;
    c->client = NULL;
    for (unsigned i = 0; i < MODELS; i++)
        if (model[i].owner == at)
            model[i].token = 0;
    if (client)
        drv_client_close(client);
    else
        open_client(at);
}

static void break_something(void)
{
    static const uint32_t command[] = {PR_CMD_LOAD_PROGRAM, PR_CMD_UNLOAD_PROGRAM, PR_CMD_CREATE_PROCESS,
                                       PR_CMD_TERMINATE_PROCESS};
    const uint32_t one = command[below(4)];

    switch (below(7)) {
    case 0: rig.alloc_fails_at = rig.alloc_calls + 1 + below(6); break;
    case 1: base_alloc_fail_nth(1 + below(8)); break;
    case 2:
        if (rig.driver->ready)
            drvrig_crash(&rig);
        break;
    case 3:
        rig.crash_command = one;
        rig.crash_commands = 1;
        break;
    case 4:
        rig.bad_command = one;
        rig.bad_status = PR_STATUS_NO_RESOURCES;
        break;
    case 5: rig.silent_command = one; break;
    default: fall_asleep(); break;
    }
}

/* A call of a client about a model. */
static void call(unsigned what)
{
    struct caller *c = any_caller(what < 4);
    struct model *m = any_model();

    if (!c || (what >= 2 && !m))
        return;
    c->calls++;
    switch (what) {
    case 0: create(c); break;
    case 1: create_instance(c); break;
    case 2: prepare(c, m); break;
    case 3: expect("unprepare", drvrig_unprepare(c->client, m->token)); break;
    case 4: post(c, m); break;
    default: request(c, m); break;
    }
    c->calls--;
}

static void act(void)
{
    struct model *m;
    unsigned what = below(32);

    /* What the firmware has room for is what the rig has. */
    rig.driver->limits = (struct drv_limits){DRVRIG_PROGRAMS, DRVRIG_PROCESSES};
    switch (what) {
    case 0:
    case 1:
        m = any_model();
        if (m)
            destroy(m);
        break;
    case 2: close_client(below(clients)); break;
    case 3: break_something(); break;
    case 4:
    case 5: mend(); break;
    case 6:
    case 7:
    case 8: pass(); break;
    case 9:
    case 10: call(0); break;
    case 11:
    case 12: call(1); break;
    case 13:
    case 14:
    case 15:
    case 16: call(2); break;
    case 17: call(3); break;
    case 18:
    case 19: call(4); break;
    default: call(5); break;
    }
}

/* What is true between calls. */

static uint64_t page_of(const struct drv_pages *pages, uint64_t at)
{
    uint32_t extent = 0;

    for (; at >= pages->extent[extent].bytes; extent++)
        at -= pages->extent[extent].bytes;
    return pages->extent[extent].physical + at;
}

static void check_weights(const struct drv_program *program, const struct model *m)
{
    const uint64_t base = m->base ? m->base : m->token;

    for (uint64_t at = 0; at < KERNEL; at += 64) {
        const uint8_t byte = *drvrig_memory(&rig, page_of(&program->kernel.pages, at));
        const bool changed = at >= m->target && at < m->target + m->size;

        if (byte != (changed ? pattern_of(base) ^ 0xff : pattern_of(base)))
            fail_msg("program 0x%llx has 0x%x at 0x%llx", (unsigned long long)m->token, byte,
                     (unsigned long long)at);
    }
}

static void check_process(const struct drv_process *process)
{
    const struct drv_program *program = process->program;

    assert_int_equal(process->pins, 0);
    if (process->state != DRV_PROCESS_LIVE)
        return;
    /* LOADED: it was destroyed, and a direct-path client has used it meanwhile. */
    assert_true(program->state == DRV_PROGRAM_READY || program->state == DRV_PROGRAM_LOADED);
    for (uint64_t at = 0; at < KERNEL; at += PR_PAGE_BYTES)
        assert_int_equal(drvrig_walk(&rig, 1, (uint32_t)__builtin_ctz(process->client->domain->streams),
                                     process->kernel + at),
                         page_of(&program->kernel.pages, at));
}

static void check_program(const struct drv_program *program)
{
    const bool wired = program->state != DRV_PROGRAM_UNWIRED;
    const struct model *m = find_model(program->token);
    uint32_t instances = 0;

    assert_int_equal(program->pins, 0);
    assert_int_equal(program->holds, 0);
    assert_int_equal(program->requests, 0);
    for (const struct drv_program *other = rig.driver->programs; other; other = other->next)
        instances += other->base == program;
    assert_int_equal(program->instances, instances);
    if (program->base && program->weighted && wired)
        assert_int_not_equal(program->base->state, DRV_PROGRAM_UNWIRED);
    if (program->base && !program->weighted)
        assert_true(wired);
    if (!program->base || program->weighted)
        assert_true(wired == !program->kernel.saved && wired == (program->container.bytes != 0));
    if (m && !program->kernel.saved)
        check_weights(program, m);
    for (const struct drv_process *process = program->processes; process; process = process->next_of_program)
        check_process(process);
}

static void settle(void)
{
    drvrig_work(&rig);
    while (rig.driver->recovery.phase && drvrig_fire(&rig))
        drvrig_work(&rig);
}

static void check(void)
{
    settle();
    for (const struct drv_program *program = rig.driver->programs; program; program = program->next)
        check_program(program);
}

/* The firmware is restarted, so that what it did not answer is over, and opening a client reaps. */
static void clean_up(void)
{
    struct drv_client *client[2];

    mend();
    for (unsigned i = 0; i < CLIENTS; i++)
        if (caller[i].client)
            drv_client_close(caller[i].client);
    client[0] = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    drvrig_crash(&rig);
    settle();
    client[1] = drvrig_client(&rig, ANE_CLIENT_CONTROL);
    for (unsigned i = 0; i < 2; i++)
        drv_client_close(client[i]);
}

static void walk(uint64_t stream)
{
    struct drv_stats first, last;
    uint32_t used, mappings;

    test_rng_init(&rng, stream);
    clients = stream % 3 ? CLIENTS : 2;
    models = stream % 2 ? MODELS : 3;
    drvrig_make(&rig, true);
    rig.late_creates = true;
    used = rig.used;
    first = drv_stats_get(rig.driver);
    mappings = rig.driver->domain[0].mappings;
    memset(model, 0, sizeof(model));
    for (unsigned i = 0; i <= DEPTH; i++)
        for (unsigned k = 0; k < 2; k++)
            surface[i][k] = drvrig_surface(&rig, 64);
    for (unsigned k = 0; k < 2; k++)
        posted[k] = drvrig_surface(&rig, 64);
    for (unsigned i = 0; i < clients; i++)
        open_client(i);
    rig.driver->platform.wait = wait_with_calls;
    for (unsigned i = 0; i < STEPS; i++) {
        act();
        check();
    }
    rig.driver->platform.wait = rig.platform.wait;
    clean_up();
    last = drv_stats_get(rig.driver);
    assert_int_equal(last.programs, 0);
    assert_int_equal(last.clients, 0);
    assert_int_equal(last.surfaces_mapped, 0);
    assert_int_equal(last.in_flight, 0);
    assert_int_equal(last.pages, first.pages);
    assert_int_equal(rig.driver->domain[0].mappings, mappings);
    for (unsigned i = 1; i < PR_DART_DOMAINS; i++)
        assert_int_equal(rig.driver->domain[i].mappings, 0);
    assert_true(last.unwired > 10 && last.rewired > 10 && last.completed > 100);
    for (uint32_t id = 1; id < DRVRIG_SURFACES; id++)
        if (rig.surface[id].there)
            drvrig_surface_end(&rig, id);
    assert_int_equal(rig.used, used);
    drvrig_drop(&rig);
}

static void everything_comes_back(void **state)
{
    (void)state;
    image_bytes = drvrig_image(image, sizeof(image), 1, KERNEL, 0x100);
    for (unsigned i = 0; i < runs; i++) {
        memset(caller, 0, sizeof(caller));
        walk(i);
    }
}

/* With an argument, so many walks. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_comes_back)};

    if (argc > 1)
        runs = (unsigned)strtoul(argv[1], NULL, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
