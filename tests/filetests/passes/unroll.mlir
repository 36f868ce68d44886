// RUN: passes unroll simplify
// A loop over a register fragment disappears, and one that asks for it.
// run: @f(10) == 33
"func.func"() ({
^bb0(%a: i32):
  %zero = "arith.constant"() {value = 0 : i32} : () -> i32
  %one = "arith.constant"() {value = 1 : i32} : () -> i32
  %three = "arith.constant"() {value = 3 : i32} : () -> i32
  %frag = "cute.alloca"() {count = 3 : i64} : () -> !cute.ptr<i32, rmem, align<4>>
  "scf.for"(%zero, %three, %one) ({
  ^bb0(%i: i32):
    %p = "cute.ptr_add"(%frag, %i) : (!cute.ptr<i32, rmem, align<4>>, i32) -> !cute.ptr<i32, rmem, align<4>>
    %v = "arith.addi"(%a, %i) : (i32, i32) -> i32
    "cute.store"(%v, %p) : (i32, !cute.ptr<i32, rmem, align<4>>) -> ()
    "scf.yield"() : () -> ()
  }) : (i32, i32, i32) -> ()
  %sum = "scf.for"(%zero, %three, %one, %zero) ({
  ^bb0(%i: i32, %total: i32):
    %p = "cute.ptr_add"(%frag, %i) : (!cute.ptr<i32, rmem, align<4>>, i32) -> !cute.ptr<i32, rmem, align<4>>
    %v = "cute.load"(%p) : (!cute.ptr<i32, rmem, align<4>>) -> i32
    %next = "arith.addi"(%total, %v) : (i32, i32) -> i32
    "scf.yield"(%next) : (i32) -> ()
  }) : (i32, i32, i32, i32) -> i32
  "func.return"(%sum) : (i32) -> ()
}) {sym_name = "f", function_type = (i32) -> i32} : () -> ()
// AFTER
"func.func"() ({
^bb0(%a: i32):
  %zero = "arith.constant"() {value = 0 : i32} : () -> i32
  %one = "arith.constant"() {value = 1 : i32} : () -> i32
  %0 = "arith.constant"() {value = 2 : i32} : () -> i32
  %frag = "cute.alloca"() {count = 3 : i64} : () -> !cute.ptr<i32, rmem, align<4>>
  %p = "cute.ptr_add"(%frag, %zero) : (!cute.ptr<i32, rmem, align<4>>, i32) -> !cute.ptr<i32, rmem, align<4>>
  "cute.store"(%a, %p) : (i32, !cute.ptr<i32, rmem, align<4>>) -> ()
  %p_0 = "cute.ptr_add"(%frag, %one) : (!cute.ptr<i32, rmem, align<4>>, i32) -> !cute.ptr<i32, rmem, align<4>>
  %v = "arith.addi"(%a, %one) : (i32, i32) -> i32
  "cute.store"(%v, %p_0) : (i32, !cute.ptr<i32, rmem, align<4>>) -> ()
  %p_1 = "cute.ptr_add"(%frag, %0) : (!cute.ptr<i32, rmem, align<4>>, i32) -> !cute.ptr<i32, rmem, align<4>>
  %v_0 = "arith.addi"(%a, %0) : (i32, i32) -> i32
  "cute.store"(%v_0, %p_1) : (i32, !cute.ptr<i32, rmem, align<4>>) -> ()
  %v_1 = "cute.load"(%p) : (!cute.ptr<i32, rmem, align<4>>) -> i32
  %v_2 = "cute.load"(%p_0) : (!cute.ptr<i32, rmem, align<4>>) -> i32
  %next = "arith.addi"(%v_1, %v_2) : (i32, i32) -> i32
  %v_3 = "cute.load"(%p_1) : (!cute.ptr<i32, rmem, align<4>>) -> i32
  %next_0 = "arith.addi"(%next, %v_3) : (i32, i32) -> i32
  "func.return"(%next_0) : (i32) -> ()
}) {sym_name = "f", function_type = (i32) -> i32} : () -> ()
// -----
// Copies of the body with a loop for the rest; the groups come first.
// run: @f(0) == 0
// run: @f(1) == 0
// run: @f(2) == 1
// run: @f(7) == 21
"func.func"() ({
^bb0(%n: i32):
  %zero = "arith.constant"() {value = 0 : i32} : () -> i32
  %one = "arith.constant"() {value = 1 : i32} : () -> i32
  %sum = "scf.for"(%zero, %n, %one, %zero) ({
  ^bb0(%i: i32, %total: i32):
    %next = "arith.addi"(%total, %i) : (i32, i32) -> i32
    "scf.yield"(%next) : (i32) -> ()
  }) {cute.unroll = 2 : i64} : (i32, i32, i32, i32) -> i32
  "func.return"(%sum) : (i32) -> ()
}) {sym_name = "f", function_type = (i32) -> i32} : () -> ()
// AFTER
"func.func"() ({
^bb0(%n: i32):
  %zero = "arith.constant"() {value = 0 : i32} : () -> i32
  %one = "arith.constant"() {value = 1 : i32} : () -> i32
  %0 = "arith.constant"() {value = 2 : i32} : () -> i32
  %1 = "arith.maxsi"(%n, %zero) : (i32, i32) -> i32
  %2 = "arith.divsi"(%1, %0) : (i32, i32) -> i32
  %3 = "arith.muli"(%2, %0) : (i32, i32) -> i32
  %4 = "scf.for"(%zero, %3, %0, %zero) ({
  ^bb0(%5: i32, %6: i32):
    %next = "arith.addi"(%6, %5) : (i32, i32) -> i32
    %7 = "arith.addi"(%5, %one) : (i32, i32) -> i32
    %next_0 = "arith.addi"(%next, %7) : (i32, i32) -> i32
    "scf.yield"(%next_0) : (i32) -> ()
  }) : (i32, i32, i32, i32) -> i32
  %sum = "scf.for"(%3, %n, %one, %4) ({
  ^bb0(%i: i32, %total: i32):
    %next_1 = "arith.addi"(%total, %i) : (i32, i32) -> i32
    "scf.yield"(%next_1) : (i32) -> ()
  }) : (i32, i32, i32, i32) -> i32
  "func.return"(%sum) : (i32) -> ()
}) {sym_name = "f", function_type = (i32) -> i32} : () -> ()
// -----
// Nested loops whose inner bound is the outer index.
// run: @f() == 20
"func.func"() ({
  %zero = "arith.constant"() {value = 0 : i32} : () -> i32
  %one = "arith.constant"() {value = 1 : i32} : () -> i32
  %five = "arith.constant"() {value = 5 : i32} : () -> i32
  %sum = "scf.for"(%zero, %five, %one, %zero) ({
  ^bb0(%i: i32, %total: i32):
    %bound = "arith.addi"(%i, %one) : (i32, i32) -> i32
    %inner = "scf.for"(%one, %bound, %one, %total) ({
    ^bb0(%j: i32, %carried: i32):
      %next = "arith.addi"(%carried, %j) : (i32, i32) -> i32
      "scf.yield"(%next) : (i32) -> ()
    }) {cute.unroll_full} : (i32, i32, i32, i32) -> i32
    "scf.yield"(%inner) : (i32) -> ()
  }) {cute.unroll_full} : (i32, i32, i32, i32) -> i32
  "func.return"(%sum) : (i32) -> ()
}) {sym_name = "f", function_type = () -> i32} : () -> ()
// AFTER
"func.func"() ({
  %sum = "arith.constant"() {value = 20 : i32} : () -> i32
  "func.return"(%sum) : (i32) -> ()
}) {sym_name = "f", function_type = () -> i32} : () -> ()
