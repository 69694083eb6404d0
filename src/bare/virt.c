/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qemu's board "virt" (its hw/arm/virt.c): GICv2, PL011, the generic timer. The lines of the kernel are
 * shared peripheral interrupts that no device of the board has; software makes them pending. All have one
 * priority, so the smallest number comes first; the timer's is lower. Registers: Arm IHI 0048 (GICv2), DDI
 * 0183 (PL011), DDI 0487 (generic timer).
 */
#include "bare/virt.h"

#include "bare/bare_board.h"
#include "rtkernel/irq.h"

#define GICD              0x08000000ull
#define GICD_CTLR         (GICD + 0x000)
#define GICD_ISENABLER(n) (GICD + 0x100 + (n) / 32 * 4)
#define GICD_ISPENDR(n)   (GICD + 0x200 + (n) / 32 * 4)
#define GICD_ICPENDR(n)   (GICD + 0x280 + (n) / 32 * 4)
#define GICD_IPRIORITY(n) (GICD + 0x400 + (n)) /* a byte each */
#define GICD_ITARGETS(n)  (GICD + 0x800 + (n)) /* a byte each */
#define GICD_ICFGR(n)     (GICD + 0xc00 + (n) / 16 * 4)
#define GICC              0x08010000ull
#define GICC_CTLR         (GICC + 0x00)
#define GICC_PMR          (GICC + 0x04)
#define GICC_IAR          (GICC + 0x0c)
#define GICC_EOIR         (GICC + 0x10)
#define GICC_HPPIR        (GICC + 0x18)
#define INTID(word)       ((word)&0x3ffu)
#define INTID_SPECIAL     1020u /* and above: no interrupt */
#define INTID_TIMER       30u   /* the physical timer of EL1 */
#define INTID_LINES       160u  /* the kernel's line 0 */
#define PRIORITY_LINES    0x40u
#define PRIORITY_TIMER    0x80u
#define EDGES             0xaaaaaaaau

#define UART         0x09000000ull
#define UART_DR      (UART + 0x00)
#define UART_FR      (UART + 0x18)
#define UART_TX_FULL (1u << 5)

#define SECOND        1000000000ull
#define PAGE          0x4000u
#define SEMIHOST_EXIT 0x18u
#define STOPPED_EXIT  0x20026u /* ADP_Stopped_ApplicationExit */

_Static_assert(INTID_LINES % 32 == 0 && RT_IRQ_LINES == 32, "the lines are one word of each register");

static struct {
    uint64_t frequency, zero; /* of the counter: per second, and at the reset */
    bool armed;
} board;

static uint32_t load(uint64_t address)
{
    return *(const volatile uint32_t *)(uintptr_t)address;
}

static void store(uint64_t address, uint32_t value)
{
    *(volatile uint32_t *)(uintptr_t)address = value;
}

static void store8(uint64_t address, uint8_t value)
{
    *(volatile uint8_t *)(uintptr_t)address = value;
}

size_t bare_board_ranges(const struct bare_range **list)
{
    static const struct bare_range ranges[] = {
        {GICD, 0x20000, BARE_DEVICE},
        {UART, 0x4000, BARE_DEVICE},
        {BARE_VIRT_MEMORY, BARE_VIRT_MEMORY_BYTES, BARE_NORMAL},
    };

    *list = ranges;
    return sizeof(ranges) / sizeof(ranges[0]);
}

static uint64_t counter(void)
{
    uint64_t ticks;

    __asm__ volatile("isb\n\tmrs %0, cntpct_el0" : "=r"(ticks) : : "memory");
    return ticks;
}

static void timer_off(void)
{
    __asm__ volatile("msr cntp_ctl_el0, xzr\n\tisb" ::: "memory");
    board.armed = false;
}

