/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare machine, for those who write drivers: one M1 board with DRAM, DARTs, power-state registers and the
 * neural engine. What goes in and out is what goes in and out of the device: 32-bit accesses to registers at
 * physical addresses, and bytes in DRAM. docs/machine.md lists every base and register.
 *
 * The following holds for every call below, and is not repeated there.
 *
 * Threads. Every function may be called from any thread; calls on one machine are admitted one at a time, so
 * each may wait for another to leave. Machines do not share anything.
 *
 * Errors. A call that can fail returns 0 or a negative errno, and ane_machine_error() has a sentence. -EPERM,
 * or 0 or NULL from a call that returns a value (all ones from ane_machine_read32): the machine is NULL, was
 * made before a fork, or the caller is its trace function, or the machine has stopped (panic_on_fault);
 * nothing changes.
 *
 * Signals. With firmware, a signal handler of the process may run on a stack of the firmware and has 128 KiB
 * there; one that needs more needs SA_ONSTACK.
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
    ANE_CHIP_T6000 = 0, /* M1 Pro and Max; the default */
    ANE_CHIP_T8103 = 1, /* M1 */
};

/* Numeric policies. docs/numbers.md has the table of rules. */
enum ane_numerics {
    ANE_NUMERICS_M1 = 0,       /* fp32 chains with the engine's documented edges; the default */
    ANE_NUMERICS_IEEE = 1,     /* the same chains with IEEE edges */
    ANE_NUMERICS_M1_EXACT = 2, /* the engine's own accumulator, as published figures show it; slow */
};

/* The policy of that name, one of ANE_NUMERICS_NAMES; -1 for any other, and for NULL. Does not block. */
ANE_API int ane_numerics_named(const char *name);
#define ANE_NUMERICS_NAMES "m1, ieee and m1-exact"

/*
 * Whether numerics m1 computes convolutions of 3x3 by Winograd's algorithm where that is faster. It rounds
 * otherwise than the chain, within the bound of docs/numbers.md; results depend neither on the host nor on
 * the number of threads. The other numerics never use it.
 */
enum ane_winograd { ANE_WINOGRAD_ON = 0, ANE_WINOGRAD_OFF = 1 };

/* The setting of that name, one of ANE_WINOGRAD_NAMES; -1 for any other, and for NULL. Does not block. */
ANE_API int ane_winograd_named(const char *name);
#define ANE_WINOGRAD_NAMES "on and off"

/* Forms of a page-table entry. docs/dart.md. */
enum ane_page_table {
    /* the default: with firmware ANE_PAGE_TABLE_SEED; bare, the form that Linux's driver uses for the chip:
       ANE_PAGE_TABLE_T8020 for t8103, ANE_PAGE_TABLE_T6000 for t6000 */
    ANE_PAGE_TABLE_CHIP = 0,
    ANE_PAGE_TABLE_SEED = 1, /* bit 63 valid, frame unshifted */
    ANE_PAGE_TABLE_T8020 = 2,
    ANE_PAGE_TABLE_T6000 = 3,
};

/*
 * How time and callers go together. The machine's own waits (timers of engine, firmware and driver, modelled
 * costs) are always in virtual time, and the clock moves over them. A caller's deadline is different: the
 * timeout of a request, or of waiting for a place in a table.
 *   open    It is wall time. Other threads may act meanwhile, and virtual time never jumps over them. The
 *           default.
 *   closed  It is virtual time too: with nothing left to do the clock jumps to it. For tests and replay,
 *           where the calls under way are all there is. Asynchronous requests (iokit.h) go on only while
 *           a call waits.
 */
enum ane_clock {
    ANE_CLOCK_OPEN = 0,
    ANE_CLOCK_CLOSED = 1,
};

/*
 * What a dispatch costs in virtual time. docs/protocol.md has the stages. Results do not depend on it.
 *   none  What the model computes: the engine's cost, and the delays of interrupts. The default, for tests
 *         that count events.
 *   m1    The stages of a dispatch that were measured on an M1 as well: binding in the runtime, building the
 *         request, the doorbell, the controller's wake-up, completion in the kernel. The default of
 *         `anemone run`.
 */
