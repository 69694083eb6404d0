/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of linear and matmul. Weight and bias of linear are attributes of the operation, by value index + 1;
 * both operands of matmul are operands, also when one of them is a constant.
 */
#include "compiler/mil/op.h"

int cc_mil_take_linear(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_need(mil, call, "weight")) ||
        (status = cc_mil_tensor(mil, call, "weight", &draft->a.weight)))
        return status;
    return cc_mil_tensor(mil, call, "bias", &draft->a.bias);
}

int cc_mil_take_matmul(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_take_binary(mil, call, draft);

    if (status || (status = cc_mil_bool(mil, call, "transpose_x", &draft->a.transpose_x)))
        return status;
    return cc_mil_bool(mil, call, "transpose_y", &draft->a.transpose_y);
}
