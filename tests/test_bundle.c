/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles on disk: what is in them, what a changed one is called, and compiling from a file to one. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "compiler/report/placement.h"
#include "compiler/store/bundle.h"
#include "folder.h"
#include "graphrig.h"

static struct cc_program *network(uint32_t size, uint64_t stream)
{
    const uint32_t one[4] = {1, 1, 1, 1};
    struct cc_program *program;
    uint32_t x, y;
    struct gr g;

    gr_open(&g, stream, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP16, GR(1, 8, size, size));
    y = gr_relu(&g, gr_conv(&g, x, gr_const(&g, GR(16, 8, 3, 3)), gr_const(&g, GR(16)), one));
    y = gr_binary(&g, CC_OP_ADD, y, gr_const(&g, GR(16, 1, 1)));
    gr_output(&g, gr_mean(&g, y, 12, true));
    program = gr_lower(&g);
    gr_close(&g);
    return program;
}

static size_t main_size(uint32_t size)
{
    struct cc_program *program = network(size, 1);
    struct base_error error;
    uint8_t *bytes;
    size_t length;

    assert_int_equal(cc_bundle_main(program, &bytes, &length, &error), 0);
    base_free(bytes);
    cc_program_destroy(program);
    return length;
}

static void the_size_does_not_grow_with_the_tensor(void **state)
{
    size_t small = main_size(8), large = main_size(64);

    (void)state;
    assert_true((small > large ? small - large : large - small) <= 64);
}

static void lowering_is_deterministic(void **state)
{
    struct cc_program *a = network(8, 1), *b = network(8, 1);

    (void)state;
    assert_int_equal(a->records, b->records);
    assert_memory_equal(a->record, b->record, a->records * sizeof(*a->record));
    assert_memory_equal(a->constant, b->constant, a->constant_bytes);
    cc_program_destroy(a);
    cc_program_destroy(b);
}

static const char key[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

static int save(const char *name, struct base_error *error)
{
    struct cc_program *program = network(8, 1);
    struct cc_bundle bundle;
    int status;

    if (cc_bundle_of(program, key, true, &bundle, error))
        fail_msg("%s", error->text);
    cc_program_destroy(program);
    status = cc_bundle_save(folder_path(name), &bundle, error);
    cc_bundle_release(&bundle);
    return status;
}

static void written(const char *name)
{
    struct base_error error;

    assert_int_equal(mkdir(folder_path(name), 0777), 0);
    if (save(name, &error))
        fail_msg("%s", error.text);
}

static void a_bundle_comes_back(void **state)
{
    struct cc_program *program = network(8, 1);
    struct cc_bundle bundle;
    struct base_error error;
    char stated[CC_KEY_BYTES];

    (void)state;
    written("whole");
    if (cc_bundle_open(folder_path("whole"), &bundle, stated, &error))
        fail_msg("%s", error.text);
    assert_string_equal(stated, key);
    assert_int_equal(bundle.weights_bytes, program->constant_bytes);
    assert_memory_equal(bundle.weights, program->constant, bundle.weights_bytes);
    assert_string_equal(bundle.path, folder_path("whole"));
    /* Each blob stands on a boundary and is named by its own hash. */
    for (uint32_t i = 0; i < program->blobs; i++) {
        assert_int_equal(program->blob[i].offset % 64, 0);
        assert_true(program->blob[i].offset + program->blob[i].bytes <= program->constant_bytes);
    }
    assert_true(program->blobs >= 2);
    cc_bundle_release(&bundle);
    cc_program_destroy(program);
    /* What is there already is not overwritten. */
    assert_int_equal(save("whole", &error), -EEXIST);
}

static void changed_bundles_are_refused(void **state)
{
    static const char *const name[] = {"main.e5", "weights.bin", "manifest.json", "signature"};
    struct cc_bundle bundle;
    struct base_error error;
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 2);
    written("changed");
    for (unsigned i = 0; i < 4; i++) {
        char file[64];
        uint8_t *bytes;
        size_t size;

        snprintf(file, sizeof(file), "changed/%s", name[i]);
        bytes = test_file_read(folder_path(file), &size);
        assert_non_null(bytes);
        for (unsigned round = 0; round < 300; round++) {
            size_t at = i == 2 ? round % size : (size_t)test_rng_range(&rng, 0, (int64_t)size - 1);
            uint8_t bit = (uint8_t)(1u << test_rng_range(&rng, 0, 7));

            bytes[at] ^= bit;
            folder_write(file, bytes, size);
            error.text[0] = '\0';
            if (cc_bundle_read(folder_path("changed"), &bundle, &error) != -EBADMSG)
                fail_msg("%s: byte %zu, bit 0x%x: %s", name[i], at, bit, error.text);
            assert_null(bundle.main);
            bytes[at] ^= bit;
        }
        for (unsigned round = 0; round < 20; round++) {
            folder_write(file, bytes, (size_t)test_rng_range(&rng, 0, (int64_t)size - 1));
            assert_true(cc_bundle_read(folder_path("changed"), &bundle, &error) < 0);
        }
        unlink(folder_path(file));
        assert_int_equal(cc_bundle_read(folder_path("changed"), &bundle, &error), -ENOENT);
        folder_write(file, bytes, size);
        if (cc_bundle_read(folder_path("changed"), &bundle, &error))
            fail_msg("%s", error.text);
        cc_bundle_release(&bundle);
        free(bytes);
    }
}

