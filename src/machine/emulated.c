/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulator has no interrupts and no exceptions of its own: what a processor does when it takes one is
 * done here (enter_exception). An interrupt is taken between two blocks of instructions, when a line is
 * pending and PSTATE.I is clear; a synchronous exception when the emulator has stopped with its cause.
 *
 * Pages of shared memory are mapped when they are first used, and forgotten whenever the firmware waits,
 * because the DART's tables change only while it does not run.
 */
#include "machine/emulated.h"

#include <errno.h>
#include <string.h>
#include <unicorn/unicorn.h>

#include "base/alloc.h"
#include "base/array.h"
#include "machine/internal.h"
#include "machine/mark.h"
#include "protocol/core.h"
#include "protocol/image.h"
#include "rtkernel/fault.h"

#define FIRMWARE_STREAM 0u
#define PAGES_MAX       512u /* of shared memory that are mapped at once; then all are forgotten */
#define NOWHERE         0xfffffffffffffff0ull
#define PROBE_TEXT_MAX  256u
#define STOP_COST       100u /* instructions that a stop counts for: an exception may execute none */

#define PSTATE_SP   (1ull << 0)
#define PSTATE_EL   (3ull << 2)
#define PSTATE_I    (1ull << 7)
#define PSTATE_DAIF (15ull << 6)
#define PSTATE_EL1H 5ull

/*
 * System registers of the architecture. The emulator begins in EL1 without what the levels above it would
 * have set up: that EL1 is not secure and has 64 bits.
 */
#define SPSR_EL1           PR_SYSREG(3u, 0u, 4u, 0u, 0u)
#define SCR_EL3            PR_SYSREG(3u, 6u, 1u, 1u, 0u)
#define HCR_EL2            PR_SYSREG(3u, 4u, 1u, 1u, 0u)
#define SCR_EL1_IS_64_BITS (1ull << 10 | 1ull << 0)
#define HCR_EL1_IS_64_BITS (1ull << 31)

#define INSTRUCTION_BYTES 4u
#define WFI               0xd503207fu
#define SYSTEM_MASK       0xfff00000u
#define SYSTEM_READ       0xd5300000u /* MRS */
#define SYSTEM_WRITE      0xd5100000u /* MSR of a register */
#define ZERO_REGISTER     31u

/* Offsets of the vectors with SP_EL0; those with SP_EL1 and those of EL0 are further on. */
#define VECTOR_SYNC  0x000u
#define VECTOR_IRQ   0x080u
#define VECTOR_FIQ   0x100u
#define VECTOR_ERROR 0x180u
#define VECTORS_SP_1 0x200u
#define VECTORS_EL0  0x400u

/* ESR_EL1: class, length bit, and the status of an abort (Arm ARM DDI 0487, D17.2.37). */
#define ESR(class)      ((uint64_t)(class) << 26 | 1u << 25)
#define ESR_UNKNOWN     ESR(0x00)
#define ESR_FETCH_ABORT (ESR(0x21) | ABORT_EXTERNAL)
#define ESR_DATA_ABORT  (ESR(0x25) | ABORT_EXTERNAL)
#define ESR_BREAKPOINT  ESR(0x3c)
#define ABORT_EXTERNAL  0x10u
#define ABORT_MMU       0x07u /* translation, level 3 */
#define ABORT_WRITE     0x40u

/* Exceptions as the emulator numbers them. */
enum { STOP_UNDEFINED = 1, STOP_FETCH = 3, STOP_DATA = 4, STOP_BREAKPOINT = 7 };

/* A range of registers, as the emulator sees it. Registers have 32 bits; an access of 64 is two. */
struct registers {
    struct mach_emulated *emulated;
    uint64_t base;
};
#define REGISTERS 3u

