/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One task: its operands are granted by the DART in the order source 1, source 2, kernel, destination; only
 * when all are granted does the datapath run. Reads happen as if all before the writes: where the destination
 * shares bytes with anything that is read, the result is staged. The kept copy of source 1 is written before
 * the result.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "engine/grid.h"
#include "engine/ne.h"
#include "engine/pe.h"
#include "engine/state.h"

/* One operand: where it is and what was granted. */
struct operand {
    const struct pr_tensor *tensor;
    struct pr_tensor packed; /* what `tensor` points to when it is a stream */
    bool granted;            /* range is set, and the operand is in DRAM */
    const struct dart_range *range;
    uint8_t *host; /* its bytes, when they are contiguous for the host */
    uint64_t span;
};

struct execution {
    struct eng *e;
    struct eng_queue *q;
    const struct eng_prepared *p;
    const struct pr_task *task;
    struct pr_problem *problem;
    struct eng_grants *grants; /* the form's */
    bool held;                 /* they still hold */
    struct operand src[2], dst;
};

static bool fault(struct execution *x, enum pr_tm_dma dma, uint32_t bar, uint64_t address)
{
    x->e->refused = (struct eng_dma){dma, (uint32_t)address};
    return pr_problem_set(x->problem, PR_PROBLEM_TRANSLATION,
                          "The %s of descriptor %u (BAR %u, from %jx) is not completely mapped.",
                          pr_tm_dma_text(dma), x->q->cursor.index, bar, address);
}

/* The two streams alternate: the one that the previous descriptor made is read, the other one is written. */
static struct eng_stream *stream_of(struct execution *x, enum dart_access access)
{
    unsigned made = x->q->cursor.index % 2;

    return &x->q->stream[access == DART_WRITE ? made : 1 - made];
}

static bool stream_operand(struct execution *x, struct operand *o, enum dart_access access)
{
    struct eng_stream *stream = stream_of(x, access);
    bool done = access == DART_WRITE
                    ? eng_stream_make(stream, o->tensor, &o->packed, x->problem)
                    : eng_stream_take(stream, x->q->cursor.index, o->tensor, &o->packed, x->problem);

    o->tensor = &o->packed;
    o->span = pr_tensor_span(&o->packed);
    o->host = stream->memory.memory;
    return done;
}

/* `range` is the form's, and has been granted before if the grants are held. */
static bool grant(struct execution *x, struct operand *o, const struct pr_tensor *tensor, uint64_t span,
                  enum pr_tm_dma dma, enum dart_port port, enum dart_access access, struct dart_range *range)
{
    const struct eng_request *request = &x->q->slot[0];
    uint64_t address;

    o->tensor = tensor;
    o->span = span;
    o->granted = false;
    o->host = tensor->home == PR_HOME_L2 ? x->q->l2 + tensor->base : NULL;
    if (tensor->home == PR_HOME_STREAM)
        return stream_operand(x, o, access);
    if (tensor->home != PR_HOME_DRAM)
        return true;
    address = (uint64_t)request->bar[tensor->bar] + tensor->base;
    if (x->held)
        dart_range_use(range);
    else if (dart_range_get(x->e->dart, port, request->stream, address, span, access, range))
        return fault(x, dma, tensor->bar, address);
    o->granted = true;
    o->range = range;
    o->host = range->host;
    return true;
}

static bool grant_kernel(struct execution *x)
{
    const struct eng_request *request = &x->q->slot[0];
    const struct pr_ne *ne = &x->task->ne;
    struct eng_grants *g = x->grants;

    if (x->task->unit != PR_UNIT_NE)
        return true;
    for (uint32_t i = 0; x->held && i < ne->engines; i++)
        dart_range_use(&g->kernel[i]);
    if (x->held)
        return true;
    memset(g->bytes, 0, sizeof(g->bytes));
    memset(g->kernel, 0, sizeof(g->kernel));
    for (uint32_t i = 0; i < ne->engines; i++) {
        uint64_t need = pr_kernel_stream_bytes(x->task, i);
        uint64_t address = (uint64_t)request->bar[ne->kernel_bar] + ne->stream[i].base;

        if (!need)
            continue;
        if (dart_range_get(x->e->dart, DART_PORT_TASK, request->stream, address, need, DART_READ,
                           &g->kernel[i]))
            return fault(x, PR_TM_DMA_KERNEL, ne->kernel_bar, address);
        g->bytes[i] = (struct pr_kernel_bytes){g->kernel[i].host, need};
    }
    return true;
}

