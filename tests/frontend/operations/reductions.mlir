// Operations that apply a region.

func.func @reduce() {
  %a = stablehlo.constant dense<[[0, 1, 2, 3, 4, 5]]> : tensor<1x6xi64>
  %z = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<1x6xi64>, tensor<i64>) -> tensor<1xi64>
  check.expect_eq_const %0, dense<[15]> : tensor<1xi64>
  %1 = "stablehlo.reduce"(%a, %z) ({
    ^bb0(%x: tensor<i64>, %y: tensor<i64>):
      %s = "stablehlo.add"(%x, %y) : (tensor<i64>, tensor<i64>) -> tensor<i64>
      "stablehlo.return"(%s) : (tensor<i64>) -> ()
  }) {dimensions = dense<[0, 1]> : tensor<2xi64>} : (tensor<1x6xi64>, tensor<i64>) -> tensor<i64>
  check.expect_eq_const %1, dense<15> : tensor<i64>
  %f = stablehlo.constant dense<[[3.0, 9.0, 2.0], [4.0, 4.0, 7.0]]> : tensor<2x3xf32>
  %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %p = stablehlo.iota dim = 1 : tensor<2x3xi32>
  %m = stablehlo.constant dense<-1> : tensor<i32>
  %2:2 = stablehlo.reduce(%f init: %n), (%p init: %m) across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
   reducer(%u: tensor<f32>, %v: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {
    %t = stablehlo.compare GE, %u, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %best = stablehlo.select %t, %u, %v : tensor<i1>, tensor<f32>
    %place = stablehlo.select %t, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %best, %place : tensor<f32>, tensor<i32>
  }
  check.expect_eq_const %2#0, dense<[9.0, 7.0]> : tensor<2xf32>
  check.expect_eq_const %2#1, dense<[1, 2]> : tensor<2xi32>
  %three = stablehlo.constant dense<3> : tensor<i64>
  %3 = stablehlo.reduce(%a init: %z) across dimensions = [1] : (tensor<1x6xi64>, tensor<i64>) -> tensor<1xi64>
   reducer(%x: tensor<i64>, %y: tensor<i64>)  {
    %k = stablehlo.multiply %y, %three : tensor<i64>
    %s = stablehlo.add %x, %k : tensor<i64>
    stablehlo.return %s : tensor<i64>
  }
  check.expect_eq_const %3, dense<[45]> : tensor<1xi64>
  return
}

// -----

func.func @reduce_window() {
  %a = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>
  %z = stablehlo.constant dense<0> : tensor<i64>
  %0 = "stablehlo.reduce_window"(%a, %z) ({
    ^bb0(%x: tensor<i64>, %y: tensor<i64>):
      %s = stablehlo.add %x, %y : tensor<i64>
      stablehlo.return %s : tensor<i64>
  }) {
    window_dimensions = array<i64: 2, 1>,
    window_strides = array<i64: 4, 1>,
    base_dilations = array<i64: 2, 1>,
    window_dilations = array<i64: 3, 1>,
    padding = dense<[[2, 1], [0, 0]]> : tensor<2x2xi64>
  } : (tensor<3x2xi64>, tensor<i64>) -> tensor<2x2xi64>
  check.expect_eq_const %0, dense<[[0, 0], [3, 4]]> : tensor<2x2xi64>
  %1:2 = "stablehlo.reduce_window"(%a, %a, %z, %z) <{window_dimensions = dense<[3, 1]> : tensor<2xi64>}> ({
    ^bb0(%x0: tensor<i64>, %x1: tensor<i64>, %y0: tensor<i64>, %y1: tensor<i64>):
      %s = stablehlo.add %x0, %y0 : tensor<i64>
      %m = stablehlo.maximum %x1, %y1 : tensor<i64>
      stablehlo.return %s, %m : tensor<i64>, tensor<i64>
  }) : (tensor<3x2xi64>, tensor<3x2xi64>, tensor<i64>, tensor<i64>) -> (tensor<1x2xi64>, tensor<1x2xi64>)
  check.expect_eq_const %1#0, dense<[[9, 12]]> : tensor<1x2xi64>
  check.expect_eq_const %1#1, dense<[[5, 6]]> : tensor<1x2xi64>
  return
}

