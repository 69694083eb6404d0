/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's surroundings for tests of the firmware: a port with registers, shared memory and a task
 * manager that only remembers, and the host's side of the protocol. The firmware runs on stacks of its own,
 * until it waits and nothing is pending; assert then, never inside.
 */
#ifndef TESTS_FWRIG_H
#define TESTS_FWRIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "container_image.h"
#include "firmware/firmware.h"
#include "protocol/board.h"
#include "protocol/channel.h"
#include "protocol/controller.h"
#include "protocol/dump.h"
#include "protocol/endpoint.h"
#include "protocol/message.h"
#include "protocol/notification.h"
#include "protocol/tm_regs.h"
#include "rtkernel/port.h"

#define FWRIG_CONTAINER 0x284000000ull
#define FWRIG_REVISION  0x11u
#define FWRIG_PMU       0x28e08c000ull

/* Shared memory, by device address. */
#define FWRIG_BASE       0x00400000u
#define FWRIG_BYTES      0x00800000u
#define FWRIG_ARGS       0x00400000u
#define FWRIG_IPC        0x00410000u
#define FWRIG_HEAP       0x00440000u
#define FWRIG_POOL       0x00540000u
#define FWRIG_LOG        0x00600000u
#define FWRIG_CONTAINERS 0x00680000u
#define FWRIG_STATS      0x00700000u
#define FWRIG_TEXT       0x00800000u
#define FWRIG_KERNEL     0x00900000u
#define FWRIG_IN         0x00a00000u
#define FWRIG_OUT        0x00a40000u

#define FWRIG_PUSHES   64u
#define FWRIG_FABRIC   16384u /* a multiple of the four steps of a guard */
#define FWRIG_TQ_WORDS (PR_TQ_STRIDE / 4)

/* A request as the task manager latched it. */
struct fwrig_push {
    uint32_t queue, priority, address, info;
    uint32_t file[FWRIG_TQ_WORDS]; /* the queue's registers */
};

/* What happened on the fabric, in order. */
enum fwrig_fabric_kind { FWRIG_WINDOW_OPENED, FWRIG_WINDOW_CLOSED, FWRIG_STORE, FWRIG_BARRIER };
struct fwrig_fabric {
    enum fwrig_fabric_kind kind;
    uint32_t bits; /* of a store */
    bool masked;
};

struct rt_registers;
enum fwrig_end { FWRIG_IDLE, FWRIG_FAULTED, FWRIG_HALTED };

struct fwrig; /* is the port */

struct fwrig *fwrig_create(void);
/* As a new one, in the memory that it has: for many short runs. */
void fwrig_renew(struct fwrig *rig);
void fwrig_destroy(struct fwrig *rig);
uint8_t *fwrig_memory(struct fwrig *rig, uint64_t address, size_t bytes);
/* No byte of the hole is mapped. */
void fwrig_hole(struct fwrig *rig, uint64_t address, uint64_t bytes);
/*
 * From now on, the first port call after one that gave a window into this range overwrites that window with
 * `byte`: what a firmware reads twice is not what it has checked. 0 bytes end it.
 */
void fwrig_flip(struct fwrig *rig, uint64_t address, uint64_t bytes, uint8_t byte);
uint64_t fwrig_flips(const struct fwrig *rig);

/* The processor. */
enum fwrig_end fwrig_enter(struct fwrig *rig); /* at the reset vector, with a cleared carve-out */
enum fwrig_end fwrig_run(struct fwrig *rig);   /* until it waits; time stands */
enum fwrig_end fwrig_pass(struct fwrig *rig, uint64_t nanoseconds);
const char *fwrig_log(const struct fwrig *rig);
void fwrig_log_clear(struct fwrig *rig); /* the next line is the first */
const char *fwrig_fault_text(const struct fwrig *rig);
uint64_t fwrig_now(const struct fwrig *rig);
bool fwrig_timer_set(const struct fwrig *rig);
/* The firmware's own state, struct fw. */
const void *fwrig_firmware(const struct fwrig *rig);
/* Parks a task of the firmware's by its name, and lets it go on. Asserts that there is one. */
void fwrig_suspend(struct fwrig *rig, const char *task);
void fwrig_resume(struct fwrig *rig, const char *task);
/* What survives a reset; with ACC_PWR_DN_SAVE, it is what a warm boot finds. */
uint8_t *fwrig_retained(struct fwrig *rig);
void fwrig_forget(struct fwrig *rig); /* power was lost: both hold anything */
/* The next register read of the firmware takes an exception with these registers. */
void fwrig_except(struct fwrig *rig, unsigned fault_class, const struct rt_registers *registers,
                  const char *text);
