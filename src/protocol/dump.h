/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The post-mortem dump: what the firmware stages after a fault, and the file the host keeps of it. What it
 * records, and in which order, is seeds ch. 29, "Faults and recovery"; places and sizes are CHOSEN. Every
 * number is little-endian. How the sections cross to the host is in controller.h.
 */
#ifndef PROTOCOL_DUMP_H
#define PROTOCOL_DUMP_H

#include <stddef.h>

#include "protocol/bits.h"
#include "protocol/problem.h"

/*
 * Sections, in the fixed order in which they are staged. The first eight are the seeds'; the last two say
 * what the engine and the other tasks were doing. X(id, number, name)
 */
#define PR_DUMP_SECTIONS(X)                           \
    X(EXCEPTION, 1, "exception")                      \
    X(SYNDROME, 2, "fault address and syndrome")      \
    X(REGISTERS, 3, "registers")                      \
    X(CACHE, 4, "cache controller and error capture") \
    X(RESTARTS, 5, "restarts")                        \
    X(COMMANDS, 6, "recent commands, newest first")   \
    X(TASK, 7, "task")                                \
    X(STACK, 8, "call stack")                         \
    X(ENGINE, 9, "calls on the engine")               \
    X(TASKS, 10, "task list")
enum pr_dump_section {
#define X(id, number, name) PR_DUMP_##id = (number),
    PR_DUMP_SECTIONS(X)
#undef X
        PR_DUMP_SECTION_COUNT = PR_DUMP_TASKS
};
/* "?" for any other number. */
const char *pr_dump_section_name(uint32_t section);

#define PR_DUMP_TEXT_BYTES 128u
#define PR_DUMP_NAME_BYTES 16u

/*
 * The four exception classes of the platform's handler, then what software finds by itself. X(id, number,
 * name)
 */
#define PR_FAULT_CLASSES(X)             \
    X(NMI, 0, "non-maskable interrupt") \
    X(IRQ, 1, "interrupt")              \
    X(FIQ, 2, "fast interrupt")         \
    X(SYNC, 3, "synchronous abort")     \
    X(ASSERT, 4, "assertion")
const char *pr_fault_class_name(uint32_t fault_class);

struct pr_dump_exception {
    uint32_t fault_class; /* PR_FAULT_CLASSES */
    uint32_t zero;
    uint64_t time, host_time; /* nanoseconds: the controller's, and the host's by the last synchronisation */
    char class_name[32];
    char text[PR_DUMP_TEXT_BYTES];
};
struct pr_dump_syndrome {
    uint64_t far, esr;
};
struct pr_dump_registers {
    uint32_t valid, zero; /* an assertion of the host build has none */
    uint64_t x[31], sp, pc, pstate;
};
struct pr_dump_cache {
    uint64_t l2c_err_sts, l2c_err_adr, l2c_err_inf, lsu_err_sts, fed_err_sts, mmu_err_sts, pwr_dn_save;
};
struct pr_dump_restarts {
    uint64_t count;
};

/*
 * The ring of recent commands. Both control commands and calls; `status` is PR_DUMP_UNANSWERED until it ends.
 */
#define PR_DUMP_COMMANDS_MAX 32u
#define PR_DUMP_UNANSWERED   0xffffffffu
struct pr_dump_command {
    uint64_t time; /* host time, when it was taken from its channel */
    uint32_t channel, id;
    uint32_t program, process, procedure;
    uint32_t status;
};
struct pr_dump_commands {
    uint32_t count; /* entries that follow */
    uint32_t zero;
    uint64_t total; /* commands since the ring was cleared */
    struct pr_dump_command command[PR_DUMP_COMMANDS_MAX];
};

struct pr_dump_task {
    char name[PR_DUMP_NAME_BYTES]; /* the running or interrupted task; empty before the kernel is started */
    uint32_t in_interrupt, line;   /* a handler failed, not that task */
    uint32_t processor, thread;    /* thread: below PR_HARDWARE_THREADS */
};

#define PR_DUMP_FRAMES_MAX 32u
struct pr_dump_stack {
    uint32_t count, zero;
    /* Offsets from the image's base, innermost first: no address of the host is in a dump. */
    uint64_t frame[PR_DUMP_FRAMES_MAX];
};

