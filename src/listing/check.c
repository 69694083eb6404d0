/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judgement of a stream, and of a program with its buffers. So that one fault does not hide the
 * next, a value or bit that was refused is corrected in a copy where that is possible, and the copy is judged
 * again, for a limited number of findings. The stream itself is not changed.
 */
#include "listing/check.h"

#include <string.h>

#include "program/experiment.h"

#define WORDS_REPORTED  16u /* words with unexplained bits, per descriptor */
#define FIELDS_REPORTED 16u /* values that are not run, per descriptor */

struct check {
    const uint8_t *bytes;
    size_t size;
    pr_check_report report;
    void *context;
    bool clean;
    bool lenient;         /* what a lenient machine ignores is a remark */
    bool heard;           /* the remarks about this descriptor were made: it is read again after a repair */
    struct pr_flow *flow; /* NULL when only the stream is judged */
    uint32_t written;     /* bit b: block b has been written by some descriptor, or its absence reported */
    uint32_t current;     /* index of the descriptor in td */
    struct pr_td td;
    struct pr_image image;
    struct pr_task task;
    uint8_t other[4 * PR_TD_WORDS_MAX]; /* a descriptor that is tried in another way */
};

/* Where the descriptor at hand writes the register of a finding; left alone when an earlier one wrote it. */
static void place(const struct check *check, struct pr_problem *problem)
{
    uint32_t address = problem->reg ? pr_reg_table[problem->reg - 1].address : 0;

    if (problem->address)
        address = problem->address;
    else if (!problem->reg)
        return;
    for (uint32_t r = 0; r < check->td.record_count; r++) {
        const struct pr_record *record = &check->td.record[r];

        if (address >= record->address && address < record->address + 4u * record->count)
            problem->offset = 4 * (record->offset + 1u) + address - record->address;
    }
}

static void report(struct check *check, enum pr_finding finding, uint32_t descriptor,
                   struct pr_problem *problem)
{
    problem->descriptor = descriptor;
    if (problem->offset == 0)
        place(check, problem);
    if (problem->outcome == PR_OUTCOME_UNKNOWN)
        problem->outcome = pr_problem_outcome(problem->kind);
    if (finding == PR_FINDING_PROBLEM)
        check->clean = false;
    check->report(check->context, finding, problem);
}

/* The flow's findings; those at the end of the chain may be about a descriptor that is no longer at hand. */
static void report_flow(void *context, enum pr_finding finding, const struct pr_problem *problem)
{
    struct check *check = context;
    struct pr_problem placed = *problem;

    if (placed.offset == 0 && placed.descriptor == check->current)
        place(check, &placed);
    check->report(check->context, finding, &placed);
}

/* What a lenient machine ignores. */
static void report_ignored(void *context, const struct pr_problem *ignored)
{
    struct check *check = context;
    struct pr_problem problem = *ignored;

    if (!check->heard)
        report(check, PR_FINDING_REMARK, check->current, &problem);
}

static struct pr_ignore ignore_of(struct check *check)
{
    return (struct pr_ignore){report_ignored, check};
}

/* pr_td_explained names one word; with its bits cleared in our copy it names the next. */
static void check_bits(struct check *check, uint32_t descriptor)
{
    const struct pr_ignore ignore = ignore_of(check);
    struct pr_td td = check->td;
    struct pr_problem problem = {0};

    check->heard = false;
    for (unsigned i = 0; i < WORDS_REPORTED; i++) {
        if (pr_td_explained_lenient(&td, check->lenient ? &ignore : NULL, &problem))
            return;
        report(check, PR_FINDING_PROBLEM, descriptor, &problem);
        check->heard = true;
        td.word[problem.offset / 4] &= ~problem.bits;
        memset(&problem, 0, sizeof(problem));
    }
}

/* In every public sample LNID is 0 on the first descriptor of a network and 1 on the others. */
static void check_first(struct check *check, uint32_t descriptor)
{
    struct pr_problem problem = {0};
    uint32_t expected = descriptor ? 1 : 0;

    if (pr_td_header(&check->td, PR_H_LNID) == expected)
        return;
    problem.bits = pr_td_header(&check->td, PR_H_LNID);
    pr_problem_set(
        &problem, PR_PROBLEM_INCONSISTENT,
        "Descriptor %u has LNID %u; in all known programs it is 0 on the first and 1 on the others.",
        descriptor, problem.bits);
    report(check, PR_FINDING_REMARK, descriptor, &problem);
}

/* A header field's remark or problem. */
static void report_header(struct check *check, enum pr_finding finding, uint32_t descriptor,
                          enum pr_td_header_field field, enum pr_outcome outcome, const char *why)
{
    const struct pr_field_info *info = &pr_header_table[field];
    struct pr_problem problem = {.offset = 4u * info->owner, .outcome = outcome};

