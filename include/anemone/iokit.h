/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way into the driver, as IOKit spells it: find the service, open a user client, call selectors with
 * exact sizes. Tensors are surfaces, named by id. Selectors, argument structs and return codes are in abi.h.
 *
 *     IOServiceGetMatchingService -> IOServiceOpen -> selector 0 -> ... -> selector 1 -> IOServiceClose
 *
 * The following holds for every call below, and is not repeated there.
 *
 * Threads. Every function may be called from any thread, also while another thread closes the connection or
 * destroys the machine. A call that blocks blocks its caller only.
 *
 * Errors. A call that fails leaves a sentence in ane_machine_error() (machine.h), for the calling thread,
 * until its next call. The sentence is that of this call; it is "" when the call has nothing to add to its
 * code. A call that fails changes nothing, unless its comment says otherwise.
 *
 * The trace function of a machine must not call it: kIOReturnNotPermitted.
 *
 * Forks. A forked child begins with no machine, connection or surface: connections of its parent are closed
 * there (ANE_RETURN_CLOSED), and surface ids name nothing. It may make its own. Tasks stay.
 *
 * Served processes. The kernel of a process is a machine of its own, or the service (docs/service.md). The
 * first call that must know decides, for the life of the process:
 *     ANEMONE_SERVICE=none   a machine of its own; so does ane_machine_default with a configuration
 *     ANEMONE_SERVICE=PATH   the service whose socket that is; calls fail while it does not answer
 *     unset or empty         the service at $XDG_RUNTIME_DIR/anemone/service or /run/anemone/service if one
 *                            answers there that is root's or this user's; else a machine of its own
 * In a served process IOServiceGetMatchingService finds the service's device, surfaces of task 0 are made by
 * the service and mapped here, and codes, sentences and blocking are the same. Who the process is, is decided
 * by the service's policy: it is task 0, whatever it holds there. Machines of ane_machine_create are its own
 * all the same, and so are tasks and ports. When the service ends, calls on what it had return
 * kIOReturnNoDevice, also those that wait, and such a session does not come back.
 */
#ifndef ANEMONE_IOKIT_H
#define ANEMONE_IOKIT_H

#include <anemone/abi.h>
#include <anemone/catalogue.h>
#include <anemone/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Tasks ---- */

/*
 * A caller's identity. 0 is the process itself, which holds every entitlement of the driver and may load raw
 * program images.
 */
typedef uint32_t ane_task_t;

/*
 * Makes an identity with these entitlements (docs/abi.md lists those that mean something here). A client
 * reads them once, when it is opened. team_id (31 characters at most) and cdhash (20 bytes) may be NULL.
 * Everything is copied. Two tasks may share programs when both have a cdhash and team and cdhash are equal; a
 * task without a cdhash equals only itself. An id is never used twice. Release it with ane_task_release. Does
 * not block.
 * 0 when it fails: entitlements or an entry of it is NULL, team_id is too long, or 512 tasks exist.
 */
ANE_API ane_task_t ane_task_create(const char *const *entitlements, unsigned count, const char *team_id,
                                   const uint8_t *cdhash);

/*
 * Makes an identity that acts for another: it is the task `task` to surfaces, events and programs (their
 * owner, team and hash), and has these entitlements instead, with anemone.raw-images as `task` has it. For a
 * broker that opens the device on behalf of its clients. It may outlive `task`. Else as ane_task_create; 0
 * also when there is no such task, or it is 0.
 */
ANE_API ane_task_t ane_task_delegate(ane_task_t task, const char *const *entitlements, unsigned count);

/*
 * Releases an identity: its id names nothing from now on. Clients that are open, and surfaces, keep the
 * identity. An id that names nothing is ignored. Does not block.
 */
ANE_API void ane_task_release(ane_task_t task);

/* ---- Services ---- */

/*
 * The matching dictionary of a service. "H11ANEIn", the device, and "H1xANELoadBalancer" match; NULL for any
 * other name. The result is good for IOServiceGetMatchingService alone, for the life of the process, and is
 * not released. Does not block.
 */
ANE_API const void *IOServiceMatching(const char *name);

