// Linear algebra, Fourier transforms, normalisation, random bits.

func.func @fft() {
  %a = stablehlo.constant dense<[(1.0,0.0), (2.0,0.0), (3.0,0.0), (4.0,0.0)]> : tensor<4xcomplex<f32>>
  %0 = stablehlo.fft %a, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  check.expect_almost_eq_const %0, dense<[(10.0,0.0), (-2.0,2.0), (-2.0,0.0), (-2.0,-2.0)]> : tensor<4xcomplex<f32>>
  %1 = stablehlo.fft %0, type = IFFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  check.expect_almost_eq %1, %a : tensor<4xcomplex<f32>>
  %r = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %2 = "stablehlo.fft"(%r) {fft_type = #stablehlo<fft_type RFFT>, fft_length = dense<4> : tensor<1xi64>} : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
  check.expect_almost_eq_const %2, dense<[(10.0,0.0), (-2.0,2.0), (-2.0,0.0)]> : tensor<3xcomplex<f32>>
  %3 = stablehlo.fft %2, type = IRFFT, length = [4] : (tensor<3xcomplex<f32>>) -> tensor<4xf32>
  check.expect_almost_eq %3, %r : tensor<4xf32>
  return
}

// -----

func.func @cholesky_and_triangular_solve() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [2.0, 20.0, 26.0], [3.0, 26.0, 70.0]]> : tensor<3x3xf32>
  %0 = stablehlo.cholesky %a, lower = true : tensor<3x3xf32>
  check.expect_almost_eq_const %0, dense<[[1.0, 0.0, 0.0], [2.0, 4.0, 0.0], [3.0, 5.0, 6.0]]> : tensor<3x3xf32>
  %1 = "stablehlo.cholesky"(%a) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  check.expect_almost_eq_const %1, dense<[[1.0, 2.0, 3.0], [0.0, 4.0, 5.0], [0.0, 0.0, 6.0]]> : tensor<3x3xf32>
  %b = stablehlo.constant dense<[[2.0, 0.0, 0.0], [4.0, 8.0, 0.0], [6.0, 10.0, 12.0]]> : tensor<3x3xf32>
  %2 = "stablehlo.triangular_solve"(%0, %b) {
    left_side = true, lower = true, unit_diagonal = false,
    transpose_a = #stablehlo<transpose NO_TRANSPOSE>
  } : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  check.expect_almost_eq_const %2, dense<[[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]> : tensor<3x3xf32>
  return
}

// -----

func.func @batch_normalisation() {
  %a = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 2.0]]]> : tensor<2x2x2xf64>
  %scale = stablehlo.constant dense<1.0> : tensor<2xf64>
  %offset = stablehlo.constant dense<1.0> : tensor<2xf64>
  %mean = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf64>
  %variance = stablehlo.constant dense<1.0> : tensor<2xf64>
  %0 = "stablehlo.batch_norm_inference"(%a, %scale, %offset, %mean, %variance) {
    epsilon = 0.0 : f32, feature_index = 2 : i64
  } : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2x2xf64>
  check.expect_eq_const %0, dense<[[[0.0, 0.0], [2.0, 2.0]], [[2.0, 2.0], [0.0, 0.0]]]> : tensor<2x2x2xf64>
  %1:3 = "stablehlo.batch_norm_training"(%a, %scale, %offset) <{epsilon = 0.0 : f32, feature_index = 2 : i64}> : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_eq %1#0, %0 : tensor<2x2x2xf64>
  check.expect_eq %1#1, %mean : tensor<2xf64>
  check.expect_eq %1#2, %variance : tensor<2xf64>
  %g = stablehlo.constant dense<0.1> : tensor<2x2x2xf64>
  %2:3 = "stablehlo.batch_norm_grad"(%a, %scale, %mean, %variance, %g) {
    epsilon = 0.0 : f32, feature_index = 2 : i64
  } : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x2x2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %2#0, dense<0.0> : tensor<2x2x2xf64>
  check.expect_almost_eq_const %2#1, dense<0.0> : tensor<2xf64>
  check.expect_almost_eq_const %2#2, dense<0.4> : tensor<2xf64>
  return
}

// -----

func.func @random_bits() {
  %state = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %0, %1 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui64>)
  check.expect_eq_const %0, dense<[1, 6]> : tensor<2xui64>
  check.expect_eq_const %1, dense<[[9236835810183407956, 16087790271692313299], [18212823393184779219, 2658481902456610144]]> : tensor<2x2xui64>
  %2:2 = "stablehlo.rng_bit_generator"(%state) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui32>)
  check.expect_eq_const %2#0, dense<[1, 3]> : tensor<2xui64>
  %low = stablehlo.constant dense<5> : tensor<i32>
  %high = stablehlo.constant dense<6> : tensor<i32>
  %shape = stablehlo.constant dense<[3]> : tensor<1xi64>
  %3 = stablehlo.rng %low, %high, %shape, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<3xi32>
  check.expect_eq_const %3, dense<5> : tensor<3xi32>
  return
}
