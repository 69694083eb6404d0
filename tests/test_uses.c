/* SPDX-License-Identifier: Apache-2.0 */
/* What descriptors do with buffers: which they read and write, and what they take them to hold. */
#include "bytes_program.h"

#include "program/uses.h"

static const uint32_t shape[4] = {1, 3, 2, 33};

static struct surface surface(uint32_t bar, uint32_t code)
{
    return (struct surface){bar, code, shape[0], shape[1], shape[2], shape[3]};
}

static void trace(const struct test_program *program, struct pr_uses *uses)
{
    memset(uses, 0xaa, sizeof(*uses));
    pr_uses_trace(program->bytes, program->size, program->first_words, program->count, uses);
}

static void expect_element(const struct pr_uses *uses, uint32_t bar, uint32_t element)
{
    struct pr_problem problem;
    uint32_t found = 0;

    assert_true(pr_uses_element(uses, bar, &found, &problem));
    assert_int_equal(found, element);
}

/* x (uint8) -> y (fp16) -> z (int8). */
static void a_chain(struct test_program *program, uint32_t x, uint32_t y, uint32_t y_again, uint32_t z)
{
    const struct surface a = surface(5, x), b = surface(4, y), c = surface(4, y_again), d = surface(31, z);
    char text[2][4096];

    test_assemble(program, "chain\n%s%s", copy_text(text[0], &a, &b, false, true),
                  copy_text(text[1], &c, &d, false, false));
    assert_int_equal(program->count, 2);
}

static void formats_of_a_chain(void **state)
{
    struct test_program program;
    struct pr_uses uses;

    (void)state;
    a_chain(&program, CODE_U8, CODE_FP16, CODE_FP16, CODE_I8);
    trace(&program, &uses);
    assert_int_equal(uses.read, 1u << 5 | 1u << 4);
    assert_int_equal(uses.written, 1u << 4 | 1u << 31);
    assert_int_equal(uses.stored, 1u << 4 | 1u << 31);
    expect_element(&uses, 5, PR_HWX_ELEMENT_UINT8);
    expect_element(&uses, 4, PR_HWX_ELEMENT_FLOAT16);
    expect_element(&uses, 31, PR_HWX_ELEMENT_INT8);
    expect_element(&uses, 7, PR_HWX_ELEMENT_FLOAT16); /* nobody tells */
    assert_int_equal(uses.buffer[31].descriptor, 1);
    assert_int_equal(uses.buffer[7].element, 0);
}

static void contradictions(void **state)
{
    static const struct {
        uint32_t written, read;
        const char *text;
    } each[] = {
        {CODE_FP16, CODE_U8,
         "Descriptor 0 takes the surface in buffer 4 for float16, and descriptor 1 for uint8."},
        {CODE_I8, CODE_U8,
         "Descriptor 0 takes the surface in buffer 4 for int8, and descriptor 1 for uint8."},
    };
    struct test_program program;
    struct pr_problem problem;
    struct pr_uses uses;
    uint32_t element;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        a_chain(&program, CODE_U8, each[i].written, each[i].read, CODE_I8);
        trace(&program, &uses);
        assert_false(pr_uses_element(&uses, 4, &element, &problem));
        assert_string_equal(problem.text, each[i].text);
        assert_int_equal(problem.kind, PR_PROBLEM_INCONSISTENT);
        assert_false(pr_uses_element(&uses, 4, &element, NULL));
        expect_element(&uses, 31, PR_HWX_ELEMENT_INT8); /* the others are not concerned */
    }
}

/* One descriptor with formats that lie about a transfer that does not happen, or that are no known code. */
static void one(struct test_program *program, const char *source, const char *result, uint32_t source_type,
                uint32_t result_type)
{
    test_assemble(program,
                  "descriptor\n"
                  "  RBase0=5 RBE0=1 WBase=4 WBE=1\n"
                  "  write TileDMASrc\n"
                  "    DMAConfig En=%s\n"
                  "  write L2\n"
                  "    SourceCfg SourceType=%u\n"
                  "    ResultCfg ResultType=%u\n"
                  "  write TileDMADst\n"
                  "    DMAConfig En=%s\n",
                  source, source_type, result_type, result);
}

