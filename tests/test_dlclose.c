/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that loads the shared library by name, uses it and closes it. The default machine and its worker
 * threads live as long as the process, so the library's code stays too.
 */
#include "support.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <anemone/iokit.h>

enum { ROUNDS = 3 };

typedef int (*default_fn)(const struct ane_machine_config *config, struct ane_machine **machine);
typedef const char *(*error_fn)(void);
typedef int (*surface_fn)(ane_task_t task, size_t bytes, uint32_t *id);
typedef void *(*base_fn)(uint32_t id);
typedef void (*release_fn)(uint32_t id);

static void *open_library(int flags)
{
    return dlopen(TEST_LIBRARY, flags | RTLD_LOCAL);
}

/* ISO C has no conversion from an object's address to a function's. */
static void find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);

    if (!address)
        fail_msg("%s", dlerror());
    memcpy(function, &address, sizeof(address));
}

/* The default machine, by way of the library; and a surface made and given back. */
static struct ane_machine *use(void *library)
{
    struct ane_machine *machine = NULL;
    default_fn get_default;
    error_fn get_error;
    surface_fn create;
    release_fn release;
    base_fn base;
    uint32_t id;

    find(library, "ane_machine_default", &get_default);
    find(library, "ane_machine_error", &get_error);
    find(library, "ane_surface_create", &create);
    find(library, "ane_surface_base", &base);
    find(library, "ane_surface_release", &release);
    if (get_default(NULL, &machine) || !machine)
        fail_msg("%s", get_error());
    assert_int_equal(create(0, 4096, &id), 0);
    memset(base(id), 1, 4096);
    release(id);
    return machine;
}

static void the_library_stays(void **state)
{
    struct ane_machine *first = NULL;

    (void)state;
    setenv("ANEMONE_THREADS", "4", 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        void *library = open_library(RTLD_NOW), *still;
        struct ane_machine *machine;

        if (!library)
            fail_msg("%s", dlerror());
        machine = use(library);
        first = first ? first : machine;
        assert_ptr_equal(machine, first); /* not one machine for each time it is opened */
        assert_int_equal(dlclose(library), 0);
        still = open_library(RTLD_NOW | RTLD_NOLOAD);
        assert_non_null(still);
        assert_int_equal(dlclose(still), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_stays),
    };

    return cmocka_run_group_tests_name("dlclose", tests, NULL, NULL);
}