/* Compiling. */

static const char model[] = "program(1.3)\n{\n"
                            "  func main<ios18>(tensor<fp16, [1, 4, 5, 6]> x, tensor<fp16, [4, 1, 1]> z) {\n"
                            "    tensor<fp16, [1, 4, 5, 6]> s = add(x = x, y = z)[name = string(\"s\")];\n"
                            "    tensor<fp16, [1, 4, 5, 6]> y = relu(x = s)[name = string(\"y\")];\n"
                            "  } -> (y);\n}\n";

static struct cc_options options(void)
{
    static char cache[96];

    snprintf(cache, sizeof(cache), "%s", folder_path("cache"));
    return (struct cc_options){.cache = cache};
}

static void compile(const struct cc_options *o, const char *file, struct cc_bundle *bundle,
                    struct cc_report *report)
{
    struct base_error error;

    if (cc_compile(file, o, bundle, report, &error))
        fail_msg("%s", error.text);
}

/* The sum of two inputs, and a ReLU that its descriptor has a stage for. Releases the placement. */
static void expect_rows(struct cc_report *report)
{
    const struct cc_placement *p = report->placement;
    const struct cc_row *sum = &p->row[2], *relu = &p->row[3];

    assert_int_equal(p->rows, 5);
    assert_string_equal(sum->name, "s");
    assert_string_equal(sum->kind, "add");
    assert_int_equal(sum->where, CC_WHERE_ENGINE);
    assert_int_equal(sum->descriptors, 1);
    assert_int_equal(sum->froms, 2);
    assert_string_equal(sum->as, "elementwise of two + relu");
    assert_string_equal(relu->name, "y");
    assert_int_equal(relu->where, CC_WHERE_FUSED);
    assert_int_equal(relu->into, 3);
    assert_int_equal(relu->descriptors, 0);
    assert_int_equal(p->row[4].where, CC_WHERE_OUTPUT);
    cc_placement_destroy(report->placement);
}

static void a_file_becomes_a_bundle(void **state)
{
    struct cc_options o = options();
    struct cc_bundle bundle, again;
    struct cc_report report;

    (void)state;
    folder_write("m.mil", model, strlen(model));
    o.report = true;
    compile(&o, folder_path("m.mil"), &bundle, &report);
    assert_false(report.hit);
    assert_int_equal(report.descriptors, 1);
    assert_int_equal(report.operations, 2);
    assert_int_equal(report.weights_bytes, 0);
    assert_int_equal(strlen(report.key), 64);
    expect_rows(&report);
    compile(&o, folder_path("m.mil"), &again, &report);
    assert_true(report.hit);
    expect_rows(&report);
    assert_int_equal(again.main_bytes, bundle.main_bytes);
    assert_memory_equal(again.main, bundle.main, bundle.main_bytes);
    assert_string_equal(again.path, bundle.path);
    cc_bundle_release(&again);
    o = options();
    o.force = true;
    compile(&o, folder_path("m.mil"), &again, &report);
    assert_false(report.hit);
    assert_null(report.placement);
    assert_memory_equal(again.main, bundle.main, bundle.main_bytes);
    cc_bundle_release(&again);
    cc_bundle_release(&bundle);
}