    problem.bits = pr_td_header(&check->td, field);
    pr_problem_set(&problem, PR_PROBLEM_INCONSISTENT, "Header word %u field %s is %u: %s.", info->owner,
                   info->name, problem.bits, why);
    report(check, finding, descriptor, &problem);
}

/* What the header says of the chain and of the operands, against what the chain and the task are. */
static void check_header(struct check *check, uint32_t descriptor)
{
    if (pr_td_header(&check->td, PR_H_NEXT_POINTER) && !pr_td_header(&check->td, PR_H_TBE))
        report_header(check, PR_FINDING_PROBLEM, descriptor, PR_H_TBE, PR_OUTCOME_HANG,
                      "NextPointer is not 0, and there is no buffer to fetch the next descriptor from");
}

static void check_places(struct check *check, uint32_t descriptor)
{
    bool from_dram = check->task.src[0].home == PR_HOME_DRAM || check->task.src[1].home == PR_HOME_DRAM;
    bool to_dram = check->task.dst.home == PR_HOME_DRAM;

    if (pr_td_header(&check->td, PR_H_SRC_LOC) != from_dram)
        report_header(check, PR_FINDING_REMARK, descriptor, PR_H_SRC_LOC, PR_OUTCOME_UNKNOWN,
                      "in all known programs it is 1 when a source comes by DMA and 0 when none does");
    if (pr_td_header(&check->td, PR_H_DST_LOC) != to_dram)
        report_header(check, PR_FINDING_REMARK, descriptor, PR_H_DST_LOC, PR_OUTCOME_UNKNOWN,
                      "in all known programs it is 1 when the result goes out by DMA and 0 when not");
}

/* Which registers a task reads, by block. */
static uint32_t blocks_used(const struct pr_task *task)
{
    uint32_t blocks = 1u << PR_BLOCK_COMMON | 1u << PR_BLOCK_L2;

    blocks |= 1u << (task->unit == PR_UNIT_NE ? PR_BLOCK_NE : PR_BLOCK_PE);
    if (task->src[0].home == PR_HOME_DRAM || task->src[1].home == PR_HOME_DRAM)
        blocks |= 1u << PR_BLOCK_TILE_SRC;
    if (task->dst.home == PR_HOME_DRAM)
        blocks |= 1u << PR_BLOCK_TILE_DST;
    return blocks;
}

static void check_written(struct check *check, uint32_t descriptor)
{
    uint32_t missing;

    for (uint32_t r = 0; r < check->td.record_count; r++) {
        uint32_t element, index = (uint32_t)pr_image_index(check->td.record[r].address);

        check->written |= 1u << pr_reg_table[pr_image_reg(index, &element)].block;
    }
    missing = blocks_used(&check->task) & ~check->written;
    for (unsigned b = 0; b < PR_BLOCK_COUNT; b++) {
        struct pr_problem problem = {.address = pr_block_table[b].base, .outcome = PR_OUTCOME_STALE};

        if (!(missing >> b & 1))
            continue;
        pr_problem_set(
            &problem, PR_PROBLEM_INCONSISTENT,
            "The task reads block %s (registers from %x), which no descriptor of this program has written.",
            pr_block_table[b].name, pr_block_table[b].base);
        report(check, PR_FINDING_REMARK, descriptor, &problem);
    }
    check->written |= missing;
}

/* A descriptor that cannot be framed: the header length or the size that would fit instead. */
static void check_framing(struct check *check, const struct pr_chain_link *link, uint32_t broken_at)
{
    const uint8_t *bytes = check->bytes + link->offset;
    uint32_t words = broken_at / 4, extended = pr_le32(bytes + 24) >> 24 & 1;
    struct pr_problem problem = {.offset = 24, .bits = extended, .outcome = PR_OUTCOME_HANG};

    memcpy(check->other, bytes, (size_t)4 * link->words);
    check->other[27] ^= 1; /* TDE */
    if (pr_td_read(check->other, link->words, &check->td, NULL)) {
        pr_problem_set(&problem, PR_PROBLEM_INCONSISTENT,
                       "TDE is %u, so the header has %u words; the records are whole when it has %u.",
                       extended, PR_TD_HEADER_WORDS + extended, PR_TD_HEADER_WORDS_EXTENDED - extended);
    } else if (words > PR_TD_HEADER_WORDS_EXTENDED && pr_td_read(bytes, words, &check->td, NULL)) {
        problem.offset = problem.bits = broken_at;
        pr_problem_set(&problem, PR_PROBLEM_OVER_DECLARED,
                       "The records end cleanly after %u words; the declared size is %u.", words,
                       link->words);
    } else {
        return;
    }
    report(check, PR_FINDING_REMARK, link->index, &problem);
}

