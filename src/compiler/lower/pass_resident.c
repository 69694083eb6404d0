/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which intermediates stay in L2. A buffer can if all its users reach it without DMA features (kernels,
 * slices and interleaved results need DMA) and if it fits. Buffers are taken in the order of their first
 * records. Where one does not fit beside those that are alive, the one whose last use is farthest away is
 * left to DRAM: all of it, from its first record on.
 *
 * In L2 a buffer has no gaps: rows begin on 16 bytes, not on 64. A buffer is a sequence of runs, contiguous
 * elements that begin at multiples of a distance R which divides every offset and stride of every access.
 * Its runs are moved together: an offset or a stride of k * R becomes k * R', R' being the longest run,
 * rounded up. An access that sees the buffer in another shape stays right: its runs are the same ones.
 */
#include "base/alloc.h"
#include "compiler/lower/arena.h"
#include "compiler/lower/emit.h"
#include "compiler/lower/operand.h"
#include "compiler/lower/pass.h"
#include "program/td_codes.h"

/* Sources and results that pass by DMA need room in L2, too. */
enum { RESIDENT_BYTES = PR_L2_BYTES - PR_E5_L2_STAGING };
enum { AXES = 4 }; /* of an access, without the one whose elements are contiguous */

/* How a record reaches an operand. */
struct access {
    struct pr_e5_operand *operand;
    uint32_t extent[AXES];
    uint32_t *stride[AXES];
    uint32_t run; /* bytes that are contiguous */
    bool by_dma;  /* it cannot be in L2 */
};

/* What is known of a buffer. */
struct home {
    uint32_t distance, run; /* R; the longest run of any access */
    uint32_t step;          /* R' */
    uint64_t bytes;         /* in L2 */
    bool by_dma;
    bool resident;
    uint32_t address;
};

struct residence {
    struct cc_lowering *l;
    struct home *home; /* per buffer */
    struct cc_arena arena;
};

