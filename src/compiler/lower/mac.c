/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multiply-accumulate tasks with constant weights. Output channels are cut into blocks whose kernel fits the
 * memory of an engine; a block is a whole number of passes over the engines, rounded up to 64 bytes of
 * contiguous channels where the result is transposed. Batches share the packed kernel.
 */
#include "compiler/lower/mac.h"

#include <string.h>

#include "base/alloc.h"
#include "compiler/lower/activation.h"
#include "compiler/lower/operand.h"
#include "compiler/lower/pack.h"
#include "program/kernel.h"

/* Seen in public programs: 32 lanes for 1x1 kernels, 16 for larger ones. */
enum { LANES_LOG2_POINT = 5, LANES_LOG2 = 4 };
enum { TRANSPOSED_ALIGN = 32 }; /* contiguous channels that fill 64 bytes */

/* Output channels of one descriptor: as many passes over the engines as fit an engine's kernel memory. */
static uint32_t block_channels(const struct cc_mac *mac, struct cc_pack *pack)
{
    uint32_t width, passes;

    while (pack->lanes_log2 && cc_pack_plane_bytes(pack) > PR_KERNEL_CHUNK_MAX)
        pack->lanes_log2--;
    width = 1u << (pack->lanes_log2 + pack->engines_log2);
    passes = (uint32_t)((PR_KERNEL_CHUNK_MAX - PR_TABLE_BYTES * (pack->table != NULL)) /
                        cc_pack_plane_bytes(pack) / (pack->groups ? pack->groups : 1));
    width *= passes ? passes : 1;
    if (mac->transposed && width < pack->cout)
        width = (uint32_t)pr_round_up(width, TRANSPOSED_ALIGN);
    return width;
}

static int pack_block(struct cc_lowering *l, const struct cc_pack *pack, struct pr_e5_record *r)
{
    uint64_t stream = cc_pack_stream_bytes(pack), size = stream * cc_pack_streams(pack), sparse;
    uint8_t *bytes;
    int status;

    if (size > PR_E5_BYTES_MAX)
        return cc_refuse(l, "its kernel has more than %u bytes", PR_E5_BYTES_MAX);
    bytes = base_alloc(size);
    if (!bytes)
        return cc_no_memory(l);
    base_expect_writes(bytes, size);
    sparse = l->flags & CC_LOWER_SPARSE && !pack->unicast ? cc_pack_sparse(pack, stream, bytes) : 0;
    if (sparse) {
        for (uint32_t e = 1; e < cc_pack_streams(pack); e++)
            memmove(bytes + e * sparse, bytes + e * stream, sparse);
        r->flags |= PR_E5_SPARSE;
        size = sparse * cc_pack_streams(pack);
        stream = sparse;
    } else {
        memset(bytes, 0, size);
        cc_pack_kernel(pack, stream, bytes);
    }
    status = cc_constant(l, bytes, (uint32_t)size, &r->kernel);
    base_free(bytes);
    r->kernel_bytes = (uint32_t)stream;
    r->lanes_log2 = pack->lanes_log2;
    r->engines_log2 = pack->engines_log2;
    return status;
}

static struct pr_e5_record mac_record(const struct cc_mac *mac)
{
    struct pr_e5_record r = cc_record(PR_E5_CONV);

    for (unsigned i = 0; i < 3; i++) {
        r.in[i] = mac->in[i];
        r.out[i] = mac->out[i];
    }
    r.src[0] = mac->src;
    r.dst = mac->dst;
    r.in[CC_G] = r.out[CC_G] = mac->groups ? mac->groups : 1;
    r.kw = mac->kw;
    r.kh = mac->kh;
    r.px = mac->px;
    r.py = mac->py;
    r.sx = mac->sx;
    r.sy = mac->sy;
    r.unicast = mac->depthwise;
    r.flags = (mac->relu ? PR_E5_RELU : 0) | (mac->bias ? PR_E5_BIAS : 0) |
              (mac->transposed ? PR_E5_OUT_TRANSPOSE : 0);
    return r;
}

static uint32_t lanes_log2(const struct cc_mac *mac)
{
    if (mac->depthwise)
        return 0;
    return cc_pack_lanes_log2(mac->out[CC_C], mac->kw * mac->kh == 1 ? LANES_LOG2_POINT : LANES_LOG2);
}

static struct cc_pack pack_of(const struct cc_mac *mac)
{
    const uint32_t cout = mac->out[CC_C];

    return (struct cc_pack){.cin = mac->in[CC_C],
                            .kw = mac->kw,
                            .kh = mac->kh,
                            .sx = mac->sx,
                            .sy = mac->sy,
                            .groups = mac->groups,
                            .group_step = cout,
                            .unicast = mac->depthwise,
                            .cout = cout,
                            .engines_log2 = cc_pack_engines_log2(cout),
                            .lanes_log2 = lanes_log2(mac),
                            .step = {mac->step[0], mac->step[1], mac->step[2]},
                            .bias = mac->bias};
}

bool cc_mac_fits(const struct cc_mac *mac)
{
    struct cc_pack pack = pack_of(mac);

    return mac->groups <= PR_GROUPS_MAX &&
           cc_pack_stream_bytes(&pack) <= PR_KERNEL_CHUNK_MAX - PR_TABLE_BYTES &&
           block_channels(mac, &pack) >= mac->out[CC_C];
}

int cc_emit_mac(struct cc_lowering *l, const struct cc_mac *mac)
{
    const uint32_t cout = mac->out[CC_C];
    struct cc_pack pack = pack_of(mac);
    uint32_t block;
    int status = 0;

    pack.table = mac->table;
    block = block_channels(mac, &pack);

    for (uint32_t first = 0; first < cout && !status; first += block) {
        struct pr_e5_record r = mac_record(mac);

        pack.cout = r.out[CC_C] = cout - first < block ? cout - first : block;
        pack.weight = mac->weight + (size_t)first * mac->step[0];
        pack.bias = mac->bias ? mac->bias + first : NULL;
        if (mac->depthwise) {
            r.in[CC_C] = pack.cout;
            r.src[0].offset += first * mac->src.plane;
        }
        r.dst.offset += mac->transposed ? 2 * first : first * mac->dst.plane;
        if (pack.table) {
            r.flags |= PR_E5_TABLE;
            r.post_scale = mac->scale ? mac->scale : r.post_scale;
        }
        status = pack_block(l, &pack, &r);
        for (uint32_t b = 0; b < mac->batches && !status; b++) {
            status = cc_emit(l, &r);
            r.src[0].offset += mac->src_batch;
            r.dst.offset += mac->dst_batch;
        }
    }
    return status;
}

void cc_mac_fuse(struct cc_mac *mac, const struct cc_step *step, struct cc_table *table)
{
    mac->relu = step->relu;
    if (step->activation && cc_activation_table(step->activation, table, &mac->scale))
        mac->table = table;
}
