/* SPDX-License-Identifier: Apache-2.0 */
/* `anemone serve`: the machine for other processes. */
#include "service/serve.h"

#include <stdlib.h>
#include <string.h>

#include <anemone/machine.h>

#include "tool/tool.h"

const char tool_serve_help[] =
    "anemone serve [--socket PATH] [--state DIR] [--policy DIR] [--memory BYTES]\n"
    "              [--numerics m1|m1-exact|ieee] [--winograd on|off] [--timing m1|none]\n"
    "              [--threads N]\n\n"
    "Serves one machine to many processes: it owns the neural engine and plays the kernel for every\n"
    "process that connects, and starts the broker, which compiles and loads models for them. Programs of\n"
    "e5rt.h need no change: they use the service when its socket answers. ANEMONE_SERVICE=PATH names\n"
    "another socket, ANEMONE_SERVICE=none keeps a process on a machine of its own.\n\n"
    "It runs in the foreground, writes one line for each event worth knowing to stderr, and stops on\n"
    "SIGTERM, SIGINT or SIGHUP: requests under way end, clients get a status. A second one at the same\n"
    "socket ends with status 1.\n\n"
    "  --socket PATH       default: $XDG_RUNTIME_DIR/anemone/service, for root /run/anemone/service\n"
    "  --state DIR         the service's key and the cache of compiled models, a part for each user;\n"
    "                      default: $XDG_STATE_HOME/anemone, else for root /var/lib/anemone, for others\n"
    "                      ~/.local/state/anemone\n"
    "  --policy DIR        files *.policy: which program has which entitlements; default:\n"
    "                      /etc/anemone/policy.d and ~/.config/anemone/policy.d. Without any, programs\n"
    "                      of the service's own user may use the broker\n"
    "  --memory BYTES      idle programs above this are unwired until they are used again; K, M and G\n"
    "                      are 2^10, 2^20 and 2^30 (default 2G)\n"
    "  --numerics POLICY   as for `anemone run`; m1\n"
    "  --winograd SETTING  as for `anemone run`; on\n"
    "  --timing TIMING     as for `anemone run`; none\n"
    "  --threads N         worker threads of the engine, 1 to 64\n\n"
    "  anemone serve &                       then, in the same or another terminal:\n"
    "  anemone run net.mil --input x=in.npy --output y=out.npy\n"
    "  anemone top                           who uses the engine\n";

/* A size with an optional unit. False after saying so. */
static bool read_size(const char *word, uint64_t *bytes)
{
    static const char units[] = "KMG";
    const char *unit;
    char *end;
    unsigned long long value = strtoull(word, &end, 10);
    unsigned shift = 0;

    unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
    }
    if (word[0] < '0' || word[0] > '9' || *end || value > UINT64_MAX >> shift) {
        tool_say("--memory takes a number of bytes such as 512M, not '%s'.", word);
        return false;
    }
    *bytes = value << shift;
    return true;
}

static bool read_names(const char *numerics, const char *winograd, const char *timing,
                       struct svc_options *options)
{
    int setting = winograd ? ane_winograd_named(winograd) : ANE_WINOGRAD_ON;
    int policy = numerics ? ane_numerics_named(numerics) : ANE_NUMERICS_M1;
    int named = timing ? ane_timing_named(timing) : ANE_TIMING_NONE;

    if (policy < 0)
        tool_say("--numerics is '%s'; %s are known.", numerics, ANE_NUMERICS_NAMES);
    if (named < 0)
        tool_say("--timing is '%s'; %s are known.", timing, ANE_TIMING_NAMES);
    if (setting < 0)
        tool_say("--winograd is '%s'; %s are known.", winograd, ANE_WINOGRAD_NAMES);
    options->numerics = (uint32_t)policy;
    options->winograd = (uint32_t)setting;
    options->timing = (uint32_t)named;
    return policy >= 0 && setting >= 0 && named >= 0;
}

int tool_serve(int argc, char **argv)
{
    struct svc_options options = {.memory = SVC_SERVE_MEMORY};
    const char *memory = NULL, *numerics = NULL, *winograd = NULL, *timing = NULL, *threads = NULL;
    const struct tool_option table[] = {{"socket", NULL, &options.socket},
                                        {"state", NULL, &options.state},
                                        {"policy", NULL, &options.policy},
                                        {"memory", NULL, &memory},
                                        {"numerics", NULL, &numerics},
                                        {"winograd", NULL, &winograd},
                                        {"timing", NULL, &timing},
                                        {"threads", NULL, &threads},
                                        {"no-broker", &options.without_children, NULL},
                                        {NULL, NULL, NULL}};
    struct base_error error;
    unsigned count;

    if (!tool_words(argc, argv, table, NULL, 0, &count) ||
        !read_names(numerics, winograd, timing, &options) ||
        (memory && !read_size(memory, &options.memory)) ||
        (threads && !tool_number("--threads", threads, 1, ANE_THREADS_MAX, &options.threads)))
        return TOOL_USAGE;
    if (svc_serve(&options, &error)) {
        tool_say("%s", error.text);
        return TOOL_FAILURE;
    }
    return TOOL_OK;
}
