/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data is JSON in a script element, so nothing of it is markup: `<` occurs in its strings alone and is
 * written as \u003c, which keeps a name such as `</script>` from ending the element. The page's own content
 * policy allows its own script and style and no other source.
 */
#include "tool/page.h"

#include <stdlib.h>

#include "tool/tool.h"

/* Made from page/page.css and page/page.js by scripts/embed. */
extern const char tool_page_css[], tool_page_js[];

bool tool_page_open(struct tool_page *page, const char *path)
{
    *page = (struct tool_page){.path = path};
    page->data = open_memstream(&page->text, &page->length);
    if (!page->data)
        tool_say("%s: there is no memory for the page.", path);
    return page->data != NULL;
}

static void put_data(FILE *file, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == '<')
            fputs("\\u003c", file);
        else
            fputc(text[i], file);
}

static void put_page(FILE *file, const struct tool_page *page)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n<title>anemone</title>\n<style>\n",
          file);
    fputs(tool_page_css, file);
    fputs("</style>\n</head>\n<body>\n<noscript>This page is drawn by its script.</noscript>\n"
          "<script type=\"application/json\" id=\"data\">\n",
          file);
    put_data(file, page->text, page->length);
    fputs("</script>\n<script>\n", file);
    fputs(tool_page_js, file);
    fputs("</script>\n</body>\n</html>\n", file);
}

bool tool_page_close(struct tool_page *page)
{
    bool good = !fclose(page->data);
    char *text = NULL;
    size_t length = 0;
    FILE *file = good ? open_memstream(&text, &length) : NULL;

    if (file)
        put_page(file, page);
    good = file && !fclose(file);
    if (good)
        good = tool_file_write(page->path, text, length);
    else
        tool_say("%s: there is no memory for the page.", page->path);
    free(text);
    free(page->text);
    *page = (struct tool_page){0};
    return good;
}
