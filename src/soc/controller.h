/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controller's registers: reset vector, processor control, scratch words, and the two doorbell
 * directions; and the fabric through which its processor's stores reach the bus.
 */
#ifndef SOC_CONTROLLER_H
#define SOC_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/controller.h"
#include "soc/bus.h"

struct soc_clock;
struct soc_lines;
struct soc_trace;

/* System registers of its processor that hold something; the others are constants. */
struct soc_sysregs {
    uint64_t l2c_err_sts; /* the fabric's, Table 29.5 */
    uint64_t l2c_err_adr, l2c_err_inf, lsu_err_sts, fed_err_sts, mmu_err_sts;
    uint64_t pwr_dn_save; /* survives the processor's reset */
};

/*
 * Doorbells of the host that the controller has not seen yet, oldest first. All take the same time, so they
 * arrive in the order of their stores; one more than there is room for arrives with the newest.
 */
#define SOC_CONTROLLER_ON_WAY 32u
struct soc_controller_way {
    uint32_t first, count;
    struct {
        uint64_t due;
        uint32_t value;
    } doorbell[SOC_CONTROLLER_ON_WAY];
    uint64_t event; /* of the oldest; 0: none */
};

struct soc_controller {
    struct soc_clock *clock;
    struct soc_lines *lines;
    struct soc_trace *trace;
    unsigned doorbell_line, host_line;
    void (*processor)(void *context, bool run); /* CPU_CONTROL's run bit changed */
    bool (*alive)(void *context);               /* it executes: neither halted nor failed */
    void *context;
    struct soc_bus *bus; /* the bus it is attached to, and where */
    uint64_t container;
    uint32_t revision; /* of the chip */
    /* From a doorbell to its interrupt: the controller's wake-up and pick-up. 0: at once. */
    uint64_t pick_up_ns;
    struct soc_controller_way way;
    struct soc_sysregs sysreg;
    uint64_t doorbells_lost; /* stores while the fabric's path was disabled */
    uint64_t rvbar;
    uint32_t cpu_control;
    uint32_t scratch[PR_SCRATCH_COUNT];
    uint32_t doorbell_pending, host_pending;
    /* The host wrote scratch 3 or 7: interrupts the controller until it reads a scratch word. */
    bool scratch_rang;
};

/* Attaches the register windows to the bus at `container`. */
int soc_controller_attach(struct soc_controller *controller, struct soc_bus *bus, uint64_t container,
                          struct base_error *error);
/*
 * A store of the controller's processor. One to a doorbell is lost while the fabric's path is disabled, and
 * rejected while its window is closed.
 */
void soc_controller_store(struct soc_controller *controller, uint64_t address, uint32_t value);
/* A system register of its processor; false when there is none of that number, or it is read only. */
bool soc_controller_sysreg_read(const struct soc_controller *controller, uint32_t id, uint64_t *value);
bool soc_controller_sysreg_write(struct soc_controller *controller, uint32_t id, uint64_t value);
/*
 * An uncorrectable error of the cache, for fault injection: address and information of the first are
 * latched; a second one before software has cleared the status bit is noted as overflow.
 */
void soc_controller_error(struct soc_controller *controller, uint64_t address, uint64_t info);
/*
 * Bits for LSU_ERR_STS, FED_ERR_STS or MMU_ERR_STS, which stay until software writes 0 to them. False for
 * another register.
 */
bool soc_controller_capture(struct soc_controller *controller, uint32_t id, uint64_t status);
/* The processor is reset: ACC_PWR_DN_SAVE alone is kept. */
void soc_controller_sysreg_reset(struct soc_controller *controller);
/* Power was lost. The reset vector stays when it is latched, and ACC_PWR_DN_SAVE stays. */
void soc_controller_reset(struct soc_controller *controller);

#endif
