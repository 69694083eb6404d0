/* SPDX-License-Identifier: Apache-2.0 */
/* Text that others parse: quoted, with what would end or break it escaped. */
#ifndef BASE_QUOTE_H
#define BASE_QUOTE_H

#include <stddef.h>
#include <stdio.h>

/* A JSON string with its quotes, of `length` bytes of UTF-8. A byte that is none of it becomes U+FFFD. */
void base_quote_json(FILE *file, const char *text, size_t length);

#endif
