/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every handle begins with: a mark that says its kind, whether the application still has it, and a count
 * of all references, those of other handles too. The application's one is kept apart, so that releasing it a
 * second time through a copy does not take one of the others. Memory of released handles is kept for the next
 * one of the kind, the oldest first, so that a stale handle is recognised by its mark instead of read from
 * freed memory.
 */
#ifndef RUNTIME_HANDLE_H
#define RUNTIME_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/error.h"

enum e5_kind {
    E5_COMPILER,
    E5_CONFIG,
    E5_OPTIONS,
    E5_LIBRARY,
    E5_FUNCTION,
    E5_OP_OPTIONS,
    E5_OPERATION,
    E5_PORT,
    E5_BUFFER,
    E5_TENSOR,
    E5_STREAM,
    E5_STREAM_OPTIONS,
    E5_EVENT,
    E5_KINDS
};

/* The first member of each handle's struct. */
struct e5_handle {
    uint32_t mark;
    atomic_bool given;         /* to the application, which has not released it */
    atomic_uint count;         /* of references: the application's, and those of other handles */
    void (*end)(void *handle); /* gives back what the handle holds, but not its memory; may be NULL */
    struct e5_handle *next;    /* among the released */
};

/* Zeroed, with the application's reference; or NULL. All handles of a kind have the same size. */
void *e5_handle_make(enum e5_kind kind, size_t bytes, void (*end)(void *handle));
/* One more reference of another handle. Returns the handle. */
void *e5_handle_keep(void *handle);
/* Drops a reference; the last one ends the handle. NULL is allowed. */
void e5_handle_drop(void *handle);

/*
 * 0 when `handle` is one of the kind that the application has not released; else a sentence. `call` is the
 * function's name.
 */
int64_t e5_check(const void *handle, enum e5_kind kind, const char *call);
/* The same for a handle that may be NULL. */
int64_t e5_check_optional(const void *handle, enum e5_kind kind, const char *call);
/* What each release function does with the address of a handle. */
int64_t e5_handle_release(void *address, enum e5_kind kind, const char *call);

#endif
