/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same operation with oneDNN, in fp32: activations as they are (rows of NCHW), or in the form that the
 * library chooses, and weights in its own form in both. Without the library every call of make fails.
 */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include "operation.h"

enum bench_form { BENCH_PLAIN, BENCH_CHOSEN, BENCH_FORMS };

struct bench_peer;

/* NULL when the build has no such library: its name and version. */
const char *bench_peer_name(void);
/* NULL after a message, or without the library. */
struct bench_peer *bench_peer_make(const struct bench_operation *o, enum bench_form form);
bool bench_peer_run(struct bench_peer *peer);
/* The output; of the plain form only. */
const float *bench_peer_result(const struct bench_peer *peer);
void bench_peer_free(struct bench_peer *peer);

#endif
