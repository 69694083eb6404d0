/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of `anemone spec`: the controller and its firmware (ch. 29). Numbers that the firmware runs on
 * come from protocol; those of facts.h are printed only. A static assertion compares where both state the
 * same thing.
 */
#include "base/array.h"
#include "protocol/board.h"
#include "protocol/commands.h"
#include "protocol/controller.h"
#include "protocol/execution.h"
#include "protocol/message.h"
#include "protocol/stats.h"
#include "tool/spec/facts.h"
#include "protocol/tm_regs.h"
#include "tool/spec/spec.h"

_Static_assert(PR_FABRIC_WINDOW == 1ull << 39 && PR_FABRIC_REJECT == 1ull << 7 &&
                   PR_FABRIC_UNCORRECTABLE == 1ull << 1,
               "Table 29.5");

static void pair(struct spec *spec, const char *key, const char *first, const char *other, const char *second)
{
    spec_object(spec, NULL);
    spec_text(spec, key, first);
    spec_text(spec, other, second);
    spec_object_end(spec);
}

void spec_apertures(struct spec *spec)
{
#define X(id, title, use) pair(spec, "name", title, "role", use);
    PR_APERTURES(X)
#undef X
}

void spec_task_states(struct spec *spec)
{
#define X(title, note) pair(spec, "name", #title, "meaning", note);
    FACT_TASK_STATES(X)
#undef X
}

void spec_execution_states(struct spec *spec)
{
    static const struct {
        const char *name;
        int number;
        const char *meaning;
    } states[] = {
#define X(id, value, note) {#id, value, note},
        PR_EXECUTION_STATES(X)
#undef X
#define X(title, value, note) {title, value, note},
            FACT_EXECUTION_STATES(X)
#undef X
    };

    for (size_t i = 0; i < BASE_COUNT_OF(states); i++) {
        spec_object(spec, NULL);
        spec_text(spec, "name", states[i].name);
        if (states[i].number >= 0)
            spec_number(spec, "number", (uint64_t)states[i].number);
        else
            spec_text(spec, "number", "transient");
        spec_text(spec, "meaning", states[i].meaning);
        spec_object_end(spec);
    }
}

void spec_execution(struct spec *spec)
{
    spec_array(spec, "events");
#define X(title, note) pair(spec, "name", title, "meaning", note);
    FACT_EXECUTION_EVENTS(X)
#undef X
    spec_array_end(spec);
    spec_array(spec, "machines");
#define X(title, names) pair(spec, "machine", title, "states", names);
    FACT_SMALL_MACHINES(X)
#undef X
    spec_array_end(spec);
    spec_text(spec, "core", FACT_CONTROLLER_CORE);
    spec_number(spec, "hardware_threads", FACT_CONTROLLER_THREADS);
}

static void range(struct spec *spec, const char *name, uint64_t low, uint64_t high)
{
    spec_array(spec, name);
    spec_number(spec, NULL, low);
    spec_number(spec, NULL, high);
    spec_array_end(spec);
}

void spec_scheduler(struct spec *spec)
{
    spec_number(spec, "levels", PR_PRIORITIES);
    range(spec, "system_band", 0, PR_PRIORITY_REALTIME_MAX);
    range(spec, "application_band", PR_PRIORITY_REALTIME_MAX + 1, PR_PRIORITIES - 1);
    spec_array(spec, "weights");
    for (unsigned i = 0; i < PR_TQ_COUNT; i++)
        spec_number(spec, NULL, pr_tq_priority[i]);
    spec_array_end(spec);
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
    spec_array(spec, "fields");
#define X(member, at, size, title)    \
    spec_object(spec, NULL);          \
    spec_hex(spec, "offset", at);     \
    spec_number(spec, "bytes", size); \
    spec_text(spec, "field", title);  \
    spec_object_end(spec);
    PR_STATS_FIELDS(X)
#undef X
    spec_array_end(spec);
    spec_number(spec, "engines_max", FACT_STATS_ENGINES_MAX);
    spec_hex(spec, "engine_stride", FACT_STATS_ENGINE_STRIDE);
    spec_number(spec, "counter_quad", FACT_STATS_QUAD_BYTES);
    spec_hex(spec, "counter_quad_offset", FACT_STATS_QUAD_OFFSET);
    spec_hex(spec, "power_status_base", FACT_PERF_BASE);
    spec_number(spec, "power_status_stride", FACT_PERF_STRIDE);
    spec_number(spec, "power_status_entries", FACT_PERF_ENTRIES);
}

