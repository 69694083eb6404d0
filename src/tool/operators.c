/* SPDX-License-Identifier: Apache-2.0 */
/* `anemone compile --list`. docs/operators.md is made of its JSON. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "compiler/operators.h"
#include "tool/json.h"
#include "tool/tool.h"

#define RULE_BYTES 256u
#define WIDTH      100u /* of a line of text */
#define FORM       10   /* of the column of forms */
#define COLUMN     38u  /* where the text of an operator begins */

static const char *const forms[] = {
    [CC_FORM_NONE] = "no descriptor: an alias, or folded when the model is read",
    [CC_FORM_DECODED] = "descriptors of a form that public programs have",
    [CC_FORM_COMPOSED] = "several decoded forms, which are named",
    [CC_FORM_CHOSEN] = "an encoding or a table of ours (docs/provenance.md)",
    [CC_FORM_HOST] = "the engine has none: refused, or with --allow-fallback computed by the host",
};

/* Words, from this column on; a line that is full goes on below the same column. */
static void print_wrapped(const char *text, unsigned column)
{
    unsigned at = column;

    while (*text) {
        size_t length = strcspn(text, " ");

        if (at > column && at + length + 1 > WIDTH) {
            printf("\n%*s", (int)column, "");
            at = column;
        }
        at += (unsigned)printf("%s%.*s", at > column ? " " : "", (int)length, text);
        text += length + strspn(text + length, " ");
    }
    printf("\n");
}

static void print_operator(const struct cc_operator *operator)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "%s%s%s%s", operator->composed_of[0] ? "of " : "",
                         operator->composed_of, operator->composed_of[0] && operator->limits[0] ? "; " : "",
                                                operator->limits);
    printf("  %-25s %-*s", operator->name, text[0] ? FORM : 0, cc_form_name(operator->form));
    print_wrapped(text, COLUMN);
}

void tool_operators_print(void)
{
    char arguments[CC_OPERATOR_ARGUMENTS_BYTES], text[RULE_BYTES];
    struct cc_operator operator;
    const char *rule;

    for (unsigned i = 0; (rule = cc_operator_rule(i, text, sizeof(text))); i++)
        print_wrapped(rule, 0);
    printf("\nForms:\n");
    for (unsigned i = 0; i < BASE_COUNT_OF(forms); i++)
        printf("  %-9s %s\n", cc_form_name((enum cc_form)i), forms[i]);
    for (unsigned d = 0; d < CC_DIALECTS; d++)
        for (unsigned i = 0; cc_operator_at((enum cc_dialect)d, i, &operator, arguments); i++) {
            if (!i)
                printf("\n%s:\n", d == CC_DIALECT_MIL ? "MIL" : "ONNX");
            print_operator(&operator);
        }
}

void tool_operators_json(void)
{
    char arguments[CC_OPERATOR_ARGUMENTS_BYTES], text[RULE_BYTES];
    struct cc_operator operator;
    struct json json;
    const char *rule;

    json_begin(&json, stdout);
    json_array(&json, "rules");
    for (unsigned i = 0; (rule = cc_operator_rule(i, text, sizeof(text))); i++)
        json_string(&json, NULL, rule);
    json_array_end(&json);
    json_array(&json, "forms");
    for (unsigned i = 0; i < BASE_COUNT_OF(forms); i++) {
        json_object(&json, NULL);
        json_string(&json, "form", cc_form_name((enum cc_form)i));
        json_string(&json, "meaning", forms[i]);
        json_object_end(&json);
    }
    json_array_end(&json);
    for (unsigned d = 0; d < CC_DIALECTS; d++) {
        json_array(&json, cc_dialect_name((enum cc_dialect)d));
        for (unsigned i = 0; cc_operator_at((enum cc_dialect)d, i, &operator, arguments); i++) {
            json_object(&json, NULL);
            json_string(&json, "operator", operator.name);
            json_string(&json, "operation", operator.same ? cc_op_name(operator.kind) : "");
            json_string(&json, "arguments", operator.arguments);
            json_string(&json, "form", cc_form_name(operator.form));
            json_string(&json, "composed_of", operator.composed_of);
            json_string(&json, "limits", operator.limits);
            json_object_end(&json);
        }
        json_array_end(&json);
    }
    json_end(&json);
}
