// RUN: invalid
// unknown operation
// expect: OC1450
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  "arith.nope"() : () -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// operands
// expect: OC1402
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.addi"(%a) : (i32) -> i32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// operand type
// expect: OC1404
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.addi"(%f, %f) : (f32, f32) -> f32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// same type
// expect: OC1403
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.addi"(%a, %c) : (i32, i1) -> i32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// results
// expect: OC1405
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  "arith.addi"(%a, %a) : (i32, i32) -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// result type
// expect: OC1406
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.cmpi"(%a, %a) {predicate = 0 : i64} : (i32, i32) -> i32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// attribute missing
// expect: OC1407
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.cmpi"(%a, %a) : (i32, i32) -> i1
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// attribute kind
// expect: OC1407
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.cmpi"(%a, %a) {predicate = "eq"} : (i32, i32) -> i1
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// regions
// expect: OC1408
"builtin.module"() : () -> ()
// -----
// blocks
// expect: OC1409
"builtin.module"() ({
^bb0:
^bb1:
}) : () -> ()
// -----
// no blocks
// expect: OC1409
"builtin.module"() ({
}) : () -> ()
// -----
// segments
// expect: OC1401
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  "gpu.launch_func"() {kernel = @k} : () -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// segment sizes
// expect: OC1402
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  "gpu.launch_func"() {kernel = @k, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>} : () -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// negative segment
// expect: OC1402
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  "gpu.launch_func"(%a, %a, %a, %a, %a, %a) {kernel = @k, operandSegmentSizes = array<i32: -1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0>} : (i32, i32, i32, i32, i32, i32) -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
