/* SPDX-License-Identifier: Apache-2.0 */
#include "blob.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/store/blob.h"

uint64_t bench_blob_offset(unsigned index, size_t numbers)
{
    return CC_BLOB_HEADER + (uint64_t)index * (CC_BLOB_HEADER + 2 * (uint64_t)numbers);
}

static bool write_blob(FILE *file, unsigned index, const uint16_t *half, size_t numbers)
{
    uint32_t head[CC_BLOB_HEADER / 4] = {CC_BLOB_MAGIC, CC_BLOB_CODE_fp16, (uint32_t)(2 * numbers)};
    const uint64_t data = bench_blob_offset(index, numbers) + CC_BLOB_HEADER;

    memcpy(&head[4], &data, sizeof(data));
    return fwrite(head, sizeof(head), 1, file) == 1 && fwrite(half, 2, numbers, file) == numbers;
}

bool bench_blob_write(const char *path, unsigned count, size_t numbers, bench_blob_fill *fill, void *context)
{
    const uint32_t head[CC_BLOB_HEADER / 4] = {count, CC_BLOB_VERSION};
    uint16_t *half = base_alloc_array(numbers, sizeof(*half));
    FILE *file = half ? fopen(path, "wb") : NULL;
    bool good = file && fwrite(head, sizeof(head), 1, file) == 1;

    for (unsigned i = 0; i < count && good; i++) {
        fill(half, numbers, context);
        good = write_blob(file, i, half, numbers);
    }
    base_free(half);
    return file && !fclose(file) && good;
}

void bench_blob_random(uint16_t *half, size_t numbers, void *context)
{
    uint64_t *seed = context;

    for (size_t i = 0; i < numbers; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        half[i] = (uint16_t)(0x2000 | *seed >> 52);
    }
}
