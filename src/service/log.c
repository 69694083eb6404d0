/* SPDX-License-Identifier: Apache-2.0 */
#include "service/log.h"

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

/* The journal names the file that it reads from: JOURNAL_STREAM=device:inode. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat file;

    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && !fstat(STDERR_FILENO, &file) &&
           file.st_dev == device && file.st_ino == inode;
}

__attribute__((format(printf, 1, 0))) static void write_line(const char *format, va_list args)
{
    char line[LINE];
    size_t used = 0;
    int length;

    if (!stderr_is_journal()) {
        time_t now = time(NULL);
        struct tm parts;

        used = strftime(line, sizeof(line), "%Y-%m-%d %H:%M:%S ", localtime_r(&now, &parts));
    }
    length = vsnprintf(line + used, sizeof(line) - used - 1, format, args);
    if (length < 0)
        return;
    used += (size_t)length;
    if (used > sizeof(line) - 2)
        used = sizeof(line) - 2;
    base_printable_make(line, used);
    line[used++] = '\n';
    (void)!write(STDERR_FILENO, line, used);
}

void svc_log(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line(format, args);
    va_end(args);
}

/* Whether this second has room for a line; *left_out is how many earlier ones had none. */
static bool has_room(unsigned *left_out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static time_t second;
    static unsigned lines, missing;
    time_t now = time(NULL);
    bool room;

    pthread_mutex_lock(&lock);
    if (now != second) {
        second = now;
        lines = 0;
    }
    room = lines++ < SVC_LOG_LINES;
    *left_out = room ? missing : 0;
    missing = room ? 0 : missing + 1;
    pthread_mutex_unlock(&lock);
    return room;
}

void svc_log_client(const char *format, ...)
{
    unsigned left_out;
    va_list args;

    if (!has_room(&left_out))
        return;
    if (left_out)
        svc_log("%u lines about clients were left out", left_out);
    va_start(args, format);
    write_line(format, args);
    va_end(args);
}