/*
 * The default machine, which IOServiceGetMatchingService and the runtime use. It lives as long as the
 * process, also when the library was opened with dlopen and closed; the caller must not destroy it.
 *   config != NULL  creates the default machine with this configuration, with firmware or without; it must
 *                   not exist yet.
 *   config == NULL  returns the one that exists, or creates one: the defaults with firmware, and from the
 *                   environment ANEMONE_NUMERICS (m1, ieee or m1-exact), ANEMONE_WINOGRAD (on or off),
 *                   ANEMONE_THREADS (1 to ANE_THREADS_MAX), ANEMONE_SCATTER (`scatter` of the configuration),
 *                   ANEMONE_TIMING (none or m1) and ANEMONE_TRACE (a file that the trace is written to: JSON
 *                   for a viewer when its name ends in .json, records when it ends in .bin, text otherwise;
 *                   it is complete after exit or a return from main).
 * machine may be NULL. Blocks while the machine is made and boots.
 * 0, or a negative errno and *machine is as it was: -EBUSY when config is not NULL and the machine exists;
 * -EINVAL when a variable of the environment has another value; the errno of opening the trace file; -EREMOTE
 * in a served process; -ENODEV when the service that ANEMONE_SERVICE names does not answer; else as
 * ane_machine_create.
 */
ANE_API int ane_machine_default(const struct ane_machine_config *config, struct ane_machine **machine);

/*
 * The service of the default machine, which is made and booted on first use, or of the service that serves
 * this process. main_port is ignored; matching
 * is a result of IOServiceMatching. The number is good as long as the machine and is not released. Blocks as
 * ane_machine_default does.
 * 0 when matching is anything else, the machine cannot be made, it has no firmware, or the service that
 * ANEMONE_SERVICE names does not answer.
 */
ANE_API io_service_t IOServiceGetMatchingService(uint32_t main_port, const void *matching);

/*
 * The service of a machine that was made with firmware = 1; 0 for any other, and for NULL. The number is good
 * as long as the machine. Does not block.
 */
ANE_API io_service_t ane_machine_service(struct ane_machine *machine);

/* ---- The registry ---- */

/*
 * What the driver publishes: a tree of entries with properties (Tables 27.1, 27.9 and 28.2; docs/abi.md lists
 * them). A service is an entry; every entry has a number like a service's, good as long as its machine.
 *
 *     Root -> RTBuddyService -> H11ANEIn -> ANEClientHints
 *     Root -> IOResources -> AppleT8132ANEHAL, H1xANELoadBalancer
 *     Root -> dart-ane0 -> mapper-ane0, mapper-ane0-iso1 to iso7 -> IODARTMapper each
 *
 * Any task may read all of it: it holds counts, and nothing of one client. Each call enters the machine.
 */

/* The root above any entry; 0 when there is no such entry. */
ANE_API io_service_t ane_registry_root(io_service_t entry);

/* A child of an entry, from 0; 0 when there are no more, or no such entry. */
ANE_API io_service_t ane_registry_child(io_service_t entry, uint32_t index);

/* The name of an entry, a constant; NULL when there is no such entry. */
ANE_API const char *ane_registry_name(io_service_t entry);

/*
 * A property by its key; its value is that of this moment.
 * kIOReturnBadArgument: key or value is NULL. kIOReturnNoDevice: no such entry. kIOReturnNotFound: it has no
 * such property. kIOReturnNotPermitted: see above. *value is as it was after a failure.
 */
ANE_API IOReturn ane_registry_property(io_service_t entry, const char *key, struct ane_registry_value *value);

/*
 * A property by its place, from 0; *key is a constant. kIOReturnNotFound: the entry has fewer. Else as
 * ane_registry_property: kIOReturnBadArgument, kIOReturnNoDevice, kIOReturnNotPermitted.
 */
ANE_API IOReturn ane_registry_property_at(io_service_t entry, uint32_t index, const char **key,
                                          struct ane_registry_value *value);

/* ---- Connections ---- */

/*
 * Opens a client of one of the types of enum ane_client_type for a task. *connect is the connection, which
 * the caller closes with IOServiceClose; 0 after a failure. Selector 0 must be its first call, except on a
 * hints client. The connection holds the machine: ane_machine_destroy closes it first. Enters the machine,
 * and waits when the firmware has work of clients that have ended.
 * kIOReturnNoDevice: no such service, or its machine is ending. kIOReturnBadArgument: connect is NULL, or
 * there is no such task or type. kIOReturnUnsupported: the entry is not the device, or the task does not have
 * the entitlement to open: com.apple.ane.iokit-user-access; for a direct-path client that or
 * com.apple.security.temporary-exception.iokit-user-client-class. The sentence names it.
 * kIOReturnNoResources: 1,024 connections are open in the process. kIOReturnNotReady: the device has not
 * started. kIOReturnNoMemory. kIOReturnNotPermitted: see above; and on the service's device for any task but
 * 0.
 */