enum ane_timing {
    ANE_TIMING_NONE = 0,
    ANE_TIMING_M1 = 1,
};

/* The timing of that name, one of ANE_TIMING_NAMES; -1 for any other, and for NULL. Does not block. */
ANE_API int ane_timing_named(const char *name);
#define ANE_TIMING_NAMES "m1 and none"

/* How many requests the driver keeps in the firmware at once. Others queue in the driver. */
enum ane_in_flight {
    ANE_IN_FLIGHT_BANDS = 0, /* one of priorities 0 and 1, and one of the others; the default */
    ANE_IN_FLIGHT_ONE = 1,   /* one of all */
};

/*
 * What executes the firmware. docs/image.md.
 *   native    The firmware's code that this library was compiled with. The image in memory is checked, and
 *             not executed. The default.
 *   emulated  The image itself, instruction by instruction, on an emulated AArch64 core. Slower, with the
 *             same results. Needs a library that was built with libunicorn and, unless another image is
 *             given, with a cross compiler.
 */
enum ane_core {
    ANE_CORE_NATIVE = 0,
    ANE_CORE_EMULATED = 1,
};

/* The core of that name, one of ANE_CORE_NAMES; -1 for any other, and for NULL. Does not block. */
ANE_API int ane_core_named(const char *name);
#define ANE_CORE_NAMES "native and emulated"

/* Worker threads of one machine, at most. */
#define ANE_THREADS_MAX 64u

/*
 * One line of trace, ending in a newline; the line is good during the call. Called while the machine is busy:
 * it must return, and must not call the machine. It runs on the stack of the thread whose call drives the
 * machine, never on a stack of the firmware, and may use all that is left there.
 */
typedef void (*ane_trace_fn)(void *context, const char *line, size_t length);

/*
 * The same event in the binary form of docs/trace.md: one record. The first call, made while the machine is
 * created, passes the file header instead, so that the bytes of all calls, one after the other, are a trace
 * file. Called after ane_trace_fn, under the same conditions. The bytes are valid until it returns.
 */
typedef void (*ane_trace_record_fn)(void *context, const void *record, size_t length);

/*
 * Set `size` to sizeof(struct ane_machine_config) and everything else to 0 for the defaults. A field that
 * this library does not know yet (a larger `size` with bytes set) is refused.
 */
struct ane_machine_config {
    size_t size;
    uint32_t chip;       /* enum ane_chip */
    uint32_t numerics;   /* enum ane_numerics */
    uint64_t dram_bytes; /* 0 = 4 GiB; sparse, untouched pages cost nothing */
    uint32_t engines;    /* 0 or 1: the M1 has one */
    uint32_t page_table; /* enum ane_page_table */
    /* 1: with its controller and driver, booted; see iokit.h. 0: bare, the caller drives the engine */
    uint32_t firmware;
    uint32_t strict_tlb; /* 1: walk the page table at every use and report missing invalidates */
    /*
     * threads that compute, the caller's included, 1 to ANE_THREADS_MAX; 0 = one for each processor of the
     * calling thread, at most 8. Results do not depend on it
     */
    uint32_t threads;
    uint32_t vma_budget; /* host mappings the DART's windows may use; 0 = 24,000 */
    /* largest descriptor: multiply-accumulates, or elements; 0 = 2^40 (2^33 elements, 2^31 narrow ones) */
    uint64_t max_work;
    uint32_t reference; /* 1: compute with the plain reference kernels */
    /*
     * 1: trace; lines go to trace_fn when it is set, and always into the hash. 0: as the environment's
     * ANEMONE_TRACE says, which names a file for the trace of each machine (docs/trace.md), or none.
     */
    uint32_t trace;
    ane_trace_fn trace_fn;
    void *trace_context;
    uint32_t clock;                      /* enum ane_clock */
    ane_trace_record_fn trace_record_fn; /* gets trace_context; needs trace = 1 */
    /*
     * 1: a DART fault that the driver sees stops the machine, as it stops the real one. Calls that wait, and
     * every later call of a connection, return kIOReturnNoDevice, calls of this header what they return for
     * -EPERM, all with a sentence that quotes the panic; closing, ane_machine_fault and ane_machine_destroy
     * work.
     */
    uint32_t panic_on_fault;
    /*
     * How surfaces and the driver's buffers are scattered over physical memory. 0: in runs of at most 1 MiB
     * of which no two that follow each other are neighbours. Other values: page by page, in an order from
     * this seed. Device addresses and results do not depend on it; the trace names physical addresses.
     */
    uint32_t scatter;
    /* 1: an internal build, whose debug selectors are open to every client; 0 as on the device */
    uint32_t internal_build;
    uint32_t timing;    /* enum ane_timing */
    uint32_t in_flight; /* enum ane_in_flight */
    /*
     * A folder for post-mortem dumps of the firmware, firmware-dump-0.aned to firmware-dump-7.aned: the
     * oldest is overwritten. NULL: what the environment's ANEMONE_DUMPS names, or none. A dump that cannot be
     * written is lost there and is still the last one of ane_machine_dump.
     */
    const char *dump_folder;
    uint32_t core; /* enum ane_core */
    /*
     * A file with the firmware's image; NULL is the one that the library was built with. Any other needs the
     * emulated core. It is read once, and checked by the driver.
     */
    const char *firmware_image;
    /*
     * 1: what no public source explains in a descriptor (bits, registers, values of fields) is ignored and
     * traced, and the descriptor runs. 0: it is refused, and its queue is stuck. docs/experiments.md. With
     * firmware the driver refuses such a program when it is loaded, in either case.
     */
    uint32_t lenient;
    uint32_t winograd; /* enum ane_winograd */
};

