/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A base model of 20 MiB and eight adapters of it, in a service: each computes with its own weights, memory
 * grows by the pages that the adapters' files touch, and switching between them compiles nothing.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <anemone/broker.h>

#include "protocol/half.h"
#include "servedrig.h"

#define CHANNELS 64u
#define ROWS     256u
#define COLUMNS  640u
#define HALFS    (CHANNELS * ROWS * COLUMNS)
#define BYTES    (HALFS * sizeof(uint16_t))
_Static_assert(BYTES >= 20u << 20, "a base of at least 20 MB");

#define ADAPTERS   8u
#define FILES      4u
#define FILE_BYTES (64u << 10)
#define PAGE_BYTES (16u << 10)
#define BLOB_HEAD  128u /* the file's header and one descriptor (compiler/store/blob.h) */
/* Tables, containers and working sets: what an adapter has beside its pages, at most. */
#define BESIDE (512u << 10)

static const char policy[] = "match uid *\n"
                             "    allow com.apple.aned.private.allow\n"
                             "    allow com.apple.aned.private.adapterWeight.allow\n";

static struct servedrig rig;

static int start(void **state)
{
    (void)state;
    servedrig_start(&rig, policy);
    setenv("ANEMONE_SERVICE", rig.socket, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    servedrig_kill(&rig);
    return 0;
}

/* What the base has at a place, and what an adapter has there instead: whole numbers, exact in fp16. */
static unsigned base_weight(size_t at)
{
    return (unsigned)(at % 7);
}
static unsigned adapter_weight(unsigned adapter, size_t at)
{
    return 16 * adapter + (unsigned)(at % 3);
}
static unsigned input_value(size_t at)
{
    return (unsigned)(at % 5);
}

/* Where a file of an adapter goes in the weights: not at a page's beginning, and in places of its own. */
static size_t file_target(unsigned adapter, unsigned file)
{
    return ((size_t)adapter * FILES + file) * (BYTES / (ADAPTERS + 1) / FILES / 64 * 64) + 64;
}

static unsigned weight(unsigned adapter, size_t at)
{
    for (unsigned file = 0; adapter && file < FILES; file++) {
        size_t target = file_target(adapter, file);

        if (at * 2 >= target && at * 2 < target + FILE_BYTES)
            return adapter_weight(adapter, at);
    }
    return base_weight(at);
}

static uint16_t half_of(unsigned number)
{
    return pr_half_of_int((int)number);
}

static void write_blob(void)
{
    uint16_t *halfs = malloc(BYTES);
    uint32_t head[BLOB_HEAD / 4] = {1, 2};
    char path[160];
    FILE *file;

    head[16] = 0xDEADBEEFu;
    head[17] = 1;
    head[18] = (uint32_t)BYTES;
    head[20] = BLOB_HEAD;
    assert_non_null(halfs);
    for (size_t i = 0; i < HALFS; i++)
        halfs[i] = half_of(base_weight(i));
    snprintf(path, sizeof(path), "%s/large.bin", rig.models);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(head, sizeof(head), 1, file), 1);
    assert_int_equal(fwrite(halfs, BYTES, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    free(halfs);
}

static void write_model(char path[160])
{
    FILE *file;

    write_blob();
    snprintf(path, 160, "%s/large.mil", rig.models);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, %u, %u, %u]> x) {\n"
            "        tensor<fp16, [1, %u, %u, %u]> w = const()[name = string(\"w\"), val = tensor<fp16, "
            "[1, %u, %u, %u]>(BLOBFILE(path = string(\"@model_path/large.bin\"), offset = uint64(64)))];\n"
            "        tensor<fp16, [1, %u, %u, %u]> y = add(x = x, y = w)[name = string(\"y\")];\n"
            "    } -> (y);\n}\n",
            CHANNELS, ROWS, COLUMNS, CHANNELS, ROWS, COLUMNS, CHANNELS, ROWS, COLUMNS, CHANNELS, ROWS,
            COLUMNS);
    assert_int_equal(fclose(file), 0);
}

static void works(IOReturn status, const char *what)
{
    if (status)
        fail_msg("%s: 0x%x: %s", what, (unsigned)status, ane_machine_error());
}

static void adapt(struct ane_broker *broker, const char *model, unsigned adapter,
                  struct ane_broker_instance *instance)
{
    const struct ane_broker_arguments arguments = {.size = sizeof(arguments), .model = model};
    static uint16_t halfs[FILES][FILE_BYTES / 2];
    struct ane_broker_weights files[FILES];

