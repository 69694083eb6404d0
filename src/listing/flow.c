/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tasks of a program leave for each other. A task is judged against what the tasks before it left,
 * and only then added: the order of checks and additions in pr_flow_task matters. After a task that was not
 * decoded (`guessing`), or with more results than are remembered (`overflowed`), a missing write is not
 * certain and not reported. Nothing is allocated; L2 is a bit per granule.
 */
#include "listing/flow.h"

#include <string.h>

#include "program/activation.h"

#define PAGE  0x4000u   /* what is mapped at least: a buffer's last page is there whole */
#define MARKS 0x100000u /* granules looked at for one tensor; L2 has an eighth of it */

static const char *const role_name[] = {"no buffer",          "the descriptors", "the constants",
                                        "the scratch buffer", "an input",        "an output"};

static void report(struct pr_flow *flow, enum pr_finding finding, enum pr_outcome outcome,
                   struct pr_problem *problem)
{
    problem->descriptor = flow->descriptor;
    problem->outcome = outcome;
    if (finding == PR_FINDING_PROBLEM)
        flow->clean = false;
    flow->report(flow->context, finding, problem);
}

void pr_flow_begin(struct pr_flow *flow, const struct pr_flow_buffers *buffers, pr_check_report callback,
                   void *context)
{
    memset(flow, 0, sizeof(*flow));
    flow->buffers = buffers;
    flow->report = callback;
    flow->context = context;
    flow->clean = true;
    for (uint32_t bar = 0; buffers->known && bar < PR_TQ_BARS; bar++)
        if (buffers->bar[bar].role == PR_ROLE_OUTPUT)
            flow->unwritten |= 1u << bar;
}

void pr_flow_gap(struct pr_flow *flow)
{
    flow->guessing = true;
    flow->stream.home = PR_HOME_NONE;
    flow->unwritten = 0;
}

/* The register that states where an operand begins. */
static uint32_t base_register(enum pr_td_field field)
{
    return pr_reg_table[pr_field_table[field].owner].address;
}

/* A run of bytes in a buffer: a tensor's span, or a kernel stream. */
struct extent {
    const char *what;
    uint32_t bar, base;
    uint64_t span;
    enum pr_td_field field; /* its base */
    bool write;
};

static bool fits(struct pr_flow *flow, const struct extent *x)
{
    enum pr_flow_role role = flow->buffers->bar[x->bar].role;
    uint64_t bytes = flow->buffers->bar[x->bar].bytes, end = x->base + x->span;
    struct pr_problem problem = {.address = base_register(x->field), .bits = x->base};
    enum pr_outcome outcome = end > pr_round_up(bytes, PAGE) ? PR_OUTCOME_FAULT : PR_OUTCOME_FOREIGN;

    if (!flow->buffers->known)
        return true;
    if (role == PR_ROLE_NONE) {
        pr_problem_set(&problem, PR_PROBLEM_BINDING,
                       "%s uses buffer register %u, but the program binds none to it.", x->what, x->bar);
        report(flow, PR_FINDING_PROBLEM, PR_OUTCOME_FAULT, &problem);
        return false;
    }
    if (end <= bytes)
        return true;
    /* On hardware a scratch buffer that is too small was followed by other memory, and nothing faulted. */
    if (role == PR_ROLE_SCRATCH)
        outcome = PR_OUTCOME_FOREIGN;
    pr_problem_set(&problem, PR_PROBLEM_BINDING,
                   "%s begins at %x (register %x) and spans %jx bytes to %jx, but buffer %u (%s) has %jx.",
                   x->what, x->base, problem.address, x->span, end, x->bar, role_name[role], bytes);
    report(flow, PR_FINDING_PROBLEM, outcome, &problem);
    return false;
}