ANE_API IOReturn IOServiceOpen(io_service_t service, ane_task_t task, uint32_t type, io_connect_t *connect);

/*
 * Closes a connection. Calls of it that wait return kIOReturnAborted in their threads, later ones
 * ANE_RETURN_CLOSED. Programs, mappings and device addresses of the client are given back; a program that
 * other clients have prepared stays until they are done. Blocks until every call on the connection has
 * returned and the firmware has released what the client held.
 * ANE_RETURN_CLOSED: it is closed already. kIOReturnBadArgument: it never was a connection.
 * kIOReturnNotPermitted: see above.
 */
ANE_API IOReturn IOServiceClose(io_connect_t connect);

/*
 * Calls a selector. Which scalars and struct it takes and returns is in the tables of abi.h. inputCount,
 * inputStructCount, *outputCount and *outputStructCount must be exactly the numbers of the table; a NULL
 * count is 0, and a pointer may be NULL where its count is 0. The counts are not changed. Arguments are
 * copied when the call begins. Outputs are written on success only, except for the reply of a request.
 *
 * Every selector may return
 *   kIOReturnBadArgument   it never was a connection, no such selector, a size is wrong, a pointer is NULL,
 *                          the session is another's
 *   ANE_RETURN_CLOSED      the connection is closed, by IOServiceClose, selector 1 or the end of its machine
 *   kIOReturnNotPrivileged control 11 to 15 on a build that is not internal, without the second access
 *                          property (docs/abi.md)
 *   kIOReturnNotReady      selector 0 has not been called
 *   kIOReturnNotPrivileged the task does not have an entitlement that the selector needs; the sentence names
 *                          it. Chaining (control 9; direct path 3, 4 and 8) needs
 *                          com.apple.ane.allow-dataChaining-access, direct path 3 and 4 also
 *                          com.apple.ane.allow-data
 *   kIOReturnNotPermitted  see above
 * The timeout of selector 0 covers what a call waits for: a free request, a domain, the engine. It is wall
 * time unless the machine has a closed clock (machine.h). A command to the firmware has ANE_TIMEOUT_MS of its
 * own: kIOReturnTimeout when no command became free or it was not answered; the sentence says which.
 *
 * DeviceOpen (both, 0), struct ane_device_info. Begins the session. Does not block.
 *   ANE_RETURN_USAGE_REFUSED  the usage is ANE_USAGE_UNSUPPORTED
 *   kIOReturnBadArgument      any other usage but ANE_USAGE_STANDARD; a timeout above an hour
 *   kIOReturnBusy             the client is open already
 *
 * DeviceClose (both, 1). Gives back what the client holds, as IOServiceClose does; the connection itself is
 * still to be closed. Blocks until the firmware has released it.
 *   kIOReturnBusy             calls or requests of the client are under way
 *
 * ProgramSendRequest (both, 2), struct ane_request, struct ane_request_reply; scalar: ANE_REQUEST_DOORBELL.
 * Runs a program once on the surfaces it binds. Blocks until it is done. Requests of one client may be under
 * way in 24 threads (fewer with the hint ANE_HINT_QUEUE_DEPTH), of all clients in 48; more wait. Priority 0
 * needs com.apple.ane.allow-system-reserved-priorities, 1 com.apple.ane.realtime-priority-client.
 * The surfaces are used until the call returns; after a timeout the engine may still write them until it has
 * ended. After any failure the outputs may hold parts of a result. A direct-path client needs no prepare.
 * It begins when the events that it waits for have their values, and signals others when it is done ("Shared
 * events" below).
 *   kIOReturnBadArgument      doorbell, priority, procedure or reserved bytes; other counts than the
 *                             program's; no such surface, or it is too small at that offset; the firmware
 *                             refused the call
 *   kIOReturnNotFound         no such program for this client, or no such event for its task
 *   kIOReturnNotReady         the program is not prepared; or the firmware is not ready for it
 *   kIOReturnNotPrivileged    the priority is reserved
 *   kIOReturnNotPermitted     a surface belongs to another task, which has not shared it
 *   kIOReturnNoMemory         for page tables, intermediate buffers or records
 *   kIOReturnNoResources      device addresses, host descriptors or a table of the firmware are used up;
 *                             24 requests wait for events, or 12 of this client
 *   kIOReturnBusy             the program could not be started
 *   kIOReturnTimeout          what it waits for did not happen in time; the sentence says where it was lost
 *   kIOReturnAborted          the connection was closed meanwhile, or the firmware aborted the call
 *   kIOReturnError            the engine faulted or refused a descriptor; status and detail of the reply, and
 *                             the sentence, say which
 *
 * ProgramCreate (control, 3), struct ane_program_create. Loads a program; its token is written into the
 * surface. The client owns it until selector 6 or close. Blocks until the firmware has it.
 *   kIOReturnBadArgument      the arguments or the image are malformed; no such surface
 *   kIOReturnNotPermitted     the surface belongs to another task; a wrong signature; no signature, for
 *                             any task but the process
 *   kIOReturnNoMemory         in DRAM or in the host
 *   kIOReturnNoResources      the client has 128 programs; the firmware has no free program; the surface
 *                             cannot be attached
 *   kIOReturnTimeout          no command became free, or the firmware did not answer
 *   kIOReturnError            the firmware failed
 *
 * ProgramPrepare (control, 4), struct ane_program_prepare. Makes a program ready for requests of this client,
 * which need not own it: a program of an equal task will do. Counted: one selector 5 for each. Blocks until
 * the firmware has a process for it.
 *   kIOReturnBadArgument      flags or priority
 *   kIOReturnNotPrivileged    the priority is reserved, as for a request
 *   kIOReturnNotFound         no such program for this client
 *   kIOReturnNoMemory, kIOReturnNoResources, kIOReturnBusy, kIOReturnTimeout, kIOReturnAborted,
 *       kIOReturnError as for a request
 *
 * ProgramUnprepare (control, 5), struct ane_program_prepare. Takes one prepare back. Blocks until the
 * firmware has ended the process.
 *   kIOReturnBadArgument      flags
 *   kIOReturnNotFound         no such program for this client
 *   kIOReturnNotReady         it is not prepared
 *   kIOReturnBusy             requests of it are under way
 *
 * ProgramDestroy (control, 6), struct ane_program_destroy. Ends a program of this client, prepared or not.
 * Blocks until the firmware has unloaded it.
 *   kIOReturnNotFound         no such program, or another client's
 *   kIOReturnBusy             requests of it are under way, or another client has it prepared
 *   kIOReturnBusy             instances of it exist
 *
 * ProgramCreateInstance (control, 8), struct ane_instance_create. Gives a program of the caller's identity
 * once more a token, in struct ane_instance_args, with the weights of the base program or, where it brings
 * files, of its own. The base stays as it is and cannot be destroyed before its instances. May block.
 *   kIOReturnBadArgument      flags, version, reserved bytes, sizes or places; more than
 *                             ANE_INSTANCE_WEIGHTS files; the base is an instance itself
 *   kIOReturnNotFound         there is no such base program for this client
 *   kIOReturnNotPermitted     the surface is another task's
 *   kIOReturnNoResources      the client has 128 programs and instances, or all the pages it may have; the
 *                             firmware has no free program
 *   kIOReturnNoMemory
 *
 * ProgramChainingPrepare (control, 9), struct ane_chaining_prepare, struct ane_chaining_reply. Installs a
 * chain of a program that this client has prepared; its handle is for the direct-path selectors 3, 4 and 8,
 * of any client with the same identity. It ends with the client's preparation, and when the engine is
 * restarted or the device sleeps. Blocks until the firmware answers.
 * ProgramOutputSetEnqueue (direct path, 3), struct ane_output_set, posts an output set, new or returned, and
 * blocks until the firmware has it. ProgramInputsReady (direct path, 4), struct ane_inputs_ready, triggers
 * the chain, and blocks until the execution has ended, with those of the chains that follow; it may be called
 * asynchronously. An execution waits for an output set as long as the timeout of selector 0.
 * ProgramChainingSetActiveProcedure (direct path, 8), struct ane_active_procedure, selects the member of a
 * group that runs. Buffers are surfaces of the task that prepared the chain. docs/abi.md has an example.
 *   kIOReturnUnsupported      a buffer waits for a shared event; more than 16 inputs and own buffers
 *   kIOReturnNotPrivileged    the caller does not hold com.apple.ane.allow-dataChaining-access
 *   kIOReturnNotFound         no such program or chain for this client; the chain was lost with the engine's
 *                             restart or the device's sleep
 *   kIOReturnNotReady         the program is not prepared; the set has had no buffers; a trigger of a member
 *                             that is not active
 *   kIOReturnBadArgument      counts, places, reserved bytes, doorbell, links; a timestamp that does not
 *                             rise; an input that neither the trigger nor a link brings
 *   kIOReturnNoResources      the firmware has 16 chains, or 127 triggers of this one
 *   kIOReturnBusy, kIOReturnNoMemory, kIOReturnTimeout, kIOReturnAborted as for a request
 *
 * GetStatus (control, 7), struct ane_status. What the device and this client have now. Does not block.
 *
 * GetVersion (control, 10); one scalar: the version of the device, 96. Does not block.
 *
 * RegisterDebugWorkProcessor (control, 11), struct ane_debug_processor. From here on the warnings of the
 * firmware's log come to this client as items; one client at a time. It ends with selector 12
 * (UnregisterDebugWorkProcessor) or the session; a restart of the firmware ends the items alone. Both block
 * until the firmware answers.
 * GetDebugWorkProcessorItem (control, 13), scalars surface and offset: copies the oldest item there.
 * CompleteDebugWorkProcessorItem (control, 14), scalars item and status: answers the firmware's call.
 * ReleaseDebugWorkProcessorBuffers (control, 15) drops the items that were not fetched. These do not block.
 *   kIOReturnBadArgument      items, flags, reserved bytes; surface, offset, room; an item that was not
 *                             fetched, a status of more than 32 bits
 *   kIOReturnBusy             a client is registered
 *   kIOReturnNotReady         this client is not
 *   kIOReturnNotFound         no such item, one that is over, of an earlier registration or an earlier boot
 *   kIOReturnNotPermitted     the surface belongs to another task
 *
 * LoadFirmware (control, 16). The driver loads the firmware when it starts.
 *   kIOReturnUnsupported      always, also before selector 0
 *
 * MemoryMapRequest (direct path, 5), struct ane_memory_map; scalar 0. Maps a part of a surface for the engine
 * and returns its device address. Needs com.apple.ane.memory. The mapping keeps the surface's pages until
 * selector 6 or close. Blocks while all domains are in use.
 *   kIOReturnBadArgument      token, usage, scalar, range or reserved bytes; no such surface
 *   kIOReturnNotPermitted     the surface belongs to another task
 *   kIOReturnNoMemory, kIOReturnNoResources, kIOReturnTimeout, kIOReturnAborted as for a request
 *
 * MemoryUnMapRequest (direct path, 6), struct ane_memory_map. Takes one such mapping back. Does not block.
 *   kIOReturnBadArgument      token or reserved bytes; the surface is not mapped at that address
 *   kIOReturnBusy             requests use the mapping
 *
 * SessionHintRequest (direct path, 7), struct ane_session_hint, struct ane_session_hint_reply. Sets a hint of
 * this session. Does not block.
 *   kIOReturnBadArgument      no such hint, or its value is above the limit
 *
 * setClientHint (hints, 0); scalars: a hint, a value, a scope. Sets a hint for clients of this task, or of
 * every task with the same team and a signature: for those that are open, and as long as this hints client is
 * open for those that open later. Needs com.apple.private.ane.allow-set-client-hints. Does not block.
 *   kIOReturnBadArgument      no such hint or scope, or its value is above the limit
 *   kIOReturnNotPrivileged    for a coalition without com.apple.private.ane.allow-share-coalition-hints
 */