/*
 * Makes a machine, after reset and powered on. config NULL means the defaults; it is copied. With firmware
 * the driver boots it: blocks until it is up. The caller ends it with ane_machine_destroy.
 * 0, or a negative errno and *machine is NULL: -EINVAL for a value of the configuration, or machine is NULL;
 * -ENOMEM; -EBADMSG when the firmware's image was altered; -ENOTSUP when this library cannot run it; -EMFILE
 * when the process has no file descriptor left; -ENOSPC when it has 64 machines with firmware; -ETIMEDOUT or
 * another errno when the firmware does not boot, or when the file that ANEMONE_TRACE names cannot be written.
 */
ANE_API int ane_machine_create(const struct ane_machine_config *config, struct ane_machine **machine);

/*
 * Ends a machine. Connections that are open on it are closed first: their calls under way return
 * kIOReturnAborted or ANE_RETURN_CLOSED, later ones ANE_RETURN_CLOSED. Blocks until every call through a
 * connection, and every injected call that has begun, has returned. No call of this header may be under way
 * on the machine, or come later: the caller sees to that. Pointers from ane_machine_dram end with it;
 * surfaces outlive it. NULL is allowed. In a forked child, and from the trace function, it does nothing.
 */
ANE_API void ane_machine_destroy(struct ane_machine *machine);

/*
 * One sentence about the failure of the calling thread's last call that can fail, of this header or of
 * iokit.h; "" when that call did not fail or had nothing to add. Never NULL. The string belongs to the
 * thread and is good until its next call. Does not block.
 */
ANE_API const char *ane_machine_error(void);

/*
 * Reads a register at a physical address, a multiple of 4. An address that no block answers reads 0 and is
 * counted ("bus.unanswered"). No virtual time passes. All ones, with a sentence in ane_machine_error: no
 * access was made, for one of the reasons above.
 */
ANE_API uint32_t ane_machine_read32(struct ane_machine *machine, uint64_t address);

/*
 * Writes a register at a physical address, a multiple of 4. A write that no block answers is counted and has
 * no effect. No virtual time passes: what the write starts happens in ane_machine_run, or in any call that
 * waits.
 */
ANE_API void ane_machine_write32(struct ane_machine *machine, uint64_t address, uint32_t value);

/*
 * Allocates whole 16 KiB pages of DRAM in one physical run, zeroed. The run is the caller's until
 * ane_machine_dram_free or the end of the machine.
 * 0, or -ENOMEM when there is no such run, -EINVAL for 0 bytes or when address is NULL, -EPERM as above.
 */
ANE_API int ane_machine_dram_alloc(struct ane_machine *machine, uint64_t bytes, uint64_t *address);

