/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.e5, written in the form of schemas/e5.fbs. Children are written before the tables that refer to them.
 * Names are indices into one list of symbols: the file's own, in the order of SYMBOLS, then the function,
 * then the ports. A value of the file's own build information is the symbol after its key. The reader,
 * program/e5.c, accepts exactly this form.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/array.h"
#include "compiler/store/bundle.h"
#include "compiler/store/flatbuild.h"
#include "program/e5_schema.h"

enum { SECTION_RECORDS, SECTION_CONSTANTS, SECTIONS };
enum { ELEMENT_BYTES = 2 };

/* Names of the file's own, after which the ports' follow. X(id, text) */
#define SYMBOLS(X)                          \
    X(CAST_IN, "cast_in")                   \
    X(INFERENCE, "ane_inference")           \
    X(CAST_OUT, "cast_out")                 \
    X(RECORDS, "records")                   \
    X(CONSTANTS, "constants")               \
    X(MAIN_FILE, "main.e5")                 \
    X(WEIGHTS_FILE, "weights.bin")          \
    X(TARGET_KEY, "target")                 \
    X(TARGET, PR_E5_TARGET)                 \
    X(COMPILER_KEY, "compiler")             \
    X(COMPILER, "anemone")                  \
    X(VERSION_KEY, "compiler_version")      \
    X(VERSION, ANEMONE_VERSION)             \
    X(DESCRIPTOR_KEY, "descriptor_version") \
    X(DESCRIPTOR, "7")                      \
    X(LAYOUT_KEY, "layout")                 \
    X(LAYOUT, "planar, rows on 64 bytes")   \
    X(RECORD_KEY, "record_bytes")           \
    X(RECORD, "256")                        \
    X(ELEMENT_KEY, "element")               \
    X(ELEMENT, "fp16")                      \
    X(OPTIONS, "default")

enum symbol {
#define X(id, text) SYMBOL_##id,
    SYMBOLS(X)
#undef X
        SYMBOL_FUNCTION,
    SYMBOL_PORT /* the first port; the others follow */
};
enum { SYMBOLS_MAX = (int)SYMBOL_PORT + (int)PR_E5_PORTS_MAX };

static uint32_t symbols(struct cc_flat *f, const struct cc_program *p)
{
    static const char *const own[] = {
#define X(id, text) text,
        SYMBOLS(X)
#undef X
    };
    uint32_t ref[SYMBOLS_MAX];

    for (uint32_t i = 0; i < SYMBOL_FUNCTION; i++)
        ref[i] = cc_flat_string(f, own[i]);
    ref[SYMBOL_FUNCTION] = cc_flat_string(f, p->function);
    for (uint32_t i = 0; i < p->ports; i++)
        ref[SYMBOL_PORT + i] = cc_flat_string(f, p->port[i].name);
    return cc_flat_refs(f, ref, SYMBOL_PORT + p->ports);
}

static uint32_t build_info(struct cc_flat *f)
{
    static const enum symbol key[] = {SYMBOL_TARGET_KEY,     SYMBOL_COMPILER_KEY, SYMBOL_VERSION_KEY,
                                      SYMBOL_DESCRIPTOR_KEY, SYMBOL_LAYOUT_KEY,   SYMBOL_RECORD_KEY,
                                      SYMBOL_ELEMENT_KEY};
    uint32_t ref[BASE_COUNT_OF(key)];

    for (unsigned i = 0; i < BASE_COUNT_OF(key); i++) {
        struct cc_flat_fields pair = {0};

        cc_flat_put(&pair, PR_E5_PAIR_KEY, 4, key[i]);
        cc_flat_put(&pair, PR_E5_PAIR_VALUE, 4, key[i] + 1u);
        ref[i] = cc_flat_table(f, &pair, PR_E5_PAIR_COUNT);
    }
    return cc_flat_refs(f, ref, BASE_COUNT_OF(key));
}

static uint32_t sections(struct cc_flat *f, const struct cc_program *p)
{
    struct cc_flat_fields records = {0}, constants = {0};
    uint32_t bytes = p->records * PR_E5_RECORD_BYTES, ref[SECTIONS];

    cc_flat_put_ref(&records, PR_E5_SECTION_DATA, cc_flat_bytes(f, p->record, bytes));
    cc_flat_put(&records, PR_E5_SECTION_NAME, 4, SYMBOL_RECORDS);
    cc_flat_put(&records, PR_E5_SECTION_KIND, 1, PR_E5_SECTION_RECORDS);
    cc_flat_put(&records, PR_E5_SECTION_SIZE, 4, bytes);
    cc_flat_put(&records, PR_E5_SECTION_FILE, 4, SYMBOL_MAIN_FILE);
    ref[SECTION_RECORDS] = cc_flat_table(f, &records, PR_E5_SECTION_COUNT);
    cc_flat_put(&constants, PR_E5_SECTION_NAME, 4, SYMBOL_CONSTANTS);
    cc_flat_put(&constants, PR_E5_SECTION_KIND, 1, PR_E5_SECTION_CONSTANTS);
    cc_flat_put(&constants, PR_E5_SECTION_SIZE, 4, p->constant_bytes);
    cc_flat_put(&constants, PR_E5_SECTION_FILE, 4, SYMBOL_WEIGHTS_FILE);
    ref[SECTION_CONSTANTS] = cc_flat_table(f, &constants, PR_E5_SECTION_COUNT);
    return cc_flat_refs(f, ref, SECTIONS);
}

