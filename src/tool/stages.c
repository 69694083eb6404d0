/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/stages.h"

#include <stdio.h>

#include "compiler/host.h"
#include "protocol/timing.h"
#include "tool/latency.h"

#define ESTIMATE_NOTE "virtual time of a call with timing m1; modelled, not measured"

#define HOST_STAGE "host segments"

/* Machine stages by their place in ane_machine_profile. */
enum { STAGE_RUNTIME, STAGE_SUBMIT, STAGE_TAKE, STAGE_ENGINE, STAGE_FIRMWARE, STAGE_COMPLETE };

static const struct {
    const char *stage;
    double low, high;
} budget[PR_TIMING_STAGE_COUNT] = {
#define X(id, stage, from, to) \
    [PR_TIMING_##              \
        id] = {stage, (double)(from) / PR_TIMING_TENTHS_PER_US, (double)(to) / PR_TIMING_TENTHS_PER_US},
    PR_TIMING_STAGES(X)
#undef X
};

const char *tool_stage_name(unsigned stage)
{
    return stage == STAGE_RUNTIME ? "binding and casts" : ane_machine_stage_name(stage - 1);
}

/* What is left of `whole`, in all rounds together, when `inside` is taken out; for one round. */
static double outside(uint64_t whole_ns, double inside_us, uint32_t rounds)
{
    double whole_us = (double)whole_ns / 1e3;

    return whole_us > inside_us ? (whole_us - inside_us) / rounds : 0;
}

static void average(const struct ane_machine_profile *profile, uint64_t whole_ns, uint64_t host_ns,
                    uint64_t virtual_ns, uint32_t rounds, struct tool_stages *stages)
{
    double wall = 0, modelled = 0, requests = profile->requests ? (double)profile->requests : 1;

    for (unsigned i = 0; i < ANE_STAGES; i++) {
        stages->wall_us[i + 1] = (double)profile->wall_ns[i] / requests / 1e3;
        stages->virtual_us[i + 1] = (double)profile->virtual_ns[i] / requests / 1e3;
        wall += (double)profile->wall_ns[i] / 1e3;
        modelled += (double)profile->virtual_ns[i] / 1e3;
    }
    /* The runtime before and after its requests. */
    stages->host_us = (double)host_ns / 1e3 / rounds;
    stages->wall_us[STAGE_RUNTIME] = outside(whole_ns, wall + (double)host_ns / 1e3, rounds);
    stages->virtual_us[STAGE_RUNTIME] = outside(virtual_ns, modelled, rounds);
    stages->whole_virtual_us = (double)virtual_ns / 1e3 / rounds;
}

/* Once more, or for the only time, with the machine's profile on. */
static bool measure_stages(struct ane_machine *machine, bool (*dispatch)(void *context), void *context,
                           uint32_t rounds, struct tool_stages *stages)
{
    struct ane_machine_profile profile = {0};
    uint64_t virtual_before = ane_machine_now(machine), before = tool_latency_now_ns(), whole,
             host = cc_host_spent_ns();
    bool good = true;

    ane_machine_profile(machine, 1, NULL);
    for (uint32_t i = 0; i < rounds && good; i++)
        good = dispatch(context);
    whole = tool_latency_now_ns() - before;
    ane_machine_profile(machine, 0, &profile);
    if (good)
        average(&profile, whole, cc_host_spent_ns() - host, ane_machine_now(machine) - virtual_before, rounds,
                stages);
    if (good && rounds == 1 && stages->p50 == 0)
        stages->p10 = stages->p50 = stages->p90 = (double)whole / 1e3;
    return good;
}

bool tool_stages_measure(struct ane_machine *machine, uint64_t adds_ns, bool (*dispatch)(void *context),
                         void *context, uint32_t repeat, struct tool_stages *stages)
{
    struct tool_latency whole = {0};

    if (repeat > 1 && !tool_latency_measure(dispatch, context, repeat, &whole))
        return false;
    *stages = (struct tool_stages){.timed = !adds_ns, .p10 = whole.p10, .p50 = whole.p50, .p90 = whole.p90};
    if (!measure_stages(machine, dispatch, context, repeat > 1 ? repeat / 10 + 1 : 1, stages))
        return false;
    stages->m1_estimate_us = stages->whole_virtual_us + (double)adds_ns / 1e3;
    return true;
}

