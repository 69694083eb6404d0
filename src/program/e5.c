/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of main.e5. What it accepts has the one form that the compiler writes: one function of one
 * block, its ports planar, its sections inside the limits.
 */
#include "program/e5.h"

#include <string.h>

#include "program/e5_schema.h"
#include "program/flat.h"
#include "protocol/text.h"

enum { ELEMENT_BYTES = 2, TYPES = 2 };

struct reader {
    struct pr_flat flat;
    struct pr_flat_vector symbols, sections;
    struct pr_e5 *e5;
    struct pr_problem *problem;
};

static bool wrong(struct reader *r, const char *what)
{
    if (r->problem)
        r->problem->offset = r->flat.where;
    return pr_problem_set(r->problem, PR_PROBLEM_FORMAT, "main.e5: %s.", what);
}

/* Use after every few reads: what a broken buffer gave since is not to be trusted. */
static bool sound(struct reader *r)
{
    return !r->flat.broken || wrong(r, "a table, vector or offset leaves the file");
}

/* A symbol of 1 to PR_E5_NAME_BYTES - 1 characters, none of them a control character, into `name`. */
static bool read_name(struct reader *r, uint32_t symbol, char name[PR_E5_NAME_BYTES])
{
    struct pr_flat_vector string;

    if (symbol >= r->symbols.count)
        return wrong(r, "a name's number is outside symbol_names");
    string = pr_flat_vector_string(&r->flat, &r->symbols, symbol);
    if (!sound(r))
        return false;
    if (!string.count || string.count >= PR_E5_NAME_BYTES)
        return wrong(r, "a name has 1 to 127 characters");
    for (uint32_t i = 0; i < string.count; i++)
        if (r->flat.bytes[string.at + i] < 0x20 || r->flat.bytes[string.at + i] == 0x7f)
            return wrong(r, "a name has a control character");
    memcpy(name, r->flat.bytes + string.at, string.count);
    name[string.count] = '\0';
    return true;
}

/* The first two axes of rank 5 are one in the engine's layout. */
static bool right_aligned(const struct pr_e5_port *p)
{
    const uint32_t engine[4] = {p->n, p->c, p->h, p->w};
    uint64_t extent[4] = {1, 1, 1, 1};

    for (uint32_t i = 0; i < p->rank; i++)
        extent[i + 4 < p->rank ? 0 : i + 4 - p->rank] *= p->dim[i];
    for (uint32_t i = 0; i < 4; i++)
        if (engine[i] != extent[i])
            return false;
    return true;
}

/* Rows on 64-byte boundaries, planes and batches without gaps: the one layout there is. */
static bool laid_out(const struct pr_e5_port *p)
{
    uint64_t row = pr_round_up((uint64_t)p->w * ELEMENT_BYTES, PR_ROW_ALIGN), bytes = row;
    const uint32_t extent[3] = {p->h, p->c, p->n};

    if (p->row != row)
        return false;
    for (unsigned i = 0; i < 3; i++) {
        bytes *= extent[i];
        if (bytes > PR_E5_BYTES_MAX)
            return false;
        if (i == 0 && p->plane != bytes)
            return false;
    }
    return p->bytes == bytes;
}

