/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compile service by its messages: what it compiles, keeps, finds and purges, and what it refuses. Its
 * workers are tested in test_compile_workers.c, hostile models in test_compile_hostile.c.
 */
#include "compilerig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/compile.h"
#include "folder.h"
#include "mil_text.h"
#include "onnxrig.h"

#define MODELS   folder_name()
#define GOOD     "good.mil"
#define NO_MODEL "0000000000000000000000000000000000000000000000000000000000000000"
#define OTHER    65534u /* a user that is not the test's */

static void write_model(const char *name, const char *text)
{
    folder_write(name, text, strlen(text));
}

static int set_up_models(void **state)
{
    set_up(state);
    write_model(GOOD, example);
    return 0;
}

static void expect_good(const struct compilerig_reply *reply)
{
    compilerig_expect_model(reply, folder_path(GOOD));
}

static const char *partition_path(uint32_t uid)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/cache/%u", compilerig_state(), uid);
    return path;
}

static void compiles_and_keeps(void **state)
{
    struct compilerig rig;
    struct compilerig_reply first, again;

    (void)state;
    compilerig_start(&rig, NULL, NULL);
    compilerig_compile(&rig, MODELS, GOOD, &first);
    expect_good(&first);
    assert_int_equal(first.model.hit, 0);
    assert_true(first.model.operations > 0);
    compilerig_compile(&rig, MODELS, GOOD, &again);
    expect_good(&again);
    assert_int_equal(again.model.hit, 1);
    compilerig_reply_end(&again);
    compilerig_order(&rig, MODELS, GOOD, PR_BROKER_COMPILE_FORCE);
    assert_true(compilerig_receive(&rig, &again));
    expect_good(&again);
    assert_int_equal(again.model.hit, 0);
    compilerig_reply_end(&again);
    compilerig_find(&rig, geteuid(), first.model.model, &again);
    expect_good(&again);
    assert_int_equal(again.model.hit, 1);
    compilerig_reply_end(&again);
    compilerig_reply_end(&first);
    assert_int_equal(compilerig_stop(&rig), 0);
}

/* An ONNX file, and the file beside it that has its weights. */
static void compiles_onnx(void **state)
{
    const float weights[] = {1, 2, 3, 4};
    Cc__OnnxEntry entry = CC__ONNX_ENTRY__INIT, *entries[] = {&entry};
    struct compilerig rig;
    struct compilerig_reply reply;
    struct onnxrig r;
    CcTensor *tensor;
    uint8_t *bytes;
    size_t size;

    (void)state;
    onnxrig_begin(&r, 13);
    onnxrig_input(&r, r.model->graph, "x", ONNXRIG_FLOAT, ONNXRIG_DIMS(1, 2));
    onnxrig_output(&r, r.model->graph, "y", ONNXRIG_FLOAT);
    tensor = onnxrig_tensor(&r, "w", ONNXRIG_FLOAT, ONNXRIG_DIMS(2, 2), NULL, 0);
    entry.key = (char *)(uintptr_t) "location";
    entry.value = (char *)(uintptr_t) "weights.data";
    tensor->data_location = 1;
    tensor->external_data = entries;
    tensor->n_external_data = 1;
    onnxrig_initializer(&r, r.model->graph, tensor);
    onnxrig_node(&r, r.model->graph, "MatMul", "x w", "y");
    bytes = onnxrig_pack(&r, &size);
    folder_write("net.onnx", bytes, size);
    folder_write("weights.data", weights, sizeof(weights));
    free(bytes);
    onnxrig_end(&r);
    compilerig_start(&rig, NULL, NULL);
    compilerig_compile(&rig, MODELS, "net.onnx", &reply);
    compilerig_expect_model(&reply, folder_path("net.onnx"));
    compilerig_reply_end(&reply);
    folder_write("bad.onnx", "\x0a\xff", 2);
    compilerig_compile(&rig, MODELS, "bad.onnx", &reply);
    assert_true(reply.status != 0);
    assert_non_null(strstr(reply.sentence, "damaged or not an ONNX model"));
    compilerig_reply_end(&reply);
    assert_int_equal(compilerig_stop(&rig), 0);
}

static int try_write(int file)
{
    return pwrite(file, "x", 1, 0) < 0 ? errno : 0;
}

/* Neither the descriptor, nor one that is opened anew, nor a mapping changes them. */
static void files_are_sealed(void **state)
{
    struct compilerig rig;
    struct compilerig_reply reply;

    (void)state;
    compilerig_start(&rig, NULL, NULL);
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    expect_good(&reply);
    for (unsigned i = 0; i < 2; i++) {
        char path[64];
        int again;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", reply.files[i]);
        again = open(path, O_RDWR | O_CLOEXEC);
        assert_int_equal(try_write(reply.files[i]), EPERM);
        assert_true(again < 0 || try_write(again) == EPERM);
        assert_true(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, reply.files[i], 0) == MAP_FAILED);
        assert_int_not_equal(ftruncate(reply.files[i], 0), 0);
        if (again >= 0)
            close(again);
    }
    compilerig_reply_end(&reply);
    assert_int_equal(compilerig_stop(&rig), 0);
}

