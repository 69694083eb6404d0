/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rtkernel/port.h says of registers, on the controller's processor of a machine: a system register that
 * the port does not have faults, and a 64-bit store takes the way of a 32-bit one. A tap calls the port from
 * inside a store of the firmware, on the firmware's stack.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootrig.h"
#include "machine/context.h"
#include "machine/internal.h"
#include "rtkernel/fault.h"
#include "rtkernel/port.h"

#define OTHER_REGISTER RT_SYSREG(3u, 3u, 15u, 8u, 1u)

struct subject {
    struct ane_machine *machine;
    struct bootrig rig;
    struct soc_bus_tap tap;
    uint32_t offset; /* the next store of the controller to this register calls the function below, once */
    void (*call)(struct subject *subject);
    unsigned begun, returned;
    uint32_t pending; /* host doorbell bits that a call left */
    uint64_t fabric;  /* the fabric register after a call */
};

static char said[4096]; /* the last line about a fault of the firmware */

static void keep_fault(void *context, const char *line, size_t length)
{
    (void)context;
    if (strstr(line, " fw fault ") && length < sizeof(said))
        memcpy(said, line, length + 1);
}

static bool see(void *context, struct soc_access *access)
{
    struct subject *s = context;

    if (!s->call || !access->write || access->master != SOC_MASTER_CONTROLLER ||
        access->address != s->machine->board->container + s->offset)
        return true;

    void (*call)(struct subject *) = s->call;

    s->call = NULL;
    s->begun++;
    call(s);
    s->returned++;
    return true;
}

/* The controller is the rig's: the driver does not take its interrupts. */
static void ignore_line(void *context)
{
    (void)context;
}

static void subject_make(struct subject *s)
{
    struct ane_machine_config config = {
        .size = sizeof(config), .firmware = 1, .clock = ANE_CLOCK_CLOSED, .trace = 1, .trace_fn = keep_fault};

    *s = (struct subject){.tap = {.see = see, .context = s}};
    said[0] = '\0';
    assert_int_equal(ane_machine_create(&config, &s->machine), 0);
    soc_lines_wire(&s->machine->lines, MACH_LINE_HOST, ignore_line, NULL);
    bootrig_make(&s->rig, s->machine);
    soc_bus_tap_add(s->machine->bus, &s->tap);
}

static void call_at(struct subject *s, uint32_t offset, void (*call)(struct subject *))
{
    s->offset = offset;
    s->call = call;
}

static void read_other(struct subject *s)
{
    (void)rt_port_sysreg_read(s->machine->cpu, OTHER_REGISTER);
}

static void write_other(struct subject *s)
{
    rt_port_sysreg_write(s->machine->cpu, OTHER_REGISTER, 1);
}

/* The call began and did not return, the fault names the register, and the controller can be booted again. */
static void expect_fault(struct subject *s, const char *access, bool dumped)
{
    assert_int_equal(s->begun, 1);
    assert_int_equal(s->returned, 0);
    assert_int_equal(bootrig_dump(&s->rig), dumped);
    assert_false(mach_cpu_alive(s->machine->cpu));
    assert_int_equal(bootrig_read(&s->rig, PR_CTRL_CPU_STATUS), PR_CPU_STATUS_STOPPED);
    assert_non_null(strstr(said, access));
    assert_non_null(strstr(said, "system register S3_3_C15_C8_1"));
    s->begun = 0;
    said[0] = '\0';
    assert_true(bootrig_boot(&s->rig) && bootrig_answers(&s->rig));
    assert_int_equal(bootrig_read(&s->rig, PR_CTRL_CPU_STATUS), PR_CPU_STATUS_RUNNING);
    assert_int_equal(said[0], '\0');
}

static void an_unknown_system_register_faults(void **state)
{
    static const struct {
        void (*call)(struct subject *);
        const char *access;
    } cases[] = {{read_other, "read of"}, {write_other, "write to"}};
    struct subject s;

    (void)state;
    subject_make(&s);
    for (unsigned i = 0; i < 2; i++) {
        /* In the reset vector's code, before there is a kernel. */
        call_at(&s, PR_CTRL_SCRATCH(0), cases[i].call);
        assert_false(bootrig_boot(&s.rig));
        expect_fault(&s, cases[i].access, false);
        /* In the doorbell's handler. */
        call_at(&s, PR_CTRL_DOORBELL_ACK, cases[i].call);
        assert_false(bootrig_answers(&s.rig));
        expect_fault(&s, cases[i].access, true);
    }
    ane_machine_destroy(s.machine);
}

#define BITS 0x40000000u /* of no channel, and not that of a crash */

