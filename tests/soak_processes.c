/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of the soak: machines that come and go, the runtime, children. */
#include "soak.h"

#include <fcntl.h>
#include <unistd.h>

/* Machines. */

#define EXTRA_CONNECTIONS 4u

/* Destroyed as it is: what was open is closed. */
static void destroy_in_use(struct crew_worker *worker, struct ane_machine *machine, struct outrig_user *user,
                           struct outrig_data *data)
{
    struct outrig_client extra[EXTRA_CONNECTIONS];

    for (unsigned i = 0; i < EXTRA_CONNECTIONS; i++)
        soak_answer(SOAK_OPEN, SOAK_ALONE,
                    outrig_open(ane_machine_service(machine), 0, ANE_CLIENT_DIRECT_PATH, &extra[i]));
    crew_at(worker, "ane_machine_destroy with open connections");
    ane_machine_destroy(machine);
    soak_answer(SOAK_REQUEST, SOAK_GONE, outrig_request(worker, &user->client, user->token, data));
    crew_at(worker, "IOServiceClose after ane_machine_destroy");
    soak_answer(SOAK_CLOSE, SOAK_GONE, IOServiceClose(user->client.connect));
    for (unsigned i = 0; i < EXTRA_CONNECTIONS; i++)
        soak_answer(SOAK_CLOSE, SOAK_GONE, IOServiceClose(extra[i].connect));
    outrig_data_release(data);
}

static void make_user(struct outrig_user *user, struct ane_machine *machine)
{
    outrig_user_make(user, ane_machine_service(machine));
    soak_count(SOAK_OPEN), soak_count(SOAK_CREATE), soak_count(SOAK_PREPARE);
}

static void release_user(struct outrig_user *user)
{
    outrig_user_release(user);
    soak_count(SOAK_UNPREPARE), soak_count(SOAK_DESTROY), soak_count(SOAK_CLOSE);
}

void soak_machines(struct crew_worker *worker)
{
    while (crew_more()) {
        struct ane_machine *machine;
        struct outrig_user user;
        struct outrig_data data;

        crew_at(worker, "ane_machine_create");
        machine = outrig_machine();
        make_user(&user, machine);
        outrig_data_make(&data, 0);
        for (uint64_t i = 1 + crew_random(worker, 20); i > 0; i--)
            soak_answer(SOAK_REQUEST, SOAK_ALONE, outrig_request(worker, &user.client, user.token, &data));
        soak_count(SOAK_MACHINE);
        if (crew_random(worker, 2)) {
            destroy_in_use(worker, machine, &user, &data);
        } else {
            outrig_data_release(&data);
            release_user(&user);
            crew_at(worker, "ane_machine_destroy");
            ane_machine_destroy(machine);
        }
        crew_pause(worker, 100000);
    }
}

/* The runtime. */

void soak_streams(struct crew_worker *worker)
{
    while (crew_more()) {
        e5rt_program_library_t library;
        struct outrig_stream stream;

        crew_at(worker, "e5rt_e5_compiler_compile");
        library = outrig_library();
        crew_at(worker, "making an operation");
        outrig_stream_make(&stream, library);
        for (uint64_t i = 1 + crew_random(worker, 30); i > 0; i--) {
            outrig_stream_run(worker, &stream);
            soak_count(SOAK_EXECUTION);
        }
        outrig_stream_release(&stream);
        outrig_library_release(&library);
    }
}

/* Children. */

/* exec of something else, or of this program with a machine of its own. */
static _Noreturn void execute(const char *path, const char *argument)
{
    /* What it prints does not belong to this program's TAP. */
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execl(path, path, argument, (char *)NULL);
    _exit(126);
}

static _Noreturn void destroy_of_parent(const struct soak *soak)
{
    ane_machine_destroy(soak->machine);
    _exit(ane_machine_now(soak->machine) ? 1 : 0);
}

static _Noreturn void use_own(struct crew_worker *worker)
{
    outrig_own_machine(worker);
    _exit(0);
}

void soak_forks(struct crew_worker *worker)
{
    static const char *const what[] = {"it executes /bin/true", "it executes this program again",
                                       "it calls ane_machine_destroy on the parent's machine",
                                       "it makes a machine of its own"};
    const struct soak *soak = worker->shared;

    while (crew_more()) {
        /*
         * A forked child may find the sanitizers' allocators locked by a thread
         * that it does not have: there it makes no machine.
         */
        unsigned kind = (unsigned)crew_random(worker, SOAK_SANITIZED ? 3 : 4);
        pid_t child;

        crew_at(worker, "fork");
        child = crew_fork();
        if (child == 0) {
            switch (kind) {
            case 0: execute("/bin/true", NULL);
            case 1: execute(soak->program, "--child");
            case 2: destroy_of_parent(soak);
            default: use_own(worker);
            }
        }
        crew_child(worker, child, what[kind]);
        soak_count(kind < 2 ? SOAK_EXEC : SOAK_CHILD);
        crew_pause(worker, 100000);
    }
}
