/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: rules and constants of a task, and the choice between the reference and the fast paths.
 * A task whose destination overlaps itself runs in order, on one thread.
 */
#include "engine/ne.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "engine/finish.h"
#include "engine/ne_winograd.h"

static enum eng_kind kind_of(const struct pr_task *task)
{
    if (task->ne.mode == PR_NE_BYPASS)
        return ENG_KIND_NE_BYPASS;
    if (task->ne.mode != PR_NE_MAC)
        return ENG_KIND_NE_FOLD;
    if ((uint64_t)pr_kernel_channels(task) * pr_kernel_window(task) * task->ne.kh == 1)
        return ENG_KIND_NE_MAC_SINGLE;
    return ENG_KIND_NE_MAC;
}

/* Whether there are loops for the task. A decoded one is never refused. */
static bool is_runnable(const struct pr_task *task)
{
    const uint32_t *in = task->src[0].extent, *out = task->dst.extent;
    const struct pr_ne *n = &task->ne;

    if (n->mode == PR_NE_BYPASS)
        return true;
    if (!n->kw || !n->kh || !n->sx || !n->sy || !n->ox || n->ox > ENG_NE_OX_MAX)
        return false;
    if (in[PR_AXIS_D] != 1 || out[PR_AXIS_D] != 1 || in[PR_AXIS_G] != out[PR_AXIS_G])
        return false;
    if ((uint64_t)n->unicast * out[PR_AXIS_C] > in[PR_AXIS_C])
        return false;
    /* Without weights, no field says which columns of the window each output column of a step has. */
    if (n->mode != PR_NE_MAC)
        return n->ox == 1;
    return (n->ox == 1 || !n->ones) && n->lanes && n->engines && n->engines <= PR_ENGINES_MAX;
}

struct eng_mac_setup eng_mac_setup(const struct eng_ne *ne)
{
    const struct eng_kernels *kernels = eng_kernels_get();
    bool ceiling = ne->rules->mac & ENG_RULE_CEILING, scaled = ceiling && kernels->scaled;
    unsigned rules = ne->rules->load | ne->rules->mac;
    const struct eng_view *src = &ne->operands.src[0];
    struct eng_mac_setup setup = {
        .kernels = kernels,
        .input = {.rules = eng_view_rules(src, rules),
                  .relu = src->relu,
                  .scale = scaled ? ENG_SCALE_INPUT : 1},
        .weight = {.rules = rules, .scale = scaled ? ENG_SCALE_WEIGHT : 1},
        .finish = ne->finish,
        .ceiling = ceiling && !scaled ? ENG_CEILING : INFINITY,
    };

    if (scaled)
        setup.finish.unscale = ENG_UNSCALE;
    return setup;
}

static int run_group(const struct eng_ne *ne, enum eng_path path)
{
    bool in_order = eng_view_overlaps_itself(&ne->operands.dst);
    int error;

    if (ne->exact && (path == ENG_PATH_REFERENCE || in_order || ne->task->ne.ox > 1))
        return eng_ne_reference(ne, in_order ? NULL : ne->pool);
    if (ne->exact)
        return eng_ne_exact(ne);
    if (path == ENG_PATH_REFERENCE || in_order)
        return eng_ne_reference(ne, NULL);
    if (ne->winograd)
        return eng_ne_winograd(ne);
    error = eng_ne_gemv(ne);
    if (error != -ENOTSUP)
        return error;
    if (ne->task->ne.mode == PR_NE_MAC && !ne->task->ne.unicast && ne->task->ne.ox == 1)
        return eng_ne_mac_fast(ne);
    error = eng_ne_window(ne);
    if (error == -ENOTSUP)
        error = eng_ne_select(ne);
    return error == -ENOTSUP ? eng_ne_columns(ne) : error;
}

static void open_group(struct eng_ne *ne, const struct eng_operands *operands, uint32_t group)
{
    ne->operands.src[0] = eng_view_group(&operands->src[0], group);
    ne->operands.dst = eng_view_group(&operands->dst, group);
    ne->group = pr_kernel_groups(ne->task) == 1 ? 0 : group;
}

static bool groups_fit_winograd(struct eng_ne *ne, const struct eng_operands *operands)
{
    for (uint32_t g = 0; g < operands->dst.extent[PR_AXIS_G]; g++) {
        open_group(ne, operands, g);
        if (!eng_winograd_fits(ne))
            return false;
    }
    return true;
}

