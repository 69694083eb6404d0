/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare machine, for people who write drivers: one M1 board with DRAM, DARTs, power-state registers and the neural
 * engine. What goes in and out is what goes in and out of the device: 32-bit accesses to registers at physical addresses, and bytes
 * in DRAM. docs/machine.md lists every base and register.
 *
 * Every function is safe to call from any thread; calls on one machine are admitted one at a time. Machines do not share
 * anything. A machine must not be used in a forked child: such calls fail (or read 0) and change nothing.
 *
 * With firmware, a signal handler of the process may run on a stack of the firmware and has 128 KiB there; one that needs more needs SA_ONSTACK.
 */
#ifndef ANEMONE_MACHINE_H
#define ANEMONE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ANE_API
#define ANE_API __attribute__((visibility("default")))
#endif

struct ane_machine;

/* Boards. docs/machine.md has their tables. */
enum ane_chip {
    ANE_CHIP_T6000 = 0, /* M1 Pro and Max: the machine of the seeds; the default */
    ANE_CHIP_T8103 = 1, /* M1 */
};

/* Numeric policies. docs/architecture.md has the table of rules. */
enum ane_numerics {
    ANE_NUMERICS_M1 = 0,       /* fp32 chains with the engine's documented edges; the default */
    ANE_NUMERICS_IEEE = 1,     /* the same chains with IEEE edges */
    ANE_NUMERICS_M1_EXACT = 2, /* the engine's own accumulator, as published figures show it; slow */
};

/* The policy of that name (m1, ieee, m1-exact), or -1. */
ANE_API int ane_numerics_named(const char *name);
#define ANE_NUMERICS_NAMES "m1, ieee and m1-exact"

/* Forms of a page-table entry. docs/dart.md. */
enum ane_page_table {
    ANE_PAGE_TABLE_SEED = 0, /* bit 63 valid, frame unshifted; the default */
    ANE_PAGE_TABLE_T8020 = 1,
    ANE_PAGE_TABLE_T6000 = 2,
};

/*
 * How time and callers go together. The machine's own waits (timers of engine, firmware and driver, modelled costs) are always
 * in virtual time, and the clock moves over them. A caller's deadline is different: the timeout of a request, or of waiting for
 * a place in a table.
 *   open    It is wall time. Other threads may act meanwhile, and virtual time never jumps over them. The default.
 *   closed  It is virtual time too: with nothing left to do the clock jumps to it. For tests and replay, where the calls under
 *           way are all there is.
 */
enum ane_clock {
    ANE_CLOCK_OPEN = 0,
    ANE_CLOCK_CLOSED = 1,
};

/* Worker threads of one machine, at most. */
#define ANE_THREADS_MAX 64u

/*
 * One line of trace, ending in a newline. Called while the machine is busy: it must return, and must not call the machine. It runs on the stack of
 * the thread whose call drives the machine, never on a stack of the firmware, and may use all that is left there.
 */
typedef void (*ane_trace_fn)(void *context, const char *line, size_t length);

/*
 * The same event in the binary form of docs/trace.md: one record. The first call, made while the machine is
 * created, passes the file header instead, so that the bytes of all calls, one after the other, are a trace
 * file. Called after ane_trace_fn, under the same conditions. The bytes are valid until it returns.
 */
typedef void (*ane_trace_record_fn)(void *context, const void *record, size_t length);

/*
 * Set `size` to sizeof(struct ane_machine_config) and everything else to 0 for the defaults. A field this library does not
 * know yet (a larger `size` with bytes set) is refused.
 */
struct ane_machine_config {
    size_t size;
    uint32_t chip;       /* enum ane_chip */
    uint32_t numerics;   /* enum ane_numerics */
    uint64_t dram_bytes; /* 0 = 4 GiB; sparse, untouched pages cost nothing */
    uint32_t engines;    /* 0 or 1: the M1 has one */
    uint32_t page_table; /* enum ane_page_table */
    uint32_t
        firmware; /* 1: the machine has its controller and driver, booted; see iokit.h. 0: bare, the caller drives the engine */
    uint32_t strict_tlb; /* 1: walk the page table at every use and report missing invalidates */
    uint32_t threads;    /* worker threads, 1 to ANE_THREADS_MAX; 0 = 1. Results do not depend on it */
    uint32_t vma_budget; /* host mappings the DART's windows may use; 0 = 24,000 */
    uint64_t
        max_work; /* largest descriptor: multiply-accumulates, or elements; 0 = 2^40 (2^33 elements, 2^31 narrow ones) */
    uint32_t reference; /* 1: compute with the plain reference kernels */
    uint32_t trace;     /* 1: trace; lines go to trace_fn when it is set, and always into the hash */
    ane_trace_fn trace_fn;
    void *trace_context;
    uint32_t clock;                      /* enum ane_clock */
    ane_trace_record_fn trace_record_fn; /* gets trace_context; needs trace = 1 */
};

