/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The retained block. Its checksum is right between any two commands: what is written to a word is also put
 * into the checksum, which costs the same however large the block is.
 */
#include "firmware/retained.h"

#include "firmware/log.h"
#include "firmware/shared.h"

#define WORDS         (sizeof(struct fw_retained) / 8)
#define COMMAND_WORDS (sizeof(struct pr_dump_command) / 8)
_Static_assert(sizeof(struct pr_dump_command) % 8 == 0 && COMMAND_WORDS == 4, "a command is four words");

static uint64_t sum(const struct fw_retained *block)
{
    const uint64_t *word = (const void *)block;
    uint64_t all = block->checksum;

    for (size_t i = 0; i < WORDS; i++)
        all ^= word[i];
    return all;
}

static uint64_t sum_command(const struct pr_dump_command *command)
{
    uint64_t word[COMMAND_WORDS];

    rt_memcpy(word, command, sizeof(word));
    return word[0] ^ word[1] ^ word[2] ^ word[3];
}

static uint32_t count_restart(struct fw *fw)
{
    const uint64_t save = rt_port_sysreg_read(fw->port, PR_SYSREG_PWR_DN_SAVE);
    const uint32_t restarts = save & PR_SAVE_VALID ? PR_SAVE_RESTARTS(save) + 1 : 0;

    rt_port_sysreg_write(fw->port, PR_SYSREG_PWR_DN_SAVE, PR_SAVE_VALID | restarts);
    return restarts;
}

void fw_retained_boot(struct fw *fw, const struct fw_reset *reset, bool warm)
{
    struct fw_retained *block =
        reset->retained && reset->retained_bytes >= sizeof(*block) ? reset->retained : &fw->own_retained;
    const bool whole = block->magic == FW_RETAINED_MAGIC && block->checksum == sum(block);

    fw->retained = block;
    fw->count[FW_FAULTED] = count_restart(fw);
    if (warm && whole) {
        fw_log_quiet(fw, RT_LOG_INFO, "warm boot %llu: %llu commands and %llu log lines are kept",
                     (unsigned long long)fw->count[FW_FAULTED], (unsigned long long)block->total,
                     (unsigned long long)block->lines);
        return;
    }
    if (warm)
        fw_log_quiet(fw, RT_LOG_WARNING, "warm boot %llu: the retained block is not whole and is cleared",
                     (unsigned long long)fw->count[FW_FAULTED]);
    else
        fw_log_quiet(fw, RT_LOG_INFO, "cold boot %llu", (unsigned long long)fw->count[FW_FAULTED]);
    rt_memset(block, 0, sizeof(*block));
    block->magic = block->checksum = FW_RETAINED_MAGIC;
}

static void put(struct fw_retained *block, uint32_t ticket, const struct pr_dump_command *command)
{
    struct pr_dump_command *entry = &block->command[ticket % PR_DUMP_COMMANDS_MAX];

    block->checksum ^= sum_command(entry) ^ sum_command(command);
    *entry = *command;
}

uint32_t fw_retained_take(struct fw *fw, enum pr_channel channel, uint32_t id, uint32_t program,
                          uint32_t process, uint32_t procedure)
{
    struct fw_retained *block = fw->retained;
    const uint32_t ticket = (uint32_t)block->total;
    const struct pr_dump_command command = {.time = fw_shared_host_time(fw),
                                            .channel = channel,
                                            .id = id,
                                            .program = program,
                                            .process = process,
                                            .procedure = procedure,
                                            .status = PR_DUMP_UNANSWERED};

    put(block, ticket, &command);
    block->checksum ^= block->total ^ (block->total + 1);
    block->total++;
    return ticket;
}

void fw_retained_end(struct fw *fw, uint32_t ticket, uint32_t status)
{
    struct fw_retained *block = fw->retained;
    struct pr_dump_command command = block->command[ticket % PR_DUMP_COMMANDS_MAX];

    if ((uint32_t)block->total - ticket > PR_DUMP_COMMANDS_MAX)
        return; /* newer ones have its place */
    command.status = status;
    put(block, ticket, &command);
}

void fw_retained_line(struct fw *fw)
{
    struct fw_retained *block = fw->retained;

    block->checksum ^= block->lines ^ (block->lines + 1);
    block->lines++;
}

void fw_retained_list(const struct fw *fw, struct pr_dump_commands *list)
{
    const struct fw_retained *block = fw->retained;

    list->total = block->total;
    list->count = block->total < PR_DUMP_COMMANDS_MAX ? (uint32_t)block->total : PR_DUMP_COMMANDS_MAX;
    for (uint32_t i = 0; i < list->count; i++)
        list->command[i] = block->command[(block->total - 1 - i) % PR_DUMP_COMMANDS_MAX];
}
