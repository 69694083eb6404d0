/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: creation, reset, and its register window. Every queue register keeps what is stored to it; a
 * store that is neither to a queue nor to a known register of the task manager has no effect and is traced.
 */
#include "engine/engine.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/state.h"
#include "protocol/board.h"

#define TM_OFFSET (PR_ENGINE_TM - PR_ENGINE_REGS)
#define TQ_OFFSET (PR_ENGINE_TQ - PR_ENGINE_REGS)
#define TM_BYTES  0x1000u

int eng_create(const struct eng_config *config, struct dart *dart, struct soc_clock *clock,
               struct soc_lines *lines, struct soc_trace *trace, struct eng **engine,
               struct base_error *error)
{
    struct eng *e = base_alloc(sizeof(*e));
    int status = -ENOMEM;

    if (!e)
        return base_fail(error, ENOMEM, "No memory for the engine.");
    e->config = *config;
    if (!e->config.max_work)
        e->config.max_work = ENG_MAX_WORK;
    if (!e->config.cost)
        e->config.cost = &pr_cost_m1_max;
    e->dart = dart;
    e->clock = clock;
    e->lines = lines;
    e->trace = trace;
    e->running = -1;
    for (unsigned i = 0; i < PR_TQ_COUNT; i++) {
        e->queue[i].l2 = base_pages(PR_L2_BYTES);
        if (!e->queue[i].l2) {
            base_fail(error, ENOMEM, "No memory for the L2 of queue %u.", i);
            goto fail;
        }
    }
    e->compute.policy = config->policy;
    e->compute.path = config->path;
    status = eng_pool_create(config->threads ? config->threads : 1, &e->compute.pool);
    if (status) {
        base_fail(error, -status, "The engine's %u worker threads could not be started.", config->threads);
        goto fail;
    }
    eng_taskmgr_reset(e);
    *engine = e;
    return 0;
fail:
    eng_destroy(e);
    return status;
}

void eng_destroy(struct eng *engine)
{
    if (!engine)
        return;
    eng_pool_destroy(engine->compute.pool);
    eng_compute_free(&engine->compute);
    eng_scratch_free(&engine->staged);
    eng_scratch_free(&engine->gathered);
    for (unsigned i = 0; i < PR_TQ_COUNT; i++) {
        base_pages_free(engine->queue[i].l2, PR_L2_BYTES);
        eng_scratch_free(&engine->queue[i].stream[0].memory);
        eng_scratch_free(&engine->queue[i].stream[1].memory);
    }
    base_free(engine);
}

void eng_reset(struct eng *engine)
{
    SOC_TRACE(engine->trace, ENG_RESET);
    eng_taskmgr_reset(engine);
}

void eng_gate(struct eng *engine, bool gated)
{
    engine->gated = gated;
    eng_taskmgr_schedule(engine);
}

void eng_restart(struct eng *engine)
{
    eng_taskmgr_restart(engine);
}

void eng_watch_set(struct eng *engine, const struct eng_watch *watch)
{
    engine->watch = watch ? *watch : (struct eng_watch){0};
}

bool eng_stuck(const struct eng *engine)
{
    return eng_taskmgr_stuck(engine);
}

static uint32_t vacant(const struct eng_queue *q)
{
    return ENG_SLOTS - q->slot[0].present - q->slot[1].present;
}

static uint32_t queue_read(const struct eng *e, uint32_t offset)
{
    const struct eng_queue *q = &e->queue[offset / PR_TQ_STRIDE];
    uint32_t reg = offset % PR_TQ_STRIDE;

    switch (reg) {
    case PR_TQ_VACANT:
    case PR_TQ_VACANCY_STATUS: return vacant(q);
    case PR_TQ_INFO: return q->slot[0].present ? q->cursor.nid : 0;
    default: return q->reg[reg / 4];
    }
}

static void queue_write(struct eng *e, uint32_t offset, uint32_t value)
{
    struct eng_queue *q = &e->queue[offset / PR_TQ_STRIDE];
    uint32_t reg = offset % PR_TQ_STRIDE;

    q->reg[reg / 4] = value;
}