static void check_target(struct pr_flow *flow, const struct pr_tensor *dst)
{
    enum pr_flow_role role = flow->buffers->bar[dst->bar].role;
    struct pr_problem problem = {.address = base_register(PR_F_DST_ADDR), .bits = dst->bar};
    bool own = role == PR_ROLE_TEXT || role == PR_ROLE_CONSTANT;

    flow->unwritten &= ~(1u << dst->bar);
    if (!flow->buffers->known || !(own || role == PR_ROLE_INPUT))
        return;
    pr_problem_set(&problem, PR_PROBLEM_BINDING, "The result goes to buffer %u, which is %s of the program.",
                   dst->bar, role_name[role]);
    report(flow, own ? PR_FINDING_PROBLEM : PR_FINDING_REMARK, own ? PR_OUTCOME_FOREIGN : PR_OUTCOME_HARMLESS,
           &problem);
}

/*
 * Whether two tensors of the same strides share a byte for certain: from the largest stride down, a step
 * between their indices can only be the one that brings the rest nearest, or the one after it.
 */
static bool share(const struct pr_tensor *a, const struct pr_tensor *b, unsigned taken, int64_t distance)
{
    unsigned best = PR_AXES;
    int64_t stride, bytes = pr_format_bytes(a->format), step;

    for (unsigned axis = 0; axis < PR_AXES; axis++)
        if (!(taken >> axis & 1) && a->stride[axis] && (best == PR_AXES || a->stride[axis] > a->stride[best]))
            best = axis;
    if (best == PR_AXES)
        return distance > -bytes && distance < bytes;
    stride = a->stride[best];
    step = -distance / stride - 1;
    for (int i = 0; i < 3; i++, step++)
        if (step > -(int64_t)a->extent[best] && step < (int64_t)b->extent[best] &&
            share(a, b, taken | 1u << best, distance + step * stride))
            return true;
    return false;
}

static bool spans_meet(const struct pr_tensor *a, const struct pr_tensor *b)
{
    return a->base < b->base + pr_tensor_span(b) && b->base < a->base + pr_tensor_span(a);
}

static bool same_elements(const struct pr_tensor *a, const struct pr_tensor *b)
{
    return a->format == b->format && a->interleave <= 1 && b->interleave <= 1 &&
           memcmp(a->stride, b->stride, sizeof(a->stride)) == 0 && !pr_tensor_overlaps(a) &&
           share(a, b, 0, (int64_t)b->base - (int64_t)a->base);
}

static void remember_write(struct pr_flow *flow, const struct pr_tensor *dst)
{
    struct pr_problem problem = {.address = base_register(PR_F_DST_ADDR), .bits = dst->base};

    for (uint32_t i = 0; i < flow->writes; i++) {
        const struct pr_flow_write *w = &flow->write[i];

        if (w->read || w->tensor.bar != dst->bar || !spans_meet(&w->tensor, dst) ||
            !same_elements(&w->tensor, dst))
            continue;
        pr_problem_set(&problem, PR_PROBLEM_INCONSISTENT,
                       "The result at %x of buffer %u overwrites bytes of the result of descriptor %u, which "
                       "no descriptor has read.",
                       dst->base, dst->bar, w->descriptor);
        report(flow, PR_FINDING_REMARK, PR_OUTCOME_UNKNOWN, &problem);
        break;
    }
    if (flow->writes == PR_FLOW_WRITES) {
        flow->overflowed = true;
        return;
    }
    flow->write[flow->writes++] = (struct pr_flow_write){*dst, flow->descriptor, false};
}

