/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone info`: the boards and the addresses of their blocks, and what the driver publishes. Addresses come
 * from the board table; text and JSON print the same list of bases.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <anemone/broker.h>

#include "base/array.h"
#include "protocol/board.h"
#include "protocol/dart_regs.h"
#include "program/task.h"
#include "protocol/tm_regs.h"
#include "tool/json.h"
#include "tool/registry.h"
#include "tool/tool.h"

const char tool_info_help[] =
    "anemone info [--chip t6000|t8103] [--json]\n\n"
    "Shows the physical addresses of a board's blocks, and the sizes a driver needs:\n"
    "the engine's container, the window \"engine\" of the public device trees, task manager, task\n"
    "queues, the DARTs, DRAM; interrupts; the page-table form of a bare machine; the power domains\n"
    "with what they power, and the bits of their words. Without --chip it shows both boards; t6000\n"
    "is the default of a machine.\n"
    "Then the registry of a machine at rest: device, load balancer, hints client, DART, mappers;\n"
    "and what its firmware says of itself: tasks, pools, arenas, counters, cache requests.\n"
    "Where this process would use a service (`anemone serve`), without --chip: the registry of the\n"
    "service, and its clients.\n\n"
    "  anemone info --chip t8103\n"
    "  anemone info --json | python3 -m json.tool\n";

struct base {
    const char *name;
    uint64_t address, bytes;
};

#define BASES 11

static void list_bases(const struct pr_board *board, struct base base[BASES])
{
    const struct base table[BASES] = {
        {"container", board->container, board->container_bytes},
        {"descriptor_registers", board->container + PR_ENGINE_REGS, PR_ENGINE_TM - PR_ENGINE_REGS},
        {"engine", board->container + PR_ENGINE_WINDOW, PR_ENGINE_WINDOW_BYTES},
        {"task_manager", board->container + PR_ENGINE_TM, 0x1000},
        {"task_queues", board->container + PR_ENGINE_TQ, PR_TQ_COUNT * PR_TQ_STRIDE},
        {"dart0", board->dart[0], PR_DART_WINDOW_BYTES},
        {"dart1", board->dart[1], PR_DART_WINDOW_BYTES},
        {"dart2", board->dart[2], PR_DART_WINDOW_BYTES},
        {"dapf", board->dapf, PR_DART_WINDOW_BYTES},
        {"pmu", board->pmu, PR_PMU_DOMAINS * PR_PMU_STRIDE},
        {"dram", board->dram, 4ull << 30},
    };

    memcpy(base, table, sizeof(table));
}

static const struct {
    const char *name;
    unsigned lo, width;
    const char *meaning;
} word_field[] = {
#define X(id, name, lo, width, meaning) {name, lo, width, meaning},
    PR_PS_FIELDS(X)
#undef X
};

static const char *const powered_name[] = {
#define X(id, name) name,
    PR_POWERED(X)
#undef X
};

static void print_domain(const struct pr_board *board, unsigned number)
{
    const struct pr_domain *domain = &board->domain[number];
    const char *parent = pr_board_parent(board, number);

    printf("    %-20s 0x%011" PRIx64 " ", domain->name, domain->address);
    for (unsigned i = 0; i < PR_POWERED_COUNT; i++)
        if (domain->powers & PR_POWERED_BIT(i))
            printf(" %s", powered_name[i]);
    printf("%s%s%s\n", domain->powers ? "" : " nothing of this list", parent[0] ? "; needs " : "", parent);
}

/* The words of a domain, the same on each board. */
static void print_power_word(void)
{
    printf("power-state word: 0x%x after reset\n", PR_PMU_READY);
    for (unsigned i = 0; i < BASE_COUNT_OF(word_field); i++) {
        const unsigned high = word_field[i].lo + word_field[i].width - 1;

        if (word_field[i].width == 1)
            printf("  %-22s %-7u%s\n", word_field[i].name, high, word_field[i].meaning);
        else
            printf("  %-22s %u:%-*u%s\n", word_field[i].name, high, high < 10 ? 5 : 4, word_field[i].lo,
                   word_field[i].meaning);
    }
    printf("\n");
}

static void print_board(const struct pr_board *board)
{
    struct base base[BASES];

    list_bases(board, base);
    printf("%s%s\n", board->name, board == &pr_board_table[PR_CHIP_T6000] ? " (default)" : "");
    for (unsigned i = 0; i < BASES; i++)
        printf("  %-22s 0x%011" PRIx64 "  %s0x%" PRIx64 " bytes\n", base[i].name, base[i].address,
               i == BASES - 1 ? "default " : "", base[i].bytes);
    printf("  %-22s 0x%x\n", "interrupt", board->interrupt);
    printf("  %-22s 0x%x\n", "DART interrupt", board->dart_interrupt);
    printf("  %-22s %s on a bare machine, %s with firmware\n", "page-table form",
           pr_leaf_form_name(board->form), pr_leaf_form_name(PR_LEAF_SEED));
    printf("  power domains, and what each powers\n");
    for (unsigned i = 0; i < board->domains; i++)
        print_domain(board, i);
    printf("  source: %s\n\n", board->source);
}

static void print_sizes(void)
{
    printf("sizes\n");
    printf("  %-22s 0x%x\n", "page", PR_PAGE_BYTES);
    printf("  %-22s 0x%x\n", "DART aperture", PR_DART_APERTURE_BYTES);
    printf("  %-22s %u, 0x%x bytes apart\n", "task queues", PR_TQ_COUNT, PR_TQ_STRIDE);
    printf("  %-22s %u per queue\n", "buffer registers", PR_TQ_BARS);
    printf("  %-22s 0x%x per queue\n", "L2", PR_L2_BYTES);
    printf("  %-22s %u\n", "neural engines", PR_ENGINES_MAX);
    printf("  %-22s %u words at most, on 0x%x boundaries\n", "descriptor", PR_TD_WORDS_MAX, PR_TD_ALIGN);
}

static void json_domain(struct json *json, const struct pr_board *board, unsigned number)
{
    const struct pr_domain *domain = &board->domain[number];

    json_object(json, NULL);
    json_string(json, "name", domain->name);
    json_number(json, "address", domain->address);
    json_string(json, "parent", pr_board_parent(board, number));
    json_array(json, "powers");
    for (unsigned i = 0; i < PR_POWERED_COUNT; i++)
        if (domain->powers & PR_POWERED_BIT(i))
            json_string(json, NULL, powered_name[i]);
    json_array_end(json);
    json_object_end(json);
}

static void json_power_word(struct json *json)
{
    json_array(json, "power_state_word");
    for (unsigned i = 0; i < BASE_COUNT_OF(word_field); i++) {
        json_object(json, NULL);
        json_string(json, "name", word_field[i].name);
        json_number(json, "lowest_bit", word_field[i].lo);
        json_number(json, "bits", word_field[i].width);
        json_string(json, "meaning", word_field[i].meaning);
        json_object_end(json);
    }
    json_array_end(json);
}

static void json_board(struct json *json, const struct pr_board *board)
{
    struct base base[BASES];

    list_bases(board, base);
    json_object(json, NULL);
    json_string(json, "name", board->name);
    json_number(json, "interrupt", board->interrupt);
    json_number(json, "dart_interrupt", board->dart_interrupt);
    json_string(json, "page_table", pr_leaf_form_name(board->form));
    json_string(json, "source", board->source);
    json_object(json, "bases");
    for (unsigned i = 0; i < BASES; i++)
        json_number(json, base[i].name, base[i].address);
    json_object_end(json);
    json_array(json, "domains");
    for (unsigned i = 0; i < board->domains; i++)
        json_domain(json, board, i);
    json_array_end(json);
    json_object_end(json);
}

static void json_sizes(struct json *json)
{
    json_object(json, "sizes");
    json_number(json, "page", PR_PAGE_BYTES);
    json_number(json, "dart_aperture", PR_DART_APERTURE_BYTES);
    json_number(json, "dart_streams", PR_DART_STREAMS);
    json_number(json, "task_queues", PR_TQ_COUNT);
    json_number(json, "task_queue_stride", PR_TQ_STRIDE);
    json_number(json, "buffer_registers", PR_TQ_BARS);
    json_number(json, "l2", PR_L2_BYTES);
    json_number(json, "neural_engines", PR_ENGINES_MAX);
    json_number(json, "descriptor_words", PR_TD_WORDS_MAX);
    json_number(json, "descriptor_alignment", PR_TD_ALIGN);
    json_object_end(json);
}

/* The service that this process uses, or NULL; *wrong: ANEMONE_SERVICE names one that does not answer. */
static const char *find_service(bool *wrong)
{
    const char *path = ane_service_name();

    *wrong = !path && ane_machine_error()[0];
    if (*wrong)
        tool_say("%s", ane_machine_error());
    return path;
}

static bool show_registry(const char *service, unsigned chip, struct json *json)
{
    return service ? tool_registry_show_service(service, json) : tool_registry_show(chip, json);
}

int tool_info(int argc, char **argv)
{
    bool as_json = false;
    const char *chip = NULL, *service = NULL;
    const struct tool_option options[] = {{"json", &as_json, NULL}, {"chip", NULL, &chip}, {0}};
    const struct pr_board *only;
    struct json json;
    unsigned count, shown;
    bool done, wrong = false;

    if (!tool_words(argc, argv, options, NULL, 0, &count))
        return TOOL_USAGE;
    only = chip ? pr_board_find(chip) : NULL;
    if (chip && !only) {
        tool_say("there is no board %s; t6000 and t8103 are known.", chip);
        return TOOL_USAGE;
    }
    if (!chip)
        service = find_service(&wrong);
    if (wrong)
        return TOOL_FAILURE;
    shown = only ? (unsigned)(only - pr_board_table) : PR_CHIP_T6000;
    if (as_json) {
        json_begin(&json, stdout);
        json_string(&json, "version", ANEMONE_VERSION);
        json_string(&json, "default_board", pr_board_table[PR_CHIP_T6000].name);
        json_array(&json, "boards");
    }
    for (unsigned i = 0; i < PR_CHIP_COUNT; i++) {
        if (only && only != &pr_board_table[i])
            continue;
        if (as_json)
            json_board(&json, &pr_board_table[i]);
        else
            print_board(&pr_board_table[i]);
    }
    if (!as_json) {
        print_power_word();
        print_sizes();
        return show_registry(service, shown, NULL) ? TOOL_OK : TOOL_FAILURE;
    }
    json_array_end(&json);
    json_power_word(&json);
    json_sizes(&json);
    done = show_registry(service, shown, &json);
    json_end(&json);
    return done ? TOOL_OK : TOOL_FAILURE;
}
