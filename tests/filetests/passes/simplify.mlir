// RUN: passes simplify
// Constants are folded and stand once, at the top; equal operations are merged.
// run: @f(5) == 80
// run: @f(-1) == -16
"func.func"() ({
^bb0(%a: i32):
  %two = "arith.constant"() {value = 2 : i32} : () -> i32
  %six = "arith.constant"() {value = 6 : i32} : () -> i32
  %eight = "arith.addi"(%two, %six) : (i32, i32) -> i32
  %x = "arith.muli"(%a, %eight) : (i32, i32) -> i32
  %eight_too = "arith.constant"() {value = 8 : i32} : () -> i32
  %y = "arith.muli"(%a, %eight_too) : (i32, i32) -> i32
  %zero = "arith.subi"(%two, %two) : (i32, i32) -> i32
  %z = "arith.addi"(%y, %zero) : (i32, i32) -> i32
  %unused = "arith.muli"(%z, %z) : (i32, i32) -> i32
  %s = "arith.addi"(%x, %z) : (i32, i32) -> i32
  "func.return"(%s) : (i32) -> ()
}) {sym_name = "f", function_type = (i32) -> i32} : () -> ()
// AFTER
"func.func"() ({
^bb0(%a: i32):
  %eight = "arith.constant"() {value = 8 : i32} : () -> i32
  %x = "arith.muli"(%a, %eight) : (i32, i32) -> i32
  %s = "arith.addi"(%x, %x) : (i32, i32) -> i32
  "func.return"(%s) : (i32) -> ()
}) {sym_name = "f", function_type = (i32) -> i32} : () -> ()
// -----
// A branch on a constant is one of its regions; a loop that runs once is its body.
// run: @f(5) == 10
"func.func"() ({
^bb0(%a: i32):
  %zero = "arith.constant"() {value = 0 : i32} : () -> i32
  %one = "arith.constant"() {value = 1 : i32} : () -> i32
  %true = "arith.cmpi"(%zero, %one) {predicate = 2 : i64} : (i32, i32) -> i1
  %r = "scf.if"(%true) ({
    %l = "scf.for"(%zero, %one, %one, %a) ({
    ^bb0(%i: i32, %carried: i32):
      %n = "arith.addi"(%carried, %a) : (i32, i32) -> i32
      %m = "arith.addi"(%n, %i) : (i32, i32) -> i32
      "scf.yield"(%m) : (i32) -> ()
    }) : (i32, i32, i32, i32) -> i32
    "scf.yield"(%l) : (i32) -> ()
  }, {
    "scf.yield"(%zero) : (i32) -> ()
  }) : (i1) -> i32
  "func.return"(%r) : (i32) -> ()
}) {sym_name = "f", function_type = (i32) -> i32} : () -> ()
// AFTER
"func.func"() ({
^bb0(%a: i32):
  %n = "arith.addi"(%a, %a) : (i32, i32) -> i32
  "func.return"(%n) : (i32) -> ()
}) {sym_name = "f", function_type = (i32) -> i32} : () -> ()
// -----
// A condition is made again in each block that needs it; other values are not.
// run: @f(3, true) == 9
// run: @f(8, true) == 0
"func.func"() ({
^bb0(%a: i32, %c: i1):
  %five = "arith.constant"() {value = 5 : i32} : () -> i32
  %zero = "arith.constant"() {value = 0 : i32} : () -> i32
  %x = "arith.muli"(%a, %a) : (i32, i32) -> i32
  %small = "arith.cmpi"(%a, %five) {predicate = 2 : i64} : (i32, i32) -> i1
  %r = "scf.if"(%c) ({
    %y = "arith.muli"(%a, %a) : (i32, i32) -> i32
    %small_too = "arith.cmpi"(%a, %five) {predicate = 2 : i64} : (i32, i32) -> i1
    %s = "arith.select"(%small_too, %y, %zero) : (i1, i32, i32) -> i32
    "scf.yield"(%s) : (i32) -> ()
  }, {
    %s = "arith.select"(%small, %x, %zero) : (i1, i32, i32) -> i32
    "scf.yield"(%s) : (i32) -> ()
  }) : (i1) -> i32
  "func.return"(%r) : (i32) -> ()
}) {sym_name = "f", function_type = (i32, i1) -> i32} : () -> ()
// AFTER
"func.func"() ({
^bb0(%a: i32, %c: i1):
  %five = "arith.constant"() {value = 5 : i32} : () -> i32
  %zero = "arith.constant"() {value = 0 : i32} : () -> i32
  %x = "arith.muli"(%a, %a) : (i32, i32) -> i32
  %small = "arith.cmpi"(%a, %five) {predicate = 2 : i64} : (i32, i32) -> i1
  %r = "scf.if"(%c) ({
    %small_too = "arith.cmpi"(%a, %five) {predicate = 2 : i64} : (i32, i32) -> i1
    %s = "arith.select"(%small_too, %x, %zero) : (i1, i32, i32) -> i32
    "scf.yield"(%s) : (i32) -> ()
  }, {
    %s = "arith.select"(%small, %x, %zero) : (i1, i32, i32) -> i32
    "scf.yield"(%s) : (i32) -> ()
  }) : (i1) -> i32
  "func.return"(%r) : (i32) -> ()
}) {sym_name = "f", function_type = (i32, i1) -> i32} : () -> ()