/*
 * Frees a run; its bytes are forgotten, and the engine may no longer be pointed at it.
 * 0, or -EINVAL when no run starts there or it is the driver's or the firmware's, -EPERM as above.
 */
ANE_API int ane_machine_dram_free(struct ane_machine *machine, uint64_t address);

/*
 * The host address of [address, address + bytes) of DRAM, the same until the machine is destroyed; NULL when
 * any of it is outside. DRAM that was never allocated may be used too: it is memory. The caller orders its
 * accesses with those of the engine. With firmware, the first run of DRAM (9 MiB) is the firmware's: 1 MiB
 * with its image, which the processor checks when it starts; and 8 MiB that show the firmware's memory while
 * the controller sleeps, where a change of what is in use is a fault of the controller when it runs next.
 * Once an address in that run was asked for, every request takes about 0.3 ms longer.
 */
ANE_API void *ane_machine_dram(struct ane_machine *machine, uint64_t address, uint64_t bytes);

/*
 * A descriptor of DRAM's memory file, for a second mapping of it, in this process or another: byte 0 of the
 * file is the first of DRAM (map.dram), and its size cannot change. It is the caller's, who closes it. The
 * caller orders its accesses with those of the engine.
 * A file descriptor, or -ENOTSUP when the machine has firmware, whose memory is not handed out; -EMFILE;
 * -EPERM as above.
 */
ANE_API int ane_machine_dram_file(struct ane_machine *machine);

/* Banks of one machine, at most. */
#define ANE_BANKS_MAX 4000u

/*
 * Adds a bank: `bytes` bytes of the caller's memory file from `offset` on become physical memory in one run,
 * behind DRAM, at *address. Both are multiples of 16 KiB, and the file has these bytes as long as the bank
 * exists: one that can shrink (a memory file without F_SEAL_SHRINK), cannot be written, or has huge pages is
 * refused. The machine keeps a descriptor of its own. ane_machine_dram finds the bank's bytes, up to 1 GiB at
 * a time. At most ANE_BANKS_MAX exist.
 * 0, or -EINVAL for the file, its size, its seals, pages that another bank has, or a value that is not a
 * multiple; -ENOSPC when there are too many banks; -ENOMEM when no run of physical addresses is left;
 * -EMFILE; -EPERM as above.
 */
ANE_API int ane_machine_bank_add(struct ane_machine *machine, int file, uint64_t offset, uint64_t bytes,
                                 uint64_t *address);

/*
 * Removes a bank. The file keeps its bytes. The caller has unmapped it from the DARTs and invalidated their
 * TLBs: the engine may no longer be pointed at it.
 * 0, or -EINVAL when no bank starts there, -EPERM as above.
 */
ANE_API int ane_machine_bank_remove(struct ane_machine *machine, uint64_t address);

/* How ane_machine_run ended. */
enum ane_run {
    ANE_RUN_IDLE = 0,  /* nothing is left to do */
    ANE_RUN_LIMIT = 1, /* the time has passed, and there is more to do */
    /*
     * The time has passed, and nothing is left to do but for a task queue that is stuck: ane_machine_problem
     * says why. Or its request waits for a clock that is gated. Nothing but the driver's own action ends
     * this.
     */
    ANE_RUN_STUCK = 2,
};

/*
 * Lets virtual time pass until the machine is idle or max_virtual_ns have passed. While a task queue is stuck
 * the machine is not idle, so the time passes and a driver's timeout in machine time fires; with UINT64_MAX
 * the call returns at once when nothing else is left. Blocks meanwhile, also while injected calls run; other
 * threads are admitted.
 * A value of enum ane_run, or -EPERM as above.
 */
ANE_API int ane_machine_run(struct ane_machine *machine, uint64_t max_virtual_ns);

/*
 * Lets exactly `ns` of virtual time pass, also on an idle machine, and whatever happens in it meanwhile: a
 * delay of a driver, or a step of its polling. Blocks meanwhile; other threads are admitted.
 * 0, or -EINVAL for more than ANE_DELAY_MAX, -EPERM as above.
 */
