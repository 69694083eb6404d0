/* SPDX-License-Identifier: Apache-2.0 */
/* A client outside the tree. */
#include "outrig.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"

#define VALUES    128u /* [1, 4, 1, 32]: rows of 64 bytes, so that the engine's layout is the packed one */
#define BYTES     (2 * VALUES)
#define PLACE     0x1000u /* between operands and result in their surface */
#define PROGRAMS  144u
#define PROCESSES 288u

static const char model_text[] = "program(1.3)\n"
                                 "{\n"
                                 "    func main<ios18>(tensor<fp16, [1, 4, 1, 32]> a, "
                                 "tensor<fp16, [1, 4, 1, 32]> b) {\n"
                                 "        tensor<fp16, [1, 4, 1, 32]> y = add(x = a, y = b)"
                                 "[name = string(\"y\")];\n"
                                 "    } -> (y);\n"
                                 "}\n";

static char model[256];

/* The program as selector 3 takes it: struct ane_program_bundle, main.e5, zeros, weights.bin; signature. */
static struct {
    uint8_t *bytes;
    size_t size;
    uint8_t hash[2][32];
    struct ane_program_signature signature;
} payload;

/* Compiling. */

static void good5(int64_t status, const char *call)
{
    if (status)
        crew_fail("%s: %s: %s", call, e5rt_error_code_get_string(status), e5rt_get_last_error_message());
}
#define GOOD5(call) good5((call), #call)

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long end;

    if (!file)
        return NULL;
    if (!fseek(file, 0, SEEK_END) && (end = ftell(file)) >= 0 && !fseek(file, 0, SEEK_SET)) {
        *size = (size_t)end;
        bytes = malloc(*size + 1);
    }
    if (bytes && fread(bytes, 1, *size, file) != *size)
        crew_fail("%s could not be read whole.", path);
    fclose(file);
    return bytes;
}

/* The hashes of main.e5 and weights.bin are the first two of the manifest. */
static void take_hashes(const char *text)
{
    static const char mark[] = "\"sha256_tree\": \"";

    for (unsigned part = 0; part < 2; part++) {
        text = strstr(text, mark);
        if (!text)
            crew_fail("The manifest has no two hashes.");
        text += strlen(mark);
        for (unsigned i = 0; i < 32; i++)
            if (sscanf(text + 2 * i, "%2hhx", &payload.hash[part][i]) != 1)
                crew_fail("The manifest has a hash that is none.");
    }
}

static void take_signature(const char *bundle, int length)
{
    char path[512];
    uint8_t *bytes;
    size_t size = 0;

    snprintf(path, sizeof(path), "%.*smanifest.json", length, bundle);
    bytes = read_file(path, &size);
    if (!bytes)
        crew_fail("%s could not be read.", path);
    bytes[size] = '\0';
    take_hashes((const char *)bytes);
    free(bytes);
    snprintf(path, sizeof(path), "%.*ssignature", length, bundle);
    bytes = read_file(path, &size);
    if (!bytes || size != sizeof(payload.signature))
        crew_fail("%s is not a signature.", path);
    memcpy(&payload.signature, bytes, size);
    free(bytes);
}

/* At the bundle's main.e5. */
static int take_bundle(const char *path, const struct stat *about, int kind, struct FTW *walk)
{
    struct ane_program_bundle head;
    char beside[512];
    uint8_t *main_bytes, *weights;
    size_t main_size = 0, weights_size = 0, weights_at;

    (void)about, (void)kind;
    if (strcmp(path + walk->base, "main.e5") != 0)
        return 0;
    snprintf(beside, sizeof(beside), "%.*sweights.bin", walk->base, path);
    main_bytes = read_file(path, &main_size);
    weights = read_file(beside, &weights_size);
    if (!main_bytes)
        crew_fail("%s could not be read.", path);
    weights_at = (sizeof(head) + main_size + ANE_PROGRAM_BUNDLE_ALIGN - 1) / ANE_PROGRAM_BUNDLE_ALIGN *
                 ANE_PROGRAM_BUNDLE_ALIGN;
    payload.size = weights_at + weights_size;
    payload.bytes = calloc(1, payload.size);
    if (!payload.bytes)
        crew_fail("No memory for the program.");
    head = (struct ane_program_bundle){.main_bytes = main_size, .weights_bytes = weights_size};
    memcpy(payload.bytes, &head, sizeof(head));
    memcpy(payload.bytes + sizeof(head), main_bytes, main_size);
    if (weights_size)
        memcpy(payload.bytes + weights_at, weights, weights_size);
    free(main_bytes), free(weights);
    take_signature(path, walk->base);
    return 1;
}

