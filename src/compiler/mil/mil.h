/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the MIL front end. lex.c makes tokens of a text, literal.c types and typed constants of tokens;
 * names.c maps names to values or constants; op.c with its families and argument.c makes an operation of a
 * call; control.c reads the blocks of cond and while_loop; mil.c reads the program around them.
 *
 * Every function that returns int gives 0, or a negative errno with the sentence written; it undoes only what
 * it made.
 */
#ifndef COMPILER_MIL_MIL_H
#define COMPILER_MIL_MIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "compiler/graph/graph.h"

#define CC_MIL_TEXT_MAX      (64u << 20)
#define CC_MIL_RANK_MAX      7u   /* of the tables of constexpr_lut_to_dense; of every other tensor less */
#define CC_MIL_NAME_MAX      512u /* characters of a name or string */
#define CC_MIL_NUMBER_MAX    128u /* characters of a number */
#define CC_MIL_NESTING_MAX   32u
#define CC_MIL_ARGUMENTS_MAX 16u
#define CC_MIL_RESULTS_MAX   32u          /* of a split */
#define CC_MIL_PORTS_MAX     256u         /* inputs, and outputs, of a function */
#define CC_MIL_BLOCKS        2u           /* of cond: true, false; of while_loop: condition, body */
#define CC_MIL_REREAD_MAX    (256u << 20) /* bytes of text in blocks, each time that they are read */
#define CC_MIL_PREFIX_BYTES  120u

enum cc_mil_kind { CC_MIL_END, CC_MIL_NAME, CC_MIL_NUMBER, CC_MIL_STRING, CC_MIL_ARROW, CC_MIL_MARK };

/* A piece of the text; of a string the part between the quotes. */
struct cc_mil_token {
    enum cc_mil_kind kind;
    const char *text;
    size_t length;
    unsigned line, column;
};

/* The types of constants: those of tensors, two for attributes only, and those of compressed weights. */
enum cc_mil_scalar {
    CC_MIL_FP16 = CC_FP16,
    CC_MIL_FP32 = CC_FP32,
    CC_MIL_INT32 = CC_INT32,
    CC_MIL_BOOL = CC_BOOL,
    CC_MIL_TEXT,
    CC_MIL_UINT64,
    CC_MIL_UINT32,
    CC_MIL_INT8, /* this one and those behind it have a byte per element in memory */
    CC_MIL_UINT8,
    CC_MIL_INT4,
    CC_MIL_UINT6,
    CC_MIL_UINT4,
    CC_MIL_UINT3,
    CC_MIL_UINT2,
    CC_MIL_UINT1,
};

struct cc_mil_type {
    enum cc_mil_scalar scalar;
    uint32_t rank;
    uint32_t dim[CC_MIL_RANK_MAX];
};

/*
 * A typed constant: elements packed row-major, or a string and its NUL. `data` may have moved into the graph.
 */
struct cc_mil_literal {
    struct cc_mil_type type;
    void *data;
};

/* What a name refers to: a value of the graph, a constant, or a constant that has become a value. */
struct cc_mil_symbol {
    const char *name; /* in the text */
    size_t length;
    struct cc_mil_literal literal;
    bool constant;
    bool folded;    /* a constant that is the result of an operation */
    uint32_t value; /* index + 1; 0 = not in the graph */
};

/* A place in the text to which the reader can return. */
struct cc_mil_place {
    size_t at;
    unsigned line, column;
    struct cc_mil_token token;
};

struct cc_mil {
    const char *text;
    size_t length, at;
    unsigned line, column;
    struct cc_mil_token token; /* the next one, not taken yet */
    const char *folder;
    uint64_t weight_bytes;
    uint32_t origin; /* of the operations that are made: number + 1; 0: none */
    struct cc_graph *graph;
    struct base_error *error;
    struct cc_mil_symbol *symbol;
    uint32_t symbols, symbol_capacity;
    uint32_t *slot;                   /* hash table: symbol number + 1 */
    uint32_t slots;                   /* a power of two */
    uint32_t nodes;                   /* calls and rounds of loops so far */
    uint32_t depth;                   /* of the block that is read */
    uint64_t reread;                  /* bytes of blocks so far */
    char prefix[CC_MIL_PREFIX_BYTES]; /* of the names of nodes in a block */
};

struct cc_mil_argument {
    struct cc_mil_token name;
    struct cc_mil_token place;     /* where the value is in the text */
    uint32_t symbol;               /* number + 1; 0: inline */
    struct cc_mil_symbol constant; /* inline */
    unsigned items;                /* of a list `(a, b)`; 0: not a list */
    uint32_t item[CC_INPUTS_MAX];  /* symbol number + 1 */
};

struct cc_mil_result {
    struct cc_mil_type type;
    struct cc_mil_token type_at, name;
};

/* `name(TYPE name, ...) { statements } -> (name, ...)`: where it begins, and its bytes. */
struct cc_mil_block {
    struct cc_mil_place start;
    size_t bytes;
};

