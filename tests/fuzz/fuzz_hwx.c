/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a program image: read, judged and listed, with nothing outside them touched. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../listing_text.h"
#include "judge.h"
#include "program/hwx.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ports(const struct pr_hwx *hwx)
{
    require(hwx->port_count <= PR_HWX_PORTS_MAX);
    for (uint32_t i = 0; i < hwx->port_count; i++) {
        const struct pr_hwx_port *port = &hwx->port[i];

        require(memchr(port->name, '\0', sizeof(port->name)) != NULL);
        require(strncmp(port->name, port->short_name, strlen(port->short_name)) == 0);
        require(port->bar < PR_TQ_BARS && hwx->bar[port->bar] == port->vmaddr);
        require(port->direction == PR_HWX_INPUT || port->direction == PR_HWX_OUTPUT);
        require(!port->shaped || (port->n && port->c && port->h && port->w && port->d));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pr_problem problem;
    static struct pr_check_program program;
    static struct pr_hwx hwx;

    if (!pr_hwx_read(data, size, &hwx, &problem)) {
        require(problem.kind != PR_PROBLEM_NONE && problem.text[0] != '\0');
        return 0;
    }
    require_inside(hwx.text.offset, hwx.text.size, size);
    require_inside(hwx.constant.offset, hwx.constant.size, size);
    require_inside(hwx.banner.offset, hwx.banner.size, size);
    check_ports(&hwx);
    pr_check_program_of(&program, data, &hwx);
    judge(&program);
    require(
        listing_text_survives(data + hwx.text.offset, (size_t)hwx.text.size, hwx.first_td_words, &problem));
    return 0;
}
