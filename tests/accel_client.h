/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the engine's Linux driver, as programs of its second and third generation are written: structs
 * and numbers after the published description (lnx, section 2), and nothing of the tree. The network that it
 * runs is y = a + b over [1, 8, 1, 32] halves, in a file that the test assembles.
 */
#ifndef TESTS_ACCEL_CLIENT_H
#define TESTS_ACCEL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENT_TILES 32

struct client_version {
    int major, minor, patch;
    size_t name_length;
    char *name;
    size_t date_length;
    char *date;
    size_t text_length;
    char *text;
};
struct client_bo_init {
    uint32_t handle, pad;
    uint64_t size, offset;
};
struct client_bo_free {
    uint32_t handle, pad;
};
struct client_submit {
    uint64_t tsk_size;
    uint32_t td_count, td_size;
    uint32_t handles[CLIENT_TILES];
    uint32_t btsp_handle, pad;
};
#define CLIENT_VERSION 0xc0406400u
#define CLIENT_BO_INIT 0xc0186441u
#define CLIENT_BO_FREE 0xc0086442u
#define CLIENT_SUBMIT  0xc0986443u

/* The assembled network. */
struct client_network {
    uint8_t *text;
    uint32_t text_bytes, words, count;
};

struct client_buffer {
    struct client_bo_init bo;
    void *bytes;
};

/* The network on one descriptor, with buffers of its own. */
struct client_job {
    int node;
    struct client_buffer text, first, y, b, a;
    struct client_submit submit;
};

/* All end the program with a line on stderr when something fails. */
void client_fail(const char *what) __attribute__((noreturn));
void client_check(bool good, const char *what);
struct client_network client_network_read(const char *path, const char *words, const char *count);
/* Generation B opens the one node, C looks for the driver's name among the accel nodes. */
int client_open(char generation);
void client_prepare(struct client_job *job, int node, const struct client_network *network);
void client_fill(struct client_job *job, unsigned k);
/* 0 or errno. */
int client_submit(struct client_job *job);
/* Whether y is what client_fill's k makes it. */
bool client_right(const struct client_job *job, unsigned k);
/* client_fill, client_submit and client_right: all is well. */
void client_run(struct client_job *job, unsigned k);
void client_free(struct client_job *job);

/* Another set of modes: paths, pointers and flags of single system calls. */
void client_paths(void);
void client_pointers(int node);
/* Executes a program that gets an error from one system call: seccomp, process_vm_readv. */
void client_refuse(char **argv) __attribute__((noreturn));

#endif
