/* SPDX-License-Identifier: Apache-2.0 */
/* What ends the real-time kernel, and what it says then. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "rtkernel/heap.h"
#include "rtkernel/mutex.h"
#include "rtkernel/queue.h"
#include "rtkernel/semaphore.h"
#include "rtkernel/signal.h"
#include "rtkernel/task.h"
#include "rtport.h"

#define CARVE_OUT (1u << 20)
#define STACK     4096u
#define LINE      7u

struct rig {
    struct rt_port *port;
    struct rt_kernel *kernel;
    struct rt_semaphore *semaphore;
    struct rt_queue *queue;
    struct rt_signal *signal;
    struct rt_mutex *mutex;
    void (*body)(struct rig *rig);    /* what the task does */
    void (*handler)(struct rig *rig); /* what the handler of LINE does */
    void (*at_boot)(struct rig *rig); /* what boot code does */
    char hook[RT_TEXT_BYTES];
    bool after;
};

static void task(void *arg)
{
    struct rig *rig = arg;

    if (rig->body)
        rig->body(rig);
    if (rig->handler)
        rt_port_write32(rig->port, RTPORT_DOORBELL, LINE);
    rig->after = true;
    rt_task_sleep(rig->kernel, 1);
}

static void handler(void *arg, unsigned line)
{
    struct rig *rig = arg;

    if (line == LINE)
        rig->handler(rig);
}

static void setup(struct rt_kernel *kernel, void *arg)
{
    struct rig *rig = arg;
    struct rt_task *made;

    rig->kernel = kernel;
    rt_semaphore_create(kernel, &rig->semaphore, 1, 9);
    rt_queue_create(kernel, &rig->queue, 8, 4);
    rt_signal_create(kernel, &rig->signal);
    rt_mutex_create(kernel, &rig->mutex);
    rt_irq_attach(kernel, LINE, handler, rig);
    rt_task_create(kernel, &made, "victim", 3, STACK, task, rig);
    if (rig->at_boot)
        rig->at_boot(rig);
}

/* Runs until the fault, which must say that and happen there; nothing may run after it. */
static void expect(struct rig *rig, const char *text, const char *task_name, bool in_interrupt)
{
    const struct rt_fault *fault;

    rig->port = rtport_create(CARVE_OUT, 4096);
    assert_int_equal(rtport_start(rig->port, setup, rig, RT_FOREVER), RTPORT_FAULTED);
    fault = rtport_fault(rig->port);
    assert_string_equal(fault->text, text);
    assert_string_equal(fault->task, task_name);
    assert_int_equal(fault->in_interrupt, in_interrupt);
    assert_false(rig->after);
}

static void take_a_free_one(struct rig *rig)
{
    rt_semaphore_take(rig->semaphore, RT_FOREVER);
}

static void receive_forever(struct rig *rig)
{
    uint8_t message[8];

    rt_queue_receive(rig->queue, message, sizeof(message), 5);
}

static void send_forever(struct rig *rig)
{
    rt_queue_send(rig->queue, "x", 1, RT_FOREVER);
}

static void wait_signal(struct rig *rig)
{
    rt_signal_wait(rig->signal, 1, NULL, RT_FOREVER);
}

static void try_mutex(struct rig *rig)
{
    rt_mutex_lock(rig->mutex, RT_NO_WAIT);
}

static void sleep_a_little(struct rig *rig)
{
    rt_task_sleep(rig->kernel, 1);
}

static void allocate(struct rig *rig)
{
    rt_heap_alloc(rig->kernel, RT_ARENA_SYSTEM, 16);
}

