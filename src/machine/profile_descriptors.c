/* SPDX-License-Identifier: Apache-2.0 */
/* Wall time of descriptors. A row that there is no memory for is left out; nothing else changes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "engine/describe.h"
#include "machine/internal.h"

#define ROWS_FIRST 64u
#define ROWS_MAX   65536u

_Static_assert(ANE_DESCRIPTOR_TEXT >= sizeof(((struct eng_description *)0)->text), "a description fits");

static uint64_t wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void begin(void *context)
{
    struct ane_machine *m = context;

    m->profile.descriptors.begun = wall_ns();
}

static struct ane_machine_descriptor *find(struct mach_descriptors *d, uint32_t address)
{
    if (d->next >= d->rows)
        d->next = 0;
    for (uint32_t i = 0; i < d->rows; i++) {
        uint32_t at = (d->next + i) % d->rows;

        if (d->row[at].address == address) {
            d->next = at + 1;
            return &d->row[at];
        }
    }
    return NULL;
}

static struct ane_machine_descriptor *add(struct mach_descriptors *d, uint32_t address, uint32_t index,
                                          const struct pr_task *task)
{
    struct eng_description description;
    struct ane_machine_descriptor *row;

    if (d->rows == d->capacity) {
        uint32_t capacity = d->capacity ? 2 * d->capacity : ROWS_FIRST;

        row = capacity > ROWS_MAX ? NULL : base_realloc(d->row, capacity * sizeof(*row));
        if (!row)
            return NULL;
        d->row = row;
        d->capacity = capacity;
    }
    eng_describe(task, &description);
    row = &d->row[d->rows++];
    *row = (struct ane_machine_descriptor){.address = address,
                                           .index = index,
                                           .least_ns = UINT64_MAX,
                                           .work = description.work,
                                           .bytes = description.bytes,
                                           .multiplies = description.multiplies};
    memcpy(row->text, description.text, sizeof(description.text));
    return row;
}

static void end(void *context, uint32_t address, uint32_t index, const struct pr_task *task)
{
    struct ane_machine *m = context;
    struct mach_descriptors *d = &m->profile.descriptors;
    const uint64_t took = wall_ns() - d->begun;
    struct ane_machine_descriptor *row = find(d, address);

    if (!row)
        row = add(d, address, index, task);
    if (!row)
        return;
    row->runs++;
    row->wall_ns += took;
    if (took < row->least_ns)
        row->least_ns = took;
}

void mach_descriptors_start(struct ane_machine *m)
{
    m->profile.descriptors = (struct mach_descriptors){.on = true};
    eng_watch_set(m->engine, &(const struct eng_watch){.begin = begin, .end = end, .context = m});
}

void mach_descriptors_stop(struct ane_machine *m)
{
    eng_watch_set(m->engine, NULL);
    base_free(m->profile.descriptors.row);
    m->profile.descriptors = (struct mach_descriptors){.on = false};
}

int ane_machine_profile_descriptors(struct ane_machine *machine, struct ane_machine_descriptor *rows,
                                    uint32_t capacity, uint32_t *count)
{
    struct mach_descriptors *d;
    int status = 0;

    if (!mach_enter(machine))
        return -EPERM;
    d = &machine->profile.descriptors;
    if (!d->on)
        status = base_fail(mach_error(), EINVAL,
                           "The machine does not measure descriptors; ane_machine_profile switches it on.");
    else
        *count = d->rows;
    if (d->on && d->rows && capacity)
        memcpy(rows, d->row, (d->rows < capacity ? d->rows : capacity) * sizeof(*rows));
    mach_leave(machine);
    return status;
}
