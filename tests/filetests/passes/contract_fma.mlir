// RUN: passes contract_fma
// A product that is only added becomes one fma; one that is used again stays.
// run: @f(2.0, 3.0, 4.0) == (10.0, 14.0)
"func.func"() ({
^bb0(%a: f32, %b: f32, %c: f32):
  %p = "arith.mulf"(%a, %b) : (f32, f32) -> f32
  %s = "arith.addf"(%p, %c) : (f32, f32) -> f32
  %q = "arith.mulf"(%b, %c) : (f32, f32) -> f32
  %d = "arith.subf"(%q, %a) : (f32, f32) -> f32
  %e = "arith.addf"(%d, %q) : (f32, f32) -> f32
  %g = "arith.subf"(%e, %b) : (f32, f32) -> f32
  %h = "arith.subf"(%g, %s) : (f32, f32) -> f32
  %k = "arith.addf"(%h, %b) : (f32, f32) -> f32
  %m = "arith.addf"(%k, %a) : (f32, f32) -> f32
  "func.return"(%s, %m) : (f32, f32) -> ()
}) {sym_name = "f", function_type = (f32, f32, f32) -> (f32, f32)} : () -> ()
// AFTER
"func.func"() ({
^bb0(%a: f32, %b: f32, %c: f32):
  %s = "math.fma"(%a, %b, %c) : (f32, f32, f32) -> f32
  %q = "arith.mulf"(%b, %c) : (f32, f32) -> f32
  %d = "arith.subf"(%q, %a) : (f32, f32) -> f32
  %e = "arith.addf"(%d, %q) : (f32, f32) -> f32
  %g = "arith.subf"(%e, %b) : (f32, f32) -> f32
  %h = "arith.subf"(%g, %s) : (f32, f32) -> f32
  %k = "arith.addf"(%h, %b) : (f32, f32) -> f32
  %m = "arith.addf"(%k, %a) : (f32, f32) -> f32
  "func.return"(%s, %m) : (f32, f32) -> ()
}) {sym_name = "f", function_type = (f32, f32, f32) -> (f32, f32)} : () -> ()
// -----
// A difference negates what is subtracted.
// run: @f(2.0, 3.0, 4.0) == (2.0, -2.0)
"func.func"() ({
^bb0(%a: f32, %b: f32, %c: f32):
  %p = "arith.mulf"(%a, %b) : (f32, f32) -> f32
  %s = "arith.subf"(%p, %c) : (f32, f32) -> f32
  %q = "arith.mulf"(%a, %b) : (f32, f32) -> f32
  %d = "arith.subf"(%c, %q) : (f32, f32) -> f32
  "func.return"(%s, %d) : (f32, f32) -> ()
}) {sym_name = "f", function_type = (f32, f32, f32) -> (f32, f32)} : () -> ()
// AFTER
"func.func"() ({
^bb0(%a: f32, %b: f32, %c: f32):
  %n = "arith.negf"(%c) : (f32) -> f32
  %s = "math.fma"(%a, %b, %n) : (f32, f32, f32) -> f32
  %m = "arith.negf"(%a) : (f32) -> f32
  %d = "math.fma"(%m, %b, %c) : (f32, f32, f32) -> f32
  "func.return"(%s, %d) : (f32, f32) -> ()
}) {sym_name = "f", function_type = (f32, f32, f32) -> (f32, f32)} : () -> ()
