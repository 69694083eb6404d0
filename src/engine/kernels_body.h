/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops, for one instruction set. The including file has defined the vector type and its functions,
 * TARGET, INLINE, KERNELS, LANES, PANEL, COLUMNS, TILE_VECTORS, TILE_PIXELS, STRIP_VECTORS, STRIP_CHANNELS,
 * STRIP_FEW (a divisor of LANES and of STRIP_CHANNELS; `vec_few` has as many floats), WINDOW_VECTORS,
 * WINDOW_PARTS (channels in a vector at most: 1 or 2), GEMV_VECTORS, GEMV_ROWS, SCALED, WINOGRAD_PANEL,
 * WINOGRAD_COLUMNS and WINOGRAD_FEW; this file ends with the table of the set. It is included once per
 * instruction set and so has no guard.
 */

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

INLINE void line_to_float(const uint8_t *fp16, float *floats, size_t n, const struct eng_load *load)
{
    vec scale = vec_set(load->scale);
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        vec_store(floats + i, vec_mul(vec_from_fp16(fp16 + 2 * i, load), scale));
    if (i < n)
        vec_store_part(floats + i, vec_mul(vec_from_fp16_part(fp16 + 2 * i, n - i, load), scale), n - i);
}

/*
 * The loads of multiply-accumulate tasks, and loads with rare rules, have separate loops, because branches
 * would slow down the common loads. The rules are copied so that the compiler knows that no store through
 * `floats` changes them.
 */
#define RARE_RULES (ENG_RULE_SLICE | ENG_RULE_FINITE_INFINITY)
#define MAC_RULES  (ENG_RULE_NAN_IS_INFINITY | ENG_RULE_NO_DENORMALS)

INLINE bool is_mac_load(const struct eng_load *load)
{
    return (load->rules & (RARE_RULES | MAC_RULES)) == MAC_RULES && !load->relu;
}

TARGET static void to_float(const uint8_t *fp16, float *floats, size_t n, const struct eng_load *load)
{
    struct eng_load rules = *load;

    if (is_mac_load(load)) {
        line_to_float(fp16, floats, n, &(struct eng_load){.rules = MAC_RULES, .scale = rules.scale});
        return;
    }
    if (rules.rules & RARE_RULES) {
        line_to_float(fp16, floats, n, &rules);
        return;
    }
    rules.rules &= ~(unsigned)RARE_RULES;
    line_to_float(fp16, floats, n, &rules);
}

INLINE void rows_to_float_by(const uint8_t *from, size_t from_stride, float *to, size_t to_stride,
                             size_t rows, size_t n, const struct eng_load *load)
{
    vec scale = vec_set(load->scale);

    for (size_t row = 0; row < rows; row++, from += from_stride, to += to_stride) {
        size_t i = 0;

        for (; i + LANES <= n; i += LANES)
            vec_store(to + i, vec_mul(vec_from_fp16(from + 2 * i, load), scale));
        if (i < n)
            vec_store_part(to + i, vec_mul(vec_from_fp16_part(from + 2 * i, n - i, load), scale), n - i);
    }
}

TARGET static void rows_to_float(const uint8_t *from, size_t from_stride, float *to, size_t to_stride,
                                 size_t rows, size_t n, const struct eng_load *load)
{
    struct eng_load rules = *load;

    if (is_mac_load(load)) {
        rows_to_float_by(from, from_stride, to, to_stride, rows, n,
                         &(struct eng_load){.rules = MAC_RULES, .scale = rules.scale});
        return;
    }
    if (rules.rules & RARE_RULES) {
        rows_to_float_by(from, from_stride, to, to_stride, rows, n, &rules);
        return;
    }
    rules.rules &= ~(unsigned)RARE_RULES;
    rows_to_float_by(from, from_stride, to, to_stride, rows, n, &rules);
}

TARGET static void to_half(const float *floats, uint8_t *fp16, size_t n, unsigned rules)
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        vec_to_fp16(fp16 + 2 * i, vec_load(floats + i), rules);
    if (i < n)
        vec_to_fp16_part(fp16 + 2 * i, vec_load_part(floats + i, n - i), n - i, rules);
}

/* x * 0 is 0 for every finite x and a NaN for every other. */
TARGET static bool all_finite(const float *floats, size_t n)
{
    vec zeros = vec_set(0);
    float lane[LANES], sum = 0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        zeros = vec_add(zeros, vec_mul(vec_load(floats + i), vec_set(0)));
    if (i < n)
        zeros = vec_add(zeros, vec_mul(vec_load_part(floats + i, n - i), vec_set(0)));
    vec_store(lane, zeros);
    for (unsigned k = 0; k < LANES; k++)
        sum += lane[k];
    return sum == 0;
}

#include "engine/kernels_band.h"
#include "engine/kernels_pe.h"
#include "engine/kernels_reduce.h"
#include "engine/kernels_table.h"
#include "engine/kernels_finish.h"
#include "engine/kernels_turn.h"
#include "engine/kernels_mac.h"
#include "engine/kernels_tile.h"
#include "engine/kernels_strip.h"
#include "engine/kernels_pack.h"
#include "engine/kernels_winograd.h"
#include "engine/kernels_winograd_input.h"
#include "engine/kernels_exact.h"
#include "engine/kernels_window.h"
#include "engine/kernels_pool.h"
#include "engine/kernels_gemv.h"

const struct eng_kernels KERNELS = {
    .lanes = LANES,
    .panel = PANEL,
    .columns = COLUMNS,
    .tile_vectors = TILE_VECTORS,
    .tile_pixels = TILE_PIXELS,
    .strip_channels = STRIP_CHANNELS,
    .gemv_vectors = GEMV_VECTORS,
    .scaled = SCALED,
    .to_float = to_float,
    .to_half = to_half,
    .rows_to_float = rows_to_float,
    .all_finite = all_finite,
    .pe_band = pe_band,
    .pe_reduce = pe_reduce,
    .pe_planes = pe_planes,
    .pe_across = pe_across,
    .finish = finish,
    .finish_rows = finish_rows,
    .finish_band = finish_band,
    .turn = turn,
    .transpose = transpose,
    .to_half_steps = to_half_steps,
    .mac_columns = mac_columns,
    .mac_tile = mac_tile,
    .finish_tile = finish_tile,
    .strip = strip,
    .split_rows = split_rows,
    .pack_rows = pack_rows,
    .unzip_rows = unzip_rows,
    .runs_to_float = runs_to_float,
    .fold_columns = fold_columns,
    .largest = largest,
    .magnitude_sums = magnitude_sums,
    .winograd_weights = winograd_weights,
    .winograd_input = winograd_input,
    .winograd_products = winograd_products,
    .winograd_output = winograd_output,
    .exact_channels = exact_channels,
    .exact_own = exact_own,
    .exact_weights = exact_weights,
    .exact_kinds = exact_kinds,
    .window = window,
    .pool = pool,
    .gemv = gemv,
};
