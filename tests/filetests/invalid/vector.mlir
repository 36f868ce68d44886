// RUN: invalid
// position
// expect: OC1430
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "vector.extract"(%v) {static_position = array<i64: 8>} : (vector<8xf16>) -> f16
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// no position
// expect: OC1430
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "vector.extract"(%v) {static_position = array<i64>} : (vector<8xf16>) -> f16
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// extracted type
// expect: OC1432
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "vector.extract"(%v) {static_position = array<i64: 0>} : (vector<8xf16>) -> f32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// inserted type
// expect: OC1432
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "vector.insert"(%x, %v) {static_position = array<i64: 0>} : (f32, vector<8xf16>) -> vector<8xf16>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// broadcast
// expect: OC1432
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "vector.broadcast"(%x) : (f32) -> vector<8xf16>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// elements
// expect: OC1432
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "vector.from_elements"(%x, %x) : (f32, f32) -> vector<3xf32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// mask
// expect: OC1431
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "vector.shuffle"(%v, %v) {mask = array<i64: 16>} : (vector<8xf16>, vector<8xf16>) -> vector<1xf16>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// shuffled type
// expect: OC1432
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "vector.shuffle"(%v, %v) {mask = array<i64: 1>} : (vector<8xf16>, vector<8xf16>) -> vector<2xf16>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// vector bitcast
// expect: OC1432
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "vector.bitcast"(%v) : (vector<8xf16>) -> vector<8xf32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// reduction kind
// expect: OC1433
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "vector.reduction"(%v) {kind = #vector.kind<nope>} : (vector<8xf16>) -> f16
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// reduced type
// expect: OC1432
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "vector.reduction"(%v) {kind = #vector.kind<add>} : (vector<8xf16>) -> f32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