static bool grant_each(struct execution *x)
{
    const struct eng_prepared *p = x->p;
    struct eng_grants *g = x->grants;

    return grant(x, &x->src[0], &p->task.src[0], p->src_span[0], PR_TM_DMA_SOURCE1, DART_PORT_SOURCE,
                 DART_READ, &g->src[0]) &&
           grant(x, &x->src[1], &p->task.src[1], p->src_span[1], PR_TM_DMA_SOURCE2, DART_PORT_SOURCE,
                 DART_READ, &g->src[1]) &&
           grant_kernel(x) &&
           grant(x, &x->dst, &p->task.dst, p->dst_span, PR_TM_DMA_DESTINATION, DART_PORT_RESULT, DART_WRITE,
                 &g->dst);
}

/* Value of the BAR of an operand; 0 where it is not in DRAM. */
static uint32_t bar_of(const struct execution *x, const struct pr_tensor *tensor)
{
    return tensor->home == PR_HOME_DRAM ? x->q->slot[0].bar[tensor->bar] : 0;
}

static uint32_t kernel_bar_of(const struct execution *x)
{
    return x->task->unit == PR_UNIT_NE ? x->q->slot[0].bar[x->task->ne.kernel_bar] : 0;
}

static bool grants_hold(const struct execution *x)
{
    const struct eng_grants *g = x->grants;

    return g->generation && g->generation == dart_generation(x->e->dart) &&
           g->stream == x->q->slot[0].stream && g->src_bar[0] == bar_of(x, &x->task->src[0]) &&
           g->src_bar[1] == bar_of(x, &x->task->src[1]) && g->dst_bar == bar_of(x, &x->task->dst) &&
           g->kernel_bar == kernel_bar_of(x);
}

static bool grant_all(struct execution *x)
{
    struct eng_grants *g = x->grants;

    x->held = grants_hold(x);
    if (x->held)
        return grant_each(x);
    g->generation = 0;
    if (!grant_each(x))
        return false;
    g->stream = x->q->slot[0].stream;
    g->src_bar[0] = bar_of(x, &x->task->src[0]);
    g->src_bar[1] = bar_of(x, &x->task->src[1]);
    g->dst_bar = bar_of(x, &x->task->dst);
    g->kernel_bar = kernel_bar_of(x);
    g->judged = false;
    /* Granting may have hidden what others had in a window; what was granted here is pinned. */
    g->generation = dart_generation(x->e->dart);
    return true;
}

static bool no_memory(struct execution *x)
{
    return pr_problem_set(x->problem, PR_PROBLEM_LIMIT, "The host has no memory to run descriptor %u.",
                          x->q->cursor.index);
}

/* Kernel bytes without a contiguous host address are gathered, each time anew. */
static bool gather_kernel(struct execution *x)
{
    struct eng_grants *g = x->grants;
    uint64_t total = 0;
    uint8_t *at;

    if (x->task->unit != PR_UNIT_NE || x->held)
        return true;
    for (unsigned i = 0; i < PR_ENGINES_MAX; i++)
        if (g->bytes[i].size && !g->bytes[i].bytes)
            total += g->bytes[i].size;
    if (!total)
        return true;
    g->generation = 0;
    at = eng_scratch_reserve(&x->e->gathered, total);
    if (!at)
        return no_memory(x);
    for (unsigned i = 0; i < PR_ENGINES_MAX; i++) {
        if (!g->bytes[i].size || g->bytes[i].bytes)
            continue;
        dart_copy_in(&g->kernel[i], 0, at, g->bytes[i].size);
        g->bytes[i].bytes = at;
        at += g->bytes[i].size;
    }
    return true;
}

/* Each element of the result depends on one element of this source, the one with the same index. */
static bool is_elementwise(const struct execution *x, const struct operand *src)
{
    if (x->task->unit != PR_UNIT_PE)
        return x->task->ne.mode == PR_NE_BYPASS;
    return !x->task->pe.reduce && !(x->task->pe.op == PR_PE_AFFINE && src == &x->src[1]);
}

/*
 * The destination coincides with this source element by element, so that each element is read before it is
 * written.
 */
static bool in_place(const struct execution *x, const struct operand *src)
{
    return is_elementwise(x, src) && src->host && src->host == x->dst.host &&
           src->tensor->format == x->dst.tensor->format &&
           src->tensor->interleave == x->dst.tensor->interleave &&
           src->tensor->transposed == x->dst.tensor->transposed &&
           !memcmp(src->tensor->extent, x->dst.tensor->extent, sizeof(src->tensor->extent)) &&
           !memcmp(src->tensor->stride, x->dst.tensor->stride, sizeof(src->tensor->stride));
}

static bool hosts_overlap(const struct operand *a, const struct operand *b)
{
    return a->host < b->host + b->span && b->host < a->host + a->span;
}

static bool collides(const struct execution *x, const struct operand *src)
{
    if (src->tensor->home == PR_HOME_NONE || src->granted != x->dst.granted || in_place(x, src))
        return false;
    return src->granted ? dart_ranges_overlap(src->range, x->dst.range) : hosts_overlap(src, &x->dst);
}

