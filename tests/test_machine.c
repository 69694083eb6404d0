/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare machine through machine.h: what changes between pushes shows, queues do not see
 * each other, faults and bad descriptors end as they should, machines do not disturb each
 * other, and the same run gives the same trace and bytes.
 */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bare.h"
#include "programs.h"

#define TM_ABORT      0x10
#define TM_COUNT      0x14
#define TM_INFO(line) (0x18 + 0x14 * (line))
#define TM_UNK1(line) (0x1c + 0x14 * (line))
#define TM_STATUS     0x54
#define TM_ERROR1     0x58
#define DART_ERROR    0x40
#define DART_ADDR_LO  0x50
#define DART_ADDR_HI  0x54
#define ERROR_FINE    0x22222222u

static struct ane_machine *make(struct bare *bare, const struct ane_machine_config *changes)
{
    struct ane_machine_config config = {.size = sizeof(config), .strict_tlb = 1, .trace = 1};
    struct ane_machine *machine;

    if (changes)
        config = *changes;
    assert_int_equal(ane_machine_create(&config, &machine), 0);
    bare_start(bare, machine, 4000);
    return machine;
}

static struct bare_request load(struct bare *bare, const struct test_program *program, uint32_t queue)
{
    return bare_load(bare, program->bytes, program->size, 0, program->first_words, program->count, queue);
}

static uint16_t half(double value)
{
    return test_half_from_double(value);
}

static void put_halfs(struct bare *bare, uint32_t iova, const double *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint16_t bits = half(values[i]);

        bare_put(bare, iova + 2 * i, &bits, 2);
    }
}

static double get_half(struct bare *bare, uint32_t iova)
{
    uint16_t bits;

    bare_get(bare, iova, &bits, 2);
    return test_half_to_double(bits);
}

/* A relu over `width` elements of one row, from buffer 5 to buffer 4. */
static void relu_program(struct test_program *program, uint32_t width)
{
    test_assemble(program, "%s", test_text_relu);
    td_set_shape(program->bytes, &(struct td_shape){1, 1, 1, width});
}

static void a_changed_weight_and_a_changed_register_show(void **state)
{
    const struct test_conv conv = {.cin = 2, .cout = 3, .h = 1, .w = 5, .k = 1, .engines_log2 = 2};
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    struct test_program program;
    struct bare_request request;
    struct bare_buffer src, dst, kernel;
    uint16_t bits;

    (void)state;
    test_program_conv(&program, &conv);
    request = load(&bare, &program, 4);
    src = bare_buffer(&bare, 128);
    dst = bare_buffer(&bare, 256);
    kernel = bare_buffer(&bare, test_conv_kernel_bytes(&conv));
    request.bar[1] = kernel.iova;
    request.bar[4] = dst.iova;
    request.bar[5] = src.iova;
    put_halfs(&bare, src.iova, (double[]){1, 2, 3, 4, 5}, 5);
    put_halfs(&bare, src.iova + 64, (double[]){10, 20, 30, 40, 50}, 5);
    for (uint32_t o = 0; o < 3; o++) {
        put_halfs(&bare, kernel.iova + test_conv_weight(&conv, o, 0, 0, 0), (double[]){o + 1.0}, 1);
        put_halfs(&bare, kernel.iova + test_conv_weight(&conv, o, 1, 0, 0), (double[]){0.5}, 1);
    }
    assert_true(bare_run(&bare, &request));
    assert_true(get_half(&bare, dst.iova + 64 + 2 * 2) == 3 * 2 + 15);
    /* One weight. */
    put_halfs(&bare, kernel.iova + test_conv_weight(&conv, 1, 1, 0, 0), (double[]){-2}, 1);
    assert_true(bare_run(&bare, &request));
    assert_true(get_half(&bare, dst.iova + 64 + 2 * 2) == 3 * 2 - 60);
    assert_true(get_half(&bare, dst.iova + 128 + 2 * 2) == 3 * 3 + 15);
    /* One register word of the first descriptor: a bias for all channels. */
    bits = half(7);
    bare_put(&bare, request.first + TD_ACC_BIAS, &bits, 2);
    assert_true(bare_run(&bare, &request));
    assert_true(get_half(&bare, dst.iova + 64 + 2 * 2) == 3 * 2 - 60 + 7);
    ane_machine_destroy(machine);
}