/*
 * One statement: its declarations, the call, its attributes. The first of several results, until the call is
 * built.
 */
struct cc_mil_call {
    unsigned results;
    struct cc_mil_result each[CC_MIL_RESULTS_MAX];
    struct cc_mil_type type;
    struct cc_mil_token type_at, result, operation;
    unsigned arguments;
    struct cc_mil_argument argument[CC_MIL_ARGUMENTS_MAX];
    char *name;                /* attribute name, or NULL */
    struct cc_mil_literal val; /* attribute val */
    bool has_val;
    unsigned blocks;
    struct cc_mil_block block[CC_MIL_BLOCKS];
};

/* lex.c */
int cc_mil_advance(struct cc_mil *mil);
/* "Line 3, column 7: " and the sentence. */
int cc_mil_fail(struct cc_mil *mil, const struct cc_mil_token *at, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Found the next token, expected something else. */
int cc_mil_expected(struct cc_mil *mil, const char *what);
int cc_mil_no_memory(struct cc_mil *mil);
bool cc_mil_is(const struct cc_mil *mil, char mark);
bool cc_mil_is_name(const struct cc_mil *mil, const char *name);
int cc_mil_take(struct cc_mil *mil, char mark);
int cc_mil_take_name(struct cc_mil *mil, const char *what, struct cc_mil_token *token);
/* A copy with a NUL at its end; of a string with its escapes resolved. */
char *cc_mil_token_copy(const struct cc_mil_token *token);

/* literal.c */
int cc_mil_read_type(struct cc_mil *mil, struct cc_mil_type *type);
/* Refuses a type with more axes than a tensor of the engine has. */
int cc_mil_check_rank(struct cc_mil *mil, const struct cc_mil_token *at, const struct cc_mil_type *type);
uint16_t cc_mil_half(double value); /* fp16, rounded once, half to even */
/* Element i of a list of `bits` each, at most 8, packed from the low bit up. */
uint8_t cc_mil_packed(const uint8_t *packed, uint64_t i, unsigned bits);
unsigned cc_mil_scalar_bits(enum cc_mil_scalar scalar); /* of types of compressed weights */
int cc_mil_read_constant(struct cc_mil *mil, struct cc_mil_literal *literal); /* type ( value ) */
struct cc_shape_text cc_mil_type_text(const struct cc_mil_type *type);
bool cc_mil_type_equal(const struct cc_mil_type *a, const struct cc_mil_type *b);
int cc_mil_token_uint(struct cc_mil *mil, const struct cc_mil_token *token, uint64_t most, uint64_t *value);

/* names.c */
struct cc_mil_symbol *cc_mil_find(struct cc_mil *mil, const struct cc_mil_token *name);
/* A new name; one that exists is refused. The pointer is good until the next one is made. */
int cc_mil_define(struct cc_mil *mil, const struct cc_mil_token *name, struct cc_mil_symbol **symbol);
/* Removes all names but the first `count`. */
void cc_mil_names_forget(struct cc_mil *mil, uint32_t count);
void cc_mil_names_release(struct cc_mil *mil);
/* The symbol's value; a constant enters the graph now, under `name`. */
int cc_mil_value(struct cc_mil *mil, struct cc_mil_symbol *symbol, const char *name,
                 const struct cc_mil_token *at, uint32_t *value);
int cc_mil_add_value(struct cc_mil *mil, const struct cc_mil_token *name, const struct cc_mil_type *type,
                     uint32_t *value);
int cc_mil_add_op(struct cc_mil *mil, enum cc_op_kind kind, const char *name, const struct cc_mil_token *at,
                  struct cc_op **op);

/* op.c */
bool cc_mil_op_known(const struct cc_mil_token *name);
bool cc_mil_op_splits(const struct cc_mil_token *name);     /* may have several results */
bool cc_mil_op_has_blocks(const struct cc_mil_token *name); /* cond and while_loop */
bool cc_mil_op_has_state(const struct cc_mil_token *name);  /* keeps its state in the engine */
int cc_mil_op_refuse_state(struct cc_mil *mil, const struct cc_mil_token *name);
int cc_mil_op_unknown(struct cc_mil *mil, const struct cc_mil_token *name);
int cc_mil_op_build(struct cc_mil *mil, struct cc_mil_call *call);
int cc_mil_op_check(struct cc_mil *mil,
                    const struct cc_mil_call *call); /* refuses arguments it does not have */
/* Result `i` of the call is this value. */
int cc_mil_op_alias(struct cc_mil *mil, struct cc_mil_call *call, unsigned i, uint32_t value);

/* mil.c */
int cc_mil_read_statement(struct cc_mil *mil);
/* Any number of `[name = value, ...]`. Only a call's name and val mean something; call may be NULL. */
int cc_mil_read_attributes(struct cc_mil *mil, struct cc_mil_call *call);

/* control.c */
int cc_mil_control_read(struct cc_mil *mil, struct cc_mil_call *call); /* finds the blocks behind a call */
int cc_mil_control_build(struct cc_mil *mil, struct cc_mil_call *call);

#endif
