/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone doctor`: whether this host can run the machine well. Each look fills exactly one finding; only the
 * grade BAD changes the exit status. One look makes a machine, because those before it check only what is
 * known to fail.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <anemone/machine.h>

#include "accel/notify.h"
#include "base/array.h"
#include "protocol/entitlement.h"
#include "tool/json.h"
#include "tool/observer.h"
#include "tool/tool.h"

const char tool_doctor_help[] =
    "anemone doctor [--json]\n\n"
    "Looks at what the machine needs from this host: memory files, address space, the number of\n"
    "mappings a process may have, free memory, instruction sets; then makes a machine, and looks whether\n"
    "`anemone accel` can supervise a program, for a service and what its policy gives to this user. Each\n"
    "line says what was found, and what to do where it is not enough. Exit status 1 when something will\n"
    "not work.\n";

enum grade { GOOD, WEAK, BAD };

struct finding {
    enum grade grade;
    const char *name;
    char text[400];
};

__attribute__((format(printf, 4, 5))) static void set_finding(struct finding *f, enum grade grade,
                                                              const char *name, const char *format, ...)
{
    va_list args;

    f->grade = grade;
    f->name = name;
    va_start(args, format);
    vsnprintf(f->text, sizeof(f->text), format, args);
    va_end(args);
}

static uint64_t read_number(const char *path)
{
    FILE *file = fopen(path, "r");
    uint64_t number = 0;

    if (!file)
        return 0;
    if (fscanf(file, "%" SCNu64, &number) != 1)
        number = 0;
    fclose(file);
    return number;
}

#define BUDGET 24000u

static void look_at_memory_files(struct finding *f)
{
    int file = memfd_create("anemone-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (file < 0) {
        set_finding(f, BAD, "memory files",
                    "memfd_create fails: %s. A sandbox may forbid it; DRAM cannot be made.", strerror(errno));
        return;
    }
    close(file);
    set_finding(f, GOOD, "memory files", "memfd_create works.");
}

static void look_at_mappings(struct finding *f)
{
    uint64_t limit = read_number("/proc/sys/vm/max_map_count");

    if (!limit)
        set_finding(f, WEAK, "mappings",
                    "vm.max_map_count cannot be read; the DART's windows use up to %u mappings.", BUDGET);
    else if (limit < 2 * BUDGET)
        set_finding(f, WEAK, "mappings",
                    "vm.max_map_count is %" PRIu64
                    "; set vma_budget of a machine to at most a third of it, or raise it above %u.",
                    limit, 2 * BUDGET);
    else
        set_finding(f, GOOD, "mappings", "vm.max_map_count is %" PRIu64 "; a machine uses at most %u.", limit,
                    BUDGET);
}

static void look_at_address_space(struct finding *f)
{
    struct rlimit limit;
    uint64_t want = 80ull << 30;
    void *at = mmap(NULL, want, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    getrlimit(RLIMIT_AS, &limit);
    if (at == MAP_FAILED) {
        set_finding(f, BAD, "address space",
                    "80 GiB of addresses cannot be reserved: %s. Look at `ulimit -v` (now %s).",
                    strerror(errno), limit.rlim_cur == RLIM_INFINITY ? "unlimited" : "limited");
        return;
    }
    munmap(at, want);
    set_finding(f, GOOD, "address space", "80 GiB of addresses can be reserved; this uses no memory.");
}

static void look_at_memory(struct finding *f)
{
    long pages = sysconf(_SC_AVPHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    uint64_t free_bytes = pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : 0;

    set_finding(f, free_bytes < (1ull << 30) ? WEAK : GOOD, "memory",
                "%" PRIu64 " MiB are free; only DRAM pages that are touched count.", free_bytes >> 20);
}

static void look_at_processor(struct finding *f)
{
#if defined(__x86_64__)
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");

    if (__builtin_cpu_supports("avx512f"))
        set_finding(f, GOOD, "processor", "x86-64 with AVX-512: the widest kernels are used.");
    else if (avx2)
        set_finding(f, GOOD, "processor", "x86-64 with AVX2 and FMA: the vector kernels are used.");
    else
        set_finding(f, WEAK, "processor", "x86-64 without AVX2 and FMA: portable kernels, correct but slow.");
#else
    set_finding(f, WEAK, "processor", "not x86-64: portable kernels, correct but slow.");
#endif
}

static void look_at_machine(struct finding *f)
{
    struct ane_machine *machine;

    if (ane_machine_create(NULL, &machine)) {
        set_finding(f, BAD, "machine", "%s", ane_machine_error());
        return;
    }
    set_finding(f, GOOD, "machine", "a machine with the default configuration can be made.");
    ane_machine_destroy(machine);
}

static const char *access_of(uint32_t entitlements)
{
    if (entitlements & PR_ENTITLEMENT_BIT(OPEN))
        return "the device itself";
    if (entitlements & PR_ENTITLEMENT_BIT(DIRECT_CLASS))
        return "a direct path and the broker";
    return "the broker";
}

/* That no service runs is as good as that one does: programs have a machine of their own then. */
static void look_at_service(struct finding *f)
{
    const uint32_t admission =
        PR_ENTITLEMENT_BIT(ALLOW) | PR_ENTITLEMENT_BIT(ACCESS) | PR_ENTITLEMENT_BIT(OPEN);
    struct tool_observer observer;
    struct base_error error;
    int status = tool_observer_open(&observer, NULL, &error);
    const char *named = getenv("ANEMONE_SERVICE");

    if (status == -ENOENT && (!named || !named[0] || !strcmp(named, "none"))) {
        set_finding(f, GOOD, "service",
                    "none is used: programs make a machine of their own. `anemone serve` starts one, whose "
                    "default policy admits its own user.");
        return;
    }
    if (status) {
        set_finding(f, named && named[0] ? BAD : WEAK, "service", "%s", error.text);
        return;
    }
    if (observer.welcome.entitlements & admission)
        set_finding(f, GOOD, "service", "one runs at %s; its policy gives this user %s.", observer.path,
                    access_of(observer.welcome.entitlements));
    else
        set_finding(
            f, WEAK, "service",
            "one runs at %s, and its policy gives this user nothing: \"match uid %u\", \"allow %s\" in "
            "a policy file would; or set ANEMONE_SERVICE=none.",
            observer.path, observer.welcome.uid, pr_entitlement_key(PR_ENTITLEMENT_ALLOW));
    tool_observer_close(&observer);
}

/* Weak at most: the preloadable library remains. */
static void look_at_notification(struct finding *f)
{
    struct base_error error;

    if (acc_notify_possible(&error))
        set_finding(f, WEAK, "Linux programs", "%s", error.text);
    else
        set_finding(f, GOOD, "Linux programs", "`anemone accel` can run them: user notification works.");
}

static void print(const struct finding *f)
{
    static const char *const word[] = {"ok", "weak", "BAD"};

    printf("%-5s %-14s %s\n", word[f->grade], f->name, f->text);
}

static void print_json(struct json *json, const struct finding *f)
{
    static const char *const word[] = {"ok", "weak", "bad"};

    json_object(json, NULL);
    json_string(json, "name", f->name);
    json_string(json, "grade", word[f->grade]);
    json_string(json, "text", f->text);
    json_object_end(json);
}

int tool_doctor(int argc, char **argv)
{
    static void (*const look[])(struct finding *) = {
        look_at_processor, look_at_memory,  look_at_memory_files, look_at_address_space,
        look_at_mappings,  look_at_machine, look_at_notification, look_at_service,
    };
    bool as_json = false, bad = false;
    const struct tool_option options[] = {{"json", &as_json, NULL}, {0}};
    struct json json;
    unsigned count;

    if (!tool_words(argc, argv, options, NULL, 0, &count))
        return TOOL_USAGE;
    if (as_json) {
        json_begin(&json, stdout);
        json_array(&json, "findings");
    }
    for (size_t i = 0; i < BASE_COUNT_OF(look); i++) {
        struct finding f = {0};

        look[i](&f);
        bad = bad || f.grade == BAD;
        if (as_json)
            print_json(&json, &f);
        else
            print(&f);
    }
    if (as_json) {
        json_array_end(&json);
        json_bool(&json, "good", !bad);
        json_end(&json);
    }
    return bad ? TOOL_FAILURE : TOOL_OK;
}
