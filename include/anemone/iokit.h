/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way into the driver, as IOKit spells it: find the service, open a user client, call selectors with exact sizes; tensors are surfaces, named by id.
 * Argument structs and return codes are in abi.h.
 *
 * Every function may be called from any thread, also while another thread closes the connection or destroys the machine. A selector that waits blocks its
 * caller only. A forked child begins with no machine, connection or surface: those of its parent answer kIOReturnExclusiveAccess there, and it may make its own.
 *
 * A call that fails leaves a sentence in ane_machine_error(), for the calling thread, until its next call.
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
/*
 * An identity with these entitlements. team_id (31 characters at most) and cdhash (20 bytes) may be NULL. Two tasks may share programs when both have a
 * cdhash and team and cdhash are equal; a task without a cdhash equals only itself. An id is never given out twice. 0 when an argument is refused or 256 tasks exist.
 */
ANE_API ane_task_t ane_task_create(const char *const *entitlements, unsigned count, const char *team_id,
                                   const uint8_t *cdhash);
/* Clients that are open, and surfaces, keep the identity. An id that names nothing is ignored. */
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

/*
 * A client of one of the types of abi.h. kIOReturnNoDevice: no such service, or its machine ends. kIOReturnBadArgument: connect is NULL, there is no such task or
 * type. kIOReturnUnsupported: the task may not open. kIOReturnNoResources: 1,024 connections are open. kIOReturnNoMemory. kIOReturnNotReady: the device has not started.
 */
ANE_API IOReturn IOServiceOpen(io_service_t service, ane_task_t task, uint32_t type, io_connect_t *connect);
/*
 * Requests of this client that are under way end with kIOReturnAborted; what it held is given back. Waits until every call on the connection has left.
 * kIOReturnExclusiveAccess when it is closed already, kIOReturnBadArgument when it never was one.
 */
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

/*
 * A surface: whole 16 KiB pages, zeroed, at a stable host address until it is released. It belongs to the task: clients of other tasks cannot use it. 0, or
 * -EINVAL (0 or more than 4 GiB, no such task, id is NULL), -ENOSPC (4,095 exist), -EMFILE (each takes one descriptor), -ENOMEM.
 */
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
