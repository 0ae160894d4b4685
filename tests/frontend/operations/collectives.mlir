// Collectives among one participant, tokens, infeed and outfeed, send and receive.

func.func @one_participant() {
  %a = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = "stablehlo.all_reduce"(%a) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<0> : tensor<1x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %0, %a : tensor<2x2xf32>
  %1 = "stablehlo.all_gather"(%a) {all_gather_dim = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %1, %a : tensor<2x2xf32>
  %2 = "stablehlo.reduce_scatter"(%a) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.maximum %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {scatter_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %2, %a : tensor<2x2xf32>
  %3 = "stablehlo.all_to_all"(%a) {split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %3, %a : tensor<2x2xf32>
  %4 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %4, %a : tensor<2x2xf32>
  %5 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %5, dense<0.0> : tensor<2x2xf32>
  %6 = "stablehlo.collective_broadcast"(%a) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %6, %a : tensor<2x2xf32>
  %7 = "stablehlo.cross-replica-sum"(%a) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %7, %a : tensor<2x2xf32>
  %8 = "stablehlo.collective_reduce"(%a) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq %8, %a : tensor<2x2xf32>
  %r = stablehlo.replica_id : tensor<ui32>
  check.expect_eq_const %r, dense<0> : tensor<ui32>
  %q = "stablehlo.partition_id"() : () -> tensor<ui32>
  check.expect_eq %q, %r : tensor<ui32>
  return
}

// -----

func.func @tokens() {
  %t = stablehlo.create_token : !stablehlo.token
  %u = stablehlo.after_all %t, %t : !stablehlo.token
  %0:3 = "stablehlo.infeed"(%u) {infeed_config = "", layout = [[0, 1], [0]]} : (!stablehlo.token) -> (tensor<2x2xi64>, tensor<3xf32>, !stablehlo.token)
  check.expect_eq_const %0#1, dense<0.0> : tensor<3xf32>
  %v = "stablehlo.outfeed"(%0#0, %0#1, %0#2) {outfeed_config = "x"} : (tensor<2x2xi64>, tensor<3xf32>, !stablehlo.token) -> !stablehlo.token
  %w = "stablehlo.send"(%0#0, %v) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<2x2xi64>, !stablehlo.token) -> !stablehlo.token
  %1:2 = "stablehlo.recv"(%w) {channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
  check.expect_eq_const %1#0, dense<0> : tensor<2xi32>
  stablehlo.trace %1#0, "a trace" : tensor<2xi32>
  return
}

// -----

func.func @asynchronous() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = "stablehlo.async_start"(%a, %a) ({
  ^bb0(%x: tensor<2xf32>, %y: tensor<2xf32>):
    %1 = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    %2 = stablehlo.add %y, %a : tensor<2xf32>
    stablehlo.return %1, %2 : tensor<2xf32>, tensor<2xf32>
  }) : (tensor<2xf32>, tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>, tensor<2xf32>>
  %1:2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xf32>, tensor<2xf32>>) -> (tensor<2xf32>, tensor<2xf32>)
  check.expect_eq %1#0, %a : tensor<2xf32>
  check.expect_eq_const %1#1, dense<[2.0, 4.0]> : tensor<2xf32>
  return
}

// -----

func.func @groups() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = "stablehlo.all_reduce"(%a) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {replica_groups = dense<> : tensor<0x0xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq %0, %a : tensor<2xf32>
  %1 = "stablehlo.collective_permute"(%a) {source_target_pairs = dense<> : tensor<0x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %1, dense<0.0> : tensor<2xf32>
  return
}