void bare_board_reset(void)
{
    timer_off();
    store(GICD_CTLR, 0);
    for (unsigned line = 0; line < RT_IRQ_LINES; line++) {
        store8(GICD_IPRIORITY(INTID_LINES + line), PRIORITY_LINES);
        store8(GICD_ITARGETS(INTID_LINES + line), 1);
    }
    store8(GICD_IPRIORITY(INTID_TIMER), PRIORITY_TIMER);
    store(GICD_ICFGR(INTID_LINES), EDGES);
    store(GICD_ICFGR(INTID_LINES + 16), EDGES);
    store(GICD_ICPENDR(INTID_LINES), 0xffffffffu);
    store(GICD_ISENABLER(INTID_LINES), 0xffffffffu);
    store(GICD_ISENABLER(INTID_TIMER), 1u << INTID_TIMER);
    store(GICD_CTLR, 1);
    store(GICC_PMR, 0xff);
    store(GICC_CTLR, 1);
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(board.frequency));
    board.zero = counter();
}

bool bare_board_irq_pending(void)
{
    return INTID(load(GICC_HPPIR)) < INTID_SPECIAL;
}

unsigned bare_board_irq_take(void)
{
    const uint32_t word = load(GICC_IAR);

    if (INTID(word) >= INTID_SPECIAL)
        return BARE_NO_LINE;
    if (INTID(word) == INTID_TIMER)
        timer_off();
    store(GICC_EOIR, word);
    return INTID(word) == INTID_TIMER ? RT_IRQ_TIMER : INTID(word) - INTID_LINES;
}

void bare_board_irq_raise(unsigned line)
{
    store(GICD_ISPENDR(INTID_LINES), 1u << line);
    __asm__ volatile("dsb sy\n\tisb" ::: "memory");
}

void bare_board_wait(void)
{
    if (!board.armed)
        bare_virt_idle();
    __asm__ volatile("dsb sy\n\twfi" ::: "memory");
}

/* Whole seconds apart, because the product of a counter and a second exceeds 64 bits. */
uint64_t bare_board_now(void)
{
    const uint64_t ticks = counter() - board.zero;

    return ticks / board.frequency * SECOND + ticks % board.frequency * SECOND / board.frequency;
}

/* Rounded up: the time is not before the deadline when the timer goes off. */
void bare_board_timer_set(uint64_t deadline)
{
    const uint64_t ticks =
        deadline / SECOND * board.frequency + (deadline % SECOND * board.frequency + SECOND - 1) / SECOND;

    timer_off();
    if (!deadline)
        return;
    __asm__ volatile("msr cntp_cval_el0, %0\n\tmsr cntp_ctl_el0, %1\n\tisb"
                     :
                     : "r"(board.zero + ticks), "r"(1ull)
                     : "memory");
    board.armed = true;
}

/* Device addresses are physical ones here, and mapped where a load succeeds. */
void *bare_board_window(uint64_t address, size_t bytes)
{
    const uint64_t last = address + bytes - 1;

    if (!bytes || last < address)
        return NULL;
    for (uint64_t page = address / PAGE; page <= last / PAGE; page++) {
        if (!bare_probe(page * PAGE))
            return NULL;
    }
    return (void *)(uintptr_t)address;
}

static void print_byte(char byte)
{
    while (load(UART_FR) & UART_TX_FULL)
        ;
    store(UART_DR, (uint8_t)byte);
}

void bare_board_print(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        print_byte(line[i]);
    print_byte('\n');
}

void bare_board_mark(uint32_t code, const uint64_t *word, size_t words)
{
    (void)code;
    (void)word;
    (void)words;
}

void bare_board_refuse(const char *text, size_t length)
{
    bare_board_print(text, length);
}

_Noreturn void bare_virt_exit(uint64_t status)
{
    const uint64_t block[2] = {STOPPED_EXIT, status};

    for (;;) {
        register uint64_t operation __asm__("x0") = SEMIHOST_EXIT;
        register const uint64_t *argument __asm__("x1") = block;

        __asm__ volatile("hlt #0xf000" : "+r"(operation) : "r"(argument) : "memory");
    }
}
