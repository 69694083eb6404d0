/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of the service only rise, so a rate is a difference. A client is found again by its task, which is
 * never used twice; one that was not there before began with zeros. The share of a client is its part of the
 * engine's time in the interval, of all clients together.
 */
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/broker.h"
#include "tool/observer.h"

#define NS_PER_SECOND 1e9
#define USER_BYTES    33u

static const char *const tiers[PR_BROKER_TIERS] = {
#define X(id, name, what) [PR_BROKER_TIER_##id] = name,
    PR_BROKER_TIER_LIST(X)
#undef X
};

struct rate {
    double dispatches; /* a second */
    double share;      /* percent of the engine's time */
};

static const struct pr_service_client *find(const struct tool_status *status, uint32_t task)
{
    static const struct pr_service_client absent;

    for (unsigned i = 0; i < status->clients; i++)
        if (status->client[i].task == task)
            return &status->client[i];
    return &absent;
}

static uint64_t since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static double per(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static struct rate rate_of(const struct pr_service_client *client, const struct tool_status *now,
                           const struct tool_status *before)
{
    const struct pr_service_client *old = find(before, client->task);
    double seconds = (double)since(now->page.uptime_ns, before->page.uptime_ns) / NS_PER_SECOND,
           engine = (double)since(now->page.engine_ns, before->page.engine_ns);
    struct rate rate = {per((double)since(client->requests, old->requests), seconds),
                        100 * per((double)since(client->engine_ns, old->engine_ns), engine)};

    if (rate.share > 100) /* the page's sum was read a moment before the client's */
        rate.share = 100;
    if (now == before)
        rate = (struct rate){0};
    return rate;
}

static double total_rate(const struct tool_status *now, const struct tool_status *before)
{
    return per((double)since(now->page.requests, before->page.requests),
               (double)since(now->page.uptime_ns, before->page.uptime_ns) / NS_PER_SECOND);
}

/* Of the engine's virtual time; it stands still while no request is under way. */
static double busy_percent(const struct tool_status *now, const struct tool_status *before)
{
    double busy = 100 * per((double)since(now->page.engine_ns, before->page.engine_ns),
                            (double)since(now->page.now_ns, before->page.now_ns));

    return busy > 100 ? 100 : busy;
}

static const char *tier_name(uint32_t tier)
{
    return tier < PR_BROKER_TIERS ? tiers[tier] : "-";
}

static void user_name(uint32_t uid, char name[USER_BYTES])
{
    const struct passwd *user = getpwuid(uid);

    if (user)
        snprintf(name, USER_BYTES, "%s", user->pw_name);
    else
        snprintf(name, USER_BYTES, "%u", uid);
}

static const struct tool_status *sorted_now, *sorted_before;
static int by_share(const void *a, const void *b)
{
    const struct pr_service_client *x = a, *y = b;
    struct rate rx = rate_of(x, sorted_now, sorted_before), ry = rate_of(y, sorted_now, sorted_before);

    if (rx.share != ry.share)
        return rx.share < ry.share ? 1 : -1;
    return x->task < y->task ? -1 : x->task > y->task;
}

static void sort(struct tool_status *now, const struct tool_status *before)
{
    sorted_now = now;
    sorted_before = before;
    qsort(now->client, now->clients, sizeof(now->client[0]), by_share);
}

/* "12.3M", at most six characters. */
static const char *bytes_text(uint64_t bytes, char text[16])
{
    static const char units[] = "BKMGTPE";
    double value = (double)bytes;
    unsigned unit = 0;

    while (value >= 999.95 && unit < sizeof(units) - 2) {
        value /= 1024;
        unit++;
    }
    snprintf(text, 16, unit ? "%.1f%c" : "%.0f%c", value, units[unit]);
    return text;
}

static void print_child(const char *name, uint32_t pid, uint32_t restarts, const char *after)
{
    if (pid)
        printf("%s: process %u, %u restart%s%s", name, pid, restarts, restarts == 1 ? "" : "s", after);
    else
        printf("%s: does not run%s", name, after);
}

static void print_head(const struct tool_status *now, const struct tool_status *before)
{
    const struct pr_service_status_page *page = &now->page;
    uint64_t seconds = page->uptime_ns / 1000000000u;
    char user[USER_BYTES], wired[16], unwired[16];

    user_name(page->uid, user);
    printf("service: process %u of %s, up %" PRIu64 ":%02u:%02u, %u session%s\n", page->pid, user,
           seconds / 3600, (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60), page->sessions,
           page->sessions == 1 ? "" : "s");
    print_child("broker", page->broker_pid, page->broker_restarts, "; ");
    print_child("compile service", page->compiler_pid, page->compiler_restarts, "\n");
    printf("engine: %.1f dispatches/s, %.1f%% busy, %" PRIu64 " in all; programs: %s wired, %s unwired\n\n",
           total_rate(now, before), busy_percent(now, before), page->requests, bytes_text(page->wired, wired),
           bytes_text(page->pageable, unwired));
}

static void print_client(const struct pr_service_client *client, const struct rate *rate)
{
    char user[USER_BYTES], bytes[16];

    user_name(client->uid, user);
    printf("%7u %-10.10s %-12s %5u %6u %7u %8.1f %7.1f %8s  %s\n", client->pid, user, tier_name(client->tier),
           client->programs, client->queue_depth, client->in_flight, rate->dispatches, rate->share,
           bytes_text(client->bytes, bytes), client->executable[0] ? client->executable : "?");
}

void tool_observer_print(struct tool_status *now, const struct tool_status *before, unsigned lines)
{
    unsigned shown = lines && lines < now->clients ? lines : now->clients;

    sort(now, before);
    print_head(now, before);
    printf("%7s %-10s %-12s %5s %6s %7s %8s %7s %8s  %s\n", "PID", "USER", "TIER", "PROGS", "DEPTH", "FLIGHT",
           "DISP/S", "ENGINE%", "MEMORY", "EXECUTABLE");
    for (unsigned i = 0; i < shown; i++) {
        struct rate rate = rate_of(&now->client[i], now, before);

        print_client(&now->client[i], &rate);
    }
    if (shown < now->clients)
        printf("        and %u more\n", now->clients - shown);
}

static void json_service(const struct tool_status *now, const struct tool_status *before, struct json *json)
{
    const struct pr_service_status_page *page = &now->page;

    json_object(json, "service");
    json_number(json, "pid", page->pid);
    json_number(json, "uid", page->uid);
    json_number(json, "uptime_ns", page->uptime_ns);
    json_number(json, "virtual_ns", page->now_ns);
    json_number(json, "sessions", page->sessions);
    json_number(json, "requests", page->requests);
    json_number(json, "engine_ns", page->engine_ns);
    json_real(json, "dispatches_per_second", total_rate(now, before));
    json_real(json, "engine_busy_percent", busy_percent(now, before));
    json_number(json, "wired_bytes", page->wired);
    json_number(json, "unwired_bytes", page->pageable);
    json_number(json, "broker_pid", page->broker_pid);
    json_number(json, "broker_restarts", page->broker_restarts);
    json_number(json, "compiler_pid", page->compiler_pid);
    json_number(json, "compiler_restarts", page->compiler_restarts);
    json_object_end(json);
}

static void json_client(const struct pr_service_client *client, const struct rate *rate, struct json *json)
{
    char user[USER_BYTES];

    user_name(client->uid, user);
    json_object(json, NULL);
    json_number(json, "pid", client->pid);
    json_number(json, "uid", client->uid);
    json_string(json, "user", user);
    json_number(json, "task", client->task);
    json_string(json, "tier", client->tier < PR_BROKER_TIERS ? tiers[client->tier] : "");
    json_bool(json, "direct_path", client->direct);
    json_number(json, "connections", client->connects);
    json_number(json, "programs", client->programs);
    json_number(json, "surfaces", client->surfaces);
    json_number(json, "queue_depth", client->queue_depth);
    json_number(json, "in_flight", client->in_flight);
    json_number(json, "requests", client->requests);
    json_number(json, "engine_ns", client->engine_ns);
    json_number(json, "bytes", client->bytes);
    json_real(json, "dispatches_per_second", rate->dispatches);
    json_real(json, "engine_share_percent", rate->share);
    json_string(json, "executable", client->executable);
    json_object_end(json);
}

void tool_observer_json(struct tool_status *now, const struct tool_status *before, struct json *json)
{
    sort(now, before);
    json_service(now, before, json);
    json_array(json, "clients");
    for (unsigned i = 0; i < now->clients; i++) {
        struct rate rate = rate_of(&now->client[i], now, before);

        json_client(&now->client[i], &rate, json);
    }
    json_array_end(json);
}
