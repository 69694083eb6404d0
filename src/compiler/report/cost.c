/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One descriptor per record, in their order. Registers keep their values from one descriptor to the next, so
 * all are decoded on one image.
 */
#include "compiler/report/cost.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "program/chain.h"

/* The large structs of a walk. */
struct walk {
    struct pr_e5 e5;
    struct pr_td td;
    struct pr_image image;
    struct pr_task task;
};

static void describe(const struct cc_program *program, struct pr_e5 *e5)
{
    memcpy(e5->function, program->function, sizeof(e5->function));
    e5->ports = program->ports;
    memcpy(e5->port, program->port, program->ports * sizeof(e5->port[0]));
    e5->records = program->records;
    e5->record = (const uint8_t *)program->record;
    e5->intermediate_bytes = program->intermediate_bytes;
    e5->constant_bytes = program->constant_bytes;
}

static bool cost_link(struct walk *w, const uint8_t *text, const struct pr_chain_link *link,
                      const struct pr_cost_model *model, uint64_t *ns, struct pr_problem *problem)
{
    if (!pr_td_read(text + link->offset, link->words, &w->td, problem))
        return false;
    pr_td_apply(&w->td, &w->image);
    if (!pr_task_decode(&w->td, &w->image, &w->task, problem))
        return false;
    *ns = pr_cost_ns(model, &w->task);
    return true;
}

static bool cost_text(struct walk *w, const uint8_t *text, size_t size, uint32_t words,
                      const struct pr_cost_model *model, uint64_t *ns, struct pr_problem *problem)
{
    struct pr_chain_link link;
    struct pr_chain chain;
    enum pr_chain_step step;

    pr_chain_begin(&chain, text, size, words, w->e5.records);
    while ((step = pr_chain_next(&chain, &link, problem)) == PR_CHAIN_LINK)
        if (link.index >= w->e5.records || !cost_link(w, text, &link, model, &ns[link.index], problem))
            return false;
    return step == PR_CHAIN_END;
}

int cc_cost_records(const struct cc_program *program, const struct pr_cost_model *model, uint64_t *ns,
                    struct base_error *error)
{
    struct walk *w = base_alloc(sizeof(*w));
    struct pr_problem problem = {0};
    uint8_t *text = NULL;
    uint32_t words = 0;
    size_t size = 0;
    bool good = true;
    int status = 0;

    if (!w)
        return base_fail(error, ENOMEM, "There is no memory for the costs of a program.");
    describe(program, &w->e5);
    good = pr_e5_place(&w->e5, &problem);
    if (good && program->records) {
        size = pr_e5_expand(&w->e5, NULL, 0, &words, &problem);
        text = size ? base_alloc(size) : NULL;
        good = text && pr_e5_expand(&w->e5, text, size, &words, &problem) == size &&
               cost_text(w, text, size, words, model, ns, &problem);
    }
    if (size && !text)
        status = base_fail(error, ENOMEM, "There is no memory for the costs of a program.");
    else if (!good)
        status = base_fail(error, EPROTO, "The costs of the program cannot be computed: %s", problem.text);
    base_free(text);
    base_free(w);
    return status;
}
