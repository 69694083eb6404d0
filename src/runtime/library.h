/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has been read: its ports, its bytes until they are loaded, and its token from then on. */
#ifndef RUNTIME_LIBRARY_H
#define RUNTIME_LIBRARY_H

#include <pthread.h>

#include "compiler/compile.h"
#include "runtime/brokered.h"
#include "runtime/handle.h"
#include "runtime/layout.h"

#define E5_PORTS_MAX PR_E5_PORTS_MAX
_Static_assert(E5_PORTS_MAX >= PR_HWX_PORTS_MAX, "every port of an image has a binding");

struct e5rt_program_library {
    struct e5_handle handle;
    char name[128]; /* the model's, for the driver's messages */
    char function[PR_E5_NAME_BYTES];
    uint32_t inputs, outputs;
    struct e5_layout *port;           /* inputs, then outputs */
    uint32_t buffers_in, buffers_out; /* surfaces of a request; fewer than ports where ports share one */
    pthread_mutex_t lock; /* of what follows: functions of one library may be loaded by several threads */
    struct cc_bundle bundle;
    char model[ANE_BROKER_MODEL]; /* in a served process: the broker's name of it; else "" */
    uint32_t representation;
    struct e5_composite *composite; /* of several segments (composite.h); NULL: one program */
    bool loaded;
    struct e5_loaded program; /* once it is loaded; of a composite all zeros */
};

/* Without ports yet, but with room for them; NULL without memory. */
e5rt_program_library_t e5_library_make(const char *path, uint32_t ports);
/* The path names a compiled program: an image (.hwx) or an .anec. */
bool e5_library_is_image(const char *path);
int64_t e5_library_from_image(const char *path, e5rt_program_library_t *library);
/* Takes the bundle over, also when it fails. */
int64_t e5_library_from_bundle(const char *path, struct cc_bundle *bundle, e5rt_program_library_t *library);
/* In a served process: of a model or a bundle, which the broker compiles. Sets the warning. */
int64_t e5_library_from_broker(const char *path, bool force, e5rt_program_library_t *library);
/* Creates and prepares the program, once. */
int64_t e5_library_load(e5rt_program_library_t library);
/* Index of a port by either of its names; negative when there is none. */
int e5_library_find(e5rt_program_library_t library, bool input, const char *name);

#endif
