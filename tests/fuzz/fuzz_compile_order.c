/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a message to the compile service, and as a result of one of its workers: taken or refused in a
 * sentence, and what is taken keeps the rules that later steps rely on.
 *
 * Input: a byte, 0 for a message and else for a result; then the message, or the bytes of each file and the
 * result.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/packet.h"
#include "service/compile_order.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_sentence(const struct base_error *error)
{
    require(error->text[0] != '\0' && error->text[strlen(error->text) - 1] == '.');
}

static void one_message(const uint8_t *data, size_t size)
{
    uint8_t message[SVC_ORDER_BYTES] = {0};
    struct base_error error = {{0}};
    struct svc_order order;
    unsigned descriptors = size > sizeof(struct pr_service_header) && data[6] == (PR_COMPILE_COMPILE & 0xff);
    int folder = descriptors ? open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    size = size < sizeof(message) ? size : sizeof(message);
    memcpy(message, data, size);
    if (svc_order_frame(message, size, descriptors, &order, &error)) {
        require_sentence(&error);
        base_packet_close(&folder, 1);
        return;
    }
    /* Where no partition can be made, so that no file is; every order ends with a sentence. */
    require(svc_order_take(message, folder, "/dev/null/state", &order, &error) != kIOReturnSuccess);
    require_sentence(&error);
    require(memchr(order.work.name, '\0', sizeof(order.work.name)) && !strchr(order.work.name, '/') &&
            !strchr(order.work.name, '\n') && strcmp(order.work.name, "..") != 0);
    require(memchr(order.work.model, '\0', sizeof(order.work.model)) && !strchr(order.work.model, '/'));
    require(order.work.partition < 0);
    svc_order_end(&order);
    require(order.work.folder < 0);
}

static void require_text(const char *text, size_t room)
{
    require(memchr(text, '\0', room) != NULL);
    for (; *text; text++)
        require((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void one_result(const uint8_t *data, size_t size)
{
    struct svc_work work = {.kind = SVC_WORK_COMPILE, .folder = -1, .partition = -1};
    struct svc_work_result result = {0};
    const char zeros[256] = {0};
    bool good;

    if (size < 2)
        return;
    for (unsigned i = 0; i < SVC_WORK_FILES; i++) {
        work.files[i] = base_file_growing("file");
        require(work.files[i] >= 0 && !base_file_put(work.files[i], zeros, data[i]));
    }
    memcpy(&result, data + 2, size - 2 < sizeof(result) ? size - 2 : sizeof(result));
    good = svc_work_check(&work, &result);
    if (good) {
        require_text(result.sentence, sizeof(result.sentence));
        require_text(result.model.trouble, sizeof(result.model.trouble));
        require(result.model.hit <= 1);
    }
    if (good && !result.status) {
        require(strlen(result.model.model) == PR_BROKER_KEY - 1);
        require(result.model.main_bytes == data[0] && result.model.weights_bytes == data[1]);
        /* Nothing can be written any more. */
        require(base_file_put(work.files[0], zeros, 1) && base_file_put(work.files[1], zeros, 1));
    }
    base_packet_close(work.files, SVC_WORK_FILES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    if (data[0] == 0)
        one_message(data + 1, size - 1);
    else
        one_result(data + 1, size - 1);
    return 0;
}
