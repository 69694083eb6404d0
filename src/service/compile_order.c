/* SPDX-License-Identifier: Apache-2.0 */
#include "service/compile_order.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/packet.h"
#include "service/partition.h"

static const struct form {
    uint16_t type;
    uint32_t bytes, descriptors;
    const char *name;
} forms[] = {
#define X(id, number, request, reply, in, out, what) {(number), PR_BROKER_BYTES(request), (in), #id},
    PR_COMPILE_MESSAGES(X)
#undef X
};

int svc_order_frame(const uint8_t *message, size_t size, unsigned descriptors, struct svc_order *order,
                    struct base_error *error)
{
    struct pr_service_header head;
    const struct form *form = NULL;

    *order = (struct svc_order){.work = {.folder = -1, .partition = -1, .files = {-1, -1}}};
    if (size < sizeof(head))
        return base_fail(error, EPROTO, "A message of %zu bytes is shorter than its header of %zu.", size,
                         sizeof(head));
    memcpy(&head, message, sizeof(head));
    order->type = head.type;
    order->serial = head.serial;
    if (head.magic != PR_BROKER_MAGIC || head.version != PR_SERVICE_VERSION)
        return base_fail(error, EPROTO, "A message has magic 0x%08x and version %u, expected 0x%08x and %u.",
                         head.magic, head.version, PR_BROKER_MAGIC, PR_SERVICE_VERSION);
    for (size_t i = 0; i < BASE_COUNT_OF(forms); i++)
        if (forms[i].type == head.type)
            form = &forms[i];
    if (!form)
        return base_fail(error, EPROTO, "%u is not the type of a message to a compile service.", head.type);
    if (head.bytes != form->bytes || size != sizeof(head) + form->bytes || descriptors != form->descriptors)
        return base_fail(error, EPROTO,
                         "%s came with %zu bytes and %u descriptors, expected %zu bytes and %u descriptors.",
                         form->name, size, descriptors, sizeof(head) + form->bytes, form->descriptors);
    return 0;
}

static IOReturn refuse(struct base_error *error, IOReturn status, const char *sentence)
{
    base_fail(error, 0, "%s", sentence);
    return status;
}

/* The name of a file in a folder, and nothing that leads out of it or changes a line of the log. */
static bool is_name(const char name[PR_BROKER_NAME])
{
    if (!memchr(name, '\0', PR_BROKER_NAME) || !name[0] || !strcmp(name, ".") || !strcmp(name, ".."))
        return false;
    for (const char *at = name; *at; at++)
        if (*at == '/' || (unsigned char)*at < ' ' || *at == 0x7f)
            return false;
    return true;
}

static bool is_model(const char model[PR_BROKER_KEY], bool may_be_empty)
{
    size_t length = strnlen(model, PR_BROKER_KEY);

    if (!length)
        return may_be_empty;
    return length == PR_BROKER_KEY - 1 && strspn(model, "0123456789abcdef") == length;
}

/*
 * A worker that cannot become the client's user reads with the service's rights, so the client may only name
 * a folder of its own: in any other there may be files that the service's user can read and the client not.
 */
static IOReturn check_folder(int folder, uint32_t uid, struct base_error *error)
{
    struct stat info;

    if (fstat(folder, &info) || !S_ISDIR(info.st_mode))
        return refuse(error, kIOReturnBadArgument,
                      "The descriptor that came with the model's name is not one of a folder.");
    if (geteuid() == 0 || uid == geteuid() || info.st_uid == uid)
        return kIOReturnSuccess;
    base_fail(error, 0,
              "The model's folder belongs to user %u, and the service, which is user %u, cannot become user "
              "%u: copy the model to a folder of your own.",
              (unsigned)info.st_uid, (unsigned)geteuid(), (unsigned)uid);
    return kIOReturnNotPermitted;
}

static IOReturn open_partition(struct svc_work *work, const char *state, bool make, struct base_error *error)
{
    int partition = svc_partition_open(state, work->uid, work->gid, make, error);

    if (partition == -ENOENT && !make)
        return refuse(error, kIOReturnNotFound, "The user has compiled nothing here.");
    if (partition < 0)
        return kIOReturnNoResources;
    work->partition = partition;
    return kIOReturnSuccess;
}

static IOReturn take_compile(const uint8_t *body, int folder, const char *state, struct svc_work *work,
                             struct base_error *error)
{
    struct pr_broker_order order;
    IOReturn status;

    memcpy(&order, body, sizeof(order));
    work->kind = SVC_WORK_COMPILE;
    work->folder = folder;
    work->uid = order.uid;
    work->gid = order.gid;
    work->qos = order.qos;
    work->force = order.flags & PR_BROKER_COMPILE_FORCE;
    work->look = order.flags & PR_BROKER_COMPILE_LOOK;
    if (order.flags & ~(uint32_t)PR_BROKER_COMPILE_FLAGS)
        return refuse(error, kIOReturnBadArgument, "The order to compile has flags that are not known.");
    if (!is_name(order.name))
        return refuse(error, kIOReturnBadArgument,
                      "A model is named by 1 to 255 characters without '/' and control characters, and is "
                      "neither \".\" nor \"..\".");
    memcpy(work->name, order.name, sizeof(work->name));
    status = check_folder(folder, work->uid, error);
    return status ? status : open_partition(work, state, true, error);
}

static IOReturn take_find(const uint8_t *body, const char *state, struct svc_work *work,
                          struct base_error *error)
{
    struct pr_broker_order_find order;

    memcpy(&order, body, sizeof(order));
    work->kind = SVC_WORK_FIND;
    work->uid = order.uid;
    work->gid = order.gid;
    if (!is_model(order.model, false))
        return refuse(error, kIOReturnBadArgument, "A model's identifier has 64 hexadecimal digits.");
    memcpy(work->model, order.model, sizeof(work->model));
    return open_partition(work, state, false, error);
}

static IOReturn take_purge(const uint8_t *body, const char *state, struct svc_work *work,
                           struct base_error *error)
{
    struct pr_broker_order_purge order;

    memcpy(&order, body, sizeof(order));
    work->uid = order.uid;
    work->gid = order.gid;
    if (!is_model(order.model, true) || order.all > 1)
        return refuse(error, kIOReturnBadArgument,
                      "A model's identifier has 64 hexadecimal digits, or is empty for all models.");
    memcpy(work->model, order.model, sizeof(work->model));
    work->kind = order.all ? SVC_WORK_PURGE_ALL : SVC_WORK_PURGE;
    if (!order.all)
        return open_partition(work, state, work->model[0] == '\0', error);
    work->uid = geteuid();
    work->gid = getegid();
    work->partition = svc_partition_open_all(state, true, error);
    return work->partition < 0 ? kIOReturnNoResources : kIOReturnSuccess;
}

IOReturn svc_order_take(const uint8_t *message, int folder, const char *state, struct svc_order *order,
                        struct base_error *error)
{
    const uint8_t *body = message + sizeof(struct pr_service_header);

    switch (order->type) {
    case PR_COMPILE_COMPILE: return take_compile(body, folder, state, &order->work, error);
    case PR_COMPILE_FIND: return take_find(body, state, &order->work, error);
    default: return take_purge(body, state, &order->work, error);
    }
}

void svc_order_end(struct svc_order *order)
{
    struct svc_work *work = &order->work;
    const int owned[] = {work->folder, work->partition, work->files[0], work->files[1]};

    base_packet_close(owned, BASE_COUNT_OF(owned));
    work->folder = work->partition = work->files[0] = work->files[1] = -1;
}
