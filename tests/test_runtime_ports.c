/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime with more ports than the engine has buffers: a network of 100 inputs and 60 outputs, with
 * packed buffers and buffers in the engine's form, and state that is an input and an output.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "e5rig.h"

/* Output k is the sum of inputs k and k + APART. Port p is fp32 where p is even. */
enum { INPUTS = 100, OUTPUTS = 60, APART = 40, ELEMENTS = 70 };

/* Shapes of 70 elements. APART is a multiple of their number, so both terms of a sum have the same. */
static const char *const shape[] = {"[70]", "[7, 10]", "[1, 5, 2, 7]", "[2, 35]"};
enum { SHAPES = sizeof(shape) / sizeof(shape[0]) };
_Static_assert(APART % SHAPES == 0 && INPUTS == OUTPUTS + APART, "every input is used");

static bool is_fp32(unsigned port)
{
    return port % 2 == 0;
}

static const char *type_name(unsigned port)
{
    return is_fp32(port) ? "fp32" : "fp16";
}

static void write_model(const char *name)
{
    static char text[INPUTS * 400 + OUTPUTS * 500];
    int at = 0;

#define LINE(...) at += snprintf(text + at, sizeof(text) - (size_t)at, __VA_ARGS__)
    LINE("program(1.3)\n{\n    func main<ios18>(");
    for (unsigned i = 0; i < INPUTS; i++)
        LINE("%stensor<%s, %s> x%u", i ? ", " : "", type_name(i), shape[i % SHAPES], i);
    LINE(") {\n        string h = const()[name = string(\"h\"), val = string(\"fp16\")];\n"
         "        string f = const()[name = string(\"f\"), val = string(\"fp32\")];\n");
    for (unsigned i = 0; i < INPUTS; i++)
        if (is_fp32(i))
            LINE("        tensor<fp16, %s> a%u = cast(dtype = h, x = x%u)[name = string(\"a%u\")];\n",
                 shape[i % SHAPES], i, i, i);
    for (unsigned i = 0; i < OUTPUTS; i++) {
        const char *in = is_fp32(i) ? "a" : "x", *out = is_fp32(i) ? "s" : "y";

        LINE("        tensor<fp16, %s> %s%u = add(x = %s%u, y = %s%u)[name = string(\"s%u\")];\n",
             shape[i % SHAPES], out, i, in, i, in, i + APART, i);
        if (is_fp32(i))
            LINE("        tensor<fp32, %s> y%u = cast(dtype = f, x = s%u)[name = string(\"y%u\")];\n",
                 shape[i % SHAPES], i, i, i);
    }
    LINE("    } -> (");
    for (unsigned i = 0; i < OUTPUTS; i++)
        LINE("%sy%u", i ? ", " : "", i);
    LINE(");\n}\n");
#undef LINE
    folder_write(name, text, (size_t)at);
}

/* A buffer, and how its elements are found. */
struct bound {
    e5rt_buffer_object_t buffer;
    bool fp32;
    uint64_t rank, dim[5], stride[5]; /* a rank of 0: packed */
};

static void *element(const struct bound *b, unsigned index)
{
    uint64_t at = b->rank ? 0 : index * (b->fp32 ? 4 : 2);

    for (uint64_t i = b->rank; i-- > 0; index /= (unsigned)b->dim[i])
        at += index % b->dim[i] * b->stride[i];
    return (uint8_t *)e5rig_data(b->buffer) + at;
}

static double get(const struct bound *b, unsigned index)
{
    void *at = element(b, index);

    return b->fp32 ? (double)*(float *)at : test_half_to_double(*(uint16_t *)at);
}

static void put(const struct bound *b, unsigned index, double value)
{
    void *at = element(b, index);

    if (b->fp32)
        *(float *)at = (float)value;
    else
        *(uint16_t *)at = test_half_from_double(value);
}

/* A buffer for a port; of every third port one in the engine's form, of which the strides are asked for. */
static struct bound bind_port(e5rt_execution_stream_operation_t operation, bool input, unsigned number)
{
    struct bound b = {.fp32 = is_fp32(number)};
    e5rt_tensor_desc_t desc = NULL;
    e5rt_io_port_t port = NULL;
    char name[16];

