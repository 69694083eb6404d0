/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the dump's sections and of exception classes. */
#include "protocol/dump.h"

const char *pr_dump_section_name(uint32_t section)
{
    switch (section) {
#define X(id, number, name) \
    case number: return name;
        PR_DUMP_SECTIONS(X)
#undef X
    default: return "?";
    }
}

const char *pr_fault_class_name(uint32_t fault_class)
{
    switch (fault_class) {
#define X(id, number, name) \
    case number: return name;
        PR_FAULT_CLASSES(X)
#undef X
    default: return "?";
    }
}