/*
 * 0 and a machine after reset, powered on; or a negative errno (-EINVAL for a bad configuration, -ENOMEM) and
 * ane_machine_error() says why. config NULL means the defaults.
 */
ANE_API int ane_machine_create(const struct ane_machine_config *config, struct ane_machine **machine);
/*
 * Connections that are open on the machine are closed first: their calls under way return kIOReturnAborted or kIOReturnExclusiveAccess, later ones
 * kIOReturnExclusiveAccess. Surfaces outlive it. Waits until every call through a connection has returned; the caller sees to it that no call of this header is
 * under way. Pointers from ane_machine_dram end with it. NULL is allowed. In a forked child, and from the trace function, it does nothing.
 */
ANE_API void ane_machine_destroy(struct ane_machine *machine);

/* The last error of the calling thread, one sentence; "" when there was none. Valid until the thread's next call. */
ANE_API const char *ane_machine_error(void);

/* A register access at a physical address (a multiple of 4). An address nobody answers reads 0. */
ANE_API uint32_t ane_machine_read32(struct ane_machine *machine, uint64_t address);
ANE_API void ane_machine_write32(struct ane_machine *machine, uint64_t address, uint32_t value);

/* Whole 16 KiB pages of DRAM in one physical run, zeroed. -ENOMEM when there is no such run, -EINVAL for 0 bytes. */
ANE_API int ane_machine_dram_alloc(struct ane_machine *machine, uint64_t bytes, uint64_t *address);
/* Gives such a run back. -EINVAL when none starts there, or when it is the driver's or the firmware's. */
ANE_API int ane_machine_dram_free(struct ane_machine *machine, uint64_t address);
/*
 * Host address of [address, address + bytes) of DRAM, stable until the machine is destroyed; NULL when any of it is outside. DRAM that was
 * never allocated may be used too: it is memory. With firmware, the first run of DRAM (8 MiB) is the firmware's: it shows the firmware's memory
 * while the controller sleeps, and a change of what is in use there is a fault of the controller when it runs next. Once an address in that run
 * was asked for, every request takes about 0.3 ms longer.
 */
ANE_API void *ane_machine_dram(struct ane_machine *machine, uint64_t address, uint64_t bytes);

/*
 * Lets virtual time pass until the machine is idle or max_virtual_ns have passed. 0 when idle, 1 when the time ran out first,
 * negative errno otherwise.
 */
ANE_API int ane_machine_run(struct ane_machine *machine, uint64_t max_virtual_ns);
/*
 * Calls fn(context) at virtual time `when` (ane_machine_now or later), on a thread of its own that may call the machine and its driver as any other. Virtual time stands
 * still while fn runs, and passes while it waits inside a call; so calls announced this way happen in one order, always the same. Two at the same time come in
 * the order they were announced. It needs a thread that lets time pass: ane_machine_run, or any call that waits. What has not begun when the machine is
 * destroyed never does. 0; -EINVAL when `when` has passed or fn is NULL; -ENOSPC, -ENOMEM, -EAGAIN.
 */
ANE_API int ane_machine_call_at(struct ane_machine *machine, uint64_t when, void (*fn)(void *context),
                                void *context);
/* Virtual nanoseconds since reset. */
ANE_API uint64_t ane_machine_now(struct ane_machine *machine);
/* 1 while the engine's interrupt line is high. */
ANE_API int ane_machine_interrupt(struct ane_machine *machine);

/* Hash over every trace line so far: a function of configuration and accesses alone. */
ANE_API uint64_t ane_machine_trace_hash(struct ane_machine *machine);

/* Counters; unknown names give 0. docs/machine.md lists them: "dart.faults", "dart.missing_invalidates", ... */
ANE_API uint64_t ane_machine_counter(struct ane_machine *machine, const char *name);

/*
 * Wall time of requests by stage, for a machine with firmware and one request at a time. Switching it on or off clears the sums. The stages, in order: driver submit (call to
 * doorbell), firmware take (doorbell to push), engine (push to its interrupt), firmware complete (interrupt to host doorbell), driver complete (host doorbell to return).
 */
#define ANE_STAGES 5
struct ane_machine_profile {
    uint64_t requests;
    uint64_t wall_ns[ANE_STAGES];    /* sums */
    uint64_t virtual_ns[ANE_STAGES]; /* what the model says it took */
};
ANE_API const char *ane_machine_stage_name(unsigned stage);
ANE_API int ane_machine_profile(struct ane_machine *machine, int on, struct ane_machine_profile *sums);

/* Where the blocks of this machine stand. */
struct ane_machine_map {
    size_t size; /* set by the caller to sizeof(struct ane_machine_map) */
    const char *board;
    uint64_t container, container_bytes;
    uint64_t task_manager, task_queues;
    uint64_t dart[3];
    uint64_t dapf;
    uint64_t pmu;
    uint64_t dram, dram_bytes;
    uint32_t interrupt;
};
ANE_API int ane_machine_map(struct ane_machine *machine, struct ane_machine_map *map);

#ifdef __cplusplus
}
#endif

#endif
