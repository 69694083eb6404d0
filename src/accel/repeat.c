/* SPDX-License-Identifier: Apache-2.0 */
/* Texts are compared by a 64-bit FNV-1a hash: two that differ and have one hash would cost a report. */
#include "accel/repeat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FNV_START  0xcbf29ce484222325ull
#define FNV_FACTOR 0x100000001b3ull
#define LINE_ROOM  160u
#define HEAD_PARTS 2u /* "anemone accel: process 7: " is before what is compared */

/* One write, so that nothing comes between its lines. */
static void put(const char *text)
{
    size_t left = strlen(text);

    while (left) {
        ssize_t written = write(STDERR_FILENO, text, left);

        if (written < 0 && errno != EINTR)
            return;
        if (written > 0) {
            text += written;
            left -= (size_t)written;
        }
    }
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = FNV_START;

    for (unsigned i = 0; i < HEAD_PARTS; i++) {
        const char *colon = strchr(text, ':');

        text = colon ? colon + 1 : text;
    }
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * FNV_FACTOR;
    return hash ? hash : 1;
}

static bool is_known(struct acc_repeat *repeat, uint64_t hash)
{
    for (unsigned i = 0; i < ACC_REPEAT_KINDS; i++)
        if (repeat->kind[i] == hash)
            return true;
    repeat->kind[repeat->next] = hash;
    repeat->next = (repeat->next + 1) % ACC_REPEAT_KINDS;
    return false;
}

static bool is_power_of_ten(uint64_t number)
{
    while (number && number % 10 == 0)
        number /= 10;
    return number == 1;
}

/* With the lock held; the line is written without it. */
static void count_line(struct acc_repeat *repeat, char line[LINE_ROOM])
{
    snprintf(line, LINE_ROOM,
             "anemone accel: what is reported above has come %" PRIu64 " more time%s so far.\n",
             repeat->again, repeat->again == 1 ? "" : "s");
    repeat->said = repeat->again;
}

void acc_repeat_report(void *context, const char *text)
{
    struct acc_repeat *repeat = context;
    char line[LINE_ROOM] = "";
    bool known;

    pthread_mutex_lock(&repeat->lock);
    known = is_known(repeat, hash_of(text));
    if (known && is_power_of_ten(++repeat->again))
        count_line(repeat, line);
    pthread_mutex_unlock(&repeat->lock);
    put(known ? line : text);
}

void acc_repeat_end(struct acc_repeat *repeat)
{
    char line[LINE_ROOM] = "";

    pthread_mutex_lock(&repeat->lock);
    if (repeat->again != repeat->said)
        count_line(repeat, line);
    pthread_mutex_unlock(&repeat->lock);
    put(line);
}
