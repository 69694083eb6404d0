/* SPDX-License-Identifier: Apache-2.0 */
/* MIL text that is refused, and in which words; weight files; torn texts; memory that runs out. */
#include "mil_text.h"

static void wrong_programs(void **state)
{
    (void)state;
    refused("", EINVAL, "Line 1, column 1: found the end of the text, expected `program(1.3)`");
    refused("program(1.4){}", EINVAL, "found `1.4`, expected a version from 1.0 to 1.3");
    refused("program(1.3) /* no end", EINVAL, "a comment begins here");
    refused("program(1.3)[a = \"no end]\n{}", EINVAL, "Line 1, column 18: a string begins here");
    refused("program(1.3)[a = \"\t\"]{}", EINVAL, "found byte 0x09 in a string");
    refused("program(1.3)[a = \"\\n\"]{}", EINVAL, "unknown escape");
    refused("program(1.3)[a = (]", EINVAL, "found `]`, expected the end of an attribute's value");
    refused("program(1.3)[a = ((((((((((((((((((((((((((((((((((1", EINVAL, "brackets nest deeper than 32");
    refused("program(1.3)\n \x01", EINVAL, "Line 2, column 2: found byte 0x01");
    refused("program(1.3) $", EINVAL, "found `$`");
    refused("program(1.3){}", EINVAL, "found `}`, expected `func`");
    refused("program(1.3){func main(){}->();}", EINVAL, "found `)`, expected a type");
    refused(changed("fp32, [1, 8, 16, 16]> x)", "int8, [1, 8, 16, 16]> x)"), EINVAL,
            "Line 4, column 22: an input is tensor<int8, [1, 8, 16, 16]>, expected a tensor of fp16 or fp32");
    refused(changed("fp32, [1, 8, 16, 16]> x)", "int64, [1, 8, 16, 16]> x)"), EINVAL,
            "Line 4, column 29: found `int64`, expected a type: fp16");
    refused(changed("fp32, [1, 8, 16, 16]> x)", "int32, [1, 8, 16, 16]> x)"), EINVAL,
            "an input is tensor<int32");
    refused(changed("fp32, [1, 8, 16, 16]> x)", "fp32, []> x)"), EINVAL,
            "an input is fp32, expected a tensor");
    refused(changed("fp32, [1, 8, 16, 16]> x)", "fp32, [?, 8, 16, 16]> x)"), EINVAL,
            "found `?`, expected the length of an axis as a number");
    refused(changed("fp32, [1, 8, 16, 16]> x)", "fp32, [0, 8, 16, 16]> x)"), EINVAL, "an axis of length 0");
    refused(changed("fp32, [1, 8, 16, 16]> x)", "fp32, [-1, 8, 16, 16]> x)"), EINVAL,
            "expected a whole number");
    refused(changed("fp32, [1, 8, 16, 16]> x)", "fp32, [1, 1, 1, 1, 1, 1]> x)"), EINVAL, "more than 5 axes");
    refused(changed("fp32, [1, 8, 16, 16]> x)", "fp32, [1, 8, 1048577, 16]> x)"), EINVAL,
            "axis 2 of length 1048577 is longer than 1048576");
    refused(changed("fp32, [1, 8, 16, 16]> x)", "fp32, [1, 8, 16, 1048577]> x)"), EINVAL,
            "axis 3 of length 1048577");
    refused(changed("fp32, [1, 8, 16, 16]> x)", "fp32, [1, 1048577, 16, 16]> x)"), EINVAL,
            "axis 1 of length 1048577 is longer than 1048576");
    refused(changed("fp32, [1, 8, 16, 16]> x)", "fp32, [1, 99999999999, 16, 16]> x)"), ERANGE,
            "expected at most 2147483647");
    refused(
        changed("relu(x = c)", "erg(x = c, mode = [1, (2)])"), EOPNOTSUPP,
        "Line 13, column 42: operation `erg` is not known; known with this first letter are equal, erf, exp, exp2, elu, "
        "expand_dims.");
    refused(changed("relu(x = c)", "vectorize(x = c)"), EOPNOTSUPP,
            "operation `vectorize` is not known, nor any that begins with `v`.");
    refused(changed("r = relu(x = c)", "r, tensor<fp16, [1]> s = tensor_product(x = c)"), EOPNOTSUPP,
            "operation `tensor_product` is not known");
    refused(changed("r = relu(x = c)", "r, tensor<fp16, [1]> s = relu(x = c)"), EINVAL,
            "relu gives one result");
    refused(changed("relu(x = c)", "relu(x = d)"), EINVAL,
            "Line 13, column 51: nothing before this line is called `d`");
    refused(changed("relu(x = c)", "relu(x = r)"), EINVAL, "nothing before this line is called `r`");
    refused(changed("relu(x = c)", "relu(x = int8(1))"), EINVAL,
            "found int8 as an operand, expected a tensor");
    refused(changed("relu(x = c)", "relu(x = 1)"), EINVAL,
            "found `1`, expected the name of a value, or a typed constant");
    refused(changed("relu(x = c)", "relu(c)"), EINVAL, "found `)`, expected `=`");
    refused(changed("]> r = relu", "]> c = relu"), EINVAL, "the name `c` is defined twice");
    refused(
        changed("[1, 8, 16, 16]> r =", "[1, 8, 16, 15]> r ="), EINVAL,
        "Line 13, column 42: relu `relu`: it gives tensor<fp16, [1, 8, 16, 16]>, but tensor<fp16, [1, 8, 16, 15]> is declared");
    refused(changed("tensor<fp16, [1, 8, 16, 16]> r =", "tensor<fp32, [1, 8, 16, 16]> r ="), EINVAL,
            "but tensor<fp32, [1, 8, 16, 16]> is declared");
    refused(changed("tensor<fp16, [1, 8, 16, 16]> r =", "bool r ="), EINVAL, "but bool is declared");
    refused(changed("int32 gr = const", "bool gr = const"), EINVAL,
            "const `gr`: its value is int32, but bool is declared");
    refused(changed("val = int32(1)", "value = int32(1)"), EINVAL, "const `gr` has no attribute `val`");
    refused(changed("string(\"relu\")", "int32(1)"), EINVAL, "attribute name is int32, expected string");
    refused(changed("-> (y)", "-> (z)"), EINVAL, "output `z` is not defined");
    refused(changed("-> (y)", "-> (x)"), EINVAL, "output `x` is an input");
    refused(changed("-> (y)", "-> (W)"), EINVAL, "output `W` is a constant");
    refused(changed("-> (y)", "-> (y, y)"), EINVAL, "output `y` is listed twice");
    refused(changed("-> (y)", ""), EINVAL, "expected `-> (outputs);`");
    refused(changed("-> (y);\n", "-> (y);\nfunc other<ios18>("), EOPNOTSUPP,
            "found a second function `other` after `main`");
    refused(changed("-> (y);\n}", "-> (y);\n} more"), EINVAL, "found `more`, expected the end of the text");
}

