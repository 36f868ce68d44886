// RUN: passes expand
// Division that rounds down: a shift by a power of two, else a correction where the signs differ.
// run: @f(-9, 4) == (-2, -3)
// run: @f(9, -4) == (1, -3)
// run: @f(-8, 4) == (-1, -2)
"func.func"() ({
^bb0(%a: i32, %b: i32):
  %eight = "arith.constant"() {value = 8 : i32} : () -> i32
  %q = "arith.floordivsi"(%a, %eight) : (i32, i32) -> i32
  %r = "arith.floordivsi"(%a, %b) : (i32, i32) -> i32
  "func.return"(%q, %r) : (i32, i32) -> ()
}) {sym_name = "f", function_type = (i32, i32) -> (i32, i32)} : () -> ()
// AFTER
"func.func"() ({
^bb0(%a: i32, %b: i32):
  %eight = "arith.constant"() {value = 8 : i32} : () -> i32
  %0 = "arith.constant"() {value = 3 : i32} : () -> i32
  %q = "arith.shrsi"(%a, %0) : (i32, i32) -> i32
  %1 = "arith.divsi"(%a, %b) : (i32, i32) -> i32
  %2 = "arith.muli"(%1, %b) : (i32, i32) -> i32
  %3 = "arith.subi"(%a, %2) : (i32, i32) -> i32
  %4 = "arith.xori"(%3, %b) : (i32, i32) -> i32
  %5 = "arith.constant"() {value = 0 : i32} : () -> i32
  %6 = "arith.cmpi"(%4, %5) {predicate = 2 : i64} : (i32, i32) -> i1
  %7 = "arith.constant"() {value = 0 : i32} : () -> i32
  %8 = "arith.cmpi"(%3, %7) {predicate = 1 : i64} : (i32, i32) -> i1
  %9 = "arith.andi"(%6, %8) : (i1, i1) -> i1
  %10 = "arith.extui"(%9) : (i1) -> i32
  %r = "arith.subi"(%1, %10) : (i32, i32) -> i32
  "func.return"(%q, %r) : (i32, i32) -> ()
}) {sym_name = "f", function_type = (i32, i32) -> (i32, i32)} : () -> ()
// -----
// What is known not to be negative is divided as unsigned.
// run: @f(-1) == (536870911, 15, 2)
"func.func"() ({
^bb0(%a: i32):
  %seven = "arith.constant"() {value = 7 : i32} : () -> i32
  %three = "arith.constant"() {value = 3 : i32} : () -> i32
  %x = "arith.shrui"(%a, %three) : (i32, i32) -> i32
  %m = "arith.constant"() {value = 107 : i32} : () -> i32
  %y = "arith.andi"(%a, %m) : (i32, i32) -> i32
  %q = "arith.divsi"(%y, %seven) : (i32, i32) -> i32
  %r = "arith.remsi"(%y, %seven) : (i32, i32) -> i32
  "func.return"(%x, %q, %r) : (i32, i32, i32) -> ()
}) {sym_name = "f", function_type = (i32) -> (i32, i32, i32)} : () -> ()
// AFTER
"func.func"() ({
^bb0(%a: i32):
  %seven = "arith.constant"() {value = 7 : i32} : () -> i32
  %three = "arith.constant"() {value = 3 : i32} : () -> i32
  %x = "arith.shrui"(%a, %three) : (i32, i32) -> i32
  %m = "arith.constant"() {value = 107 : i32} : () -> i32
  %y = "arith.andi"(%a, %m) : (i32, i32) -> i32
  %q = "arith.divui"(%y, %seven) : (i32, i32) -> i32
  %r = "arith.remui"(%y, %seven) : (i32, i32) -> i32
  "func.return"(%x, %q, %r) : (i32, i32, i32) -> ()
}) {sym_name = "f", function_type = (i32) -> (i32, i32, i32)} : () -> ()
// -----
// Narrow floats go through f32.
// run: @f(0.0) == 1.0
"func.func"() ({
^bb0(%a: f16):
  %e = "math.exp"(%a) : (f16) -> f16
  "func.return"(%e) : (f16) -> ()
}) {sym_name = "f", function_type = (f16) -> f16} : () -> ()
// AFTER
"func.func"() ({
^bb0(%a: f16):
  %0 = "arith.extf"(%a) : (f16) -> f32
  %1 = "math.exp"(%0) : (f32) -> f32
  %e = "arith.truncf"(%1) : (f32) -> f16
  "func.return"(%e) : (f16) -> ()
}) {sym_name = "f", function_type = (f16) -> f16} : () -> ()