    for (unsigned file = 0; file < FILES; file++) {
        size_t target = file_target(adapter, file);

        for (size_t i = 0; i < FILE_BYTES / 2; i++)
            halfs[file][i] = half_of(adapter_weight(adapter, target / 2 + i));
        files[file] = (struct ane_broker_weights){.target = target, .bytes = halfs[file], .size = FILE_BYTES};
    }
    instance->size = sizeof(*instance);
    works(ane_broker_create_instance_with_weights(broker, &arguments, files, FILES, instance), "an adapter");
}

static void run(struct ane_broker *broker, const struct ane_broker_instance *instance, unsigned adapter,
                uint32_t x, uint32_t y)
{
    const struct ane_request request = {.priority = instance->priority,
                                        .qos = instance->qos,
                                        .category = ANE_REQUEST_CATEGORY,
                                        .inputs = 1,
                                        .outputs = 1,
                                        .surface = {x, y}};
    const uint16_t *result = ane_surface_base(y);
    struct ane_request_reply reply;

    memset(ane_surface_base(y), 0xff, BYTES);
    works(ane_broker_submit(broker, instance->instance, &request, &reply), "a request");
    for (size_t i = 0; i < HALFS; i++)
        if (result[i] != half_of(input_value(i) + weight(adapter, i)))
            fail_msg("adapter %u: place %zu has 0x%x, and %u + %u is right", adapter, i, result[i],
                     input_value(i), weight(adapter, i));
}

static void a_base_and_its_adapters(void **state)
{
    struct ane_broker_instance instance[1 + ADAPTERS] = {{.size = sizeof(instance[0])}};
    struct ane_broker_model model = {.size = sizeof(model)};
    const struct ane_broker_arguments load = {.size = sizeof(load), .model = model.model};
    struct ane_broker_compile compile = {.size = sizeof(compile)};
    struct servedrig_figures before, base, all;
    struct ane_broker *broker;
    char path[160];
    uint32_t x, y;

    (void)state;
    servedrig_rest(&rig, &before);
    write_model(path);
    compile.path = path;
    works(ane_broker_connect(&broker), "connecting");
    works(ane_broker_compile(broker, &compile, &model), "compiling");
    close(model.main);
    assert_true(model.weights_bytes >= BYTES);
    assert_int_equal(ane_surface_create(0, BYTES, &x), 0);
    assert_int_equal(ane_surface_create(0, BYTES, &y), 0);
    for (size_t i = 0; i < HALFS; i++)
        ((uint16_t *)ane_surface_base(x))[i] = half_of(input_value(i));
    works(ane_broker_load(broker, &load, &instance[0]), "loading the base");
    run(broker, &instance[0], 0, x, y);
    servedrig_figures(&rig, &base);
    for (unsigned k = 1; k <= ADAPTERS; k++)
        adapt(broker, model.model, k, &instance[k]);
    for (unsigned k = ADAPTERS + 1; k-- > 0;)
        run(broker, &instance[k], k, x, y);
    servedrig_figures(&rig, &all);
    /* Each file touches five pages: it begins within one. */
    printf("# the base has %lu bytes wired; eight adapters add %lu\n", (unsigned long)base.wired_bytes,
           (unsigned long)(all.wired_bytes - base.wired_bytes));
    assert_true(base.wired_bytes >= BYTES);
    assert_true(all.wired_bytes - base.wired_bytes >= ADAPTERS * FILES * FILE_BYTES);
    assert_true(all.wired_bytes - base.wired_bytes <=
                ADAPTERS * (FILES * (FILE_BYTES + PAGE_BYTES) + BESIDE));
    works(ane_broker_compile(broker, &compile, &model), "compiling again");
    assert_true(model.hit);
    close(model.main);
    for (unsigned k = ADAPTERS + 1; k-- > 0;)
        works(ane_broker_release(broker, instance[k].instance), "a release");
    ane_surface_release(x);
    ane_surface_release(y);
    ane_broker_disconnect(broker);
    /* The broker ends a client's connection after the client has left it. */
    for (unsigned tries = 0; tries < 200 && all.wired_bytes != before.wired_bytes; tries++) {
        usleep(100000);
        servedrig_figures(&rig, &all);
    }
    assert_int_equal(all.wired_bytes, before.wired_bytes);
    servedrig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_base_and_its_adapters)};

    return cmocka_run_group_tests(tests, start, stop);
}
