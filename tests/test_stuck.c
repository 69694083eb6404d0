/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a driver sees of a queue that is stuck: virtual time passes, a page fault waits until the page is
 * mapped, and ane_machine_problem names the place in the descriptor.
 */
#include "support.h"

#include <errno.h>
#include <string.h>

#include "bare.h"
#include "programs.h"

#define TM_ABORT     0x10
#define TM_COUNT     0x14
#define TM_STATUS    0x54
#define TM_ERROR1    0x58
#define DART_SELECT  0x34
#define DART_COMMAND 0x20
#define DART_ERROR   0x40
#define DART_ADDR_LO 0x50
#define TLB_CONTROL  0x1000
#define ELEMENTS     8192u /* one page of halfs */
#define WAITING      4u    /* the queue of the request */
#define INVALIDATE   (1u << 20)

/* relu from `src` to `dst`, each of two pages; the second page of the source is not mapped. */
struct subject {
    struct ane_machine *machine;
    struct bare bare;
    struct bare_buffer src, dst;
    struct bare_request request;
    uint32_t hole;
    uint64_t page; /* that belongs there */
};

static void load_relu(struct subject *s, struct bare_request *request, uint32_t width, uint32_t queue)
{
    struct test_program program;

    test_assemble(&program, "%s", test_text_relu);
    td_set_shape(program.bytes, &(struct td_shape){1, 1, 1, width});
    *request = bare_load(&s->bare, program.bytes, program.size, 0, program.first_words, program.count, queue);
}

static void make(struct subject *s, uint32_t chip)
{
    struct ane_machine_config config = {.size = sizeof(config), .chip = chip, .strict_tlb = 1};
    uint16_t five = test_half_from_double(5);

    assert_int_equal(ane_machine_create(&config, &s->machine), 0);
    bare_start(&s->bare, s->machine, 400);
    s->src = bare_buffer(&s->bare, 2 * BARE_PAGE);
    s->dst = bare_buffer(&s->bare, 2 * BARE_PAGE);
    load_relu(s, &s->request, 2 * ELEMENTS, WAITING);
    s->request.bar[4] = s->dst.iova;
    s->request.bar[5] = s->src.iova;
    bare_put(&s->bare, s->src.iova + 2 * BARE_PAGE - 2, &five, 2);
    s->hole = s->src.iova + BARE_PAGE;
    s->page = bare_physical(&s->bare, s->hole);
    bare_map(&s->bare, s->hole, 0);
    bare_invalidate(&s->bare);
}

static uint64_t counter(struct subject *s, const char *name)
{
    return ane_machine_counter(s->machine, name);
}

static void dart_write(struct subject *s, unsigned which, uint32_t offset, uint32_t value)
{
    ane_machine_write32(s->machine, s->bare.map.dart[which] + offset, value);
}

static void clear_capture(struct subject *s, unsigned which)
{
    dart_write(s, which, DART_ERROR, bare_dart(&s->bare, which, DART_ERROR));
}

static void expect_result(struct subject *s)
{
    uint16_t last;

    bare_get(&s->bare, s->dst.iova + 2 * BARE_PAGE - 2, &last, 2);
    assert_int_equal(last, test_half_from_double(5));
}

static void push_into_the_hole(struct subject *s)
{
    bare_push(&s->bare, &s->request);
    assert_int_equal(ane_machine_run(s->machine, 1000000), ANE_RUN_STUCK);
    assert_int_equal(bare_tm(&s->bare, TM_STATUS), 0);
    assert_int_equal(bare_tm(&s->bare, TM_COUNT), 0);
    assert_int_equal(bare_dart(&s->bare, 1, DART_ADDR_LO), s->hole);
    assert_int_equal(ane_machine_dart_interrupt(s->machine), 1);
    assert_int_equal(counter(s, "engine.faulted"), 1);
    assert_int_equal(counter(s, "engine.requests"), 0);
}

static void expect_completion(struct subject *s)
{
    uint32_t info = 0;

    assert_int_equal(ane_machine_run(s->machine, 1000000000), ANE_RUN_IDLE);
    assert_int_equal(bare_tm(&s->bare, TM_STATUS) & 1, 1);
    assert_int_equal(bare_finish(&s->bare, &s->request, &info), 1);
    assert_int_equal(info >> 24, 0x05);
    assert_int_equal(counter(s, "engine.descriptors"), 1);
    assert_int_equal(counter(s, "engine.requests"), 1);
    expect_result(s);
}

