/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The selectors of data chaining. Each copies its struct once, and the list that it names in a surface; what
 * follows works on the copies.
 */
#include "driver/chaining.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "driver/chained_buffer.h"
#include "driver/identity.h"
#include "driver/process.h"
#include "driver/program.h"
#include "driver/session.h"
#include "driver/shim.h"
#include "driver/surface.h"
#include "driver/trigger.h"

/* Prepare. */

static IOReturn check_args(struct drv *d, const struct drv_program *program,
                           const struct ane_chaining_args *args)
{
    if (args->version != ANE_CHAINING_ARGS_VERSION || !base_is_zero(args->reserved, sizeof(args->reserved)) ||
        args->flags & ~(uint32_t)ANE_CHAINING_AUTO_RECYCLE)
        return drv_refuse(
            d, kIOReturnBadArgument,
            "Chaining prepare: version %u, flags 0x%x; the version is %u, the only flag is 0x%x, "
            "and reserved bytes are 0.",
            args->version, args->flags, ANE_CHAINING_ARGS_VERSION, ANE_CHAINING_AUTO_RECYCLE);
    if (args->procedure >= program->procedures || !args->sets || args->sets > ANE_CHAINING_SETS)
        return drv_refuse(
            d, kIOReturnBadArgument,
            "Chaining prepare: procedure %u and %u output sets; the program has %u procedures, a "
            "chain 1 to %u sets.",
            args->procedure, args->sets, program->procedures, ANE_CHAINING_SETS);
    if (args->links > ANE_CHAINING_LINKS || args->priority >= PR_PRIORITIES)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Chaining prepare: %u links and priority %u; the limits are %u links, and "
                          "priorities below %u.",
                          args->links, args->priority, ANE_CHAINING_LINKS, PR_PRIORITIES);
    return kIOReturnSuccess;
}

/* Arguments and links, which follow them; copied and checked in that order. */
static IOReturn copy_args(const struct drv_process *process, const struct ane_chaining_prepare *prepare,
                          struct ane_chaining_args *args, struct ane_chaining_link link[ANE_CHAINING_LINKS])
{
    const struct drv_client *client = process->client;
    IOReturn result = drv_chained_buffer_copy(client, prepare->surface, prepare->offset, args, sizeof(*args),
                                              "Chaining prepare");

    if (!result)
        result = drv_session_check(client, args->session);
    if (!result)
        result = check_args(client->driver, process->program, args);
    if (!result)
        result = drv_identity_admit(client, args->priority, "Chaining prepare");
    if (!result && args->links)
        result = drv_chained_buffer_copy(client, prepare->surface, prepare->offset + sizeof(*args), link,
                                         args->links * sizeof(*link), "Chaining prepare, links");
    return result;
}

IOReturn drv_chaining_prepare(struct drv_client *client, struct IOExternalMethodArguments *arguments)
{
    struct ane_chaining_link link[ANE_CHAINING_LINKS];
    struct ane_chaining_prepare prepare;
    struct ane_chaining_reply reply;
    struct ane_chaining_args args;
    struct drv_process *process;
    struct drv_chain *chain = NULL;
    IOReturn result;

    memcpy(&prepare, arguments->structureInput, sizeof(prepare));
    result = drv_process_find_prepared(client, prepare.token, &process);
    if (!result)
        result = copy_args(process, &prepare, &args, link);
    if (!result)
        result = drv_chain_make(process, &args, link, &chain);
    if (result)
        return result;
    reply = (struct ane_chaining_reply){.handle = chain->handle,
                                        .inputs = drv_chain_procedure(chain)->inputs,
                                        .outputs = drv_chain_procedure(chain)->outputs,
                                        .sets = chain->sets};
    memcpy(arguments->structureOutput, &reply, sizeof(reply));
    return kIOReturnSuccess;
}

/* Output sets. */

static void unuse_set(struct drv_client *owner, struct drv_chain_set *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        drv_surface_unuse(owner, set->mapping[i]);
    set->count = 0;
}

/*
 * All buffers or none. An execution writes them, and a link reads them: they are mapped for both, as an
 * intermediate buffer is.
 */
static IOReturn bind_set(const struct drv_client *caller, const struct drv_chain *chain,
                         const struct ane_chained_buffer *list, struct drv_chain_set *set,
                         struct pr_buffer *to)
{
    const struct drv_procedure *p = drv_chain_procedure(chain);
    struct drv_client *owner = chain->process->client;
    const struct drv_chained_role role = {caller, owner, PR_USAGE_INTERMEDIATE, PR_BUFFER_OUT};

    for (set->count = 0; set->count < p->outputs; set->count++) {
        const uint32_t position = p->inputs + set->count;
        struct drv_mapping *mapping = NULL;
        IOReturn result = drv_chained_buffer_bind(&role, &list[set->count], p->first_buffer + position,
                                                  p->bytes[position], &mapping, &to[set->count]);

        if (result) {
            unuse_set(owner, set);
            return result;
        }
        mapping->uses++;
        set->mapping[set->count] = mapping;
    }
    return kIOReturnSuccess;
}

static IOReturn send_set(struct drv_client *caller, struct drv_chain *chain, struct pr_cache_recycle *recycle)
{
    recycle->cache_handler = chain->cache_handler;
    return drv_chain_send(chain, caller, PR_EXE_CACHE_REQUEST_SUBMIT, recycle,
                          PR_CACHE_RECYCLE_BYTES(recycle->buffers));
}