/* The task that opens the next guard of a doorbell runs this first: the firmware's own functions, inside. */
struct fw;
void fwrig_inside(struct fwrig *rig, void (*body)(struct fw *fw));
/* The words of the last mark, which must have this code, and how many marks there were. */
unsigned fwrig_mark(const struct fwrig *rig, uint32_t code, const uint64_t **word);
/* A line that no block of the board's has. */
void fwrig_raise(struct fwrig *rig, unsigned line);
/* Register reads and writes so far, without those of the power-state registers; reads of those. */
uint64_t fwrig_accesses(const struct fwrig *rig);
uint64_t fwrig_power_reads(const struct fwrig *rig);
/* Registers at an offset of the engine container, as the host accesses them. */
uint32_t fwrig_read(struct fwrig *rig, uint32_t offset);
void fwrig_write(struct fwrig *rig, uint32_t offset, uint32_t value);

/* The fabric. The next `count` stores are rejected. */
void fwrig_reject(struct fwrig *rig, unsigned count);
void fwrig_uncorrectable(struct fwrig *rig);
uint64_t fwrig_fabric_get(const struct fwrig *rig); /* its register */
void fwrig_fabric_set(struct fwrig *rig, uint64_t value);
unsigned fwrig_gpu_rings(const struct fwrig *rig); /* stores of 1 to the graphics processor's doorbell */
uint32_t fwrig_power(const struct fwrig *rig, unsigned domain); /* a power-state register */
size_t fwrig_fabric_count(const struct fwrig *rig);
const struct fwrig_fabric *fwrig_fabric_at(const struct fwrig *rig, size_t i);
/* Whether every store since stood in its guard: masked, opened, stored, barrier, closed. */
bool fwrig_fabric_guarded(const struct fwrig *rig);

/* The task manager. */
size_t fwrig_pushes(const struct fwrig *rig);
const struct fwrig_push *fwrig_push_at(const struct fwrig *rig, size_t i);
uint32_t fwrig_aborted(const struct fwrig *rig);       /* all bits written to ABORT */
void fwrig_keep_aborted(struct fwrig *rig, bool keep); /* an abort does not clear a queue, while set */
void fwrig_set_error(struct fwrig *rig, uint32_t error1, uint32_t error2);
void fwrig_drop_pushes(struct fwrig *rig); /* from now on they are seen here and start nothing */
void fwrig_occupy(struct fwrig *rig, unsigned queue, unsigned requests); /* somebody else's */
/* The oldest request of a queue ends; with `raise`, its interrupt comes. */
void fwrig_retire(struct fwrig *rig, unsigned queue, uint32_t code, bool raise);

/* The host. */
struct pr_boot_args *fwrig_arguments(struct fwrig *rig); /* sound ones; change them before fwrig_boot */
/* All handshakes; false when refused (then scratch 7 says why). Serves SHAREDMALLOC and sends no commands. */
bool fwrig_boot(struct fwrig *rig);
/* The next boots are warm or cold; cold to begin with. */
void fwrig_select_warm(struct fwrig *rig, bool warm);
/*
 * IPC_ENDPOINT_SET with the ring of DATA_CHAIN_H2T and IPC_ENDPOINT_SET2 with targets: the status. Then both,
 * with the host alone as target; asserts.
 */
uint32_t fwrig_bind_ring(struct fwrig *rig);
uint32_t fwrig_bind_targets(struct fwrig *rig, const struct pr_doorbell_target *target, uint32_t count);
void fwrig_bind(struct fwrig *rig);
#define FWRIG_HOST_DOORBELL (FWRIG_CONTAINER + PR_CTRL_HOST_DOORBELL)
/* Boots, sends START, powers the memory cache and binds the endpoint. Asserts. */
void fwrig_boot_started(struct fwrig *rig);
/*
 * Sends `length` bytes on a channel at the next slot, rings and runs. False when the slot did not come back.
 * The message, changed in place, is copied back to `message`.
 */
