/* SPDX-License-Identifier: Apache-2.0 */
/* Views: which ones lie on themselves, and operands that the host does not see in one piece. */
#include "dartrig.h"
#include "engine/ne.h"
#include "engine/pe.h"
#include "tensors.h"

enum { ONE = 0x3c00 };

static int order(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* By trying: two elements closer than their size. */
static bool elements_meet(const struct pr_tensor *t)
{
    uint64_t offset[4096];
    uint32_t index[PR_AXES] = {0};
    size_t count = 0;

    do
        offset[count++] = element_offset(t, index);
    while (next_index(index, t->extent));
    qsort(offset, count, sizeof(offset[0]), order);
    for (size_t i = 1; i < count; i++)
        if (offset[i] - offset[i - 1] < element_bytes(t))
            return true;
    return false;
}

static void overlap_is_found(void **state)
{
    unsigned found = 0;
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    for (unsigned round = 0; round < 4000; round++) {
        struct pr_tensor t = {.home = PR_HOME_DRAM};
        struct eng_view view;
        bool meet;

        if (round & 2) {
            t.format = (enum pr_format)pick(&rng, 0, 2);
            t.interleave = pick(&rng, 0, 4);
        }
        for (unsigned axis = 0; axis < PR_AXES; axis++) {
            t.extent[axis] = pick(&rng, 1, 5);
            t.stride[axis] = pick(&rng, 0, 3) ? 2 * pick(&rng, 0, 60) : pick(&rng, 0, 200);
        }
        if (round & 1)
            random_layout(&rng, &t, 0);
        eng_view_of_host(&view, &t, NULL);
        meet = elements_meet(&t);
        if (meet)
            assert_true(eng_view_overlaps_itself(&view));
        if (round & 1)
            assert_false(eng_view_overlaps_itself(&view));
        found += meet;
    }
    assert_true(found > 100);
}

/* By trying: from the first byte to past the last one. */
static void spans_are_tight(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 2);
    for (unsigned round = 0; round < 2000; round++) {
        struct pr_tensor t = {.home = PR_HOME_DRAM};
        uint32_t index[PR_AXES] = {0};
        uint64_t end = 0;

        t.format = (enum pr_format)pick(&rng, 0, 2);
        t.interleave = pick(&rng, 0, 5);
        for (unsigned axis = 0; axis < PR_AXES; axis++) {
            t.extent[axis] = pick(&rng, 1, axis == PR_AXIS_C ? 12 : 4);
            t.stride[axis] = pick(&rng, 0, 300);
        }
        do {
            uint64_t past = element_offset(&t, index) + element_bytes(&t);

            end = past > end ? past : end;
        } while (next_index(index, t.extent));
        assert_int_equal(pr_tensor_span(&t), end);
    }
}

/* What is kept in L2 has every channel at the stride of channels, however they stand in DRAM. */
static void kept_channels_are_apart(void **state)
{
    struct pr_tensor t = {.home = PR_HOME_DRAM,
                          .extent = {3, 2, 1, 6, 1},
                          .stride = {8, 64, 0, 128, 0},
                          .interleave = 4,
                          .keep = true,
                          .keep_extent = {3, 2, 1, 6, 1},
                          .keep_stride = {2, 6, 0, 12, 0}};

    (void)state;
    assert_int_equal(pr_tensor_span(&t), 128 + 64 + 2 * 8 + 8 - 4);
    assert_int_equal(pr_tensor_keep_span(&t), 5 * 12 + 6 + 4 + 2);
    assert_false(pr_tensor_overlaps(&t));
    t.stride[PR_AXIS_W] = 7;
    assert_true(pr_tensor_overlaps(&t));
}

/* Bytes: as they are read, and every half as it is written. */
static void integers(void **state)
{
    struct pr_tensor t = {.home = PR_HOME_DRAM, .extent = {1, 1, 1, 1, 1}, .stride = {1, 1, 1, 1, 1}};
    struct eng_line line = {.axis = PR_AXIS_W, .n = 1};
    uint8_t byte, buffer[2];
    struct eng_view view;
    uint16_t half;

    (void)state;
    for (t.format = PR_U8; t.format <= PR_I8; t.format++) {
        eng_view_of_host(&view, &t, &byte);
        for (unsigned i = 0; i < 256; i++) {
            byte = (uint8_t)i;
            memcpy(&half, eng_view_line(&view, &line, buffer), 2);
            assert_true(test_half_to_double(half) == (t.format == PR_I8 ? (int8_t)byte : byte));
        }
        for (unsigned i = 0; i < 65536; i++) {
            half = (uint16_t)i;
            memcpy(buffer, &half, 2);
            eng_view_line_put(&view, &line, buffer);
            if (byte != byte_of_half(&t, half))
                fail_msg("half %04x is written as %02x", half, byte);
        }
    }
}

