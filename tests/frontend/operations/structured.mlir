// Operations with dimension numbers.

func.func @dot_general() {
  %a = stablehlo.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi64>
  %b = stablehlo.constant dense<[[[1, 0], [0, 1]], [[1, 0], [0, 1]]]> : tensor<2x2x2xi64>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x2x2xi64>, tensor<2x2x2xi64>) -> tensor<2x2x2xi64>
  check.expect_eq %0, %a : tensor<2x2x2xi64>
  %1 = "stablehlo.dot_general"(%a, %b) {
    dot_dimension_numbers = #stablehlo.dot<
      lhs_contracting_dimensions = [0, 1],
      rhs_contracting_dimensions = [0, 2]
    >,
    precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]
  } : (tensor<2x2x2xi64>, tensor<2x2x2xi64>) -> tensor<2x2xi64>
  check.expect_eq_const %1, dense<[[6, 10], [8, 12]]> : tensor<2x2xi64>
  %c = stablehlo.constant dense<[[1.0, 2.0]]> : tensor<1x2xbf16>
  %2 = stablehlo.dot_general %c, %c, contracting_dims = [1] x [1], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<1x2xbf16>, tensor<1x2xbf16>) -> tensor<1x1xf32>
  check.expect_eq_const %2, dense<5.0> : tensor<1x1xf32>
  %3 = stablehlo.dot_general %c, %c, contracting_dims = [] x [] : (tensor<1x2xbf16>, tensor<1x2xbf16>) -> tensor<1x2x1x2xbf16>
  check.expect_eq_const %3, dense<[[[[1.0, 2.0]], [[2.0, 4.0]]]]> : tensor<1x2x1x2xbf16>
  return
}

// -----

func.func @dot() {
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %v = stablehlo.constant dense<[1, -1]> : tensor<2xi8>
  %0 = stablehlo.dot %a, %v : (tensor<2x2xi8>, tensor<2xi8>) -> tensor<2xi32>
  check.expect_eq_const %0, dense<[-1, -1]> : tensor<2xi32>
  %1 = stablehlo.dot %v, %v, precision = [DEFAULT, DEFAULT] : (tensor<2xi8>, tensor<2xi8>) -> tensor<i8>
  check.expect_eq_const %1, dense<2> : tensor<i8>
  return
}

// -----

func.func @convolution_of_images() {
  %a = stablehlo.constant dense<[[[[1], [2], [5], [6]], [[3], [4], [7], [8]], [[10], [11], [14], [15]], [[12], [13], [16], [17]]]]> : tensor<1x4x4x1xi64>
  %k = stablehlo.constant dense<1> : tensor<3x3x1x1xi64>
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4], pad = [[0, 0], [0, 0]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {
    feature_group_count = 1 : i64, batch_group_count = 1 : i64,
    precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]
  } : (tensor<1x4x4x1xi64>, tensor<3x3x1x1xi64>) -> tensor<1x2x2x1xi64>
  check.expect_eq_const %0, dense<[[[[10], [26]], [[46], [62]]]]> : tensor<1x2x2x1xi64>
  %1 = "stablehlo.convolution"(%a, %k) {
    window_strides = array<i64: 1, 1>,
    padding = dense<1> : tensor<2x2xi64>,
    dimension_numbers = #stablehlo.conv<raw
      input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2],
      kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1],
      output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]
    >,
    feature_group_count = 1 : i64, batch_group_count = 1 : i64
  } : (tensor<1x4x4x1xi64>, tensor<3x3x1x1xi64>) -> tensor<1x4x4x1xi64>
  %2 = stablehlo.slice %1 [0:1, 0:1, 0:4, 0:1] : (tensor<1x4x4x1xi64>) -> tensor<1x1x4x1xi64>
  check.expect_eq_const %2, dense<[[[[10], [22], [32], [26]]]]> : tensor<1x1x4x1xi64>
  return
}

// -----

func.func @convolution_of_groups_and_no_space() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %k = stablehlo.constant dense<[[1.0, 10.0], [100.0, 1000.0]]> : tensor<2x2xf32>
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {
    feature_group_count = 2 : i64, batch_group_count = 1 : i64
  } : (tensor<1x4xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  check.expect_eq_const %0, dense<[[201.0, 4030.0]]> : tensor<1x2xf32>
  %b = stablehlo.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
  %l = stablehlo.constant dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf32>
  %1 = "stablehlo.convolution"(%b, %l) {
    dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>,
    window_reversal = dense<true> : tensor<1xi1>,
    padding = dense<[[1, 0]]> : tensor<1x2xi64>,
    rhs_dilation = array<i64: 2>,
    feature_group_count = 1 : i64, batch_group_count = 1 : i64
  } : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  check.expect_eq_const %1, dense<[[[2.0, 13.0]]]> : tensor<1x1x2xf32>
  return
}