void outrig_compile(void)
{
    e5rt_program_library_t library;

    folder_write("model.mil", model_text, strlen(model_text));
    snprintf(model, sizeof(model), "%s", folder_path("model.mil"));
    library = outrig_library();
    outrig_library_release(&library);
    if (nftw(folder_name(), take_bundle, 8, FTW_PHYS) != 1)
        crew_fail("The compiled model has no main.e5.");
}

/* Calls. */

struct ane_machine *outrig_machine(void)
{
    /* Threads are counted, and those that compute are made when work is long: none. */
    struct ane_machine_config config = {
        .size = sizeof(config), .firmware = 1, .dram_bytes = 256u << 20, .threads = 1};
    struct ane_machine *machine;

    if (ane_machine_create(&config, &machine))
        crew_fail("ane_machine_create: %s", ane_machine_error());
    return machine;
}

IOReturn outrig_handshake(const struct outrig_client *client, uint64_t timeout_ms, uint64_t *session)
{
    struct ane_device_info info = {.token = ANE_USAGE_STANDARD, .timeout = timeout_ms};
    size_t size = sizeof(info);
    IOReturn status = IOConnectCallMethod(client->connect, ANE_CONTROL_DeviceOpen, NULL, 0, &info,
                                          sizeof(info), NULL, NULL, &info, &size);

    *session = info.token;
    return status;
}

IOReturn outrig_open_for(io_service_t service, ane_task_t task, uint32_t type, uint64_t timeout_ms,
                         struct outrig_client *client)
{
    IOReturn status = IOServiceOpen(service, task, type, &client->connect);

    client->task = task;
    return status ? status : outrig_handshake(client, timeout_ms, &client->session);
}

IOReturn outrig_open(io_service_t service, ane_task_t task, uint32_t type, struct outrig_client *client)
{
    return outrig_open_for(service, task, type, 0, client);
}

IOReturn outrig_version(io_connect_t connect)
{
    uint64_t version = 0;
    uint32_t count = 1;
    IOReturn status =
        IOConnectCallMethod(connect, ANE_CONTROL_GetVersion, NULL, 0, NULL, 0, &version, &count, NULL, NULL);

    if (!status && version != 96)
        crew_fail("Selector 10 returned version %" PRIu64 "; the device has 96.", version);
    return status;
}

IOReturn outrig_create(const struct outrig_client *client, uint64_t *token)
{
    const size_t signature_at = ANE_PROGRAM_IMAGE + (payload.size + 7) / 8 * 8;
    struct ane_program_create create = {.size = signature_at + sizeof(payload.signature)};
    struct ane_program_args args = {.representation = ANE_PROGRAM_RT,
                                    .version = ANE_PROGRAM_ARGS_VERSION,
                                    .image_size = payload.size,
                                    .procedures = 1,
                                    .qos = ANE_REQUEST_QOS,
                                    .flags = ANE_PROGRAM_ARGS_FLAGS,
                                    .name = "sum"};
    IOReturn status;
    uint8_t *bytes;

    if (ane_surface_create(client->task, create.size, &create.surface))
        crew_fail("ane_surface_create: %s", ane_machine_error());
    bytes = ane_surface_base(create.surface);
    memcpy(args.hash, payload.hash, sizeof(args.hash));
    memcpy(bytes, &args, sizeof(args));
    memcpy(bytes + ANE_PROGRAM_IMAGE, payload.bytes, payload.size);
    memcpy(bytes + signature_at, &payload.signature, sizeof(payload.signature));
    status = IOConnectCallMethod(client->connect, ANE_CONTROL_ProgramCreate, NULL, 0, &create, sizeof(create),
                                 NULL, NULL, NULL, NULL);
    memcpy(token, bytes + offsetof(struct ane_program_args, token), sizeof(*token));
    ane_surface_release(create.surface);
    return status;
}

