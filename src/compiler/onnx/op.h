/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that read operators, by family. `kind` is from the row of the operator. */
#ifndef COMPILER_ONNX_OP_H
#define COMPILER_ONNX_OP_H

#include "compiler/onnx/reader.h"

typedef void cc_onnx_read_op(const struct cc_onnx_node *n, enum cc_op_kind kind);

/* op_elementwise.c */
cc_onnx_read_op cc_onnx_op_unary, cc_onnx_op_negate, cc_onnx_op_list, cc_onnx_op_mean, cc_onnx_op_binary;
cc_onnx_read_op cc_onnx_op_pow, cc_onnx_op_mod, cc_onnx_op_compare, cc_onnx_op_logic, cc_onnx_op_where;
cc_onnx_read_op cc_onnx_op_cast, cc_onnx_op_cast_like, cc_onnx_op_identity, cc_onnx_op_dropout;
/* op_activation.c */
cc_onnx_read_op cc_onnx_op_clip, cc_onnx_op_activation, cc_onnx_op_prelu, cc_onnx_op_gelu, cc_onnx_op_mish;
cc_onnx_read_op cc_onnx_op_celu, cc_onnx_op_swish, cc_onnx_op_shrink, cc_onnx_op_thresholded;
/* op_window.c */
cc_onnx_read_op cc_onnx_op_conv, cc_onnx_op_conv_transpose, cc_onnx_op_pool, cc_onnx_op_global_pool;
cc_onnx_read_op cc_onnx_op_lrn;
/*
 * CONV of constants that are in the graph; `bias` is a value index + 1, 0: none. Attributes are those of n.
 */
uint32_t cc_onnx_convolution(const struct cc_onnx_node *n, enum cc_op_kind kind, uint32_t x, uint32_t weight,
                             uint32_t bias);
/* op_matrix.c */
cc_onnx_read_op cc_onnx_op_matmul, cc_onnx_op_gemm;
/* op_reduce.c */
cc_onnx_read_op cc_onnx_op_reduce, cc_onnx_op_softmax, cc_onnx_op_arg, cc_onnx_op_topk;
/* op_norm.c */
cc_onnx_read_op cc_onnx_op_batch_norm, cc_onnx_op_instance_norm, cc_onnx_op_layer_norm;
cc_onnx_read_op cc_onnx_op_group_norm, cc_onnx_op_lp_norm, cc_onnx_op_mean_variance;
cc_onnx_read_op cc_onnx_op_rms_norm;
/* op_layout.c */
cc_onnx_read_op cc_onnx_op_reshape, cc_onnx_op_flatten, cc_onnx_op_squeeze, cc_onnx_op_unsqueeze;
cc_onnx_read_op cc_onnx_op_transpose, cc_onnx_op_expand, cc_onnx_op_tile, cc_onnx_op_concat;
cc_onnx_read_op cc_onnx_op_depth, cc_onnx_op_cumsum, cc_onnx_op_trilu;
/* op_slice.c */
cc_onnx_read_op cc_onnx_op_slice, cc_onnx_op_split, cc_onnx_op_pad, cc_onnx_op_gather;
/* op_resize.c */
cc_onnx_read_op cc_onnx_op_resize, cc_onnx_op_upsample;
/* op_constant.c */
cc_onnx_read_op cc_onnx_op_constant, cc_onnx_op_constant_of_shape, cc_onnx_op_shape, cc_onnx_op_size;
cc_onnx_read_op cc_onnx_op_range, cc_onnx_op_eye, cc_onnx_op_nonzero, cc_onnx_op_one_hot;
/* op_quantize.c */
cc_onnx_read_op cc_onnx_op_quantize, cc_onnx_op_dequantize, cc_onnx_op_qlinear_conv;
cc_onnx_read_op cc_onnx_op_qlinear_matmul;
/* control.c */
cc_onnx_read_op cc_onnx_op_if, cc_onnx_op_loop;

#endif
