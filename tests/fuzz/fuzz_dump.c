/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a dump of the firmware: sections are inside the file, apart, and each there once. */
#include <stdint.h>
#include <string.h>

#include "protocol/dump.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pr_problem problem = {0};
    struct pr_dump_tasks tasks;
    struct pr_dump dump;
    size_t bytes = sizeof(struct pr_dump_file), sections = 0;

    if (!pr_dump_read(data, size, &dump, &problem)) {
        require(problem.text[0]);
        return 0;
    }
    require(pr_dump_begins(data, size));
    for (uint32_t i = 1; i <= PR_DUMP_SECTION_COUNT; i++) {
        if (!dump.section[i].at)
            continue;
        require(dump.section[i].at >= data && dump.section[i].at + dump.section[i].bytes <= data + size);
        bytes += sizeof(struct pr_dump_part) + dump.section[i].bytes;
        sections++;
    }
    require(bytes == size && sections == dump.head.sections);
    require(pr_dump_copy(&dump, PR_DUMP_TASKS, &tasks, sizeof(tasks)) ==
            (dump.section[PR_DUMP_TASKS].at != NULL));
    return 0;
}
