// CHLO: mapped, expanded, or computed by the evaluator. Expectations are from tables of the functions.

func.func @mapped() {
  %x = stablehlo.constant dense<[0.0, 0.5, -0.25]> : tensor<3xf64>
  %0 = chlo.asin %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %0, dense<[0.0, 0.5235987755982989, -0.25268025514207865]> : tensor<3xf64>
  %1 = chlo.acos %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %1, dense<[1.5707963267948966, 1.0471975511965979, 1.8234765819369754]> : tensor<3xf64>
  %2 = chlo.sinh %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %2, dense<[0.0, 0.5210953054937474, -0.2526123168081683]> : tensor<3xf64>
  %3 = chlo.cosh %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %3, dense<[1.0, 1.1276259652063807, 1.0314130998795732]> : tensor<3xf64>
  %4 = chlo.atanh %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %4, dense<[0.0, 0.5493061443340549, -0.25541281188299536]> : tensor<3xf64>
  %5 = chlo.asinh %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %5, dense<[0.0, 0.48121182505960347, -0.24746646154726346]> : tensor<3xf64>
  %6 = chlo.erf %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %6, dense<[0.0, 0.5204998778130465, -0.27632639016823696]> : tensor<3xf64>
  %7 = "chlo.tan"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  check.expect_almost_eq_const %7, dense<[0.0, 0.5463024898437905, -0.25534192122103627]> : tensor<3xf64>
  %one = stablehlo.constant dense<1.5> : tensor<f64>
  %8 = chlo.acosh %one : tensor<f64> -> tensor<f64>
  check.expect_almost_eq_const %8, dense<0.9624236501192069> : tensor<f64>
  %9 = chlo.atan %one : tensor<f64> -> tensor<f64>
  check.expect_almost_eq_const %9, dense<0.982793723247329> : tensor<f64>
  return
}

// -----

func.func @special() {
  %x = stablehlo.constant dense<[0.5, 2.5, -1.5]> : tensor<3xf64>
  %0 = chlo.erfc %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %0, dense<[0.4795001221869535, 4.069520174449589e-4, 1.9661051464753108]> : tensor<3xf64>
  %1 = chlo.lgamma %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %1, dense<[0.5723649429247001, 0.2846828704729192, 0.8600470153764810]> : tensor<3xf64>
  %2 = chlo.digamma %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %2, dense<[-1.9635100260214235, 0.7031566406452432, 0.7031566406452434]> : tensor<3xf64>
  %3 = chlo.bessel_i1e %x : tensor<3xf64> -> tensor<3xf64>
  check.expect_almost_eq_const %3, dense<[0.15642080318487202, 0.20658465140750985, -0.21903938752889236]> : tensor<3xf64>
  %p = stablehlo.constant dense<[0.5, -0.9, 0.0]> : tensor<3xf32>
  %4 = chlo.erf_inv %p : tensor<3xf32> -> tensor<3xf32>
  check.expect_almost_eq_const %4, dense<[0.476936276, -1.163087154, 0.0]> : tensor<3xf32>
  %two = stablehlo.constant dense<2.0> : tensor<f64>
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %5 = chlo.zeta %two, %one : tensor<f64>, tensor<f64> -> tensor<f64>
  check.expect_almost_eq_const %5, dense<1.6449340668482264> : tensor<f64>
  %6 = chlo.polygamma %one, %one : tensor<f64>, tensor<f64> -> tensor<f64>
  check.expect_almost_eq %6, %5 : tensor<f64>
  %b = stablehlo.constant dense<[1.0, 0.0]> : tensor<2xbf16>
  %c = stablehlo.constant dense<[2.0, -1.0]> : tensor<2xbf16>
  %7 = chlo.next_after %b, %c : tensor<2xbf16>, tensor<2xbf16> -> tensor<2xbf16>
  check.expect_eq_const %7, dense<[0x3F81, 0x8001]> : tensor<2xbf16>
  return
}

// -----

