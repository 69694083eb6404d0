/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to the kernel that the broker opens for a client's task, on demand. Programs, surfaces and
 * requests on it belong to that task. One thread uses it; the monitor may end it meanwhile, and then calls
 * that wait return kIOReturnAborted and later ones ANE_RETURN_CLOSED. All calls leave a sentence.
 */
#ifndef BROKER_DEVICE_H
#define BROKER_DEVICE_H

#include "broker/state.h"

void brk_device_init(struct brk_device *device);
/* Opens it unless it is open: control client, selector 0. */
IOReturn brk_device_open(struct brk_device *device, uint32_t task, struct base_error *error);
/* Closes it, with everything that it holds. It may be opened again. */
void brk_device_close(struct brk_device *device);
/* Takes the number out, for IOServiceClose by another thread; 0: it was not open. It stays closed. */
io_connect_t brk_device_end(struct brk_device *device);
/* After all threads have left it. */
void brk_device_destroy(struct brk_device *device);

/* Selectors by their names; `what` begins the sentence of a failure. */
IOReturn brk_device_call(const struct brk_device *device, uint32_t selector, const void *in, size_t size,
                         const char *what, struct base_error *error);
IOReturn brk_device_prepare(const struct brk_device *device, uint64_t token, uint32_t qos,
                            struct ane_program_prepare *prepared, struct base_error *error);
void brk_device_unprepare(const struct brk_device *device, uint64_t token);
IOReturn brk_device_destroy_program(const struct brk_device *device, uint64_t token,
                                    struct base_error *error);

#endif