static bool is_private(const char *path, uint32_t owner)
{
    struct stat info;

    return !stat(path, &info) && S_ISDIR(info.st_mode) && (info.st_mode & 07777) == 0700 &&
           info.st_uid == owner;
}

/* No signature is in it, and nobody but the owner can look. */
static void partition_is_private(void **state)
{
    char cache[256], entry[512];
    struct compilerig rig;
    struct compilerig_reply reply;
    struct cc_bundle bundle;
    struct base_error error = {{0}};

    (void)state;
    compilerig_start(&rig, NULL, NULL);
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    expect_good(&reply);
    snprintf(cache, sizeof(cache), "%s/cache", compilerig_state());
    assert_true(is_private(cache, geteuid()));
    assert_true(is_private(partition_path(geteuid()), geteuid()));
    snprintf(entry, sizeof(entry), "%s/%s", partition_path(geteuid()), reply.model.model);
    if (cc_bundle_read(entry, &bundle, &error))
        fail_msg("%s", error.text);
    assert_false(bundle.is_signed);
    cc_bundle_release(&bundle);
    compilerig_reply_end(&reply);
    assert_int_equal(compilerig_stop(&rig), 0);
}

static void purges(void **state)
{
    struct compilerig rig;
    struct compilerig_reply reply, gone;

    (void)state;
    compilerig_start(&rig, NULL, NULL);
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    expect_good(&reply);
    compilerig_purge(&rig, geteuid(), false, NO_MODEL, &gone);
    compilerig_expect(&gone, kIOReturnNotFound, "no such model");
    compilerig_purge(&rig, geteuid(), false, reply.model.model, &gone);
    assert_int_equal(gone.status, 0);
    assert_int_equal(gone.purged.models, 1);
    assert_int_equal(gone.purged.partitions, 1);
    assert_true(gone.purged.bytes > reply.model.main_bytes);
    compilerig_find(&rig, geteuid(), reply.model.model, &gone);
    compilerig_expect(&gone, kIOReturnNotFound, "compile it again");
    compilerig_reply_end(&reply);
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    expect_good(&reply);
    assert_int_equal(reply.model.hit, 0);
    compilerig_purge(&rig, geteuid(), false, "", &gone);
    assert_int_equal(gone.purged.models, 1);
    assert_int_equal(folder_count(partition_path(geteuid())), 0);
    compilerig_purge(&rig, geteuid(), false, "", &gone);
    assert_int_equal(gone.status, 0);
    assert_int_equal(gone.purged.models, 0);
    compilerig_reply_end(&reply);
    assert_int_equal(compilerig_stop(&rig), 0);
}

/* A partition with so many entries that sorting them is work for the C library. */
static void keeps_many(void **state)
{
    enum { MODELS_KEPT = 70 };
    struct compilerig rig;
    struct compilerig_reply reply;

    (void)state;
    compilerig_start(&rig, NULL, NULL);
    compilerig_purge(&rig, geteuid(), false, "", &reply);
    for (unsigned i = 1; i <= MODELS_KEPT; i++) {
        char text[512];

        snprintf(text, sizeof(text),
                 "program(1.3)\n{func main<ios18>(tensor<fp16, [1, 4, 6, %u]> x) {\n"
                 "tensor<fp16, [1, 4, 6, %u]> y = relu(x = x)[name = string(\"y\")];\n} -> (y);}\n",
                 i, i);
        write_model("many.mil", text);
        compilerig_compile(&rig, MODELS, "many.mil", &reply);
        compilerig_expect_model(&reply, folder_path("many.mil"));
        compilerig_reply_end(&reply);
    }
    compilerig_purge(&rig, geteuid(), false, "", &reply);
    assert_int_equal(reply.purged.models, MODELS_KEPT);
    assert_int_equal(folder_count(partition_path(geteuid())), 0);
    assert_int_equal(compilerig_stop(&rig), 0);
}

static void find_needs_a_key(void **state)
{
    struct compilerig rig;
    struct compilerig_reply reply;

    (void)state;
    compilerig_start(&rig, NULL, NULL);
    compilerig_find(&rig, geteuid(), "../../etc/passwd", &reply);
    compilerig_expect(&reply, kIOReturnBadArgument, "64 hexadecimal digits");
    compilerig_find(&rig, OTHER - 1, NO_MODEL, &reply);
    compilerig_expect(&reply, kIOReturnNotFound, "compiled nothing");
    compilerig_purge(&rig, geteuid(), false, "x", &reply);
    compilerig_expect(&reply, kIOReturnBadArgument, "64 hexadecimal digits");
    assert_int_equal(compilerig_stop(&rig), 0);
}