/*
 * All groups are computed by the same path and need the same working memory, so that only the first one can
 * fail for lack of it.
 */
static int run_groups(struct eng_ne *ne, const struct eng_operands *operands, enum eng_path path)
{
    int error = 0;

    if (ne->winograd && (path == ENG_PATH_REFERENCE || !groups_fit_winograd(ne, operands)))
        ne->winograd = ENG_WINOGRAD_OFF;
    for (uint32_t g = 0; g < operands->dst.extent[PR_AXIS_G] && !error; g++) {
        open_group(ne, operands, g);
        error = run_group(ne, path);
    }
    return error;
}

/*
 * With a table, the accumulator's ceiling is for the value that enters the table; the value that comes out is
 * stored like any other. Small magnitudes are kept on the way in, because an epsilon of 1e-6 is an fp16
 * denormal, and Apple's compiler adds it there.
 */
static void set_rules(struct eng_finish *finish, const struct eng_rules *rules, const struct eng_table *table)
{
    finish->table = table;
    finish->store = rules->store;
    if (!table)
        return;
    finish->enter = rules->store & (ENG_RULE_CEILING | ENG_RULE_NAN_IS_ZERO);
    finish->store = rules->store & ~(unsigned)(ENG_RULE_CEILING | ENG_RULE_NO_DENORMALS);
}

int eng_ne_compute(struct eng_compute *compute, const struct pr_task *task,
                   const struct eng_operands *operands, const struct eng_weights *weights,
                   const struct eng_table *table)
{
    enum eng_kind kind = kind_of(task);
    const struct eng_rules *rules = &eng_rules_table[compute->policy][kind];
    struct eng_ne ne = {
        .task = task,
        .operands = *operands,
        .weights = weights,
        .rules = rules,
        .exact = compute->policy == ENG_M1_EXACT && kind == ENG_KIND_NE_MAC,
        .winograd = compute->policy == ENG_M1 ? compute->winograd : ENG_WINOGRAD_OFF,
        .scratch = &compute->scratch,
        .pool = eng_compute_pool(compute, operands),
        /*
         * The registers' constants are not operands of products, so a denormal one is kept (an epsilon of
         * 1e-6 is one).
         */
        .finish = {.unscale = 1,
                   .bias = -0.0f,
                   .acc_bias = eng_constant_addend(task->ne.acc_bias, rules->load),
                   .post_scale = eng_constant(task->ne.post_scale, rules->load),
                   .relu = task->ne.relu},
    };
    struct eng_float_state state;
    int error = 0;

    if (!is_runnable(task))
        return -EINVAL;
    set_rules(&ne.finish, rules, table);
    state = eng_float_begin();
    if (task->ne.mode == PR_NE_BYPASS)
        eng_ne_bypass(&ne, compute->path);
    else
        error = run_groups(&ne, operands, compute->path);
    eng_float_end(state);
    return error;
}

static bool read_table(struct eng_table *table, const struct pr_task *task,
                       const struct pr_kernel_bytes *streams, struct pr_problem *problem)
{
    uint16_t values[PR_TABLE_VALUES];

    return pr_kernel_table(task, streams, values, problem) && eng_table_read(table, values, problem);
}

int eng_ne_run(struct eng_compute *compute, const struct pr_task *task, const struct eng_operands *operands,
               const struct pr_kernel_bytes *streams, struct pr_problem *problem)
{
    struct eng_weights weights = {0};
    struct eng_table table;
    int error = 0;

    if (!is_runnable(task)) {
        pr_problem_set(problem, PR_PROBLEM_UNSUPPORTED,
                       "A window of %ux%u with steps of %ux%u and %u columns per step is not supported.",
                       task->ne.kw, task->ne.kh, task->ne.sx, task->ne.sy, task->ne.ox);
        return -EINVAL;
    }
    if (task->ne.table && !read_table(&table, task, streams, problem))
        return -EINVAL;
    if (task->ne.mode == PR_NE_MAC)
        error = eng_weights_open(&weights, task, streams, operands->kernel_whole, &compute->kernel, problem);
    if (error)
        return error;
    return eng_ne_compute(compute, task, operands, &weights, task->ne.table ? &table : NULL);
}