ANE_API int ane_machine_delay(struct ane_machine *machine, uint64_t ns);
#define ANE_DELAY_MAX (UINT64_C(1) << 62)

/*
 * Lets `ns` of virtual time pass for work of the caller's own, on a machine with timing m1; does nothing with
 * timing none. Blocks meanwhile; other threads are admitted, and their work goes on.
 * 0, or -EPERM as above.
 */
ANE_API int ane_machine_spend(struct ane_machine *machine, uint64_t ns);

/*
 * Calls fn(context) at virtual time `when` (ane_machine_now or later), on a thread of its own that may call
 * the machine and its driver as any other. Virtual time does not pass while fn runs, and passes while it
 * waits inside a call; so calls announced this way happen in one order, always the same. Two at the same time
 * come in the order they were announced. It needs a thread that lets time pass: ane_machine_run, or any call
 * that waits. What has not begun when the machine is destroyed never does; context must be good until fn has
 * returned or the machine has ended. Does not wait for fn.
 * 0, or -EINVAL when `when` has passed or fn is NULL; -ENOSPC when all events of the clock are in use;
 * -ENOMEM; -EAGAIN when no thread could be made; -EPERM as above.
 */
ANE_API int ane_machine_call_at(struct ane_machine *machine, uint64_t when, void (*fn)(void *context),
                                void *context);

/* Virtual nanoseconds since reset. */
ANE_API uint64_t ane_machine_now(struct ane_machine *machine);

/* 1 while the engine's interrupt line is high, 0 otherwise. */
ANE_API int ane_machine_interrupt(struct ane_machine *machine);

/*
 * 1 while the DARTs' interrupt line is high, 0 otherwise. It rises when one of them captures a fault and
 * falls when the last capture is cleared (the word of ERROR written back). With firmware the driver clears
 * captures itself.
 */
ANE_API int ane_machine_dart_interrupt(struct ane_machine *machine);

/* Interrupt lines of a board. Their numbers at the interrupt controller are in the map. */
enum ane_line { ANE_LINE_ENGINE = 0, ANE_LINE_DART = 1, ANE_LINES };

/*
 * An interrupt handler: `level` is 1 when the line rose and 0 when it fell. Called at the virtual time of the
 * change, by the thread whose call brought it about (ane_machine_run, ane_machine_write32 or another), before
 * that call returns; never while another handler of the machine runs. It may call the machine, and virtual
 * time does not pass while it runs unless it lets time pass. A change that comes while a handler runs, from
 * it or from another thread, is reported after it has returned, by its thread. A handler may remove itself or
 * another; ane_machine_destroy does nothing there. A child process that it forks ends in it, or calls exec:
 * it does not return from it. When a handler lets time pass, the call that it interrupted waits for it; with
 * several threads or injected calls it is not determined which call that is.
 */
typedef void (*ane_line_fn)(void *context, enum ane_line line, int level);

/*
 * Sets the handler of a line; NULL removes it. Not for a machine with firmware, whose lines are its driver's.
 * When the line is high already, the handler is called before this returns (from a handler: after that has
 * returned). Once the call that removes a handler has returned, the handler does not run any more: it waits
 * for one that runs on another thread.
 * 0, or -EINVAL for another line, -ENOTSUP with firmware, -EPERM as above.
 */
ANE_API int ane_machine_line_handler(struct ane_machine *machine, enum ane_line line, ane_line_fn fn,
                                     void *context);

/*
 * The same for a thread that polls: adds 1 to an eventfd each time the line rises, and once when it is high
 * already. The machine keeps a descriptor of its own; -1 removes it. Both ways may be used for one line. It
 * needs /proc.
 * 0, or -EINVAL for another line or a file that is not an eventfd, -EMFILE, -ENOTSUP with firmware, -EPERM as
 * above.
 */
ANE_API int ane_machine_line_eventfd(struct ane_machine *machine, enum ane_line line, int eventfd);

/* A hash over every trace line so far: a function of configuration and accesses alone. */
ANE_API uint64_t ane_machine_trace_hash(struct ane_machine *machine);

/*
 * A counter by name: "dart.faults", "dart.missing_invalidates" and others; docs/machine.md lists them. 0 for
 * a name that is not one, and for NULL.
 */
