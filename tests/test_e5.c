/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.e5 below the compiler: descriptors written and read back, every field
 * of the file and of a record, and random bytes.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/store/bundle.h"
#include "graphrig.h"
#include "program/chain.h"
#include "program/e5.h"
#include "program/flat.h"
#include "program/td_write.h"

/* A file with a convolution, an addition of two sources and a reduction. */
struct sample {
    struct cc_program *program;
    uint8_t *bytes;
    size_t size;
    struct pr_e5 e5;
};

static struct sample sample;

static int make_sample(void **state)
{
    struct base_error error;
    struct pr_problem problem;
    uint32_t x, y;
    struct gr g;

    (void)state;
    gr_open(&g, 1, GR_WHOLE);
    g.flags = CC_LOWER_DRAM;
    x = gr_input(&g, "x", CC_FP32, GR(2, 3, 5, 7));
    y = gr_input(&g, "second", CC_FP16, GR(4, 1, 1));
    x = gr_conv(&g, gr_cast(&g, x, CC_FP16), gr_const(&g, GR(4, 3, 1, 1)), gr_const(&g, GR(4)),
                (uint32_t[4]){0});
    x = gr_binary(&g, CC_OP_SUB, x, y);
    gr_output(&g, x);
    gr_output(&g, gr_mean(&g, x, 12, true));
    sample.program = gr_lower(&g);
    gr_close(&g);
    assert_int_equal(cc_bundle_main(sample.program, &sample.bytes, &sample.size, &error), 0);
    if (!pr_e5_read(sample.bytes, sample.size, &sample.e5, &problem))
        fail_msg("%s", problem.text);
    return 0;
}

static int drop_sample(void **state)
{
    (void)state;
    cc_program_destroy(sample.program);
    base_free(sample.bytes);
    return 0;
}

static void descriptors_come_back(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x10);
    assert_int_equal(PR_TD_WORDS_FULL, 157);
    for (unsigned round = 0; round < 50; round++) {
        uint8_t bytes[PR_TD_WORDS_FULL * 4];
        struct pr_image image, back = {{0}};
        struct pr_td_head head = {{0}};
        struct pr_problem problem;
        struct pr_td td;

        for (unsigned i = 0; i < PR_IMAGE_WORDS; i++)
            image.word[i] = test_rng_u32(&rng) & pr_image_known_bits(i);
        for (unsigned i = 0; i < PR_H_COUNT; i++)
            if (i != PR_H_TDE)
                pr_td_head_put(&head, (enum pr_td_header_field)i, test_rng_u32(&rng));
        pr_td_write(&head, &image, bytes);
        if (!pr_td_read(bytes, PR_TD_WORDS_FULL, &td, &problem) || !pr_td_explained(&td, &problem))
            fail_msg("%s", problem.text);
        pr_td_apply(&td, &back);
        assert_memory_equal(&back, &image, sizeof(image));
        assert_memory_equal(td.word, head.word, sizeof(head.word));
    }
}

static void the_file_says_what_went_in(void **state)
{
    const struct pr_e5 *e = &sample.e5;

    (void)state;
    assert_memory_equal(sample.bytes + 4, "ANE5", 4);
    assert_string_equal(e->function, "main");
    assert_int_equal(e->ports, 4);
    assert_string_equal(e->port[0].name, "x");
    assert_int_equal(e->port[0].direction, PR_HWX_INPUT);
    assert_int_equal(e->port[0].type, 1);
    assert_int_equal(e->port[0].rank, 4);
    assert_int_equal(e->port[0].dim[3], 7);
    assert_int_equal(e->port[0].row, 64);
    assert_int_equal(e->port[0].plane, 5 * 64);
    assert_int_equal(e->port[0].bytes, 2 * 3 * 5 * 64);
    assert_string_equal(e->port[1].name, "second");
    assert_int_equal(e->port[1].rank, 3);
    assert_int_equal(e->port[1].c, 4);
    assert_int_equal(e->port[2].direction, PR_HWX_OUTPUT);
    assert_int_equal(e->records, sample.program->records);
    assert_memory_equal(e->record, sample.program->record, e->records * PR_E5_RECORD_BYTES);
    assert_int_equal(e->constant_bytes, sample.program->constant_bytes);
    assert_int_equal(e->intermediate_bytes, sample.program->intermediate_bytes);
    /* Outputs have the first buffers. */
    assert_int_equal(e->port[2].bar, 4);
    assert_int_equal(e->port[3].bar, 5);
    assert_int_equal(e->port[0].bar, 6);
    assert_int_equal(e->port[1].bar, 7);
}

