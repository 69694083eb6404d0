/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exceptions, after the vectors have saved the registers. A data abort of bare_peek goes on at its fix-up;
 * every other exception is a fault. Only an interrupt of a running kernel goes on.
 */
#include "bare/bare_board.h"
#include "bare/frame.h"
#include "bare/map.h"
#include "bare/port_state.h"
#include "rtkernel/format.h"
#include "rtkernel/irq.h"
#include "rtkernel/memory.h"
#include "rtkernel/port.h"

_Static_assert(offsetof(struct rt_registers, x) == BARE_FRAME_X &&
                   offsetof(struct rt_registers, sp) == BARE_FRAME_SP &&
                   offsetof(struct rt_registers, pc) == BARE_FRAME_PC &&
                   offsetof(struct rt_registers, pstate) == BARE_FRAME_PSTATE &&
                   offsetof(struct rt_registers, esr) == BARE_FRAME_ESR &&
                   offsetof(struct rt_registers, far) == BARE_FRAME_FAR &&
                   sizeof(struct rt_registers) == BARE_FRAME_RECORD,
               "the vectors save struct rt_registers");
_Static_assert(RT_FAULT_NMI == BARE_CLASS_NMI && RT_FAULT_IRQ == BARE_CLASS_IRQ &&
                   RT_FAULT_FIQ == BARE_CLASS_FIQ && RT_FAULT_SYNC == BARE_CLASS_SYNC,
               "the vectors number the classes as the kernel does");

/* What the vectors and start.S call. */
void bare_exception(enum rt_fault_class fault_class, struct rt_registers *registers);
void bare_interrupt(void);
_Noreturn void bare_start(void);

extern char bare_vectors[], bare_peek_load[], bare_peek_failed[];

/* ESR_EL1.EC (Arm ARM DDI 0487, D17.2.37), for the classes that one image can cause by itself. */
#define ESR_CLASS(esr) ((unsigned)((esr) >> 26) & 0x3f)
enum { EC_INSTRUCTION_ABORT = 0x21, EC_PC_ALIGNMENT = 0x22, EC_DATA_ABORT = 0x25 };

/* FAR_EL1 is of this exception. */
static bool has_address(uint64_t esr)
{
    const unsigned ec = ESR_CLASS(esr);

    return ec == EC_INSTRUCTION_ABORT || ec == EC_PC_ALIGNMENT || ec == EC_DATA_ABORT;
}

static const char *syndrome_name(uint64_t esr)
{
    switch (ESR_CLASS(esr)) {
    case 0x00: return "undefined instruction";
    case 0x0e: return "illegal execution state";
    case 0x18: return "access to a system register that does not exist";
    case EC_INSTRUCTION_ABORT: return "instruction abort";
    case EC_PC_ALIGNMENT: return "misaligned program counter";
    case EC_DATA_ABORT: return "data abort";
    case 0x26: return "misaligned stack pointer";
    case 0x2f: return "asynchronous error";
    case 0x3c: return "breakpoint instruction";
    default: return "exception";
    }
}

_Noreturn void bare_fail(enum rt_fault_class fault_class, const struct rt_registers *registers,
                         const char *text)
{
    struct rt_port *port = bare_port();

    if (port->kernel_made)
        rt_kernel_exception(port->kernel, fault_class, registers, text);
    port->fault = (struct rt_fault){.fault_class = fault_class, .has_registers = registers};
    if (registers)
        port->fault.registers = *registers;
    rt_memory_copy_name(port->fault.text, sizeof(port->fault.text), text);
    rt_port_fault(port, &port->fault);
}

static _Noreturn void report(enum rt_fault_class fault_class, const struct rt_registers *registers)
{
    const bool has_syndrome = fault_class == RT_FAULT_SYNC || fault_class == RT_FAULT_NMI;
    struct rt_port *port = bare_port();
    char text[RT_TEXT_BYTES];

    if (fault_class == RT_FAULT_SYNC && has_address(registers->esr))
        rt_format(text, sizeof(text), "%s at pc 0x%llx, address 0x%llx, syndrome 0x%llx",
                  syndrome_name(registers->esr), (unsigned long long)registers->pc,
                  (unsigned long long)registers->far, (unsigned long long)registers->esr);
    else
        rt_format(text, sizeof(text), "%s at pc 0x%llx, syndrome 0x%llx",
                  has_syndrome ? syndrome_name(registers->esr) : rt_fault_class_name(fault_class),
                  (unsigned long long)registers->pc, (unsigned long long)registers->esr);
    if (!port->failed)
        port->failed = registers;
    bare_fail(fault_class, registers, text);
}

void bare_exception(enum rt_fault_class fault_class, struct rt_registers *registers)
{
    if (fault_class == RT_FAULT_SYNC && ESR_CLASS(registers->esr) == EC_DATA_ABORT &&
        registers->pc == (uintptr_t)bare_peek_load) {
        registers->pc = (uintptr_t)bare_peek_failed;
        return;
    }
    report(fault_class, registers);
}

/* One line for each exception: a second one that is pending is taken as soon as this one is left. */
void bare_interrupt(void)
{
    const unsigned line = bare_board_irq_take();

    if (line != BARE_NO_LINE)
        rt_kernel_interrupt(bare_port()->kernel, line);
}

_Noreturn void bare_start(void)
{
    bare_map_make();
    bare_map_enable();
    __asm__ volatile("msr vbar_el1, %0\n\t"
                     "isb\n\t"
                     "msr daifclr, #5"
                     :
                     : "r"(bare_vectors)
                     : "memory");
    bare_board_reset();
    bare_board_main();
}
