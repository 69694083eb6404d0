/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way into the driver, as IOKit spells it: find the service, open a user client, call selectors with exact sizes; tensors are surfaces, named by id.
 * Argument structs and return codes are in abi.h.
 *
 * Every function may be called from any thread. A selector that waits (2) blocks its caller only. Nothing here may be used in a forked child.
 */
#ifndef ANEMONE_IOKIT_H
#define ANEMONE_IOKIT_H

#include <anemone/abi.h>
#include <anemone/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A caller's identity; 0 is the process itself, which may open the device and load raw program images. */
typedef uint32_t ane_task_t;
/* 0 when there are too many. team_id and cdhash (20 bytes) may be NULL. */
ANE_API ane_task_t ane_task_create(const char *const *entitlements, unsigned count, const char *team_id,
                                   const uint8_t *cdhash);
ANE_API void ane_task_release(ane_task_t task);

/* "H11ANEIn" is the one name that matches. The result is only good for IOServiceGetMatchingService. */
ANE_API const void *IOServiceMatching(const char *name);
/*
 * The default machine, which IOServiceGetMatchingService and the runtime use. With a configuration it is made with that, firmware or not as said, and must not exist yet
 * (-EBUSY). With NULL it is the one that exists, or one made now: defaults, and ANEMONE_NUMERICS (m1, ieee), ANEMONE_THREADS (a number) and
 * ANEMONE_TRACE (a file the trace's lines are written to) of the environment. It lives as long as the process, also when the
 * library was opened with dlopen and closed.
 */
ANE_API int ane_machine_default(const struct ane_machine_config *config, struct ane_machine **machine);
/* The default machine's service, made and booted on first use; 0 when it cannot be (ane_machine_error() says why) or nothing matches. */
ANE_API io_service_t IOServiceGetMatchingService(uint32_t main_port, const void *matching);
/* The service of a machine made with firmware = 1; 0 for any other. */
ANE_API io_service_t ane_machine_service(struct ane_machine *machine);

ANE_API IOReturn IOServiceOpen(io_service_t service, ane_task_t task, uint32_t type, io_connect_t *connect);
/* Requests of this client that are under way end with kIOReturnAborted; what it held is given back. */
ANE_API IOReturn IOServiceClose(io_connect_t connect);

ANE_API IOReturn IOConnectCallMethod(io_connect_t connect, uint32_t selector, const uint64_t *input,
                                     uint32_t inputCount, const void *inputStruct, size_t inputStructCount,
                                     uint64_t *output, uint32_t *outputCount, void *outputStruct,
                                     size_t *outputStructCount);
/* kIOReturnUnsupported for now. */
ANE_API IOReturn IOConnectCallAsyncMethod(io_connect_t connect, uint32_t selector, uint32_t wakePort,
                                          uint64_t *reference, uint32_t referenceCount, const uint64_t *input,
                                          uint32_t inputCount, const void *inputStruct,
                                          size_t inputStructCount, uint64_t *output, uint32_t *outputCount,
                                          void *outputStruct, size_t *outputStructCount);

/* A surface: whole 16 KiB pages, zeroed, at a stable host address until it is released. 0, -ENOMEM, -EINVAL. */
ANE_API int ane_surface_create(ane_task_t task, size_t bytes, uint32_t *id);
ANE_API void *ane_surface_base(uint32_t id);
/* Its size in bytes as asked for; 0 when there is no such surface. */
ANE_API size_t ane_surface_lookup(uint32_t id);
/* The address is gone at once; pages the device still uses live until it lets go. */
ANE_API void ane_surface_release(uint32_t id);

#ifdef __cplusplus
}
#endif

#endif
