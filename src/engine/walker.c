/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor walker: fetches a descriptor through the DART, checks it, applies its register writes to the
 * queue's image and decodes the task. A prepared form is reused when the bytes and the incoming image are the
 * same as when it was made. What is used then comes from the copy of the bytes that was decoded, so that
 * bytes which others can write are read once: copied, or compared in place.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/state.h"

static bool fetch(struct eng *e, const struct eng_queue *q, struct dart_range *range,
                  struct pr_problem *problem)
{
    uint32_t bytes = 4 * q->cursor.words;

    if (dart_range_get(e->dart, DART_PORT_TASK, q->slot[0].stream, q->cursor.address, bytes, DART_READ,
                       range)) {
        e->refused = (struct eng_dma){PR_TM_DMA_FETCH, q->cursor.address};
        return pr_problem_set(problem, PR_PROBLEM_TRANSLATION, "Descriptor %u at %x cannot be read.",
                              q->cursor.index, q->cursor.address);
    }
    dart_copy_in(range, 0, e->fetch, bytes);
    return true;
}

/* What was written is cleared by the first descriptor that uses L2, unless it overwrites all of it. */
static void clear_l2(struct eng_queue *q)
{
    q->stream[0].full = q->stream[1].full = false;
    if (q->l2_high > q->l2_low) {
        q->stale_low = q->stale_high && q->stale_low < q->l2_low ? q->stale_low : q->l2_low;
        q->stale_high = q->stale_high > q->l2_high ? q->stale_high : q->l2_high;
    }
    q->l2_low = PR_L2_BYTES;
    q->l2_high = 0;
}

void eng_walker_clear(struct eng_queue *q)
{
    static const struct pr_image zero = {0};

    q->image = &zero;
    q->image_number = 0;
    clear_l2(q);
}

/* The network starts: registers and L2 are as after reset. */
static void open_network(struct eng_queue *q)
{
    eng_walker_clear(q);
    q->cursor.opened = true;
}

/*
 * With fewer contiguous results (ROW), or fewer results of one weight (REUSE), the host's vectors are mostly
 * empty.
 */
enum { ROW = 16, REUSE = 64 };

/* The number of contiguous elements that are read or made. */
static uint64_t row_of(const struct pr_task *task)
{
    const uint32_t *in = task->src[0].extent;

    if (task->unit == PR_UNIT_PE)
        return task->pe.reduce ? (uint64_t)in[PR_AXIS_W] * in[PR_AXIS_H] * in[PR_AXIS_D] : ROW;
    return task->ne.mode == PR_NE_BYPASS ? ROW : task->dst.extent[PR_AXIS_W];
}

/*
 * A step costs the host more when it accesses memory, especially when little of the converted input is
 * reused.
 */
static uint64_t step_limit(const struct eng *e, const struct pr_task *task)
{
    const uint32_t *out = task->dst.extent;
    bool sums = task->unit == PR_UNIT_NE && task->ne.mode == PR_NE_MAC && !task->ne.unicast;

    if (!sums || e->config.policy == ENG_M1_EXACT)
        return row_of(task) < ROW ? ENG_MAX_NARROW : ENG_MAX_ELEMENTS;
    return (uint64_t)out[PR_AXIS_W] * out[PR_AXIS_H] < REUSE ? ENG_MAX_NARROW : ENG_MAX_WORK;
}

static uint64_t work_limit(const struct eng *e, const struct pr_task *task)
{
    uint64_t limit = step_limit(e, task);

    return limit == ENG_MAX_WORK || e->config.max_work < limit ? e->config.max_work : limit;
}

/* Whose descriptor is read leniently. */
struct lenient {
    struct eng *e;
    const struct eng_queue *q;
};

static void trace_ignored(void *context, const struct pr_problem *ignored)
{
    const struct lenient *lenient = context;
    const struct eng_queue *q = lenient->q;

    lenient->e->stats.ignored++;
    SOC_TRACE(lenient->e->trace, ENG_IGNORED, (unsigned)(q - lenient->e->queue), q->cursor.index,
              q->cursor.address, ignored->text);
}

/* The lenient form is a property of the machine, so prepared forms of both kinds never meet. */
static bool decode_task(struct eng *e, const struct eng_queue *q, struct eng_prepared *p,
                        struct pr_problem *problem)
{
    struct lenient context = {e, q};
    const struct pr_ignore to_trace = {trace_ignored, &context},
                           *ignore = e->config.lenient ? &to_trace : NULL;
    struct pr_td *td = &e->td;

    if (!pr_td_read_lenient(e->fetch, q->cursor.words, ignore, td, problem) ||
        !pr_td_explained_lenient(td, ignore, problem))
        return false;
    pr_td_apply(td, &p->after);
    return pr_task_decode_lenient(td, &p->after, ignore, &p->task, problem);
}