/* The operation is named, with the reason and with what works instead. */
static void native_state(void **state)
{
    (void)state;
    refused(changed("relu(x = c)", "read_state(input = c)"), EOPNOTSUPP,
            "Line 13, column 42: operation `read_state`: the data-movement form is not supported on this "
            "architecture; give the state as an input and as an output");
    refused(changed("relu(x = c)", "coreml_update_state(state = c, value = c)"), EOPNOTSUPP,
            "operation `coreml_update_state`: the data-movement form is not supported on this architecture");
    refused(changed("tensor<fp16, [1, 8, 16, 16]> r = relu(x = c)", "write_state(data = c, input = c)"),
            EOPNOTSUPP,
            "Line 13, column 9: operation `write_state`: the data-movement form is not supported on this "
            "architecture");
    refused(changed("tensor<fp32, [1, 8, 16, 16]> x)", "state<tensor<fp16, [1, 8, 16, 16]>> x)"), EOPNOTSUPP,
            "Line 4, column 22: a `state` input is read with `read_state`, whose data-movement form is not "
            "supported on this architecture");
}

static void wrong_weights(void **state)
{
    static const struct {
        unsigned offset, bytes;
        uint64_t value;
        const char *sentence;
    } bad[] = {
        {4, 4, 3, "says version 3 at byte 4, expected 2"},
        {64, 4, 0xdeadbeee, "has 0xdeadbeee at offset 64, expected a blob descriptor (0xDEADBEEF)"},
        {68, 4, 2, "has type code 2, expected 1 (fp16)"},
        {72, 8, WEIGHT_BYTES - 2, "has 1150 bytes, expected 1152 (576 elements of fp16)"},
        {80, 8, 130, "has its data at 130 for 1152 bytes, but the file ends at 1280"},
        {80, 8, UINT64_MAX, "has its data at 18446744073709551615"},
    };
    static const struct {
        const char *by;
        int code;
        const char *sentence;
    } paths[] = {
        {"@model_path/../weight.bin", EINVAL, "leaves the model's folder"},
        {"@model_path/weights/..", EINVAL, "leaves the model's folder"},
        {"@model_path//etc/passwd", EINVAL, "leaves the model's folder"},
        {"/etc/passwd", EINVAL, "leaves the model's folder"},
        {"@model_path", EINVAL, "leaves the model's folder"},
        {"@model_pathology/x", EINVAL, "leaves the model's folder"},
        {"", EINVAL, "leaves the model's folder"},
        {"@model_path/weights", EINVAL, "is not a regular file"},
        {"@model_path/nothing", ENOENT, "cannot be opened: No such file"},
    };
    uint8_t file[FILE_BYTES];
    struct base_error error;
    struct cc_graph *graph;

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        make_weights(file);
        put_le(file + bad[i].offset, bad[i].value, bad[i].bytes);
        folder_write(WEIGHT_FILE, file, sizeof(file));
        refused(example, EINVAL, bad[i].sentence);
    }
    folder_write(WEIGHT_FILE, file, 63);
    refused(example, EINVAL, "has 63 bytes, shorter than its 64-byte header");
    write_weights();
    for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        refused(changed("@model_path/weights/weight.bin", paths[i].by), paths[i].code, paths[i].sentence);
    cc_graph_destroy(parse(changed("@model_path/weights/weight.bin", "weights/./weight.bin")));
    refused(changed("uint64(64)", "uint64(128)"), EINVAL, "Line 7, column 101: weight file");
    refused(changed("uint64(64)", "uint64(0)"), EINVAL, "has 0x00000001 at offset 0");
    refused(changed("uint64(64)", "uint64(1217)"), EINVAL,
            "leaves no room for a descriptor: the file ends at 1280");
    refused(changed("uint64(64)", "uint64(18446744073709551615)"), EINVAL, "leaves no room for a descriptor");
    refused(changed("uint64(64)", "int32(64)"), EINVAL, "found int32, expected uint64");
    refused(changed(", offset = uint64(64)", ""), EINVAL, "found `)`, expected `,`");
    refused(changed("offset = uint64(64)", "path = string(\"x\")"), EINVAL,
            "expected `path` and `offset`, each once");
    refused(
        around(
            "tensor<bool, [1]> k = const()[val = tensor<bool, [1]>(BLOBFILE(path = string(\"@model_path/weights/weight.bin\"), "
            "offset = uint64(64)))];"),
        EINVAL, "a weight file does not hold bool");
    assert_int_equal(cc_mil_read(example, strlen(example), NULL, &graph, &error), -EINVAL);
    assert_non_null(strstr(error.text, "without a folder"));

    make_weights(file);
    put_le(file + 68, 2, 4);
    folder_write(WEIGHT_FILE, file, sizeof(file));
    cc_graph_destroy(parse(
        around("tensor<fp32, [288]> k = const()[val = tensor<fp32, [288]>(BLOBFILE(offset = uint64(64), "
               "path = string(\"@model_path/weights/weight.bin\")))];"
               "tensor<fp16, [1, 4, 6, 8]> y = relu(x = a);")));
    write_weights();
}