/* Which ports have a buffer of their own, and where the others are. */
static void ports_share_buffers(void **state)
{
    static const struct {
        uint32_t inputs, outputs, in, out; /* ports and buffers */
    } row[] = {{1, 1, 1, 1},    {14, 14, 14, 14}, {27, 1, 27, 1},   {1, 27, 1, 27},
               {28, 1, 27, 1},  {15, 14, 14, 14}, {14, 15, 14, 14}, {100, 60, 14, 14},
               {200, 5, 23, 5}, {3, 253, 3, 25},  {255, 1, 27, 1}};
    static struct pr_e5 e5;
    struct pr_hwx_port image[PR_E5_PORT_BUFFERS];
    struct pr_problem problem;

    (void)state;
    for (unsigned r = 0; r < sizeof(row) / sizeof(row[0]); r++) {
        uint32_t end[PR_TQ_BARS] = {0}, used = 0;

        memset(&e5, 0, sizeof(e5));
        for (e5.ports = 0; e5.ports < row[r].inputs + row[r].outputs; e5.ports++)
            e5.port[e5.ports] =
                (struct pr_e5_port){.name = "p",
                                    .direction = e5.ports < row[r].inputs ? PR_HWX_INPUT : PR_HWX_OUTPUT,
                                    .n = 1,
                                    .c = 1,
                                    .h = 1 + e5.ports % 3,
                                    .w = 32,
                                    .bytes = 64 * (1 + e5.ports % 3)};
        assert_true(pr_e5_place(&e5, &problem));
        assert_int_equal(pr_e5_buffers(&e5, PR_HWX_INPUT), row[r].in);
        assert_int_equal(pr_e5_buffers(&e5, PR_HWX_OUTPUT), row[r].out);
        for (uint32_t i = 0; i < e5.ports; i++) {
            const struct pr_e5_port *p = &e5.port[i];
            bool input = i < row[r].inputs;

            assert_in_range(p->bar, input ? 4 + row[r].out : 4,
                            input ? 3 + row[r].out + row[r].in : 3 + row[r].out);
            assert_int_equal(p->offset, end[p->bar]);
            end[p->bar] += p->bytes;
            used |= 1u << p->bar;
        }
        for (uint32_t i = 0; i < e5.ports; i++)
            assert_int_equal(e5.port[i].packed, end[e5.port[i].bar] != e5.port[i].bytes);
        assert_int_equal(__builtin_popcount(used), row[r].in + row[r].out);
        assert_int_equal(pr_e5_image_ports(&e5, image), row[r].in + row[r].out);
        for (uint32_t i = 0; i < row[r].in + row[r].out; i++)
            assert_int_equal(image[i].bytes, end[image[i].bar]);
    }
    e5.port[200].bytes = e5.port[201].bytes = PR_E5_BYTES_MAX;
    assert_false(pr_e5_place(&e5, &problem));
    assert_non_null(strstr(problem.text, "share buffer"));
}

static void the_stream_is_a_chain(void **state)
{
    const struct pr_e5 *e = &sample.e5;
    struct pr_chain_link link[16];
    struct pr_problem problem;
    uint32_t words, found;
    uint8_t text[16 * 0x300 + 1];
    size_t size = pr_e5_expand(e, NULL, 0, &words, &problem);

    (void)state;
    assert_int_equal(size, e->records * 0x300);
    assert_int_equal(words, 157);
    memset(text, 0xa5, sizeof(text));
    assert_int_equal(pr_e5_expand(e, text, size - 1, &words, &problem), size);
    assert_int_equal(text[size - 0x300], 0xa5); /* the last does not fit and is not begun */
    assert_int_equal(pr_e5_expand(e, text, size, &words, &problem), size);
    assert_int_equal(text[size], 0xa5);
    assert_true(pr_chain_read(text, size, words, e->records, link, 16, &found, &problem));
    assert_int_equal(found, e->records);
}

/* Changes to record 0, a convolution, or the record given, and the word that names the reason. */
static void expect_refusal(const struct pr_e5_record *changed, uint32_t index, const char *word)
{
    struct pr_e5_record *records = malloc(sample.e5.records * sizeof(*records));
    struct pr_e5 e5 = sample.e5;
    struct pr_problem problem = {0};
    uint32_t words;

    assert_non_null(records);
    memcpy(records, sample.program->record, sample.e5.records * sizeof(*records));
    records[index] = *changed;
    e5.record = (const uint8_t *)records;
    assert_int_equal(pr_e5_expand(&e5, NULL, 0, &words, &problem), 0);
    if (!strstr(problem.text, word) || problem.descriptor != index)
        fail_msg("descriptor %u: \"%s\" does not say \"%s\"", problem.descriptor, problem.text, word);
    free(records);
}

