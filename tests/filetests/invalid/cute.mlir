// RUN: invalid
// dynamic integers
// expect: OC1440
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "cute.tile_load"(%p, %m) {layout = #cute.layout<"8:?{i64}">} : (!cute.ptr<f16, gmem, align<16>>, i32) -> vector<8xf16>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// tile size
// expect: OC1441
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "cute.tile_load"(%p) {layout = #cute.layout<"4:1">} : (!cute.ptr<f16, gmem, align<16>>) -> vector<8xf16>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// dynamic size
// expect: OC1441
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  "cute.tile_store"(%v, %p, %n) {layout = #cute.layout<"?{i64}:1">} : (vector<8xf16>, !cute.ptr<f16, gmem, align<16>>, i64) -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// element
// expect: OC1442
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "cute.load"(%p) : (!cute.ptr<f16, gmem, align<16>>) -> f32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// stored element
// expect: OC1442
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  "cute.store"(%x, %p) : (f32, !cute.ptr<f16, gmem, align<16>>) -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// profile
// expect: OC1444
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "cute.tile_load"(%p) {layout = #cute.layout<"(2,4):1">} : (!cute.ptr<f16, gmem, align<16>>) -> vector<8xf16>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// copy sizes
// expect: OC1443
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  "cute.copy"(%p, %p) {atom = "a", bits = 0 : i64, src_layout = #cute.layout<"8:1">, dst_layout = #cute.layout<"4:1">, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (!cute.ptr<f16, gmem, align<16>>, !cute.ptr<f16, gmem, align<16>>) -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// copy predicate
// expect: OC1445
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  "cute.copy"(%p, %p, %q) {atom = "a", bits = 0 : i64, src_layout = #cute.layout<"8:1">, dst_layout = #cute.layout<"8:1">, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>} : (!cute.ptr<f16, gmem, align<16>>, !cute.ptr<f16, gmem, align<16>>, !cute.ptr<i1, rmem, align<1>>) -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// pointer types
// expect: OC1446
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "cute.ptr_add"(%p, %n) : (!cute.ptr<f16, gmem, align<16>>, i64) -> !cute.ptr<f32, gmem, align<4>>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// rounding
// expect: OC1447
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "cute.convert"(%x) {rounding = "up", saturate = 0 : i64} : (f32) -> f16
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
// -----
// convert
// expect: OC1447
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "cute.convert"(%v) {rounding = "rn", saturate = 0 : i64} : (vector<8xf16>) -> f32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