static uint32_t tensor(struct cc_flat *f, const struct pr_e5_port *p)
{
    const uint32_t dim[4] = {p->n, p->c, p->h, p->w};
    const uint64_t batch = (uint64_t)p->c * p->plane, stride[4] = {batch, p->plane, p->row, ELEMENT_BYTES};
    struct cc_flat_fields t = {0};

    cc_flat_put_ref(&t, PR_E5_TENSOR_DIM, cc_flat_u32s(f, dim, 4));
    cc_flat_put_ref(&t, PR_E5_TENSOR_STRIDE, cc_flat_u64s(f, stride, 4));
    cc_flat_put(&t, PR_E5_TENSOR_WIDTH, 4, p->w);
    cc_flat_put(&t, PR_E5_TENSOR_HEIGHT, 4, p->h);
    cc_flat_put(&t, PR_E5_TENSOR_CHANNELS, 4, p->c);
    cc_flat_put(&t, PR_E5_TENSOR_BATCH, 4, p->n);
    cc_flat_put(&t, PR_E5_TENSOR_ROW, 4, p->row);
    cc_flat_put(&t, PR_E5_TENSOR_PLANE, 4, p->plane);
    cc_flat_put(&t, PR_E5_TENSOR_BATCH_STRIDE, 8, batch);
    cc_flat_put(&t, PR_E5_TENSOR_BYTES, 4, p->bytes);
    cc_flat_put(&t, PR_E5_TENSOR_STORAGE, 1, PR_E5_STORAGE_PLANAR);
    cc_flat_put(&t, PR_E5_TENSOR_PACK, 1, 1);
    return cc_flat_table(f, &t, PR_E5_TENSOR_COUNT);
}

static uint32_t ports(struct cc_flat *f, const struct cc_program *p)
{
    uint32_t ref[PR_E5_PORTS_MAX];

    for (uint32_t i = 0; i < p->ports; i++) {
        struct cc_flat_fields port = {0};

        cc_flat_put(&port, PR_E5_PORT_NAME, 4, SYMBOL_PORT + i);
        cc_flat_put(&port, PR_E5_PORT_DIRECTION, 1, p->port[i].direction);
        cc_flat_put(&port, PR_E5_PORT_TYPE, 1, p->port[i].type);
        cc_flat_put_ref(&port, PR_E5_PORT_SHAPE, cc_flat_u32s(f, p->port[i].dim, p->port[i].rank));
        cc_flat_put_ref(&port, PR_E5_PORT_TENSOR, tensor(f, &p->port[i]));
        ref[i] = cc_flat_table(f, &port, PR_E5_PORT_COUNT);
    }
    return cc_flat_refs(f, ref, p->ports);
}

/* The ports of a direction as values; `engine`: their tensors in the engine's layout. */
static uint32_t values(struct cc_flat *f, const struct cc_program *p, enum pr_hwx_direction direction,
                       bool engine)
{
    uint32_t value[PR_E5_PORTS_MAX], count = 0;

    for (uint32_t i = 0; i < p->ports; i++)
        if (p->port[i].direction == direction)
            value[count++] = i + (engine ? p->ports : 0);
    return cc_flat_u32s(f, value, count);
}

static uint32_t operation(struct cc_flat *f, enum symbol name, unsigned type, uint32_t in, uint32_t out,
                          unsigned kind, uint32_t attributes)
{
    struct cc_flat_fields operation = {0};

    cc_flat_put(&operation, PR_E5_OPERATION_NAME, 4, name);
    cc_flat_put(&operation, PR_E5_OPERATION_TYPE, 1, type);
    cc_flat_put_ref(&operation, PR_E5_OPERATION_INPUTS, in);
    cc_flat_put_ref(&operation, PR_E5_OPERATION_OUTPUTS, out);
    cc_flat_put(&operation, PR_E5_OPERATION_ATTRIBUTES_TYPE, 1, kind);
    cc_flat_put_ref(&operation, PR_E5_OPERATION_ATTRIBUTES, attributes);
    return cc_flat_table(f, &operation, PR_E5_OPERATION_COUNT);
}

