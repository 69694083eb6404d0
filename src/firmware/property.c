/* SPDX-License-Identifier: Apache-2.0 */
/* Properties. The level of the call log is also a word of the execution loop's, read at each call. */
#include "firmware/property.h"

#include "firmware/log.h"
#include "protocol/channel.h"

static bool channel_exists(struct fw *fw, const struct pr_body_property *arguments)
{
    if (arguments->channel < PR_CHANNEL_COUNT)
        return true;
    fw_log(fw, RT_LOG_WARNING, "property 0x%x of channel %u: there are %u channels", arguments->property,
           arguments->channel, PR_CHANNEL_COUNT);
    return false;
}

static enum pr_status set(struct fw *fw, enum pr_property property, uint32_t value)
{
    const struct pr_property_row *row = &pr_property_table[property];

    if (!pr_property_allows(property, value)) {
        fw_log(fw, RT_LOG_WARNING, "property 0x%x = 0x%x is refused: %s is %s", row->number, value,
               row->meaning, row->words);
        return PR_STATUS_BAD_ARGUMENT;
    }
    fw->setting.property[property] = value;
    if (property == PR_PROPERTY_CALL_LOG)
        fw->exeloop.log_level = value;
    if (property == PR_PROPERTY_LOAD_HIGH)
        fw->loadmon.watching = value != 0;
    return PR_STATUS_OK;
}

enum pr_status fw_property_write(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_property *arguments = body;
    const enum pr_property property = pr_property_find(arguments->property);
    const char *class = pr_property_class_name(arguments->property);
    enum pr_status status;

    (void)header;
    if (!channel_exists(fw, arguments))
        return PR_STATUS_BAD_ARGUMENT;
    if (property == PR_PROPERTY_COUNT) {
        fw_log(fw, RT_LOG_INFO, "property 0x%x = 0x%x is not kept: its meaning%s%s is not known",
               arguments->property, arguments->value, class ? " among those of " : "", class ? class : "");
        return PR_STATUS_OK;
    }
    status = set(fw, property, arguments->value);
    if (!status)
        fw_log(fw, RT_LOG_INFO, "property 0x%x = 0x%x is kept: %s", arguments->property, arguments->value,
               pr_property_table[property].meaning);
    return status;
}

enum pr_status fw_property_read(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_property *arguments = body;
    const enum pr_property property = pr_property_find(arguments->property);

    (void)header;
    if (!channel_exists(fw, arguments))
        return PR_STATUS_BAD_ARGUMENT;
    if (property == PR_PROPERTY_COUNT) {
        fw_log(fw, RT_LOG_WARNING, "property 0x%x is not read: no such property is kept",
               arguments->property);
        return PR_STATUS_BAD_ARGUMENT;
    }
    arguments->value = fw->setting.property[property];
    return PR_STATUS_OK;
}

enum pr_status fw_property_trace(struct fw *fw, struct pr_command_header *header, void *body)
{
    const uint32_t flags = ((const struct pr_body_u32 *)body)->value;
    const enum pr_status status = set(fw, PR_PROPERTY_CALL_LOG, flags & ~PR_TRACE_SIGNPOSTS);

    (void)header;
    if (!status)
        fw->signposts.on = flags & PR_TRACE_SIGNPOSTS;
    return status;
}