// -----

func.func @gather() {
  %a = stablehlo.constant dense<[[[1, 2], [3, 4], [5, 6], [7, 8]], [[9, 10], [11, 12], [13, 14], [15, 16]], [[17, 18], [19, 20], [21, 22], [23, 24]]]> : tensor<3x4x2xi32>
  %i = stablehlo.constant dense<[[[0, 0], [1, 0], [2, 1]], [[0, 1], [1, 1], [0, 9]]]> : tensor<2x3x2xi64>
  %0 = "stablehlo.gather"(%a, %i) {
    dimension_numbers = #stablehlo.gather<
      offset_dims = [2, 3],
      collapsed_slice_dims = [0],
      start_index_map = [1, 0],
      index_vector_dim = 2>,
    slice_sizes = array<i64: 1, 2, 2>,
    indices_are_sorted = false
  } : (tensor<3x4x2xi32>, tensor<2x3x2xi64>) -> tensor<2x3x2x2xi32>
  check.expect_eq_const %0, dense<[[[[1, 2], [3, 4]], [[3, 4], [5, 6]], [[13, 14], [15, 16]]], [[[9, 10], [11, 12]], [[11, 12], [13, 14]], [[17, 18], [19, 20]]]]> : tensor<2x3x2x2xi32>
  %j = stablehlo.constant dense<[[2], [0], [5]]> : tensor<3x1xi32>
  %1 = "stablehlo.gather"(%a, %j) <{
    dimension_numbers = #stablehlo.gather<
      offset_dims = [1],
      collapsed_slice_dims = [1],
      operand_batching_dims = [0],
      start_indices_batching_dims = [0],
      start_index_map = [1],
      index_vector_dim = 1>,
    slice_sizes = dense<[1, 1, 2]> : tensor<3xi64>
  }> : (tensor<3x4x2xi32>, tensor<3x1xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %1, dense<[[5, 6], [9, 10], [23, 24]]> : tensor<3x2xi32>
  return
}

// -----

func.func @scatter() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %i = stablehlo.constant dense<[[1], [1], [7]]> : tensor<3x1xi32>
  %u = stablehlo.constant dense<[[10, 10, 10], [100, 0, 100], [9, 9, 9]]> : tensor<3x3xi64>
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
    ^bb0(%x: tensor<i64>, %y: tensor<i64>):
      %s = stablehlo.add %x, %y : tensor<i64>
      stablehlo.return %s : tensor<i64>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [1],
      inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0],
      index_vector_dim = 1>,
    indices_are_sorted = false,
    unique_indices = false
  } : (tensor<2x3xi64>, tensor<3x1xi32>, tensor<3x3xi64>) -> tensor<2x3xi64>
  check.expect_eq_const %0, dense<[[1, 2, 3], [114, 15, 116]]> : tensor<2x3xi64>
  %j = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
  %v = stablehlo.constant dense<[7, 8]> : tensor<2xi64>
  %1:2 = "stablehlo.scatter"(%a, %a, %j, %v, %v) <{
    scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [1],
      input_batching_dims = [0],
      scatter_indices_batching_dims = [0],
      scatter_dims_to_operand_dims = [1],
      index_vector_dim = 1>
  }> ({
    ^bb0(%x0: tensor<i64>, %x1: tensor<i64>, %y0: tensor<i64>, %y1: tensor<i64>):
      %m = stablehlo.maximum %x0, %y0 : tensor<i64>
      "stablehlo.return"(%m, %y1) : (tensor<i64>, tensor<i64>) -> ()
  }) : (tensor<2x3xi64>, tensor<2x3xi64>, tensor<2xi32>, tensor<2xi64>, tensor<2xi64>) -> (tensor<2x3xi64>, tensor<2x3xi64>)
  check.expect_eq_const %1#0, dense<[[7, 2, 3], [4, 5, 8]]> : tensor<2x3xi64>
  check.expect_eq_const %1#1, dense<[[7, 2, 3], [4, 5, 8]]> : tensor<2x3xi64>
  return
}

// -----

func.func @einsum() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]> : tensor<2x3xf32>
  %0 = stablehlo.einsum %a, %b, config = "ab,bc->ca" : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<3x2xf32>
  check.expect_eq_const %0, dense<[[1.0, 3.0], [3.0, 7.0], [2.0, 4.0]]> : tensor<3x2xf32>
  %1 = "stablehlo.einsum"(%a, %b) {einsum_config = "ab,ac->a"} : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  check.expect_eq_const %1, dense<[6.0, 14.0]> : tensor<2xf32>
  %2 = stablehlo.unary_einsum %b, config = "ab->b" : (tensor<2x3xf32>) -> tensor<3xf32>
  check.expect_eq_const %2, dense<[1.0, 2.0, 1.0]> : tensor<3xf32>
  return
}
