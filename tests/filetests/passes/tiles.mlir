// RUN: passes tiles simplify
// One access as wide as the alignment; the offset of a row is a getelementptr.
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %s: i64):
  %v = "cute.tile_load"(%p, %s) {layout = #cute.layout<"(8,2):(1,?{i64 div=8})">} : (!cute.ptr<f16, gmem, align<16>>, i64) -> vector<16xf16>
  "cute.tile_store"(%v, %p) {layout = #cute.layout<"16:1">} : (vector<16xf16>, !cute.ptr<f16, gmem, align<16>>) -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64) -> ()} : () -> ()
// AFTER
"func.func"() ({
^bb0(%p: !llvm.ptr<1>, %s: i64):
  %0 = "llvm.load"(%p) {alignment = 16 : i64} : (!llvm.ptr<1>) -> vector<8xf16>
  %1 = "llvm.getelementptr"(%p, %s) {rawConstantIndices = array<i32: -2147483648>, elem_type = f16} : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>
  %2 = "llvm.load"(%1) {alignment = 16 : i64} : (!llvm.ptr<1>) -> vector<8xf16>
  %v = "vector.shuffle"(%0, %2) {mask = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>} : (vector<8xf16>, vector<8xf16>) -> vector<16xf16>
  "llvm.store"(%v, %p) {alignment = 16 : i64} : (vector<16xf16>, !llvm.ptr<1>) -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!llvm.ptr<1>, i64) -> (), cute.arg_align = array<i32: 16, 0>} : () -> ()
// -----
// A fragment that is always written before it is read is no memory.
// run: @f(4) == 4
"func.func"() ({
^bb0(%a: i32):
  %frag = "cute.alloca"() {count = 2 : i64} : () -> !cute.ptr<i32, rmem, align<4>>
  "cute.store"(%a, %frag) : (i32, !cute.ptr<i32, rmem, align<4>>) -> ()
  %v = "cute.load"(%frag) : (!cute.ptr<i32, rmem, align<4>>) -> i32
  "func.return"(%v) : (i32) -> ()
}) {sym_name = "f", function_type = (i32) -> i32} : () -> ()
// AFTER
"func.func"() ({
^bb0(%a: i32):
  "func.return"(%a) : (i32) -> ()
}) {sym_name = "f", function_type = (i32) -> i32, cute.arg_align = array<i32: 0>} : () -> ()
