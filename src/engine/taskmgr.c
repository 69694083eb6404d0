/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The task manager: takes pushed requests, gives the datapath to the most urgent queue at each descriptor
 * boundary, and posts completions. A descriptor's effects happen all at its completion. A malformed one stops
 * its queue, not idle, with the error registers set; a DART fault ends its request with an error event, or
 * stops the queue until the page is mapped (faults_stall). A descriptor that is tried again applies its
 * register writes a second time to the image that already has them, which changes nothing.
 */
#include "engine/state.h"

#include <string.h>

static void complete(void *context);

void eng_taskmgr_reset(struct eng *e)
{
    if (e->completion)
        soc_clock_cancel(e->clock, e->completion);
    e->completion = 0;
    e->running = -1;
    e->current = NULL;
    e->shown = NULL;
    e->req_addr = e->req_info = e->tq_en = e->irq_en1 = e->irq_en2 = e->committed = 0;
    e->error_captured = e->faulted = false;
    for (unsigned i = 0; i < PR_TM_ERRORS; i++)
        e->error[i] = PR_TM_ERROR_FINE;
    memset(e->line, 0, sizeof(e->line));
    e->taken = 0;
    for (unsigned i = 0; i < PR_TQ_COUNT; i++) {
        struct eng_queue *q = &e->queue[i];

        memset(q->reg, 0, sizeof(q->reg));
        memset(q->slot, 0, sizeof(q->slot));
        memset(&q->cursor, 0, sizeof(q->cursor));
        eng_walker_clear(q);
        q->stuck = q->waits = false;
    }
    eng_event_update_line(e);
}

bool eng_taskmgr_idle(const struct eng *e)
{
    return !e->taken;
}

static enum pr_tm_code code_of(const struct pr_problem *problem)
{
    switch (problem->kind) {
    case PR_PROBLEM_TRANSLATION: return PR_TM_CODE_TRANSLATION;
    case PR_PROBLEM_STATE: return PR_TM_CODE_PUSH;
    default: return PR_TM_CODE_DESCRIPTOR;
    }
}

/* The byte offset of the word that the descriptor read last writes to a register; 0 when it writes none. */
static uint32_t offset_of(const struct eng *e, uint32_t address)
{
    uint32_t offset = 0;

    for (uint32_t i = 0; i < e->td.record_count; i++) {
        const struct pr_record *record = &e->td.record[i];

        if (address >= record->address && address < record->address + 4u * record->count)
            offset = 4 * (record->offset + 1u) + address - record->address;
    }
    return offset;
}

/* The first error stays in the registers until they are written. */
static void capture_error(struct eng *e, unsigned queue, const struct pr_problem *problem)
{
    const struct eng_cursor *cursor = &e->queue[queue].cursor;
    enum pr_tm_code code = code_of(problem);
    struct eng_dma dma = code == PR_TM_CODE_TRANSLATION ? e->refused : (struct eng_dma){0};

    SOC_TRACE(e->trace, ENG_PROBLEM, queue, pr_problem_kind_text(problem->kind), problem->text);
    e->last = (struct eng_problem){e->last.count + 1, queue, cursor->address, *problem};
    e->last.problem.descriptor = cursor->index;
    if (problem->reg && !problem->offset)
        e->last.problem.offset = offset_of(e, problem->address);
    if (e->error_captured)
        return;
    e->error_captured = true;
    e->error[0] = (uint32_t)code | queue << PR_TM_ERROR1_QUEUE_LO | (uint32_t)dma.dma << PR_TM_ERROR1_DMA_LO;
    e->error[1] = cursor->address;
    e->error[2] = dma.address;
}

/* The network of a request that names none is known with its first descriptor. */
static void start_cursor(struct eng_queue *q)
{
    const struct eng_request *r = &q->slot[0];

    q->cursor = (struct eng_cursor){.address = r->address, .words = r->words, .nid = r->named ? r->nid : 0};
}

