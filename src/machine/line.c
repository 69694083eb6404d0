/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupt lines, watched from outside. A tap counts the changes of a watched line, inside; the thread that
 * brought one about calls the handler when it leaves or before it steps the clock again. `idle` is false from
 * the first call of a handler to the return of the last, so that one thread calls at a time; changes that
 * come meanwhile are left to it. A handler is set and removed while `idle` is true, or by a handler.
 */
#include "machine/line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine/internal.h"

static const unsigned board_line[ANE_LINES] = {
    [ANE_LINE_ENGINE] = MACH_LINE_ENGINE,
    [ANE_LINE_DART] = MACH_LINE_DART,
};

/* An eventfd that is full would block: its count has not been read for 2^64 interrupts, or was set so. */
static void count_rise(int eventfd)
{
    struct pollfd room = {.fd = eventfd, .events = POLLOUT};
    uint64_t one = 1;

    if (poll(&room, 1, 0) == 1 && room.revents & POLLOUT)
        (void)!write(eventfd, &one, sizeof(one));
}

static bool see(void *context, unsigned line, bool level)
{
    struct ane_machine *m = context;

    for (unsigned i = 0; i < ANE_LINES; i++) {
        struct mach_line *watched = &m->watch.line[i];

        if (board_line[i] != line)
            continue;
        if (watched->eventfd >= 0 && level)
            count_rise(watched->eventfd);
        if (watched->fn) {
            watched->changes++;
            m->lock.due = true;
        }
    }
    return true;
}

void mach_lines_init(struct ane_machine *m)
{
    m->watch.idle = true;
    m->watch.tap = (struct soc_lines_tap){.see = see, .context = m};
    for (unsigned i = 0; i < ANE_LINES; i++)
        m->watch.line[i].eventfd = -1;
}

static void close_eventfd(struct mach_line *line)
{
    if (line->eventfd >= 0)
        close(line->eventfd);
    line->eventfd = -1;
}

void mach_lines_end(struct ane_machine *m)
{
    for (unsigned i = 0; i < ANE_LINES; i++) {
        m->watch.line[i].fn = NULL;
        close_eventfd(&m->watch.line[i]);
    }
}

bool mach_lines_in_handler(const struct ane_machine *m)
{
    return !m->watch.idle && pthread_equal(m->watch.thread, pthread_self());
}

/* A line with a change that its handler does not know, or NULL. */
static struct mach_line *changed_line(struct mach_lines *watch)
{
    for (unsigned i = 0; i < ANE_LINES; i++)
        if (watch->line[i].fn && watch->line[i].changes)
            return &watch->line[i];
    return NULL;
}

static void call(struct ane_machine *m, struct mach_line *line)
{
    ane_line_fn fn = line->fn;
    void *context = line->context;
    enum ane_line number = (enum ane_line)(line - m->watch.line);
    bool level = !line->reported;
    struct mach_act act;

    line->changes--;
    line->reported = level;
    mach_lock_step_out(&m->lock, &act);
    fn(context, number, level);
    mach_lock_step_in(&act);
}

/* The sentence of the call under way is not the handler's. */
void mach_lines_report(void *machine)
{
    struct ane_machine *m = machine;
    struct base_error error = *mach_error();
    struct mach_line *line;

    if (!m->watch.idle)
        return;
    m->watch.idle = false;
    m->watch.thread = pthread_self();
    while ((line = changed_line(&m->watch)))
        call(m, line);
    m->watch.idle = true;
    m->lock.due = false;
    *mach_error() = error;
}

/* Inside: until no handler runs, unless the caller is one. */
static void wait_for_handlers(struct ane_machine *m)
{
    while (!m->watch.idle && !mach_lines_in_handler(m)) {
        struct mach_deadline deadline = {.wall = true, .quiet = true, .ns = MACH_HOST_FOREVER};

        mach_lock_wait(&m->lock, &m->watch.idle, &deadline);
    }
}

static void watch_or_not(struct ane_machine *m)
{
    bool watched = false;

    for (unsigned i = 0; i < ANE_LINES; i++)
        watched = watched || m->watch.line[i].fn || m->watch.line[i].eventfd >= 0;
    if (watched && !m->watch.tapped)
        soc_lines_tap_add(&m->lines, &m->watch.tap);
    if (!watched && m->watch.tapped)
        soc_lines_tap_remove(&m->lines, &m->watch.tap);
    m->watch.tapped = watched;
}

static int check_line(const struct ane_machine *m, enum ane_line line)
{
    if (m->cpu)
        return base_fail(mach_error(), ENOTSUP,
                         "The interrupt lines of a machine with firmware belong to its driver.");
    if ((unsigned)line >= ANE_LINES)
        return base_fail(mach_error(), EINVAL,
                         "There is no interrupt line %d; the engine's is 0 and the DARTs' is 1.", (int)line);
    return 0;
}

static void set_handler(struct ane_machine *m, enum ane_line number, ane_line_fn fn, void *context)
{
    struct mach_line *line = &m->watch.line[number];

    wait_for_handlers(m);
    line->fn = fn;
    line->context = context;
    line->reported = false;
    line->changes = fn && soc_lines_level(&m->lines, board_line[number]);
    if (line->changes)
        m->lock.due = true;
    watch_or_not(m);
}

int ane_machine_line_handler(struct ane_machine *machine, enum ane_line line, ane_line_fn fn, void *context)
{
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    status = check_line(machine, line);
    if (!status)
        set_handler(machine, line, fn, context);
    mach_leave(machine);
    return status;
}

/* What the kernel calls the file. */
static bool is_eventfd(int file)
{
    char link[40], name[40];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    length = readlink(link, name, sizeof(name) - 1);
    if (length < 0)
        return false;
    name[length] = '\0';
    return !strcmp(name, "anon_inode:[eventfd]");
}

static int set_eventfd(struct ane_machine *m, enum ane_line number, int eventfd)
{
    struct mach_line *line = &m->watch.line[number];
    int own = -1;

    if (eventfd != -1) {
        if (!is_eventfd(eventfd))
            return base_fail(mach_error(), EINVAL, "Descriptor %d is not an eventfd.", eventfd);
        own = fcntl(eventfd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (own < 0)
            return base_fail(mach_error(), errno, "The eventfd cannot be duplicated: %s.", strerror(errno));
    }
    close_eventfd(line);
    line->eventfd = own;
    if (own >= 0 && soc_lines_level(&m->lines, board_line[number]))
        count_rise(own);
    watch_or_not(m);
    return 0;
}

int ane_machine_line_eventfd(struct ane_machine *machine, enum ane_line line, int eventfd)
{
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    status = check_line(machine, line);
    if (!status)
        status = set_eventfd(machine, line, eventfd);
    mach_leave(machine);
    return status;
}

static int line_level(struct ane_machine *machine, enum ane_line line)
{
    bool level;

    if (!mach_enter(machine))
        return 0;
    level = soc_lines_level(&machine->lines, board_line[line]);
    mach_leave(machine);
    return level;
}

int ane_machine_interrupt(struct ane_machine *machine)
{
    return line_level(machine, ANE_LINE_ENGINE);
}

int ane_machine_dart_interrupt(struct ane_machine *machine)
{
    return line_level(machine, ANE_LINE_DART);
}