void tool_stages_latency_json(struct json *json, const struct tool_stages *stages)
{
    json_object(json, "latency_us");
    json_real(json, "p10", stages->p10);
    json_real(json, "p50", stages->p50);
    json_real(json, "p90", stages->p90);
    json_object_end(json);
}

void tool_stages_json(struct json *json, const struct tool_stages *stages)
{
    tool_stages_latency_json(json, stages);
    json_object(json, "stages");
    for (unsigned i = 0; i < TOOL_STAGES; i++)
        json_real(json, tool_stage_name(i), stages->wall_us[i]);
    if (stages->host_us > 0)
        json_real(json, HOST_STAGE, stages->host_us);
    json_object_end(json);
    json_object(json, "virtual_us");
    for (unsigned i = 0; i < TOOL_STAGES; i++)
        json_real(json, tool_stage_name(i), stages->virtual_us[i]);
    json_object_end(json);
    json_real(json, "whole_virtual_us", stages->whole_virtual_us);
    json_string(json, "timing", stages->timed ? "m1" : "none");
    json_real(json, "m1_estimate_us", stages->m1_estimate_us);
    json_string(json, "m1_estimate_note", ESTIMATE_NOTE);
}

/* A row of Table 2.3 beside what happens here in its place. */
static void budget_row(enum pr_timing_stage row, double wall, double virtual_time)
{
    char about[32];

    if (budget[row].low < budget[row].high)
        snprintf(about, sizeof(about), "%.0f to %.0f", budget[row].low, budget[row].high);
    else
        snprintf(about, sizeof(about), "%.0f", budget[row].low);
    printf("  %-68s %10.2f %12.2f %12s\n", budget[row].stage, wall, virtual_time, about);
}

/*
 * The machine's stages are divided by stores and lines, the table by work: a stage of the machine has more
 * than one row where a timed machine spends more than one in it.
 */
void tool_stages_print(const struct tool_stages *s)
{
    const double *w = s->wall_us, *v = s->virtual_us;
    const double kick = s->timed ? PR_TIMING_KICK_NS / 1e3 : 0, host = PR_TIMING_HOST_NS / 1e3,
                 method = s->timed ? PR_TIMING_METHOD_REST_NS / 1e3 : 0,
                 call = s->timed && v[STAGE_RUNTIME] > 0 ? PR_TIMING_CALL_REST_NS / 1e3 : 0;
    double wall = s->host_us;

    for (unsigned i = 0; i < TOOL_STAGES; i++)
        wall += w[i];
    printf("  %-68s %10s %12s %12s\n", "stage", "here, us", "virtual, us", "an M1, us");
    budget_row(PR_TIMING_BIND, w[STAGE_RUNTIME], v[STAGE_RUNTIME] - call);
    budget_row(PR_TIMING_BUILD, w[STAGE_SUBMIT], v[STAGE_SUBMIT] - kick - method);
    budget_row(PR_TIMING_KICK, 0, kick);
    budget_row(PR_TIMING_ROUND_TRIP, w[STAGE_TAKE] + w[STAGE_ENGINE] + w[STAGE_FIRMWARE],
               v[STAGE_TAKE] + v[STAGE_ENGINE] + v[STAGE_FIRMWARE] + host);
    budget_row(PR_TIMING_COMPLETE, w[STAGE_COMPLETE], v[STAGE_COMPLETE] - host);
    printf("  %-68s %10.2f %12.2f %12.1f\n", "the rest of the method and of the call", 0.0, method + call,
           (PR_TIMING_METHOD_REST_NS + PR_TIMING_CALL_REST_NS) / 1e3);
    if (s->host_us > 0)
        printf("  %-68s %10.2f %12s %12s\n", HOST_STAGE, s->host_us, "", "");
    printf("  %-68s %10.2f %12.2f %12d\n", "together", wall, s->whole_virtual_us, PR_TIMING_CALL_US);
    printf(
        "  here: wall time of this host. virtual: what the model's clock says, with timing %s. an M1: the\n"
        "  guide's measured budget (Table 2.3) for its tiny network. Of this model an M1 would take\n"
        "  %.1f us: modelled, not measured.\n",
        s->timed ? "m1" : "none", s->m1_estimate_us);
}
