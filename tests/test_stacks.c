/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What else runs on the firmware's stacks: signal handlers of the process do, with the
 * room that docs/caveats.md states; trace functions do not; and what needs more than
 * there is hits a guard page and overwrites nothing.
 */
#include "support.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootrig.h"
#include "iorig.h"
#include "machine/internal.h"

#define HANDLER_BYTES \
    (112u << 10)              /* of the 128 KiB that a handler may use, with the kernel's frame below it */
#define DEEP_BYTES (1u << 20) /* more than any stack has */

static struct ane_machine *make(ane_trace_fn function, void *context)
{
    return iorig_machine((struct ane_machine_config){
        .trace = function != NULL, .trace_fn = function, .trace_context = context});
}

/* A request of a client goes through every task. */
static void use(struct ane_machine *machine)
{
    struct iorig_accumulator a;

    iorig_accumulator_make(&a, ane_machine_service(machine), 2, 33);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(iorig_accumulator_step(&a), kIOReturnSuccess);
        assert_true(iorig_accumulator_value(&a) == i);
    }
    iorig_accumulator_release(&a);
}

/* Fills a buffer of that size, so that all of it has to be there. */
static __attribute__((noinline)) unsigned fill(size_t bytes)
{
    volatile uint8_t *buffer = __builtin_alloca(bytes);
    unsigned sum = 0;

    for (size_t i = 0; i < bytes; i++)
        buffer[i] = (uint8_t)i;
    for (size_t i = 0; i < bytes; i += 256)
        sum += buffer[i];
    return sum;
}

struct listener {
    size_t bytes;
    uintptr_t low, high; /* frames of the function */
    unsigned lines, from_firmware;
};

static void listen(void *context, const char *line, size_t length)
{
    struct listener *listener = context;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

    assert_int_equal(strlen(line), length);
    listener->low = listener->low < frame ? listener->low : frame;
    listener->high = listener->high > frame ? listener->high : frame;
    listener->lines++;
    listener->from_firmware += strstr(line, " fw ") != NULL;
    (void)fill(listener->bytes);
}

static void a_trace_function_has_the_callers_stack(void **state)
{
    static const size_t sizes[] = {1000, 64u << 10, 300000};
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    (void)state;
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct listener listener = {.bytes = sizes[i], .low = UINTPTR_MAX};
        struct ane_machine *machine = make(listen, &listener);

        use(machine);
        assert_true(listener.from_firmware > 10);
        assert_int_equal(ane_machine_counter(machine, "trace.lines"), listener.lines);
        /* The stack grows down from here, and no other memory is so near. */
        assert_true(listener.high < here && here - listener.low < (256u << 10));
        ane_machine_destroy(machine);
    }
}

/* A hook that runs on the firmware's stack, inside a store of the firmware to the mailbox. */
static void (*hooked)(void);
static unsigned stores, wanted_store; /* 0: every store */

static bool hook(void *context, struct soc_access *access)
{
    const struct ane_machine *machine = context;
    uint64_t offset = access->address - machine->board->container;
    bool mailbox = offset >= PR_CTRL_SCRATCH0 && offset <= PR_CTRL_DOORBELL_ACK;

    if (access->master == SOC_MASTER_CONTROLLER && access->write && mailbox &&
        (!wanted_store || ++stores == wanted_store))
        hooked();
    return true;
}

static void hook_stores(struct ane_machine *machine, void (*function)(void), unsigned store)
{
    static struct soc_bus_tap tap;

    tap = (struct soc_bus_tap){.see = hook, .context = machine};
    soc_bus_tap_add(machine->bus, &tap);
    hooked = function;
    wanted_store = store;
    stores = 0;
}

static unsigned handled;

static void handle(int number)
{
    (void)number;
    (void)fill(HANDLER_BYTES);
    handled++;
}

static void signal_now(void)
{
    (void)raise(SIGUSR1);
}

static void a_signal_handler_has_room(void **state)
{
    struct sigaction action = {.sa_handler = handle}, before;
    struct ane_machine *machine = make(NULL, NULL);
    struct bootrig rig;
    unsigned in_requests;

    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    hook_stores(machine, signal_now, 0);
    use(machine);
    in_requests = handled;
    assert_true(in_requests > 3);
    /* The reset vector's stack, too. */
    bootrig_make(&rig, machine);
    assert_true(bootrig_boot(&rig));
    assert_true(bootrig_answers(&rig));
    assert_true(handled > in_requests + 3);
    ane_machine_destroy(machine);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

enum { HIT_GUARD = 7, NOT_REACHED, NO_GUARD, ELSEWHERE };

static uintptr_t deep_from;
static char handler_stack[64 << 10];

/* On a stack of its own. Within the size of a stack below the hook is the guard. */
static void handle_fault(int number, siginfo_t *info, void *context)
{
    uintptr_t fault = (uintptr_t)info->si_addr;

    (void)number;
    (void)context;
    _exit(fault < deep_from && deep_from - fault < DEEP_BYTES / 2 ? HIT_GUARD : ELSEWHERE);
}

static __attribute__((noinline)) unsigned descend(unsigned levels)
{
    volatile uint8_t frame[1024];

    memset((uint8_t *)frame, (int)levels, sizeof(frame));
    return frame[levels % 1024] + (levels ? descend(levels - 1) : 0u);
}

static void overflow(void)
{
    deep_from = (uintptr_t)__builtin_frame_address(0);
    (void)descend(DEEP_BYTES / 1024);
    _exit(NO_GUARD);
}

/* In the child: the nth store that the firmware makes to the mailbox needs too much stack. */
static int overflow_at(unsigned store)
{
    stack_t own = {.ss_sp = handler_stack, .ss_size = sizeof(handler_stack)};
    struct sigaction action = {.sa_sigaction = handle_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct ane_machine *machine = make(NULL, NULL);
    struct bootrig rig;

    sigaltstack(&own, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    bootrig_make(&rig, machine);
    hook_stores(machine, overflow, store);
    if (bootrig_boot(&rig))
        (void)bootrig_answers(&rig);
    return NOT_REACHED;
}

/* The first stores are the reset vector's, later ones those of tasks and of interrupts on their stacks. */
static void every_stack_has_a_guard(void **state)
{
    unsigned reached = 0;

    (void)state;
    for (unsigned store = 1; store <= 40; store++) {
        pid_t child = fork();
        int status;

        assert_true(child >= 0);
        if (!child)
            _exit(overflow_at(store));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != HIT_GUARD && WEXITSTATUS(status) != NOT_REACHED))
            fail_msg("store %u: the child ended with status 0x%x", store, status);
        reached += WEXITSTATUS(status) == HIT_GUARD;
    }
    assert_true(reached > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_function_has_the_callers_stack),
        cmocka_unit_test(a_signal_handler_has_room),
        cmocka_unit_test(every_stack_has_a_guard),
    };

    return cmocka_run_group_tests_name("stacks", tests, NULL, NULL);
}
