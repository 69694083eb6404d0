/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dump as text. The file may be anyone's: sections are copied into structs of their own, counts are cut to
 * what a struct holds, and texts are printed up to their end or their size, without control characters.
 */
#include "tool/dump.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "protocol/channel.h"
#include "protocol/commands.h"
#include "protocol/dump.h"
#include "protocol/execution.h"
#include "protocol/message.h"
#include "tool/tool.h"

/* Table 29.1, in its order. */
static const char *const task_states[] = {"RUNNABLE", "SUSPENDED", "WAITING", "SEMWAIT", "BLOCKED"};

static uint32_t least(uint32_t count, uint32_t most)
{
    return count < most ? count : most;
}

/* At most 128 characters; the buffer is good until the next call. */
static const char *text_of(const char *from, size_t size)
{
    static char text[PR_DUMP_TEXT_BYTES + 1];
    size_t at = 0;

    for (; at < size && at < PR_DUMP_TEXT_BYTES && from[at]; at++)
        text[at] = isprint((unsigned char)from[at]) ? from[at] : '.';
    text[at] = '\0';
    return text;
}

/* Ids of the execution loop are another set. */
static const char *name_of(uint32_t channel, uint32_t id)
{
    const char *name = channel == PR_CHANNEL_DATA_CHAIN_H2T ? pr_exeloop_name(id) : pr_command_name(id);

    return name ? name : "no known command";
}

static void print_exception(const struct pr_dump *dump)
{
    struct pr_dump_exception e;

    pr_dump_copy(dump, PR_DUMP_EXCEPTION, &e, sizeof(e));
    printf("  class      %u, %s\n", e.fault_class, pr_fault_class_name(e.fault_class));
    printf("  text       %s\n", text_of(e.text, sizeof(e.text)));
    printf("  time       %" PRIu64 " ns of the controller, %" PRIu64 " ns of the host\n", e.time,
           e.host_time);
}

static void print_syndrome(const struct pr_dump *dump)
{
    struct pr_dump_syndrome s;

    pr_dump_copy(dump, PR_DUMP_SYNDROME, &s, sizeof(s));
    printf("  FAR        0x%016" PRIx64 "\n", s.far);
    printf("  ESR        0x%016" PRIx64 ", exception class 0x%02x\n", s.esr, (unsigned)(s.esr >> 26 & 0x3f));
}

static void print_registers(const struct pr_dump *dump)
{
    struct pr_dump_registers r;

    pr_dump_copy(dump, PR_DUMP_REGISTERS, &r, sizeof(r));
    if (!r.valid) {
        printf("  not captured\n");
        return;
    }
    for (unsigned i = 0; i < BASE_COUNT_OF(r.x); i++)
        printf("  x%-3u 0x%016" PRIx64 "%s", i, r.x[i], i % 4 == 3 ? "\n" : "");
    printf("\n  sp   0x%016" PRIx64 "  pc   0x%016" PRIx64 "  pstate 0x%" PRIx64 "\n", r.sp, r.pc, r.pstate);
}

static void print_cache(const struct pr_dump *dump)
{
    struct pr_dump_cache c;

    pr_dump_copy(dump, PR_DUMP_CACHE, &c, sizeof(c));
    printf("  L2C_ERR_STS 0x%" PRIx64 "  L2C_ERR_ADR 0x%" PRIx64 "  L2C_ERR_INF 0x%" PRIx64 "\n",
           c.l2c_err_sts, c.l2c_err_adr, c.l2c_err_inf);
    printf("  LSU_ERR_STS 0x%" PRIx64 "  FED_ERR_STS 0x%" PRIx64 "  MMU_ERR_STS 0x%" PRIx64 "\n",
           c.lsu_err_sts, c.fed_err_sts, c.mmu_err_sts);
    printf("  ACC_PWR_DN_SAVE 0x%" PRIx64 "\n", c.pwr_dn_save);
}

static void print_restarts(const struct pr_dump *dump)
{
    struct pr_dump_restarts r;

    pr_dump_copy(dump, PR_DUMP_RESTARTS, &r, sizeof(r));
    printf("  %" PRIu64 "\n", r.count);
}

static void print_number(const char *name, uint32_t number)
{
    if (number == PR_NO_ID)
        printf("  %s -", name);
    else
        printf("  %s %u", name, number);
}

static void print_commands(const struct pr_dump *dump)
{
    struct pr_dump_commands c;

    pr_dump_copy(dump, PR_DUMP_COMMANDS, &c, sizeof(c));
    printf("  the last %u of %" PRIu64 "\n", least(c.count, PR_DUMP_COMMANDS_MAX), c.total);
    for (uint32_t i = 0; i < least(c.count, PR_DUMP_COMMANDS_MAX); i++) {
        const struct pr_dump_command *one = &c.command[i];
        const bool known = one->channel < PR_CHANNEL_COUNT;

        printf("  %12" PRIu64 " ns  %-14s 0x%-4x %-24s", one->time,
               known ? pr_channel_table[one->channel].name : "?", one->id, name_of(one->channel, one->id));
        print_number("program", one->program);
        print_number("process", one->process);
        print_number("procedure", one->procedure);
        if (one->status == PR_DUMP_UNANSWERED)
            printf("  not answered\n");
        else
            printf("  %s (status %u)\n", pr_status_text(one->status), one->status);
    }
}

