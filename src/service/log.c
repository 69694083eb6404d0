/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of the log that has stopped, such as a pager or a terminal, must not stop the service: a line that
 * stderr has no room for is left out, and counted.
 */
#include "service/log.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/printable.h"

#define LINE 1024u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows, and of stderr */
static time_t second;                                    /* of the last line about a client */
static unsigned lines;                                   /* of that second */
static unsigned missing;                                 /* lines that were left out */

/* The journal names the file that it reads from: JOURNAL_STREAM=device:inode. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat file;

    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && !fstat(STDERR_FILENO, &file) &&
           file.st_dev == device && file.st_ino == inode;
}

/* How long the line is; 0 when it cannot be made. */
__attribute__((format(printf, 2, 0))) static size_t make_line(char line[LINE], const char *format,
                                                              va_list args)
{
    size_t used = 0;
    int length;

    if (!stderr_is_journal()) {
        time_t now = time(NULL);
        struct tm parts;

        used = strftime(line, LINE, "%Y-%m-%d %H:%M:%S ", localtime_r(&now, &parts));
    }
    length = vsnprintf(line + used, LINE - used - 1, format, args);
    if (length < 0)
        return 0;
    used += (size_t)length;
    if (used > LINE - 2)
        used = LINE - 2;
    base_printable_make(line, used);
    line[used++] = '\n';
    return used;
}

/* With the lock held: false when it would have to wait. A pipe that takes anything takes a line. */
__attribute__((format(printf, 1, 0))) static bool write_line(const char *format, va_list args)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    char line[LINE];

    if (poll(&out, 1, 0) == 0)
        return false;
    (void)!write(STDERR_FILENO, line, make_line(line, format, args));
    return true;
}

/* With the lock held. */
__attribute__((format(printf, 1, 2))) static bool write_words(const char *format, ...)
{
    va_list args;
    bool written;

    va_start(args, format);
    written = write_line(format, args);
    va_end(args);
    return written;
}

/* With the lock held: first how many lines are missing before it. */
__attribute__((format(printf, 1, 0))) static void write_next(const char *format, va_list args)
{
    if (missing && write_words("%u lines were left out", missing))
        missing = 0;
    if (!write_line(format, args))
        missing++;
}

void svc_log(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    pthread_mutex_lock(&lock);
    write_next(format, args);
    pthread_mutex_unlock(&lock);
    va_end(args);
}

/* With the lock held: whether this second has room for a line about a client. */
static bool has_room(void)
{
    time_t now = time(NULL);

    if (now != second) {
        second = now;
        lines = 0;
    }
    return lines++ < SVC_LOG_LINES;
}

void svc_log_client(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    pthread_mutex_lock(&lock);
    if (has_room())
        write_next(format, args);
    else
        missing++;
    pthread_mutex_unlock(&lock);
    va_end(args);
}
