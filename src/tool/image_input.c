/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port is a picture when it has a height and a width, at most one axis of 1 or 3 channels before or behind
 * them, and ones in front. Where both ends could be channels, they are in front, as ONNX has them.
 */
#include "tool/image_input.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tool/tool.h"

#define SHAPE_TEXT 128u

/* Words. */

/* One to three numbers between commas. */
static bool take_numbers(const char *option, const char *word, double number[TOOL_PICTURE_CHANNELS],
                         unsigned *count)
{
    const char *at = word;
    char *end;

    for (*count = 0; *count < TOOL_PICTURE_CHANNELS; at = end + 1) {
        number[*count] = strtod(at, &end);
        if (end == at || !isfinite(number[*count]))
            break;
        ++*count;
        if (!*end)
            return true;
        if (*end != ',')
            break;
    }
    tool_say("%s takes one number, or one for each of the channels (up to %u) with commas between, not %s.",
             option, TOOL_PICTURE_CHANNELS, word);
    return false;
}

static bool take_layout(const char *word, enum tool_image_layout *layout)
{
    static const char *const names[] = {
        [TOOL_IMAGE_AUTO] = "auto", [TOOL_IMAGE_NCHW] = "nchw", [TOOL_IMAGE_NHWC] = "nhwc"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(word, names[i])) {
            *layout = (enum tool_image_layout)i;
            return true;
        }
    tool_say("--layout takes auto, nchw or nhwc, not %s.", word);
    return false;
}

static bool take_fit(const char *word, enum tool_fit *fit)
{
    *fit = !strcmp(word, "crop") ? TOOL_FIT_CROP : TOOL_FIT_STRETCH;
    if (*fit == TOOL_FIT_CROP || !strcmp(word, "stretch"))
        return true;
    tool_say("--fit takes stretch or crop, not %s.", word);
    return false;
}

static bool take_range(const char *word, double *range)
{
    *range = !strcmp(word, "255") ? 255 : 1;
    if (*range > 1 || !strcmp(word, "1"))
        return true;
    tool_say("--range takes 255 or 1, not %s.", word);
    return false;
}

static bool check_std(const struct tool_image_input *input)
{
    for (unsigned i = 0; i < input->stds; i++)
        if (!(input->std[i] > 0)) {
            tool_say("--std takes numbers above 0.");
            return false;
        }
    return true;
}

bool tool_image_input_take(const struct tool_image_words *words, struct tool_image_input *input)
{
    *input = (struct tool_image_input){.image = words->image, .bgr = words->bgr};
    if (!words->image &&
        (words->mean || words->std || words->range || words->layout || words->fit || words->bgr)) {
        tool_say("--mean, --std, --range, --layout, --fit and --bgr are about --image, which is not given.");
        return false;
    }
    return (!words->mean || take_numbers("--mean", words->mean, input->mean, &input->means)) &&
           (!words->std || take_numbers("--std", words->std, input->std, &input->stds)) && check_std(input) &&
           (!words->range || take_range(words->range, &input->range)) &&
           (!words->layout || take_layout(words->layout, &input->layout)) &&
           (!words->fit || take_fit(words->fit, &input->fit));
}

/* The port. */

/* NAME= before a file's name, when the model has such an input: a file may have an = in its own. */
static struct tool_port *port_by_name(const struct tool_image_input *input, struct tool_model *model,
                                      const char **file)
{
    const char *equals = strchr(input->image, '=');
    struct tool_port *port =
        equals ? tool_model_port(model, false, input->image, (size_t)(equals - input->image)) : NULL;

    *file = port ? equals + 1 : input->image;
    return port;
}

struct tool_port *tool_image_input_port(const struct tool_image_input *input, struct tool_model *model,
                                        const bool *given, const char **file)
{
    struct tool_port *port = port_by_name(input, model, file), *only = NULL;
    unsigned open = 0;

    for (unsigned i = 0; i < model->ports && !port; i++)
        if (!model->port[i].output && !given[i]) {
            only = &model->port[i];
            open++;
        }
    if (port && given[port - model->port]) {
        tool_say("input %s is given twice.", port->name);
        return NULL;
    }
    if (port || open == 1)
        return port ? port : only;
    if (open)
        tool_say("%u inputs of the model are left; --image NAME=FILE says which one is the picture.", open);
    else
        tool_say("no input of the model is left for --image.");
    return NULL;
}

static bool is_channels(uint64_t length)
{
    return length == 1 || length == TOOL_PICTURE_CHANNELS;
}

