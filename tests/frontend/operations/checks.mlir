// The checks themselves, in every spelling, and what the interpreter adds around them.

func.func @equality() {
  %a = stablehlo.constant dense<[1, -3]> : tensor<2xi32>
  check.eq %a, dense<[1, -3]> : tensor<2xi32>
  check.expect_eq %a, %a : tensor<2xi32>
  "check.expect_eq"(%a, %a) : (tensor<2xi32>, tensor<2xi32>) -> ()
  check.expect_eq_const %a, dense<[1, -3]> : tensor<2xi32>
  %0 = stablehlo.custom_call @check.eq(%a, %a) : (tensor<2xi32>, tensor<2xi32>) -> tensor<i1>
  check.expect_eq_const %0, dense<true> : tensor<i1>
  return
}

// // -----

func.func @nearness() {
  %a = stablehlo.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[2.00005, 4.0]> : tensor<2xf32>
  %c = stablehlo.constant dense<[2.0005, 4.0]> : tensor<2xf32>
  check.almost_eq %a, dense<[2.00005, 4.0]> : tensor<2xf32>
  check.expect_almost_eq%a, %b : tensor<2xf32>
  check.expect_almost_eq_const %a, dense<[2.00005, 4.0]> : tensor<2xf32>
  check.expect_almost_eq_const %a, dense<[2.5, 4.0]> : tensor<2xf32>, tolerance = 0.6
  check.expect_almost_eq %a, %c, tolerance = 0.001 : tensor<2xf32>
  check.expect_almost_eq_const %a, dense<[2.5, 4.0]> : tensor<2xf32> {tolerance = 0.6 : f64}
  %0 = stablehlo.custom_call @check.eq(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<i1>
  stablehlo.custom_call @check.expect_almost_eq(%a, %c) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  return
}

// -----

func.func @distance() {
  %a = stablehlo.constant dense<[0x3F800000, 0x7FC00000, 0x7F800000]> : tensor<3xf32>
  %b = stablehlo.constant dense<[0x3F800003, 0x7FA00001, 0x7F800000]> : tensor<3xf32>
  %c = stablehlo.constant dense<0x3F800001> : tensor<f32>
  %d = stablehlo.constant dense<1.0> : tensor<f32>
  check.expect_close %a, %b, max_ulp_difference = 3 : tensor<3xf32>, tensor<3xf32>
  check.expect_close %c, %d, max_ulp_difference = 1, min_ulp_difference = 1 : tensor<f32>, tensor<f32>
  "check.expect_close"(%c, %d) : (tensor<f32>, tensor<f32>) -> ()
  stablehlo.custom_call @check.expect_close(%a, %b) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
  return
}

// -----

func.func @own_bounds() {
  %a = stablehlo.constant dense<[1.0, 0x7F800000, 0x7FC00000, -0.0]> : tensor<4xf32>
  %b = stablehlo.constant dense<[1.5, 0x7F800000, 0x7FC00000, 0.0]> : tensor<4xf32>
  %bounds = stablehlo.constant dense<[0.5, 0.0, 0.0, 0.0]> : tensor<4xf32>
  check.expect_is_close %a, %b, %bounds, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  "check.expect_is_close"(%a, %b, %bounds) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> ()
  return
}

// -----

func.func @tokens() {
  %0 = stablehlo.after_all : !stablehlo.token
  %1 = stablehlo.after_all %0, %0 : !stablehlo.token
  check.expect_eq %0, %1 : !stablehlo.token
  return
}

// -----

func.func @probes() {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %three = stablehlo.constant dense<3> : tensor<i64>
  %i, %sum = stablehlo.while(%a = %zero, %b = %zero) : tensor<i64>, tensor<i64>
  cond {
    %0 = stablehlo.compare LT, %a, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %0 : tensor<i1>
  } do {
    %0 = stablehlo.add %a, %one : tensor<i64>
    %1 = stablehlo.add %b, %0 : tensor<i64>
    %2 = interpreter.probe %1, probe_id = "the \"sum\"/1" : tensor<i64>
    stablehlo.return %0, %2 : tensor<i64>, tensor<i64>
  }
  interpreter.print %sum : tensor<i64>
  check.expect_serialized_eq %one, probe_id = "the \"sum\"/1" : tensor<i64>
  check.expect_serialized_eq %three, probe_id = "the \"sum\"/1", iter = 1 : tensor<i64>
  "check.expect_serialized_eq"(%sum) <{iteration = 2 : ui32, probe_id = "the \"sum\"/1"}> : (tensor<i64>) -> ()
  return
}

// -----

module @one_device {
  func.func @fed(%token: !stablehlo.token) -> (tensor<2xi64>, tensor<2xi64>) {
    %0:2 = "stablehlo.infeed"(%token) {infeed_config = ""} : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
    %1:2 = "stablehlo.infeed"(%0#1) {infeed_config = ""} : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
    return %0#0, %1#0 : tensor<2xi64>, tensor<2xi64>
  }
  func.func @first() -> tensor<2xi64> {
    %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    return %0 : tensor<2xi64>
  }
  func.func @second() -> tensor<2xi64> {
    %0 = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
    return %0 : tensor<2xi64>
  }
  func.func @main() {
    %token = stablehlo.create_token : !stablehlo.token
    %0:2 = "interpreter.run_parallel"(%token) {
      infeed = [@first, @second],
      programs = [[@fed]]
    } : (!stablehlo.token) -> (tensor<2xi64>, tensor<2xi64>)
    check.expect_eq_const %0#0, dense<[1, 2]> : tensor<2xi64>
    check.expect_eq_const %0#1, dense<[3, 4]> : tensor<2xi64>
    return
  }
}