ANE_API uint64_t ane_machine_counter(struct ane_machine *machine, const char *name);

/*
 * What the model found wrong with the last descriptor, chain or push that it did not run. No register of the
 * device shows this: the task manager's error words say only that a descriptor was refused, or an address.
 */
struct ane_machine_problem {
    size_t size;         /* set by the caller to sizeof(struct ane_machine_problem) */
    uint64_t count;      /* problems so far */
    uint32_t kind;       /* a number of docs/machine.md */
    uint32_t queue;      /* the task queue it came from */
    uint32_t descriptor; /* its index in the chain, from 0 */
    uint32_t address;    /* its device address */
    uint32_t offset;     /* of the place in it, in bytes; 0 for a register that it does not write itself */
    uint32_t bits;       /* the bits or the value complained about; 0 when there are none */
    char text[240];      /* one sentence */
    uint32_t reg;        /* address of the register; 0 is one, too, when reg_name is not "" */
    /* "" for what the problem does not have: */
    char reg_name[48];   /* "Common.InDim" */
    char field_name[64]; /* "InDim.Win", or "Header.TBE" for a field of the descriptor's header */
    /* Constant strings: */
    const char *kind_name; /* what the number of `kind` means */
    const char *outcome;   /* what a real engine does with it, as far as that is known */
    const char *advice;    /* what to do about it */
};

/*
 * Fills *problem, whose size the caller has set, with the last one.
 * 0, or -ENOENT when there was none so far; -EINVAL when problem is NULL or the size is another; -EPERM as
 * above.
 */
ANE_API int ane_machine_problem(struct ane_machine *machine, struct ane_machine_problem *problem);

/*
 * A DART fault as the driver of a machine with firmware has seen it. Program, procedure, descriptor, transfer
 * and tensor come with the firmware's event about the request; of a fault without one (the firmware's own, or
 * a request that never comes back) they are 0, UINT32_MAX and "".
 */
struct ane_machine_fault {
    size_t size;       /* set by the caller to sizeof(struct ane_machine_fault) */
    uint64_t count;    /* faults so far */
    uint64_t time;     /* virtual nanoseconds, when the driver took the capture */
    uint64_t snapshot; /* physical address of a copy of the DART's registers; layout in docs/dart.md */
    uint64_t address;  /* the device address that was refused */
    uint64_t page;     /* its page */
    uint32_t dart;     /* 0 to 2 */
    uint32_t status;   /* ERROR, as captured */
    uint32_t stream;
    uint32_t write; /* 1: the access was a write */
    uint32_t ttbr_index, l2_index, l3_index;
    uint32_t engine_status; /* the word at +0xe028 when the driver looked */
    uint32_t benign;        /* 1: the engine was powered and idle, so the driver did nothing */
    uint32_t client;        /* number of the client; 0: the firmware, or none */
    uint64_t program;       /* token */
    uint32_t procedure, descriptor;
    const char *transfer; /* "source 1", "destination" and so on; a constant string, as the next two */
    const char *type;     /* "translation fault" and so on */
    const char *why;      /* "no page" and so on */
    char name[64];        /* of the program */
    char tensor[96];      /* the port with its name, or what else is there */
    char text[512];       /* all of it in one sentence */
};

/*
 * Fills *fault, whose size the caller has set, with the last one. Works after a panic, too.
 * 0, or -ENOENT when there was none so far or the machine has no firmware; -EINVAL when fault is NULL or the
 * size is another; -EPERM as above, but not for a machine that has stopped.
 */
ANE_API int ane_machine_fault(struct ane_machine *machine, struct ane_machine_fault *fault);

/*
 * The device sleeps: the driver quiesces the firmware, unloads what it has, suspends it and switches its
 * power off. Blocks until requests that the firmware has are over. Programs, connections and surfaces stay
 * what they are; the next call of a connection wakes the device, and so does a request that was queued in
 * the driver. The device may sleep already.
 * 0, or -EBUSY when commands of other calls stay under way; -EIO when the firmware does not obey, it is
 * restarted then; -ENODEV when the machine has no firmware; -EPERM as above.
 */
