/* SPDX-License-Identifier: Apache-2.0 */
/* The table of command_class.def. */
#include "protocol/command_class.h"

enum { LETTER_A = 'A', LETTER_B = 'B', LETTER_C = 'C' };

const struct pr_command_class pr_command_class_table[PR_CLASS_COUNT] = {
#define PR_CLASS(name, class, layout, channel, source, text) \
    {PR_CMD_##name, #name, LETTER_##class, PR_LAYOUT_##layout, channel, source, text},
#define PR_CLASS_EXELOOP(name, class, layout, channel, source, text) \
    {PR_EXE_##name, #name, LETTER_##class, PR_LAYOUT_##layout, channel, source, text},
#include "protocol/command_class.def"
};

const char *pr_command_refusal(uint32_t wire_id)
{
    for (unsigned i = 0; i < PR_CLASS_COUNT; i++)
        if (pr_command_class_table[i].id == wire_id && pr_command_class_table[i].letter == 'C')
            return pr_command_class_table[i].text;
    return NULL;
}