/* Marks the writes that a read overlaps, and reports a read where there are none. Its size is not checked. */
static void check_read(struct pr_flow *flow, const struct extent *x)
{
    struct pr_problem problem = {.address = base_register(x->field), .bits = x->base};
    enum pr_flow_role role = flow->buffers->bar[x->bar].role;
    bool found = false;

    for (uint32_t i = 0; i < flow->writes; i++) {
        struct pr_flow_write *w = &flow->write[i];

        if (w->tensor.bar == x->bar && w->tensor.base < x->base + x->span &&
            x->base < w->tensor.base + pr_tensor_span(&w->tensor))
            found = w->read = true;
    }
    if (found || flow->guessing || flow->overflowed || !flow->buffers->known ||
        (role != PR_ROLE_SCRATCH && role != PR_ROLE_OUTPUT))
        return;
    pr_problem_set(&problem, PR_PROBLEM_INCONSISTENT,
                   "%s is read from %x of buffer %u (%s), where no descriptor before this one has written.",
                   x->what, x->base, x->bar, role_name[role]);
    report(flow, PR_FINDING_PROBLEM, PR_OUTCOME_STALE, &problem);
}

/* One run of bytes in L2: marks its granules, or is false at the first that has no mark. */
static bool run_in_l2(struct pr_flow *flow, uint64_t at, uint64_t bytes, bool mark, uint32_t *place)
{
    uint64_t end = (at + bytes - 1) / PR_FLOW_GRANULE;

    for (uint64_t g = at / PR_FLOW_GRANULE; g <= end && g < PR_L2_BYTES / PR_FLOW_GRANULE; g++) {
        if (mark) {
            flow->l2[g / 32] |= 1u << g % 32;
        } else if (!(flow->l2[g / 32] >> g % 32 & 1)) {
            *place = (uint32_t)g * PR_FLOW_GRANULE;
            return false;
        }
    }
    return true;
}

/*
 * Goes over a tensor in L2 run by run, a broadcast axis once; a row is a run when its elements leave no
 * granule out. One that lies on itself so often that the runs would be more than MARKS granules is not looked
 * at.
 */
static bool over_l2(struct pr_flow *flow, uint32_t base, const uint32_t extent[PR_AXES],
                    const uint32_t stride[PR_AXES], uint32_t element, bool mark, uint32_t *place)
{
    uint32_t count[PR_AXES], index[PR_AXES] = {0};
    uint64_t runs = 1, run = element;

    for (unsigned axis = 0; axis < PR_AXES; axis++)
        count[axis] = stride[axis] && extent[axis] ? extent[axis] : 1;
    if (stride[PR_AXIS_W] <= PR_FLOW_GRANULE) {
        run += (uint64_t)(count[PR_AXIS_W] - 1) * stride[PR_AXIS_W];
        count[PR_AXIS_W] = 1;
    }
    for (unsigned axis = 0; axis < PR_AXES && runs <= MARKS; axis++)
        runs *= count[axis];
    if (runs * (run / PR_FLOW_GRANULE + 1) > MARKS)
        return true;
    for (;;) {
        uint64_t at = base;
        unsigned axis = 0;

        for (unsigned i = 0; i < PR_AXES; i++)
            at += (uint64_t)index[i] * stride[i];
        if (!run_in_l2(flow, at, run, mark, place))
            return false;
        while (axis < PR_AXES && ++index[axis] == count[axis])
            index[axis++] = 0;
        if (axis == PR_AXES)
            return true;
    }
}

static void check_l2(struct pr_flow *flow, const struct pr_tensor *t, const char *what,
                     enum pr_td_field field)
{
    struct pr_problem problem = {.address = base_register(field), .bits = t->base};
    uint32_t place;

    if (flow->guessing ||
        over_l2(flow, t->base, t->extent, t->stride, pr_format_bytes(t->format), false, &place))
        return;
    pr_problem_set(
        &problem, PR_PROBLEM_INCONSISTENT,
        "%s is read from L2 at %x (register %x), but no descriptor before this one has written %x there.",
        what, t->base, problem.address, place);
    report(flow, PR_FINDING_PROBLEM, PR_OUTCOME_STALE, &problem);
}

/* A source that is broadcast along an axis takes over one element of it. */
static bool takes_all(const struct pr_tensor *t, const struct pr_tensor *from)
{
    for (unsigned axis = 0; axis < PR_AXES; axis++)
        if (from->extent[axis] != (t->stride[axis] ? t->extent[axis] : 1))
            return false;
    return true;
}

