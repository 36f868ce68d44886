// RUN: invalid
// yield missing
// expect: OC1410
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  "scf.if"(%c) ({
    "func.return"() : () -> ()
  }, {
    "func.return"() : () -> ()
  }) : (i1) -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// yield of wrong types
// expect: OC1411
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  %r = "scf.if"(%c) ({
    "scf.yield"(%f) : (f32) -> ()
  }, {
    "scf.yield"(%a) : (i32) -> ()
  }) : (i1) -> i32
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// loop-carried types
// expect: OC1412
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  "scf.for"(%a, %a, %a) ({
  ^bb0(%i: i64):
    "scf.yield"() : () -> ()
  }) : (i32, i32, i32) -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
// -----
// while arguments
// expect: OC1413
"func.func"() ({
^bb0(%a: i32, %f: f32, %c: i1):
  "scf.while"(%a) ({
  ^bb0(%i: f32):
    "scf.condition"(%c) : (i1) -> ()
  }, {
    "scf.yield"(%a) : (i32) -> ()
  }) : (i32) -> ()
  "func.return"() : () -> ()
}) {sym_name = "f", function_type = (i32, f32, i1) -> ()} : () -> ()
