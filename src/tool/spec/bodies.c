/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of the control commands, for `anemone spec`: one row for each field, by the structures that the
 * firmware reads. Where a command is asked for something, the fields are those of its reply.
 */
#include <stddef.h>

#include "protocol/control_bodies.h"
#include "protocol/inference.h"
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
    F4("INFERENCE_CALL", sub_packet, command, procedure, priority, flags)

void spec_bodies(struct spec *spec)
{
    SPEC_TABLE(spec, "bodies", columns, BODIES);
}
