/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices beyond the simple ones: long inner axes, batches that broadcast against each other,
 * rank 5, one row or column. Numbers are whole, so that the results are exact.
 */
#include "support.h"

#include "lower_machine.h"

static void linear_of_long_rows(void **state)
{
    static const struct {
        struct gr_shape x;
        uint32_t out;
    } cases[] = {{{1, {20000}}, 3},         {{2, {2, 40000}}, 5},       {{2, {3, 65536}}, 2},
                 {{3, {2, 3, 16384}}, 20},  {{5, {2, 1, 3, 2, 10}}, 7}, {{5, {3, 2, 2, 1, 40}}, 33},
                 {{4, {2, 3, 50, 64}}, 100}};

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (unsigned bias = 0; bias < 2; bias++) {
            uint32_t x, inner = cases[i].x.dim[cases[i].x.rank - 1], weight;
            struct gr g;

            gr_open(&g, i, GR_WHOLE);
            g.most = 1;
            x = gr_input(&g, "x", CC_FP16, cases[i].x);
            weight = gr_const(&g, GR(cases[i].out, inner));
            gr_output(&g, gr_linear(&g, x, weight, bias ? gr_const(&g, GR(cases[i].out)) : GR_NONE));
            gr_check(&g, &client);
            gr_close(&g);
        }
}

static void products(void **state)
{
    static const struct {
        struct gr_shape x, y;
        bool transpose_x, transpose_y;
    } cases[] = {
        {{2, {2, 20000}}, {2, {20000, 3}}, false, false},
        {{2, {20000, 2}}, {2, {3, 20000}}, true, true},
        {{2, {1, 50000}}, {2, {50000, 1}}, false, false},
        {{4, {2, 1, 3, 4}}, {4, {1, 5, 4, 6}}, false, false},
        {{4, {1, 5, 4, 3}}, {3, {5, 6, 4}}, true, true},
        {{4, {2, 3, 4, 5}}, {2, {5, 40}}, false, false},
        {{2, {4, 5}}, {4, {2, 3, 5, 70}}, false, false},
        {{5, {2, 2, 3, 4, 5}}, {2, {5, 6}}, false, false},
        {{5, {2, 2, 3, 4, 5}}, {5, {2, 1, 3, 5, 6}}, false, false},
        {{5, {1, 2, 3, 4, 5}}, {5, {2, 1, 1, 6, 5}}, false, true},
        {{3, {70, 1, 9}}, {3, {70, 9, 1}}, false, false},
        {{3, {1, 100, 130}}, {3, {1, 130, 90}}, false, false},
    };

    (void)state;
    /* Both computed at run time; the second constant; the first constant. */
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (unsigned how = 0; how < 3; how++) {
            uint32_t x, y;
            struct gr g;

            gr_open(&g, i, GR_WHOLE);
            g.most = cases[i].x.dim[cases[i].x.rank - 1] > 10000 || cases[i].x.dim[0] > 10000 ? 1 : 3;
            x = how == 2 ? gr_const(&g, cases[i].x) : gr_input(&g, "x", CC_FP16, cases[i].x);
            y = how == 1 ? gr_const(&g, cases[i].y) : gr_input(&g, "y", CC_FP16, cases[i].y);
            gr_output(&g, gr_matmul(&g, x, y, cases[i].transpose_x, cases[i].transpose_y));
            gr_check(&g, &client);
            gr_close(&g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_of_long_rows),
        cmocka_unit_test(products),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
