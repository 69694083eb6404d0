/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of `anemone spec`: task queues and boards. */
#include "protocol/board.h"
#include "tool/spec/facts.h"
#include "protocol/execution.h"
#include "protocol/tm_regs.h"
#include "tool/spec/spec.h"

static const char *const access_name[] = {"R", "W", "RW", "POP"};

static void reg(struct spec *spec, const char *name, uint32_t offset, uint32_t count, enum pr_access access,
                const char *source)
{
    spec_object(spec, NULL);
    spec_text(spec, "name", name);
    spec_hex(spec, "offset", offset);
    spec_number(spec, "count", count);
    spec_text(spec, "access", access_name[access]);
    spec_text(spec, "source", source);
    spec_object_end(spec);
}

void spec_task_queue(struct spec *spec)
{
    spec_hex(spec, "stride", PR_TQ_STRIDE);
    spec_number(spec, "queues", PR_TQ_COUNT);
    spec_number(spec, "bars", PR_TQ_BARS);
    spec_number(spec, "submit_words", PR_TQ_SUBMIT_WORDS);
    spec_object(spec, "registers");
#define X(key, title, offset) spec_hex(spec, key, offset);
    FACT_SUBMIT_REGISTERS(X)
#undef X
    spec_object_end(spec);
    spec_array(spec, "queue_map");
#define X(id, title, offset, count, access, source) \
    reg(spec, title, offset, count, PR_ACCESS_##access, source);
    PR_TQ_REGISTERS(X)
#undef X
    spec_array_end(spec);
    spec_array(spec, "manager_map");
#define X(id, title, offset, access, source) reg(spec, title, offset, 1, PR_ACCESS_##access, source);
    PR_TM_REGISTERS(X)
#undef X
    spec_array_end(spec);
}

void spec_boards(struct spec *spec)
{
    for (unsigned i = 0; i < PR_CHIP_COUNT; i++) {
        const struct pr_board *board = &pr_board_table[i];

        spec_object(spec, NULL);
        spec_text(spec, "name", board->name);
        spec_hex(spec, "container", board->container);
        spec_hex(spec, "task_manager", board->container + PR_ENGINE_TM);
        spec_hex(spec, "task_queues", board->container + PR_ENGINE_TQ);
        spec_hex(spec, "dart0", board->dart[0]);
        spec_hex(spec, "dart1", board->dart[1]);
        spec_hex(spec, "dart2", board->dart[2]);
        spec_hex(spec, "pmu", board->pmu);
        spec_hex(spec, "dram", board->dram);
        spec_hex(spec, "interrupt", board->interrupt);
        spec_hex(spec, "dart_interrupt", board->dart_interrupt);
        spec_object_end(spec);
    }
}
