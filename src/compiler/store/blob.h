/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weight files as MIL's BLOBFILE names them. All words are little-endian.
 *
 *     0   file header, 64 bytes      +0 u32 number of blobs   +4 u32 version (2)
 *     o   descriptor, 64 bytes       +0 u32 0xDEADBEEF        +4 u32 type code
 *                                    +8 u64 length in bytes   +16 u64 offset of the bytes in the file
 *
 * Elements of less than a byte are packed from the low bit up, across the ends of bytes. Other type codes are
 * refused by number.
 */
#ifndef COMPILER_STORE_BLOB_H
#define COMPILER_STORE_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define CC_BLOB_HEADER     64u
#define CC_BLOB_VERSION    2u
#define CC_BLOB_MAGIC      0xDEADBEEFu
#define CC_BLOB_FILE_MAX   (2ull << 30)
#define CC_BLOB_MODEL_PATH "@model_path"

/* Type codes, as coremltools numbers them (BlobDataType.hpp): name, code, bits of an element. */
#define CC_BLOB_TYPES(X) \
    X(fp16, 1, 16)       \
    X(fp32, 2, 32)       \
    X(uint8, 3, 8)       \
    X(int8, 4, 8)        \
    X(int4, 8, 4)        \
    X(uint1, 9, 1)       \
    X(uint2, 10, 2)      \
    X(uint4, 11, 4)      \
    X(uint3, 12, 3)      \
    X(uint6, 13, 6)      \
    X(int32, 14, 32)     \
    X(uint32, 15, 32)

enum cc_blob_code {
#define X(type, code, bits) CC_BLOB_CODE_##type = code,
    CC_BLOB_TYPES(X)
#undef X
};

/* Bits of an element in a file; 0: files do not have the type. */
unsigned cc_blob_bits(const char *type);

/*
 * The bytes of the blob whose descriptor is at `offset` of `path`, which must be below `folder`. It must have
 * exactly that many elements of that type, which may be packed; base_free. The sentence has no full stop and
 * no line: the caller adds both.
 */
int cc_blob_read(const char *folder, const char *path, uint64_t offset, const char *type, uint64_t elements,
                 void **data, struct base_error *error);

#endif
