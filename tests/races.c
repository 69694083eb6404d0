/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races and load against the public headers, one at a time:
 *
 *     races NAME SECONDS [SEED]
 *     races --list
 *
 * Ends with 0 when everything was as the headers promise, else with one sentence and 1. When a thread makes
 * no progress for 30 seconds the program aborts and says where. Prints TAP.
 */
#include "races.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SEED 0x414e454d4f4e45u

static const struct race {
    const char *name;
    unsigned long (*run)(double seconds);
    const char *what;
} races[] = {
#define X(name, function, what) {name, function, what},
    RACES(X)
#undef X
};

static const struct race *find(const char *name)
{
    for (size_t i = 0; i < sizeof(races) / sizeof(races[0]); i++)
        if (!strcmp(races[i].name, name))
            return &races[i];
    return NULL;
}

static int list(void)
{
    for (size_t i = 0; i < sizeof(races) / sizeof(races[0]); i++)
        printf("%-16s %s\n", races[i].name, races[i].what);
    return 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: races NAME SECONDS [SEED]\n       races --list\n");
    return 2;
}

int main(int argc, char **argv)
{
    const char *seed = argc == 4 ? argv[3] : getenv("ANEMONE_TEST_SEED");
    const struct race *race;
    double seconds;
    char *end;

    if (argc == 2 && !strcmp(argv[1], "--list"))
        return list();
    if (argc != 3 && argc != 4)
        return usage();
    race = find(argv[1]);
    seconds = strtod(argv[2], &end);
    if (!race || *end || !(seconds > 0 && seconds < 1e6))
        return usage();
    crew_begin(race->name, seed ? strtoull(seed, NULL, 0) : DEFAULT_SEED);
    outrig_compile();
    crew_pass("%lu operations", race->run(seconds));
    return 0;
}
