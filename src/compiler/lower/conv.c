/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, and the multiply-accumulate tasks that matrix products are made of too. */
#include "base/alloc.h"
#include "compiler/lower/lowering.h"
#include "compiler/lower/pack.h"
#include "program/kernel.h"

/* Seen in public programs: 32 lanes for 1x1 kernels, 16 for larger ones. */
enum { LANES_LOG2_POINT = 5, LANES_LOG2 = 4 };
enum { TURNED_ALIGN = 32 }; /* channels that lie side by side: 64 bytes */

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
    if (mac->turned && width < pack->cout)
        width = (uint32_t)pr_round_up(width, TURNED_ALIGN);
    return width;
}

static int pack_block(struct cc_lowering *l, const struct cc_pack *pack, struct pr_e5_record *r)
{
    uint64_t stream = cc_pack_stream_bytes(pack), size = stream * cc_pack_streams(pack);
    uint8_t *bytes;
    int status;

    if (size > PR_E5_BYTES_MAX)
        return cc_refuse(l, "its kernel has more than %u bytes", PR_E5_BYTES_MAX);
    bytes = base_alloc(size);
    if (!bytes)
        return cc_no_memory(l);
    cc_pack_kernel(pack, stream, bytes);
    status = cc_constant(l, bytes, (uint32_t)size, &r->kernel);
    base_free(bytes);
    r->kernel_bytes = (uint32_t)stream;
    r->lanes_log2 = pack->lanes_log2;
    r->engines_log2 = pack->engines_log2;
    return status;
}

static struct pr_e5_record mac_record(const struct cc_lowering *l, const struct cc_mac *mac)
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
    r.flags =
        (l->relu ? PR_E5_RELU : 0) | (mac->bias ? PR_E5_BIAS : 0) | (mac->turned ? PR_E5_OUT_TRANSPOSE : 0);
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

/* All output channels of all groups fit one descriptor. */
static bool fits(const struct cc_mac *mac)
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
    struct cc_table table;
    uint16_t scale = mac->scale;
    uint32_t block;
    int status = 0;

    pack.table = mac->table;
    if (l->activation && cc_activation(l->activation, &table, &scale))
        pack.table = &table;
    block = block_channels(mac, &pack);

    for (uint32_t first = 0; first < cout && !status; first += block) {
        struct pr_e5_record r = mac_record(l, mac);

        pack.cout = r.out[CC_C] = cout - first < block ? cout - first : block;
        pack.weight = mac->weight + (size_t)first * mac->step[0];
        pack.bias = mac->bias ? mac->bias + first : NULL;
        if (mac->depthwise) {
            r.in[CC_C] = pack.cout;
            r.src[0].offset += first * mac->src.plane;
        }
        r.dst.offset += mac->turned ? 2 * first : first * mac->dst.plane;
        if (pack.table) {
            r.flags |= PR_E5_TABLE;
            r.post_scale = scale ? scale : r.post_scale;
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

static int check_conv(const struct cc_lowering *l, const struct cc_value *weight)
{
    const struct cc_attributes *a = &l->op->a;

    if (a->stride[0] > CC_STRIDE_MAX || a->stride[1] > CC_STRIDE_MAX)
        return cc_refuse(l, "strides are %u and %u; a descriptor has strides up to %u", a->stride[0],
                         a->stride[1], CC_STRIDE_MAX);
    if (a->dilation[0] != 1 || a->dilation[1] != 1)
        return cc_refuse(l, "dilations are %u and %u; only dilation 1 is done by this compiler yet",
                         a->dilation[0], a->dilation[1]);
    if (weight->dim[2] > PR_KERNEL_HEIGHT_MAX || weight->dim[3] > PR_KERNEL_WIDTH_MAX)
        return cc_refuse(
            l, "its kernel is %u high and %u wide; the engine takes fp16 kernels up to %u high and %u wide",
            weight->dim[2], weight->dim[3], PR_KERNEL_HEIGHT_MAX, PR_KERNEL_WIDTH_MAX);
    if (a->pad[0] > CC_PAD_MAX || a->pad[2] > CC_PAD_MAX)
        return cc_refuse(l, "its padding is %u at the top and %u at the left; the engine takes at most %u",
                         a->pad[0], a->pad[2], CC_PAD_MAX);
    return 0;
}

/* A group's kernel on one descriptor for each group, where all of them together do not fit. */
static int emit_groups(struct cc_lowering *l, struct cc_mac *mac, uint32_t groups)
{
    struct cc_mac part = *mac;
    int status = 0;

    mac->groups = groups;
    mac->src.group = mac->in[CC_C] * mac->src.plane;
    mac->dst.group = mac->out[CC_C] * mac->dst.plane;
    if (fits(mac))
        return cc_emit_mac(l, mac);
    for (uint32_t g = 0; g < groups && !status; g++) {
        status = cc_emit_mac(l, &part);
        part.src.offset += mac->src.group;
        part.dst.offset += mac->dst.group;
        part.weight += (size_t)mac->out[CC_C] * mac->step[0];
        if (mac->bias)
            part.bias += mac->out[CC_C];
    }
    return status;
}

int cc_lower_conv(struct cc_lowering *l)
{
    const struct cc_attributes *a = &l->op->a;
    uint32_t w = a->weight - 1;
    const struct cc_value *weight = cc_value_of(l, w);
    uint32_t taps = weight->dim[2] * weight->dim[3];
    struct cc_mac mac = {.kh = weight->dim[2],
                         .kw = weight->dim[3],
                         .py = a->pad[0],
                         .px = a->pad[2],
                         .sy = a->stride[0],
                         .sx = a->stride[1]};
    struct cc_layout in, out;
    int status = check_conv(l, weight);

    if (!status)
        status = cc_source(l, l->op->input[0], &mac.src, &in);
    if (!status)
        status = cc_result(l, &mac.dst, &out);
    if (status)
        return status;
    mac.in[CC_W] = in.w;
    mac.in[CC_H] = in.h;
    mac.in[CC_C] = in.c;
    mac.out[CC_W] = out.w;
    mac.out[CC_H] = out.h;
    mac.out[CC_C] = out.c;
    mac.batches = in.n;
    mac.src_batch = in.batch;
    mac.dst_batch = out.batch;
    mac.weight = l->home[w].data;
    mac.bias = a->bias ? l->home[a->bias - 1].data : NULL;
    mac.step[0] = weight->dim[1] * taps;
    mac.step[1] = taps;
    mac.step[2] = 1;
    if (a->groups == 1)
        return cc_emit_mac(l, &mac);
    if (a->groups == in.c && a->groups == out.c) {
        mac.depthwise = true;
        return cc_emit_mac(l, &mac);
    }
    mac.in[CC_C] /= a->groups;
    mac.out[CC_C] /= a->groups;
    return emit_groups(l, &mac, a->groups);
}
