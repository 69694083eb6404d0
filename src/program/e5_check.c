/* SPDX-License-Identifier: Apache-2.0 */
/* What a record may say by itself, before anything is written. */
#include "program/e5_expander.h"

#include "base/array.h"
#include "program/td_codes.h"

enum { INTERLEAVE_LANES = 4 }; /* the one other interleave that public programs have */
enum { W, H, C, G };           /* places in a record's extents */
#define FLAGS_PLANAR                                                                                       \
    (PR_E5_RELU | PR_E5_OUT_TRANSPOSE | PR_E5_SUBTRACT2 | PR_E5_SUBTRACT1 | PR_E5_ABS | PR_E5_TRANSPOSE1 | \
     PR_E5_TRANSPOSE2)
#define FLAGS_NEURAL (PR_E5_RELU | PR_E5_BIAS | PR_E5_OUT_TRANSPOSE | PR_E5_TABLE | PR_E5_ONES | PR_E5_SPARSE)

bool pr_e5_wrong(const struct pr_e5_expander *x, const char *what)
{
    if (x->problem) {
        x->problem->descriptor = x->index;
        x->problem->offset = x->index * PR_E5_RECORD_BYTES;
    }
    return pr_problem_set(x->problem, PR_PROBLEM_FORMAT, "Record %u: %s.", x->index, what);
}

/* What only one of the two units has. */
static bool check_unit(const struct pr_e5_expander *x)
{
    const struct pr_e5_record *r = x->record;

    if (r->flags & ~(uint32_t)(pr_e5_is_neural(r) ? FLAGS_NEURAL : FLAGS_PLANAR))
        return pr_e5_wrong(x, "it has flags that its kind does not know");
    if ((r->flags & PR_E5_TABLE && r->flags & PR_E5_RELU) || (r->flags & PR_E5_ONES && r->kind != PR_E5_CONV))
        return pr_e5_wrong(x, "its flags contradict each other");
    if (r->flags & PR_E5_SPARSE &&
        (r->kind != PR_E5_CONV || r->flags & PR_E5_ONES || r->unicast || r->kernel_place))
        return pr_e5_wrong(x, "only a convolution with constant weights for all channels leaves zeros out");
    if (pr_e5_is_neural(r) && (r->elementwise || r->function || r->compare || r->epsilon || r->broadcast))
        return pr_e5_wrong(x, "it asks a neural task for what the planar engine does");
    if (!pr_e5_is_neural(r) &&
        (r->unicast || r->sx || r->sy || r->kernel_place || r->kernel_index || r->kernel_bytes))
        return pr_e5_wrong(x, "it asks the planar engine for what a neural task does");
    if (!pr_e5_is_reduction(r) && (r->elementwise || r->function || r->epsilon))
        return pr_e5_wrong(x, "it asks for what a reduction does and is none");
    return true;
}

static bool check_kernel(const struct pr_e5_expander *x)
{
    const struct pr_e5_record *r = x->record;

    if (r->kernel % PR_ROW_ALIGN || r->kernel_bytes % PR_ROW_ALIGN)
        return pr_e5_wrong(x, "its kernel is not on a 64-byte boundary");
    if (r->kw > 0x1f || r->kh > 0x1f || r->px > 0x1f || r->py > 0x1f || r->lanes_log2 > 5 ||
        r->engines_log2 > 4 || r->sx > 3 || r->sy > 3 || r->unicast > 0xffff)
        return pr_e5_wrong(x, "its kernel geometry is above the engine's limits");
    if (r->kernel_place && !pr_e5_has_weights(r))
        return pr_e5_wrong(x, "it has no kernel that could be made at run time");
    if (r->unicast && r->kind == PR_E5_BYPASS)
        return pr_e5_wrong(x, "a bypass passes each channel to itself");
    return true;
}

bool pr_e5_check_record(const struct pr_e5_expander *x)
{
    const struct pr_e5_record *r = x->record;
    const uint32_t limit[4] = {PR_WIDTH_MAX, PR_HEIGHT_MAX, PR_CHANNELS_MAX, PR_GROUPS_MAX};

    if (r->kind < PR_E5_ELEMENTWISE1 || r->kind > PR_E5_AFFINE)
        return pr_e5_wrong(x, "its kind is unknown");
    for (unsigned i = 0; i < 4; i++)
        if (!r->in[i] || r->in[i] > limit[i] || !r->out[i] || r->out[i] > limit[i])
            return pr_e5_wrong(x, "an extent is 0 or above the engine's limit");
    if (r->depth > PR_DEPTH_MAX || r->in[G] != r->out[G])
        return pr_e5_wrong(x, "its depth or its groups are not possible");
    if (r->op > (pr_e5_is_reduction(r) ? PR_PE_REDUCE_MIN : PR_PE_SQUARE_OF_SUM) || r->broadcast > 0xff ||
        r->elementwise > PR_PE_SQUARE_OF_SUM || r->function > PR_PE_RSQRT || r->compare > PR_PE_GREATER_EQUAL)
        return pr_e5_wrong(x, "its operation or its broadcast bits are unknown");
    if (r->compare && r->flags & PR_E5_ABS)
        return pr_e5_wrong(x, "it compares and takes a magnitude at once");
    if (r->slice > 0xffff || (r->interleave > 1 && r->interleave != INTERLEAVE_LANES))
        return pr_e5_wrong(x, "its slice or its interleave is not possible");
    for (unsigned i = 0; i < BASE_COUNT_OF(r->zero); i++)
        if (r->zero[i])
            return pr_e5_wrong(x, "a reserved field is not 0");
    return check_unit(x) && check_kernel(x);
}
