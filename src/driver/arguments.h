/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispatcher's argument block, Listing 27.2: what the kernel makes of an IOConnectCallMethod; and the
 * record it is checked against, Listing 27.4. Clients never see them, so they are not a public header's.
 */
#ifndef DRIVER_ARGUMENTS_H
#define DRIVER_ARGUMENTS_H

#include <stddef.h>
#include <stdint.h>

#include <anemone/abi.h>

struct drv_client;

/* Words of an asyncReference block: 0x20 bytes. */
#define DRV_REFERENCES 4u

struct IOExternalMethodArguments {
    uint32_t version;            /* +0x00 */
    uint32_t selector;           /* +0x04 */
    uint32_t asyncWakePort;      /* +0x08 */
    uint32_t reserved0;          /* +0x0c */
    const uint64_t *scalarInput; /* +0x10 */
    /* +0x18 (chosen): the 0x20-byte block, which the listing has in the place of the scalars */
    const uint64_t *asyncReference;
    uint32_t scalarInputCount;    /* +0x20 */
    uint32_t asyncReferenceCount; /* +0x24 (chosen) words of it: 1 to DRV_REFERENCES */
    uint32_t reserved2[2];        /* +0x28 */
    const void *structureInput;   /* +0x30 */
    uint32_t structureInputSize;  /* +0x38 */
    uint32_t reserved3[3];        /* +0x3c */
    uint64_t *scalarOutput;       /* +0x48 */
    uint32_t scalarOutputCount;   /* +0x50 */
    uint32_t reserved4;           /* +0x54 */
    void *structureOutput;        /* +0x58 */
    uint32_t structureOutputSize; /* +0x60 */
    uint32_t reserved5;           /* +0x64 */
};

#define DRV_CHECK_ARGUMENT(field, at) \
    _Static_assert(offsetof(struct IOExternalMethodArguments, field) == (at), #field)
DRV_CHECK_ARGUMENT(asyncWakePort, 0x08);
DRV_CHECK_ARGUMENT(scalarInput, 0x10);
DRV_CHECK_ARGUMENT(scalarInputCount, 0x20);
DRV_CHECK_ARGUMENT(structureInput, 0x30);
DRV_CHECK_ARGUMENT(structureInputSize, 0x38);
DRV_CHECK_ARGUMENT(scalarOutput, 0x48);
DRV_CHECK_ARGUMENT(scalarOutputCount, 0x50);
DRV_CHECK_ARGUMENT(structureOutput, 0x58);
DRV_CHECK_ARGUMENT(structureOutputSize, 0x60);
_Static_assert(sizeof(struct IOExternalMethodArguments) == 0x68, "Listing 27.2");

/*
 * A method of a client. Its arguments have the sizes of its record and no NULL; it copies each struct once.
 * On the device the pointer is authenticated; here it is a plain one.
 */
typedef IOReturn (*drv_method)(struct drv_client *client, struct IOExternalMethodArguments *arguments);

struct IOExternalMethodDispatch2022 {
    drv_method function;               /* +0x00 */
    uint32_t checkScalarInputCount;    /* +0x08 exact, like the other three */
    uint32_t checkStructureInputSize;  /* +0x0c */
    uint32_t checkScalarOutputCount;   /* +0x10 */
    uint32_t checkStructureOutputSize; /* +0x14 */
    uint8_t reserved[0x10];            /* +0x18 the first byte: enum drv_method_group */
};
enum drv_method_group { DRV_METHOD_PLAIN, DRV_METHOD_DEBUG_WORK };

#define DRV_CHECK_RECORD(field, at) \
    _Static_assert(offsetof(struct IOExternalMethodDispatch2022, field) == (at), #field)
DRV_CHECK_RECORD(function, 0x00);
DRV_CHECK_RECORD(checkScalarInputCount, 0x08);
DRV_CHECK_RECORD(checkStructureInputSize, 0x0c);
DRV_CHECK_RECORD(checkScalarOutputCount, 0x10);
DRV_CHECK_RECORD(checkStructureOutputSize, 0x14);
DRV_CHECK_RECORD(reserved, 0x18);
_Static_assert(sizeof(struct IOExternalMethodDispatch2022) == 40, "Listing 27.4");

#endif