/*
 * Two descriptors: x is left in L2 by the first (at `base`), and copied out by the
 * second, which writes only the blocks that differ.
 */
static void through_l2(struct test_program *program, uint32_t width, uint32_t base)
{
    static const char second[] = "descriptor at 0x300\n"
                                 "  DstLoc=1 WBase=4 WBE=1 ENE=1\n"
                                 "  write L2.SourceCfg 3\n"
                                 "    SourceCfg DMAFmt=1 DMAInterleave=1\n"
                                 "    SourceBase %u\n"
                                 "  write L2.ResultCfg\n"
                                 "    ResultCfg ResultType=2 DMAFmt=1 DMAInterleave=1\n"
                                 "  write TileDMADst.DMAConfig\n"
                                 "    DMAConfig En=1 CacheHint=3\n"
                                 "chain\n";
    char text[16384];

    strcpy(text, test_text_relu);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), second, base);
    test_assemble(program, "%s", text);
    td_set_shape(program->bytes, &(struct td_shape){1, 1, 1, width});
    /* TBE: the next descriptor is in buffer 0. */
    td_set(program->bytes, TD_W8, td_get(program->bytes, TD_W8) | 1u << 23);
    td_set(program->bytes, TD_RESULT_CFG, 0x140);
    td_set(program->bytes, TD_DST_DMA, 0xc0);
    td_set(program->bytes, TD_L2_RESULT_BASE, base);
}

static void queues_do_not_see_each_other(void **state)
{
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    struct test_program slow, quick;
    struct bare_request low, high;
    struct bare_buffer low_src = bare_buffer(&bare, 0x8000), low_dst = bare_buffer(&bare, 0x8000);
    struct bare_buffer high_src = bare_buffer(&bare, 64), high_dst = bare_buffer(&bare, 64);
    uint32_t info = 0;

    (void)state;
    through_l2(&slow, 16384, 0x40);
    through_l2(&quick, 20, 0x40);
    low = load(&bare, &slow, 5);
    high = load(&bare, &quick, 1);
    low.bar[4] = low_dst.iova;
    low.bar[5] = low_src.iova;
    high.bar[4] = high_dst.iova;
    high.bar[5] = high_src.iova;
    for (unsigned i = 0; i < 16384; i++)
        put_halfs(&bare, low_src.iova + 2 * i, (double[]){i % 2000}, 1);
    for (unsigned i = 0; i < 20; i++)
        put_halfs(&bare, high_src.iova + 2 * i, (double[]){-1.0 * i + 10}, 1);
    bare_push(&bare, &low);
    assert_int_equal(ane_machine_run(machine, 10),
                     1); /* the first descriptor of queue 5 is in the datapath */
    bare_push(&bare, &high);
    assert_true(bare_wait(&bare));
    assert_int_equal(bare_finish(&bare, &low, &info), 2);
    assert_int_equal(ane_machine_counter(machine, "engine.descriptors"), 4);
    for (unsigned i = 0; i < 16384; i++)
        assert_true(get_half(&bare, low_dst.iova + 2 * i) == i % 2000);
    for (unsigned i = 0; i < 20; i++)
        assert_true(get_half(&bare, high_dst.iova + 2 * i) == (i < 10 ? 10.0 - i : 0));
    ane_machine_destroy(machine);
}

static void l2_is_empty_when_a_network_starts(void **state)
{
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    struct test_program writer, reader;
    struct bare_request write, read;
    struct bare_buffer src = bare_buffer(&bare, 64), dst = bare_buffer(&bare, 64);

    (void)state;
    through_l2(&writer, 16, 0x100);
    relu_program(&reader, 16);
    td_set(reader.bytes, TD_SOURCE_CFG,
           0x140); /* resident: reads L2 at 0x100 without anyone having written it */
    td_set(reader.bytes, TD_L2_SRC_BASE, 0x100);
    write = load(&bare, &writer, 4);
    read = load(&bare, &reader, 4);
    write.bar[4] = read.bar[4] = dst.iova;
    write.bar[5] = src.iova;
    for (unsigned i = 0; i < 16; i++)
        put_halfs(&bare, src.iova + 2 * i, (double[]){i + 1}, 1);
    assert_true(bare_run(&bare, &write));
    assert_true(get_half(&bare, dst.iova + 30) == 16);
    assert_true(bare_run(&bare, &read));
    assert_true(get_half(&bare, dst.iova + 30) == 0);
    ane_machine_destroy(machine);
}

