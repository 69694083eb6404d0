/* SPDX-License-Identifier: Apache-2.0 */
/* The rules, row by row. */
#include "engine/numerics.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/compute.h"
#include "engine/kernels.h"
#include "support.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static unsigned load_of(enum eng_policy policy, enum eng_kind kind)
{
    return eng_rules_table[policy][kind].load | eng_rules_table[policy][kind].mac;
}

static void load_rules(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < ENG_KINDS; kind++) {
        bool mac = kind == ENG_KIND_NE_MAC || kind == ENG_KIND_NE_MAC_SINGLE;
        unsigned m1 = load_of(ENG_M1, (enum eng_kind)kind), ieee = load_of(ENG_IEEE, (enum eng_kind)kind);
        bool planar = kind == ENG_KIND_PE_ELEMENTWISE || kind == ENG_KIND_PE_REDUCTION;
        float infinity = planar ? 65536 : INFINITY;

        assert_true(eng_load_value(0x7e00, m1) == infinity);
        assert_true(eng_load_value(0xfc01, m1) == infinity); /* a negative NaN too */
        assert_true(isnan(eng_load_value(0x7e00, ieee)));
        assert_true(eng_load_value(0xfc00, m1) == -infinity);
        assert_true(eng_load_value(0xfc00, ieee) == -INFINITY);
        assert_true(eng_load_value(0x03ff, m1) == (mac ? 0 : 0x3ffp-24f));
        assert_true(eng_load_value(0x03ff, ieee) == 0x3ffp-24f);
        assert_true(eng_load_value(0x0400, m1) == 0x1p-14f);
        assert_true(!signbit(eng_load_value(0x8001, m1)) == mac);
        assert_true(eng_load_value(0x7bff, m1) == 65504);
    }
}

/* A row from an offset inside it: 4094 is the last half that is kept. */
static void slices(void **state)
{
    unsigned slice = ENG_RULE_SLICE | ENG_RULE_NAN_IS_INFINITY, planar = slice | ENG_RULE_FINITE_INFINITY;

    (void)state;
    assert_true(eng_load_value(0x6bff, slice) == 4094 && eng_load_value(0xebff, planar) == -4094);
    assert_true(eng_load_value(0x6c00, slice) == INFINITY && eng_load_value(0xec00, slice) == -INFINITY);
    assert_true(eng_load_value(0x6c00, planar) == 65536 && eng_load_value(0xec00, planar) == -65536);
    assert_true(eng_load_value(0x7e00, slice) == INFINITY && isnan(eng_load_value(0x7e00, ENG_RULE_SLICE)));
}

/* Every half with every set of rules, in the vectors of each instruction set. */
static void load_rules_in_vectors(void **state)
{
    static uint16_t halfs[0x10000];
    static float floats[0x10000];

    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++)
        halfs[i] = (uint16_t)i;
    for (unsigned set = 0; set < 32; set++) {
        struct eng_load load = {.relu = set & 16, .scale = 1};

        load.rules = (set & 1 ? ENG_RULE_NAN_IS_INFINITY : 0) | (set & 2 ? ENG_RULE_NO_DENORMALS : 0) |
                     (set & 4 ? ENG_RULE_FINITE_INFINITY : 0) | (set & 8 ? ENG_RULE_SLICE : 0);
        for (unsigned isa = ENG_ISA_PORTABLE; isa <= ENG_ISA_AVX512; isa++) {
            eng_isa_limit((enum eng_isa)isa);
            eng_kernels_get()->to_float((const uint8_t *)halfs, floats, 0x10000 - 1, &load);
            for (uint32_t i = 0; i < 0x10000 - 1; i++) {
                float expected = eng_load_value(halfs[i], load.rules);

                expected = load.relu ? eng_relu(expected) : expected;
                if (isnan(expected) ? !isnan(floats[i]) : memcmp(&floats[i], &expected, 4) != 0)
                    fail_msg("half %04x, rules %02x, isa %u: %a, not %a", i, load.rules, isa,
                             (double)floats[i], (double)expected);
            }
        }
    }
    eng_isa_limit(ENG_ISA_AVX512);
}