ANE_API IOReturn IOConnectCallMethod(io_connect_t connect, uint32_t selector, const uint64_t *input,
                                     uint32_t inputCount, const void *inputStruct, size_t inputStructCount,
                                     uint64_t *output, uint32_t *outputCount, void *outputStruct,
                                     size_t *outputStructCount);

/* ---- Asynchronous calls ---- */

/* Where asynchronous requests complete: what a mach port is on the device. 0 is none. */
typedef uint32_t ane_port_t;

/* What arrives at a port: one message for each request that was accepted. */
struct ane_port_message {
    uint64_t reference[4]; /* of the call; words it did not give are 0 */
    IOReturn result;       /* what selector 2 would have returned */
    uint32_t reserved;     /* 0 */
    struct ane_request_reply reply;
};

/*
 * Calls a method of the wider catalogue of a direct-path client (catalogue.h): its numbers begin at
 * ANE_CATALOGUE_FIRST, sizes are exact, and what is said of counts, copies and outputs above holds here.
 *
 * Every method may return
 *   kIOReturnBadArgument   no such connection or method, another type of client, a size, a pointer, a value
 *   ANE_RETURN_CLOSED      the connection is closed
 *   kIOReturnNotReady      selector 0 has not been called
 *   kIOReturnNotPrivileged a method of access DEVICE or RAW, and the task does not have
 *                          com.apple.ane.iokit-user-access, or for RAW the second access property
 *   kIOReturnNotPermitted  see above
 * Those that ask the firmware block as a command does: kIOReturnTimeout.
 *
 * PowerOn, PowerOff, SetDynamicPowerGating (0 or 1), and the six exclave methods send the firmware's command;
 * this firmware has none of them: kIOReturnUnsupported, and the sentence names it. PowerOff: kIOReturnBusy
 * while a client is persistent, or requests wait for shared events in the firmware.
 * SetPowerManagement (0 or 1), SetPowerGatingHysteresisTime (ms, an hour at
 * most), SetThrottlingPercentage (0 to 100), LoadFirmware, ForgetFirmware, MPMMemoryMapRequest and
 * MPMMemoryUnmapRequest: kIOReturnUnsupported with the reason, kIOReturnBadArgument for a value outside.
 * IsPowered: 1 when every power state reads on. Does not block.
 * SendCommand, struct ane_command: sends a control command and returns its answer. kIOReturnNotPermitted for
 *   one that would break what the driver counts; kIOReturnUnsupported when the firmware does not have it;
 *   else its refusal as a code: kIOReturnNotReady, kIOReturnNoResources, kIOReturnError.
 * SetDARTCacheTTL: milliseconds, an hour at most; 0 keeps mappings.
 * FlushInactiveDARTMappings: unmaps surfaces of this client that nothing uses; returns how many.
 * UnmapDartBuffers: the same for one surface; kIOReturnBusy while requests or selector 5 use it.
 * ReadANERegister, WriteANERegister: a 32-bit access of the host at an offset in the engine's aperture.
 *   What a store does is not checked: the property is the only gate.
 * FWSharedEventDoorbellRing: rings a doorbell by index, below 32. ANE_SHARED_EVENT_DOORBELL makes the
 *   firmware look at the requests that wait for shared events.
 * AddPersistentClient, RemovePersistentClient: the client keeps the device resident until it closes.
 *   kIOReturnBusy: it is persistent already. kIOReturnNotFound: it is not.
 * GetClientsInfo, ShowSharedMemoryAllocations, ShowModelMemoryStatus: records of the caller's task.
 */