struct mach_emulated {
    struct ane_machine *machine;
    struct registers registers[REGISTERS];
    struct mach_emulated_calls calls;
    uc_engine *uc;
    const uint8_t *memory; /* the run with the image, and the carve-out behind it */
    uint64_t pc;           /* where the next run begins */
    uint64_t page[PAGES_MAX];
    unsigned pages;
    uint32_t left; /* instructions of this run */
    bool injected; /* an exception of this class */
    enum rt_fault_class injected_class;
    bool ended;        /* a fault or a halt */
    uint64_t syndrome; /* of the exception that the emulator stopped with; 0: none */
    uint64_t address;  /* its fault address */
    uint32_t timer_low, probe_low, probe_high;
    char task[PROBE_TEXT_MAX];
};

static uint64_t get(const struct mach_emulated *e, int reg)
{
    uint64_t value = 0;

    (void)uc_reg_read(e->uc, reg, &value);
    return value;
}

static void set(struct mach_emulated *e, int reg, uint64_t value)
{
    (void)uc_reg_write(e->uc, reg, &value);
}

static void set_system(struct mach_emulated *e, uint32_t id, uint64_t value)
{
    uc_arm64_cp_reg reg = {.op0 = id >> 14,
                           .op1 = id >> 11 & 7,
                           .crn = id >> 7 & 15,
                           .crm = id >> 3 & 15,
                           .op2 = id & 7,
                           .val = value};

    (void)uc_reg_write(e->uc, UC_ARM64_REG_CP_REG, &reg);
}

/* What the processor does when it takes an exception to EL1. The stack pointer is a banked register. */
static void enter_exception(struct mach_emulated *e, uint64_t vector)
{
    uint64_t pstate = get(e, UC_ARM64_REG_PSTATE);

    if (!(pstate & PSTATE_EL))
        vector += VECTORS_EL0;
    set(e, UC_ARM64_REG_ELR_EL1, e->pc);
    set_system(e, SPSR_EL1, pstate);
    if (pstate & PSTATE_SP) {
        vector += VECTORS_SP_1;
    } else {
        set(e, UC_ARM64_REG_SP_EL0, get(e, UC_ARM64_REG_SP));
        set(e, UC_ARM64_REG_PSTATE, PSTATE_EL1H | PSTATE_DAIF);
        set(e, UC_ARM64_REG_SP, get(e, UC_ARM64_REG_SP_EL1));
    }
    set(e, UC_ARM64_REG_PSTATE, PSTATE_EL1H | PSTATE_DAIF);
    e->pc = get(e, UC_ARM64_REG_VBAR_EL1) + vector;
}

void mach_emulated_inject(struct mach_emulated *e, unsigned fault_class)
{
    if (e->injected)
        return;
    e->injected = true;
    e->injected_class = (enum rt_fault_class)fault_class;
}

/*
 * The same exceptions as those of the native core, without its text: the firmware has the vector and ESR. An
 * interrupt is a fault at the vectors of the exception stack, where none is expected.
 */
static void take_injected(struct mach_emulated *e)
{
    static const struct {
        uint64_t vector, esr;
    } table[RT_FAULT_CLASSES] = {
        [RT_FAULT_NMI] = {VECTOR_ERROR, PR_ESR(PR_EXCEPTION_SERROR)},
        [RT_FAULT_IRQ] = {VECTOR_IRQ, 0},
        [RT_FAULT_FIQ] = {VECTOR_FIQ, 0},
        [RT_FAULT_SYNC] = {VECTOR_SYNC, PR_ESR(PR_EXCEPTION_UNKNOWN)},
    };

    uint64_t vector = table[e->injected_class].vector;

    e->injected = false;
    if (e->injected_class == RT_FAULT_IRQ && !(get(e, UC_ARM64_REG_PSTATE) & PSTATE_SP))
        vector += VECTORS_SP_1;
    set(e, UC_ARM64_REG_ESR_EL1, table[e->injected_class].esr);
    enter_exception(e, vector);
}

static bool takes_interrupt(const struct mach_emulated *e)
{
    return *e->calls.pending && !(get(e, UC_ARM64_REG_PSTATE) & PSTATE_I);
}