static void records_are_checked(void **state)
{
    const struct pr_e5_record *all = sample.program->record;
    uint32_t sub = 0, mean = 0;

    (void)state;
    for (uint32_t i = 0; i < sample.e5.records; i++) {
        sub = all[i].kind == PR_E5_ELEMENTWISE2 ? i : sub;
        mean = all[i].kind == PR_E5_REDUCE ? i : mean;
    }
    assert_int_equal(all[0].kind, PR_E5_CONV);
    assert_true(sub && mean);
#define REFUSED(at, change, word)        \
    do {                                 \
        struct pr_e5_record r = all[at]; \
                                         \
        change;                          \
        expect_refusal(&r, at, word);    \
    } while (0)
    REFUSED(0, r.kind = 0, "kind");
    REFUSED(0, r.kind = 10, "kind");
    REFUSED(0, r.flags |= 0x800, "flags");
    REFUSED(0, r.flags |= PR_E5_ABS, "flags");
    REFUSED(0, r.flags |= PR_E5_TABLE | PR_E5_RELU, "contradict");
    REFUSED(0, r.in[0] = 0, "extent");
    REFUSED(0, r.in[0] = 16385, "extent");
    REFUSED(0, r.out[2] = 65537, "extent");
    REFUSED(0, r.in[3] = r.out[3] = 8192, "extent");
    REFUSED(0, r.in[3] = 2, "groups");
    REFUSED(0, r.in[3] = r.out[3] = 2, "CoeffBfrSize[0] holds");
    REFUSED(0, r.depth = 16385, "depth");
    REFUSED(0, r.kw = 32, "geometry");
    REFUSED(0, r.kw = 0, "Kw");
    REFUSED(0, r.px = 32, "geometry");
    REFUSED(0, r.lanes_log2 = 6, "geometry");
    REFUSED(0, r.engines_log2 = 5, "geometry");
    REFUSED(0, r.kernel += 32, "64-byte boundary");
    REFUSED(0, r.kernel = 0x40000000, "ends after the buffer");
    REFUSED(0, r.kernel_bytes = 0xffffffc0, "ends after the buffer");
    REFUSED(0, r.kernel_bytes = 0, "CoeffBfrSize");
    REFUSED(0, r.flags |= PR_E5_TABLE, "CoeffBfrSize");
    REFUSED(0, r.sx = 4, "geometry");
    REFUSED(0, r.unicast = 0x10000, "geometry");
    REFUSED(0, r.unicast = 2, "UnicastCin");
    REFUSED(0, r.kernel_place = 9, "place");
    REFUSED(0, (r.kernel_place = PR_E5_PORT, r.kernel_index = 9), "port that does not exist");
    REFUSED(0, (r.kernel_place = PR_E5_PORT, r.kernel_index = 1, r.kernel = 0x100), "ends after the buffer");
    REFUSED(0, (r.kernel_place = PR_E5_INTERMEDIATE, r.kernel_index = 1), "index");
    REFUSED(0, r.flags |= PR_E5_ONES | PR_E5_BIAS, "bias row");
    REFUSED(0, r.flags |= PR_E5_SPARSE | PR_E5_ONES, "leaves zeros out");
    REFUSED(0, (r.flags |= PR_E5_SPARSE, r.unicast = 1), "leaves zeros out");
    REFUSED(0, (r.flags |= PR_E5_SPARSE, r.kernel_place = PR_E5_PORT), "leaves zeros out");
    REFUSED(0, r.slice = 0x10000, "slice");
    REFUSED(0, r.slice = 0x4000, "spans");
    REFUSED(0, r.interleave = 3, "interleave");
    REFUSED(0, r.function = 1, "planar engine does");
    REFUSED(0, r.zero[7] = 1, "reserved");
    REFUSED(0, r.src[0].place = 9, "place");
    REFUSED(0, r.src[0].place = PR_E5_NONE, "place");
    REFUSED(0, r.src[0].index = 4, "port that does not exist");
    REFUSED(0, r.src[0].offset = 2, "multiple of 64");
    REFUSED(0, r.src[0].row = 96, "multiple of 64");
    REFUSED(0, r.src[0].plane = 0xffffffc0, "spans");
    REFUSED(0, r.src[0].offset += 0x400, "spans");
    REFUSED(0, r.src[1] = r.src[0], "has two");
    REFUSED(0, r.dst.plane = 0x10000, "spans");
    REFUSED(0, (r.dst.place = PR_E5_PORT, r.dst.index = 0), "an input");
    REFUSED(0, r.dst.place = PR_E5_CONSTANT, "constant");
    REFUSED(0, (r.dst.place = PR_E5_L2, r.dst.offset = 8), "in L2 of 16");
    REFUSED(0, (r.dst.place = PR_E5_L2, r.dst.offset = 0x200000), "larger than L2");
    REFUSED(0, (r.dst.place = PR_E5_L2, r.dst.group = 0x200000), "larger than L2");
    REFUSED(0, (r.dst.place = PR_E5_L2, r.dst.offset = 0x1ffff0), "L2 ends at");
    REFUSED(0, (r.dst.place = PR_E5_L2, r.dst.index = 1), "index");
    REFUSED(0, (r.dst.place = PR_E5_L2, r.interleave = 4), "those are for DMA");
    REFUSED(0, (r.src[0].place = PR_E5_L2, r.src[0].index = 0, r.slice = 1), "those are for DMA");
    REFUSED(0, r.kernel_place = PR_E5_L2, "a kernel comes by DMA");
    REFUSED(sub, r.broadcast = 0x100, "broadcast");
    REFUSED(sub, r.op = 5, "operation");
    REFUSED(sub, r.compare = 4, "operation");
    REFUSED(sub, (r.compare = 1, r.flags |= PR_E5_ABS), "magnitude");
    REFUSED(sub, r.unicast = 1, "neural task does");
    REFUSED(sub, r.flags |= PR_E5_TABLE, "flags");
    REFUSED(sub, r.flags |= PR_E5_SPARSE, "flags");
    REFUSED(sub, r.epsilon = 1, "reduction");
    REFUSED(sub, r.function = 1, "reduction");
    REFUSED(sub, r.op = PR_PE_MUL, "subtracted source");
    REFUSED(sub, r.src[1].index = 7, "port that does not exist");
    REFUSED(sub, r.src[1].place = PR_E5_NONE, "place");
    REFUSED(sub, (r.src[1].place = PR_E5_CONSTANT, r.src[1].offset = 0x10000, r.src[1].index = 0), "spans");
    REFUSED(sub, (r.src[1].place = PR_E5_INTERMEDIATE, r.src[1].index = 1), "index");
    REFUSED(sub, r.in[0] = 6, "extents");
    REFUSED(mean, r.flags = PR_E5_RELU, "ReLU");
    REFUSED(mean, r.op = 4, "operation");
    REFUSED(mean, r.function = 3, "operation");
    REFUSED(mean, r.elementwise = 5, "operation");
    REFUSED(mean, r.kind = PR_E5_REDUCE2, "place");
    REFUSED(mean, r.out[0] = 2, "extents");
#undef REFUSED
}

