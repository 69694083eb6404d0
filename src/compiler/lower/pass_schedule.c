/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of operations. Any order in which operands come before their users gives the same results; it
 * decides how long intermediates are alive, and so how many of them stay in L2. One operation after the other
 * is taken from those whose operands are there:
 *
 *   1. one that frees at least as much as it needs
 *   2. one whose operand was made last: a branch is followed to its end
 *   3. of the branches of a fork, the one with the largest footprint, among those that fit into the working
 *      set (the diamond rule of Apple's compiler: guide, chapter 22); then the others, smallest first
 *   4. the first of the graph
 *
 * The new order is kept if it needs less than the graph's: fewer bytes beyond the working set, summed over
 * the operations, or else a smaller peak.
 */
#include <string.h>

#include "base/alloc.h"
#include "compiler/lower/operand.h"
#include "compiler/lower/pass.h"

#define WORKING_SET (PR_L2_BYTES - PR_E5_L2_STAGING)
#define NONE        UINT32_MAX
/* Comparisons of operands, about a tenth of a second: a graph that needs more keeps its order. */
#define WORK_MAX 30000000u

/* An operation that gets records. */
struct node {
    uint32_t step;          /* its number */
    uint32_t inputs, input; /* nodes that it reads, from edge[input]; one for each use */
    uint32_t users, user;   /* nodes that read it, from edge[user] */
    uint64_t bytes;         /* of its result; 0 for an output, which is at a port */
    uint64_t footprint;     /* the largest need of it and of the branch behind it */
    uint32_t waits;         /* uses of operands that are not there yet */
    uint32_t left;          /* uses of its result that are still to come */
    uint32_t made;          /* when it was taken, from 1 */
};

struct schedule {
    struct cc_lowering *l;
    uint32_t nodes, edges, ready;
    uint64_t work; /* so far */
    struct node *node;
    uint32_t *of_step; /* node of an operation, NONE without records */
    uint32_t *edge;
    uint32_t *queue; /* nodes that are ready */
    uint32_t *order; /* nodes as they were taken */
};

/* What an order needs. */
struct need {
    uint64_t beyond, peak;
};

static bool has_records(const struct cc_step *step)
{
    return step->live && !step->skip;
}

static uint32_t node_of_value(const struct schedule *s, uint32_t value)
{
    uint32_t producer = s->l->tensor[cc_root(s->l, value)].producer;

    return producer ? s->of_step[producer - 1] : NONE;
}

/* Bytes in L2: rows begin on 16 bytes there. */
static uint64_t bytes_of(const struct cc_lowering *l, uint32_t value)
{
    struct cc_layout layout;

    if (cc_layout_of(l, value, &layout))
        return cc_value_of(l, value)->bytes;
    return layout.bytes / layout.row * pr_round_up((uint64_t)layout.w * CC_ELEMENT, PR_E5_L2_ALIGN);
}

static int make_arrays(struct schedule *s)
{
    const struct cc_graph *g = s->l->graph;

    s->of_step = base_alloc_array(g->ops + 1u, sizeof(*s->of_step));
    if (!s->of_step)
        return cc_no_memory(s->l);
    for (uint32_t i = 0; i < g->ops; i++) {
        s->of_step[i] = has_records(&s->l->step[i]) ? s->nodes++ : NONE;
        s->edges += s->of_step[i] == NONE ? 0 : 2 * g->op[i].inputs;
    }
    s->node = base_alloc_array(s->nodes + 1u, sizeof(*s->node));
    s->edge = base_alloc_array(s->edges + 1u, sizeof(*s->edge));
    s->queue = base_alloc_array(s->nodes + 1u, sizeof(*s->queue));
    s->order = base_alloc_array(s->nodes + 1u, sizeof(*s->order));
    return s->node && s->edge && s->queue && s->order ? 0 : cc_no_memory(s->l);
}

/* Nodes and what they read. */
static void make_nodes(struct schedule *s)
{
    const struct cc_graph *g = s->l->graph;
    uint32_t edge = 0;

    for (uint32_t i = 0; i < g->ops; i++) {
        struct node *node = &s->node[s->of_step[i] == NONE ? s->nodes : s->of_step[i]];

        if (s->of_step[i] == NONE)
            continue;
        *node = (struct node){.step = i, .input = edge, .bytes = bytes_of(s->l, s->l->step[i].output)};
        for (uint32_t k = 0; k < g->op[i].inputs; k++) {
            uint32_t from = node_of_value(s, g->op[i].input[k]);

            if (from == NONE)
                continue;
            s->edge[edge++] = from;
            node->inputs++;
            s->node[from].users++;
        }
    }
    for (uint32_t i = 0; i < g->outputs; i++) {
        uint32_t from = node_of_value(s, g->output[i]);

        if (from != NONE)
            s->node[from].bytes = 0;
    }
    for (uint32_t i = 0; i < s->nodes; i++) {
        s->node[i].user = edge;
        edge += s->node[i].users;
        s->node[i].users = 0;
    }
}

/* Who reads them; and footprints, from the last node to the first. */
static void join_nodes(struct schedule *s)
{
    for (uint32_t i = 0; i < s->nodes; i++)
        for (uint32_t k = 0; k < s->node[i].inputs; k++) {
            struct node *from = &s->node[s->edge[s->node[i].input + k]];

            s->edge[from->user + from->users++] = i;
        }
    for (uint32_t i = s->nodes; i-- > 0;) {
        struct node *node = &s->node[i];
        const struct node *next = node->users == 1 ? &s->node[s->edge[node->user]] : NULL;

        node->footprint = node->bytes;
        for (uint32_t k = 0; k < node->inputs; k++)
            node->footprint += s->node[s->edge[node->input + k]].bytes;
        if (next && next->inputs == 1 && next->footprint > node->footprint)
            node->footprint = next->footprint;
    }
}

static void begin(struct schedule *s)
{
    s->ready = 0;
    for (uint32_t i = 0; i < s->nodes; i++) {
        s->node[i].waits = s->node[i].inputs;
        s->node[i].left = s->node[i].users;
        s->node[i].made = 0;
        if (!s->node[i].waits)
            s->queue[s->ready++] = i;
    }
}

/* Bytes of the operands that nothing else reads any more. An operand that is read twice counts once. */
static uint64_t freed_by(const struct schedule *s, const struct node *node)
{
    uint64_t bytes = 0;

    for (uint32_t k = 0; k < node->inputs; k++) {
        uint32_t from = s->edge[node->input + k], uses = 0, first = node->inputs;

        for (uint32_t j = 0; j < node->inputs; j++)
            if (s->edge[node->input + j] == from) {
                first = first == node->inputs ? j : first;
                uses++;
            }
        if (first == k && s->node[from].left == uses)
            bytes += s->node[from].bytes;
    }
    return bytes;
}

/* When the last of its operands was made. */
static uint32_t last_made(const struct schedule *s, const struct node *node)
{
    uint32_t made = 0;

    for (uint32_t k = 0; k < node->inputs; k++)
        if (s->node[s->edge[node->input + k]].made > made)
            made = s->node[s->edge[node->input + k]].made;
    return made;
}

/* What decides between nodes that are ready; larger goes first. */
struct rank {
    bool frees;
    uint32_t made;
    bool fits;
    uint64_t size; /* the footprint, or its complement */
};

static struct rank rank_of(struct schedule *s, const struct node *node)
{
    bool fits = node->footprint <= WORKING_SET;

    s->work += 1 + (uint64_t)node->inputs * node->inputs;
    return (struct rank){.frees = node->inputs && freed_by(s, node) >= node->bytes,
                         .made = last_made(s, node),
                         .fits = fits,
                         .size = fits ? node->footprint : UINT64_MAX - node->footprint};
}

static bool goes_before(const struct rank *a, uint32_t a_node, const struct rank *b, uint32_t b_node)
{
    if (a->frees != b->frees)
        return a->frees;
    if (a->made != b->made)
        return a->made > b->made;
    if (a->fits != b->fits)
        return a->fits;
    if (a->size != b->size)
        return a->size > b->size;
    return a_node < b_node;
}

/* Takes the best of the queue out of it. */
static uint32_t take(struct schedule *s)
{
    struct rank best = rank_of(s, &s->node[s->queue[0]]);
    uint32_t found = 0, node;

    for (uint32_t i = 1; i < s->ready; i++) {
        struct rank rank = rank_of(s, &s->node[s->queue[i]]);

        if (goes_before(&rank, s->queue[i], &best, s->queue[found])) {
            best = rank;
            found = i;
        }
    }
    node = s->queue[found];
    s->queue[found] = s->queue[--s->ready];
    return node;
}

static void finish(struct schedule *s, uint32_t number, uint32_t time)
{
    struct node *node = &s->node[number];

    node->made = time;
    for (uint32_t k = 0; k < node->inputs; k++)
        s->node[s->edge[node->input + k]].left--;
    for (uint32_t k = 0; k < node->users; k++) {
        uint32_t user = s->edge[node->user + k];

        if (!--s->node[user].waits)
            s->queue[s->ready++] = user;
    }
}

/* False when it would take too long. */
static bool choose_order(struct schedule *s)
{
    begin(s);
    for (uint32_t i = 0; i < s->nodes; i++) {
        s->order[i] = take(s);
        finish(s, s->order[i], i + 1);
        if (s->work > WORK_MAX)
            return false;
    }
    return true;
}

/* Of an order of all nodes; the graph's, when there is none. */
static struct need need_of(struct schedule *s, const uint32_t *order)
{
    struct need need = {0};
    uint64_t now = 0;

    begin(s);
    for (uint32_t i = 0; i < s->nodes; i++) {
        uint32_t number = order ? order[i] : i;

        now += s->node[number].bytes;
        if (now > need.peak)
            need.peak = now;
        if (now > WORKING_SET)
            need.beyond += now - WORKING_SET;
        now -= freed_by(s, &s->node[number]);
        finish(s, number, i + 1);
    }
    return need;
}

static bool is_less(const struct need *a, const struct need *b)
{
    return a->beyond != b->beyond ? a->beyond < b->beyond : a->peak < b->peak;
}

/* The operations that get records come in the new order, at the places where such operations were. */
static void apply(struct schedule *s)
{
    uint32_t next = 0;

    for (uint32_t i = 0; i < s->l->graph->ops; i++)
        if (s->of_step[i] != NONE)
            s->l->order[i] = s->node[s->order[next++]].step;
}

static int schedule(struct schedule *s)
{
    struct need before, after;
    int status = make_arrays(s);

    if (status)
        return status;
    make_nodes(s);
    join_nodes(s);
    before = need_of(s, NULL);
    if (!choose_order(s))
        return 0;
    after = need_of(s, s->order);
    if (is_less(&after, &before))
        apply(s);
    return 0;
}

int cc_pass_schedule(struct cc_lowering *l)
{
    struct schedule s = {.l = l};
    int status;

    for (uint32_t i = 0; i < l->graph->ops; i++)
        l->order[i] = i;
    if (l->flags & CC_LOWER_IN_ORDER)
        return 0;
    status = schedule(&s);
    base_free(s.of_step);
    base_free(s.node);
    base_free(s.edge);
    base_free(s.queue);
    base_free(s.order);
    return status;
}
