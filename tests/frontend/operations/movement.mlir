// Operations that move elements.

func.func @broadcasts() {
  %a = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<2x1xi32>) -> tensor<2x2x3xi32>
  check.expect_eq_const %0, dense<[[[1, 1, 1], [1, 1, 1]], [[2, 2, 2], [2, 2, 2]]]> : tensor<2x2x3xi32>
  %1 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64: 2, 1>} : (tensor<2x1xi32>) -> tensor<1x3x2xi32>
  check.expect_eq_const %1, dense<[[[1, 2], [1, 2], [1, 2]]]> : tensor<1x3x2xi32>
  %b = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
  %2 = stablehlo.broadcast %b, sizes = [2] : (tensor<2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %2, dense<[[5, 6], [5, 6]]> : tensor<2x2xi32>
  %3 = "stablehlo.broadcast_in_dim"(%b) {broadcast_dimensions = dense<1> : tensor<1xi64>} : (tensor<2xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %3, dense<[[5, 6], [5, 6], [5, 6]]> : tensor<3x2xi32>
  return
}

// -----

func.func @reshape_transpose_reverse() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = stablehlo.reshape %a : (tensor<2x3xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %0, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %1 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %1, dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
  %2 = stablehlo.reverse %a, dims = [0, 1] : tensor<2x3xi32>
  check.expect_eq_const %2, dense<[[6, 5, 4], [3, 2, 1]]> : tensor<2x3xi32>
  %3 = "stablehlo.reverse"(%a) {dimensions = array<i64>} : (tensor<2x3xi32>) -> tensor<2x3xi32>
  check.expect_eq %3, %a : tensor<2x3xi32>
  return
}

// -----

func.func @concatenate() {
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %b = stablehlo.constant dense<[[5], [6]]> : tensor<2x1xi64>
  %0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<2x2xi64>, tensor<2x1xi64>) -> tensor<2x3xi64>
  check.expect_eq_const %0, dense<[[1, 2, 5], [3, 4, 6]]> : tensor<2x3xi64>
  %1 = "stablehlo.concatenate"(%a) <{dimension = 0 : i64}> : (tensor<2x2xi64>) -> tensor<2x2xi64>
  check.expect_eq %1, %a : tensor<2x2xi64>
  return
}

// -----

func.func @slice() {
  %a = stablehlo.constant dense<[[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]> : tensor<2x5xi64>
  %0 = stablehlo.slice %a [1:2, 0:5:2] : (tensor<2x5xi64>) -> tensor<1x3xi64>
  check.expect_eq_const %0, dense<[[5, 7, 9]]> : tensor<1x3xi64>
  %1 = "stablehlo.slice"(%a) {
    start_indices = dense<[0, 2]> : tensor<2xi64>,
    limit_indices = array<i64: 2, 4>,
    strides = array<i64: 1, 1>
  } : (tensor<2x5xi64>) -> tensor<2x2xi64>
  check.expect_eq_const %1, dense<[[2, 3], [7, 8]]> : tensor<2x2xi64>
  return
}

// -----

func.func @pad() {
  %a = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %v = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.pad %a, %v, low = [0, 1], high = [1, -1], interior = [1, 0] : (tensor<2x2xi64>, tensor<i64>) -> tensor<4x2xi64>
  check.expect_eq_const %0, dense<[[0, 1], [0, 0], [0, 3], [0, 0]]> : tensor<4x2xi64>
  return
}

// -----

func.func @dynamic_slices() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
  %i = stablehlo.constant dense<-4> : tensor<i64>
  %j = stablehlo.constant dense<9> : tensor<i64>
  %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [2, 2] : (tensor<3x3xi32>, tensor<i64>, tensor<i64>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[2, 3], [5, 6]]> : tensor<2x2xi32>
  %u = stablehlo.constant dense<[[0, 0]]> : tensor<1x2xi32>
  %1 = stablehlo.dynamic_update_slice %a, %u, %j, %i : (tensor<3x3xi32>, tensor<1x2xi32>, tensor<i64>, tensor<i64>) -> tensor<3x3xi32>
  check.expect_eq_const %1, dense<[[1, 2, 3], [4, 5, 6], [0, 0, 9]]> : tensor<3x3xi32>
  return
}

// -----

func.func @tuples_and_barriers() {
  %a = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<2.0> : tensor<f32>
  %t = stablehlo.tuple %a, %b : tuple<tensor<i32>, tensor<f32>>
  %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<i32>, tensor<f32>>) -> tensor<f32>
  check.expect_eq %0, %b : tensor<f32>
  %n = stablehlo.tuple %t, %a : tuple<tuple<tensor<i32>, tensor<f32>>, tensor<i32>>
  %m = "stablehlo.get_tuple_element"(%n) {index = 0 : i32} : (tuple<tuple<tensor<i32>, tensor<f32>>, tensor<i32>>) -> tuple<tensor<i32>, tensor<f32>>
  %1 = stablehlo.get_tuple_element %m[0] : (tuple<tensor<i32>, tensor<f32>>) -> tensor<i32>
  check.expect_eq %1, %a : tensor<i32>
  %2:2 = stablehlo.optimization_barrier %a, %b : tensor<i32>, tensor<f32>
  check.expect_eq %2#1, %b : tensor<f32>
  %3 = "stablehlo.optimization_barrier"(%b) : (tensor<f32>) -> tensor<f32>
  check.expect_eq %3, %b : tensor<f32>
  stablehlo.optimization_barrier()
  return
}

// -----

func.func @dimension_sizes() {
  %a = stablehlo.constant dense<[[1, 2, 3]]> : tensor<1x3xi32>
  %0 = stablehlo.get_dimension_size %a, dim = 1 : (tensor<1x3xi32>) -> tensor<i32>
  check.expect_eq_const %0, dense<3> : tensor<i32>
  %1 = stablehlo.set_dimension_size %a, %0, dim = 1 : (tensor<1x3xi32>, tensor<i32>) -> tensor<1x3xi32>
  check.expect_eq %1, %a : tensor<1x3xi32>
  return
}

// -----

func.func @torch_index_select() {
  %a = stablehlo.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]]> : tensor<3x2x2xi32>
  %i = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %0 = "stablehlo.torch_index_select"(%a, %i) {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<3x2x2xi32>, tensor<2xi32>) -> tensor<2x2x2xi32>
  check.expect_eq_const %0, dense<[[[9, 10], [11, 12]], [[1, 2], [3, 4]]]> : tensor<2x2x2xi32>
  %j = stablehlo.constant dense<[[1], [0], [1]]> : tensor<3x1xi32>
  %1 = "stablehlo.torch_index_select"(%a, %j) {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<3x2x2xi32>, tensor<3x1xi32>) -> tensor<3x1x2xi32>
  check.expect_eq_const %1, dense<[[[3, 4]], [[5, 6]], [[11, 12]]]> : tensor<3x1x2xi32>
  return
}