/*
 * Whatever is read must expand or be refused, and nothing outside the bytes is
 * touched: they are at the end of their memory.
 */
static bool survive(const uint8_t *bytes, size_t size)
{
    static struct pr_e5 e5;
    struct pr_problem problem = {0};
    uint8_t *copy = malloc(size ? size : 1);
    uint32_t words;
    bool read;

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    read = pr_e5_read(copy, size, &e5, &problem);
    if (!read || !pr_e5_expand(&e5, NULL, 0, &words, &problem))
        assert_true(problem.text[0] != '\0');
    free(copy);
    return read;
}

static void cut_files_are_refused(void **state)
{
    (void)state;
    for (size_t size = 0; size < sample.size; size++)
        survive(sample.bytes, size);
    assert_false(survive(sample.bytes, sample.size / 2));
    assert_false(survive(sample.bytes, 0));
}

static void changed_files_do_no_harm(void **state)
{
    uint8_t *bytes = malloc(sample.size);
    struct test_rng rng;

    (void)state;
    assert_non_null(bytes);
    test_rng_init(&rng, 0x20);
    memcpy(bytes, sample.bytes, sample.size);
    for (size_t i = 0; i < 8 * sample.size; i++) {
        bytes[i / 8] ^= (uint8_t)(1u << i % 8);
        survive(bytes, sample.size);
        bytes[i / 8] = sample.bytes[i / 8];
    }
    for (unsigned round = 0; round < 20000; round++) {
        for (int n = (int)test_rng_range(&rng, 1, 6); n > 0; n--) {
            size_t at = (size_t)test_rng_range(&rng, 0, (int64_t)sample.size - 4);
            uint32_t word =
                test_rng_bool(&rng) ? test_rng_u32(&rng) : (uint32_t)test_rng_range(&rng, -64, 64);

            memcpy(bytes + at, &word, test_rng_bool(&rng) ? 4 : 1);
        }
        survive(bytes, sample.size);
        memcpy(bytes, sample.bytes, sample.size);
    }
    free(bytes);
}

