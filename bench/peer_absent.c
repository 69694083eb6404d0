/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

const char *bench_peer_name(void)
{
    return NULL;
}

struct bench_peer *bench_peer_make(const struct bench_operation *o, enum bench_form form)
{
    (void)o, (void)form;
    return NULL;
}

bool bench_peer_run(struct bench_peer *peer)
{
    (void)peer;
    return false;
}

const float *bench_peer_result(const struct bench_peer *peer)
{
    (void)peer;
    return NULL;
}

void bench_peer_free(struct bench_peer *peer)
{
    (void)peer;
}