/* Into the store's `making`. */
static bool decode(struct eng *e, const struct eng_queue *q, struct pr_problem *problem)
{
    struct eng_prepared *p = e->prepared.making;
    const struct pr_td *td = &e->td;

    p->after = *q->image;
    if (!decode_task(e, q, p, problem))
        return false;
    if (pr_task_work(&p->task) > work_limit(e, &p->task))
        return pr_problem_set(problem, PR_PROBLEM_LIMIT,
                              "The task needs %ju steps; this machine runs at most %ju.",
                              pr_task_work(&p->task), work_limit(e, &p->task));
    p->nid = pr_td_header(td, PR_H_NID);
    p->next_pointer = pr_td_header(td, PR_H_NEXT_POINTER);
    p->next_words = pr_td_header(td, PR_H_NEXT_SIZE) + 1;
    p->next_bar = pr_td_header(td, PR_H_TBASE);
    p->last = p->next_pointer == 0;
    if (!p->last && !pr_td_header(td, PR_H_TBE))
        return pr_problem_set(problem, PR_PROBLEM_CHAIN,
                              "NextPointer is %x, but TBE is 0, so no buffer is selected for it.",
                              p->next_pointer);
    if (p->next_pointer % PR_TD_ALIGN)
        return pr_problem_set(problem, PR_PROBLEM_CHAIN, "NextPointer %x is not a multiple of %x.",
                              p->next_pointer, PR_TD_ALIGN);
    p->cost_ns = pr_cost_ns(e->config.cost, &p->task);
    for (unsigned i = 0; i < 2; i++)
        p->src_span[i] = pr_tensor_span(&p->task.src[i]);
    p->dst_span = pr_tensor_span(&p->task.dst);
    return true;
}

/* Images of queues that are inside a form, or inside any, are kept by the queues themselves. */
static void own_images(struct eng *e, const struct eng_prepared *form)
{
    for (unsigned i = 0; i < PR_TQ_COUNT; i++) {
        struct eng_queue *q = &e->queue[i];

        if (q->image == &q->own || (form && q->image != &form->after))
            continue;
        q->own = *q->image;
        q->image = &q->own;
    }
}

/* A new form for the words that were fetched. */
static struct eng_prepared *make_form(struct eng *e, struct eng_queue *q, struct pr_problem *problem)
{
    struct eng_prepared *p = e->prepared.making;

    own_images(e, p);
    if (!decode(e, q, problem))
        return NULL;
    /* A descriptor that is tried again leaves the image as it found it. */
    p->before = q->image_number;
    p->left = memcmp(&p->after, q->image, sizeof(p->after)) ? ++e->prepared.images : p->before;
    p->address = q->cursor.address;
    p->words = q->cursor.words;
    p->fetch_generation = p->grants.generation = 0;
    memcpy(p->word, e->fetch, 4 * (size_t)p->words);
    if (eng_prepared_full(&e->prepared)) {
        own_images(e, NULL);
        eng_prepared_forget(&e->prepared);
    }
    return eng_prepared_keep(&e->prepared);
}

/* The form of the words at the cursor, which are read through the DART. */
static struct eng_prepared *read_form(struct eng *e, struct eng_queue *q, struct pr_problem *problem)
{
    const struct eng_cursor *c = &q->cursor;
    struct eng_prepared *p;
    struct dart_range range;

    if (!fetch(e, q, &range, problem))
        return NULL;
    if (!c->opened)
        open_network(q);
    p = eng_prepared_find(&e->prepared, c->address, c->words, q->image_number, e->fetch, 0, 0);
    e->stats.reused += p != NULL;
    if (!p)
        p = make_form(e, q, problem);
    if (p && range.host && !range.window) {
        p->fetch_generation = dart_generation(e->dart);
        p->fetch_stream = q->slot[0].stream;
        p->fetch = range.host;
    }
    return p;
}

/* The same where the words were read before and the grant still holds: they are compared in place. */
static struct eng_prepared *known_form(struct eng *e, struct eng_queue *q)
{
    const struct eng_cursor *c = &q->cursor;
    uint64_t generation = dart_generation(e->dart), before = c->opened ? q->image_number : 0;
    struct eng_prepared *p = NULL;

    if (generation)
        p = eng_prepared_find(&e->prepared, c->address, c->words, before, NULL, generation,
                              q->slot[0].stream);
    if (!p)
        return NULL;
    e->stats.reused++;
    if (!c->opened)
        open_network(q);
    return p;
}

struct eng_prepared *eng_walker_prepare(struct eng *e, struct eng_queue *q, struct pr_problem *problem)
{
    struct eng_prepared *p = known_form(e, q);

    if (!p)
        p = read_form(e, q, problem);
    if (!p)
        return NULL;
    q->image = &p->after;
    q->image_number = p->left;
    q->cursor.nid = q->slot[0].named ? q->slot[0].nid : p->nid;
    e->shown = q;
    return p;
}

/* Brent's rule: a landmark that moves at powers of two meets every loop. */
static bool meets_landmark(struct eng_cursor *c, uint32_t address)
{
    if (c->steps && address == c->landmark)
        return true;
    if (++c->steps >= c->power) {
        c->landmark = address;
        c->power = c->power ? 2 * c->power : 2;
        c->steps = 1;
    }
    return false;
}

bool eng_walker_advance(struct eng *e, struct eng_queue *q, const struct eng_prepared *p,
                        struct pr_problem *problem)
{
    struct eng_cursor *c = &q->cursor;
    uint64_t next;

    (void)e;
    c->index++;
    if (p->last || c->index == q->slot[0].count)
        return false;
    next = (uint64_t)q->slot[0].bar[p->next_bar] + p->next_pointer;
    if (next >= PR_DART_APERTURE_BYTES)
        return pr_problem_set(problem, PR_PROBLEM_CHAIN,
                              "The next descriptor would begin at %jx; the aperture ends at %x.", next,
                              PR_DART_APERTURE_BYTES);
    if (meets_landmark(c, (uint32_t)next))
        return pr_problem_set(problem, PR_PROBLEM_LOOP,
                              "The chain loops: it returns to the descriptor at %x.", (uint32_t)next);
    c->address = (uint32_t)next;
    c->words = p->next_words;
    return true;
}
