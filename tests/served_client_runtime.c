/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to the engine by e5rt.h: the runtime finds the service by itself. */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <anemone/e5rt.h>

#include "served_client.h"

struct stream {
    e5rt_execution_stream_operation_t operation;
    e5rt_io_port_t port[3];
    e5rt_buffer_object_t buffer[3];
    e5rt_execution_stream_t stream;
    void *base[3];
    sem_t ended; /* of an asynchronous one */
    int64_t status;
    char message[512];
};

static void good(int64_t status, const char *call)
{
    if (status)
        served_client_fail("%s: %s: %s", call, e5rt_error_code_get_string(status),
                           e5rt_get_last_error_message());
}
#define GOOD(call) good((call), #call)

static e5rt_program_library_t compile(const char *folder, const struct served_model *model)
{
    e5rt_program_library_t library;
    e5rt_e5_compiler_t compiler;
    char path[512];

    snprintf(path, sizeof(path), "%s/%s.mil", folder, model->name);
    GOOD(e5rt_e5_compiler_create(&compiler));
    GOOD(e5rt_e5_compiler_compile(compiler, path, NULL, &library));
    GOOD(e5rt_e5_compiler_release(&compiler));
    return library;
}

static void make_operation(struct stream *s, e5rt_program_library_t library)
{
    e5rt_precompiled_compute_op_create_options_t options;
    e5rt_program_function_t function;

    GOOD(e5rt_program_library_retain_program_function(library, "main", &function));
    GOOD(e5rt_program_function_load_for_execution(function));
    GOOD(e5rt_precompiled_compute_op_create_options_create_with_program_function(&options, function));
    GOOD(e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(&s->operation,
                                                                                           options));
    GOOD(e5rt_precompiled_compute_op_create_options_release(&options));
    GOOD(e5rt_program_function_release(&function));
}

static struct stream *stream_make(const char *folder, const struct served_model *model)
{
    static const char *const name[] = {"a", "b", "y"};
    e5rt_program_library_t library = compile(folder, model);
    struct stream *s = calloc(1, sizeof(*s));

    if (!s || sem_init(&s->ended, 0, 0))
        served_client_fail("No memory for a stream.");
    make_operation(s, library);
    for (unsigned i = 0; i < 3; i++) {
        if (i < 2)
            GOOD(e5rt_execution_stream_operation_retain_input_port(s->operation, name[i], &s->port[i]));
        else
            GOOD(e5rt_execution_stream_operation_retain_output_port(s->operation, name[i], &s->port[i]));
        GOOD(e5rt_buffer_object_alloc(&s->buffer[i], SERVED_BYTES, E5RT_BUFFER_CPU));
        GOOD(e5rt_buffer_object_get_data_ptr(s->buffer[i], &s->base[i]));
        GOOD(e5rt_io_port_bind_buffer_object(s->port[i], s->buffer[i]));
    }
    GOOD(e5rt_execution_stream_create(&s->stream));
    GOOD(e5rt_execution_stream_encode_operation(s->stream, s->operation));
    GOOD(e5rt_program_library_release(&library));
    return s;
}

static void stream_end(void *context)
{
    struct stream *s = context;

    GOOD(e5rt_execution_stream_release(&s->stream));
    for (unsigned i = 0; i < 3; i++) {
        GOOD(e5rt_io_port_release(&s->port[i]));
        GOOD(e5rt_buffer_object_release(&s->buffer[i]));
    }
    GOOD(e5rt_execution_stream_operation_release(&s->operation));
    free(s);
}

static void begin(struct stream *s, struct served_operands *operands, uint64_t *random)
{
    served_operands_make(operands, random);
    served_operands_put(operands, s->base[0], s->base[1]);
    memset(s->base[2], 0xff, SERVED_BYTES);
}

static void check(const struct stream *s, const struct served_model *model,
                  const struct served_operands *operands, const char *way)
{
    unsigned place = served_model_check(model, operands, s->base[2]);

    if (place < SERVED_VALUES)
        served_client_fail("A wrong result: %s by %s, element %u is 0x%04x.", model->name, way, place,
                           ((const uint16_t *)s->base[2])[place]);
}

/* The sentence has the driver's code: kIOReturnTimeout. */
static bool is_starved(const char *sentence)
{
    return strstr(sentence, "0xe00002d6");
}

static bool step(void *context, const struct served_model *model, uint64_t *random)
{
    struct served_operands operands;
    struct stream *s = context;
    int64_t status;

    begin(s, &operands, random);
    status = e5rt_execution_stream_execute_sync(s->stream);
    if (status && is_starved(e5rt_get_last_error_message()))
        return false;
    good(status, "execute_sync");
    check(s, model, &operands, "execute_sync");
    return true;
}

/* On a thread of the runtime's. */
static void completed(void *context, int64_t status, const char *message)
{
    struct stream *s = context;

    s->status = status;
    snprintf(s->message, sizeof(s->message), "%s", message ? message : "");
    sem_post(&s->ended);
}

static bool step_async(void *context, const struct served_model *model, uint64_t *random)
{
    struct served_operands operands;
    struct stream *s = context;

    begin(s, &operands, random);
    GOOD(e5rt_execution_stream_submit_async(s->stream, completed, s));
    while (sem_wait(&s->ended))
        ;
    if (s->status && is_starved(s->message))
        return false;
    if (s->status)
        served_client_fail("A submitted stream: %s: %s", e5rt_error_code_get_string(s->status), s->message);
    check(s, model, &operands, "submit_async");
    return true;
}

static void make_sync(struct served_work *work, const char *folder, const struct served_model *model,
                      uint32_t qos)
{
    (void)qos;
    *work = (struct served_work){.step = step, .end = stream_end, .context = stream_make(folder, model)};
}

static void make_async(struct served_work *work, const char *folder, const struct served_model *model,
                       uint32_t qos)
{
    (void)qos;
    *work =
        (struct served_work){.step = step_async, .end = stream_end, .context = stream_make(folder, model)};
}

const struct served_way served_runtime_ways[] = {
    {"stream", make_sync}, {"submitted", make_async}, {NULL, NULL}};