/* The same file as flatc writes it: other places, and no fields that have their default. */
static void another_writer_is_understood(void **state)
{
    static struct pr_e5 ours, theirs;
    struct pr_problem problem;
    uint32_t words;
    uint8_t *bytes[2];
    size_t size[2];

    (void)state;
    bytes[0] = test_file_read(TEST_SOURCE_ROOT "/tests/fuzz/seeds/e5/add", &size[0]);
    bytes[1] = test_file_read(TEST_SOURCE_ROOT "/tests/fuzz/seeds/e5/flatc", &size[1]);
    assert_non_null(bytes[0]);
    assert_non_null(bytes[1]);
    assert_true(size[0] != size[1] || memcmp(bytes[0], bytes[1], size[0]) != 0);
    if (!pr_e5_read(bytes[0], size[0], &ours, &problem) ||
        !pr_e5_read(bytes[1], size[1], &theirs, &problem) ||
        !pr_e5_expand(&theirs, NULL, 0, &words, &problem))
        fail_msg("%s", problem.text);
    assert_int_equal(ours.ports, theirs.ports);
    assert_memory_equal(ours.port, theirs.port, sizeof(ours.port));
    assert_memory_equal(ours.record, theirs.record, ours.records * PR_E5_RECORD_BYTES);
    free(bytes[0]);
    free(bytes[1]);
}

/* The reader alone: fields that are absent, offsets that lead outside or nowhere. */
static void the_reader_stays_inside(void **state)
{
    /* root at 16, its vtable at 8: two slots, the first absent, the second a u32 of 7 */
    static const uint8_t small[] = {16, 0, 0, 0, 'T', 'E', 'S', 'T', 8, 0, 8, 0,
                                    0,  0, 4, 0, 8,   0,   0,   0,   7, 0, 0, 0};
    uint8_t bytes[sizeof(small)];
    struct pr_flat_table root;
    struct pr_flat flat;

    (void)state;
    root = pr_flat_begin(&flat, small, sizeof(small), "TEST");
    assert_false(flat.broken);
    assert_int_equal(pr_flat_u32(&flat, &root, 0, 9), 9);
    assert_int_equal(pr_flat_u32(&flat, &root, 1, 9), 7);
    assert_int_equal(pr_flat_u32(&flat, &root, 2, 9), 9);
    assert_int_equal(pr_flat_u8(&flat, &root, 1, 9), 7);
    assert_false(flat.broken);
    assert_int_equal(pr_flat_u64(&flat, &root, 1, 9), 9); /* eight bytes do not fit the table */
    assert_true(flat.broken);
    pr_flat_begin(&flat, small, sizeof(small), "TASK");
    assert_true(flat.broken);
    root = pr_flat_begin(&flat, small, sizeof(small), "TEST");
    pr_flat_vector(&flat, &root, 1, 1); /* an offset of 7 leads past the end */
    assert_true(flat.broken);
    for (size_t i = 0; i < sizeof(small); i++)
        for (unsigned value = 0; value < 256; value++) {
            struct pr_flat_vector vector;

            memcpy(bytes, small, sizeof(small));
            bytes[i] = (uint8_t)value;
            root = pr_flat_begin(&flat, bytes, sizeof(bytes), "TEST");
            vector = pr_flat_vector(&flat, &root, 1, 4);
            pr_flat_vector_table(&flat, &vector, 0);
            pr_flat_vector_string(&flat, &vector, 0);
            root = pr_flat_sub(&flat, &root, 1);
            pr_flat_u64(&flat, &root, 0, 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_come_back),    cmocka_unit_test(the_file_says_what_went_in),
        cmocka_unit_test(ports_share_buffers),      cmocka_unit_test(the_stream_is_a_chain),
        cmocka_unit_test(records_are_checked),      cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(changed_files_do_no_harm), cmocka_unit_test(another_writer_is_understood),
        cmocka_unit_test(the_reader_stays_inside),
    };

    return cmocka_run_group_tests(tests, make_sample, drop_sample);
}
