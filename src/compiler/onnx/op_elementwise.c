/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise operators. Operands broadcast as in the graph. Whole numbers occur only among constants, and
 * are folded as such; a number at run time is fp16, whatever float type the model says.
 */
#include "compiler/onnx/op.h"
#include "compiler/onnx/tensor.h"

void cc_onnx_op_unary(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    cc_onnx_result(n, 0, cc_onnx_unary(n, kind, cc_onnx_operand(n, 0), NULL));
}

void cc_onnx_op_negate(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0);

    cc_onnx_result(n, 0, cc_onnx_binary(n, kind, x, cc_onnx_number_like(n, -1, x)));
}

void cc_onnx_op_binary(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), y = cc_onnx_operand(n, 1);

    cc_onnx_result(n, 0, cc_onnx_binary(n, kind, x, y));
}

/* Sum, Max, Min: the operator of the first two, then with the next. */
static uint32_t joined(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t value = cc_onnx_operand(n, 0);

    for (uint32_t i = 1; i < n->proto->n_input && !n->b->status; i++)
        value = cc_onnx_binary(n, kind, value, cc_onnx_operand(n, i));
    return value;
}

void cc_onnx_op_list(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    cc_onnx_result(n, 0, joined(n, kind));
}

void cc_onnx_op_mean(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t sum = joined(n, kind);
    float count = (float)(n->proto->n_input ? n->proto->n_input : 1);

    cc_onnx_result(n, 0, count > 1 ? cc_onnx_binary(n, CC_OP_MUL, sum, cc_onnx_scalar(n, 1 / count)) : sum);
}

/* The exponent may have another type than the base. */
void cc_onnx_op_pow(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), y = cc_onnx_operand(n, 1);

    if (cc_onnx_shape(n, x)->type != CC_INT32 || cc_onnx_shape(n, y)->type != CC_INT32) {
        x = cc_onnx_as_float(n, x);
        y = cc_onnx_as_float(n, y);
    }
    cc_onnx_result(n, 0, cc_onnx_binary(n, kind, x, y));
}

/* With fmod the result has the sign of x, else that of y. */
void cc_onnx_op_mod(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), y = cc_onnx_operand(n, 1);

    if (!cc_onnx_int(n, "fmod", 0)) {
        cc_onnx_result(n, 0, cc_onnx_binary(n, kind, x, y));
        return;
    }
    y = cc_onnx_binary(n, kind, cc_onnx_unary(n, CC_OP_ABS, x, NULL), cc_onnx_unary(n, CC_OP_ABS, y, NULL));
    cc_onnx_result(n, 0, cc_onnx_binary(n, CC_OP_MUL, y, cc_onnx_unary(n, CC_OP_SIGN, x, NULL)));
}

/* Of bools, equal is what exclusive-or is not. */
void cc_onnx_op_compare(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), y = cc_onnx_operand(n, 1);
    bool constant = cc_onnx_is_constant(n, x) && cc_onnx_is_constant(n, y);

    if (kind == CC_OP_EQUAL && !constant && cc_onnx_shape(n, x)->type == CC_BOOL)
        cc_onnx_result(n, 0,
                       cc_onnx_unary(n, CC_OP_LOGICAL_NOT, cc_onnx_binary(n, CC_OP_LOGICAL_XOR, x, y), NULL));
    else
        cc_onnx_result(n, 0, cc_onnx_binary(n, kind, x, y));
}

void cc_onnx_op_logic(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0);

    if (kind == CC_OP_LOGICAL_NOT)
        cc_onnx_result(n, 0, cc_onnx_unary(n, kind, x, NULL));
    else
        cc_onnx_result(n, 0, cc_onnx_binary(n, kind, x, cc_onnx_operand(n, 1)));
}

void cc_onnx_op_where(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t operands[3] = {cc_onnx_operand(n, 0), cc_onnx_operand(n, 1), cc_onnx_operand(n, 2)};

    cc_onnx_result(n, 0, cc_onnx_add(n, kind, 3, operands, NULL));
}

/*
 * Between floats nothing happens: at run time all are fp16, and constants are rounded when they are used. A
 * value at run time becomes whole numbers on the host alone, which the lowering says.
 */
static uint32_t cast(const struct cc_onnx_node *n, uint32_t x, enum cc_type to)
{
    const struct cc_value *v = cc_onnx_shape(n, x);
    bool to_float = to == CC_FP16 || to == CC_FP32, from_float = v->type == CC_FP16 || v->type == CC_FP32;

    if (n->b->status || v->type == to || (to_float && from_float))
        return x;
    if (to == CC_BOOL)
        return cc_onnx_binary(n, CC_OP_NOT_EQUAL, x, cc_onnx_number_like(n, 0, x));
    return cc_onnx_unary(n, CC_OP_CAST, x, &(struct cc_attributes){.to = v->data && to_float ? CC_FP32 : to});
}

/* A bool at run time is fp16 when it is a number. */
static uint32_t cast_value(const struct cc_onnx_node *n, uint32_t x, enum cc_type to)
{
    bool runtime = !cc_onnx_is_constant(n, x);

    return cast(n, x, runtime && to == CC_FP32 ? CC_FP16 : to);
}

void cc_onnx_op_cast(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    int64_t wanted = cc_onnx_int(n, "to", 0);
    struct cc_onnx_value given;
    enum cc_type to;

    (void)kind;
    if (!cc_onnx_value_of(n, 0, &given))
        return;
    if (wanted < 0 || wanted > INT32_MAX || !cc_onnx_type((int32_t)wanted, &to)) {
        cc_build_refuse(n->b, "it casts to %s, which is not taken", cc_onnx_type_text((int32_t)wanted).text);
        return;
    }
    if (given.state == CC_ONNX_EMPTY)
        cc_onnx_result_empty(n, 0, to, given.rank, given.dim);
    else
        cc_onnx_result(n, 0, cast_value(n, cc_onnx_operand(n, 0), to));
}

void cc_onnx_op_cast_like(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), like = cc_onnx_operand(n, 1);

    (void)kind;
    cc_onnx_result(n, 0, cast_value(n, x, cc_onnx_shape(n, like)->type));
}

void cc_onnx_op_identity(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct cc_onnx_value value;

    (void)kind;
    if (!cc_onnx_value_of(n, 0, &value))
        return;
    if (value.state == CC_ONNX_TENSOR)
        cc_onnx_result(n, 0, cc_onnx_operand(n, 0));
    else
        cc_onnx_result_value(n, 0, &value);
}

/* At inference an identity. The mask is not computed. */
void cc_onnx_op_dropout(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    if (n->opset >= 12 && cc_onnx_has(n, 2) && cc_onnx_number(n, 2, "training_mode") != 0)
        cc_build_refuse(n->b, "training_mode is set: networks are run here, not trained");
    cc_onnx_op_identity(n, kind);
}
