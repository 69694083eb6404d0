/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firmware's image: what is read of a file, each way to be wrong with its own sentence, the driver that
 * loads it, and the processor that compares memory with it. The files here are made by this file alone, byte
 * by byte.
 */
#include "support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/signing.h"
#include "bootrig.h"
#include "drvrig.h"
#include "folder.h"
#include "image/image.h"
#include "iorig.h"
#include "machine/internal.h"

#define TEXT_BYTES 48u

/* Two segments, a thread and a UUID; then the bytes of the first segment. */
struct executable {
    struct pr_macho_header header;
    struct pr_macho_segment text, data;
    struct pr_macho_thread thread;
    struct pr_macho_uuid uuid;
    uint8_t code[TEXT_BYTES];
};

static struct executable executable_make(void)
{
    struct executable e = {
        .header = {0xfeedfacf, 0x0100000c, 0, 5, 4, 72 + 72 + 288 + 24, 1, 0},
        .text = {0x19, 72, "__TEXT", 0x10000000, 0x4000, 32 + 72 + 72 + 288 + 24, TEXT_BYTES, 5, 5, 0, 0},
        .data = {0x19, 72, "__DATA", 0x10004000, 0x8000, 0, 0, 3, 3, 0, 0},
        .thread = {.command = 5, .bytes = 288, .flavour = 6, .words = 68, .pc = 0x10000000},
        .uuid = {0x1b, 24, "0123456789abcde"},
    };

    memset(e.code, 0x5a, sizeof(e.code));
    return e;
}

/* A file of one executable. Lengths of 128 bytes and more are in two bytes here, all others in one. */
struct file {
    uint8_t bytes[2048];
    size_t size;
    size_t tag, description, payload, digest; /* where these begin */
};

static size_t put(struct file *f, uint8_t identifier, const void *bytes, size_t size)
{
    size_t at;

    f->bytes[f->size++] = identifier;
    if (size >= 0x100) {
        f->bytes[f->size++] = 0x82;
        f->bytes[f->size++] = (uint8_t)(size >> 8);
    } else if (size >= 0x80) {
        f->bytes[f->size++] = 0x81;
    }
    f->bytes[f->size++] = (uint8_t)size;
    at = f->size;
    memcpy(f->bytes + at, bytes, size);
    f->size += size;
    return at;
}

static struct file file_make(const struct executable *e)
{
    static const char text[] = "made by a test";
    struct file inner = {0}, payload = {0}, manifest = {0}, entry = {0}, whole = {0}, f = {0};
    uint8_t digest[BASE_HASH_BYTES];
    size_t at;

    put(&payload, 0x16, "IM4P", 4);
    inner.tag = put(&payload, 0x16, "anef", 4);
    inner.description = put(&payload, 0x16, text, strlen(text));
    inner.payload = put(&payload, 0x04, e, sizeof(*e));
    base_signing_hash(e, sizeof(*e), digest);
    put(&entry, 0x16, "DGST", 4);
    inner.digest = put(&entry, 0x04, digest, sizeof(digest));
    put(&manifest, 0x16, "IM4M", 4);
    put(&manifest, 0x02, "", 1);
    inner.digest += put(&manifest, 0x30, entry.bytes, entry.size);
    put(&inner, 0x16, "IMG4", 4);
    at = put(&inner, 0x30, payload.bytes, payload.size);
    put(&whole, 0x30, manifest.bytes, manifest.size);
    inner.digest += put(&inner, 0xa0, whole.bytes, whole.size) + 2;
    f = (struct file){.tag = inner.tag + at,
                      .description = inner.description + at,
                      .payload = inner.payload + at,
                      .digest = inner.digest};
    at = put(&f, 0x30, inner.bytes, inner.size);
    f.tag += at;
    f.description += at;
    f.payload += at;
    f.digest += at;
    return f;
}

static int read_file(const struct file *f, struct img_image *image, struct base_error *error)
{
    error->text[0] = '\0';
    return img_image_read(f->bytes, f->size, image, error);
}

