/* SPDX-License-Identifier: Apache-2.0 */
#include "service/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

void svc_log(const char *format, ...)
{
    char line[LINE];
    size_t used = 0;
    va_list args;
    int length;

    if (!stderr_is_journal()) {
        time_t now = time(NULL);
        struct tm parts;

        used = strftime(line, sizeof(line), "%Y-%m-%d %H:%M:%S ", localtime_r(&now, &parts));
    }
    va_start(args, format);
    length = vsnprintf(line + used, sizeof(line) - used - 1, format, args);
    va_end(args);
    if (length < 0)
        return;
    used += (size_t)length;
    if (used > sizeof(line) - 2)
        used = sizeof(line) - 2;
    for (size_t i = 0; i < used; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = '?';
    line[used++] = '\n';
    (void)!write(STDERR_FILENO, line, used);
}