ANE_API int ane_machine_sleep(struct ane_machine *machine);

/*
 * The device wakes: power, and a warm boot of the firmware. Programs are loaded again at their next use.
 * Blocks until it is up. The device may be awake already.
 * 0, or -ENODEV when the machine has no firmware or the firmware does not come up; -EPERM as above.
 */
ANE_API int ane_machine_wake(struct ane_machine *machine);

/*
 * Copies the last post-mortem dump of the firmware to `buffer`, in the form that `anemone inspect` reads
 * (docs/recovery.md). *bytes is the room there, and becomes the size of the dump.
 * 0, or -ENOENT when the firmware has not failed so far; -ENOSPC when the room is too small, *bytes says what
 * is needed; -EINVAL when buffer or bytes is NULL; -EPERM as above, but not for a machine that has stopped.
 */
ANE_API int ane_machine_dump(struct ane_machine *machine, void *buffer, size_t *bytes);

/* The reports of ane_machine_report. */
#define ANE_MACHINE_REPORTS "tasks, pools, arenas, counters and cache"

/*
 * What the running firmware says of itself, as text: "tasks", "pools", "arenas", "counters" or "cache". The
 * room in `buffer` is *bytes, which becomes the length of the text, which ends with a 0. Wakes a device that
 * sleeps; blocks until the firmware has answered.
 * 0, or -EINVAL for another name, or when a pointer is NULL; -ENOSPC when the room is too small; -EIO when
 * the firmware does not answer; -ENODEV when the machine has no firmware; -EPERM as above.
 */
ANE_API int ane_machine_report(struct ane_machine *machine, const char *name, char *buffer, size_t *bytes);

/* One client of the driver, for those who show who uses the engine. Counters only rise. */
struct ane_machine_client {
    uint32_t number;      /* as messages and traces call it */
    uint32_t task;        /* whose surfaces, events and programs it uses */
    uint32_t type;        /* enum ane_client_type */
    uint32_t programs;    /* that it owns */
    uint32_t in_flight;   /* requests under way */
    uint32_t queue_depth; /* requests under way at most */
    uint64_t completed;   /* requests */
    uint64_t engine_ns;   /* virtual time that the engine worked for it, of requests that were done well */
    uint64_t bytes;       /* pages mapped or held for it */
};

/*
 * Copies up to `room` clients that are open, oldest first. How many there are, or a negative errno: -EINVAL
 * when clients is NULL and room is not 0; -ENODEV when the machine has no firmware; -ENOMEM; -EPERM as above.
 */
ANE_API long ane_machine_clients(struct ane_machine *machine, struct ane_machine_client *clients,
                                 size_t room);

/*
 * Memory of programs. A program that is wired has its text, weights and tables in DRAM, mapped for the
 * engine; one that was unwired has them in host memory, and is wired again when it is used next. An instance
 * that opted out (ANE_INSTANCE_KEEP_WIRED) is not unwired, and neither is its base. Programs are also unwired
 * by an allocation that finds DRAM full.
 */
struct ane_machine_residency {
    size_t size;               /* set by the caller to sizeof(struct ane_machine_residency) */
    uint64_t wired, pageable;  /* bytes of programs in DRAM, and in host memory */
    uint64_t unwired, rewired; /* programs so far */
    uint64_t sleeps;           /* of the device, for power saving */
    uint32_t programs, asleep; /* programs that exist; 1: the device sleeps */
};

/*
 * One pass of the worker that gives memory and power back; a service calls it again and again.
 *   - While programs have more than `limit` bytes wired, those that no request has used for `passes` passes
 *     are unwired, the one that was idle longest first. A limit of 0 unwires all of those.
 *   - When every program is an instance that asks for power saving or the base of one, and none was used for
 *     `passes` passes (an instance with aggressive power saving: since the last pass), the device sleeps,
 *     unless a client is persistent.
 * *now, whose size the caller has set, may be NULL. Waits while requests have the gate; does not wake the
 * device. 0, or -EINVAL when the size is another; -ENODEV when the machine has no firmware; -EPERM as above.
 */
ANE_API int ane_machine_reclaim(struct ane_machine *machine, uint64_t limit, uint32_t passes,
                                struct ane_machine_residency *now);

