// RUN: invalid
// constant
// expect: OC1420
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.constant"() {value = 1 : i8} : () -> i32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// dense constant
// expect: OC1420
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.constant"() {value = "v"} : () -> i32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// select
// expect: OC1421
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.select"(%c, %a, %f) : (i1, i32, f32) -> i32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// cast
// expect: OC1422
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.extsi"(%a) : (i32) -> i8
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// predicate
// expect: OC1423
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.cmpi"(%a, %a) {predicate = 10 : i64} : (i32, i32) -> i1
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// lanes of a comparison
// expect: OC1424
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.cmpi"(%a, %a) {predicate = 1 : i64} : (i32, i32) -> vector<2xi1>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// lanes of a cast
// expect: OC1422
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %x = "arith.sitofp"(%a) : (i32) -> vector<2xf32>
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
