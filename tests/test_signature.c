/* SPDX-License-Identifier: Apache-2.0 */
/* Signed programs: the user's key, and what program create takes from whom. */
#include "lower_machine.h"
#include "treehash.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signing.h"

static uint8_t *payload;
static size_t payload_bytes;
static ane_task_t task;
static struct iorig_client plain;
static char sentence[256]; /* of the last create */

/* The arguments, the image and the signature behind it, to be changed by hand. */
struct signed_program {
    struct ane_program_args args;
    struct ane_program_signature signature;
    uint8_t *image;
    size_t bytes;
    bool cut; /* the call leaves no room for the signature */
};

static void hash_parts(struct signed_program *p)
{
    struct ane_program_bundle head;
    size_t weights;

    if (p->args.representation == ANE_PROGRAM_LEGACY) {
        treehash_of(p->image, p->bytes, p->args.hash[0]);
        treehash_of(p->image, 0, p->args.hash[1]);
        return;
    }
    memcpy(&head, p->image, sizeof(head));
    weights = p->bytes - head.weights_bytes;
    treehash_of(p->image + sizeof(head), head.main_bytes, p->args.hash[0]);
    treehash_of(p->image + weights, head.weights_bytes, p->args.hash[1]);
}

/* The bytes that abi.h says are signed. */
static void message_of(const struct signed_program *p, uint8_t message[80])
{
    memcpy(message, "anemone program2", 16);
    memcpy(message + 16, p->args.hash, 64);
}

static void sign(struct signed_program *p, const void *image, size_t bytes, uint32_t representation)
{
    struct base_hashes hashes;
    struct base_signature signature;

    *p = (struct signed_program){.bytes = bytes, .image = malloc(bytes)};
    assert_non_null(p->image);
    memcpy(p->image, image, bytes);
    p->args = (struct ane_program_args){
        .representation = representation, .version = 1, .image_size = bytes, .procedures = 1, .name = "net"};
    hash_parts(p);
    memcpy(&hashes, p->args.hash, sizeof(hashes));
    assert_int_equal(base_signing_sign(&hashes, &signature, NULL), 0);
    memcpy(&p->signature, &signature, sizeof(signature));
}

static IOReturn create(struct signed_program *p, const struct iorig_client *c)
{
    size_t at = (p->bytes + 7) / 8 * 8, size = ANE_PROGRAM_IMAGE + at + sizeof(p->signature);
    struct ane_program_create arguments = {.size = p->cut ? size - 1 : size};
    IOReturn result;
    uint8_t *to;

    assert_int_equal(ane_surface_create(c->task, size, &arguments.surface), 0);
    to = ane_surface_base(arguments.surface);
    memcpy(to, &p->args, sizeof(p->args));
    memcpy(to + ANE_PROGRAM_IMAGE, p->image, p->bytes);
    memcpy(to + ANE_PROGRAM_IMAGE + at, &p->signature, sizeof(p->signature));
    result = IOConnectCallMethod(c->connect, ANE_CONTROL_ProgramCreate, NULL, 0, &arguments,
                                 sizeof(arguments), NULL, NULL, NULL, NULL);
    snprintf(sentence, sizeof(sentence), "%s", ane_machine_error());
    memcpy(&p->args.token, to, sizeof(p->args.token));
    ane_surface_release(arguments.surface);
    if (!result)
        assert_int_equal(iorig_destroy(c, p->args.token), kIOReturnSuccess);
    return result;
}

static int make(void **state)
{
    const char *const entitlement[] = {"com.apple.ane.iokit-user-access"};
    struct cc_program *program;
    struct gr g;

    if (open_machine(state))
        return 1;
    task = ane_task_create(entitlement, 1, NULL, NULL);
    assert_int_equal(iorig_open(ane_machine_service(machine), task, ANE_CLIENT_CONTROL, &plain),
                     kIOReturnSuccess);
    gr_open(&g, 0x5160, GR_WHOLE);
    gr_output(&g, gr_linear(&g, gr_input(&g, "x", CC_FP16, GR(5, 6)), gr_const(&g, GR(7, 6)), GR_NONE));
    program = gr_lower(&g);
    payload = gr_payload(program, &payload_bytes);
    cc_program_destroy(program);
    gr_close(&g);
    return 0;
}