static void a_whole_image_is_read(void **state)
{
    const struct executable e = executable_make();
    const struct file f = file_make(&e);
    struct img_image image;
    struct base_error error;
    uint8_t *run = malloc(PR_IMAGE_RUN_BYTES);

    (void)state;
    if (read_file(&f, &image, &error))
        fail_msg("%s", error.text);
    assert_string_equal(image.image4.tag, "anef");
    assert_string_equal(image.image4.description, "made by a test");
    assert_ptr_equal(image.image4.payload, f.bytes + f.payload);
    assert_int_equal(image.image4.payload_bytes, sizeof(e));
    assert_int_equal(image.macho.segments, 2);
    assert_string_equal(image.macho.segment[0].name, "__TEXT");
    assert_int_equal(image.macho.segment[1].memory_bytes, 0x8000);
    assert_int_equal(image.macho.entry, 0x10000000);
    assert_memory_equal(image.macho.uuid, "0123456789abcde", 16);
    assert_false(image.no_code);
    assert_true(img_image_vector(&image, 0x800000000) == 0x800000000);

    assert_non_null(run);
    memset(run, 0xee, PR_IMAGE_RUN_BYTES);
    img_image_load(&image, run);
    for (unsigned i = 0; i < 0xc000; i++)
        assert_int_equal(run[i], i < TEXT_BYTES ? 0x5a : 0);
    assert_int_equal(run[0xc000], 0xee);
    assert_true(img_image_is_at(&image, run));
    run[TEXT_BYTES - 1] ^= 1;
    assert_false(img_image_is_at(&image, run));
    free(run);
}

/* The build's own image passes the same checks, with or without code in it. */
static void the_built_image_is_read(void **state)
{
    struct img_image image;
    struct base_error error = {{0}};
    size_t size;
    const void *bytes = img_image_built(&size);

    (void)state;
    if (img_image_read(bytes, size, &image, &error))
        fail_msg("%s", error.text);
    assert_string_equal(image.image4.tag, "anef");
    assert_int_equal(image.macho.entry, PR_IMAGE_BASE);
    assert_int_equal(strstr(image.image4.description, "no code") != NULL, image.no_code);
}

/* No part of a file is a file, and no byte of it may be another, except in the description. */
static void every_cut_and_every_changed_byte_is_refused(void **state)
{
    const struct executable e = executable_make();
    struct file f = file_make(&e);
    struct img_image image;
    struct base_error error;
    size_t whole = f.size;

    (void)state;
    for (f.size = 0; f.size < whole; f.size++) {
        assert_true(read_file(&f, &image, &error) < 0);
        assert_non_null(strstr(error.text, "truncated"));
    }
    for (size_t at = 0; at < whole; at++) {
        if (at >= f.description && at < f.description + strlen("made by a test"))
            continue;
        for (unsigned bit = 0; bit < 8; bit++) {
            f.bytes[at] ^= (uint8_t)(1u << bit);
            assert_true(read_file(&f, &image, &error) < 0);
            assert_true(strlen(error.text) > 20);
            f.bytes[at] ^= (uint8_t)(1u << bit);
        }
    }
    assert_int_equal(read_file(&f, &image, &error), 0);
}

#define PLACE(member) offsetof(struct executable, member), sizeof(((struct executable *)0)->member)
static const struct {
    size_t offset, bytes;
    uint64_t value;
    const char *sentence;
} wrong[] = {
    {PLACE(header.magic), 0xfeedface, "begins with 0xfeedface"},
    {PLACE(header.cpu), 0x01000007, "for CPU type 0x1000007"},
    {PLACE(header.type), 2, "is of type 2"},
    {PLACE(header.command_bytes), 0x10000, "its load commands have 0x10000 bytes"},
    {PLACE(header.commands), 5, "Load command 4 of the firmware's executable is truncated"},
    {PLACE(header.commands), 3, "24 bytes follow the load commands"},
    {PLACE(header.commands), 0xffffffff, "is truncated"},
    {PLACE(text.command), 0x2, "Load command 0x2 of the firmware's executable is not known"},
    {PLACE(text.bytes), 0x10000, "has 65536 bytes; 456 are left"},
    {PLACE(text.bytes), 0, "has 0 bytes"},
    {PLACE(text.sections), 1, "with 1 sections has 72 bytes"},
    {PLACE(text.offset), 0x10000, "at 0x10000 of an executable"},
    {PLACE(text.offset), 0xffffffffffffffff, "of an executable"},
    {PLACE(text.file_bytes), 0xffffffffffffffff, "of an executable"},
    {PLACE(text.memory_bytes), 16, "bytes in the file and 0x10 in memory"},
    {PLACE(text.memory_bytes), 0x200000, "must be in whole pages from 0x10000000"},
    {PLACE(text.memory_bytes), 0xffffffffffffffff, "must be in whole pages"},
    {PLACE(text.address), 0x10000010, "must be in whole pages"},
    {PLACE(text.address), 0, "must be in whole pages"},
    {PLACE(text.address), 0x10100000, "must be in whole pages"},
    {PLACE(text.protect), 3, "is not at the start of a page of code"},
    {PLACE(data.address), 0x10000000, "Segments __TEXT and __DATA of the firmware overlap at 0x10000000"},
    {PLACE(thread.command), 0x1b, "UUID command has 288 bytes"},
    {PLACE(thread.flavour), 1, "flavour 1"},
    {PLACE(thread.words), 16, "16 words"},
    {PLACE(thread.pc), 0x10000004, "entry 0x10000004 is not at the start of a page"},
    {PLACE(thread.pc), 0x10004000, "entry 0x10004000 is not at the start of a page of code"},
    {PLACE(uuid.command), 5, "thread command has 24 bytes"},
};

