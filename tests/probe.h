/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For probes of the numbers: MIL text through the runtime's calls alone, on the process's default machine,
 * whose policy the environment names (ANEMONE_NUMERICS). Without it the probes run under m1-exact.
 */
#ifndef TESTS_PROBE_H
#define TESTS_PROBE_H

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <anemone/machine.h>

#include "e5rig.h"

#define INF   0x7c00
#define MINUS 0x8000

/*
 * Sanitizers find what they find with fewer numbers; the probes that
 * measure an error are then left out or cut down.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PROBE_SANITIZED 1
#elif defined(__has_feature)
#define PROBE_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define PROBE_SANITIZED 0
#endif

/* Call before the first model is opened. */
static inline void probe_policy_default(void)
{
    setenv("ANEMONE_NUMERICS", "m1-exact", 0);
}

static inline bool probe_exact(void)
{
    return ane_numerics_named(getenv("ANEMONE_NUMERICS")) == ANE_NUMERICS_M1_EXACT;
}

/* An fp16 tensor that goes in or comes out, by name. */
struct probe_port {
    const char *name;
    size_t count;
    const uint16_t *in; /* NULL for an output */
    uint16_t *out;
};

/* Compiles a program text, binds its ports, runs it once and reads the outputs. */
static inline void probe_program(const char *text, const struct probe_port *port, unsigned ports)
{
    e5rt_buffer_object_t buffer[4];
    e5rt_execution_stream_t stream;
    struct e5rig_model model;

    assert_true(ports <= 4);
    folder_write("model.mil", text, strlen(text));
    e5rig_model_open(&model, folder_path("model.mil"));
    for (unsigned i = 0; i < ports; i++) {
        buffer[i] = e5rig_buffer(2 * port[i].count);
        e5rig_bind(model.operation, port[i].name, buffer[i]);
        if (port[i].in)
            memcpy(e5rig_data(buffer[i]), port[i].in, 2 * port[i].count);
    }
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_execute_sync(stream));
    for (unsigned i = 0; i < ports; i++)
        if (port[i].out)
            memcpy(port[i].out, e5rig_data(buffer[i]), 2 * port[i].count);
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    for (unsigned i = 0; i < ports; i++)
        OK(e5rt_buffer_object_release(&buffer[i]));
}

/* A function of x, and of b when it is given; both and the result have types such as "[1, 4]". */
struct probe_shape {
    const char *type;
    size_t count;
};

static inline void probe_call(const char *call, struct probe_shape x_shape, const uint16_t *x,
                              struct probe_shape b_shape, const uint16_t *b, struct probe_shape y_shape,
                              uint16_t *y)
{
    struct probe_port port[3] = {{"x", x_shape.count, x, NULL}, {"y", y_shape.count, NULL, y}};
    char text[2048], second[128] = "";

    if (b) {
        port[2] = (struct probe_port){"b", b_shape.count, b, NULL};
        snprintf(second, sizeof(second), ", tensor<fp16, %s> b", b_shape.type);
    }
    snprintf(text, sizeof(text),
             "program(1.3)\n{func main<ios18>(tensor<fp16, %s> x%s) {tensor<fp16, %s> y = %s;} -> (y);}",
             x_shape.type, second, y_shape.type, call);
    probe_program(text, port, b ? 3 : 2);
}

/* Halfs as the constant `@model_path/weight.bin` at offset 64 of a model's text. */
static inline void probe_weights(const uint16_t *values, size_t count)
{
    struct {
        uint32_t count, version;
        uint8_t zeros[56];
        uint32_t mark, type;
        uint64_t bytes, offset;
        uint8_t more[40];
    } head = {.count = 1, .version = 2, .mark = 0xdeadbeef, .type = 1, .bytes = 2 * count, .offset = 128};
    uint8_t *file = malloc(sizeof(head) + 2 * count);

    assert_int_equal(sizeof(head), 128);
    assert_non_null(file);
    memcpy(file, &head, sizeof(head));
    memcpy(file + sizeof(head), values, 2 * count);
    folder_write("weight.bin", file, sizeof(head) + 2 * count);
    free(file);
}

#define PROBE_WEIGHTS "BLOBFILE(path = string(\"@model_path/weight.bin\"), offset = uint64(64))"

#endif