/* A network that writes all, or a part, of what the one before left in L2. */
static void l2_is_empty_where_a_network_has_not_written(void **state)
{
    static const struct {
        uint32_t width, write, read;
    } row[] = {
        {16, 0x100, 0x100}, {32, 0xf0, 0xf0}, {16, 0x110, 0x100}, {16, 0xf0, 0x100}, {8, 0x100, 0x110}};
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    struct test_program before, after;
    struct bare_request first, second;
    struct bare_buffer src = bare_buffer(&bare, 64), dst = bare_buffer(&bare, 64);

    (void)state;
    for (unsigned i = 0; i < 32; i++)
        put_halfs(&bare, src.iova + 2 * i, (double[]){i + 1}, 1);
    through_l2(&before, 16, 0x100);
    first = load(&bare, &before, 4);
    first.bar[4] = dst.iova;
    first.bar[5] = src.iova;
    for (unsigned r = 0; r < sizeof(row) / sizeof(row[0]); r++) {
        through_l2(&after, row[r].width, row[r].read);
        td_set(after.bytes, TD_L2_RESULT_BASE, row[r].write);
        second = load(&bare, &after, 4);
        second.bar[4] = dst.iova;
        second.bar[5] = src.iova;
        assert_true(bare_run(&bare, &first));
        assert_true(bare_run(&bare, &second));
        for (unsigned i = 0; i < row[r].width; i++) {
            int from = ((int)row[r].read - (int)row[r].write) / 2 + (int)i;
            double want = from >= 0 && from < (int)row[r].width ? from + 1 : 0;

            if (get_half(&bare, dst.iova + 2 * i) != want)
                fail_msg("row %u, element %u: %g, expected %g", r, i, get_half(&bare, dst.iova + 2 * i),
                         want);
        }
    }
    ane_machine_destroy(machine);
}

static void a_hole_in_a_tensor_faults_and_writes_nothing(void **state)
{
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    struct test_program program;
    struct bare_request request;
    struct bare_buffer src = bare_buffer(&bare, 0x8000), dst = bare_buffer(&bare, 0x8000);
    uint32_t hole = src.iova + BARE_PAGE, info = 0;
    uint64_t page = bare_physical(&bare, hole);
    uint8_t byte;

    (void)state;
    relu_program(&program, 16384);
    request = load(&bare, &program, 4);
    request.bar[4] = dst.iova;
    request.bar[5] = src.iova;
    bare_fill(&bare, dst.iova, 0xcc, 0x8000);
    bare_map(&bare, hole, 0);
    bare_invalidate(&bare);
    bare_push(&bare, &request);
    assert_false(bare_wait(&bare)); /* without firmware the request waits for the page (test_stuck.c) */
    assert_int_equal(bare_tm(&bare, TM_COUNT), 0);
    /* Source 1 of the descriptor, on queue 4. */
    assert_int_equal(bare_tm(&bare, TM_ERROR1), 2u << 16 | 4u << 8 | 2);
    assert_int_equal(bare_tm(&bare, TM_ERROR1 + 4), request.first);
    assert_int_equal(bare_tm(&bare, TM_ERROR1 + 8), src.iova);
    /* DART 1 reads sources: flag, stream 0, no page (bit 2); the address is the hole's first byte. */
    assert_int_equal(bare_dart(&bare, 1, DART_ERROR), 1u << 31 | 1u << 2);
    assert_int_equal(bare_dart(&bare, 1, DART_ADDR_LO), hole);
    assert_int_equal(bare_dart(&bare, 1, DART_ADDR_HI), 0);
    assert_int_equal(bare_dart(&bare, 0, DART_ERROR), 0);
    assert_int_equal(bare_dart(&bare, 2, DART_ERROR), 0);
    assert_int_equal(ane_machine_dart_interrupt(machine), 1);
    for (uint32_t i = 0; i < 0x8000; i += 37) {
        bare_get(&bare, dst.iova + i, &byte, 1);
        assert_int_equal(byte, 0xcc);
    }
    /* The driver clears the capture, mends the hole, and the request goes on. */
    ane_machine_write32(machine, bare.map.dart[1] + DART_ERROR, bare_dart(&bare, 1, DART_ERROR));
    bare_tm_write(&bare, TM_ERROR1, 0);
    assert_int_equal(bare_dart(&bare, 1, DART_ERROR), 0);
    assert_int_equal(ane_machine_dart_interrupt(machine), 0);
    bare_map(&bare, hole, page);
    put_halfs(&bare, src.iova + 0x7ffe, (double[]){5}, 1);
    bare_invalidate(&bare);
    assert_true(bare_wait(&bare));
    assert_int_equal(bare_finish(&bare, &request, &info), 1);
    assert_int_equal(info, 0x05000000 | 0x40 << 16);
    assert_true(get_half(&bare, dst.iova + 0x7ffe) == 5);
    assert_int_equal(bare_tm(&bare, TM_ERROR1), ERROR_FINE);
    ane_machine_destroy(machine);
}

