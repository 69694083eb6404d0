/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bus: register blocks at physical addresses. A block is found by array index (one byte per 16 KiB
 * granule of the mapped range), never by search. Accesses are 32 bits wide and aligned, and each names the
 * master that makes it.
 */
#ifndef SOC_BUS_H
#define SOC_BUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct soc_bus;
struct soc_trace;

/* The master of an access. The engine makes none, because it reaches only memory, through the DART. */
enum soc_master { SOC_MASTER_HOST, SOC_MASTER_CONTROLLER };

struct soc_block {
    const char *name;
    uint64_t base, bytes; /* whole granules */
    uint32_t (*read)(void *context, enum soc_master master, uint32_t offset);
    void (*write)(void *context, enum soc_master master, uint32_t offset, uint32_t value);
    void *context;
    /* Stores to consecutive words, in order, as `write` would make them; false: not done. May be NULL. */
    bool (*write_words)(void *context, enum soc_master master, uint32_t offset, const uint32_t *value,
                        uint32_t count);
};

#define SOC_BUS_GRANULE 0x4000u
#define SOC_BUS_BLOCKS  250

/*
 * Covers [base, base + bytes). An access that no block answers reads SOC_BUS_OPEN, and is counted and traced.
 */
#define SOC_BUS_OPEN 0u
int soc_bus_create(uint64_t base, uint64_t bytes, struct soc_trace *trace, struct soc_bus **bus,
                   struct base_error *error);
void soc_bus_destroy(struct soc_bus *bus);

/*
 * The block is copied. -EEXIST when granules overlap, -EINVAL when it is not a whole number of granules
 * inside the bus.
 */
int soc_bus_attach(struct soc_bus *bus, const struct soc_block *block, struct base_error *error);

uint32_t soc_bus_read32(struct soc_bus *bus, enum soc_master master, uint64_t address);
void soc_bus_write32(struct soc_bus *bus, enum soc_master master, uint64_t address, uint32_t value);
/*
 * Stores to consecutive words of one block, at once. False, and nothing is stored, when a tap has to see each
 * of them, or when the block takes words one by one.
 */
bool soc_bus_write_words(struct soc_bus *bus, enum soc_master master, uint64_t address, const uint32_t *value,
                         uint32_t count);
/* Accesses that no block answered. */
uint64_t soc_bus_unanswered(const struct soc_bus *bus);

struct soc_access {
    enum soc_master master;
    bool write;
    uint64_t address;
    uint32_t value; /* of a read: what it returns when it is dropped, SOC_BUS_OPEN unless a tap sets it */
};

/*
 * A tap sees every access before the block does, and may change `value`. False drops the access: the block
 * and the taps behind this one do not see it. A bus without taps pays one comparison for them.
 */
struct soc_bus_tap {
    bool (*see)(void *context, struct soc_access *access);
    void *context;
    struct soc_bus_tap *next; /* the bus's */
};

/*
 * The tap is not copied and stays in place until it is removed. The newest sees an access first. Neither call
 * may be made from inside a tap.
 */
void soc_bus_tap_add(struct soc_bus *bus, struct soc_bus_tap *tap);
void soc_bus_tap_remove(struct soc_bus *bus, struct soc_bus_tap *tap);

#endif
