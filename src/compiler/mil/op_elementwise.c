/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of elementwise operations. Optional arguments and their defaults are those of coremltools. */
#include "compiler/mil/op.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

int cc_mil_take_unary(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    return cc_mil_operand(mil, call, "x", draft);
}

int cc_mil_take_alpha(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_need(mil, call, "alpha")))
        return status;
    return cc_mil_float(mil, call, "alpha", &draft->a.alpha);
}

int cc_mil_take_alpha_beta(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_take_alpha(mil, call, draft);

    if (status || (status = cc_mil_need(mil, call, "beta")))
        return status;
    return cc_mil_float(mil, call, "beta", &draft->a.beta);
}

int cc_mil_take_epsilon(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    draft->a.epsilon = draft->kind == CC_OP_LOG ? 1e-45f : draft->kind == CC_OP_RSQRT ? 1e-12f : 1e-4f;
    return status ? status : cc_mil_float(mil, call, "epsilon", &draft->a.epsilon);
}

int cc_mil_take_gelu(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    static const char *const modes[] = {[CC_GELU_EXACT] = "EXACT",
                                        [CC_GELU_TANH] = "TANH_APPROXIMATION",
                                        [CC_GELU_SIGMOID] = "SIGMOID_APPROXIMATION"};
    const char *mode = modes[CC_GELU_EXACT];
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_string(mil, call, "mode", &mode)))
        return status;
    for (unsigned i = 0; i < BASE_COUNT_OF(modes); i++) {
        if (strcmp(mode, modes[i]) == 0) {
            draft->a.gelu = (enum cc_gelu)i;
            return 0;
        }
    }
    return cc_mil_wrong(mil, call, "mode", EINVAL, "is \"%.40s\", expected %s, %s or %s", mode, modes[0],
                        modes[1], modes[2]);
}

int cc_mil_take_binary(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    return status ? status : cc_mil_operand(mil, call, "y", draft);
}

int cc_mil_take_select(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "cond", draft);

    if (status || (status = cc_mil_operand(mil, call, "a", draft)))
        return status;
    return cc_mil_operand(mil, call, "b", draft);
}

/* softplus_parametric: one alpha and one beta per channel. */
int cc_mil_take_channel_parameters(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_need(mil, call, "alpha")) || (status = cc_mil_need(mil, call, "beta")) ||
        (status = cc_mil_tensor(mil, call, "alpha", &draft->a.weight)))
        return status;
    return cc_mil_tensor(mil, call, "beta", &draft->a.bias);
}

/* Integers and booleans are results of constants only: the rule of the operation says so. */
int cc_mil_take_cast(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    static const enum cc_type types[] = {CC_FP16, CC_FP32, CC_INT32, CC_BOOL};
    const char *type = "";
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_need(mil, call, "dtype")) ||
        (status = cc_mil_string(mil, call, "dtype", &type)))
        return status;
    for (unsigned i = 0; i < BASE_COUNT_OF(types); i++) {
        if (strcmp(type, cc_type_name(types[i])) == 0) {
            draft->a.to = types[i];
            draft->alias = cc_mil_first(mil, draft)->type == types[i];
            return 0;
        }
    }
    return cc_mil_wrong(mil, call, "dtype", EINVAL, "is \"%.40s\", expected fp16, fp32, int32 or bool", type);
}

int cc_mil_take_identity(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    draft->alias = true;
    return cc_mil_operand(mil, call, "x", draft);
}