static int end(void **state)
{
    free(payload);
    IOServiceClose(plain.connect);
    ane_task_release(task);
    return close_machine(state);
}

/* Every way in which a signature can be wrong, for a developer and for any other task. */
static void what_is_wrong_is_refused_for_everybody(void **state)
{
    const struct iorig_client *const who[2] = {&client, &plain};
    uint8_t message[80], secret[crypto_sign_SECRETKEYBYTES];
    struct signed_program p;

    (void)state;
#define EXPECT(result, change)                            \
    for (unsigned i = 0; i < 2; i++) {                    \
        sign(&p, payload, payload_bytes, ANE_PROGRAM_RT); \
        change;                                           \
        assert_int_equal(create(&p, who[i]), result);     \
        free(p.image);                                    \
    }
    EXPECT(kIOReturnSuccess, (void)0);
    EXPECT(kIOReturnNotPermitted, p.args.hash[0][0] ^= 1);
    EXPECT(kIOReturnNotPermitted, p.args.hash[1][31] ^= 0x80);
    EXPECT(kIOReturnNotPermitted, p.signature.signature[0] ^= 1);
    EXPECT(kIOReturnNotPermitted, p.signature.signature[63] ^= 1);
    EXPECT(kIOReturnNotPermitted, memset(&p.signature, 0, sizeof(p.signature)));
    EXPECT(kIOReturnNotPermitted, p.signature.key[5] ^= 1);
    EXPECT(kIOReturnNotPermitted, p.cut = true);
    EXPECT(kIOReturnNotPermitted, p.image[sizeof(struct ane_program_bundle) + 40] ^= 1);
    EXPECT(kIOReturnNotPermitted, p.image[p.bytes - 1] ^= 1);
    /* The other program that the bytes could be: the hashes are right, the signature is of others. */
    EXPECT(kIOReturnNotPermitted, (p.image[p.bytes - 1] ^= 1, hash_parts(&p)));
    /* A right signature of a stranger. */
    EXPECT(kIOReturnNotPermitted, (crypto_sign_keypair(p.signature.key, secret), message_of(&p, message),
                                   crypto_sign_detached(p.signature.signature, NULL, message, 80, secret)));
#undef EXPECT
}

static void what_is_not_signed_is_a_developers(void **state)
{
    static uint8_t image[0x10000];
    size_t size = iorig_image_add(image, sizeof(image), 1, 8);
    struct signed_program p;

    (void)state;
    sign(&p, payload, payload_bytes, ANE_PROGRAM_RT);
    memset(p.args.hash, 0, sizeof(p.args.hash));
    assert_int_equal(create(&p, &client), kIOReturnSuccess);
    assert_int_equal(create(&p, &plain), kIOReturnNotPermitted);
    assert_non_null(strstr(sentence, "not signed for this caller"));
    free(p.image);
    sign(&p, image, size, ANE_PROGRAM_LEGACY);
    assert_int_equal(create(&p, &plain), kIOReturnSuccess);
    memset(p.args.hash, 0, sizeof(p.args.hash));
    assert_int_equal(create(&p, &client), kIOReturnSuccess);
    assert_int_equal(create(&p, &plain), kIOReturnNotPermitted);
    free(p.image);
}

/* Weights in a surface of their own. */