static bool read_tensor(struct reader *r, const struct pr_flat_table *port, struct pr_e5_port *p)
{
    struct pr_flat_table tensor = pr_flat_sub(&r->flat, port, PR_E5_PORT_TENSOR);
    struct pr_flat_vector dim = pr_flat_vector(&r->flat, &tensor, PR_E5_TENSOR_DIM, 4);
    struct pr_flat_vector stride = pr_flat_vector(&r->flat, &tensor, PR_E5_TENSOR_STRIDE, 8);
    uint64_t batch = pr_flat_u64(&r->flat, &tensor, PR_E5_TENSOR_BATCH_STRIDE, 0);

    p->w = pr_flat_u32(&r->flat, &tensor, PR_E5_TENSOR_WIDTH, 0);
    p->h = pr_flat_u32(&r->flat, &tensor, PR_E5_TENSOR_HEIGHT, 0);
    p->c = pr_flat_u32(&r->flat, &tensor, PR_E5_TENSOR_CHANNELS, 0);
    p->n = pr_flat_u32(&r->flat, &tensor, PR_E5_TENSOR_BATCH, 0);
    p->row = pr_flat_u32(&r->flat, &tensor, PR_E5_TENSOR_ROW, 0);
    p->plane = pr_flat_u32(&r->flat, &tensor, PR_E5_TENSOR_PLANE, 0);
    p->bytes = pr_flat_u32(&r->flat, &tensor, PR_E5_TENSOR_BYTES, 0);
    if (!sound(r))
        return false;
    if (pr_flat_u8(&r->flat, &tensor, PR_E5_TENSOR_STORAGE, 0) != PR_E5_STORAGE_PLANAR ||
        pr_flat_u8(&r->flat, &tensor, PR_E5_TENSOR_PACK, 0) != 1)
        return wrong(r, "a port's tensor is not planar");
    if (!p->n || !p->c || !p->h || !p->w || !right_aligned(p) || !laid_out(p) ||
        batch != (uint64_t)p->c * p->plane)
        return wrong(r, "a port's tensor is not its shape in the engine's layout");
    if (dim.count != 4 || stride.count != 4 || pr_flat_vector_u32(&r->flat, &dim, 0) != p->n ||
        pr_flat_vector_u32(&r->flat, &dim, 1) != p->c || pr_flat_vector_u32(&r->flat, &dim, 2) != p->h ||
        pr_flat_vector_u32(&r->flat, &dim, 3) != p->w || pr_flat_vector_u64(&r->flat, &stride, 0) != batch ||
        pr_flat_vector_u64(&r->flat, &stride, 1) != p->plane ||
        pr_flat_vector_u64(&r->flat, &stride, 2) != p->row ||
        pr_flat_vector_u64(&r->flat, &stride, 3) != ELEMENT_BYTES)
        return wrong(r, "a tensor descriptor contradicts itself");
    return sound(r);
}

static bool read_port(struct reader *r, const struct pr_flat_table *table, struct pr_e5_port *p)
{
    struct pr_flat_vector shape = pr_flat_vector(&r->flat, table, PR_E5_PORT_SHAPE, 4);
    uint32_t direction = pr_flat_u8(&r->flat, table, PR_E5_PORT_DIRECTION, 0);

    if (!sound(r) || !read_name(r, pr_flat_u32(&r->flat, table, PR_E5_PORT_NAME, 0), p->name))
        return false;
    if (direction != PR_HWX_INPUT && direction != PR_HWX_OUTPUT)
        return wrong(r, "a port is neither input nor output");
    p->direction = (enum pr_hwx_direction)direction;
    p->type = pr_flat_u8(&r->flat, table, PR_E5_PORT_TYPE, 0);
    if (p->type >= TYPES)
        return wrong(r, "a port's type is neither fp16 nor fp32");
    if (shape.count > PR_E5_RANK_MAX)
        return wrong(r, "a port has more than 5 axes");
    p->rank = shape.count;
    for (uint32_t i = 0; i < shape.count; i++)
        p->dim[i] = pr_flat_vector_u32(&r->flat, &shape, i);
    return read_tensor(r, table, p);
}

static bool read_ports(struct reader *r, const struct pr_flat_table *function)
{
    struct pr_flat_vector ports = pr_flat_vector(&r->flat, function, PR_E5_FUNCTION_PORTS, 4);
    struct pr_e5 *e5 = r->e5;

    if (!sound(r))
        return false;
    if (!ports.count || ports.count > PR_E5_PORTS_MAX)
        return wrong(r, "a function has 1 to 256 ports");
    for (; e5->ports < ports.count; e5->ports++) {
        struct pr_flat_table table = pr_flat_vector_table(&r->flat, &ports, e5->ports);

        if (!sound(r) || !read_port(r, &table, &e5->port[e5->ports]))
            return false;
        for (uint32_t i = 0; i < e5->ports; i++)
            if (e5->port[i].direction == e5->port[e5->ports].direction &&
                pr_string_equal(e5->port[i].name, e5->port[e5->ports].name))
                return wrong(r, "two ports of one direction share a name");
    }
    return true;
}

/* The numbers of all ports of a direction, in order, `shift` added. */
static bool names_ports(struct reader *r, const struct pr_flat_vector *values,
                        enum pr_hwx_direction direction, uint32_t shift)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < r->e5->ports; i++) {
        if (r->e5->port[i].direction != direction)
            continue;
        if (at >= values->count || pr_flat_vector_u32(&r->flat, values, at) != i + shift)
            return false;
        at++;
    }
    return at == values->count;
}