IOReturn outrig_prepare(const struct outrig_client *client, uint64_t token)
{
    struct ane_program_prepare prepare = {
        .token = token, .qos = ANE_REQUEST_QOS, .priority = ANE_REQUEST_PRIORITY};
    size_t size = sizeof(prepare);

    return IOConnectCallMethod(client->connect, ANE_CONTROL_ProgramPrepare, NULL, 0, &prepare,
                               sizeof(prepare), NULL, NULL, &prepare, &size);
}

IOReturn outrig_unprepare(const struct outrig_client *client, uint64_t token)
{
    const struct ane_program_prepare prepare = {.token = token};

    return IOConnectCallMethod(client->connect, ANE_CONTROL_ProgramUnprepare, NULL, 0, &prepare,
                               sizeof(prepare), NULL, NULL, NULL, NULL);
}

IOReturn outrig_destroy(const struct outrig_client *client, uint64_t token)
{
    const struct ane_program_destroy destroy = {.token = token};

    return IOConnectCallMethod(client->connect, ANE_CONTROL_ProgramDestroy, NULL, 0, &destroy,
                               sizeof(destroy), NULL, NULL, NULL, NULL);
}

IOReturn outrig_map(const struct outrig_client *client, uint32_t surface, uint64_t *address)
{
    const struct ane_memory_map map = {
        .token = client->session, .surface = surface, .usage = 1, .size = 3 * PLACE};
    const uint64_t flags = 0;
    uint32_t count = 1;

    return IOConnectCallMethod(client->connect, ANE_DIRECT_MemoryMapRequest, &flags, 1, &map, sizeof(map),
                               address, &count, NULL, NULL);
}

IOReturn outrig_unmap(const struct outrig_client *client, uint32_t surface, uint64_t address)
{
    const struct ane_memory_map map = {.token = client->session, .surface = surface, .address = address};

    return IOConnectCallMethod(client->connect, ANE_DIRECT_MemoryUnMapRequest, NULL, 0, &map, sizeof(map),
                               NULL, NULL, NULL, NULL);
}

void outrig_good(IOReturn status, const char *call)
{
    if (status)
        crew_fail("%s answered 0x%x where only success was possible: %s", call, (unsigned)status,
                  ane_machine_error());
}

bool outrig_is_ended(IOReturn status)
{
    return status == ANE_RETURN_CLOSED || status == kIOReturnAborted;
}

void outrig_good_or_ended(IOReturn status, const char *call)
{
    if (status && !outrig_is_ended(status))
        crew_fail("%s answered 0x%x where only success, closed or aborted was possible: %s", call,
                  (unsigned)status, ane_machine_error());
}

/* Data. */

/* A whole number below 2048 as fp16, exactly. */
static uint16_t half_of(unsigned number)
{
    unsigned exponent = 0;

    if (!number)
        return 0;
    while (number >> (exponent + 1))
        exponent++;
    return (uint16_t)((exponent + 15) << 10 | (number << (10 - exponent) & 0x3ff));
}

static void put_operands(uint8_t *a, uint8_t *b, uint8_t *y, unsigned first, unsigned second)
{
    for (unsigned i = 0; i < VALUES; i++) {
        uint16_t x = half_of(first + i), z = half_of(second + i % 13);

        memcpy(a + 2 * i, &x, 2);
        memcpy(b + 2 * i, &z, 2);
    }
    memset(y, 0xff, BYTES);
}

static void check_result(const uint8_t *y, unsigned first, unsigned second)
{
    for (unsigned i = 0; i < VALUES; i++) {
        uint16_t got, want = half_of(first + i + second + i % 13);

        memcpy(&got, y + 2 * i, 2);
        if (got != want)
            crew_fail("A wrong result: element %u of %u + %u is 0x%04x, not 0x%04x.", i, first, second, got,
                      want);
    }
}

void outrig_data_make(struct outrig_data *data, ane_task_t task)
{
    *data = (struct outrig_data){0};
    if (ane_surface_create(task, 3 * PLACE, &data->surface))
        crew_fail("ane_surface_create: %s", ane_machine_error());
    data->base = ane_surface_base(data->surface);
    if (!data->base)
        crew_fail("Surface 0x%x has no address.", data->surface);
}