static void a_bundle_is_a_model(void **state)
{
    struct cc_options o = options();
    struct cc_bundle bundle, again;
    struct cc_report report;
    struct base_error error;

    (void)state;
    folder_write("m.mil", model, strlen(model));
    o.output = folder_path("out.bundle");
    compile(&o, folder_path("m.mil"), &bundle, &report);
    cc_bundle_release(&bundle);
    compile(&o, folder_path("m.mil"), &bundle, &report); /* replaces its own */
    assert_int_equal(cc_bundle_check(folder_path("out.bundle"), &error), 0);
    o.output = NULL;
    compile(&o, folder_path("out.bundle"), &again, &report);
    assert_int_equal(report.descriptors, 1);
    assert_memory_equal(again.main, bundle.main, bundle.main_bytes);
    cc_bundle_release(&again);
    cc_bundle_release(&bundle);
    folder_write("precious", "mine", 4);
    o.output = folder_path("precious");
    assert_int_equal(cc_compile(folder_path("m.mil"), &o, &bundle, &report, &error), -EEXIST);
    assert_null(bundle.main);
    assert_int_equal(mkdir(folder_path("folder"), 0777), 0);
    o.output = folder_path("folder");
    assert_int_equal(cc_compile(folder_path("m.mil"), &o, &bundle, &report, &error), -EEXIST);
}

/* Names, kinds, link targets and contents of everything in the folder but the cache. */
static void snapshot(char text[65536])
{
    char command[512];
    FILE *pipe;
    size_t size;

    snprintf(command, sizeof(command),
             "cd '%s' && find . -path ./cache -prune -o -printf '%%p %%y %%l\\n' | sort &&"
             " find . -path ./cache -prune -o -type f -exec cksum {} + | sort",
             folder_name());
    pipe = popen(command, "r");
    assert_non_null(pipe);
    size = fread(text, 1, 65535, pipe);
    assert_true(size > 0 && size < 65535);
    text[size] = '\0';
    assert_int_equal(pclose(pipe), 0);
}

static void not_replaced(const char *name)
{
    static char before[65536], after[65536];
    struct cc_options o = options();
    struct base_error error = {{0}};
    struct cc_bundle bundle;
    int status;

    o.output = folder_path(name);
    snapshot(before);
    status = cc_compile(folder_path("m.mil"), &o, &bundle, NULL, &error);
    snapshot(after);
    if (status != -EEXIST || !strstr(error.text, folder_path(name)))
        fail_msg("%s: status %d, \"%s\"", name, status, error.text);
    assert_string_equal(before, after);
}

static void only_a_bundle_is_replaced(void **state)
{
    static const char foreign[] = "{\"manifest_version\": 3, \"name\": \"not a bundle\"}\n";
    struct cc_options o = options();
    struct cc_bundle bundle;

    (void)state;
    folder_write("m.mil", model, strlen(model));
    assert_int_equal(mkdir(folder_path("extension"), 0777), 0);
    folder_write("extension/manifest.json", foreign, strlen(foreign));
    not_replaced("extension");
    folder_write("extension/main.e5", "mine", 4);
    folder_write("extension/weights.bin", "mine", 4);
    not_replaced("extension");
    written("changed-later");
    folder_write("changed-later/weights.bin", "edited by hand", 14);
    not_replaced("changed-later");
    written("with-notes");
    folder_write("with-notes/notes.txt", "mine", 4);
    not_replaced("with-notes");
    written("with-hidden");
    folder_write("with-hidden/.hidden", "mine", 4);
    not_replaced("with-hidden");
    written("elsewhere");
    assert_int_equal(symlink("elsewhere", folder_path("link")), 0);
    not_replaced("link");
    o.output = folder_path("link/");
    assert_int_equal(cc_compile(folder_path("m.mil"), &o, &bundle, NULL, NULL), -EEXIST);
    assert_int_equal(cc_bundle_check(folder_path("elsewhere"), NULL), 0);
    assert_int_equal(symlink("nowhere", folder_path("dangling")), 0);
    not_replaced("dangling");
    written("linked-file");
    assert_int_equal(rename(folder_path("linked-file/main.e5"), folder_path("kept.e5")), 0);
    assert_int_equal(symlink("../kept.e5", folder_path("linked-file/main.e5")), 0);
    not_replaced("linked-file");
}