/* Blocking calls are refused where they may not be made, also when they would not have had to wait. */
static void blocking_in_interrupt_context_is_a_fault(void **state)
{
    static const struct {
        void (*handler)(struct rig *rig);
        const char *text;
    } cases[] = {
        {take_a_free_one, "rt_semaphore_take called in interrupt context"},
        {receive_forever, "rt_queue_receive called in interrupt context"},
        {send_forever, "rt_queue_send called in interrupt context"},
        {wait_signal, "rt_signal_wait called in interrupt context"},
        {try_mutex, "rt_mutex_lock called in interrupt context"},
        {sleep_a_little, "rt_task_sleep called in interrupt context"},
        {allocate, "rt_heap_alloc called in interrupt context"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig = {.handler = cases[i].handler};

        expect(&rig, cases[i].text, "victim", true);
        assert_int_equal(rtport_fault(rig.port)->line, LINE);
        rtport_destroy(rig.port);
    }
}

static void try_everything(struct rig *rig)
{
    uint8_t message[8];

    rt_semaphore_take(rig->semaphore, RT_NO_WAIT);
    rt_semaphore_give(rig->semaphore);
    rt_queue_try_send(rig->queue, "x", 1);
    rt_queue_receive(rig->queue, message, sizeof(message), RT_NO_WAIT);
    rt_signal_raise(rig->signal, 2);
    rt_signal_wait(rig->signal, 2, NULL, RT_NO_WAIT);
}

static void trying_in_interrupt_context_is_allowed(void **state)
{
    struct rig rig = {.handler = try_everything};

    (void)state;
    rig.port = rtport_create(CARVE_OUT, 4096);
    assert_int_equal(rtport_start(rig.port, setup, &rig, RT_FOREVER), RTPORT_IDLE);
    assert_true(rig.after);
    rtport_destroy(rig.port);
}

static void block_while_masked(struct rig *rig)
{
    const uint32_t previous = rt_irq_mask(rig->kernel);

    rt_semaphore_take(rig->semaphore, 10);
    rt_irq_restore(rig->kernel, previous);
}

static void blocking_in_a_critical_section_is_a_fault(void **state)
{
    struct rig rig = {.body = block_while_masked};

    (void)state;
    expect(&rig, "rt_semaphore_take called in a critical section", "victim", false);
    rtport_destroy(rig.port);
}

static void blocking_before_the_start_is_a_fault(void **state)
{
    struct rig rig = {.at_boot = take_a_free_one};

    (void)state;
    expect(&rig, "rt_semaphore_take called before the kernel is started", "", false);
    rtport_destroy(rig.port);
}

/* Uses the stack up in small frames until it is below its end, as a real overflow does. */
static __attribute__((noinline)) unsigned dive(uintptr_t end)
{
    volatile uint8_t here[64];

    for (unsigned i = 0; i < sizeof(here); i++)
        here[i] = (uint8_t)i;
    if ((uintptr_t)__builtin_frame_address(0) > end)
        return dive(end) + here[1]; /* not a tail call */
    return here[2];
}

static void overflow(struct rig *rig)
{
    rig->after = dive((uintptr_t)rtport_last_stack(rig->port)) == 0;
    rt_task_sleep(rig->kernel, 1);
    rig->after = true;
}

static void leave_room(struct rig *rig)
{
    struct rt_task *made;

    /* what lies below the stack that overflows belongs to nobody: a block of its own, then the task */
    (void)rt_heap_alloc(rig->kernel, RT_ARENA_SYSTEM, 65536);
    rt_task_create(rig->kernel, &made, "deep", 2, 2048, task, rig);
}

static void a_stack_overflow_is_caught_at_the_next_switch(void **state)
{
    struct rig rig = {.body = overflow, .at_boot = leave_room};
    char expected[RT_TEXT_BYTES];

    (void)state;
    rig.port = rtport_create(CARVE_OUT, 4096);
    assert_int_equal(rtport_start(rig.port, setup, &rig, RT_FOREVER), RTPORT_FAULTED);
    snprintf(expected, sizeof(expected), "stack of deep overflowed: %zu bytes are not enough",
             2048 + rtport_boot_arguments(rig.port)->stack_extra);
    assert_string_equal(rtport_fault(rig.port)->text, expected);
    assert_int_equal(rtport_fault(rig.port)->fault_class, RT_FAULT_ASSERT);
    assert_false(rig.after);
    rtport_destroy(rig.port);
}

static void free_inside(struct rig *rig)
{
    uint8_t *block = rt_heap_alloc(rig->kernel, RT_ARENA_SYSTEM, 64);

    rt_heap_free(rig->kernel, block + 16);
}

static void free_twice(struct rig *rig)
{
    void *block = rt_heap_alloc(rig->kernel, RT_ARENA_FRAMEWORK, 64);

    rt_heap_free(rig->kernel, block);
    rt_heap_free(rig->kernel, block);
}

static void free_overrun(struct rig *rig)
{
    uint8_t *block = rt_heap_alloc(rig->kernel, RT_ARENA_SYSTEM, 64);

    memset(block, 0xff, 64 + 16); /* and the header above */
    rt_heap_free(rig->kernel, block);
}

static void free_elsewhere(struct rig *rig)
{
    uint64_t word[8] = {0};

    rt_heap_free(rig->kernel, &word[4]);
}

static void free_underrun(struct rig *rig)
{
    uint8_t *block = rt_heap_alloc(rig->kernel, RT_ARENA_SYSTEM, 64);

    block[-1] ^= 1;
    rt_heap_free(rig->kernel, block);
}

static void free_overrun_by_one(struct rig *rig)
{
    uint8_t *block = rt_heap_alloc(rig->kernel, RT_ARENA_SYSTEM, 61);

    block[61] = 0;
    rt_heap_free(rig->kernel, block);
}

static void free_twice_joined(struct rig *rig)
{
    void *lower = rt_heap_alloc(rig->kernel, RT_ARENA_SYSTEM, 64);
    void *upper = rt_heap_alloc(rig->kernel, RT_ARENA_SYSTEM, 64);

    rt_heap_free(rig->kernel, lower);
    rt_heap_free(rig->kernel, upper); /* its header is now inside the joined block */
    rt_heap_free(rig->kernel, upper);
}

static void check_overrun(struct rig *rig)
{
    uint8_t *block = rt_heap_alloc(rig->kernel, RT_ARENA_FRAMEWORK, 10);

    rt_heap_check(rig->kernel);
    block[10] ^= 0x80;
    rt_heap_check(rig->kernel);
}

static void check_use_after_free(struct rig *rig)
{
    uint8_t *below = rt_heap_alloc(rig->kernel, RT_ARENA_FRAMEWORK, 8);
    uint8_t *block = rt_heap_alloc(rig->kernel, RT_ARENA_FRAMEWORK, 8);

    memset(below, 1, 8);
    rt_heap_free(rig->kernel, block);
    rt_heap_check(rig->kernel);
    block[-8] ^= 1;
    rt_heap_check(rig->kernel);
}

static void a_bad_block_is_a_fault(void **state)
{
    static const struct {
        void (*body)(struct rig *rig);
        const char *text;
    } cases[] = {
        {free_inside, "rt_heap_free: the block is not an allocation"},
        {free_elsewhere, "rt_heap_free: the block is not an allocation"},
        {free_twice, "rt_heap_free: the block was freed before"},
        {free_twice_joined, "rt_heap_free: the block was freed before"},
        {free_overrun, "rt_heap_free: the block was overrun"},
        {free_overrun_by_one, "rt_heap_free: the block was overrun"},
        {free_underrun, "rt_heap_free: the block was written below its start"},
        {check_overrun, "rt_heap_check: block 0 of the framework arena was overrun"},
        {check_use_after_free, "rt_heap_check: block 1 of the framework arena was written below its start"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig = {.body = cases[i].body};

        expect(&rig, cases[i].text, "victim", false);
        rtport_destroy(rig.port);
    }
}

static void exit_with_mutex(struct rig *rig)
{
    rt_mutex_lock(rig->mutex, RT_FOREVER);
    rt_task_exit(rig->kernel);
}

static void exiting_with_a_mutex_is_a_fault(void **state)
{
    struct rig rig = {.body = exit_with_mutex};

    (void)state;
    expect(&rig, "victim exits with a mutex", "victim", false);
    rtport_destroy(rig.port);
}

static void delete_twice(struct rig *rig)
{
    rt_semaphore_delete(rig->semaphore);
    rt_semaphore_delete(rig->semaphore);
}

static void deleting_twice_is_a_fault(void **state)
{
    struct rig rig = {.body = delete_twice};

    (void)state;
    expect(&rig, "rt_semaphore_delete: the semaphore was deleted", "victim", false);
    rtport_destroy(rig.port);
}

static void interrupt_again(struct rig *rig)
{
    rt_kernel_interrupt(rig->kernel, 2);
}

static void a_port_that_nests_interrupts_is_caught(void **state)
{
    struct rig rig = {.handler = interrupt_again};

    (void)state;
    expect(&rig, "interrupt 2: delivered while masked", "victim", true);
    rtport_destroy(rig.port);
}

static void assert_something(struct rig *rig)
{
    rt_assert(rig->kernel, 1 + 1 == 2, "arithmetic");
    rt_assert(rig->kernel, rt_heap_alloc(rig->kernel, RT_ARENA_SYSTEM, 1u << 30), "ring buffer version");
}

static void hook(void *arg, const struct rt_fault *fault)
{
    struct rig *rig = arg;

    memcpy(rig->hook, fault->text, sizeof(rig->hook));
}

static void hook_up(struct rig *rig)
{
    rt_fault_hook(rig->kernel, hook, rig);
}

static void a_failed_assertion_reaches_log_hook_and_port(void **state)
{
    struct rig rig = {.body = assert_something, .at_boot = hook_up};

    (void)state;
    expect(&rig, "ring buffer version", "victim", false);
    assert_int_equal(rtport_fault(rig.port)->fault_class, RT_FAULT_ASSERT);
    assert_false(rtport_fault(rig.port)->has_registers);
    assert_string_equal(rig.hook, "ring buffer version");
    assert_string_equal(rtport_log(rig.port), "error victim: assertion: ring buffer version\n");
    assert_string_equal(rt_log_recent(rig.kernel, 0)->text, "error victim: assertion: ring buffer version");
    rtport_destroy(rig.port);
}

static void failing_hook(void *arg, const struct rt_fault *fault)
{
    struct rig *rig = arg;

    (void)fault;
    rt_assert(rig->kernel, false, "the dump failed too");
}

static void hook_up_failing(struct rig *rig)
{
    rt_fault_hook(rig->kernel, failing_hook, rig);
}

static void the_first_fault_is_the_one_reported(void **state)
{
    struct rig rig = {.body = assert_something, .at_boot = hook_up_failing};

    (void)state;
    expect(&rig, "ring buffer version", "victim", false);
    rtport_destroy(rig.port);
}

static void fail_in_handler(struct rig *rig)
{
    rt_assert(rig->kernel, false, "in a handler");
}

static void fail_at_boot(struct rig *rig)
{
    rt_assert(rig->kernel, false, "at boot");
}

/* The processor is the port's, the thread is the task's slot, or the last one. */
static void a_fault_says_where_it_ran(void **state)
{
    struct rig rig[] = {{.body = assert_something}, {.handler = fail_in_handler}, {.at_boot = fail_at_boot}};
    static const char *const texts[] = {"ring buffer version", "in a handler", "at boot"};
    static const unsigned threads[] = {2, RT_THREADS - 1, RT_THREADS - 1}; /* behind idle and terminator */
    const struct rt_fault *fault;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        expect(&rig[i], texts[i], i < 2 ? "victim" : "", i == 1);
        fault = rtport_fault(rig[i].port);
        assert_int_equal(fault->processor, 3);
        assert_int_equal(fault->thread, threads[i]);
        assert_int_equal(fault->frames, 3);
        assert_int_equal(fault->frame[0], 0x1000);
        assert_int_equal(fault->frame[2], 0x3000);
        rtport_destroy(rig[i].port);
    }
}

static void take_exception(struct rig *rig)
{
    struct rt_registers registers = {.pc = 0x4c890, .esr = 0x96000045, .far = 0xdead0000};

    registers.x[30] = 0x4c800;
    rt_port_write32(rig->port, 0, 1);
    rtport_spend(rig->port, 1234);
    rt_kernel_exception(rig->kernel, RT_FAULT_SYNC, &registers, "data abort");
}

static void an_exception_carries_its_registers(void **state)
{
    struct rig rig = {.body = take_exception};
    const struct rt_fault *fault;

    (void)state;
    expect(&rig, "data abort", "victim", false);
    fault = rtport_fault(rig.port);
    assert_int_equal(fault->fault_class, RT_FAULT_SYNC);
    assert_true(fault->has_registers);
    assert_int_equal(fault->registers.pc, 0x4c890);
    assert_int_equal(fault->registers.x[30], 0x4c800);
    assert_int_equal(fault->registers.far, 0xdead0000);
    assert_int_equal(fault->time, 1234);
    assert_string_equal(rtport_log(rig.port), "error victim: synchronous abort: data abort\n");
    rtport_destroy(rig.port);
}

static void halt(struct rig *rig)
{
    rt_port_halt(rig->port);
}

static void halting_is_not_a_fault(void **state)
{
    struct rig rig = {.body = halt};

    (void)state;
    rig.port = rtport_create(CARVE_OUT, 4096);
    assert_int_equal(rtport_start(rig.port, setup, &rig, RT_FOREVER), RTPORT_HALTED);
    rtport_destroy(rig.port);
}

static void classes_have_names(void **state)
{
    (void)state;
    assert_string_equal(rt_fault_class_name(RT_FAULT_NMI), "non-maskable interrupt");
    assert_string_equal(rt_fault_class_name(RT_FAULT_IRQ), "interrupt");
    assert_string_equal(rt_fault_class_name(RT_FAULT_FIQ), "fast interrupt");
    assert_string_equal(rt_fault_class_name(RT_FAULT_SYNC), "synchronous abort");
    assert_string_equal(rt_fault_class_name(RT_FAULT_ASSERT), "assertion");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocking_in_interrupt_context_is_a_fault),
        cmocka_unit_test(trying_in_interrupt_context_is_allowed),
        cmocka_unit_test(blocking_in_a_critical_section_is_a_fault),
        cmocka_unit_test(blocking_before_the_start_is_a_fault),
        cmocka_unit_test(a_stack_overflow_is_caught_at_the_next_switch),
        cmocka_unit_test(a_bad_block_is_a_fault),
        cmocka_unit_test(exiting_with_a_mutex_is_a_fault),
        cmocka_unit_test(deleting_twice_is_a_fault),
        cmocka_unit_test(a_port_that_nests_interrupts_is_caught),
        cmocka_unit_test(a_failed_assertion_reaches_log_hook_and_port),
        cmocka_unit_test(the_first_fault_is_the_one_reported),
        cmocka_unit_test(a_fault_says_where_it_ran),
        cmocka_unit_test(an_exception_carries_its_registers),
        cmocka_unit_test(halting_is_not_a_fault),
        cmocka_unit_test(classes_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