ANE_API IOReturn ane_catalogue_call(io_connect_t connect, uint32_t method, const uint64_t *input,
                                    uint32_t inputCount, const void *inputStruct, size_t inputStructCount,
                                    uint64_t *output, uint32_t *outputCount, void *outputStruct,
                                    size_t *outputStructCount);

/*
 * Makes a port. From the first request that completes at it, it serves that request's machine alone, until
 * the machine ends. The caller releases it with ane_port_release. Does not block. 0, or a negative errno and
 * *port is 0: -EINVAL when port is NULL; -ENOSPC when the process has 256 ports.
 */
ANE_API int ane_port_create(ane_port_t *port);

/*
 * Takes the oldest message of a port, waiting up to timeout_ns for one: 0 does not wait, UINT64_MAX waits
 * without end. A wait drives the machine that the port serves, as every call that waits does; with a closed
 * clock it is virtual time. The messages of requests of one band come in the order in which those ended. 0,
 * or a negative errno and *message is as it was: -ETIMEDOUT; -EINTR after ane_port_wake; -EINVAL when message
 * is NULL, or there is no such port or it is released meanwhile; -ENODEV when the port's machine is being
 * destroyed, or its service has ended, and no message is left; -EPERM from the trace function of that
 * machine.
 */
ANE_API int ane_port_receive(ane_port_t port, struct ane_port_message *message, uint64_t timeout_ns);

