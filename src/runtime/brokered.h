/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime in a process whose kernel is the service: the broker compiles and loads for it, and sends its
 * requests when the process has no connection of its own. Any thread may call. A forked child connects anew;
 * what its parent loaded cannot be used there.
 */
#ifndef RUNTIME_BROKERED_H
#define RUNTIME_BROKERED_H

#include <stdbool.h>

#include <anemone/broker.h>

#include "runtime/device.h"

/*
 * Whether this process is served. It is decided at the first call, and a service that ANEMONE_SERVICE names
 * and that does not answer is an error.
 */
int64_t e5_brokered_decide(bool *served);

/*
 * Compiles a model or a bundle, on a connection of its own: other calls do not wait for it. The bundle gets
 * main.e5 alone, for the ports; `model` is what the broker calls it from now on. Sets the warning.
 */
int64_t e5_brokered_compile(const char *path, bool force, struct cc_bundle *bundle,
                            char model[ANE_BROKER_MODEL]);

/* 1: the broker's cache has the model, or it is a bundle. 0: it has to be compiled. */
int64_t e5_brokered_find(const char *path, int *found);

/*
 * Loads image->model, or the bytes of an image, on the process's connection to the broker, and fills in what
 * a request needs. When the broker has ended it connects once more.
 */
int64_t e5_brokered_load(const struct e5_image *image, const char *name, struct e5_loaded *loaded);
void e5_brokered_unload(const struct e5_loaded *loaded);
/* kIOReturnNoDevice: the broker that had the program has ended, and the program with it. */
IOReturn e5_brokered_submit(const struct e5_loaded *loaded, const struct ane_request *request,
                            struct ane_request_reply *reply);

#endif
