/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone bench submit`: a program of `anemone bench accel`, which starts it: a client of the Linux driver's
 * node as any other, with system calls alone. It writes one line of numbers: what a submit takes, and what
 * an open and a stat of another file take, each as two percentiles in microseconds. Without a node the first
 * two are 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accel/abi.h"
#include "tool/bench.h"
#include "tool/sample.h"
#include "tool/tool.h"

#define OTHER_FILE "/dev/null" /* exists on every host, and is no node */

struct client {
    int node;
    struct acc_abi_submit submit;
};

static bool said(int status, const char *what)
{
    if (status >= 0)
        return true;
    tool_say("%s failed: %s.", what, strerror(errno));
    return false;
}

/* A buffer of one tile; its bytes, or NULL after saying why. */
static uint8_t *make_buffer(const struct client *c, uint32_t *handle)
{
    struct acc_abi_bo_init call = {.size = ACC_TILE_BYTES};
    uint8_t *bytes;

    if (!said(ioctl(c->node, ACC_IOCTL_BO_INIT, &call), "BO_INIT"))
        return NULL;
    *handle = call.handle;
    bytes = mmap(NULL, ACC_TILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, c->node, (off_t)call.offset);
    return said(bytes == MAP_FAILED ? -1 : 0, "mmap of a buffer") ? bytes : NULL;
}

static bool make_request(struct client *c)
{
    uint8_t *text = make_buffer(c, &c->submit.handles[ACC_TILE_TEXT]);
    uint8_t *first = text ? make_buffer(c, &c->submit.btsp_handle) : NULL;
    uint32_t words = first ? tool_sample_text(text, ACC_TILE_BYTES) : 0;

    if (!words)
        return false;
    memcpy(first, text, 4 * words);
    c->submit.tsk_size = 4 * words;
    c->submit.td_count = 1;
    c->submit.td_size = 4 * words;
    for (unsigned i = 0; i < TOOL_SAMPLE_TENSORS; i++)
        if (!make_buffer(c, &c->submit.handles[TOOL_SAMPLE_FIRST_BAR + i]))
            return false;
    return true;
}

static bool submit(void *context)
{
    struct client *c = context;

    return said(ioctl(c->node, ACC_IOCTL_SUBMIT, &c->submit), "SUBMIT");
}

static bool open_other(void *context)
{
    struct stat about;
    int file = open(OTHER_FILE, O_RDONLY | O_CLOEXEC);

    (void)context;
    if (file < 0 || stat(OTHER_FILE, &about))
        return said(-1, "open or stat of " OTHER_FILE);
    close(file);
    return true;
}

static bool measure(tool_dispatch dispatch, void *context, uint32_t count, struct tool_latency *latency)
{
    for (unsigned i = 0; i < TOOL_BENCH_WARM_UP; i++)
        if (!dispatch(context))
            return false;
    return tool_latency_measure(dispatch, context, count, latency);
}

static bool measure_submit(uint32_t count, struct tool_latency *latency)
{
    struct client c = {.node = open(ACC_PATH_ACCEL, O_RDWR | O_CLOEXEC)};

    return said(c.node, "opening " ACC_PATH_ACCEL) && make_request(&c) && measure(submit, &c, count, latency);
}

int tool_bench_submit(const char *way, uint32_t count)
{
    struct tool_latency node = {0}, other = {0};

    if (!way || (strcmp(way, TOOL_BENCH_NODE) != 0 && strcmp(way, TOOL_BENCH_PLAIN) != 0)) {
        tool_say("bench submit needs --way " TOOL_BENCH_NODE "|" TOOL_BENCH_PLAIN ".");
        return TOOL_USAGE;
    }
    if ((!strcmp(way, TOOL_BENCH_NODE) && !measure_submit(count, &node)) ||
        !measure(open_other, NULL, count, &other))
        return TOOL_FAILURE;
    printf("%.3f %.3f %.3f %.3f\n", node.p50, node.p99, other.p50, other.p99);
    return TOOL_OK;
}