/* A memory file of the payload's weights. */
static int weights_file(void)
{
    struct ane_program_bundle head;
    int file;

    memcpy(&head, payload, sizeof(head));
    file = memfd_create("weights", MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(write(file, (uint8_t *)payload + payload_bytes - head.weights_bytes, head.weights_bytes),
                     head.weights_bytes);
    return file;
}

/* The payload without its weights, which are in that surface. */
static void sign_apart(struct signed_program *p, uint32_t weights)
{
    struct ane_program_bundle head;

    memcpy(&head, payload, sizeof(head));
    sign(p, payload, payload_bytes, ANE_PROGRAM_RT);
    p->bytes = p->args.image_size = sizeof(head) + head.main_bytes;
    p->args.weights = weights;
}

static uint32_t surface_of(int file, ane_task_t owner)
{
    struct stat about;
    uint32_t id;

    assert_int_equal(fstat(file, &about), 0);
    assert_int_equal(ane_surface_of_file(owner, file, (size_t)about.st_size, &id), 0);
    return id;
}

static void weights_are_read_from_a_file(void **state)
{
    const struct iorig_client *const who[2] = {&client, &plain};
    struct ane_program_bundle head;
    struct signed_program p;
    int file = weights_file();

    (void)state;
    memcpy(&head, payload, sizeof(head));
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t id = surface_of(file, who[i]->task);
        uint8_t byte = 0;

        assert_null(ane_surface_base(id));
        assert_int_equal(ane_surface_descriptor(id), -ENOTSUP);
        assert_int_equal(ane_surface_lookup(id), head.weights_bytes);
        sign_apart(&p, id);
        assert_int_equal(create(&p, who[i]), kIOReturnSuccess);
        /* Of another task. */
        assert_int_equal(create(&p, who[1 - i]), kIOReturnNotPermitted);
        /* Changed, also back. */
        assert_int_equal(pread(file, &byte, 1, 5), 1);
        byte ^= 1;
        assert_int_equal(pwrite(file, &byte, 1, 5), 1);
        assert_int_equal(create(&p, who[i]), kIOReturnNotPermitted);
        byte ^= 1;
        assert_int_equal(pwrite(file, &byte, 1, 5), 1);
        assert_int_equal(create(&p, who[i]), kIOReturnSuccess);
        free(p.image);
        ane_surface_release(id);
        sign_apart(&p, id);
        assert_int_equal(create(&p, who[i]), kIOReturnBadArgument);
        free(p.image);
    }
    close(file);
}

static void weights_in_a_surface_of_memory(void **state)
{
    struct ane_program_bundle head;
    struct signed_program p;
    uint32_t id;

    (void)state;
    memcpy(&head, payload, sizeof(head));
    assert_int_equal(ane_surface_create(task, head.weights_bytes, &id), 0);
    memcpy(ane_surface_base(id), (uint8_t *)payload + payload_bytes - head.weights_bytes, head.weights_bytes);
    sign_apart(&p, id);
    assert_int_equal(create(&p, &plain), kIOReturnSuccess);
    ((uint8_t *)ane_surface_base(id))[head.weights_bytes - 1] ^= 1;
    assert_int_equal(create(&p, &plain), kIOReturnNotPermitted);
    free(p.image);
    ane_surface_release(id);
}

static void wrong_files_are_refused(void **state)
{
    struct ane_program_create arguments = {.size = 4096};
    struct ane_program_bundle head;
    struct signed_program p;
    int file = weights_file(), ends[2];
    uint32_t id, none = 1;

    (void)state;
    memcpy(&head, payload, sizeof(head));
    assert_int_equal(ane_surface_of_file(0, -1, 1, &none), -EBADF);
    assert_int_equal(none, 0);
    assert_int_equal(ane_surface_of_file(0, file, 0, &none), -EINVAL);
    assert_int_equal(ane_surface_of_file(0, file, head.weights_bytes + 1, &none), -EINVAL);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(ane_surface_of_file(0, ends[0], 1, &none), -EINVAL);
    close(ends[0]);
    close(ends[1]);
    id = surface_of(file, task);
#define EXPECT(text, change)                                    \
    sign_apart(&p, id);                                         \
    change;                                                     \
    assert_int_equal(create(&p, &plain), kIOReturnBadArgument); \
    if (!strstr(sentence, text))                                \
        fail_msg("\"%s\" does not say \"%s\"", sentence, text); \
    free(p.image)
    EXPECT("only a bundle of one procedure", p.args.representation = ANE_PROGRAM_LEGACY);
    EXPECT("only a bundle of one procedure", p.args.procedures = 2);
    EXPECT("only a bundle of one procedure", p.args.image_size = sizeof(head) - 1);
    EXPECT("the image has", p.args.image_size--);
    EXPECT("the image has", memset(p.image + 8, 0, 8));
    EXPECT("the image has", memset(p.image + 8, 0xff, 8));
    EXPECT("were to be read", p.image[8]++);
    EXPECT("no surface", p.args.weights = 0x7ffff);
    EXPECT("became shorter", assert_int_equal(ftruncate(file, (off_t)head.weights_bytes - 1), 0));
#undef EXPECT
    arguments.surface = id; /* nothing but weights is read from it */
    assert_int_equal(IOConnectCallMethod(plain.connect, ANE_CONTROL_ProgramCreate, NULL, 0, &arguments,
                                         sizeof(arguments), NULL, NULL, NULL, NULL),
                     kIOReturnBadArgument);
    assert_non_null(strstr(ane_machine_error(), "is of a file"));
    ane_surface_release(id);
    close(file);
}