static void check_stream(struct pr_flow *flow, const struct pr_tensor *t)
{
    struct pr_problem problem = {.address = base_register(PR_F_SOURCE_TYPE), .bits = 3};
    const struct pr_tensor *from = &flow->stream;

    if (flow->guessing)
        return;
    if (from->home != PR_HOME_STREAM)
        pr_problem_set(&problem, PR_PROBLEM_INCONSISTENT,
                       "L2.SourceCfg.SourceType is 3, a stream, but the descriptor before hands none over "
                       "(ResultType 3).");
    else if (from->format != t->format)
        pr_problem_set(&problem, PR_PROBLEM_INCONSISTENT,
                       "L2.SourceCfg.SourceType is 3: the stream is taken for elements of another format "
                       "than the descriptor before hands over.");
    else if (!takes_all(t, from))
        pr_problem_set(
            &problem, PR_PROBLEM_INCONSISTENT,
            "L2.SourceCfg.SourceType is 3: the stream has %u x %u x %u x %u in %u groups, but the descriptor "
            "before hands over %u x %u x %u x %u in %u.",
            t->extent[PR_AXIS_C], t->extent[PR_AXIS_D], t->extent[PR_AXIS_H], t->extent[PR_AXIS_W],
            t->extent[PR_AXIS_G], from->extent[PR_AXIS_C], from->extent[PR_AXIS_D], from->extent[PR_AXIS_H],
            from->extent[PR_AXIS_W], from->extent[PR_AXIS_G]);
    else
        return;
    report(flow, PR_FINDING_PROBLEM, PR_OUTCOME_HANG, &problem);
}

static const char *const source_name[2] = {"Source 1", "Source 2"};

static struct extent source_extent(const struct pr_tensor *t, unsigned which)
{
    return (struct extent){source_name[which],
                           t->bar,
                           t->base,
                           pr_tensor_span(t),
                           which ? PR_F_SRC2_ADDR : PR_F_SRC_ADDR,
                           false};
}

static struct extent result_extent(const struct pr_tensor *t)
{
    return (struct extent){"The result", t->bar, t->base, pr_tensor_span(t), PR_F_DST_ADDR, true};
}

static void check_source(struct pr_flow *flow, const struct pr_tensor *t, unsigned which)
{
    const struct extent x = source_extent(t, which);

    switch (t->home) {
    case PR_HOME_NONE: break;
    case PR_HOME_STREAM: check_stream(flow, t); break;
    case PR_HOME_L2:
        check_l2(flow, t, source_name[which], which ? PR_F_L2_SRC2_BASE : PR_F_L2_SRC_BASE);
        break;
    case PR_HOME_DRAM:
        fits(flow, &x);
        check_read(flow, &x);
        break;
    }
}

/*
 * The table as the engine takes it from the streams. One that does not fit the constants was reported, or,
 * when buffers are not judged, is in bytes that are not here.
 */
static void check_table(struct pr_flow *flow, const struct pr_task *task)
{
    const struct pr_flow_buffers *b = flow->buffers;
    struct pr_problem problem = {.address = base_register(PR_F_COEFF_ADDR)};
    struct pr_kernel_bytes streams[PR_ENGINES_MAX] = {{0}};
    uint16_t half[PR_TABLE_VALUES];

    if (!task->ne.table || !b->constants || b->bar[task->ne.kernel_bar].role != PR_ROLE_CONSTANT)
        return;
    for (uint32_t i = 0; i < task->ne.engines; i++) {
        if (!task->ne.stream[i].enabled)
            continue;
        streams[i].size = pr_kernel_stream_bytes(task, i);
        if (task->ne.stream[i].base + streams[i].size > b->bar[task->ne.kernel_bar].bytes)
            return;
        streams[i].bytes = b->constants + task->ne.stream[i].base;
    }
    if (pr_kernel_table(task, streams, half, &problem) && pr_activation_check(half, &problem))
        return;
    report(flow, PR_FINDING_PROBLEM, PR_OUTCOME_UNKNOWN, &problem);
}

