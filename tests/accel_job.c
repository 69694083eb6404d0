/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "accel_client.h"

enum { CHANNELS = 8, WIDTH = 32, PAGE = 0x4000, TILE_TEXT = 0, TILE_Y = 4, TILE_B = 5, TILE_A = 6 };

void client_fail(const char *what)
{
    fprintf(stderr, "accel_client: %s: %s\n", what, strerror(errno));
    exit(1);
}

void client_check(bool good, const char *what)
{
    if (!good)
        client_fail(what);
}

struct client_network client_network_read(const char *path, const char *words, const char *count)
{
    struct client_network network = {.words = (uint32_t)strtoul(words, NULL, 10),
                                     .count = (uint32_t)strtoul(count, NULL, 10)};
    FILE *file = fopen(path, "rb");

    client_check(file, path);
    network.text = calloc(1, PAGE);
    client_check(network.text, "memory");
    network.text_bytes = (uint32_t)fread(network.text, 1, PAGE, file);
    fclose(file);
    client_check(network.text_bytes >= 4 * network.words, "the network's file");
    return network;
}

static bool is_engine(int node)
{
    char name[16] = "";
    struct client_version version = {.name_length = sizeof(name) - 1, .name = name};

    return !ioctl(node, CLIENT_VERSION, &version) && version.name_length == 3 && !strcmp(name, "ane");
}

int client_open(char generation)
{
    int node = -1;

    if (generation == 'B') {
        node = open("/dev/dri/renderD129", O_RDWR);
        client_check(node >= 0, "/dev/dri/renderD129");
        return node;
    }
    for (int i = 0; i < 64; i++) {
        char path[32];

        snprintf(path, sizeof(path), "/dev/accel/accel%d", i);
        node = open(path, O_RDWR | O_CLOEXEC);
        if (node < 0)
            continue;
        if (is_engine(node))
            return node;
        close(node);
    }
    client_fail("no accel node is the engine's");
}

static struct client_buffer make_buffer(int node, uint64_t bytes)
{
    struct client_buffer buffer = {.bo = {.size = bytes}};

    client_check(!ioctl(node, CLIENT_BO_INIT, &buffer.bo), "BO_INIT");
    buffer.bytes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, node, (off_t)buffer.bo.offset);
    client_check(buffer.bytes != MAP_FAILED, "mmap");
    return buffer;
}

/* The copy of the first descriptor has the network's id in it. */
void client_prepare(struct client_job *job, int node, const struct client_network *network)
{
    uint32_t word;

    *job = (struct client_job){.node = node};
    job->text = make_buffer(node, PAGE);
    job->first = make_buffer(node, PAGE);
    job->y = make_buffer(node, PAGE);
    job->b = make_buffer(node, PAGE);
    job->a = make_buffer(node, PAGE);
    memcpy(job->text.bytes, network->text, network->text_bytes);
    memcpy(job->first.bytes, network->text, 4u * network->words);
    memcpy(&word, job->first.bytes, sizeof(word));
    word = (word & 0xff00ffffu) | 0x40u << 16;
    memcpy(job->first.bytes, &word, sizeof(word));
    job->submit = (struct client_submit){.tsk_size = network->text_bytes,
                                         .td_count = network->count,
                                         .td_size = 4u * network->words,
                                         .btsp_handle = job->first.bo.handle};
    job->submit.handles[TILE_TEXT] = job->text.bo.handle;
    job->submit.handles[TILE_Y] = job->y.bo.handle;
    job->submit.handles[TILE_B] = job->b.bo.handle;
    job->submit.handles[TILE_A] = job->a.bo.handle;
}

/* Bits of a whole number up to 2048 in half precision. */
static uint16_t half_of(unsigned value)
{
    unsigned exponent = 0;

    if (!value)
        return 0;
    while (value >> (exponent + 1))
        exponent++;
    return (uint16_t)((exponent + 15) << 10 | (value << 10 >> exponent & 0x3ff));
}

static unsigned addend(unsigned k)
{
    return k % 1000;
}

void client_fill(struct client_job *job, unsigned k)
{
    uint16_t *a = job->a.bytes, *b = job->b.bytes;

    for (unsigned i = 0; i < CHANNELS * WIDTH; i++) {
        a[i] = half_of(i);
        b[i] = half_of(addend(k));
    }
    memset(job->y.bytes, 0xff, sizeof(uint16_t) * CHANNELS * WIDTH);
}

int client_submit(struct client_job *job)
{
    return ioctl(job->node, CLIENT_SUBMIT, &job->submit) ? errno : 0;
}

bool client_right(const struct client_job *job, unsigned k)
{
    const uint16_t *y = job->y.bytes;

    for (unsigned i = 0; i < CHANNELS * WIDTH; i++)
        if (y[i] != half_of(i + addend(k)))
            return false;
    return true;
}

void client_run(struct client_job *job, unsigned k)
{
    client_fill(job, k);
    errno = client_submit(job);
    client_check(!errno, "SUBMIT");
    client_check(client_right(job, k), "the sum");
}

static void free_buffer(int node, struct client_buffer *buffer)
{
    struct client_bo_free call = {.handle = buffer->bo.handle};

    munmap(buffer->bytes, PAGE);
    client_check(!ioctl(node, CLIENT_BO_FREE, &call), "BO_FREE");
}

void client_free(struct client_job *job)
{
    free_buffer(job->node, &job->text);
    free_buffer(job->node, &job->first);
    free_buffer(job->node, &job->y);
    free_buffer(job->node, &job->b);
    free_buffer(job->node, &job->a);
}