/* The bytes of the processor's own memory at an address; NULL outside. */
static const void *own_memory(const struct mach_emulated *e, uint64_t address, uint64_t bytes)
{
    uint64_t most = PR_IMAGE_RUN_BYTES + e->machine->carveout_bytes;

    if (address < PR_IMAGE_BASE || bytes > most || address - PR_IMAGE_BASE > most - bytes)
        return NULL;
    return e->memory + (address - PR_IMAGE_BASE);
}

/* "level origin: text", as the kernel writes a line of its log. */
static void trace_log(struct mach_emulated *e, char *line)
{
    char *origin = strchr(line, ' '), *text = origin ? strstr(origin, ": ") : NULL;

    if (!text)
        return;
    *origin++ = '\0';
    *text = '\0';
    SOC_TRACE(&e->machine->trace, FW_LOG, line, origin, text + 2);
}

static void trace_mark(struct mach_emulated *e, uint32_t code, const char *text, size_t length)
{
    uint64_t word[PROBE_TEXT_MAX / sizeof(uint64_t)];

    memcpy(word, text, length / sizeof(word[0]) * sizeof(word[0]));
    mach_mark(e->machine, code, word, length / sizeof(word[0]));
}

static void probe(struct mach_emulated *e, uint32_t value)
{
    struct soc_trace *trace = &e->machine->trace;
    uint64_t address = e->probe_low | (uint64_t)e->probe_high << 32;
    size_t length = value & PR_PROBE_TEXT_MAX;
    char text[PROBE_TEXT_MAX] = "";
    const void *bytes;

    if (length > sizeof(text) - 1)
        length = sizeof(text) - 1;
    bytes = own_memory(e, address, length);
    if (bytes)
        memcpy(text, bytes, length);
    switch (value >> 24) {
    case PR_PROBE_LOG: trace_log(e, text); break;
    case PR_PROBE_REFUSAL: SOC_TRACE(trace, FW_REFUSED, text); break;
    case PR_PROBE_TASK: memcpy(e->task, text, sizeof(text)); break;
    case PR_PROBE_FAULT: SOC_TRACE(trace, FW_FAULT, value >> 16 & 0xff, e->task, text); break;
    case PR_PROBE_MARK: trace_mark(e, value >> 16 & 0xff, text, length); break;
    case PR_PROBE_HALT: SOC_TRACE(trace, FW_HALT); break;
    default: break;
    }
    if (value >> 24 == PR_PROBE_FAULT || value >> 24 == PR_PROBE_HALT) {
        e->ended = true;
        (void)uc_emu_stop(e->uc);
    }
}

static uint32_t take_line(struct mach_emulated *e)
{
    uint64_t pending = *e->calls.pending;

    if (!pending)
        return PR_CORE_NO_LINE;
    *e->calls.pending &= pending - 1;
    return (uint32_t)__builtin_ctzll(pending);
}

static uint32_t private_read(struct mach_emulated *e, uint32_t offset)
{
    uint64_t pending = *e->calls.pending, now = soc_clock_now(e->machine->clock);

    switch (offset) {
    case PR_CORE_IRQ_PENDING_LO: return (uint32_t)pending;
    case PR_CORE_IRQ_PENDING_HI: return (uint32_t)(pending >> 32);
    case PR_CORE_IRQ_TAKE: return take_line(e);
    case PR_CORE_TIME_LO: return (uint32_t)now;
    case PR_CORE_TIME_HI: return (uint32_t)(now >> 32);
    default: return 0;
    }
}