/* The result overwrites the source that is kept, or its copy, and the copy is made in between. */
static bool covers_kept(const struct execution *x)
{
    const struct pr_tensor *src = x->src[0].tensor, *dst = x->dst.tensor;

    if (!src->keep)
        return false;
    if (x->dst.granted)
        return dart_ranges_overlap(x->src[0].range, x->dst.range);
    return dst->home == PR_HOME_L2 && dst->base < src->keep_base + pr_tensor_keep_span(src) &&
           src->keep_base < dst->base + x->dst.span;
}

static bool needs_staging(const struct execution *x)
{
    /* A page that occurs in it twice would hold the result of whichever write came last. */
    if (x->dst.granted && dart_range_repeats(x->dst.range))
        return true;
    if (covers_kept(x) || collides(x, &x->src[0]) || collides(x, &x->src[1]))
        return true;
    if (x->task->unit != PR_UNIT_NE || !x->dst.granted)
        return false;
    for (unsigned i = 0; i < x->task->ne.engines; i++)
        if (x->grants->bytes[i].size && dart_ranges_overlap(&x->grants->kernel[i], x->dst.range))
            return true;
    return false;
}

static bool is_streamed(const struct pr_task *task)
{
    return task->src[0].home == PR_HOME_STREAM || task->src[1].home == PR_HOME_STREAM ||
           task->dst.home == PR_HOME_STREAM;
}

/* The same ranges give the same answer; a stream may be at another place each time. */
static bool is_staged(const struct execution *x)
{
    struct eng_grants *g = x->grants;

    if (g->judged)
        return g->staged;
    g->staged = needs_staging(x);
    g->judged = g->generation && !is_streamed(x->task);
    return g->staged;
}

static void operand_view(const struct operand *o, struct eng_view *view)
{
    if (o->host)
        eng_view_of_host(view, o->tensor, o->host);
    else if (o->granted)
        eng_view_of_range(view, o->tensor, o->range);
}

/* A row of one view to the same row of another, bits unchanged. */
static void copy_row(const struct eng_view *from, const struct eng_view *to, const uint32_t index[PR_AXES])
{
    uint8_t buffer[ENG_LINE_BYTES];
    struct eng_line line = {.axis = PR_AXIS_W};

    memcpy(line.index, index, sizeof(line.index));
    for (uint32_t w = 0; w < from->extent[PR_AXIS_W]; w += line.n) {
        line.index[PR_AXIS_W] = w;
        line.n = from->extent[PR_AXIS_W] - w < ENG_LINE_MAX ? from->extent[PR_AXIS_W] - w : ENG_LINE_MAX;
        eng_view_line_put(to, &line, eng_view_line(from, &line, buffer));
    }
}

static void mark_l2(struct eng_queue *q, uint32_t base, uint64_t span)
{
    if (base < q->l2_low)
        q->l2_low = base;
    if (base + span > q->l2_high)
        q->l2_high = (uint32_t)(base + span);
}

/* Copies a tensor in DRAM to the place in L2 where later descriptors find it. */
static void keep(struct execution *x, const struct operand *o)
{
    const struct pr_tensor *t = o->tensor;
    struct pr_tensor dram = *t, kept = *t;
    struct operand from = *o;
    struct eng_view source = {0}, to = {0};
    uint32_t index[PR_AXES] = {0};

    memcpy(dram.extent, t->keep_extent, sizeof(dram.extent));
    memcpy(kept.extent, t->keep_extent, sizeof(kept.extent));
    memcpy(kept.stride, t->keep_stride, sizeof(kept.stride));
    dram.relu = kept.relu = dram.zero_tail = kept.zero_tail = false;
    kept.interleave = 1;
    kept.transposed = false;
    from.tensor = &dram;
    mark_l2(x->q, t->keep_base, pr_tensor_keep_span(t));
    operand_view(&from, &source);
    eng_view_of_host(&to, &kept, x->q->l2 + t->keep_base);
    if (!eng_view_overlaps_itself(&to) && eng_grid_copy(&source, &to))
        return;
    for (index[PR_AXIS_G] = 0; index[PR_AXIS_G] < kept.extent[PR_AXIS_G]; index[PR_AXIS_G]++)
        for (index[PR_AXIS_C] = 0; index[PR_AXIS_C] < kept.extent[PR_AXIS_C]; index[PR_AXIS_C]++)
            for (index[PR_AXIS_D] = 0; index[PR_AXIS_D] < kept.extent[PR_AXIS_D]; index[PR_AXIS_D]++)
                for (index[PR_AXIS_H] = 0; index[PR_AXIS_H] < kept.extent[PR_AXIS_H]; index[PR_AXIS_H]++)
                    copy_row(&source, &to, index);
}