static bool writes(const struct pr_td *td, uint32_t address, uint32_t count)
{
    for (uint32_t r = 0; r < td->record_count; r++)
        if (address < td->record[r].address + 4u * td->record[r].count &&
            td->record[r].address < address + 4 * count)
            return true;
    return false;
}

/*
 * What follows a descriptor up to the next boundary is padding; a record there was meant to be part of it,
 * unless it writes what the descriptor has written, which no known one does.
 */
static void check_after(struct check *check, const struct pr_chain_link *link)
{
    uint64_t end = link->offset + 4ull * link->words;
    struct pr_problem problem = {.offset = 4 * link->words, .outcome = PR_OUTCOME_STALE};
    uint32_t word, address, count;
    int first;

    if (end % PR_TD_ALIGN == 0 || end + 4 > check->size)
        return;
    word = pr_le32(check->bytes + end);
    address = word & 0x3ffffffu;
    count = pr_bits_get(word, 26, 6) + 1;
    first = pr_image_index(address);
    if (!word || first < 0 || pr_image_index(address + 4 * (count - 1)) != first + (int)count - 1 ||
        writes(&check->td, address, count))
        return;
    problem.address = address;
    problem.bits = word;
    pr_problem_set(
        &problem, PR_PROBLEM_INCONSISTENT,
        "The descriptor declares %u words, but the word after them (%x) is a record of %u registers from "
        "%x: the declared size is too small.",
        link->words, word, count, address);
    report(check, PR_FINDING_PROBLEM, link->index, &problem);
}

/* All extents that are 0 or too large; none when all are 0, which is one fault and not ten. */
static bool check_extents(struct check *check, uint32_t descriptor)
{
    unsigned zeros = 0, wrong = 0;

    for (unsigned i = 0; i < PR_AXIS_FIELDS; i++)
        zeros += pr_image_get(&check->image, pr_axis_fields[i].field) == 0;
    if (zeros == PR_AXIS_FIELDS)
        return true;
    for (unsigned i = 0; i < PR_AXIS_FIELDS; i++) {
        const struct pr_axis_field *axis = &pr_axis_fields[i];
        const struct pr_field_info *info = &pr_field_table[axis->field];
        uint32_t value = pr_image_get(&check->image, axis->field);
        struct pr_problem problem = {.address = pr_reg_table[info->owner].address,
                                     .reg = (uint16_t)(info->owner + 1),
                                     .field = (uint16_t)(axis->field + 1),
                                     .bits = value};

        if (value && value <= axis->limit)
            continue;
        if (pr_experiment_hangs(problem.address, check->image.word[pr_reg_table[info->owner].first],
                                !pr_td_header(&check->td, PR_H_ENE)))
            problem.outcome = PR_OUTCOME_PUBLISHED_HANG;
        pr_problem_set(&problem, value ? PR_PROBLEM_LIMIT : PR_PROBLEM_INCONSISTENT,
                       "Common.%s.%s (register %x) is %u: the axis has 1 to %u.",
                       pr_reg_table[info->owner].name, info->name, problem.address, value, axis->limit);
        report(check, PR_FINDING_PROBLEM, descriptor, &problem);
        wrong++;
    }
    return wrong == 0;
}

/* Gives the refused field a value that is run, so that the next refusal can be reported. */
static bool repair(struct check *check, struct pr_image *image, const struct pr_problem *problem)
{
    int index = pr_image_index(problem->address);
    uint32_t element, value;

    for (unsigned i = 0; problem->offset && i < PR_H_COUNT; i++) {
        const struct pr_field_info *info = &pr_header_table[i];

        if (info->owner != problem->offset / 4 || !info->accepted)
            continue;
        check->td.word[info->owner] = pr_bits_put(check->td.word[info->owner], info->lo, info->width, 0);
        return true;
    }
    if (index < 0 || problem->kind != PR_PROBLEM_UNSUPPORTED)
        return false;
    for (unsigned i = 0; i < PR_F_COUNT; i++) {
        const struct pr_field_info *info = &pr_field_table[i];

        if (info->owner != (uint16_t)pr_image_reg((uint32_t)index, &element) || !info->accepted)
            continue;
        value = pr_image_get_at(image, (enum pr_td_field)i, element);
        if (value != problem->bits || (value < 32 && info->accepted >> value & 1))
            continue;
        for (value = 0; !(info->accepted >> value & 1);)
            value++;
        pr_image_put_at(image, (enum pr_td_field)i, element, value);
        return true;
    }
    return false;
}