static void private_write(struct mach_emulated *e, uint32_t offset, uint32_t value)
{
    switch (offset) {
    case PR_CORE_IRQ_RAISE:
        if (value < 64)
            e->calls.raise(e->calls.context, value);
        break;
    case PR_CORE_TIMER_LO: e->timer_low = value; break;
    case PR_CORE_TIMER_HI: e->calls.timer_set(e->calls.context, e->timer_low | (uint64_t)value << 32); break;
    case PR_CORE_PROBE_LO: e->probe_low = value; break;
    case PR_CORE_PROBE_HI: e->probe_high = value; break;
    case PR_CORE_PROBE: probe(e, value); break;
    default: break;
    }
}

static bool is_private(const struct mach_emulated *e, uint64_t address)
{
    return address - (e->machine->board->container + PR_CORE_WINDOW) < PR_CORE_WINDOW_BYTES;
}

static uint32_t word_read(struct mach_emulated *e, uint64_t address)
{
    if (is_private(e, address))
        return private_read(e, (uint32_t)(address - e->machine->board->container));
    return soc_bus_read32(e->machine->bus, SOC_MASTER_CONTROLLER, address);
}

static void word_write(struct mach_emulated *e, uint64_t address, uint32_t value)
{
    if (is_private(e, address))
        private_write(e, (uint32_t)(address - e->machine->board->container), value);
    else
        soc_controller_store(&e->machine->controller, address, value);
}

static uint64_t register_read(uc_engine *uc, uint64_t offset, unsigned bytes, void *context)
{
    const struct registers *r = context;
    uint64_t address = (r->base + offset) & ~3ull;
    uint64_t value = word_read(r->emulated, address);

    (void)uc;
    if (bytes == 8)
        value |= (uint64_t)word_read(r->emulated, address + 4) << 32;
    return value;
}

static void register_write(uc_engine *uc, uint64_t offset, unsigned bytes, uint64_t value, void *context)
{
    const struct registers *r = context;
    struct mach_emulated *e = r->emulated;
    uint64_t address = (r->base + offset) & ~3ull;

    word_write(e, address, (uint32_t)value);
    if (bytes == 8 && !e->calls.stopped_itself(e->calls.context))
        word_write(e, address + 4, (uint32_t)(value >> 32));
    if (e->calls.stopped_itself(e->calls.context))
        (void)uc_emu_stop(uc);
}

static void forget_pages(struct mach_emulated *e)
{
    for (unsigned i = 0; i < e->pages; i++)
        (void)uc_mem_unmap(e->uc, e->page[i], PR_PAGE_BYTES);
    e->pages = 0;
}

/* The page of shared memory at an address of the processor's. */
static bool map_page(struct mach_emulated *e, uint64_t address)
{
    uint64_t page = address & ~(uint64_t)(PR_PAGE_BYTES - 1);
    struct dart_range range;

    if (dart_range_get(e->machine->dart, DART_PORT_TASK, FIRMWARE_STREAM, page - PR_CORE_SHARED,
                       PR_PAGE_BYTES, DART_READ, &range) ||
        !range.host)
        return false;
    if (e->pages == PAGES_MAX)
        forget_pages(e);
    if (uc_mem_map_ptr(e->uc, page, PR_PAGE_BYTES, UC_PROT_READ | UC_PROT_WRITE, range.host))
        return false;
    e->page[e->pages++] = page;
    return true;
}

/* True: try again. An address that stays unmapped ends the run with a synchronous abort. */
static bool unmapped(uc_engine *uc, uc_mem_type type, uint64_t address, int bytes, int64_t value,
                     void *context)
{
    struct mach_emulated *e = context;

    (void)uc;
    (void)bytes;
    (void)value;
    if (type != UC_MEM_FETCH_UNMAPPED && address - PR_CORE_SHARED < PR_CORE_SHARED_BYTES &&
        map_page(e, address))
        return true;
    e->address = address;
    e->syndrome = type == UC_MEM_FETCH_UNMAPPED ? ESR_FETCH_ABORT : ESR_DATA_ABORT;
    if (type == UC_MEM_WRITE_UNMAPPED)
        e->syndrome |= ABORT_WRITE;
    return false;
}

