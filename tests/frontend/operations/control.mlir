// Calls, loops, branches, composites.

module @calls {
  func.func @main() {
    %a = stablehlo.constant dense<3> : tensor<i32>
    %0:2 = call @both(%a) : (tensor<i32>) -> (tensor<i32>, tensor<f32>)
    check.expect_eq_const %0#0, dense<6> : tensor<i32>
    check.expect_eq_const %0#1, dense<3.0> : tensor<f32>
    %1 = "func.call"(%a) {callee = @twice} : (tensor<i32>) -> tensor<i32>
    check.expect_eq_const %1, dense<6> : tensor<i32>
    func.call @nothing() : () -> ()
    return
  }
  func.func private @both(%x: tensor<i32>) -> (tensor<i32>, tensor<f32>) {
    %0 = func.call @twice(%x) : (tensor<i32>) -> tensor<i32>
    %1 = stablehlo.convert %x : (tensor<i32>) -> tensor<f32>
    return %0, %1 : tensor<i32>, tensor<f32>
  }
  func.func private @twice(%x: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.add %x, %x : tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @nothing() {
    return
  }
}

// -----

func.func @while_with_outside_values() {
  %start = stablehlo.constant dense<0> : tensor<i64>
  %sum = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %v = stablehlo.iota dim = 0 : tensor<10xi64>
  %limit = stablehlo.reduce(%v init: %start) applies stablehlo.maximum across dimensions = [0] : (tensor<10xi64>, tensor<i64>) -> tensor<i64>
  %0:2 = stablehlo.while(%i = %start, %s = %sum) : tensor<i64>, tensor<i64> attributes {note = "kept"}
   cond {
    %p = stablehlo.compare LT, %i, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %s, %limit : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %j, %n : tensor<i64>, tensor<i64>
  }
  check.expect_eq_const %0#0, dense<9> : tensor<i64>
  check.expect_eq_const %0#1, dense<81> : tensor<i64>
  %1 = "stablehlo.while"(%start) ({
    ^bb0(%i: tensor<i64>):
      %p = stablehlo.compare NE, %i, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
    ^bb0(%i: tensor<i64>):
      %j = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %j : tensor<i64>
  }) : (tensor<i64>) -> tensor<i64>
  check.expect_eq %1, %limit : tensor<i64>
  return
}

// -----

func.func @branches() {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %x = stablehlo.iota dim = 0 : tensor<2xi64>
  %0 = "stablehlo.if"(%p) ({
    %a = stablehlo.add %x, %x : tensor<2xi64>
    stablehlo.return %a : tensor<2xi64>
  }, {
    stablehlo.return %x : tensor<2xi64>
  }) : (tensor<i1>) -> tensor<2xi64>
  check.expect_eq_const %0, dense<[0, 2]> : tensor<2xi64>
  %i = stablehlo.constant dense<-1> : tensor<i32>
  %c = stablehlo.constant dense<[9, 9]> : tensor<2xi64>
  %1:2 = "stablehlo.case"(%i) ({
    stablehlo.return %x, %x : tensor<2xi64>, tensor<2xi64>
  }, {
    %b = "stablehlo.if"(%p) ({
      stablehlo.return %c : tensor<2xi64>
    }, {
      stablehlo.return %x : tensor<2xi64>
    }) : (tensor<i1>) -> tensor<2xi64>
    stablehlo.return %b, %0 : tensor<2xi64>, tensor<2xi64>
  }) : (tensor<i32>) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq %1#0, %c : tensor<2xi64>
  check.expect_eq %1#1, %0 : tensor<2xi64>
  return
}

// -----

module @composites {
  func.func @main() {
    %a = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.composite "test.add_n" %a {
      composite_attributes = { n = 2 : i64, note = "two" },
      decomposition = @add_n.impl,
      version = 1 : i32
    } : (tensor<i64>) -> tensor<i64>
    check.expect_eq_const %0, dense<3> : tensor<i64>
    %1 = "stablehlo.composite"(%a) {name = "test.add_n", decomposition = @add_n.impl} : (tensor<i64>) -> tensor<i64>
    check.expect_eq %0, %1 : tensor<i64>
    return
  }
  func.func private @add_n.impl(%arg0: tensor<i64>) -> tensor<i64> {
    %0 = stablehlo.constant dense<2> : tensor<i64>
    %1 = stablehlo.add %arg0, %0 : tensor<i64>
    return %1 : tensor<i64>
  }
}

// -----

module @old_style_checks {
  func.func public @main() -> tensor<i1> {
    %0 = call @inputs() : () -> tensor<2x3xf32>
    %1 = call @expected() : () -> tensor<2x3xf32>
    %2 = stablehlo.negate %0 : tensor<2x3xf32>
    %3 = stablehlo.custom_call @check.eq(%2, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<i1>
    return %3 : tensor<i1>
  }
  func.func private @inputs() -> tensor<2x3xf32> {
    %0 = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  func.func private @expected() -> tensor<2x3xf32> {
    %0 = stablehlo.constant dense<[[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]]> : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}

// -----

module @checks_by_custom_call attributes {jax.uses_shape_polymorphism = false} {
  func.func public @main() -> (tensor<2xf32> {jax.result_info = "", mhlo.layout_mode = "default"}) {
    %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    stablehlo.custom_call @check.expect_close(%0, %0) {has_side_effect = true, max_ulp_difference = 1 : ui64} : (tensor<2xf32>, tensor<2xf32>) -> ()
    stablehlo.custom_call @check.expect_almost_eq(%0, %0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    "stablehlo.custom_call"(%0, %0) {call_target_name = "check.expect_eq", has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return %0 : tensor<2xf32>
  }
}
