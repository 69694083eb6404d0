/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion events: two lines, each a count and four registers of the oldest event, and the interrupt they
 * raise. The level of the interrupt line follows from pending lines and enable registers: every change of
 * either updates it.
 */
#include "engine/state.h"
#include "protocol/board.h"

/* The values that enable the interrupt: those that public drivers write. */
static bool enabled(const struct eng *e)
{
    return (e->irq_en1 & PR_TM_IRQ_EN1_ON) && (e->irq_en2 & PR_TM_IRQ_EN2_ON);
}

void eng_event_update_line(struct eng *e)
{
    bool level = enabled(e) && (e->line[0].pending || e->line[1].pending);

    soc_lines_set(e->lines, e->config.line, level);
}

static uint32_t timestamp(const struct eng *e)
{
    return (uint32_t)pr_timebase_ticks(soc_clock_now(e->clock));
}

static void post(struct eng *e, struct eng_event_line *line, uint32_t info, uint32_t detail)
{
    if (line->count == ENG_EVENTS) {
        SOC_TRACE(e->trace, ENG_EVENT_LOST, line->event[line->first].info);
        line->first = (line->first + 1) % ENG_EVENTS;
        line->count--;
    }
    line->event[(line->first + line->count) % ENG_EVENTS] = (struct eng_event){info, detail, timestamp(e)};
    line->count++;
    line->pending = true;
}

void eng_event_post(struct eng *e, uint32_t info, uint32_t detail)
{
    for (unsigned i = 0; i < ENG_EVENT_LINES; i++)
        post(e, &e->line[i], info, detail);
    eng_event_update_line(e);
}

/*
 * Registers of a line, from its count register: count, info, detail, timestamp, unknown 2. Reading the
 * last pops the event.
 */
uint32_t eng_event_read(struct eng *e, unsigned which, uint32_t offset)
{
    struct eng_event_line *line = &e->line[which];
    const struct eng_event *event = &line->event[line->first];

    if (offset == 0)
        return line->count;
    if (line->count == 0)
        return 0;
    switch (offset) {
    case PR_TM_IRQ0_INFO - PR_TM_IRQ0_COUNT: return event->info;
    case PR_TM_IRQ0_UNK1 - PR_TM_IRQ0_COUNT: return event->detail;
    case PR_TM_IRQ0_TIME - PR_TM_IRQ0_COUNT: return event->time;
    case PR_TM_IRQ0_UNK2 - PR_TM_IRQ0_COUNT:
        line->first = (line->first + 1) % ENG_EVENTS;
        line->count--;
        return 0;
    default: return 0;
    }
}

void eng_event_ack(struct eng *e, uint32_t value)
{
    if (value & PR_TM_IRQ_ACK_0)
        e->line[0].pending = false;
    if (value & PR_TM_IRQ_ACK_1)
        e->line[1].pending = false;
    eng_event_update_line(e);
}