/* An exception of the emulated instruction itself. */
static void excepted(uc_engine *uc, uint32_t number, void *context)
{
    struct mach_emulated *e = context;

    e->address = 0;
    switch (number) {
    case STOP_FETCH: e->syndrome = ESR(0x21) | ABORT_MMU; break;
    case STOP_DATA: e->syndrome = ESR(0x25) | ABORT_MMU; break;
    case STOP_BREAKPOINT: e->syndrome = ESR_BREAKPOINT; break;
    default: e->syndrome = ESR_UNKNOWN; break;
    }
    (void)uc_emu_stop(uc);
}

static int general_register(unsigned number)
{
    return number < 29 ? UC_ARM64_REG_X0 + (int)number : UC_ARM64_REG_X29 + (int)number - 29;
}

/* MRS or MSR of a register that the controller has; the emulator knows only the architecture's. */
static bool system_access(struct mach_emulated *e, uint32_t word)
{
    struct soc_controller *c = &e->machine->controller;
    uint32_t id = 0x8000u | (word >> 5 & 0x7fff), number = word & ZERO_REGISTER;
    uint64_t value;

    if ((word & SYSTEM_MASK) == SYSTEM_WRITE)
        return soc_controller_sysreg_write(c, id,
                                           number == ZERO_REGISTER ? 0 : get(e, general_register(number)));
    if (!soc_controller_sysreg_read(c, id, &value))
        return false;
    if (number != ZERO_REGISTER)
        set(e, general_register(number), value);
    return true;
}

/* Before every instruction. */
static void instruction_begins(uc_engine *uc, uint64_t address, uint32_t bytes, void *context)
{
    struct mach_emulated *e = context;
    uint32_t word;

    (void)bytes;
    if (e->injected || takes_interrupt(e) || e->left == 0) {
        (void)uc_emu_stop(uc);
        return;
    }
    e->left--;
    if (address - PR_IMAGE_BASE >= PR_IMAGE_RUN_BYTES)
        return;
    word = pr_le32(e->memory + (address - PR_IMAGE_BASE));
    if (((word & SYSTEM_MASK) == SYSTEM_READ || (word & SYSTEM_MASK) == SYSTEM_WRITE) &&
        system_access(e, word))
        set(e, UC_ARM64_REG_PC, address + INSTRUCTION_BYTES);
}

static uc_err map_registers(struct mach_emulated *e, unsigned index, uint64_t base, uint64_t bytes)
{
    struct registers *r = &e->registers[index];

    *r = (struct registers){e, base};
    return uc_mmio_map(e->uc, base, bytes, register_read, r, register_write, r);
}

static uc_err map_all(struct mach_emulated *e)
{
    const struct ane_machine *m = e->machine;
    uint64_t bytes = PR_IMAGE_RUN_BYTES + m->carveout_bytes;
    void *memory = soc_memory_at(m->memory, m->image, bytes);
    uc_err status = uc_mem_map_ptr(e->uc, PR_IMAGE_BASE, bytes, UC_PROT_ALL, memory);

    e->memory = memory;
    if (!status)
        status = map_registers(e, 0, m->board->container, m->board->container_bytes);
    if (!status)
        status = map_registers(e, 1, m->board->pmu, SOC_BUS_GRANULE);
    if (!status)
        status = map_registers(e, 2, PR_GPU_DOORBELL, SOC_BUS_GRANULE);
    return status;
}

/* The emulator's functions of all kinds have one type. */
typedef void (*hook)(void);

static uc_err hook_all(struct mach_emulated *e)
{
    const struct {
        int type;
        hook call;
    } table[] = {
        {UC_HOOK_CODE, (hook)instruction_begins},
        {UC_HOOK_MEM_UNMAPPED, (hook)unmapped},
        {UC_HOOK_INTR, (hook)excepted},
    };
    uc_err status = UC_ERR_OK;

    for (unsigned i = 0; i < BASE_COUNT_OF(table) && !status; i++) {
        void *call;
        uc_hook handle;

        memcpy(&call, &table[i].call, sizeof(call)); /* ISO C has no cast from one to the other */
        status = uc_hook_add(e->uc, &handle, table[i].type, call, e, 1, 0);
    }
    return status;
}