/*
 * One caller that waits for a message, or else the next to call ane_port_receive, returns -EINTR instead of
 * waiting, so that it can look at something else. Several calls count as one until then; a message that is
 * there comes first. Enters the machine that the port serves.
 * 0, or a negative errno: -EINVAL when there is no such port; -EPERM from the trace function of that machine.
 */
ANE_API int ane_port_wake(ane_port_t port);

/*
 * A file descriptor that is readable while messages wait at the port, for poll and the like. It is the
 * port's: the caller neither reads nor closes it. The machine makes progress while the process polls, unless
 * its clock is closed. Does not block. The descriptor, or a negative errno: -EINVAL when there is no such
 * port; -EMFILE when the process has no file descriptor left.
 */
ANE_API int ane_port_descriptor(ane_port_t port);

/*
 * Releases a port, with the messages that wait there. Requests that were to complete at it go on, and their
 * messages are dropped. Callers that wait for one return. Enters the machine that the port serves.
 * 0, or a negative errno: -EINVAL when there is no such port; -EPERM from the trace function of that machine.
 */
ANE_API int ane_port_release(ane_port_t port);

/*
 * Calls selector 2 of either client, or selector 4 of a direct-path client, and returns when the request is
 * accepted: bound, and sent or queued.
 * Its outcome comes to the port later, in exactly one message: also when the connection is closed
 * (kIOReturnAborted), the timeout of selector 0 passes (kIOReturnTimeout), the machine is destroyed
 * (ANE_RETURN_CLOSED) or the service ends (kIOReturnNoDevice). reference is 1 to 4 words, copied into that
 * message. The other arguments are as for IOConnectCallMethod; in the reply sequence and token are set, and
 * the status is ANE_REQUEST_PENDING.
 *
 * It blocks where selector 2 waits before it sends: for a free request, or a domain. After a failure no
 * message comes. The first such call on a machine with an open clock makes a thread, which drives the
 * machine while asynchronous requests are under way and no other thread does, and ends with the machine.
 * kIOReturnBadArgument: wakePort is 0 or names nothing, or serves another machine; reference is NULL, or has
 * another count; another selector. kIOReturnNoResources: messages at the port and requests that
 * complete there are 48 together; no thread could be made. Otherwise as selector 2 of IOConnectCallMethod.
 */