/*
 * A queue's addresses have 32 bits and DRAM is above them: on a bypass stream they are physical, so none is
 * memory.
 */
static void a_bypass_stream_of_the_engine_reaches_no_dram(void **state)
{
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    struct test_program program;
    struct bare_request request;

    (void)state;
    relu_program(&program, 32);
    request = load(&bare, &program, 4);
    request.bar[4] = request.bar[5] = bare_buffer(&bare, 64).iova;
    assert_true(bare_run(&bare, &request));
    bare_tq_write(&bare, 4, 0x138, 13);
    bare_push(&bare, &request);
    assert_false(bare_wait(&bare));
    assert_int_equal(bare_dart(&bare, 0, DART_ERROR), 1u << 31 | 13u << 24 | 1u << 11);
    assert_int_equal(bare_dart(&bare, 0, DART_ADDR_LO), request.first);
    ane_machine_destroy(machine);
}

static void the_fourth_window_of_the_dart_answers_and_holds_nothing(void **state)
{
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    uint64_t unanswered = ane_machine_counter(machine, "bus.unanswered");

    (void)state;
    assert_true(bare.map.dapf == bare.map.dart[0] + 0x4000);
    for (uint32_t offset = 0; offset < 0x4000; offset += 0x3fc) {
        ane_machine_write32(machine, bare.map.dapf + offset, 0xffffffff);
        assert_int_equal(ane_machine_read32(machine, bare.map.dapf + offset), 0);
    }
    assert_int_equal(ane_machine_counter(machine, "bus.unanswered"), unanswered);
    ane_machine_destroy(machine);
}

static void first_failing_operand_is_named_in_order(void **state)
{
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    struct test_program program;
    struct bare_request request;

    (void)state;
    test_assemble(&program, "%s", test_text_add);
    td_set_shape(program.bytes, &(struct td_shape){1, 1, 1, 32});
    request = load(&bare, &program, 4);
    request.bar[4] = 0x40000000; /* nothing is mapped there */
    request.bar[5] = 0x50000000;
    request.bar[6] = bare_buffer(&bare, 64).iova;
    bare_push(&bare, &request);
    assert_false(bare_wait(&bare));
    assert_int_equal(bare_dart(&bare, 1, DART_ADDR_LO), 0x50000000); /* source 2 before the destination */
    assert_int_equal(bare_dart(&bare, 2, DART_ERROR), 0);
    ane_machine_destroy(machine);
}

/* Pushes a program that must leave its queue stuck with this kind of problem; then both ways out. */
static void expect_stuck(const struct test_program *program, uint32_t kind, bool power_cycle)
{
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    struct bare_request request = load(&bare, program, 3);
    struct bare_buffer buffer = bare_buffer(&bare, 0x8000);
    struct ane_machine_problem problem = {.size = sizeof(problem)};
    struct test_program good;
    struct bare_request next;

    assert_int_equal(ane_machine_problem(machine, &problem), -ENOENT);
    for (unsigned i = 4; i < 7; i++)
        request.bar[i] = buffer.iova;
    bare_push(&bare, &request);
    assert_false(bare_wait(&bare));
    /* The registers say that a descriptor was refused; why is the model's own finding. */
    assert_int_equal(bare_tm(&bare, TM_ERROR1), 3u << 8 | 1);
    assert_int_equal(ane_machine_problem(machine, &problem), 0);
    assert_int_equal(problem.kind, kind);
    assert_int_equal(problem.queue, 3);
    assert_true(problem.count == 1 && problem.text[0]);
    relu_program(&good, 8);
    next = load(&bare, &good, 5);
    next.bar[4] = next.bar[5] = buffer.iova;
    put_halfs(&bare, buffer.iova, (double[]){-1, 2}, 2);
    if (power_cycle) {
        for (unsigned i = 0; i < 7; i++)
            ane_machine_write32(machine, bare.map.pmu + 8 * i, 0x300);
        assert_int_equal(bare_tm(&bare, TM_STATUS), 0); /* nobody answers without power */
        for (unsigned i = 0; i < 7; i++)
            ane_machine_write32(machine, bare.map.pmu + 8 * i, 0xf);
        ane_machine_write32(machine, bare.map.dart[0] + 0x200, (uint32_t)(bare.table >> 12) | 1u << 31);
        bare_enable(&bare);
    } else {
        bare_tm_write(&bare, TM_ABORT, 1 << 3);
        bare_tm_write(&bare, TM_ERROR1, 0);
    }
    assert_true(bare_run(&bare, &next));
    assert_true(get_half(&bare, buffer.iova) == 0);
    assert_true(get_half(&bare, buffer.iova + 2) == 2);
    ane_machine_destroy(machine);
}

