// RUN: mlir-opt
// Vectors: elements in and out, shuffles, reductions in ascending order.
// run: @dot(1.0, 2.0) == 5.0
// run: @swap(1, 2) == (2, 1)
// run: @spread(7) == 28
// run: @bits(1, 2) == 8589934593
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%a: f32, %b: f32):
    %v = "vector.from_elements"(%a, %b) : (f32, f32) -> vector<2xf32>
    %w = "arith.mulf"(%v, %v) : (vector<2xf32>, vector<2xf32>) -> vector<2xf32>
    %r = "vector.reduction"(%w) {kind = #vector.kind<add>} : (vector<2xf32>) -> f32
    "func.return"(%r) : (f32) -> ()
  }) {sym_name = "dot", function_type = (f32, f32) -> f32} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32, %b: i32):
    %v = "vector.from_elements"(%a, %b) : (i32, i32) -> vector<2xi32>
    %w = "vector.shuffle"(%v, %v) {mask = array<i64: 1, 2>} : (vector<2xi32>, vector<2xi32>) -> vector<2xi32>
    %x = "vector.extract"(%w) {static_position = array<i64: 0>} : (vector<2xi32>) -> i32
    %y = "vector.extract"(%w) {static_position = array<i64: 1>} : (vector<2xi32>) -> i32
    "func.return"(%x, %y) : (i32, i32) -> ()
  }) {sym_name = "swap", function_type = (i32, i32) -> (i32, i32)} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32):
    %v = "vector.broadcast"(%a) : (i32) -> vector<4xi32>
    %r = "vector.reduction"(%v) {kind = #vector.kind<add>} : (vector<4xi32>) -> i32
    "func.return"(%r) : (i32) -> ()
  }) {sym_name = "spread", function_type = (i32) -> i32} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32, %b: i32):
    %z = "arith.constant"() {value = dense<0> : vector<2xi32>} : () -> vector<2xi32>
    %u = "vector.insert"(%a, %z) {static_position = array<i64: 0>} : (i32, vector<2xi32>) -> vector<2xi32>
    %v = "vector.insert"(%b, %u) {static_position = array<i64: 1>} : (i32, vector<2xi32>) -> vector<2xi32>
    %w = "vector.bitcast"(%v) : (vector<2xi32>) -> vector<1xi64>
    %r = "vector.extract"(%w) {static_position = array<i64: 0>} : (vector<1xi64>) -> i64
    "func.return"(%r) : (i64) -> ()
  }) {sym_name = "bits", function_type = (i32, i32) -> i64} : () -> ()
}) : () -> ()
