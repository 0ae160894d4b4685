// Dynamic operations whose extents are known, in one function and through calls.

func.func @folded() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %three = stablehlo.constant dense<3> : tensor<i64>
  %t = stablehlo.reshape %three : (tensor<i64>) -> tensor<1xi64>
  %w = stablehlo.reshape %two : (tensor<i64>) -> tensor<1xi64>
  %shape = stablehlo.concatenate %t, %w, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = stablehlo.dynamic_reshape %a, %shape : (tensor<2x3xi64>, tensor<2xi64>) -> tensor<?x?xi64>
  %1 = stablehlo.dynamic_reshape %0, %shape : (tensor<?x?xi64>, tensor<2xi64>) -> tensor<3x2xi64>
  check.expect_eq_const %1, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>
  %2 = stablehlo.dynamic_broadcast_in_dim %t, %shape, dims = [1] {known_expanding_dimensions = array<i64>} : (tensor<1xi64>, tensor<2xi64>) -> tensor<?x2xi64>
  %3 = stablehlo.reduce(%2 init: %two) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x2xi64>, tensor<i64>) -> tensor<i64>
  check.expect_eq_const %3, dense<20> : tensor<i64>
  %4 = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi32>
  %5 = stablehlo.get_dimension_size %4, dim = 0 : (tensor<?x?xi32>) -> tensor<i32>
  check.expect_eq_const %5, dense<3> : tensor<i32>
  return
}

// -----

func.func @slices_pads_gathers() {
  %a = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi64>
  %one = stablehlo.constant dense<[1]> : tensor<1xi64>
  %four = stablehlo.constant dense<[4]> : tensor<1xi64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.real_dynamic_slice %a, %one, %four, %one : (tensor<5xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<?xi64>
  %2 = stablehlo.convert %1 : (tensor<?xi64>) -> tensor<?xi32>
  %3 = stablehlo.reshape %2 : (tensor<?xi32>) -> tensor<3xi32>
  check.expect_eq_const %3, dense<[4, 3, 2]> : tensor<3xi32>
  %4 = stablehlo.dynamic_pad %a, %zero, %one, %one, %one : (tensor<5xi64>, tensor<i64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<11xi64>
  check.expect_eq_const %4, dense<[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0]> : tensor<11xi64>
  %i = stablehlo.constant dense<[[3], [0]]> : tensor<2x1xi32>
  %sizes = stablehlo.constant dense<[2]> : tensor<1xi64>
  %5 = "stablehlo.dynamic_gather"(%a, %i, %sizes) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>,
    indices_are_sorted = false
  } : (tensor<5xi64>, tensor<2x1xi32>, tensor<1xi64>) -> tensor<2x2xi64>
  check.expect_eq_const %5, dense<[[4, 5], [1, 2]]> : tensor<2x2xi64>
  return
}

// -----

func.func @convolution() {
  %a = stablehlo.constant dense<[[[1.0], [2.0], [3.0]]]> : tensor<1x3x1xf32>
  %k = stablehlo.constant dense<[[[1.0]], [[1.0]]]> : tensor<2x1x1xf32>
  %p = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi32>
  %0 = "stablehlo.dynamic_conv"(%a, %k, %p) {
    dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>,
    feature_group_count = 1 : i64, batch_group_count = 1 : i64
  } : (tensor<1x3x1xf32>, tensor<2x1x1xf32>, tensor<1x2xi32>) -> tensor<1x?x1xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x?x1xf32>) -> tensor<3xf32>
  check.expect_eq_const %1, dense<[1.0, 3.0, 5.0]> : tensor<3xf32>
  return
}

// -----

module @extents_through_calls {
  func.func public @main() {
    %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    %n = stablehlo.constant dense<2> : tensor<i32>
    %0 = call @double(%n, %a) : (tensor<i32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    check.expect_eq_const %0, dense<[[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]> : tensor<2x3xf32>
    return
  }
  func.func private @double(%n: tensor<i32>, %x: tensor<?x3xf32>) -> tensor<?x3xf32> {
    %two = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>
    %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
    %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
    %c = stablehlo.constant dense<3> : tensor<1xi32>
    %2 = stablehlo.concatenate %1, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %3 = stablehlo.dynamic_broadcast_in_dim %two, %2, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
    %4 = stablehlo.add %x, %3 : tensor<?x3xf32>
    return %4 : tensor<?x3xf32>
  }
}

// -----

module @settings_as_values {
  func.func public @main() {
    %a = stablehlo.constant dense<[3.0, 1.0, 4.0, 1.5]> : tensor<4xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %size = stablehlo.constant dense<2> : tensor<1xi32>
    %one = stablehlo.constant dense<1> : tensor<1xi32>
    %padding = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi32>
    %length = stablehlo.constant dense<4> : tensor<1xi32>
    %0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%a, %zero, %size, %one, %one, %one, %padding) {
      api_version = 2 : i32, called_computations = [@sum]
    } : (tensor<4xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<?xf32>
    %1 = stablehlo.dynamic_reshape %0, %length : (tensor<?xf32>, tensor<1xi32>) -> tensor<4xf32>
    check.expect_eq_const %1, dense<[3.0, 4.0, 5.0, 5.5]> : tensor<4xf32>
    %k = stablehlo.constant dense<2> : tensor<i32>
    %2:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%a, %k) : (tensor<4xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>)
    %3 = stablehlo.dynamic_reshape %2#1, %size : (tensor<?xi32>, tensor<1xi32>) -> tensor<2xi32>
    check.expect_eq_const %3, dense<[2, 0]> : tensor<2xi32>
    %state = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %4:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%state, %size) {
      rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>
    } : (tensor<2xui64>, tensor<1xi32>) -> (tensor<?xui64>, tensor<?xui32>)
    %5:2 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
    check.expect_eq %4#1, %5#1 : tensor<2xui32>
    %6 = stablehlo.get_dimension_size %2#0, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %7 = stablehlo.compare EQ, %6, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%7, %6) {error_message = "found {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    return
  }
  func.func private @sum(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %x, %y : tensor<f32>
    return %0 : tensor<f32>
  }
}
