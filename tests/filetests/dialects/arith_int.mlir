// RUN: mlir-opt
// Integers wrap, divsi truncates, floordivsi floors, shifts and comparisons know about signs.
// run: @addi(127, 1) == -128
// run: @subi(-128, 1) == 127
// run: @muli(100, 3) == 44
// run: @divsi(-7, 2) == -3
// run: @remsi(-7, 2) == -1
// run: @floordivsi(-7, 2) == -4
// run: @ceildivsi(-7, 2) == -3
// run: @ceildivui(7, 2) == 4
// run: @divui(-1, 2) == 127
// run: @remui(-1, 16) == 15
// run: @shli(1, 7) == -128
// run: @shrsi(-128, 7) == -1
// run: @shrui(-128, 7) == 1
// run: @andi(12, 10) == 8
// run: @ori(12, 10) == 14
// run: @xori(12, 10) == 6
// run: @maxsi(-1, 1) == 1
// run: @maxui(-1, 1) == -1
// run: @minsi(-1, 1) == -1
// run: @minui(-1, 1) == 1
// run: @signed_less(-1, 1) == true
// run: @unsigned_less(-1, 1) == false
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.addi"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "addi", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.subi"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "subi", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.muli"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "muli", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.divsi"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "divsi", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.remsi"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "remsi", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.floordivsi"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "floordivsi", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.ceildivsi"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "ceildivsi", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.ceildivui"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "ceildivui", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.divui"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "divui", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.remui"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "remui", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.shli"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "shli", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.shrsi"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "shrsi", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.shrui"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "shrui", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.andi"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "andi", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.ori"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "ori", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.xori"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "xori", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.maxsi"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "maxsi", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.maxui"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "maxui", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.minsi"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "minsi", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.minui"(%a, %b) : (i8, i8) -> i8
    "func.return"(%r) : (i8) -> ()
  }) {sym_name = "minui", function_type = (i8, i8) -> i8} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.cmpi"(%a, %b) {predicate = 2 : i64} : (i8, i8) -> i1
    "func.return"(%r) : (i1) -> ()
  }) {sym_name = "signed_less", function_type = (i8, i8) -> i1} : () -> ()
  "func.func"() ({
  ^bb0(%a: i8, %b: i8):
    %r = "arith.cmpi"(%a, %b) {predicate = 6 : i64} : (i8, i8) -> i1
    "func.return"(%r) : (i1) -> ()
  }) {sym_name = "unsigned_less", function_type = (i8, i8) -> i1} : () -> ()
}) : () -> ()