/* Every allocation in turn is the one that fails; the sanitizer finds what stays behind. */
static void starve(const char *text, unsigned long least)
{
    struct cc_graph *graph;
    struct base_error error;
    unsigned long n = 0;
    int status;

    do {
        base_alloc_fail_nth(++n);
        status = cc_mil_read(text, strlen(text), folder_name(), &graph, &error);
        base_alloc_fail_nth(0);
        if (status) {
            assert_int_equal(status, -ENOMEM);
            assert_non_null(strstr(error.text, "no memory"));
            assert_null(graph);
        }
    } while (status && n < 10000);
    assert_int_equal(status, 0);
    assert_true(n > least);
    cc_graph_destroy(graph);
}

static void no_memory(void **state)
{
    (void)state;
    starve(example, 20);
    starve(
        "program(1.3){func f(tensor<fp16, [2, 20]> a, tensor<fp16, [20]> b){"
        "tensor<fp16, [2, 20]> s = add(x = a, y = tensor<fp16, [20]>([1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0]))[name = string(\"s\")];"
        "tensor<fp16, [2, 20]> r = mul(x = s, y = fp16(2)); tensor<fp16, [2, 20]> y = identity(x = r);"
        "tensor<fp16, [20]> c = identity(x = b); fp16 m = reduce_mean(x = y);}->(y, r, c, m);}",
        20);
    starve(
        "program(1.3){func f(tensor<fp16, [2, 4]> a){"
        "tensor<fp16, [1, 4]> p, tensor<fp16, [1, 4]> q = split(x = a, axis = int32(0), num_splits = int32(2))[name = string(\"s\")];"
        "tensor<fp16, [4]> k = const()[val = tensor<fp16, [4]>([1, 2, 3, 4])];"
        "tensor<fp16, [1, 4]> n = layer_norm(x = q, axes = tensor<int32, [1]>([-1]), gamma = k, beta = k, epsilon = fp16(1));"
        "tensor<bool, [1, 4]> l = less(x = p, y = n); tensor<fp16, [1, 4]> w = select(cond = l, a = p, b = fp16(0));"
        "tensor<fp16, [3, 4]> y = concat(values = (p, n, w), axis = int32(0));}->(y);}",
        20);
    starve("program(1.3){func f(tensor<fp16, [1, 2, 4]> a){"
           "tensor<fp16, [1, 1, 4]> y = conv(x = a, weight = tensor<fp16, [1, 2, 1]>([1, 2]));}->(y);}",
           10);
}