static void ring(struct subject *s, bool open, bool wide)
{
    struct rt_port *port = s->machine->cpu;
    uint64_t before = rt_port_sysreg_read(port, RT_SYSREG_S3_3_C15_C8_0);
    uint64_t doorbell = bootrig_register(&s->rig, PR_CTRL_HOST_DOORBELL);

    if (open)
        rt_port_sysreg_write(port, RT_SYSREG_S3_3_C15_C8_0, before & ~PR_FABRIC_WINDOW);
    if (wide)
        rt_port_write64(port, doorbell, BITS);
    else
        rt_port_write32(port, doorbell, BITS);
    s->pending = s->machine->controller.host_pending;
    s->fabric = rt_port_sysreg_read(port, RT_SYSREG_S3_3_C15_C8_0);
    rt_port_sysreg_write(port, RT_SYSREG_S3_3_C15_C8_0, before);
}

static void ring_closed(struct subject *s)
{
    ring(s, false, false);
}

static void ring_closed_wide(struct subject *s)
{
    ring(s, false, true);
}

static void ring_open(struct subject *s)
{
    ring(s, true, false);
}

static void ring_open_wide(struct subject *s)
{
    ring(s, true, true);
}

/* Bits of Table 29.5: 39 closes the window, 7 is set when the fabric rejects a store. */
static void both_widths_of_a_doorbell_pass_the_window(void **state)
{
    static const struct {
        void (*call)(struct subject *);
        bool passes;
    } cases[] = {{ring_closed, false}, {ring_closed_wide, false}, {ring_open, true}, {ring_open_wide, true}};
    struct subject s;

    (void)state;
    subject_make(&s);
    assert_true(bootrig_boot(&s.rig));
    for (unsigned i = 0; i < 4; i++) {
        s.returned = 0;
        call_at(&s, PR_CTRL_DOORBELL_ACK, cases[i].call);
        assert_true(bootrig_answers(&s.rig));
        assert_int_equal(s.returned, 1);
        assert_int_equal((s.pending & BITS) != 0, cases[i].passes);
        assert_int_equal((s.fabric & 1ull << 7) == 0, cases[i].passes);
        bootrig_write(&s.rig, PR_CTRL_HOST_ACK, BITS);
    }
    assert_int_equal(said[0], '\0');
    ane_machine_destroy(s.machine);
}

static void inject_inside(struct subject *s)
{
    mach_cpu_inject(s->machine, RT_FAULT_NMI, "in the handler");
}

/* A fault of each class, when the processor is woken and in the middle of the doorbell's handler. */
static void an_injected_exception_is_taken(void **state)
{
    static const char *const text[] = {"alpha", "beta", "gamma", "delta"};
    char expected[64];
    struct subject s;

    (void)state;
    subject_make(&s);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(bootrig_boot(&s.rig) && bootrig_answers(&s.rig));
        mach_cpu_inject(s.machine, i, text[i]);
        mach_cpu_inject(s.machine, RT_FAULT_SYNC, "the second is not taken");
        assert_true(mach_cpu_alive(s.machine->cpu));
        ane_machine_run(s.machine, 1000000);
        assert_true(bootrig_dump(&s.rig));
        assert_false(mach_cpu_alive(s.machine->cpu));
        snprintf(expected, sizeof(expected), " fw fault class=%u task=\"idle\" text=\"%s\"", i, text[i]);
        assert_non_null(strstr(said, expected));
        assert_int_equal(bootrig_read(&s.rig, PR_CTRL_CPU_STATUS), PR_CPU_STATUS_STOPPED);
        said[0] = '\0';
        /* a stopped processor takes none, and forgets those of its last life */
        mach_cpu_inject(s.machine, i, text[i]);
    }
    assert_true(bootrig_boot(&s.rig) && bootrig_answers(&s.rig));
    /* stopped before it was taken */
    mach_cpu_inject(s.machine, RT_FAULT_SYNC, "of the last life");
    bootrig_write(&s.rig, PR_CTRL_CPU_CONTROL, 0);
    assert_true(bootrig_boot(&s.rig) && bootrig_answers(&s.rig));
    assert_int_equal(said[0], '\0');
    call_at(&s, PR_CTRL_DOORBELL_ACK, inject_inside);
    assert_false(bootrig_answers(&s.rig));
    assert_int_equal(s.returned, 1);
    assert_true(bootrig_dump(&s.rig));
    assert_non_null(strstr(said, "text=\"in the handler\""));
    ane_machine_destroy(s.machine);
}

/* Listing 29.3: the firmware samples bit 1 after its next doorbell store. */
static void a_cache_error_is_fatal_at_the_next_doorbell(void **state)
{
    struct subject s;

    (void)state;
    subject_make(&s);
    assert_true(bootrig_boot(&s.rig) && bootrig_answers(&s.rig));
    soc_controller_error(&s.machine->controller, 0x1234, 5);
    ane_machine_run(s.machine, 1000000);
    assert_true(mach_cpu_alive(s.machine->cpu));
    (void)bootrig_answers(&s.rig);
    assert_true(bootrig_dump(&s.rig));
    assert_false(mach_cpu_alive(s.machine->cpu));
    assert_non_null(strstr(said, "Uncorrectable L2C error overflow"));
    said[0] = '\0';
    assert_true(bootrig_boot(&s.rig) && bootrig_answers(&s.rig));
    assert_int_equal(said[0], '\0');
    ane_machine_destroy(s.machine);
}