void outrig_data_release(struct outrig_data *data)
{
    ane_surface_release(data->surface);
}

IOReturn outrig_request(struct crew_worker *worker, const struct outrig_client *client, uint64_t token,
                        struct outrig_data *data)
{
    unsigned first = (unsigned)crew_random(worker, 900), second = (unsigned)crew_random(worker, 900);
    struct ane_request request = {.token = token,
                                  .sequence = data->sequence++,
                                  .priority = (uint32_t)crew_random(worker, 8),
                                  .qos = ANE_REQUEST_QOS,
                                  .category = ANE_REQUEST_CATEGORY,
                                  .inputs = 2,
                                  .outputs = 1,
                                  .surface = {data->surface, data->surface, data->surface},
                                  .offset = {0, PLACE, 2 * PLACE}};
    struct ane_request_reply reply = {0};
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    size_t size = sizeof(reply);
    IOReturn status;

    put_operands(data->base, data->base + PLACE, data->base + 2 * PLACE, first, second);
    crew_at(worker, "a request (selector 2)");
    status = IOConnectCallMethod(client->connect, ANE_CONTROL_ProgramSendRequest, &doorbell, 1, &request,
                                 sizeof(request), NULL, NULL, &reply, &size);
    if (status)
        return status;
    if (reply.sequence != request.sequence || reply.token != token || reply.status)
        crew_fail("A request that succeeded has a wrong reply: sequence %" PRIu64 " for %" PRIu64
                  ", token 0x%" PRIx64 " for 0x%" PRIx64 ", status %" PRIu64 ".",
                  reply.sequence, request.sequence, reply.token, token, reply.status);
    check_result(data->base + 2 * PLACE, first, second);
    return status;
}

void outrig_user_make(struct outrig_user *user, io_service_t service)
{
    outrig_good(outrig_open(service, 0, ANE_CLIENT_CONTROL, &user->client), "IOServiceOpen");
    outrig_good(outrig_create(&user->client, &user->token), "program create (selector 3)");
    outrig_good(outrig_prepare(&user->client, user->token), "program prepare (selector 4)");
}

void outrig_user_release(struct outrig_user *user)
{
    outrig_good(outrig_unprepare(&user->client, user->token), "program unprepare (selector 5)");
    outrig_good(outrig_destroy(&user->client, user->token), "program destroy (selector 6)");
    outrig_good(IOServiceClose(user->client.connect), "IOServiceClose");
}

void outrig_own_machine(struct crew_worker *worker)
{
    struct ane_machine *machine = outrig_machine();
    struct outrig_user user;
    struct outrig_data data;

    outrig_user_make(&user, ane_machine_service(machine));
    outrig_data_make(&data, 0);
    outrig_good(outrig_request(worker, &user.client, user.token, &data), "a request (selector 2)");
    outrig_data_release(&data);
    outrig_user_release(&user);
    ane_machine_destroy(machine);
}

/* The runtime. */

e5rt_program_library_t outrig_library(void)
{
    e5rt_e5_compiler_config_options_t config;
    e5rt_program_library_t library;
    e5rt_e5_compiler_t compiler;

    GOOD5(e5rt_e5_compiler_config_options_create(&config));
    GOOD5(e5rt_e5_compiler_config_options_set_cache_bundle_location(config, folder_name()));
    GOOD5(e5rt_e5_compiler_create_with_config(&compiler, config));
    GOOD5(e5rt_e5_compiler_compile(compiler, model, NULL, &library));
    GOOD5(e5rt_e5_compiler_release(&compiler));
    GOOD5(e5rt_e5_compiler_config_options_release(&config));
    return library;
}

void outrig_library_release(e5rt_program_library_t *library)
{
    GOOD5(e5rt_program_library_release(library));
}

