/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wake ports: where asynchronous requests complete. A port is a row of the process's table, named by number;
 * a stale number finds nothing, so a message for a port that was released is dropped.
 *
 * From its first request on a port serves one machine, until that ends, or the service, whose messages come
 * from outside. A message has its place from the
 * moment its request is taken (`reserved`), so none is ever lost and none waits for room.
 *
 * Everything here is under the lock of the tables. A receiver waits in one of two ways: outside, on a word
 * of its own, while the port has no machine; or inside the machine, which it then drives as any other caller
 * that waits. What a receiver inside looks at (`done`) changes with the machine's lock held as well. A
 * receiver holds the machine only while it is inside, and leaves when the machine's end begins.
 */
#include <anemone/iokit.h>

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/array.h"
#include "machine/internal.h"

#define PORTS_MAX 256u
#define PORT_BASE 0x1000000u
#define TURNS     0x1000u
#define MESSAGES  DRV_WATCHES /* as many as there are requests */

_Static_assert(BASE_COUNT_OF(((struct ane_port_message *)0)->reference) == DRV_REFERENCES, "one block");

struct receiver {
    struct receiver *next;
    bool inside; /* the machine; else on `woken` */
    bool notified;
    bool done; /* notified, for the machine's lock */
    atomic_uint woken;
};

enum port_state { PORT_FREE, PORT_OPEN, PORT_RELEASED /* receivers have not left yet */ };

struct port {
    enum port_state state;
    uint32_t turns; /* how often the row was used */
    int descriptor; /* -1 until it is asked for */
    struct ane_machine *machine;
    bool served;       /* it serves the service */
    unsigned reserved; /* messages that will come */
    bool woken;        /* a receiver is to return without a message */
    unsigned first, count;
    struct ane_port_message message[MESSAGES];
    struct receiver *receivers; /* oldest first */
};

static struct port port_table[PORTS_MAX];
static bool service_ended; /* no message of the service comes any more */

static struct port *find_port(ane_port_t id)
{
    struct port *row = &port_table[(id - PORT_BASE) % PORTS_MAX];
    uint32_t turn = (id - PORT_BASE) / PORTS_MAX;

    return id >= PORT_BASE && row->state == PORT_OPEN && row->turns % TURNS == turn ? row : NULL;
}

static int no_port(ane_port_t id)
{
    return base_fail(mach_error(), EINVAL, "There is no port %u; it may have been released.", id);
}

int ane_port_create(ane_port_t *port)
{
    ane_port_t id = 0;

    mach_error_begin();
    if (!port)
        return base_fail(mach_error(), EINVAL, "ane_port_create was given no place for the port.");
    mach_tables_lock();
    for (uint32_t i = 0; i < PORTS_MAX && !id; i++) {
        struct port *row = &port_table[i];

        if (row->state != PORT_FREE)
            continue;
        row->state = PORT_OPEN;
        row->turns++;
        row->descriptor = -1;
        row->machine = NULL;
        row->reserved = row->first = row->count = 0;
        row->woken = row->served = false;
        id = PORT_BASE + row->turns % TURNS * PORTS_MAX + i;
    }
    mach_tables_unlock();
    *port = id;
    return id ? 0
              : base_fail(mach_error(), ENOSPC, "%u ports exist in this process; release one.", PORTS_MAX);
}

/* Readable exactly while messages wait. */
static void show_messages(const struct port *row)
{
    uint64_t value = 1;

    if (row->descriptor < 0)
        return;
    if (row->count)
        (void)!write(row->descriptor, &value, sizeof(value));
    else
        (void)!read(row->descriptor, &value, sizeof(value));
}

int ane_port_descriptor(ane_port_t port)
{
    struct port *row;
    int descriptor;

    mach_error_begin();
    mach_tables_lock();
    row = find_port(port);
    if (!row) {
        descriptor = no_port(port);
    } else {
        if (row->descriptor < 0)
            row->descriptor = eventfd(row->count != 0, EFD_CLOEXEC | EFD_NONBLOCK);
        descriptor = row->descriptor < 0 ? base_fail(mach_error(), errno,
                                                     "No file descriptor for a port: %s.", strerror(errno))
                                         : row->descriptor;
    }
    mach_tables_unlock();
    return descriptor;
}

/* A receiver inside is notified with its machine's lock held. */
static void notify_receiver(struct receiver *receiver)
{
    receiver->notified = true;
    if (receiver->inside)
        receiver->done = true;
    else
        mach_host_wake(&receiver->woken);
}

static void notify_first(const struct port *row)
{
    struct receiver *receiver = row->receivers;

    while (receiver && receiver->notified)
        receiver = receiver->next;
    if (receiver)
        notify_receiver(receiver);
}

