/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models with many weights on one machine, as a client of iokit.h and abi.h: a base program that is one
 * matrix product, adapters of it, and a plain reference of both. Weights and inputs are small whole numbers,
 * so that every sum is exact.
 */
#ifndef TESTS_MODELRIG_H
#define TESTS_MODELRIG_H

#include "iorig.h"

#define MODELRIG_BASE 0u /* the variant without an adapter; adapters are 1 and above */

struct modelrig {
    struct ane_machine *machine;
    struct iorig_client client;
    uint32_t rows, columns; /* of the matrix */
    uint32_t changed;       /* rows that an adapter changes in one piece; and one more elsewhere */
    uint32_t x, y;          /* surfaces */
};

/* Asserts that everything works. The machine has `config` and firmware; the weights are rows x columns. */
void modelrig_open(struct modelrig *rig, struct ane_machine_config config, uint32_t rows, uint32_t columns,
                   uint32_t changed);
void modelrig_close(struct modelrig *rig);

uint64_t modelrig_weight_bytes(const struct modelrig *rig);
/* Pages of an adapter's weight files: its own, where the others are the base's. */
uint64_t modelrig_adapter_pages(const struct modelrig *rig, uint32_t variant);

/* Loaded and prepared. */
uint64_t modelrig_base(const struct modelrig *rig);
/* What create-instance answers; MODELRIG_BASE has no weight files. Not prepared. */
IOReturn modelrig_instance(const struct modelrig *rig, uint64_t base, uint32_t variant, uint32_t flags,
                           uint64_t *token);
/* The same, asserted and prepared. */
uint64_t modelrig_adapter(const struct modelrig *rig, uint64_t base, uint32_t variant, uint32_t flags);

/* One request; what the driver says. */
IOReturn modelrig_run(const struct modelrig *rig, uint64_t token);
/* One request whose result is that of the variant. */
void modelrig_check(const struct modelrig *rig, uint64_t token, uint32_t variant);

#endif
