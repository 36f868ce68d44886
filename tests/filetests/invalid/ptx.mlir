// RUN: invalid
// register
// expect: OC1448
"func.func"() ({
^bb0(%p: !cute.ptr<f16, gmem, align<16>>, %n: i64, %m: i32, %v: vector<8xf16>, %x: f32, %q: !cute.ptr<i1, rmem, align<1>>):
  %r = "ptx.sreg"() {reg = "nope"} : () -> i32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (!cute.ptr<f16, gmem, align<16>>, i64, i32, vector<8xf16>, f32, !cute.ptr<i1, rmem, align<1>>) -> ()} : () -> ()