static void close_core(struct mach_emulated *e)
{
    if (e->uc)
        (void)uc_close(e->uc);
    e->uc = NULL;
    e->pages = 0;
}

static int open_core(struct mach_emulated *e, struct base_error *error)
{
    uc_err status = uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &e->uc);

    if (!status)
        status = map_all(e);
    if (!status)
        status = hook_all(e);
    if (!status)
        return 0;
    close_core(e);
    return base_fail(error, ENOMEM, "The emulated core could not be made: %s.", uc_strerror(status));
}

int mach_emulated_create(struct ane_machine *machine, const struct mach_emulated_calls *calls,
                         struct mach_emulated **emulated, struct base_error *error)
{
    struct mach_emulated *e = base_alloc(sizeof(*e));

    *emulated = e;
    if (!e)
        return base_fail(error, ENOMEM, "No memory for the emulated core.");
    e->machine = machine;
    e->calls = *calls;
    return open_core(e, error);
}

void mach_emulated_destroy(struct mach_emulated *e)
{
    if (!e)
        return;
    close_core(e);
    base_free(e);
}

/* A new core, because the emulator has no reset. */
bool mach_emulated_reset(struct mach_emulated *e, uint64_t entry)
{
    close_core(e);
    if (open_core(e, NULL))
        return false;
    e->pc = entry;
    e->ended = e->injected = false;
    e->task[0] = '\0';
    set_system(e, SCR_EL3, SCR_EL1_IS_64_BITS);
    set_system(e, HCR_EL2, HCR_EL1_IS_64_BITS);
    set(e, UC_ARM64_REG_PSTATE, PSTATE_EL1H | PSTATE_DAIF);
    return true;
}

/* The instruction in front of this address is WFI. */
static bool waited(const struct mach_emulated *e)
{
    const void *before = own_memory(e, e->pc - INSTRUCTION_BYTES, INSTRUCTION_BYTES);

    return before && pr_le32(before) == WFI;
}

/* The exception that the emulator stopped with; without a cause of its own it is an undefined instruction. */
static void take_stop(struct mach_emulated *e)
{
    set(e, UC_ARM64_REG_ESR_EL1, e->syndrome ? e->syndrome : ESR_UNKNOWN);
    set(e, UC_ARM64_REG_FAR_EL1, e->syndrome ? e->address : 0);
    enter_exception(e, VECTOR_SYNC);
}

static bool has_ended(const struct mach_emulated *e)
{
    return e->ended || e->calls.stopped_itself(e->calls.context);
}

static enum mach_emulated_end run(struct mach_emulated *e)
{
    e->left = MACH_EMULATED_SLICE;
    for (;;) {
        uc_err status;

        if (e->injected)
            take_injected(e);
        else if (takes_interrupt(e))
            enter_exception(e, VECTOR_IRQ);
        e->syndrome = 0;
        status = uc_emu_start(e->uc, e->pc, NOWHERE, 0, 0);
        e->pc = get(e, UC_ARM64_REG_PC);
        e->left -= e->left < STOP_COST ? e->left : STOP_COST;
        if (has_ended(e))
            return MACH_EMULATED_ENDED;
        if (e->syndrome || status)
            take_stop(e);
        else if (waited(e) && !*e->calls.pending && !e->injected)
            return MACH_EMULATED_WAITS;
        if (!e->left)
            return MACH_EMULATED_BUSY;
    }
}

enum mach_emulated_end mach_emulated_run(struct mach_emulated *e)
{
    enum mach_emulated_end end;

    dart_grants_begin(e->machine->dart);
    end = run(e);
    forget_pages(e);
    dart_grants_end(e->machine->dart);
    return end;
}