/* Time passes as far as it was asked for, and no further. */
static void time_passes_while_a_queue_is_stuck(void **state)
{
    struct subject s;
    uint64_t now;

    (void)state;
    make(&s, ANE_CHIP_T8103);
    push_into_the_hole(&s);
    now = ane_machine_now(s.machine);
    assert_int_equal(ane_machine_run(s.machine, 12345), ANE_RUN_STUCK);
    assert_int_equal(ane_machine_now(s.machine), now + 12345);
    assert_int_equal(ane_machine_run(s.machine, 0), ANE_RUN_STUCK);
    assert_int_equal(ane_machine_now(s.machine), now + 12345);
    assert_int_equal(ane_machine_run(s.machine, UINT64_MAX), ANE_RUN_STUCK);
    assert_int_equal(ane_machine_now(s.machine), now + 12345);
    bare_tm_write(&s.bare, TM_ABORT, 1 << WAITING);
    assert_int_equal(ane_machine_run(s.machine, 1000), ANE_RUN_IDLE);
    assert_int_equal(ane_machine_now(s.machine), now + 12345);
    ane_machine_destroy(s.machine);
}

/* A delay is exact: on an idle machine, over the end of a request, and while a queue is stuck. */
static void a_delay_lets_its_time_pass(void **state)
{
    struct subject s;
    uint64_t now;

    (void)state;
    make(&s, ANE_CHIP_T8103);
    now = ane_machine_now(s.machine);
    assert_int_equal(ane_machine_delay(s.machine, 777), 0);
    assert_int_equal(ane_machine_now(s.machine), now + 777);
    bare_map(&s.bare, s.hole, s.page);
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_delay(s.machine, 1000000), 0);
    assert_int_equal(ane_machine_now(s.machine), now + 1000777);
    expect_completion(&s);
    assert_int_equal(ane_machine_delay(s.machine, 0), 0);
    assert_int_equal(ane_machine_delay(s.machine, UINT64_MAX), -EINVAL);
    assert_int_equal(ane_machine_delay(NULL, 1), -EPERM);
    bare_map(&s.bare, s.hole, 0);
    bare_invalidate(&s.bare);
    bare_push(&s.bare, &s.request);
    now = ane_machine_now(s.machine);
    assert_int_equal(ane_machine_delay(s.machine, 5000000), 0);
    assert_int_equal(ane_machine_now(s.machine), now + 5000000);
    assert_int_equal(bare_tm(&s.bare, TM_STATUS), 0);
    ane_machine_destroy(s.machine);
}

/* Ways in which a driver says that the page is there. */
static void by_the_capture(struct subject *s)
{
    clear_capture(s, 1);
}

static void by_an_invalidate(struct subject *s)
{
    dart_write(s, 1, DART_SELECT, 1);
    dart_write(s, 1, DART_COMMAND, INVALIDATE);
}

static void by_the_control_word(struct subject *s)
{
    dart_write(s, 0, TLB_CONTROL, 1);
}

static void a_request_goes_on_when_the_page_is_mapped(void **state)
{
    static void (*const way[])(struct subject * s) = {by_the_capture, by_an_invalidate, by_the_control_word};

    (void)state;
    for (unsigned i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
        struct subject s;

        make(&s, i % 2 ? ANE_CHIP_T6000 : ANE_CHIP_T8103);
        push_into_the_hole(&s);
        way[i](&s); /* too early: nothing changes, and no second fault is captured */
        assert_int_equal(ane_machine_run(s.machine, 1000), ANE_RUN_STUCK);
        assert_int_equal(counter(&s, "dart.faults"), 1);
        bare_map(&s.bare, s.hole, s.page);
        assert_int_equal(ane_machine_run(s.machine, 1000),
                         ANE_RUN_STUCK); /* the table alone is not looked at */
        if (i == 0)
            dart_write(&s, 1, DART_ERROR, 1u << 31);
        way[i](&s);
        expect_completion(&s);
        ane_machine_destroy(s.machine);
    }
}

/*
 * Two descriptors, through L2; the result of the second has no page. The first is not run again, and what it
 * left in L2 is still there.
 */
