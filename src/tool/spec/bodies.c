/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of the control commands, for `anemone spec`: one row for each field, by the structures that the
 * firmware reads. Where a command is asked for something, the fields are those of its reply.
 */
#include <stddef.h>

#include "protocol/cache.h"
#include "protocol/call.h"
#include "protocol/control_bodies.h"
#include "protocol/inference.h"
#include "protocol/endpoint.h"
#include "protocol/notification.h"
#include "tool/spec/spec.h"

static const struct spec_column columns[] = {SPEC_TEXT("command"), SPEC_TEXT("field"), SPEC_HEX("offset"),
                                             SPEC_NUMBER("bytes"), SPEC_END};

/* A body that repeats rows ends with the first of them. */
#define F(command, type, member)                                                  \
    SPEC_T(command), SPEC_T(#member), SPEC_N(offsetof(struct pr_##type, member)), \
        SPEC_N(sizeof(((struct pr_##type *)0)->member)),
#define F1(command, type, a)             F(command, type, a)
#define F2(command, type, a, b)          F1(command, type, a) F(command, type, b)
#define F3(command, type, a, b, c)       F2(command, type, a, b) F(command, type, c)
#define F4(command, type, a, b, c, d)    F3(command, type, a, b, c) F(command, type, d)
#define F5(command, type, a, b, c, d, e) F4(command, type, a, b, c, d) F(command, type, e)

#define BODIES                                                                                               \
    F1("START, STOP, PRINT_ENABLE", body_u32, value)                                                         \
    F1("TRACE_ENABLE, RPC_ENABLE, SET_SNE_RPC_CHECK_CMD, FW_RUN_MODE, DSID_SET", body_u32, value)            \
    F1("MCACHE_SIZE_GET, POWER_DEVICE_ON, POWER_DEVICE_OFF, SET_DYNAMIC_POWERGATE", body_u32, value)         \
    F1("PROGRAM_INTERFACE_VERSION_CHECK", body_u32, value)                                                   \
    F1("SET_SNE_PMU_BASE, SET_SNE_PMU_BASE2", body_pmu, base)                                                \
    F2("TIMEPROFILE_SHOW", body_time, host_ns, controller_ns)                                                \
    F2("TIMEPROFILE_STOP", body_profile, span_ns, calls)                                                     \
    F3("CH_PROPERTY_WRITE, CH_PROPERTY_READ", body_property, channel, property, value)                       \
    F2("ANE_DEFAULT_SETTING_SET", body_setting, count, row[0])                                               \
    F3("REG_FILE_LOAD", body_reg_file, count, zero, row[0])                                                  \
    F5("RESOURCE_INFO_GET", body_resources, programs, processes, wait_events, calls_per_process, procedures) \
    F2("RESOURCE_INFO_GET", body_resources, cache_requests, engines)                                         \
    F4("STATS_BUFFER_SIZE_GET", body_stats_sizes, header, event, debug_event, engine)                        \
    F2("CONFIG_GET", body_config, timebase_hz, engines)                                                      \
    F4("CONFIG_GET_EXT", body_config_ext, timebase_hz, engines, protocol_version, ring_version)              \
    F4("CONFIG_GET_EXT", body_config_ext, run_mode, dsid, rpc, profiling)                                    \
    F4("PLATFORM_INFO", body_platform, chip_revision, engines, timebase_hz, page_bytes)                      \
    F2("BOOT", body_boot, mode, restarts)                                                                    \
    F3("BUILDINFO", body_build, protocol_version, ring_version, text)                                        \
    F4("DEBUG_COMMAND_DATA_CHECK", body_data_check, magic, bytes, checksum, zero)                            \
    F4("QUIESCE_STATE", body_quiesce, calls, programs, processes, state)                                     \
    F2("RESET", body_reset, first_queue, last_queue)                                                         \
    F2("CH_POWER_CONTROL", body_channel_power, channel, on)                                                  \
    F3("INIT_SHARED_EVENT_INFO", body_shared_events, address, events, flags)                                 \
    F3("CH_INFO_GET", body_report, report, bytes, text)                                                      \
    F3("CH_BUFFER_RETURN", body_buffer_return, address, tag, zero)                                           \
    F4("CH_BUFFER_POOL_CONFIG_GET", body_pool, channel, buffers, bytes, held)                                \
    F2("CH_BUFFER_POOL_CONFIG_SET", body_pool, channel, buffers)                                             \
    F2("CH_BUFFER_RECYCLE_MODE_SET", body_recycle_mode, channel, mode)                                       \
    F4("CPU_LOAD_GET", load_report, sequence, lost, time, span_ns)                                           \
    F3("CPU_LOAD_GET", load_report, busy_ns, calls, dropped)                                                 \
    F4("LOAD_PROGRAM", body_load, container, bytes, working, working_bytes)                                  \
    F2("CREATE_PROCESS", body_process, stream, buffers)                                                      \
    F4("PREMAP_BUFFER", body_premap, operations, buffers, pool, buffer)                                      \
    F5("INFERENCE_CALL", body_inference, buffers, built_in, network, zero, cookie)                           \
    F3("INFERENCE_CALL", inference_properties, packets, zero, packet[0])                                     \
    F4("INFERENCE_CALL", sub_packet, command, procedure, priority, flags)                                    \
    F4("IPC_ENDPOINT_SET", body_endpoint, endpoint, channel, ring, bytes)                                    \
    F3("IPC_ENDPOINT_SET2", body_endpoint2, endpoint, targets, target[0])                                    \
    F4("PROCEDURE_CALL_CACHE_REQUEST and its two forms", body_cache_install, cache_handler, group, follow,   \
       output_sets)                                                                                          \
    F5("PROCEDURE_CALL_CACHE_REQUEST and its two forms", body_cache_install, partitions, requests, links,    \
       custom_bars, wait_events)                                                                             \
    F4("PROCEDURE_CALL_CACHE_REQUEST and its two forms", body_cache_install, signal_events, pool, flags,     \
       link[0])                                                                                              \
    F2("PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST", body_cache_invalidate, cache_handler, in_flight)           \
    F1("FORCE_DISABLE_CACHE_REQUESTS", body_u32, value)

/* Messages of the execution loop, and the records in them. */
#define LOOP                                                                                           \
    F5("PROCEDURE_CALL", call, program_id, process_id, procedure, priority, output_sets)               \
    F4("PROCEDURE_CALL", call, partitions, cookie, buffers, stats)                                     \
    F4("a buffer", buffer, valid, index, type, memory)                                                 \
    F3("a buffer", buffer, address, bytes, tag)                                                        \
    F4("the tail of a call", call_tail, wait_events, signal_events, custom_bars, event_masks)          \
    F4("the tail of a call", call_tail, execute_order, execute_order_offset, sub_network_order, flags) \
    F4("an event", event, type, target_mask, id, value)                                                \
    F5("a custom bar", custom_bar, type, config, bar_id, value, bytes)                                 \
    F4("CACHE_REQUEST_TRIGGER", cache_trigger, cache_handler, timestamp, buffers, cookie)              \
    F1("CACHE_REQUEST_TRIGGER", cache_trigger, buffer[0])                                              \
    F4("CACHE_REQUEST_SUBMIT", cache_recycle, cache_handler, set, buffers, buffer[0])                  \
    F2("PROCEDURE_CALL_VARIANT", cache_active, group, active)                                          \
    F2("RETURN_PROCESS_ID", exe_process_id, program_id, process_id)                                    \
    F5("CH_DATA_FILE_LOAD2", exe_data_file, program_id, process_id, index, source, bytes)              \
    F2("CH_DATA_FILE_LOAD2", exe_data_file, destination, offset)                                       \
    F5("BACK_CHANNEL_RPC", exe_rpc, magic, length, slot, status, address)                              \
    F1("BACK_CHANNEL_RPC", exe_rpc, value)

/* Messages of IO_T2H. */
#define NOTIFICATIONS                                                                         \
    F2("every one", notification_head, sequence, id)                                          \
    F5("PROGRAM_EVENT", program_event, cookie, program_id, process_id, status, state)         \
    F1("PROGRAM_EVENT", program_event, detail)                                                \
    F2("PROGRAM_EVENT of a failure", program_failure, error, status)                          \
    F4("CH_RESET_NOTIFICATION", reset_notification, first_queue, last_queue, reason, time)    \
    F5("CH_ERROR_NOTIFICATION", notify_error, error, channel, address, length, time)          \
    F3("CH_SIGNPOST_NOTIFICATION", notify_signpost, code, argument, time)                     \
    F3("CH_SIGNPOST64_NOTIFICATION", notify_signpost64, code, argument, time)                 \
    F5("CPU_LOAD_NOTIFICATION", notify_load, score, above, span_ns, busy_ns, time)            \
    F5("TM_SYNC_ERR_NOTIFICATION", notify_sync, queue, network, error, program_id, time)      \
    F5("USER_EVENT", notify_user, event, value, program_id, process_id, time)                 \
    F4("DBG_EVENT", notify_debug, rule, count, value, time)                                   \
    F5("DATA_CHAINING_EVENT", notify_chaining, cache_handler, timestamp, cookie, set, status) \
    F3("DATA_CHAINING_EVENT", notify_chaining, state, following, detail)                      \
    F5("PREFETCH_DSID_EVENT", notify_prefetch, dsid, event, program_id, bytes, time)          \
    F4("SECURE_MODE_EVENT", notify_secure, phase, dropped, waiting, time)                     \
    F5("BACK_CHANNEL_RPC", notify_rpc, slot, kind, magic, length, address)                    \
    F1("BACK_CHANNEL_RPC", notify_rpc, value)

void spec_bodies(struct spec *spec)
{
    SPEC_TABLE(spec, "bodies", columns, BODIES);
    SPEC_TABLE(spec, "execution_loop", columns, LOOP);
    SPEC_TABLE(spec, "notifications", columns, NOTIFICATIONS);
}