static void store_rules(void **state)
{
    static const struct {
        float value;
        uint16_t elementwise, mac, single, ieee;
    } row[] = {
        {NAN, 0x0000, 0x0000, 0x0000, 0x7e00},          {-0.0f, 0x0000, 0x0000, 0x0000, 0x8000},
        {0x1p-24f, 0x0001, 0x0000, 0x0000, 0x0001},     {-0x1p-24f, 0x8001, 0x0000, 0x0000, 0x8001},
        {0x1p-30f, 0x0000, 0x0000, 0x0000, 0x0000},     {-0x1p-30f, 0x0000, 0x0000, 0x0000, 0x8000},
        {0x1.ff8p-15f, 0x03ff, 0x0000, 0x0000, 0x03ff}, /* the largest denormal */
        {0x1.ffcp-15f, 0x0400, 0x0400, 0x0400, 0x0400}, /* rounds up to the smallest normal number */
        {0x1p-14f, 0x0400, 0x0400, 0x0400, 0x0400},     {1.0f, 0x3c00, 0x3c00, 0x3c00, 0x3c00},
        {2049.0f, 0x6800, 0x6800, 0x6800, 0x6800}, /* ties to even: 2048 */
        {2051.0f, 0x6802, 0x6802, 0x6802, 0x6802}, /* ties to even: 2052 */
        {32752.0f, 0x77ff, 0x77ff, 0x77ff, 0x77ff},     {32759.0f, 0x77ff, 0x77ff, 0x77ff, 0x77ff},
        {32760.0f, 0x7800, 0x7c00, 0x7800, 0x7800}, /* rounds to 2^15 */
        {-32760.0f, 0xf800, 0xfc00, 0xf800, 0xf800},    {32768.0f, 0x7800, 0x7c00, 0x7800, 0x7800},
        {65504.0f, 0x7bff, 0x7c00, 0x7bff, 0x7bff},     {-65504.0f, 0xfbff, 0xfc00, 0xfbff, 0xfbff},
        {65519.0f, 0x7bff, 0x7c00, 0x7bff, 0x7bff},     {65520.0f, 0x7c00, 0x7c00, 0x7c00, 0x7c00},
        {-INFINITY, 0xfc00, 0xfc00, 0xfc00, 0xfc00},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        for (unsigned kind = 0; kind < ENG_KINDS; kind++) {
            uint16_t m1 = eng_store_value(row[i].value, eng_rules_table[ENG_M1][kind].store);

            if (kind == ENG_KIND_NE_MAC)
                assert_int_equal(m1, row[i].mac);
            else if (kind == ENG_KIND_NE_MAC_SINGLE)
                assert_int_equal(m1, row[i].single);
            else
                assert_int_equal(m1, row[i].elementwise);
            assert_int_equal(eng_store_value(row[i].value, eng_rules_table[ENG_IEEE][kind].store),
                             row[i].ieee);
        }
    }
}

static void partial_sums(void **state)
{
    unsigned m1 = eng_rules_table[ENG_M1][ENG_KIND_NE_MAC].mac;
    unsigned single = eng_rules_table[ENG_M1][ENG_KIND_NE_MAC_SINGLE].mac;
    float sum;

    (void)state;
    assert_true(eng_mac_value(32000, 16, 47, m1) == 32752);
    assert_true(eng_mac_value(32000, 16, 48, m1) == INFINITY); /* 32768 */
    assert_true(eng_mac_value(-32000, 16, -48, m1) == -INFINITY);
    assert_true(eng_mac_value(32000, 16, 48, 0) == 32768);
    assert_true(eng_mac_value(0, 256, 255, single) == 65280);
    /* Once infinite it stays so, though the rest would bring it down. */
    sum = eng_mac_value(30000, 100, 100, m1);
    assert_true(eng_mac_value(sum, -200, 150, m1) == INFINITY);
    /* The product alone may be above, if the sum is not. */
    assert_true(eng_mac_value(-20000, 200, 200, m1) == 20000);
    assert_true(isnan(eng_mac_value(1, 0, INFINITY, m1)));
}