static void a_chain_goes_on_where_it_faulted(void **state)
{
    static const char second[] = "descriptor at 0x300\n"
                                 "  DstLoc=1 WBase=4 WBE=1 ENE=1\n"
                                 "  write L2.SourceCfg 3\n"
                                 "    SourceCfg DMAFmt=1 DMAInterleave=1\n"
                                 "    SourceBase 0x100\n"
                                 "  write L2.ResultCfg\n"
                                 "    ResultCfg ResultType=2 DMAFmt=1 DMAInterleave=1\n"
                                 "  write TileDMADst.DMAConfig\n"
                                 "    DMAConfig En=1 CacheHint=3\n"
                                 "chain\n";
    const uint16_t seven = test_half_from_double(7);
    struct test_program program;
    struct subject s;
    uint32_t info;
    uint16_t got;

    (void)state;
    make(&s, ANE_CHIP_T8103);
    test_assemble(&program, "%s%s", test_text_relu, second);
    td_set_shape(program.bytes, &(struct td_shape){1, 1, 1, 8});
    td_set(program.bytes, TD_W8, td_get(program.bytes, TD_W8) | 1u << 23);
    td_set(program.bytes, TD_RESULT_CFG, 0x140);
    td_set(program.bytes, TD_DST_DMA, 0xc0);
    td_set(program.bytes, TD_L2_RESULT_BASE, 0x100);
    s.request =
        bare_load(&s.bare, program.bytes, program.size, 0, program.first_words, program.count, WAITING);
    s.request.bar[4] = s.hole;
    s.request.bar[5] = s.src.iova;
    bare_put(&s.bare, s.src.iova, &seven, 2);
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_STUCK);
    assert_int_equal(counter(&s, "engine.descriptors"), 1);
    assert_int_equal(bare_dart(&s.bare, 2, DART_ADDR_LO), s.hole);
    bare_put(&s.bare, s.src.iova, (uint16_t[]){0}, 2);
    bare_map(&s.bare, s.hole, s.page);
    bare_invalidate(&s.bare);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_IDLE);
    assert_int_equal(counter(&s, "engine.descriptors"), 2);
    assert_int_equal(counter(&s, "engine.requests"), 1);
    assert_int_equal(bare_finish(&s.bare, &s.request, &info), 1);
    bare_get(&s.bare, s.hole, &got, 2);
    assert_int_equal(got, seven);
    ane_machine_destroy(s.machine);
}

/* The descriptor itself is in a page that is not mapped. */
static void a_fetch_waits_too(void **state)
{
    struct subject s;
    uint64_t text;

    (void)state;
    make(&s, ANE_CHIP_T8103);
    bare_map(&s.bare, s.hole, s.page);
    text = bare_physical(&s.bare, s.request.first) & ~(uint64_t)(BARE_PAGE - 1);
    bare_map(&s.bare, s.request.first, 0);
    bare_invalidate(&s.bare);
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_run(s.machine, UINT64_MAX), ANE_RUN_STUCK);
    assert_int_equal(bare_dart(&s.bare, 0, DART_ADDR_LO) & ~(BARE_PAGE - 1), s.request.first);
    assert_int_equal(bare_tm(&s.bare, TM_ERROR1) & 0xff, 2);
    bare_map(&s.bare, s.request.first, text);
    bare_invalidate(&s.bare);
    expect_completion(&s);
    ane_machine_destroy(s.machine);
}

/* Of two faults in one DART the second is not captured; it shows when the first is cleared. */
static void a_second_fault_shows_when_the_first_is_cleared(void **state)
{
    struct subject s;
    struct bare_request other;
    uint32_t info;

    (void)state;
    make(&s, ANE_CHIP_T8103);
    push_into_the_hole(&s);
    load_relu(&s, &other, 8, 6);
    other.bar[4] = s.dst.iova;
    other.bar[5] = 0x50000000;
    bare_push(&s.bare, &other);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_STUCK);
    assert_int_equal(bare_dart(&s.bare, 1, DART_ADDR_LO), s.hole);
    clear_capture(&s, 1);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_STUCK);
    assert_int_equal(bare_dart(&s.bare, 1, DART_ADDR_LO), 0x50000000);
    assert_int_equal(ane_machine_dart_interrupt(s.machine), 1);
    /* The first goes on alone. */
    bare_map(&s.bare, s.hole, s.page);
    bare_invalidate(&s.bare);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_STUCK);
    assert_int_equal(bare_finish(&s.bare, &s.request, &info), 1);
    expect_result(&s);
    bare_map(&s.bare, 0x50000000, s.page);
    clear_capture(&s, 1);
    assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_IDLE);
    assert_int_equal(bare_finish(&s.bare, &other, &info), 1);
    ane_machine_destroy(s.machine);
}