/* Which axes of the port are what. Ones in front are dropped while more than the picture's axes are there. */
static bool find_axes(const struct tool_image_input *input, const struct tool_port *port,
                      struct tool_framing *framing)
{
    const uint64_t *dim = port->shape.dim;
    unsigned rank = port->shape.rank;

    while (rank > 3 && dim[0] == 1) {
        dim++;
        rank--;
    }
    framing->channels = 1;
    if (rank == 2 && input->layout == TOOL_IMAGE_AUTO) {
        framing->height = (uint32_t)dim[0];
        framing->width = (uint32_t)dim[1];
        return true;
    }
    if (rank != 3)
        return false;
    framing->interleaved =
        input->layout == TOOL_IMAGE_NHWC || (input->layout == TOOL_IMAGE_AUTO && !is_channels(dim[0]));
    if (!is_channels(framing->interleaved ? dim[2] : dim[0]))
        return false;
    framing->channels = (uint32_t)(framing->interleaved ? dim[2] : dim[0]);
    framing->height = (uint32_t)(framing->interleaved ? dim[0] : dim[1]);
    framing->width = (uint32_t)(framing->interleaved ? dim[1] : dim[2]);
    return true;
}

/* One number counts for all channels. */
static bool spread(const char *option, unsigned count, const double *given, double missing,
                   const struct tool_framing *framing, double *to)
{
    if (count > 1 && count != framing->channels) {
        tool_say("%s has %u numbers; the input has %u channel%s.", option, count, framing->channels,
                 framing->channels == 1 ? "" : "s");
        return false;
    }
    for (unsigned c = 0; c < framing->channels; c++)
        to[c] = !count ? missing : given[count > 1 ? c : 0];
    return true;
}

static bool is_integer(const struct tool_port *port)
{
    return port->type == TOOL_UINT8 || port->type == TOOL_INT8;
}

static bool make_framing(const struct tool_image_input *input, const struct tool_port *port,
                         struct tool_framing *framing)
{
    char shape[SHAPE_TEXT];

    *framing = (struct tool_framing){.fit = input->fit, .bgr = input->bgr, .range = input->range};
    if (!framing->range)
        framing->range = is_integer(port) ? 255 : 1;
    if (!find_axes(input, port, framing)) {
        tool_say("input %s is %s, which is not one picture of 1 or 3 channels%s.", port->name,
                 tool_shape_text(&port->shape, shape, sizeof(shape)),
                 input->layout == TOOL_IMAGE_AUTO ? "" : " in this layout");
        return false;
    }
    return spread("--mean", input->means, input->mean, 0, framing, framing->mean) &&
           spread("--std", input->stds, input->std, 1, framing, framing->std);
}

/* Integers are rounded, and cut at the ends of their type. */
static void round_all(const struct tool_port *port, float *number)
{
    const float low = port->type == TOOL_UINT8 ? 0 : INT8_MIN,
                high = port->type == TOOL_UINT8 ? UINT8_MAX : INT8_MAX;

    for (uint64_t i = 0; i < port->elements; i++)
        number[i] = fminf(fmaxf(rintf(number[i]), low), high);
}

static int fill(const struct tool_framing *framing, const uint8_t *bytes, size_t size, struct tool_port *port,
                struct base_error *error)
{
    struct tool_picture picture;
    float *number = NULL;
    int status = tool_picture_decode(bytes, size, &picture, error);

    if (!status) {
        number = base_alloc_array(port->elements, sizeof(*number));
        status = number ? tool_picture_frame(&picture, framing, number, error)
                        : base_fail(error, ENOMEM, "there is no memory for its numbers.");
    }
    if (!status && number) {
        if (is_integer(port))
            round_all(port, number);
        status = tool_convert(port->type, port->data, TOOL_FP32, number, port->elements, error);
    }
    base_free(number);
    base_free(picture.pixel);
    return status;
}

bool tool_image_input_fill(const struct tool_image_input *input, struct tool_port *port, const char *file)
{
    struct tool_framing framing;
    struct base_error error;
    uint8_t *bytes;
    size_t size;
    int status;

    if (!make_framing(input, port, &framing))
        return false;
    bytes = tool_file_read(file, TOOL_PICTURE_BYTES_MAX, &size);
    if (!bytes)
        return false;
    status = fill(&framing, bytes, size, port, &error);
    if (status)
        tool_say("%s: %s", file, error.text);
    base_free(bytes);
    return !status;
}