void spec_fabric(struct spec *spec)
{
    spec_text(spec, "register", FACT_FABRIC_REGISTER);
    spec_array(spec, "bits");
#define X(position, use)                \
    spec_object(spec, NULL);            \
    spec_number(spec, "bit", position); \
    spec_text(spec, "role", use);       \
    spec_object_end(spec);
    FACT_FABRIC_BITS(X)
#undef X
    spec_array_end(spec);
    spec_number(spec, "access_sites", FACT_FABRIC_SITES);
    spec_number(spec, "doorbell_targets", PR_DOORBELL_TARGETS);
    spec_hex(spec, "gpu_doorbell", PR_GPU_DOORBELL);
}

void spec_handshakes(struct spec *spec)
{
#define X(number, place, note)          \
    spec_object(spec, NULL);            \
    spec_number(spec, "order", number); \
    spec_text(spec, "register", place); \
    spec_text(spec, "meaning", note);   \
    spec_object_end(spec);
    FACT_HANDSHAKES(X)
#undef X
}

void spec_boot_commands(struct spec *spec)
{
    unsigned order = 1;

#define X(command, what)                    \
    spec_object(spec, NULL);                \
    spec_number(spec, "order", order++);    \
    spec_text(spec, "name", #command);      \
    spec_hex(spec, "id", PR_CMD_##command); \
    spec_text(spec, "purpose", what);       \
    spec_object_end(spec);
    PR_BOOT_COMMANDS(X)
#undef X
}

static void write_registers(struct spec *spec)
{
    spec_array(spec, "registers");
#define X(id, title, at, from)       \
    spec_object(spec, NULL);         \
    spec_text(spec, "name", title);  \
    spec_hex(spec, "offset", at);    \
    spec_text(spec, "source", from); \
    spec_object_end(spec);
    PR_CONTROLLER_REGISTERS(X)
#undef X
    spec_array_end(spec);
    spec_number(spec, "scratch_registers", PR_SCRATCH_COUNT);
    spec_hex(spec, "endpoint", FACT_RTBUDDY_ENDPOINT);
    spec_hex(spec, "wake_word", PR_HANDSHAKE_WAKE);
    spec_hex(spec, "go_word", PR_HANDSHAKE_GO);
}

static void argument(struct spec *spec, const char *name, size_t offset, size_t bytes)
{
    spec_object(spec, NULL);
    spec_text(spec, "field", name);
    spec_hex(spec, "offset", offset);
    spec_number(spec, "bytes", bytes);
    spec_object_end(spec);
}

#define ARGUMENT(member) \
    argument(spec, #member, offsetof(struct pr_boot_args, member), sizeof(((struct pr_boot_args *)0)->member))

static void write_arguments(struct spec *spec)
{
    spec_hex(spec, "arguments_bytes", PR_BOOT_ARGS_BYTES);
    spec_array(spec, "arguments");
    ARGUMENT(image);
    ARGUMENT(ipc);
    ARGUMENT(shared_base);
    ARGUMENT(shared_bytes);
    ARGUMENT(heap);
    ARGUMENT(heap_bytes);
    ARGUMENT(previous);
    ARGUMENT(log);
    ARGUMENT(ipc_bytes);
    ARGUMENT(pool);
    ARGUMENT(pool_bytes);
    ARGUMENT(slot_bytes);
    ARGUMENT(chip_revision);
    ARGUMENT(protocol_version);
    ARGUMENT(ring_version);
    ARGUMENT(page_bytes);
    ARGUMENT(unknown_id_panics);
    ARGUMENT(host_doorbell_lo);
    ARGUMENT(host_doorbell_hi);
    ARGUMENT(host_doorbell_bits);
    ARGUMENT(framework_bytes);
    spec_array_end(spec);
}

void spec_boot(struct spec *spec)
{
    write_registers(spec);
    write_arguments(spec);
    spec_hex(spec, "refused_word", PR_BOOT_REFUSED);
    spec_array(spec, "refusals");
#define X(id, number, note)              \
    spec_object(spec, NULL);             \
    spec_number(spec, "reason", number); \
    spec_text(spec, "meaning", note);    \
    spec_object_end(spec);
    PR_BOOT_REFUSALS(X)
#undef X
    spec_array_end(spec);
}

void spec_faults(struct spec *spec)
{
    spec_array(spec, "dispositions");
#define X(cause, end) pair(spec, "cause", cause, "disposition", end);
    FACT_DISPOSITIONS(X)
#undef X
    spec_array_end(spec);
    spec_array(spec, "exception_classes");
#define X(title) spec_text(spec, NULL, title);
    FACT_EXCEPTION_CLASSES(X)
#undef X
    spec_array_end(spec);
}