static void make_operation(struct outrig_stream *s, e5rt_program_library_t library)
{
    e5rt_precompiled_compute_op_create_options_t options;
    e5rt_program_function_t function;

    GOOD5(e5rt_program_library_retain_program_function(library, "main", &function));
    GOOD5(e5rt_program_function_load_for_execution(function));
    GOOD5(e5rt_precompiled_compute_op_create_options_create_with_program_function(&options, function));
    GOOD5(e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(&s->operation,
                                                                                            options));
    GOOD5(e5rt_precompiled_compute_op_create_options_release(&options));
    GOOD5(e5rt_program_function_release(&function));
}

void outrig_stream_make(struct outrig_stream *s, e5rt_program_library_t library)
{
    make_operation(s, library);
    GOOD5(e5rt_execution_stream_operation_retain_input_port(s->operation, "a", &s->port[0]));
    GOOD5(e5rt_execution_stream_operation_retain_input_port(s->operation, "b", &s->port[1]));
    GOOD5(e5rt_execution_stream_operation_retain_output_port(s->operation, "y", &s->port[2]));
    for (unsigned i = 0; i < 3; i++) {
        GOOD5(e5rt_buffer_object_alloc(&s->buffer[i], BYTES, E5RT_BUFFER_CPU));
        GOOD5(e5rt_buffer_object_get_data_ptr(s->buffer[i], &s->base[i]));
        GOOD5(e5rt_io_port_bind_buffer_object(s->port[i], s->buffer[i]));
    }
    GOOD5(e5rt_execution_stream_create(&s->stream));
    GOOD5(e5rt_execution_stream_encode_operation(s->stream, s->operation));
}

void outrig_stream_release(struct outrig_stream *s)
{
    GOOD5(e5rt_execution_stream_release(&s->stream));
    for (unsigned i = 0; i < 3; i++) {
        GOOD5(e5rt_io_port_release(&s->port[i]));
        GOOD5(e5rt_buffer_object_release(&s->buffer[i]));
    }
    GOOD5(e5rt_execution_stream_operation_release(&s->operation));
}

void outrig_stream_run(struct crew_worker *worker, struct outrig_stream *s)
{
    unsigned first = (unsigned)crew_random(worker, 900), second = (unsigned)crew_random(worker, 900);

    put_operands(s->base[0], s->base[1], s->base[2], first, second);
    crew_at(worker, "e5rt_execution_stream_execute_sync");
    GOOD5(e5rt_execution_stream_execute_sync(s->stream));
    check_result(s->base[2], first, second);
}

/* What is left. */

uint64_t outrig_dram_used(struct ane_machine *machine)
{
    return ane_machine_counter(machine, "dram.used");
}

static void check_one(IOReturn status, const char *call, unsigned number, unsigned limit)
{
    crew_at(crew_main(), call);
    if (status)
        crew_fail("%s %u of %u answered 0x%x on a machine whose clients had all closed: %s", call, number + 1,
                  limit, (unsigned)status, ane_machine_error());
}

void outrig_tables_check(struct ane_machine *machine, uint64_t used)
{
    io_service_t service = ane_machine_service(machine);
    struct outrig_client client[PROCESSES / PROGRAMS];
    const unsigned clients = PROCESSES / PROGRAMS;
    uint64_t token[PROGRAMS];

    if (outrig_dram_used(machine) != used)
        crew_fail("DRAM in use is %" PRIu64 " bytes after every client has closed; it began with %" PRIu64
                  ".",
                  outrig_dram_used(machine), used);
    for (unsigned k = 0; k < clients; k++)
        check_one(outrig_open(service, 0, ANE_CLIENT_CONTROL, &client[k]), "IOServiceOpen", k, clients);
    for (unsigned i = 0; i < PROGRAMS; i++)
        check_one(outrig_create(&client[i % clients], &token[i]), "Program create", i, PROGRAMS);
    for (unsigned i = 0; i < PROCESSES; i++)
        check_one(outrig_prepare(&client[i / PROGRAMS], token[i % PROGRAMS]), "Program prepare", i,
                  PROCESSES);
    for (unsigned k = clients; k-- > 0;)
        check_one(IOServiceClose(client[k].connect), "IOServiceClose", k, clients);
    if (outrig_dram_used(machine) != used)
        crew_fail("DRAM in use is %" PRIu64 " bytes after %u programs were loaded and given back; it began "
                  "with %" PRIu64 ".",
                  outrig_dram_used(machine), PROGRAMS, used);
}
