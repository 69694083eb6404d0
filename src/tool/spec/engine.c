/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of `anemone spec`: task queues, boards and power domains. The register maps are those of
 * tm_regs.h, which the engine is built on; FACT_SUBMIT_REGISTERS are the offsets as Table 29.7 prints them.
 */
#include <stdio.h>

#include "protocol/board.h"
#include "tool/spec/facts.h"
#include "protocol/execution.h"
#include "protocol/tm_regs.h"
#include "tool/spec/spec.h"

static const char *const access_name[] = {"R", "W", "RW", "POP"};

static const struct spec_column map_columns[] = {SPEC_TEXT("name"),    SPEC_HEX("offset"),
                                                 SPEC_NUMBER("count"), SPEC_TEXT("access"),
                                                 SPEC_TEXT("source"),  SPEC_END};
static const struct spec_column board_columns[] = {
    SPEC_TEXT("name"), SPEC_HEX("container"), SPEC_HEX("task_manager"),   SPEC_HEX("task_queues"),
    SPEC_HEX("dart0"), SPEC_HEX("dart1"),     SPEC_HEX("dart2"),          SPEC_HEX("pmu"),
    SPEC_HEX("dram"),  SPEC_HEX("interrupt"), SPEC_HEX("dart_interrupt"), SPEC_END};

static const struct spec_column domain_columns[] = {SPEC_TEXT("board"),  SPEC_TEXT("domain"),
                                                    SPEC_HEX("address"), SPEC_TEXT("needs"),
                                                    SPEC_TEXT("powers"), SPEC_END};
static const struct spec_column word_columns[] = {SPEC_TEXT("name"), SPEC_NUMBER("lowest_bit"),
                                                  SPEC_NUMBER("bits"), SPEC_TEXT("meaning"), SPEC_END};

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
    spec_object(spec, "event_info");
    spec_hex(spec, "completed", PR_TM_EVENT_COMPLETED << PR_TM_EVENT_KIND_LO);
    spec_hex(spec, "failed", PR_TM_EVENT_FAILED << PR_TM_EVENT_KIND_LO);
    spec_number(spec, "network_shift", PR_TM_EVENT_NID_LO);
    spec_number(spec, "index_shift", PR_TM_EVENT_INDEX_LO);
    spec_object_end(spec);
#define X(id, title, offset, count, access, source) \
    SPEC_T(title), SPEC_N(offset), SPEC_N(count), SPEC_T(access_name[PR_ACCESS_##access]), SPEC_T(source),
    SPEC_TABLE(spec, "queue_map", map_columns, PR_TQ_REGISTERS(X));
#undef X
#define X(id, title, offset, access, source) \
    SPEC_T(title), SPEC_N(offset), SPEC_N(1), SPEC_T(access_name[PR_ACCESS_##access]), SPEC_T(source),
    SPEC_TABLE(spec, "manager_map", map_columns, PR_TM_REGISTERS(X));
#undef X
}

void spec_boards(struct spec *spec)
{
    spec_table_begin(spec, spec->section, board_columns);
    for (unsigned i = 0; i < PR_CHIP_COUNT; i++) {
        const struct pr_board *board = &pr_board_table[i];

        SPEC_PUT(spec, SPEC_T(board->name), SPEC_N(board->container), SPEC_N(board->container + PR_ENGINE_TM),
                 SPEC_N(board->container + PR_ENGINE_TQ), SPEC_N(board->dart[0]), SPEC_N(board->dart[1]),
                 SPEC_N(board->dart[2]), SPEC_N(board->pmu), SPEC_N(board->dram), SPEC_N(board->interrupt),
                 SPEC_N(board->dart_interrupt));
    }
    spec_table_end(spec);
}

static const char *const powered_name[] = {
#define X(id, name) name,
    PR_POWERED(X)
#undef X
};

/* In words: "engine, dart1". */
static void powers_text(char *text, size_t size, uint32_t powers)
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < PR_POWERED_COUNT; i++)
        if (powers & PR_POWERED_BIT(i))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", powered_name[i]);
}

void spec_power(struct spec *spec)
{
    spec_table_begin(spec, "domains", domain_columns);
    for (unsigned chip = 0; chip < PR_CHIP_COUNT; chip++)
        for (unsigned i = 0; i < pr_board_table[chip].domains; i++) {
            const struct pr_board *board = &pr_board_table[chip];
            const struct pr_domain *domain = &board->domain[i];
            char powers[64];

            powers_text(powers, sizeof(powers), domain->powers);
            SPEC_PUT(spec, SPEC_T(board->name), SPEC_T(domain->name), SPEC_N(domain->address),
                     SPEC_T(pr_board_parent(board, i)), SPEC_T(powers));
        }
    spec_table_end(spec);
#define X(id, name, lo, width, meaning) SPEC_T(name), SPEC_N(lo), SPEC_N(width), SPEC_T(meaning),
    SPEC_TABLE(spec, "word", word_columns, PR_PS_FIELDS(X));
#undef X
}
