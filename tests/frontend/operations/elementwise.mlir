// Elementwise operations, pretty and generic; every expectation follows from the specification.

func.func @abs() {
  %a = stablehlo.constant dense<[-128, -5, 0, 127]> : tensor<4xi8>
  %b = stablehlo.abs %a : tensor<4xi8>
  check.expect_eq_const %b, dense<[-128, 5, 0, 127]> : tensor<4xi8>
  %c = stablehlo.constant dense<[(3.0,-4.0), (0.0,0.0)]> : tensor<2xcomplex<f64>>
  %d = "stablehlo.abs"(%c) : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
  check.expect_eq_const %d, dense<[5.0, 0.0]> : tensor<2xf64>
  %e = stablehlo.constant dense<[-0.0, 0xFF800000, -1.5]> : tensor<3xf32>
  %f = stablehlo.abs %e : tensor<3xf32>
  check.expect_eq_const %f, dense<[0.0, 0x7F800000, 1.5]> : tensor<3xf32>
  return
}

// -----

func.func @add() {
  %a = stablehlo.constant dense<[0, 1, 127, -128]> : tensor<4xi8>
  %b = stablehlo.constant dense<[0, -1, 1, -1]> : tensor<4xi8>
  %c = "stablehlo.add"(%a, %b) : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  check.expect_eq_const %c, dense<[0, 0, -128, 127]> : tensor<4xi8>
  %p = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %q = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %r = stablehlo.add %p, %q : tensor<4xi1>
  check.expect_eq_const %r, dense<[false, true, true, true]> : tensor<4xi1>
  %u = stablehlo.constant dense<[1.5, 2.0]> : tensor<2xbf16>
  %v = stablehlo.constant dense<[0.25, 256.0]> : tensor<2xbf16>
  %w = stablehlo.add %u, %v : tensor<2xbf16>
  check.expect_eq_const %w, dense<[1.75, 258.0]> : tensor<2xbf16>
  %x = stablehlo.constant dense<[7, -8, 3]> : tensor<3xi4>
  %y = stablehlo.constant dense<[1, -1, 2]> : tensor<3xi4>
  %z = stablehlo.add %x, %y : tensor<3xi4>
  check.expect_eq_const %z, dense<[-8, 7, 5]> : tensor<3xi4>
  return
}

// -----

func.func @and_or_xor_not() {
  %a = stablehlo.constant dense<[7, 6, -1, 8]> : tensor<4xi32>
  %b = stablehlo.constant dense<[3, 1, 5, 8]> : tensor<4xi32>
  %0 = stablehlo.and %a, %b : tensor<4xi32>
  check.expect_eq_const %0, dense<[3, 0, 5, 8]> : tensor<4xi32>
  %1 = stablehlo.or %a, %b : tensor<4xi32>
  check.expect_eq_const %1, dense<[7, 7, -1, 8]> : tensor<4xi32>
  %2 = stablehlo.xor %a, %b : tensor<4xi32>
  check.expect_eq_const %2, dense<[4, 7, -6, 0]> : tensor<4xi32>
  %3 = stablehlo.not %a : tensor<4xi32>
  check.expect_eq_const %3, dense<[-8, -7, 0, -9]> : tensor<4xi32>
  %t = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %4 = "stablehlo.not"(%t) : (tensor<2xi1>) -> tensor<2xi1>
  check.expect_eq_const %4, dense<[false, true]> : tensor<2xi1>
  return
}

// -----

