/* SPDX-License-Identifier: Apache-2.0 */
#include "served_client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <anemone/machine.h>

void served_client_fail(const char *format, ...)
{
    char line[1024];
    va_list arguments;
    size_t at = (size_t)snprintf(line, sizeof(line), "# client %d: ", (int)getpid());

    /* One write, so that several clients may fail at once. */
    va_start(arguments, format);
    at += (size_t)vsnprintf(line + at, sizeof(line) - at, format, arguments);
    va_end(arguments);
    at = at < sizeof(line) - 1 ? at : sizeof(line) - 2;
    line[at++] = '\n';
    _exit(write(STDERR_FILENO, line, at) > 0 ? 1 : 3);
}

void served_client_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    if (fflush(stdout))
        _exit(1);
}

void served_client_good(IOReturn status, const char *call)
{
    if (status)
        served_client_fail("%s answered 0x%x: %s", call, (unsigned)status, ane_machine_error());
}

bool served_client_is_starved(IOReturn status, const char *call)
{
    if (status != kIOReturnTimeout)
        served_client_good(status, call);
    return status == kIOReturnTimeout;
}

double served_client_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static const struct served_model *find_model(const char *name)
{
    for (unsigned i = 0; i < SERVED_MODELS; i++)
        if (strcmp(served_models[i].name, name) == 0)
            return &served_models[i];
    served_client_fail("There is no model %s.", name);
}

static const struct served_way *find_way(const char *name)
{
    static const struct served_way *const tables[] = {served_runtime_ways, served_broker_ways};

    for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct served_way *way = tables[i]; way->name; way++)
            if (strcmp(way->name, name) == 0)
                return way;
    served_client_fail("There is no way %s to the engine.", name);
}

/*
 * run WAY MODEL FOLDER SECONDS SEED QOS: prints "running" after the first result and "done N" after N right
 * ones. Programs and sessions come and go meanwhile: after some results everything is made anew.
 */
static int run(int argc, char **argv)
{
    const struct served_model *model;
    const struct served_way *way;
    unsigned long results = 0;
    uint64_t random;
    double end;
    uint32_t qos;

    if (argc != 6)
        served_client_fail("run WAY MODEL FOLDER SECONDS SEED QOS");
    way = find_way(argv[0]);
    model = find_model(argv[1]);
    end = served_client_clock() + strtod(argv[3], NULL);
    random = strtoull(argv[4], NULL, 0);
    qos = (uint32_t)strtoul(argv[5], NULL, 0);
    do {
        uint64_t rounds = 1 + served_random(&random) % 400;
        struct served_work work;

        way->make(&work, argv[2], model, qos);
        while (rounds-- && work.step(work.context, model, &random)) {
            if (!results++)
                served_client_say("running");
            if (served_client_clock() >= end)
                break;
        }
        work.end(work.context);
    } while (served_client_clock() < end);
    served_client_say("done %lu", results);
    return 0;
}

static const struct {
    const char *name;
    int (*mode)(int argc, char **argv);
} modes[] = {
    {"run", run},
    {"hostile", served_client_hostile},
    {"victim", served_client_victim},
    {"attack", served_client_attack},
    {"ordered", served_client_ordered},
    {"share", served_client_share},
    {"grants", served_client_grants},
    {"exec", served_client_exec},
    {"kept", served_client_kept},
};

int main(int argc, char **argv)
{
    /* A rig that fails leaves no client behind. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            return modes[i].mode(argc - 2, argv + 2);
    served_client_fail("There is no mode %s.", argc > 1 ? argv[1] : "");
}