ANE_API IOReturn IOConnectCallAsyncMethod(io_connect_t connect, uint32_t selector, uint32_t wakePort,
                                          uint64_t *reference, uint32_t referenceCount, const uint64_t *input,
                                          uint32_t inputCount, const void *inputStruct,
                                          size_t inputStructCount, uint64_t *output, uint32_t *outputCount,
                                          void *outputStruct, size_t *outputStructCount);

/* ---- Surfaces ---- */

/*
 * Makes a surface of `bytes` bytes, 1 to 4 GiB: whole 16 KiB pages, zeroed, at a stable host address. It
 * belongs to the task, and only clients of that task may use it until it is shared. The id is not used again
 * for a long time after release. Does not block.
 * 0, or a negative errno and *id is 0: -EINVAL for 0 bytes or more than 4 GiB, no such task, or id is NULL;
 * -ENOSPC when the process has 4,095 surfaces, or 512 of the service, or its user 1,024 there; -EMFILE
 * when it has no file descriptor left, of which each surface takes one; -ENOMEM; -ENODEV when the service has
 * ended; -EBUSY when a machine of a served process still uses a surface that was released, in whose place the
 * service made this one.
 */
ANE_API int ane_surface_create(ane_task_t task, size_t bytes, uint32_t *id);

/*
 * Makes a surface of the first bytes of a regular file, for the weights of a program (in struct
 * ane_program_args): the driver reads them from the file when the program is created, so they are copied
 * once. It has neither a host address nor a descriptor, and requests cannot bind it. The descriptor is
 * duplicated; the caller may close it. Does not block.
 * 0 or a negative errno as ane_surface_create; also -EBADF, -EINVAL when it is not a regular file of so many
 * bytes, and -ENOTSUP in a served process, where the service reads no file of a client.
 */
ANE_API int ane_surface_of_file(ane_task_t task, int file, size_t bytes, uint32_t *id);

/*
 * The host address of a surface's bytes, the same until it is released; NULL when there is no such surface,
 * or it is of a file. Any task of the process may ask. The caller orders its accesses with those of the
 * engine: between requests. Does not block.
 */
ANE_API void *ane_surface_base(uint32_t id);

/*
 * A descriptor of the memory file that a surface is, for another process to map: its size is sealed. It
 * belongs to the surface: the caller does not close it, and it is gone with the surface. Does not block. The
 * descriptor, or -ENOENT when there is no such surface, -ENOTSUP when it is of a file.
 */
ANE_API int ane_surface_descriptor(uint32_t id);

/* The size of a surface in bytes, as it was asked for; 0 when there is no such surface. Does not block. */
ANE_API size_t ane_surface_lookup(uint32_t id);

/*
 * Lets the clients of another task use a surface by its id, as those of its owner may: bind it, map it, load
 * from it. A second share with the same task changes nothing. It ends with ane_surface_unshare or with the
 * surface. Does not block.
 * 0 or a negative errno: -ENOENT when there is no such surface, -EPERM when `owner` is not the task that made
 * it, -EINVAL when there is no task `other` or it is the owner, -ENOMEM.
 */
