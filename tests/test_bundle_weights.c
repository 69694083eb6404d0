/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large weights of a bundle stay in their file. Whoever reads, copies or loads them gets the bytes that the
 * manifest states, or a refusal.
 */
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <anemone/e5rt.h>

#include "base/alloc.h"
#include "base/file.h"
#include "compiler/compile.h"
#include "compiler/store/blob.h"
#include "e5rig.h"
#include "folder.h"

enum { CHANNELS = 1024, BYTES = 2 * CHANNELS * CHANNELS, SHIFT = 100 };

static char bundle_path[256], weights_path[300];

static void write_model(void)
{
    static uint8_t file[2 * CC_BLOB_HEADER + BYTES];
    uint32_t head[CC_BLOB_HEADER / 4] = {1, CC_BLOB_VERSION};
    uint32_t blob[CC_BLOB_HEADER / 4] = {CC_BLOB_MAGIC, CC_BLOB_CODE_fp16, BYTES, 0, 2 * CC_BLOB_HEADER};
    char text[1024];
    struct test_rng rng;

    test_rng_init(&rng, 1);
    memcpy(file, head, sizeof(head));
    memcpy(file + CC_BLOB_HEADER, blob, sizeof(blob));
    for (unsigned i = 0; i < BYTES / 2; i++) {
        const uint16_t half = test_rng_fp16_finite(&rng, 1.0);

        memcpy(file + 2 * CC_BLOB_HEADER + 2 * (size_t)i, &half, 2);
    }
    folder_write("weights", file, sizeof(file));
    snprintf(text, sizeof(text),
             "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, %d, 1, 1]> x) {\n"
             "        tensor<fp16, [%d, %d, 1, 1]> w = const()[name = string(\"w\"), val = tensor<fp16, "
             "[%d, %d, 1, 1]>(BLOBFILE(path = string(\"@model_path/weights\"), offset = uint64(%u)))];\n"
             "        tensor<fp16, [1, %d, 1, 1]> y = conv(x = x, weight = w)[name = string(\"y\")];\n"
             "    } -> (y);\n}\n",
             CHANNELS, CHANNELS, CHANNELS, CHANNELS, CHANNELS, (unsigned)CC_BLOB_HEADER, CHANNELS);
    folder_write("model.mil", text, strlen(text));
}

/* A bundle of its own for each test. */
static int make_bundle(void **state)
{
    struct cc_options options = {.cache = "/dev/null"};
    struct base_error error = {{0}};
    struct cc_bundle bundle;
    static unsigned made;
    char model[256], name[32];
    int status;

    (void)state;
    write_model();
    snprintf(name, sizeof(name), "large%u.bundle", made++);
    snprintf(model, sizeof(model), "%s", folder_path("model.mil"));
    snprintf(bundle_path, sizeof(bundle_path), "%s", folder_path(name));
    snprintf(weights_path, sizeof(weights_path), "%s/weights.bin", bundle_path);
    options.output = bundle_path;
    status = cc_compile(model, &options, &bundle, NULL, &error);
    if (status)
        print_error("# %s\n", error.text);
    else
        cc_bundle_release(&bundle);
    return status;
}

static void flip_byte(off_t at)
{
    int file = open(weights_path, O_RDWR);
    uint8_t byte;

    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    close(file);
}

static void stays_in_its_file(void **state)
{
    struct base_error error = {{0}};
    struct cc_bundle bundle;
    uint8_t *whole, *copy;
    size_t size;
    int file;

    (void)state;
    assert_int_equal(cc_bundle_read(bundle_path, &bundle, &error), 0);
    assert_null(bundle.weights);
    assert_true(bundle.weights_file > 0 && bundle.weights_bytes >= BYTES);
    assert_int_equal(base_file_read(weights_path, SIZE_MAX, &whole, &size, &error), 0);
    assert_int_equal(size, bundle.weights_bytes);

    file = base_file_memory("copy", size + SHIFT);
    assert_true(file >= 0);
    assert_int_equal(cc_bundle_put_weights(&bundle, file, SHIFT), 0);
    copy = mmap(NULL, size + SHIFT, PROT_READ, MAP_SHARED, file, 0);
    assert_true(copy != MAP_FAILED);
    assert_memory_equal(copy + SHIFT, whole, size);
    munmap(copy, size + SHIFT);
    close(file);

    assert_int_equal(cc_bundle_weights(&bundle, &error), 0);
    assert_memory_equal(bundle.weights, whole, size);
    base_free(whole);
    cc_bundle_release(&bundle);
}

static void changed_later(void **state)
{
    struct base_error error = {{0}};
    struct cc_bundle bundle;

    (void)state;
    assert_int_equal(cc_bundle_read(bundle_path, &bundle, &error), 0);
    flip_byte(BYTES - 1);
    assert_int_equal(cc_bundle_weights(&bundle, &error), -EBADMSG);
    assert_non_null(strstr(error.text, "changed"));
    assert_null(bundle.weights);
    cc_bundle_release(&bundle);
    assert_int_equal(truncate(weights_path, BYTES / 2), 0);
    assert_int_equal(cc_bundle_read(bundle_path, &bundle, &error), -EBADMSG);
}

static void changed_before(void **state)
{
    struct base_error error = {{0}};
    struct cc_bundle bundle;

    (void)state;
    flip_byte(0);
    assert_int_equal(cc_bundle_read(bundle_path, &bundle, &error), -EBADMSG);
    assert_non_null(strstr(error.text, "manifest"));
}

/* To be loaded it is opened without a look at its weights: then the driver refuses it. */
static void loads_what_was_signed(void **state)
{
    e5rt_program_library_t library;
    e5rt_program_function_t function;

    (void)state;
    e5rig_needs_own_machine("a broker reads the bundle there");
    OK(e5rt_program_library_create(&library, bundle_path));
    OK(e5rt_program_library_retain_program_function(library, "main", &function));
    flip_byte(BYTES / 2);
    FAILS(e5rt_program_function_load_for_execution(function), E5RT_INVALID_OPERATION, "changed after");
    flip_byte(BYTES / 2);
    OK(e5rt_program_function_load_for_execution(function));
    OK(e5rt_program_function_release(&function));
    OK(e5rt_program_library_release(&library));

    assert_int_equal(truncate(weights_path, BYTES / 2), 0);
    FAILS(e5rt_program_library_create(&library, bundle_path), E5RT_INVALID_OPERATION, "manifest");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(stays_in_its_file, make_bundle),
        cmocka_unit_test_setup(changed_later, make_bundle),
        cmocka_unit_test_setup(changed_before, make_bundle),
        cmocka_unit_test_setup(loads_what_was_signed, make_bundle),
    };

    return cmocka_run_group_tests_name("bundle_weights", tests, NULL, NULL);
}