func.func @exact_values_of_transcendental_functions() {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %eight = stablehlo.constant dense<8.0> : tensor<f32>
  %quarter = stablehlo.constant dense<0.25> : tensor<f32>
  %0 = stablehlo.sine %zero : tensor<f32>
  check.expect_eq_const %0, dense<0.0> : tensor<f32>
  %1 = stablehlo.cosine %zero : tensor<f32>
  check.expect_eq_const %1, dense<1.0> : tensor<f32>
  %2 = stablehlo.tan %zero : tensor<f32>
  check.expect_eq_const %2, dense<0.0> : tensor<f32>
  %3 = stablehlo.tanh %zero : tensor<f32>
  check.expect_eq_const %3, dense<0.0> : tensor<f32>
  %4 = stablehlo.exponential %zero : tensor<f32>
  check.expect_eq_const %4, dense<1.0> : tensor<f32>
  %5 = stablehlo.exponential_minus_one %zero : tensor<f32>
  check.expect_eq_const %5, dense<0.0> : tensor<f32>
  %6 = stablehlo.log %one : tensor<f32>
  check.expect_eq_const %6, dense<0.0> : tensor<f32>
  %7 = stablehlo.log_plus_one %zero : tensor<f32>
  check.expect_eq_const %7, dense<0.0> : tensor<f32>
  %8 = stablehlo.logistic %zero : tensor<f32>
  check.expect_eq_const %8, dense<0.5> : tensor<f32>
  %9 = stablehlo.cbrt %eight : tensor<f32>
  check.expect_eq_const %9, dense<2.0> : tensor<f32>
  %10 = stablehlo.sqrt %quarter : tensor<f32>
  check.expect_eq_const %10, dense<0.5> : tensor<f32>
  %11 = stablehlo.rsqrt %quarter : tensor<f32>
  check.expect_eq_const %11, dense<2.0> : tensor<f32>
  %12 = stablehlo.atan2 %one, %one : tensor<f32>
  %13 = stablehlo.constant dense<0.785398185> : tensor<f32>
  check.expect_close %12, %13 : tensor<f32>, tensor<f32>
  return
}

// -----

func.func @ceil_floor_rounds() {
  %a = stablehlo.constant dense<[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.7]> : tensor<7xf32>
  %0 = stablehlo.ceil %a : tensor<7xf32>
  check.expect_eq_const %0, dense<[-2.0, -1.0, -0.0, 1.0, 2.0, 3.0, 1.0]> : tensor<7xf32>
  %1 = stablehlo.floor %a : tensor<7xf32>
  check.expect_eq_const %1, dense<[-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 0.0]> : tensor<7xf32>
  %2 = stablehlo.round_nearest_afz %a : tensor<7xf32>
  check.expect_eq_const %2, dense<[-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 1.0]> : tensor<7xf32>
  %3 = stablehlo.round_nearest_even %a : tensor<7xf32>
  check.expect_eq_const %3, dense<[-2.0, -2.0, -0.0, 0.0, 2.0, 2.0, 1.0]> : tensor<7xf32>
  return
}

// -----

func.func @clamp() {
  %low = stablehlo.constant dense<[1, 5, -5]> : tensor<3xi32>
  %x = stablehlo.constant dense<[0, 9, 0]> : tensor<3xi32>
  %high = stablehlo.constant dense<[3, 7, 5]> : tensor<3xi32>
  %0 = stablehlo.clamp %low, %x, %high : tensor<3xi32>
  check.expect_eq_const %0, dense<[1, 7, 0]> : tensor<3xi32>
  %min = stablehlo.constant dense<0> : tensor<i32>
  %max = stablehlo.constant dense<1> : tensor<i32>
  %1 = "stablehlo.clamp"(%min, %x, %max) : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %1, dense<[0, 1, 0]> : tensor<3xi32>
  return
}

// -----

