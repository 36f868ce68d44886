// RUN: invalid
// terminator in the middle
// expect: OC1455
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  "func.return"() : () -> ()
  %x = "arith.addi"(%a, %a) : (i32, i32) -> i32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// no terminator
// expect: OC1455
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.addi"(%a, %a) : (i32, i32) -> i32
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// empty block
// expect: OC1455
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// terminator in a module
// expect: OC1455
"builtin.module"() ({
  "scf.yield"() : () -> ()
}) : () -> ()
