/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's controller as a board: what its processor sees is in protocol/core.h. There is one image for
 * all chips: the registers of each are mapped, and CBAR says which are there. Shared memory is mapped whole;
 * a page that the DART does not translate is found by an access that aborts.
 */
#include "bare/bare_board.h"
#include "firmware/firmware.h"
#include "protocol/board.h"
#include "protocol/core.h"
#include "protocol/image.h"
#include "rtkernel/fault.h"
#include "rtkernel/irq.h"
#include "rtkernel/port.h"

#define CARVE_OUT (PR_IMAGE_BASE + PR_IMAGE_RUN_BYTES)
#define RANGES    (3u + 2u * PR_CHIP_COUNT)

static struct {
    uint64_t registers; /* base of the container */
    struct bare_range range[RANGES];
    struct fw_reset reset;
} board;

_Static_assert(RT_IRQ_TIMER == 32, "the timer's line as protocol/core.h has it");

static uint32_t load(uint32_t offset)
{
    return *(const volatile uint32_t *)(uintptr_t)(board.registers + offset);
}

static void store(uint32_t offset, uint32_t value)
{
    *(volatile uint32_t *)(uintptr_t)(board.registers + offset) = value;
}

size_t bare_board_ranges(const struct bare_range **list)
{
    struct bare_range *range = board.range;

    *range++ = (struct bare_range){CARVE_OUT, FW_CARVE_OUT_BYTES, BARE_NORMAL};
    *range++ = (struct bare_range){PR_CORE_SHARED, PR_CORE_SHARED_BYTES, BARE_SHARED};
    *range++ = (struct bare_range){PR_GPU_DOORBELL, PR_PAGE_BYTES, BARE_DEVICE};
    for (unsigned i = 0; i < PR_CHIP_COUNT; i++) {
        const struct pr_board *chip = &pr_board_table[i];

        *range++ = (struct bare_range){chip->container, chip->container_bytes, BARE_DEVICE};
        *range++ = (struct bare_range){chip->pmu, PR_PAGE_BYTES, BARE_DEVICE};
    }
    *list = board.range;
    return (size_t)(range - board.range);
}

void bare_board_reset(void)
{
    board.registers = rt_port_sysreg_read(NULL, PR_SYSREG_CBAR);
    bare_board_timer_set(0);
}

/* The processor's ROM has cleared the carve-out up to its retained end. */
_Noreturn void bare_board_main(void)
{
    void *const carve_out = (void *)(uintptr_t)CARVE_OUT;

    board.reset = (struct fw_reset){.port = bare_port_open(carve_out),
                                    .carve_out = carve_out,
                                    .bytes = FW_CARVE_OUT_BYTES - FW_RETAINED_BYTES,
                                    .retained = (uint8_t *)carve_out + FW_CARVE_OUT_BYTES - FW_RETAINED_BYTES,
                                    .retained_bytes = FW_RETAINED_BYTES};
    fw_reset_vector(&board.reset);
}

bool bare_board_irq_pending(void)
{
    return load(PR_CORE_IRQ_PENDING_LO) || load(PR_CORE_IRQ_PENDING_HI);
}

unsigned bare_board_irq_take(void)
{
    return load(PR_CORE_IRQ_TAKE);
}
_Static_assert(PR_CORE_NO_LINE == BARE_NO_LINE, "one word for no line");

void bare_board_irq_raise(unsigned line)
{
    store(PR_CORE_IRQ_RAISE, line);
}

void bare_board_wait(void)
{
    __asm__ volatile("dsb sy\n\twfi" ::: "memory");
}

uint64_t bare_board_now(void)
{
    return load(PR_CORE_TIME_LO) | (uint64_t)load(PR_CORE_TIME_HI) << 32;
}

void bare_board_timer_set(uint64_t deadline)
{
    store(PR_CORE_TIMER_LO, (uint32_t)deadline);
    store(PR_CORE_TIMER_HI, (uint32_t)(deadline >> 32));
}

void *bare_board_window(uint64_t address, size_t bytes)
{
    if (!bytes || address >= PR_CORE_SHARED_BYTES || bytes > PR_CORE_SHARED_BYTES - address)
        return NULL;
    for (uint64_t page = address / PR_PAGE_BYTES; page <= (address + bytes - 1) / PR_PAGE_BYTES; page++) {
        if (!bare_probe(PR_CORE_SHARED | page * PR_PAGE_BYTES))
            return NULL;
    }
    return (void *)(uintptr_t)(PR_CORE_SHARED | address);
}

static void probe(enum pr_core_probe kind, uint32_t argument, const void *text, size_t length)
{
    const uint64_t address = (uintptr_t)text;

    store(PR_CORE_PROBE_LO, (uint32_t)address);
    store(PR_CORE_PROBE_HI, (uint32_t)(address >> 32));
    store(PR_CORE_PROBE, (uint32_t)kind << 24 | argument << 16 | (uint32_t)(length & PR_PROBE_TEXT_MAX));
}

static size_t length_of(const char *text)
{
    size_t length = 0;

    while (text[length])
        length++;
    return length;
}

void bare_board_print(const char *line, size_t length)
{
    probe(PR_PROBE_LOG, 0, line, length);
}

void bare_board_mark(uint32_t code, const uint64_t *word, size_t words)
{
    probe(PR_PROBE_MARK, code, word, words * sizeof(word[0]));
}

void bare_board_refuse(const char *text, size_t length)
{
    probe(PR_PROBE_REFUSAL, 0, text, length);
}

/* Interrupts are masked: only a reset ends this. */
static _Noreturn void stay(void)
{
    for (;;)
        bare_board_wait();
}

_Noreturn void bare_board_fault(const struct rt_fault *fault)
{
    probe(PR_PROBE_TASK, 0, fault->task, length_of(fault->task));
    probe(PR_PROBE_FAULT, (uint32_t)fault->fault_class, fault->text, length_of(fault->text));
    stay();
}

_Noreturn void bare_board_halt(void)
{
    probe(PR_PROBE_HALT, 0, "", 0);
    stay();
}