static void bad_descriptors_leave_the_queue_stuck(void **state)
{
    struct test_program program;

    (void)state;
    /* Declared larger than its records: the bytes that follow are taken for records, and are none. */
    relu_program(&program, 16);
    program.first_words += 8;
    expect_stuck(&program, 0x02, false);
    /* A record nobody knows. */
    relu_program(&program, 16);
    td_set(program.bytes, 0x28, 0xf4012340);
    expect_stuck(&program, 0x03, false);
    /* Bits nobody explains. */
    relu_program(&program, 16);
    td_set(program.bytes, TD_CFG, td_get(program.bytes, TD_CFG) | 1u << 31);
    expect_stuck(&program, 0x04, true);
    /* A loop: the second descriptor names itself. */
    through_l2(&program, 16, 0);
    td_set(program.bytes, 0x300 + TD_NEXT, 0x300);
    td_set(program.bytes, 0x300 + TD_W1, td_get(program.bytes, TD_W1));
    td_set(program.bytes, 0x300 + TD_W8, td_get(program.bytes, 0x300 + TD_W8) | 1u << 23);
    program.count = 1000;
    expect_stuck(&program, 0x06, true);
    /* Something this model does not do. */
    relu_program(&program, 16);
    td_set(program.bytes, TD_MAC_CFG, td_get(program.bytes, TD_MAC_CFG) | 3u << 16);
    expect_stuck(&program, 0x07, false);
    /* A result whose elements lie on each other. */
    relu_program(&program, 16);
    td_set(program.bytes, TD_OUT_DIM, 4 << 16 | 16);
    td_set(program.bytes, TD_IN_DIM, 4 << 16 | 16);
    td_set(program.bytes, TD_DST_ROW, 0);
    expect_stuck(&program, 0x08, false);
    /* More work than the machine allows is a limit, not a hang. */
    relu_program(&program, 16);
    td_set(program.bytes, TD_IN_DIM, 0x7fff7fff);
    expect_stuck(&program, 0x09, false);
}

static void the_interrupt_line_follows_events(void **state)
{
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    struct test_program program;
    struct bare_request request;
    struct bare_buffer buffer = bare_buffer(&bare, 64);
    uint32_t info;

    (void)state;
    relu_program(&program, 8);
    request = load(&bare, &program, 4);
    request.bar[4] = request.bar[5] = buffer.iova;
    assert_int_equal(ane_machine_interrupt(machine), 0);
    bare_push(&bare, &request);
    assert_int_equal(ane_machine_interrupt(machine), 0);
    assert_int_equal(ane_machine_run(machine, 1000000), 0);
    assert_int_equal(ane_machine_interrupt(machine), 1);
    assert_int_equal(bare_finish(&bare, &request, &info), 1);
    assert_int_equal(info >> 16 & 0xff, 0x40); /* the network id the driver forced */
    assert_int_equal(ane_machine_interrupt(machine), 0);
    ane_machine_destroy(machine);
}