/* A bundle that a client has made is kept under a key of its contents, whatever its manifest says. */
static void bundle_gets_its_own_key(void **state)
{
    struct cc_options options = {.cache = folder_path("own-cache"), .output = folder_path("net.bundle")};
    struct base_error error = {{0}};
    struct cc_bundle bundle;
    struct cc_report report;
    struct compilerig rig;
    struct compilerig_reply reply, found;

    (void)state;
    if (cc_compile(folder_path(GOOD), &options, &bundle, &report, &error))
        fail_msg("%s", error.text);
    compilerig_start(&rig, NULL, NULL);
    compilerig_compile(&rig, MODELS, "net.bundle", &reply);
    assert_int_equal(reply.status, 0);
    assert_string_not_equal(reply.model.model, report.key);
    assert_int_equal(reply.model.main_bytes, bundle.main_bytes);
    compilerig_find(&rig, geteuid(), reply.model.model, &found);
    assert_int_equal(found.status, 0);
    assert_string_equal(found.model.model, reply.model.model);
    assert_int_equal(found.model.weights_bytes, bundle.weights_bytes);
    compilerig_reply_end(&found);
    compilerig_find(&rig, geteuid(), report.key, &found);
    compilerig_expect(&found, kIOReturnNotFound, "no such model");
    compilerig_reply_end(&reply);
    cc_bundle_release(&bundle);
    assert_int_equal(compilerig_stop(&rig), 0);
}

/* Messages that are none. */

static void ends_with(uint16_t type, const void *body, uint32_t bytes, int descriptor, const char *piece)
{
    struct compilerig rig;
    struct compilerig_reply reply;

    compilerig_start(&rig, NULL, NULL);
    compilerig_send(&rig, type, body, bytes, descriptor);
    assert_true(compilerig_receive(&rig, &reply));
    compilerig_expect(&reply, kIOReturnBadArgument, piece);
    assert_false(compilerig_receive(&rig, &reply));
    assert_int_equal(compilerig_stop(&rig), EPROTO);
}

static void frames_are_checked(void **state)
{
    struct pr_broker_order order = {.uid = geteuid(), .name = GOOD};
    uint8_t large[PR_SERVICE_BODY + 1] = {0};
    int folder = open(MODELS, O_RDONLY | O_CLOEXEC);

    (void)state;
    ends_with(PR_COMPILE_COMPILE, &order, sizeof(order), -1, "0 descriptors");
    ends_with(PR_COMPILE_COMPILE, &order, sizeof(order) - 1, folder, "COMPILE came with");
    ends_with(PR_COMPILE_FIND, &order, sizeof(struct pr_broker_order_find), folder, "1 descriptors");
    ends_with(1, &order, sizeof(order), folder, "1 is not the type");
    ends_with(PR_COMPILE_COMPILE, large, sizeof(large), folder, "0 bytes");
    close(folder);
}

static void names_are_checked(void **state)
{
    static const char *const name[] = {"", ".", "..", "a/b.mil", "/etc/passwd", "../x.mil", "a\nb.mil"};
    struct pr_broker_order order = {.uid = geteuid(), .gid = getegid()};
    int folder = open(MODELS, O_RDONLY | O_CLOEXEC);
    struct compilerig rig;
    struct compilerig_reply reply;

    (void)state;
    compilerig_start(&rig, NULL, NULL);
    for (unsigned i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
        compilerig_compile(&rig, MODELS, name[i], &reply);
        compilerig_expect(&reply, kIOReturnBadArgument, "A model is named by");
    }
    memset(order.name, 'x', sizeof(order.name));
    compilerig_send(&rig, PR_COMPILE_COMPILE, &order, sizeof(order), folder);
    assert_true(compilerig_receive(&rig, &reply));
    compilerig_expect(&reply, kIOReturnBadArgument, "A model is named by");
    snprintf(order.name, sizeof(order.name), "%s", GOOD);
    order.flags = 1u << 31;
    compilerig_send(&rig, PR_COMPILE_COMPILE, &order, sizeof(order), folder);
    assert_true(compilerig_receive(&rig, &reply));
    compilerig_expect(&reply, kIOReturnBadArgument, "flags");
    close(folder);
    compilerig_compile(&rig, folder_path(GOOD), GOOD, &reply);
    compilerig_expect(&reply, kIOReturnBadArgument, "not one of a folder");
    compilerig_compile(&rig, MODELS, GOOD, &reply);
    expect_good(&reply);
    compilerig_reply_end(&reply);
    assert_int_equal(compilerig_stop(&rig), 0);
}

static void number_is_checked(void **state)
{
    (void)state;
    assert_int_equal(svc_compiler_run(0, 2, folder_name()), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiles_and_keeps),
        cmocka_unit_test(files_are_sealed),
        cmocka_unit_test(partition_is_private),
        cmocka_unit_test(purges),
        cmocka_unit_test(keeps_many),
        cmocka_unit_test(find_needs_a_key),
        cmocka_unit_test(bundle_gets_its_own_key),
        cmocka_unit_test(frames_are_checked),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(number_is_checked),
        cmocka_unit_test(compiles_onnx),
    };

    return cmocka_run_group_tests(tests, set_up_models, NULL);
}