/* True when the task is known. */
static bool check_task(struct check *check, uint32_t descriptor)
{
    const struct pr_ignore ignore = ignore_of(check);
    struct pr_image image = check->image;
    unsigned reported = 0;

    memset(&check->task, 0, sizeof(check->task));
    if (!check_extents(check, descriptor))
        return false;
    check->heard = false;
    for (; reported < FIELDS_REPORTED; reported++) {
        struct pr_problem problem = {0};

        if (pr_task_decode_lenient(&check->td, &image, check->lenient ? &ignore : NULL, &check->task,
                                   &problem))
            break;
        check->heard = true;
        report(check, PR_FINDING_PROBLEM, descriptor, &problem);
        if (!repair(check, &image, &problem))
            return false;
    }
    return reported == 0;
}

static void check_descriptor(struct check *check, const struct pr_chain_link *link)
{
    const struct pr_ignore ignore = ignore_of(check);
    struct pr_problem problem = {0};
    bool known;

    check->current = link->index;
    check->heard = false;
    check->td.record_count = 0;
    if (!pr_td_read_lenient(check->bytes + link->offset, link->words, check->lenient ? &ignore : NULL,
                            &check->td, &problem)) {
        report(check, PR_FINDING_PROBLEM, link->index, &problem);
        if (check->flow) {
            check_framing(check, link, problem.offset);
            pr_flow_gap(check->flow);
        }
        return;
    }
    check_first(check, link->index);
    check_bits(check, link->index);
    pr_td_apply(&check->td, &check->image);
    if (check->flow) {
        check_header(check, link->index);
        check_after(check, link);
    }
    known = check_task(check, link->index);
    if (!check->flow)
        return;
    if (!known) {
        pr_flow_places(check->flow, link->index, &check->task);
        pr_flow_gap(check->flow);
        return;
    }
    check_written(check, link->index);
    check_places(check, link->index);
    pr_flow_task(check->flow, link->index, &check->task);
}

static bool check_chain(struct check *check, uint32_t first_words, uint32_t count)
{
    struct pr_chain_link link;
    struct pr_problem problem;
    struct pr_chain chain;

    pr_chain_begin(&chain, check->bytes, check->size, first_words, count);
    for (;;) {
        switch (pr_chain_next(&chain, &link, &problem)) {
        case PR_CHAIN_LINK: check_descriptor(check, &link); break;
        case PR_CHAIN_FAULT: report(check, PR_FINDING_PROBLEM, problem.descriptor, &problem); break;
        case PR_CHAIN_END: return check->clean;
        }
    }
}

bool pr_check_stream(const void *bytes, size_t size, uint32_t first_words, uint32_t count,
                     pr_check_report callback, void *context)
{
    struct check check = {
        .bytes = bytes, .size = size, .report = callback, .context = context, .clean = true};

    return check_chain(&check, first_words, count);
}

bool pr_check_program(const struct pr_check_program *program, struct pr_flow *flow, pr_check_report callback,
                      void *context)
{
    struct check check = {.bytes = program->text,
                          .size = program->text_bytes,
                          .report = callback,
                          .context = context,
                          .clean = true,
                          .lenient = program->lenient,
                          .flow = flow};

    pr_flow_begin(flow, &program->buffers, report_flow, &check);
    check_chain(&check, program->first_words, program->count);
    return pr_flow_end(flow) && check.clean;
}

static void bind(struct pr_flow_buffers *buffers, uint32_t bar, enum pr_flow_role role, uint64_t bytes)
{
    buffers->bar[bar].role = role;
    buffers->bar[bar].bytes = bytes;
}

void pr_check_program_of(struct pr_check_program *program, const void *file, const struct pr_hwx *hwx)
{
    struct pr_flow_buffers *b = &program->buffers;

    memset(program, 0, sizeof(*program));
    program->text = (const uint8_t *)file + hwx->text.offset;
    program->text_bytes = (size_t)hwx->text.size;
    program->first_words = hwx->first_td_words;
    program->count = hwx->td_count;
    b->known = true;
    bind(b, PR_HWX_BAR_TEXT, PR_ROLE_TEXT, hwx->text.size);
    if (hwx->constant.size) {
        bind(b, PR_HWX_BAR_CONST, PR_ROLE_CONSTANT, hwx->constant.size);
        b->constants = (const uint8_t *)file + hwx->constant.offset;
    }
    if (hwx->intermediate_bytes)
        bind(b, PR_HWX_BAR_INTERMEDIATE, PR_ROLE_SCRATCH, hwx->intermediate_bytes);
    for (uint32_t i = 0; i < hwx->port_count; i++)
        bind(b, hwx->port[i].bar, hwx->port[i].direction == PR_HWX_INPUT ? PR_ROLE_INPUT : PR_ROLE_OUTPUT,
             hwx->port[i].bytes);
}