static void latch(struct eng_request *r, const struct eng *e, const struct eng_queue *q, uint32_t value)
{
    /*
     * The second register file is used when the request names its address, because the request was staged
     * there.
     */
    bool second = q->reg[PR_TQ_ADDR2 / 4] != 0 && e->req_addr == q->reg[PR_TQ_ADDR2 / 4] &&
                  e->req_addr != q->reg[PR_TQ_ADDR1 / 4];
    uint32_t nid = q->reg[(second ? PR_TQ_NID2 : PR_TQ_NID1) / 4];

    r->present = true;
    r->address = e->req_addr;
    r->words = pr_bits_get(e->req_info, PR_TM_INFO_SIZE_LO, PR_TM_INFO_SIZE_WIDTH) + 1;
    r->count = pr_bits_get(e->req_info, PR_TM_INFO_COUNT_LO, PR_TM_INFO_COUNT_WIDTH);
    r->stream = q->reg[PR_TQ_STREAM / 4] % PR_DART_STREAMS;
    r->priority = value & 0xff;
    r->named = nid & PR_TQ_NID_VALID;
    r->nid = pr_bits_get(nid, PR_TQ_NID_LO, PR_TQ_NID_WIDTH);
    memcpy(r->bar, &q->reg[(second ? PR_TQ_BAR2 : PR_TQ_BAR1) / 4], sizeof(r->bar));
}

static void push_refused(struct eng *e, unsigned queue, const char *why)
{
    struct pr_problem problem = {0};

    pr_problem_set(&problem, PR_PROBLEM_STATE, "Push to queue %u is lost: %s.", queue, why);
    capture_error(e, queue, &problem);
}

void eng_taskmgr_push(struct eng *e, uint32_t value)
{
    unsigned queue = pr_bits_get(value, PR_TM_PUSH_QUEUE_LO, PR_TM_PUSH_QUEUE_WIDTH);
    struct eng_queue *q = &e->queue[queue];
    struct eng_request *slot = q->slot[0].present ? &q->slot[1] : &q->slot[0];

    SOC_TRACE(e->trace, ENG_PUSH, queue, value & 0xff, e->req_addr, e->req_info);
    if (!(e->tq_en & PR_TM_TQ_EN_ON)) {
        push_refused(e, queue, "the queues are not enabled (TQ_EN)");
        return;
    }
    if (!q->reg[PR_TQ_STATUS / 4]) {
        push_refused(e, queue, "the queue is not in use (its STATUS is 0)");
        return;
    }
    if (slot->present) {
        push_refused(e, queue, "both of its slots are taken (VACANT is 0)");
        return;
    }
    if (e->gated) {
        e->stats.gated++;
        SOC_TRACE(e->trace, ENG_GATED, queue);
    }
    e->faulted = false;
    latch(slot, e, q, value);
    slot->arrival = ++e->arrivals;
    if (slot == &q->slot[0]) {
        e->taken |= 1u << queue;
        start_cursor(q);
    }
    eng_taskmgr_schedule(e);
}

static int most_urgent(const struct eng *e)
{
    int best = -1;

    for (uint32_t left = e->taken; left; left &= left - 1) {
        const int i = __builtin_ctz(left);
        const struct eng_request *r = &e->queue[i].slot[0], *b = best < 0 ? NULL : &e->queue[best].slot[0];

        if (e->queue[i].stuck)
            continue;
        if (!b || r->priority < b->priority || (r->priority == b->priority && r->arrival < b->arrival))
            best = i;
    }
    return best;
}

static void stop_queue(struct eng *e, unsigned queue, const struct pr_problem *problem)
{
    e->queue[queue].stuck = true;
    e->stats.stuck++;
    capture_error(e, queue, problem);
}

/* The index is that of the descriptor that the request ended on: the last, or the one that failed. */
static void post_end(struct eng *e, unsigned queue, uint32_t nid, uint32_t index, uint32_t code)
{
    const uint32_t kind = code ? PR_TM_EVENT_FAILED : PR_TM_EVENT_COMPLETED;

    eng_event_post(
        e, kind << PR_TM_EVENT_KIND_LO | nid << PR_TM_EVENT_NID_LO | (index & 0xffff) << PR_TM_EVENT_INDEX_LO,
        code << PR_TM_EVENT_CODE_LO | queue << PR_TM_EVENT_QUEUE_LO);
}

/* The running request leaves; the staged one follows. */
static void retire(struct eng *e, unsigned queue, uint32_t code)
{
    struct eng_queue *q = &e->queue[queue];
    uint32_t index = q->cursor.index - !code, nid = q->cursor.nid;

    SOC_TRACE(e->trace, ENG_RETIRE, queue, nid, q->cursor.index, code);
    e->committed = nid << PR_TM_COMMITTED_NID_LO;
    if (q->slot[1].present) {
        q->slot[0] = q->slot[1];
        q->slot[1].present = false;
        start_cursor(q);
    } else {
        q->slot[0].present = false;
        e->taken &= ~(1u << queue);
    }
    post_end(e, queue, nid, index, code);
}