static void larger_and_smaller(void **state)
{
    (void)state;
    assert_true(eng_max(1, 2) == 2 && eng_max(2, 1) == 2);
    assert_true(eng_min(1, 2) == 1 && eng_min(2, 1) == 1);
    assert_true(eng_max(NAN, -INFINITY) == -INFINITY && eng_max(3, NAN) == 3);
    assert_true(eng_min(NAN, INFINITY) == INFINITY && eng_min(3, NAN) == 3);
    assert_true(isnan(eng_max(NAN, NAN)));
    assert_true(signbit(eng_max(0.0f, -0.0f)) && !signbit(eng_max(-0.0f, 0.0f)));
    assert_true(!signbit(eng_relu(-3)) && eng_relu(-3) == 0 && eng_relu(5) == 5 && isnan(eng_relu(NAN)));
}

static void constants(void **state)
{
    unsigned load = ENG_RULE_NAN_IS_INFINITY;

    (void)state;
    assert_true(eng_constant(0x0011, load) == 0x11p-24f); /* a denormal constant counts */
    assert_true(eng_constant(0x7fff, load) == INFINITY);
    assert_true(signbit(eng_constant_addend(0x0000, load)) && eng_constant_addend(0x0000, load) == 0);
    assert_true(eng_constant_addend(0xc000, load) == -2);
    assert_true(eng_constant_fp32(0x39800000, load) == 1.0f / 4096);
    assert_true(eng_constant_fp32(0xffc00000, load) == INFINITY);
    assert_true(isnan(eng_constant_fp32(0xffc00000, 0)));
    assert_true(eng_constant_fp32(0xff800000, load | ENG_RULE_FINITE_INFINITY) == -65536);
    assert_true(eng_constant(0x7c00, load | ENG_RULE_FINITE_INFINITY) == 65536);
}

#if defined(__x86_64__)
#define FLOAT_MODES 0xe040ull /* flush to zero, denormals are zero, round towards zero */

static uint64_t float_word(void)
{
    return _mm_getcsr();
}

static void set_float_word(uint64_t word)
{
    _mm_setcsr((unsigned)word);
}
#elif defined(__aarch64__)
#define FLOAT_MODES 0x1c00000ull /* flush to zero, which takes denormals for zero too; round towards zero */

static uint64_t float_word(void)
{
    uint64_t word;

    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
}

static void set_float_word(uint64_t word)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(word));
}
#endif

/* A caller's flush-to-zero or rounding mode does not reach the kernels, and is there again afterwards. */
static void float_environment(void **state)
{
#if defined(FLOAT_MODES)
    volatile float tiny = FLT_MIN, third = 1.0f / 3;
    uint64_t before = float_word();
    struct eng_float_state saved;
    volatile bool flushed, kept, nearest; /* each computed where it is written */

    (void)state;
    set_float_word(before | FLOAT_MODES);
    flushed = tiny / 2 == 0;
    saved = eng_float_begin();
    kept = tiny / 2 > 0;
    nearest = third * 3 == 1;
    eng_float_end(saved);
    assert_int_equal(float_word() & FLOAT_MODES, FLOAT_MODES);
    set_float_word(before);
    assert_true(flushed);
    assert_true(kept);
    assert_true(nearest);
#else
    (void)state;
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_rules),
        cmocka_unit_test(slices),
        cmocka_unit_test(load_rules_in_vectors),
        cmocka_unit_test(store_rules),
        cmocka_unit_test(partial_sums),
        cmocka_unit_test(larger_and_smaller),
        cmocka_unit_test(constants),
        cmocka_unit_test(float_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