/* The key, in processes of their own: it is read once in each. */

static void child_key(int to, const char *path)
{
    struct base_error warning = {{0}};
    uint8_t record[1 + BASE_KEY_BYTES + 128] = {0};

    setenv("ANEMONE_KEY", path, 1);
    record[0] = (uint8_t)base_signing_key(record + 1, &warning);
    snprintf((char *)record + 1 + BASE_KEY_BYTES, 128, "%.127s", warning.text);
    _exit(write(to, record, sizeof(record)) != (ssize_t)sizeof(record));
}

enum { CHILDREN = 8 };

static void keys_of_children(const char *path, uint8_t record[CHILDREN][1 + BASE_KEY_BYTES + 128])
{
    int ends[CHILDREN][2], status;
    pid_t child[CHILDREN];

    for (unsigned i = 0; i < CHILDREN; i++) {
        assert_int_equal(pipe(ends[i]), 0);
        child[i] = fork();
        if (!child[i])
            child_key(ends[i][1], path);
    }
    for (unsigned i = 0; i < CHILDREN; i++) {
        assert_int_equal(read(ends[i][0], record[i], sizeof(record[i])), sizeof(record[i]));
        assert_true(waitpid(child[i], &status, 0) == child[i] && status == 0);
        close(ends[i][0]);
        close(ends[i][1]);
    }
}

static void a_key_is_made_once(void **state)
{
    char folder[] = "/tmp/anemone-key-XXXXXX", path[96], deep[64];
    uint8_t record[CHILDREN][1 + BASE_KEY_BYTES + 128], again[CHILDREN][1 + BASE_KEY_BYTES + 128];
    struct stat info;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(deep, sizeof(deep), "%s/new", folder);
    snprintf(path, sizeof(path), "%s/signing.key", deep);
    keys_of_children(path, record);
    keys_of_children(path, again);
    for (unsigned i = 0; i < CHILDREN; i++) {
        assert_int_equal(record[i][0], 0);
        assert_memory_equal(record[i], record[0], 1 + BASE_KEY_BYTES);
        assert_memory_equal(again[i], record[0], 1 + BASE_KEY_BYTES);
    }
    assert_int_equal(stat(path, &info), 0);
    assert_true(info.st_size == 32 && (info.st_mode & 0777) == 0600);
    /* A file that is not a key stays as it is, and each process has a key of its own. */
    assert_int_equal(truncate(path, 31), 0);
    keys_of_children(path, record);
    assert_int_equal(record[0][0], 1);
    assert_memory_not_equal(record[0], record[1], 1 + BASE_KEY_BYTES);
    assert_non_null(strstr((char *)record[0] + 1 + BASE_KEY_BYTES, "in memory only"));
    assert_true(!stat(path, &info) && info.st_size == 31);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(deep), 0); /* and nothing else was left there */
    assert_int_equal(rmdir(folder), 0);
    keys_of_children("/proc/self/none/signing.key", record);
    assert_int_equal(record[0][0], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_made_once), /* before this process has one */
        cmocka_unit_test_setup_teardown(what_is_wrong_is_refused_for_everybody, make, end),
        cmocka_unit_test_setup_teardown(what_is_not_signed_is_a_developers, make, end),
        cmocka_unit_test_setup_teardown(weights_are_read_from_a_file, make, end),
        cmocka_unit_test_setup_teardown(weights_in_a_surface_of_memory, make, end),
        cmocka_unit_test_setup_teardown(wrong_files_are_refused, make, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