/* Those of the published device trees. */
static void the_map_has_the_published_interrupts(void **state)
{
    static const uint32_t published[][2] = {
        [ANE_CHIP_T6000] = {0x302, 0x303}, [ANE_CHIP_T8103] = {0x1a0, 0x1a1}};

    (void)state;
    for (uint32_t chip = 0; chip < 2; chip++) {
        struct ane_machine_config config = {.size = sizeof(config), .chip = chip};
        struct ane_machine_map map = {.size = sizeof(map)};
        struct ane_machine *machine;

        assert_int_equal(ane_machine_create(&config, &machine), 0);
        assert_int_equal(ane_machine_map(machine, &map), 0);
        assert_int_equal(map.interrupt, published[chip][0]);
        assert_int_equal(map.dart_interrupt, published[chip][1]);
        ane_machine_destroy(machine);
    }
}

/* What the maintained Linux driver waits for on both lines; it takes any other word for a time-out. */
static void a_completion_has_the_published_word(void **state)
{
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    struct bare_buffer buffer = bare_buffer(&bare, 64);

    (void)state;
    for (uint32_t descriptors = 1; descriptors <= 2; descriptors++) {
        struct test_program program;
        struct bare_request request;
        uint32_t info;

        if (descriptors == 1)
            relu_program(&program, 8);
        else
            through_l2(&program, 20, 0x40);
        request = load(&bare, &program, 3 + descriptors);
        assert_int_equal(request.count, descriptors);
        request.bar[4] = request.bar[5] = buffer.iova;
        bare_push(&bare, &request);
        assert_true(bare_wait(&bare));
        for (unsigned line = 0; line < 2; line++) {
            assert_int_equal(bare_tm(&bare, TM_INFO(line)), 0x05000000 | 0x40 << 16 | (descriptors - 1));
            assert_int_equal(bare_tm(&bare, TM_UNK1(line)), 3 + descriptors); /* the queue */
        }
        bare_finish(&bare, &request, &info);
    }
    ane_machine_destroy(machine);
}

/* The word at +0x2500c of the engine's registers, one for each queue: how many of its two slots are free. */
static uint32_t vacancy(struct ane_machine *machine, uint32_t queue)
{
    return ane_machine_read32(machine, 0x285c00000ull + 0x2500c + 0x148 * queue);
}

static void expect_vacancy(struct bare *bare, uint32_t second, uint32_t sixth)
{
    for (uint32_t queue = 0; queue < 8; queue++) {
        assert_int_equal(vacancy(bare->machine, queue), queue == 2 ? second : queue == 6 ? sixth : 2);
        assert_int_equal(bare_tq(bare, queue, 0x14), vacancy(bare->machine, queue));
    }
}

static void vacancy_follows_the_slots(void **state)
{
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    struct bare_buffer buffer = bare_buffer(&bare, 64);
    struct bare_request second, sixth;
    struct test_program program;
    uint32_t info;

    (void)state;
    relu_program(&program, 8);
    second = load(&bare, &program, 2);
    sixth = load(&bare, &program, 6);
    second.bar[4] = second.bar[5] = sixth.bar[4] = sixth.bar[5] = buffer.iova;
    expect_vacancy(&bare, 2, 2);
    bare_push(&bare, &second);
    expect_vacancy(&bare, 1, 2);
    bare_push(&bare, &sixth);
    bare_push(&bare, &second);
    expect_vacancy(&bare, 0, 1);
    /* Full: a third push is lost, and the word cannot be written. */
    bare_push(&bare, &second);
    assert_int_not_equal(bare_tm(&bare, TM_ERROR1), ERROR_FINE);
    ane_machine_write32(machine, 0x285c00000ull + 0x2500c + 0x148 * 2, 2);
    expect_vacancy(&bare, 0, 1);
    assert_true(bare_wait(&bare));
    expect_vacancy(&bare, 2, 2);
    assert_int_equal(bare_finish(&bare, &second, &info), 3); /* two of queue 2, one of queue 6 */
    ane_machine_destroy(machine);
}

struct outcome {
    uint64_t hash, now;
    uint8_t bytes[4096];
};

