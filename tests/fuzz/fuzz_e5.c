/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as main.e5: read and expanded; whatever is accepted is a stream the
 * engine's own checks accept, inside its buffers.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "listing/check.h"
#include "program/chain.h"
#include "program/e5.h"
#include "program/hwx_write.h"
#include "require.h"

#define TEXT_BYTES (64u << 10) /* programs with more descriptors are only checked */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ports(const struct pr_e5 *e5)
{
    uint64_t end[PR_TQ_BARS] = {0};

    require(e5->ports && e5->ports <= PR_E5_PORTS_MAX);
    for (uint32_t i = 0; i < e5->ports; i++) {
        const struct pr_e5_port *p = &e5->port[i];

        require(memchr(p->name, '\0', sizeof(p->name)) != NULL && p->name[0]);
        require(p->direction == PR_HWX_INPUT || p->direction == PR_HWX_OUTPUT);
        require(p->bar >= PR_E5_PORT_BAR && p->bar < PR_TQ_BARS && p->offset == end[p->bar]);
        require(p->packed || !end[p->bar]);
        end[p->bar] += p->bytes;
        require(p->row % 64 == 0 && p->row >= 2 * (uint64_t)p->w && end[p->bar] <= PR_E5_BYTES_MAX);
    }
}

static void no_problem(void *context, enum pr_finding finding, const struct pr_problem *problem)
{
    (void)context;
    (void)problem;
    require(finding != PR_FINDING_PROBLEM);
}

/* The image the driver makes of it can be read again. */
static void check_image(const struct pr_e5 *e5, const uint8_t *text, size_t size, uint32_t words)
{
    static struct pr_hwx_port port[PR_E5_PORT_BUFFERS];
    static uint8_t image[1 << 20];
    static struct pr_hwx hwx;
    struct pr_hwx_program program = {.text = text,
                                     .text_bytes = (uint32_t)size,
                                     .td_count = e5->records,
                                     .first_td_words = words,
                                     .intermediate_bytes = e5->intermediate_bytes,
                                     .port_count = pr_e5_image_ports(e5, port),
                                     .port = port};
    struct pr_problem problem;
    size_t bytes;

    bytes = pr_hwx_write(&program, image, sizeof(image));
    if (bytes && bytes <= sizeof(image) && pr_hwx_read(image, bytes, &hwx, &problem))
        require(hwx.port_count == program.port_count && hwx.td_count == e5->records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pr_e5 e5;
    static uint8_t text[TEXT_BYTES];
    struct pr_problem problem = {0};
    uint32_t words;
    size_t bytes;

    if (!pr_e5_read(data, size, &e5, &problem)) {
        require(problem.kind != PR_PROBLEM_NONE && problem.text[0] != '\0');
        return 0;
    }
    check_ports(&e5);
    require(e5.record >= data &&
            (size_t)e5.records * PR_E5_RECORD_BYTES <= size - (size_t)(e5.record - data));
    bytes = pr_e5_expand(&e5, text, sizeof(text), &words, &problem);
    if (!bytes) {
        require(problem.kind != PR_PROBLEM_NONE && problem.text[0] != '\0');
        return 0;
    }
    if (bytes > sizeof(text))
        return 0;
    require(pr_check_stream(text, bytes, words, e5.records, no_problem, NULL));
    check_image(&e5, text, bytes, words);
    return 0;
}