static bool operation_fits(struct reader *r, const struct pr_flat_table *operation, unsigned place)
{
    static const struct {
        uint8_t type, attributes;
        enum pr_hwx_direction in, out;
        uint8_t in_shift, out_shift; /* 1: the engine's tensors */
    } expected[PR_E5_BLOCK_LENGTH] = {
        [PR_E5_BLOCK_CAST_IN] = {PR_E5_OPERATION_CAST, PR_E5_ATTRIBUTES_CAST, PR_HWX_INPUT, PR_HWX_INPUT, 0,
                                 1},
        [PR_E5_BLOCK_INFERENCE] = {PR_E5_OPERATION_INFERENCE, PR_E5_ATTRIBUTES_INFERENCE, PR_HWX_INPUT,
                                   PR_HWX_OUTPUT, 1, 1},
        [PR_E5_BLOCK_CAST_OUT] = {PR_E5_OPERATION_CAST, PR_E5_ATTRIBUTES_CAST, PR_HWX_OUTPUT, PR_HWX_OUTPUT,
                                  1, 0},
    };
    struct pr_flat_vector in = pr_flat_vector(&r->flat, operation, PR_E5_OPERATION_INPUTS, 4);
    struct pr_flat_vector out = pr_flat_vector(&r->flat, operation, PR_E5_OPERATION_OUTPUTS, 4);
    uint32_t ports = r->e5->ports;

    return pr_flat_u8(&r->flat, operation, PR_E5_OPERATION_TYPE, 0) == expected[place].type &&
           pr_flat_u8(&r->flat, operation, PR_E5_OPERATION_ATTRIBUTES_TYPE, 0) ==
               expected[place].attributes &&
           names_ports(r, &in, expected[place].in, ports * expected[place].in_shift) &&
           names_ports(r, &out, expected[place].out, ports * expected[place].out_shift);
}

static bool read_records(struct reader *r, uint32_t number)
{
    struct pr_flat_table section;
    struct pr_flat_vector data;

    if (number >= r->sections.count)
        return wrong(r, "there is no section with the records");
    section = pr_flat_vector_table(&r->flat, &r->sections, number);
    data = pr_flat_vector(&r->flat, &section, PR_E5_SECTION_DATA, 1);
    if (!sound(r))
        return false;
    if (pr_flat_u8(&r->flat, &section, PR_E5_SECTION_KIND, 0) != PR_E5_SECTION_RECORDS ||
        pr_flat_u32(&r->flat, &section, PR_E5_SECTION_SIZE, 0) != data.count)
        return wrong(r, "the section of the records is of another kind or size");
    if (!data.count || data.count % PR_E5_RECORD_BYTES || data.count / PR_E5_RECORD_BYTES > PR_E5_RECORDS_MAX)
        return wrong(r, "the records are 1 to 10240 pieces of 256 bytes");
    r->e5->record = r->flat.bytes + data.at;
    r->e5->records = data.count / PR_E5_RECORD_BYTES;
    return true;
}

static bool read_constants(struct reader *r, uint32_t number)
{
    struct pr_flat_table section;
    uint32_t bytes;

    if (number >= r->sections.count)
        return wrong(r, "there is no section for the constants");
    section = pr_flat_vector_table(&r->flat, &r->sections, number);
    bytes = pr_flat_u32(&r->flat, &section, PR_E5_SECTION_SIZE, 0);
    if (!sound(r))
        return false;
    if (pr_flat_u8(&r->flat, &section, PR_E5_SECTION_KIND, 0) != PR_E5_SECTION_CONSTANTS ||
        bytes % PR_ROW_ALIGN || bytes > PR_E5_BYTES_MAX)
        return wrong(r, "the section of the constants is of another kind or has no valid size");
    r->e5->constant_bytes = bytes;
    return true;
}