/* A stuck queue does not stop another one, and the machine is not idle afterwards. */
static void others_run_while_one_waits(void **state)
{
    struct subject s;
    struct bare_request other;
    uint32_t info;

    (void)state;
    make(&s, ANE_CHIP_T6000);
    push_into_the_hole(&s);
    load_relu(&s, &other, 8, 1);
    other.bar[4] = other.bar[5] = bare_buffer(&s.bare, 64).iova;
    bare_push(&s.bare, &other);
    assert_int_equal(ane_machine_run(s.machine, 1), ANE_RUN_LIMIT);
    assert_int_equal(ane_machine_run(s.machine, UINT64_MAX), ANE_RUN_STUCK);
    assert_int_equal(bare_finish(&s.bare, &other, &info), 1);
    ane_machine_destroy(s.machine);
}

/* Abort and loss of power end the wait; a page that is mapped later starts nothing. */
static void an_abort_ends_the_wait(void **state)
{
    (void)state;
    for (unsigned power = 0; power < 2; power++) {
        struct subject s;

        make(&s, ANE_CHIP_T8103);
        push_into_the_hole(&s);
        if (!power)
            bare_tm_write(&s.bare, TM_ABORT, 1 << WAITING);
        for (unsigned i = 0; power && i < 14; i++)
            ane_machine_write32(s.machine, s.bare.map.pmu + 8 * (i % 7), i < 7 ? 0x300 : 0xf);
        assert_int_equal(ane_machine_run(s.machine, 1000), ANE_RUN_IDLE);
        bare_map(&s.bare, s.hole, s.page);
        bare_invalidate(&s.bare);
        clear_capture(&s, 1);
        assert_int_equal(ane_machine_run(s.machine, 1000000), ANE_RUN_IDLE);
        assert_int_equal(counter(&s, "engine.descriptors"), 0);
        ane_machine_destroy(s.machine);
    }
}

