/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surfaces that fail: every place where the runtime makes one looks at what it got. The linker sends its
 * calls to the functions below (tests/meson.build).
 */
#include "support.h"

#include <string.h>

#include <anemone/iokit.h>

#include "e5rig.h"

int __real_ane_surface_create(ane_task_t task, size_t bytes, uint32_t *id);
void *__real_ane_surface_base(uint32_t id);
void __real_ane_surface_release(uint32_t id);
int __wrap_ane_surface_create(ane_task_t task, size_t bytes, uint32_t *id);
void *__wrap_ane_surface_base(uint32_t id);
void __wrap_ane_surface_release(uint32_t id);

static bool baseless; /* a surface is made and has no memory in this process */
static int live;      /* surfaces made and not released */

int __wrap_ane_surface_create(ane_task_t task, size_t bytes, uint32_t *id)
{
    int status = __real_ane_surface_create(task, bytes, id);

    live += !status;
    return status;
}

void *__wrap_ane_surface_base(uint32_t id)
{
    return baseless ? NULL : __real_ane_surface_base(id);
}

void __wrap_ane_surface_release(uint32_t id)
{
    live -= __real_ane_surface_base(id) != NULL;
    __real_ane_surface_release(id);
}

static void a_buffer_has_memory_or_is_refused(void **state)
{
    e5rt_buffer_object_t buffer = NULL;
    void *data = NULL;

    (void)state;
    baseless = true;
    FAILS(e5rt_buffer_object_alloc(&buffer, 64, E5RT_BUFFER_CPU), E5RT_NO_MEMORY, "64 bytes");
    baseless = false;
    assert_null(buffer);
    assert_int_equal(live, 0);
    OK(e5rt_buffer_object_alloc(&buffer, 64, E5RT_BUFFER_CPU));
    OK(e5rt_buffer_object_get_data_ptr(buffer, &data));
    assert_non_null(data);
    OK(e5rt_buffer_object_release(&buffer));
    assert_int_equal(live, 0);
}

static void a_program_is_not_written_to_nowhere(void **state)
{
    const struct td_shape s = {1, 1, 1, 32};
    e5rt_program_function_t function;
    e5rt_program_library_t library;

    (void)state;
    e5rig_write_adder("add.hwx", &s, 1);
    OK(e5rt_program_library_create(&library, folder_path("add.hwx")));
    OK(e5rt_program_library_retain_program_function(library, "main", &function));
    baseless = true;
    FAILS(e5rt_program_function_load_for_execution(function), E5RT_NO_MEMORY, "Program add.hwx");
    baseless = false;
    assert_int_equal(live, 0);
    OK(e5rt_program_function_load_for_execution(function));
    OK(e5rt_program_function_release(&function));
    OK(e5rt_program_library_release(&library));
    assert_int_equal(live, 0);
}

/* Rows of 33 halfs are not packed in the engine's form: each port has a stage. */
static void a_stage_has_memory_or_is_refused(void **state)
{
    const struct td_shape s = {1, 3, 1, 33};
    e5rt_buffer_object_t buffer;
    e5rt_execution_stream_t stream;
    struct e5rig_model model;

    (void)state;
    e5rig_write_adder("rows.hwx", &s, 1);
    e5rig_model_open(&model, folder_path("rows.hwx"));
    buffer = e5rig_buffer(256);
    e5rig_bind(model.operation, "x", buffer), e5rig_bind(model.operation, "state_in", buffer);
    e5rig_bind(model.operation, "state_out", buffer);
    OK(e5rt_execution_stream_create(&stream));
    baseless = true;
    FAILS(e5rt_execution_stream_encode_operation(stream, model.operation), E5RT_NO_MEMORY, "Port x");
    baseless = false;
    assert_int_equal(live, 1);
    OK(e5rt_execution_stream_encode_operation(stream, model.operation));
    OK(e5rt_execution_stream_execute_sync(stream));
    OK(e5rt_execution_stream_release(&stream));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&buffer));
    assert_int_equal(live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_has_memory_or_is_refused),
        cmocka_unit_test(a_program_is_not_written_to_nowhere),
        cmocka_unit_test(a_stage_has_memory_or_is_refused),
    };

    return cmocka_run_group_tests_name("runtime_surfaces", tests, NULL, NULL);
}
