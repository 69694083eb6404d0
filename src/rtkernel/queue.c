/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Message queues: a ring between two semaphores. `messages` counts full slots and `spaces` free ones. A
 * caller has taken a unit of one before it touches the ring, and gives a unit of the other after it: this
 * alone keeps `read` and `write` apart. The unit may already belong to a waiting task that has not run yet,
 * so the two counts add up to less than the depth then.
 */
#include "rtkernel/queue.h"

#include "rtkernel/memory.h"
#include "rtkernel/sched.h"

#define LENGTH_BYTES 8u /* before each message; keeps it aligned */

int rt_queue_create(struct rt_kernel *kernel, struct rt_queue **queue, size_t width, uint32_t depth)
{
    struct rt_queue *made;
    uint32_t previous, slot_bytes;
    int slot;

    if (!width || width > RT_QUEUE_WIDTH_MAX || !depth || depth > RT_QUEUE_DEPTH_MAX)
        return RT_EINVAL;
    slot_bytes = LENGTH_BYTES + (((uint32_t)width + 7) & ~7u);
    previous = rt_sched_enter(kernel);
    rt_sched_check_context(kernel, __func__);
    slot = rt_pool_take(kernel, RT_POOL_QUEUE);
    if (slot < 0)
        goto out;
    made = &kernel->queue[slot];
    *made = (struct rt_queue){
        .kernel = kernel, .width = (uint32_t)width, .depth = depth, .slot_bytes = slot_bytes};
    made->ring = rt_heap_alloc(kernel, RT_ARENA_SYSTEM, (size_t)slot_bytes * depth);
    if (!made->ring) {
        rt_pool_release(kernel, RT_POOL_QUEUE, (size_t)slot);
        slot = RT_ENOMEM;
        goto out;
    }
    rt_semaphore_init(kernel, &made->messages, 0, depth);
    rt_semaphore_init(kernel, &made->spaces, depth, depth);
    made->mark = RT_MARK(RT_POOL_QUEUE);
    *queue = made;
out:
    rt_sched_leave(kernel, previous);
    return slot < 0 ? slot : RT_OK;
}

int rt_queue_delete(struct rt_queue *queue)
{
    struct rt_kernel *kernel = queue->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    const bool idle =
        !queue->owner && rt_link_alone(&queue->messages.waiters) && rt_link_alone(&queue->spaces.waiters);

    RT_CHECK_LIVE(queue, QUEUE);
    rt_sched_check_context(kernel, __func__);
    if (idle) {
        queue->mark = 0;
        rt_heap_free(kernel, queue->ring);
        rt_pool_release(kernel, RT_POOL_QUEUE, (size_t)(queue - kernel->queue));
    }
    rt_sched_leave(kernel, previous);
    return idle ? RT_OK : RT_EBUSY;
}

static void lock(struct rt_queue *queue)
{
    rt_assert(queue->kernel, !queue->locked, "a queue was entered twice: the port delivers while masked");
    queue->locked = true;
}

static void unlock(struct rt_queue *queue)
{
    queue->locked = false;
}

static uint8_t *slot_at(const struct rt_queue *queue, uint32_t *pointer)
{
    uint8_t *slot = queue->ring + (size_t)*pointer * queue->slot_bytes;

    *pointer = *pointer + 1 == queue->depth ? 0 : *pointer + 1;
    return slot;
}

/*
 * For a caller that has taken a space. A waiting receiver is handed the message's unit; an owner in
 * rt_task_wait_any is woken and looks at both of its queues when it runs.
 */
static void write_slot(struct rt_queue *queue, const void *message, size_t bytes)
{
    uint8_t *slot;

    lock(queue);
    slot = slot_at(queue, &queue->write);
    *(uint32_t *)(void *)slot = (uint32_t)bytes;
    if (bytes)
        rt_memcpy(slot + LENGTH_BYTES, message, bytes);
    unlock(queue);
    rt_sched_give(&queue->messages);
    if (queue->owner && queue->owner->waiting_any)
        rt_sched_wake(queue->owner, RT_OK);
}

/* For a caller that has taken a message. */
static int read_slot(struct rt_queue *queue, void *message)
{
    const uint8_t *slot;
    uint32_t bytes;

    lock(queue);
    slot = slot_at(queue, &queue->read);
    bytes = *(const uint32_t *)(const void *)slot;
    if (bytes)
        rt_memcpy(message, slot + LENGTH_BYTES, bytes);
    unlock(queue);
    rt_sched_give(&queue->spaces);
    return (int)bytes;
}

int rt_queue_put(struct rt_queue *queue, const void *message, size_t bytes)
{
    const int result = rt_sched_take(&queue->spaces, RT_TASK_WAITING, RT_NO_WAIT);

    if (!result)
        write_slot(queue, message, bytes);
    return result;
}

int rt_queue_get(struct rt_queue *queue, void *message)
{
    const int result = rt_sched_take(&queue->messages, RT_TASK_WAITING, RT_NO_WAIT);

    return result ? result : read_slot(queue, message);
}

int rt_queue_send(struct rt_queue *queue, const void *message, size_t bytes, uint64_t timeout)
{
    struct rt_kernel *kernel = queue->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    int result = RT_EMSGSIZE;

    RT_CHECK_LIVE(queue, QUEUE);
    if (timeout)
        rt_sched_check_block(kernel, previous, __func__);
    if (bytes <= queue->width)
        result = rt_sched_take(&queue->spaces, RT_TASK_WAITING, timeout);
    if (!result)
        write_slot(queue, message, bytes);
    else
        kernel->refused_posts += result == RT_EAGAIN;
    rt_sched_leave(kernel, previous);
    return result;
}

int rt_queue_try_send(struct rt_queue *queue, const void *message, size_t bytes)
{
    RT_CHECK_LIVE(queue, QUEUE);
    return rt_queue_send(queue, message, bytes, RT_NO_WAIT);
}

int rt_queue_receive(struct rt_queue *queue, void *message, size_t capacity, uint64_t timeout)
{
    struct rt_kernel *kernel = queue->kernel;
    const uint32_t previous = rt_sched_enter(kernel);
    int result = RT_EINVAL;

    RT_CHECK_LIVE(queue, QUEUE);
    if (timeout)
        rt_sched_check_block(kernel, previous, __func__);
    if (capacity >= queue->width)
        result = rt_sched_take(&queue->messages, RT_TASK_WAITING, timeout);
    if (!result)
        result = read_slot(queue, message);
    rt_sched_leave(kernel, previous);
    return result;
}

uint32_t rt_queue_count(const struct rt_queue *queue)
{
    RT_CHECK_LIVE(queue, QUEUE);
    return queue->messages.count;
}

size_t rt_queue_width(const struct rt_queue *queue)
{
    RT_CHECK_LIVE(queue, QUEUE);
    return queue->width;
}