static void an_output_path_may_end_in_slashes(void **state)
{
    struct cc_options o = options();
    struct cc_bundle bundle;
    struct cc_report report;

    (void)state;
    folder_write("m.mil", model, strlen(model));
    o.output = folder_path("slashes.bundle//");
    for (unsigned i = 0; i < 2; i++) { /* made, then replaced */
        compile(&o, folder_path("m.mil"), &bundle, &report);
        cc_bundle_release(&bundle);
    }
    o.output = NULL;
    compile(&o, folder_path("slashes.bundle"), &bundle, &report);
    cc_bundle_release(&bundle);
}

/* The message names what the user gave, and no name that only this program knows. */
static void an_output_without_a_folder(void **state)
{
    struct cc_options o = options();
    struct cc_bundle bundle;
    struct cc_report report;
    struct base_error error;

    (void)state;
    folder_write("m.mil", model, strlen(model));
    o.output = folder_path("absent/x.bundle");
    assert_int_equal(cc_compile(folder_path("m.mil"), &o, &bundle, &report, &error), -ENOENT);
    assert_non_null(strstr(error.text, folder_path("absent/x.bundle")));
    assert_non_null(strstr(error.text, "No such file or directory"));
    assert_null(strstr(error.text, ".building"));
    o.output = "";
    assert_int_equal(cc_compile(folder_path("m.mil"), &o, &bundle, &report, &error), -EINVAL);
    assert_non_null(strstr(error.text, "empty"));
}

static void errors_are_sentences(void **state)
{
    struct cc_options o = options();
    struct cc_bundle bundle;
    struct cc_report report;
    struct base_error error;

    (void)state;
    assert_int_equal(cc_compile(folder_path("absent.mil"), &o, &bundle, &report, &error), -ENOENT);
    assert_non_null(strstr(error.text, "absent.mil"));
    folder_write("m.other", model, strlen(model));
    assert_int_equal(cc_compile(folder_path("m.other"), &o, &bundle, &report, &error), -EINVAL);
    assert_non_null(strstr(error.text, ".mil"));
    folder_write("bad.mil", "program(1.3)", 12);
    assert_true(cc_compile(folder_path("bad.mil"), &o, &bundle, &report, &error) < 0);
    assert_non_null(strstr(error.text, "bad.mil"));
    assert_true(cc_compile(folder_name(), &o, &bundle, &report, &error) < 0);
    assert_non_null(strstr(error.text, "manifest.json"));
}

/* Every allocation may fail: an error, no leak, no crash. */
static void memory_may_run_out(void **state)
{
    struct cc_options o = options();
    struct cc_bundle bundle;
    struct cc_report report;
    struct base_error error;
    unsigned failures = 0;

    (void)state;
    folder_write("m.mil", model, strlen(model));
    o.report = true;
    for (unsigned long n = 1;; n++) {
        int status;

        cc_cache_remove(o.cache, NULL, NULL);
        base_alloc_fail_nth(n);
        status = cc_compile(folder_path("m.mil"), &o, &bundle, &report, &error);
        base_alloc_fail_nth(0);
        if (!status) {
            /* Without memory the cache is not used; nothing else is left out. */
            bool whole = !report.trouble.text[0];

            assert_non_null(report.placement);
            cc_placement_destroy(report.placement);
            cc_bundle_release(&bundle);
            if (whole)
                break;
            continue;
        }
        assert_null(bundle.main);
        assert_null(report.placement);
        failures++;
    }
    assert_true(failures > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_size_does_not_grow_with_the_tensor),
        cmocka_unit_test(lowering_is_deterministic),
        cmocka_unit_test(a_bundle_comes_back),
        cmocka_unit_test(changed_bundles_are_refused),
        cmocka_unit_test(a_file_becomes_a_bundle),
        cmocka_unit_test(a_bundle_is_a_model),
        cmocka_unit_test(only_a_bundle_is_replaced),
        cmocka_unit_test(an_output_path_may_end_in_slashes),
        cmocka_unit_test(an_output_without_a_folder),
        cmocka_unit_test(errors_are_sentences),
        cmocka_unit_test(memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
