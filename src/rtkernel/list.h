/* SPDX-License-Identifier: Apache-2.0 */
/* Doubly linked rings, linked through their members: a head and its links are the same type. */
#ifndef RTKERNEL_LIST_H
#define RTKERNEL_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct rt_link {
    struct rt_link *next, *previous;
};

/* The object that a link is a member of. */
#define RT_LINK_OWNER(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void rt_link_init(struct rt_link *link)
{
    link->next = link->previous = link;
}

/* An empty head, or a link in no ring. */
static inline bool rt_link_alone(const struct rt_link *link)
{
    return link->next == link;
}

/* Before a link; before a head is at the end of its ring. */
static inline void rt_link_insert(struct rt_link *before, struct rt_link *link)
{
    link->next = before;
    link->previous = before->previous;
    before->previous->next = link;
    before->previous = link;
}

static inline void rt_link_remove(struct rt_link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    rt_link_init(link);
}

#endif