/* A problem while preparing or running: a fault may end the request, anything else stops the queue. */
static void failed(struct eng *e, unsigned queue, const struct pr_problem *problem)
{
    struct eng_queue *q = &e->queue[queue];

    if (problem->kind != PR_PROBLEM_TRANSLATION) {
        stop_queue(e, queue, problem);
        return;
    }
    capture_error(e, queue, problem);
    e->stats.faulted++;
    e->faulted = true;
    if (!e->config.faults_stall) {
        retire(e, queue, PR_TM_CODE_TRANSLATION);
        return;
    }
    q->stuck = q->waits = true;
    q->refusal = dart_refusal_get(e->dart);
}

/* A fault that a DART could not capture, because it held another, is shown by trying again. */
void eng_taskmgr_restart(struct eng *e)
{
    bool faulted = false, restarted = false;

    for (unsigned i = 0; i < PR_TQ_COUNT; i++) {
        struct eng_queue *q = &e->queue[i];

        if (!q->waits)
            continue;
        if (q->refusal.captured && !dart_refusal_over(e->dart, &q->refusal)) {
            faulted = true;
            continue;
        }
        q->stuck = q->waits = false;
        restarted = true;
    }
    if (!restarted)
        return;
    e->faulted = faulted;
    eng_taskmgr_schedule(e);
}

bool eng_taskmgr_stuck(const struct eng *e)
{
    return e->running < 0 && !eng_taskmgr_idle(e);
}

void eng_taskmgr_schedule(struct eng *e)
{
    while (e->running < 0 && !e->gated) {
        struct pr_problem problem;
        int queue = most_urgent(e);
        struct eng_prepared *p;

        if (queue < 0)
            return;
        pr_problem_clear(&problem);
        p = eng_walker_prepare(e, &e->queue[queue], &problem);
        if (!p) {
            failed(e, (unsigned)queue, &problem);
            continue;
        }
        SOC_TRACE(e->trace, ENG_START, queue, e->queue[queue].cursor.index, e->queue[queue].cursor.address,
                  p->task.unit ? "ne" : "pe", p->cost_ns);
        e->running = queue;
        e->current = p;
        e->completion = soc_clock_after(e->clock, p->cost_ns, SOC_EVENT_FOREGROUND, complete, e);
    }
}

static bool execute(struct eng *e, struct eng_queue *q, struct eng_prepared *p, struct pr_problem *problem)
{
    const uint32_t address = q->cursor.address, index = q->cursor.index;
    bool done;

    if (!e->watch.begin)
        return eng_execute(e, q, p, problem);
    e->watch.begin(e->watch.context);
    done = eng_execute(e, q, p, problem);
    e->watch.end(e->watch.context, address, index, &p->task);
    return done;
}

static void complete(void *context)
{
    struct eng *e = context;
    unsigned queue = (unsigned)e->running;
    struct eng_queue *q = &e->queue[queue];
    struct eng_prepared *p = e->current;
    struct pr_problem problem;

    pr_problem_clear(&problem);
    e->completion = 0;
    e->running = -1;
    if (!execute(e, q, p, &problem)) {
        failed(e, queue, &problem);
    } else {
        e->stats.descriptors++;
        if (!eng_walker_advance(e, q, p, &problem)) {
            if (problem.kind) {
                stop_queue(e, queue, &problem);
            } else {
                e->stats.requests++;
                retire(e, queue, 0);
            }
        }
    }
    eng_taskmgr_schedule(e);
}

void eng_taskmgr_abort(struct eng *e, uint32_t queues)
{
    for (unsigned i = 0; i < PR_TQ_COUNT; i++) {
        struct eng_queue *q = &e->queue[i];

        if (!(queues >> i & 1) || !q->slot[0].present)
            continue;
        if (e->running == (int)i) {
            soc_clock_cancel(e->clock, e->completion);
            e->completion = 0;
            e->running = -1;
        }
        SOC_TRACE(e->trace, ENG_ABORT, i, q->cursor.index);
        q->slot[0].present = q->slot[1].present = false;
        e->taken &= ~(1u << i);
        q->stuck = q->waits = false;
        e->stats.aborted++;
    }
    eng_taskmgr_schedule(e);
}
