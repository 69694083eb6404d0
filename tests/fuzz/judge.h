/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `anemone check` and `anemone inspect` make of a program, for the
 * targets that have one: it ends, and says something.
 */
#ifndef TESTS_FUZZ_JUDGE_H
#define TESTS_FUZZ_JUDGE_H

#include <stdlib.h>

#include "program/activation.h"
#include "listing/check.h"
#include "tool/sentence.h"

static void judge_take(void *context, enum pr_finding finding, const struct pr_problem *problem)
{
    if (problem->kind == PR_PROBLEM_NONE || problem->text[0] == '\0' || !pr_outcome_text(problem->outcome)[0])
        abort();
    if (finding == PR_FINDING_PROBLEM)
        ++*(unsigned *)context;
}

static void judge_task(const struct pr_task *task)
{
    char buffer[TOOL_SENTENCE_BYTES];
    struct pr_text text;

    pr_text_init(&text, buffer, sizeof(buffer));
    tool_task_sentence(task, &text);
    if (text.full || !text.length)
        abort();
}

/* Every descriptor that can be decoded has its sentence. */
static void judge_sentences(const struct pr_check_program *program)
{
    static struct pr_image image;
    static struct pr_task task;
    static struct pr_td td;
    struct pr_chain_link link;
    struct pr_chain chain;
    enum pr_chain_step step;

    image = (struct pr_image){{0}};
    pr_chain_begin(&chain, program->text, program->text_bytes, program->first_words, program->count);
    while ((step = pr_chain_next(&chain, &link, NULL)) != PR_CHAIN_END) {
        if (step != PR_CHAIN_LINK || !pr_td_read(program->text + link.offset, link.words, &td, NULL))
            continue;
        pr_td_apply(&td, &image);
        if (pr_task_decode(&td, &image, &task, NULL))
            judge_task(&task);
    }
}

/* A lenient check has nothing against a program that is good. */
static void judge_leniently(const struct pr_check_program *program, bool good)
{
    static struct pr_check_program lenient;
    static struct pr_flow flow;
    unsigned problems = 0;

    lenient = *program;
    lenient.lenient = true;
    if (pr_check_program(&lenient, &flow, judge_take, &problems) != (problems == 0) || (good && problems))
        abort();
}

/* True when nothing but remarks was found. A program is found good only when its stream is. */
static bool judge(const struct pr_check_program *program)
{
    static struct pr_flow flow;
    unsigned problems = 0, in_stream = 0;
    bool good = pr_check_program(program, &flow, judge_take, &problems);

    pr_check_stream(program->text, program->text_bytes, program->first_words, program->count, judge_take,
                    &in_stream);
    if (good != (problems == 0) || problems < in_stream)
        abort();
    judge_leniently(program, good);
    judge_sentences(program);
    return good;
}

#endif