/*
 * Wall time of requests by stage, for a machine with firmware and one request at a time. The stages, in
 * order: driver submit (call to doorbell), firmware take (doorbell to push), engine (push to its interrupt),
 * firmware complete (interrupt to host doorbell), driver complete (host doorbell to return).
 */
#define ANE_STAGES 5
struct ane_machine_profile {
    uint64_t requests;
    uint64_t wall_ns[ANE_STAGES];    /* sums */
    uint64_t virtual_ns[ANE_STAGES]; /* what the model says it took */
};

/* The name of a stage, a constant string; "" for a number of ANE_STAGES or more. Does not block. */
ANE_API const char *ane_machine_stage_name(unsigned stage);

/* What is measured: bits of `on`. Descriptors alone need no firmware. */
enum ane_profile { ANE_PROFILE_STAGES = 1, ANE_PROFILE_DESCRIPTORS = 2 };

/*
 * Copies the sums so far to *sums, unless it is NULL; then switches profiling on (bits of enum ane_profile)
 * or off (0). A switch from one to another clears everything that was measured.
 * 0, or -EPERM as above.
 */
ANE_API int ane_machine_profile(struct ane_machine *machine, int on, struct ane_machine_profile *sums);

/* Wall time of a descriptor in the engine. */
#define ANE_DESCRIPTOR_TEXT 96u
struct ane_machine_descriptor {
    uint32_t address; /* device address */
    uint32_t index;   /* in its request */
    uint64_t runs;
    uint64_t wall_ns;               /* of all runs */
    uint64_t least_ns;              /* of the shortest */
    uint64_t work;                  /* multiply-accumulates of a run, or elements where it makes none */
    uint64_t bytes;                 /* of operands and kernel, each once */
    uint32_t multiplies;            /* 1: work is multiply-accumulates */
    char text[ANE_DESCRIPTOR_TEXT]; /* the operation and its shapes */
};

/*
 * Copies descriptors that ran since ANE_PROFILE_DESCRIPTORS was switched on, in the order of their first run:
 * at most `capacity` of them to `rows`, which may be NULL when that is 0. *count is how many there are.
 * Descriptors are distinguished by address; 65,536 of them are kept.
 * 0; -EINVAL: they are not measured; -EPERM as above.
 */
ANE_API int ane_machine_profile_descriptors(struct ane_machine *machine, struct ane_machine_descriptor *rows,
                                            uint32_t capacity, uint32_t *count);

/* A power domain of the board: one word of a power manager. docs/machine.md has its bits. */
struct ane_machine_domain {
    const char *name; /* as in the public device trees: "ane_sys", "ane_base", "ane_set1" and so on */
    uint64_t address;
};
#define ANE_DOMAINS_MAX 12u

/* Physical addresses of the blocks of a machine. */
struct ane_machine_map {
    size_t size;       /* set by the caller to sizeof(struct ane_machine_map) */
    const char *board; /* its name, a constant string */
    uint64_t container, container_bytes;
    uint64_t task_manager, task_queues;
    uint64_t dart[3];
    uint64_t dapf; /* the DART's fourth window: reads 0, writes have no effect */
    uint64_t pmu;
    uint64_t dram, dram_bytes;
    uint32_t interrupt;      /* number of the engine's line */
    uint32_t dart_interrupt; /* number of the DARTs' line */
    /* the window that the public device trees call "engine"; the task manager is at its offset 0x20000 */
    uint64_t engine, engine_bytes;
    uint64_t dart_bytes; /* of each DART's window */
    uint32_t page_table; /* the form in use: enum ane_page_table, never ANE_PAGE_TABLE_CHIP */
    uint32_t domains;    /* of the list below */
    struct ane_machine_domain domain[ANE_DOMAINS_MAX];
};

/*
 * Fills *map, whose size the caller has set. Does not block, and works in a forked child and in the trace
 * function too: nothing in it changes.
 * 0, or -EINVAL when machine or map is NULL, or the size is another.
 */
ANE_API int ane_machine_map(struct ane_machine *machine, struct ane_machine_map *map);

#ifdef __cplusplus
}
#endif

#endif
