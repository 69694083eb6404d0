/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only the controller's processor sees: where shared memory is, and its private registers. The native
 * core does without; an image that is executed (docs/image.md) needs them.
 */
#ifndef PROTOCOL_CORE_H
#define PROTOCOL_CORE_H

#include "protocol/bits.h"
#include "protocol/controller.h"

/*
 * Shared memory: device address `a` is at PR_CORE_SHARED | a, through the DART (command facts 6: the T8103's
 * firmware sets these bits in every bus address). An address that the DART does not translate is a
 * synchronous abort.
 */
#define PR_CORE_SHARED       0xf00000000ull
#define PR_CORE_SHARED_BYTES 0x100000000ull

/*
 * Private registers, at an offset in the engine container where the bus has none (CHOSEN, as are all of
 * them: the firmware's interrupt controller and timer are not public). X(id, offset, meaning)
 */
#define PR_CORE_REGISTERS(X)                                                                         \
    X(IRQ_PENDING_LO, 0x1404000, "read: a bit for each line that is pending, 0 to 31")               \
    X(IRQ_PENDING_HI, 0x1404004, "read: lines 32 to 63; the timer's is 32")                          \
    X(IRQ_TAKE, 0x1404008, "read: the smallest pending line, which is acknowledged, or all ones")    \
    X(IRQ_RAISE, 0x140400c, "write: the number of a line that becomes pending")                      \
    X(TIME_LO, 0x1404010, "read: nanoseconds since power-on")                                        \
    X(TIME_HI, 0x1404014, "read: their high word")                                                   \
    X(TIMER_LO, 0x1404018, "write: low word of the timer's deadline, in nanoseconds")                \
    X(TIMER_HI, 0x140401c, "write: the high word; sets the timer, or ends it when both words are 0") \
    X(PROBE_LO, 0x1404020, "write: address of text for the debug probe")                             \
    X(PROBE_HI, 0x1404024, "write: its high word")                                                   \
    X(PROBE, 0x1404028, "write: what the text is, enum pr_core_probe << 24 | argument << 16 | its length")

enum pr_core_register {
#define X(id, offset, meaning) PR_CORE_##id = offset,
    PR_CORE_REGISTERS(X)
#undef X
};
#define PR_CORE_WINDOW       0x1404000u
#define PR_CORE_WINDOW_BYTES 0x4000u
#define PR_CORE_NO_LINE      0xffffffffu
_Static_assert(PR_CORE_WINDOW == PR_CTRL_WINDOW_CPU + PR_CTRL_WINDOW_CPU_BYTES,
               "behind the last window of CPU");

/*
 * The debug probe shows what a processor says to no ring: to the trace, as the native core's port does. The
 * processor has ended with FAULT (the argument is the exception class) and HALT. A MARK has 64-bit words for
 * text, and its code as the argument.
 */
enum pr_core_probe {
    PR_PROBE_LOG = 1,
    PR_PROBE_REFUSAL,
    PR_PROBE_TASK,
    PR_PROBE_FAULT,
    PR_PROBE_HALT,
    PR_PROBE_MARK
};
#define PR_PROBE_TEXT_MAX 0xffffu

#endif