static void check_kernel(struct pr_flow *flow, const struct pr_task *task)
{
    if (task->unit != PR_UNIT_NE)
        return;
    for (uint32_t i = 0; i < PR_ENGINES_MAX; i++) {
        const struct pr_kernel_stream *s = &task->ne.stream[i];
        const struct extent x = {"A kernel stream", task->ne.kernel_bar, s->base,
                                 s->bytes,          PR_F_COEFF_ADDR,     false};

        if (!s->enabled)
            continue;
        if (!fits(flow, &x))
            return;
        check_read(flow, &x);
    }
    check_table(flow, task);
}

/* A stream is gone after the descriptor that follows. */
static void check_dropped(struct pr_flow *flow, const struct pr_task *task)
{
    struct pr_problem problem = {.address = base_register(PR_F_RESULT_TYPE), .bits = 3};

    if (flow->stream.home != PR_HOME_STREAM || (task && task->src[0].home == PR_HOME_STREAM))
        return;
    pr_problem_set(
        &problem, PR_PROBLEM_INCONSISTENT,
        "L2.ResultCfg.ResultType is 3, a stream, but the next descriptor takes none over (SourceType 3).");
    report(flow, PR_FINDING_PROBLEM, PR_OUTCOME_HANG, &problem);
}

static void add_result(struct pr_flow *flow, const struct pr_task *task)
{
    const struct pr_tensor *dst = &task->dst, *src = &task->src[0];
    const struct extent x = result_extent(dst);

    if (src->keep)
        over_l2(flow, src->keep_base, src->keep_extent, src->keep_stride, pr_format_bytes(src->format), true,
                NULL);
    if (dst->keep)
        over_l2(flow, dst->keep_base, dst->keep_extent, dst->keep_stride, pr_format_bytes(dst->format), true,
                NULL);
    flow->stream = *dst;
    if (dst->home == PR_HOME_L2)
        over_l2(flow, dst->base, dst->extent, dst->stride, pr_format_bytes(dst->format), true, NULL);
    if (dst->home != PR_HOME_DRAM)
        return;
    check_target(flow, dst);
    fits(flow, &x);
    remember_write(flow, dst);
}

static bool is_placed(const struct pr_tensor *t)
{
    return t->home == PR_HOME_DRAM && t->extent[PR_AXIS_W];
}

void pr_flow_places(struct pr_flow *flow, uint32_t descriptor, const struct pr_task *task)
{
    struct extent x;

    flow->descriptor = descriptor;
    for (unsigned i = 0; i < 2; i++) {
        x = source_extent(&task->src[i], i);
        if (is_placed(&task->src[i]))
            fits(flow, &x);
    }
    x = result_extent(&task->dst);
    if (is_placed(&task->dst))
        fits(flow, &x);
}

void pr_flow_task(struct pr_flow *flow, uint32_t descriptor, const struct pr_task *task)
{
    check_dropped(flow, task);
    flow->descriptor = descriptor;
    check_source(flow, &task->src[0], 0);
    check_source(flow, &task->src[1], 1);
    check_kernel(flow, task);
    add_result(flow, task);
}

bool pr_flow_end(struct pr_flow *flow)
{
    check_dropped(flow, NULL);
    for (uint32_t bar = 0; bar < PR_TQ_BARS; bar++) {
        struct pr_problem problem = {.bits = bar};

        if (!(flow->unwritten >> bar & 1))
            continue;
        pr_problem_set(&problem, PR_PROBLEM_BINDING, "Buffer %u is an output, but no descriptor writes it.",
                       bar);
        report(flow, PR_FINDING_REMARK, PR_OUTCOME_HARMLESS, &problem);
    }
    return flow->clean;
}