static void notify_all(const struct port *row)
{
    for (struct receiver *receiver = row->receivers; receiver; receiver = receiver->next)
        if (!receiver->notified)
            notify_receiver(receiver);
}

static void close_port(struct port *row)
{
    if (row->descriptor >= 0)
        close(row->descriptor);
    row->descriptor = -1;
    row->state = row->receivers ? PORT_RELEASED : PORT_FREE;
    notify_all(row);
}

static void wake_port(struct port *row)
{
    row->woken = true;
    notify_first(row);
}

/* Receivers inside are notified from inside; an ending machine notifies its own. */
static int change_port(ane_port_t port, void (*change)(struct port *row))
{
    struct ane_machine *m = NULL;
    struct port *row;
    int status = 0;

    mach_error_begin();
    mach_tables_lock();
    row = find_port(port);
    if (row && row->machine && mach_hold_locked(row->machine))
        m = row->machine;
    if (m) {
        mach_tables_unlock();
        if (!mach_enter_dead(m)) {
            mach_release(m);
            return -EPERM;
        }
        mach_tables_lock();
        row = find_port(port);
    }
    if (row)
        change(row);
    else
        status = no_port(port);
    mach_tables_unlock();
    if (m) {
        mach_leave(m);
        mach_release(m);
    }
    return status;
}

int ane_port_release(ane_port_t port)
{
    return change_port(port, close_port);
}

int ane_port_wake(ane_port_t port)
{
    return change_port(port, wake_port);
}

static void take_message(struct port *row, struct ane_port_message *message)
{
    *message = row->message[row->first];
    row->first = (row->first + 1) % MESSAGES;
    if (--row->count == 0)
        show_messages(row);
}

static void add_receiver(struct port *row, struct receiver *receiver)
{
    struct receiver **link = &row->receivers;

    while (*link)
        link = &(*link)->next;
    *link = receiver;
}

static void remove_receiver(struct port *row, const struct receiver *receiver)
{
    struct receiver **link = &row->receivers;

    while (*link != receiver)
        link = &(*link)->next;
    *link = receiver->next;
    if (row->state == PORT_RELEASED && !row->receivers)
        row->state = PORT_FREE;
}

/*
 * One wait, with the tables locked before and after: 0 when it is worth looking again, -ETIMEDOUT, -EPERM.
 * In virtual time only for a machine whose clock is closed. The machine is held until the tables are locked
 * again: a receiver that has waited in it finds it there, also when it is ending.
 */
static int wait_once(struct port *row, struct ane_machine *held, struct mach_deadline *wall,
                     struct mach_deadline *closed)
{
    struct receiver receiver = {.inside = held != NULL};
    int status;

    add_receiver(row, &receiver);
    mach_tables_unlock();
    if (!held) {
        status = mach_host_sleep(&receiver.woken, wall->at) ? 0 : -ETIMEDOUT;
    } else if (mach_enter(held)) {
        status = mach_lock_wait(&held->lock, &receiver.done, held->closed_clock ? closed : wall);
        mach_leave(held);
    } else {
        status = -EPERM;
    }
    mach_tables_lock();
    if (held)
        mach_release_locked(held);
    remove_receiver(row, &receiver);
    return status;
}

static struct mach_deadline wall_deadline(uint64_t timeout_ns)
{
    uint64_t now = mach_host_now();
    bool ends = timeout_ns < MACH_HOST_FOREVER - now;

    return (struct mach_deadline){.wall = true,
                                  .ns = ends ? timeout_ns : MACH_HOST_FOREVER,
                                  .at = ends ? now + timeout_ns : MACH_HOST_FOREVER};
}

/* With the tables locked. */
static int receive(ane_port_t port, struct ane_port_message *message, uint64_t timeout_ns)
{
    struct mach_deadline wall = wall_deadline(timeout_ns), closed = {.ns = timeout_ns};
    bool in_time = timeout_ns != 0;

    for (;;) {
        struct port *row = find_port(port);
        bool held;
        int status;

        if (!row)
            return no_port(port);
        if (row->count) {
            take_message(row, message);
            return 0;
        }
        if (row->woken) {
            row->woken = false;
            return base_fail(mach_error(), EINTR, "A caller that waited at port %u was woken.", port);
        }
        if (!in_time)
            return base_fail(mach_error(), ETIMEDOUT, "No message came to port %u in time.", port);
        held = row->machine && mach_hold_locked(row->machine);
        if (row->machine && !held && !row->reserved)
            return base_fail(mach_error(), ENODEV, "The machine of port %u is being destroyed.", port);
        if (row->served && service_ended && !row->reserved)
            return base_fail(mach_error(), ENODEV, "The service whose messages come to port %u has ended.",
                             port);
        status = wait_once(row, held ? row->machine : NULL, &wall, &closed);
        if (status == -EPERM)
            return status;
        in_time = !status;
    }
}