static bool read_inference(struct reader *r, const struct pr_flat_table *operation)
{
    struct pr_flat_table a = pr_flat_sub(&r->flat, operation, PR_E5_OPERATION_ATTRIBUTES);

    r->e5->intermediate_bytes = pr_flat_u32(&r->flat, &a, PR_E5_INFERENCE_INTERMEDIATE, 0);
    if (!sound(r))
        return false;
    if (pr_flat_u32(&r->flat, &a, PR_E5_INFERENCE_RECORD_BYTES, 0) != PR_E5_RECORD_BYTES)
        return wrong(r, "records of another size than 256 bytes");
    if (pr_flat_u32(&r->flat, &a, PR_E5_INFERENCE_HANDLE, 0) != PR_HWX_BAR_INTERMEDIATE ||
        r->e5->intermediate_bytes % PR_ROW_ALIGN || r->e5->intermediate_bytes > PR_E5_BYTES_MAX)
        return wrong(r, "the intermediate buffer has no valid size or handle");
    return read_records(r, pr_flat_u32(&r->flat, &a, PR_E5_INFERENCE_RECORDS, 0)) &&
           read_constants(r, pr_flat_u32(&r->flat, &a, PR_E5_INFERENCE_CONSTANTS, 0));
}

static bool read_block(struct reader *r, const struct pr_flat_table *function)
{
    struct pr_flat_vector blocks = pr_flat_vector(&r->flat, function, PR_E5_FUNCTION_BLOCKS, 4);
    struct pr_flat_vector operations;
    struct pr_flat_table block;

    if (blocks.count != 1)
        return sound(r) && wrong(r, "a function has one block");
    block = pr_flat_vector_table(&r->flat, &blocks, 0);
    operations = pr_flat_vector(&r->flat, &block, PR_E5_BLOCK_OPERATIONS, 4);
    if (operations.count != PR_E5_BLOCK_LENGTH)
        return sound(r) && wrong(r, "a block has three operations: Cast, AneInference, Cast");
    for (unsigned i = 0; i < PR_E5_BLOCK_LENGTH; i++) {
        struct pr_flat_table operation = pr_flat_vector_table(&r->flat, &operations, i);

        if (!operation_fits(r, &operation, i))
            return sound(r) && wrong(r, "an operation is not the one expected at its place");
        if (i == PR_E5_BLOCK_INFERENCE && !read_inference(r, &operation))
            return false;
    }
    return sound(r);
}

bool pr_e5_read(const void *bytes, size_t size, struct pr_e5 *e5, struct pr_problem *problem)
{
    struct reader r = {.e5 = e5, .problem = problem};
    struct pr_flat_table root, function;
    struct pr_flat_vector functions;

    memset(e5, 0, sizeof(*e5));
    root = pr_flat_begin(&r.flat, bytes, size, PR_E5_IDENTIFIER);
    if (r.flat.broken)
        return wrong(&r, "not a FlatBuffer with the identifier ANE5");
    if (pr_flat_u32(&r.flat, &root, PR_E5_ROOT_VERSION, 0) != PR_E5_FORMAT_VERSION)
        return sound(&r) && wrong(&r, "its format version is not 4");
    r.symbols = pr_flat_vector(&r.flat, &root, PR_E5_ROOT_SYMBOLS, 4);
    r.sections = pr_flat_vector(&r.flat, &root, PR_E5_ROOT_SECTIONS, 4);
    functions = pr_flat_vector(&r.flat, &root, PR_E5_ROOT_FUNCTIONS, 4);
    if (!sound(&r))
        return false;
    if (functions.count != 1)
        return wrong(&r, "a program has one function");
    function = pr_flat_vector_table(&r.flat, &functions, 0);
    if (!sound(&r) || !read_name(&r, pr_flat_u32(&r.flat, &function, PR_E5_FUNCTION_NAME, 0), e5->function))
        return false;
    return read_ports(&r, &function) && pr_e5_place(e5, problem) && read_block(&r, &function);
}

void pr_e5_record(const struct pr_e5 *e5, uint32_t index, struct pr_e5_record *record)
{
    memcpy(record, e5->record + (size_t)index * PR_E5_RECORD_BYTES, sizeof(*record));
}

_Static_assert(offsetof(struct pr_e5_record, op) - offsetof(struct pr_e5_record, scale) ==
                   PR_E5_SCALARS_BYTES,
               "the scalars of a record are contiguous");

void pr_e5_scalars(const struct pr_e5 *e5, void *bytes)
{
    for (uint32_t i = 0; i < e5->records; i++)
        memcpy((uint8_t *)bytes + (size_t)i * PR_E5_SCALARS_BYTES,
               e5->record + (size_t)i * PR_E5_RECORD_BYTES + offsetof(struct pr_e5_record, scale),
               PR_E5_SCALARS_BYTES);
}