static void each_wrong_executable_has_its_own_sentence(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct executable e = executable_make();
        struct base_error error;
        struct img_image image;
        struct file f;

        memcpy((uint8_t *)&e + wrong[i].offset, &wrong[i].value, wrong[i].bytes);
        f = file_make(&e);
        assert_int_equal(read_file(&f, &image, &error), -EINVAL);
        if (!strstr(error.text, wrong[i].sentence))
            fail_msg("row %u: \"%s\" is not in \"%s\"", i, wrong[i].sentence, error.text);
    }
}

static void an_executable_needs_an_entry(void **state)
{
    struct executable e = executable_make();
    struct base_error error;
    struct img_image image;
    struct file f;

    (void)state;
    e.header.commands = 2;
    e.header.command_bytes = 2 * sizeof(e.text);
    f = file_make(&e);
    assert_int_equal(read_file(&f, &image, &error), -EINVAL);
    assert_non_null(strstr(error.text, "has no entry"));
}

/* The four ways to alter a file, each with its own sentence. */
enum alteration { TAG, DIGEST, LENGTH, PAYLOAD, ALTERATIONS };
static const struct {
    int status;
    const char *sentence;
} altered[] = {
    [TAG] = {-EINVAL, "The payload tag of the firmware image is \"anex\", not \"anef\"."},
    [DIGEST] = {-EBADMSG, "does not have the manifest's digest"},
    [LENGTH] = {-EINVAL, "The firmware image is truncated: the Image4 file at byte 0x0 has"},
    [PAYLOAD] = {-EBADMSG, "The firmware image was altered"},
};

static struct file file_altered(enum alteration alteration)
{
    const struct executable e = executable_make();
    struct file f = file_make(&e);

    switch (alteration) {
    case TAG: f.bytes[f.tag + 3] = 'x'; break;
    case DIGEST: f.bytes[f.digest] ^= 1; break;
    case LENGTH: f.size--; break;
    case PAYLOAD: f.bytes[f.payload + sizeof(e) - 1] ^= 1; break;
    case ALTERATIONS: break;
    }
    return f;
}

static void *no_memory(void *context, uint64_t address, uint64_t bytes)
{
    (void)context;
    (void)address;
    (void)bytes;
    return NULL;
}

static uint8_t reserved[PR_IMAGE_RUN_BYTES];

static void *own_memory(void *context, uint64_t address, uint64_t bytes)
{
    (void)context;
    return address == DRVRIG_IMAGE && bytes <= sizeof(reserved) ? reserved : NULL;
}

static int start_driver(struct drvrig *rig, const struct file *f, struct base_error *error)
{
    rig->platform.firmware_bytes = f->bytes;
    rig->platform.firmware_size = f->size;
    assert_int_equal(drv_create(&rig->platform, &rig->driver, error), 0);
    return drv_start(rig->driver, error);
}

/* The driver writes the segments and the vector, and not a byte of an image that is wrong. */
static void the_driver_loads_the_image(void **state)
{
    struct base_error error = {{0}};
    struct drvrig rig;
    struct file f;

    (void)state;
    for (unsigned i = 0; i <= ALTERATIONS; i++) {
        int status;

        f = file_altered((enum alteration)i);
        memset(reserved, 0, sizeof(reserved));
        drvrig_make(&rig, false);
        rig.platform.memory_at = own_memory;
        status = start_driver(&rig, &f, &error);
        if (i == ALTERATIONS) {
            assert_int_equal(status, 0);
            assert_int_equal(reserved[0], 0x5a);
            assert_true(rig.rvbar == (DRVRIG_IMAGE | 1));
        } else {
            assert_int_equal(status, altered[i].status);
            assert_non_null(strstr(error.text, altered[i].sentence));
            assert_int_equal(reserved[0], 0);
            assert_true(rig.rvbar == 0);
        }
        drvrig_drop(&rig);
    }
    drvrig_make(&rig, false);
    rig.platform.memory_at = no_memory;
    assert_int_equal(start_driver(&rig, &f, &error), -EFAULT);
    assert_non_null(strstr(error.text, "There is no memory for the firmware image"));
    drvrig_drop(&rig);
}

static void a_machine_refuses_an_altered_file(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= ALTERATIONS; i++) {
        struct file f = file_altered((enum alteration)i);
        struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
        struct ane_machine *machine;
        int status;

        folder_write("firmware", f.bytes, f.size);
        config.firmware_image = folder_path("firmware");
        status = ane_machine_create(&config, &machine);
        assert_null(machine);
        /* What remains is right, but is not what the library was compiled with. */
        assert_int_equal(status, i < ALTERATIONS ? altered[i].status : -ENOTSUP);
        assert_non_null(
            strstr(ane_machine_error(), i < ALTERATIONS ? altered[i].sentence : "choose the emulated core"));
    }
}

