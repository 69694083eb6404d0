/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong on a machine, as its owner may read it afterwards: the model's last finding. */
#include <errno.h>
#include <string.h>

#include "machine/internal.h"

static int refuse_size(const char *what, size_t size)
{
    return base_fail(mach_error(), EINVAL, "The %s's size must be %zu.", what, size);
}

static int problem_get(struct ane_machine *m, struct ane_machine_problem *problem)
{
    const struct eng_problem *last = eng_problem_get(m->engine);

    if (!problem || problem->size != sizeof(*problem))
        return refuse_size("problem", sizeof(*problem));
    if (!last->count)
        return base_fail(mach_error(), ENOENT, "The engine has refused nothing so far.");
    *problem = (struct ane_machine_problem){
        .size = sizeof(*problem),
        .count = last->count,
        .kind = (uint32_t)last->problem.kind,
        .queue = last->queue,
        .descriptor = last->problem.descriptor,
        .address = last->address,
        .offset = last->problem.offset,
        .bits = last->problem.bits,
    };
    _Static_assert(sizeof(problem->text) == sizeof(last->problem.text), "one size of a sentence");
    memcpy(problem->text, last->problem.text, sizeof(problem->text));
    return 0;
}

int ane_machine_problem(struct ane_machine *machine, struct ane_machine_problem *problem)
{
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    status = problem_get(machine, problem);
    mach_leave(machine);
    return status;
}