static void try_text(const char *text, size_t length)
{
    char *exact = malloc(length ? length : 1); /* so that the sanitizer sees the end */
    struct base_error error = {""};
    struct cc_graph *graph;
    int status;

    assert_non_null(exact);
    memcpy(exact, text, length);
    status = cc_mil_read(exact, length, folder_name(), &graph, &error);
    if (status) {
        assert_true(status < 0 && !graph && error.text[0]);
    } else {
        assert_int_equal(cc_graph_check(graph, &error), 0);
        cc_graph_destroy(graph);
    }
    free(exact);
}

static void torn_texts(void **state)
{
    char text[sizeof(example)];
    struct test_rng rng;

    (void)state;
    for (size_t length = 0; length < sizeof(example); length++)
        try_text(example, length);
    test_rng_init(&rng, 1);
    for (unsigned i = 0; i < 4000; i++) {
        memcpy(text, example, sizeof(text));
        for (int64_t flips = test_rng_range(&rng, 1, 4); flips; flips--)
            text[test_rng_range(&rng, 0, sizeof(text) - 2)] ^= (char)(1 << test_rng_range(&rng, 0, 7));
        try_text(text, sizeof(text) - 1);
    }
}

static void torn_weights(void **state)
{
    uint8_t file[FILE_BYTES];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 2);
    for (unsigned i = 0; i < 500; i++) {
        make_weights(file);
        for (int64_t flips = test_rng_range(&rng, 1, 3); flips; flips--)
            file[test_rng_range(&rng, 0, 127)] ^= (uint8_t)(1 << test_rng_range(&rng, 0, 7));
        folder_write(WEIGHT_FILE, file, (size_t)test_rng_range(&rng, 0, FILE_BYTES));
        try_text(example, sizeof(example) - 1);
    }
    write_weights();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_programs), cmocka_unit_test(native_state), cmocka_unit_test(wrong_weights),
        cmocka_unit_test(no_memory),      cmocka_unit_test(torn_texts),   cmocka_unit_test(torn_weights),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
