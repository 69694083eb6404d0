/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One base model and adapters of it, through the broker: the base is compiled and loaded once; an adapter is
 * an instance that holds only its weight files. Needs a service (anemone serve) and, in its policy,
 *
 *     match path /full/path/of/adapters
 *         allow com.apple.aned.private.allow
 *         allow com.apple.aned.private.adapterWeight.allow
 *
 *     cc adapters.c $(pkg-config --cflags --libs anemone) -o adapters
 *     ./adapters adapters.mil
 *
 * The model adds its weights, which are 1, to x, which is 0 here; adapter k has k instead. Prints 1 2 3 4.
 */
#include <anemone/broker.h>
#include <anemone/machine.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HALFS = 32, BYTES = 2 * HALFS, ADAPTERS = 3 };

/* 1 to 4 as fp16. */
static const uint16_t half[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};

static void check(IOReturn status, const char *what)
{
    if (!status)
        return;
    fprintf(stderr, "adapters: %s: 0x%x: %s\n", what, (unsigned)status, ane_machine_error());
    exit(1);
}

static unsigned number_of(uint16_t value)
{
    unsigned k = 0;

    while (k < sizeof(half) / sizeof(half[0]) && half[k] != value)
        k++;
    return k;
}

/* The first element of x + weights of that instance. */
static unsigned run(struct ane_broker *broker, const struct ane_broker_instance *instance, uint32_t x,
                    uint32_t y)
{
    const struct ane_request request = {.priority = instance->priority,
                                        .qos = instance->qos,
                                        .category = ANE_REQUEST_CATEGORY,
                                        .inputs = 1,
                                        .outputs = 1,
                                        .surface = {x, y}};
    struct ane_request_reply reply;

    check(ane_broker_submit(broker, instance->instance, &request, &reply), "a request");
    return number_of(*(const uint16_t *)ane_surface_base(y));
}

static void adapt(struct ane_broker *broker, const char *base, unsigned k,
                  struct ane_broker_instance *instance)
{
    const struct ane_broker_arguments arguments = {.size = sizeof(arguments), .model = base};
    uint16_t values[HALFS];
    const struct ane_broker_weights file = {.target = 0, .bytes = values, .size = sizeof(values)};

    for (unsigned i = 0; i < HALFS; i++)
        values[i] = half[k];
    instance->size = sizeof(*instance);
    check(ane_broker_create_instance_with_weights(broker, &arguments, &file, 1, instance), "an adapter");
}

int main(int argc, char **argv)
{
    const struct ane_broker_compile compile = {.size = sizeof(compile),
                                               .path = argc > 1 ? argv[1] : "adapters.mil"};
    struct ane_broker_model model = {.size = sizeof(model)};
    struct ane_broker_instance instance[1 + ADAPTERS] = {{.size = sizeof(instance[0])}};
    struct ane_broker_arguments arguments = {.size = sizeof(arguments), .model = model.model};
    struct ane_broker *broker;
    uint32_t x, y;

    check(ane_broker_connect(&broker), "connecting");
    check(ane_broker_compile(broker, &compile, &model), "compiling");
    close(model.main); /* main.e5: names and layouts of ports, which are known here */
    check(ane_broker_load(broker, &arguments, &instance[0]), "loading the base");
    for (unsigned k = 1; k <= ADAPTERS; k++)
        adapt(broker, model.model, k + 1, &instance[k]);
    if (ane_surface_create(0, BYTES, &x) || ane_surface_create(0, BYTES, &y))
        check(kIOReturnNoMemory, "a surface");
    for (unsigned k = 0; k <= ADAPTERS; k++)
        printf("%u%c", run(broker, &instance[k], x, y), k < ADAPTERS ? ' ' : '\n');
    for (unsigned k = ADAPTERS + 1; k-- > 0;)
        check(ane_broker_release(broker, instance[k].instance), "a release");
    ane_surface_release(x);
    ane_surface_release(y);
    ane_broker_disconnect(broker);
    return 0;
}