static void print_task(const struct pr_dump *dump)
{
    struct pr_dump_task t;

    pr_dump_copy(dump, PR_DUMP_TASK, &t, sizeof(t));
    printf("  %s, processor %u, hardware thread %u\n",
           t.name[0] ? text_of(t.name, sizeof(t.name)) : "before the kernel was started", t.processor,
           t.thread);
    if (t.in_interrupt)
        printf("  in the handler of interrupt line %u\n", t.line);
}

static void print_stack(const struct pr_dump *dump)
{
    struct pr_dump_stack s;

    pr_dump_copy(dump, PR_DUMP_STACK, &s, sizeof(s));
    if (!s.count)
        printf("  not captured\n");
    for (uint32_t i = 0; i < least(s.count, PR_DUMP_FRAMES_MAX); i++)
        printf("  %2u  image + 0x%" PRIx64 "\n", i, s.frame[i]);
}

static void print_call(const struct pr_dump_call *call)
{
    static const char *const places[] = {
#define X(id, number, name) [number] = name,
        PR_DUMP_CALL_STATES(X)
#undef X
    };
    static const char *const parts[] = {
#define X(id, name) name,
        PR_SCHEDULER_KEY(X)
#undef X
    };

    printf("  %-7s cookie 0x%" PRIx64
           "  program %u  process %u  procedure %u  level %u  network %u  stream %u\n",
           call->place < BASE_COUNT_OF(places) ? places[call->place] : "?", call->cookie, call->program,
           call->process, call->procedure, call->level, call->network, call->stream);
    printf("         ");
    for (unsigned i = 0; i < PR_KEY_PARTS; i++)
        printf(" %s %u", parts[i], call->key[i]);
    printf("\n");
    printf("          %u descriptors at 0x%x, %" PRIu64 " ns old\n", call->descriptors, call->text,
           call->age_ns);
}

static void print_engine(const struct pr_dump *dump)
{
    static const char *const states[] = {
#define X(id, number, name, meaning) [number] = name,
        PR_EXECUTION_STATES(X)
#undef X
    };
    struct pr_dump_engine e;

    pr_dump_copy(dump, PR_DUMP_ENGINE, &e, sizeof(e));
    printf("  execution loop in %s, task manager STATUS 0x%x, ERROR 0x%x 0x%x 0x%x, powered devices 0x%x\n",
           e.state < BASE_COUNT_OF(states) ? states[e.state] : "?", e.tm_status, e.error[0], e.error[1],
           e.error[2], e.power);
    if (!e.count)
        printf("  no call\n");
    for (uint32_t i = 0; i < least(e.count, PR_DUMP_CALLS_MAX); i++)
        print_call(&e.call[i]);
}

static void print_tasks(const struct pr_dump *dump)
{
    struct pr_dump_tasks t;

    pr_dump_copy(dump, PR_DUMP_TASKS, &t, sizeof(t));
    printf("  %-16s %-10s %8s %6s %8s %8s %7s %10s\n", "name", "state", "priority", "base", "stack", "unused",
           "thread", "runs");
    for (uint32_t i = 0; i < least(t.count, PR_DUMP_TASKS_MAX); i++) {
        const struct pr_dump_task_row *row = &t.row[i];

        printf("  %-16s %-10s %8u %6u %8u %8u %7u %10" PRIu64 "\n", text_of(row->name, sizeof(row->name)),
               row->state < BASE_COUNT_OF(task_states) ? task_states[row->state] : "?", row->priority,
               row->base_priority, row->stack_bytes, row->stack_free, row->thread, row->runs);
    }
}

static void (*const printers[PR_DUMP_SECTION_COUNT + 1])(const struct pr_dump *dump) = {
    [PR_DUMP_EXCEPTION] = print_exception, [PR_DUMP_SYNDROME] = print_syndrome,
    [PR_DUMP_REGISTERS] = print_registers, [PR_DUMP_CACHE] = print_cache,
    [PR_DUMP_RESTARTS] = print_restarts,   [PR_DUMP_COMMANDS] = print_commands,
    [PR_DUMP_TASK] = print_task,           [PR_DUMP_STACK] = print_stack,
    [PR_DUMP_ENGINE] = print_engine,       [PR_DUMP_TASKS] = print_tasks,
};

bool tool_dump_print(const char *path, const void *bytes, size_t size)
{
    struct pr_problem problem = {0};
    struct pr_dump dump;

    if (!pr_dump_read(bytes, size, &dump, &problem)) {
        tool_say("%s: %s", path, problem.text);
        return false;
    }
    printf("%s: a dump of the firmware of %s at %" PRIu64 " ns, %u sections, %s\n", path,
           text_of(dump.head.board, sizeof(dump.head.board)), dump.head.time, dump.head.sections,
           dump.head.complete ? "complete" : "incomplete");
    for (uint32_t section = 1; section <= PR_DUMP_SECTION_COUNT; section++) {
        if (!dump.section[section].at)
            continue;
        printf("\n%u. %s\n", section, pr_dump_section_name(section));
        printers[section](&dump);
    }
    return true;
}