ANE_API int ane_surface_share(uint32_t id, ane_task_t owner, ane_task_t other);

/*
 * Takes a share back: later calls of that task are refused. Requests that are under way, and mappings of
 * selector 5, keep the pages until they end. Unsharing what is not shared changes nothing. Enters every
 * machine that has the surface mapped.
 * 0 or a negative errno: -ENOENT, -EPERM as ane_surface_share.
 */
ANE_API int ane_surface_unshare(uint32_t id, ane_task_t owner, ane_task_t other);

/*
 * Releases a surface, with every share of it. Its host address is gone at once; pages that requests or
 * mappings of a device use live until those end. An id that names nothing is ignored. Enters every machine
 * that has it mapped.
 */
ANE_API void ane_surface_release(uint32_t id);

/* ---- Shared events ---- */

/*
 * A shared event is a value of 64 bits that only rises. Requests wait for it and signal it (struct
 * ane_request_event), across clients and tasks, and so do the calls below. It is an object of the machine
 * that a connection belongs to: the value is in memory that the firmware and the driver see, so that a
 * request that waits in the firmware begins without the host when another request has signalled.
 *
 * An event belongs to the task of the connection that made it, and may be named on every connection of that
 * task to the same machine. Another task may name it once it has been shared with it. It ends when it is
 * released, or when the connection that made it is closed; requests that use it keep it until they end.
 *
 * A request that waits for an event does not keep others from the engine. It keeps its buffers, and ends with
 * kIOReturnTimeout when the timeout of its connection passes first. It signals when it is done, in the order
 * of its records, and only if it was done well.
 *
 * The calls below take any type of connection, also before selector 0. Each may return
 *   kIOReturnBadArgument   it never was a connection, or a pointer is NULL
 *   ANE_RETURN_CLOSED      the connection is closed
 *   kIOReturnTimeout       the device was being restarted longer than the timeout of the connection
 *   kIOReturnNotPermitted  from the trace function of the machine
 * They do not wake a device that sleeps.
 */

/*
 * Makes an event with a first value. *event is its number on this machine, which is not used again for a long
 * time. Does not block.
 * kIOReturnBadArgument: event is NULL. kIOReturnNoResources: the machine has 64 events, or the task 32.
 */
ANE_API IOReturn ane_event_create(io_connect_t connect, uint64_t value, uint32_t *event);

/*
 * The value of an event now. Does not block.
 * kIOReturnBadArgument: value is NULL. kIOReturnNotFound: the task may not name such an event.
 */
ANE_API IOReturn ane_event_value(io_connect_t connect, uint32_t event, uint64_t *value);

/*
 * Raises an event to a value, and lets go on whatever waits for that. A value that is not above the event's
 * changes nothing. Does not block.
 * kIOReturnNotFound: the task may not name such an event.
 */
ANE_API IOReturn ane_event_signal(io_connect_t connect, uint32_t event, uint64_t value);

/*
 * Waits until an event has at least that value, for timeout_ns at most: 0 does not wait, UINT64_MAX waits
 * without end. The wait drives the machine; with a closed clock it is virtual time.
 * kIOReturnTimeout: it has not. kIOReturnAborted: the event was released meanwhile, or the connection closed.
 * kIOReturnNotFound: the task may not name such an event.
 */
ANE_API IOReturn ane_event_wait(io_connect_t connect, uint32_t event, uint64_t value, uint64_t timeout_ns);

/*
 * Lets another task name an event, until the event ends. A second share with the same task changes nothing.
 * Does not block.
 * kIOReturnNotFound: the task of the connection does not own such an event. kIOReturnBadArgument: there is no
 * task of that number. kIOReturnNoResources: it is shared with 8 tasks already. kIOReturnUnsupported: the
 * connection is the service's, where a process cannot name other tasks.
 */
ANE_API IOReturn ane_event_share(io_connect_t connect, uint32_t event, ane_task_t task);

/*
 * Ends an event: its number names nothing from now on. Calls that wait for it return kIOReturnAborted;
 * requests that use it go on with it. Does not block.
 * kIOReturnNotFound: the task of the connection does not own such an event.
 */
ANE_API IOReturn ane_event_release(io_connect_t connect, uint32_t event);

#ifdef __cplusplus
}
#endif

#endif