bool fwrig_send(struct fwrig *rig, enum pr_channel channel, void *message, size_t length, size_t reply);
/* A slot with any words, and a ring; nothing is copied. */
void fwrig_post(struct fwrig *rig, enum pr_channel channel, uint64_t address, uint64_t length,
                uint64_t reply);
bool fwrig_slot_returned(struct fwrig *rig, enum pr_channel channel, uint32_t number);
uint32_t fwrig_cursor(const struct fwrig *rig, enum pr_channel channel);
/* Bits the controller rang since the last call. */
uint32_t fwrig_rang(struct fwrig *rig);
/* A control command with a body; the status, or 0xffffffff when it did not come back. */
struct fwrig_command {
    struct pr_command_header header;
    uint8_t body[0x200];
};
uint32_t fwrig_control(struct fwrig *rig, uint32_t id, const void *body, size_t bytes);
/* A report of CH_INFO_GET on DEBUG as text, or NULL; with room for so many bytes of it. */
const char *fwrig_report(struct fwrig *rig, enum pr_report report, size_t room);
struct fwrig_command *fwrig_reply(struct fwrig *rig); /* the last one's message */
/* A row of the report of counters. Asserts that there is one. */
uint64_t fwrig_counter(struct fwrig *rig, const char *name);
/*
 * The next PROGRAM_EVENT, past notifications other than a reset; its slot is returned and the controller
 * rung, when `give_back`.
 */
bool fwrig_event(struct fwrig *rig, struct pr_program_event *event, bool give_back);
/*
 * The next message of IO_T2H, whatever it is, with zeros behind its end; it is given back. Its bytes, or 0.
 */
#define FWRIG_MESSAGE_BYTES 0x40u
size_t fwrig_message(struct fwrig *rig, void *message);
/* The next message of IO_T2H, which must be a reset notification; it is given back. */
bool fwrig_notification(struct fwrig *rig, struct pr_reset_notification *notification);
/* The next message of IO_T2H, which must be a DATA_CHAINING_EVENT; it is given back. */
bool fwrig_chaining(struct fwrig *rig, struct pr_notify_chaining *event);
/* The next buffer of BUF_T2H: its address, or 0; the slot is given back, the buffer is not. */
uint64_t fwrig_buffer(struct fwrig *rig, struct pr_load_report *report);
/*
 * Takes a section of the dump, which must be the one that is staged; its bytes, copied to `section`, which
 * has room for the area.
 */
size_t fwrig_dump_take(struct fwrig *rig, enum pr_dump_section number, void *section);
/* Takes all that is left, and how the processor ended. */
enum fwrig_end fwrig_dump_drain(struct fwrig *rig);
/* The last event that fwrig_event took, if it was a failure. */
const struct pr_program_failure *fwrig_failure(void);
/* The next line of TERMINAL, or NULL. */
const char *fwrig_terminal(struct fwrig *rig);

/*
 * The body of CREATE_PROCESS for the program of container_image.h, whose buffers are where the base domain
 * has them.
 */
union fwrig_process {
    struct pr_body_process body;
    struct {
        uint32_t stream, buffers;
        struct pr_process_buffer buffer[4];
    } part;
};
#define FWRIG_OWN 3u /* text, kernel, and the buffer of a fixed address */
void fwrig_process_make(union fwrig_process *process, uint32_t stream);
/* Creates a process; the status, and in `id`, unless NULL, its number. */
uint32_t fwrig_process(struct fwrig *rig, uint32_t program, const union fwrig_process *process, uint32_t *id);
/* The program of container_image.h, loaded with a process: both ids are 0 on a fresh firmware. */
void fwrig_load(struct fwrig *rig);
union fwrig_call {
    struct pr_call call;
    struct {
        uint8_t head[sizeof(struct pr_call)];
        struct pr_buffer buffer[PR_CALL_BUFFERS_MAX];
    } part;
};
/* A sound call of procedure 0: two buffers, priority 4. */
void fwrig_call_make(union fwrig_call *call, uint64_t cookie);
/* Sends it; the status the slot came back with. */
uint32_t fwrig_call(struct fwrig *rig, union fwrig_call *call);
#define FWRIG_LOST 0xffffffffu

#endif
