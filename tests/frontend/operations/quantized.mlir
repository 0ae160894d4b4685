// Quantised tensors: stored integers, dequantised for every computation.

func.func @quantize_and_dequantize() {
  %x = stablehlo.constant dense<[4.0, 15.0, -3.1, 1000.0]> : tensor<4xf32>
  %0 = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.5:-20>>
  %1 = stablehlo.bitcast_convert %0 : (tensor<4x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<4xi8>
  check.expect_eq_const %1, dense<[-12, 10, -26, 127]> : tensor<4xi8>
  %2 = stablehlo.uniform_dequantize %0 : (tensor<4x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<4xf32>
  check.expect_eq_const %2, dense<[4.0, 15.0, -3.0, 73.5]> : tensor<4xf32>
  return
}

// -----

func.func @per_axis() {
  %x = stablehlo.constant dense<[[1.0, 1.0], [2.0, -2.0]]> : tensor<2x2xf32>
  %0 = stablehlo.uniform_quantize %x : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8<-127:127>:f32:1, {0.5:1, 0.25}>>
  %1 = stablehlo.bitcast_convert %0 : (tensor<2x2x!quant.uniform<i8<-127:127>:f32:1, {0.5:1, 0.25}>>) -> tensor<2x2xi8>
  check.expect_eq_const %1, dense<[[3, 4], [5, -8]]> : tensor<2x2xi8>
  %2 = stablehlo.uniform_dequantize %0 : (tensor<2x2x!quant.uniform<i8<-127:127>:f32:1, {0.5:1, 0.25}>>) -> tensor<2x2xf32>
  check.expect_eq %2, %x : tensor<2x2xf32>
  return
}

// -----

func.func @computations() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<[0.5, 100.0]> : tensor<2xf32>
  %0 = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<ui8:f32, 0.5:3>>
  %1 = stablehlo.uniform_quantize %y : (tensor<2xf32>) -> tensor<2x!quant.uniform<ui8:f32, 0.5:3>>
  %2 = stablehlo.add %0, %1 : tensor<2x!quant.uniform<ui8:f32, 0.5:3>>
  %3 = stablehlo.uniform_dequantize %2 : (tensor<2x!quant.uniform<ui8:f32, 0.5:3>>) -> tensor<2xf32>
  check.expect_eq_const %3, dense<[1.5, 102.0]> : tensor<2xf32>
  %4 = stablehlo.dot_general %x, %0, contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2x!quant.uniform<ui8:f32, 0.5:3>>) -> tensor<f32>
  check.expect_eq_const %4, dense<5.0> : tensor<f32>
  %5 = stablehlo.constant dense<[5, 7]> : tensor<2x!quant.uniform<ui8:f32, 0.5:3>>
  %6 = stablehlo.uniform_dequantize %5 : (tensor<2x!quant.uniform<ui8:f32, 0.5:3>>) -> tensor<2xf32>
  check.expect_eq_const %6, dense<[1.0, 2.0]> : tensor<2xf32>
  return
}

// -----

func.func @stored_integers() {
  %0 = stablehlo.constant dense<[10, 10]> : tensor<2xi8>
  %1 = stablehlo.bitcast_convert %0 : (tensor<2xi8>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5:-2, 0.25:2}>>
  %2 = stablehlo.uniform_dequantize %1 : (tensor<2x!quant.uniform<i8:f32:0, {0.5:-2, 0.25:2}>>) -> tensor<2xf32>
  check.expect_eq_const %2, dense<[6.0, 2.0]> : tensor<2xf32>
  %3 = stablehlo.constant() {value = dense<[1, 2]> : tensor<2xi8>} : () -> tensor<2x!quant.uniform<i8:f32, 0.5:-3>>
  %4 = stablehlo.uniform_dequantize %3 : (tensor<2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2xf32>
  check.expect_eq_const %4, dense<[2.0, 2.5]> : tensor<2xf32>
  return
}
