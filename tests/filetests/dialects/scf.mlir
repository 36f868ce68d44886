// RUN: mlir-opt
// Structured control flow, and calls.
// run: @sum(10) == 45
// run: @sum(0) == 0
// run: @sum(-3) == 0
// run: @absolute(-5) == 5
// run: @absolute(5) == 5
// run: @collatz(27) == 111
// run: @twice(-5) == 10
"builtin.module"() ({
  "func.func"() ({
  ^bb0(%n: i32):
    %zero = "arith.constant"() {value = 0 : i32} : () -> i32
    %one = "arith.constant"() {value = 1 : i32} : () -> i32
    %r = "scf.for"(%zero, %n, %one, %zero) ({
    ^bb0(%i: i32, %acc: i32):
      %next = "arith.addi"(%acc, %i) : (i32, i32) -> i32
      "scf.yield"(%next) : (i32) -> ()
    }) : (i32, i32, i32, i32) -> i32
    "func.return"(%r) : (i32) -> ()
  }) {sym_name = "sum", function_type = (i32) -> i32} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32):
    %zero = "arith.constant"() {value = 0 : i32} : () -> i32
    %c = "arith.cmpi"(%a, %zero) {predicate = 2 : i64} : (i32, i32) -> i1
    %r = "scf.if"(%c) ({
      %minus = "arith.subi"(%zero, %a) : (i32, i32) -> i32
      "scf.yield"(%minus) : (i32) -> ()
    }, {
      "scf.yield"(%a) : (i32) -> ()
    }) : (i1) -> i32
    "func.return"(%r) : (i32) -> ()
  }) {sym_name = "absolute", function_type = (i32) -> i32} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32):
    %zero = "arith.constant"() {value = 0 : i32} : () -> i32
    %one = "arith.constant"() {value = 1 : i32} : () -> i32
    %two = "arith.constant"() {value = 2 : i32} : () -> i32
    %three = "arith.constant"() {value = 3 : i32} : () -> i32
    %last, %steps = "scf.while"(%a, %zero) ({
    ^bb0(%x: i32, %n: i32):
      %more = "arith.cmpi"(%x, %one) {predicate = 1 : i64} : (i32, i32) -> i1
      "scf.condition"(%more, %x, %n) : (i1, i32, i32) -> ()
    }, {
    ^bb0(%x: i32, %n: i32):
      %odd = "arith.remsi"(%x, %two) : (i32, i32) -> i32
      %isodd = "arith.cmpi"(%odd, %one) {predicate = 0 : i64} : (i32, i32) -> i1
      %next = "scf.if"(%isodd) ({
        %p = "arith.muli"(%x, %three) : (i32, i32) -> i32
        %q = "arith.addi"(%p, %one) : (i32, i32) -> i32
        "scf.yield"(%q) : (i32) -> ()
      }, {
        %h = "arith.divsi"(%x, %two) : (i32, i32) -> i32
        "scf.yield"(%h) : (i32) -> ()
      }) : (i1) -> i32
      %count = "arith.addi"(%n, %one) : (i32, i32) -> i32
      "scf.yield"(%next, %count) : (i32, i32) -> ()
    }) : (i32, i32) -> (i32, i32)
    "func.return"(%steps) : (i32) -> ()
  }) {sym_name = "collatz", function_type = (i32) -> i32} : () -> ()
  "func.func"() ({
  ^bb0(%a: i32):
    %x = "func.call"(%a) {callee = @absolute} : (i32) -> i32
    %r = "arith.addi"(%x, %x) : (i32, i32) -> i32
    "func.return"(%r) : (i32) -> ()
  }) {sym_name = "twice", function_type = (i32) -> i32} : () -> ()
}) : () -> ()
