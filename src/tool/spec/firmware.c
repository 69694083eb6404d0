/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of `anemone spec`: the controller and its firmware (ch. 29). Numbers that the firmware runs on
 * come from protocol; those of facts.h are printed only. A static assertion compares where both state the
 * same thing.
 */
#include "protocol/board.h"
#include "protocol/commands.h"
#include "protocol/controller.h"
#include "protocol/execution.h"
#include "protocol/kext.h"
#include "protocol/message.h"
#include "protocol/stats.h"
#include "tool/spec/facts.h"
#include "protocol/tm_regs.h"
#include "tool/spec/spec.h"

_Static_assert(PR_FABRIC_WINDOW == 1ull << 39 && PR_FABRIC_REJECT == 1ull << 7 &&
                   PR_FABRIC_UNCORRECTABLE == 1ull << 1,
               "Table 29.5");

static const struct spec_column role_columns[] = {SPEC_TEXT("name"), SPEC_TEXT("role"), SPEC_END};
static const struct spec_column meaning_columns[] = {SPEC_TEXT("name"), SPEC_TEXT("meaning"), SPEC_END};
static const struct spec_column machine_columns[] = {SPEC_TEXT("machine"), SPEC_TEXT("states"), SPEC_END};
static const struct spec_column disposition_columns[] = {SPEC_TEXT("cause"), SPEC_TEXT("disposition"),
                                                         SPEC_END};
static const struct spec_column state_columns[] = {SPEC_TEXT("name"), SPEC_NUMBER("number"),
                                                   SPEC_TEXT("meaning"), SPEC_END};
static const struct spec_column stats_columns[] = {SPEC_HEX("offset"), SPEC_NUMBER("bytes"),
                                                   SPEC_TEXT("field"), SPEC_END};
static const struct spec_column stats_kind_columns[] = {SPEC_HEX("kind"), SPEC_TEXT("name"),
                                                        SPEC_TEXT("value"), SPEC_END};
static const struct spec_column bit_columns[] = {SPEC_NUMBER("bit"), SPEC_TEXT("role"), SPEC_END};
static const struct spec_column handshake_columns[] = {SPEC_NUMBER("order"), SPEC_TEXT("register"),
                                                       SPEC_TEXT("meaning"), SPEC_END};
static const struct spec_column command_columns[] = {SPEC_NUMBER("order"), SPEC_TEXT("name"), SPEC_HEX("id"),
                                                     SPEC_TEXT("purpose"), SPEC_END};
static const struct spec_column register_columns[] = {SPEC_TEXT("name"), SPEC_HEX("offset"),
                                                      SPEC_TEXT("source"), SPEC_END};
static const struct spec_column argument_columns[] = {SPEC_TEXT("field"), SPEC_HEX("offset"),
                                                      SPEC_NUMBER("bytes"), SPEC_END};
static const struct spec_column refusal_columns[] = {SPEC_NUMBER("reason"), SPEC_TEXT("meaning"), SPEC_END};

void spec_apertures(struct spec *spec)
{
#define X(id, title, use) SPEC_T(title), SPEC_T(use),
    SPEC_TABLE(spec, spec->section, role_columns, PR_APERTURES(X));
#undef X
}

void spec_task_states(struct spec *spec)
{
#define X(title, note) SPEC_T(#title), SPEC_T(note),
    SPEC_TABLE(spec, spec->section, meaning_columns, FACT_TASK_STATES(X));
#undef X
}

void spec_execution_states(struct spec *spec)
{
    spec_table_begin(spec, spec->section, state_columns);
    /* The table gives the transient no number; ours is chosen. */
#define X(id, value, title, note) \
    SPEC_T(title), (value) == PR_EXECUTION_PAUSE ? SPEC_T("transient") : SPEC_N(value), SPEC_T(note),
    SPEC_PUT(spec, PR_EXECUTION_STATES(X));
#undef X
    spec_table_end(spec);
}