func.func @expanded() {
  %x = stablehlo.constant dense<[-3.0, 0x7F800000, 0xFF800000]> : tensor<3xf32>
  %0 = chlo.square %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_eq_const %0, dense<[9.0, 0x7F800000, 0x7F800000]> : tensor<3xf32>
  %1 = chlo.is_inf %x : tensor<3xf32> -> tensor<3xi1>
  check.expect_eq_const %1, dense<[false, true, true]> : tensor<3xi1>
  %2 = chlo.is_pos_inf %x : tensor<3xf32> -> tensor<3xi1>
  check.expect_eq_const %2, dense<[false, true, false]> : tensor<3xi1>
  %3 = chlo.is_neg_inf %x : tensor<3xf32> -> tensor<3xi1>
  check.expect_eq_const %3, dense<[false, false, true]> : tensor<3xi1>
  %c = stablehlo.constant dense<(1.0,2.0)> : tensor<complex<f32>>
  %4 = chlo.conj %c : tensor<complex<f32>> -> tensor<complex<f32>>
  check.expect_eq_const %4, dense<(1.0,-2.0)> : tensor<complex<f32>>
  %5 = "chlo.constant_like"(%x) {value = 2.5 : f32} : (tensor<3xf32>) -> tensor<3xf32>
  check.expect_eq_const %5, dense<2.5> : tensor<3xf32>
  %6 = chlo.constant dense<[1, 2]> : tensor<2xi32>
  %7 = chlo.mulhi %6, %6 : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
  check.expect_eq_const %7, dense<0> : tensor<2xi32>
  return
}

// -----

func.func @top_k() {
  %x = stablehlo.constant dense<[[1, 9, 4, 9], [5, -7, 5, 0]]> : tensor<2x4xi32>
  %0, %1 = chlo.top_k(%x, k = 2) : tensor<2x4xi32> -> (tensor<2x2xi32>, tensor<2x2xi32>)
  check.expect_eq_const %0, dense<[[9, 9], [5, 5]]> : tensor<2x2xi32>
  check.expect_eq_const %1, dense<[[1, 3], [0, 2]]> : tensor<2x2xi32>
  %2:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 1 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<2x4xi32>) -> (tensor<2x1xi32>, tensor<2x1xi32>)
  check.expect_eq_const %2#0, dense<[[9], [5]]> : tensor<2x1xi32>
  return
}

// -----

func.func @broadcasting() {
  %a = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %b = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %s = stablehlo.constant dense<5> : tensor<i32>
  %0 = chlo.broadcast_add %a, %b : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %0, dense<[[11, 21, 31], [12, 22, 32]]> : tensor<2x3xi32>
  %1 = chlo.broadcast_multiply %0, %s : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi32>
  check.expect_eq_const %1, dense<[[55, 105, 155], [60, 110, 160]]> : tensor<2x3xi32>
  %c = stablehlo.constant dense<[7, 8]> : tensor<2xi32>
  %2 = chlo.broadcast_subtract %0, %c {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xi32>, tensor<2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %2, dense<[[4, 14, 24], [4, 14, 24]]> : tensor<2x3xi32>
  %3 = chlo.broadcast_compare %a, %b {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  check.expect_eq_const %3, dense<true> : tensor<2x3xi1>
  %p = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %4 = chlo.broadcast_select %p, %a, %s : (tensor<3xi1>, tensor<2x1xi32>, tensor<i32>) -> tensor<2x3xi32>
  check.expect_eq_const %4, dense<[[1, 5, 1], [2, 5, 2]]> : tensor<2x3xi32>
  %5 = "chlo.broadcast_maximum"(%b, %s) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq %5, %b : tensor<3xi32>
  return
}

// -----

func.func @ragged_dot() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %b = stablehlo.constant dense<[[[1.0], [0.0]], [[0.0], [10.0]]]> : tensor<2x2x1xf32>
  %g = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = "chlo.ragged_dot"(%a, %b, %g) {
    ragged_dot_dimension_numbers = #chlo.ragged_dot<
      lhs_batching_dimensions = [], rhs_batching_dimensions = [],
      lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1],
      lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>
  } : (tensor<3x2xf32>, tensor<2x2x1xf32>, tensor<2xi32>) -> tensor<3x1xf32>
  check.expect_eq_const %0, dense<[[1.0], [40.0], [60.0]]> : tensor<3x1xf32>
  return
}