/* Rows of bytes, and of interleaved channels, end where their last bundle does. */
static void tails_of_other_elements(void **state)
{
    struct pr_tensor t = {.home = PR_HOME_DRAM, .extent = {5, 4, 1, 6, 1}, .stride = {8, 64, 0, 256, 0}};
    struct eng_view view;

    (void)state;
    t.zero_tail = true;
    t.interleave = 4;
    eng_view_of_host(&view, &t, NULL);
    assert_int_equal(view.tail_begin, 40);
    assert_int_equal(view.tail, 64);
    assert_int_equal(pr_tensor_span(&t), 512);
    t.format = PR_U8;
    t.interleave = 0;
    t.stride[PR_AXIS_W] = 1;
    eng_view_of_host(&view, &t, NULL);
    assert_int_equal(view.tail_begin, 5);
    assert_int_equal(view.tail, 64);
    t.stride[PR_AXIS_H] = 7; /* a row of bytes that the next one follows soon */
    eng_view_of_host(&view, &t, NULL);
    assert_int_equal(view.tail, 7);
    assert_false(eng_view_overlaps_itself(&view));
}

/* Rows of tails that reach into each other's neighbours are an overlap as well. */
static void tails_count(void **state)
{
    struct pr_tensor t = {
        .home = PR_HOME_DRAM, .extent = {5, 4, 1, 1, 1}, .stride = {2, 8, 0, 0, 0}, .zero_tail = true};
    struct eng_view view;

    (void)state;
    eng_view_of_host(&view, &t, NULL);
    assert_true(eng_view_overlaps_itself(&view)); /* 10 bytes each 8 */
    t.stride[PR_AXIS_H] = 16;
    eng_view_of_host(&view, &t, NULL);
    assert_false(eng_view_overlaps_itself(&view)); /* the tail ends where the next row begins */
    assert_int_equal(view.tail, 16);
    t.stride[PR_AXIS_H] = 64;
    eng_view_of_host(&view, &t, NULL);
    assert_int_equal(view.tail, 64);
}

/* Operands on pages that lie apart, granted as if there were no window to show them in one piece. */
struct scattered {
    struct dartrig rig;
    struct dart_range x, y;
    uint8_t *host_x, *host_y, *got;
    size_t size_x, size_y;
};

static void scattered_open(struct scattered *s, struct test_rng *rng, const struct pr_task *task)
{
    struct dart_config config = {.form = PR_LEAF_SEED};
    uint64_t pages = 256, at = 0x404000 - pick(rng, 1, 100), there = 0x1004000 - pick(rng, 1, 100);

    dartrig_start(&s->rig, &config, DARTRIG_T6000_DRAM, 16u << 20);
    dartrig_map_backwards(&s->rig, 0x400000, dartrig_alloc(&s->rig, pages), pages);
    dartrig_map_backwards(&s->rig, 0x1000000, dartrig_alloc(&s->rig, pages), pages);
    s->size_x = pr_tensor_span(&task->src[0]);
    s->size_y = pr_tensor_span(&task->dst);
    assert_int_equal(dartrig_get(&s->rig, at, s->size_x, DART_READ, &s->x), 0);
    assert_int_equal(dartrig_get(&s->rig, there, s->size_y, DART_WRITE, &s->y), 0);
    s->x.host = s->y.host = NULL;
    s->host_x = malloc(s->size_x);
    s->host_y = malloc(s->size_y);
    s->got = malloc(s->size_y);
    assert_true(s->host_x && s->host_y && s->got);
    random_fp16(rng, s->host_x, s->size_x, ANY);
    test_rng_bytes(rng, s->host_y, s->size_y);
    dart_copy_out(&s->x, 0, s->host_x, s->size_x);
    dart_copy_out(&s->y, 0, s->host_y, s->size_y);
}

static void scattered_close(struct scattered *s)
{
    free(s->host_x);
    free(s->host_y);
    free(s->got);
    dartrig_end(&s->rig);
}

static void run(const struct pr_task *task, const struct way *way, const struct eng_operands *operands)
{
    static const uint8_t kernel[0x8000] = {0x00, 0x3c, 0x00, 0xbc, 0x00, 0x40};
    struct pr_kernel_bytes stream[PR_ENGINES_MAX];
    struct eng_compute compute = {.policy = ENG_M1, .path = way->path, .pool = way_begin(way)};

    for (unsigned e = 0; e < PR_ENGINES_MAX; e++)
        stream[e] = (struct pr_kernel_bytes){kernel, sizeof(kernel)};
    if (task->unit == PR_UNIT_PE)
        eng_pe_run(&compute, task, operands);
    else
        assert_int_equal(eng_ne_run(&compute, task, operands, stream, NULL), 0);
    eng_compute_free(&compute);
}