/* A run with several programs, queues and a fault, everything random but seeded. */
static void eventful_run(const struct ane_machine_config *config, struct outcome *outcome)
{
    const struct test_conv conv = {.cin = 5,
                                   .cout = 17,
                                   .h = 9,
                                   .w = 13,
                                   .k = 3,
                                   .pad = 1,
                                   .lanes_log2 = 1,
                                   .engines_log2 = 3,
                                   .bias = 1};
    struct td_shape out = test_conv_out(&conv);
    struct bare bare;
    struct ane_machine *machine = make(&bare, config);
    struct test_program program;
    struct test_rng rng;
    struct bare_request request, second;
    struct bare_buffer src = bare_buffer(&bare, 0x4000), dst = bare_buffer(&bare, td_total(&out));
    struct bare_buffer kernel = bare_buffer(&bare, test_conv_kernel_bytes(&conv));
    uint32_t info;

    memset(outcome, 0, sizeof(*outcome));
    test_rng_init(&rng, 7);
    for (uint32_t i = 0; i < 0x4000; i += 2) {
        uint16_t bits = test_rng_fp16_finite(&rng, 2.0);

        bare_put(&bare, src.iova + i, &bits, 2);
        bits = test_rng_fp16_finite(&rng, 0.5);
        if (i < kernel.bytes)
            bare_put(&bare, kernel.iova + i, &bits, 2);
    }
    test_program_conv(&program, &conv);
    request = load(&bare, &program, 4);
    request.bar[1] = kernel.iova;
    request.bar[4] = dst.iova;
    request.bar[5] = src.iova;
    through_l2(&program, 100, 0x200);
    second = load(&bare, &program, 2);
    second.bar[4] = dst.iova + 64 * 100;
    second.bar[5] = src.iova;
    bare_push(&bare, &request);
    bare_push(&bare, &second);
    assert_true(bare_wait(&bare));
    assert_int_equal(bare_finish(&bare, &request, &info), 2);
    request.bar[5] = 0x70000000;
    assert_false(bare_run(&bare, &request));
    bare_get(&bare, dst.iova, outcome->bytes, sizeof(outcome->bytes));
    outcome->hash = ane_machine_trace_hash(machine);
    outcome->now = ane_machine_now(machine);
    ane_machine_destroy(machine);
}

static void the_same_run_gives_the_same_trace_and_bytes(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .strict_tlb = 1, .trace = 1};
    struct outcome first, again;

    (void)state;
    eventful_run(&config, &first);
    assert_true(first.now > 0);
    for (unsigned i = 0; i < 3; i++) {
        config.threads = i + 1;
        config.reference = i == 2;
        eventful_run(&config, &again);
        assert_memory_equal(&first, &again, sizeof(first));
    }
    /* scripts/run-tests compares this between compilers. */
    print_message("# agree trace-hash 0x%016llx\n", (unsigned long long)first.hash);
}

static void machines_do_not_disturb_each_other(void **state)
{
    struct ane_machine_config other = {
        .size = sizeof(other), .chip = ANE_CHIP_T8103, .page_table = ANE_PAGE_TABLE_T6000, .trace = 1};
    struct outcome alone, beside;
    struct bare bare;
    struct ane_machine *neighbour;
    struct test_program program;
    struct bare_request request;
    struct bare_buffer buffer;

    (void)state;
    eventful_run(&(struct ane_machine_config){.size = sizeof(other), .trace = 1}, &alone);
    neighbour = make(&bare, &other);
    relu_program(&program, 16);
    buffer = bare_buffer(&bare, 64);
    request = load(&bare, &program, 4);
    request.bar[4] = request.bar[5] = buffer.iova;
    put_halfs(&bare, buffer.iova, (double[]){-4, 4}, 2);
    bare_push(&bare, &request); /* in flight while the other one runs from end to end */
    eventful_run(&(struct ane_machine_config){.size = sizeof(other), .trace = 1}, &beside);
    assert_memory_equal(&alone, &beside, sizeof(alone));
    assert_true(bare_wait(&bare));
    assert_true(get_half(&bare, buffer.iova) == 0);
    assert_true(get_half(&bare, buffer.iova + 2) == 4);
    ane_machine_destroy(neighbour);
}