#define LEVELS 6u
struct walk {
    struct host_context thread, context;
    uint64_t expected[LEVELS + 1], found[2 * LEVELS];
    size_t levels, frames, few;
};

static __attribute__((noinline)) void descend(struct walk *w, unsigned left)
{
    void *volatile frame = __builtin_frame_address(0);

    w->expected[left] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    if (left) {
        descend(w, left - 1);
        (void)frame; /* after the call, so that it is not the last thing done */
        return;
    }
    w->few = host_context_frames(&w->context, frame, w->found, 2);
    w->frames = host_context_frames(&w->context, frame, w->found, 2 * LEVELS);
}

/* A frame without a frame pointer, where the compiler leaves them out. */
static void walk_entry(void *arg)
{
    struct walk *w = arg;

    w->expected[LEVELS] = (uint64_t)(uintptr_t)__builtin_return_address(0);
    descend(w, LEVELS - 1);
    host_context_switch(&w->context, &w->thread);
}

/* Every call on the stack, innermost first, and nothing below the context's entry. */
static void the_call_stack_ends_with_the_context(void **state)
{
    const size_t bytes = 256u << 10;
    void *stack = aligned_alloc(4096, bytes);
    struct walk w = {0};

    (void)state;
    assert_non_null(stack);
    memset(stack, 0x41, bytes);
    host_context_make(&w.context, stack, bytes, walk_entry, &w);
    host_context_switch(&w.thread, &w.context);
    assert_int_equal(w.few, 2);
    assert_int_equal(w.frames, LEVELS + 1);
    assert_memory_equal(w.found, w.expected, sizeof(w.expected));
    /* a frame that is not on the stack */
    assert_int_equal(host_context_frames(&w.context, &w, w.found, LEVELS), 0);
    host_context_drop(&w.context);
    free(stack);
}

enum { HELD = 24, SWITCHES = 50 };

struct holders {
    struct host_context thread, context;
    uint64_t sums[2];
    unsigned ended;
};

/* More values than there are registers, whole numbers and others, are in use across every switch. */
static uint64_t hold(struct host_context *self, struct host_context *other, uint64_t seed)
{
    uint64_t whole[HELD], sum = 0;
    double part[HELD];

    for (unsigned i = 0; i < HELD; i++) {
        whole[i] = seed + i;
        part[i] = (double)(seed * i);
    }
    for (unsigned i = 0; i < SWITCHES; i++) {
        host_context_switch(self, other);
#pragma GCC unroll 24
        for (unsigned k = 0; k < HELD; k++) {
            whole[k] += k;
            part[k] += 0.5;
        }
    }
    for (unsigned i = 0; i < HELD; i++)
        sum += whole[i] + (uint64_t)part[i];
    return sum;
}

static void hold_entry(void *arg)
{
    struct holders *h = arg;

    h->sums[1] = hold(&h->context, &h->thread, 1000);
    h->ended++;
    host_context_switch(&h->context, &h->thread);
}

static uint64_t held_sum(uint64_t seed)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < HELD; i++)
        sum += seed + i + SWITCHES * i + seed * i + SWITCHES / 2;
    return sum;
}

static void a_switch_keeps_what_its_caller_holds(void **state)
{
    const size_t bytes = 256u << 10;
    void *stack = aligned_alloc(4096, bytes);
    struct holders h = {0};

    (void)state;
    assert_non_null(stack);
    host_context_make(&h.context, stack, bytes, hold_entry, &h);
    h.sums[0] = hold(&h.thread, &h.context, 7);
    assert_int_equal(h.ended, 0);
    host_context_switch(&h.thread, &h.context);
    assert_int_equal(h.ended, 1);
    assert_int_equal(h.sums[0], held_sum(7));
    assert_int_equal(h.sums[1], held_sum(1000));
    host_context_drop(&h.context);
    free(stack);
}

/* Outside the firmware's stacks the port has no call stack. */
static void the_hosts_stack_is_not_the_firmwares(void **state)
{
    struct subject s;
    uint64_t frame[4];

    (void)state;
    subject_make(&s);
    assert_true(bootrig_boot(&s.rig));
    assert_int_equal(rt_port_call_stack(s.machine->cpu, frame, 4), 0);
    ane_machine_destroy(s.machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_system_register_faults),
        cmocka_unit_test(both_widths_of_a_doorbell_pass_the_window),
        cmocka_unit_test(an_injected_exception_is_taken),
        cmocka_unit_test(a_cache_error_is_fatal_at_the_next_doorbell),
        cmocka_unit_test(the_call_stack_ends_with_the_context),
        cmocka_unit_test(a_switch_keeps_what_its_caller_holds),
        cmocka_unit_test(the_hosts_stack_is_not_the_firmwares),
    };

    return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
