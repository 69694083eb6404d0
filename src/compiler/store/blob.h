/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weight files as MIL's BLOBFILE names them. All words are little-endian.
 *
 *     0   file header, 64 bytes      +0 u32 number of blobs   +4 u32 version (2)
 *     o   descriptor, 64 bytes       +0 u32 0xDEADBEEF        +4 u32 type: 1 fp16, 2 fp32
 *                                    +8 u64 length in bytes   +16 u64 offset of the bytes in the file
 *
 * Other type codes (4 int8, 9 uint1, 11 uint4) are refused by number.
 */
#ifndef COMPILER_STORE_BLOB_H
#define COMPILER_STORE_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "compiler/graph/graph.h"

#define CC_BLOB_HEADER     64u
#define CC_BLOB_VERSION    2u
#define CC_BLOB_MAGIC      0xDEADBEEFu
#define CC_BLOB_FP16       1u
#define CC_BLOB_FP32       2u
#define CC_BLOB_FILE_MAX   (2ull << 30)
#define CC_BLOB_MODEL_PATH "@model_path"

/*
 * The bytes of the blob whose descriptor is at `offset` of `path`, which must be below `folder`. Its type and
 * length must be exactly these; base_free. The sentence has no full stop and no line: the caller adds both.
 */
int cc_blob_read(const char *folder, const char *path, uint64_t offset, enum cc_type type, size_t bytes,
                 void **data, struct base_error *error);

#endif
