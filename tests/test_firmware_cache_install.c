/* SPDX-License-Identifier: Apache-2.0 */
/* Installing cache requests in the firmware: every rule at its limit, bars, events, the pool of indices. */
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

#define INSTALL(change, RULE)                                                                 \
    do {                                                                                      \
        const uint32_t before = cacherig_broken(rig, PR_RULE_##RULE);                         \
                                                                                              \
        cacherig_install_make(&i);                                                            \
        change;                                                                               \
        cacherig_expect_broken(rig, PR_RULE_##RULE, before, cacherig_install(rig, &i, NULL)); \
    } while (0)
#define INSTALLED(change)                                               \
    do {                                                                \
        uint64_t installed;                                             \
                                                                        \
        cacherig_install_make(&i);                                      \
        change;                                                         \
        assert_int_equal(cacherig_install(rig, &i, &installed), 0);     \
        assert_int_equal(cacherig_invalidate(rig, installed, NULL), 0); \
    } while (0)
#define LINK(s, o, n)                                    \
    i.body.link[i.body.links++] = (struct pr_cache_link) \
    {                                                    \
        .source = (s), .output = (o), .input = (n)       \
    }

static void checks_the_shape_of_an_install(void **state)
{
    struct fwrig *rig = *state;
    struct cacherig_install i;

    INSTALL(i.body.output_sets = 0, CACHE_SETS);
    INSTALLED(i.body.output_sets = 1);
    INSTALLED(i.body.output_sets = 8);
    INSTALL(i.body.output_sets = 9, CACHE_SETS);
    INSTALL(i.body.partitions = 0, CACHE_PARTITIONS);
    INSTALL(i.body.partitions = 2, CACHE_PARTITIONS);
    INSTALL(i.body.requests = 0, CACHE_REQUESTS);
    INSTALL(i.body.requests = 2, CACHE_REQUESTS);
    INSTALLED(i.body.flags = 3);
    INSTALL(i.body.flags = 4, CACHE_FLAGS);
    INSTALL(i.body.zero = 1, CACHE_FLAGS);
    INSTALLED(i.header.procedure_id = 1); /* content 3 */
    INSTALL(i.header.size = 0x41, CALL_SIZE);
    INSTALL((i.header.size = 0x40, i.body.links = 1), CALL_SIZE);
    INSTALL(i.body.custom_bars = 1, CUSTOM_BARS); /* another form */
    INSTALL(i.body.wait_events = 1, WAIT_EVENTS);
    INSTALL(i.body.signal_events = 1, WAIT_EVENTS);
    INSTALL((i.body.wait_events = 1, i.body.signal_events = 0xffffffffu, i.header.size = 0x40), WAIT_EVENTS);
    cacherig_install_make(&i);
    i.header.procedure_id = 2;
    assert_int_equal(cacherig_install(rig, &i, NULL), PR_STATUS_BAD_ARGUMENT); /* content 1 */
    cacherig_install_make(&i);
    i.header.program_id = 1;
    assert_int_equal(cacherig_install(rig, &i, NULL), PR_STATUS_NO_PROGRAM);
    cacherig_install_make(&i);
    i.header.process_id = 1;
    assert_int_equal(cacherig_install(rig, &i, NULL), PR_STATUS_NO_PROCESS);
    cacherig_install_make(&i);
    i.header.priority = 8;
    assert_int_equal(cacherig_install(rig, &i, NULL), PR_STATUS_BAD_ARGUMENT);
    assert_int_equal(cacherig_fw(rig)->process[0].requests, 0);
}

/* ---- bars ---- */

static struct pr_custom_bar *bar_at(struct cacherig_install *i, unsigned number)
{
    return (struct pr_custom_bar *)(void *)i->body.link + number;
}

/* Sound ones, of the BARs of the input, the output and the program's own buffer: 5, 4 and 9. */
static void set_bars(struct cacherig_install *i, unsigned count)
{
    static const uint32_t number[] = {5, 4, 9};

    i->header.id = PR_CMD_PROCEDURE_CALL_CACHE_REQUEST_WITH_CUSTOM_BARS;
    i->body.custom_bars = count;
    for (unsigned n = 0; n < count; n++)
        *bar_at(i, n) = (struct pr_custom_bar){.type = PR_CUSTOM_BAR_GENERIC,
                                               .config = PR_CUSTOM_BAR_HW_32BIT,
                                               .bar_id = number[n % 3],
                                               .value = 0x30000000u + 0x10000u * n,
                                               .bytes = 0x4000};
}

static void checks_the_bars_of_an_install(void **state)
{
    struct fwrig *rig = *state;
    struct cacherig_install i;

    INSTALLED(set_bars(&i, 0));
    INSTALLED(set_bars(&i, 3));
    INSTALL(set_bars(&i, 4), BAR_TWICE);
    INSTALL(set_bars(&i, 32), BAR_TWICE);
    INSTALL(set_bars(&i, 33), CUSTOM_BARS);
    INSTALL(set_bars(&i, 1); bar_at(&i, 0)->type = 0, BAR_TYPE);
    INSTALL(set_bars(&i, 1); bar_at(&i, 0)->config = 2, BAR_CONFIG);
    INSTALL(set_bars(&i, 1); bar_at(&i, 0)->bar_id = 6, BAR_ID);
    INSTALL(set_bars(&i, 1); bar_at(&i, 0)->bar_id = 0xffffffffu, BAR_ID);
    INSTALL(set_bars(&i, 1); bar_at(&i, 0)->value = 0xe0000000u, BAR_VALUE);
    INSTALL(set_bars(&i, 1); bar_at(&i, 0)->value = 0xe0000000u - 0x4000 + 16, BAR_VALUE);
    INSTALLED(set_bars(&i, 1); bar_at(&i, 0)->value = 0xe0000000u - 0x4000);
    INSTALL(set_bars(&i, 1); bar_at(&i, 0)->value |= 8, BAR_VALUE);
    INSTALL(set_bars(&i, 1); bar_at(&i, 0)->value |= 1ull << 32, BAR_VALUE);
    INSTALL(set_bars(&i, 1); bar_at(&i, 0)->bytes = IMAGE_INPUT_BYTES - 1, BAR_BUFFER_SIZE);
    INSTALLED(set_bars(&i, 1); bar_at(&i, 0)->bytes = IMAGE_INPUT_BYTES);
    INSTALL(set_bars(&i, 1); i.body.signal_events = 1, WAIT_EVENTS);
}

static uint32_t bar_of(const struct fwrig *rig, size_t push, uint32_t number)
{
    return fwrig_push_at(rig, push)->file[PR_TQ_BAR1 / 4 + number];
}

/* The bars hold for each execution; the buffers at them come neither with triggers nor with sets. */
static void bars_hold_for_each_execution(void **state)
{
    struct fwrig *rig = *state;
    struct cacherig_install i;
    struct pr_cache_recycle r;
    uint64_t in, all;

    cacherig_install_make(&i);
    set_bars(&i, 1);
    assert_int_equal(cacherig_install(rig, &i, &in), 0);
    assert_int_equal(cacherig_recycle(rig, in, 0), 0);
    assert_int_equal(cacherig_recycle(rig, in, 1), 0);
    assert_int_equal(cacherig_trigger(rig, in, 1), PR_STATUS_BAD_ARGUMENT); /* the input is not its own */
    for (uint32_t n = 0; n < 2; n++) {
        assert_int_equal(cacherig_trigger_linked(rig, in, n + 1), 0);
        assert_int_equal(cacherig_in(rig, n), 0x30000000u);
        assert_int_equal(cacherig_out(rig, n), CACHERIG_SET(n));
        assert_int_equal(bar_of(rig, n, 9), IMAGE_SCRATCH);
        cacherig_retire(rig, 0);
    }
    cacherig_install_make(&i);
    set_bars(&i, 3);
    assert_int_equal(cacherig_install(rig, &i, &all), 0);
    assert_int_equal(cacherig_recycle(rig, all, 0), PR_STATUS_BAD_ARGUMENT); /* neither is the output */
    cacherig_recycle_make(&r, all, 0);
    r.buffers = 0;
    assert_int_equal(cacherig_send(rig, &r, PR_CACHE_RECYCLE_BYTES(0)), 0);
    assert_int_equal(cacherig_trigger_linked(rig, all, 1), 0);
    assert_int_equal(cacherig_in(rig, 2), 0x30000000u);
    assert_int_equal(cacherig_out(rig, 2), 0x30010000u);
    assert_int_equal(bar_of(rig, 2, 9), 0x30020000u);
}

/* ---- events ---- */

static struct pr_event *event_at(struct cacherig_install *i, unsigned number)
{
    return (struct pr_event *)(void *)i->body.link + number;
}

static void shared(struct cacherig_install *i, unsigned count)
{
    for (unsigned n = 0; n < count; n++)
        event_at(i, n)->type = PR_EVENT_SHARED;
}

/* Counters of the firmware's with value 1. */
static void set_events(struct cacherig_install *i, unsigned waits, unsigned signals)
{
    i->header.id = PR_CMD_PROCEDURE_CALL_CACHE_REQUEST_WITH_SHARED_EVENTS;
    i->body.wait_events = waits;
    i->body.signal_events = signals;
    for (unsigned n = 0; n < waits + signals; n++)
        *event_at(i, n) = (struct pr_event){.type = PR_EVENT_FIRMWARE, .id = n % 32, .value = 1};
}

static void checks_the_events_of_an_install(void **state)
{
    struct fwrig *rig = *state;
    struct cacherig_install i;

    INSTALL(set_events(&i, 0, 0), EVENTS);
    INSTALLED(set_events(&i, 1, 0));
    INSTALLED(set_events(&i, 0, 16));
    INSTALL(set_events(&i, 0, 17), SIGNAL_EVENTS);
    INSTALLED(set_events(&i, 32, 1));
    INSTALL(set_events(&i, 33, 1), WAIT_EVENTS);
    INSTALL(set_events(&i, 1, 1); event_at(&i, 1)->type = 0, EVENT_TYPE);
    INSTALL(set_events(&i, 1, 1); event_at(&i, 1)->id = 32, EVENT_ID);
    INSTALL(set_events(&i, 0, 3); shared(&i, 3), SHARED_EVENTS);
    INSTALL(set_events(&i, 1, 1); i.body.custom_bars = 1, CUSTOM_BARS);
    INSTALL(set_events(&i, 1, 1); i.header.size = 0x40 + 24, CALL_SIZE);
}

/* One request signals counter 3 with 10, 11, ...; the other waits for it with 10, 11, ... */
static void events_rise_with_each_execution(void **state)
{
    struct fwrig *rig = *state;
    struct cacherig_install i;
    uint64_t signals, waits;

    cacherig_install_make(&i);
    set_events(&i, 0, 1);
    *event_at(&i, 0) = (struct pr_event){.type = PR_EVENT_FIRMWARE, .id = 3, .value = 10};
    assert_int_equal(cacherig_install(rig, &i, &signals), 0);
    cacherig_install_make(&i);
    set_events(&i, 1, 0);
    *event_at(&i, 0) = (struct pr_event){.type = PR_EVENT_FIRMWARE, .id = 3, .value = 10};
    assert_int_equal(cacherig_install(rig, &i, &waits), 0);
    for (uint32_t n = 0; n < 2; n++) {
        struct pr_cache_recycle message;

        assert_int_equal(cacherig_recycle(rig, signals, n), 0);
        cacherig_recycle_make(&message, waits, n);
        message.buffer[0].address = CACHERIG_SET(8 + n);
        assert_int_equal(cacherig_send(rig, &message, PR_CACHE_RECYCLE_BYTES(1)), 0);
        assert_int_equal(cacherig_trigger(rig, waits, n + 1), 0);
    }
    assert_int_equal(fwrig_pushes(rig), 0);
    for (uint64_t n = 1; n <= 2; n++) {
        assert_int_equal(cacherig_trigger(rig, signals, n), 0);
        assert_int_equal(fwrig_pushes(rig), 2 * n - 1);
        cacherig_retire(rig, 0);
        assert_int_equal(cacherig_fw(rig)->events.counter[3], 9 + n);
        assert_int_equal(fwrig_pushes(rig), 2 * n); /* one, and not both, of those that wait */
        assert_int_equal(cacherig_out(rig, 2 * n - 1), CACHERIG_SET(7 + n));
        cacherig_retire(rig, 0);
        cacherig_expect(rig, signals, n, (uint32_t)n - 1, PR_STATUS_OK);
        cacherig_expect(rig, waits, n, (uint32_t)n - 1, PR_STATUS_OK);
    }
}

static void a_failure_signals_nothing(void **state)
{
    struct fwrig *rig = *state;
    struct cacherig_install i;
    uint64_t handler;

    cacherig_install_make(&i);
    set_events(&i, 0, 1);
    assert_int_equal(cacherig_install(rig, &i, &handler), 0);
    assert_int_equal(cacherig_recycle(rig, handler, 0), 0);
    assert_int_equal(cacherig_trigger(rig, handler, 1), 0);
    cacherig_retire(rig, PR_TM_CODE_TRANSLATION);
    cacherig_expect(rig, handler, 1, 0, PR_STATUS_TRANSLATION);
    assert_int_equal(cacherig_fw(rig)->events.counter[0], 0);
}

/* ---- other programs ---- */

static void load_image(struct fwrig *rig, const struct container_image *image, uint32_t own)
{
    struct pr_body_load load = {.container = FWRIG_CONTAINERS, .bytes = image->size};
    union fwrig_process process;

    fwrig_boot_started(rig);
    image_text(fwrig_memory(rig, FWRIG_TEXT, IMAGE_TEXT_BYTES));
    memcpy(fwrig_memory(rig, FWRIG_CONTAINERS, image->size), image->bytes, image->size);
    assert_int_equal(fwrig_control(rig, PR_CMD_LOAD_PROGRAM, &load, sizeof(load)), 0);
    fwrig_process_make(&process, 3);
    process.part.buffers = own;
    assert_int_equal(fwrig_process(rig, 0, &process, NULL), 0);
}

/* The second operation has an output of its own: its third buffer. No operation has a third BAR. */
static void make_own_outputs(struct container_image *image, uint64_t bytes)
{
    image_make(image, FWRIG_TEXT, FWRIG_KERNEL);
    image->buffer[2].type = PR_BUFFER_OUT;
    image->buffer[2].address = 0;
    image->buffer[2].bytes = bytes;
    image->operation[0].bars = image->operation[1].bars = 2;
    image->operation[1].bar[1].buffer = IMAGE_MIDDLE;
    for (unsigned i = 0; i < 2; i++)
        memset(&image->operation[i].bar[2], 0, sizeof(image->operation[i].bar[2]));
    memmove(&image->record[4], &image->record[5], 4 * sizeof(image->record[0]));
    image->record[7].buffer = IMAGE_MIDDLE;
    pr_put_le32(image->records, 8);
    image->section[PR_SECTION_REBASE]->bytes -= 2 * (uint32_t)sizeof(image->record[0]);
    image->size -= 2 * sizeof(image->record[0]);
    image->package->bytes = (uint32_t)image->size;
}

/* Members whose procedures have outputs for themselves share the buffers of the sets, place by place. */
static void members_may_have_outputs_of_their_own(void **state)
{
    struct fwrig *rig = fwrig_create();
    struct container_image image;
    struct cacherig_install i;
    uint64_t first, second;

    (void)state;
    make_own_outputs(&image, IMAGE_OUTPUT_BYTES);
    load_image(rig, &image, 2);
    cacherig_install_make(&i);
    LINK(0, IMAGE_OUTPUT, IMAGE_INPUT);
    assert_int_equal(cacherig_install(rig, &i, &first), 0);
    cacherig_install_make(&i);
    i.header.procedure_id = 1;
    i.body.group = first;
    LINK(0, IMAGE_MIDDLE, IMAGE_INPUT); /* by its own name */
    assert_int_equal(cacherig_install(rig, &i, &second), 0);
    assert_int_equal(cacherig_recycle(rig, first, 0), 0);
    assert_int_equal(cacherig_recycle(rig, first, 1), 0);
    assert_int_equal(cacherig_trigger(rig, first, 1), 0);
    cacherig_retire(rig, 0);
    assert_int_equal(cacherig_select(rig, first, second), 0);
    assert_int_equal(cacherig_trigger_linked(rig, first, 2), 0);
    assert_int_equal(fwrig_push_at(rig, 1)->address, FWRIG_TEXT + 0x400);
    assert_int_equal(cacherig_in(rig, 1), CACHERIG_SET(0));
    assert_int_equal(cacherig_out(rig, 1), CACHERIG_SET(1));
    fwrig_destroy(rig);
}

static void outputs_of_members_have_one_size(void **state)
{
    struct fwrig *rig = fwrig_create();
    struct container_image image;
    struct cacherig_install i;
    uint64_t first;

    (void)state;
    make_own_outputs(&image, IMAGE_OUTPUT_BYTES + 16);
    load_image(rig, &image, 2);
    first = cacherig_request(rig, 2, 0);
    INSTALL((i.header.procedure_id = 1, i.body.group = first), CACHE_GROUP);
    fwrig_destroy(rig);
}

static void content_4_is_for_calls_only(void **state)
{
    struct fwrig *rig = fwrig_create();
    struct container_image image;
    struct cacherig_install i;

    (void)state;
    image_make(&image, FWRIG_TEXT, FWRIG_KERNEL);
    image.procedure[0].content = 4;
    load_image(rig, &image, FWRIG_OWN);
    INSTALL(i.header.procedure_id = 0, CONTENT_TYPE_CACHE);
    fwrig_destroy(rig);
}

/* The container's section of custom bars holds for a request as for a call. */
static void a_program_names_the_bars_of_a_request(void **state)
{
    static const struct pr_program_bar bars[] = {{0, 5}};
    struct fwrig *rig = fwrig_create();
    struct container_image image;
    struct cacherig_install i;
    uint64_t handler;

    (void)state;
    image_make_with(&image, FWRIG_TEXT, FWRIG_KERNEL, bars, 1);
    load_image(rig, &image, FWRIG_OWN);
    INSTALL(set_bars(&i, 3), BAR_ID); /* 5, 4, 9 */
    INSTALL(set_bars(&i, 1); i.header.procedure_id = 1, BAR_ID);
    cacherig_install_make(&i);
    set_bars(&i, 1);
    assert_int_equal(cacherig_install(rig, &i, &handler), 0);
    assert_int_equal(cacherig_recycle(rig, handler, 0), 0);
    assert_int_equal(cacherig_trigger_linked(rig, handler, 1), 0);
    assert_int_equal(cacherig_in(rig, 0), 0x30000000u);
    fwrig_destroy(rig);
}

static void checks_links_groups_and_follows(void **state)
{
    struct fwrig *rig = *state;
    const uint64_t other = cacherig_request(rig, 2, 0);
    struct cacherig_install i;
    union fwrig_process process;
    uint64_t member, foreign;
    uint32_t second;

    INSTALLED(LINK(0, IMAGE_OUTPUT, IMAGE_INPUT));
    INSTALLED(LINK(other, IMAGE_OUTPUT, IMAGE_INPUT));
    INSTALL(LINK(other + 1, IMAGE_OUTPUT, IMAGE_INPUT), CACHE_LINK);
    INSTALL(LINK(0, IMAGE_INPUT, IMAGE_INPUT), CACHE_LINK);
    INSTALL(LINK(0, IMAGE_OUTPUT, IMAGE_OUTPUT), CACHE_LINK);
    INSTALL(LINK(0, 0x1ff, IMAGE_INPUT), CACHE_LINK);
    INSTALL(LINK(0, IMAGE_OUTPUT, 0xffffffffu), CACHE_LINK);
    INSTALL((LINK(0, IMAGE_OUTPUT, IMAGE_INPUT), LINK(other, IMAGE_OUTPUT, IMAGE_INPUT)), CACHE_LINK);
    INSTALL(i.body.links = PR_CACHE_LINKS_MAX + 1, CACHE_LINK);
    INSTALLED(i.body.follow = other);
    INSTALL(i.body.follow = other ^ 1ull << 40, CACHE_FOLLOW);
    INSTALLED(i.body.group = other);
    INSTALL(i.body.group = 1, CACHE_GROUP);
    INSTALL((i.body.group = other, i.body.output_sets = 1), CACHE_GROUP);
    cacherig_install_make(&i);
    i.body.group = other;
    assert_int_equal(cacherig_install(rig, &i, &member), 0);
    INSTALL(i.body.group = member, CACHE_GROUP); /* not the first */
    /* Handlers of another process. */
    fwrig_process_make(&process, 4);
    assert_int_equal(fwrig_process(rig, 0, &process, &second), 0);
    INSTALL((i.header.process_id = second, i.body.group = other), CACHE_GROUP);
    INSTALL((i.header.process_id = second, i.body.follow = other), CACHE_FOLLOW);
    INSTALL((i.header.process_id = second, LINK(other, IMAGE_OUTPUT, IMAGE_INPUT)), CACHE_LINK);
    cacherig_install_make(&i);
    i.header.process_id = second;
    assert_int_equal(cacherig_install(rig, &i, &foreign), 0);
    assert_int_equal(cacherig_invalidate(rig, foreign, NULL), PR_STATUS_WRONG_STATE); /* named process 0 */
    assert_int_equal(cacherig_select(rig, other, foreign), PR_STATUS_BAD_ARGUMENT);
}

/* 0 <= cacheReqIdx < maxCacheRequest; RESOURCE_INFO has the number. */
static void the_pool_has_sixteen(void **state)
{
    struct fwrig *rig = *state;
    struct pr_body_resources resources = {0};
    uint64_t handler[16];
    struct cacherig_install i;

    assert_int_equal(fwrig_control(rig, PR_CMD_RESOURCE_INFO_GET, &resources, sizeof(resources)), 0);
    memcpy(&resources, fwrig_reply(rig)->body, sizeof(resources));
    assert_int_equal(resources.cache_requests, 16);
    for (unsigned n = 0; n < 16; n++) {
        handler[n] = cacherig_request(rig, 1, 0);
        for (unsigned m = 0; m < n; m++)
            assert_int_not_equal(handler[m], handler[n]);
    }
    INSTALL(i.body.output_sets = 1, CACHE_INDEX);
    assert_int_equal(cacherig_invalidate(rig, handler[9], NULL), 0);
    assert_int_not_equal(cacherig_request(rig, 1, 0), handler[9]);
    INSTALL(i.body.output_sets = 1, CACHE_INDEX);
    /* A handler of before is never good for the one that has its index now. */
    assert_int_equal(cacherig_trigger(rig, handler[9], 1), PR_STATUS_WRONG_STATE);
    assert_int_equal(cacherig_recycle(rig, handler[9], 0), PR_STATUS_WRONG_STATE);
    assert_int_equal(cacherig_invalidate(rig, handler[9], NULL), PR_STATUS_WRONG_STATE);
}

static void an_exhausted_arena_refuses_an_install(void **state)
{
    struct fwrig *rig = *state;
    struct cacherig_install i;
    void *block, *first = NULL;
    struct rt_kernel *kernel = cacherig_fw(rig)->kernel;

    for (size_t bytes = 1u << 22; bytes >= 64; bytes /= 2)
        while ((block = rt_heap_alloc(kernel, RT_ARENA_SYSTEM, bytes)) != NULL) {
            *(void **)block = first;
            first = block;
        }
    cacherig_install_make(&i);
    i.body.output_sets = 8;
    assert_int_equal(cacherig_install(rig, &i, NULL), PR_STATUS_NO_RESOURCES);
    assert_int_equal(cacherig_fw(rig)->process[0].requests, 0);
    while (first) {
        block = first;
        first = *(void **)block;
        rt_heap_free(kernel, block);
    }
    assert_int_equal(cacherig_install(rig, &i, NULL), 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(checks_the_shape_of_an_install),
        T(checks_the_bars_of_an_install),
        T(bars_hold_for_each_execution),
        T(checks_the_events_of_an_install),
        T(events_rise_with_each_execution),
        T(a_failure_signals_nothing),
        cmocka_unit_test(members_may_have_outputs_of_their_own),
        cmocka_unit_test(outputs_of_members_have_one_size),
        cmocka_unit_test(content_4_is_for_calls_only),
        cmocka_unit_test(a_program_names_the_bars_of_a_request),
        T(checks_links_groups_and_follows),
        T(the_pool_has_sixteen),
        T(an_exhausted_arena_refuses_an_install),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