static void bad_configurations_are_named(void **state)
{
    static const struct ane_machine_config bad[] = {
        {.size = 3},
        {.size = sizeof(bad[0]), .chip = 9},
        {.size = sizeof(bad[0]), .numerics = 9},
        {.size = sizeof(bad[0]), .winograd = 2},
        {.size = sizeof(bad[0]), .page_table = 9},
        {.size = sizeof(bad[0]), .engines = 2},
        {.size = sizeof(bad[0]), .firmware = 1, .dram_bytes = 1 << 20},
        {.size = sizeof(bad[0]), .threads = 1000},
        {.size = sizeof(bad[0]), .in_flight = 2},
        {.size = sizeof(bad[0]), .dram_bytes = 1ull << 60},
    };
    struct {
        struct ane_machine_config config;
        uint64_t later;
    } newer = {.config = {.size = sizeof(newer)}};
    struct ane_machine *machine;

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(ane_machine_create(&bad[i], &machine), -EINVAL);
        assert_null(machine);
        assert_true(strlen(ane_machine_error()) > 20);
    }
    assert_int_equal(ane_machine_create(&newer.config, &machine),
                     0); /* a newer struct with nothing new set */
    ane_machine_destroy(machine);
    newer.later = 1;
    assert_int_equal(ane_machine_create(&newer.config, &machine), -EINVAL);
    assert_int_equal(ane_machine_create(NULL, NULL), -EINVAL);
    assert_int_equal(ane_machine_create(NULL, &machine), 0);
    assert_null(ane_machine_dram(machine, 0x1000, 4));
    assert_true(strlen(ane_machine_error()) > 20);
    assert_int_equal(ane_machine_counter(machine, "no such counter"), 0);
    ane_machine_destroy(machine);
    ane_machine_destroy(NULL);
}

/* A read that was not made has a value that no driver takes for "busy" or "idle". */
static struct ane_machine *traced;
static uint32_t read_while_traced;

static void read_from_the_trace(void *context, const char *line, size_t length)
{
    (void)context, (void)line, (void)length;
    if (traced)
        read_while_traced = ane_machine_read32(traced, 0);
}

static void a_read_that_was_not_made_is_all_ones(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .trace = 1, .trace_fn = read_from_the_trace};
    struct ane_machine *machine;

    (void)state;
    assert_int_equal(ane_machine_read32(NULL, 0), UINT32_MAX);
    assert_non_null(strstr(ane_machine_error(), "NULL"));
    assert_int_equal(ane_machine_create(&config, &machine), 0);
    traced = machine;
    assert_int_equal(ane_machine_read32(machine, 0x1000), 0); /* no block answers: a line of trace */
    traced = NULL;
    assert_int_equal(read_while_traced, UINT32_MAX);
    ane_machine_destroy(machine);
}

static void a_forked_child_is_refused(void **state)
{
    struct bare bare;
    struct ane_machine *machine = make(&bare, NULL);
    uint64_t address;
    int status;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        bool refused = ane_machine_dram_alloc(machine, 1, &address) == -EPERM &&
                       ane_machine_run(machine, 1) == -EPERM &&
                       ane_machine_dram(machine, bare.map.dram, 4) == NULL &&
                       ane_machine_line_handler(machine, ANE_LINE_ENGINE, NULL, NULL) == -EPERM &&
                       ane_machine_line_eventfd(machine, ANE_LINE_ENGINE, -1) == -EPERM &&
                       ane_machine_dram_file(machine) == -EPERM && bare_tm(&bare, TM_STATUS) == UINT32_MAX &&
                       strstr(ane_machine_error(), "forked");

        _exit(refused ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(bare_tm(&bare, TM_STATUS), 1);
    ane_machine_destroy(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_weight_and_a_changed_register_show),
        cmocka_unit_test(a_completion_has_the_published_word),
        cmocka_unit_test(the_map_has_the_published_interrupts),
        cmocka_unit_test(queues_do_not_see_each_other),
        cmocka_unit_test(l2_is_empty_when_a_network_starts),
        cmocka_unit_test(l2_is_empty_where_a_network_has_not_written),
        cmocka_unit_test(a_hole_in_a_tensor_faults_and_writes_nothing),
        cmocka_unit_test(a_bypass_stream_of_the_engine_reaches_no_dram),
        cmocka_unit_test(the_fourth_window_of_the_dart_answers_and_holds_nothing),
        cmocka_unit_test(first_failing_operand_is_named_in_order),
        cmocka_unit_test(bad_descriptors_leave_the_queue_stuck),
        cmocka_unit_test(the_interrupt_line_follows_events),
        cmocka_unit_test(vacancy_follows_the_slots),
        cmocka_unit_test(the_same_run_gives_the_same_trace_and_bytes),
        cmocka_unit_test(machines_do_not_disturb_each_other),
        cmocka_unit_test(bad_configurations_are_named),
        cmocka_unit_test(a_read_that_was_not_made_is_all_ones),
        cmocka_unit_test(a_forked_child_is_refused),
    };

    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