/* With the chain in use: the set's buffers are those of the list once the firmware has taken them. */
static IOReturn post_set(struct drv_client *caller, struct drv_chain *chain, uint32_t index,
                         const struct ane_chained_buffer *list)
{
    struct drv_client *owner = chain->process->client;
    struct pr_cache_recycle recycle = {.set = index, .buffers = drv_chain_procedure(chain)->outputs};
    struct drv_chain_set set;
    IOReturn result = bind_set(caller, chain, list, &set, recycle.buffer);

    if (result)
        return result;
    result = send_set(caller, chain, &recycle);
    if (!result)
        result = drv_chain_check(chain); /* a lost chain has given its sets back */
    if (result) {
        unuse_set(owner, &set);
        return result;
    }
    unuse_set(owner, &chain->set[index]);
    chain->set[index] = set;
    return kIOReturnSuccess;
}

static IOReturn return_set(struct drv_client *caller, struct drv_chain *chain, uint32_t index)
{
    struct pr_cache_recycle recycle = {.set = index};

    if (!chain->set[index].count)
        return drv_refuse(caller->driver, kIOReturnNotReady,
                          "Output set %u of chain 0x%" PRIx64 " has had no buffers yet.", index,
                          chain->handle);
    return send_set(caller, chain, &recycle);
}

/* One call at a time: the set has the buffers of the last message that the firmware has taken. */
static IOReturn enqueue(struct drv_client *caller, struct drv_chain *chain, const struct ane_output_set *set,
                        const struct ane_chained_buffer *list)
{
    const uint32_t bit = 1u << set->set;
    IOReturn result;

    if (chain->posting & bit)
        return drv_refuse(caller->driver, kIOReturnBusy,
                          "Output set %u of chain 0x%" PRIx64 " is being posted by another call.", set->set,
                          chain->handle);
    chain->posting |= bit;
    result = set->outputs ? post_set(caller, chain, set->set, list) : return_set(caller, chain, set->set);
    chain->posting &= ~bit;
    return result;
}

static IOReturn check_set(struct drv *d, const struct drv_chain *chain, const struct ane_output_set *set)
{
    const uint32_t outputs = drv_chain_procedure(chain)->outputs;

    if (set->set < chain->sets && (set->outputs == outputs || !set->outputs) && !set->reserved)
        return kIOReturnSuccess;
    return drv_refuse(
        d, kIOReturnBadArgument,
        "Output set %u of %u with %u buffers; the chain has %u outputs, with 0 the set keeps its "
        "buffers, and reserved bytes are 0.",
        set->set, chain->sets, set->outputs, outputs);
}

IOReturn drv_chaining_enqueue(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_chained_buffer list[PR_CALL_BUFFERS_MAX];
    struct ane_output_set set;
    struct drv_chain *chain = NULL;
    IOReturn result;

    memcpy(&set, args->structureInput, sizeof(set));
    result = drv_session_check(client, set.session);
    if (!result)
        result = drv_chain_find(client, set.handle, &chain);
    if (!result)
        chain = chain->group;
    if (!result)
        result = check_set(client->driver, chain, &set);
    if (!result && set.outputs)
        result = drv_chained_buffer_copy(client, set.surface, set.offset, list, set.outputs * sizeof(list[0]),
                                         "Output set");
    if (!result)
        result = drv_chain_use(chain);
    if (result)
        return result;
    result = enqueue(client, chain, &set, list);
    drv_chain_unuse(chain);
    return result;
}

/* Triggers and groups. */

IOReturn drv_chaining_ready(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_inputs_ready ready;
    struct drv_chain *chain = NULL;
    struct drv_wake wake;
    IOReturn result = args->asyncWakePort ? drv_shim_read_wake(client, args, &wake) : kIOReturnSuccess;

    memcpy(&ready, args->structureInput, sizeof(ready));
    if (!result)
        result = drv_session_check(client, ready.session);
    if (!result)
        result = drv_chain_find(client, ready.handle, &chain);
    if (!result)
        result = drv_chain_use(chain);
    if (result)
        return result;
    result = drv_trigger_run(client, chain, &ready, args->asyncWakePort ? &wake : NULL);
    drv_chain_unuse(chain);
    return result;
}

/* A member of the group, by its handle or as the first with a procedure; or NULL. */
static struct drv_chain *find_member(const struct drv *d, const struct drv_chain *group,
                                     const struct ane_active_procedure *active)
{
    struct drv_chain *found = NULL;

    for (struct drv_chain *chain = d->chains; chain; chain = chain->next)
        if (!chain->lost && chain->group == group && chain->procedure == active->procedure &&
            (!active->member || chain->handle == active->member) && (!found || chain->handle < found->handle))
            found = chain;
    return found;
}

static IOReturn activate(struct drv_client *caller, struct drv_chain *group, struct drv_chain *member)
{
    struct pr_cache_active message = {.group = group->cache_handler, .active = member->cache_handler};
    IOReturn result = drv_chain_use(group);

    if (result)
        return result;
    result = drv_chain_send(group, caller, PR_EXE_PROCEDURE_CALL_VARIANT, &message, sizeof(message));
    if (!result)
        result = drv_chain_check(group);
    if (!result)
        group->active = member;
    drv_chain_unuse(group);
    return result;
}

IOReturn drv_chaining_activate(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_active_procedure active;
    struct drv_chain *chain = NULL, *member;
    IOReturn result;

    memcpy(&active, args->structureInput, sizeof(active));
    result = drv_session_check(client, active.session);
    if (!result)
        result = drv_chain_find(client, active.handle, &chain);
    if (result)
        return result;
    member = find_member(client->driver, chain, &active);
    if (active.flags || !member)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "Active procedure %u, member 0x%" PRIx64 ": chain 0x%" PRIx64
                          " is not the first of a group with such a member; flags are 0.",
                          active.procedure, active.member, active.handle);
    return activate(client, chain, member);
}