static uint32_t divisor_of(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static bool is_planar(const struct pr_e5_record *r)
{
    return r->kind <= PR_E5_REDUCE || r->kind >= PR_E5_REDUCE2;
}

static bool is_reduction(const struct pr_e5_record *r)
{
    return r->kind == PR_E5_REDUCE || r->kind == PR_E5_REDUCE2;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Extents in the order W, H, C, G, D; `broadcast` axes are read once. */
static struct access access_of(struct pr_e5_operand *o, const uint32_t extent[5], uint32_t broadcast,
                               bool transposed, bool by_dma)
{
    uint32_t w = broadcast & PR_BROADCAST_W ? 1 : extent[0], h = broadcast & PR_BROADCAST_H ? 1 : extent[1],
             c = broadcast & PR_BROADCAST_C ? 1 : extent[2], d = broadcast & PR_BROADCAST_D ? 1 : extent[4];

    return (struct access){.operand = o,
                           .extent = {h, transposed ? w : c, extent[3], d},
                           .stride = {&o->row, &o->plane, &o->group, &o->depth},
                           .run = (transposed ? c : w) * CC_ELEMENT,
                           .by_dma = by_dma};
}

/*
 * The operands of a record; returns their number. The extents of a planar task may be stated on either side.
 */
static unsigned accesses_of(struct pr_e5_record *r, struct access access[3])
{
    const bool both = is_planar(r) && !is_reduction(r);
    uint32_t depth = r->depth ? r->depth : 1, in[5], out[5];
    unsigned count = 0;

    for (unsigned i = 0; i < CC_RECORD_AXES; i++) {
        in[i] = both ? larger(r->in[i], r->out[i]) : r->in[i];
        out[i] = r->out[i];
    }
    in[4] = depth;
    out[4] = is_reduction(r) ? 1 : depth;
    access[count++] = access_of(&r->src[0], in, r->broadcast & PR_BROADCAST_MASK, r->flags & PR_E5_TRANSPOSE1,
                                r->slice != 0);
    access[count++] = access_of(&r->dst, out, 0, r->flags & PR_E5_OUT_TRANSPOSE, r->interleave > 1);
    if (r->kind == PR_E5_AFFINE) {
        in[CC_W] = in[4] = 1;
        in[CC_H] = 2;
    }
    if (r->src[1].place != PR_E5_NONE)
        access[count++] =
            access_of(&r->src[1], in,
                      r->kind == PR_E5_AFFINE ? r->broadcast >> PR_BROADCAST_SECOND_LO & PR_BROADCAST_C
                                              : r->broadcast >> PR_BROADCAST_SECOND_LO,
                      r->flags & PR_E5_TRANSPOSE2, false);
    return count;
}

static void note_access(struct residence *x, const struct access *a)
{
    struct home *home;

    if (a->operand->place != PR_E5_INTERMEDIATE)
        return;
    home = &x->home[a->operand->index];
    home->by_dma |= a->by_dma;
    home->run = larger(home->run, a->run);
    home->distance = divisor_of(home->distance, a->operand->offset);
    for (unsigned i = 0; i < AXES; i++)
        if (a->extent[i] > 1)
            home->distance = divisor_of(home->distance, *a->stride[i]);
}

static void note_all(struct residence *x)
{
    const struct cc_program *p = x->l->program;

    for (uint32_t i = 0; i < p->records; i++) {
        struct pr_e5_record *r = &p->record[i];
        struct access access[3];
        unsigned count = accesses_of(r, access);

        for (unsigned k = 0; k < count; k++)
            note_access(x, &access[k]);
        if (r->kernel_place == PR_E5_INTERMEDIATE)
            x->home[r->kernel_index].by_dma = true;
    }
}

/* Distance, step and size in L2. A distance of 0: all accesses are one run from the beginning. */
static void size_home(struct home *home, uint32_t bytes)
{
    if (!home->distance)
        home->distance = larger((uint32_t)pr_round_up(home->run, PR_E5_L2_ALIGN), PR_E5_L2_ALIGN);
    home->step = (uint32_t)pr_round_up(home->run, PR_E5_L2_ALIGN);
    if (home->run > home->distance)
        home->step = home->distance; /* runs overlap in some access: it stays as it is */
    home->bytes = ((uint64_t)bytes + home->distance - 1) / home->distance * home->step;
}

static int settle(struct residence *x, uint32_t number)
{
    const struct cc_buffer *b = &x->l->buffer[number];
    struct home *home = &x->home[number];
    struct cc_tenant tenant = {.buffer = number, .last = b->last, .bytes = home->bytes};

    if (home->by_dma || home->bytes > RESIDENT_BYTES)
        return 0;
    cc_arena_expire(&x->arena, b->first);
    while ((tenant.offset = cc_arena_find(&x->arena, home->bytes)) + home->bytes > RESIDENT_BYTES) {
        uint32_t other;

        if (!cc_arena_remove_farthest(&x->arena, b->last, &other))
            return 0;
        x->home[other].resident = false;
    }
    home->resident = true;
    home->address = PR_E5_L2_STAGING + (uint32_t)tenant.offset;
    return cc_arena_add(x->l, &x->arena, &tenant);
}

static int settle_all(struct residence *x)
{
    uint32_t count;
    uint32_t *sorted = cc_buffers_sort(x->l, &count);
    int status = 0;

    if (!sorted)
        return cc_no_memory(x->l);
    for (uint32_t i = 0; i < count && !status; i++) {
        size_home(&x->home[sorted[i]], x->l->buffer[sorted[i]].bytes);
        status = settle(x, sorted[i]);
    }
    base_free(sorted);
    return status;
}

static void move(const struct home *home, struct access *a)
{
    struct pr_e5_operand *o = a->operand;

    o->place = PR_E5_L2;
    o->index = 0;
    o->offset = home->address + o->offset / home->distance * home->step;
    for (unsigned i = 0; i < AXES; i++)
        *a->stride[i] = a->extent[i] > 1 ? *a->stride[i] / home->distance * home->step : 0;
}

static void move_all(struct residence *x)
{
    const struct cc_program *p = x->l->program;

    for (uint32_t i = 0; i < p->records; i++) {
        struct access access[3];
        unsigned count = accesses_of(&p->record[i], access);

        for (unsigned k = 0; k < count; k++)
            if (access[k].operand->place == PR_E5_INTERMEDIATE && x->home[access[k].operand->index].resident)
                move(&x->home[access[k].operand->index], &access[k]);
    }
}

int cc_pass_resident(struct cc_lowering *l)
{
    struct residence x = {.l = l, .home = base_alloc_array(l->buffers + 1, sizeof(*x.home))};
    int status;

    if (!x.home)
        return cc_no_memory(l);
    cc_buffers_trace(l);
    note_all(&x);
    status = settle_all(&x);
    if (!status)
        move_all(&x);
    cc_arena_end(&x.arena);
    base_free(x.home);
    return status;
}