/* The image of a build without a cross compiler passes every check and cannot be executed. */
static void an_image_without_code_is_not_executed(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1, .core = ANE_CORE_EMULATED};
    struct executable e = executable_make();
    struct ane_machine *machine;
    struct file f;

    (void)state;
    memcpy(e.code, "anemone: no code", 16);
    f = file_make(&e);
    folder_write("firmware", f.bytes, f.size);
    config.firmware_image = folder_path("firmware");
    assert_int_equal(ane_machine_create(&config, &machine), -ENOTSUP);
    assert_non_null(strstr(ane_machine_error(), "has no code for the emulated core"));
}

static void a_machine_takes_the_built_image_from_a_file(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct ane_machine *machine;
    size_t size;
    const void *bytes = img_image_built(&size);

    (void)state;
    config.firmware_image = folder_path("nothing");
    assert_int_equal(ane_machine_create(&config, &machine), -ENOENT);
    folder_write("firmware", bytes, size);
    config.firmware_image = folder_path("firmware");
    if (ane_machine_create(&config, &machine))
        fail_msg("%s", ane_machine_error());
    ane_machine_destroy(machine);
}

static unsigned no_code; /* lines that say so */

static void count_no_code(void *context, const char *line, size_t length)
{
    (void)context;
    (void)length;
    no_code += strstr(line, "no-code") != NULL;
}

/* One byte in DRAM is another: the processor does not start, and starts when it is back. */
static void the_processor_compares_memory_with_the_image(void **state)
{
    struct ane_machine *machine =
        iorig_machine((struct ane_machine_config){.trace = 1, .trace_fn = count_no_code});
    struct bootrig rig;
    uint8_t *image = ane_machine_dram(machine, machine->image, PR_IMAGE_RUN_BYTES);
    const struct img_segment *text = &machine->core.image.macho.segment[0];

    (void)state;
    assert_non_null(image);
    assert_memory_equal(image, text->bytes, text->file_bytes);
    bootrig_make(&rig, machine);
    assert_true(bootrig_boot(&rig) && bootrig_answers(&rig));
    for (unsigned i = 0; i < 3; i++) {
        size_t at = i == 0 ? 0 : i == 1 ? text->file_bytes / 2 : text->file_bytes - 1;

        no_code = 0;
        image[at] ^= 0x10;
        assert_false(bootrig_boot(&rig));
        assert_int_equal(bootrig_read(&rig, PR_CTRL_SCRATCH(7)), PR_BOOT_REFUSED | PR_REFUSAL_IMAGE);
        assert_int_equal(no_code, 1);
        assert_false(mach_cpu_alive(machine->cpu));
        image[at] ^= 0x10;
        assert_true(bootrig_boot(&rig) && bootrig_answers(&rig));
    }
    ane_machine_destroy(machine);
}

/* The host writes another vector. */
static bool see_vector(void *context, struct soc_access *access)
{
    const struct ane_machine *machine = *(struct ane_machine **)context;

    if (access->write && access->address == machine->board->container + PR_CTRL_RVBAR_LO)
        access->value += PR_PAGE_BYTES;
    return true;
}

static struct ane_machine *tapped;
static struct soc_bus_tap tap = {.see = see_vector, .context = &tapped};

static void install(void *context, struct ane_machine *machine)
{
    (void)context;
    tapped = machine;
    soc_bus_tap_add(machine->bus, &tap);
}

static void the_vector_must_be_the_entry(void **state)
{
    struct ane_machine_config config = {.size = sizeof(config), .firmware = 1};
    struct ane_machine *machine;

    (void)state;
    assert_true(mach_create_tapped(&config, install, NULL, &machine) < 0);
    assert_non_null(strstr(ane_machine_error(), "the image in memory is not the one that was loaded"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_image_is_read),
        cmocka_unit_test(the_built_image_is_read),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_refused),
        cmocka_unit_test(each_wrong_executable_has_its_own_sentence),
        cmocka_unit_test(an_executable_needs_an_entry),
        cmocka_unit_test(the_driver_loads_the_image),
        cmocka_unit_test(a_machine_refuses_an_altered_file),
        cmocka_unit_test(an_image_without_code_is_not_executed),
        cmocka_unit_test(a_machine_takes_the_built_image_from_a_file),
        cmocka_unit_test(the_processor_compares_memory_with_the_image),
        cmocka_unit_test(the_vector_must_be_the_entry),
    };

    return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
