// RUN: invalid
// symbol twice
// expect: OC1457
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%a: i32, %f: f32, %c: i1):
    "func.return"() : () -> ()
  }) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32, %f: f32, %c: i1):
    "func.return"() : () -> ()
  }) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
}) : () -> ()
// -----
// symbol missing
// expect: OC1458
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%a: i32, %f: f32, %c: i1):
    "func.call"() {callee = @g} : () -> ()
    "func.return"() : () -> ()
  }) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
}) : () -> ()
// -----
// call of a wrong kind
// expect: OC1418
"builtin.module"() ({
  "gpu.module"() ({
  ^bb0:
  }) {sym_name = "g"} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32, %f: f32, %c: i1):
    "func.call"() {callee = @g} : () -> ()
    "func.return"() : () -> ()
  }) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
}) : () -> ()
// -----
// call with wrong arguments
// expect: OC1419
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%a: i32, %f: f32, %c: i1):
    "func.call"(%f) {callee = @f} : (f32) -> ()
    "func.return"() : () -> ()
  }) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
}) : () -> ()
// -----
// arguments of a function
// expect: OC1415
"func.func"() ({
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32) -> ()} : () -> ()
// -----
// type of a function
// expect: OC1415
"func.func"() ({
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = i32} : () -> ()
// -----
// return elsewhere
// expect: OC1416
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  "gpu.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// returned values
// expect: OC1417
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> i32} : () -> ()