static uint32_t manager_read(struct eng *e, uint32_t offset)
{
    if (offset >= PR_TM_IRQ0_COUNT && offset <= PR_TM_IRQ0_UNK2)
        return eng_event_read(e, 0, offset - PR_TM_IRQ0_COUNT);
    if (offset >= PR_TM_IRQ1_COUNT && offset <= PR_TM_IRQ1_UNK2)
        return eng_event_read(e, 1, offset - PR_TM_IRQ1_COUNT);
    switch (offset) {
    case PR_TM_REQ_ADDR: return e->req_addr;
    case PR_TM_REQ_INFO: return e->req_info;
    case PR_TM_TQ_EN: return e->tq_en;
    case PR_TM_COMMITTED: return e->committed;
    case PR_TM_STATUS: return eng_taskmgr_idle(e) ? PR_TM_STATUS_IDLE : 0;
    case PR_TM_ERROR1:
    case PR_TM_ERROR2:
    case PR_TM_ERROR3: return e->error[(offset - PR_TM_ERROR1) / 4];
    case PR_TM_IRQ_EN1: return e->irq_en1;
    case PR_TM_IRQ_EN2: return e->irq_en2;
    default: return 0;
    }
}

static void clear_error(struct eng *e)
{
    for (unsigned i = 0; i < PR_TM_ERRORS; i++)
        e->error[i] = PR_TM_ERROR_FINE;
    e->error_captured = false;
}

static void manager_write(struct eng *e, uint32_t offset, uint32_t value)
{
    switch (offset) {
    case PR_TM_REQ_ADDR: e->req_addr = value; break;
    case PR_TM_REQ_INFO: e->req_info = value; break;
    case PR_TM_REQ_PUSH: eng_taskmgr_push(e, value); break;
    case PR_TM_TQ_EN: e->tq_en = value; break;
    case PR_TM_ABORT: eng_taskmgr_abort(e, value); break;
    case PR_TM_ERROR1: clear_error(e); break;
    case PR_TM_IRQ_EN1:
        e->irq_en1 = value;
        eng_event_update_line(e);
        break;
    case PR_TM_IRQ_ACK: eng_event_ack(e, value); break;
    case PR_TM_IRQ_EN2:
        e->irq_en2 = value;
        eng_event_update_line(e);
        break;
    default: SOC_TRACE(e->trace, ENG_WRITE_IGNORED, offset, value); break;
    }
}

uint32_t eng_read32(void *context, uint32_t offset)
{
    struct eng *e = context;
    int index;

    if (offset >= TQ_OFFSET && offset < TQ_OFFSET + PR_TQ_COUNT * PR_TQ_STRIDE)
        return queue_read(e, offset - TQ_OFFSET);
    if (offset >= TM_OFFSET && offset < TM_OFFSET + TM_BYTES)
        return manager_read(e, offset - TM_OFFSET);
    /* The descriptor registers can be read but not written, because only the walker writes them. */
    index = pr_image_index(offset);
    return index >= 0 && e->shown ? e->shown->word[index] : 0;
}

void eng_write32(void *context, uint32_t offset, uint32_t value)
{
    struct eng *e = context;

    if (offset >= TQ_OFFSET && offset < TQ_OFFSET + PR_TQ_COUNT * PR_TQ_STRIDE)
        queue_write(e, offset - TQ_OFFSET, value);
    else if (offset >= TM_OFFSET && offset < TM_OFFSET + TM_BYTES)
        manager_write(e, offset - TM_OFFSET, value);
    else
        SOC_TRACE(e->trace, ENG_WRITE_IGNORED, offset, value);
}

enum eng_condition eng_condition(const struct eng *engine)
{
    if (engine->faulted)
        return ENG_FAULTED;
    return eng_taskmgr_idle(engine) ? ENG_IDLE : ENG_RUNNING;
}

const struct eng_problem *eng_problem_get(const struct eng *engine)
{
    return &engine->last;
}

struct eng_stats eng_stats_get(const struct eng *engine)
{
    return engine->stats;
}
