/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The task manager's registers: checks and names. The checks are static: every register is an aligned word,
 * and those of a queue stay inside its stride. A NULL name means that no source names the offset.
 */
#include "protocol/tm_regs.h"

#include <stddef.h>

#include "base/array.h"

#define X(id, name, offset, count, access, source)                              \
    _Static_assert((offset) % 4 == 0 && (offset) + 4 * (count) <= PR_TQ_STRIDE, \
                   name " fits the stride of a queue");
PR_TQ_REGISTERS(X)
#undef X
#define X(id, name, offset, access, source) _Static_assert((offset) % 4 == 0, name " is a word");
PR_TM_REGISTERS(X)
#undef X
_Static_assert(PR_TQ_BAR1 + 4 * PR_TQ_BARS == PR_TQ_NID1,
               "the first slot's buffers end where its identity is");
_Static_assert(PR_TQ_BAR2 + 4 * PR_TQ_BARS == PR_TQ_NID2,
               "the second slot's buffers end where its identity is");

const uint8_t pr_tq_priority[PR_TQ_COUNT] = {1, 2, 3, 4, 5, 6, 0x1e, 0x1f};

const char *pr_tm_code_text(uint32_t code)
{
    switch (code) {
#define X(id, value, text) \
    case PR_TM_CODE_##id: return text;
        PR_TM_CODES(X)
#undef X
    default: return "an unknown code";
    }
}

const char *pr_tm_dma_text(uint32_t dma)
{
    switch (dma) {
#define X(id, value, text) \
    case PR_TM_DMA_##id: return text;
        PR_TM_DMAS(X)
#undef X
    default: return "an unknown transfer";
    }
}

const char *pr_tm_reg_name(uint32_t offset)
{
    switch (offset) {
#define X(id, name, offset, access, source) \
    case PR_TM_##id: return name;
        PR_TM_REGISTERS(X)
#undef X
    default: return NULL;
    }
}

const char *pr_tq_reg_name(uint32_t offset)
{
    static const struct {
        uint32_t offset, count;
        const char *name;
    } table[] = {
#define X(id, name, offset, count, access, source) {offset, count, name},
        PR_TQ_REGISTERS(X)
#undef X
    };

    for (unsigned i = 0; i < BASE_COUNT_OF(table); i++)
        if (offset % 4 == 0 && offset >= table[i].offset && offset < table[i].offset + 4 * table[i].count)
            return table[i].name;
    return NULL;
}