void spec_execution(struct spec *spec)
{
#define X(id, title, note) SPEC_T(title), SPEC_T(note),
    SPEC_TABLE(spec, "events", meaning_columns, PR_EXECUTION_EVENTS(X));
#undef X
#define X(title, note) SPEC_T(title), SPEC_T(note),
    SPEC_TABLE(spec, "machines", machine_columns, FACT_SMALL_MACHINES(X));
#undef X
    spec_text(spec, "core", FACT_CONTROLLER_CORE);
    spec_number(spec, "hardware_threads", FACT_CONTROLLER_THREADS);
}

void spec_scheduler(struct spec *spec)
{
    struct spec_value weights[PR_TQ_COUNT];

    spec_number(spec, "levels", PR_PRIORITIES);
    SPEC_LIST(spec, "system_band", SPEC_KIND_NUMBER, SPEC_N(0), SPEC_N(PR_PRIORITY_REALTIME_MAX));
    SPEC_LIST(spec, "application_band", SPEC_KIND_NUMBER, SPEC_N(PR_PRIORITY_REALTIME_MAX + 1),
              SPEC_N(PR_PRIORITIES - 1));
    for (unsigned i = 0; i < PR_TQ_COUNT; i++)
        weights[i] = SPEC_N(pr_tq_priority[i]);
    spec_list(spec, "weights", SPEC_KIND_NUMBER, weights, PR_TQ_COUNT);
    spec_number(spec, "deadline_ms", PR_DEADLINE_MS);
    spec_number(spec, "network_id_min", PR_NETWORK_ID_MIN);
    spec_number(spec, "network_id_max", PR_NETWORK_ID_MAX);
    spec_bool(spec, "hardware_watchdog", false);
    spec_text(spec, "preemption_within_task", "none, run to completion");
    spec_text(spec, "preemption_between_tasks", "by kernel thread priority");
}

void spec_stats(struct spec *spec)
{
    spec_hex(spec, "header", PR_STATS_HEADER_BYTES);
    spec_hex(spec, "event", PR_STATS_EVENT_BYTES);
    spec_hex(spec, "debug_event", PR_STATS_DEBUG_BYTES);
    spec_hex(spec, "engine", PR_STATS_ENGINE_BYTES);
    spec_hex(spec, "magic", PR_STATS_MAGIC);
#define X(member, at, size, title) SPEC_N(at), SPEC_N(size), SPEC_T(title),
    SPEC_TABLE(spec, "fields", stats_columns, PR_STATS_FIELDS(X));
    SPEC_TABLE(spec, "engine_fields", stats_columns, PR_STATS_ENGINE_FIELDS(X));
    SPEC_TABLE(spec, "totals_fields", stats_columns, PR_STATS_TOTALS_FIELDS(X));
    SPEC_TABLE(spec, "event_fields", stats_columns, PR_STATS_EVENT_FIELDS(X));
    SPEC_TABLE(spec, "debug_fields", stats_columns, PR_STATS_DEBUG_FIELDS(X));
#undef X
#define X(id, kind, value) SPEC_N(kind), SPEC_T(#id), SPEC_T(value),
    SPEC_TABLE(spec, "events", stats_kind_columns, PR_STATS_EVENTS(X));
    SPEC_TABLE(spec, "logs", stats_kind_columns, PR_STATS_LOGS(X));
#undef X
    spec_hex(spec, "totals", PR_STATS_TOTALS_BYTES);
    spec_hex(spec, "totals_offset", PR_STATS_TOTALS_OFFSET(1u));
    spec_number(spec, "maps_max", PR_STATS_MAPS);
    spec_number(spec, "profile_level", PR_STATS_PROFILE_LEVEL);
    spec_number(spec, "engines_max", PR_STATS_ENGINES_MAX);
    spec_hex(spec, "engine_stride", PR_STATS_ENGINE_STRIDE);
    spec_number(spec, "counter_quad", PR_STATS_QUAD_BYTES);
    spec_hex(spec, "counter_quad_offset", PR_STATS_QUAD_OFFSET);
    spec_hex(spec, "power_status_base", FACT_PERF_BASE);
    spec_hex(spec, "power_status_stride", FACT_PERF_STRIDE);
    spec_number(spec, "power_status_entries", FACT_PERF_ENTRIES);
}