    snprintf(name, sizeof(name), "%c%u", input ? 'x' : 'y', number);
    OK(input ? e5rt_execution_stream_operation_retain_input_port(operation, name, &port)
             : e5rt_execution_stream_operation_retain_output_port(operation, name, &port));
    if (number % 3 == 0) {
        OK(e5rt_io_port_retain_tensor_desc(port, &desc));
        OK(e5rt_tensor_desc_get_rank(desc, &b.rank));
        OK(e5rt_tensor_desc_get_shape(desc, b.dim));
        OK(e5rt_tensor_desc_get_strides(desc, b.stride));
        OK(e5rt_tensor_desc_release(&desc));
        b.fp32 = false;
        b.buffer = e5rig_engine_buffer(operation, name);
    } else {
        b.buffer = e5rig_buffer(ELEMENTS * (b.fp32 ? 4u : 2u));
    }
    OK(e5rt_io_port_bind_buffer_object(port, b.buffer));
    OK(e5rt_io_port_release(&port));
    return b;
}

static double number(unsigned port, unsigned index, unsigned run)
{
    return (double)((port * 7 + index * 3 + run * 5) % 41) - 20;
}

static void check_run(e5rt_execution_stream_t stream, const struct bound *in, const struct bound *out,
                      unsigned run)
{
    for (unsigned p = 0; p < INPUTS; p++)
        for (unsigned i = 0; i < ELEMENTS; i++)
            put(&in[p], i, number(p, i, run));
    OK(e5rt_execution_stream_execute_sync(stream));
    for (unsigned p = 0; p < OUTPUTS; p++)
        for (unsigned i = 0; i < ELEMENTS; i++)
            if (get(&out[p], i) != number(p, i, run) + number(p + APART, i, run))
                fail_msg("run %u: element %u of output %u is %g", run, i, p, get(&out[p], i));
}

static void many_ports_run(void **state)
{
    struct bound in[INPUTS], out[OUTPUTS];
    e5rt_execution_stream_t stream = NULL;
    struct e5rig_model model;
    uint64_t count = 0;

    (void)state;
    write_model("ports.mil");
    e5rig_model_open(&model, folder_path("ports.mil"));
    OK(e5rt_execution_stream_operation_get_num_inputs(model.operation, &count));
    assert_int_equal(count, INPUTS);
    OK(e5rt_execution_stream_operation_get_num_outputs(model.operation, &count));
    assert_int_equal(count, OUTPUTS);
    for (unsigned i = 0; i < INPUTS; i++)
        in[i] = bind_port(model.operation, true, i);
    for (unsigned i = 0; i < OUTPUTS; i++)
        out[i] = bind_port(model.operation, false, i);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    for (unsigned run = 0; run < 3; run++)
        check_run(stream, in, out, run);
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    for (unsigned i = 0; i < INPUTS; i++)
        OK(e5rt_buffer_object_release(&in[i].buffer));
    for (unsigned i = 0; i < OUTPUTS; i++)
        OK(e5rt_buffer_object_release(&out[i].buffer));
}

/*
 * State: output k and input k are one buffer, for all outputs, those with a surface of their own and those
 * that share one. Each run adds input k + APART, which is a buffer of the last inputs, or the old state.
 */
static void state_is_read_before_it_is_written(void **state)
{
    e5rt_buffer_object_t buffer[INPUTS];
    e5rt_execution_stream_t stream = NULL;
    struct e5rig_model model;
    double now[INPUTS], next[INPUTS];
    char name[16];

    (void)state;
    write_model("state.mil");
    e5rig_model_open(&model, folder_path("state.mil"));
    for (unsigned i = 0; i < INPUTS; i++) {
        const struct bound b = {.buffer = e5rig_buffer(ELEMENTS * 4), .fp32 = is_fp32(i)};

        buffer[i] = b.buffer;
        now[i] = next[i] = (double)(i % 9) - 4;
        for (unsigned k = 0; k < ELEMENTS; k++)
            put(&b, k, now[i]);
        snprintf(name, sizeof(name), "x%u", i);
        e5rig_bind(model.operation, name, b.buffer);
        snprintf(name, sizeof(name), "y%u", i);
        if (i < OUTPUTS)
            e5rig_bind(model.operation, name, b.buffer);
    }
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    for (unsigned run = 0; run < 4; run++) {
        OK(e5rt_execution_stream_execute_sync(stream));
        for (unsigned i = 0; i < OUTPUTS; i++)
            next[i] = now[i] + now[i + APART];
        memcpy(now, next, sizeof(now));
        for (unsigned i = 0; i < INPUTS; i++) {
            const struct bound b = {.buffer = buffer[i], .fp32 = is_fp32(i)};

            for (unsigned k = 0; k < ELEMENTS; k += ELEMENTS - 1)
                assert_true(get(&b, k) == now[i]);
        }
    }
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    for (unsigned i = 0; i < INPUTS; i++)
        OK(e5rt_buffer_object_release(&buffer[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_ports_run),
        cmocka_unit_test(state_is_read_before_it_is_written),
    };

    return cmocka_run_group_tests_name("runtime_ports", tests, NULL, NULL);
}