func.func @compare() {
  %a = stablehlo.constant dense<[1.0, 0x7FC00000, -0.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[2.0, 0x7FC00000, 0.0]> : tensor<3xf32>
  %0 = stablehlo.compare LT, %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %0, dense<[true, false, false]> : tensor<3xi1>
  %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %1, dense<[true, false, true]> : tensor<3xi1>
  %2 = "stablehlo.compare"(%a, %b) {
    comparison_direction = #stablehlo<comparison_direction EQ>,
    compare_type = #stablehlo<comparison_type FLOAT>
  } : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %2, dense<[false, false, true]> : tensor<3xi1>
  %u = stablehlo.constant dense<[255, 1]> : tensor<2xui8>
  %v = stablehlo.constant dense<[1, 255]> : tensor<2xui8>
  %3 = stablehlo.compare GE, %u, %v, UNSIGNED : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  check.expect_eq_const %3, dense<[true, false]> : tensor<2xi1>
  %c = stablehlo.constant dense<[(1.0,2.0), (1.0,2.0)]> : tensor<2xcomplex<f32>>
  %d = stablehlo.constant dense<[(1.0,2.0), (1.0,3.0)]> : tensor<2xcomplex<f32>>
  %4 = stablehlo.compare NE, %c, %d, FLOAT : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
  check.expect_eq_const %4, dense<[false, true]> : tensor<2xi1>
  return
}

// -----

func.func @complex_parts() {
  %re = stablehlo.constant dense<[1.0, -3.0]> : tensor<2xf32>
  %im = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %0 = stablehlo.complex %re, %im : tensor<2xcomplex<f32>>
  check.expect_eq_const %0, dense<[(1.0,2.0), (-3.0,4.0)]> : tensor<2xcomplex<f32>>
  %1 = stablehlo.real %0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_eq_const %1, dense<[1.0, -3.0]> : tensor<2xf32>
  %2 = stablehlo.imag %0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_eq_const %2, dense<[2.0, 4.0]> : tensor<2xf32>
  %3 = stablehlo.imag %re : tensor<2xf32>
  check.expect_eq_const %3, dense<0.0> : tensor<2xf32>
  %4 = stablehlo.multiply %0, %0 : tensor<2xcomplex<f32>>
  check.expect_eq_const %4, dense<[(-3.0,4.0), (-7.0,-24.0)]> : tensor<2xcomplex<f32>>
  return
}

// -----

func.func @convert() {
  %a = stablehlo.constant dense<[-1.9, 2.9, 0x7FC00000, 1.0e10]> : tensor<4xf32>
  %0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[-1, 2, 0, 2147483647]> : tensor<4xi32>
  %1 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %1, dense<true> : tensor<4xi1>
  %b = stablehlo.constant dense<[0, 1, -300]> : tensor<3xi32>
  %2 = "stablehlo.convert"(%b) : (tensor<3xi32>) -> tensor<3xi8>
  check.expect_eq_const %2, dense<[0, 1, -44]> : tensor<3xi8>
  %c = stablehlo.constant dense<[16777217, 9007199254740993]> : tensor<2xi64>
  %3 = stablehlo.convert %c : (tensor<2xi64>) -> tensor<2xf32>
  check.expect_eq_const %3, dense<[16777216.0, 9007199254740992.0]> : tensor<2xf32>
  %d = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %4 = stablehlo.convert %d : (tensor<2xi1>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %4, dense<[(1.0,0.0), (0.0,0.0)]> : tensor<2xcomplex<f32>>
  %e = stablehlo.constant dense<(3.5,-1.0)> : tensor<complex<f32>>
  %5 = stablehlo.convert %e : (tensor<complex<f32>>) -> tensor<f16>
  check.expect_eq_const %5, dense<3.5> : tensor<f16>
  %f = stablehlo.constant dense<[1.1, 448.0, 500.0]> : tensor<3xf32>
  %6 = stablehlo.convert %f : (tensor<3xf32>) -> tensor<3xf8E4M3FN>
  %7 = stablehlo.convert %6 : (tensor<3xf8E4M3FN>) -> tensor<3xf32>
  check.expect_eq_const %7, dense<[1.125, 448.0, 0x7FC00000]> : tensor<3xf32>
  return
}

// -----

func.func @divide_and_remainder() {
  %a = stablehlo.constant dense<[17, -17, 17, -17]> : tensor<4xi64>
  %b = stablehlo.constant dense<[3, 3, -3, -3]> : tensor<4xi64>
  %0 = stablehlo.divide %a, %b : tensor<4xi64>
  check.expect_eq_const %0, dense<[5, -5, -5, 5]> : tensor<4xi64>
  %1 = stablehlo.remainder %a, %b : tensor<4xi64>
  check.expect_eq_const %1, dense<[2, -2, 2, -2]> : tensor<4xi64>
  %c = stablehlo.constant dense<[17.1, -17.1, 17.1, -17.1]> : tensor<4xf64>
  %d = stablehlo.constant dense<[3.0, 3.0, -3.0, -3.0]> : tensor<4xf64>
  %2 = stablehlo.remainder %c, %d : tensor<4xf64>
  check.expect_almost_eq_const %2, dense<[2.1, -2.1, 2.1, -2.1]> : tensor<4xf64>
  %e = stablehlo.constant dense<[1.0, 0.0, -1.0]> : tensor<3xf32>
  %z = stablehlo.constant dense<0.0> : tensor<3xf32>
  %3 = stablehlo.divide %e, %z : tensor<3xf32>
  check.expect_eq_const %3, dense<[0x7F800000, 0x7FC00000, 0xFF800000]> : tensor<3xf32>
  return
}

// -----

func.func @counts() {
  %a = stablehlo.constant dense<[0, 1, 128, -1]> : tensor<4xi16>
  %0 = stablehlo.count_leading_zeros %a : tensor<4xi16>
  check.expect_eq_const %0, dense<[16, 15, 8, 0]> : tensor<4xi16>
  %1 = stablehlo.popcnt %a : tensor<4xi16>
  check.expect_eq_const %1, dense<[0, 1, 1, 16]> : tensor<4xi16>
  %b = stablehlo.constant dense<[0, 3, 15]> : tensor<3xui4>
  %2 = stablehlo.popcnt %b : tensor<3xui4>
  check.expect_eq_const %2, dense<[0, 2, 4]> : tensor<3xui4>
  return
}

// -----

func.func @is_finite() {
  %a = stablehlo.constant dense<[0x7FC00000, 0x7F800000, 0xFF800000, -10.0, -0.0]> : tensor<5xf32>
  %0 = stablehlo.is_finite %a : (tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %0, dense<[false, false, false, true, true]> : tensor<5xi1>
  return
}

// -----

func.func @maximum_minimum() {
  %a = stablehlo.constant dense<[1.0, 0x7FC00000, -2.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[0.5, 1.0, 7.0]> : tensor<3xf32>
  %0 = stablehlo.maximum %a, %b : tensor<3xf32>
  check.expect_eq_const %0, dense<[1.0, 0x7FC00000, 7.0]> : tensor<3xf32>
  %1 = stablehlo.minimum %a, %b : tensor<3xf32>
  check.expect_eq_const %1, dense<[0.5, 0x7FC00000, -2.0]> : tensor<3xf32>
  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %q = stablehlo.constant dense<[true, true]> : tensor<2xi1>
  %2 = stablehlo.minimum %p, %q : tensor<2xi1>
  check.expect_eq_const %2, dense<[true, false]> : tensor<2xi1>
  return
}

// -----

func.func @multiply_negate_power_sign_subtract() {
  %a = stablehlo.constant dense<[-2, -1, 0, 3]> : tensor<4xi32>
  %b = stablehlo.constant dense<[3, 4, 0, -1]> : tensor<4xi32>
  %0 = stablehlo.multiply %a, %b : tensor<4xi32>
  check.expect_eq_const %0, dense<[-6, -4, 0, -3]> : tensor<4xi32>
  %1 = stablehlo.negate %a : tensor<4xi32>
  check.expect_eq_const %1, dense<[2, 1, 0, -3]> : tensor<4xi32>
  %2 = stablehlo.power %a, %b : tensor<4xi32>
  check.expect_eq_const %2, dense<[-8, 1, 1, 0]> : tensor<4xi32>
  %3 = stablehlo.sign %a : tensor<4xi32>
  check.expect_eq_const %3, dense<[-1, -1, 0, 1]> : tensor<4xi32>
  %4 = stablehlo.subtract %a, %b : tensor<4xi32>
  check.expect_eq_const %4, dense<[-5, -5, 0, 4]> : tensor<4xi32>
  %c = stablehlo.constant dense<[2.0, -2.0, 9.0, 0.0]> : tensor<4xf64>
  %d = stablehlo.constant dense<[3.0, 3.0, 0.5, -1.0]> : tensor<4xf64>
  %5 = stablehlo.power %c, %d : tensor<4xf64>
  check.expect_eq_const %5, dense<[8.0, -8.0, 3.0, 0x7FF0000000000000]> : tensor<4xf64>
  return
}

// -----

func.func @reduce_precision() {
  %a = stablehlo.constant dense<[0x7FC00000, 0x7F800000, 0.0, 9.00091, 65520.0, 1.0e-6]> : tensor<6xf32>
  %0 = stablehlo.reduce_precision %a, format = e5m10 : tensor<6xf32>
  check.expect_eq_const %0, dense<[0x7FC00000, 0x7F800000, 0.0, 9.0, 0x7F800000, 0.0]> : tensor<6xf32>
  %1 = "stablehlo.reduce_precision"(%a) {exponent_bits = 8 : i32, mantissa_bits = 3 : i32} : (tensor<6xf32>) -> tensor<6xf32>
  check.expect_almost_eq_const %1, dense<[0x7FC00000, 0x7F800000, 0.0, 9.0, 65536.0, 0.0]> : tensor<6xf32>
  return
}

// -----

func.func @select() {
  %p = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %a = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %b = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %0 = stablehlo.select %p, %a, %b : tensor<2xi1>, tensor<2xi32>
  check.expect_eq_const %0, dense<[1, 4]> : tensor<2xi32>
  %q = stablehlo.constant dense<false> : tensor<i1>
  %1 = stablehlo.select %q, %a, %b : (tensor<i1>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  check.expect_eq_const %1, dense<[3, 4]> : tensor<2xi32>
  return
}

// -----

func.func @shifts() {
  %a = stablehlo.constant dense<[-1, 5, -128, 1]> : tensor<4xi8>
  %n = stablehlo.constant dense<[1, 2, 7, 8]> : tensor<4xi8>
  %0 = stablehlo.shift_left %a, %n : tensor<4xi8>
  check.expect_eq_const %0, dense<[-2, 20, 0, 0]> : tensor<4xi8>
  %1 = stablehlo.shift_right_arithmetic %a, %n : tensor<4xi8>
  check.expect_eq_const %1, dense<[-1, 1, -1, 0]> : tensor<4xi8>
  %2 = stablehlo.shift_right_logical %a, %n : tensor<4xi8>
  check.expect_eq_const %2, dense<[127, 1, 1, 0]> : tensor<4xi8>
  return
}

// -----

func.func @bitcast_convert() {
  %a = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2xi32>
  check.expect_eq_const %0, dense<[0x3F800000, 0xC0000000]> : tensor<2xi32>
  %1 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x4xui8>
  check.expect_eq_const %1, dense<[[0, 0, 128, 63], [0, 0, 0, 192]]> : tensor<2x4xui8>
  %2 = "stablehlo.bitcast_convert"(%1) : (tensor<2x4xui8>) -> tensor<2xf32>
  check.expect_eq_const %2, dense<[1.0, -2.0]> : tensor<2xf32>
  return
}

// -----

func.func @constants() {
  %0 = stablehlo.constant dense<> : tensor<0x3xf32>
  check.expect_eq_const %0, dense<> : tensor<0x3xf32>
  %1 = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  check.expect_eq_const %1, dense<[1.0, 2.0]> : tensor<2xf32>
  %2 = stablehlo.constant dense<"0x0000803F"> : tensor<2x2xf32>
  check.expect_eq_const %2, dense<1.0> : tensor<2x2xf32>
  %3 = stablehlo.constant dense<[[[1], [2]], [[3], [4]]]> : tensor<2x2x1xi64>
  %4 = stablehlo.reshape %3 : (tensor<2x2x1xi64>) -> tensor<4xi64>
  check.expect_eq_const %4, dense<[1, 2, 3, 4]> : tensor<4xi64>
  %5 = stablehlo.constant dense<"0x010203"> : tensor<3xi8>
  check.expect_eq_const %5, dense<[1, 2, 3]> : tensor<3xi8>
  %6 = stablehlo.constant dense<"0x0502"> : tensor<10xi1>
  check.expect_eq_const %6, dense<[true, false, true, false, false, false, false, false, false, true]> : tensor<10xi1>
  %7 = stablehlo.constant dense<"0x010001"> : tensor<3xi1>
  check.expect_eq_const %7, dense<[true, false, true]> : tensor<3xi1>
  %8 = "stablehlo.constant"() {value = dense<[1.5, -0.0]> : tensor<2xf16>} : () -> tensor<2xf16>
  check.expect_eq_const %8, dense<[0x3E00, 0x8000]> : tensor<2xf16>
  %9 = "stablehlo.constant"() <{value = dense<[18446744073709551615, 0]> : tensor<2xui64>}> : () -> tensor<2xui64>
  %10 = stablehlo.convert %9 : (tensor<2xui64>) -> tensor<2xf64>
  check.expect_eq_const %10, dense<[18446744073709551616.0, 0.0]> : tensor<2xf64>
  %11 = stablehlo.constant dense<[1, -2, -1]> : tensor<3xi2>
  %12 = stablehlo.convert %11 : (tensor<3xi2>) -> tensor<3xi32>
  check.expect_eq_const %12, dense<[1, -2, -1]> : tensor<3xi32>
  return
}

// -----

func.func @iota() {
  %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
  check.expect_eq_const %0, dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi32>
  %1 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<2x2xbf16>
  check.expect_eq_const %1, dense<[[0.0, 0.0], [1.0, 1.0]]> : tensor<2x2xbf16>
  %2 = stablehlo.iota dim = 0 : tensor<2xcomplex<f32>>
  check.expect_eq_const %2, dense<[(0.0,0.0), (1.0,0.0)]> : tensor<2xcomplex<f32>>
  return
}

// -----

func.func @weak_order() {
  %a = stablehlo.constant dense<[0xFFC00000, 0x7F800000, -0.0, 1.0, 0x7FC00001]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0x7F800000, 0xFFC00000, 0.0, 2.0, 0xFFC00000]> : tensor<5xf32>
  %lt = stablehlo.compare LT, %a, %b, WEAKORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %lt, dense<[false, true, false, true, false]> : tensor<5xi1>
  %le = stablehlo.compare LE, %a, %b, WEAKORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %le, dense<[false, true, true, true, true]> : tensor<5xi1>
  %gt = stablehlo.compare GT, %a, %b, WEAKORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %gt, dense<[true, false, false, false, false]> : tensor<5xi1>
  %ge = stablehlo.compare GE, %a, %b, WEAKORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %ge, dense<[true, false, true, false, true]> : tensor<5xi1>
  %eq = stablehlo.compare EQ, %a, %b, WEAKORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %eq, dense<[false, false, true, false, true]> : tensor<5xi1>
  %ne = stablehlo.compare NE, %a, %b, WEAKORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %ne, dense<[true, true, false, true, false]> : tensor<5xi1>
  return
}

// -----

func.func @square() {
  %a = stablehlo.constant dense<[-1.5, 3.0]> : tensor<2xf32>
  %0 = stablehlo.square %a : tensor<2xf32>
  check.expect_eq_const %0, dense<[2.25, 9.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[(3.0, 1.0), (2.0e30, -2.0e30), (3.0e30, 1.0e-20), (0x7F800000, 0xFF800000)]> : tensor<4xcomplex<f32>>
  %1 = stablehlo.square %b : tensor<4xcomplex<f32>>
  check.expect_almost_eq_const %1, dense<[(8.0, 6.0), (0.0, 0xFF800000), (0x7F800000, 6.0e10), (0x7FC00000, 0xFF800000)]> : tensor<4xcomplex<f32>>, tolerance = 1.0e4
  return
}

// -----

func.func @no_mantissa() {
  %a = stablehlo.constant dense<[0x7FC00000, 0xFF800000, -1.75, 1.5, 3.0]> : tensor<5xf32>
  %0 = stablehlo.reduce_precision %a, format = e8m0 : tensor<5xf32>
  check.expect_eq_const %0, dense<[0x7F800000, 0xFF800000, -2.0, 2.0, 2.0]> : tensor<5xf32>
  %1 = stablehlo.reduce_precision %a, format = e8m1 : tensor<5xf32>
  check.expect_eq_const %1, dense<[0x7FC00000, 0xFF800000, -2.0, 1.5, 3.0]> : tensor<5xf32>
  return
}