static uint32_t cast(struct cc_flat *f, const struct cc_program *p, bool from_engine)
{
    enum pr_hwx_direction direction = from_engine ? PR_HWX_OUTPUT : PR_HWX_INPUT;
    struct cc_flat_fields attributes = {0};
    uint32_t in = values(f, p, direction, from_engine), out = values(f, p, direction, !from_engine);

    cc_flat_put(&attributes, PR_E5_CAST_FROM_ENGINE, 1, from_engine);
    return operation(f, from_engine ? SYMBOL_CAST_OUT : SYMBOL_CAST_IN, PR_E5_OPERATION_CAST, in, out,
                     PR_E5_ATTRIBUTES_CAST, cc_flat_table(f, &attributes, PR_E5_CAST_COUNT));
}

static uint32_t inference(struct cc_flat *f, const struct cc_program *p)
{
    uint32_t in = values(f, p, PR_HWX_INPUT, true), out = values(f, p, PR_HWX_OUTPUT, true);
    struct cc_flat_fields a = {0};
    uint8_t hash[CC_HASH_BYTES];

    /* The program's name, as in the original: a double SHA-256, here over the records. */
    base_hash_of(p->record, (size_t)p->records * PR_E5_RECORD_BYTES, hash);
    base_hash_of(hash, sizeof(hash), hash);
    cc_flat_put_ref(&a, PR_E5_INFERENCE_ANEHASH, cc_flat_bytes(f, hash, sizeof(hash)));
    cc_flat_put(&a, PR_E5_INFERENCE_PROCEDURE, 4, SYMBOL_FUNCTION);
    cc_flat_put(&a, PR_E5_INFERENCE_PROGRAM, 4, SYMBOL_MAIN_FILE);
    cc_flat_put(&a, PR_E5_INFERENCE_HANDLE, 4, PR_HWX_BAR_INTERMEDIATE);
    cc_flat_put(&a, PR_E5_INFERENCE_INTERMEDIATE, 4, p->intermediate_bytes);
    cc_flat_put(&a, PR_E5_INFERENCE_OPTIONS, 4, SYMBOL_OPTIONS);
    cc_flat_put(&a, PR_E5_INFERENCE_RECORDS, 4, SECTION_RECORDS);
    cc_flat_put(&a, PR_E5_INFERENCE_RECORD_BYTES, 4, PR_E5_RECORD_BYTES);
    cc_flat_put(&a, PR_E5_INFERENCE_CONSTANTS, 4, SECTION_CONSTANTS);
    return operation(f, SYMBOL_INFERENCE, PR_E5_OPERATION_INFERENCE, in, out, PR_E5_ATTRIBUTES_INFERENCE,
                     cc_flat_table(f, &a, PR_E5_INFERENCE_COUNT));
}

static uint32_t functions(struct cc_flat *f, const struct cc_program *p)
{
    struct cc_flat_fields function = {0}, block = {0};
    uint32_t ref[PR_E5_BLOCK_LENGTH];

    ref[PR_E5_BLOCK_CAST_IN] = cast(f, p, false);
    ref[PR_E5_BLOCK_INFERENCE] = inference(f, p);
    ref[PR_E5_BLOCK_CAST_OUT] = cast(f, p, true);
    cc_flat_put_ref(&block, PR_E5_BLOCK_OPERATIONS, cc_flat_refs(f, ref, PR_E5_BLOCK_LENGTH));
    ref[0] = cc_flat_table(f, &block, PR_E5_BLOCK_COUNT);
    cc_flat_put_ref(&function, PR_E5_FUNCTION_BLOCKS, cc_flat_refs(f, ref, 1));
    cc_flat_put_ref(&function, PR_E5_FUNCTION_PORTS, ports(f, p));
    cc_flat_put(&function, PR_E5_FUNCTION_NAME, 4, SYMBOL_FUNCTION);
    ref[0] = cc_flat_table(f, &function, PR_E5_FUNCTION_COUNT);
    return cc_flat_refs(f, ref, 1);
}

int cc_bundle_main(const struct cc_program *p, uint8_t **bytes, size_t *size, struct base_error *error)
{
    struct cc_flat_fields root = {0};
    struct cc_flat f = {0};

    cc_flat_put_ref(&root, PR_E5_ROOT_SYMBOLS, symbols(&f, p));
    cc_flat_put_ref(&root, PR_E5_ROOT_BUILD_INFO, build_info(&f));
    cc_flat_put_ref(&root, PR_E5_ROOT_SECTIONS, sections(&f, p));
    cc_flat_put_ref(&root, PR_E5_ROOT_FUNCTIONS, functions(&f, p));
    cc_flat_put(&root, PR_E5_ROOT_TARGET, 4, SYMBOL_TARGET);
    cc_flat_put(&root, PR_E5_ROOT_VERSION, 4, PR_E5_FORMAT_VERSION);
    *bytes = cc_flat_end(&f, cc_flat_table(&f, &root, PR_E5_ROOT_COUNT), PR_E5_IDENTIFIER, size);
    return *bytes ? 0 : base_fail(error, ENOMEM, "There is no memory for main.e5.");
}