int ane_port_receive(ane_port_t port, struct ane_port_message *message, uint64_t timeout_ns)
{
    int status;

    mach_error_begin();
    if (!message)
        return base_fail(mach_error(), EINVAL, "ane_port_receive was given no place for the message.");
    mach_tables_lock();
    status = receive(port, message, timeout_ns);
    mach_tables_unlock();
    return status;
}

/* The machine's side, inside its lock. */

int mach_port_reserve(struct ane_machine *m, ane_port_t port, struct base_error *error)
{
    struct port *row;
    int status = 0;

    mach_tables_lock();
    row = find_port(port);
    if (!row)
        status = base_fail(error, ENOENT, "There is no wake port %u; it may have been released.", port);
    else if ((row->machine && row->machine != m) || (row->served && m))
        status = base_fail(error, ENOENT, "Wake port %u serves another machine.", port);
    else if (row->reserved + row->count == MESSAGES)
        status =
            base_fail(error, ENOSPC,
                      "Wake port %u has %u messages and %u requests under way; the limit is %u together.",
                      port, row->count, row->reserved, MESSAGES);
    else
        row->reserved++;
    if (!status && !m) {
        row->served = true;
    } else if (!status && !row->machine) {
        notify_all(row); /* none is inside yet: they look again, and go inside */
        row->machine = m;
    }
    mach_tables_unlock();
    return status;
}

/* One reservation less. Receivers at a port of an ending machine are notified when nothing can come. */
static void end_reservation(struct port *row)
{
    row->reserved--;
    if (row->machine && row->machine->ending && !row->reserved)
        notify_all(row);
}

void mach_port_cancel(ane_port_t port)
{
    struct port *row;

    mach_tables_lock();
    row = find_port(port);
    if (row) {
        end_reservation(row);
        /* A call that failed binds nothing. */
        if (!row->reserved && !row->count && !row->receivers) {
            row->machine = NULL;
            row->served = false;
        }
    }
    mach_tables_unlock();
}

/* The end of a machine closes its clients; its ports are notified so. */
static struct ane_port_message make_message(const struct ane_machine *m, const struct drv_message *message)
{
    struct ane_port_message made = {.result = message->result, .reply = message->reply};

    memcpy(made.reference, message->reference, sizeof(made.reference));
    if (m->ending && made.result == kIOReturnAborted) {
        made.result = ANE_RETURN_CLOSED;
        made.reply.status = (uint32_t)ANE_RETURN_CLOSED;
    }
    return made;
}

/* A message takes the place that was reserved for it. */
static void deliver(ane_port_t port, const struct ane_port_message *message)
{
    struct port *row;

    mach_tables_lock();
    row = find_port(port);
    if (row) {
        row->message[(row->first + row->count) % MESSAGES] = *message;
        if (row->count++ == 0)
            show_messages(row);
        notify_first(row);
        end_reservation(row);
    }
    mach_tables_unlock();
}

void mach_port_deliver(struct ane_machine *m, ane_port_t port, const struct drv_message *message)
{
    const struct ane_port_message made = make_message(m, message);

    deliver(port, &made);
}

void mach_port_deliver_served(ane_port_t port, const struct ane_port_message *message)
{
    deliver(port, message);
}

void mach_port_end_served(void)
{
    mach_tables_lock();
    service_ended = true;
    for (uint32_t i = 0; i < PORTS_MAX; i++)
        if (port_table[i].state != PORT_FREE && port_table[i].served)
            notify_all(&port_table[i]);
    mach_tables_unlock();
}

bool mach_port_end_waits(struct ane_machine *m)
{
    if (!mach_enter_dead(m))
        return false;
    mach_tables_lock();
    for (uint32_t i = 0; i < PORTS_MAX; i++)
        if (port_table[i].state != PORT_FREE && port_table[i].machine == m)
            notify_all(&port_table[i]);
    mach_tables_unlock();
    mach_leave(m);
    return true;
}

void mach_port_detach(const struct ane_machine *m)
{
    mach_tables_lock();
    for (uint32_t i = 0; i < PORTS_MAX; i++)
        if (port_table[i].machine == m)
            port_table[i].machine = NULL;
    mach_tables_unlock();
}

/* The parent's descriptors are the parent's: a child that read one would take its messages' signal. */
void mach_port_forked(void)
{
    for (uint32_t i = 0; i < PORTS_MAX; i++) {
        if (port_table[i].state == PORT_OPEN && port_table[i].descriptor >= 0)
            close(port_table[i].descriptor);
        port_table[i].state = PORT_FREE;
        port_table[i].receivers = NULL;
        port_table[i].machine = NULL;
    }
    service_ended = false;
}
