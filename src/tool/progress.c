/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bar is one line of the terminal, drawn over itself, at most every DRAW_NS, and not at all when the work
 * ends within QUIET_NS.
 */
#include "tool/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"

#define QUIET_NS 150000000u
#define DRAW_NS  50000000u

enum { COLUMNS = 80, COLUMNS_MAX = 200, TEXT = 44, BAR_MIN = 8, BAR_MAX = 40 };

static struct {
    bool drawn;
    uint64_t next_ns;
} bar;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
        return COLUMNS;
    return size.ws_col < COLUMNS_MAX ? size.ws_col : COLUMNS_MAX;
}

static void draw(uint32_t done, uint32_t total, const char *what)
{
    int width = columns() - TEXT, filled;
    char cells[BAR_MAX + 1];

    width = width < BAR_MIN ? BAR_MIN : width > BAR_MAX ? BAR_MAX : width;
    filled = (int)((uint64_t)width * done / (total ? total : 1));
    memset(cells, '.', (size_t)width);
    memset(cells, '#', (size_t)filled);
    cells[width] = '\0';
    fprintf(stderr, "\r\033[Kcompiling: %-9.9s [%s] %u of %u", what, cells, done, total);
    fflush(stderr);
    bar.drawn = true;
}

static void watch(void *context, uint32_t done, uint32_t total, const char *what)
{
    uint64_t now = now_ns();

    (void)context;
    if (now < bar.next_ns)
        return;
    bar.next_ns = now + DRAW_NS;
    draw(done, total, what);
}

void tool_progress_begin(void)
{
    const char *terminal = getenv("TERM");

    bar.drawn = false;
    bar.next_ns = now_ns() + QUIET_NS;
    if (isatty(STDERR_FILENO) && !(terminal && !strcmp(terminal, "dumb")))
        base_progress_watch(watch, NULL);
}

void tool_progress_end(void)
{
    base_progress_watch(NULL, NULL);
    if (bar.drawn)
        fputs("\r\033[K", stderr);
    bar.drawn = false;
}
