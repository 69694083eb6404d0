/* SPDX-License-Identifier: Apache-2.0 */
/* An error for the user: a negative errno beside one whole sentence. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

struct base_error {
    char text[512];
};

/*
 * Writes the sentence (error may be NULL) and returns -code, so that a check can end with `return
 * base_fail(...)`.
 */
int base_fail(struct base_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/*
 * The calling thread's sentence, which ane_machine_error() returns: for the public calls, and for nothing
 * below them.
 */
struct base_error *base_error_of_thread(void);

#endif