void spec_fabric(struct spec *spec)
{
    spec_text(spec, "register", FACT_FABRIC_REGISTER);
#define X(position, use) SPEC_N(position), SPEC_T(use),
    SPEC_TABLE(spec, "bits", bit_columns, FACT_FABRIC_BITS(X));
#undef X
    spec_number(spec, "access_sites", FACT_FABRIC_SITES);
    spec_number(spec, "doorbell_targets", PR_DOORBELL_TARGETS);
    spec_hex(spec, "gpu_doorbell", PR_GPU_DOORBELL);
}

void spec_handshakes(struct spec *spec)
{
#define X(number, place, note) SPEC_N(number), SPEC_T(place), SPEC_T(note),
    SPEC_TABLE(spec, spec->section, handshake_columns, FACT_HANDSHAKES(X));
#undef X
}

void spec_boot_commands(struct spec *spec)
{
    unsigned order = 1;

    spec_table_begin(spec, spec->section, command_columns);
#define X(command, what)                                                                     \
    SPEC_PUT(spec, SPEC_N(order), SPEC_T(#command), SPEC_N(PR_CMD_##command), SPEC_T(what)); \
    order++;
    PR_BOOT_COMMANDS(X)
#undef X
    spec_table_end(spec);
}

static void write_registers(struct spec *spec)
{
#define X(id, title, at, from) SPEC_T(title), SPEC_N(at), SPEC_T(from),
    SPEC_TABLE(spec, "registers", register_columns, PR_CONTROLLER_REGISTERS(X));
#undef X
    spec_number(spec, "scratch_registers", PR_SCRATCH_COUNT);
    spec_hex(spec, "endpoint", PR_RTBUDDY_ENDPOINT);
    spec_hex(spec, "wake_word", PR_HANDSHAKE_WAKE);
    spec_hex(spec, "go_word", PR_HANDSHAKE_GO);
}

#define ARGUMENT(member)                                            \
    SPEC_T(#member), SPEC_N(offsetof(struct pr_boot_args, member)), \
        SPEC_N(sizeof(((struct pr_boot_args *)0)->member))

static void write_arguments(struct spec *spec)
{
    spec_hex(spec, "arguments_bytes", PR_BOOT_ARGS_BYTES);
    SPEC_TABLE(spec, "arguments", argument_columns, ARGUMENT(image), ARGUMENT(ipc), ARGUMENT(shared_base),
               ARGUMENT(shared_bytes), ARGUMENT(heap), ARGUMENT(heap_bytes), ARGUMENT(previous),
               ARGUMENT(log), ARGUMENT(ipc_bytes), ARGUMENT(pool), ARGUMENT(pool_bytes), ARGUMENT(slot_bytes),
               ARGUMENT(chip_revision), ARGUMENT(protocol_version), ARGUMENT(ring_version),
               ARGUMENT(page_bytes), ARGUMENT(unknown_id_panics), ARGUMENT(framework_bytes));
}

void spec_boot(struct spec *spec)
{
    write_registers(spec);
    write_arguments(spec);
    spec_hex(spec, "refused_word", PR_BOOT_REFUSED);
#define X(id, number, note) SPEC_N(number), SPEC_T(note),
    SPEC_TABLE(spec, "refusals", refusal_columns, PR_BOOT_REFUSALS(X));
#undef X
}

void spec_faults(struct spec *spec)
{
#define X(cause, end) SPEC_T(cause), SPEC_T(end),
    SPEC_TABLE(spec, "dispositions", disposition_columns, FACT_DISPOSITIONS(X));
#undef X
#define X(title) SPEC_T(title),
    SPEC_LIST(spec, "exception_classes", SPEC_KIND_TEXT, FACT_EXCEPTION_CLASSES(X));
#undef X
}
