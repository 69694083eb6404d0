/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The endpoint of the execution loop. `ipcEndpointSetDone` is the reason ENDPOINT of `closed`: it is there
 * until ring and targets are bound, and again after either was unbound. What is bound changes only while no
 * call is in flight; that, and the change, are one critical section.
 */
#include "firmware/endpoint.h"

#include "firmware/exeloop.h"
#include "firmware/log.h"
#include "firmware/rule.h"
#include "protocol/log_line.h"
#include "rtkernel/irq.h"

#define RING (1u << 0)
#define BELL (1u << 1)

static enum pr_status check_type(struct fw *fw, uint32_t endpoint)
{
    return fw_rule(fw, PR_RULE_ENDPOINT_TYPE, endpoint == PR_ENDPOINT_DATA_CHAINING, endpoint);
}

/* The loop is open for messages when both parts are bound. */
static void bind(struct fw *fw, uint32_t parts)
{
    fw->endpoint = parts;
    if (parts == (RING | BELL))
        fw_exeloop_open(fw, FW_CLOSED_ENDPOINT);
    else
        fw_exeloop_close(fw, FW_CLOSED_ENDPOINT);
}

static enum pr_status refuse_busy(struct fw *fw, const char *what)
{
    fw_log(fw, RT_LOG_WARNING, "%s is refused: calls are in flight", what);
    return PR_STATUS_BUSY;
}

enum pr_status fw_endpoint_set(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_endpoint *arguments = body;
    const struct fw_channel *channel = &fw->channel[PR_CHANNEL_DATA_CHAIN_H2T];
    enum pr_status status = check_type(fw, arguments->endpoint);

    (void)header;
    if (!status)
        status = fw_rule(fw, PR_RULE_ENDPOINT_RING, arguments->channel == PR_CHANNEL_DATA_CHAIN_H2T,
                         arguments->channel);
    if (!status)
        status = fw_rule(fw, PR_RULE_ENDPOINT_RING,
                         arguments->ring == channel->ring &&
                             arguments->bytes == (uint64_t)channel->slots * PR_SLOT_BYTES,
                         arguments->ring);
    if (!status)
        bind(fw, fw->endpoint | RING);
    return status;
}

/* The registers that exist: the host's own, which the first target has to be; the graphics processor's. */
static bool is_doorbell(const struct fw *fw, const struct pr_doorbell_target *target, bool first)
{
    if (target->reg == fw->registers + PR_CTRL_HOST_DOORBELL)
        return true;
    return !first && target->reg == PR_GPU_DOORBELL && target->bits == PR_GPU_DOORBELL_VALUE;
}

static enum pr_status check_target(struct fw *fw, const struct pr_doorbell_target *target, bool first)
{
    enum pr_status status =
        fw_rule(fw, PR_RULE_REG_VALUE, target->reg && target->bits, target->reg ? target->bits : target->reg);

    return status ? status
                  : fw_rule(fw, PR_RULE_ENDPOINT_TARGET, is_doorbell(fw, target, first), target->reg);
}

/* False when calls are in flight. Bits that were rejected before stay with the host's register. */
static bool replace_targets(struct fw *fw, const struct pr_doorbell_target *target, uint32_t count)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    const bool idle = !fw_exeloop_busy(fw);

    for (uint32_t i = 0; idle && i < PR_DOORBELL_TARGETS; i++)
        fw->target[i] = (struct fw_target){
            .address = i < count ? target[i].reg : fw->registers + PR_CTRL_HOST_DOORBELL,
            .bits = i < count ? target[i].bits : 0,
            .unrung = i ? 0 : fw->target[0].unrung,
        };
    rt_irq_restore(fw->kernel, previous);
    return idle;
}

enum pr_status fw_endpoint_set2(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_endpoint2 *arguments = body;
    enum pr_status status = check_type(fw, arguments->endpoint);

    (void)header;
    if (!status)
        status =
            fw_rule(fw, PR_RULE_ENDPOINT_TARGETS,
                    arguments->targets >= 1 && arguments->targets <= PR_DOORBELL_TARGETS, arguments->targets);
    for (uint32_t i = 0; !status && i < arguments->targets; i++)
        status = check_target(fw, &arguments->target[i], i == 0);
    if (status)
        return status;
    if (!replace_targets(fw, arguments->target, arguments->targets))
        return refuse_busy(fw, "a change of the doorbell targets");
    for (uint32_t i = 0; i < arguments->targets; i++)
        fw_log(fw, RT_LOG_INFO, PR_LINE_IPC_WRITER, (unsigned long)arguments->target[i].reg,
               arguments->target[i].bits);
    bind(fw, fw->endpoint | BELL);
    return PR_STATUS_OK;
}

static enum pr_status unset(struct fw *fw, const struct pr_body_u32 *body, uint32_t part)
{
    const enum pr_status status = check_type(fw, body->value);
    uint32_t previous;
    bool idle;

    if (status)
        return status;
    previous = rt_irq_mask(fw->kernel);
    idle = !fw_exeloop_busy(fw);
    if (idle)
        bind(fw, fw->endpoint & ~part);
    rt_irq_restore(fw->kernel, previous);
    return idle ? PR_STATUS_OK : refuse_busy(fw, "the end of the endpoint");
}

enum pr_status fw_endpoint_unset(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    return unset(fw, body, RING);
}

enum pr_status fw_endpoint_unset2(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_doorbell_target none = {0};
    const enum pr_status status = unset(fw, body, BELL);

    (void)header;
    if (!status)
        (void)replace_targets(fw, &none, 0);
    return status;
}