/* The same task on host memory and on scattered pages. */
static void check_scattered(struct test_rng *rng, const struct pr_task *task)
{
    struct eng_operands near = {0}, far = {0};
    struct scattered s;
    struct way way;

    scattered_open(&s, rng, task);
    eng_view_of_host(&near.src[0], &task->src[0], s.host_x);
    eng_view_of_host(&near.dst, &task->dst, s.host_y);
    eng_view_of_range(&far.src[0], &task->src[0], &s.x);
    eng_view_of_range(&far.dst, &task->dst, &s.y);
    for (unsigned i = 0; way_get(i, &way); i++) {
        run(task, &way, &near);
        run(task, &way, &far);
        dart_copy_in(&s.y, 0, s.got, s.size_y);
        check_bytes(&task->dst, s.got, s.host_y, s.size_y, &way, i);
    }
    scattered_close(&s);
}

static void pages_apart(void **state)
{
    struct test_rng rng;

    (void)state;
    for (unsigned round = 0; round < 80; round++) {
        struct pr_task task = {.unit = round & 1 ? PR_UNIT_NE : PR_UNIT_PE};

        test_rng_init(&rng, 100 + round);
        task.pe = (struct pr_pe){.scale = ONE, .pre_scale = ONE, .final_scale = 0x3f800000};
        task.ne = (struct pr_ne){.post_scale = ONE,
                                 .kw = 3,
                                 .kh = 1,
                                 .px = 1,
                                 .sx = 1,
                                 .ox = 1,
                                 .sy = 1,
                                 .lanes = 4,
                                 .engines = 2};
        if (round % 3 == 2) {
            task.src[0].format = (enum pr_format)pick(&rng, 0, 2);
            task.dst.format = (enum pr_format)pick(&rng, 0, 2);
            task.src[0].interleave = pick(&rng, 0, 4);
            task.dst.interleave = pick(&rng, 0, 4);
        }
        task.ne.mode = round & 2 ? PR_NE_MAC : PR_NE_BYPASS;
        memcpy(task.src[0].extent,
               (uint32_t[]){pick(&rng, 1, round % 8 ? 70 : 3000), pick(&rng, 1, 5), 1, pick(&rng, 1, 9),
                            pick(&rng, 1, 2)},
               sizeof(task.src[0].extent));
        memcpy(task.dst.extent, task.src[0].extent, sizeof(task.dst.extent));
        if (round % 4 == 0) {
            task.pe.reduce = PR_PE_REDUCE_SUM;
            task.dst.extent[PR_AXIS_W] = task.dst.extent[PR_AXIS_H] = 1;
        }
        random_layout(&rng, &task.src[0], 0);
        random_layout(&rng, &task.dst, 0);
        task.dst.zero_tail = test_rng_bool(&rng);
        check_scattered(&rng, &task);
    }
    ways_end();
}

/* From 2^12 on a slice is infinite, in both units and on every path; without a slice nothing is. */
static void slices(void **state)
{
    uint16_t x[4] = {0x6bff, 0x6c00, 0xebff, 0xec00}, y[4]; /* 4094, 4096 and their negatives */
    static const uint16_t cut[4] = {0x6bff, 0x7c00, 0xebff, 0xfc00};
    struct pr_task task = {
        .src = {{.home = PR_HOME_DRAM, .extent = {4, 1, 1, 1, 1}, .stride = {2, 8, 8, 8, 8}}}};
    struct eng_operands operands = {0};
    struct way way;

    (void)state;
    task.dst = task.src[0];
    task.pe = (struct pr_pe){.scale = ONE, .pre_scale = ONE, .final_scale = 0x3f800000};
    task.ne = (struct pr_ne){.mode = PR_NE_BYPASS, .post_scale = ONE};
    for (unsigned round = 0; round < 4; round++) {
        task.unit = round & 1 ? PR_UNIT_NE : PR_UNIT_PE;
        task.src[0].slice = round & 2;
        eng_view_of_host(&operands.src[0], &task.src[0], (uint8_t *)x);
        eng_view_of_host(&operands.dst, &task.dst, (uint8_t *)y);
        for (unsigned i = 0; way_get(i, &way); i++) {
            memset(y, 0, sizeof(y));
            run(&task, &way, &operands);
            assert_memory_equal(y, round & 2 ? cut : x, sizeof(y));
        }
    }
    ways_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlap_is_found),
        cmocka_unit_test(spans_are_tight),
        cmocka_unit_test(kept_channels_are_apart),
        cmocka_unit_test(integers),
        cmocka_unit_test(tails_of_other_elements),
        cmocka_unit_test(tails_count),
        cmocka_unit_test(pages_apart),
        cmocka_unit_test(slices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