static void what_is_not_moved_tells_nothing(void **state)
{
    static const struct {
        const char *source, *result;
        uint32_t source_type, result_type, told;
    } each[] = {
        {"1\n    Fmt MemFmt=0", "1\n    Fmt MemFmt=1", 2, 2, 1u << 5 | 1u << 4},
        {"1\n    Fmt MemFmt=0", "1\n    Fmt MemFmt=1", 1, 1, 1u << 5 | 1u << 4},
        {"0\n    Fmt MemFmt=0", "0\n    Fmt MemFmt=1", 2, 2, 0},
        {"1\n    Fmt MemFmt=0", "0\n    Fmt MemFmt=1", 2, 2, 1u << 5},
        {"1\n    Fmt MemFmt=0", "1\n    Fmt MemFmt=1", 0, 3, 0},
        {"1\n    Fmt MemFmt=3", "1\n    Fmt MemFmt=1", 2, 2, 1u << 4},
    };
    struct test_program program;
    struct pr_uses uses;

    (void)state;
    for (unsigned i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        one(&program, each[i].source, each[i].result, each[i].source_type, each[i].result_type);
        trace(&program, &uses);
        assert_int_equal(uses.read, 1u << 5);
        assert_int_equal(uses.written, 1u << 4);
        assert_int_equal(uses.stored, each[i].told & 1u << 4);
        assert_int_equal(uses.buffer[5].element, each[i].told >> 5 & 1 ? PR_HWX_ELEMENT_UINT8 : 0);
        assert_int_equal(uses.buffer[4].element, each[i].told >> 4 & 1 ? PR_HWX_ELEMENT_INT8 : 0);
    }
}

/* Source 2 by DMA, and a kernel from a surface. */
static void other_sources(void **state)
{
    struct test_program program;
    struct pr_uses uses;

    (void)state;
    test_assemble(&program, "descriptor\n"
                            "  RBase1=8 RBE1=1 KBase0=9 KBE0=1 KBase1=10 KBE1=0\n"
                            "  write TileDMASrc\n    Src2Fmt MemFmt=0\n"
                            "  write L2\n    SourceCfg Source2ByDMA=1\n"
                            "  write NE\n    KernelCfg KernelFmt=1 RuntimeKernel=1\n");
    trace(&program, &uses);
    assert_int_equal(uses.read, 1u << 8 | 1u << 9);
    assert_int_equal(uses.written, 0);
    assert_int_equal(uses.buffer[8].element, PR_HWX_ELEMENT_UINT8);
    assert_int_equal(uses.buffer[9].element, PR_HWX_ELEMENT_INT8);
    assert_int_equal(uses.buffer[10].element, 0);

    test_assemble(&program, "descriptor\n"
                            "  RBase1=8 RBE1=1 KBase0=9 KBE0=1\n"
                            "  write TileDMASrc\n    Src2Fmt MemFmt=0\n"
                            "  write L2\n    SourceCfg Source2ByDMA=0\n"
                            "  write NE\n    KernelCfg KernelFmt=1 RuntimeKernel=0\n");
    trace(&program, &uses);
    assert_int_equal(uses.read, 1u << 8 | 1u << 9);
    assert_int_equal(uses.buffer[8].element | uses.buffer[9].element, 0);
}

/* A register that a descriptor does not write has the value the one before left. */
static void registers_are_carried(void **state)
{
    const struct surface x = surface(5, CODE_U8), y = surface(4, CODE_I8);
    struct test_program program;
    struct pr_uses uses;
    char text[4096];

    (void)state;
    test_assemble(
        &program,
        "chain\n%sdescriptor\n  RBase0=7 RBE0=1 WBase=8 WBE=1\n  write NE\n    KernelCfg KernelFmt=0\n",
        copy_text(text, &x, &y, false, true));
    trace(&program, &uses);
    assert_int_equal(uses.buffer[7].element, PR_HWX_ELEMENT_UINT8);
    assert_int_equal(uses.buffer[8].element, PR_HWX_ELEMENT_INT8);
    assert_int_equal(uses.buffer[7].descriptor, 1);
}

/* Any bytes: nothing but sets and known elements comes out. */
static void damaged_streams(void **state)
{
    struct test_program program;
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 1);
    for (unsigned i = 0; i < 20000; i++) {
        struct pr_uses uses;

        if (i % 100 == 0)
            a_chain(&program, CODE_U8, CODE_FP16, CODE_FP16, CODE_I8);
        program.bytes[test_rng_range(&rng, 0, program.size - 1)] = (uint8_t)test_rng_u32(&rng);
        trace(&program, &uses);
        for (unsigned bar = 0; bar < PR_TQ_BARS; bar++) {
            assert_true(uses.buffer[bar].element <= PR_HWX_ELEMENT_FLOAT16);
            assert_true(!uses.buffer[bar].element || (uses.read | uses.written) >> bar & 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_of_a_chain),
        cmocka_unit_test(contradictions),
        cmocka_unit_test(what_is_not_moved_tells_nothing),
        cmocka_unit_test(other_sources),
        cmocka_unit_test(registers_are_carried),
        cmocka_unit_test(damaged_streams),
    };

    return cmocka_run_group_tests_name("uses", tests, NULL, NULL);
}
