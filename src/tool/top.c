/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone top`: a table each second. On a terminal it is drawn in place, and keys are read one by one; the
 * terminal is put back whichever way the verb ends: q, end of input, SIGINT, SIGTERM, or the service's end.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "tool/observer.h"
#include "tool/tool.h"

const char tool_top_help[] =
    "anemone top [--once [--json]] [--socket PATH]\n\n"
    "Shows who uses the engine of a running service (`anemone serve`), anew each second: every client\n"
    "with its process, user, tier (-: not connected to the broker), programs, queue depth, requests in\n"
    "flight, dispatches a second, share of the engine's time, memory and executable. Ends with q or ^C.\n"
    "Root and the service's user see all clients, others their own.\n\n"
    "  --once         measures for one second, prints once and ends\n"
    "  --json         with --once: as JSON, with the counters themselves\n"
    "  --socket PATH  another service than that of ANEMONE_SERVICE or the default places\n\n"
    "  anemone top --once --json | python3 -m json.tool\n";

#define INTERVAL_MS 1000
#define HEAD_LINES  6u /* above the clients, and one below */

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

/* ---- The terminal ---- */

struct screen {
    bool draws, reads; /* stdout and stdin are terminals */
    struct termios before;
};

static void screen_begin(struct screen *screen)
{
    struct sigaction action = {.sa_handler = stop};
    struct termios keys;

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    screen->draws = isatty(STDOUT_FILENO);
    screen->reads = screen->draws && isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &screen->before);
    if (!screen->reads)
        return;
    keys = screen->before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &keys);
}

static void screen_end(const struct screen *screen)
{
    if (screen->reads)
        tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
}

/* Lines for clients; 0: as many as there are. */
static unsigned screen_lines(const struct screen *screen)
{
    struct winsize size;

    if (!screen->draws || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row <= HEAD_LINES)
        return 0;
    return size.ws_row - HEAD_LINES;
}

/* Waits for the next second; false when it is to end. */
static bool wait_second(const struct screen *screen)
{
    struct pollfd input = {.fd = screen->reads ? STDIN_FILENO : -1, .events = POLLIN};
    char key;

    if (stopped)
        return false;
    if (poll(&input, 1, INTERVAL_MS) <= 0)
        return !stopped;
    return read(STDIN_FILENO, &key, 1) == 1 && key != 'q' && key != 'Q';
}

/* ---- Views ---- */

static struct tool_status samples[2];

static int say(const struct base_error *error)
{
    tool_say("%s", error->text);
    return TOOL_FAILURE;
}

static int show_once(struct tool_observer *observer, bool as_json)
{
    const struct screen none = {0};
    struct base_error error;
    struct json json;

    if (tool_observer_read(observer, &samples[0], &error))
        return say(&error);
    wait_second(&none);
    if (tool_observer_read(observer, &samples[1], &error))
        return say(&error);
    if (!as_json) {
        tool_observer_print(&samples[1], &samples[0], 0);
        return TOOL_OK;
    }
    json_begin(&json, stdout);
    tool_observer_json(&samples[1], &samples[0], &json);
    json_end(&json);
    return TOOL_OK;
}

static int show_live(struct tool_observer *observer)
{
    struct base_error error;
    struct screen screen = {0};
    unsigned at = 0;
    int status = tool_observer_read(observer, &samples[0], &error);

    screen_begin(&screen);
    while (!status && wait_second(&screen)) {
        at = !at;
        status = tool_observer_read(observer, &samples[at], &error);
        if (status)
            break;
        if (screen.draws)
            fputs("\033[H\033[2J", stdout);
        tool_observer_print(&samples[at], &samples[!at], screen_lines(&screen));
        if (!screen.draws)
            putchar('\n');
        if (fflush(stdout))
            break;
    }
    screen_end(&screen);
    return status && !stopped ? say(&error) : TOOL_OK;
}

int tool_top(int argc, char **argv)
{
    bool once = false, as_json = false;
    const char *path = NULL;
    const struct tool_option options[] = {
        {"once", &once, NULL}, {"json", &as_json, NULL}, {"socket", NULL, &path}, {0}};
    struct tool_observer observer;
    struct base_error error;
    unsigned count;
    int result;

    if (!tool_words(argc, argv, options, NULL, 0, &count))
        return TOOL_USAGE;
    if (as_json && !once) {
        tool_say("--json needs --once: one object, not one each second.");
        return TOOL_USAGE;
    }
    if (tool_observer_open(&observer, path, &error))
        return say(&error);
    result = once ? show_once(&observer, as_json) : show_live(&observer);
    tool_observer_close(&observer);
    return result;
}
