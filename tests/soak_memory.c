/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Much memory through one client, from outside: 20 GiB of surfaces one after another with 1 GiB of them live,
 * then 5 GiB live at once behind 3.5 GiB of device addresses. Every result and every page is checked.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "outrig.h"

#define MIB        (1ull << 20)
#define SURFACE    (64 * MIB)
#define PASSING    320u /* 20 GiB */
#define LIVE       16u  /* 1 GiB */
#define LIVE_LARGE 80u  /* 5 GiB */
#define ROUNDS     3u
#define NEEDED     (8ull << 30) /* of free memory for 5 GiB live */
#define STEP       4096u
#define DATA       0x10000u /* operands and result are before this */

static uint64_t available_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    uint64_t kib = 0;
    char line[128];

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib << 10;
}

/* Every page of the host gets a number of its own. */
static void make(struct outrig_data *data, uint64_t number)
{
    *data = (struct outrig_data){0};
    if (ane_surface_create(0, SURFACE, &data->surface))
        crew_fail("ane_surface_create: %s", ane_machine_error());
    data->base = ane_surface_base(data->surface);
    for (uint64_t at = DATA; at < SURFACE; at += STEP) {
        uint64_t word = number << 32 | at;

        memcpy(data->base + at, &word, sizeof(word));
    }
}

static void end(struct outrig_data *data, uint64_t number)
{
    for (uint64_t at = DATA, word; at < SURFACE; at += STEP) {
        memcpy(&word, data->base + at, sizeof(word));
        if (word != (number << 32 | at))
            crew_fail("Surface %" PRIu64 " has 0x%" PRIx64 " at 0x%" PRIx64 ".", number, word, at);
    }
    ane_surface_release(data->surface);
}

static void use(const struct outrig_user *user, struct outrig_data *data)
{
    outrig_good(outrig_request(crew_main(), &user->client, user->token, data), "A request (selector 2)");
}

static void pass_by(const struct outrig_user *user)
{
    static struct outrig_data live[LIVE];

    for (unsigned i = 0; i < PASSING + LIVE; i++) {
        struct outrig_data *data = &live[i % LIVE];

        if (i >= LIVE)
            end(data, i - LIVE);
        if (i >= PASSING)
            continue;
        make(data, i);
        use(user, data);
        use(user, &live[crew_random(crew_main(), i < LIVE ? i + 1 : LIVE)]);
    }
}

static void live_at_once(const struct outrig_user *user, struct ane_machine *machine)
{
    static struct outrig_data live[LIVE_LARGE];
    uint64_t before = ane_machine_counter(machine, "driver.evictions");

    for (unsigned i = 0; i < LIVE_LARGE; i++)
        make(&live[i], i);
    for (unsigned i = 0; i < ROUNDS * LIVE_LARGE; i++)
        use(user, &live[i % LIVE_LARGE]);
    for (unsigned i = 0; i < LIVE_LARGE; i++)
        end(&live[i], i);
    if (ane_machine_counter(machine, "driver.evictions") - before < LIVE_LARGE)
        crew_fail("5 GiB went through 3.5 GiB of addresses with %" PRIu64 " evictions.",
                  ane_machine_counter(machine, "driver.evictions") - before);
}

int main(void)
{
    struct ane_machine *machine;
    struct outrig_user user;
    uint64_t pages, used;
    bool large = available_memory() >= NEEDED;

    crew_begin("soak_memory", 1);
    outrig_compile();
    machine = outrig_machine();
    outrig_user_make(&user, ane_machine_service(machine));
    pages = ane_machine_counter(machine, "driver.client_pages");
    used = outrig_dram_used(machine);
    pass_by(&user);
    if (large)
        live_at_once(&user, machine);
    if (ane_machine_counter(machine, "driver.client_pages") != pages)
        crew_fail("%" PRIu64 " pages are held for the client, %" PRIu64 " before.",
                  ane_machine_counter(machine, "driver.client_pages"), pages);
    if (outrig_dram_used(machine) != used)
        crew_fail("0x%" PRIx64 " bytes of DRAM are in use, 0x%" PRIx64 " before.", outrig_dram_used(machine),
                  used);
    outrig_user_release(&user);
    ane_machine_destroy(machine);
    crew_pass("20 GiB passed by%s", large
                                        ? ", 5 GiB were live at once"
                                        : "; 5 GiB at once were skipped: less than 8 GiB of memory is free");
    return 0;
}