/* Calls that the firmware holds, those on the engine first. */
#define PR_DUMP_CALLS_MAX 32u
/* HELD: it waits for an event, on no queue. OUTSIDE: it waits for another mode. X(id, number, name) */
#define PR_DUMP_CALL_STATES(X) \
    X(WAITING, 0, "waiting")   \
    X(RUNNING, 1, "running")   \
    X(HELD, 2, "held")         \
    X(OUTSIDE, 3, "outside")
enum pr_dump_call_state {
#define X(id, number, name) PR_DUMP_CALL_##id = (number),
    PR_DUMP_CALL_STATES(X)
#undef X
};
struct pr_dump_call {
    uint64_t cookie;
    uint64_t age_ns;
    uint32_t program, process, procedure;
    uint8_t level, network, stream;
    uint8_t place;        /* enum pr_dump_call_state */
    uint32_t text;        /* device address of its first descriptor */
    uint32_t descriptors; /* of its first partition */
    uint32_t key[6];      /* the scheduler's, in the order of PR_SCHEDULER_KEY */
};
struct pr_dump_engine {
    uint32_t tm_status, error[3];
    uint32_t state; /* enum pr_execution_state */
    uint32_t count, zero;
    uint32_t power; /* a bit per enum pr_power_device that is on */
    struct pr_dump_call call[PR_DUMP_CALLS_MAX];
};

#define PR_DUMP_TASKS_MAX 24u
struct pr_dump_task_row {
    char name[PR_DUMP_NAME_BYTES];
    uint32_t state; /* the numbers of Table 29.1, in its order from 0 */
    uint32_t priority, base_priority;
    uint32_t stack_bytes, stack_free; /* free: never written */
    uint32_t thread;
    uint64_t runs;
};
struct pr_dump_tasks {
    uint32_t count, zero;
    struct pr_dump_task_row row[PR_DUMP_TASKS_MAX];
};

/* The staging area: the last bytes of the extra heap. A section is never larger. */
#define PR_DUMP_AREA_BYTES             0x1000u
#define PR_DUMP_AREA(heap, heap_bytes) ((heap) + (heap_bytes)-PR_DUMP_AREA_BYTES)
_Static_assert(sizeof(struct pr_dump_exception) <= PR_DUMP_AREA_BYTES &&
                   sizeof(struct pr_dump_registers) <= PR_DUMP_AREA_BYTES &&
                   sizeof(struct pr_dump_commands) <= PR_DUMP_AREA_BYTES &&
                   sizeof(struct pr_dump_engine) <= PR_DUMP_AREA_BYTES &&
                   sizeof(struct pr_dump_tasks) <= PR_DUMP_AREA_BYTES,
               "a section fits into the area");

/* A dump in a file: this, then each section as {u32 section, u32 bytes, bytes}, in the order they came. */
#define PR_DUMP_MAGIC   0x44454e41u /* "ANED" */
#define PR_DUMP_VERSION 2u
struct pr_dump_file {
    uint32_t magic, version;
    uint32_t sections; /* that follow */
    uint32_t complete; /* 1: the firmware had staged all of them */
    uint64_t time;     /* the host's */
    char board[16];
};
struct pr_dump_part {
    uint32_t section, bytes;
};
#define PR_DUMP_FILE_BYTES_MAX \
    (sizeof(struct pr_dump_file) + PR_DUMP_SECTION_COUNT * (sizeof(struct pr_dump_part) + PR_DUMP_AREA_BYTES))

/* A file taken apart: where each section is in it; 0 bytes for one that is not there. */
struct pr_dump {
    struct pr_dump_file head;
    struct {
        const uint8_t *at;
        uint32_t bytes;
    } section[PR_DUMP_SECTION_COUNT + 1];
};
/*
 * Any bytes. False with a problem: not a dump, cut off, or a section that is unknown, repeated or too large.
 */
bool pr_dump_read(const void *bytes, size_t size, struct pr_dump *dump, struct pr_problem *problem);
/* The file begins like one. */
bool pr_dump_begins(const void *bytes, size_t size);
/*
 * Copies a section into a struct of `size` bytes, zeroed where the section is shorter. False when the file
 * has no such section.
 */
bool pr_dump_copy(const struct pr_dump *dump, enum pr_dump_section section, void *to, size_t size);

#endif
