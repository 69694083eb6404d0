/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare AArch64 port of the real-time kernel and the board below it. The common part of this room (start,
 * vectors, context, map, exception, port) defines every call of rtkernel/port.h in terms of the functions
 * here; one file per board defines them. An image is one board, so there is one port.
 *
 * Order at reset: bare_entry (start.S) sets the stacks and clears what the image does not carry; then
 * bare_board_ranges, translation on, the vectors, bare_board_reset, bare_board_main. bare_board_ranges is
 * called with translation off.
 *
 * A board file:
 *
 *     static const struct bare_range ranges[] = {{registers, bytes, BARE_DEVICE}, ...};
 *     size_t bare_board_ranges(const struct bare_range **list) { *list = ranges; return count; }
 *     void bare_board_reset(void) { every line enabled, none pending, the timer off }
 *     void bare_board_main(void)
 *     {
 *         struct fw_reset reset = {bare_port_open(carve_out), carve_out, bytes, 0};
 *
 *         fw_reset_vector(&reset);
 *     }
 *     ... and the other functions below; virt.c is an example.
 */
#ifndef BARE_BARE_BOARD_H
#define BARE_BARE_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_context;
struct rt_fault;
struct rt_port;

/* What a range of the identity map holds. */
enum bare_memory {
    BARE_NORMAL, /* cacheable memory of the image and the carve-out: data, never executed */
    BARE_SHARED, /* memory that other masters write: not cached */
    BARE_DEVICE, /* registers: no gathering, no reordering, early acknowledgement */
};

/*
 * A range whose addresses are the same in both spaces: multiples of 16 KiB below 64 GiB. The image's own
 * pages need no range: the common part maps code and constants read only, and the rest writable.
 */
struct bare_range {
    uint64_t base, bytes;
    enum bare_memory memory;
};

/* From the board. Interrupts are masked in all of them; none blocks but bare_board_wait. */

size_t bare_board_ranges(const struct bare_range **list);
/* Devices as they must be before the first line is delivered. */
void bare_board_reset(void);
/* The program of the image, on the boot stack. */
_Noreturn void bare_board_main(void);

/* No line is pending. */
#define BARE_NO_LINE 0xffffffffu
bool bare_board_irq_pending(void);
/*
 * The pending line with the smallest number (RT_IRQ_TIMER is the largest), and acknowledges it: the kernel's
 * handler runs afterwards and may switch tasks, so no other acknowledgement follows. BARE_NO_LINE when it was
 * withdrawn. A timer that has gone off is switched off here.
 */
unsigned bare_board_irq_take(void);
/* Makes a line below RT_IRQ_LINES pending. */
void bare_board_irq_raise(unsigned line);
/* Until a line may be pending: wfi, where that is all. */
void bare_board_wait(void);

/* As rt_port_now and rt_port_timer_set. */
uint64_t bare_board_now(void);
void bare_board_timer_set(uint64_t deadline);

/* As rt_port_window. Where only an access can tell whether a page is mapped: bare_probe. */
void *bare_board_window(uint64_t address, size_t bytes);

/* A line of the log, "level origin: text", without its end. */
void bare_board_print(const char *line, size_t length);
/* As rt_port_mark. */
void bare_board_mark(uint32_t code, const uint64_t *word, size_t words);
/* As rt_port_refuse. */
void bare_board_refuse(const char *text, size_t length);

/* As rt_port_fault and rt_port_halt. A fault is reported on the exception stack or on a task's. */
_Noreturn void bare_board_fault(const struct rt_fault *fault);
_Noreturn void bare_board_halt(void);

/* For the board. */

/*
 * The port, for a kernel that will be booted at the base of `carve_out`. Exceptions go to that kernel from
 * its first context on; one before that is given to bare_board_fault directly.
 */
struct rt_port *bare_port_open(void *carve_out);

/* Whether a load there succeeds: the data abort that it may cause is taken and forgotten. Any context. */
bool bare_probe(uint64_t address);
/* The aligned 8 bytes at that address, or false where bare_probe says false. */
bool bare_peek(uint64_t address, uint64_t *value);

/*
 * Continues a context that rt_port_context_switch has saved or rt_port_context_make has made, from any stack:
 * a fault's handler does not return to what has failed.
 */
_Noreturn void bare_context_resume(const struct rt_context *to);

#endif