/* The fields of a problem, for one of each sort of place. */
static void a_problem_names_its_place(void **state)
{
    static const struct {
        uint32_t at, bits; /* what is set in the descriptor */
        bool clear;        /* or cleared */
        uint32_t kind, reg, offset;
        const char *reg_name, *field_name, *advice;
    } cases[] = {
        {TD_CFG, 1u << 31, false, 0x04, 0x34, TD_CFG, "Common.Cfg", "", "Clear the bits"},
        {TD_MAC_CFG, 3u << 16, false, 0x07, 0xc804, TD_MAC_CFG, "NE.MACCfg", "MACCfg.NonlinearMode",
         "Use a value"},
        {TD_W8, 1u << 5, true, 0x08, 0, 32, "", "Header.RBE0", "Correct the field"},
        {TD_IN_DIM, 0xffff, true, 0x08, 0, TD_IN_DIM, "Common.InDim", "InDim.Win", "Correct the field"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ane_machine_problem problem = {.size = sizeof(problem)};
        struct test_program program;
        struct subject s;
        uint32_t word;

        make(&s, ANE_CHIP_T8103);
        test_assemble(&program, "%s", test_text_relu);
        td_set_shape(program.bytes, &(struct td_shape){1, 1, 1, 8});
        word = td_get(program.bytes, cases[i].at);
        td_set(program.bytes, cases[i].at, cases[i].clear ? word & ~cases[i].bits : word | cases[i].bits);
        s.request = bare_load(&s.bare, program.bytes, program.size, 0, program.first_words, 1, WAITING);
        s.request.bar[4] = s.request.bar[5] = s.dst.iova;
        bare_push(&s.bare, &s.request);
        assert_int_equal(ane_machine_run(s.machine, UINT64_MAX), ANE_RUN_STUCK);
        assert_int_equal(ane_machine_problem(s.machine, &problem), 0);
        print_message("# %s | %s | %s | %s\n", problem.text, problem.kind_name, problem.outcome,
                      problem.advice);
        assert_int_equal(problem.kind, cases[i].kind);
        assert_int_equal(problem.queue, WAITING);
        assert_int_equal(problem.descriptor, 0);
        assert_int_equal(problem.address, s.request.first);
        assert_int_equal(problem.reg, cases[i].reg);
        assert_int_equal(problem.offset, cases[i].offset);
        assert_string_equal(problem.reg_name, cases[i].reg_name);
        assert_string_equal(problem.field_name, cases[i].field_name);
        assert_non_null(strstr(problem.advice, cases[i].advice));
        assert_non_null(strstr(problem.outcome, "not known"));
        ane_machine_destroy(s.machine);
    }
}

static void problems_of_pages_and_pushes_say_what_to_do(void **state)
{
    struct ane_machine_problem problem = {.size = sizeof(problem)};
    struct subject s;

    (void)state;
    make(&s, ANE_CHIP_T8103);
    push_into_the_hole(&s);
    assert_int_equal(ane_machine_problem(s.machine, &problem), 0);
    assert_string_equal(problem.kind_name, "the DART refused an address");
    assert_string_equal(problem.reg_name, "");
    assert_string_equal(problem.field_name, "");
    assert_non_null(strstr(problem.outcome, "-110"));
    assert_non_null(strstr(problem.advice, "Map the page"));
    bare_tm_write(&s.bare, 0xc, 0); /* TQ_EN */
    s.request.queue = 2;
    bare_push(&s.bare, &s.request);
    assert_int_equal(ane_machine_problem(s.machine, &problem), 0);
    assert_int_equal(problem.count, 2);
    assert_non_null(strstr(problem.advice, "TQ_EN"));
    ane_machine_destroy(s.machine);
}

/* Pages that the handler of the DARTs' line puts in when the engine asks for them. */
struct pager {
    struct subject *s;
    struct {
        uint32_t iova;
        uint64_t page;
    } absent[5];
    unsigned calls;
};

static void put_in(void *context, enum ane_line line, int level)
{
    struct pager *pager = context;
    struct subject *s = pager->s;

    (void)line;
    pager->calls += (unsigned)level;
    for (unsigned dart = 0; level && dart < 3; dart++) {
        uint32_t wanted = bare_dart(&s->bare, dart, DART_ADDR_LO) & ~(BARE_PAGE - 1);

        for (unsigned i = 0; i < 5 && bare_dart(&s->bare, dart, DART_ERROR); i++)
            if (pager->absent[i].iova == wanted)
                bare_map(&s->bare, wanted, pager->absent[i].page);
        clear_capture(s, dart);
    }
}

/* Whatever set of pages is absent: one run brings them in one by one, and the result is whole. */
static void a_handler_puts_pages_in(void **state)
{
    (void)state;
    for (unsigned set = 0; set < 32; set++) {
        struct subject s;
        struct pager pager = {.s = &s};
        uint16_t half;

        make(&s, set % 2 ? ANE_CHIP_T8103 : ANE_CHIP_T6000);
        bare_map(&s.bare, s.hole, s.page);
        for (uint32_t i = 0; i < 2 * ELEMENTS; i++) {
            half = test_half_from_double(i % 100 - 50.0);
            bare_put(&s.bare, s.src.iova + 2 * i, &half, 2);
        }
        for (unsigned i = 0; i < 5; i++) {
            const uint32_t iova[] = {s.src.iova, s.hole, s.dst.iova, s.dst.iova + BARE_PAGE, s.request.first};

            pager.absent[i].iova = iova[i];
            pager.absent[i].page = bare_physical(&s.bare, iova[i]);
            if (set >> i & 1)
                bare_map(&s.bare, iova[i], 0);
        }
        bare_invalidate(&s.bare);
        assert_int_equal(ane_machine_line_handler(s.machine, ANE_LINE_DART, put_in, &pager), 0);
        bare_push(&s.bare, &s.request);
        assert_int_equal(ane_machine_run(s.machine, 1000000000), ANE_RUN_IDLE);
        assert_int_equal(pager.calls, __builtin_popcount(set));
        assert_int_equal(counter(&s, "engine.descriptors"), 1);
        for (uint32_t i = 0; i < 2 * ELEMENTS; i++) {
            bare_get(&s.bare, s.dst.iova + 2 * i, &half, 2);
            assert_int_equal(half, test_half_from_double(i % 100 < 50 ? 0 : i % 100 - 50.0));
        }
        ane_machine_destroy(s.machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_passes_while_a_queue_is_stuck),
        cmocka_unit_test(a_delay_lets_its_time_pass),
        cmocka_unit_test(a_request_goes_on_when_the_page_is_mapped),
        cmocka_unit_test(a_chain_goes_on_where_it_faulted),
        cmocka_unit_test(a_fetch_waits_too),
        cmocka_unit_test(a_second_fault_shows_when_the_first_is_cleared),
        cmocka_unit_test(others_run_while_one_waits),
        cmocka_unit_test(an_abort_ends_the_wait),
        cmocka_unit_test(a_handler_puts_pages_in),
        cmocka_unit_test(a_problem_names_its_place),
        cmocka_unit_test(problems_of_pages_and_pushes_say_what_to_do),
    };

    return cmocka_run_group_tests_name("stuck", tests, NULL, NULL);
}
