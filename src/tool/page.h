/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTML file that needs no server and no network: style, script and data are in it. The script
 * (page/page.js) draws what the data says; its member "page" is "report" or "compare".
 */
#ifndef TOOL_PAGE_H
#define TOOL_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct tool_page {
    const char *path;
    FILE *data; /* the JSON is written here */
    char *text;
    size_t length;
};

/* False after saying why. */
bool tool_page_open(struct tool_page *page, const char *path);
/* Writes the file; false after saying why. The page is closed in any case. */
bool tool_page_close(struct tool_page *page);

#endif