// -----

func.func @select_and_scatter() {
  %a = stablehlo.constant dense<[[1, 5], [2, 5], [3, 6], [4, 4]]> : tensor<4x2xi64>
  %s = stablehlo.constant dense<[[5, 6], [7, 8]]> : tensor<2x2xi64>
  %z = stablehlo.constant dense<0> : tensor<i64>
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) ({
    ^bb0(%x: tensor<i64>, %y: tensor<i64>):
      %p = stablehlo.compare GE, %x, %y : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }, {
    ^bb0(%x: tensor<i64>, %y: tensor<i64>):
      %t = stablehlo.add %x, %y : tensor<i64>
      stablehlo.return %t : tensor<i64>
  }) {
    window_dimensions = array<i64: 3, 1>,
    window_strides = array<i64: 2, 1>,
    padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>
  } : (tensor<4x2xi64>, tensor<2x2xi64>, tensor<i64>) -> tensor<4x2xi64>
  check.expect_eq_const %0, dense<[[0, 0], [0, 0], [5, 14], [7, 0]]> : tensor<4x2xi64>
  return
}

// -----

func.func @sort() {
  %a = stablehlo.constant dense<[[1, 2, 3], [3, 2, 1]]> : tensor<2x3xi64>
  %b = stablehlo.constant dense<[[3, 2, 1], [1, 2, 3]]> : tensor<2x3xi64>
  %0:2 = "stablehlo.sort"(%a, %b) ({
    ^bb0(%x: tensor<i64>, %y: tensor<i64>, %u: tensor<i64>, %v: tensor<i64>):
      %p = stablehlo.compare GT, %x, %y : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<2x3xi64>, tensor<2x3xi64>) -> (tensor<2x3xi64>, tensor<2x3xi64>)
  check.expect_eq_const %0#0, dense<[[3, 2, 3], [1, 2, 1]]> : tensor<2x3xi64>
  check.expect_eq_const %0#1, dense<[[1, 2, 1], [3, 2, 3]]> : tensor<2x3xi64>
  %1 = "stablehlo.sort"(%a) ({
    ^bb0(%x: tensor<i64>, %y: tensor<i64>):
      %p = stablehlo.compare LT, %x, %y : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
  }) : (tensor<2x3xi64>) -> tensor<2x3xi64>
  check.expect_eq_const %1, dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi64>
  return
}

// -----

func.func @map() {
  %a = stablehlo.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
  %b = stablehlo.constant dense<[4, 5, 6, 7]> : tensor<4xi64>
  %0 = "stablehlo.map"(%a, %b) ({
    ^bb0(%x: tensor<i64>, %y: tensor<i64>):
      %s = stablehlo.multiply %x, %y : tensor<i64>
      stablehlo.return %s : tensor<i64>
  }) {dimensions = array<i64: 0>} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  check.expect_eq_const %0, dense<[0, 5, 12, 21]> : tensor<4xi64>
  return
}

// -----

func.func @scan() {
  %a = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %z = stablehlo.constant dense<0> : tensor<2xi32>
  %0:2 = chlo.scan(%a) inits(%z) dimension=1 attributes {is_reverse = true} {
  ^bb0(%x: tensor<2xi32>, %c: tensor<2xi32>):
    %s = stablehlo.add %x, %c : tensor<2xi32>
    stablehlo.return %s, %s : tensor<2xi32>, tensor<2xi32>
  } : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)
  check.expect_eq_const %0#0, dense<[[6, 5, 3], [15, 11, 6]]> : tensor<2x3xi32>
  check.expect_eq_const %0#1, dense<[6, 15]> : tensor<2xi32>
  return
}
