/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Message queues: a maximum message width, a ring depth, read and write pointers, a lock, and two counting
 * semaphores, one for messages and one for free slots. Messages are copied in and copied out.
 */
#ifndef RTKERNEL_QUEUE_H
#define RTKERNEL_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "rtkernel/status.h"

struct rt_kernel;
struct rt_queue;

#define RT_QUEUE_WIDTH_MAX 4096
#define RT_QUEUE_DEPTH_MAX 4096

/*
 * RT_EINVAL for a width or depth of 0 or above the maximum, RT_ENOSPC when the pool is exhausted, RT_ENOMEM
 * when the system arena has no room for the ring. Not in interrupt context.
 */
int rt_queue_create(struct rt_kernel *kernel, struct rt_queue **queue, size_t width, uint32_t depth);
/* Messages in it are lost. RT_EBUSY while a task waits there. Not in interrupt context. */
int rt_queue_delete(struct rt_queue *queue);

/*
 * RT_EMSGSIZE; RT_EAGAIN or RT_ETIMEDOUT when it stays full. Blocks while it is full, unless the timeout is
 * 0.
 */
int rt_queue_send(struct rt_queue *queue, const void *message, size_t bytes, uint64_t timeout);
/* The form for interrupt context: RT_EAGAIN when it is full. */
int rt_queue_try_send(struct rt_queue *queue, const void *message, size_t bytes);
/*
 * The length of the message; RT_EAGAIN or RT_ETIMEDOUT when there is none; RT_EINVAL when `capacity` is below
 * the queue's width. Blocks while it is empty, unless the timeout is 0.
 */
int rt_queue_receive(struct rt_queue *queue, void *message, size_t capacity, uint64_t timeout);
/* Messages that have not been taken yet. */
uint32_t rt_queue_count(const struct rt_queue *queue);
size_t rt_queue_width(const struct rt_queue *queue);

#endif