static int compute(struct execution *x, struct operand *dst)
{
    struct eng_operands operands = {0};

    operand_view(&x->src[0], &operands.src[0]);
    operand_view(&x->src[1], &operands.src[1]);
    operand_view(dst, &operands.dst);
    if (x->task->unit == PR_UNIT_PE) {
        eng_pe_run(&x->e->compute, x->task, &operands);
        return 0;
    }
    operands.kernel_whole = true; /* as granted, or gathered */
    return eng_ne_run(&x->e->compute, x->task, &operands, x->grants->bytes, x->problem);
}

/*
 * The result is computed into a staging buffer and then copied to its place; bytes between its rows stay as
 * they are.
 */
static int compute_staged(struct execution *x)
{
    struct operand staged = {.tensor = x->dst.tensor, .span = x->dst.span};
    int status;

    staged.host = eng_scratch_reserve(&x->e->staged, x->dst.span);
    if (!staged.host)
        return -ENOMEM;
    if (x->dst.granted)
        dart_copy_in(x->dst.range, 0, staged.host, x->dst.span);
    else if (x->dst.host)
        memcpy(staged.host, x->dst.host, x->dst.span);
    status = compute(x, &staged);
    if (status)
        return status;
    if (x->src[0].tensor->keep)
        keep(x, &x->src[0]);
    if (x->dst.granted)
        dart_copy_out(x->dst.range, 0, staged.host, x->dst.span);
    else if (x->dst.host)
        memcpy(x->dst.host, staged.host, x->dst.span);
    return 0;
}

/* The kept copy of a source is written after everything has been read, and only when the task has run. */
static int compute_in_place(struct execution *x)
{
    int status = compute(x, &x->dst);

    if (!status && x->src[0].tensor->keep)
        keep(x, &x->src[0]);
    return status;
}

/* Every byte from the first element to the last is one of an element. */
static bool is_gapless(const struct pr_tensor *t)
{
    uint64_t inside = pr_format_bytes(t->format);

    if (t->interleave > 1)
        return false;
    for (unsigned axis = 0; axis < PR_AXES; axis++) {
        if (t->extent[axis] == 1)
            continue;
        if (t->stride[axis] != inside)
            return false;
        inside *= t->extent[axis];
    }
    return true;
}

/* The result overwrites all that is stale, and no other operand of the task is in L2. */
static bool replaces_stale(const struct execution *x)
{
    const struct pr_tensor *src = x->task->src, *dst = &x->task->dst;

    return dst->home == PR_HOME_L2 && src[0].home != PR_HOME_L2 && src[1].home != PR_HOME_L2 &&
           !src[0].keep && dst->base <= x->q->stale_low && dst->base + x->dst.span >= x->q->stale_high &&
           is_gapless(dst) && !is_staged(x);
}

static bool uses_l2(const struct pr_task *task)
{
    return task->src[0].home == PR_HOME_L2 || task->src[1].home == PR_HOME_L2 ||
           task->dst.home == PR_HOME_L2 || task->src[0].keep || task->dst.keep;
}

static int compute_at_place(struct execution *x)
{
    return is_staged(x) ? compute_staged(x) : compute_in_place(x);
}

/* What earlier networks left in L2 is cleared first, or replaced by the result. */
static int compute_over_stale(struct execution *x)
{
    struct eng_queue *q = x->q;
    int status;

    if (!replaces_stale(x)) {
        memset(q->l2 + q->stale_low, 0, q->stale_high - q->stale_low);
        q->stale_high = 0;
        return compute_at_place(x);
    }
    status = compute_at_place(x);
    if (!status)
        q->stale_high = 0;
    return status;
}

static bool run(struct execution *x)
{
    int status;

    if (!grant_all(x) || !gather_kernel(x))
        return false;
    if (x->task->dst.home == PR_HOME_L2)
        mark_l2(x->q, x->task->dst.base, x->dst.span);
    status = x->q->stale_high && uses_l2(x->task) ? compute_over_stale(x) : compute_at_place(x);
    if (status == -EINVAL)
        return false; /* with the problem that the datapath found */
    if (status)
        return no_memory(x);
    if (x->dst.tensor->keep)
        keep(x, &x->dst);
    if (x->task->dst.home == PR_HOME_STREAM)
        eng_stream_fill(stream_of(x, DART_WRITE), x->q->cursor.index, &x->dst.packed);
    return true;
}

bool eng_execute(struct eng *e, struct eng_queue *q, struct eng_prepared *p, struct pr_problem *problem)
{
    struct execution x;
    bool done;

    x.e = e;
    x.q = q;
    x.p = p;
    x.task = &p->task;
    x.problem = problem;
    x.grants = &p->grants;
    dart_grants_begin(e->dart);
    done = run(&x);
    dart_grants_end(e->dart);
    return done;
}
